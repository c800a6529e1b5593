"""The examples in docstrings do what they say."""

import doctest
import importlib

import pytest

from tests.house.test_arrows import MODULES


@pytest.mark.parametrize("name", [name for name, source in MODULES.items() if ">>> " in source])
def test_examples(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.attempted and not result.failed
