"""SE(3) and Mellinger's controller: the laws in matrices, and flights."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import xtdrone as xd
from circles import rms_of_a_circle
from xtdrone_autopilot.control.rate import rate_gains
from xtdrone_autopilot.interfaces import Estimator
from xtdrone_autopilot.parameters.store import ParameterStore
from xtdrone_autopilot.state.vehicle_status import TRAJECTORY, describe_bodies, new_status
from xtdrone_core import FleetModel, SensorBatch
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_guidance.geometric.attitude_control import (
    MellingerAttitudeControl,
    Se3AttitudeControl,
    rotation_error,
)
from xtdrone_guidance.geometric.rate_control import MellingerRateControl, Se3RateControl
from xtdrone_guidance.geometric.velocity_control import MellingerVelocityControl, Se3VelocityControl

LOOPS = ("velocity_control", "attitude_control", "rate_control")
RANDOM = np.random.default_rng(3)


def vee(matrix):
    """The vector of a skew matrix."""
    return np.array([matrix[2, 1], matrix[0, 2], matrix[1, 0]])


class Flying:
    """An iris in the air at a random state."""

    def __init__(self):
        self.fleet = FleetModel.of([xd.load_vehicle("iris")])
        self.status = new_status(1)
        describe_bodies(self.status, self.fleet)
        self.status["armed"], self.status["landed"] = True, False
        self.status["sp_kind"], self.status["tilt_limit"] = TRAJECTORY, 0.8
        self.parameters = ParameterStore(1).values
        self.estimator = Estimator(1, (0.0, 0.0, 0.0), np.zeros(3))
        self.attitude = Rotation.from_rotvec(RANDOM.uniform(-0.4, 0.4, 3))
        self.estimator.quat[0] = self.attitude.as_quat()
        self.estimator.ang_vel[0] = RANDOM.uniform(-1.0, 1.0, 3)
        self.sensors, self.commands = SensorBatch.empty(1), np.zeros(self.fleet.actuator.shape)

    def step(self, loop, dt=0.004):
        loop.step(self.status, self.parameters, self.estimator, dt)


def test_the_error_of_attitude_is_that_of_matrices():
    for _ in range(50):
        r, wanted = Rotation.random(rng=RANDOM), Rotation.random(rng=RANDOM)
        a, b = r.as_matrix(), wanted.as_matrix()
        np.testing.assert_allclose(
            rotation_error(*r.as_quat(), *wanted.as_quat()),
            0.5 * vee(b.T @ a - a.T @ b),
            atol=1e-12,
        )


@pytest.mark.parametrize("gyroscopic", [True, False])
def test_the_loops_together_are_the_law(gyroscopic):
    it = Flying()
    wanted = Rotation.from_rotvec([0.2, -0.1, 0.3])
    it.status["sp_quat"], it.status["sp_yaw_rate"] = wanted.as_quat(), 0.4
    loops = (
        (Se3AttitudeControl, Se3RateControl)
        if gyroscopic
        else (MellingerAttitudeControl, MellingerRateControl)
    )
    for kind in loops:
        it.step(kind(it.fleet))
    r, wanted = it.attitude.as_matrix(), wanted.as_matrix()
    rates, inertia = it.estimator.ang_vel[0], it.fleet.vehicle["inertia"][0]
    k_w = np.array(rate_gains(it.status[0], it.parameters[0])[0])
    p = it.parameters[0]
    k_r = k_w * [p["MC_ROLL_P"], p["MC_PITCH_P"], p["MC_YAW_P"]]
    error = 0.5 * vee(wanted.T @ r - r.T @ wanted)
    error_w = rates - r.T @ [0.0, 0.0, 0.4]
    torque = inertia @ (-k_r * error - k_w * error_w)
    if gyroscopic:
        torque += np.cross(rates, inertia @ rates)
    np.testing.assert_allclose(it.status["sp_torque"][0], torque, atol=1e-9)


def test_the_thrust_is_the_force_along_the_axis_that_is_there():
    it = Flying()
    it.status["sp_vel"], it.status["sp_acc"] = it.estimator.vel[0], [1.0, -2.0, 0.5]
    it.step(Se3VelocityControl(it.fleet), 0.008)
    force = it.status["mass"][0] * np.array([1.0, -2.0, 0.5 + GRAVITY])
    z_axis = it.attitude.as_matrix()[:, 2]
    assert it.status["sp_thrust"][0] == pytest.approx(force @ z_axis, rel=1e-9)
    wanted = Rotation.from_quat(it.status["sp_quat"][0]).as_matrix()
    np.testing.assert_allclose(wanted[:, 2], force / np.linalg.norm(force), atol=1e-9)


def test_mellinger_turns_with_the_jerk_until_the_trajectory_ends():
    it = Flying()
    velocity, attitude = MellingerVelocityControl(it.fleet), MellingerAttitudeControl(it.fleet)
    turn = MellingerVelocityControl.FEEDBACK(it.fleet)
    velocity.take_feedback(turn)
    attitude.take_feedback(turn)
    jerk, acceleration = np.array([1.5, -0.7, 0.3]), np.zeros(3)
    for _ in range(100):
        acceleration = acceleration + 0.008 * jerk
        it.status["sp_vel"], it.status["sp_acc"] = it.estimator.vel[0], acceleration
        it.step(velocity, 0.008)
    body = it.attitude.as_matrix().T @ jerk
    scale = it.status["mass"][0] / it.status["sp_thrust"][0]
    np.testing.assert_allclose(turn.rates[0], [-scale * body[1], scale * body[0], 0.0], rtol=1e-3)
    for _ in range(4):
        turn.step(it.status, it.estimator, it.sensors, it.commands, 0.004)
    assert not turn.rates.any()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, vehicle",
    [
        ("se3", "iris"),
        ("mellinger", "tilted_hexarotor"),
        pytest.param("mellinger", "iris", marks=pytest.mark.long),
        pytest.param("se3", "tilted_hexarotor", marks=pytest.mark.long),
    ],
)
def test_a_vehicle_flies_a_circle_in_wind_and_lands(name, vehicle):
    assert rms_of_a_circle(vehicle, **dict.fromkeys(LOOPS, name)) < 0.3


@pytest.mark.slow
def test_a_flight_is_saved_and_goes_on_to_the_bit(tmp_path):
    scenario = xd.Scenario(
        vehicles="iris",
        wind="5,0,0",
        gps="rtk",
        seed=3,
        mixer="least_squares",
        **dict.fromkeys(LOOPS, "mellinger"),
    )
    with xd.Simulation(scenario) as simulation:
        simulation.arm()
        simulation.takeoff(2.0)
        simulation.save(tmp_path / "flight.npz")
        simulation.step(250)
        first = simulation.state.pos.copy()
        simulation.load(tmp_path / "flight.npz")
        simulation.step(250)
        assert (simulation.state.pos == first).all()
