"""The rotor kernel against the equations, written out with NumPy."""

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from physics import RIGID, state_of
from xtdrone_core import FleetModel, FleetState
from xtdrone_sim.engines.body import place_bodies
from xtdrone_sim.plant.actuators import ActuatorStage
from xtdrone_sim.vehicles.sdf import load_vehicle

STEP_US = 4000


def settled(stage, commands, state, steps=500):
    for _ in range(steps):
        wrench = stage.step(commands, state, STEP_US)[:, 0]
    return wrench.copy()


def reference(model, speed, quat, vel, rate, wind):
    """XTDrone (3)-(6) at constant speed; world force and torque about the centre of gravity."""
    turn = Rotation.from_quat(quat)
    force, torque = np.zeros(3), np.zeros(3)
    for rotor, w in zip(model.rotors, speed):
        hub, axis = np.array(rotor.pos), np.array(rotor.axis)
        v = turn.inv().apply(vel - wind) + np.cross(rate, hub)
        across = v - v @ axis * axis
        thrust = rotor.motor_constant * w**2
        f = thrust * axis - w * rotor.rotor_drag_coefficient * across
        force += f
        torque += (
            np.cross(hub, f)
            - rotor.direction * rotor.moment_constant * thrust * axis
            - rotor.direction * w * rotor.rolling_moment_coefficient * across
        )
    return np.concatenate([turn.apply(force), turn.apply(torque)])


@pytest.mark.parametrize("name", RIGID)
def test_wrench_is_xtdrone_3_to_6(name):
    model = dataclasses.replace(load_vehicle(name), effects={})
    n, r = 3, len(model.rotors)
    rng = np.random.default_rng(2)
    fleet = FleetModel.of([model] * n)
    stage, state = ActuatorStage(fleet), state_of(fleet.vehicles)
    state.quat[:] = Rotation.random(n, random_state=3).as_quat()
    state.vel[:], state.ang_vel[:] = rng.normal(size=(2, n, 3)) * 4.0
    stage.wind[:] = rng.normal(size=(n, 3))
    place_bodies(fleet, state)
    commands = np.zeros_like(state.actuator)
    commands[:, :r] = rng.uniform(0.2, 0.9, (n, r))
    wrench = settled(stage, commands, state)
    for i in range(n):
        np.testing.assert_allclose(
            wrench[i],
            reference(
                model,
                state.actuator[i],
                state.quat[i],
                state.vel[i],
                state.ang_vel[i],
                stage.wind[i],
            ),
            rtol=1e-9,
            atol=1e-12,
        )


@pytest.mark.parametrize("name", ["iris", "octorotor"])
def test_without_c_d_and_c_r_and_with_linear_drag_the_wrench_is_pegasus_2_to_7(name):
    """F_i = c w_i^2, tau = A F, tau_z = k sum(-+F_i); force q (T e3) - q (m D (q^-1 v))."""
    model = load_vehicle(name)
    drag = np.array((0.5, 0.3, 0.2))
    model = dataclasses.replace(
        model,
        effects={"linear_drag": {"coefficients": tuple(drag)}},
        actuators=tuple(
            dataclasses.replace(r, rotor_drag_coefficient=0.0, rolling_moment_coefficient=0.0)
            for r in model.rotors
        ),
    )
    stage, state = ActuatorStage(FleetModel.of([model])), FleetState.zeros(1, len(model.rotors))
    turn = Rotation.random(random_state=5)
    state.quat[0], state.vel[0], state.ang_vel[0] = turn.as_quat(), (4, -2, 1), (0.3, 0.2, -0.5)
    wrench = settled(
        stage, np.random.default_rng(6).uniform(0.2, 0.9, (1, len(model.rotors))), state
    )[0]
    thrust = np.array([r.motor_constant for r in model.rotors]) * state.actuator[0] ** 2
    x, y = np.array([r.pos[:2] for r in model.rotors]).T
    turning = np.array([r.direction * r.moment_constant for r in model.rotors])
    torque = np.stack([y, -x, -turning]) @ thrust
    force = (0, 0, thrust.sum()) - drag * turn.inv().apply(state.vel[0])
    np.testing.assert_allclose(
        wrench, [*turn.apply(force), *turn.apply(torque)], rtol=1e-9, atol=1e-12
    )


def test_commands_map_to_speeds_as_px4s_plugin_does():
    stage = ActuatorStage(FleetModel.of([load_vehicle("iris")] * 5))
    state = FleetState.zeros(5, 4)
    commands = np.repeat([[0.0], [1e-9], [0.5], [1.0], [7.0]], 4, axis=1)
    settled(stage, commands, state)
    np.testing.assert_allclose(state.actuator[:, 0], (0.0, 100.0, 600.0, 1100.0, 1100.0))


def test_step_response_and_impulse_do_not_depend_on_the_step():
    """One step of 20 ms gives the impulse and speed of twenty of 1 ms."""
    model = FleetModel.of([load_vehicle("iris")])
    commands, results = np.full((1, 4), 0.8), []
    for dt_us, steps in ((20_000, 1), (1000, 20)):
        stage, state = ActuatorStage(model), FleetState.zeros(1, 4)
        impulse = 0.0
        for _ in range(steps):
            wrench = stage.step(commands, state, dt_us)[:, 0]
            impulse += wrench[0, 2] * dt_us * 1e-6
        results.append((impulse, state.actuator[0, 0]))
    assert results[0] == pytest.approx(results[1], rel=1e-12)


@pytest.mark.parametrize("reverse", [False, True])
def test_thrust_falls_linearly_with_the_air_speed_along_the_axis(reverse):
    """PX4's gazebo_motor_model: 1 - |v| / maxRelativeAirspeed, at least 0; the torque stays."""
    iris = load_vehicle("iris")
    model = dataclasses.replace(
        iris,
        actuators=tuple(
            dataclasses.replace(r, max_relative_airspeed=25.0, bidirectional=True, lower=-1.0)
            for r in iris.rotors
        ),
    )
    climb = np.array([-30.0, -10.0, 0.0, 5.0, 12.5, 25.0, 40.0])
    fleet = FleetModel.of([model] * len(climb))
    stage, state = ActuatorStage(fleet), state_of(fleet.vehicles)
    state.vel[:, 0], state.vel[:, 2] = 3.0, climb
    place_bodies(fleet, state)
    commands = np.zeros_like(state.actuator)
    commands[:, 0] = -0.5 if reverse else 0.5
    wrench = settled(stage, commands, state)
    one = model.rotors[0]
    thrust = np.sign(commands[0, 0]) * one.motor_constant * 600.0**2
    np.testing.assert_allclose(
        wrench[:, 2], thrust * np.clip(1.0 - abs(climb) / 25.0, 0.0, 1.0), atol=1e-9
    )
    np.testing.assert_allclose(wrench[:, 0], -600.0 * one.rotor_drag_coefficient * 3.0)
    turning = wrench[:, 5] - one.pos[0] * wrench[:, 1] + one.pos[1] * wrench[:, 0]
    np.testing.assert_allclose(turning, -one.direction * one.moment_constant * thrust)


def test_thrust_scales_with_density():
    stage = ActuatorStage(FleetModel.of([load_vehicle("iris")] * 2))
    stage.density[:] = 1.225, 0.6125
    wrench = settled(stage, np.full((2, 4), 0.5), FleetState.zeros(2, 4))
    assert wrench[1, 2] == pytest.approx(0.5 * wrench[0, 2])


def test_mixed_fleet_is_padded():
    iris = load_vehicle("iris")
    three = dataclasses.replace(iris, actuators=iris.actuators[:3])
    state = FleetState.zeros(2, 4)
    wrench = settled(ActuatorStage(FleetModel.of([three, iris])), np.full((2, 4), 0.5), state)
    assert wrench[0, 2] == pytest.approx(0.75 * wrench[1, 2])
    assert state.actuator[0, 3] == 0.0


@pytest.mark.slow
def test_records_of_float32_give_the_same_wrench():
    """Where a batch takes the same records: within what float32 can tell."""
    wrenches = []
    for real in (np.float64, np.float32):
        fleet = FleetModel.of([load_vehicle("typhoon_h480"), load_vehicle("iris")], real)
        assert fleet.actuator["motor_constant"].dtype == real == fleet.battery["capacity"].dtype
        state = state_of(fleet.vehicles)
        state.vel[:], state.ang_vel[:] = (4.0, -2.0, 1.0), (0.3, 0.2, -0.5)
        place_bodies(fleet, state)
        wrenches.append(settled(ActuatorStage(fleet), np.full_like(state.actuator, 0.6), state))
    np.testing.assert_allclose(*wrenches, rtol=1e-5, atol=1e-5)
