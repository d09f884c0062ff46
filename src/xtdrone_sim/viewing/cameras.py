"""Cameras that look at a fleet: where they stand, and how they get out of the way of obstacles."""

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from xtdrone_core import FleetState
from xtdrone_dynamics.quaternion import rotate

from ..errors import ViewError
from .camera_kinds import CAMERAS
from .scene import FIELD, View

_AZIMUTH, _ELEVATION = (math.radians(-120.0), math.radians(16.0))  # direction of the eye [rad]
_ORBIT_RATE = math.radians(10.0)  # [rad/s]
_MAX_ELEVATION = math.radians(85.0)  # straight down the image would have no upper side
_BEHIND, _ABOVE = 5.0, math.radians(18.0)  # behind a followed vehicle [spans], above it [rad]
_MARGIN = 1.3  # around the vehicles [m]
_SMOOTH_S = 0.7  # time constant of the camera's motions [s]
_ARM = 0.85  # fraction of the distance to an obstacle at which the eye stays
_ROOM = 0.4  # free space around the line to the eye [m]
_ELEVATION_GAIN = 0.4  # slows changes of the elevation, which jumps where obstacles appear
_MAX_POINTS = 60  # points of the fleet tested for visibility
_NEAR_TO = 0.3  # what is nearer to a point does not hide it, such as the ground below it [m]
_BLOCKED_COST, _ELEVATION_COST = 4.0, 0.2  # for a blocked line of sight, per elevation [1/rad]
_STEPS = np.radians(
    [0.0, 8.0, 16.0, 26.0, 38.0, 52.0, 68.0]
)  # tried elevations above the wanted one


class Scene(Protocol):
    """The obstacles of a scene."""

    def ray_distances(
        self, origin: np.ndarray, directions: np.ndarray, longest: float
    ) -> np.ndarray:
        """Returns distances (M,) from a point to obstacles along unit vectors (M, 3) [m]."""


@dataclass
class Camera:
    """A camera; the user's turns and zoom are added to its own motion.

    Attributes:
        kind: One of CAMERAS.
        vehicle: Index of the vehicle that `follow` follows.
        turned, raised: Azimuth and elevation that the user adds [rad].
        zoom: Factor of the distance that the user sets.
    """

    kind: str = "fleet"
    vehicle: int = 0
    turned: float = 0.0
    raised: float = 0.0
    zoom: float = 1.0
    _smooth: np.ndarray | None = field(default=None, repr=False)  # target, distance, elevation
    _heading: float = 0.0  # heading of the followed vehicle [rad]
    _t_s: float = 0.0  # time for which it has been looking [s]

    def __post_init__(self) -> None:
        if self.kind not in CAMERAS:
            raise ViewError(f"there is no camera '{self.kind}': choose one of {', '.join(CAMERAS)}")

    def choose(self, kind: str, vehicle: int | None = None) -> None:
        """Changes to another kind or vehicle; the user's turns are forgotten."""
        self.kind, self.turned, self.raised, self.zoom = kind, 0.0, 0.0, 1.0
        self.vehicle = self.vehicle if vehicle is None else vehicle

    def cut(self) -> None:
        """Jumps to its new place at the next view."""
        self._smooth = None

    def view(
        self,
        scene: Scene,
        state: FleetState,
        everything: np.ndarray,
        aspect: float,
        span: float,
        dt: float,
    ) -> View:
        """Returns the next view.

        Args:
            scene: The scene, for obstacles.
            state: State of the fleet.
            everything: (K, 3) positions of the whole flight, for the camera that stands still.
            aspect: Width of the image divided by its height.
            span: Width of a vehicle [m].
            dt: Time since the last view [s].
        """
        self._t_s += dt
        alpha = 1.0 if self._smooth is None else 1.0 - math.exp(-dt / _SMOOTH_S)
        points = everything if self.kind == "still" else state.pos
        azimuth, elevation = _AZIMUTH, _ELEVATION
        if self.kind == "follow":
            points = state.pos[self.vehicle][None]
            self._follow_heading(state, alpha)
            azimuth, elevation = self._heading + math.pi, _ABOVE
        elif self.kind == "orbit":
            azimuth += _ORBIT_RATE * self._t_s
        elif self.kind == "top":
            azimuth, elevation = -0.5 * math.pi, _MAX_ELEVATION
        azimuth += self.turned
        elevation = min(max(elevation + self.raised, math.radians(-20.0)), _MAX_ELEVATION)
        target = 0.5 * (points.min(axis=0) + points.max(axis=0))
        margin = max(_MARGIN, span)
        distance = (
            _BEHIND * margin
            if self.kind == "follow"
            else _distance(points - target, azimuth, elevation, aspect, margin)
        )
        distance *= self.zoom
        elevation = _clear(scene, target, points, azimuth, elevation, distance)
        wanted = np.array([*target, distance, elevation])
        if self._smooth is None:
            self._smooth = wanted
        rates = alpha * np.array([1.0, 1.0, 1.0, 1.0, 1.0 if alpha == 1.0 else _ELEVATION_GAIN])
        self._smooth = self._smooth + rates * (wanted - self._smooth)
        target, (distance, elevation) = self._smooth[:3], self._smooth[3:]
        distance = min(distance, _ARM * _reach(scene, target, azimuth, elevation, distance))
        return View(target + distance * _direction(azimuth, elevation), target)

    def _follow_heading(self, state: FleetState, alpha: float) -> None:
        """Turns towards the vehicle's heading, smoothly and the shorter way round."""
        qx, qy, qz, qw = state.quat[self.vehicle]
        x, y, _ = rotate(qx, qy, qz, qw, 1.0, 0.0, 0.0)
        turn = math.remainder(math.atan2(y, x) - self._heading, 2.0 * math.pi)
        self._heading += alpha * turn


def _direction(azimuth: float, elevation: float) -> np.ndarray:
    """Returns the unit vector from the target to the eye."""
    flat = math.cos(elevation)
    return np.array([flat * math.cos(azimuth), flat * math.sin(azimuth), math.sin(elevation)])


def _distance(
    points: np.ndarray, azimuth: float, elevation: float, aspect: float, margin: float
) -> float:
    """Returns the distance from which all points (K, 3) around the target are in the image [m]."""
    back = _direction(azimuth, elevation)
    right = np.array([-math.sin(azimuth), math.cos(azimuth), 0.0])
    up = np.cross(back, right)
    high = math.tan(0.5 * FIELD)
    needed = np.maximum(
        (np.abs(points @ right) + margin) / (high * aspect), (np.abs(points @ up) + margin) / high
    )
    return float((points @ back + needed).max()) + margin


def _clear(
    scene: Scene,
    target: np.ndarray,
    points: np.ndarray,
    azimuth: float,
    elevation: float,
    distance: float,
) -> float:
    """Returns the elevation from which most points are seen, not much higher than wanted."""

    def cost(step: float) -> float:
        high = min(elevation + step, _MAX_ELEVATION)
        reach = _reach(scene, target, azimuth, high, distance)
        blocked = max(0.0, 1.0 - _ARM * reach / distance)
        return (
            _BLOCKED_COST * blocked
            + _hidden(scene, target + distance * _direction(azimuth, high), points)
            + _ELEVATION_COST * step
        )

    return min(elevation + min(_STEPS, key=cost), _MAX_ELEVATION)


def _hidden(scene: Scene, eye: np.ndarray, points: np.ndarray) -> float:
    """Returns the fraction of points (K, 3) that are hidden from an eye."""
    away = points[:: -(-len(points) // _MAX_POINTS)] - eye
    length = np.linalg.norm(away, axis=1)
    return float(
        (
            scene.ray_distances(eye, away / length[:, None], length.max() + 1.0) < length - _NEAR_TO
        ).mean()
    )


def _reach(
    scene: Scene, target: np.ndarray, azimuth: float, elevation: float, distance: float
) -> float:
    """Returns how far the eye may be from the target before it meets an obstacle [m]."""
    back = _direction(azimuth, elevation)
    right = np.array([-math.sin(azimuth), math.cos(azimuth), 0.0])
    up = np.cross(back, right)
    aside = _ROOM * np.array([0.0 * up, right, -right, up, -up])
    ends = distance * back + aside
    length = np.linalg.norm(ends, axis=1)
    return float(
        scene.ray_distances(
            np.asarray(target, dtype=float), ends / length[:, None], distance / _ARM + 1.0
        ).min()
    )
