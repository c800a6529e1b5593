"""Public names stay importable from where users had them, with a word on where they are now."""

import importlib
import json
import warnings
from pathlib import Path

import pytest

from bsvdd import moved

# The names that the reference documented before the house was rebuilt. Left out are
# bsvdd.inference.sampling.{by_draw, by_name, posterior_tree, weights_tree}: they turned a sampler's
# arrays into a DataTree, which sample() still returns, and nobody else has such arrays. Later
# bsvdd.inference.distance.largest_square and bsvdd.models.left_out.distances went: decisions and
# left-out rows go by scores and kernel sums.
FORMER = json.loads(Path(__file__).with_name("former_names.json").read_text(encoding="utf-8"))
NAMES = [(module, name) for module, names in FORMER.items() for name in names]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_former_name_can_be_imported(module, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        namespace = {}
        exec(f"from {module} import {name}", namespace)
    assert namespace[name] is not None


@pytest.mark.parametrize("old", moved.MODULES)
def test_every_new_place_exists(old):
    for place in moved.MODULES[old]:
        importlib.import_module(f"bsvdd.{place}")


@pytest.mark.parametrize("name", moved.PUBLIC)
def test_a_documented_module_can_be_imported_without_a_warning(name):
    module = importlib.import_module(f"bsvdd.{name}")
    assert module is importlib.import_module(f"bsvdd.{moved.PUBLIC[name]}")


def test_a_warning_says_where_a_name_is_now():
    with pytest.warns(DeprecationWarning, match=r"detector\.Detector is now .*base\.BaseDetector"):
        from bsvdd.inference.detector import Detector
    from bsvdd.estimators.base import BaseDetector

    assert Detector is BaseDetector


def test_a_name_that_never_was_is_an_error():
    with pytest.raises(ImportError, match="cannot import name 'Nothing'"):
        from bsvdd.inference.detector import Nothing  # noqa: F401
    with pytest.raises(ModuleNotFoundError):
        import bsvdd.inference.nothing  # noqa: F401
