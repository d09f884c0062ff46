"""What is loaded where it is first used, so that imports are quick."""

import sys
import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


def lazy_exports(
    package: str, exports: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:  # whatever a module has
    """Returns the functions __getattr__ and __dir__ of a package.

    A type checker does not run them: it reads the imports that stand below TYPE_CHECKING.

    Args:
        package: Its __name__.
        exports: Name to "module:attribute"; a module that begins with a dot is the package's.
    """

    def load(name: str) -> Any:  # as above
        if name not in exports:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module, _, attribute = exports[name].partition(":")
        value = getattr(import_module(module, package), attribute)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *exports})

    return load, names


def after_import(module: str, action: Callable[[], None]) -> None:
    """Calls action() once a module of another package has been imported, or now if it has been."""
    if module in sys.modules:
        action()
    else:
        sys.meta_path.insert(0, _Watch(module, action))


def defer(module: str) -> None:
    """Lets a module of another package be executed only when something of it is first used.

    For what a dependency imports and seldom uses. It may be missing; an error of its own comes
    where it is used.
    """
    if module not in sys.modules:
        sys.meta_path.insert(0, _Deferral(module))


def import_without(module: str, other: str) -> None:
    """Lets a module of another package be imported as if a second one were not installed.

    For one that it can do without, unless somebody has imported that before.
    """
    if module not in sys.modules:
        sys.meta_path.insert(0, _Absence(module, other))


class _Finder(MetaPathFinder):
    """Finds one module as the other finders do, and executes it in another way."""

    def __init__(self, module: str) -> None:
        self._module = module

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname != self._module:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:
            sys.meta_path.insert(0, self)
            return None
        execute = spec.loader.exec_module
        spec.loader.exec_module = partial(self.execute, execute)  # type: ignore[method-assign]
        return spec

    @abstractmethod
    def execute(self, execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        """Executes a module; execute() is how it would be done otherwise."""


class _Watch(_Finder):
    """Calls an action after the import."""

    def __init__(self, module: str, action: Callable[[], None]) -> None:
        super().__init__(module)
        self._action = action

    def execute(self, execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        execute(module)
        self._action()


class _Deferral(_Finder):
    """Puts the execution off until an attribute is asked for."""

    def execute(self, execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        lock, waiting = threading.RLock(), [execute]

        def load(name: str) -> Any:  # whatever the module has
            with lock:
                is_special = name.startswith("__") and name != "__all__"  # asked of every module
                if waiting and not is_special:
                    execute = waiting.pop()
                    try:
                        execute(module)
                    except BaseException:
                        waiting.append(execute)
                        raise
                    return getattr(module, name)
                if name in vars(module):  # by another thread
                    return vars(module)[name]
            raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")

        vars(module)["__getattr__"] = load


class _Absence(_Finder):
    """Hides another module during the import."""

    def __init__(self, module: str, other: str) -> None:
        super().__init__(module)
        self._other = other

    def execute(self, execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        if self._other in sys.modules:
            execute(module)
            return
        sys.modules[self._other] = None  # type: ignore[assignment]  # not found, says importlib
        try:
            execute(module)
        finally:
            del sys.modules[self._other]
