"""The flight that a window shows while it is simulated in another process."""

import json
import queue
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import FleetState, VehicleSpec
from xtdrone_core.runs.frame_ring import FrameReader

from ..vehicles.sdf import load_vehicle
from ..world import load_world
from ..world.models import WorldModel
from .flights import TRAIL_S, blank_state

_FACTOR_S = 2.0  # wall time over which the real-time factor is measured
_PAUSED_S = 0.7  # wall time without a pose after which the simulation counts as paused
_TRAIL_STEP_US = 100_000
_KEPT_S = 20.0  # length of the trail that is kept, of a fleet that flies faster than real time [s]


@dataclass(frozen=True)
class SceneDescription:
    """Says what is in the scene, from the simulation to the window, as a line of JSON."""

    world: str  # its SDF file
    added: Sequence[str]  # models that the scenario adds to it
    ring: str  # file of the FrameWriter with the poses
    arrays: Sequence[Any]  # (name, dtype, shape) of each array of a frame
    vehicles: Sequence[Any]  # (type, name, position, yaw) of each vehicle
    inserted: Sequence[dict[str, Any]]  # models that were inserted, by WorldModel.plain()

    def to_json(self) -> str:
        """Writes the description as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> "SceneDescription":
        """Reads a line of to_json()."""
        return cls(**json.loads(line))


class LiveFlight:
    """The window's end of a running simulation; see Replay for the attributes."""

    def __init__(self, scene: SceneDescription) -> None:
        """Loads the world and the vehicles.

        Args:
            scene: The first description that the simulation sent.

        Raises:
            XtdroneError: Its world or vehicles are not here.
        """
        specs = tuple(
            VehicleSpec(kind, name, tuple(pos), yaw) for kind, name, pos, yaw in scene.vehicles
        )
        self.world = load_world(scene.world, tuple(scene.added))
        self.models = [load_vehicle(spec.type) for spec in specs]
        self.vehicles = specs
        self.names = [spec.name for spec in specs]
        self.name = self.world.name
        self.everything = np.array([spec.pos for spec in specs], dtype=float)
        self.t_s = 0.0
        self.scenes: queue.SimpleQueue[SceneDescription] = queue.SimpleQueue()  # from any thread
        self._state = blank_state(self.models)
        self._state.pos[:] = self.everything
        self._past: deque[tuple[int, np.ndarray]] = deque()
        self._progress: deque[tuple[float, float]] = deque()  # wall time, simulated time
        self._inserted: tuple[tuple[WorldModel, ...], Sequence[np.ndarray]] = (), ()
        self._set_scene(scene)

    def update(self) -> None:
        """Reads what the simulation has sent since the last call."""
        while not self.scenes.empty():
            self._set_scene(self.scenes.get())
        for t_us, data in self._reader.read():
            state = self._state
            if t_us < state.t_us:  # a snapshot was loaded
                self._past.clear()
                self._progress.clear()
            state.t_us, self.t_s = t_us, t_us * 1e-6
            state.pos[:], state.quat[:] = data["pos"], data["quat"]
            state.joint_pos[:] = data.get("joint_pos", state.joint_pos)
            self._inserted = self._inserted[0], data.get("inserted", ())
            if not self._past or t_us - self._past[-1][0] >= _TRAIL_STEP_US:
                self._past.append((t_us, data["pos"]))
                while t_us - self._past[0][0] > _KEPT_S * 1e6:
                    self._past.popleft()
            self._progress.append((time.monotonic(), self.t_s))
            while self._progress[-1][0] - self._progress[0][0] > _FACTOR_S:
                self._progress.popleft()

    def state(self, t_s: float) -> FleetState:
        """Returns the fleet now, whatever the time."""
        return self._state

    def trail(self, t_s: float, seconds: float = TRAIL_S) -> np.ndarray:
        """Returns positions (K, N, 3) in the last seconds, the latest last [m]."""
        kept = [pos for t_us, pos in self._past if t_us * 1e-6 >= self.t_s - seconds]
        return np.stack([*kept, self._state.pos, self._state.pos][-max(2, len(kept) + 1) :])

    def factor(self) -> str:
        """Returns the real-time factor of the simulation, in words."""
        if len(self._progress) < 2 or time.monotonic() - self._progress[-1][0] > _PAUSED_S:
            return "paused"
        (begin, first), (end, last) = self._progress[0], self._progress[-1]
        return f"{(last - first) / max(end - begin, 1e-3):.2g} x"

    def inserted(self) -> tuple[tuple[WorldModel, ...], Sequence[np.ndarray]]:
        """Returns the models that were inserted into the world, and their states (P, 13)."""
        return self._inserted

    def caption(self, t_s: float) -> str:
        """Returns nothing: the events of a flight are not sent."""
        return ""

    def _set_scene(self, scene: SceneDescription) -> None:
        self._reader = FrameReader(Path(scene.ring), list(scene.arrays))
        models = tuple(WorldModel.restore(plain) for plain in scene.inserted)
        states = np.array([[*model.start.pos, *model.start.quat, *[0.0] * 6] for model in models])
        self._inserted = models, list(states)
