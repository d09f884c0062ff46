"""Gamepad teleoperation without ROS: axes and buttons in, MANUAL_CONTROL and commands out.

nodes/joystick connects /joy, or a Linux joystick device, to the topics of one vehicle.
"""

import struct
from collections.abc import Callable, Mapping, Sequence

from xtdrone_core.errors import unknown_name
from xtdrone_dynamics.stick_curves import betaflight_rate, super_exponential

from .errors import ControlNodeError

AXES = (0, 1, 3, 4)  # axes of an Xbox pad: yaw, throttle (left stick), roll, pitch (right stick)
COMMANDS = {
    0: "AUTO.TAKEOFF",
    1: "AUTO.LAND",
    2: "AUTO.RTL",
    3: "POSCTL",
    4: "multirotor",
    5: "plane",
    6: "DISARM",
    7: "ARM",
    8: "MANUAL",
}
_EVENT = struct.Struct("<IhBB")  # js_event of <linux/joystick.h>: time [ms], value, kind, number
_BUTTON, _AXIS = 1, 2
_FULL = 32767.0
NEUTRAL = (0.0, 0.0, 500.0, 0.0)  # MANUAL_CONTROL of released sticks
LOSSES = ("stop", "neutral", "hold")  # reactions to a silent pad, see Pad
CURVES = {"px4": ("EXPO", "SUPER_EXPO"), "betaflight": ("RC_RATE", "SUPER_RATE", "EXPO")}
_MAX = {"px4": (1.0, 0.95), "betaflight": (2.55, 1.0, 1.0)}


class Curve:
    """A curve of a stick that gives ACRO the rates of PX4 or of Betaflight.

    Attributes:
        full: Rate of full stick [deg/s], for MC_ACRO_R_MAX, P_MAX and Y_MAX; None: those apply.
    """

    def __init__(self, text: str = ""):
        """Reads px4:EXPO,SUPER_EXPO or betaflight:RC_RATE,SUPER_RATE,EXPO; "" is a straight line.

        Raises:
            ControlNodeError: It is neither.
        """
        self._kind, _, words = text.partition(":")
        self._numbers: tuple[float, ...] = ()
        self.full: float | None = None
        if text:
            self._numbers = self._read(text, words)
        if self._kind == "betaflight":
            self.full = betaflight_rate(1.0, *self._numbers)

    def _read(self, text: str, words: str) -> tuple[float, ...]:
        names = CURVES.get(self._kind)
        if names is None:
            raise ControlNodeError(
                f"curve '{text}' is not known: give px4:EXPO,SUPER_EXPO or "
                "betaflight:RC_RATE,SUPER_RATE,EXPO"
            )
        try:
            numbers = tuple(map(float, words.split(",")))
        except ValueError:
            numbers = ()
        allowed = len(numbers) == len(names) and all(
            0.0 <= number <= limit for number, limit in zip(numbers, _MAX[self._kind])
        )
        if not allowed or (self._kind == "betaflight" and numbers[0] < 0.01):
            limits = ", ".join(
                f"{name} up to {limit:g}" for name, limit in zip(names, _MAX[self._kind])
            )
            raise ControlNodeError(f"curve '{text}' is not allowed: give {limits}")
        return numbers

    def __call__(self, stick: float) -> float:
        """Returns the fraction of full stick, -1..1, for a stick -1..1."""
        if self._kind == "px4":
            return super_exponential(stick, *self._numbers)
        if self.full is not None:
            return betaflight_rate(stick, *self._numbers) / self.full if self.full else 0.0
        return stick


class Pad:
    """The state of the axes; sends a command for each button that is pressed.

    With a dead man's button the sticks count only while it is held, and are neutral otherwise. A
    pad that is silent for a time is lost: its sticks end (`stop`), so that the autopilot sees
    that manual control is lost and acts by NAV_RCL_ACT after COM_RC_LOSS_T, are `neutral`, or
    stay as they were (`hold`).
    """

    def __init__(
        self,
        send: Callable[[str], object],
        axes: Sequence[int] = AXES,
        commands: Mapping[int, str] | None = None,
        *,
        curve: Callable[[float], float] = Curve(),
        dead_man: int | None = None,
        time_out: float = 0.0,
        on_loss: str = "stop",
    ):
        """Begins without input.

        Args:
            send: Called with a command, for example "ARM".
            axes: Numbers of the axes for yaw, throttle, roll and pitch.
            commands: Command of each button number; None: COMMANDS.
            curve: Curve of the sticks of yaw, roll and pitch.
            dead_man: Number of the button that has to be held; None: none.
            time_out: Time without input after which the pad is lost [s]; 0: never.
            on_loss: One of LOSSES.

        Raises:
            ControlNodeError: on_loss is none of them.
        """
        if on_loss not in LOSSES:
            raise ControlNodeError(unknown_name("reaction to a lost pad", on_loss, LOSSES))
        self._send = send
        self._numbers = axes
        self._commands = COMMANDS if commands is None else commands
        self._curve, self._dead_man = curve, dead_man
        self._time_out, self._on_loss = time_out, on_loss
        self._heard: float | None = None
        self._axes: dict[int, float] = {}
        self._buttons: dict[int, int] = {}

    def lost(self, now: float) -> bool:
        """Returns whether no input came for the time-out.

        Args:
            now: Any monotonic clock [s], the same as for update() and feed().
        """
        return bool(
            self._time_out and self._heard is not None and now - self._heard > self._time_out
        )

    def update(self, axes: Sequence[float], buttons: Sequence[int], now: float = 0.0) -> None:
        """Takes the arrays of sensor_msgs/Joy: axes -1 to 1, left and up positive; buttons 0, 1.

        Raises:
            ControlNodeError: The pad lacks a required axis.
        """
        if len(axes) <= max(self._numbers):
            raise ControlNodeError(
                f"axis {max(self._numbers)} is required, but the pad has "
                f"{len(axes)} axes: choose others with --axes"
            )
        self._heard = now
        self._axes = dict(enumerate(axes))
        for number, down in enumerate(buttons):
            self._press(number, down)

    def feed(self, data: bytes, now: float = 0.0) -> None:
        """Takes events of a Linux joystick device, where left and up are negative."""
        self._heard = now
        for _, value, kind, number in _EVENT.iter_unpack(data[: len(data) // 8 * 8]):
            if kind & _AXIS:
                self._axes[number] = -value / _FULL
            elif kind == _BUTTON:  # without the bit of the initial state
                self._press(number, value)

    def manual(self, now: float = 0.0) -> tuple[float, float, float, float] | None:
        """Returns MANUAL_CONTROL's x (pitch), y (roll), z (throttle) and r (yaw).

        -1000 to 1000, forward, right and turn right positive; the throttle 0 to 1000. None before
        any input, and of a lost pad whose sticks stop.
        """
        if not self._axes:
            return None
        if self.lost(now):
            if self._on_loss == "stop":
                return None
            if self._on_loss == "neutral":
                return NEUTRAL
        if self._dead_man is not None and not self._buttons.get(self._dead_man):
            return NEUTRAL
        yaw, throttle, roll, pitch = (
            min(max(self._axes.get(k, 0.0), -1.0), 1.0) for k in self._numbers
        )
        yaw, roll, pitch = self._curve(yaw), self._curve(roll), self._curve(pitch)
        return 1000.0 * pitch, -1000.0 * roll, 500.0 + 500.0 * throttle, -1000.0 * yaw

    def _press(self, number: int, down: int) -> None:
        if (
            down
            and not self._buttons.get(number)
            and number in self._commands
            and number != self._dead_man
        ):
            self._send(self._commands[number])
        self._buttons[number] = down
