"""Classes whose instances take no attribute that they do not have."""

import functools
from typing import Any, TypeVar

from .errors import unknown_name

T = TypeVar("T", bound=type)
_SEALED = "_sealed"


def sealed(cls: T) -> T:
    """Decorates a class: once built, its instances refuse unknown public attributes.

    A misspelt or renamed one would do nothing, without a word. Classes that inherit from it
    may add attributes of their own.

    Examples:
        >>> @sealed
        ... class Lamp:
        ...     def __init__(self):
        ...         self.power = 1.0
        >>> Lamp().watt = 2.0
        Traceback (most recent call last):
        ...
        AttributeError: unknown attribute of Lamp 'watt': choose one of power
    """
    begin: Any = vars(cls)["__init__"]  # plain functions, which mypy would bind
    put: Any = cls.__setattr__

    @functools.wraps(begin)
    def __init__(self: Any, *arguments: Any, **options: Any) -> None:  # those of the class
        begin(self, *arguments, **options)
        if type(self) is cls:
            object.__setattr__(self, _SEALED, True)

    def __setattr__(self: Any, name: str, value: Any) -> None:  # anything may be set
        own = self.__dict__
        if name not in own and _SEALED in own and not name.startswith("_"):
            known = public_names(self)
            if name not in known:
                raise AttributeError(unknown_name(f"attribute of {cls.__name__}", name, known))
        put(self, name, value)

    for name, method in (("__init__", __init__), ("__setattr__", __setattr__)):
        setattr(cls, name, method)
    return cls


def public_names(thing: object) -> list[str]:
    """The public attributes and methods of an object."""
    return [name for name in dir(thing) if not name.startswith("_")]
