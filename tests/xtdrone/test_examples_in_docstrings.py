"""The examples in the docstrings of the package."""

import doctest
import importlib
import pkgutil

import pytest

import xtdrone

MODULES = sorted(found.name for found in pkgutil.walk_packages(xtdrone.__path__, "xtdrone.")
                 if not found.ispkg and not found.name.endswith("__main__"))


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module_are_right(name):
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
