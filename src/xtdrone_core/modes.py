"""Flight modes. Each is one row of MODES, from which all tables of modes are derived."""

from dataclasses import dataclass
from enum import Flag, IntEnum, auto


class Mode(IntEnum):
    """Flight modes of the stack; the values are internal and index compiled tables."""

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


class Need(Flag):
    """Preconditions of a mode."""

    NOTHING = 0
    STICKS = auto()  # MANUAL_CONTROL comes in
    SET_POINTS = auto()  # an offboard controller streams set-points
    MISSION = auto()  # there is one
    POSITION = auto()  # a position estimate
    POSITION_ON_GROUND = auto()  # a position estimate for take-off; none to go on in flight


@dataclass(frozen=True)
class ModeSpec:
    """Properties of one mode, except its control law."""

    px4: tuple[int, int]  # PX4's main mode and sub mode, 0 where there is none
    nav_state: int  # PX4's vehicle_status.nav_state
    base_mode: int  # MAVLink's HEARTBEAT.base_mode of PX4, disarmed
    needs: Need
    by_position: bool = True  # flies by its position: losing that is a failsafe
    arms: bool = True  # may be armed in; once disarmed, the vehicle is in the last such mode
    rc_exception: int = 0  # bit of COM_RCL_EXCEPT: losing the sticks is no failure in it


_STICKS_ONLY = Need.STICKS | Need.POSITION_ON_GROUND
MODES = {
    Mode.MANUAL: ModeSpec((1, 0), 0, 0x41, Need.STICKS, by_position=False),
    Mode.STABILIZED: ModeSpec((7, 0), 15, 0x51, _STICKS_ONLY, by_position=False),
    Mode.ACRO: ModeSpec((5, 0), 10, 0x41, _STICKS_ONLY, by_position=False),
    Mode.ALTCTL: ModeSpec((2, 0), 1, 0x51, _STICKS_ONLY, by_position=False),
    Mode.POSCTL: ModeSpec((3, 0), 2, 0x51, Need.STICKS | Need.POSITION),
    Mode.OFFBOARD: ModeSpec((6, 0), 14, 0x11, Need.SET_POINTS | Need.POSITION, rc_exception=4),
    Mode.TAKEOFF: ModeSpec((4, 2), 17, 0x1D, Need.POSITION, rc_exception=2),
    Mode.LOITER: ModeSpec((4, 3), 4, 0x1D, Need.POSITION, rc_exception=2),
    Mode.MISSION: ModeSpec((4, 4), 3, 0x1D, Need.MISSION | Need.POSITION, rc_exception=1),
    Mode.RTL: ModeSpec((4, 5), 5, 0x1D, Need.POSITION, arms=False),
    Mode.LAND: ModeSpec((4, 6), 18, 0x1D, Need.POSITION_ON_GROUND, arms=False),
    Mode.FOLLOW_TARGET: ModeSpec((4, 8), 19, 0x1D, Need.POSITION),
}

PX4_MODE = {mode: spec.px4 for mode, spec in MODES.items()}

# MAVROS's names, as set_mode takes them and State carries them.
ROS_NAME = {mode: (f"AUTO.{mode.name}" if spec.px4[0] == 4 else mode.name)
            for mode, spec in MODES.items()}

# PX4's names, in its texts.
PX4_NAME = {Mode.MANUAL: "Manual", Mode.STABILIZED: "Stabilized", Mode.ACRO: "Acro",
            Mode.ALTCTL: "Altitude", Mode.POSCTL: "Position", Mode.OFFBOARD: "Offboard",
            Mode.TAKEOFF: "Takeoff", Mode.LOITER: "Hold", Mode.MISSION: "Mission",
            Mode.RTL: "Return", Mode.LAND: "Land", Mode.FOLLOW_TARGET: "Follow Target"}

FROM_PX4_MODE = {numbers: mode for mode, numbers in PX4_MODE.items()}
FROM_ROS_NAME = {name: mode for mode, name in ROS_NAME.items()}


def custom_mode(mode: Mode) -> int:
    """PX4's HEARTBEAT.custom_mode: main mode << 16 | sub mode << 24."""
    main, sub = PX4_MODE[mode]
    return main << 16 | sub << 24


def from_custom_mode(number: int) -> Mode | None:
    """The Mode of a HEARTBEAT.custom_mode, or None if the stack has no such mode."""
    return FROM_PX4_MODE.get((number >> 16 & 0xFF, number >> 24 & 0xFF))
