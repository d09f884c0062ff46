"""Foxglove's SDK, which only those need who use it."""

from types import ModuleType
from typing import Any, TypeAlias

from xtdrone_core import extras

from ..errors import WebError

SdkObject: TypeAlias = Any  # an object of the SDK, which is optional: its types may be missing


def sdk(wanted: str) -> ModuleType:
    """Returns the module foxglove.

    Args:
        wanted: What it is needed for.

    Raises:
        WebError: It is not installed.
    """
    try:
        import foxglove
        import foxglove.channels
        import foxglove.mcap
        import foxglove.messages
        import foxglove.websocket
    except ImportError as error:
        raise WebError(extras.lacking(wanted, error, "foxglove")) from error
    return foxglove
