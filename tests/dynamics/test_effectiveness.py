"""The allocation matrix: against differences of the plant, and what follows from its rank."""

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jointed
from physics import STEP_US
from xtdrone_core import FleetModel, FleetState
from xtdrone_dynamics.abilities.effectiveness import (
    cannot_hover,
    commanded,
    effectiveness,
    largest_torque,
    rank,
)
from xtdrone_sim.engines.body import place_bodies
from xtdrone_sim.plant.actuators import ActuatorStage
from xtdrone_sim.vehicles.sdf import load_vehicle


def tilted_hexarotor(name="typhoon_h480", angle=0.35):
    """A hexarotor whose rotors lean to both sides in turn, about their arms."""
    model, leaning = load_vehicle(name), []
    for rotor in model.rotors:
        arm = np.array([*rotor.pos[:2], 0.0]) / np.hypot(*rotor.pos[:2])
        axis = Rotation.from_rotvec(rotor.direction * angle * arm).apply(rotor.axis)
        leaning.append(dataclasses.replace(rotor, axis=tuple(axis)))
    rest = model.actuators[len(leaning) :]
    return dataclasses.replace(model, actuators=(*leaning, *rest))


def test_the_iris():
    matrix = effectiveness(FleetModel.of([load_vehicle("iris")]))[0]
    np.testing.assert_allclose(matrix[2], 1.0)
    assert not matrix[:2].any()
    assert (np.sign(matrix[3]) == (-1, 1, 1, -1)).all()  # left rotors roll to the right
    assert (np.sign(matrix[4]) == (-1, 1, -1, 1)).all()  # rear rotors pitch the nose down
    np.testing.assert_allclose(matrix[5], (-0.06, -0.06, 0.06, 0.06))
    assert rank(matrix) == 4
    assert commanded(matrix).tolist() == [False, False, True, True, True, True]


def test_largest_torques():
    fleet = FleetModel.of([load_vehicle("iris"), load_vehicle("rover")])
    rotors = fleet.actuator[0]
    thrust = rotors[0]["motor_constant"] * 1100.0**2
    front, left = abs(rotors["pos"][:4, :2]).T
    pos = rotors["pos"][:4]
    roll = min(thrust * left[pos[:, 1] > 0.0].sum(), thrust * left[pos[:, 1] < 0.0].sum())
    pitch = min(thrust * front[pos[:, 0] > 0.0].sum(), thrust * front[pos[:, 0] < 0.0].sum())
    found = largest_torque(fleet)
    np.testing.assert_allclose(found[0], (roll, pitch, 2.0 * 0.06 * thrust), rtol=1e-6)
    assert not found[1].any()


def wrench_at(vehicle, thrust, joint_pos, airspeed):
    """Force and torque of the plant about the base's origin, with the joints at rest there."""
    fleet = FleetModel.of([vehicle])
    stage = ActuatorStage(fleet)
    state = FleetState.zeros(1, len(vehicle.actuators), len(vehicle.joints), len(vehicle.bodies))
    state.pos[0, 2], state.vel[0] = 100.0, airspeed
    state.joint_pos[0] = joint_pos
    place_bodies(fleet, state)
    a = fleet.actuator[0]
    speed = np.sqrt(np.array(thrust) / a["motor_constant"][: len(thrust)])
    commands = np.zeros((1, len(a)))
    commands[0, : len(thrust)] = (speed - a["zero_position_armed"][: len(thrust)]) / a[
        "input_scaling"
    ][: len(thrust)]
    state.actuator[0, : len(thrust)] = speed
    wrench = stage.step(commands, state, STEP_US)[0]
    total = wrench.sum(axis=0)
    for body, place in zip(wrench, state.body_pos[0], strict=True):
        total[3:] += np.cross(place - state.pos[0], body[:3])
    return total


@pytest.mark.parametrize("airspeed", [(0.0, 0.0, 0.0), (6.0, -2.0, 1.0)])
@pytest.mark.parametrize("name", ["iris", "typhoon_h480", "tilted", "tilt"])
def test_columns_are_the_derivatives_of_what_the_plant_does(tmp_path, name, airspeed):
    vehicle = {
        "tilted": tilted_hexarotor,
        "tilt": lambda: jointed.write(tmp_path, jointed.TILT),
    }.get(name, lambda: load_vehicle(name))()
    rotors, joints = len(vehicle.rotors), len(vehicle.joints)
    at, place = np.linspace(2.0, 3.0, rotors), np.full(joints, 0.3)
    given = np.zeros((1, len(vehicle.actuators)))
    given[0, :rotors] = at
    found = effectiveness(FleetModel.of([vehicle]), airspeed, place[None], given)[0]
    small = 1e-4
    for k in range(rotors):
        step = small * (np.arange(rotors) == k)
        wanted = (
            wrench_at(vehicle, at + step, place, airspeed)
            - wrench_at(vehicle, at - step, place, airspeed)
        ) / (2 * small)
        np.testing.assert_allclose(found[:, k], wanted, atol=1e-5)
    for k in range(joints):
        step = small * (np.arange(joints) == k)
        wanted = (
            wrench_at(vehicle, at, place + step, airspeed)
            - wrench_at(vehicle, at, place - step, airspeed)
        ) / (2 * small)
        column = next(
            j for j, each in enumerate(vehicle.actuators) if getattr(each, "joint", -1) == k
        )
        np.testing.assert_allclose(found[:, column], wanted, atol=0.01)
        assert name != "tilt" or abs(wanted).max() > 1.0


def test_leaning_rotors_command_all_six():
    matrix = effectiveness(FleetModel.of([tilted_hexarotor()]))[0]
    assert rank(matrix) == 6 and commanded(matrix).all()
    assert cannot_hover(FleetModel.of([tilted_hexarotor()])) == [""]


@pytest.mark.parametrize(
    "change, why",
    [
        (lambda v: {"actuators": ()}, "no vertical force, roll torque, pitch torque: rank 0 of 6"),
        (lambda v: {"actuators": v.actuators[:1]}, "rank 1 of 6"),
        (lambda v: {"mass": 9.0}, "its weight of 88.3 N exceeds the thrust of its rotors, 28.3 N"),
        (lambda v: {}, ""),
    ],
)
def test_what_cannot_be_flown_says_why(change, why):
    iris = load_vehicle("iris")
    found = cannot_hover(FleetModel.of([iris, dataclasses.replace(iris, **change(iris))]))
    assert found[0] == "" and found[1].endswith(why) and bool(found[1]) == bool(why)
