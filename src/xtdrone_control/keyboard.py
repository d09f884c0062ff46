"""Keyboard teleoperation without ROS or a terminal: keys in, commands and screen lines out.

The keys are those of XTDrone. nodes/keyboard connects a terminal to the topics /xtdrone/... of one
vehicle, all vehicles, or the leader of a formation.
"""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from xtdrone_mavros.convert.geometry import Vector
from xtdrone_mavros.vehicle_kind import GROUND, Kind, on_wings

from .errors import ControlNodeError

STEP = 0.1  # change of velocity or acceleration per key [m/s, m/s^2]
TURN_STEP = 0.1  # change of yaw rate or steering per key [rad/s]
POINT_STEP = 5.0  # change of a fixed wing's set-point per key [m]
MAX_SPEED = {"velocity": 20.0, "acceleration": 5.0}  # bounds of each axis [m/s, m/s^2]
MAX_TURN = 3.0  # [rad/s]
MAX_STEERING = 1.0  # rovers and boats, as in XTDrone
ALL, LEADER = "all", "leader"
MOTION = {
    "w": (0, 1),
    "x": (0, -1),
    "a": (1, 1),
    "d": (1, -1),
    "i": (2, 1),
    ",": (2, -1),
    "j": (3, 1),
    "l": (3, -1),
}  # key -> axis (forward, left, up, turn), direction
COMMANDS = {
    "t": "ARM",
    "y": "DISARM",
    "v": "AUTO.TAKEOFF",
    "n": "AUTO.LAND",
    "b": "OFFBOARD",
    "r": "AUTO.RTL",
}
HOVER_KEYS = ("s", "k")
QUIT_KEYS = ("q", "\x03", "\x04")
UNITS = {"velocity": "m/s", "acceleration": "m/s2"}
FORMATIONS = {  # digit keys of the leader by number of vehicles, as in XTDrone
    6: ("origin", "T", "diamond", "triangle"),
    9: ("origin", "cube", "pyramid", "triangle"),
    18: ("origin", "cuboid", "sphere", "diamond"),
}
OTHER_FORMATIONS = ("origin", "cube", "pyramid", "triangle", "sphere", "circle", "line")
FEW_FORMATIONS = ("origin", "triangle", "line", "V", "circle", "grid")  # below nine vehicles

ROTORS, WINGS, WHEELS = range(3)  # propulsion; boats are steered like rovers
MOTION_HELP = {
    ROTORS: (
        "w/x forward, back",
        "a/d left, right",
        "i/, up, down",
        "j/l yaw left, right",
        "s/k stop and hover",
    ),
    WINGS: ("w/x north, south", "a/d west, east", "i/, up, down", "", "s/k stay here"),
    WHEELS: ("w/x forward, back", "a/d steer left, right", "", "", "s/k stop"),
}
HELP = """\
 {:22}t/y arm, disarm      g    all vehicles, or the leader
 {:22}v/n take off, land   tab  one vehicle, then the next
 {:22}b   OFFBOARD         m    velocity or acceleration
 {:22}r   return and land  q    hover and quit
 {:22}0-9 {digits}"""
O_HELP = {
    Kind.PLANE: [" o   send the set-point again"],
    Kind.VTOL: [" o   transition to fixed-wing flight, or back"],
}


@dataclass
class VehicleState:
    """The state of one vehicle as shown on the screen."""

    connected: bool = False
    armed: bool = False
    mode: str = ""
    pos: Vector = (math.nan, math.nan, math.nan)  # ENU [m]
    info: str = ""  # last line of /xtdrone/V/info
    kind: Kind = Kind.MULTIROTOR
    vtol_state: int = 0  # MAV_VTOL_STATE

    @property
    def moved_by(self) -> int:
        """ROTORS, WINGS or WHEELS."""
        if self.kind in GROUND:
            return WHEELS
        return WINGS if on_wings(self.kind, self.vtol_state) else ROTORS


class Publisher(Protocol):
    """Publishers and subscribers of ROS; `who` is the name of a vehicle or LEADER.

    Attributes:
        states: State of each vehicle, in the order of their names.
    """

    states: Sequence[VehicleState]

    def send(self, who: str, command: str) -> None:
        """Publishes a command."""

    def move(self, who: str, kind: str, linear: Vector, turn: float) -> None:
        """Publishes a motion of this kind, "velocity" or "acceleration" [m/s, m/s^2, rad/s]."""

    def set_position(self, who: str, pos: Vector) -> None:
        """Publishes a position, ENU [m]."""


class Teleop:
    """Turns keys into commands."""

    def __init__(self, names: Sequence[str], publisher: Publisher, formations: Sequence[str] = ()):
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
        self.done = False
        self.last = "nothing yet"
        self._publisher = publisher
        self._states = publisher.states
        self._rest()

    def _rest(self) -> None:
        # Presses of the keys forward, left, up and turn, minus those of the opposite ones.
        self._presses = [0] * 4
        self._origins: dict[str, Vector] = {}  # by name: start of a fixed wing's set-point [m]

    @property
    def axes(self) -> list[float]:
        """Forward, left, up [m/s or m/s^2] and turn [rad/s]."""
        return [
            round(number * step, 3)
            for number, step in zip(self._presses, (STEP, STEP, STEP, TURN_STEP))
        ]

    @property
    def steering(self) -> float:
        """Steering of rovers and boats, to the left; both pairs of keys steer."""
        return min(max(self.axes[1] + self.axes[3], -MAX_STEERING), MAX_STEERING)

    @property
    def offset(self) -> Vector:
        """Offset of a fixed wing's set-point from its start, ENU [m]."""
        forward, left, up, _ = (number * POINT_STEP for number in self._presses)
        return -left, forward, up

    @property
    def moving(self) -> bool:
        """Whether a motion is commanded."""
        return any(self._presses)

    def key(self, key: str) -> None:
        """Handles one key; unknown keys are ignored."""
        if key in MOTION:
            self._accelerate(*MOTION[key])
        elif key in COMMANDS:
            self._send(COMMANDS[key])
        elif key in HOVER_KEYS:
            self.hover()
        elif key == "o":
            self._transition()
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
        """Publishes the current motion again, not set-points; called periodically."""
        if self.moving:
            for who in self._targets():
                self._move(who)

    def hover(self) -> None:
        """Stops the controlled vehicles.

        A zero motion means HOVER. It is sent on the topic of the motions, since a command on
        another topic might arrive before the last motion. A plane stays around its position.
        """
        self._rest()
        self.last = f"{self.who}: HOVER"
        for who in self._targets():
            self._publisher.move(who, self.kind, (0.0, 0.0, 0.0), 0.0)

    def quit(self) -> None:
        """Quits and stops the controlled vehicles."""
        if not self.done:
            self.done = True
            self.hover()

    def _accelerate(self, axis: int, direction: int) -> None:
        limit = round(MAX_TURN / TURN_STEP if axis == 3 else MAX_SPEED[self.kind] / STEP)
        self._presses[axis] = min(max(self._presses[axis] + direction, -limit), limit)
        if not self.moving:
            self.hover()
            return
        self.last = f"{self.who}: motion"
        for who in self._targets():
            self._move(who)
            self._set_position(who)

    def _transition(self) -> None:
        """Starts a VTOL's transition; sends a plane its set-point again."""
        for who in self._targets():
            state = self._state(who)
            if state.kind is Kind.VTOL:
                self._command(who, "multirotor" if state.moved_by == WINGS else "plane")
            else:
                self._set_position(who)

    def _select(self, who: str) -> None:
        if self.moving:
            self.hover()
        self.who = who

    def _digit(self, digit: int) -> None:
        if self.who != LEADER:
            self._send(f"mission{digit}")
        elif digit < len(self.formations):
            self._send(self.formations[digit])

    def _targets(self) -> list[str]:
        return self.names if self.who == ALL else [self.who]

    def _state(self, who: str) -> VehicleState:
        """Returns the state of a vehicle, or of the leader, which is the first one."""
        return self._states[0 if who == LEADER else self.names.index(who)]

    def _send(self, command: str) -> None:
        for who in self._targets():
            self._command(who, command)

    def _command(self, who: str, command: str) -> None:
        self.last = f"{self.who}: {command}"
        self._publisher.send(who, command)

    def _move(self, who: str) -> None:
        """Publishes the motion of a vehicle that is not on its wings."""
        moved_by = self._state(who).moved_by
        forward, left, up, turn = self.axes
        if moved_by == WHEELS:
            self._publisher.move(who, "velocity", (forward, 0.0, 0.0), self.steering)
        elif moved_by == ROTORS:
            self._publisher.move(who, self.kind, (forward, left, up), turn)

    def _set_position(self, who: str) -> None:
        """Publishes the set-point of a fixed wing, relative to where it was at the first key."""
        state = self._state(who)
        if state.moved_by == WINGS and math.isfinite(state.pos[0]):
            x, y, z = self._origins.setdefault(who, state.pos)
            east, north, up = self.offset
            self._publisher.set_position(who, (x + east, y + north, z + up))

    def screen(self, width: int = 100, height: int = 40, leader: str = "") -> list[str]:
        """Returns the screen as lines.

        Args:
            width: Columns of the terminal.
            height: Lines of the terminal.
            leader: Last line of /xtdrone/leader/info.
        """
        states, targets = self._states, [self._state(who) for who in self._targets()]
        lines = [
            *self._help(targets[0]),
            "",
            *map(self._motion, sorted({state.moved_by for state in targets})),
            f" last: {self.last}",
            *textwrap.wrap(leader, max(width - 2, 8), initial_indent=" ", subsequent_indent=" "),
            "",
        ]
        armed = sum(state.armed for state in states)
        connected = sum(state.connected for state in states)
        lines.append(f" {len(self.names)} vehicles, {connected} connected, {armed} armed")
        room = max(height - len(lines) - 2, 1)
        shown = self._shown(room)
        for i in shown:
            lines.append(self._row(self.names[i], states[i]))
        if len(shown) < len(self.names):
            lines.append(f" and {len(self.names) - len(shown)} more")
        return [line[: width - 1] for line in lines[: height - 1]]

    def _help(self, state: VehicleState) -> list[str]:
        """Returns the keys, with the motions of a vehicle in this state."""
        digits = (
            " ".join(f"{k} {name}" for k, name in enumerate(self.formations))
            if self.who == LEADER
            else "mission"
        )
        lines = HELP.format(*MOTION_HELP[state.moved_by], digits=digits).splitlines()
        return lines + O_HELP.get(state.kind, [])

    def _motion(self, moved_by: int) -> str:
        """Returns the commanded motion of vehicles that are moved by ROTORS, WINGS or WHEELS."""
        forward, left, up, turn = self.axes
        east, north, rise = self.offset
        return {
            ROTORS: f" flying {self.who} by {self.kind}: forward {forward:+.1f} left {left:+.1f} "
            f"up {up:+.1f} {UNITS[self.kind]}, turn {turn:+.1f} rad/s",
            WINGS: f" set-point of {self.who}: east {east:+.0f} north {north:+.0f} "
            f"up {rise:+.0f} m from where it was",
            WHEELS: f" driving {self.who}: speed {forward:+.1f} m/s, steering {self.steering:+.1f}",
        }[moved_by]

    def _shown(self, room: int) -> range:
        """Returns indices of the vehicles that fit on the screen, with the controlled one."""
        first = self.names.index(self.who) - room // 2 if self.who in self.names else 0
        first = max(0, min(first, len(self.names) - room))
        return range(first, min(first + room, len(self.names)))

    def _row(self, name: str, state: VehicleState) -> str:
        mark = ">" if self.who in (ALL, name) else " "
        if not state.connected:
            return f"{mark}{name:14} not connected   {state.info}"
        x, y, z = state.pos
        return (
            f"{mark}{name:14} {'armed' if state.armed else '-':6}{state.mode:14} "
            f"{x:7.2f} {y:7.2f} {z:7.2f} m   {state.info}"
        )
