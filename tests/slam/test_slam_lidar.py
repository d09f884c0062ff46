"""Laser SLAM's own parts: undistortion, voxel maps, registration, lidar-inertial odometry."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from xtdrone_slam.lidar import undistortion
from xtdrone_slam.lidar.inertial import GRAVITY, InertialOdometry
from xtdrone_slam.lidar.registration import plane_through
from xtdrone_slam.lidar.voxel_map import VoxelMap, thin

SIZE = np.array([6.0, 4.0, 1.5])  # half sides of a room
RNG = np.random.default_rng(1)


def directions(columns=360, rows=16):
    """Rays of a scanner, column by column."""
    azimuth = np.repeat(np.linspace(-np.pi, np.pi, columns, endpoint=False), rows)
    elevation = np.tile(np.radians(np.linspace(-15, 15, rows)), columns)
    return np.column_stack(
        [
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation),
        ]
    )


def swept(pose, t, duration=0.1, noise=0.0):
    """Points of a sweep in a room, in the body's frames of their times, and the times."""
    rays = directions()
    times = np.repeat(-duration * (1.0 - np.arange(360) / 360), 16)
    points = np.empty_like(rays)
    for k in range(0, len(rays), 16):
        position, rotation = pose(t + times[k])
        world = rays[k : k + 16] @ rotation.T
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.nanmin((np.sign(world) * SIZE - position) / world, axis=1)
        points[k : k + 16] = rays[k : k + 16] * (reach + RNG.normal(0, noise, 16))[:, None]
    return points, times


def steady(t):
    """Position and attitude at a constant velocity and rate."""
    return np.array([2.0 * t, -0.5 * t, 0.1]), Rotation.from_rotvec([0, 0, 1.2 * t]).as_matrix()


def to_the_walls(points, t):
    """How far points of the body's frame at a time are from the walls of the room [m]."""
    position, rotation = steady(t)
    return np.abs(np.abs(points @ rotation.T + position) - SIZE).min(axis=1)


def test_a_sweep_is_undistorted_by_a_constant_velocity():
    points, times = swept(steady, 0.3)
    _, rotation = steady(0.3)
    velocity, rate = rotation.T @ [2.0, -0.5, 0.0], np.array([0.0, 0.0, 1.2])
    motion = undistortion.constant_velocity(0.2, 0.3, velocity, rate, steps=25)
    flat = undistortion.undistorted(points, 0.3 + times, motion)
    assert to_the_walls(points, 0.3).max() > 0.1 and to_the_walls(flat, 0.3).max() < 2e-3


def test_a_sweep_is_undistorted_by_an_imu():
    points, times = swept(steady, 0.3)
    at = np.arange(0.2, 0.3001, 0.004)
    level = np.tile([0.0, 0.0, GRAVITY], (len(at), 1))
    motion = undistortion.by_imu(
        at, np.tile([0, 0, 1.2], (len(at), 1)), level, steady(0.2)[1], np.array([2.0, -0.5, 0.0])
    )
    flat = undistortion.undistorted(points, 0.3 + times, motion)
    assert to_the_walls(flat, 0.3).max() < 2e-3


def test_a_voxel_map_keeps_points_apart_and_grows():
    points = RNG.uniform(-20.0, 20.0, (20_000, 3))
    table = VoxelMap(0.5, capacity=64)
    table.add(points)
    table.add(points + 1e-4)  # of these nearly all are too near
    assert 0.9 * len(points) < len(table) < 1.01 * len(points)
    kept = table.points()
    assert np.abs(kept).max() <= 20.0 and len(np.unique(kept, axis=0)) == len(kept)
    chosen = points[thin(points, 5.0, np.empty(1 << 16, dtype=np.int64))]
    assert len(chosen) == len(np.unique(np.floor(points / 5.0), axis=0)) == 8**3


@pytest.mark.parametrize("seed", range(4))
def test_a_plane_is_fitted_to_points(seed):
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=3)
    normal /= np.linalg.norm(normal)
    points = rng.uniform(-1.0, 1.0, (5, 3))
    found = np.empty(3)
    flat = points - np.outer(points @ normal, normal) + 0.3 * normal
    assert plane_through(flat, found) < 1e-9
    assert abs(abs(found @ normal) - 1.0) < 1e-9
    assert plane_through(points, found) > 0.005


def test_odometry_follows_a_flight_in_a_room():
    """Two seconds from rest with an IMU whose biases are not known, in a room of six walls."""
    odometry, errors, step = InertialOdometry(leaf=0.3), [], 1e-3

    def pose(t):
        place = np.array([2.0, -1.0, 0.3]) * np.sin(max(t, 0.0)) ** 3
        return place, Rotation.from_rotvec([0.0, 0.0, 0.6 * place[0]]).as_matrix()

    for t in np.arange(0.0, 2.001, 0.004):
        (before, now, after), rotation = (pose(t + d)[0] for d in (-step, 0.0, step)), pose(t)[1]
        acceleration = (before - 2 * now + after) / step**2 + [0.0, 0.0, GRAVITY]
        rate = [0.0, 0.0, 0.6 * (after - before)[0] / (2 * step)]
        odometry.imu(t, np.array(rate) + 0.005, rotation.T @ acceleration + 0.03)
        if round(t * 1000) % 100 == 0:
            odometry.scan(t, *swept(pose, t, noise=0.01))
            errors.append(np.linalg.norm(odometry.state.position - now))
    turn = Rotation.from_matrix(odometry.state.rotation @ rotation.T).magnitude()
    assert max(errors) < 0.05 and turn < 0.02 and len(odometry.map) > 3_000
