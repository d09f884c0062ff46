"""Vehicles whose joints move: what they are read as, and how they fly in the embedded engine."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jointed
from xtdrone_core import FleetModel
from xtdrone_core.vehicle import Propeller, Rotor, Servo, Surface, Wheel
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.errors import SdfError
from xtdrone_sim.plant.actuators import ActuatorStage
from xtdrone_sim.world import load_world

STEP_US = 4000
DT = STEP_US * 1e-6
G = 9.80665


@pytest.fixture
def built(tmp_path):
    """built(body) gives vehicle, engine and actuators of one vehicle in free air."""

    def make(body, gravity=True):
        vehicle = jointed.write(tmp_path, body)
        engine = EmbeddedEngine(load_world("empty"), (jointed.spec(vehicle),), (vehicle,))
        if not gravity:
            engine.model.opt.gravity[:] = 0.0
        return vehicle, engine, ActuatorStage(FleetModel.of([vehicle]))

    return make


def fly(engine, stage, commands, steps, hold=None):
    """Steps with constant commands; `hold` is an (1, B, 6) wrench in place of the actuators'."""
    for _ in range(steps):
        wrench = stage.step(np.atleast_2d(commands), engine.state, STEP_US)
        engine.step(wrench if hold is None else hold, stage.joint_targets, STEP_US)
    return engine.state


def momenta(vehicle, state):
    """Linear and angular momentum about the common centre of gravity, and that centre."""
    masses = np.array([body.mass for body in vehicle.bodies])
    turns = [Rotation.from_quat(quat) for quat in state.body_quat[0]]
    arms = np.array(
        [turn.apply(body.cog) for turn, body in zip(turns, vehicle.bodies, strict=True)]
    )
    rates = np.array(
        [turn.apply(rate) for turn, rate in zip(turns, state.body_ang_vel[0], strict=True)]
    )
    pos = state.body_pos[0] + arms
    vel = state.body_vel[0] + np.cross(rates, arms)
    centre = masses @ pos / masses.sum()
    linear = masses @ vel
    angular = np.cross(pos - centre, masses[:, None] * vel).sum(axis=0)
    for turn, body, rate in zip(turns, vehicle.bodies, rates, strict=True):
        angular += turn.apply(np.array(body.inertia) @ turn.inv().apply(rate))
    return linear, angular, centre


def test_bodies_are_the_links_that_no_actuator_moves_against_each_other(tmp_path):
    vehicle = jointed.write(tmp_path, jointed.ARM)
    assert [body.name for body in vehicle.bodies] == ["base", "upper", "fore"]
    assert [body.parent for body in vehicle.bodies] == [-1, 0, 1]
    assert [body.mass for body in vehicle.bodies] == pytest.approx([1.5, 0.2, 0.4])
    assert vehicle.mass == pytest.approx(2.1)
    assert [joint.name for joint in vehicle.joints] == ["shoulder", "elbow"]
    assert [type(found) for found in vehicle.actuators] == [Servo, Servo]
    assert [found.channel for found in vehicle.actuators] == [6, 7]
    np.testing.assert_allclose(vehicle.joints[0].anchor, (-0.1, 0.0, 0.0), atol=1e-12)
    fleet = FleetModel.of([vehicle, vehicle])
    assert fleet.body.shape == (2, 3) and fleet.joint.shape == fleet.actuator.shape == (2, 2)
    assert fleet.actuator["joint"].tolist() == [[0, 1]] * 2
    single = FleetModel.of([vehicle], np.float32)
    assert single.body["mass"].dtype == np.float32 == single.actuator["rate"].dtype


def test_the_bodies_together_are_the_vehicle(built):
    """Mass, centre of gravity and inertia of all bodies where they are are those of one body."""
    vehicle, engine, _ = built(jointed.ARM)
    _, _, centre = momenta(vehicle, engine.state)
    np.testing.assert_allclose(centre, engine.state.pos[0], atol=1e-12)
    inertia = np.zeros((3, 3))
    for body, pos, quat in zip(
        vehicle.bodies, engine.state.body_pos[0], engine.state.body_quat[0], strict=True
    ):
        turn = Rotation.from_quat(quat)
        arm = pos + turn.apply(body.cog) - centre
        inertia += turn.as_matrix() @ np.array(body.inertia) @ turn.as_matrix().T
        inertia += body.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    np.testing.assert_allclose(inertia, vehicle.inertia, atol=1e-12)


def test_the_engine_places_bodies_where_mujoco_does(built):
    vehicle, engine, stage = built(jointed.ARM)
    fly(engine, stage, (0.7, -0.6), 100)
    import mujoco

    mujoco.mj_kinematics(engine.model, engine.data)
    for k, body in enumerate(vehicle.bodies[1:], start=1):
        found = engine.data.body(f"one/{body.name}")
        np.testing.assert_allclose(engine.state.body_pos[0, k], found.xpos, atol=1e-9)
        np.testing.assert_allclose(
            engine.state.body_quat[0, k, [3, 0, 1, 2]], found.xquat, atol=1e-9
        )


def test_velocities_of_bodies_are_those_of_their_poses(built):
    """While the vehicle tumbles and both joints move at their largest speed."""
    _, engine, stage = built(jointed.ARM)
    push = np.zeros((1, 3, 6))
    push[0, 0, 3:] = 0.3, 0.2, 0.5
    fly(engine, stage, (0.0, 0.0), 50, hold=push)
    before = fly(engine, stage, (0.7, -0.8), 40).copy()
    after = fly(engine, stage, (0.7, -0.8), 1)
    assert abs(after.ang_vel).max() > 0.5 and abs(after.joint_vel).min() > 2.9
    way = (after.body_pos - before.body_pos)[0] / DT
    np.testing.assert_allclose(way, after.body_vel[0], atol=0.02)
    turn = (
        Rotation.from_quat(before.body_quat[0]).inv() * Rotation.from_quat(after.body_quat[0])
    ).as_rotvec() / DT
    np.testing.assert_allclose(turn, after.body_ang_vel[0], atol=0.03)


def test_a_gimbal_follows_within_its_rate_and_the_camera_points_there(built):
    vehicle, engine, stage = built(jointed.GIMBAL, gravity=False)
    state = fly(engine, stage, (0.5, -0.5), 50)
    assert abs(state.joint_vel).max() < 3.01
    assert state.actuator[0, 0] == pytest.approx(3.0 * 0.2, abs=0.05)  # 3 rad/s for 0.2 s
    state = fly(engine, stage, (0.5, -0.5), 250)
    np.testing.assert_allclose(state.joint_pos[0], (1.57, -0.785), atol=1e-3)
    (camera,) = [block for block in vehicle.sensors if block.kind == "camera"]
    assert camera.body == 2
    ahead = Rotation.from_quat(state.body_quat[0, 2]).apply(
        Rotation.from_quat(camera.quat).apply((1.0, 0.0, 0.0))
    )
    base = Rotation.from_quat(state.quat[0])
    wanted = base.apply(Rotation.from_euler("ZY", (1.57, -0.785)).apply((1.0, 0.0, 0.0)))
    np.testing.assert_allclose(ahead, wanted, atol=1e-2)


def test_an_arm_keeps_momentum_while_it_moves_and_the_base_gives_way(built):
    vehicle, engine, stage = built(jointed.ARM, gravity=False)
    commands, turned, given = np.array([0.8, -0.7]), 0.0, 0.0
    masses = np.array([body.mass for body in vehicle.bodies[1:]])
    worst = np.zeros(2)
    for step in range(500):
        fly(engine, stage, commands * np.sin(2 * np.pi * step * DT), 1)
        linear, angular, _ = momenta(vehicle, engine.state)
        turned = max(turned, abs(engine.state.ang_vel).max())
        given = max(given, np.linalg.norm(masses @ engine.state.body_vel[0, 1:]))
        worst = np.maximum(worst, [abs(linear).max(), abs(angular).max()])
    assert turned > 0.5 and given > 0.1  # [rad/s], [N s]: what the base takes up
    assert worst[0] < 0.02 * given and worst[1] < 2e-3, worst
    _, _, centre = momenta(vehicle, engine.state)
    assert abs(centre - (0.0, 0.0, 50.0) - np.array(vehicle.cog)).max() < 1e-3


def test_an_arm_falls_as_one(built):
    _, engine, stage = built(jointed.ARM)
    state = fly(engine, stage, (0.0, 0.0), 100)
    np.testing.assert_allclose(state.vel[0], (0.0, 0.0, -G * 0.4), atol=1e-9)
    assert abs(state.ang_vel).max() < 1e-9 and abs(state.joint_pos).max() < 1e-9


def test_a_tilting_motor_turns_its_thrust(built):
    vehicle, engine, stage = built(jointed.TILT, gravity=False)
    assert [type(found) for found in vehicle.actuators] == [Rotor, Rotor, Servo]
    assert [found.body for found in vehicle.rotors] == [1, 0]
    fixed = np.zeros((1, 2, 6))
    for angle in (0.0, 0.9, -0.5):
        state = fly(engine, stage, (0.5, 0.0, angle / 1.57), 300, hold=fixed)
        wrench = stage.step(np.array([[0.5, 0.0, angle / 1.57]]), state, STEP_US)
        thrust = 5.84e-6 * 550.0**2
        turn = Rotation.from_quat(state.quat[0])
        np.testing.assert_allclose(
            turn.inv().apply(wrench[0, 1, :3]),
            (thrust * np.sin(angle), 0.0, thrust * np.cos(angle)),
            atol=1e-3 * thrust,
        )
        assert not wrench[0, 0].any()
    assert state.joint_pos[0, 0] == pytest.approx(-0.5, abs=1e-4)


def test_a_tilting_thrust_follows_the_servos_rate_lag_and_limit(built):
    """At the largest rate up to rate times lag before the joint's limit, then exponentially."""
    rate, tau, end = 2.0, 0.1, 0.9
    body = jointed.TILT.replace(jointed.servo(0.0, 2.0), jointed.servo(tau, rate)).replace(
        "<lower>-1.6</lower><upper>1.6</upper>", f"<lower>-0.2</lower><upper>{end}</upper>"
    )
    _, engine, stage = built(body, gravity=False)
    fixed = np.zeros((1, 2, 6))
    slowing = end / rate - tau  # when the lag takes over [s]
    for k in range(250):
        turn = Rotation.from_quat(engine.state.quat[0])
        fly(engine, stage, (0.5, 0.0, 1.0), 1, hold=fixed)
        force = turn.inv().apply(stage.wrench[0, 1, :3])
        t = k * DT
        expected = rate * t if t < slowing else end - rate * tau * np.exp((slowing - t) / tau)
        assert np.arctan2(force[0], force[2]) == pytest.approx(expected, abs=0.006), t


def test_a_slide_moves_the_base_the_other_way(built):
    _, engine, stage = built(jointed.SLIDE, gravity=False)
    state = fly(engine, stage, (1.0,), 500)
    assert state.joint_pos[0, 0] == pytest.approx(0.2, abs=1e-4)
    assert state.pos[0, 0] == pytest.approx(-0.2 * 0.3 / 1.3, abs=1e-3)


def test_commands_and_joints_have_ends(built):
    _, engine, stage = built(jointed.GIMBAL, gravity=False)
    state = fly(engine, stage, (-7.0, 9.0), 600)
    np.testing.assert_allclose(state.joint_pos[0], (-3.14, 1.57), atol=1e-3)


def test_one_with_joints_and_one_without_fly_side_by_side(tmp_path):
    from xtdrone_core import VehicleSpec
    from xtdrone_sim.vehicles.sdf import load_vehicle

    arm, iris = jointed.write(tmp_path, jointed.ARM), load_vehicle("iris")
    specs = (
        VehicleSpec("iris", "first", (0.0, 0.0, 30.0)),
        VehicleSpec(str(arm.sdf), "second", (5.0, 0.0, 30.0)),
        VehicleSpec("iris", "third", (9.0, 0.0, 30.0)),
    )
    models = iris, arm, iris
    engine = EmbeddedEngine(load_world("empty"), specs, models)
    stage = ActuatorStage(FleetModel.of(models))
    commands = np.zeros((3, 4))
    commands[1, :2] = 0.5
    state = fly(engine, stage, commands, 200)
    np.testing.assert_allclose(state.joint_pos[1], (0.6, 0.5), atol=1e-3)
    assert not state.joint_pos[[0, 2]].any()
    np.testing.assert_allclose(state.vel[[0, 2], 2], -G * 0.8, rtol=1e-6)
    engine.set_payload(1, 0.5, (0.0, 0.0, -0.1))
    assert fly(engine, stage, commands, 10).joint_pos[1, 0] == pytest.approx(0.6, abs=1e-3)


def test_every_kind_of_actuator_is_read(tmp_path):
    lift = (
        '<plugin name="wing" filename="libLiftDragPlugin.so"><link_name>base</link_name>'
        "<cp>-0.1 0.4 0</cp><area>0.3</area><control_joint_name>flap</control_joint_name>"
        "<control_joint_rad_to_cl>-0.4</control_joint_rad_to_cl></plugin>"
    )
    water = jointed.rotor(3, "base", "-0.5 0 -0.1").replace(
        "</plugin>", "<xtdrone:in_water/></plugin>"
    )
    both = jointed.rotor(0, "base", "0.3 0 0").replace(
        "</plugin>", "<reversible>1</reversible></plugin>"
    )
    body = (
        jointed.link("base")
        + both
        + jointed.link("flap_link", "-0.1 0.4 0 0 0 0", 0.01, (1e-5, 1e-5, 1e-5))
        + jointed.joint("flap", "base", "flap_link", "0 1 0")
        + jointed.link("tyre", "0 0.2 -0.1 0 0 0", 0.1, (1e-4, 1e-4, 1e-4))
        + jointed.joint("axle", "base", "tyre", "0 1 0", kind="continuous")
        + water
        + lift
        + jointed.channels(
            jointed.channel(1, "flap", 0.5),
            jointed.channel(
                2,
                "axle",
                30.0,
                control="velocity",
                own="<xtdrone:wheel><time_constant>0.2</time_constant></xtdrone:wheel>",
            ),
        )
    )
    vehicle = jointed.write(tmp_path, body)
    assert [type(found) for found in vehicle.actuators] == [Rotor, Surface, Wheel, Propeller]
    rotor, surface, wheel, propeller = vehicle.actuators
    assert rotor.bidirectional and rotor.lower == -1.0 and propeller.channel == 3
    assert wheel.time_constant == 0.2 and not vehicle.tyres
    assert any("'axle' has no cylinder or sphere" in line for line in vehicle.remarks)
    (only,) = vehicle.wings
    assert only.cl_delta == -0.4 and only.area == 0.3 and only.pos == surface.pos
    assert vehicle.actuators[only.control] is surface
    assert len(vehicle.bodies) == 1  # neither flaps nor wheels are bodies of their own
    stage = ActuatorStage(FleetModel.of([vehicle]))
    from xtdrone_core import FleetState

    state = FleetState.zeros(1, 4)
    state.pos[0, 2] = 10.0
    for _ in range(500):
        wrench = stage.step(np.array([[-0.5, 1.0, -1.0, 0.5]]), state, STEP_US)
    np.testing.assert_allclose(state.actuator[0], (-550.0, 0.5, -30.0, 550.0), rtol=1e-3)
    assert wrench[0, 0, 2] == pytest.approx(-5.84e-6 * 550.0**2, rel=1e-3)
    assert wrench[0, 0, 5] == pytest.approx(0.06 * 5.84e-6 * 550.0**2, rel=1e-3)


@pytest.mark.parametrize(
    "body, message",
    [
        (
            jointed.GIMBAL.replace(
                "<parent>base</parent><child>yaw_ring</child>",
                "<parent>yaw_ring</parent><child>base</child>",
                1,
            ),
            "moves the vehicle's first link",
        ),
        (jointed.GIMBAL.replace("<lower>-1.6", "<lower>0.1"), "which must lie between"),
        (
            jointed.GIMBAL.replace("<rate>3.0", "<rate>-3.0"),
            "give a number from 0, and one above 0",
        ),
        (jointed.GIMBAL + jointed.joint("strut", "yaw_ring", "camera", "0 0 1"), "cannot move"),
    ],
)
def test_joints_that_make_no_sense_say_where(tmp_path, body, message):
    with pytest.raises(SdfError, match=r"model\.sdf:\d+: ") as caught:
        jointed.write(tmp_path, body)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "body, remark",
    [
        (
            jointed.GIMBAL.replace("<joint_name>pitch<", "<joint_name>yaw<"),
            "channel 'pitch_channel' has no effect: another one drives the joint 'yaw'",
        ),
        (
            jointed.GIMBAL.replace("<joint_name>pitch<", "<joint_name>roll<"),
            "channels without effect, since their joints are not there: 'pitch_channel' (roll)",
        ),
        *(
            (
                jointed.GIMBAL.replace(
                    'name="pitch" type="revolute"', f'name="pitch" type="{kind}"'
                ),
                f"joint 'pitch' is of type {kind}: it is held at zero",
            )
            for kind in ("ball", "universal", "screw", "revolute2")
        ),
    ],
)
def test_a_joint_that_cannot_be_driven_is_named_and_the_rest_moves(tmp_path, body, remark):
    vehicle = jointed.write(tmp_path, body)
    assert remark in vehicle.remarks
    assert [joint.name for joint in vehicle.joints] == ["yaw"]


def test_a_gearbox_holds_nothing_together(tmp_path):
    gears = (
        '<joint name="gears" type="gearbox"><parent>base</parent><child>camera</child>'
        "<gearbox_ratio>2</gearbox_ratio></joint>"
    )
    vehicle = jointed.write(tmp_path, jointed.GIMBAL + gears)
    assert vehicle.remarks == ("joint 'gears' is of type gearbox: it has no effect",)
    assert [joint.name for joint in vehicle.joints] == ["yaw", "pitch"]
