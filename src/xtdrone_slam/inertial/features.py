"""Points seen by cameras on a moving body: where they are, and what their images say of the poses.

An observation is a row u, v at unit distance; who saw it is the index of a pose of the body and of
a camera.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

from .rotations import cross_matrix

_ITERATIONS = 8
_NEAREST = 0.05  # distance along the optical axis of a point that can be seen [m]


@njit
def seen(
    point: np.ndarray,
    rotation: np.ndarray,
    position: np.ndarray,
    camera_rotation: np.ndarray,
    camera_position: np.ndarray,
) -> np.ndarray:
    """Returns a point of the world (3,) in a camera's optical frame [m].

    Args:
        point: (3,) world [m].
        rotation, position: (3, 3) and (3,) of the body in the world.
        camera_rotation, camera_position: (3, 3) and (3,) of the optical frame in the body.
    """
    in_body = rotation.T @ (point - position)
    return camera_rotation.T @ (in_body - camera_position)


@njit
def triangulate(
    observed: np.ndarray,
    poses: np.ndarray,
    cameras: np.ndarray,
    rotations: np.ndarray,
    positions: np.ndarray,
    camera_rotations: np.ndarray,
    camera_positions: np.ndarray,
    point: np.ndarray,
) -> float:
    """Finds the point that is nearest to its observations, by inverse distance in the first.

    Args:
        observed: (M, 2) at unit distance.
        poses, cameras: (M,) who saw them.
        rotations, positions: (P, 3, 3) and (P, 3) of the body.
        camera_rotations, camera_positions: (C, 3, 3) and (C, 3) in the body.
        point: (3,) world; written [m].

    Returns:
        Standard deviation of the distance as a share of it, for observations with a deviation of 1;
        inf where the point is behind a camera, or cannot be found.
    """
    count = len(observed)
    turns, shifts = np.empty((count, 3, 3)), np.empty((count, 3))  # from the first camera's frame
    first = rotations[poses[0]] @ camera_rotations[cameras[0]]
    origin = rotations[poses[0]] @ camera_positions[cameras[0]] + positions[poses[0]]
    for m in range(count):
        turn = rotations[poses[m]] @ camera_rotations[cameras[m]]
        place = rotations[poses[m]] @ camera_positions[cameras[m]] + positions[poses[m]]
        turns[m] = turn.T @ first
        shifts[m] = turn.T @ (origin - place)
    # Begin: the inverse distance that fits best with the bearing of the first.
    u, v = observed[0, 0], observed[0, 1]
    above, below = 0.0, 1e-12
    for m in range(1, count):
        d = turns[m] @ np.array([u, v, 1.0])
        s = shifts[m]
        for axis in range(2):
            # (d + w s)[axis] = o (d + w s)[2]
            a = s[axis] - observed[m, axis] * s[2]
            b = observed[m, axis] * d[2] - d[axis]
            above += a * b
            below += a * a
    inverse = max(above / below, 1e-3)
    worst, damping, hessian = math.inf, 1e-6, np.empty((3, 3))
    for _ in range(_ITERATIONS):
        cost, fresh, gradient = 0.0, np.zeros((3, 3)), np.zeros(3)
        for m in range(count):
            ray = turns[m] @ np.array([u, v, 1.0]) + inverse * shifts[m]
            if ray[2] <= 1e-6:
                return math.inf
            x, y = ray[0] / ray[2], ray[1] / ray[2]
            rows = np.empty((2, 3))
            for k in range(3):
                column = turns[m][:, k] if k < 2 else shifts[m]
                rows[0, k] = (column[0] - x * column[2]) / ray[2]
                rows[1, k] = (column[1] - y * column[2]) / ray[2]
            error = np.array([observed[m, 0] - x, observed[m, 1] - y])
            cost += error[0] ** 2 + error[1] ** 2
            fresh += rows.T @ rows
            gradient += rows.T @ error
        if cost < worst:
            worst, damping = cost, damping * 0.1
        else:
            damping *= 10.0
        hessian = fresh
        step = np.linalg.solve(
            fresh + damping * np.diag(np.diag(fresh)) + 1e-12 * np.eye(3), gradient
        )
        u, v, inverse = u + step[0], v + step[1], inverse + step[2]
        if inverse <= 0.0:
            inverse = 1e-4
        if abs(step[0]) + abs(step[1]) + abs(step[2]) < 1e-8:
            break
    variance = np.linalg.inv(hessian + 1e-12 * np.eye(3))[2, 2]
    point[:] = first @ np.array([u / inverse, v / inverse, 1.0 / inverse]) + origin
    for m in range(count):
        ray = turns[m] @ np.array([u, v, 1.0]) + inverse * shifts[m]
        if ray[2] < _NEAREST * inverse:
            return math.inf
    return math.sqrt(variance) / inverse


@njit
def equations(
    observed: np.ndarray,
    poses: np.ndarray,
    cameras: np.ndarray,
    rotations: np.ndarray,
    positions: np.ndarray,
    camera_rotations: np.ndarray,
    camera_positions: np.ndarray,
    point: np.ndarray,
    linear: np.ndarray,
    of_point: np.ndarray,
    of_poses: np.ndarray,
    residuals: np.ndarray,
) -> bool:
    """Writes residuals and their derivatives by the point and by errors of the poses.

    Args:
        observed, poses, cameras, rotations, positions, camera_rotations, camera_positions: As of
            triangulate().
        point: (3,) world [m].
        linear: (3,) the point at which the derivatives by the turn are taken: the first estimate of
            a point that stays in the state, or the point itself [m].
        of_point: (2 M, 3); written, as are the others.
        of_poses: (2 M, 6 P) by the turn and the shift of each pose.
        residuals: (2 M,)

    Returns:
        Whether the point is before all cameras.
    """
    of_poses[:] = 0.0
    lever = cross_matrix(linear)
    for m in range(len(observed)):
        pose, camera = poses[m], cameras[m]
        ray = seen(
            point,
            rotations[pose],
            positions[pose],
            camera_rotations[camera],
            camera_positions[camera],
        )
        if ray[2] < _NEAREST:
            return False
        x, y = ray[0] / ray[2], ray[1] / ray[2]
        residuals[2 * m], residuals[2 * m + 1] = observed[m, 0] - x, observed[m, 1] - y
        image = np.array([[1.0, 0.0, -x], [0.0, 1.0, -y]]) / ray[2]
        by_point = image @ (rotations[pose] @ camera_rotations[camera]).T
        of_point[2 * m : 2 * m + 2] = by_point
        of_poses[2 * m : 2 * m + 2, 6 * pose : 6 * pose + 3] = by_point @ lever
        of_poses[2 * m : 2 * m + 2, 6 * pose + 3 : 6 * pose + 6] = -by_point
    return True


@njit
def separate(of_point: np.ndarray, of_poses: np.ndarray, residuals: np.ndarray) -> None:
    """Turns equations so that the point stands in the first three alone, by Householder.

    Args:
        of_point: (M, 3); upper triangular afterwards. All are written.
        of_poses: (M, N)
        residuals: (M,)
    """
    rows, columns = of_poses.shape
    for k in range(3):
        length = 0.0
        for i in range(k, rows):
            length += of_point[i, k] ** 2
        length = math.sqrt(length)
        if length == 0.0:
            continue
        mirror = np.zeros(rows)
        mirror[k:] = of_point[k:, k]
        mirror[k] += length if mirror[k] >= 0.0 else -length
        square = 0.0
        for i in range(k, rows):
            square += mirror[i] ** 2
        for j in range(k, 3):
            _reflect(of_point[:, j], mirror, square, k)
        for j in range(columns):
            _reflect(of_poses[:, j], mirror, square, k)
        _reflect(residuals, mirror, square, k)
        of_point[k + 1 :, k] = 0.0


@njit
def _reflect(column: np.ndarray, mirror: np.ndarray, square: float, begin: int) -> None:
    dot = 0.0
    for i in range(begin, len(column)):
        dot += mirror[i] * column[i]
    dot *= 2.0 / square
    for i in range(begin, len(column)):
        column[i] -= dot * mirror[i]
