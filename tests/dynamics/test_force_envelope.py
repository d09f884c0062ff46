"""Forces without torque: bounds that can be written down for each vehicle."""

import math

import numpy as np
import pytest

from xtdrone_core import FleetModel
from xtdrone_dynamics.abilities.effectiveness import largest_thrust
from xtdrone_dynamics.abilities.force_envelope import ForceEnvelope
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_sim.vehicles.sdf import load_vehicle

UP = (0.0, 0.0, 1.0)


def envelope(name):
    fleet = FleetModel.of([load_vehicle(name)])
    return ForceEnvelope(fleet), fleet


@pytest.mark.parametrize("name", ["iris", "octorotor", "bicopter", "coaxial"])
def test_without_leaning_rotors_there_is_thrust_along_z_only(name):
    found, fleet = envelope(name)
    top = largest_thrust(fleet).sum()
    np.testing.assert_allclose(found.farthest(UP, {}), (0.0, 0.0, top), rtol=1e-3, atol=1e-6)
    assert found.across_weight() == pytest.approx(0.0, abs=1e-6)
    assert found.farthest(UP, {0: 0.1 * top}) is None


def test_leaning_rotors_lose_the_cosine_and_gain_a_side_force():
    found, fleet = envelope("tilted_hexarotor")
    top = largest_thrust(fleet).sum() * math.cos(math.radians(30.0))
    np.testing.assert_allclose(found.farthest(UP, {}), (0.0, 0.0, top), rtol=1e-5, atol=1e-5)
    weight = fleet.vehicle["mass"][0] * GRAVITY
    assert 0.2 * weight < found.across_weight() < weight * math.tan(math.radians(30.0))


def test_tilting_arms_give_full_thrust_upwards_and_a_side_force_beyond_the_weight():
    found, fleet = envelope("hexarotor_arms_tilt")
    top, weight = largest_thrust(fleet).sum(), fleet.vehicle["mass"][0] * GRAVITY
    np.testing.assert_allclose(found.farthest(UP, {}), (0.0, 0.0, top), atol=1e-4)
    side = found.farthest((0.0, 1.0, 0.0), {0: 0.0, 2: weight})
    assert side[1] > weight and np.linalg.norm(side) < top
    assert side[2] == pytest.approx(weight)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_section_has_no_force_along_its_axis_and_reaches_the_top(axis):
    found, _ = envelope("tilted_hexarotor")
    corners = found.section(axis, 24)
    np.testing.assert_allclose(corners[:, axis], 0.0, atol=1e-6)
    assert corners[:, 2].max() == pytest.approx(found.farthest(UP, {})[2], rel=1e-4)


def test_a_vehicle_without_rotors_exerts_nothing():
    found, _ = envelope("rover")
    assert found.farthest(UP, {}) is None and found.across_weight() == 0.0
