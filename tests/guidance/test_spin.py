"""A quadrotor that loses a rotor keeps its place in a spin; vehicles that cannot are refused."""

import numpy as np
import pytest
from test_lost_rotor import largest_distance

import xtdrone as xd
from xtdrone_core import FleetModel
from xtdrone_core.errors import XtdroneError
from xtdrone_dynamics.abilities.effectiveness import effectiveness
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_guidance.spin.relaxed_hover import GRID, relaxed_hover
from xtdrone_sim.vehicles.sdf import load_vehicle


def fleet_of(name):
    return FleetModel.of([load_vehicle(name)])


@pytest.mark.parametrize("lost", range(4))
def test_thrusts_carry_an_iris_and_turn_against_its_gyroscopic_torque(lost):
    fleet = fleet_of("iris")
    hover = relaxed_hover(fleet, 0, lost)
    lift, *torque = effectiveness(fleet)[0, 2:, :4] @ hover.thrust[-1]
    weight = fleet.vehicle["mass"][0] * GRAVITY
    assert (hover.thrust[:, lost] == 0.0).all() and (hover.gain[:, lost] == 0.0).all()
    assert lift * hover.axis[-1, 2] == pytest.approx(weight, rel=0.01)
    way = np.sign(effectiveness(fleet)[0, 5, :4])
    spin = way[np.flatnonzero(way != way[lost])[0]] * hover.rate[-1]
    rates = np.array([*hover.tilt_rate[-1], spin])
    gyroscopic = np.cross(rates, np.array(fleet.vehicle["inertia"][0]) @ rates)
    assert torque[:2] == pytest.approx(gyroscopic[:2], abs=1e-6)


@pytest.mark.parametrize("lost", range(4))
def test_the_axis_of_the_spin_is_stable_at_each_rate(lost):
    """Poles of rates, axis and thrusts, by finite differences of their equations."""
    fleet = fleet_of("iris")
    hover = relaxed_hover(fleet, 0, lost)
    inertia = np.array(fleet.vehicle["inertia"][0])
    matrix = effectiveness(fleet)[0, 3:, :4]
    way = np.sign(matrix[2])
    turn = way[np.flatnonzero(way != way[lost])[0]]

    def change(state, k):
        rates = np.array([state[0], state[1], turn * hover.rate[k]])
        axis = np.array([state[2], state[3], hover.axis[k, 2]])
        torque = matrix @ state[4:] - np.cross(rates, inertia @ rates)
        wanted = hover.thrust[k] - hover.gain[k] @ (state - balance(k))
        return np.concatenate(
            [
                np.linalg.solve(inertia, torque)[:2],
                -np.cross(rates, axis)[:2],
                (wanted - state[4:]) / 0.0188,
            ]
        )

    def balance(k):
        return np.concatenate([hover.tilt_rate[k], hover.axis[k, :2], hover.thrust[k]])

    for k in range(GRID):
        step = 1e-5 * np.eye(8)
        jacobian = [(change(balance(k) + s, k) - change(balance(k) - s, k)) / 2e-5 for s in step]
        assert np.linalg.eigvals(np.array(jacobian).T).real.max() < -0.5


@pytest.mark.parametrize(
    "vehicle, why",
    [
        ("racer", "drag does not end the spin below 25 rad/s"),
        ("crazyflie", "drag does not end the spin below 25 rad/s"),
        ("heavy_lifter", "steered with 0.50 of its weight at most"),
        ("quadrotor_arm", "has joints, which swing in a spin"),
        ("coaxial", "has no four rotors that lift it"),
    ],
)
def test_vehicles_that_cannot_spin_are_refused(vehicle, why):
    scenario = xd.Scenario(vehicles=vehicle, mixer="spin", log="none")
    with pytest.raises(XtdroneError, match=why), xd.Simulation(scenario):
        pass


@pytest.mark.slow
def test_an_iris_keeps_its_place_without_a_rotor_in_wind():
    assert largest_distance("iris", 1, wind="5,0,0", mixer="spin") < 1.5


@pytest.mark.slow
def test_a_hexarotor_takes_the_rotor_out_as_ever():
    assert largest_distance("typhoon_h480", 3, mixer="spin") < 0.5
