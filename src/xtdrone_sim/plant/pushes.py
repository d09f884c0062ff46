"""External wrenches on vehicles and inserted models, each for a while."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from xtdrone_core import FleetState
from xtdrone_core.contracts import Engine, WorldEditor
from xtdrone_core.runs.snapshot import Rows
from xtdrone_dynamics.quaternion import rotate


@dataclasses.dataclass(frozen=True)
class Push:
    """A wrench that is constant in the world, on one link."""

    link: str  # full name
    owner: int  # index of the vehicle; from N on of the inserted models
    body: int  # index in the vehicle
    point: tuple[float, ...]  # point of application of the force, frame of the body [m]
    force: tuple[float, ...]  # world [N]
    torque: tuple[float, ...]  # world [N m]
    begin_us: int  # simulated time of the first step [us]
    end_us: float  # simulated time of the last step [us]; inf: until it is cleared by name


class Pushes:
    """The wrenches that are applied now or later."""

    def __init__(self, n: int, engine: Engine):
        """Applies wrenches to n vehicles in an engine; there is none at first."""
        self._n, self._engine = n, engine
        self._all: list[Push] = []

    def add(self, push: Push) -> None:
        """Schedules a wrench."""
        self._all.append(push)

    def clear(self, link: str) -> None:
        """Ends the wrenches on a link."""
        self._all = [push for push in self._all if push.link != link]

    def forget(self, index: int) -> None:
        """Ends the wrenches on inserted[index], which is removed."""
        gone = self._n + index
        self._all = [
            dataclasses.replace(push, owner=push.owner - (push.owner > gone))
            for push in self._all
            if push.owner != gone
        ]

    def apply(self, t_us: int, state: FleetState, wrench: np.ndarray) -> None:
        """Adds the wrenches of this step to wrench (N, B, 6), or passes them to the engine."""
        if not self._all:
            return
        self._all = [push for push in self._all if t_us <= push.end_us]
        for push in self._all:
            if push.begin_us > t_us:
                continue
            if push.owner < self._n:
                at = push.owner, push.body
                arm = rotate(*state.body_quat[at].tolist(), *push.point)
                wrench[at][:3] += push.force
                wrench[at][3:] += push.torque + np.cross(arm, push.force)
            elif isinstance(self._engine, WorldEditor):
                self._engine.push_inserted(
                    push.owner - self._n, np.array([*push.force, *push.torque])
                )

    def reset(self, mask: np.ndarray) -> None:
        """Ends the wrenches on these vehicles (mask (N,) bool)."""
        self._all = [push for push in self._all if push.owner >= self._n or not mask[push.owner]]

    def regroup(self, before: "Pushes", rows: Rows) -> None:
        """Takes over the wrenches on vehicles of the former fleet, and on inserted models."""
        more = rows.after - rows.before  # owners are vehicles, and behind them inserted models
        owners = {
            **rows.kept,
            **{push.owner: push.owner + more for push in before._all if push.owner >= rows.before},
        }
        self._all = [
            dataclasses.replace(push, owner=owners[push.owner])
            for push in before._all
            if push.owner in owners
        ]

    def save(self) -> list[dict[str, Any]]:
        """Returns all of them in plain data."""
        return [dataclasses.asdict(push) for push in self._all]

    def load(self, saved: list[Mapping[str, Any]]) -> None:
        """Restores what save() returned."""
        self._all = [
            Push(
                **{**values, **{name: tuple(values[name]) for name in ("point", "force", "torque")}}
            )
            for values in saved
        ]
