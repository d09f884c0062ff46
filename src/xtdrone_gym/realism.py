"""Differences between training and flight, for the training: noise, bias and delay."""

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from sensor_models.streams import next_normals, next_uniform
from xtdrone_batch.arrays import BatchState
from xtdrone_batch.errors import BatchError
from xtdrone_dynamics import quaternion
from xtdrone_dynamics.compiled import njit

MAX_DELAY = 16  # [steps]


@dataclass(frozen=True)
class Realism:
    """Errors of an estimate against the truth, and the delay of an action.

    `..._noise` is the standard deviation of white noise in each step, `..._bias` that of an error
    which an episode keeps.

    Examples:
        >>> import xtdrone as xd
        >>> xd.Realism(delay=2).delay
        2
    """

    pos_noise: float = 0.0  # along each axis [m]
    pos_bias: float = 0.0  # [m]
    vel_noise: float = 0.0  # [m/s]
    vel_bias: float = 0.0  # [m/s]
    tilt_noise: float = 0.0  # about each axis [rad]
    tilt_bias: float = 0.0  # [rad]
    rate_noise: float = 0.0  # [rad/s]
    rate_bias: float = 0.0  # [rad/s]
    action_bias: float = 0.0  # bias of an action as it arrives, as a fraction of its range
    delay: int = 0  # largest delay of actions, drawn from 0 to this for each episode [steps]

    def __post_init__(self) -> None:
        """Raises BatchError where a value is not allowed."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            whole = entry.name == "delay"
            limit = MAX_DELAY if whole else 100.0
            if (
                isinstance(value, bool)
                or not isinstance(value, int if whole else (int, float))
                or not 0 <= value <= limit
            ):
                raise BatchError(
                    f"{entry.name} = {value!r} is not allowed: give a "
                    f"{'whole ' if whole else ''}number from 0 to {limit:g}"
                )

    @property
    def measures(self) -> bool:
        """Tells whether anything is measured with an error."""
        return bool(self.widths().any())

    @property
    def disturbs(self) -> bool:
        """Tells whether anything else arrives than the last action."""
        return self.delay > 0 or self.action_bias > 0.0

    def widths(self) -> np.ndarray:
        """Returns standard deviations (4, 2) of noise and bias, for draw_bias() and measure()."""
        return np.array(
            [
                [getattr(self, f"{kind}_{error}") for error in ("noise", "bias")]
                for kind in ("pos", "vel", "tilt", "rate")
            ]
        )


TRUE = Realism()
FLIGHT = Realism(
    pos_noise=0.02,
    pos_bias=0.05,
    vel_noise=0.05,
    vel_bias=0.05,
    tilt_noise=0.005,
    tilt_bias=0.02,
    rate_noise=0.02,
    rate_bias=0.005,
    delay=2,
)  # estimates and delays of a whole flight stack


class Measured(NamedTuple):
    """Poses as measured, and their lasting errors."""

    pos: np.ndarray  # (E, V, 3), and so on as in BatchState
    quat: np.ndarray
    vel: np.ndarray
    ang_vel: np.ndarray
    bias: np.ndarray  # (E, V, 4, 3) of position, velocity, attitude, rates


def new_measured(environments: int, vehicles: int) -> Measured:
    """Returns arrays of zeros."""
    lead = environments, vehicles
    return Measured(
        *(np.zeros((*lead, *shape), dtype=np.float32) for shape in ((3,), (4,), (3,), (3,), (4, 3)))
    )


@njit(nogil=True)
def draw_bias(
    which: np.ndarray, widths: np.ndarray, streams: np.ndarray, measured: Measured
) -> None:
    """Draws the lasting errors of new episodes."""
    for e in which:
        for i in range(measured.bias.shape[1]):
            for kind in range(4):
                a, b = next_normals(streams[e])
                c, _ = next_normals(streams[e])
                measured.bias[e, i, kind, 0] = widths[kind, 1] * a
                measured.bias[e, i, kind, 1] = widths[kind, 1] * b
                measured.bias[e, i, kind, 2] = widths[kind, 1] * c


@njit(nogil=True)
def draw_disturbance(
    which: np.ndarray,
    max_delay: int,
    widths: np.ndarray,
    streams: np.ndarray,
    delay: np.ndarray,
    offset: np.ndarray,
) -> None:
    """Draws delays and lasting errors of the actions of new episodes.

    Args:
        which: Indices of environments.
        max_delay: Longest delay [steps].
        widths: (K,) standard deviation of the lasting error of each number.
        streams: (E, 4), advanced.
        delay: (E,) by how many steps they are late, the output.
        offset: (E, V, K) lasting errors, the output.
    """
    for e in which:
        delay[e] = min(int(next_uniform(streams[e]) * (max_delay + 1)), max_delay)
        for i in range(offset.shape[1]):
            for k in range(offset.shape[2]):
                offset[e, i, k] = widths[k] * next_normals(streams[e])[0]


@njit
def _noisy(
    stream: np.ndarray, width: float, bias: np.ndarray, x: float, y: float, z: float
) -> tuple[float, float, float]:
    a, b = next_normals(stream)
    c, _ = next_normals(stream)
    return x + bias[0] + width * a, y + bias[1] + width * b, z + bias[2] + width * c


@njit(nogil=True)
def measure(
    which: np.ndarray,
    widths: np.ndarray,
    streams: np.ndarray,
    state: BatchState,
    measured: Measured,
) -> None:
    """Measures some environments' poses.

    Args:
        which: Their indices.
        widths: (4, 2) of Realism.
        streams: (E, 4), advanced.
        state: True poses.
        measured: Measured poses, the output.
    """
    for e in which:
        for i in range(measured.pos.shape[1]):
            stream, bias = streams[e], measured.bias[e, i]
            pos, quat, vel, ang_vel = (
                state.pos[e, i],
                state.quat[e, i],
                state.vel[e, i],
                state.ang_vel[e, i],
            )
            measured.pos[e, i, 0], measured.pos[e, i, 1], measured.pos[e, i, 2] = _noisy(
                stream, widths[0, 0], bias[0], pos[0], pos[1], pos[2]
            )
            measured.vel[e, i, 0], measured.vel[e, i, 1], measured.vel[e, i, 2] = _noisy(
                stream, widths[1, 0], bias[1], vel[0], vel[1], vel[2]
            )
            x, y, z = _noisy(stream, widths[2, 0], bias[2], 0.0, 0.0, 0.0)
            x, y, z = 0.5 * x, 0.5 * y, 0.5 * z  # a small turn as a quaternion
            length = math.sqrt(1.0 + x * x + y * y + z * z)
            (
                measured.quat[e, i, 0],
                measured.quat[e, i, 1],
                measured.quat[e, i, 2],
                measured.quat[e, i, 3],
            ) = quaternion.multiply(
                quat[0], quat[1], quat[2], quat[3], x / length, y / length, z / length, 1.0 / length
            )
            measured.ang_vel[e, i, 0], measured.ang_vel[e, i, 1], measured.ang_vel[e, i, 2] = (
                _noisy(stream, widths[3, 0], bias[3], ang_vel[0], ang_vel[1], ang_vel[2])
            )


@njit(nogil=True)
def disturbed(
    which: np.ndarray,
    delay: np.ndarray,
    offset: np.ndarray,
    count: int,
    given: np.ndarray,
    out: np.ndarray,
) -> None:
    """Writes the actions that arrive now.

    Args:
        which: Indices of environments.
        delay: (E,) in steps.
        offset: (E, V, K) lasting errors.
        count: Steps so far; the newest action lies in given[count % D].
        given: (D, E, V, K) the last ones.
        out: (E, V, K), the output.
    """
    for e in which:
        out[e] = given[(count - delay[e]) % given.shape[0], e] + offset[e]
