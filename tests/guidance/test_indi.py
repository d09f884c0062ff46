"""INDI: the disturbance that it measures, and flights of vehicles that are steered differently."""

import numpy as np
import pytest

import xtdrone as xd
from circles import rms_of_a_circle
from xtdrone_autopilot.interfaces import Estimator
from xtdrone_autopilot.state.vehicle_status import new_status
from xtdrone_core import FleetModel, SensorBatch
from xtdrone_dynamics.abilities.effectiveness import hover_thrust
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_guidance.indi.disturbance import Disturbance

DT = 0.004
INDI = {"velocity_control": "indi", "rate_control": "indi"}


class Hovering:
    """A hover of exact readings, into which a force and a torque are put."""

    def __init__(self, name="iris"):
        vehicle = xd.load_vehicle(name)
        self.fleet = FleetModel.of([vehicle])
        self.status = new_status(1)
        self.status["mass"], self.status["inertia"] = vehicle.mass, vehicle.inertia
        self.status["armed"], self.status["landed"] = True, False
        self.estimator = Estimator(1, (0.0, 0.0, 0.0), np.zeros(3))
        self.sensors = SensorBatch.empty(1)
        actuator = self.fleet.actuator
        speed = np.sqrt(hover_thrust(self.fleet) / np.maximum(actuator["motor_constant"], 1e-12))
        self.commands = np.where(
            self.fleet.rotor_mask,
            (speed - actuator["zero_position_armed"])
            / np.where(self.fleet.rotor_mask, actuator["input_scaling"], 1.0),
            0.0,
        )
        self.disturbance = Disturbance(self.fleet)

    def run(self, seconds, force=(0.0, 0.0, 0.0), torque=(0.0, 0.0, 0.0)):
        """Steps with a constant force, world [N], and torque, body [N m]."""
        mass, inertia = self.status["mass"][0], self.status["inertia"][0]
        self.sensors.accel[0] = np.array(force) / mass + [0.0, 0.0, GRAVITY]
        for _ in range(round(seconds / DT)):
            self.estimator.ang_vel[0] += np.linalg.solve(inertia, torque) * DT
            self.disturbance.step(self.status, self.estimator, self.sensors, self.commands, DT)


@pytest.mark.parametrize("vehicle", ["iris", "octorotor", "coaxial"])
def test_a_hover_is_free_of_disturbance_once_the_rotors_turn(vehicle):
    hovering = Hovering(vehicle)
    hovering.run(3.0)
    assert np.abs(hovering.disturbance.force).max() < 1e-3
    assert np.abs(hovering.disturbance.torque).max() < 1e-4


def test_force_and_torque_are_measured():
    hovering = Hovering()
    hovering.run(1.0)
    hovering.run(0.5, force=(2.0, -1.0, 0.5))
    assert hovering.disturbance.force[0] == pytest.approx([2.0, -1.0, 0.5], abs=0.01)
    hovering = Hovering()
    hovering.run(1.0)
    hovering.run(0.12, torque=(0.05, 0.0, -0.02))
    assert hovering.disturbance.torque[0] == pytest.approx([0.05, 0.0, -0.02], abs=2e-3)


def test_the_ground_is_no_disturbance():
    hovering = Hovering()
    hovering.run(0.5, force=(0.0, 0.0, 10.0))
    hovering.status["landed"] = True
    hovering.run(DT)
    assert not hovering.disturbance.force.any() and not hovering.disturbance.torque.any()


@pytest.mark.slow
@pytest.mark.parametrize(
    "vehicle", ["iris", "bicopter", pytest.param("tilted_hexarotor", marks=pytest.mark.long)]
)
def test_a_vehicle_flies_a_circle_in_wind_and_lands(vehicle):
    assert rms_of_a_circle(vehicle, **INDI) < 0.2


@pytest.mark.long
@pytest.mark.parametrize("vehicle", ["coaxial", "hexarotor_arms_tilt", "heavy_lifter", "octorotor"])
def test_other_vehicles_fly_a_circle_in_wind_and_land(vehicle):
    assert rms_of_a_circle(vehicle, **INDI) < 0.2


@pytest.mark.slow
def test_indi_keeps_closer_than_the_cascade():
    assert rms_of_a_circle("iris", **INDI) < 0.7 * rms_of_a_circle("iris")


@pytest.mark.slow
def test_a_flight_is_saved_and_goes_on_to_the_bit(tmp_path):
    scenario = xd.Scenario(vehicles="iris", wind="5,0,0", gps="rtk", seed=3, **INDI)
    with xd.Simulation(scenario) as simulation:
        simulation.arm()
        simulation.takeoff(2.0)
        simulation.save(tmp_path / "flight.npz")
        simulation.step(250)
        first = simulation.state.pos.copy()
        simulation.load(tmp_path / "flight.npz")
        simulation.step(250)
        assert (simulation.state.pos == first).all()


def test_a_tail_sitter_hovers_without_disturbance_but_the_drag_of_its_slipstream():
    hovering = Hovering("phi_tailsitter")
    hovering.run(3.0)
    assert np.abs(hovering.disturbance.force).max() < 5e-3
    assert np.abs(hovering.disturbance.torque).max() < 1e-4
    assert np.abs(hovering.disturbance.wings.level).max() < 1e-9
