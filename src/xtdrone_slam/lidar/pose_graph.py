"""A pose graph in the plane, solved by Gauss-Newton on sparse matrices."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

_ITERATIONS = 10
_CONVERGED = 1e-5  # [m] and [rad]
_KERNEL = 3.0  # residual from which on an edge counts less [standard deviations]


def turned(angle: float) -> np.ndarray:
    """Returns the rotation (2, 2) by an angle [rad]."""
    sine, cosine = np.sin(angle), np.cos(angle)
    return np.array([[cosine, -sine], [sine, cosine]])


def wrapped(angle: float) -> float:
    """Returns an angle within -pi and pi [rad]."""
    return float((angle + np.pi) % (2.0 * np.pi) - np.pi)


def between(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Returns a pose x, y, yaw (3,) in the frame of another one."""
    shift = turned(one[2]).T @ (other[:2] - one[:2])
    return np.array([*shift, wrapped(other[2] - one[2])])


def moved(pose: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Returns a pose (3,) moved by a step (3,) in its own frame."""
    return np.array([*(pose[:2] + turned(pose[2]) @ step[:2]), wrapped(pose[2] + step[2])])


@dataclass(frozen=True)
class Edge:
    """A measured pose of one node in the frame of another."""

    before: int
    after: int
    step: np.ndarray  # (3,) [m, m, rad]
    weight: np.ndarray  # (3, 3) W; W^T W is the inverse of the step's covariance


def weight_of(covariance: np.ndarray) -> np.ndarray:
    """Returns the weight (3, 3) of an edge from the covariance of its step."""
    return np.asarray(np.linalg.cholesky(np.linalg.inv(covariance)).T)


def optimised(poses: np.ndarray, edges: list[Edge]) -> np.ndarray:
    """Returns the poses (N, 3) that fit the edges best; the first one stays.

    Args:
        poses: (N, 3) x, y [m], yaw [rad] to begin with.
        edges: Measured steps; one that fits badly counts less.
    """
    poses = poses.copy()
    for _ in range(_ITERATIONS):
        rows, columns, values = [], [], []
        residuals = np.empty(3 * len(edges))
        for k, edge in enumerate(edges):
            a, b = poses[edge.before], poses[edge.after]
            rotation = turned(a[2]).T
            error = between(a, b) - edge.step
            error[2] = wrapped(error[2])
            size = float(np.linalg.norm(edge.weight @ error))
            weight = edge.weight * (math.sqrt(min(1.0, _KERNEL / size)) if size > 0.0 else 1.0)
            slope = np.array([[0.0, 1.0], [-1.0, 0.0]]) @ rotation @ (b[:2] - a[:2])
            first = np.block([[-rotation, slope[:, None]], [np.zeros((1, 2)), -np.ones((1, 1))]])
            second = np.block([[rotation, np.zeros((2, 1))], [np.zeros((1, 2)), np.ones((1, 1))]])
            residuals[3 * k : 3 * k + 3] = weight @ error
            for node, block in ((edge.before, first), (edge.after, second)):
                i, j = np.indices((3, 3))
                rows.append(3 * k + i.ravel())
                columns.append(3 * node + j.ravel())
                values.append((weight @ block).ravel())
        jacobian = sparse.csr_matrix(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
            shape=(3 * len(edges), 3 * len(poses)),
        )[:, 3:]  # the first pose is fixed
        normal = (jacobian.T @ jacobian + 1e-9 * sparse.identity(jacobian.shape[1])).tocsc()
        step = spsolve(normal, -jacobian.T @ residuals).reshape(-1, 3)
        poses[1:] += step
        if np.abs(step).max() < _CONVERGED:
            break
    poses[:, 2] = (poses[:, 2] + np.pi) % (2.0 * np.pi) - np.pi
    return poses
