"""Missions as text: the 'QGC WPL' files of MAVProxy, Mission Planner, MAVROS and QGroundControl.

Each row is an item: its number, whether it is the current one, frame, command, four parameters,
latitude, longitude, height, and whether the mission goes on by itself.
"""

import logging
import re

from xtdrone_core.errors import shown
from xtdrone_core.mavlink.dialect import mavlink

from ..errors import AutopilotError
from .complex_items import Entry
from .mission_items import WAYPOINT

_log = logging.getLogger(__name__)
_HEADER = re.compile(r"\s*QGC\s+WPL\s+(\S+)")
_WITH_HOME, _WITHOUT_HOME = "110", "120"  # versions; row 0 of the first is the home position
_COLUMNS = 12
_HOME_COMMANDS = (0, WAYPOINT)  # commands in the row of home; Mission Planner writes both


def is_waypoint_file(text: str) -> bool:
    """Returns whether a text begins as such a file."""
    return _HEADER.match(text) is not None


def read(text: str, name: str) -> tuple[list[Entry], list[float] | None]:
    """Reads a text; columns are separated by tabs or spaces, and rows with '#' are comments.

    Args:
        text: The text.
        name: Name of its file, for messages.

    Returns:
        The items as simple items of a plan, whose numbers are their doJumpId; and latitude,
        longitude [deg] and height [m] of the home position, None = it has none.

    Raises:
        AutopilotError: Another version, or a row that is no item.
    """
    header = _HEADER.match(text)
    version = header[1] if header else ""
    if version not in (_WITH_HOME, _WITHOUT_HOME):
        raise AutopilotError(
            f"'{shown(name)}' is QGC WPL {shown(version)}: {_WITH_HOME} and {_WITHOUT_HOME} are "
            "read, save it again"
        )
    first = text[: header.end() if header else 0].count("\n") + 2  # number of the line below it
    lines = text.splitlines()[first - 1 :]
    rows = [
        _row(words, f"'{shown(name)}', line {k}")
        for k, line in enumerate(lines, first)
        if (words := line.split()) and not words[0].startswith("#")
    ]
    home = None
    if version == _WITH_HOME and rows and rows[0]["doJumpId"] == 0:
        if rows[0]["command"] in _HOME_COMMANDS:
            first_row = rows.pop(0)
            home = first_row["params"][4:]
            if first_row["frame"] != mavlink.MAV_FRAME_GLOBAL:
                _log.warning(
                    "'%s': row 0 is not flown: it is the home position in QGC WPL %s, although its "
                    "frame is %d and not 0; write it again as row 1 if it is a waypoint",
                    shown(name),
                    _WITH_HOME,
                    first_row["frame"],
                )
    return rows, home if home is not None and any(home[:2]) else None


def _row(words: list[str], where: str) -> Entry:
    if len(words) != _COLUMNS:
        raise AutopilotError(
            f"{where} has {len(words)} columns: an item has {_COLUMNS}, number, current, frame, "
            "command, four parameters, latitude, longitude, height, autocontinue"
        )
    try:
        number, _, frame, command, *params, on = map(float, words)
        whole = int(number), int(frame), int(command)
    except (ValueError, OverflowError) as failed:
        raise AutopilotError(f"{where} is no item: {shown(failed)}") from failed
    return {
        "type": "SimpleItem",
        "doJumpId": whole[0],
        "frame": whole[1],
        "command": whole[2],
        "params": params,
        "autoContinue": on != 0.0,
    }
