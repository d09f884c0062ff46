"""The filter of visual-inertial odometry, on closed forms and in a world without pictures."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import inertial_world as world
from xtdrone_slam.inertial import features, start
from xtdrone_slam.inertial.msckf import Filter
from xtdrone_slam.inertial.propagation import GRAVITY, propagate
from xtdrone_slam.inertial.rotations import exponential, left_jacobian
from xtdrone_slam.inertial.start import Readings
from xtdrone_slam.inertial.state import Pose, Prior, State

SPIN, FORCE = np.array([0.3, -0.2, 0.9]), np.array([0.5, 0.2, 10.0])


def moved(error=None, covariance=None, noise=(0.0, 0.0, 0.0, 0.0), seconds=0.4):
    """The state at the end of a constant rate and force, begun with an error (15,)."""
    rotation = Rotation.from_rotvec([0.1, 0.2, 0.5]).as_matrix()
    velocity, position = np.array([1.0, -2.0, 0.3]), np.array([4.0, 5.0, 1.0])
    biases = np.zeros(3), np.zeros(3)
    if error is not None:
        turn, mean = exponential(error[:3]), left_jacobian(error[:3])
        rotation = turn @ rotation
        velocity, position = (
            turn @ velocity + mean @ error[3:6],
            turn @ position + mean @ error[6:9],
        )
        biases = error[9:12].copy(), error[12:].copy()
    times = np.linspace(0.0, seconds, 101)
    propagate(
        rotation, velocity, position, *biases,
        np.zeros((15, 15)) if covariance is None else covariance,
        times, np.tile(SPIN, (100, 1)), np.tile(FORCE, (100, 1)), np.array(noise),
    )  # fmt: skip
    return rotation, velocity, position


def difference(one, other):
    """The error (9,) of one state from another's, as the filter has it."""
    turn = Rotation.from_matrix(one[0] @ other[0].T).as_rotvec()
    inverse, rotation = np.linalg.inv(left_jacobian(turn)), exponential(turn)
    return np.concatenate([turn, *(inverse @ (one[k] - rotation @ other[k]) for k in (1, 2))])


def test_a_constant_rate_and_force_are_integrated_exactly():
    rotation, velocity, position = moved()
    begin = Rotation.from_rotvec([0.1, 0.2, 0.5])
    fine = np.linspace(0.0, 0.4, 4001)
    middle = 0.5 * (fine[1:] + fine[:-1])
    force = (begin * Rotation.from_rotvec(middle[:, None] * SPIN)).apply(FORCE)
    acceleration = force - [0.0, 0.0, GRAVITY]
    velocities = [1.0, -2.0, 0.3] + 1e-4 * np.cumsum(acceleration, axis=0)
    way = 1e-4 * (velocities - 0.5e-4 * acceleration).sum(axis=0)
    assert np.abs(rotation - (begin * Rotation.from_rotvec(0.4 * SPIN)).as_matrix()).max() < 1e-12
    assert np.abs(velocity - velocities[-1]).max() < 1e-7
    assert np.abs(position - [4.0, 5.0, 1.0] - way).max() < 1e-7


@pytest.mark.parametrize("row", range(15))
def test_an_error_grows_as_the_covariance_says(row):
    error, covariance = np.zeros(15), np.zeros((15, 15))
    error[row] = 1e-4
    covariance[row, row] = 1e-8
    truth = moved(error)
    found = difference(truth, moved(covariance=covariance))
    expected = covariance[:9, row] / 1e-4 if covariance[row, row] else np.zeros(9)
    assert np.abs(found - expected).max() < 0.02 * np.abs(found).max() + 1e-9


def test_noise_adds_what_its_densities_say():
    covariance = np.zeros((15, 15))
    moved(covariance=covariance, noise=(1e-3, 1e-2, 1e-4, 1e-3), seconds=1.0)
    assert np.allclose(covariance.diagonal()[:3], 1e-6, rtol=0.05)
    assert np.allclose(covariance.diagonal()[9:12], 1e-8) and np.allclose(
        covariance.diagonal()[12:], 1e-6
    )


def three_views(seed=1):
    """A point, poses that see it with two cameras, and its observations."""
    rng = np.random.default_rng(seed)
    point, rig = np.array([5.0, 0.4, 0.2]), world.rig()
    rotations = Rotation.from_rotvec(rng.normal(0.0, 0.05, (3, 3))).as_matrix()
    positions = rng.normal(0.0, 0.3, (3, 3))
    poses, cameras = np.repeat(np.arange(3), 2), np.tile([0, 1], 3)
    observed = np.empty((6, 2))
    for m, (pose, camera) in enumerate(zip(poses, cameras, strict=True)):
        ray = features.seen(
            point, rotations[pose], positions[pose], rig.rotations[camera], rig.positions[camera]
        )
        observed[m] = ray[:2] / ray[2]
    return point, (observed, poses, cameras, rotations, positions, rig.rotations, rig.positions)


def equations_of(views, point):
    """Derivatives by the point and by the poses, and residuals."""
    made = np.zeros((12, 3)), np.zeros((12, 18)), np.zeros(12)
    assert features.equations(*views, point, point, *made)
    return made


def test_a_point_is_found_where_it_was_seen():
    point, views = three_views()
    found = np.empty(3)
    share = features.triangulate(*views, found)
    assert np.abs(found - point).max() < 1e-6 and 0.5 < share < 50.0
    behind = (-views[0], *views[1:])
    assert features.triangulate(*behind, found) * world.DEVIATION > 1.0  # of no use


def test_derivatives_are_those_of_the_images():
    point, views = three_views()
    of_point, of_poses, residuals = equations_of(views, point)
    assert np.abs(residuals).max() < 1e-12
    for axis in range(3):
        step = 1e-6 * np.eye(3)[axis]
        slope = -equations_of(views, point + step)[2] / 1e-6
        assert np.abs(slope - of_point[:, axis]).max() < 1e-5
    for column in range(18):
        error = np.zeros(18)
        error[column] = 1e-6
        rotations, positions = views[3].copy(), views[4].copy()
        for pose, part in enumerate(error.reshape(3, 6)):
            turn = exponential(part[:3])
            rotations[pose] = turn @ rotations[pose]
            positions[pose] = turn @ positions[pose] + part[3:]
        changed = equations_of((*views[:3], rotations, positions, *views[5:]), point)[2]
        assert np.abs(-changed / 1e-6 - of_poses[:, column]).max() < 1e-5


def test_the_point_is_projected_out_and_nothing_else():
    point, views = three_views()
    made = equations_of(views, point)
    made[2][:] = np.random.default_rng(1).normal(size=12)
    of_point, of_poses, residuals = (part.copy() for part in made)
    features.separate(of_point, of_poses, residuals)
    assert np.abs(np.tril(of_point, -1)).max() < 1e-12
    before, after = np.column_stack(made), np.column_stack([of_point, of_poses, residuals])
    assert np.allclose(before.T @ before, after.T @ after)  # the same squares


def test_images_say_nothing_of_a_shift_of_the_world_and_a_turn_about_the_vertical():
    point, views = three_views()
    made = equations_of(views, point + [0.3, -0.1, 0.2])  # at any estimate
    features.separate(*made)
    shift, turn = np.tile([0.0, 0, 0, 1, 2, 3], 3), np.tile([0.0, 0, 1, 0, 0, 0], 3)
    assert np.abs(made[1][3:] @ np.column_stack([shift, turn])).max() < 1e-12
    covariance = np.zeros((15, 15))
    covariance[2, 2] = 1.0  # nor does the IMU: a turn stays a turn alone
    moved(covariance=covariance)
    assert np.allclose(covariance, np.diag(np.eye(15)[2]))


def flown(seed, cameras, seconds, landmarks=20):
    """Runs a filter in the world without pictures; returns squared errors and their times."""
    made, rig = world.World(seed), world.rig(cameras)
    tilt = Rotation.from_rotvec([*-0.02 * made.normal(2), 0.0])
    begin = Pose(
        (tilt * world.pose(0.0)[1]).as_matrix(), world.velocity(0.0) - 0.1 * made.normal(3)
    )
    state = State(begin, Prior(0.02, 0.1, 0.01, 0.1), world.IMU)
    own = Filter(state, rig, world.DEVIATION, 10, landmarks)
    own.update(made.frame(0.0, rig))
    found = []
    for k in range(1, round(seconds / 0.08)):
        state.propagate(*made.readings(0.08 * (k - 1), 0.08 * k))
        own.update(made.frame(0.08 * k, rig))
        error = world.errors(state, 0.08 * k)
        expected = np.linalg.solve(state.covariance[:9, :9], error)
        found.append([error @ expected / 9, np.linalg.norm(error[6:])])
    return np.array(found), own, made


@pytest.mark.long
@pytest.mark.parametrize("cameras", [2, 1])
def test_errors_are_as_large_as_the_filter_says(cameras):
    """Normalised squared errors are 1 in the mean of a consistent filter."""
    runs = [flown(seed, cameras, 10.0) for seed in (1, 2, 3)]
    squares = np.array([found[:, 0] for found, _, _ in runs])
    assert 0.5 < squares.mean() < 1.6
    assert max(found[-1, 1] for found, _, _ in runs) < (0.1 if cameras == 2 else 0.25)
    for _, own, made in runs:
        assert np.abs(own.state.gyro_bias - made.gyro_bias).max() < 2e-3
        assert own.used > 10 and len(own.rejected) < 5


def test_wrong_matches_are_rejected():
    _, own, made = flown(4, 2, 3.0)
    rig, t = world.rig(), 3.04
    place = own.state.position.copy()
    own.state.propagate(*made.readings(2.96, t))
    frame = made.frame(t, rig)
    frame.seen[::3] += 0.05  # 23 pixels
    own.update(frame)
    assert len(own.rejected) >= 3 and set(own.rejected) <= set(frame.names[::3].tolist())
    assert np.linalg.norm(own.state.position - place) < 0.4


def before_the_start(cameras, begin, count):
    """Frames and the readings between them."""
    made, rig = world.World(5), world.rig(cameras)
    times = begin + 0.08 * np.arange(count)
    frames = [made.frame(t, rig, deviation=0.3 * world.DEVIATION) for t in times]
    between = [Readings(*made.readings(t - 0.08, t)) for t in times[1:]]
    return rig, frames, between, made


@pytest.mark.parametrize("cameras, begin, count", [(2, 1.0, 8), (2, 4.0, 8), (1, 1.0, 30)])
def test_a_start_in_flight_finds_velocity_gravity_and_bias(cameras, begin, count):
    rig, frames, between, made = before_the_start(cameras, begin, count)
    found = start.in_flight(rig, frames, between, 0.3 * world.DEVIATION)
    assert found is not None
    pose, prior = found
    turn = world.pose(begin)[1]
    expected = turn.inv().apply(world.velocity(begin))
    error = np.linalg.norm(pose.rotation.T @ pose.velocity - expected)
    up = pose.rotation.T @ [0, 0, 1] @ turn.inv().apply([0, 0, 1])
    assert error < 3.0 * prior.velocity and error < (0.3 if cameras == 2 else 0.45)
    assert np.degrees(np.arccos(min(up, 1.0))) < 3.0
    assert np.abs(pose.gyro_bias - made.gyro_bias).max() < 3.0 * prior.gyro_bias


def test_a_start_in_flight_waits_for_points_and_for_motion():
    rig, frames, between, _ = before_the_start(2, 1.0, 8)
    few = [type(frame)(frame.names[:4], frame.seen[:4]) for frame in frames]
    assert start.in_flight(rig, few, between, world.DEVIATION) is None
    wrong = [type(frame)(frame.names, frame.seen[::-1]) for frame in frames]
    assert start.in_flight(rig, wrong, between, world.DEVIATION) is None


def resting(bias=0.0, spin=0.0):
    """Readings of an IMU that is tilted by 0.1 rad."""
    force = Rotation.from_rotvec([0.1, 0.0, 0.3]).inv().apply([0.0, 0.0, GRAVITY])
    rng = np.random.default_rng(1)
    gyro = rng.normal(bias, 0.003, (100, 3)) + [0.0, 0.0, spin]
    return Readings(np.linspace(0.0, 0.4, 101), gyro, rng.normal(force, 0.03, (100, 3)))


def test_a_start_at_rest_levels_the_world():
    pose = start.at_rest(resting(bias=0.01), [0.1, 0.05])
    assert pose is not None and np.abs(pose.gyro_bias - 0.01).max() < 2e-3
    up = Rotation.from_rotvec([0.1, 0.0, 0.3]).inv().apply([0.0, 0.0, 1.0])
    assert np.abs(pose.rotation.T @ [0.0, 0.0, 1.0] - up).max() < 2e-3
    assert abs(pose.rotation[1, 0]) < 1e-9  # the heading is the filter's own
    assert start.at_rest(resting(), [0.1, 3.0]) is None  # the images move
    assert start.at_rest(resting(spin=0.5), [0.1]) is None
