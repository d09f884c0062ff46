"""The embedded engine: MuJoCo, built from the same SDF files that Gazebo loads.

The integrator is MuJoCo's semi-implicit Euler; a vehicle of one body that touches nothing is
stepped by free_flight.py in the same way. It evaluates forces and contacts
once per step, and its velocity is exact for a wrench that is constant over the
step. Gazebo's ODE integrates the same way, so flights agree closely between both engines.
MuJoCo also holds the gyroscopic torque constant over a step, which makes a
tumbling body gain energy (a third in 10 s at 7 rad/s); the engine therefore adds
the difference between the mean of that torque over the step and its start value.
A vehicle at rest without applied wrench sleeps: it costs almost no time and does
not creep.
"""

import dataclasses
import logging
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
import numpy.typing as npt

from xtdrone_core import FleetModel, FleetState, Vehicle, VehicleSpec
from xtdrone_core.contracts import Regroupable, Snapshot, Viewer, WorldEditor
from xtdrone_core.runs.snapshot import Rows, put, regrouped
from xtdrone_core.state import ARRAYS_OF_STATE, Contacts
from xtdrone_dynamics import quaternion
from xtdrone_dynamics.compiled import fleet_kernel, njit

from ..errors import EngineError
from ..scene import mujoco_scene as scene
from ..world import World
from ..world.loads import Cable
from ..world.models import WorldModel
from .body import Masses, apply_wrench, limit_speed, place_bodies
from .clearance import Clearance
from .free_flight import FreeFlight
from .grippers import Grippers

if TYPE_CHECKING:  # slow to import
    from ..viewing.live import LiveWindow

# By default MuJoCo writes its warnings to a file in the working folder.
mujoco.set_mju_user_warning(logging.getLogger(__name__).warning)


_FRAME_US = 20_000  # frame period of the window [us]
_STATE = mujoco.mjtState.mjSTATE_INTEGRATION  # all that a step depends on, except sleep
_SLEEP = (
    "tree_asleep",
    "tree_awake",
    "body_awake",
    "body_awake_ind",
    "parent_awake_ind",
    "dof_awake_ind",
    "nbody_awake",
    "nparent_awake",
    "nv_awake",
    "ntree_awake",
)


_NO_CONTACTS = np.zeros((0, 2), dtype=np.int64), np.zeros((0, 3))


class EmbeddedEngine(Regroupable, Viewer, WorldEditor):
    """Simulates and renders a fleet with MuJoCo.

    Implements xtdrone_core.contracts.Engine.

    Attributes:
        state: The fleet's true state, overwritten at every step.
        model, data: MuJoCo's model and data, for sensors that cast rays or render.
        addresses: Indices of the fleet in MuJoCo's arrays.
        masses: Masses and inertias of the bodies, with payloads.
        clearance: Decides whether contacts are possible, for which MuJoCo has to look.
        specs: The VehicleSpecs of the fleet.
        models: Their Vehicles, in the same order.
        inserted: The WorldModels that were inserted since the start.
    """

    # Of the scene that was compiled last, see _compile().
    addresses: scene.Addresses
    clearance: Clearance
    _free_flight: FreeFlight
    _dt_us: int
    _actors: scene.Actors
    _applied: np.ndarray
    _qpos: np.ndarray
    _jointed: bool
    _looking: bool

    def __init__(
        self,
        world: World,
        specs: tuple[VehicleSpec, ...],
        models: tuple[Vehicle, ...],
        instance: int = 0,
    ):
        """Builds the scene and places every vehicle at its start pose.

        Args:
            world: The world.
            specs: The VehicleSpecs of the scenario.
            models: Their Vehicles, in the same order.
            instance: Number of the simulation instance.

        Raises:
            EngineError: MuJoCo cannot compile the scene, or it does not fit into memory.
        """
        scene.refuse_too_many(models)
        self._world = world
        self.specs, self.models = tuple(specs), tuple(models)
        self._fleet = FleetModel.of(self.models)
        self.masses = Masses(self._fleet)
        self.window: LiveWindow | None = None  # while one is open
        self._instance = instance
        # Mass [kg] and position in the frame of its base [m], by vehicle.
        self._payloads: dict[int, tuple[float, np.ndarray]] = {}
        self.inserted: tuple[WorldModel, ...] = ()
        self._cables: tuple[Cable, ...] = ()
        self._grippers = Grippers(self.specs, self.models)
        self._pushed: list[int] = []  # bodies of inserted models with a wrench for the next step
        shape = self._fleet.actuator.shape[1], self._fleet.joint.shape[1]
        self.state = FleetState.zeros(
            len(self.specs), *shape, self._fleet.body.shape[1], self._fleet.tyre.shape[1]
        )
        self._compile()
        mujoco.mj_forward(self.model, self.data)
        self._extract(0.0)

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Resets these vehicles to their poses of the scenario, at rest and awake; see Engine."""
        rows = range(len(self.specs)) if mask is None else np.flatnonzero(mask).tolist()
        loaded = [i for i in rows if i in self._payloads and self._payloads[i][0] > 0.0]
        for i in loaded:
            self._payloads[i] = 0.0, self._payloads[i][1]
            self._weigh(i)
        if loaded:
            self._derive()
        self._grippers.open(rows)
        model, data, state = self.model, self.data, self.state
        awake = data.tree_awake.astype(bool)
        for i in rows:
            tree = model.body_treeid[self.addresses.body[i, 0]]
            awake[self._wake(tree)] = True
            dofs = np.flatnonzero(model.dof_treeid == tree)
            data.qvel[dofs] = data.qacc_warmstart[dofs] = 0.0
            for joint in np.unique(model.dof_jntid[dofs]):
                at = model.jnt_qposadr[joint]
                wide = 7 if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE else 1
                data.qpos[at : at + wide] = model.qpos0[at : at + wide]
            state.actuator[i] = state.tyre_load[i] = 0.0
        self._list_awake(awake)
        self._reset_loads({self.specs[i].name for i in rows})
        acc = state.acc.copy()
        self._extract(0.0)
        state.acc[:] = acc
        state.acc[rows] = 0.0

    def _reset_loads(self, vehicles: Collection[str]) -> None:
        """Puts the loads of vehicles, by their names, back to the ground."""
        hung = {cable.model for cable in self._cables if cable.vehicle in vehicles}
        for index, model in enumerate(self.inserted):
            if model.name in hung:
                start = np.zeros(13)
                start[:3], start[3:7] = model.start.pos, model.start.quat
                self.place_inserted(index, start)

    def save(self) -> dict[str, Any]:
        """Returns the state of the bodies, the sleeping trees and the payloads."""
        vector = np.zeros(mujoco.mj_stateSize(self.model, _STATE))
        mujoco.mj_getState(self.model, self.data, vector, _STATE)
        return {
            "state": {
                "t_us": self.state.t_us,
                **{name: getattr(self.state, name).copy() for name in ARRAYS_OF_STATE},
            },
            "mujoco": vector,
            "sleep": {name: np.array(getattr(self.data, name)) for name in _SLEEP},
            "payloads": {i: (mass, np.array(pos)) for i, (mass, pos) in self._payloads.items()},
            "inserted": [model.plain() for model in self.inserted],
            "cables": [list(dataclasses.astuple(cable)) for cable in self._cables],
            "grippers": self._grippers.save(),
            "asleep": None if self._asleep is None else self._asleep.copy(),
            "asleep_contacts": [table.copy() for table in self._asleep_contacts],
        }

    def load(self, snapshot: Snapshot) -> None:
        """Restores a state returned by save()."""
        self._payloads = dict(snapshot["payloads"])
        self.inserted = tuple(WorldModel.restore(plain) for plain in snapshot["inserted"])
        self._cables = tuple(
            Cable(vehicle, model, tuple(at), length, tuple(above))
            for vehicle, model, at, length, above in snapshot["cables"]
        )
        self._grippers.load(snapshot["grippers"])
        self._compile()
        model, data = self.model, self.data
        if len(snapshot["mujoco"]) != mujoco.mj_stateSize(model, _STATE):
            raise EngineError("the snapshot is of another scene: load it into its own scenario")
        # Sleeping bodies are computed once as if awake, so that sensors and contacts find them.
        mujoco.mj_setState(model, data, snapshot["mujoco"], _STATE)
        model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_SLEEP)
        mujoco.mj_forward(model, data)
        model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
        mujoco.mj_setState(model, data, snapshot["mujoco"], _STATE)
        for name, value in snapshot["sleep"].items():
            if np.ndim(value):
                getattr(data, name)[:] = value
            else:
                setattr(data, name, int(value))
        self._asleep = snapshot["asleep"]
        self._asleep_contacts = tuple(snapshot["asleep_contacts"])
        put(self.state, ("t_us", *ARRAYS_OF_STATE), snapshot["state"])

    def regroup(self, before: "EmbeddedEngine", rows: Rows) -> None:
        """Takes over time, bodies, payloads and inserted models; see Regroupable."""
        self._payloads = {
            rows.kept[i]: load for i, load in before._payloads.items() if i in rows.kept
        }
        self.inserted, inserted = before.inserted, before.inserted_states()
        names = {spec.name for spec in self.specs}
        self._cables = tuple(cable for cable in before._cables if cable.vehicle in names)
        self._grippers.regroup(before._grippers, rows)
        self._compile()
        for old, i in rows.kept.items():
            for (qpos, dofs), (old_qpos, old_dofs) in zip(
                self._joints(i), before._joints(old), strict=True
            ):
                self.data.qpos[qpos] = before.data.qpos[old_qpos]
                self.data.qvel[dofs] = before.data.qvel[old_dofs]
        for index, state in enumerate(inserted):
            self.place_inserted(index, state)
        mujoco.mj_forward(self.model, self.data)
        state = {name: getattr(self.state, name).copy() for name in ARRAYS_OF_STATE}
        put(
            self.state,
            ("t_us", *ARRAYS_OF_STATE),
            {
                "t_us": before.state.t_us,
                **regrouped(
                    {name: getattr(before.state, name) for name in ARRAYS_OF_STATE}, state, rows
                ),
            },
        )

    def _joints(self, i: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Indices into qpos and qvel of each joint of a vehicle, in the order of its model."""
        model = self.model
        indices: list[tuple[np.ndarray, np.ndarray]] = []
        tree = model.body_treeid[self.addresses.body[i, 0]]
        for joint in np.unique(model.dof_jntid[model.dof_treeid == tree]):
            wide = 7 if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE else 1
            indices.append(
                (
                    model.jnt_qposadr[joint] + np.arange(wide),
                    np.flatnonzero(model.dof_jntid == joint),
                )
            )
        return indices

    def _wake(self, tree: int) -> list[int]:
        """Wakes a kinematic tree and those that fell asleep with it; returns their indices."""
        asleep, woken = self.data.tree_asleep, [tree]
        while asleep[woken[-1]] >= 0 and asleep[woken[-1]] not in woken:
            woken.append(int(asleep[woken[-1]]))
        asleep[woken] = self._fresh_sleep[woken]
        return woken

    def _list_awake(self, awake: np.ndarray) -> None:
        """Rebuilds MuJoCo's lists of awake trees and bodies from awake (T,) bool by tree."""
        model, data = self.model, self.data
        state = np.where(
            model.body_treeid < 0, self._fresh_awake, awake[np.maximum(model.body_treeid, 0)]
        )
        data.tree_awake[:], data.body_awake[:] = awake, state
        bodies, children = np.flatnonzero(state), np.flatnonzero(state[model.body_parentid])
        dofs = np.flatnonzero(awake[model.dof_treeid])
        data.body_awake_ind[: len(bodies)], data.nbody_awake = bodies, len(bodies)
        data.parent_awake_ind[: len(children)], data.nparent_awake = children, len(children)
        data.dof_awake_ind[: len(dofs)], data.nv_awake = dofs, len(dofs)
        data.ntree_awake = int(awake.sum())

    def step(self, wrench: np.ndarray, joint_targets: np.ndarray, dt_us: int) -> FleetState:
        """Advances all bodies by one step; see Engine.

        Raises:
            EngineError: The state of a vehicle is no longer finite.
        """
        if dt_us != self._dt_us:
            self._dt_us = dt_us
            self.model.opt.timestep = dt_us * 1e-6
            scene.stiffen(self.model)
        state, dt = self.state, dt_us * 1e-6
        self._free_flight.step(wrench, state, dt)
        if self._actors:
            self._move_actors()
        found_none = not self._looking  # so that no contacts are left of the last step
        self._look_for_contacts(not self.clearance.holds(self._qpos))
        if found_none and not self._looking and self._free_flight.is_all(self.data):
            self._free_flight.finish_all(self.data, dt)
        else:
            self._step_mujoco(wrench, joint_targets, dt)
            self._free_flight.finish(self.data)
        self.state.t_us += dt_us
        if self._fleet.tyre.size:
            contact = self.data.contact
            _load_tyres(
                self.addresses.tyres,
                contact.geom,
                contact.frame,
                contact.efc_address,
                self.data.efc_force,
                state.tyre_load,
            )
        self._extract(1e6 / dt_us)
        if self.window is not None and self.state.t_us % _FRAME_US == 0:
            self.window.show(self.state, self.inserted, self)
        return self.state

    def _step_mujoco(self, wrench: np.ndarray, joint_targets: np.ndarray, dt: float) -> None:
        state = self.state
        apply_wrench(
            self.masses.records, wrench, state.body_quat, state.body_ang_vel, dt, self._applied
        )
        if self._jointed:
            self.model.eq_data[self.addresses.locks, 0] = joint_targets[self.addresses.moving]
        mujoco.mj_step(self.model, self.data)
        if taken := self._grippers.step():
            self._wake_trees(self.model.body_treeid[taken])
        if self._pushed:
            self._applied[self._pushed] = 0.0
            self._pushed.clear()

    def _look_for_contacts(self, wanted: bool) -> None:
        if wanted is not self._looking:
            self._looking = wanted
            self.model.opt.disableflags ^= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)

    def _move_actors(self) -> None:
        """Puts actors where they are now, and wakes what rests near them."""
        near = self._actors.follow(self.data, self.state.t_us, self.state.pos, bool(self.inserted))
        if len(near):
            self._wake_trees(self.model.body_treeid[self.addresses.body[near, 0]])

    def contacts(self) -> Contacts:
        """Returns the contacts after the last step; see Engine."""
        pairs, normals = self._touching(self.data)
        if self.data.ntree_awake < len(self._fresh_sleep):
            # MuJoCo drops the contacts of sleeping bodies. They stay as they are until a body
            # falls asleep or wakes up; then they are recomputed on a copy without sleep.
            asleep = self.data.body_awake[self._owner_roots] == 0
            if not np.array_equal(asleep, self._asleep):
                self._asleep = asleep
                all_pairs, all_normals = self._touching(self._awake_copy())
                rows = asleep[all_pairs].any(axis=1)
                self._asleep_contacts = all_pairs[rows], all_normals[rows]
            pairs = np.concatenate([pairs, self._asleep_contacts[0]])
            normals = np.concatenate([normals, self._asleep_contacts[1]])
        return Contacts(self._owners, pairs, normals)

    def _touching(self, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
        """Pairs and normals as those of Contacts, with indices into _owners."""
        if data.ncon == 0:
            return _NO_CONTACTS
        contact = data.contact
        owners = self._owner_of[contact.geom]
        rows = (contact.dist <= 0.0) & (owners[:, 0] != owners[:, 1])
        owners, normals = owners[rows], contact.frame[rows, :3]
        swapped = owners[:, 0] > owners[:, 1]
        owners[swapped] = owners[swapped, ::-1]
        normals[swapped] *= -1.0
        return owners, normals

    def _awake_copy(self) -> mujoco.MjData:
        flags = self.model.opt.enableflags
        self.model.opt.enableflags = flags & ~int(mujoco.mjtEnableBit.mjENBL_SLEEP)
        data = mujoco.MjData(self.model)
        data.qpos[:] = self.data.qpos
        data.mocap_pos[:], data.mocap_quat[:] = self.data.mocap_pos, self.data.mocap_quat
        mujoco.mj_fwdPosition(self.model, data)
        self.model.opt.enableflags = flags
        return data

    def set_payload(self, vehicle: int, mass: float, pos: npt.ArrayLike) -> None:
        """Fixes a point mass to a vehicle and replaces its previous one; see Engine."""
        known = vehicle in self._payloads
        self._payloads[vehicle] = float(mass), np.array(pos, dtype=float)
        if known:
            self._weigh(vehicle)
            self._derive()
        else:
            self._recompile(self.inserted_states())

    def place(self, vehicle: int, state: np.ndarray) -> None:
        """Moves the base of a vehicle; see WorldEditor."""
        acc = self.state.acc.copy()
        p, v = self.addresses.base[vehicle]
        self._place_free(
            scene.Placed(
                self.addresses.body[vehicle, 0],
                self._qpos[p : p + 3],
                self._qpos[p + 3 : p + 7],
                self._qvel[v : v + 6],
            ),
            state,
        )
        self._extract(0.0)
        self.state.acc[:] = acc

    def insert(self, model: WorldModel) -> None:
        """Adds a model; see WorldEditor.

        Raises:
            EngineError: MuJoCo cannot compile the scene with it.
        """
        states, before = self.inserted_states(), self.inserted
        self.inserted = *before, model
        try:
            self._recompile(states)
        except EngineError:
            self.inserted = before
            raise

    def sling(self, models: Sequence[WorldModel], cables: Sequence[Cable]) -> None:
        """Hangs models below vehicles, at the start; see contracts.Slinger.

        Raises:
            EngineError: MuJoCo cannot compile the scene with them.
        """
        self.inserted, self._cables = tuple(models), tuple(cables)
        self._recompile(np.zeros((0, 13)))

    def remove(self, index: int) -> None:
        """Removes an inserted model, with its cables; see WorldEditor."""
        states = np.delete(self.inserted_states(), index, axis=0)
        name = self.inserted[index].name
        self._cables = tuple(cable for cable in self._cables if cable.model != name)
        self.inserted = *self.inserted[:index], *self.inserted[index + 1 :]
        self._recompile(states)

    def inserted_states(self) -> np.ndarray:
        """States (P, 13) of the inserted models; see WorldEditor."""
        states = np.zeros((len(self.inserted), 13))
        for row, at in zip(states, self._placed, strict=True):
            row[:3], row[3:7], row[7 : 7 + len(at.vel)] = at.pos, np.roll(at.quat, -1), at.vel
        return states

    def place_inserted(self, index: int, state: np.ndarray) -> None:
        """Moves an inserted model; see WorldEditor."""
        at = self._placed[index]
        if not self.inserted[index].static:
            self._place_free(at, state)
            return
        at.pos[:], at.quat[:] = state[:3], np.roll(state[3:7], 1)
        self._wake_trees(
            range(self.model.ntree)
        )  # a sleeping body may stand on it, or where it goes

    def push_inserted(self, index: int, wrench: np.ndarray) -> None:
        """Applies a wrench during the next step; see WorldEditor."""
        body = self._placed[index].body
        self._applied[body] += wrench
        self._pushed.append(body)

    def grip(self, vehicle: int, gripper: int, closed: bool) -> None:
        """Closes or opens a gripper; see Gripping."""
        self._grippers.grip(vehicle, gripper, closed)

    def held(self, vehicle: int, gripper: int) -> str:
        """Name of the model that a gripper holds; see Gripping."""
        return self._grippers.held(vehicle, gripper)

    def _place_free(self, at: scene.Placed, state: np.ndarray) -> None:
        at.pos[:], at.quat[:], at.vel[:] = state[:3], np.roll(state[3:7], 1), state[7:]
        self._wake_trees([self.model.body_treeid[at.body]])

    def _wake_trees(self, trees: Iterable[int]) -> None:
        awake = self.data.tree_awake.astype(bool)
        for tree in trees:
            awake[self._wake(tree)] = True
        self._list_awake(awake)

    def open_viewer(self) -> None:
        """Opens a window in a process of its own; the simulation goes on when that ends.

        Raises:
            EngineError: No display is available, or the window does not open.
        """
        from ..viewing.live import LiveWindow

        self.window = LiveWindow(
            self._world, self.specs, self.models, self._instance, self.inserted
        )

    def close(self) -> None:
        """Closes the window. May be called twice."""
        if self.window is not None:
            self.window.close()
            self.window = None

    def _compile(self) -> None:
        self.model = scene.build(
            self._world,
            self.specs,
            self.models,
            set(self._payloads),
            seen=False,
            inserted=self.inserted,
            cables=self._cables,
        )
        # MuJoCo restarts from the initial pose after a numerical overflow. It also chooses warm or
        # cold start of its contact solver for the whole scene, so the touchdown of one vehicle
        # would change the last bits of the others.
        self.model.opt.disableflags |= (
            mujoco.mjtDisableBit.mjDSBL_AUTORESET | mujoco.mjtDisableBit.mjDSBL_WARMSTART
        )
        self.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_SLEEP
        self.data = mujoco.MjData(self.model)
        self._fresh_sleep = self.data.tree_asleep.copy()
        self._fresh_awake = self.data.body_awake.copy()
        self._dt_us = 0  # no step has set it
        self.addresses = scene.addresses(self.model, self.specs, self.models)
        self.masses.records["row"] = self.addresses.body
        at = self.addresses
        self.clearance = Clearance(self.model, at.body[:, 0], at.base[:, 0])
        self._free_flight = FreeFlight(self.model, self.masses, at.base)
        self._looking = True  # MuJoCo looks for contacts
        self._qpos, self._qvel = self.data.qpos, self.data.qvel
        self._applied = self.data.xfrc_applied
        self._jointed = len(self.addresses.locks) > 0
        free = sum(not model.static for model in self.inserted)  # they come after the vehicles
        self._own = self.model.nq - 7 * free, self.model.nv - 6 * free
        self._placed = scene.placed(self.model, self.data, self.inserted)
        self._grippers.bind(self.model, self.data, self.inserted, self._placed)
        self._actors = scene.Actors(self.model, self._world)
        self._actors.place(self.data, self.state.t_us)
        for i in self._payloads:
            self._weigh(i)
        if self._payloads:
            self._derive()
        owners = [self._owner(geom) for geom in range(self.model.ngeom)]
        self._owners = tuple(sorted(set(owners)))
        index = {owner: k for k, owner in enumerate(self._owners)}
        self._owner_of = np.array([index[owner] for owner in owners], dtype=np.int64)
        self._owner_roots = np.zeros(len(self._owners), dtype=np.int64)  # bodies
        self._owner_roots[self._owner_of] = self.model.body_rootid[self.model.geom_bodyid]
        self._asleep, self._asleep_contacts = None, _NO_CONTACTS

    def _weigh(self, i: int) -> None:
        """Writes mass, centre of gravity and inertia of one vehicle with payload into the model."""
        model, body = self.model, self.addresses.body[i, 0]
        total, centre, inertia = self.masses.load(i, *self._payloads[i])
        moments, axes = np.linalg.eigh(inertia)
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        x, y, z, w = quaternion.from_matrix_array(axes[None])[0]
        model.body_mass[body] = total
        model.body_ipos[body] = centre
        model.body_inertia[body] = moments
        model.body_iquat[body] = w, x, y, z
        # Otherwise MuJoCo goes on treating frames that coincided at compile time as equal.
        model.body_sameframe[body] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE
        model.geom_sameframe[model.geom_bodyid == body] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE

    def _derive(self) -> None:
        """Recomputes the constants that MuJoCo derives from masses when it compiles a model."""
        mujoco.mj_setConst(self.model, mujoco.MjData(self.model))

    def _recompile(self, inserted: np.ndarray) -> None:
        """Compiles the scene again; the fleet keeps its state.

        Args:
            inserted: (P, 13) states of the first inserted models; further ones are at their start.
        """
        acc = self.state.acc.copy()
        qpos, qvel = self._qpos[: self._own[0]].copy(), self._qvel[: self._own[1]].copy()
        self._compile()
        self._qpos[: len(qpos)], self._qvel[: len(qvel)] = qpos, qvel
        for index, state in enumerate(inserted):
            self.place_inserted(index, state)
        mujoco.mj_forward(self.model, self.data)
        self._extract(0.0)
        self.state.acc[:] = acc

    def _extract(self, rate: float) -> None:
        state, at = self.state, self.addresses
        for placed in self._placed:
            limit_speed(placed.vel, 0)
        broken = _extract(
            self._qpos,
            self._qvel,
            at.base,
            rate,
            state.pos,
            state.quat,
            state.vel,
            state.ang_vel,
            state.acc,
        )
        if broken >= 0:
            raise EngineError(
                f"the state of '{self.specs[broken].name}' is not finite any more at "
                f"{state.t_us * 1e-6:.3f} s: look for an absurd force or parameter"
            )
        if self._jointed:
            state.joint_pos[at.moving] = self._qpos[at.joint_qpos[at.moving]]
            state.joint_vel[at.moving] = self._qvel[at.joint_qvel[at.moving]]
            place_bodies(self._fleet, state)

    def _owner(self, geom: int) -> str:
        """Name of the vehicle or world model that a geom belongs to."""
        root = self.model.body_rootid[self.model.geom_bodyid[geom]]
        if root > 0:
            name = self.model.body(root).name
            return scene.actor_of(name) or name
        return self.model.geom(geom).name.split("::")[0]


@njit
def _load_tyres(
    tyres: np.ndarray,
    geoms: np.ndarray,
    frames: np.ndarray,
    rows: np.ndarray,
    forces: np.ndarray,
    load: np.ndarray,
) -> None:
    """Sums the normal forces (N, T, 3) of the contacts of each tyre."""
    load[:] = 0.0
    for c in range(geoms.shape[0]):
        if rows[c] < 0:
            continue
        for side in range(2):  # the normal points from the first geom to the second
            i, k = tyres[geoms[c, side]]
            if i >= 0:
                for axis in range(3):
                    load[i, k, axis] += (2 * side - 1) * forces[rows[c]] * frames[c, axis]


@fleet_kernel
def _extract(
    qpos: np.ndarray,
    qvel: np.ndarray,
    base: np.ndarray,
    rate: float,
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    acc: np.ndarray,
) -> int:
    """Copies MuJoCo's state to the fleet's arrays; returns the first non-finite vehicle, or -1."""
    broken = -1
    for i in range(pos.shape[0]):
        total = 0.0
        p, v = base[i, 0], base[i, 1]
        limit_speed(qvel, v)
        for k in range(3):
            acc[i, k] = (qvel[v + k] - vel[i, k]) * rate
            pos[i, k] = qpos[p + k]
            vel[i, k] = qvel[v + k]
            ang_vel[i, k] = qvel[v + 3 + k]
            quat[i, k] = qpos[p + 4 + k]
            total += pos[i, k] + vel[i, k] + ang_vel[i, k]
        quat[i, 3] = qpos[p + 3]
        if broken < 0 and not np.isfinite(total):
            broken = i
    return broken
