"""Foxglove's SDK, which only those need who use it."""

from types import ModuleType
from typing import Any, TypeAlias

from ..errors import WebError

SdkObject: TypeAlias = Any  # an object of the SDK, which is optional: its types may be missing
INSTALL = "pip install 'xtdrone[foxglove]', or pip install foxglove-sdk mcap protobuf"


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
        raise WebError(f"{wanted} needs the Python package foxglove-sdk: {INSTALL}") from error
    return foxglove
