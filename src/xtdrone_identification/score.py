"""How well a model predicts a part of a flight that it was not fitted to.

From measured states, the vehicle flies freely under the measured commands. Errors after k steps are
root mean squares over all starts: of position, velocity, attitude and body rates, as published
benchmarks of identification have them.
"""

from dataclasses import dataclass

import numpy as np

from xtdrone_dynamics.quaternion import multiply_array

from .fit import Problem
from .parameters import Model
from .record import Record
from .rollout import fly_open

HORIZONS_S = (0.05, 0.1, 0.25, 0.5)  # [s]
QUANTITIES = {"position": "m", "velocity": "m/s", "attitude": "deg", "body rates": "rad/s"}
_BETWEEN_S = 0.1  # two starts [s]


@dataclass(frozen=True)
class Score:
    """Errors of predictions.

    Attributes:
        horizons_s: (H,) how far ahead [s].
        rms: By the names of QUANTITIES: (H,) root mean squares.
        starts: Number of predictions.
    """

    horizons_s: np.ndarray
    rms: dict[str, np.ndarray]
    starts: int


def score(
    model: Model, theta: np.ndarray, record: Record, horizons_s: tuple[float, ...] = HORIZONS_S
) -> Score:
    """Scores a model on a record.

    Args:
        model: The model.
        theta: (P,) its coordinates.
        record: A part of a flight.
        horizons_s: How far ahead [s], each at least a step.
    """
    problem = Problem(model, record)
    arrays = model.arrays(theta)
    steps = np.maximum(1, np.round(np.array(horizons_s) / record.step_s).astype(int))
    longest = int(steps.max())
    starts, firsts = _starts(record, longest)
    out = np.zeros((len(starts), longest + 1, 13))
    fly_open(
        arrays.actuators,
        arrays.effects,
        arrays.body,
        np.ascontiguousarray(record.inputs, dtype=float),
        problem.predicted(arrays).speed,
        record.pos,
        record.quat,
        record.vel,
        problem.gyro,
        starts,
        firsts,
        longest,
        record.step_s,
        out,
    )
    rms: dict[str, list[float]] = {name: [] for name in QUANTITIES}
    for n in steps:
        ends, flown = starts + n, out[:, n]
        errors = {
            "position": flown[:, :3] - record.pos[ends],
            "velocity": flown[:, 7:10] - record.vel[ends],
            "attitude": _angles(flown[:, 3:7], record.quat[ends]),
            "body rates": flown[:, 10:] - problem.gyro[ends],
        }
        for name, error in errors.items():
            rms[name].append(float(np.sqrt(np.mean(np.sum(error**2, axis=1)))))
    return Score(steps * record.step_s, {k: np.array(v) for k, v in rms.items()}, len(starts))


def _starts(record: Record, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns samples from which to predict, and the first one of the stretch of each."""
    every = max(1, round(_BETWEEN_S / record.step_s))
    ends = [*record.begins[1:], len(record.t_s)]
    # The motors' speeds are unknown where a stretch begins.
    pieces = [np.arange(a + every, b - longest, every) for a, b in zip(record.begins, ends)]
    firsts = [np.full(len(piece), a) for a, piece in zip(record.begins, pieces)]
    return np.concatenate(pieces).astype(np.int64), np.concatenate(firsts).astype(np.int64)


def _angles(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Returns the angles (P, 1) between two attitudes (P, 4) [deg]."""
    turned = multiply_array(one * [-1.0, -1.0, -1.0, 1.0], other)
    half = np.arctan2(np.linalg.norm(turned[:, :3], axis=1), np.abs(turned[:, 3]))
    return np.degrees(2.0 * half)[:, None]
