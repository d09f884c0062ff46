"""Starts a visual-inertial filter at rest or in flight.

In flight the velocity, the direction of gravity and the places of the points follow from linear
equations: with the rotations known from the gyroscope, an image of a point is a linear equation of
them (Dong-Si and Mourikis, 2012). The gyroscope's bias is found by their derivatives, and gravity
keeps its known strength. A stereo pair needs no more than a few images; one camera needs a motion
that changes its velocity.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from .features import separate
from .msckf import Frame, Rig
from .propagation import GRAVITY, preintegrate
from .state import Pose, Prior

AT_REST = Prior(turn=0.03, velocity=0.02, gyro_bias=0.02, accel_bias=0.2)
_STILL_PIXELS = 0.5  # median way of the points from one image to the next
_STILL_RATE, _STILL_FORCE = 0.03, 0.5  # deviations of the readings [rad/s], [m/s^2]
_ITERATIONS = 10
_CONVERGED = 1e-3  # [m/s]
_BIASES = np.repeat([0.01, 0.2], 3)  # deviations of gyroscope's and accelerometer's [rad/s, m/s^2]
_POINTS = 40  # points in the equations: those seen longest
_LEAST_POINTS, _LEAST_SEEN = 8, 4  # points, and images of one, for a start in flight
_SPEED = {1: 0.1, 2: 0.25}  # largest standard deviation of the velocity, by cameras [m/s]
_FIT = 3.0  # largest error of the images, in standard deviations


# Of a point: equations of its place (M, 3), of the unknown (M, 12), and their values (M,).
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
_UNKNOWN = 12  # velocity, gravity, and the steps of the biases of gyroscope and accelerometer


@dataclass
class Readings:
    """Readings of an IMU that hold until the next time."""

    times: np.ndarray  # (K + 1,) [s]
    gyro: np.ndarray  # (K, 3) [rad/s]
    accel: np.ndarray  # (K, 3) [m/s^2]


def levelled(force: np.ndarray) -> np.ndarray:
    """Returns the attitude (3, 3), body to a level world, in which a force (3,) points up."""
    rotation: np.ndarray = Rotation.align_vectors([[0, 0, 1.0]], [force])[0].as_matrix()
    yaw = np.arctan2(rotation[1, 0], rotation[0, 0])
    return Rotation.from_rotvec([0.0, 0.0, -yaw]).as_matrix() @ rotation


def at_rest(readings: Readings, moved: Sequence[float]) -> Pose | None:
    """Returns the state of a body that rests, or None if it moves.

    Args:
        readings: Of all the time.
        moved: Median ways of the points between the images [pixels]; inf where there are none.
    """
    seen = [way for way in moved if np.isfinite(way)]
    still = (
        max(seen, default=0.0) < _STILL_PIXELS
        and readings.gyro.std(axis=0).max() < _STILL_RATE
        and readings.accel.std(axis=0).max() < _STILL_FORCE
    )
    if not still:
        return None
    rate = readings.gyro.mean(axis=0)
    if np.linalg.norm(rate) > 5 * AT_REST.gyro_bias:
        return None
    return Pose(levelled(readings.accel.mean(axis=0)), np.zeros(3), rate)


def in_flight(
    rig: Rig, frames: Sequence[Frame], between: Sequence[Readings], deviation: float
) -> tuple[Pose, Prior] | None:
    """Finds the state at the first of several images.

    Args:
        rig: The cameras.
        frames: Points in the images.
        between: Readings from each image to the next.
        deviation: Standard deviation of an observation, at unit distance.

    Returns:
        The state and how sure it is; None where the motion does not say it yet.
    """
    points = _longest(frames)
    if len(points) < _LEAST_POINTS:
        return None
    places = np.full((len(points), 3), np.nan)
    solution, misfit, normal = np.zeros(_UNKNOWN), np.inf, np.eye(_UNKNOWN)
    for _ in range(_ITERATIONS):
        biases = solution[6:]
        motion = _motion(between, biases)
        slopes = [
            [(a - b) / 1e-4 for a, b in zip(_motion(between, biases + step), motion, strict=True)]
            for step in 1e-4 * np.eye(6)
        ]
        rows = [
            _rows(rig, seen, motion, slopes, place, solution)
            for seen, place in zip(points, places, strict=True)
        ]
        normal, right = _normal(rows)
        weights = (deviation / _BIASES) ** 2
        normal[range(6, _UNKNOWN), range(6, _UNKNOWN)] += weights
        right[6:] -= weights * biases
        found = _with_gravity(normal, right)
        if found is None:
            return None
        places, misfit = _places(rows, found)
        before, solution = solution, found + np.concatenate([np.zeros(6), biases])
        if np.abs(solution[:3] - before[:3]).max() < _CONVERGED:
            break
    if misfit > _FIT * deviation:
        return None
    most = _SPEED[len(rig.positions)]
    return _judged(solution, deviation**2 * np.linalg.pinv(normal), most)


def _normal(rows: Sequence[Rows]) -> tuple[np.ndarray, np.ndarray]:
    """Returns normal equations of all but the points."""
    normal, right = np.zeros((_UNKNOWN, _UNKNOWN)), np.zeros(_UNKNOWN)
    for equations in rows:
        of_point, of_rest, values = (part.copy() for part in equations)
        separate(of_point, of_rest, values)
        normal += of_rest[3:].T @ of_rest[3:]
        right += of_rest[3:].T @ values[3:]
    return normal, right


def _places(rows: Sequence[Rows], solution: np.ndarray) -> tuple[np.ndarray, float]:
    """Returns the points (P, 3) [m], and the root of the mean squared error of their images."""
    places, squares, count = [], 0.0, 1
    for of_point, of_rest, values in rows:
        rest = values - of_rest @ solution
        place, *_ = np.linalg.lstsq(of_point, rest, rcond=None)
        places.append(place)
        squares += float(np.sum((rest - of_point @ place) ** 2))
        count += len(rest) - 3
    return np.array(places), (squares / count) ** 0.5


def _judged(solution: np.ndarray, covariance: np.ndarray, most: float) -> tuple[Pose, Prior] | None:
    """Returns the state, if its velocity is sure enough."""
    deviations = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    speed, rate = float(deviations[:3].max()), float(deviations[6:9].max())
    if not speed < most:
        return None
    rotation = levelled(-solution[3:6])
    prior = Prior(0.05, max(3.0 * speed, 0.1), max(3.0 * rate, 0.003), 0.2)
    return Pose(rotation, rotation @ solution[:3], solution[6:9]), prior


def _longest(frames: Sequence[Frame]) -> list[list[tuple[int, np.ndarray]]]:
    """Returns the frames and observations (C, 2) of the points that are seen longest."""
    tracks: dict[int, list[tuple[int, np.ndarray]]] = {}
    for index, frame in enumerate(frames):
        for name, seen in zip(frame.names, frame.seen, strict=True):
            tracks.setdefault(int(name), []).append((index, seen))
    long = [track for track in tracks.values() if len(track) >= _LEAST_SEEN]
    return sorted(long, key=lambda track: -len(track))[:_POINTS]


def _motion(between: Sequence[Readings], biases: np.ndarray) -> tuple[np.ndarray, ...]:
    """Returns times (N,), rotations (N, 3, 3) and ways (N, 3) since the first image."""
    times, rotations, ways = [0.0], [np.eye(3)], [np.zeros(3)]
    all_times = np.concatenate([between[0].times[:1], *(part.times[1:] for part in between)])
    gyro = np.concatenate([part.gyro for part in between]) - biases[:3]
    accel = np.concatenate([part.accel for part in between]) - biases[3:]
    end = 0
    for part in between:
        end += len(part.gyro)
        rotation, way = np.empty((3, 3)), np.empty(3)
        preintegrate(all_times[: end + 1], gyro[:end], accel[:end], rotation, way)
        times.append(all_times[end] - all_times[0])
        rotations.append(rotation)
        ways.append(way)
    return np.array(times), np.array(rotations), np.array(ways)


def _rows(
    rig: Rig,
    track: list[tuple[int, np.ndarray]],
    motion: Sequence[np.ndarray],
    slopes: Sequence[Sequence[np.ndarray]],
    place: np.ndarray,
    solution: np.ndarray,
) -> Rows:
    """Returns the equations of a point.

    All are in the body's frame at the first image.
    """
    times, rotations, ways = motion
    velocity, gravity = solution[:3], solution[3:6]
    of_point, of_rest, values = [], [], []
    known = bool(np.isfinite(place).all())
    for index, seen in track:
        t, rotation = times[index], rotations[index]
        away = place - velocity * t - 0.5 * t**2 * gravity - ways[index]
        for camera in np.flatnonzero(np.isfinite(seen[:, 0])):
            lens, shift = rig.rotations[camera], rig.positions[camera]
            at, depth = seen[camera], 1.0
            if known:  # by Gauss and Newton, else the bearing alone
                ray = lens.T @ (rotation.T @ away - shift)
                depth = max(float(ray[2]), 0.1)
                at = ray[:2] / depth
            image = np.array([[1.0, 0.0, -at[0]], [0.0, 1.0, -at[1]]]) @ lens.T / depth
            by_point = image @ rotation.T
            of_biases = np.zeros((2, 6))
            if known:
                for column, (_, turns, moves) in enumerate(slopes):
                    change = turns[index].T @ away - rotation.T @ moves[index]
                    of_biases[:, column] = image @ change
            of_point.append(by_point)
            of_rest.append(np.hstack([-t * by_point, -0.5 * t**2 * by_point, of_biases]))
            # At what the equations were made for, they are off by the residual.
            values.append(by_point @ ways[index] + image @ shift + (seen[camera] - at) * known)
    return np.concatenate(of_point), np.concatenate(of_rest), np.concatenate(values)


def _with_gravity(normal: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """Solves normal equations for gravity of its strength."""
    others, own = [0, 1, 2, *range(6, _UNKNOWN)], [3, 4, 5]
    inner = normal[np.ix_(others, others)]
    try:
        gain = np.linalg.solve(inner, np.column_stack([normal[np.ix_(others, own)], right[others]]))
    except np.linalg.LinAlgError:
        return None
    matrix = normal[np.ix_(own, own)] - normal[np.ix_(own, others)] @ gain[:, :3]
    vector = right[own] - normal[np.ix_(own, others)] @ gain[:, 3]
    values, axes = np.linalg.eigh(0.5 * (matrix + matrix.T))
    along = axes.T @ vector
    # (matrix + k) gravity = vector: its length falls as k grows from the least eigenvalue on.
    low, high = -values[0] + 1e-12, np.linalg.norm(vector) / GRAVITY + abs(values).max()
    for _ in range(100):
        middle = 0.5 * (low + high)
        longer = np.linalg.norm(along / (values + middle)) > GRAVITY
        low, high = (middle, high) if longer else (low, middle)
    gravity = axes @ (along / (values + high))
    if not np.isfinite(gravity).all() or abs(np.linalg.norm(gravity) - GRAVITY) > 0.1:
        return None
    rest = gain[:, 3] - gain[:, :3] @ gravity
    return np.concatenate([rest[:3], gravity, rest[3:]])
