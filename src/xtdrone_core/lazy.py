"""Names of a package that are loaded where they are first used, so that its import is quick."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
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
