"""The tables of docs/mavlink.md, from what handlers, modes and failsafes declare.

scripts/make_tables.py writes them.
"""

import textwrap

from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import MODES, ROS_NAME, Need

from ..gimbal.manager import GimbalManager
from ..gimbal.mount import Mount
from ..safety.arming_checks import CHECKS
from ..safety.checks import ALL, Level
from ..safety.conditions import CONDITIONS
from ..state.handlers import declarations
from .commands import Commands
from .description.answers import EventProtocol
from .device_commands import DeviceCommands
from .files.ftp import FileServer
from .files.log_download import LogDownload
from .messages import Presence
from .mission_protocol import MissionProtocol
from .not_taken import NOT_TAKEN
from .origin import OriginMessages
from .parameter_protocol import ParameterProtocol
from .set_points import SetPointMessages
from .setup_signing import SetupSigning
from .streams import stream_declarations

_RECEIVERS = {
    "commands": Commands,
    "set-points, sticks, poses": SetPointMessages,
    "parameters": ParameterProtocol,
    "missions, geofences, rally points": MissionProtocol,
    "files": FileServer,
    "logs": LogDownload,
    "presence, time": Presence,
    "events": EventProtocol,
    "gimbals": GimbalManager,
    "local origin": OriginMessages,
    "signing": SetupSigning,
}
_COMMANDS = (*_RECEIVERS.values(), Mount, DeviceCommands)
_LINKS = ("ground_station", "offboard", "bridge")
_WIDTH = 100  # width of running text [characters]


def streams_table() -> str:
    """Table of the streams: rate on each link where a message streams by itself [Hz]."""
    rows = ["| message | ground station [Hz] | offboard [Hz] | bridge [Hz] |", "|---|---|---|---|"]
    for stream in sorted(stream_declarations(), key=lambda stream: stream.name):
        rates = [f"{stream.rates[link]:.3g}" if link in stream.rates else "–" for link in _LINKS]
        rows.append(f"| {stream.name} | {' | '.join(rates)} |")
    return "\n".join(rows)


def received_table() -> str:
    """Table of the messages that are received."""
    rows = ["| about | messages |", "|---|---|"]
    for about, kind in _RECEIVERS.items():
        rows.append(f"| {about} | {', '.join(sorted(declarations(kind, 'receives')))} |")
    return "\n".join(rows)


def commands_table() -> str:
    """The commands of COMMAND_LONG and COMMAND_INT."""
    numbers = [number for kind in _COMMANDS for number in declarations(kind, "handles")]
    names = sorted(
        mavlink.enums["MAV_CMD"][number].name.removeprefix("MAV_CMD_") for number in numbers
    )
    return textwrap.fill(", ".join(names) + ".", _WIDTH)


_NEEDS = {
    Need.STICKS: "MANUAL_CONTROL",
    Need.SET_POINTS: "set-points at 2 Hz or more",
    Need.MISSION: "a mission",
    Need.POSITION: "position",
    Need.POSITION_ON_GROUND: "position, to take off",
}


def modes_table() -> str:
    """The flight modes, by PX4's numbers."""
    rows = ["| mode | main, sub mode | needs |", "|---|---|---|"]
    for mode, spec in MODES.items():
        needs = ", ".join(text for need, text in _NEEDS.items() if need in spec.needs)
        rows.append(f"| {ROS_NAME[mode]} | {spec.px4[0]}, {spec.px4[1]} | {needs} |")
    return "\n".join(rows)


def failsafes_table() -> str:
    """Table of failsafes: what can fail, what decides on the action, and the remedy."""
    rows = ["| failsafe | holds when | action by | what to do |", "|---|---|---|---|"]
    rows += [f"| {c.name} | {c.text} | {c.parameter or '–'} | {c.advice} |" for c in CONDITIONS]
    return "\n".join(rows)


_LEVELS = {
    Level.CRITICAL: "critical",
    Level.ERROR: "error",
    Level.WARNING: "warning",
    Level.INFO: "information",
}


def checks_table() -> str:
    """The arming checks, in the order of their reports."""
    rows = ["| event | says | level | denies arming |", "|---|---|---|---|"]
    for c in CHECKS:
        denied = {0: "–", ALL: "in every mode"}.get(c.blocked, "in the modes concerned")
        message = c.message.partition(" ({")[0]  # without the event's argument
        rows.append(f"| {c.name} | {message} | {_LEVELS[c.level]} | {denied} |")
    return "\n".join(rows)


def not_taken_table() -> str:
    """Table of the messages that are refused once, and why."""
    rows = ["| message | instead |", "|---|---|"]
    return "\n".join([*rows, *(f"| {name} | {why} |" for name, why in NOT_TAKEN.items())])


TABLES = {
    "streams": streams_table,
    "messages received": received_table,
    "messages not taken": not_taken_table,
    "commands": commands_table,
    "modes": modes_table,
    "failsafes": failsafes_table,
    "arming checks": checks_table,
}
