"""Grippers in MuJoCo: welds between a vehicle's body and an inserted model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np

from xtdrone_core import Vehicle, VehicleSpec
from xtdrone_core.runs.snapshot import Memory, Rows

from ..scene.mujoco_scene import Placed, weld_name
from ..world.models import WorldModel

_GAP_M = 1e-4  # between gripper and model while it is held, so that no contact pushes them apart


@dataclass
class _Grip(Memory):
    """A gripper of a vehicle.

    Attributes:
        vehicle: Name of the vehicle.
        name: Of the gripper.
        shapes: Names of the geoms that hold.
        max_force: Pull at which it loses what it holds [N].
        closed: Whether it is closed.
        lost: Whether its model was pulled off since it closed; then it takes no other one.
        model: Name of the model that it holds; empty for none.
        weld: (11,) data of MuJoCo's constraint while it holds.
        normal: (3,) unit vector from the model into the gripper, frame of its body.
    """

    MEMORY = ("closed", "lost", "model", "weld", "normal")

    vehicle: str
    name: str
    shapes: tuple[str, ...]
    max_force: float
    closed: bool = False
    lost: bool = False
    model: str = ""
    weld: np.ndarray = field(default_factory=lambda: np.zeros(11))
    normal: np.ndarray = field(default_factory=lambda: np.zeros(3))


class Grippers:
    """The grippers of a fleet.

    A gripper that touches a free model while it is closed is welded to it, as they are then. It
    loses the model where the force between them that no pressing explains, across the contact or
    away from it, is above its limit.
    """

    def __init__(self, specs: Sequence[VehicleSpec], models: Sequence[Vehicle]) -> None:
        """All grippers of these vehicles, open."""
        self._of = {
            (i, k): _Grip(
                spec.name,
                gripper.name,
                tuple(
                    f"{spec.name}/{shape.name}"
                    for shape in vehicle.shapes
                    if shape.collides and shape.link == gripper.link
                ),
                gripper.max_force,
            )
            for i, (spec, vehicle) in enumerate(zip(specs, models, strict=True))
            for k, gripper in enumerate(vehicle.grippers)
        }
        self._busy = False  # whether one is closed

    def __bool__(self) -> bool:
        return bool(self._of)

    def bind(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        inserted: Sequence[WorldModel],
        placed: Sequence[Placed],
    ) -> None:
        """Works on a scene that was compiled anew, and holds there what was held."""
        self._model, self._data = model, data
        self._bodies = {
            each.name: at.body for each, at in zip(inserted, placed, strict=True) if not each.static
        }
        self._geoms = {
            key: np.array([model.geom(shape).id for shape in grip.shapes], dtype=int)
            for key, grip in self._of.items()
        }
        for grip in self._of.values():
            if grip.model not in self._bodies:
                grip.model = ""
            if grip.model:
                self._weld(grip)
        self._note()

    def grip(self, vehicle: int, gripper: int, closed: bool) -> None:
        """Closes or opens a gripper."""
        grip = self._of[vehicle, gripper]
        if closed == grip.closed:
            return
        self._let_go(grip)
        grip.closed, grip.lost = closed, False
        self._note()

    def open(self, vehicles: Sequence[int]) -> None:
        """Opens all grippers of these vehicles."""
        for i, k in self._of:
            if i in vehicles:
                self.grip(i, k, False)

    def held(self, vehicle: int, gripper: int) -> str:
        """Returns the name of the model that a gripper holds; empty for none."""
        return self._of[vehicle, gripper].model

    def step(self) -> list[int]:
        """Takes and loses models by the contacts and forces of the last step.

        Returns:
            Bodies of the models that have been taken: they have to be awake.
        """
        taken: list[int] = []
        if not self._busy:
            return taken
        for key, grip in self._of.items():
            if grip.model:
                if self._pull(grip) > grip.max_force:
                    self._let_go(grip)
                    grip.lost = True
            elif grip.closed and not grip.lost:
                taken += self._take(grip, self._geoms[key])
        return taken

    def save(self) -> list[Any]:
        """Returns the state of each gripper, in the order of the fleet."""
        return [grip.save() for grip in self._of.values()]

    def load(self, states: Sequence[Mapping[str, Any]]) -> None:
        """Restores a state returned by save(), before bind()."""
        for grip, state in zip(self._of.values(), states, strict=True):
            grip.load(state)

    def regroup(self, before: "Grippers", rows: Rows) -> None:
        """Takes over the grippers of the vehicles that were in the former fleet, before bind()."""
        for (i, k), grip in before._of.items():
            if i in rows.kept:
                self._of[rows.kept[i], k].load(grip.save())

    def _note(self) -> None:
        self._busy = any(grip.closed for grip in self._of.values())

    def _let_go(self, grip: _Grip) -> None:
        if grip.model:
            self._data.eq_active[self._id(grip)] = False
        grip.model = ""

    def _id(self, grip: _Grip) -> int:
        return int(self._model.equality(weld_name(grip.vehicle, grip.name, grip.model)).id)

    def _take(self, grip: _Grip, geoms: np.ndarray) -> list[int]:
        """Holds the first free model that one of the geoms touches."""
        contact, model, data = self._data.contact, self._model, self._data
        for c in np.flatnonzero(np.isin(contact.geom, geoms).any(axis=1)):
            mine = int(np.isin(contact.geom[c, 1], geoms))  # side of the gripper
            own, other = model.geom_bodyid[contact.geom[c, [mine, 1 - mine]]]
            name = next((name for name, body in self._bodies.items() if body == other), "")
            if not name or contact.dist[c] > 0.0:
                continue
            # The normal points from the first geom to the second: here from the model up.
            normal = (2 * mine - 1) * contact.frame[c, :3]
            back = data.xmat[own].reshape(3, 3).T
            apart = (contact.dist[c] - _GAP_M) * normal
            quat, inverse = np.zeros(4), np.zeros(4)
            mujoco.mju_negQuat(inverse, data.xquat[own])
            mujoco.mju_mulQuat(quat, inverse, data.xquat[other])
            grip.model, grip.normal = name, back @ normal
            grip.weld = np.concatenate(
                [np.zeros(3), back @ (data.xpos[other] + apart - data.xpos[own]), quat, [1.0]]
            )
            self._weld(grip)
            return [int(other)]
        return []

    def _weld(self, grip: _Grip) -> None:
        k = self._id(grip)
        self._model.eq_data[k, : len(grip.weld)] = grip.weld
        self._data.eq_active[k] = True

    def _pull(self, grip: _Grip) -> float:
        """Force across the contact and away from it, of the last step [N]."""
        data, k = self._data, self._id(grip)
        rows = np.flatnonzero(
            (data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY) & (data.efc_id == k)
        )
        if len(rows) < 3:
            return 0.0
        own = self._model.eq_obj1id[k]
        normal = data.xmat[own].reshape(3, 3) @ grip.normal
        force = data.efc_force[rows[:3]]  # on the gripper, world
        along = float(force @ normal)
        return float(np.hypot(max(-along, 0.0), np.linalg.norm(force - along * normal)))
