"""The half wing of Φ-theory against closed forms, with DarkO's data."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from darko import DARKO, NORMAL, RHO, WEIGHT, trim
from xtdrone_dynamics.forces import half_wing


def whole(thrust, deflection, velocity, rate=(0.0, 0.0, 0.0)):
    """Force and moment (6,) of two halves with the thrust of both propellers."""
    return 2.0 * np.array(
        half_wing.forces.py_func(DARKO, deflection, 0.5 * thrust, RHO, *velocity, *rate)
    )


@pytest.mark.parametrize("speed", [0.0, 0.5, 3.0, 6.0, 10.0, 15.0, 20.0])
def test_level_flight_is_trimmed_by_the_closed_form(speed):
    alpha, thrust, deflection = trim(speed)
    found = whole(thrust, deflection, (speed * math.cos(alpha), 0.0, speed * math.sin(alpha)))
    found[0] += thrust - WEIGHT * math.sin(alpha)
    found[2] += WEIGHT * math.cos(alpha)
    np.testing.assert_allclose(found, 0.0, atol=1e-9)


def test_elevon_and_thrust_suffice_from_hover_to_20_metres_per_second():
    speeds = np.arange(0.0, 20.1, 0.25)
    alphas, thrusts, deflections = np.array([trim(speed) for speed in speeds]).T
    worst = np.argmax(abs(deflections))
    assert np.degrees(abs(deflections[worst])) == pytest.approx(28.0, abs=0.5)
    assert speeds[worst] == pytest.approx(6.0, abs=0.5)
    assert thrusts.min() / WEIGHT == pytest.approx(0.183, abs=2e-3)
    assert alphas[0] == pytest.approx(0.5 * math.pi) and (np.diff(alphas) < 0.0).all()


def test_no_elevon_trims_a_lift_slope_as_of_a_short_wing():
    """With 3.914 in place of 2 pi the elevons hold the wings at less speed, and not at 10 m/s."""
    steeper = [abs(trim(speed, 3.914)[2]) for speed in np.arange(0.0, 20.1, 0.25)]
    assert np.degrees(max(steeper)) > 30.0


def test_at_rest_the_slipstream_alone_acts():
    found = whole(WEIGHT, 0.2, (0.0, 0.0, 0.0))
    pressure = 0.5 * WEIGHT / (RHO * DARKO.disc_area)
    assert found[2] == pytest.approx(-NORMAL * 0.2 * DARKO.zeta_f * pressure)
    assert found[4] == pytest.approx(NORMAL * DARKO.offset * 0.2 * DARKO.zeta_m * pressure)
    assert found[0] == pytest.approx(-RHO * DARKO.area * DARKO.cd0 * pressure)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rotation_is_damped_in_proportion_to_speed(axis):
    rate = np.eye(3)[axis] * 0.5
    still = whole(0.0, 0.0, (8.0, 0.0, 0.0))
    moment = (whole(0.0, 0.0, (8.0, 0.0, 0.0), rate) - still)[3:]
    arm = (DARKO.span, DARKO.chord, DARKO.span)[axis]
    wanted = -RHO * DARKO.area * 8.0 * DARKO.damping[axis] * arm**2 * 0.5
    np.testing.assert_allclose(moment, np.eye(3)[axis] * wanted, atol=1e-12)


def test_a_disturbed_angle_of_attack_turns_back():
    up, down = (whole(0.0, 0.0, (10.0, 0.0, z))[4] for z in (0.5, -0.5))
    assert up < 0.0 < down


def test_a_wrench_is_that_of_its_axes_at_its_place():
    """Of a wing that stands askew, away from the origin of a body that turns."""
    axes, place = (
        Rotation.from_euler("zyx", [0.7, -0.4, 1.1]).as_matrix(),
        np.array([0.3, -0.5, 0.2]),
    )
    values = {**vars(DARKO), "pos": place, "forward": axes[:, 0], "left": axes[:, 1]}
    fields = [(name, float, np.shape(value)) for name, value in values.items()]
    wing = np.array([tuple(values.values())], fields)[0]
    velocity, rate = np.array([6.0, 1.0, 2.0]), np.array([0.4, -0.8, 0.5])
    local = np.hstack([(velocity + np.cross(rate, place)) @ axes, rate @ axes])
    found = half_wing.forces(wing, 0.2, 3.0, RHO, *local)
    force, moment = axes @ found[:3], axes @ found[3:]
    wanted = np.hstack([force, moment + np.cross(place, force)])
    there = half_wing.wrench(wing, 0.2, 3.0, RHO, *velocity, *rate)
    np.testing.assert_allclose(there, wanted, rtol=1e-12)
