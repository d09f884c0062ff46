"""Gamepad teleoperation without ROS: sticks and buttons in, MANUAL_CONTROL and words out.

nodes/joystick connects /joy, or a device of Linux, and the topics of one vehicle.
"""

import struct

from .errors import ControlNodeError

AXES = (0, 1, 3, 4)  # of an Xbox pad: yaw, throttle (left stick), roll, pitch (right stick)
WORDS = {0: "AUTO.TAKEOFF", 1: "AUTO.LAND", 2: "AUTO.RTL", 3: "POSCTL", 6: "DISARM", 7: "ARM"}
_EVENT = struct.Struct("<IhBB")  # of <linux/joystick.h>: time [ms], value, kind, number
_BUTTON, _AXIS = 1, 2
_FULL = 32767.0


class Pad:
    """What the sticks say, and a word to the vehicle for each button that goes down."""

    def __init__(self, send, axes=AXES, words=None):
        """Starts with nothing heard.

        Args:
            send: Called with a word, for example "ARM".
            axes: Numbers of the axes for yaw, throttle, roll and pitch.
            words: Word of each button's number; WORDS where None.
        """
        self._send = send
        self._numbers = axes
        self._words = WORDS if words is None else words
        self._axes, self._buttons = {}, {}

    def update(self, axes, buttons) -> None:
        """Takes sensor_msgs/Joy's arrays: axes -1 to 1, left and up positive; buttons 0 or 1.

        Raises:
            ControlNodeError: The pad lacks an axis that is wanted.
        """
        if len(axes) <= max(self._numbers):
            raise ControlNodeError(f"axis {max(self._numbers)} is wanted, but the pad has "
                                   f"{len(axes)}: name others with --axes")
        self._axes = dict(enumerate(axes))
        for number, down in enumerate(buttons):
            self._press(number, down)

    def feed(self, data: bytes) -> None:
        """Takes events of a device of Linux, where left and up are negative."""
        for _, value, kind, number in _EVENT.iter_unpack(data[:len(data) // 8 * 8]):
            if kind & _AXIS:
                self._axes[number] = -value / _FULL
            elif kind == _BUTTON:  # not with the bit that tells of the state at the start
                self._press(number, value)

    def manual(self):
        """MANUAL_CONTROL's x (pitch), y (roll), z (throttle) and r (yaw); None before any input.

        -1000 to 1000, forward, right and turn right positive; the throttle 0 to 1000.
        """
        if not self._axes:
            return None
        yaw, throttle, roll, pitch = (min(max(self._axes.get(k, 0.0), -1.0), 1.0)
                                      for k in self._numbers)
        return 1000.0 * pitch, -1000.0 * roll, 500.0 + 500.0 * throttle, -1000.0 * yaw

    def _press(self, number, down):
        if down and not self._buttons.get(number) and number in self._words:
            self._send(self._words[number])
        self._buttons[number] = down
