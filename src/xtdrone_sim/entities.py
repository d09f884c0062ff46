"""Models and links of a running simulation under Gazebo's names, as gazebo_ros knows them.

A model is a vehicle, a model of the world's file, or one that was inserted; a link is
`model::link`. States have 13 numbers: position [m], quaternion xyzw, velocity of the frame's
origin [m/s] and angular velocity [rad/s], all four in the frame that they are relative to.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtdrone_core import Vehicle, VehicleSpec
from xtdrone_core.contracts import Engine, WorldEditor, required
from xtdrone_core.errors import unknown_name
from xtdrone_dynamics.quaternion import multiply_array, normalize, rotate_array

from .errors import WorldError
from .plant.pushes import Push, Pushes
from .vehicles.parts.links import centres
from .vehicles.pose import Pose, body_frames
from .vehicles.sdf import scope_of
from .vehicles.sdf_tree import name_of
from .world import World
from .world.models import WorldModel, read_model

WORLD_FRAMES = ("", "world", "map", "/map")  # names of the world frame, as gazebo_ros has them
MAX_NUMBER = 1e6  # largest number in a request, state or wrench [m, m/s, rad/s, N, N m]
_STILL = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Frame:
    """A model or link: a frame that is fixed to a body."""

    name: str
    owner: int  # index of the vehicle; from N on of the inserted models; -1 for the world's file
    body: int  # index in the vehicle
    pose: Pose  # relative to the body; to the world for models of the world's file
    # Centre of gravity of a link, in the body's frame [m].
    centre: tuple[float, ...] = (0.0, 0.0, 0.0)


class Entities:
    """States of all models and links, and the changes that gazebo_ros can make.

    Attributes:
        models: Frame of each model by its name, in the order of their creation.
        links: Frame of each link by its full name.
        direct_links: The links of the models themselves, without models nested in them.
        static: Names of the models that do not move by themselves.
    """

    def __init__(
        self,
        world: World,
        specs: Sequence[VehicleSpec],
        vehicles: Sequence[Vehicle],
        engine: Engine,
        pushes: Pushes,
    ):
        """Lists the models and links of a world with vehicles in an engine."""
        self._engine, self._pushes = engine, pushes
        self._vehicles = list(zip(specs, vehicles, strict=True))
        self._world, self._fixed = world, world.models
        self._list()

    @property
    def inserted(self) -> Sequence[WorldModel]:
        """The models inserted so far."""
        return self._engine.inserted if isinstance(self._engine, WorldEditor) else ()

    def inserted_states(self) -> np.ndarray:
        """States (P, 13) of their bodies, see WorldEditor."""
        return self._editor().inserted_states() if self.inserted else np.zeros((0, 13))

    def table(self, parts: Iterable[Frame]) -> np.ndarray:
        """States (P, 13) of models or links, relative to the world."""
        parts = list(parts)
        inserted = self.inserted_states()
        base = np.array([self._body(part, inserted) for part in parts]).reshape(-1, 13)
        offset = np.array([part.pose.pos for part in parts]).reshape(-1, 3)
        turn = np.array([part.pose.quat for part in parts]).reshape(-1, 4)
        out, quat, rate = np.empty_like(base), base[:, 3:7], base[:, 10:]
        out[:, :3] = base[:, :3] + rotate_array(quat, offset)
        out[:, 3:7] = multiply_array(quat, turn)
        out[:, 7:10] = base[:, 7:10] + rotate_array(quat, np.cross(rate, offset))
        out[:, 10:] = rotate_array(quat, rate)
        return out

    def states(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """States (13,) of the models of these names that are there, relative to the world."""
        there = {name: self.models[name] for name in names if name in self.models}
        return dict(zip(there, self.table(there.values())))

    def relative(self, part: Frame, frame: str) -> np.ndarray:
        """State (13,) of a model or link relative to another one, which is named.

        Raises:
            WorldError: There is no such frame.
        """
        state = self.table([part])[0]
        other = self.frame(frame)
        if other is None:
            return state
        at = self.table([other])[0]
        back = _pose(at).inverse()
        return _state(
            back.to(_pose(state)),
            back.direction(state[7:10] - at[7:10]),
            back.direction(state[10:] - at[10:]),
        )

    def model(self, name: str) -> Frame:
        """The model of a name.

        Raises:
            WorldError: There is none.
        """
        return _named("model", name, self.models)

    def link(self, name: str) -> Frame:
        """The link of a full name `model::link`.

        Raises:
            WorldError: There is none.
        """
        return _named("link", name, self.links)

    def frame(self, name: str) -> Frame | None:
        """The model or link that a reference frame names, or None for the world.

        Raises:
            WorldError: There is neither.
        """
        frame = self.models.get(name) or self.links.get(name)
        if frame is None and name not in WORLD_FRAMES:
            raise WorldError(
                f"{unknown_name('frame', name, [*self.models, *self.links])}; empty for the world",
                "no_frame",
            )
        return frame

    def describe(self, name: str) -> dict[str, Any]:
        """Names of a model's links, collisions, joints and nested models; whether it is static.

        Raises:
            WorldError: There is none.
        """
        part = self.model(name)
        inner = [
            link.removeprefix(f"{name}::") for link in self.links if link.startswith(f"{name}::")
        ]
        collisions, joints = self._collisions_of(name, part), []
        if 0 <= part.owner < len(self._vehicles):
            scope = scope_of(self._vehicles[part.owner][1])
            joints = [name_of(joint) for joint in scope.element.iterchildren("joint")]
        return {
            "links": [link for link in inner if "::" not in link],
            "collisions": collisions,
            "joints": joints,
            "static": name in self.static,
            "children": list(
                dict.fromkeys(link.partition("::")[0] for link in inner if "::" in link)
            ),
        }

    def joint(self, name: str) -> tuple[float, float]:
        """Position and speed of a joint that an actuator moves [rad] or [m].

        Args:
            name: Alone, of the first vehicle that has it, or behind its vehicle's name and `::`.

        Raises:
            WorldError: There is none.
        """
        known: dict[str, tuple[int, int]] = {}
        for i, (spec, vehicle) in enumerate(self._vehicles):
            for k, joint in enumerate(vehicle.joints):
                known.setdefault(joint.name, (i, k))
                known[f"{spec.name}::{joint.name}"] = i, k
        if name not in known:
            raise WorldError(unknown_name("joint", name, known), "no_joint")
        state = self._engine.state
        return float(state.joint_pos[known[name]]), float(state.joint_vel[known[name]])

    def place(self, part: Frame, state: np.ndarray, frame: str) -> None:
        """Moves a model, or the body of a link, so that the part has a state (13,).

        Args:
            part: The model or link.
            state: Relative to the frame; the velocities are turned by it only, as gazebo_ros does.
            frame: Name of a model or link; empty for the world.

        Raises:
            WorldError: No such frame, or a part that cannot be moved.
            ScenarioError: The engine cannot move anything.
        """
        editor, other = self._editor(), self.frame(frame)
        state = np.array(state, dtype=float)
        state[3:7] = normalize(*state[3:7].tolist()) if state[3:7].any() else (0.0, 0.0, 0.0, 1.0)
        if not (np.abs(state) <= MAX_NUMBER).all():
            raise WorldError(
                f"'{part.name}' cannot be moved to a state with numbers beyond {MAX_NUMBER:g}"
            )
        if other is not None:
            at = _pose(self.table([other])[0])
            state = _state(at.to(_pose(state)), at.direction(state[7:10]), at.direction(state[10:]))
        if part.owner < 0:
            raise WorldError(
                f"'{part.name}' belongs to the world's file: only vehicles and "
                "inserted models can be moved"
            )
        if part.body:
            raise WorldError(f"'{part.name}' hangs on a joint: move its vehicle")
        pose = _pose(state).to(part.pose.inverse())
        moved = _state(pose, state[7:10].tolist(), pose.inverse().direction(state[10:]))
        n = len(self._vehicles)
        if part.owner < n:
            editor.place(part.owner, moved)
        else:
            editor.place_inserted(part.owner - n, moved)

    def insert(self, sdf: str, name: str, pose: Pose, frame: str = "") -> None:
        """Inserts a model of one rigid body.

        Args:
            sdf: Text of an SDF file.
            name: Name of the model.
            pose: Where to put it, in the frame.
            frame: Name of a model or link; empty for the world.

        Raises:
            WorldError: Its name is taken, or there is no such frame.
            SdfError: It is invalid, or more than one rigid body.
            EngineError: The engine cannot take it.
        """
        if name in self.models:
            raise WorldError(f"there is a model '{name}' already", "exists")
        if not name or "::" in name or "/" in name:
            raise WorldError(f"'{name}' is no name for a model: leave out '::' and '/'")
        if not (np.abs(pose.pos) <= MAX_NUMBER).all():
            raise WorldError(
                f"model '{name}' cannot be put {pose.pos} m away: give numbers up to {MAX_NUMBER:g}"
            )
        other = self.frame(frame)
        if other is not None:
            pose = _pose(self.table([other])[0]).to(pose)
        self._editor().insert(read_model(sdf, name, pose))
        self._list()

    def remove(self, name: str) -> None:
        """Removes an inserted model.

        Raises:
            WorldError: There is none, or it is a vehicle or belongs to the world's file.
        """
        part, n = self.model(name), len(self._vehicles)
        if part.owner < n:
            what = "a vehicle" if part.owner >= 0 else "part of the world's file"
            raise WorldError(
                f"'{name}' is {what}: only inserted models can be removed while the simulation runs"
            )
        self._pushes.forget(part.owner - n)
        self._editor().remove(part.owner - n)
        self._list()

    def push(
        self,
        link: Frame,
        force: Sequence[float],
        torque: Sequence[float],
        begin_us: int,
        end_us: float = math.inf,
    ) -> None:
        """Applies a wrench to a link from begin_us to end_us of simulated time.

        Args:
            link: The link.
            force: On its centre of gravity, world [N].
            torque: World [N m].
            begin_us: Simulated time [us].
            end_us: End of the last step [us]; inf: until the pushes of the link are cleared.

        Raises:
            WorldError: It cannot be pushed.
        """
        if link.owner < 0 or link.name.partition("::")[0] in self.static:
            raise WorldError(f"'{link.name}' is static: no force moves it")
        if not (np.abs([*force, *torque]) <= MAX_NUMBER).all():
            raise WorldError(f"the wrench on '{link.name}' has numbers beyond {MAX_NUMBER:g}")
        self._pushes.add(
            Push(
                link.name,
                link.owner,
                link.body,
                tuple(link.centre),
                tuple(map(float, force)),
                tuple(map(float, torque)),
                begin_us,
                end_us,
            )
        )

    def reset(self) -> None:
        """Puts the inserted models back to where they were inserted, at rest."""
        for index, model in enumerate(self.inserted):
            self._editor().place_inserted(index, _state(model.start, _STILL, _STILL))

    def refresh(self) -> None:
        """Reads the inserted models anew, after the engine has loaded a snapshot."""
        self._list()

    def _editor(self) -> WorldEditor:
        return required(
            self._engine,
            WorldEditor,  # type: ignore[type-abstract]  # a protocol
            "this engine moves and inserts no models",
            "use engine:=embedded or engine:=gazebo",
        )

    def _body(self, part: Frame, inserted: np.ndarray) -> np.ndarray:
        """State of the body of a part, angular velocity in the body's frame."""
        if part.owner < 0:
            return _ORIGIN
        if part.owner >= len(self._vehicles):
            state: np.ndarray = inserted[part.owner - len(self._vehicles)]
            return state
        fleet, at = self._engine.state, (part.owner, part.body)
        return np.concatenate(
            [fleet.body_pos[at], fleet.body_quat[at], fleet.body_vel[at], fleet.body_ang_vel[at]]
        )

    def _collisions_of(self, name: str, part: Frame) -> list[str]:
        n = len(self._vehicles)
        if part.owner < 0:
            shapes = tuple(
                shape for shape in self._world.shapes if shape.name.startswith(f"{name}::")
            )
        else:
            shapes = (
                self._vehicles[part.owner][1].shapes
                if part.owner < n
                else self.inserted[part.owner - n].shapes
            )
        return [shape.name.rpartition("::")[2] for shape in shapes if shape.collides]

    def _list(self) -> None:
        self.models: dict[str, Frame] = {}
        self.links: dict[str, Frame] = {}
        for model in self._fixed:
            self._add(model, -1, model.pose)
        for i, (spec, vehicle) in enumerate(self._vehicles):
            self._add_vehicle(i, spec.name, vehicle)
        for i, model in enumerate(self.inserted):
            self._add(model, len(self._vehicles) + i, Pose(model.cog).inverse())
        self.direct_links = {
            name: part for name, part in self.links.items() if name.count("::") == 1
        }
        self.static = {model.name for model in (*self._fixed, *self.inserted) if model.static}

    def _add(self, model: WorldModel, owner: int, origin: Pose) -> None:
        self.models[model.name] = Frame(model.name, owner, 0, origin)
        for name, pose in model.links:
            self.links[name] = Frame(name, owner, 0, origin.to(pose))

    def _add_vehicle(self, i: int, name: str, vehicle: Vehicle) -> None:
        frames = [Pose(vehicle.cog).to(frame) for frame in body_frames(vehicle)]
        self.models[name] = Frame(name, i, 0, frames[0].inverse())
        body_of = {link: k for k, body in enumerate(vehicle.bodies) for link in body.links}
        scope = scope_of(vehicle)
        middle = centres(scope)
        for link, _, pose in scope.links():
            inward = frames[body_of[link]].inverse()
            full = f"{name}::{link}"
            self.links[full] = Frame(
                full, i, body_of[link], inward.to(pose), inward.point(middle[link])
            )


_ORIGIN = np.array([0.0] * 6 + [1.0] + [0.0] * 6)


def _pose(state: np.ndarray) -> Pose:
    x, y, z, *quat = state[:7].tolist()
    return Pose((x, y, z), (quat[0], quat[1], quat[2], quat[3]))


def _state(pose: Pose, vel: Sequence[float], rate: Sequence[float]) -> np.ndarray:
    return np.array([*pose.pos, *pose.quat, *vel, *rate])


def _named(kind: str, name: str, known: Mapping[str, Frame]) -> Frame:
    if name not in known:
        raise WorldError(unknown_name(kind, name, known), f"no_{kind}")
    return known[name]
