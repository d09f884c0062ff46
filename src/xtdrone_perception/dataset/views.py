"""From where a scene is seen: a camera that flies past something that labels are for."""

import math
from dataclasses import dataclass

import numpy as np

from xtdrone_dynamics.quaternion import from_euler

from .places import Places

_NEAR, _FAR = 3.5, 45.0  # distance of the camera from what it looks at [m]
_LOWEST = 1.0  # of the camera above what is below it [m]
_ASIDE = 0.32  # of the field of view, how far from the middle the target may be
_DRIFT = 2.0  # speed of the camera, standard deviation [m/s]
_TURN = 0.08  # its yaw rate, standard deviation [rad/s]
_ROLL = 0.06  # its roll, standard deviation [rad]
_ATTEMPTS = 40


@dataclass(frozen=True)
class Path:
    """A camera's way through a scene, straight on and turning evenly."""

    pos: np.ndarray  # (3,) at first, world [m]
    vel: np.ndarray  # (3,) [m/s]
    angles: tuple[float, float, float]  # roll, pitch and yaw at first [rad]
    yaw_rate: float  # [rad/s]

    def at(self, t: float) -> tuple[np.ndarray, tuple[float, float, float, float]]:
        """Position (3,) [m] and attitude xyzw, camera (x forward) to world, after t [s]."""
        roll, pitch, yaw = self.angles
        x, y, z, w = from_euler(roll, pitch, yaw + t * self.yaw_rate)
        return self.pos + t * self.vel, (x, y, z, w)


def draw_path(
    places: Places, target: np.ndarray, fov: float, seconds: float, rng: np.random.Generator
) -> Path:
    """A random path with a target in view at first.

    Args:
        places: The scene's.
        target: (3,) what is looked at, world [m].
        fov: Horizontal field of view [rad].
        seconds: Duration.
        rng: The scene's.
    """
    for _ in range(_ATTEMPTS):
        distance = math.exp(rng.uniform(math.log(_NEAR), math.log(_FAR)))
        azimuth, elevation = rng.uniform(-math.pi, math.pi), math.radians(rng.uniform(2.0, 75.0))
        level = distance * math.cos(elevation)
        eye = target + (
            level * math.cos(azimuth),
            level * math.sin(azimuth),
            distance * math.sin(elevation),
        )
        vel = rng.normal(0.0, _DRIFT, 3) * (1.0, 1.0, 0.3)
        end = eye + seconds * vel
        if not all(point[2] > places.height(point[0], point[1]) + _LOWEST for point in (eye, end)):
            continue
        if places.sees(eye, target) and places.sees(eye, end):
            break
    yaw, pitch = azimuth + math.pi, elevation
    angles = (
        float(rng.normal(0.0, _ROLL)),
        float(pitch + rng.uniform(-_ASIDE, _ASIDE) * 0.7 * fov),
        float(yaw + rng.uniform(-_ASIDE, _ASIDE) * fov),
    )
    return Path(eye, vel, angles, float(rng.normal(0.0, _TURN)))
