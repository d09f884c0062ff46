"""Scenes of the viewer: a recorded run, or a flight in the simple simulator."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from xtdrone_core import XtdroneError
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.vehicles import grid

from .. import schemes
from ..agents import FormationAgent
from ..assignment import Transition
from ..declarations import DEFAULT_FORMATIONS, Radio, Shape
from ..evaluation import analysis, recordings
from ..network import topology as edges_of
from ..schemes import scheme
from ..simple.simulator import PERIOD_US, PointMass, SimpleSimulator

TRAIL_STEP_S = 0.1  # time between two points of a trail [s]
_MAX_STEPS = 50  # live simulator's steps per frame: the window stays responsive


class Replay:
    """A recorded run of either simulator."""

    def __init__(self, folder: Path | str):
        """Reads the truth log and the events.

        Raises:
            XtdroneError: The folder has no truth log.
        """
        self._flight = analysis.load(folder)
        self.n = self._flight.pos.shape[1]
        self.name = self._flight.folder.resolve().name
        self.start_s, self.end_s = float(self._flight.t_s[0]), float(self._flight.t_s[-1])
        self.t_s = self.start_s
        self.names = recordings.vehicle_names(self._flight.folder, self.n)
        self.ground = float(self._flight.pos[0, :, 2].min())  # where the lowest one stands [m]
        self._scheme = run_folder.read_summary(self._flight.folder).get("scheme")
        self._edges: dict[int, np.ndarray] = {}  # by index of the formation

    @property
    def done(self) -> bool:
        """Whether the end of the run is reached."""
        return self.t_s >= self.end_s

    @property
    def pos(self) -> np.ndarray:
        """(N, 3) true positions now, world [m]."""
        return self._flight.pos[self._index(self.t_s)]

    @property
    def yaw(self) -> np.ndarray:
        """(N,) headings now, from east counter-clockwise [rad]."""
        return self._flight.yaw[self._index(self.t_s)]

    @property
    def formation(self) -> str:
        """Name of the formation that is commanded now; empty for none."""
        window = self._window()
        return "" if window is None else self._flight.windows[window].name

    @property
    def slots(self) -> np.ndarray | None:
        """(N - 1, 3) slots now, world [m]; None where no formation is commanded."""
        window = self._window()
        return None if window is None else self.pos[0] + self._flight.windows[window].slots

    @property
    def edges(self) -> np.ndarray:
        """(E, 2) who hears whom, as (receiver, sender); none where no formation is commanded."""
        window = self._window()
        if window is None:
            return np.zeros((0, 2), dtype=int)
        if window not in self._edges:
            slots = self._flight.windows[window].slots
            try:
                self._edges[window] = scheme(str(self._scheme))[0].edges(slots)
            except XtdroneError:  # a run of ROS nodes, or a scheme not found here
                self._edges[window] = edges_of("star", slots)
        return self._edges[window]

    def trail(self, points: int) -> np.ndarray:
        """Returns positions (points, N, 3) before now, the latest last [m]."""
        times = self.t_s - TRAIL_STEP_S * np.arange(points - 1, -1, -1)
        return self._flight.pos[self._index(times)]

    def advance(self, seconds: float) -> None:
        """Moves on by simulated time [s]."""
        self.seek(self.t_s + seconds)

    def seek(self, t_s: float) -> None:
        """Goes to a time of the run [s], limited to its start and end."""
        self.t_s = min(max(t_s, self.start_s), self.end_s)

    def _index(self, t_s: float | np.ndarray) -> np.ndarray:
        return np.clip(np.searchsorted(self._flight.t_s, t_s), 0, len(self._flight.t_s) - 1)

    def _window(self) -> int | None:
        for k, window in enumerate(self._flight.windows):
            if window.t_s[0] <= self.t_s <= window.t_s[-1]:
                return k
        return None


class LiveFlight:
    """A formation flight in the simple simulator that advances while it is shown."""

    def __init__(
        self,
        n: int = 9,
        names: Sequence[str] = DEFAULT_FORMATIONS,
        scheme_name: str = "centralised",
        radio: Radio = Radio(),
        noise: float = 0.0,
        seed: int = 1,
        shape: Shape = Shape(),
        speed: float = 3.0,
        topology: str = "",
    ):
        """Begins with the fleet on the ground; arguments as those of simple.run.run().

        Raises:
            FormationError: An invalid formation, scheme or value.
        """
        self.n, self.name = n, f"simple simulator, {n} vehicles"
        flown = schemes.scheme(scheme_name, radio, topology=topology)
        self.names = recordings.numbered(n)
        self._agent = FormationAgent(n, names, flown, transition_speed=speed, **asdict(shape))
        self._simulator = SimpleSimulator(grid(n), PointMass(), noise, seed)
        self.ground = float(self._simulator.pos[:, 2].min())  # where the lowest one stands [m]
        self._past = [self._simulator.pos.copy()]
        self._behind_s = 0.0  # simulated time that was requested but not flown yet [s]

    @property
    def t_s(self) -> float:
        """Simulated time [s]."""
        return self._simulator.t_us * 1e-6

    @property
    def done(self) -> bool:
        """Whether the fleet has landed."""
        return self._agent.done

    @property
    def pos(self) -> np.ndarray:
        """(N, 3) true positions now, world [m]."""
        return self._simulator.pos

    @property
    def yaw(self) -> np.ndarray:
        """(N,) headings now, from east counter-clockwise [rad]."""
        return self._simulator.yaw

    @property
    def formation(self) -> str:
        """Name of the formation that is commanded now; empty for none."""
        return "" if self._transition is None else self._agent.formation.name

    @property
    def slots(self) -> np.ndarray | None:
        """(N - 1, 3) slots now, world [m]; None where no formation is commanded."""
        return None if self._transition is None else self.pos[0] + self._transition.goal

    @property
    def edges(self) -> np.ndarray:
        """(E, 2) who hears whom, as (receiver, sender); none before the first formation."""
        formation = self._agent.formation
        return formation.network.edges if formation.started else np.zeros((0, 2), dtype=int)

    @property
    def _transition(self) -> Transition | None:
        formation = self._agent.formation
        return None if self.done or not formation.started else formation.transition

    def trail(self, points: int) -> np.ndarray:
        """Returns positions (points, N, 3) before now, the latest last [m]."""
        past = self._past[-(points - 1) :] + [self.pos]
        return np.array([past[0]] * (points - len(past)) + past)

    def advance(self, seconds: float) -> None:
        """Advances by simulated time [s]; by less if this machine is too slow."""
        self._behind_s += seconds
        steps = min(math.floor(self._behind_s / (PERIOD_US * 1e-6) + 1e-9), _MAX_STEPS)
        self._behind_s = min(self._behind_s - steps * PERIOD_US * 1e-6, PERIOD_US * 1e-6)
        for _ in range(steps):
            if self.done:
                return
            sim = self._simulator
            sim.apply(self._agent.step(sim.t_us, sim.estimates()))
            sim.step()
            if sim.t_us % round(TRAIL_STEP_S * 1e6) == 0:
                self._past = self._past[-999:] + [sim.pos.copy()]


Scene = Replay | LiveFlight
