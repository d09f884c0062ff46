"""Plans of least time: their parts against finite differences and closed forms, and whole plans."""

import math

import numpy as np
import pytest
from scipy import sparse

from xtdrone_core.errors import XtdroneError
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_guidance.time_optimal.bordered import BorderedBand
from xtdrone_guidance.time_optimal.dynamics import POS, QUAT, Multirotor, RigidBody
from xtdrone_guidance.time_optimal.interior_point import minimise
from xtdrone_guidance.time_optimal.planner import TimeOptimal, way_points

# The quadrotor of P. Foehn, A. Romero, D. Scaramuzza (2021), and the start of its flight.
ARM, TORQUE = 0.15 * math.sqrt(0.5), 0.05
THRUST_TO_WEIGHT = 3.3
QUADROTOR = Multirotor(
    mass=0.85,
    inertia=np.diag([0.001, 0.001, 0.0017]),
    effectiveness=np.array(
        [
            [0.0] * 4,
            [0.0] * 4,
            [1.0] * 4,
            [-ARM, ARM, ARM, -ARM],
            [-ARM, ARM, -ARM, ARM],
            [TORQUE, TORQUE, -TORQUE, -TORQUE],
        ]
    ),
    max_thrust=np.full(4, THRUST_TO_WEIGHT * 0.85 * GRAVITY / 4),
    max_rates=np.array([15.0, 15.0, 0.3]),
)


def test_bordered_system():
    random = np.random.default_rng(1)
    size, border = 30, 3
    dense = np.where(
        abs(np.subtract.outer(np.arange(size), np.arange(size))) <= 4,
        random.normal(size=(size, size)),
        0.0,
    )
    dense[-border:], dense[:, -border:] = (
        random.normal(size=(2, border, size))[0],
        random.normal(size=(size, border)),
    )
    shuffle = random.permutation(size)
    matrix = np.empty_like(dense)
    matrix[np.ix_(shuffle, shuffle)] = dense
    right = random.normal(size=size)
    solved = BorderedBand(sparse.csr_matrix(matrix), shuffle, border).solve(right)
    np.testing.assert_allclose(matrix @ solved, right, atol=1e-8)


class Disc:
    """The least of x + 2 y with x^2 + y^2 <= 1 and x = y."""

    cost = np.array([1.0, 2.0])
    low, high = np.full(2, -np.inf), np.array([np.inf, 3.0])
    order, border = np.arange(3), 1

    def constraints(self, x):
        return np.array([x[0] - x[1]]), np.array([x @ x - 1.0])

    def jacobians(self, x):
        return sparse.csr_matrix([[1.0, -1.0]]), sparse.csr_matrix([2.0 * x])

    def hessian(self, x, equality, inequality, convex):
        return sparse.csr_matrix(2.0 * inequality[0] * np.eye(2))


def test_interior_point_method():
    solution = minimise(Disc(), np.array([0.3, -0.2]), tolerance=1e-6)
    assert solution.converged
    np.testing.assert_allclose(solution.x, -np.sqrt(0.5), atol=1e-5)


def test_derivatives_of_the_rigid_body():
    random = np.random.default_rng(2)
    body = RigidBody(QUADROTOR)
    x, u, weights = (random.normal(size=(1, k)) for k in (13, 4, 13))
    step = 1e-6
    slopes, curvature = body.slopes(x, u), body.curvature(x, u, weights)

    def gradient(x, u):
        there = body.slopes(x, u)
        return weights[0] @ np.hstack([there.by_state[0], there.by_command[0]])

    for k in range(17):
        dx, du = np.zeros((1, 13)), np.zeros((1, 4))
        (dx if k < 13 else du)[0, k if k < 13 else k - 13] = step
        rate = (body.rate(x + dx, u + du) - body.rate(x - dx, u - du))[0] / (2 * step)
        column = slopes.by_state[0, :, k] if k < 13 else slopes.by_command[0, :, k - 13]
        np.testing.assert_allclose(column, rate, atol=1e-5 * max(1.0, abs(rate).max()))
        turn = (gradient(x + dx, u + du) - gradient(x - dx, u - du)) / (2 * step)
        np.testing.assert_allclose(curvature[0, k], turn, atol=1e-5 * max(1.0, abs(turn).max()))


def test_level_flight_against_the_bound_of_a_point_mass():
    """A point mass that keeps its height accelerates by sqrt(T^2 - g^2), then brakes as hard.

    The plan cannot beat one that may use all its thrust along the line, and loses no more against
    the level one than the time to tilt, reverse and level off at the largest rate.
    """
    distance, thrust = 10.0, THRUST_TO_WEIGHT * GRAVITY
    plan = TimeOptimal(QUADROTOR, np.array([[0.0, 0.0, 1.0], [distance, 0.0, 1.0]]), [])
    tilt = math.acos(1.0 / THRUST_TO_WEIGHT)
    level = 2.0 * math.sqrt(distance / math.sqrt(thrust**2 - GRAVITY**2))
    assert 2.0 * math.sqrt(distance / thrust) < plan.duration
    assert level < plan.duration < level + 4.0 * tilt / 15.0
    end = plan.at(plan.duration)
    np.testing.assert_allclose(end.pos, [distance, 0.0, 1.0], atol=1e-6)
    np.testing.assert_allclose(end.vel, 0.0, atol=1e-6)


def integrated(motion, body, steps=20):
    """Returns the states (K, 13) at the ends of the intervals, by Runge-Kutta steps."""
    x = motion.states[:-1].copy()
    dt = np.repeat(motion.lengths, motion.intervals)[:, None] / steps
    for _ in range(steps):
        a = body.rate(x, motion.commands)
        b = body.rate(x + 0.5 * dt * a, motion.commands)
        c = body.rate(x + 0.5 * dt * b, motion.commands)
        d = body.rate(x + dt * c, motion.commands)
        x = x + dt / 6.0 * (a + 2.0 * b + 2.0 * c + d)
    return x


def test_plan_through_way_points_is_flown_by_the_rotors():
    points = np.array([[3.0, 2.0, 2.0], [6.0, -1.0, 1.0]])
    plan = TimeOptimal(QUADROTOR, np.array([[0, 0, 1.0], [8.0, 0.0, 1.5]]), way_points(points, 0.2))
    motion = plan.motion
    missed = integrated(motion, RigidBody(QUADROTOR)) - motion.states[1:]
    assert abs(missed[:, POS]).max() < 5e-3
    assert abs(missed[:, QUAT]).max() < 2e-2
    assert motion.commands.min() >= 0.0 and motion.commands.max() <= 1.0
    assert (abs(motion.states[:, 10:]) <= QUADROTOR.max_rates + 1e-9).all()
    for t, point in zip(plan.times[1:-1], points):
        assert np.linalg.norm(plan.at(t).pos - point) < 0.2 + 1e-3


@pytest.mark.slow
@pytest.mark.long  # nine seconds of planning; shorter ways are planned and flown by the others
def test_nineteen_way_points_in_the_published_time():
    """The published plans take 17.91 s, and 17.60 s refined with a tenfold rate of yaw."""
    loop = [
        [-1.1, -1.6, 3.6],
        [9.2, 6.6, 1.0],
        [9.2, -4.0, 1.2],
        [-4.5, -6.0, 3.5],
        [-4.5, -6.0, 0.8],
        [4.75, -0.9, 1.2],
        [-2.8, 6.8, 1.2],
    ]
    ends = np.array([[-5.0, 4.5, 1.2], [4.75, -0.9, 1.2]])
    plan = TimeOptimal(QUADROTOR, ends, way_points(np.array((loop * 3)[:19])))
    assert plan.duration < 17.7
    assert plan.motion.states[:, 2].min() >= 0.3 - 1e-6


def heavy():
    return Multirotor(
        2.9, QUADROTOR.inertia, QUADROTOR.effectiveness, QUADROTOR.max_thrust, QUADROTOR.max_rates
    )


@pytest.mark.parametrize(
    ("vehicle", "ends", "points", "message"),
    [
        (QUADROTOR, [[0, 0, 1], [0, 0, 1]], [], "way-points 0 and 1 are at the same place"),
        (QUADROTOR, [[0, 0, 1], [3, 0, 1]], [[1, 0, -2]], "a height of -2 m is not allowed"),
        (QUADROTOR, [[0, 0, 1], [3, 0, 1]], [[np.nan, 0, 2]], "not finite"),
        (heavy(), [[0, 0, 1], [3, 0, 1]], [], "times the weight is not allowed"),
    ],
)
def test_what_cannot_be_planned_is_refused(vehicle, ends, points, message):
    with pytest.raises(XtdroneError, match=message) as refused:
        TimeOptimal(vehicle, np.array(ends, float), way_points(np.array(points).reshape(-1, 3)))
    assert "\n" not in str(refused.value)
