"""INDI of planes: torque by increments of the control surfaces."""

import math

import numpy as np
import pytest

import xtdrone as xd
from loiter import loiter
from stack_flights import MissionFlight, each_step
from xtdrone_autopilot.interfaces import Estimator
from xtdrone_autopilot.parameters.store import ParameterStore
from xtdrone_autopilot.state.vehicle_status import (
    ATTITUDE,
    HOVERS,
    ON_WINGS,
    describe_bodies,
    new_status,
)
from xtdrone_core import FleetModel, Mode
from xtdrone_core.fleet_model import SURFACE
from xtdrone_dynamics.abilities.control_surfaces import surface_torque, wing_axes
from xtdrone_dynamics.abilities.vehicle_type import FIXED_WING, NOT_VTOL, vehicle_types, vtol_types
from xtdrone_guidance.allocation.surfaces import Surfaces
from xtdrone_guidance.indi.disturbance import Disturbance
from xtdrone_guidance.indi.rate_control import IndiRateControl

DT = 0.004
SPEED = 18.0  # [m/s]


class Gliding:
    """What flies on its wings and only turns: surfaces with their lag, a torque from outside."""

    def __init__(self, name="plane"):
        self.fleet = FleetModel.of([xd.load_vehicle(name)])
        self.status, self.estimator = new_status(1), Estimator(1, (0.0, 0.0, 0.0), np.zeros(3))
        describe_bodies(self.status, self.fleet)
        self.status["armed"], self.status["landed"], self.status["sp_kind"] = True, False, ATTITUDE
        self.status["mode"] = Mode.LOITER
        if self.status["vtol_type"][0] != NOT_VTOL:
            self.status["vehicle_type"], self.status["vtol_state"] = FIXED_WING, ON_WINGS
        self.parameters = ParameterStore(
            1, vehicle_types(self.fleet), vtol_types(self.fleet)
        ).values
        self.estimator.vel[0] = SPEED, 0.0, 0.0
        self.loop, self.surfaces = IndiRateControl(self.fleet), Surfaces(self.fleet)
        self.loop.take_feedback(Disturbance(self.fleet))
        self.commands = np.zeros(self.fleet.actuator.shape)
        self.position = np.zeros(self.fleet.actuator.shape[1])

    def run(self, seconds, torque=(0.0, 0.0, 0.0)):
        inertia, actuator = self.fleet.vehicle["inertia"][0], self.fleet.actuator[0]
        effect = surface_torque(self.fleet)[0] @ wing_axes(self.fleet.vehicles[0])
        effect *= (SPEED / 15.0) ** 2
        lag = 1.0 - np.exp(-DT / np.maximum(actuator["time_constant"], 1e-6))
        for _ in range(round(seconds / DT)):
            self.loop.step(self.status, self.parameters, self.estimator, DT)
            self.surfaces.step(self.status, self.parameters, self.estimator, DT, self.commands)
            self.position += lag * (self.commands[0] - self.position)
            moment = self.position @ effect + torque
            self.estimator.ang_vel[0] += np.linalg.solve(inertia, moment) * DT
        return self.estimator.ang_vel[0]


def test_rates_are_followed_and_a_constant_torque_is_taken_up():
    it = Gliding()
    it.status["sp_rates"] = 0.4, -0.2, 0.1
    np.testing.assert_allclose(it.run(1.5), [0.4, -0.2, 0.1], atol=0.01)
    np.testing.assert_allclose(it.run(1.5, (1.0, -0.5, 0.2)), [0.4, -0.2, 0.1], atol=0.01)
    assert (abs(it.commands) <= 1.0).all()


VTOLS = ["standard_vtol", "tailsitter", "tiltrotor"]


@pytest.mark.parametrize("name", VTOLS)
def test_vtols_on_their_wings_follow_roll_and_pitch_rates(name):
    it = Gliding(name)
    forward, right, _ = wing_axes(it.fleet.vehicles[0])
    wanted = 0.3 * forward + 0.2 * right
    it.status["sp_rates"] = wanted
    rates = it.run(1.5)
    assert rates @ forward == pytest.approx(0.3, abs=0.03)
    assert rates @ right == pytest.approx(0.2, abs=0.03)


def test_a_vtol_in_hover_keeps_the_commands_of_its_surfaces():
    it = Gliding("tailsitter")
    it.status["vtol_state"], it.status["sp_torque"] = HOVERS, 1.0
    it.commands[:] = 0.25
    it.surfaces.step(it.status, it.parameters, it.estimator, DT, it.commands)
    assert (it.commands == 0.25).all()


@pytest.mark.long
@pytest.mark.parametrize("name", VTOLS)
def test_a_vtol_flies_by_indi_to_its_wings_and_back_in_gusts(name):
    flight = MissionFlight(
        vehicle=name,
        seed=2,
        log="none",
        wind="mean=0,5,0 dryden=5",
        velocity_control="indi",
        rate_control="indi",
        mixer="least_squares",
    )
    status, heights = flight.autopilot.status, []
    try:
        flight.wait(lambda: status["ready"][0], 60)
        flight.autopilot.commander.take_off(0, math.nan, flight.simulation.t_us)
        assert flight.autopilot.commander.arm(0, flight.simulation.t_us).accepted
        flight.wait(lambda: flight.mode == Mode.LOITER, 60)
        flight.run(5)
        flight.autopilot.vtol.request(0, ON_WINGS)
        flight.wait(lambda: status["vtol_state"][0] == ON_WINGS, 60)
        each_step(flight.simulation, lambda t, state, _: heights.append(state.pos[0, 2]))
        flight.run(40)
        flight.autopilot.vtol.request(0, HOVERS)
        flight.wait(lambda: status["vtol_state"][0] == HOVERS, 60)
    finally:
        flight.simulation.close()
    assert np.ptp(heights) < 6.0


def test_surfaces_stay_within_their_range():
    it = Gliding()
    it.status["sp_rates"] = 0.0, 0.0, 0.0
    it.run(1.0, (60.0, 0.0, 0.0))
    surfaces = it.fleet.actuator[0]["kind"] == SURFACE
    assert abs(it.commands[0, surfaces]).max() == pytest.approx(1.0)


@pytest.mark.parametrize("change", [{"mode": Mode.MANUAL}, {"landed": True}, {"armed": False}])
def test_what_is_flown_by_hand_or_stands_keeps_its_commands(change):
    it = Gliding()
    it.status["sp_rates"] = 1.0, 0.0, 0.0
    for name, value in change.items():
        it.status[name] = value
    it.commands[:] = 0.25
    it.run(0.1)
    assert (it.commands == 0.25).all()


@pytest.mark.long
def test_a_plane_loiters_in_gusts():
    found = loiter(
        wind="mean=0,5,0 dryden=5", rate_control="indi", mixer="least_squares", seconds=20.0
    )
    assert found.bank < 1.5 and found.pitch < 1.0 and found.height < 2.0
