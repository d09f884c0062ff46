"""XTDrone's commands of a multirotor, translated to MAVROS set-points and requests, without ROS."""

import math
from dataclasses import dataclass

from .errors import ControlNodeError

STREAM_HZ = 30.0  # of set-points, simulated time
# A stream of set-points is late after this; PX4 asks for 2 a second, and gives up after 1 s [us].
LATE_US = 600_000
STALL_S = 0.8  # how long a simulation waits for a stream that is late [s, wall]
MIN_SPEED = 0.02  # a slower velocity on every axis means HOVER [m/s], and so for [m/s^2]
MIN_YAW_RATE = 0.005  # and with it a slower turn [rad/s]
REPEAT_US = 1_000_000  # the same word again within this time is a repetition [us]
ENU, FLU, FLU_OFFSET = 1, 8, 9  # MAVLink's LOCAL_NED, BODY_NED, BODY_OFFSET_NED
_POS, _VEL, _ACC, _YAW, _YAW_RATE = 0b111, 0b111000, 0b111000000, 1 << 10, 1 << 11
ONLY_POSITION = _VEL | _ACC | _YAW_RATE  # type masks: what the set-point does not control
ONLY_VELOCITY = _POS | _ACC | _YAW
ONLY_ACCELERATION = _POS | _VEL | _YAW
_ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class SetPoint:
    """The numbers of a mavros_msgs/PositionTarget, ENU or FLU by its frame."""

    frame: int
    type_mask: int
    pos: tuple = _ZERO  # [m]
    vel: tuple = _ZERO  # [m/s]
    acc: tuple = _ZERO  # [m/s^2]
    yaw: float = 0.0  # [rad]
    yaw_rate: float = 0.0  # [rad/s]


@dataclass(frozen=True)
class Request:
    """What MAVROS's services are to be asked: arm (True, False), or a mode by its name."""

    arm: bool | None = None
    mode: str = ""


class CommandTranslator:
    """One vehicle: remembers the set-point in force and what was asked last.

    Methods that take a command return a Request where a service has to be
    called, else None. `say` is called with each line for /xtdrone/V/info.
    """

    def __init__(self, say=lambda text: None):
        self._say = say
        self._pos, self._yaw = None, 0.0
        self._mode = ""
        self._set_point = None  # None = hold the place where the vehicle is
        self._hovering = False
        self._asked = False  # whether anything has been
        self._last = ("", -REPEAT_US)  # word, when it last came
        self.mission = ""

    # What the vehicle says ------------------------------------------------------------------

    def set_pose(self, pos, yaw: float) -> None:
        """Where the vehicle believes to be: ENU [m], yaw [rad]."""
        self._pos, self._yaw = tuple(pos), yaw

    def set_mode(self, mode: str) -> None:
        """Its flight mode, by MAVROS's name."""
        self._mode = mode

    @property
    def needs_pose(self) -> bool:
        """Whether the next set-point depends on where the vehicle is."""
        return self._set_point is None

    # Commands -------------------------------------------------------------------------------

    def command(self, word: str, t_us: int):
        """A word of /xtdrone/V/cmd; repetitions of the last one are ignored.

        A script that publishes the same word at some rate must neither flood the vehicle nor
        arm it again after a failsafe; a word that comes again after a second is meant anew.
        """
        word = word.strip()
        if word in ("", "stop controlling"):  # XTDrone's way to say that nothing is asked
            return None
        last, when = self._last
        self._last = (word, t_us)
        if word == last and t_us - when < REPEAT_US:
            return None
        self._asked = True
        if word in ("ARM", "DISARM"):
            return Request(arm=word == "ARM")
        if word == "HOVER":
            self._hover()
            self._say("HOVER: done")
            return None
        if word[:-1] == "mission" and word[-1].isdigit():
            self.mission = word
            self._say(f"{word}: noted")
            return None
        if word in ("AUTO.LAND", "AUTO.RTL"):
            self._hover()  # so that OFFBOARD after the next take-off does not go on from here
        return Request(mode=word)

    def pose_flu(self, pos, yaw: float) -> None:
        """A place and heading relative to the body [m, rad]."""
        _check(*pos, yaw)
        self._move(SetPoint(FLU_OFFSET, ONLY_POSITION, pos=tuple(pos), yaw=yaw))

    def pose_enu(self, pos, yaw: float) -> None:
        """A place and heading in the world [m, rad]."""
        _check(*pos, yaw)
        self._move(SetPoint(ENU, ONLY_POSITION, pos=tuple(pos), yaw=yaw))

    def velocity(self, frame: int, vel, yaw_rate: float) -> None:
        """A velocity [m/s] in frame ENU or FLU, and a turn [rad/s]; nearly nothing = HOVER."""
        if not self._is_hover(vel, yaw_rate):
            self._move(SetPoint(frame, ONLY_VELOCITY, vel=tuple(vel), yaw_rate=yaw_rate))

    def acceleration(self, frame: int, acc, yaw_rate: float) -> None:
        """An acceleration [m/s^2] in frame ENU or FLU, and a turn; nearly nothing = HOVER."""
        if not self._is_hover(acc, yaw_rate):
            self._move(SetPoint(frame, ONLY_ACCELERATION, acc=tuple(acc), yaw_rate=yaw_rate))

    def set_point(self):
        """The SetPoint to send now, or None where there is nothing to send.

        Where nothing was asked it holds the place: outside OFFBOARD it follows the vehicle, so
        that a change to OFFBOARD never starts with a jump. In an OFFBOARD that nobody asked for
        here another node flies the vehicle, and nothing is sent.
        """
        if self._mode == "OFFBOARD" and not self._asked:
            return None
        if self._set_point is None:
            if self._pos is None:
                return None
            hold = SetPoint(ENU, ONLY_POSITION, pos=self._pos, yaw=self._yaw)
            if self._mode == "OFFBOARD":
                self._set_point = hold
            return hold
        return self._set_point

    def _is_hover(self, v, yaw_rate):
        _check(*v, yaw_rate)
        if max(map(abs, v)) > MIN_SPEED or abs(yaw_rate) > MIN_YAW_RATE:
            return False
        if not self._hovering:
            self._hover()
        return True

    def _hover(self):
        self._asked = self._hovering = True
        self._set_point = None

    def _move(self, set_point):
        self._asked, self._hovering = True, False
        self._set_point = set_point


def _check(*numbers):
    """Raises where a number is none: NaN would mean 'not controlled' to the autopilot."""
    if not all(map(math.isfinite, numbers)):
        raise ControlNodeError(f"set-point {numbers} is not finite: nothing is sent")
