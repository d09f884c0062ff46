"""Foxglove's SDK, which only those need who use it."""

from typing import Any

from ..errors import WebError

INSTALL = "pip install 'xtdrone[foxglove]', or pip install foxglove-sdk mcap protobuf"


def sdk(wanted: str) -> Any:
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
