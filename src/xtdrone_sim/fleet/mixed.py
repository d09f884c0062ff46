"""Several autopilots in one fleet: each flies the vehicles that name it."""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from xtdrone_core import FleetState, registry
from xtdrone_core.contracts import (
    Autopilot,
    AutopilotContext,
    ExternalPose,
    LandingTargetTaker,
    Logging,
    Observer,
    Regroupable,
    RemovableVehicles,
    SettableParameters,
    Snapshot,
    Telemetered,
    required,
)
from xtdrone_core.errors import ScenarioError
from xtdrone_core.runs.log_file import LogGaps
from xtdrone_core.runs.snapshot import Rows, SnapshotError
from xtdrone_core.state import Estimates, SensorBatch, SetPoints

from .sub_fleet import SubFleet, TextRouter

_ESTIMATED = tuple(field.name for field in dataclasses.fields(Estimates))[1:]  # without the time


class MixedAutopilot(
    Regroupable,
    ExternalPose,
    LandingTargetTaker,
    Telemetered,
    Logging,
    SettableParameters,
    Observer,
):
    """Autopilots of a fleet in which not all vehicles have the same one.

    Implements xtdrone_core.contracts.Autopilot. Each autopilot sees its vehicles only, under their
    numbers: ports, system ids and folders are those that they have in any fleet. When the fleet
    changes, Regroupable autopilots are built anew. Others, such as real PX4, stay with their
    vehicles; new vehicles get new ones, and vehicles that go are removed from them.
    """

    def __init__(
        self,
        context: AutopilotContext,
        before: "MixedAutopilot | None" = None,
        rows: Rows | None = None,
        whole: tuple[Autopilot, TextRouter] | None = None,
    ) -> None:
        """Builds the autopilots that the scenario's vehicles name.

        Args:
            context: What they are built from.
            before: The autopilots of the former fleet, which regroup() takes over.
            rows: Where the vehicles were in that fleet.
            whole: An existing autopilot that flies the whole fleet, and the router of its
                messages, in place of a new one.

        Raises:
            XtdroneError: One cannot be built.
        """
        self._sub_fleets: list[SubFleet] = []
        # Sub-fleets of the former fleet that stay, with their new rows and those in the autopilot.
        self._staying: list[tuple[SubFleet, np.ndarray, np.ndarray]] = []
        self._context = context
        names = np.array(context.scenario.autopilots)
        try:
            for name in dict.fromkeys(names.tolist()):
                own_rows = np.flatnonzero(names == name)
                if before is not None and rows is not None:
                    own_rows = self._note_staying(name, before, rows, own_rows)
                if len(own_rows):
                    self._add(SubFleet(name, own_rows, context, whole))
        except BaseException:
            self.close()
            raise
        self._commands = np.zeros(context.fleet.actuator.shape)
        self._index()

    @classmethod
    def for_scenario(cls, context: AutopilotContext) -> "MixedAutopilot":
        """Returns the autopilots of a scenario's fleet; see Autopilot."""
        return cls(context)

    def _add(self, sub_fleet: SubFleet) -> None:
        self._sub_fleets.append(sub_fleet)
        if self._context.scenario.pose_source != "sensors":
            required(
                sub_fleet.autopilot,
                ExternalPose,  # type: ignore[type-abstract]  # a protocol
                f"autopilot '{sub_fleet.name}' takes no pose from outside",
                f"leave out pose_source:={self._context.scenario.pose_source}",
            )

    def _note_staying(
        self, name: str, before: "MixedAutopilot", rows: Rows, own_rows: np.ndarray
    ) -> np.ndarray:
        """Notes the autopilots of a name that stay; returns the rows that need a new one."""
        if is_regroupable(name):
            if all(former.name != name for former in before._sub_fleets):
                raise ScenarioError(
                    f"the first vehicle with autopilot '{name}' cannot come while "
                    "others fly: give the fleet one from the start"
                )
            return own_rows
        for former in before._sub_fleets:
            stays = np.array(
                [row in rows.kept and rows.kept[row] in own_rows for row in former.rows.tolist()]
            )
            if stays.any():
                if not stays.all():
                    required(
                        former.autopilot,
                        RemovableVehicles,  # type: ignore[type-abstract]  # a protocol
                        f"autopilot '{name}' keeps the vehicles that it starts with",
                        "leave them in the fleet",
                    )
                self._staying.append(
                    (
                        former,
                        np.array([rows.kept[row] for row in former.rows[stays].tolist()]),
                        former.own[stays],
                    )
                )
        return own_rows[rows.new[own_rows]]

    def _index(self) -> None:
        """Notes which sub-fleet has each vehicle, and in which row of its autopilot."""
        self._of: dict[int, tuple[SubFleet, int]] = {}
        for sub_fleet in self._sub_fleets:
            self._of |= {
                int(row): (sub_fleet, int(own))
                for row, own in zip(sub_fleet.rows, sub_fleet.own, strict=True)
            }
        n = len(self._commands)
        self._estimates = Estimates(0, *([None] * len(_ESTIMATED)))  # type: ignore[arg-type]
        any_sub_fleet = (self._sub_fleets or [self._staying[0][0]])[0]
        example = any_sub_fleet.autopilot.estimates()
        for name in _ESTIMATED:
            values = getattr(example, name)
            setattr(self._estimates, name, np.zeros((n, *values.shape[1:]), dtype=values.dtype))

    def regroup(self, before: "MixedAutopilot", rows: Rows) -> None:
        """Takes over the autopilots of the former fleet; see Regroupable.

        Raises:
            XtdroneError: A port of a new vehicle is in use.
        """
        for sub_fleet in self._sub_fleets:
            former = next(
                (each for each in before._sub_fleets if each.name == sub_fleet.name), None
            )
            if former is not None and isinstance(sub_fleet.autopilot, Regroupable):
                sub_fleet.has_stepped = True
                sub_fleet.autopilot.regroup(
                    former.autopilot,
                    Rows.of(former.rows.tolist(), rows.source[sub_fleet.rows].tolist()),
                )
        for staying, new_rows, own in self._staying:
            for i in sorted({*staying.own.tolist()} - {*own.tolist()}):
                if isinstance(staying.autopilot, RemovableVehicles):
                    staying.autopilot.remove_vehicle(i)
            staying.move(new_rows, own, self._context.on_text)
            before._sub_fleets.remove(staying)
            self._sub_fleets.append(staying)
        self._staying.clear()
        self._index()

    def step(self, t_us: int, sensors: SensorBatch) -> np.ndarray:
        """One lockstep step of each; see Autopilot."""
        for sub_fleet in self._sub_fleets:
            sub_fleet.step(t_us, sensors, self._commands)
        return self._commands

    def estimates(self) -> Estimates:
        """The fleet's state, each vehicle's as its autopilot estimates it."""
        estimates = self._estimates
        for sub_fleet in self._sub_fleets:
            own = sub_fleet.autopilot.estimates()
            estimates.t_us = own.t_us
            for name in _ESTIMATED:
                getattr(estimates, name)[sub_fleet.rows] = getattr(own, name)[sub_fleet.own]
        return estimates

    def estimated_us(self) -> np.ndarray:
        """(N,) simulated time at which each position was estimated [us]."""
        times = np.full(len(self._commands), self._estimates.t_us, dtype=np.int64)
        for sub_fleet in self._sub_fleets:
            if isinstance(sub_fleet.autopilot, Telemetered):
                times[sub_fleet.rows] = sub_fleet.autopilot.estimated_us()[sub_fleet.own]
        return times

    def apply(self, set_points: SetPoints) -> None:
        """Passes the set-points on."""
        for sub_fleet in self._sub_fleets:
            sub_fleet.apply(set_points)

    def health(self) -> list[dict[str, Any]]:
        """Health of each vehicle, as its autopilot reports it."""
        reports = {id(each): each.autopilot.health() for each in self._sub_fleets}
        return [
            reports[id(sub_fleet)][own]
            for sub_fleet, own in (self._of[row] for row in range(len(self._commands)))
        ]

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Resets vehicles; see Stateful. An autopilot that has made no step is as at its start."""
        for sub_fleet in self._sub_fleets:
            own = sub_fleet.own_mask(mask)
            if own.any() and sub_fleet.has_stepped:
                sub_fleet.autopilot.reset(own)

    def save(self) -> dict[str, Any]:
        """Returns the state of each; see Stateful."""
        return {
            "parts": [
                {"rows": sub_fleet.rows.tolist(), "state": sub_fleet.autopilot.save()}
                for sub_fleet in self._sub_fleets
            ]
        }

    def load(self, snapshot: Snapshot) -> None:
        """Restores a state of save().

        Raises:
            SnapshotError: Then other vehicles shared an autopilot.
        """
        saved = {tuple(each["rows"]): each["state"] for each in snapshot["parts"]}
        for sub_fleet in self._sub_fleets:
            if tuple(sub_fleet.rows.tolist()) not in saved:
                raise SnapshotError(
                    f"the snapshot was saved while other vehicles shared autopilot "
                    f"'{sub_fleet.name}': save and load without a change of the fleet "
                    "in between"
                )
        for sub_fleet in self._sub_fleets:
            sub_fleet.autopilot.load(saved[tuple(sub_fleet.rows.tolist())])

    def interrupt(self) -> None:
        """Stops waiting for peers."""
        for sub_fleet in self._sub_fleets:
            sub_fleet.autopilot.interrupt()

    def close(self) -> None:
        """Closes all. May be called twice."""
        for sub_fleet in self._sub_fleets:
            sub_fleet.autopilot.close()

    # Optional features: each autopilot that has one is called ------------------------------------

    def on_start(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Passes the true state to autopilots that observe it."""
        for sub_fleet in self._sub_fleets:
            if isinstance(sub_fleet.autopilot, Observer):
                sub_fleet.autopilot.on_start(t_us, sub_fleet.own_state(state), sub_fleet.sensors)

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Passes the true state to autopilots that observe it."""
        for sub_fleet in self._sub_fleets:
            if isinstance(sub_fleet.autopilot, Observer):
                sub_fleet.autopilot.on_step(t_us, sub_fleet.own_state(state), sub_fleet.sensors)

    def collect_gaps(self, gaps: LogGaps) -> None:
        """Passes the gaps to autopilots that write logs."""
        for sub_fleet in self._sub_fleets:
            if isinstance(sub_fleet.autopilot, Logging):
                sub_fleet.autopilot.collect_gaps(gaps)

    def take_pose(self, i: int, t_us: int, pos: npt.ArrayLike, quat: npt.ArrayLike) -> None:
        """Passes a pose on to the autopilot of vehicle i.

        Raises:
            ScenarioError: It takes none.
        """
        sub_fleet, own = self._of[i]
        required(
            sub_fleet.autopilot,
            ExternalPose,  # type: ignore[type-abstract]  # a protocol
            f"autopilot '{sub_fleet.name}' takes no pose from outside",
            "let embedded or px4 fly this vehicle",
        ).take_pose(own, t_us, np.asarray(pos), np.asarray(quat))

    def take_landing_target(self, i: int, t_us: int, pos: np.ndarray) -> None:
        """Passes a landing target on to the autopilot of vehicle i.

        Raises:
            ScenarioError: It takes none.
        """
        sub_fleet, own = self._of[i]
        required(
            sub_fleet.autopilot,
            LandingTargetTaker,  # type: ignore[type-abstract]  # a protocol
            f"autopilot '{sub_fleet.name}' takes no landing target",
            "let embedded or px4 fly this vehicle",
        ).take_landing_target(own, t_us, pos)

    def set_parameter(self, i: int, name: str, value: float) -> None:
        """Sets a parameter of vehicle i.

        Raises:
            ScenarioError: Its autopilot takes none in process.
        """
        sub_fleet, own = self._of[i]
        if not isinstance(sub_fleet.autopilot, SettableParameters):
            raise ScenarioError(
                f"autopilot '{sub_fleet.name}' takes parameters by MAVLink only: let "
                "embedded fly this vehicle"
            )
        sub_fleet.autopilot.set_parameter(own, name, value)


def is_regroupable(name: str) -> bool:
    """Whether autopilots of this name continue when their fleet changes."""
    return issubclass(registry.AUTOPILOTS.load(name), Regroupable)
