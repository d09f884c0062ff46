"""SLAM in the plane from a lidar and an IMU: scan matching, pose graph, loop closures, a grid.

The filter of lidar-inertial odometry is corrected by the distances of a scan's points from the
lines of the map, and by the height, which is held. Where the vehicle comes back to an earlier
keyframe, its scan is matched with the keyframes of that time, and the pose graph of all keyframes
is solved again (Hess and others, Cartographer, 2016, with keyframes in place of submaps).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_dynamics.compiled import njit

from . import undistortion
from .grid import Grid, grid_of
from .inertial import InertialFilter, State
from .pose_graph import Edge, between, optimised, turned, weight_of, wrapped
from .voxel_map import VoxelMap, nearest_points, thin

_LEAF, _CELL = 0.1, 0.5  # distance of points that are matched, and side of the map's cells [m]
_BELOW = -0.8  # points further below the lidar's plane may lie on the ground [m]
_ABOVE = 2.0  # and those further above it on a ceiling
_NEIGHBOURS, _FEWEST = 8, 4  # points to which a line is fitted
_SPREAD = 0.12  # least deviation along a line of the points that are to tell its direction [m]
_FLAT = 0.05  # largest variance across a line, as a share of that along it
_CORNER, _CORNER_WEIGHT = 0.15, 0.3  # reach [m] and weight of points near a corner
_DISTANCE, _KERNEL = 0.03, 0.1  # deviation of a point from its line, and Huber's kernel [m]
_GATE = 0.15  # a point further from its line does not count [m]
_DEVIATION = 0.05  # of a distance in the filter [m]
_HEIGHT = 0.05  # deviation of the height from 0 [m]
_STEP_M, _STEP_RAD = 0.5, 0.35  # between two keyframes
_NEAR, _APART = 4.0, 30  # a loop is closed with keyframes so near [m] and so many before
_AROUND = 4  # keyframes on both sides of an earlier one that its map has
_MATCHED = 0.5  # share of the points of a scan that a loop closure has to match
_WIDE = (1.0, 1.0, 0.2)  # deviations of the guess for a loop closure [m, m, rad]
_STEP_DEVIATIONS = 0.02, 0.02, 0.005  # of a step from one keyframe to another [m, m, rad]
_UNSEEN = 5.0, 5.0, 1.0  # the same where a scan says nothing about it
_ITERATIONS = 12
_CONVERGED = 1e-4  # [m] and [rad]


@njit
def line_equations(
    points: np.ndarray,
    rotation: np.ndarray,
    position: np.ndarray,
    keys: np.ndarray,
    counts: np.ndarray,
    cells: np.ndarray,
    side: float,
    gate: float,
    matrix: np.ndarray,
    vector: np.ndarray,
) -> int:
    """Adds up the normal equations of a pose from horizontal distances.

    Points near a straight part of the map count by their distance from its line, those near a
    corner by their distance from its nearest point.

    Args:
        points: (M, 3) of a scan, body [m].
        rotation, position: (3, 3) and (3,), the pose.
        keys, counts, cells, side: The map, see VoxelMap, whose points have z = 0.
        gate: A point further from its line does not count [m]: it may lie on the other face of
            a wall that was seen from behind.
        matrix, vector: (6, 6) J^T W J and (6,) J^T W r; written. See InertialFilter.correct().

    Returns:
        The number of points used.
    """
    matrix[:], vector[:] = 0.0, 0.0
    found, distances = np.empty((_NEIGHBOURS, 3)), np.empty(_NEIGHBOURS)
    row = np.zeros(6)
    used = 0
    for i in range(len(points)):
        px, py, pz = points[i, 0], points[i, 1], points[i, 2]
        up = rotation[2, 0] * px + rotation[2, 1] * py + rotation[2, 2] * pz
        if up < _BELOW or up > _ABOVE:
            continue
        x = rotation[0, 0] * px + rotation[0, 1] * py + rotation[0, 2] * pz + position[0]
        y = rotation[1, 0] * px + rotation[1, 1] * py + rotation[1, 2] * pz + position[1]
        number = nearest_points(x, y, 0.0, keys, counts, cells, side, found, distances)
        number = _within(distances[:number], side)
        if number < _FEWEST:
            continue
        mx = my = xx = xy = yy = 0.0
        for k in range(number):
            mx += found[k, 0] / number
            my += found[k, 1] / number
        for k in range(number):
            dx, dy = found[k, 0] - mx, found[k, 1] - my
            xx += dx * dx
            xy += dx * dy
            yy += dy * dy
        half, spread = 0.5 * (xx + yy), math.hypot(0.5 * (xx - yy), xy)
        straight = half - spread <= _FLAT * (half + spread)
        if straight and half + spread < number * _SPREAD**2:
            continue
        along = 0.5 * math.atan2(2.0 * xy, xx - yy)
        if not straight:
            if distances[0] > _CORNER * _CORNER:
                continue
            mx, my, along = found[0, 0], found[0, 1], 0.0
        matched = False
        for axis in range(1 if straight else 2):
            angle = along + (0.5 * math.pi if axis == 0 else 0.0)
            nx, ny = math.cos(angle), math.sin(angle)
            offset = nx * (x - mx) + ny * (y - my)
            size = abs(offset)
            if size > gate:
                continue
            matched = True
            weight = 1.0 if size <= _KERNEL else _KERNEL / size
            if not straight:
                weight *= _CORNER_WEIGHT
            bx = rotation[0, 0] * nx + rotation[1, 0] * ny
            by = rotation[0, 1] * nx + rotation[1, 1] * ny
            bz = rotation[0, 2] * nx + rotation[1, 2] * ny
            row[0], row[1], row[2] = py * bz - pz * by, pz * bx - px * bz, px * by - py * bx
            row[3], row[4] = nx, ny
            for a in range(6):
                vector[a] += weight * row[a] * offset
                for b in range(6):
                    matrix[a, b] += weight * row[a] * row[b]
        used += matched
    return used


@njit
def _within(squares: np.ndarray, reach: float) -> int:
    """Returns how many of the squared distances, the least first, are within reach."""
    count = 0
    while count < len(squares) and squares[count] <= reach * reach:
        count += 1
    return count


def match(
    points: np.ndarray, guess: np.ndarray, table: VoxelMap, deviations: tuple[float, float, float]
) -> tuple[np.ndarray, int, np.ndarray]:
    """Matches a level scan with a map.

    Args:
        points: (M, 2) of the scan [m].
        guess: (3,) x, y [m], yaw [rad].
        table: The map, whose points have z = 0.
        deviations: Of the guess.

    Returns:
        The pose (3,), the number of points used, and what they say about the pose: its
        information (3, 3), which is 0 along a bare corridor.
    """
    pose, prior = guess.copy(), np.diag(1.0 / np.square(deviations))
    spatial = np.column_stack([points, np.zeros(len(points))])
    matrix, vector = np.empty((6, 6)), np.empty(6)
    chosen = [3, 4, 2]  # x, y and the turn about the vertical
    used, gate = 0, table.side
    for _ in range(_ITERATIONS):
        rotation = Rotation.from_rotvec([0.0, 0.0, pose[2]]).as_matrix()
        used = line_equations(
            spatial, rotation, np.array([*pose[:2], 0.0]), table.keys, table.counts, table.cells,
            table.side, gate, matrix, vector,
        )  # fmt: skip
        gate = max(0.5 * gate, _GATE)
        error = pose - guess
        error[2] = wrapped(error[2])
        information = matrix[np.ix_(chosen, chosen)] / _DISTANCE**2 + prior
        step = -np.linalg.solve(information, vector[chosen] / _DISTANCE**2 + prior @ error)
        pose += step
        if np.abs(step).max() < _CONVERGED:
            break
    return pose, used, matrix[np.ix_(chosen, chosen)] / _DISTANCE**2


@dataclass(frozen=True)
class Keyframe:
    """A scan that the pose graph has."""

    thinned: np.ndarray  # (M, 2) that are matched [m]
    full: np.ndarray  # (M, 2) all, for the grid [m]


class PlanarSlam:
    """Takes IMU readings and scans; its plane is level, and begins at the first scan.

    Attributes:
        loops: Loops that were closed.
    """

    def __init__(self, loop_closure: bool = True) -> None:
        """Begins at the origin; loops are closed or not."""
        self.loops = 0
        self._filter = InertialFilter()
        self._loop_closure = loop_closure
        self._map = VoxelMap(_CELL)
        self._keyframes: list[Keyframe] = []
        self._poses = np.zeros((0, 3))
        self._edges: list[Edge] = []
        self._scratch = np.empty(1 << 16, dtype=np.int64)

    @property
    def keyframes(self) -> int:
        """Number of keyframes."""
        return len(self._keyframes)

    @property
    def attitude(self) -> Rotation:
        """Body to the map."""
        return Rotation.from_matrix(self._filter.state.rotation)

    @property
    def pose(self) -> np.ndarray:
        """Position x, y [m] and yaw [rad] (3,) at the end of the last scan."""
        state = self._filter.state
        yaw = math.atan2(state.rotation[1, 0], state.rotation[0, 0])
        return np.array([*state.position[:2], yaw])

    def imu(self, t: float, gyro: np.ndarray, accel: np.ndarray) -> None:
        """Takes a reading: time [s], (3,) [rad/s], (3,) [m/s^2]."""
        self._filter.imu(t, gyro, accel)

    def scan(self, t: float, points: np.ndarray, times: np.ndarray) -> int:
        """Takes a scan; its readings have been taken before.

        Args:
            t: Time of its end [s].
            points: (M, 3) in the body's frames of their times [m].
            times: (M,) from the end on, 0 or less [s].

        Returns:
            The number of points used.
        """
        first = not self._filter.started
        motion = self._filter.begin(t) if first else self._filter.predict(t)
        flat = undistortion.undistorted(points, t + times, motion)
        thinned = flat[thin(flat, _LEAF, self._scratch[: _size(len(flat))])]
        table, used = self._map, len(thinned)

        def equations(state: State, matrix: np.ndarray, vector: np.ndarray) -> int:
            count = line_equations(
                thinned, state.rotation, state.position, table.keys, table.counts, table.cells,
                table.side, _GATE, matrix, vector,
            )  # fmt: skip
            level = (_DEVIATION / _HEIGHT) ** 2  # the vehicle flies level
            matrix[5, 5] += level
            vector[5] += level * state.position[2]
            return count

        if not first:
            used = self._filter.correct(equations)
        if self._is_new():
            self._add(Keyframe(self._level(thinned), self._level(flat)))
        return used

    def _level(self, points: np.ndarray) -> np.ndarray:
        """Returns points (M, 3) of the body in the level frame below it (K, 2), without ground."""
        turn = Rotation.from_rotvec([0.0, 0.0, -self.pose[2]]) * self.attitude
        level = turn.apply(points)
        return level[(level[:, 2] > _BELOW) & (level[:, 2] < _ABOVE), :2]

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
            weight = np.diag(1.0 / np.array(_STEP_DEVIATIONS))
            self._edges.append(Edge(last, last + 1, step, weight))
        if self._loop_closure and self._close():
            self._poses = optimised(self._poses, self._edges)
            x, y, yaw = self._poses[-1]
            height = self._filter.state.position[2]
            self._filter.turn(wrapped(yaw - self.pose[2]), np.array([x, y, height]))
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
        found, used, information = match(points, self.pose, self._map_of(around), _WIDE)
        if used < _MATCHED * len(points):
            return False
        step = between(self._poses[node], found)
        self._edges.append(Edge(node, last, step, self._weight(node, information)))
        self.loops += 1
        return True

    def _weight(self, node: int, information: np.ndarray) -> np.ndarray:
        """Returns the weight (3, 3) of a loop's edge from a node, by the information of its match.

        A scan of two walls alone fixes a pose across them and not along them.
        """
        turn = np.eye(3)
        turn[:2, :2] = turned(self._poses[node, 2])
        seen = information + np.diag(1.0 / np.square(_UNSEEN))
        covariance = turn.T @ np.linalg.inv(seen) @ turn + np.diag(np.square(_STEP_DEVIATIONS))
        return weight_of(covariance)

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

    def closures(self) -> np.ndarray:
        """Returns the places of the two keyframes of each closed loop (L, 2, 2) [m]."""
        closed = [(e.before, e.after) for e in self._edges if e.after != e.before + 1]
        return self._poses[np.array(closed, dtype=int).reshape(-1, 2), :2]

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


def _size(count: int) -> int:
    """Returns the length of scratch for the keys of so many points, a power of 2."""
    return 1 << max(4, (2 * count).bit_length())
