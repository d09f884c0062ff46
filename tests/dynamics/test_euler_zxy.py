"""The rigid body in angles of the sequence Z, X, Y: identities, energy, friction."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from xtdrone_dynamics import euler_zxy, quaternion

ANGLE, RATE = st.floats(-1.2, 1.2), st.floats(-3.0, 3.0)
UNLIKE = (0.3, 4e-3, 5e-3, 7e-3, 0, 0, 0, 0, 0, 0, 9.81)


def rotation(roll, pitch, yaw):
    def about(axis, angle):
        c, s = math.cos(angle), math.sin(angle)
        i, j = (axis + 1) % 3, (axis + 2) % 3
        matrix = np.eye(3)
        matrix[i, i] = matrix[j, j] = c
        matrix[j, i], matrix[i, j] = s, -s
        return matrix

    return about(2, yaw) @ about(0, roll) @ about(1, pitch)


def full(m):
    return np.array([[m[0], m[3], m[4]], [m[3], m[1], m[5]], [m[4], m[5], m[2]]])


@given(ANGLE, ANGLE, ANGLE)
def test_thrust_and_quaternion_are_those_of_the_published_rotation(roll, pitch, yaw):
    matrix = rotation(roll, pitch, yaw)
    assert euler_zxy.thrust_direction(roll, pitch, yaw) == pytest.approx(matrix[:, 2], abs=1e-12)
    quat = euler_zxy.to_quaternion(roll, pitch, yaw)
    assert quaternion.to_matrix(*quat) == pytest.approx(matrix.ravel(), abs=1e-12)
    assert euler_zxy.from_quaternion(*quat) == pytest.approx((roll, pitch, yaw), abs=1e-9)


@given(ANGLE, ANGLE, RATE, RATE, RATE)
def test_body_rates_are_the_derivative_of_the_rotation(roll, pitch, d_roll, d_pitch, d_yaw):
    h = 1e-6
    before = rotation(roll - h * d_roll, pitch - h * d_pitch, -h * d_yaw)
    after = rotation(roll + h * d_roll, pitch + h * d_pitch, h * d_yaw)
    cross = rotation(roll, pitch, 0.0).T @ (after - before) / (2 * h)
    assert euler_zxy.body_rates(roll, pitch, d_roll, d_pitch, d_yaw) == pytest.approx(
        (cross[2, 1], cross[0, 2], cross[1, 0]), abs=1e-6
    )


@given(ANGLE, ANGLE)
def test_the_inertia_of_the_angles_is_w_t_i_w(roll, pitch):
    inertia = np.diag([4e-3, 5e-3, 7e-3])
    w = np.array([euler_zxy.body_rates(roll, pitch, *row) for row in np.eye(3)]).T
    assert full(euler_zxy.inertia_matrix(4e-3, 5e-3, 7e-3, roll, pitch)) == pytest.approx(
        w.T @ inertia @ w, abs=1e-15
    )


@given(ANGLE, ANGLE, RATE, RATE, RATE)
def test_coriolis_torques_are_those_of_lagrange(roll, pitch, d_roll, d_pitch, d_yaw):
    """C d_eta = dM/dt d_eta - d(kinetic energy)/d_eta, here by differences."""

    def matrix(roll, pitch):
        return full(euler_zxy.inertia_matrix(4e-3, 5e-3, 7e-3, roll, pitch))

    h, rates = 1e-5, np.array([d_roll, d_pitch, d_yaw])
    by_roll = (matrix(roll + h, pitch) - matrix(roll - h, pitch)) / (2 * h)
    by_pitch = (matrix(roll, pitch + h) - matrix(roll, pitch - h)) / (2 * h)
    lagrange = (by_roll * rates[0] + by_pitch * rates[1]) @ rates - 0.5 * np.array(
        [rates @ by_roll @ rates, rates @ by_pitch @ rates, 0.0]
    )
    assert euler_zxy.coriolis(4e-3, 5e-3, 7e-3, roll, pitch, *rates) == pytest.approx(
        lagrange, abs=1e-9
    )


@given(ANGLE, ANGLE, RATE, RATE, RATE)
def test_equal_moments_of_inertia_have_the_short_form(roll, pitch, d_roll, d_pitch, d_yaw):
    cr, sr = math.cos(roll), math.sin(roll)
    assert euler_zxy.inertia_matrix(1, 1, 1, roll, pitch) == pytest.approx(
        (1, 1, 1, 0, 0, sr), abs=1e-12
    )
    assert euler_zxy.coriolis(1, 1, 1, roll, pitch, d_roll, d_pitch, d_yaw) == pytest.approx(
        (-cr * d_pitch * d_yaw, cr * d_roll * d_yaw, cr * d_roll * d_pitch), abs=1e-12
    )


def test_a_body_that_falls_and_tumbles_keeps_its_energy():
    state = (0.0, 0.0, 10.0, 0.2, -0.3, 0.1, 0.5, 0.2, 1.0, 1.0, -0.7, 0.4)

    def energy(s):
        w = np.array(euler_zxy.body_rates(s[3], s[4], *s[9:]))
        return UNLIKE[0] * (9.81 * s[2] + 0.5 * np.dot(s[6:9], s[6:9])) + 0.5 * np.dot(
            UNLIKE[1:4], w * w
        )

    start, dt = energy(state), 1e-5
    for _ in range(20_000):
        state = euler_zxy.euler_step(state, 0.0, 0.0, 0.0, 0.0, UNLIKE, dt)
    assert energy(state) == pytest.approx(start, rel=1e-4)


def test_friction_ends_a_fall_at_its_terminal_velocity_and_a_turn_at_its_rate():
    body = (0.225, 5e-3, 5e-3, 5e-3, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 9.81)
    state = (0.0,) * 12
    for _ in range(5000):
        state = euler_zxy.euler_step(state, 0.0, 0.0, 0.0, 0.1, body, 1e-3)
    assert state[8] == pytest.approx(-0.225 * 9.81 / 1.0, rel=1e-6)
    assert state[11] == pytest.approx(0.1 / 0.5, rel=1e-9)
