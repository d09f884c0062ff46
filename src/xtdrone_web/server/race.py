"""The race of a simulation for its pages: its state when a gate is passed, and ghosts."""

from typing import Any

import numpy as np

from xtdrone_core.racing import ghost
from xtdrone_core.racing.track import read_track

from ..errors import WebError


class Race:
    """A race track's state.

    Attributes:
        told: Track and ghost for a page's scene; None where there is no race.
        state: What the simulation last said of it.
    """

    def __init__(self, track: str, run: str):
        """track: a name or file, "" for none; run: whose ghost flies along at first, or ""."""
        self._track = read_track(track) if track else None
        self.told = (
            None
            if self._track is None
            else {
                "track": self._track.name,
                "about": self._track.about,
                "laps": self._track.laps,
                "ghost": run,
                "gates": [
                    {
                        "pos": list(gate.pos),
                        "axes": gate.axes().tolist(),
                        "bars": [[list(pos), list(size)] for pos, size in gate.bars()],
                    }
                    for gate in self._track.gates
                ],
            }
        )
        self.state: dict[str, Any] = {}
        self._given = run
        self._counts: bytes = b""

    def changed(self, counts: np.ndarray) -> bool:
        """Whether gates were passed, missed or forgotten since the last call."""
        before, self._counts = self._counts, counts.tobytes()
        return self._track is not None and before != self._counts

    def runs(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The runs whose laps of this track can be ghosts.

        Raises:
            WebError: There is no race.
        """
        return {"runs": ghost.runs_with(self._there())}

    def ghost(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The ghost of a run by its name, `run`; of paths only the one given at the start.

        Raises:
            XtdroneError: There is no race, no such run, or no whole lap in it.
        """
        track, run = self._there(), asked.get("run")
        if not run or (
            run != self._given and run not in [found["run"] for found in self.runs({})["runs"]]
        ):
            raise WebError("a ghost is the name of a run with a whole lap of this track")
        return {"ghost": ghost.read_ghost(run, track).plain()}

    def _there(self):
        if self._track is None:
            raise WebError("there is no race: start the simulation with --track NAME")
        return self._track
