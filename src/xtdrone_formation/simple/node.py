"""The simple simulator behind XTDrone's topics: commands of the vehicles and control requests.

Independent of ROS: nodes/simple_simulator passes the received commands on and publishes the state.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import ARM, DISARM, KEEP, ControlError, Mode, SetPoints
from xtdrone_core.modes import FROM_ROS_NAME
from xtdrone_mavros.command_translator import LATE_US

from .simulator import SimpleSimulator

MIN_SPEED = 0.02  # a smaller command means HOVER, as in XTDrone's communication [m/s]


class CommandTable:
    """The current commands of all vehicles. Its methods are thread-safe."""

    def __init__(self, simulator: SimpleSimulator) -> None:
        """Holds no commands yet."""
        self._simulator = simulator
        self._set_points = SetPoints.empty(simulator.n)
        self._received_us = np.full(simulator.n, -1)  # last set-point of a stream; -1: no stream
        self._lock = threading.Lock()

    def command(self, i: int, command: str) -> str:
        """Takes a command of /xtdrone/V/cmd; returns an error message, or an empty one."""
        with self._lock:
            if command in ("ARM", "DISARM"):
                self._set_points.arm[i] = ARM if command == "ARM" else DISARM
            elif command == "HOVER":
                self._hover(i)
            elif command in FROM_ROS_NAME:
                self._set_points.mode[i] = FROM_ROS_NAME[command]
            elif command not in ("", "stop controlling"):
                return (
                    f"unknown command '{command}': use ARM, DISARM, HOVER, or a mode such as "
                    "OFFBOARD, AUTO.TAKEOFF, AUTO.LAND"
                )
        return ""

    def pose(self, i: int, pos: np.ndarray, yaw: float, body: bool) -> None:
        """Takes a position [m] and yaw [rad], in the world or relative to the body."""
        with self._lock:
            self._clear(i)
            if body:
                pos = self._simulator.pos[i] + self._to_world(i, pos)
                yaw += self._simulator.yaw[i]
            self._set_points.pos[i], self._set_points.yaw[i] = pos, yaw

    def velocity(self, i: int, vel: np.ndarray, yaw_rate: float, body: bool) -> None:
        """Takes a velocity [m/s] and yaw rate [rad/s]; HOVER if both are about zero."""
        with self._lock:
            if np.abs(vel).max() <= MIN_SPEED and abs(yaw_rate) <= 0.005:
                self._hover(i)
                return
            self._clear(i)
            self._received_us[i] = self._simulator.t_us
            self._set_points.vel[i] = self._to_world(i, vel) if body else vel
            self._set_points.yaw_rate[i] = yaw_rate

    def acceleration(self, i: int, acc: np.ndarray, body: bool) -> None:
        """Takes an acceleration [m/s^2]."""
        with self._lock:
            self._clear(i)
            self._received_us[i] = self._simulator.t_us
            self._set_points.acc[i] = self._to_world(i, acc) if body else acc

    def apply(self) -> None:
        """Gives the commands to the simulator."""
        with self._lock:
            self._simulator.apply(self._set_points)
            self._set_points.mode.fill(KEEP)
            self._set_points.arm.fill(KEEP)

    @property
    def late(self) -> np.ndarray:
        """Vehicles (indices) whose stream of set-points is overdue."""
        sim = self._simulator
        age_us = sim.t_us - self._received_us
        return np.flatnonzero(
            (self._received_us >= 0) & (age_us >= LATE_US) & (sim.mode == Mode.OFFBOARD) & sim.armed
        )

    def end_streams(self) -> None:
        """Treats overdue streams as ended."""
        self._received_us[self.late] = -1

    def _hover(self, i: int) -> None:
        if np.isnan(self._set_points.pos[i]).any():
            self._clear(i)
            self._set_points.pos[i] = self._simulator.pos[i]

    def _clear(self, i: int) -> None:
        out = self._set_points
        for values in (out.pos, out.vel, out.acc, out.yaw, out.yaw_rate):
            values[i] = np.nan
        self._received_us[i] = -1

    def _to_world(self, i: int, v: np.ndarray) -> np.ndarray:
        c, s = np.cos(self._simulator.yaw[i]), np.sin(self._simulator.yaw[i])
        return np.array([c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]])


class Requests:
    """The control requests of the simple simulator."""

    def __init__(
        self,
        simulator: SimpleSimulator,
        names: Sequence[str],
        folder: Path | str,
        add_event: Callable[[int, str, dict[str, Any]], None],
    ) -> None:
        """Begins neither paused nor stopped.

        Args:
            simulator: The simulator.
            names: Names of its vehicles.
            folder: The run folder.
            add_event: Writes an event: simulated time [us], name, values.
        """
        self._simulator, self._names, self._folder = simulator, names, folder
        self._add_event = add_event
        self._places = simulator.pos.tolist()  # where the vehicles stand at the start
        self.paused = self.stopped = False

    def handle(self, op: str, request: dict[str, Any]) -> dict[str, Any]:
        """Answers one request.

        Raises:
            ControlError: Unknown request.
        """
        t_us = self._simulator.t_us
        if op == "status":
            return {
                "t_us": t_us,
                "paused": self.paused,
                "n": self._simulator.n,
                "vehicles": self._names,
                "folder": str(self._folder),
            }
        if op == "places":
            return {"t_us": t_us, "places": self._places}
        if op == "event":
            self._add_event(t_us, str(request["event"]), dict(request.get("values", {})))
        elif op in ("pause", "resume"):
            self.paused = op == "pause"
        elif op == "stop":
            self.stopped = True
        else:
            raise ControlError(
                f"unknown request '{op}': the simple simulator knows event, pause, "
                "places, resume, status, stop"
            )
        return {"t_us": t_us}


def extended_state(simulator: SimpleSimulator, i: int) -> int:
    """Returns MAV_LANDED_STATE of a vehicle: 1 on the ground, 2 in the air, 4 landing."""
    if simulator.landed[i]:
        return 1
    return 4 if simulator.mode[i] == Mode.LAND else 2
