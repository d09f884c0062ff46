"""Several autopilots in one fleet: each flies the vehicles that name it."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from xtdrone_core import FleetState, registry
from xtdrone_core.contracts import (
    Autopilot,
    AutopilotContext,
    ExternalPose,
    Logging,
    Observer,
    Regroupable,
    RemovableVehicles,
    SettableParameters,
    required,
)
from xtdrone_core.errors import ScenarioError
from xtdrone_core.runs.log_file import LogGaps
from xtdrone_core.runs.snapshot import Rows, SnapshotError
from xtdrone_core.state import Estimates, SensorBatch, SetPoints

from .part import Part, Texts

_ESTIMATED = tuple(field.name for field in dataclasses.fields(Estimates))[1:]  # without the time


class MixedAutopilot(Regroupable, ExternalPose, Logging, SettableParameters, Observer):
    """Autopilots of a fleet in which not all vehicles have the same one.

    Implements xtdrone_core.contracts.Autopilot. Each part sees its vehicles only, under their
    numbers: ports, system ids and folders are those that they have in any fleet. As the fleet
    changes, parts that are Regroupable are made anew; of others, such as real PX4, those of new
    vehicles are made, those of the vehicles that stay fly on, and the others are removed.
    """

    def __init__(
        self,
        context: AutopilotContext,
        before: "MixedAutopilot | None" = None,
        rows: Rows | None = None,
        known: tuple[Autopilot, Texts] | None = None,
    ):
        """The autopilots that the scenario's vehicles name.

        Args:
            context: What they are built from.
            before: The autopilots of the fleet before it changed, which regroup() takes over.
            rows: Where the vehicles were in that fleet.
            known: The one that flies all of them, with its texts, in place of a new one.

        Raises:
            XtdroneError: One cannot be made.
        """
        self._parts: list[Part] = []
        self._moving: list[tuple[Part, np.ndarray, np.ndarray]] = []  # until regroup()
        self._context = context
        names = np.array(context.scenario.autopilots)
        try:
            for name in dict.fromkeys(names.tolist()):
                mine = np.flatnonzero(names == name)
                if before is not None and rows is not None:
                    mine = self._take_over(name, before, rows, mine)
                if len(mine):
                    self._make(name, mine, known)
        except BaseException:
            self.close()
            raise
        self._commands = np.zeros(context.fleet.actuator.shape)
        self._index()

    @classmethod
    def around(
        cls, autopilot: Autopilot, texts: Texts, context: AutopilotContext
    ) -> "MixedAutopilot":
        """The only autopilot of a fleet as one of several; it may be one already."""
        return autopilot if isinstance(autopilot, cls) else cls(context, known=(autopilot, texts))

    def _make(self, name, rows, known):
        part = Part(name, rows, self._context, known)
        self._parts.append(part)
        if self._context.scenario.pose_source == "truth":
            required(
                part.autopilot,
                ExternalPose,
                f"autopilot '{name}' takes no pose from outside",
                "leave out pose_source:=truth",
            )

    def _take_over(self, name, before, rows, mine):
        """Notes the parts of a name that fly on; returns the rows of those that need a new one."""
        if adopts(name):
            if all(part.name != name for part in before._parts):
                raise ScenarioError(
                    f"the first vehicle with autopilot '{name}' cannot come while "
                    "others fly: give the fleet one from the start"
                )
            return mine
        for part in before._parts:
            there = np.array(
                [old in rows.kept and rows.kept[old] in mine for old in part.rows.tolist()]
            )
            if there.any():
                if not there.all():
                    required(
                        part.autopilot,
                        RemovableVehicles,
                        f"autopilot '{name}' keeps the vehicles that it starts with",
                        "leave them in the fleet",
                    )
                self._moving.append(
                    (
                        part,
                        np.array([rows.kept[old] for old in part.rows[there].tolist()]),
                        part.own[there],
                    )
                )
        return mine[rows.new[mine]]

    def _index(self):
        """Which part flies each vehicle, and as which of its own."""
        found: dict[int, tuple[Part, int]] = {}
        for part in self._parts:
            found |= {int(row): (part, int(own)) for row, own in zip(part.rows, part.own)}
        self._of = found
        n = len(self._commands)
        self._estimates = Estimates(0, *([None] * len(_ESTIMATED)))  # type: ignore[arg-type]
        example = (self._parts or [self._moving[0][0]])[0].autopilot.estimates()
        for name in _ESTIMATED:
            values = getattr(example, name)
            setattr(self._estimates, name, np.zeros((n, *values.shape[1:]), dtype=values.dtype))

    def regroup(self, before: "MixedAutopilot", rows: Rows) -> None:
        """Takes over the autopilots of the fleet before it changed; see Regroupable.

        Raises:
            XtdroneError: A port of a new vehicle is in use.
        """
        for part in self._parts:
            former = next((each for each in before._parts if each.name == part.name), None)
            if former is not None and isinstance(part.autopilot, Regroupable):
                part.begun = True
                part.autopilot.regroup(
                    former.autopilot, Rows.of(former.rows.tolist(), rows.source[part.rows].tolist())
                )
        for part, now, own in self._moving:
            for i in sorted({*part.own.tolist()} - {*own.tolist()}):
                if isinstance(part.autopilot, RemovableVehicles):
                    part.autopilot.remove_vehicle(i)
            part.move(now, own)
            before._parts.remove(part)
            self._parts.append(part)
        self._moving.clear()
        self._index()

    def step(self, t_us: int, sensors: SensorBatch) -> np.ndarray:
        """One lockstep step of each; see Autopilot."""
        for part in self._parts:
            part.step(t_us, sensors, self._commands)
        return self._commands

    def estimates(self) -> Estimates:
        """The fleet's state, each vehicle's as its autopilot estimates it."""
        found = self._estimates
        for part in self._parts:
            own = part.autopilot.estimates()
            found.t_us = own.t_us
            for name in _ESTIMATED:
                getattr(found, name)[part.rows] = getattr(own, name)[part.own]
        return found

    def apply(self, set_points: SetPoints) -> None:
        """Passes the set-points on."""
        for part in self._parts:
            part.apply(set_points)

    def health(self) -> list[dict]:
        """As each autopilot reports it."""
        reports = {id(part): part.autopilot.health() for part in self._parts}
        return [
            reports[id(part)][own]
            for part, own in (self._of[row] for row in range(len(self._commands)))
        ]

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Resets vehicles; see Stateful. An autopilot that has made no step is as at its start."""
        for part in self._parts:
            own = part.mask(mask)
            if own.any() and part.begun:
                part.autopilot.reset(own)

    def save(self) -> dict:
        """The state of each; see Stateful."""
        return {
            "parts": [
                {"rows": part.rows.tolist(), "state": part.autopilot.save()} for part in self._parts
            ]
        }

    def load(self, snapshot: Mapping[str, Any]) -> None:
        """Restores a state of save().

        Raises:
            SnapshotError: Then other vehicles shared an autopilot.
        """
        saved = {tuple(each["rows"]): each["state"] for each in snapshot["parts"]}
        for part in self._parts:
            if tuple(part.rows.tolist()) not in saved:
                raise SnapshotError(
                    f"the snapshot was saved while other vehicles shared autopilot "
                    f"'{part.name}': save and load without a change of the fleet "
                    "in between"
                )
        for part in self._parts:
            part.autopilot.load(saved[tuple(part.rows.tolist())])

    def interrupt(self) -> None:
        """Stops waiting for peers."""
        for part in self._parts:
            part.autopilot.interrupt()

    def close(self) -> None:
        """Closes all. May be called twice."""
        for part in self._parts:
            part.autopilot.close()

    # What only some can -----------------------------------------------------------------------

    def on_start(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """For those that see the true state."""
        for part in self._parts:
            if isinstance(part.autopilot, Observer):
                part.autopilot.on_start(t_us, part.state(state), part.sensors)

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """As on_start()."""
        for part in self._parts:
            if isinstance(part.autopilot, Observer):
                part.autopilot.on_step(t_us, part.state(state), part.sensors)

    def collect_gaps(self, gaps: LogGaps) -> None:
        """For those with logs of their own."""
        for part in self._parts:
            if isinstance(part.autopilot, Logging):
                part.autopilot.collect_gaps(gaps)

    def take_pose(self, i: int, t_us: int, pos: npt.ArrayLike, quat: npt.ArrayLike) -> None:
        """Passes a pose on to the autopilot of vehicle i.

        Raises:
            ScenarioError: It takes none.
        """
        part, own = self._of[i]
        taker = required(
            part.autopilot,
            ExternalPose,
            f"autopilot '{part.name}' takes no pose from outside",
            "let embedded or px4 fly this vehicle",
        )
        taker.take_pose(own, t_us, np.asarray(pos), np.asarray(quat))

    def set_parameter(self, i: int, name: str, value: float) -> None:
        """Sets a parameter of vehicle i.

        Raises:
            ScenarioError: Its autopilot takes none in process.
        """
        part, own = self._of[i]
        if not isinstance(part.autopilot, SettableParameters):
            raise ScenarioError(
                f"autopilot '{part.name}' takes parameters by MAVLink only: let "
                "embedded fly this vehicle"
            )
        part.autopilot.set_parameter(own, name, value)


def adopts(name: str) -> bool:
    """Whether autopilots of a name go on from another one."""
    return issubclass(registry.AUTOPILOTS.load(name), Regroupable)
