"""Keyboard teleoperation without ROS or a terminal: keys in, commands and screen lines out.

The keys are those of XTDrone. nodes/keyboard connects a terminal to the topics /xtdrone/... of one
vehicle, all vehicles, or the leader of a formation.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import ControlNodeError

STEP = 0.1  # of a velocity or acceleration, per key [m/s, m/s^2]
TURN_STEP = 0.1  # of the yaw rate, per key [rad/s]
MAX_SPEED = {"velocity": 20.0, "acceleration": 5.0}  # per axis [m/s, m/s^2]
MAX_TURN = 3.0  # [rad/s]
ALL, LEADER = "all", "leader"
MOTION = {"w": (0, 1), "x": (0, -1), "a": (1, 1), "d": (1, -1), "i": (2, 1), ",": (2, -1),
          "j": (3, 1), "l": (3, -1)}  # key -> axis (forward, left, up, turn), direction
COMMANDS = {"t": "ARM", "y": "DISARM", "v": "AUTO.TAKEOFF", "n": "AUTO.LAND", "b": "OFFBOARD",
            "r": "AUTO.RTL"}
HOVER_KEYS = ("s", "k")
QUIT_KEYS = ("q", "\x03", "\x04")
UNITS = {"velocity": "m/s", "acceleration": "m/s2"}
FORMATIONS = {  # by the digit keys for the leader, as in XTDrone
    6: ("origin", "T", "diamond", "triangle"), 9: ("origin", "cube", "pyramid", "triangle"),
    18: ("origin", "cuboid", "sphere", "diamond")}
OTHER_FORMATIONS = ("origin", "cube", "pyramid", "triangle", "sphere", "circle", "line")
FEW_FORMATIONS = ("origin", "triangle", "line", "V", "circle", "grid")  # below nine vehicles

HELP = """\
 w/x forward, back     t/y arm, disarm      g    all vehicles, or the leader
 a/d left, right       v/n take off, land   tab  one vehicle, then the next
 i/, up, down          b   OFFBOARD         m    velocity or acceleration
 j/l yaw left, right   r   return and land  q    hover and quit
 s/k stop and hover    0-9 {digits}"""


@dataclass
class VehicleState:
    """The state of one vehicle as shown on the screen."""

    connected: bool = False
    armed: bool = False
    mode: str = ""
    pos: tuple = (math.nan,) * 3  # ENU [m]
    info: str = ""  # last line of /xtdrone/V/info


class Teleop:
    """Turns keys into commands.

    `send(who, command)` and `move(who, kind, linear, yaw_rate)` are called to publish; who is the
    name of a vehicle or LEADER, kind is "velocity" or "acceleration".
    """

    def __init__(self, names: Sequence[str], send: Callable[..., Any], move: Callable[..., None],
                 formations: Sequence[str] = ()):
        """Starts with all vehicles, at rest.

        Raises:
            ControlNodeError: There are no vehicles.
        """
        if not names:
            raise ControlNodeError("there are no vehicles to control")
        self.names = list(names)
        default = FEW_FORMATIONS if len(names) < 9 else OTHER_FORMATIONS
        self.formations = tuple(formations) or FORMATIONS.get(len(names), default)
        self.who = ALL
        self.kind = "velocity"
        self.axes = [0.0] * 4  # forward, left, up [m/s or m/s^2], turn [rad/s]
        self.done = False
        self.last = "nothing yet"
        self._send_to, self._move_to = send, move

    @property
    def moving(self) -> bool:
        """Whether a motion is commanded."""
        return any(self.axes)

    def key(self, key: str) -> None:
        """Handles one key; unknown keys are ignored."""
        if key in MOTION:
            self._accelerate(*MOTION[key])
        elif key in COMMANDS:
            self._send(COMMANDS[key])
        elif key in HOVER_KEYS:
            self.hover()
        elif key == "g":
            self._select(ALL if self.who == LEADER else LEADER)
        elif key == "\t":
            index = self.names.index(self.who) + 1 if self.who in self.names else 0
            self._select(self.names[index % len(self.names)])
        elif key == "m":
            self.hover()
            self.kind = "acceleration" if self.kind == "velocity" else "velocity"
        elif key in QUIT_KEYS:
            self.quit()
        elif key.isdigit():
            self._digit(int(key))

    def repeat(self) -> None:
        """Publishes the current motion again; called periodically."""
        if self.moving:
            self._publish()

    def hover(self) -> None:
        """Stops the controlled vehicles.

        A zero motion means HOVER. It is sent on the topic of the motions, since a command on
        another topic might arrive before the last motion.
        """
        self.axes = [0.0] * 4
        self.last = f"{self.who}: HOVER"
        self._publish()

    def quit(self) -> None:
        """Quits and stops the controlled vehicles."""
        if not self.done:
            self.done = True
            self.hover()

    def _accelerate(self, axis, direction):
        step, limit = (TURN_STEP, MAX_TURN) if axis == 3 else (STEP, MAX_SPEED[self.kind])
        value = round(self.axes[axis] + direction * step, 3)
        self.axes[axis] = min(max(value, -limit), limit)
        if self.moving:
            self._publish()
            self.last = f"{self.who}: {self.kind}"
        else:
            self.hover()

    def _select(self, who):
        if self.moving:
            self.hover()
        self.who = who

    def _digit(self, digit):
        if self.who != LEADER:
            self._send(f"mission{digit}")
        elif digit < len(self.formations):
            self._send(self.formations[digit])

    def _targets(self):
        return self.names if self.who == ALL else [self.who]

    def _send(self, command):
        self.last = f"{self.who}: {command}"
        for who in self._targets():
            self._send_to(who, command)

    def _publish(self):
        for who in self._targets():
            self._move_to(who, self.kind, tuple(self.axes[:3]), self.axes[3])

    def screen(self, states: Any, width: int = 100, height: int = 40) -> list[str]:
        """The screen as lines.

        Args:
            states: VehicleState of each vehicle, in the order of their names.
            width: Columns of the terminal.
            height: Lines of the terminal.
        """
        digits = " ".join(f"{k} {name}" for k, name in enumerate(self.formations)) \
            if self.who == LEADER else "mission"
        forward, left, up, turn = self.axes
        lines = [*HELP.format(digits=digits).splitlines(), "",
                 f" flying {self.who} by {self.kind}: forward {forward:+.1f} left {left:+.1f} "
                 f"up {up:+.1f} {UNITS[self.kind]}, turn {turn:+.1f} rad/s",
                 f" last: {self.last}", ""]
        armed = sum(state.armed for state in states)
        connected = sum(state.connected for state in states)
        lines.append(f" {len(self.names)} vehicles, {connected} connected, {armed} armed")
        room = max(height - len(lines) - 2, 1)
        shown = self._shown(room)
        for i in shown:
            lines.append(self._row(self.names[i], states[i]))
        if len(shown) < len(self.names):
            lines.append(f" and {len(self.names) - len(shown)} more")
        return [line[:width - 1] for line in lines[:height - 1]]

    def _shown(self, room):
        """Indices of the vehicles that fit on the screen, the controlled one among them."""
        first = self.names.index(self.who) - room // 2 if self.who in self.names else 0
        first = max(0, min(first, len(self.names) - room))
        return range(first, min(first + room, len(self.names)))

    def _row(self, name, state):
        mark = ">" if self.who in (ALL, name) else " "
        if not state.connected:
            return f"{mark}{name:14} not connected   {state.info}"
        x, y, z = state.pos
        return (f"{mark}{name:14} {'armed' if state.armed else '-':6}{state.mode:14} "
                f"{x:7.2f} {y:7.2f} {z:7.2f} m   {state.info}")
