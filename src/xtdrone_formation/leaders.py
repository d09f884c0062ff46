"""Leaders of formations, and the communication of their fleets."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from xtdrone_core.contracts import Snapshot
from xtdrone_core.errors import shown
from xtdrone_core.runs.snapshot import Memory

from .assignment import Motion, Transition, plan
from .declarations import Radio
from .errors import FormationError
from .network import topology


class Leader(Memory):
    """The leader and the fleet's communication. It holds its position unless control() differs."""

    MEMORY = ("_position",)

    topology = "star"  # communication graph, see network.topology
    neighbours = 3  # with the topology "nearest"

    def __init__(self, radio: Radio = Radio()) -> None:
        """Makes a leader whose fleet communicates over links with this delay, loss and range."""
        self.radio = radio
        self._position: np.ndarray | None = None

    def edges(self, offsets: np.ndarray) -> np.ndarray:
        """Returns the communication graph of slots (N - 1, 3): edges (E, 2) (receiver, sender)."""
        return topology(self.topology, offsets, self.neighbours)

    def packet(self, t_us: int, pos: np.ndarray, vel: np.ndarray) -> np.ndarray:
        """Returns the leader's packet; its slot is zero by definition."""
        return np.concatenate([pos, vel, np.zeros(6)])

    def control(self, t_us: int, pos: np.ndarray, vel: np.ndarray) -> Motion:
        """Returns the set-points of the leader.

        Args:
            t_us: Simulated time [us].
            pos: (3,) estimated position, world [m].
            vel: (3,) estimated velocity, world [m/s].

        Returns:
            Position, velocity and acceleration, each (3,), NaN where not controlled.
        """
        if self._position is None:
            self._position = pos.copy()
        return self._position, np.zeros(3), np.zeros(3)

    def go_to(self, position: npt.ArrayLike) -> None:
        """Sets the position (3,) to hold, world [m]."""
        self._position = np.array(position, dtype=float)


class PathLeader(Leader):
    """Flies along waypoints, each leg a smooth motion from rest to rest; see start()."""

    def __init__(
        self,
        waypoints: Any,  # from a command line: checked here
        speed: float = 3.0,
        acceleration: float = 1.0,
        radio: Radio = Radio(),
        communication: Leader | None = None,
    ) -> None:
        """Holds its position until start() is called.

        Args:
            waypoints: (K, 3) world [m]; anything from a command line, which is checked.
            speed: Largest speed [m/s].
            acceleration: Largest acceleration [m/s^2].
            radio: Properties of the links.
            communication: The leader whose edges() and packet() it uses; None: its own.

        Raises:
            FormationError: Invalid waypoints, speed or acceleration.
        """
        super().__init__(radio)
        try:
            self._waypoints = np.array(waypoints, dtype=float).reshape(-1, 3)
        except (TypeError, ValueError):
            self._waypoints = np.zeros((0, 3))
        if not len(self._waypoints) or not np.isfinite(self._waypoints).all():
            raise FormationError(
                f"waypoints {shown(waypoints)} of a leader's path are not allowed: give "
                "one or more of [x, y, z] in metres"
            )
        for what, value in (("speed", speed), ("acceleration", acceleration)):
            if not (math.isfinite(value) and value > 0):
                raise FormationError(
                    f"{what} {value} of a leader's path is not allowed: give a positive number"
                )
        self._speed, self._acceleration = speed, acceleration
        self._started = False
        self._leg: Transition | None = None
        self._communication = communication

    def edges(self, offsets: np.ndarray) -> np.ndarray:
        """Returns the communication graph; see Leader."""
        other = self._communication
        return super().edges(offsets) if other is None else other.edges(offsets)

    def packet(self, t_us: int, pos: np.ndarray, vel: np.ndarray) -> np.ndarray:
        """Returns the leader's packet; see Leader."""
        other = self._communication
        return super().packet(t_us, pos, vel) if other is None else other.packet(t_us, pos, vel)

    def save(self) -> dict[str, Any]:
        """Saves also what is left of the path."""
        return {
            **super().save(),
            "waypoints": self._waypoints.copy(),
            "started": self._started,
            "leg": None if self._leg is None else self._leg.save(),
        }

    def load(self, snapshot: Snapshot) -> None:
        """Restores what save() returned."""
        super().load(snapshot)
        self._waypoints, self._started = snapshot["waypoints"].copy(), snapshot["started"]
        self._leg = None if snapshot["leg"] is None else Transition(**snapshot["leg"])

    def start(self) -> None:
        """Begins the first leg at the next call of control()."""
        self._started = True

    def arrived(self, t_us: int) -> bool:
        """Returns whether the last waypoint is reached."""
        return self._leg is not None and len(self._waypoints) == 1 and t_us >= self._leg.end_us

    def control(self, t_us: int, pos: np.ndarray, vel: np.ndarray) -> Motion:
        """Returns position, velocity and acceleration of the motion along the path."""
        if not self._started:
            return super().control(t_us, pos, vel)
        if self._leg is None:
            self._leg = self._plan(pos[None], t_us)
        while t_us >= self._leg.end_us and len(self._waypoints) > 1:
            self._waypoints = self._waypoints[1:]
            self._leg = self._plan(self._leg.goal, self._leg.end_us)
        pos, vel, acc = self._leg.at(t_us)
        return pos[0], vel[0], acc[0]

    def _plan(self, start: np.ndarray, t_us: int) -> Transition:
        return plan(start, self._waypoints[:1], t_us, self._speed, self._acceleration)


class ConsensusLeader(Leader):
    """A leader heard only by its nearest followers."""

    topology = "nearest"
