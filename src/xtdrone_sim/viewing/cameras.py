"""Cameras that look at a fleet: where they stand, and how they get out of the way of obstacles."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xtdrone_dynamics.quaternion import rotate

from ..errors import ViewError
from .scene import FIELD, View

CAMERAS = {
    "fleet": "frames the fleet from one side",
    "orbit": "goes round the fleet",
    "follow": "flies behind one vehicle",
    "top": "frames the fleet from above",
    "still": "stands still and frames the whole flight",
}
_AZIMUTH, _ELEVATION = math.radians(-120.0), math.radians(16.0)  # of the eye, seen from the fleet
_TURN = math.radians(10.0)  # of the orbit [rad/s]
_TOP = math.radians(85.0)  # highest elevation: straight down there is no upper side
_BEHIND, _ABOVE = 5.0, math.radians(18.0)  # of a vehicle that is followed, in spans [-], [rad]
_MARGIN = 1.3  # around the vehicles [m]
_SMOOTH_S = 0.7  # time constant of the camera's motions [s]
_ARM = 0.85  # part of the distance to an obstacle that the eye keeps
_ROOM = 0.4  # free space around the line to the eye [m]
_SLOWER = 0.4  # that the elevation changes, for it jumps where something comes into view
_SAMPLES = 60  # points of which it is asked whether they are seen
_NEAR_TO = 0.3  # what is so near to a point does not hide it, such as the ground below it [m]
_BLOCKED, _HIGHER = 4.0, 0.2  # costs: of a line that ends at an obstacle, of elevation [1/rad]
_STEPS = np.radians([0.0, 8.0, 16.0, 26.0, 38.0, 52.0, 68.0])  # higher, where something is there


@dataclass
class Camera:
    """A camera; the user's turns and distances come on top of what it does by itself.

    Attributes:
        kind: One of CAMERAS.
        vehicle: Index of the vehicle that `follow` follows.
        turned, raised: The user's turn and elevation on top [rad].
        zoom: The user's factor of the distance.
    """

    kind: str = "fleet"
    vehicle: int = 0
    turned: float = 0.0
    raised: float = 0.0
    zoom: float = 1.0
    _smooth: np.ndarray | None = field(default=None, repr=False)  # target, distance, elevation
    _heading: float = 0.0  # of the vehicle that is followed [rad]
    _t_s: float = 0.0  # that it has been looking [s]

    def __post_init__(self):
        if self.kind not in CAMERAS:
            raise ViewError(f"there is no camera '{self.kind}': choose one of {', '.join(CAMERAS)}")

    def choose(self, kind: str, vehicle: int | None = None) -> None:
        """Changes to another kind or vehicle; the user's turns are forgotten."""
        self.kind, self.turned, self.raised, self.zoom = kind, 0.0, 0.0, 1.0
        self.vehicle = self.vehicle if vehicle is None else vehicle

    def cut(self) -> None:
        """Goes to its new place at once at the next view."""
        self._smooth = None

    def view(
        self, scene: Any, state: Any, everything: np.ndarray, aspect: float, span: float, dt: float
    ) -> View:
        """The next view.

        Args:
            scene: The FlightScene, for obstacles.
            state: Of the fleet.
            everything: (K, 3) positions of the whole flight, for the camera that stands still.
            aspect: Width of the image by its height.
            span: Of a vehicle [m].
            dt: Since the last view [s].
        """
        self._t_s += dt
        share = 1.0 if self._smooth is None else 1.0 - math.exp(-dt / _SMOOTH_S)
        points = everything if self.kind == "still" else state.pos
        azimuth, elevation = _AZIMUTH, _ELEVATION
        if self.kind == "follow":
            points = state.pos[self.vehicle][None]
            self._turn_after(state, share)
            azimuth, elevation = self._heading + math.pi, _ABOVE
        elif self.kind == "orbit":
            azimuth += _TURN * self._t_s
        elif self.kind == "top":
            azimuth, elevation = -0.5 * math.pi, _TOP
        azimuth += self.turned
        elevation = min(max(elevation + self.raised, math.radians(-20.0)), _TOP)
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
        rates = share * np.array([1.0, 1.0, 1.0, 1.0, 1.0 if share == 1.0 else _SLOWER])
        self._smooth = self._smooth + rates * (wanted - self._smooth)
        target, (distance, elevation) = self._smooth[:3], self._smooth[3:]
        distance = min(distance, _ARM * _reach(scene, target, azimuth, elevation, distance))
        return View(target + distance * _direction(azimuth, elevation), target)

    def _turn_after(self, state, share):
        """Follows the vehicle's heading, smoothly and the shorter way round."""
        x, y, _ = rotate(*state.quat[self.vehicle], 1.0, 0.0, 0.0)
        turn = math.remainder(math.atan2(y, x) - self._heading, 2.0 * math.pi)
        self._heading += share * turn


def _direction(azimuth, elevation) -> np.ndarray:
    """Unit vector from the target to the eye."""
    flat = math.cos(elevation)
    return np.array([flat * math.cos(azimuth), flat * math.sin(azimuth), math.sin(elevation)])


def _distance(points, azimuth, elevation, aspect, margin) -> float:
    """From where all points (K, 3), relative to the target, are in the image [m]."""
    back = _direction(azimuth, elevation)
    right = np.array([-math.sin(azimuth), math.cos(azimuth), 0.0])
    up = np.cross(back, right)
    high = math.tan(0.5 * FIELD)
    needed = np.maximum(
        (np.abs(points @ right) + margin) / (high * aspect), (np.abs(points @ up) + margin) / high
    )
    return float((points @ back + needed).max()) + margin


def _clear(scene, target, points, azimuth, elevation, distance) -> float:
    """The elevation from which most points are seen, and which is not much higher than wanted."""

    def cost(step):
        high = min(elevation + step, _TOP)
        reach = _reach(scene, target, azimuth, high, distance)
        blocked = max(0.0, 1.0 - _ARM * reach / distance)
        return (
            _BLOCKED * blocked
            + _hidden(scene, target + distance * _direction(azimuth, high), points)
            + _HIGHER * step
        )

    return min(elevation + min(_STEPS, key=cost), _TOP)


def _hidden(scene, eye, points) -> float:
    """Part of the points (K, 3) that an eye does not see, since something is before them."""
    away = points[:: -(-len(points) // _SAMPLES)] - eye
    length = np.linalg.norm(away, axis=1)
    return float(
        (scene.free(eye, away / length[:, None], length.max() + 1.0) < length - _NEAR_TO).mean()
    )


def _reach(scene, target, azimuth, elevation, distance) -> float:
    """How far the eye may be from the target before it comes into something [m]."""
    back = _direction(azimuth, elevation)
    right = np.array([-math.sin(azimuth), math.cos(azimuth), 0.0])
    up = np.cross(back, right)
    aside = _ROOM * np.array([0.0 * up, right, -right, up, -up])
    ends = distance * back + aside
    length = np.linalg.norm(ends, axis=1)
    return float(
        scene.free(
            np.asarray(target, dtype=float), ends / length[:, None], distance / _ARM + 1.0
        ).min()
    )
