"""Camera mounts turn to the angles of DO_MOUNT_CONTROL."""

import numpy as np
import pytest

import jointed
from stack_flights import Link
from xtdrone_autopilot.mavlink.commands import NO_ANSWER
from xtdrone_autopilot.mavlink.dialect import mavlink
from xtdrone_autopilot.mavlink.handlers import declared
from xtdrone_autopilot.mavlink.streams import layout
from xtdrone_core import Scenario
from xtdrone_core.scenario import fleet
from xtdrone_sim.simulation import Simulation

MOUNTED = jointed.SENSORS + jointed.GIMBAL.replace("yaw_channel", "gimbal_yaw").replace(
    "pitch_channel", "gimbal_pitch")
TAKE, TURN = (mavlink.MAV_CMD_DO_GIMBAL_MANAGER_CONFIGURE,
              mavlink.MAV_CMD_DO_GIMBAL_MANAGER_PITCHYAW)
CONFIGURE, CONTROL = mavlink.MAV_CMD_DO_MOUNT_CONFIGURE, mavlink.MAV_CMD_DO_MOUNT_CONTROL


def obey(simulation, command, *params):
    """The Answer to a command with up to seven parameters."""
    parts = simulation.autopilot.mount, simulation.autopilot.gimbals
    handler = dict(row for part in parts for row in declared(part, "obeys"))[command]
    return handler(Link, (list(params) + [0.0] * 7)[:7])


def simulation_of(folder, body):
    vehicle = jointed.write(folder, body)
    return Simulation(Scenario(fleet(str(vehicle.sdf), 1), speed=0.0), links=False)


@pytest.fixture
def mounted(tmp_path):
    simulation = simulation_of(tmp_path, MOUNTED)
    yield simulation
    simulation.close()


def test_a_camera_looks_down_and_to_the_right_and_straight_again(mounted):
    assert obey(mounted, CONFIGURE, 2).accepted
    assert obey(mounted, CONTROL, -45.0, 0.0, 30.0, 0, 0, 0, 2).accepted
    mounted.run(until_us=2_000_000)
    # Joints turn about left and up: down is positive about left, right negative about up.
    np.testing.assert_allclose(mounted.state.joint_pos[0], np.radians([-30.0, 45.0]), atol=0.02)
    row = np.zeros(1, dtype=layout("MOUNT_ORIENTATION").dtype)
    (_, fill), = declared(mounted.autopilot.mount, "streams")
    fill(row, mounted.t_us)
    assert (row["pitch"][0], row["yaw"][0]) == pytest.approx((-45.0, 30.0))
    assert obey(mounted, CONFIGURE, 1).accepted
    mounted.run(until_us=4_000_000)
    np.testing.assert_allclose(mounted.state.joint_pos[0], 0.0, atol=0.02)


def test_what_a_mount_cannot_do_is_refused(mounted, tmp_path):
    assert "not supported" in obey(mounted, CONTROL, 0, 0, 0, 0, 0, 0, 4).reason
    assert "numbers" in obey(mounted, CONTROL, float("nan"), 0, 0, 0, 0, 0, 2).reason
    other = tmp_path / "other"
    other.mkdir()
    simulation = simulation_of(other, jointed.SENSORS + jointed.GIMBAL)
    try:
        answer = obey(simulation, CONTROL, 0, 0, 0, 0, 0, 0, 2)
        assert answer.result == NO_ANSWER and "no camera mount" in answer.reason
        assert not simulation.autopilot.mount.fitted.any()
    finally:
        simulation.close()


def test_who_has_control_of_the_gimbal_turns_it(mounted):
    yaw_lock = mavlink.GIMBAL_MANAGER_FLAGS_YAW_LOCK
    assert obey(mounted, TURN, -30, 20).result == mavlink.MAV_RESULT_DENIED
    assert obey(mounted, TAKE, 1, 191).accepted  # another one
    assert obey(mounted, TURN, -30, 20).result == mavlink.MAV_RESULT_DENIED
    assert obey(mounted, TAKE, -2).accepted
    assert obey(mounted, TURN, -30, 20).accepted
    mounted.run(until_us=2_000_000)
    np.testing.assert_allclose(mounted.state.joint_pos[0], np.radians([-20.0, 30.0]), atol=0.02)
    row = np.zeros(1, dtype=layout("GIMBAL_DEVICE_ATTITUDE_STATUS").dtype)
    fill = {stream.name: fill for stream, fill in declared(mounted.autopilot.gimbals, "streams")}
    fill["GIMBAL_DEVICE_ATTITUDE_STATUS"](row, mounted.t_us)
    w, x, y, z = row["q"][0]
    assert 2 * (w * y - z * x) == pytest.approx(np.sin(np.radians(-30)), abs=1e-6)
    heading = np.degrees(mounted.autopilot.mount.heading(0))
    assert obey(mounted, TURN, -10, heading + 5.0, 0, 0, yaw_lock).accepted
    angles = np.degrees(mounted.autopilot.mount.angles[0])
    np.testing.assert_allclose(angles, [0, -10, 5], atol=1e-3)
    assert "angles" in obey(mounted, TURN, np.nan, np.nan, 5, 5).reason
    assert obey(mounted, TAKE, -3).accepted
    assert obey(mounted, TURN, 0, 0).result == mavlink.MAV_RESULT_DENIED


def test_the_gimbal_manager_tells_its_range(mounted):
    request, = (method for name, method in declared(mounted.autopilot.gimbals, "on_request"))
    message, = request(0, [])
    assert message.pitch_min < 0.0 < message.pitch_max
    assert message.gimbal_device_id == 1
