"""The simple simulator behind XTDrone's topics: commands of one vehicle, and what the log needs.

No ROS here: nodes/simple_simulator gives the words and numbers that came in, and
publishes what is true now.
"""

import threading

import numpy as np

from xtdrone_control.command_translator import LATE_US
from xtdrone_core import ARM, DISARM, KEEP, ControlError, Mode, SetPoints
from xtdrone_core.modes import FROM_ROS_NAME

MIN_SPEED = 0.02  # a slower command means HOVER, as in XTDrone's communication [m/s]


class CommandTable:
    """The commands in force of all vehicles. Its methods may be called from any thread."""

    def __init__(self, simulator):
        """Nothing is asked of the vehicles of a SimpleSimulator."""
        self._simulator = simulator
        self._wish = SetPoints.empty(simulator.n)
        self._came_us = np.full(simulator.n, -1)  # the last of a stream; -1: none is in force
        self._lock = threading.Lock()

    def word(self, i: int, word: str) -> str:
        """A word of /xtdrone/V/cmd to vehicle i; returns why it is refused, or nothing."""
        with self._lock:
            if word in ("ARM", "DISARM"):
                self._wish.arm[i] = ARM if word == "ARM" else DISARM
            elif word == "HOVER":
                self._hover(i)
            elif word in FROM_ROS_NAME:
                self._wish.mode[i] = FROM_ROS_NAME[word]
            elif word not in ("", "stop controlling"):
                return (f"unknown command '{word}': use ARM, DISARM, HOVER, or a mode such as "
                        "OFFBOARD, AUTO.TAKEOFF, AUTO.LAND")
        return ""

    def pose(self, i: int, pos, yaw: float, body: bool) -> None:
        """A place [m] and heading [rad], in the world or relative to the body."""
        with self._lock:
            self._clear(i)
            if body:
                pos = self._simulator.pos[i] + self._turn(i, pos)
                yaw += self._simulator.yaw[i]
            self._wish.pos[i], self._wish.yaw[i] = pos, yaw

    def velocity(self, i: int, vel, yaw_rate: float, body: bool) -> None:
        """A velocity [m/s] and a turn [rad/s]; nearly nothing means HOVER."""
        with self._lock:
            if max(map(abs, vel)) <= MIN_SPEED and abs(yaw_rate) <= 0.005:
                self._hover(i)
                return
            self._clear(i)
            self._came_us[i] = self._simulator.t_us
            self._wish.vel[i] = self._turn(i, vel) if body else vel
            self._wish.yaw_rate[i] = yaw_rate

    def acceleration(self, i: int, acc, body: bool) -> None:
        """An acceleration [m/s^2]."""
        with self._lock:
            self._clear(i)
            self._came_us[i] = self._simulator.t_us
            self._wish.acc[i] = self._turn(i, acc) if body else acc

    def apply(self) -> None:
        """Gives the commands to the simulator."""
        with self._lock:
            self._simulator.apply(self._wish)
            self._wish.mode.fill(KEEP)
            self._wish.arm.fill(KEEP)

    @property
    def late(self) -> np.ndarray:
        """Vehicles (indices) that fly by a stream of set-points whose next one is overdue."""
        sim = self._simulator
        return np.flatnonzero((self._came_us >= 0) & (sim.t_us - self._came_us >= LATE_US)
                              & (sim.mode == Mode.OFFBOARD) & sim.armed)

    def end_streams(self) -> None:
        """Nobody waits any more for the streams that are late."""
        self._came_us[self.late] = -1

    def _hover(self, i):
        if np.isnan(self._wish.pos[i]).any():
            self._clear(i)
            self._wish.pos[i] = self._simulator.pos[i]

    def _clear(self, i):
        for values in (self._wish.pos, self._wish.vel, self._wish.acc):
            values[i] = np.nan
        self._wish.yaw[i] = self._wish.yaw_rate[i] = np.nan
        self._came_us[i] = -1

    def _turn(self, i, v):
        c, s = np.cos(self._simulator.yaw[i]), np.sin(self._simulator.yaw[i])
        return np.array([c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]])


class Requests:
    """What clients of the control socket may ask of the simple simulator."""

    def __init__(self, simulator, names, folder, add_event):
        """add_event(t_us, name, values) writes an event."""
        self._simulator, self._names, self._folder = simulator, names, folder
        self._add_event = add_event
        self.paused = self.stopped = False

    def handle(self, op: str, request: dict) -> dict:
        """Answers one request.

        Raises:
            ControlError: There is no such request.
        """
        t_us = self._simulator.t_us
        if op == "status":
            return {"t_us": t_us, "paused": self.paused, "n": self._simulator.n,
                    "vehicles": self._names, "folder": str(self._folder)}
        if op == "event":
            self._add_event(t_us, str(request["event"]), dict(request.get("values", {})))
        elif op in ("pause", "resume"):
            self.paused = op == "pause"
        elif op == "stop":
            self.stopped = True
        else:
            raise ControlError(f"unknown request '{op}': the simple simulator knows event, pause, "
                               "resume, status, stop")
        return {"t_us": t_us}


def extended_state(simulator, i: int) -> int:
    """MAV_LANDED_STATE of a vehicle: 1 on the ground, 2 in the air, 4 landing."""
    if simulator.landed[i]:
        return 1
    return 4 if simulator.mode[i] == Mode.LAND else 2
