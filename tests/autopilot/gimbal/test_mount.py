"""Camera mounts: angles, rates and regions of interest turn them, and they keep level."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jointed
from stack_flights import Link, MissionFlight
from xtdrone_autopilot.gimbal.mount import Mount
from xtdrone_autopilot.interfaces import ESTIMATE
from xtdrone_autopilot.mavlink.streams import layout
from xtdrone_autopilot.state.answer import NO_ANSWER
from xtdrone_autopilot.state.handlers import declared
from xtdrone_core import FleetModel, Scenario
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.sdf import load_vehicle

MOUNTED = jointed.SENSORS + jointed.GIMBAL.replace("yaw_channel", "gimbal_yaw").replace(
    "pitch_channel", "gimbal_pitch"
)
TAKE, TURN = (
    mavlink.MAV_CMD_DO_GIMBAL_MANAGER_CONFIGURE,
    mavlink.MAV_CMD_DO_GIMBAL_MANAGER_PITCHYAW,
)
CONFIGURE, CONTROL = mavlink.MAV_CMD_DO_MOUNT_CONFIGURE, mavlink.MAV_CMD_DO_MOUNT_CONTROL


def obey(simulation, command, *params):
    """The Answer to a command with up to seven parameters."""
    parts = simulation.autopilot.mount, simulation.autopilot.gimbals
    handler = dict(row for part in parts for row in declared(part, "handles"))[command]
    return handler(Link, (list(params) + [0.0] * 7)[:7])


def simulation_of(folder, body):
    vehicle = jointed.write(folder, body)
    return Simulation(Scenario(fleet(str(vehicle.sdf), 1), speed=0.0), links=False)


@pytest.fixture
def mounted(tmp_path):
    simulation = simulation_of(tmp_path, MOUNTED)
    yield simulation
    simulation.close()


@pytest.mark.slow
def test_a_camera_looks_down_and_to_the_right_and_straight_again(mounted):
    assert obey(mounted, CONFIGURE, 2).accepted
    assert obey(mounted, CONTROL, -45.0, 0.0, 30.0, 0, 0, 0, 2).accepted
    mounted.run(until_us=2_000_000)
    # Joints turn about left and up: down is positive about left, right negative about up.
    np.testing.assert_allclose(mounted.state.joint_pos[0], np.radians([-30.0, 45.0]), atol=0.02)
    row = np.zeros(1, dtype=layout("MOUNT_ORIENTATION").dtype)
    ((_, fill),) = declared(mounted.autopilot.mount, "streams")
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
    nan = np.nan
    assert "angles" in obey(mounted, TURN, nan, nan, nan, nan).reason
    assert obey(mounted, TURN, nan, nan, 2, -10).accepted
    begin = mounted.autopilot.mount.angles[0].copy()
    mounted.run(until_us=4_000_000)
    turned = np.degrees(mounted.autopilot.mount.angles[0] - begin)
    np.testing.assert_allclose(turned, [0, 4, -20], atol=0.01)
    quarter = (math.cos(math.pi / 8), 0.0, 0.0, math.sin(math.pi / 8))  # 45 degrees right
    ((_, set_attitude),) = declared(mounted.autopilot.gimbals, "receives")
    set_attitude(
        Link,
        mavlink.MAVLink_gimbal_manager_set_attitude_message(1, 1, 0, 0, quarter, nan, nan, nan),
    )
    np.testing.assert_allclose(np.degrees(mounted.autopilot.mount.angles[0]), [0, 0, 45], atol=1e-3)
    assert obey(mounted, TAKE, -3).accepted
    assert obey(mounted, TURN, 0, 0).result == mavlink.MAV_RESULT_DENIED


def test_an_agent_takes_control_of_the_gimbal_and_gives_way(mounted):
    """By the gimbal protocol it is the vehicle's onboard computer."""
    autopilot, place = mounted.autopilot, np.array([3.0, 4.0, 0.0])
    row = np.zeros(1, dtype=layout("GIMBAL_MANAGER_STATUS").dtype)
    fill = {s.name: f for s, f in declared(autopilot.gimbals, "streams")}["GIMBAL_MANAGER_STATUS"]

    def primary():
        fill(row, 0)
        return row["primary_control_sysid"][0], row["primary_control_compid"][0]

    autopilot.aim_camera(0, place)
    assert primary() == (1, mavlink.MAV_COMP_ID_ONBOARD_COMPUTER)
    np.testing.assert_array_equal(autopilot.mount.records["roi"][0], place)
    assert obey(mounted, TAKE, -2, -2, -1, -1).accepted  # a ground station takes it
    autopilot.aim_camera(0, None)
    assert primary() == Link.source
    np.testing.assert_array_equal(autopilot.mount.records["roi"][0], place)
    assert obey(mounted, TAKE, -3, -3, -1, -1).accepted  # and gives it up
    autopilot.aim_camera(0, None)
    assert np.isnan(autopilot.mount.records["roi"][0]).all()


def test_the_gimbal_manager_tells_its_range(mounted):
    (request,) = (method for name, method in declared(mounted.autopilot.gimbals, "on_request"))
    (message,) = request(0, [])
    assert message.pitch_min < 0.0 < message.pitch_max
    assert message.gimbal_device_id == 1


class Typhoon:
    """The mount of a typhoon_h480 that is held at an attitude."""

    def __init__(self, *euler):
        """euler: Roll, pitch and yaw of the vehicle, forward-left-up to east-north-up [deg]."""
        self.records = np.zeros(1, dtype=ESTIMATE)
        self.pos = self.records["pos"]
        self.vehicle = load_vehicle("typhoon_h480")
        self.mount = Mount(FleetModel.of([self.vehicle]), self, SimpleNamespace(t_us=0))
        self.turn(*euler)

    def turn(self, *euler):
        self.attitude = Rotation.from_euler("xyz", euler, degrees=True)
        self.records["quat"] = self.attitude.as_quat()

    def yaw(self, i):
        return self.attitude.as_euler("ZYX")[0]

    def camera(self):
        """Attitude of the camera where all servos have arrived."""
        commands = np.zeros((1, len(self.vehicle.actuators)))
        self.mount.apply(commands, 0.004)
        joints = dict.fromkeys(("gimbal_roll", "gimbal_pitch", "gimbal_yaw"), 0.0)
        joints |= {
            servo.name: servo.input_scaling * command
            for servo, command in zip(self.vehicle.actuators, commands[0])
            if servo.name in joints
        }
        # Yaw arm, roll arm and camera hang one on the other.
        return self.attitude * Rotation.from_euler(
            "ZXY", [joints["gimbal_yaw"], joints["gimbal_roll"], joints["gimbal_pitch"]]
        )


TILTS = [(0.0, 0.0, 0.0), (15.0, 0.0, 40.0), (0.0, 20.0, -130.0), (-18.0, 12.0, 170.0)]


@pytest.mark.parametrize("tilt", TILTS)
def test_a_gimbal_holds_its_camera_level(tilt):
    held = Typhoon(*tilt)
    held.mount.turn(0, np.radians((0.0, -30.0, 70.0)))
    forward, left = held.camera().as_matrix()[:, 0], held.camera().as_matrix()[:, 1]
    assert math.degrees(math.asin(forward[2])) == pytest.approx(-30.0)
    assert left[2] == pytest.approx(0.0, abs=1e-9)
    heading = math.degrees(held.yaw(0) - math.atan2(forward[1], forward[0]))
    assert heading % 360.0 == pytest.approx(70.0)


def test_a_locked_yaw_stays_where_it_is_while_the_vehicle_turns():
    held = Typhoon(0.0, 0.0, 90.0)
    held.mount.turn(0, np.radians((0.0, 0.0, 20.0)), from_north=True)
    for yaw in (90.0, 30.0, -60.0):
        held.turn(0.0, 5.0, yaw)
        forward = held.camera().as_matrix()[:, 0]
        assert math.degrees(math.atan2(forward[0], forward[1])) == pytest.approx(20.0)


@pytest.mark.parametrize("tilt", TILTS)
def test_a_gimbal_looks_at_a_region_of_interest_wherever_the_vehicle_is(tilt):
    held, place = Typhoon(*tilt), np.array([20.0, -5.0, 3.0])
    held.mount.look_at(0, place)
    for pos in ((0.0, 0.0, 15.0), (25.0, 30.0, 20.0), (40.0, -10.0, 10.0)):
        held.records["pos"] = pos
        wanted = (place - pos) / np.linalg.norm(place - pos)
        np.testing.assert_allclose(held.camera().as_matrix()[:, 0], wanted, atol=1e-6)
    held.mount.look_at(0, None)
    assert (held.mount.angles == 0.0).all()


@pytest.mark.slow
def test_a_mission_turns_the_shipped_gimbal():
    """To a region of interest that it flies past nose ahead, and by an item to angles."""
    f = MissionFlight("typhoon_h480", gps="")
    f.set(MIS_MNT_YAW_CTL=1)
    place = np.array([5.0, 15.0, 0.0])
    nan = math.nan
    items = [
        f.item(mavlink.MAV_CMD_NAV_TAKEOFF, 0.0, 0.0, 10.0),
        f.item(mavlink.MAV_CMD_DO_SET_ROI_LOCATION, *place),
        f.item(mavlink.MAV_CMD_NAV_WAYPOINT, 30.0, 0.0, 10.0, p=(0.0, 2.0, 0.0, nan)),
        f.item(mavlink.MAV_CMD_DO_SET_ROI_NONE),
        f.item(mavlink.MAV_CMD_DO_MOUNT_CONTROL, z=2.0, p=(-40.0, 0.0, 25.0, 0.0)),
        f.item(mavlink.MAV_CMD_NAV_WAYPOINT, 30.0, 30.0, 10.0, p=(0.0, 2.0, 0.0, nan)),
    ]
    try:
        f.ready()
        assert f.upload(items) == mavlink.MAV_MISSION_ACCEPTED
        f.start()
        f.wait(lambda: f.seq() == 2 and f.pos[0] > 5.0, 40)
        off = [jointed.off_axis(f.simulation, "cgo3_camera_link", place)]
        while f.seq() == 2:
            f.run(0.5)
            off.append(jointed.off_axis(f.simulation, "cgo3_camera_link", place))
        assert len(off) > 8 and max(off[:-1]) < 2.0, off
        f.run(3)
        roll, pitch, yaw = jointed.looks(f.simulation, "cgo3_camera_link")
        assert (roll, pitch) == (pytest.approx(0.0, abs=2.0), pytest.approx(-40.0, abs=2.0))
        assert yaw == pytest.approx(25.0, abs=4.0)
    finally:
        f.simulation.close()
