"""The examples in the docstrings: every class of the package has one, and all are right."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import xtdrone as xd

MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(xd.__path__, "xtdrone.")
    if not found.ispkg and not found.name.endswith("__main__")
)
CLASSES = [name for name in xd.__all__ if inspect.isclass(getattr(xd, name))]
ELSEWHERE = [name for name in CLASSES if not getattr(xd, name).__module__.startswith("xtdrone.")]


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path / "runs"))


def test_every_class_has_an_example():
    lacking = [name for name in CLASSES if ">>>" not in (getattr(xd, name).__doc__ or "")]
    assert lacking == []


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module_are_right(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ELSEWHERE)
def test_examples_of_a_class_are_right(name):
    found = getattr(xd, name)
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder(recurse=False).find(
        found, name, globs=vars(importlib.import_module(found.__module__)).copy()
    ):
        runner.run(test)
    assert runner.failures == 0 and runner.tries > 0
