"""Modules of other packages that are executed late, or imported without another one."""

import importlib
import sys

import pytest

from xtdrone_core import lazy


@pytest.fixture
def package(tmp_path, monkeypatch):
    """package(NAME, TEXT) writes a module that can be imported; it is forgotten after the test."""
    before = list(sys.meta_path), set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()

    yield write
    sys.meta_path[:] = before[0]
    for name in set(sys.modules) - before[1]:
        del sys.modules[name]


def test_a_deferred_module_is_executed_at_its_first_use(package, capsys):
    package("seldom_used", "print('executed')\nvalue = 42\n")
    lazy.defer("seldom_used")
    module = importlib.import_module("seldom_used")
    assert not hasattr(module, "__wrapped__") and module.__file__.endswith("seldom_used.py")
    assert capsys.readouterr().out == ""
    assert module.value == 42 and not hasattr(module, "other")
    assert capsys.readouterr().out == "executed\n"


def test_a_deferred_module_gives_all_of_its_names(package):
    package("seldom_used", "value = 42\n")
    lazy.defer("seldom_used")
    names = {}
    exec("from seldom_used import *", names)
    assert names["value"] == 42


def test_the_error_of_a_deferred_module_comes_at_each_use(package):
    package("seldom_used", "raise ImportError('no library')\n")
    lazy.defer("seldom_used")
    module = importlib.import_module("seldom_used")
    for _ in range(2):
        with pytest.raises(ImportError, match="no library"):
            module.value  # noqa: B018


def test_a_deferred_module_may_be_missing(package):
    lazy.defer("not_installed_here")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("not_installed_here")


def test_a_module_is_imported_without_another(package):
    package("helper", "")
    package("helped", "try:\n    import helper\nexcept ImportError:\n    helper = None\n")
    lazy.import_without("helped", "helper")
    assert importlib.import_module("helped").helper is None
    assert importlib.import_module("helper").__name__ == "helper"


def test_a_module_that_is_in_use_is_not_hidden(package):
    package("helper", "")
    package("helped", "import helper\n")
    helper = importlib.import_module("helper")
    lazy.import_without("helped", "helper")
    assert importlib.import_module("helped").helper is helper


def test_an_action_follows_an_import(package):
    package("watched", "")
    seen = []
    lazy.after_import("watched", lambda: seen.append("watched" in sys.modules))
    assert seen == []
    importlib.import_module("watched")
    assert seen == [True]
    lazy.after_import("watched", lambda: seen.append(True))
    assert seen == [True, True]
