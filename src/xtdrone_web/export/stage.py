"""A recorded flight put together on a stage: world, vehicles, their paths, cameras and lights."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from sensor_models.cameras import CameraParameters
from sensor_models.rendered_sensor import cameras_in
from xtdrone_core import Vehicle, plot_style
from xtdrone_dynamics.quaternion import from_matrix
from xtdrone_sim.vehicles.actors import Actor
from xtdrone_sim.vehicles.look import Look
from xtdrone_sim.vehicles.pose import Pose
from xtdrone_sim.vehicles.shapes import Shape
from xtdrone_sim.viewing.cameras import Camera
from xtdrone_sim.viewing.flights import blank_state
from xtdrone_sim.viewing.scene import FIELD, FlightScene
from xtdrone_sim.world import Light, World

from ..gltf import scene
from ..gltf.writer import ROOT, Part
from ..replay.recording import Recording
from .motion import Motion, continuous, joint_motion

_LOOKS = Pose(quat=from_matrix(0, 0, -1, -1, 0, 0, 0, 1, 0))  # cameras look along -z, y up
_SUN = Light(
    "directional", (0.0, 0.0, 10.0), (-0.5, 0.1, -0.9), (1.0, 1.0, 1.0), (0.1, 0.1, 0.1), True
)  # sunlight of a world without lights
_WATER = Look((0.1, 0.3, 0.42, 0.75))
_SEA = 1000.0  # side of the water's surface [m]
_ASPECT = 16.0 / 9.0  # aspect ratio of the camera that sees the whole flight
_PATH_S = 0.1  # time between two points of a path, at least [s]
_SPAN = 0.5  # margin around a vehicle, for that camera [m]
_FEWER = 25  # one in so many key frames is kept in that camera's view


class Lens(NamedTuple):
    """Field of view and range of a camera."""

    vertical: float  # field of view [rad]
    aspect: float  # width by height
    near: float  # [m]
    far: float  # [m]


class Stage(Protocol):
    """A file that is being put together; nodes, meshes and materials are known by numbers."""

    def material(
        self,
        roughness: float,
        metallic: float,
        image: np.ndarray | None = None,
        alpha: float = 1.0,
        name: str = "",
        colour: np.ndarray | None = None,
    ) -> int:
        """Adds a material; see Glb."""

    def mesh(self, parts: Sequence[Part]) -> int:
        """Adds a mesh; see Glb."""

    def node(
        self,
        name: str,
        mesh: int | None = None,
        pos: Sequence[float] = (0.0, 0.0, 0.0),
        quat: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
        parent: int = ROOT,
    ) -> int:
        """Adds a node; see Glb."""

    def move(self, node: int, pos: np.ndarray, quat: np.ndarray) -> None:
        """Adds key frames of a node: positions (K, 3) [m] and attitudes (K, 4)."""

    def spin(self, node: int, axis: Sequence[float], speed: np.ndarray) -> None:
        """Turns a node about an axis through its origin, at speeds (K,) [rad/s]."""

    def line(self, name: str, points: np.ndarray, colour: np.ndarray, parent: int) -> None:
        """Adds a line through points (M, 3) in a colour (3,), linear."""

    def camera(self, name: str, lens: Lens, pose: Pose, parent: int = ROOT) -> None:
        """Adds a camera that looks along -z of its pose."""

    def light(self, name: str, light: Light) -> None:
        """Adds a light of the world."""

    def write(self, path: Path) -> None:
        """Writes the file."""


def fill(
    stage: Stage,
    recording: Recording,
    chosen: Sequence[int],
    motion: Motion,
    paths: bool = True,
    cameras: bool = True,
) -> None:
    """Puts a flight on a stage.

    Args:
        stage: An empty one.
        recording: The flight.
        chosen: Indices of its vehicles that are shown.
        motion: Theirs.
        paths: Whether the path of each vehicle is drawn.
        cameras: Whether there are those of the vehicles, and one that sees the whole flight.
    """
    _world(stage, recording.world)
    for actor in recording.world.actors:
        _actor(stage, actor, motion)
    drawn: dict[str, dict] = {}
    for column, i in enumerate(chosen):
        model, name = recording.models[i], recording.names[i]
        if model.type not in drawn:
            drawn[model.type] = {
                of: stage.mesh(made.parts(stage, merged=False))
                for of, made in scene.surfaces_of_vehicle(model).items()
            }
        _vehicle(stage, name, model, drawn[model.type], motion, column, cameras)
    if paths:
        above = stage.node("paths")
        step = max(1, round(_PATH_S * motion.rate))
        for column, i in enumerate(chosen):
            points = np.concatenate([motion.pos[::step, column], motion.pos[-1:, column]])
            stage.line(
                f"paths/{recording.names[i]}", points, _colour(i, len(recording.names)), above
            )
    if cameras:
        stage.camera("overview", Lens(FIELD, _ASPECT, 0.5, 2000.0), _overview(recording, motion))


def _colour(i: int, n: int) -> np.ndarray:
    from matplotlib.colors import to_rgb

    return scene.linear(to_rgb(plot_style.vehicle_color(i, n)))


def _world(stage: Stage, world: World) -> None:
    made = scene.surfaces_of(world.shapes)
    if math.isfinite(world.water):
        made.add(
            Shape("water", "plane", (_SEA, _SEA), Pose((0.0, 0.0, world.water)), False, _WATER),
            Pose((0.0, 0.0, world.water)),
        )
    parts = made.parts(stage, merged=False)
    if parts:
        stage.node("world", stage.mesh(parts))
    for k, light in enumerate(world.lights or (_SUN,)):
        stage.light(f"light_{k}", light)


def _actor(stage: Stage, actor: Actor, motion: Motion) -> None:
    """Adds the limbs of an actor, each a node that moves in the world."""
    whole = stage.node(actor.name)
    tracks = zip(*(actor.limbs_at(motion.begin_s + t) for t in motion.t_s.tolist()))
    for limb, poses in zip(actor.limbs, tracks, strict=True):
        parts = scene.surfaces_of(limb.shapes).parts(stage, merged=False)
        node = stage.node(
            f"{actor.name}/{limb.name}",
            stage.mesh(parts) if parts else None,
            poses[0].pos,
            poses[0].quat,
            whole,
        )
        stage.move(
            node,
            np.array([pose.pos for pose in poses]),
            continuous(np.array([pose.quat for pose in poses])),
        )


def _vehicle(
    stage: Stage,
    name: str,
    model: Vehicle,
    meshes: dict[tuple[str, int], int],
    motion: Motion,
    column: int,
    cameras: bool,
) -> None:
    whole = stage.node(name, None, motion.pos[0, column], motion.quat[0, column])
    stage.move(whole, motion.pos[:, column], motion.quat[:, column])
    rotors = dict(scene.rotors_of(model))
    moved = joint_motion(model, motion.actuator[:, column])
    bodies: list[int] = []
    for k, body in enumerate(model.bodies):
        parent = whole if body.parent < 0 else bodies[body.parent]
        bodies.append(
            stage.node(f"{name}/body_{k}", meshes.get(("body", k)), body.pos, body.quat, parent)
        )
        if k in moved:
            stage.move(bodies[k], *moved[k])
    for (kind, k), mesh in meshes.items():
        if kind == "rotor":
            rotor = rotors[k]
            node = stage.node(f"{name}/rotor_{k}", mesh, rotor.pos, parent=bodies[rotor.body])
            if k < motion.actuator.shape[2] and motion.actuator[:, column, k].any():
                stage.spin(node, rotor.axis, rotor.direction * motion.actuator[:, column, k])
    for block in model.sensors if cameras else ():
        for eye in cameras_in(block):
            label = "_".join(filter(None, (block.name, eye.name)))
            stage.camera(
                f"{name}/{label}",
                _lens(eye),
                Pose(eye.pos, eye.quat).to(_LOOKS),
                bodies[block.body],
            )


def _lens(eye: CameraParameters) -> Lens:
    high, wide = 0.5 * eye.height / eye.fy, 0.5 * eye.width / eye.fx
    return Lens(2.0 * math.atan(high), wide / high, eye.near, eye.far)


def _overview(recording: Recording, motion: Motion) -> Pose:
    """Returns where a camera that stands still sees the whole flight, and no tree is before it."""
    room = FlightScene(recording.world, recording.specs, recording.models, (16, 16))
    view = Camera("still").view(
        room,
        blank_state(recording.models),
        motion.pos[::_FEWER].reshape(-1, 3),
        _ASPECT,
        _SPAN,
        0.0,
    )
    room.close()
    return Pose(tuple(view.eye.tolist()), facing(view.target - view.eye))


def facing(direction: Sequence[float]) -> tuple[float, ...]:
    """Returns the attitude xyzw in which -z shows there."""
    back = -np.array(direction, dtype=float)
    back /= np.linalg.norm(back)
    right = np.cross((0.0, 1.0, 0.0) if abs(back[2]) > 0.9 else (0.0, 0.0, 1.0), back)
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(back, right), back], axis=1)
    return from_matrix(*axes.ravel().tolist())
