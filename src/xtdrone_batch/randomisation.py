"""Randomisation at the reset of an environment: starts, masses, motors, wind."""

import math
from dataclasses import dataclass, fields

import numpy as np

from sensor_models.streams import next_uniform
from xtdrone_dynamics import quaternion
from xtdrone_dynamics.compiled import njit

from .arrays import BatchState, Variation
from .errors import BatchError

_MAX = 1e5


@dataclass(frozen=True)
class Randomisation:
    """Half-widths of uniform distributions about a vehicle's start and model; 0 = none.

    Examples:
        >>> import xtdrone as xd
        >>> xd.Randomisation(pos=(2.0, 2.0, 1.0), mass=0.1).mass
        0.1
    """

    pos: tuple[float, float, float] = (0.0, 0.0, 0.0)  # world [m]
    yaw: float = 0.0  # [rad]
    tilt: float = 0.0  # about a random level axis, 0 to this [rad]
    vel: float = 0.0  # along each axis, world [m/s]
    ang_vel: float = 0.0  # about each axis, body [rad/s]
    mass: float = 0.0  # fraction of mass and inertia, below 1
    thrust: float = 0.0  # fraction of each rotor's forces, below 1
    wind: float = 0.0  # largest speed of a steady level wind from any direction [m/s]

    def __post_init__(self) -> None:
        """Raises BatchError where a width is not allowed."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            maximum = 1.0 if entry.name in ("mass", "thrust") else _MAX
            widths = tuple(value) if entry.name == "pos" else (value,)
            if len(widths) not in (1, 3) or not all(
                isinstance(width, (int, float)) and 0.0 <= width <= maximum for width in widths
            ):
                raise BatchError(
                    f"{entry.name} = {value} of the randomisation is not allowed: "
                    f"give {'three numbers' if entry.name == 'pos' else 'a number'} "
                    f"from 0 to {maximum:g}"
                )
            if maximum == 1.0 and value == 1.0:
                raise BatchError(
                    f"{entry.name} = 1 of the randomisation is not allowed: nothing "
                    "would be left; give less"
                )

    def widths(self) -> np.ndarray:
        """Returns all widths as an array (10,), for draw()."""
        return np.array(
            [
                *self.pos,
                self.yaw,
                self.tilt,
                self.vel,
                self.ang_vel,
                self.mass,
                self.thrust,
                self.wind,
            ],
            dtype=float,
        )


def between(first: Randomisation, b: Randomisation, fraction: float) -> Randomisation:
    """Interpolates the widths of two randomisations; fraction 0 gives `a`, 1 gives `b`."""
    widths = (1.0 - fraction) * first.widths() + fraction * b.widths()
    return Randomisation(tuple(widths[:3]), *widths[3:].tolist())


@njit
def seed_streams(seed: int, first: int, streams: np.ndarray) -> None:
    """Starts a stream (E, 4) for each environment, by its number alone: SplitMix64."""
    for e in range(streams.shape[0]):
        state = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(first + e)
        for k in range(4):
            state += np.uint64(0x9E3779B97F4A7C15)
            word = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            streams[e, k] = word ^ (word >> np.uint64(31))


@njit
def _draw(stream: np.ndarray, width: float) -> float:
    return width * (2.0 * next_uniform(stream) - 1.0)


@njit
def draw(
    which: np.ndarray,
    widths: np.ndarray,
    streams: np.ndarray,
    state: BatchState,
    variation: Variation,
) -> None:
    """Draws the starts and models of some environments, whose state is their start already.

    Args:
        which: Indices of the environments.
        widths: (10,) of Randomisation.
        streams: (E, 4), advanced.
        state, variation: BatchState and Variation, changed in place.
    """
    for row in range(which.shape[0]):
        e = which[row]
        stream = streams[e]
        if widths[9] > 0.0:
            speed, course = 0.5 * (widths[9] + _draw(stream, widths[9])), _draw(stream, math.pi)
            for i in range(state.pos.shape[1]):
                state.wind[e, i, 0] = speed * math.cos(course)
                state.wind[e, i, 1] = speed * math.sin(course)
        for i in range(state.pos.shape[1]):
            for k in range(3):
                state.pos[e, i, k] += _draw(stream, widths[k])
            half, axis = 0.5 * _draw(stream, widths[3]), _draw(stream, math.pi)
            lean = 0.25 * (widths[4] + _draw(stream, widths[4]))
            quat = state.quat[e, i]
            x, y, z, w = quaternion.multiply(
                0.0, 0.0, math.sin(half), math.cos(half), quat[0], quat[1], quat[2], quat[3]
            )
            x, y, z, w = quaternion.multiply(
                math.sin(lean) * math.cos(axis),
                math.sin(lean) * math.sin(axis),
                0.0,
                math.cos(lean),
                x,
                y,
                z,
                w,
            )
            quat[0], quat[1], quat[2], quat[3] = x, y, z, w
            for k in range(3):
                state.vel[e, i, k] += _draw(stream, widths[5])
                state.ang_vel[e, i, k] += _draw(stream, widths[6])
            variation.mass[e, i] = 1.0 + _draw(stream, widths[7])
            for r in range(variation.effectiveness.shape[2]):
                variation.effectiveness[e, i, r] = 1.0 + _draw(stream, widths[8])
