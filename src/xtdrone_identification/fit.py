"""Least squares over multiple shooting: Gauss and Newton on differences of rollouts.

Body rates are predicted between nodes half a second apart, from rates that are free at each node;
specific force, or else the change of velocity since a node, at every sample. The intervals are
those of blocks of a second that may be correlated inside, and of what is known a priori.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from xtdrone_dynamics.compiled import njit

from .parameters import Arrays, Model
from .record import Record, moving, turning
from .rollout import predict

NODE_S = 0.5  # between two nodes [s]
_BLOCK_NODES = 2  # nodes in a block that may be correlated
_STEP = 1e-4  # of a coordinate, in its a priori deviation, for a difference
_ITERATIONS = 25
_ROUNDS = 4  # of new weights
_CONVERGED = 0.01  # fall of the cost, whose unit is a squared standard deviation
_STUCK = 1.0  # damping at which nothing is gained any more
_QUANTILE = 2.05  # of Student's distribution for 95 %, with about thirty blocks to spare
_FEW = 4.0  # largest factor on a variance for too few blocks
_CORRELATED_S = 0.3  # residuals may be correlated within so long [s]
_WORST = 1e12  # cost of a candidate that diverges
UNKNOWN = 0.5  # an interval of this half-width, relative to the value, says nothing


@dataclass
class Predicted:
    """Predictions along a record."""

    rates: np.ndarray  # (K, 3) [rad/s]
    force: np.ndarray  # (K, 3) as the accelerometer reads it [m/s^2]
    motion: np.ndarray  # (K, 3) change of velocity since the node [m/s]
    speed: np.ndarray  # (K, R) of the rotors [rad/s]


@dataclass(frozen=True)
class Fit:
    """The result.

    Attributes:
        model: The parameters.
        theta: (P,) coordinates.
        covariance: (P, P) of the coordinates.
        gyro_bias: (3,) [rad/s].
        noise: Standard deviation of a reading of gyroscope and accelerometer [rad/s], [m/s^2].
        predicted: Predictions along the fitted record.
        cost: (2,) weighted mean square of the residuals at the start and at the end.
        iterations: Number of steps.
    """

    model: Model
    theta: np.ndarray
    covariance: np.ndarray
    gyro_bias: np.ndarray
    noise: tuple[float, float]
    predicted: Predicted
    cost: tuple[float, float]
    iterations: int
    record: Record = field(repr=False)

    @property
    def values(self) -> dict[str, float]:
        """All parameters by name."""
        return self.model.values(self.theta)

    def interval(self, name: str) -> tuple[float, float]:
        """Returns the limits of the 95 % interval of a parameter that was fitted."""
        k = [one.name for one in self.model.parameters].index(name)
        one = self.model.parameters[k]
        half = _QUANTILE * math.sqrt(self.covariance[k, k])
        return one.value(self.theta[k] - half), one.value(self.theta[k] + half)

    def is_known(self, name: str) -> bool:
        """Whether the log says more of a parameter than its order of magnitude."""
        one = next(each for each in self.model.parameters if each.name == name)
        low, high = self.interval(name)
        if one.positive:
            return bool(high - low < 2.0 * UNKNOWN * self.values[name])
        return bool(high - low < 2.0 * 1.96 * UNKNOWN * one.sigma)


@njit
def _add_means(values: np.ndarray, nodes: np.ndarray, out: np.ndarray) -> None:
    """Adds to out (N, M) the means of values (K, M) between nodes (N + 1,)."""
    for n in range(out.shape[0]):
        a, b = nodes[n], nodes[n + 1]
        for m in range(values.shape[1]):
            total = 0.0
            for k in range(a, b):
                total += values[k, m]
            out[n, m] += total / (b - a)


def nodes_of(record: Record) -> np.ndarray:
    """Returns (N + 1,) the samples at which a prediction begins, and K."""
    step = max(2, round(NODE_S / record.step_s))
    ends = [*record.begins[1:], len(record.t_s)]
    nodes = [np.arange(a, max(b - step // 2, a + 1), step) for a, b in zip(record.begins, ends)]
    return np.append(np.concatenate(nodes), len(record.t_s)).astype(np.int64)


def gyro_bias_of(record: Record) -> np.ndarray:
    """Returns by how much the gyroscope reads more than the attitude turns (3,) [rad/s]."""
    return np.median(
        [np.mean((record.gyro - turning(record))[a:b], axis=0) for a, b in _parts(record)], axis=0
    )


def accel_bias_of(record: Record) -> tuple[np.ndarray, np.ndarray]:
    """Returns by how much the accelerometer reads more than the vehicle moves.

    Returns:
        (3,) offset and its standard deviation [m/s^2], in the axes of the body.
    """
    assert record.accel is not None
    parts = [
        (record.accel - moving(record))[a:b].mean(axis=0) for a, b in _parts(record) if b - a > 2
    ]
    return np.mean(parts, axis=0), np.std(parts, axis=0) / math.sqrt(max(len(parts) - 1, 1))


def _parts(record: Record) -> list[tuple[int, int]]:
    """Returns parts of about five seconds."""
    count = max(1, round(record.seconds / 5.0))
    edges = np.linspace(0, len(record.t_s), count + 1).astype(int)
    return [(a, b) for a, b in pairwise(edges) if b > a]


class Problem:
    """The residuals of a record as a function of a model's coordinates."""

    def __init__(self, model: Model, record: Record) -> None:
        """Prepares the arrays."""
        self.model, self.record = model, record
        self.nodes = nodes_of(record)
        self.gyro_bias = gyro_bias_of(record)
        self.gyro = record.gyro - self.gyro_bias
        self.starts = self.gyro[self.nodes[:-1]].copy()
        self._begins = np.append(record.begins, len(record.t_s)).astype(np.int64)
        self._lengths = np.diff(self.nodes)
        self._height = np.ascontiguousarray(record.pos[:, 2])
        self._arrays = [
            np.ascontiguousarray(each, dtype=float)
            for each in (record.inputs, record.quat, record.vel)
        ]
        self.noise = _noise(self.gyro), 1.0 if record.accel is None else _noise(record.accel)
        self.weights = np.ones(6)
        if record.accel is None:
            moved = record.vel - np.repeat(record.vel[self.nodes[:-1]], self._lengths, axis=0)
            self._translation = moved
        else:
            self._translation = record.accel
        self._mean_force = np.zeros(3) if record.accel is None else record.accel.mean(axis=0)
        self._valid = np.ones(len(record.t_s))
        if record.accel is not None:
            self._valid[record.begins] = 0.0

    def predicted(self, arrays: Arrays) -> Predicted:
        """Runs the kernel."""
        count, rotors = self.record.inputs.shape
        rates, force, motion = np.empty((count, 3)), np.empty((count, 3)), np.empty((count, 3))
        speed = np.empty((count, rotors))
        inputs, quat, vel = self._arrays
        predict(
            arrays.actuators,
            arrays.effects,
            arrays.body,
            inputs,
            quat,
            vel,
            self._height,
            self._begins,
            self.nodes,
            self.starts / arrays.gyro_gain,  # they are as the gyroscope reads them
            self.record.step_s,
            rates,
            force,
            motion,
            speed,
        )
        rates *= arrays.gyro_gain
        # About the mean force, so that the offset is that by which the mean reading is wrong.
        force += (arrays.accel_gain - 1.0) * (force - self._mean_force) + arrays.accel_bias
        return Predicted(rates, force, motion, speed)

    def residuals(self, theta: np.ndarray, move_starts: bool = False) -> np.ndarray:
        """Returns (K, 6) measured less predicted, by their weights.

        Args:
            theta: (P,) coordinates.
            move_starts: Whether the rates at the nodes are improved by what is left.
        """
        predicted = self.predicted(self.model.arrays(theta))
        turned = self.gyro - predicted.rates
        means = np.zeros((len(self._lengths), 3))
        _add_means(turned, self.nodes, means)
        if move_starts:
            self.starts += means
        turned = turned - np.repeat(means, self._lengths, axis=0)
        if self.record.accel is None:
            left = self._translation - predicted.motion
            means[:] = 0.0
            _add_means(left, self.nodes, means)
            left = left - np.repeat(means, self._lengths, axis=0)
        else:
            left = (self._translation - predicted.force) * self._valid[:, None]
        out = np.concatenate([turned, left], axis=1) * self.weights
        out[~np.isfinite(out)] = 1e6
        return out

    def reweigh(self, theta: np.ndarray) -> None:
        """Sets the weight of each channel to what its residuals show.

        Where they are correlated, as those of drag by a wrong velocity, they count as the fewer
        independent ones of which their means vary as much.
        """
        left = self.residuals(theta) / self.weights
        window = max(1, round(_CORRELATED_S / self.record.step_s))
        count = len(left) // window * window
        means = left[:count].reshape(-1, window, 6).mean(axis=1)
        spread = np.maximum(left.var(axis=0), window * means.var(axis=0))
        self.weights = 1.0 / np.sqrt(np.maximum(spread, 1e-18))

    def blocks(self) -> np.ndarray:
        """Returns (B + 1,) samples at which blocks begin, and K."""
        return np.append(self.nodes[:-1:_BLOCK_NODES], self.nodes[-1])


def _noise(values: np.ndarray) -> float:
    """Returns the deviation of a reading, from second differences, which motion hardly has."""
    second = values[2:] - 2.0 * values[1:-1] + values[:-2]
    return float(np.median(np.abs(second)) / 0.6745 / math.sqrt(6.0))


def fit(
    model: Model, record: Record, watch: Callable[[float], object] = lambda fraction: None
) -> Fit:
    """Fits a model to a record.

    Args:
        model: What is fitted.
        record: The flight.
        watch: Called with the fraction of the work that is done.
    """
    problem = Problem(model, record)
    sigmas = np.array([one.sigma for one in model.parameters])
    theta = np.zeros(len(sigmas))
    for _ in range(3):
        problem.residuals(theta, move_starts=True)
    problem.reweigh(theta)
    first = _cost(problem, theta, sigmas)
    done = 0
    for k in range(_ROUNDS):  # the weights follow the residuals
        damping = 1e-3
        for _ in range(_ITERATIONS):
            problem.residuals(theta, move_starts=True)
            left = problem.residuals(theta).ravel()
            jacobian = _jacobian(problem, theta, sigmas, left)
            theta, damping, gain = _step(problem, theta, sigmas, jacobian, left, damping)
            done += 1
            watch(min(0.95, done / 20.0))
            if gain < _CONVERGED:
                break
        if k < _ROUNDS - 1:
            problem.reweigh(theta)
    problem.residuals(theta, move_starts=True)
    left = problem.residuals(theta)
    jacobian = _jacobian(problem, theta, sigmas, left.ravel())
    covariance = _covariance(problem, jacobian, left, sigmas)
    watch(1.0)
    return Fit(
        model,
        theta,
        covariance,
        problem.gyro_bias,
        problem.noise,
        problem.predicted(model.arrays(theta)),
        (first / left.size, _cost(problem, theta, sigmas) / left.size),
        done,
        record,
    )


def _cost(problem: Problem, theta: np.ndarray, sigmas: np.ndarray) -> float:
    left = problem.residuals(theta)
    return min(float(np.sum(left**2) + np.sum((theta / sigmas) ** 2)), _WORST)


def _jacobian(
    problem: Problem, theta: np.ndarray, sigmas: np.ndarray, left: np.ndarray
) -> np.ndarray:
    """Returns (6 K, P) derivatives of the residuals, by forward differences."""
    out = np.empty((left.size, len(theta)))
    for k, sigma in enumerate(sigmas):
        step = _STEP * sigma
        moved = theta.copy()
        moved[k] += step
        out[:, k] = (problem.residuals(moved).ravel() - left) / step
    return out


def _step(
    problem: Problem,
    theta: np.ndarray,
    sigmas: np.ndarray,
    jacobian: np.ndarray,
    left: np.ndarray,
    damping: float,
) -> tuple[np.ndarray, float, float]:
    """Returns coordinates after a damped step, the next damping, and by how much the cost fell."""
    prior = 1.0 / sigmas**2
    hessian = jacobian.T @ jacobian + np.diag(prior)
    slope = jacobian.T @ left + prior * theta
    before = _cost(problem, theta, sigmas)
    while damping < _STUCK:
        step = -np.linalg.solve(hessian + damping * np.diag(np.diag(hessian)), slope)
        step /= max(1.0, float(np.max(np.abs(step / sigmas))))
        after = _cost(problem, theta + step, sigmas)
        if after < before:
            return theta + step, max(damping / 10.0, 1e-12), before - after
        damping *= 10.0
    return theta, damping, 0.0


def _covariance(
    problem: Problem, jacobian: np.ndarray, left: np.ndarray, sigmas: np.ndarray
) -> np.ndarray:
    """Returns (P, P): the larger of that of white residuals and that of blocks, for each."""
    prior = np.diag(1.0 / sigmas**2)
    hessian = jacobian.T @ jacobian
    inverse = np.linalg.inv(hessian + prior)
    edges = 6 * problem.blocks()
    flat = left.ravel()
    scores = np.array([jacobian[a:b].T @ flat[a:b] for a, b in pairwise(edges)])
    count = len(scores)
    # As many blocks less as numbers were fitted, as of any mean square of residuals.
    meat = scores.T @ scores * min(_FEW, count / max(count - len(hessian), 1))
    scale = float(np.mean(flat**2))
    white = inverse @ (scale * hessian + prior) @ inverse
    blocks = inverse @ (meat + prior) @ inverse
    grown = np.sqrt(np.maximum(1.0, np.diag(blocks) / np.diag(white)))
    return white * np.outer(grown, grown)
