"""Rotor and rigid body against closed forms."""

import math

import numpy as np
import pytest

from xtdrone_core import FleetModel
from xtdrone_dynamics import quaternion, rigid_body
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.forces import rotor
from xtdrone_sim.vehicles.sdf import load_vehicle

REST = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
INERTIA = (0.03, 0.02, 0.05, 0.002, -0.001, 0.003)
INVERSE = rigid_body.symmetric_inverse(INERTIA)


def full(m):
    return np.array([[m[0], m[3], m[4]], [m[3], m[1], m[5]], [m[4], m[5], m[2]]])


def run(
    state,
    steps,
    dt,
    force=(0.0, 0.0, 0.0),
    torque=(0.0, 0.0, 0.0),
    mass=1.5,
    inertia=INERTIA,
    gravity=0.0,
):
    inverse = rigid_body.symmetric_inverse(inertia)
    for _ in range(steps):
        state = rigid_body.step(state, force, torque, mass, inertia, inverse, gravity, dt)
    return state


def test_symmetric_inverse():
    np.testing.assert_allclose(full(INERTIA) @ full(INVERSE), np.eye(3), atol=1e-12)


@pytest.mark.slow
def test_free_fall_is_exact():
    state = run(REST, 250, 0.004, gravity=GRAVITY)
    assert state[2] == pytest.approx(-0.5 * GRAVITY, rel=1e-12)
    assert state[9] == pytest.approx(-GRAVITY, rel=1e-12)


def test_a_force_accelerates_by_its_mass():
    force = np.array([3.0, -4.0, 50.0])
    state = run(REST, 10, 0.004, force=tuple(force), mass=2.0, gravity=GRAVITY)
    wanted = force / 2.0 - (0.0, 0.0, GRAVITY)
    np.testing.assert_allclose(state[7:10], 0.04 * wanted, rtol=1e-12)
    np.testing.assert_allclose(state[:3], 0.5 * 0.04**2 * wanted, rtol=1e-12)


@pytest.mark.slow
def test_torque_free_precession_of_a_symmetric_top():
    """Body rates turn about the axis of symmetry at (Izz - Ixx) / Ixx times the spin."""
    inertia = (0.02, 0.02, 0.05, 0.0, 0.0, 0.0)
    spin, across, seconds = 6.0, 1.0, 2.0
    state = run(REST[:10] + (across, 0.0, spin), int(seconds / 0.004), 0.004, inertia=inertia)
    phase = (0.05 - 0.02) / 0.02 * spin * seconds
    np.testing.assert_allclose(
        state[10:], (across * math.cos(phase), across * math.sin(phase), spin), atol=1e-5
    )


def test_energy_and_angular_momentum_of_a_tumbling_body_stay():
    state = REST[:10] + (3.0, 2.0, 6.0)
    before = energy_and_momentum(state)
    after = energy_and_momentum(run(state, 2500, 0.004))
    assert after[0] == pytest.approx(before[0], rel=1e-6)
    np.testing.assert_allclose(after[1], before[1], atol=1e-6 * np.linalg.norm(before[1]))


def energy_and_momentum(state):
    rate = np.array(state[10:])
    momentum = full(INERTIA) @ rate
    return 0.5 * rate @ momentum, np.array(quaternion.rotate(*state[3:7], *momentum))


@pytest.mark.parametrize("angle", [1e-9, 0.01, 0.5, 2.0])
def test_a_turn_of_a_step_is_that_about_its_axis(angle):
    axis = np.array([0.6, -0.48, 0.64])
    found = rigid_body.displace(*[0.0] * 6, 1.0, 1.0, 2.0, 3.0, *(angle * axis / 0.004), 0.004)
    np.testing.assert_allclose(found[:3], (0.004, 0.008, 0.012), rtol=1e-15)
    turned = [*(math.sin(angle / 2) * axis), math.cos(angle / 2)]
    np.testing.assert_allclose(found[3:], turned, rtol=1e-14, atol=1e-15)


def test_order_of_the_integrator_is_four():
    start, torque = REST[:10] + (3.0, 2.0, 6.0), (0.02, -0.01, 0.03)
    exact = np.array(run(start, 6400, 1.0 / 6400, torque=torque))
    errors = [
        np.abs(np.array(run(start, n, 1.0 / n, torque=torque)) - exact).max()
        for n in (50, 100, 200)
    ]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)
    assert math.log2(errors[1] / errors[2]) == pytest.approx(4.0, abs=0.3)


def test_mean_gyroscopic_torque_gives_the_rate_of_runge_kutta():
    rate, torque, dt = (3.0, 2.0, 6.0), (0.02, -0.01, 0.03), 0.004
    state = run(REST[:10] + rate, 1, dt, torque=torque)
    mean = rigid_body.mean_gyroscopic_torque(INERTIA, INVERSE, *rate, *torque, dt)
    change = full(INVERSE) @ (np.array(torque) + mean) * dt
    np.testing.assert_allclose(np.array(rate) + change, state[10:], rtol=1e-13)


@pytest.mark.parametrize("start, target, tau", [(0.0, 900.0, 0.0125), (900.0, 200.0, 0.025)])
def test_spin_up_of_a_rotor_is_exponential(start, target, tau):
    speed = start
    for _ in range(10):
        speed = rotor.lag(speed, target, 0.0125, 0.025, 0.004)
    assert speed == pytest.approx(target + (start - target) * math.exp(-0.04 / tau), rel=1e-12)


@pytest.mark.parametrize("start, target", [(0.0, 900.0), (900.0, 200.0), (500.0, 500.0)])
def test_means_over_a_step_are_the_integrals(start, target):
    tau = 0.0125 if target > start else 0.025
    t = (np.arange(200_000) + 0.5) / 200_000 * 0.004
    speed = target + (start - target) * np.exp(-t / tau)
    mean, square = rotor.mean_powers(start, target, 0.0125, 0.025, 0.004)
    assert mean == pytest.approx(speed.mean(), rel=1e-9)
    assert square == pytest.approx((speed**2).mean(), rel=1e-9)


@pytest.mark.parametrize("start, target", [(0.0, 900.0), (900.0, 200.0), (800.0, 0.0)])
def test_factors_of_a_step_give_the_same(start, target):
    times = 0.0125, 0.025, 0.004
    up, down = (rotor.lag_factors(tau, 0.004) for tau in times[:2])
    wanted = rotor.lag(start, target, *times), *rotor.mean_powers(start, target, *times)
    assert rotor.lagged(start, target, up, down) == pytest.approx(wanted, rel=1e-12)


def test_a_stopped_rotor_comes_to_rest():
    speed = 800.0
    for _ in range(250):
        speed = rotor.lag(speed, 0.0, 0.0125, 0.025, 0.004)
    assert speed == 0.0


def test_a_rotor_without_lag_follows_at_once():
    assert rotor.lag(100.0, 700.0, 0.0, 0.0, 0.004) == 700.0
    assert rotor.mean_powers(100.0, 700.0, 0.0, 0.0, 0.004) == (700.0, 490_000.0)


@pytest.mark.parametrize("command, speed", [(0.6, 0.0), (0.6, 300.0), (0.2, 900.0), (0.0, 400.0)])
def test_a_rotor_in_reverse_is_the_mirror_image_of_one_that_turns_forwards(command, speed):
    fleet = FleetModel.of([load_vehicle("iris")])
    up, down = rotor.lag_factors(0.0125, 0.004), rotor.lag_factors(0.025, 0.004)

    def act(side):
        """Its speed and wrench, and its power."""
        *acted, power = rotor.act(
            fleet.actuator[0, 0],
            fleet.effects[0],
            fleet.propellers,
            side * command,
            side * speed,
            1.0,
            1.0,
            100.0,
            0.0,
            0.0,
            0.0,
            up,
            down,
        )
        return np.array(acted), power

    (forwards, power), (backwards, other) = act(1.0), act(-1.0)
    assert forwards[0] == pytest.approx(
        rotor.lag(speed, 100.0 + 1000.0 * command if command else 0.0, 0.0125, 0.025, 0.004)
    )
    np.testing.assert_allclose(backwards, -forwards, rtol=1e-12)
    assert other == pytest.approx(power)


@pytest.mark.parametrize("direction", [1, -1])
def test_rotor_wrench_is_equations_3_to_6(direction):
    speed, v = 600.0, np.array([3.0, -2.0, 1.5])
    axis = np.array([0.1, 0.2, 1.0]) / np.linalg.norm([0.1, 0.2, 1.0])
    found = np.array(
        rotor.wrench(speed, speed**2, direction, *axis, 5.84e-6, 0.06, 1.75e-4, 1e-6, *v)
    )
    across = v - v @ axis * axis
    thrust = speed**2 * 5.84e-6
    np.testing.assert_allclose(found[:3], thrust * axis - speed * 1.75e-4 * across, rtol=1e-12)
    np.testing.assert_allclose(
        found[3:], -direction * speed * 1e-6 * across - direction * 0.06 * thrust * axis, rtol=1e-9
    )


def test_coefficients_from_geometry_are_equations_7_to_10():
    rho, d, blades, chord = 1.225, 0.25, 2, 0.02
    assert rotor.thrust_constant(0.1, d, rho) == pytest.approx(
        0.1 * rho * d**4 / (4.0 * math.pi**2)
    )
    assert rotor.drag_coefficient(0.02, blades, chord, d, rho) == pytest.approx(
        rho * blades * chord * 0.02 * d * d / 16
    )
    assert rotor.rolling_coefficient(0.3, -0.1, blades, 5.7, chord, d, rho) == pytest.approx(
        (0.3 / 48 - 0.1 / 64) * rho * blades * 5.7 * chord * d**3
    )
    assert rotor.moment_constant(0.04, 0.1, d) == pytest.approx(0.1)
