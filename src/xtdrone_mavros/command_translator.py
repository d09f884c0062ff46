"""Translates XTDrone's commands to MAVROS set-points and service requests; needs no ROS."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import FROM_ROS_NAME

from .convert.geometry import Numbers, Vector
from .errors import MavrosError
from .vehicle_kind import GROUND, Kind, on_wings

STREAM_HZ = 30.0  # rate of set-points, in simulated time
# Time without a set-point after which a stream is late [us]; PX4 requires 2 Hz, times out at 1 s.
LATE_US = 600_000
STALL_S = 0.8  # wall time that a simulation waits for a late stream [s]
MIN_SPEED = 0.02  # a smaller value on every axis means HOVER [m/s, or m/s^2]
MIN_YAW_RATE = 0.005  # together with a smaller yaw rate [rad/s]
REPEAT_US = 1_000_000  # the same command within this time is a repetition [us]
ENU, FLU, FLU_OFFSET = 1, 8, 9  # MAVLink's LOCAL_NED, BODY_NED, BODY_OFFSET_NED
_POS, _VEL, _ACC, _YAW, _YAW_RATE = 0b111, 0b111000, 0b111000000, 1 << 10, 1 << 11
ONLY_POSITION = _VEL | _ACC | _YAW_RATE  # type masks: what the set-point does not control
ONLY_VELOCITY = _POS | _ACC | _YAW
ONLY_ACCELERATION = _POS | _VEL | _YAW
_ZERO: Vector = (0.0, 0.0, 0.0)
HOLDS = ("HOVER", "loiter")  # hold the current position: a plane stays around it
TRANSITIONS = {"multirotor": mavlink.MAV_VTOL_STATE_MC, "plane": mavlink.MAV_VTOL_STATE_FW}
COMMANDS = ("ARM", "DISARM", *HOLDS, *TRANSITIONS, *FROM_ROS_NAME)  # all that have a name
CONFIRM_S = 5.0  # wall time for a mode to be confirmed [s]
REASON_S = 1.0  # wall time for the status text of a refusal to arrive [s]
_MODES = {"takeoff": "AUTO.TAKEOFF", "land": "AUTO.LAND"}  # commands of XTDrone's plane


@dataclass(frozen=True)
class SetPoint:
    """The fields of a mavros_msgs/PositionTarget, in ENU or FLU depending on the frame."""

    frame: int
    type_mask: int
    pos: Vector = _ZERO  # [m]
    vel: Vector = _ZERO  # [m/s]
    acc: Vector = _ZERO  # [m/s^2]
    yaw: float = 0.0  # [rad]
    yaw_rate: float = 0.0  # [rad/s]


@dataclass(frozen=True)
class Request:
    """A request to MAVROS's services: arm (True, False), a mode by name, or a transition."""

    arm: bool | None = None
    mode: str = ""
    transition: int = mavlink.MAV_VTOL_STATE_UNDEFINED  # MC or FW


class CommandTranslator:
    """The commands of one vehicle: holds the current set-point and the last command.

    command() returns a Request if a service has to be called, else None. `report` is called with
    each line for /xtdrone/V/info.
    """

    def __init__(self, report: Callable[[str], None] = lambda text: None):
        self._report = report
        self._pos: Vector | None = None
        self._yaw = 0.0
        self._mode = ""
        self._kind = Kind.MULTIROTOR
        self._on_wings = False
        self._set_point: SetPoint | None = None  # None: hold the current position
        self._hovering = False
        self._commanded = False  # whether any command has been received
        self._last = ("", -REPEAT_US)  # last command, and its time
        self.mission = ""

    # State of the vehicle -------------------------------------------------------------------

    def set_pose(self, pos: Numbers, yaw: float) -> None:
        """Sets the estimated position, ENU [m], and yaw [rad]."""
        self._pos, self._yaw = _vector(pos), yaw

    def set_mode(self, mode: str) -> None:
        """Sets the flight mode, by MAVROS's name."""
        self._mode = mode

    def set_kind(self, kind: Kind, vtol_state: int = mavlink.MAV_VTOL_STATE_UNDEFINED) -> None:
        """Sets kind and MAV_VTOL_STATE; a vehicle that begins fixed-wing flight holds its position.

        A velocity from before the transition is no set-point of a fixed wing.
        """
        before, self._on_wings = self._on_wings, on_wings(kind, vtol_state)
        self._kind = kind
        if self._on_wings and not before and self._set_point is not None:
            self._hover()

    @property
    def needs_pose(self) -> bool:
        """Whether the next set-point depends on where the vehicle is."""
        return self._set_point is None

    # Commands -------------------------------------------------------------------------------

    def command(self, command: str, t_us: int) -> Request | None:
        """Executes a command of /xtdrone/V/cmd; repetitions of the last one are ignored.

        A script that publishes the same command at some rate must neither flood the vehicle nor arm
        it again after a failsafe. A command that is repeated after a second counts as a new one.
        """
        command = command.strip()
        if command in ("", "stop controlling"):  # XTDrone: no command
            return None
        last, last_us = self._last
        self._last = (command, t_us)
        if command == last and t_us - last_us < REPEAT_US:
            return None
        self._commanded = True
        if command in ("ARM", "DISARM"):
            return Request(arm=command == "ARM")
        if command in HOLDS:
            self._hover()
            self._report(f"{command}: done")
            return None
        if command == "idle":  # a command of XTDrone's plane, for PX4 up to v1.11
            self._report("idle refused: PX4 has no idle set-point any more; give loiter or land")
            return None
        if command in TRANSITIONS:
            return self._transition(command)
        if command[:-1] == "mission" and command[-1].isdigit():
            self.mission = command
            self._report(f"{command}: noted")
            return None
        mode = _MODES.get(command, command)
        if mode in ("AUTO.LAND", "AUTO.RTL"):
            self._hover()  # so that OFFBOARD after the next take-off does not continue this motion
        return Request(mode=mode)

    def pose_flu(self, pos: Numbers, yaw: float) -> None:
        """Commands a position and yaw relative to the body [m, rad].

        Multirotors get it in XTDrone's frame, which PX4 has not had since v1.12; the others
        relative to where they are now.
        """
        _check(*pos, yaw)
        if self._kind is Kind.MULTIROTOR:
            self._move(SetPoint(FLU_OFFSET, ONLY_POSITION, pos=_vector(pos), yaw=yaw))
        elif self._pos is not None:
            (x, y, z), (forward, left, up) = self._pos, pos
            c, s = math.cos(self._yaw), math.sin(self._yaw)
            self.pose_enu(
                (x + c * forward - s * left, y + s * forward + c * left, z + up), self._yaw + yaw
            )

    def pose_enu(self, pos: Numbers, yaw: float) -> None:
        """Commands a position and yaw in the world [m, rad]."""
        _check(*pos, yaw)
        self._move(SetPoint(ENU, ONLY_POSITION, pos=_vector(pos), yaw=yaw))

    def velocity(self, frame: int, vel: Numbers, yaw_rate: float) -> None:
        """Commands a velocity [m/s] in ENU or FLU, and yaw rate [rad/s]; HOVER if both are 0.

        PX4's rovers and boats have no set-point of the yaw rate: they steer towards the velocity.
        As XTDrone's rover, they take the angular velocity as that to the left.
        """
        if self._is_hover(vel, yaw_rate):
            return
        self._require_rotors("velocities")
        target = _vector(vel)
        if self._kind in GROUND and frame == FLU:
            target = target[0], yaw_rate, 0.0
        self._move(SetPoint(frame, ONLY_VELOCITY, vel=target, yaw_rate=yaw_rate))

    def acceleration(self, frame: int, acc: Numbers, yaw_rate: float) -> None:
        """Commands an acceleration [m/s^2] in ENU or FLU, and yaw rate; HOVER if both are 0."""
        if not self._is_hover(acc, yaw_rate):
            self._require_rotors("accelerations")
            self._move(SetPoint(frame, ONLY_ACCELERATION, acc=_vector(acc), yaw_rate=yaw_rate))

    def set_point(self) -> SetPoint | None:
        """Returns the set-point to send now, or None.

        Without a motion command it holds the position. Outside OFFBOARD it follows the vehicle, so
        that a change to OFFBOARD never starts with a jump. If the vehicle is in OFFBOARD without a
        command, another node controls it and nothing is sent.
        """
        if self._mode == "OFFBOARD" and not self._commanded:
            return None
        if self._set_point is None:
            if self._pos is None:
                return None
            hold = SetPoint(ENU, ONLY_POSITION, pos=self._pos, yaw=self._yaw)
            if self._mode == "OFFBOARD":
                self._set_point = hold
            return hold
        return self._set_point

    def _is_hover(self, v: Numbers, yaw_rate: float) -> bool:
        _check(*v, yaw_rate)
        if max(map(abs, v)) > MIN_SPEED or abs(yaw_rate) > MIN_YAW_RATE:
            return False
        if not self._hovering:
            self._hover()
        return True

    def _require_rotors(self, what: str) -> None:
        """Refuses set-points that only a hovering vehicle, a rover or a boat can follow."""
        if self._on_wings:
            raise MavrosError(
                f"{what} are not for fixed-wing flight: publish positions on "
                "cmd_pose_enu or cmd_pose_flu"
            )

    def _transition(self, command: str) -> Request | None:
        if self._kind is Kind.VTOL:
            return Request(transition=TRANSITIONS[command])
        self._report(
            f"{command} refused: this vehicle is a {self._kind.value}, and only a VTOL "
            "has transitions"
        )
        return None

    def _hover(self) -> None:
        self._commanded = self._hovering = True
        self._set_point = None

    def _move(self, set_point: SetPoint) -> None:
        self._commanded, self._hovering = True, False
        self._set_point = set_point


def _vector(numbers: Numbers) -> Vector:
    x, y, z = numbers
    return x, y, z


def _check(*numbers: float) -> None:
    """Refuses values that are not finite: NaN would mean 'not controlled' to the autopilot."""
    if not all(map(math.isfinite, numbers)):
        raise MavrosError(f"set-point {numbers} is not finite: nothing is sent")
