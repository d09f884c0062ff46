"""Flight modes, with PX4's numbers on MAVLink and MAVROS's names on ROS."""

from enum import IntEnum


class Mode(IntEnum):
    """Flight modes of the stack; the values are ours and index compiled tables."""

    MANUAL = 0
    STABILIZED = 1
    ACRO = 2
    ALTCTL = 3
    POSCTL = 4
    OFFBOARD = 5
    TAKEOFF = 6
    LOITER = 7
    MISSION = 8
    RTL = 9
    LAND = 10
    FOLLOW_TARGET = 11


# PX4's custom mode: main mode, sub mode (0 where there is none).
PX4_MODE = {
    Mode.MANUAL: (1, 0), Mode.ALTCTL: (2, 0), Mode.POSCTL: (3, 0), Mode.ACRO: (5, 0),
    Mode.OFFBOARD: (6, 0), Mode.STABILIZED: (7, 0), Mode.TAKEOFF: (4, 2), Mode.LOITER: (4, 3),
    Mode.MISSION: (4, 4), Mode.RTL: (4, 5), Mode.LAND: (4, 6), Mode.FOLLOW_TARGET: (4, 8),
}

# MAVROS's names, as set_mode takes them and State carries them.
ROS_NAME = {
    mode: (f"AUTO.{mode.name}" if PX4_MODE[mode][0] == 4 else mode.name) for mode in Mode
}

FROM_PX4_MODE = {numbers: mode for mode, numbers in PX4_MODE.items()}
FROM_ROS_NAME = {name: mode for mode, name in ROS_NAME.items()}


def custom_mode(mode: Mode) -> int:
    """PX4's HEARTBEAT.custom_mode: main mode << 16 | sub mode << 24."""
    main, sub = PX4_MODE[mode]
    return main << 16 | sub << 24


def from_custom_mode(number: int):
    """The Mode of a HEARTBEAT.custom_mode, or None where we have no such mode."""
    return FROM_PX4_MODE.get((number >> 16 & 0xFF, number >> 24 & 0xFF))
