"""What a vehicle's camera sees of the ground: rays of pixels, boxes of actors."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from sensor_models.cameras import CameraParameters, cameras_of
from xtdrone_core import FleetState, SensorBlock, Vehicle
from xtdrone_core.contracts import AimsCameras, Flight
from xtdrone_dynamics.quaternion import to_matrix
from xtdrone_sim.vehicles.actors import Actor
from xtdrone_sim.vehicles.shapes import Shape

from ..dataset.places import Places
from ..detection.found import Detections, nothing
from ..errors import PerceptionError

_PIXEL = 1.5  # standard deviation of a box's lower edge [pixels]
_TILT = 0.01  # of the camera's attitude [rad]
_POSITION = 0.3  # of the camera's position [m]
_SEEN = 0.5  # share of the points of an actor that has to show
_NEAR = 0.3  # [m]
_SIGNS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


class Ground(Protocol):
    """On what targets stand; Places is one."""

    def distance(self, pos: np.ndarray, direction: np.ndarray) -> float:
        """Distance from a point along a unit vector to the first thing, inf for none [m]."""

    def is_ground(self, point: np.ndarray) -> bool:
        """Whether a point on a surface is of the ground."""


@dataclass(frozen=True)
class LevelGround:
    """Level ground without anything on it, for where no map is known."""

    height: float  # world [m]

    def distance(self, pos: np.ndarray, direction: np.ndarray) -> float:
        """As Ground has it."""
        down = -float(direction[2])
        above = float(pos[2]) - self.height
        return above / down if down > 1e-6 and above > 0.0 else np.inf

    def is_ground(self, point: np.ndarray) -> bool:
        """Always: there is nothing else."""
        return True


class Eye(NamedTuple):
    """Where a camera is."""

    pos: np.ndarray  # (3,) world [m]
    axes: np.ndarray  # (3, 3) forward, left and up as columns, world


@dataclass(frozen=True)
class MountedCamera:
    """The camera of a vehicle that looks at targets."""

    sensor: str
    body: int  # of the vehicle
    camera: CameraParameters

    def image_us(self, rate: float) -> int:
        """Time between two of its images that come about as often as a rate [Hz] says [us].

        The camera has images at whole multiples of its own period alone.
        """
        own = round(1e6 / self.camera.rate)
        return max(1, round(1e6 / rate / own)) * own

    def eye(self, state: FleetState, vehicle: int) -> Eye:
        """Where the camera truly is."""
        turn = _matrix(state.body_quat[vehicle, self.body])
        pos = state.body_pos[vehicle, self.body] + turn @ self.camera.pos
        return Eye(pos, turn @ _matrix(self.camera.quat))

    def believed(self, state: FleetState, vehicle: int, pos: np.ndarray, quat: np.ndarray) -> Eye:
        """Where the camera is by an estimated pose of the vehicle and the angles of its joints."""
        true = self.eye(state, vehicle)
        correction = _matrix(quat) @ _matrix(state.quat[vehicle]).T
        return Eye(pos + correction @ (true.pos - state.pos[vehicle]), correction @ true.axes)


def _matrix(quat: np.ndarray | tuple[float, ...]) -> np.ndarray:
    x, y, z, w = map(float, quat)
    matrix: np.ndarray = np.array(to_matrix(x, y, z, w)).reshape(3, 3)
    return matrix


def camera_of(vehicle: Vehicle) -> MountedCamera:
    """The first camera of a vehicle.

    Raises:
        PerceptionError: It has none, or one with a fisheye lens.
    """
    block: SensorBlock | None = next(
        (block for block in vehicle.sensors if block.kind == "camera"), None
    )
    if block is None:
        raise PerceptionError(
            f"vehicle '{vehicle.type}' has no camera to follow with: give --vehicle typhoon_h480, "
            "whose gimbal keeps the target in view"
        )
    return MountedCamera(block.name, block.body, cameras_of(block)[0])


def mount_of(flight: Flight, i: int) -> AimsCameras | None:
    """The flight stack, where it turns the camera of vehicle i; None where that is fixed."""
    autopilot = flight.autopilot
    aims = isinstance(autopilot, AimsCameras) and autopilot.turns_camera(i)
    return autopilot if aims and isinstance(autopilot, AimsCameras) else None


def place_of(
    box: np.ndarray, eye: Eye, camera: CameraParameters, ground: Ground
) -> tuple[np.ndarray, np.ndarray] | None:
    """Where the foot of a box stands: place (2,) [m] and covariance (2, 2) [m^2]; None for nowhere.

    Args:
        box: (4,) left, top, right, bottom [pixels].
        eye: Where the camera is thought to be.
        camera: Its parameters; its distortion is not taken into account.
        ground: On which it stands.
    """
    right = (0.5 * (box[0] + box[2]) - 0.5 - camera.cx) / camera.fx
    down = (box[3] - 0.5 - camera.cy) / camera.fy
    ray = eye.axes @ (1.0, -right, -down)
    ray /= np.linalg.norm(ray)
    distance = ground.distance(eye.pos, ray)
    level = float(np.hypot(ray[0], ray[1]))
    if not np.isfinite(distance) or ray[2] > -0.02:
        return None
    if not ground.is_ground(eye.pos + distance * ray):  # something hides the foot
        return None
    angle = np.hypot(_PIXEL / camera.fy, _TILT)
    along = distance * angle / -ray[2]  # a small angle goes far on the ground
    forward = ray[:2] / level if level > 1e-6 else np.array([1.0, 0.0])
    aside = np.array([-forward[1], forward[0]])
    spread = (along**2 + _POSITION**2) * np.outer(forward, forward) + (
        (distance * angle) ** 2 + _POSITION**2
    ) * np.outer(aside, aside)
    return eye.pos[:2] + distance * ray[:2], spread


def standing(
    actors: list[Actor], t_s: float, eye: Eye, camera: CameraParameters, places: Places
) -> tuple[Detections, list[str]]:
    """The boxes of actors as an ideal detector would find them, and their names.

    An actor of which less than half shows behind static things is not found.
    """
    boxes, names = [], []
    for actor in actors:
        points = corners(actor, t_s)
        box = box_of(points, eye, camera)
        if box is None or box[2] - box[0] < 2.0 or box[3] - box[1] < 4.0:
            continue
        checked = points[:: max(1, len(points) // 12)]
        if np.mean([places.sees(eye.pos, point + (0.0, 0.0, 0.05)) for point in checked]) < _SEEN:
            continue
        boxes.append(box)
        names.append(actor.name)
    if not boxes:
        return nothing(), []
    return Detections(np.array(boxes), np.ones(len(boxes)), np.zeros(len(boxes), dtype=int)), names


def corners(actor: Actor, t_s: float) -> np.ndarray:
    """Corners (M, 3) of the parts of an actor at a time, world [m]."""
    points = [
        _corners(shape, np.array(pose.pos), _matrix(pose.quat))
        for limb, pose in zip(actor.limbs, actor.limbs_at(t_s), strict=True)
        for shape in limb.shapes
        if shape.collides and shape.kind in _HALVES
    ]
    return np.concatenate(points) if points else np.array([actor.pose(t_s).pos])


def vehicle_corners(vehicle: Vehicle, state: FleetState, i: int) -> np.ndarray:
    """Corners (M, 3) of the parts of vehicle i that collide, world [m]."""
    points = [
        _corners(shape, state.body_pos[i, shape.body], _matrix(state.body_quat[i, shape.body]))
        for shape in vehicle.shapes
        if shape.collides and shape.kind in _HALVES
    ]
    return np.concatenate(points) if points else state.pos[i : i + 1]


def box_of(points: np.ndarray, eye: Eye, camera: CameraParameters) -> np.ndarray | None:
    """The box (4,) around points (M, 3) in an image [pixels]; None where none is seen."""
    seen = (points - eye.pos) @ eye.axes
    if seen[:, 0].min() < _NEAR:
        return None
    across = camera.cx - camera.fx * seen[:, 1] / seen[:, 0] + 0.5
    down = camera.cy - camera.fy * seen[:, 2] / seen[:, 0] + 0.5
    left, right = np.clip((across.min(), across.max()), 0.0, camera.width)
    top, bottom = np.clip((down.min(), down.max()), 0.0, camera.height)
    return np.array([left, top, right, bottom]) if right > left and bottom > top else None


def _corners(shape: Shape, pos: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Corners (8, 3) of a shape whose body is at a place with axes (3, 3)."""
    own = (
        np.array(shape.pose.pos)
        + (_SIGNS * _HALVES[shape.kind](shape.size)) @ _matrix(shape.pose.quat).T
    )
    points: np.ndarray = pos + own @ turn.T
    return points


_HALVES = {
    "box": lambda size: 0.5 * np.array(size),
    "cylinder": lambda size: np.array([0.7 * size[0], 0.7 * size[0], 0.5 * size[1]]),
    "sphere": lambda size: np.full(3, 0.8 * size[0]),
}
