"""By what a program flies: a module each."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .door import Door


def door_of(name: str) -> "Door":
    """Makes the door of a name, such as mavlink."""
    door: Door = importlib.import_module(f"{__name__}.{name}").DOOR()
    return door
