"""Flight modes. Each is one row of MODES, from which all tables of modes are derived.

NAV_STATES are the modes as PX4 numbers and names them, those included that cannot be flown here.
"""

from dataclasses import dataclass
from enum import Flag, IntEnum, auto


class Mode(IntEnum):
    """Flight modes of the stack; the values are internal and index compiled tables.

    Examples:
        >>> import xtdrone as xd
        >>> xd.Mode.OFFBOARD.name
        'OFFBOARD'
    """

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
    PRECLAND = 12


class Requirement(Flag):
    """Mode requirements of PX4; a mode ends when one of its requirements is lost."""

    NOTHING = 0
    ANGULAR_VELOCITY = auto()
    ATTITUDE = auto()
    ALTITUDE = auto()
    LOCAL_POSITION = auto()
    GLOBAL_POSITION = auto()
    HOME = auto()
    MISSION = auto()
    OFFBOARD_SIGNAL = auto()
    MANUAL_CONTROL = auto()
    LIMITS = auto()  # limits of wind and flight time
    ANOTHER_TO_ARM = auto()  # the vehicle cannot be armed in it
    REGISTRATION = auto()  # registration of the program that flies the mode


_R = Requirement
_BY_ATTITUDE = _R.ANGULAR_VELOCITY | _R.ATTITUDE
_BY_ALTITUDE = _BY_ATTITUDE | _R.ALTITUDE
_BY_POSITION = _BY_ALTITUDE | _R.LOCAL_POSITION
_BY_GLOBAL_POSITION = _BY_POSITION | _R.GLOBAL_POSITION


@dataclass(frozen=True)
class NavState:
    """A mode of PX4."""

    name: str  # name in its texts
    px4: tuple[int, int]  # main mode and sub mode, 0 where there is none
    base_mode: int  # MAVLink's HEARTBEAT.base_mode of PX4, disarmed
    requires: Requirement
    standard: int = 0  # MAVLink's MAV_STANDARD_MODE, 0 = it is none
    advanced: bool = True  # not for beginners
    listed: bool = True  # listed in AVAILABLE_MODES
    selectable: bool = True  # selectable by a user

    @property
    def custom_mode(self) -> int:
        """HEARTBEAT.custom_mode: main mode << 16 | sub mode << 24."""
        return self.px4[0] << 16 | self.px4[1] << 24

    @property
    def external(self) -> bool:
        """Whether the mode is flown by an external program, which this stack does not offer."""
        return Requirement.REGISTRATION in self.requires


NAV_STATES = {  # by PX4's vehicle_status.nav_state
    0: NavState("Manual", (1, 0), 0x51, _R.MANUAL_CONTROL),
    1: NavState("Altitude", (2, 0), 0x51, _BY_ALTITUDE | _R.MANUAL_CONTROL, advanced=False),
    2: NavState("Position", (3, 0), 0x51, _BY_POSITION | _R.MANUAL_CONTROL, advanced=False),
    3: NavState("Mission", (4, 4), 0x1D, _BY_GLOBAL_POSITION | _R.MISSION | _R.LIMITS, 7),
    4: NavState("Hold", (4, 3), 0x1D, _BY_GLOBAL_POSITION | _R.LIMITS),
    5: NavState("Return", (4, 5), 0x1D, _BY_GLOBAL_POSITION | _R.HOME | _R.ANOTHER_TO_ARM, 5),
    6: NavState("Position Slow", (3, 2), 0x51, _BY_POSITION | _R.MANUAL_CONTROL),
    10: NavState("Acro", (5, 0), 0x41, _R.ANGULAR_VELOCITY | _R.MANUAL_CONTROL),
    12: NavState("Descend", (4, 6), 0x1D, _BY_ALTITUDE | _R.ANOTHER_TO_ARM, listed=False),
    13: NavState("Termination", (10, 0), 0x01, _R.ANOTHER_TO_ARM, selectable=False),
    14: NavState("Offboard", (6, 0), 0x11, _BY_ATTITUDE | _R.OFFBOARD_SIGNAL),
    15: NavState("Stabilized", (7, 0), 0x51, _BY_ATTITUDE | _R.MANUAL_CONTROL),
    17: NavState("Takeoff", (4, 2), 0x1D, _BY_POSITION, 9),
    18: NavState("Land", (4, 6), 0x1D, _BY_POSITION | _R.ANOTHER_TO_ARM, 8),
    19: NavState("Follow Target", (4, 8), 0x11, _BY_POSITION | _R.LIMITS | _R.ANOTHER_TO_ARM),
    20: NavState("Precision Landing", (4, 9), 0x1D, _BY_POSITION | _R.ANOTHER_TO_ARM),
    21: NavState("Orbit", (3, 1), 0x11, _BY_POSITION | _R.LIMITS | _R.ANOTHER_TO_ARM),
    22: NavState("VTOL Takeoff", (4, 10), 0x1D, _BY_POSITION),
    **{
        22 + k: NavState(
            f"External {k}", (4, 10 + k), 0x11, _R.REGISTRATION, advanced=False, selectable=False
        )
        for k in range(1, 9)
    },
}


def may_arm(nav_state: int) -> bool:
    """Returns whether a vehicle may be armed in one of PX4's modes."""
    return Requirement.ANOTHER_TO_ARM not in NAV_STATES[nav_state].requires


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

    nav_state: int  # one of NAV_STATES
    needs: Need
    by_position: bool = True  # flies by its position: losing that is a failsafe
    rc_exception: int = 0  # bit of COM_RCL_EXCEPT: losing the sticks is no failure in it
    rovers: bool = True  # rovers and boats have it, too; they cannot change their height
    hovers: bool = False  # a VTOL begins no transition to fixed-wing flight in it

    @property
    def px4(self) -> tuple[int, int]:
        """PX4's main mode and sub mode, 0 where there is none."""
        return NAV_STATES[self.nav_state].px4

    @property
    def by_sticks(self) -> bool:
        """Whether a pilot flies it."""
        return Need.STICKS in self.needs

    @property
    def by_target(self) -> bool:
        """Whether it flies to targets, neither by sticks nor by set-points."""
        return not self.needs & (Need.STICKS | Need.SET_POINTS)

    @property
    def arms(self) -> bool:
        """Whether it may be armed in; once disarmed, a vehicle is in the last such mode."""
        return may_arm(self.nav_state)


_AUTO = 4  # PX4's main mode
_STICKS_ONLY = Need.STICKS | Need.POSITION_ON_GROUND
MODES = {
    Mode.MANUAL: ModeSpec(0, Need.STICKS, by_position=False),
    Mode.STABILIZED: ModeSpec(15, _STICKS_ONLY, by_position=False),
    Mode.ACRO: ModeSpec(10, _STICKS_ONLY, by_position=False),
    Mode.ALTCTL: ModeSpec(1, _STICKS_ONLY, by_position=False, rovers=False),
    Mode.POSCTL: ModeSpec(2, Need.STICKS | Need.POSITION),
    Mode.OFFBOARD: ModeSpec(14, Need.SET_POINTS | Need.POSITION, rc_exception=4),
    Mode.TAKEOFF: ModeSpec(17, Need.POSITION, rc_exception=2, rovers=False, hovers=True),
    Mode.LOITER: ModeSpec(4, Need.POSITION, rc_exception=2),
    Mode.MISSION: ModeSpec(3, Need.MISSION | Need.POSITION, rc_exception=1),
    Mode.RTL: ModeSpec(5, Need.POSITION, hovers=True),
    Mode.LAND: ModeSpec(18, Need.POSITION_ON_GROUND, rovers=False, hovers=True),
    Mode.FOLLOW_TARGET: ModeSpec(19, Need.POSITION, rovers=False),
    Mode.PRECLAND: ModeSpec(20, Need.POSITION, rovers=False, hovers=True),
}

PX4_MODE = {mode: spec.px4 for mode, spec in MODES.items()}

# MAVROS's names, as set_mode takes them and State carries them.
ROS_NAME = {
    mode: (f"AUTO.{mode.name}" if spec.px4[0] == _AUTO else mode.name)
    for mode, spec in MODES.items()
}

# PX4's names, in its texts.
PX4_NAME = {mode: NAV_STATES[spec.nav_state].name for mode, spec in MODES.items()}

FROM_PX4_MODE = {numbers: mode for mode, numbers in PX4_MODE.items()}
FROM_ROS_NAME = {name: mode for mode, name in ROS_NAME.items()}


# Modes of PX4 that are flown by one of another name: nav_state -> that.
POSITION_SLOW, ORBIT, VTOL_TAKEOFF = 6, 21, 22
VARIANTS = {POSITION_SLOW: Mode.POSCTL, ORBIT: Mode.LOITER, VTOL_TAKEOFF: Mode.TAKEOFF}


def custom_mode(mode: Mode) -> int:
    """PX4's HEARTBEAT.custom_mode of a mode."""
    return NAV_STATES[MODES[mode].nav_state].custom_mode


def from_custom_mode(number: int) -> Mode | None:
    """The Mode of a HEARTBEAT.custom_mode, or None if the stack has no such mode.

    As for MAVROS, sub modes only count in AUTO: an orbit is a POSCTL.
    """
    main, sub = number >> 16 & 0xFF, number >> 24 & 0xFF
    return FROM_PX4_MODE.get((main, sub if main == _AUTO else 0))


def ros_name(number: int) -> str:
    """MAVROS's name of a HEARTBEAT.custom_mode."""
    mode = from_custom_mode(number)
    return f"CMODE({number})" if mode is None else ROS_NAME[mode]


def nav_state(main: int, sub: int) -> int | None:
    """PX4's number of the mode that a user may choose by these numbers, or None."""
    return next(
        (
            number
            for number, state in NAV_STATES.items()
            if state.listed and state.px4 == (main, sub)
        ),
        None,
    )
