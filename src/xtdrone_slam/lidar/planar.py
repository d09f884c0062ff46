"""SLAM in the plane from a lidar and an IMU: scan matching, pose graph, loop closures, a grid.

Each scan is levelled by the attitude from the IMU and matched with the map, point to line. Where
the vehicle comes back to an earlier keyframe, its scan is matched with the keyframes of that time,
and the pose graph of all keyframes is solved again (Hess and others, Cartographer, 2016, with
keyframes in place of submaps).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_dynamics.compiled import njit

from . import undistortion
from .grid import Grid, grid_of
from .pose_graph import Edge, between, optimised, turned, wrapped
from .voxel_map import VoxelMap, nearest_points, thin

_LEAF, _CELL = 0.1, 0.5  # distance of points that are matched, and side of the map's cells [m]
_LEVEL = 0.8  # points further above or below the lidar's plane may lie on the ground [m]
_NEIGHBOURS = 4  # points to which a line is fitted
_FLAT = 0.05  # largest variance across a line, as a share of that along it
_DISTANCE, _KERNEL = 0.03, 0.1  # deviation of a point from its line, and Huber's kernel [m]
_PREDICTED = (0.05, 0.05, 0.01)  # deviations of the prediction of a scan [m, m, rad]
_STEP_M, _STEP_RAD = 0.5, 0.35  # between two keyframes
_NEAR, _APART = 4.0, 30  # a loop is closed with keyframes so near [m] and so many before
_AROUND = 4  # keyframes on both sides of an earlier one that its map has
_MATCHED = 0.7  # share of the points of a scan that a loop closure has to match
_WIDE = (1.0, 1.0, 0.2)  # deviations of the guess for a loop closure [m, m, rad]
_LEVELLING = 0.002  # share of the accelerometer in the attitude, per reading
_GRAVITY = 9.80665  # [m/s^2]
_ITERATIONS = 12
_CONVERGED = 1e-4  # [m] and [rad]


@njit
def line_equations(
    points: np.ndarray,
    pose: np.ndarray,
    keys: np.ndarray,
    counts: np.ndarray,
    cells: np.ndarray,
    side: float,
    reach: float,
    matrix: np.ndarray,
    vector: np.ndarray,
) -> int:
    """Adds up the normal equations of a pose in the plane from point-to-line distances.

    Args:
        points: (M, 2) of a scan [m].
        pose: (3,) x, y [m], yaw [rad].
        keys, counts, cells, side: The map, see VoxelMap, whose points have z = 0.
        reach: Longest distance of a point from those of its line [m].
        matrix, vector: (3, 3) J^T W J and (3,) J^T W r; written.

    Returns:
        The number of points used.
    """
    matrix[:], vector[:] = 0.0, 0.0
    found, distances = np.empty((_NEIGHBOURS, 3)), np.empty(_NEIGHBOURS)
    row = np.empty(3)
    sine, cosine = math.sin(pose[2]), math.cos(pose[2])
    used = 0
    for i in range(len(points)):
        px, py = points[i, 0], points[i, 1]
        x, y = cosine * px - sine * py + pose[0], sine * px + cosine * py + pose[1]
        number = nearest_points(x, y, 0.0, keys, counts, cells, side, found, distances)
        if number < _NEIGHBOURS or distances[_NEIGHBOURS - 1] > reach * reach:
            continue
        mx = my = xx = xy = yy = 0.0
        for k in range(_NEIGHBOURS):
            mx += found[k, 0] / _NEIGHBOURS
            my += found[k, 1] / _NEIGHBOURS
        for k in range(_NEIGHBOURS):
            dx, dy = found[k, 0] - mx, found[k, 1] - my
            xx += dx * dx
            xy += dx * dy
            yy += dy * dy
        half, spread = 0.5 * (xx + yy), math.hypot(0.5 * (xx - yy), xy)
        if half - spread > _FLAT * (half + spread):
            continue
        along = 0.5 * math.atan2(2.0 * xy, xx - yy)
        nx, ny = -math.sin(along), math.cos(along)
        offset = nx * (x - mx) + ny * (y - my)
        size = abs(offset)
        weight = 1.0 if size <= _KERNEL else _KERNEL / size
        row[0], row[1] = nx, ny
        row[2] = nx * (-sine * px - cosine * py) + ny * (cosine * px - sine * py)
        for a in range(3):
            vector[a] += weight * row[a] * offset
            for b in range(3):
                matrix[a, b] += weight * row[a] * row[b]
        used += 1
    return used


def match(
    points: np.ndarray, guess: np.ndarray, table: VoxelMap, deviations: tuple[float, float, float]
) -> tuple[np.ndarray, int]:
    """Matches a scan with a map.

    Args:
        points: (M, 2) of the scan [m].
        guess: (3,) x, y [m], yaw [rad].
        table: The map, whose points have z = 0.
        deviations: Of the guess.

    Returns:
        The pose (3,), and the number of points used.
    """
    pose, prior = guess.copy(), np.diag(1.0 / np.square(deviations))
    matrix, vector = np.empty((3, 3)), np.empty(3)
    used = 0
    for _ in range(_ITERATIONS):
        used = line_equations(
            points, pose, table.keys, table.counts, table.cells, table.side, table.side,
            matrix, vector,
        )  # fmt: skip
        error = pose - guess
        error[2] = wrapped(error[2])
        step = -np.linalg.solve(
            matrix / _DISTANCE**2 + prior, vector / _DISTANCE**2 + prior @ error
        )
        pose += step
        if np.abs(step).max() < _CONVERGED:
            break
    return pose, used


@dataclass(frozen=True)
class Keyframe:
    """A scan that the pose graph has."""

    thinned: np.ndarray  # (M, 2) that are matched [m]
    full: np.ndarray  # (M, 2) all, for the grid [m]


class PlanarSlam:
    """Takes IMU readings and scans; its plane is level, and begins at the first scan.

    Attributes:
        pose: (3,) x, y [m], yaw [rad] at the end of the last scan.
        loops: Loops that were closed.
    """

    def __init__(self, loop_closure: bool = True) -> None:
        """Begins at the origin; loops are closed or not."""
        self.pose, self.loops = np.zeros(3), 0
        self._loop_closure = loop_closure
        self._map = VoxelMap(_CELL)
        self._attitude: Rotation | None = None  # body to the level frame, yaw from the gyro
        self._yaw = 0.0  # of the gyro at the last scan [rad]
        self._rate = np.zeros(3)
        self._imu_s = self._scan_s = 0.0  # times of the last reading and scan [s]
        self._velocity = np.zeros(2)  # in the plane [m/s]
        self._keyframes: list[Keyframe] = []
        self._poses = np.zeros((0, 3))
        self._edges: list[Edge] = []
        self._scratch = np.empty(1 << 13, dtype=np.int64)

    @property
    def keyframes(self) -> int:
        """Number of keyframes."""
        return len(self._keyframes)

    @property
    def attitude(self) -> Rotation:
        """Body to the map."""
        level = self._attitude or Rotation.identity()
        return Rotation.from_rotvec([0.0, 0.0, self.pose[2] - self._gyro_yaw()]) * level

    def imu(self, t: float, gyro: np.ndarray, accel: np.ndarray) -> None:
        """Takes a reading: time [s], (3,) [rad/s], (3,) [m/s^2]."""
        if self._attitude is None:
            self._attitude = Rotation.align_vectors([[0.0, 0.0, 1.0]], [accel])[0]
        else:
            self._attitude = self._attitude * Rotation.from_rotvec(gyro * (t - self._imu_s))
            force = self._attitude.apply(accel)
            tilt = np.cross(force, [0.0, 0.0, 1.0]) / _GRAVITY
            self._attitude = Rotation.from_rotvec(_LEVELLING * tilt) * self._attitude
        self._imu_s, self._rate = t, np.array(gyro)

    def _gyro_yaw(self) -> float:
        if self._attitude is None:
            return 0.0
        ahead = self._attitude.apply([1.0, 0.0, 0.0])
        return math.atan2(ahead[1], ahead[0])

    def scan(self, t: float, points: np.ndarray, times: np.ndarray) -> int:
        """Takes a scan; its readings have been taken before.

        Args:
            t: Time of its end [s].
            points: (M, 3) in the body's frames of their times [m].
            times: (M,) from the end on, 0 or less [s].

        Returns:
            The number of points used.
        """
        level, yaw = self._attitude or Rotation.identity(), self._gyro_yaw()
        heading = Rotation.from_rotvec([0.0, 0.0, -yaw]) * level  # body to its level frame
        velocity = heading.inv().apply([*(turned(self.pose[2]).T @ self._velocity), 0.0])
        motion = undistortion.constant_velocity(t - 0.1, t, velocity, self._rate)
        flat = heading.apply(undistortion.undistorted(points, t + times, motion))
        flat = np.ascontiguousarray(flat[np.abs(flat[:, 2]) < _LEVEL])
        flat[:, 2] = 0.0
        thinned = flat[thin(flat, _LEAF, self._scratch)][:, :2]
        used = len(thinned)
        if self._keyframes:
            dt = t - self._scan_s
            guess = np.array(
                [
                    *(self.pose[:2] + self._velocity * dt),
                    wrapped(self.pose[2] + wrapped(yaw - self._yaw)),
                ]
            )
            pose, used = match(thinned, guess, self._map, _PREDICTED)
            self._velocity = 0.5 * (self._velocity + (pose[:2] - self.pose[:2]) / dt)
            self.pose = pose
        self._yaw, self._scan_s = yaw, t
        if self._is_new():
            self._add(Keyframe(thinned, flat[:, :2]))
        return used

    def _is_new(self) -> bool:
        if not self._keyframes:
            return True
        step = between(self._poses[-1], self.pose)
        return math.hypot(step[0], step[1]) > _STEP_M or abs(step[2]) > _STEP_RAD

    def _add(self, keyframe: Keyframe) -> None:
        """Adds a keyframe to graph and map, and closes a loop if there is one."""
        last = len(self._keyframes) - 1
        self._keyframes.append(keyframe)
        self._poses = np.vstack([self._poses, self.pose])
        if last >= 0:
            step = between(self._poses[last], self.pose)
            self._edges.append(Edge(last, last + 1, step, (0.02, 0.02, 0.005)))
        if self._loop_closure and self._close():
            self._poses = optimised(self._poses, self._edges)
            before, self.pose = self.pose, self._poses[-1].copy()
            self._velocity = turned(self.pose[2] - before[2]) @ self._velocity
            self._map = self._map_of(range(len(self._keyframes)))
        else:
            self._map.add(_spatial(keyframe.thinned, self.pose))

    def _close(self) -> bool:
        """Adds an edge from the nearest earlier keyframe to the last one; returns whether."""
        last = len(self._keyframes) - 1
        earlier = self._poses[: max(last - _APART, 0)]
        if len(earlier) == 0 or last % 4:
            return False
        distances = np.hypot(*(earlier[:, :2] - self.pose[:2]).T)
        node = int(np.argmin(distances))
        if distances[node] > _NEAR:
            return False
        around = range(max(node - _AROUND, 0), min(node + _AROUND + 1, len(earlier)))
        points = self._keyframes[last].thinned
        found, used = match(points, self.pose, self._map_of(around), _WIDE)
        if used < _MATCHED * len(points):
            return False
        step = between(self._poses[node], found)
        self._edges.append(Edge(node, last, step, (0.02, 0.02, 0.005)))
        self.loops += 1
        return True

    def _map_of(self, nodes: range) -> VoxelMap:
        """Returns the map of some keyframes."""
        table = VoxelMap(_CELL)
        table.add(
            np.concatenate([_spatial(self._keyframes[k].thinned, self._poses[k]) for k in nodes])
        )
        return table

    def trajectory(self) -> np.ndarray:
        """Returns the poses (N, 3) of the keyframes."""
        return self._poses.copy()

    def grid(self, resolution: float = 0.05) -> Grid:
        """Returns the occupancy grid of the keyframes.

        Raises:
            SlamError: There is none.
        """
        return grid_of(self._poses, [frame.full for frame in self._keyframes], resolution)


def _spatial(points: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Returns points (M, 2) of a frame in the map, (M, 3) with z = 0."""
    placed = points @ turned(pose[2]).T + pose[:2]
    return np.column_stack([placed, np.zeros(len(placed))])
