"""Half wings of the Φ-theory in the plant: trimmed flight of phi_tailsitter, and bad files."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from darko import RHO, WEIGHT, trim
from physics import STEP_US, state_of
from stack_flights import Flight
from xtdrone_core import FleetModel
from xtdrone_dynamics.abilities.effectiveness import in_hover
from xtdrone_sim.engines.body import place_bodies
from xtdrone_sim.errors import SdfError
from xtdrone_sim.plant.actuators import ActuatorStage
from xtdrone_sim.vehicles.sdf import load_vehicle


def settled(thrust, deflection, theta, speed, wind=0.0):
    """Force and torque of phi_tailsitter that flies east, its thrust at theta above the horizon."""
    fleet = FleetModel.of([load_vehicle("phi_tailsitter")])
    stage, state = ActuatorStage(fleet), state_of(fleet.vehicles)
    stage.density[:], stage.wind[0, 0] = RHO, wind
    state.quat[0] = Rotation.from_rotvec((0.0, 0.5 * math.pi - theta, 0.0)).as_quat()
    state.vel[0, 0] = speed + wind
    place_bodies(fleet, state)
    a = fleet.actuator[0]
    rotors = math.sqrt(0.5 * thrust / a["motor_constant"][0])
    commands = np.array(
        [(rotors - a["zero_position_armed"][0]) / a["input_scaling"][0]] * 2
        + [deflection / a["input_scaling"][2]] * 2
    )
    for _ in range(300):
        wrench = stage.step(commands[None], state, STEP_US)[0]
    return wrench.sum(axis=0)


@pytest.mark.parametrize("wind", [0.0, 5.0])
@pytest.mark.parametrize("speed", [0.0, 3.0, 6.0, 12.0, 20.0])
def test_the_plant_is_in_trim_where_the_closed_form_says_so(speed, wind):
    """The half wings alone are trimmed about their point; the vehicle's centre lies 0.1 mm off."""
    theta, thrust, deflection = trim(speed)
    found = settled(thrust, -deflection, theta, speed, wind)
    np.testing.assert_allclose(found[:3], (0.0, 0.0, WEIGHT), atol=2e-3 * WEIGHT)
    np.testing.assert_allclose(found[3:], 0.0, atol=2e-3)


def test_elevons_pitch_and_yaw_a_hover():
    matrix = in_hover(FleetModel.of([load_vehicle("phi_tailsitter")]))[0]
    both, apart = matrix[:, 2] + matrix[:, 3], matrix[:, 2] - matrix[:, 3]
    assert both[4] < -0.05 and apart[5] > 0.1
    assert abs(both[[3, 5]]).max() < 1e-9 and abs(apart[4]) < 1e-9


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "<motorNumber>1</motorNumber>\n      <radius>",
            "<motorNumber>7</motorNumber>\n      <radius>",
            "there is no rotor 7 on the body of a half wing",
        ),
        (
            "<area>0.03715</area>",
            "<area>0</area>",
            "<area> of a half wing is 0: give a number above 0",
        ),
        ("<left>0 1 0</left>", "<left>0 0 1</left>", "not at a right angle"),
        ("<control_joint_name>elevon_left_joint", "<control_joint_name>gone", "no channel turns"),
    ],
)
def test_bad_half_wings_are_refused_in_one_line(tmp_path, old, new, message):
    text = load_vehicle("phi_tailsitter").sdf.read_text()
    assert old in text
    path = tmp_path / "model.sdf"
    path.write_text(text.replace(old, new))
    with pytest.raises(SdfError) as caught:
        load_vehicle(str(path))
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.slow
def test_the_flight_stack_hovers_it_with_its_parameters():
    f = Flight("phi_tailsitter").take_off()
    try:
        start, rows = f.pos, []
        f.run(3.0, lambda: rows.append((*(f.pos - start), *f.simulation.state.quat[0, :2])))
        rows = np.abs(rows)
        assert rows[:, :3].max() < 0.2
        assert 2.0 * rows[:, 3:].max() < math.radians(3.0)
    finally:
        f.simulation.close()
