"""Joints in Gazebo: the same motion as in the embedded engine; skipped where it is not set up."""

import numpy as np
import pytest

import jointed
from sensor_models.cameras import cameras_of
from sensor_models.lens import pinhole_of
from stack_flights import MissionFlight
from xtdrone_core import FleetModel, VehicleSpec, resources
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.engines.gazebo.engine import GazeboEngine
from xtdrone_sim.plant.actuators import ActuatorStage
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

pytestmark = [
    pytest.mark.gazebo,
    pytest.mark.skipif(
        not (resources.root() / ".setup/gazebo11/libxtdrone_lockstep.so").is_file(),
        reason="needs Gazebo 11: run scripts/setup_gazebo.sh",
    ),
]
STEP_US = 4000
DT = STEP_US * 1e-6
COMMANDS = {  # swing of each actuator [-] and its frequency [Hz]
    "gimbal": (jointed.GIMBAL, (0.4, 0.6), (0.5, 0.8)),
    "arm": (jointed.ARM, (0.7, -0.6), (0.7, 0.5)),
    "tilt": (jointed.TILT, (0.3, 0.3, 0.4), (0.0, 0.0, 0.5)),
    "slide": (jointed.SLIDE, (0.8,), (0.6,)),
}


@pytest.fixture
def opened():
    """Engines that are closed in the end."""
    engines = []
    yield engines.append
    for engine in engines:
        engine.close()


def flown(engine, fleet, swing, pace, seconds=2.0):
    """States of an open-loop flight, 25 of them."""
    stage, states = ActuatorStage(fleet), []
    engine.reset()
    state = engine.state
    for step in range(round(seconds / DT)):
        phase = np.where(np.array(pace) > 0, np.sin(2 * np.pi * np.array(pace) * step * DT), 1.0)
        commands = np.atleast_2d(np.array(swing) * phase)
        state = engine.step(stage.step(commands, state, STEP_US), stage.joint_targets, STEP_US)
        if step % 20 == 19:
            states.append(state.copy())
    return states


@pytest.mark.parametrize(
    "name",  # the next test has the arm, too
    [pytest.param(name, marks=[pytest.mark.long] if name == "arm" else []) for name in COMMANDS],
)
def test_both_engines_agree_on_a_vehicle_whose_joints_move(opened, tmp_path, name):
    """Open loop for 2 s: places within 2 cm, attitudes within 0.02, joints within 2 mrad."""
    body, swing, pace = COMMANDS[name]
    vehicle = jointed.write(tmp_path, body)
    arguments = load_world("empty"), (jointed.spec(vehicle),), (vehicle,)
    fleet, found = FleetModel.of([vehicle]), []
    for kind in (EmbeddedEngine, GazeboEngine):
        engine = kind(*arguments)
        opened(engine)
        found.append(flown(engine, fleet, swing, pace))
    moved = 0.0
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(theirs.joint_pos, ours.joint_pos, atol=2e-3)
        np.testing.assert_allclose(theirs.body_pos, ours.body_pos, atol=0.02)
        sign = np.sign((theirs.body_quat * ours.body_quat).sum(axis=2, keepdims=True))
        np.testing.assert_allclose(theirs.body_quat, sign * ours.body_quat, atol=0.02)
        moved = max(moved, abs(ours.joint_pos).max())
    assert moved > 0.1


def test_a_reset_and_a_payload_work_beside_a_vehicle_without_joints(opened, tmp_path):
    arm, iris = jointed.write(tmp_path, jointed.ARM), load_vehicle("iris")
    specs = (
        VehicleSpec("iris", "first", (0.0, 0.0, 30.0)),
        VehicleSpec(str(arm.sdf), "second", (5.0, 0.0, 30.0)),
    )
    engine = GazeboEngine(load_world("empty"), specs, (iris, arm))
    opened(engine)
    fleet = FleetModel.of((iris, arm))
    commands = np.array([[0.0] * 4, [0.5, 0.5, 0.0, 0.0]])
    first = flown(engine, fleet, commands, (0.0,) * 4, 0.4)[-1]
    np.testing.assert_allclose(first.joint_pos[1], (0.6, 0.5), atol=5e-3)
    again = flown(engine, fleet, commands, (0.0,) * 4, 0.4)[-1]
    np.testing.assert_allclose(again.body_pos, first.body_pos, atol=1e-6)
    engine.set_payload(1, 0.5, (0.0, 0.0, -0.1))
    loaded = flown(engine, fleet, commands, (0.0,) * 4, 0.4)[-1]
    np.testing.assert_allclose(loaded.joint_pos[1], (0.6, 0.5), atol=5e-3)


def test_the_camera_of_a_gimbal_is_drawn_from_where_it_points(opened, tmp_path):
    """Level it sees the sky above the ground; turned down, the ground alone."""
    vehicle = jointed.write(tmp_path, jointed.GIMBAL)
    engine = GazeboEngine(load_world("empty"), (jointed.spec(vehicle, 3.0),), (vehicle,))
    opened(engine)
    scene, (block,) = engine.scene(None, None), vehicle.sensors
    (camera,) = cameras_of(block)
    stage = ActuatorStage(FleetModel.of([vehicle]))
    hold = np.zeros((1, 3, 6))
    hold[0, :, 2] = [body.mass * 9.80665 for body in vehicle.bodies]
    images, state = [], engine.state
    for pitch in (0.0, 0.9):
        for _ in range(250):
            stage.step(np.array([[0.0, pitch]]), state, STEP_US)
            state = engine.step(hold, stage.joint_targets, STEP_US)
        scene.place(state)
        images.append(
            scene.draw(
                state.body_pos[0, 2],
                state.body_quat[0, 2],
                pinhole_of(camera),
                0.1,
                100.0,
                key=("one", "eye", ""),
            ).astype(int)
        )
    level, down = images
    assert abs(level[0].mean(axis=0) - level[-1].mean(axis=0)).max() > 20  # ground below, sky
    assert abs(down[0].mean(axis=0) - level[-1].mean(axis=0)).max() > 20  # no sky any more
    assert abs(down[-1].mean(axis=0) - level[-1].mean(axis=0)).max() > 20


def test_the_shipped_gimbal_looks_at_a_region_of_interest():
    """Before take-off, in front to the left and above; then straight ahead again."""
    f, place = MissionFlight("typhoon_h480", engine="gazebo"), np.array([10.0, 8.0, 6.0])
    try:
        f.ready()
        f.autopilot.missions.set_roi(0, place)
        f.run(2)
        assert jointed.off_axis(f.simulation, "cgo3_camera_link", place) < 2.0
        f.autopilot.missions.set_roi(0, None)
        f.run(2)
        np.testing.assert_allclose(jointed.looks(f.simulation, "cgo3_camera_link"), 0.0, atol=2.0)
    finally:
        f.simulation.close()
