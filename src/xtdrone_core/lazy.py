"""What is loaded where it is first used, so that imports are quick."""

import sys
from collections.abc import Callable, Mapping
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


class _Watch(MetaPathFinder):
    """Finds one module as the other finders do, and calls an action after its import."""

    def __init__(self, module: str, action: Callable[[], None]) -> None:
        self._module, self._action = module, action

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname != self._module:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:
            sys.meta_path.insert(0, self)
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self._action()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
