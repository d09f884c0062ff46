"""The race of a simulation: its laps when a gate is passed, and ghosts."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from xtdrone_core.racing import ghost
from xtdrone_core.racing.track import Track, read_track

from ..errors import WebError
from ..links.order import Answer, Order, Request
from .panel import Panel, Services


@dataclass(frozen=True)
class GateDescription:
    """A gate as the page draws it."""

    pos: tuple[float, ...]  # world [m]
    axes: list[list[float]]
    bars: list[list[tuple[float, ...]]]  # position and size of each [m]
    move: tuple[float, ...]  # largest displacement, world [m]
    period: float  # of it [s]


@dataclass(frozen=True)
class RaceDescription:
    """A race as the page shows it."""

    track: str
    about: str
    laps: int
    ghost: str  # run whose ghost flies along at first; empty for none
    gates: list[GateDescription]


class Race(Panel):
    """A race; without a track the panel stays closed."""

    def __init__(self, services: Services):
        """Reads the track of a simulation."""
        super().__init__(services)
        described = services.description
        self._track = read_track(described.track) if described.track else None
        self._laps: Answer = {}  # the simulation's last answer
        self._ghost = described.ghost
        self._passages = b""

    def orders(self) -> Mapping[str, Order]:
        """Returns the runs that have a ghost, and a ghost."""
        return {
            "ghosts": Order(self.runs, for_viewers=True),
            "ghost": Order(self.ghost, for_viewers=True),
        }

    def scene(self) -> dict[str, Any]:
        """Returns track, the ghost that flies along at first, and laps."""
        race = None if self._track is None else asdict(_described(self._track, self._ghost))
        return {"race": race, "laps": self._laps}

    def on_frame(self, arrays: Mapping[str, np.ndarray]) -> Callable[[], Answer] | None:
        """Asks for the laps when gates were passed, missed or forgotten."""
        before, self._passages = self._passages, arrays["passages"].tobytes()
        return self._ask if self._track is not None and before != self._passages else None

    def _ask(self) -> Answer:
        self._laps = self.services.world.ask("race")
        return {"op": "laps", **self._laps}

    def runs(self, request: Request) -> Answer:
        """Returns the runs whose laps of this track can be ghosts.

        Raises:
            WebError: There is no race.
        """
        return {"runs": ghost.runs_with(self._flown())}

    def ghost(self, request: Request) -> Answer:
        """Returns the ghost of a run by its name; of paths only the one given at the start.

        Raises:
            XtdroneError: There is no race, no such run, or no whole lap in it.
        """
        track, run = self._flown(), request.get("run")
        known = [self._ghost, *(each["run"] for each in ghost.runs_with(track))]
        if not isinstance(run, str) or not run or run not in known:
            raise WebError("a ghost is the name of a run with a whole lap of this track")
        return {"ghost": ghost.read_ghost(run, track).plain()}

    def _flown(self) -> Track:
        if self._track is None:
            raise WebError("there is no race: start the simulation with --track NAME")
        return self._track


def _described(track: Track, ghost_run: str) -> RaceDescription:
    gates = [
        GateDescription(
            gate.pos,
            gate.axes().tolist(),
            [[pos, size] for pos, size in gate.bars()],
            gate.move,
            gate.period,
        )
        for gate in track.gates
    ]
    return RaceDescription(track.name, track.about, track.laps, ghost_run, gates)


PANEL = Race
