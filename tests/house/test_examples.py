"""The examples in docstrings do what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = ("models", "inference", "estimators", "comparison", "bsvdd")


def module_of(path):
    """Return the name by which the file ``path`` is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "bsvdd" else ("bsvdd", *parts)
    return ".".join(part for part in parts if part != "__init__")


MODULES = [
    module_of(path)
    for floor in FLOORS
    for path in sorted((ROOT / floor).rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.attempted and not result.failed
