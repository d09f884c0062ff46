"""Gamepad teleoperation without ROS: axes and buttons in, MANUAL_CONTROL and commands out.

nodes/joystick connects /joy, or a Linux joystick device, to the topics of one vehicle.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any

from .errors import ControlNodeError

AXES = (0, 1, 3, 4)  # of an Xbox pad: yaw, throttle (left stick), roll, pitch (right stick)
COMMANDS = {0: "AUTO.TAKEOFF", 1: "AUTO.LAND", 2: "AUTO.RTL", 3: "POSCTL", 4: "multirotor",
            5: "plane", 6: "DISARM", 7: "ARM", 8: "MANUAL"}
_EVENT = struct.Struct("<IhBB")  # of <linux/joystick.h>: time [ms], value, kind, number
_BUTTON, _AXIS = 1, 2
_FULL = 32767.0


class Pad:
    """The state of the axes; sends a command for each button that is pressed."""

    def __init__(self, send: Callable[..., Any], axes: Any = AXES, commands: Any = None):
        """A pad without input yet.

        Args:
            send: Called with a command, for example "ARM".
            axes: Numbers of the axes for yaw, throttle, roll and pitch.
            commands: Command of each button number; None: COMMANDS.
        """
        self._send = send
        self._numbers = axes
        self._commands = COMMANDS if commands is None else commands
        self._axes, self._buttons = {}, {}

    def update(self, axes: Any, buttons: Sequence[int]) -> None:
        """Takes the arrays of sensor_msgs/Joy: axes -1 to 1, left and up positive; buttons 0, 1.

        Raises:
            ControlNodeError: The pad lacks a required axis.
        """
        if len(axes) <= max(self._numbers):
            raise ControlNodeError(f"axis {max(self._numbers)} is required, but the pad has "
                                   f"{len(axes)} axes: choose others with --axes")
        self._axes = dict(enumerate(axes))
        for number, down in enumerate(buttons):
            self._press(number, down)

    def feed(self, data: bytes) -> None:
        """Takes events of a Linux joystick device, where left and up are negative."""
        for _, value, kind, number in _EVENT.iter_unpack(data[:len(data) // 8 * 8]):
            if kind & _AXIS:
                self._axes[number] = -value / _FULL
            elif kind == _BUTTON:  # without the bit of the initial state
                self._press(number, value)

    def manual(self) -> tuple | None:
        """MANUAL_CONTROL's x (pitch), y (roll), z (throttle) and r (yaw); None before any input.

        -1000 to 1000, forward, right and turn right positive; the throttle 0 to 1000.
        """
        if not self._axes:
            return None
        yaw, throttle, roll, pitch = (min(max(self._axes.get(k, 0.0), -1.0), 1.0)
                                      for k in self._numbers)
        return 1000.0 * pitch, -1000.0 * roll, 500.0 + 500.0 * throttle, -1000.0 * yaw

    def _press(self, number, down):
        if down and not self._buttons.get(number) and number in self._commands:
            self._send(self._commands[number])
        self._buttons[number] = down
