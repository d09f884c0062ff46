"""Laps of a race, timed by the true positions of the vehicles."""

from collections.abc import Callable
from typing import Any

import numpy as np

from xtdrone_core import FleetState, SensorBatch, VehicleSpec
from xtdrone_core.contracts import Observer
from xtdrone_core.racing.ghost import Ghost
from xtdrone_core.racing.laps import Laps, Passage
from xtdrone_core.racing.track import Track
from xtdrone_core.runs.snapshot import Rows, regrouped, take_over


class LapTimer(Observer):
    """Times the laps of a fleet by its true path.

    Events: `gate` (vehicle, gate from 1, lap, split_s since it began, to_best_s, to_ghost_s),
    `lap` (vehicle, lap, lap_s, best), `missed_gate` (vehicle, gate, lap), `race_over` (vehicle,
    laps, total_s). Differences are negative where this lap is quicker; they and the split are left
    out where there is nothing to compare.

    Attributes:
        laps: The Laps; a snapshot has them.
        ghost: The Ghost, or None.
    """

    period_us = 0

    def __init__(
        self,
        track: Track,
        specs: tuple[VehicleSpec, ...],
        ghost: Ghost | None,
        on_event: Callable[..., None],
    ):
        """Times vehicles on a track; on_event(t_us, name, **values) is called at each event."""
        self.laps, self.ghost = Laps(track, len(specs)), ghost
        self._names, self._on_event = [spec.name for spec in specs], on_event
        self._bests = self.laps.best.copy()  # before the lap that is flown

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Looks for passages in the last step."""
        for passage in self.laps.step(t_us, state.pos):
            self._tell(t_us, passage)

    def regroup(self, before: "LapTimer", rows: Rows) -> None:
        """Takes over the laps of the vehicles that were in the former fleet, too."""
        take_over(self.laps, before.laps, rows)
        self._bests = regrouped(before._bests, self._bests, rows)

    def on_reset(self, t_us: int, mask: np.ndarray) -> None:
        """Puts these vehicles before the start."""
        self.laps.reset(mask)
        self._bests[mask] = np.nan

    def _tell(self, t_us: int, passage: Passage) -> None:
        i, name = passage.vehicle, self._names[passage.vehicle]
        if passage.missed:
            self._on_event(
                t_us, "missed_gate", vehicle=name, gate=passage.gate + 1, lap=passage.lap
            )
            return
        finish = passage.lap_s is not None
        values: dict[str, Any] = {
            "vehicle": name,
            "gate": passage.gate + 1,
            "lap": passage.lap - finish,
        }
        if passage.split_s is not None:
            values["split_s"] = round(passage.split_s, 4)
            others = {
                "to_best_s": self._bests[i],
                **({} if self.ghost is None else {"to_ghost_s": self.ghost.splits}),
            }
            values.update(
                (key, round(passage.split_s - float(splits[passage.gate - 1]), 4))
                for key, splits in others.items()
                if np.isfinite(splits).all()
            )
        self._on_event(t_us, "gate", **values)
        if not finish:
            return
        self._bests[i] = self.laps.best[i]
        self._on_event(
            t_us,
            "lap",
            vehicle=name,
            lap=passage.lap - 1,
            lap_s=_number(passage.split_s),
            best=passage.best,
        )
        if passage.lap > self.laps.track.laps:
            times = [lap["splits"][-1] for lap in self.laps.flown[i]]
            self._on_event(
                t_us, "race_over", vehicle=name, laps=len(times), total_s=round(sum(times), 4)
            )

    def status(self) -> dict[str, Any]:
        """Returns the progress of all vehicles as plain data; None stands for what is not known."""
        laps = self.laps
        return {
            "vehicles": [
                {
                    "next": int(laps.next[i]),
                    "lap": int(laps.lap[i]),
                    "began_s": _number(laps.began_s[i]),
                    "splits": list(map(_number, laps.splits[i])),
                    "best": list(map(_number, laps.best[i])),
                    "missed": int(laps.missed[i]),
                    "laps": [_number(lap["splits"][-1]) for lap in laps.flown[i]],
                }
                for i in range(len(self._names))
            ]
        }

    def summary(self) -> dict[str, Any]:
        """The field `race` of summary.json."""
        laps = self.laps
        return {
            "track": laps.track.name,
            "gates": len(laps.track.gates),
            "laps": laps.track.laps,
            "ghost": None if self.ghost is None else self.ghost.run,
            "vehicles": [
                {
                    "vehicle": name,
                    "best_lap_s": _number(laps.best[i, -1]),
                    "missed_gates": int(laps.missed[i]),
                    "laps": [
                        {
                            "began_s": round(lap["began_s"], 4),
                            "splits": list(map(_number, lap["splits"])),
                        }
                        for lap in laps.flown[i]
                    ],
                }
                for i, name in enumerate(self._names)
            ],
        }

    def closing_lines(self) -> list[tuple[str, str]]:
        """Returns a name and a text for each vehicle that raced, for the end of the flight."""
        lines = []
        for i, name in enumerate(self._names):
            times = [lap["splits"][-1] for lap in self.laps.flown[i]]
            if times:
                missed = self.laps.missed[i]
                lines.append(
                    (
                        "laps",
                        f"{name}: {', '.join(f'{t:.2f}' for t in times)} s, the best "
                        f"{min(times):.2f} s" + f"; {missed} gates missed" * bool(missed),
                    )
                )
        return lines


def _number(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else round(float(value), 4)
