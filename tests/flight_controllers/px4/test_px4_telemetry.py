"""Telemetry and set-points, against a scripted PX4 on its UDP ports."""

import math
import socket

import numpy as np
import pytest
from pymavlink.dialects.v20 import common as mavlink

from own_ports import PORTS
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core import ARM, Mode, SetPoints
from xtdrone_core.modes import custom_mode
from xtdrone_flight_controllers.px4.telemetry import FleetTelemetry

CAMERA_LOCAL, OFFBOARD_LOCAL = PORTS.camera_local(0), PORTS.offboard_local(0)
ORIGIN = math.radians(47.397742), math.radians(8.545594), 488.0


class UdpPx4:
    """PX4's ends of the links of one vehicle."""

    def __init__(self, i):
        self.sockets = {}
        for base in (CAMERA_LOCAL, OFFBOARD_LOCAL):
            self.sockets[base] = sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.bind(("127.0.0.1", base + i))
            sock.settimeout(5.0)
        self.mavlink = mavlink.MAVLink(None, i + 1, 1)
        self.parser = mavlink.MAVLink(None)
        self.partner = None

    def hear(self, base, kind):
        """The next message of a kind on a link."""
        while True:
            data, self.partner = self.sockets[base].recvfrom(4096)
            for message in self.parser.parse_buffer(data) or ():
                if message.get_type() == kind:
                    return message

    def say(self, base, *messages):
        """Sends messages to whoever spoke last."""
        self.sockets[base].sendto(b"".join(m.pack(self.mavlink) for m in messages), self.partner)

    def close(self):
        for sock in self.sockets.values():
            sock.close()


@pytest.fixture
def pair():
    """Two scripted PX4s and our end."""
    peers = [UdpPx4(i) for i in range(2)]
    texts = []
    telemetry = FleetTelemetry(
        2, ORIGIN, np.zeros((2, 3)), True, lambda i, severity, text: texts.append((i, text))
    )
    yield telemetry, peers, texts
    telemetry.close()
    for peer in peers:
        peer.close()


def state(lat=473977420):
    """What a PX4 says that is ready to arm."""
    heartbeat = mavlink.MAVLink_heartbeat_message(
        2, mavlink.MAV_AUTOPILOT_PX4, 129, custom_mode(Mode.LOITER), 4, 3
    )
    position = mavlink.MAVLink_local_position_ned_message(1, 1.0, 2.0, -3.0, 0.1, 0.2, -0.3)
    attitude = mavlink.MAVLink_attitude_quaternion_message(1, 1, 0, 0, 0, 0.1, 0.2, 0.3)
    status = mavlink.MAVLink_sys_status_message(
        0, 0, mavlink.MAV_SYS_STATUS_PREARM_CHECK, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    )
    extended = mavlink.MAVLink_extended_sys_state_message(0, mavlink.MAV_LANDED_STATE_IN_AIR)
    origin = mavlink.MAVLink_gps_global_origin_message(lat, 85455940, 488000)
    return heartbeat, position, attitude, status, extended, origin


def drain(telemetry, t_us):
    """Steps until what was sent on loopback has come in; a datagram is there once sendto ends."""
    telemetry.step(t_us)
    return telemetry.estimates()


def test_estimates_are_px4s_in_our_frames(pair):
    telemetry, peers, _ = pair
    telemetry.step(0)
    peers[1].hear(CAMERA_LOCAL, "HEARTBEAT")
    peers[1].say(CAMERA_LOCAL, *state())
    found = drain(telemetry, 20_000)
    np.testing.assert_allclose(found.pos[1], (2.0, 1.0, 3.0))
    np.testing.assert_allclose(found.vel[1], (0.2, 0.1, 0.3), atol=1e-7)
    np.testing.assert_allclose(found.ang_vel[1], (0.1, -0.2, -0.3), atol=1e-7)
    half = math.sqrt(0.5)
    np.testing.assert_allclose(found.quat[1], (0, 0, half, half), atol=1e-7)  # north
    assert found.armed[1] and not found.landed[1] and found.mode[1] == Mode.LOITER
    assert found.ready.tolist() == [False, True]
    assert not found.armed[0] and found.landed[0]


def test_only_a_px4_that_is_silent_gets_heartbeats(pair):
    """PX4 forwards them to its clients, which take them for the vehicle's."""
    telemetry, peers, _ = pair
    telemetry.step(0)
    assert peers[0].hear(CAMERA_LOCAL, "HEARTBEAT").type == mavlink.MAV_TYPE_GENERIC
    peers[0].say(CAMERA_LOCAL, *state())
    for t_us in range(20_000, 6_000_000, 20_000):
        telemetry.step(t_us)
        if t_us == 20_000:
            assert not telemetry.wants_heartbeat(0) and telemetry.wants_heartbeat(1)
        assert telemetry.wants_heartbeat(0) == (t_us > 3_020_000)
    assert peers[0].hear(CAMERA_LOCAL, "HEARTBEAT")


def test_the_worlds_origin_is_asked_for_until_px4_has_it(pair):
    telemetry, peers, _ = pair
    telemetry.step(0)
    peers[0].hear(CAMERA_LOCAL, "HEARTBEAT")
    peers[0].say(CAMERA_LOCAL, *state(lat=473970000))
    assert not drain(telemetry, 20_000).ready[0]
    drain(telemetry, 40_000)
    wanted = peers[0].hear(CAMERA_LOCAL, "SET_GPS_GLOBAL_ORIGIN")
    assert (wanted.latitude, wanted.longitude, wanted.altitude) == (473977420, 85455940, 488000)
    peers[0].say(CAMERA_LOCAL, *state())
    assert drain(telemetry, 60_000).ready[0]


def test_an_agents_wishes_go_to_the_offboard_link(pair):
    telemetry, peers, texts = pair
    wishes = SetPoints.empty(2)
    wishes.pos[1] = 1.0, 2.0, 3.0
    wishes.yaw[1] = 0.0
    wishes.mode[1], wishes.arm[1] = Mode.OFFBOARD, ARM
    assert not telemetry.offboard
    telemetry.apply(wishes)
    point = peers[1].hear(OFFBOARD_LOCAL, "SET_POSITION_TARGET_LOCAL_NED")
    assert (point.x, point.y, point.z) == (2.0, 1.0, -3.0)
    assert point.yaw == pytest.approx(math.pi / 2)
    assert point.type_mask == 0x38 | 0x1C0 | 2048 and point.target_system == 2
    mode, arm = (peers[1].hear(OFFBOARD_LOCAL, "COMMAND_LONG") for _ in range(2))
    assert (mode.command, mode.param1, mode.param2) == (mavlink.MAV_CMD_DO_SET_MODE, 1, 6)
    assert (arm.command, arm.param1) == (mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1)
    peers[1].say(OFFBOARD_LOCAL, mavlink.MAVLink_command_ack_message(arm.command, 1))
    drain(telemetry, 0)
    assert texts == [(1, "command 400 was refused, result 1")]
    # Nothing was asked of the other one, which is only greeted.
    assert peers[0].hear(OFFBOARD_LOCAL, "HEARTBEAT")


def test_a_pose_from_outside_goes_to_px4_as_odometry(pair):
    telemetry, peers, _ = pair
    telemetry.step(0)
    peers[1].hear(CAMERA_LOCAL, "HEARTBEAT")
    peers[1].say(CAMERA_LOCAL, *state()[:-1])
    drain(telemetry, 20_000)
    telemetry.send_pose(1, 20_000, np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
    drain(telemetry, 40_000)
    peers[1].hear(CAMERA_LOCAL, "SET_GPS_GLOBAL_ORIGIN")
    telemetry.send_pose(1, 60_000, np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
    # Both came too early: without GPS, the origin shifts whatever height PX4 has by then.
    telemetry.send_pose(1, 1_200_000, np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 0.0, 1.0]))
    m = peers[1].hear(CAMERA_LOCAL, "ODOMETRY")
    assert (m.time_usec, m.frame_id, m.child_frame_id) == (
        1_200_000,
        mavlink.MAV_FRAME_LOCAL_NED,
        mavlink.MAV_FRAME_BODY_FRD,
    )
    assert (m.x, m.y, m.z) == (2.0, 1.0, -3.0)
    turn = math.sqrt(0.5)  # faces east
    assert np.abs(m.q) == pytest.approx([turn, 0.0, 0.0, turn], abs=1e-6) and m.q[0] * m.q[3] > 0
    assert math.isnan(m.vx) and math.isnan(m.rollspeed)
    variances = [m.pose_covariance[k] for k in (0, 6, 11, 15, 18, 20)]
    assert variances == pytest.approx([1e-4] * 6)


def test_a_landing_target_goes_to_px4_in_its_local_frame(pair):
    telemetry, peers, _ = pair
    telemetry.step(0)
    peers[1].hear(CAMERA_LOCAL, "HEARTBEAT")
    telemetry.send_landing_target(1, 20_000, np.array([1.0, 2.0, 3.0]))
    m = peers[1].hear(CAMERA_LOCAL, "LANDING_TARGET")
    assert (m.time_usec, m.frame, m.position_valid) == (20_000, mavlink.MAV_FRAME_LOCAL_NED, 1)
    assert (m.x, m.y, m.z) == (2.0, 1.0, -3.0)


def test_nothing_is_known_of_a_px4_that_was_restarted(pair):
    telemetry, peers, _ = pair
    telemetry.step(0)
    for peer in peers:
        peer.hear(CAMERA_LOCAL, "HEARTBEAT")
        peer.say(CAMERA_LOCAL, *state())
    before = drain(telemetry, 20_000)
    assert before.ready.all() and before.armed.all()
    peers[0].say(CAMERA_LOCAL, *state())  # its last words
    telemetry.begin_again(0)
    found = drain(telemetry, 40_000)
    assert found.ready.tolist() == found.armed.tolist() == [False, True]
    assert found.landed.tolist() == [True, False] and found.quat[0].tolist() == [0, 0, 0, 1]
    assert not found.pos[0].any() and found.pos[1].any()
    telemetry.step(60_000)
    peers[0].hear(CAMERA_LOCAL, "HEARTBEAT")
    peers[0].say(CAMERA_LOCAL, *state())
    assert drain(telemetry, 80_000).ready.all()


def test_health_says_what_a_px4_waits_for(pair):
    telemetry, *_ = pair
    assert [state["not_ready"] for state in telemetry.health()] == ["PX4 has not been heard"] * 2
    assert not telemetry.health()[0]["armed"] and telemetry.health()[0]["landed"]


def test_attitude_rates_and_force_go_to_px4_as_an_attitude_target(pair):
    telemetry, peers, texts = pair
    telemetry.thrust_poly = np.array([[0.0, 10.0, 30.0]] * 2)  # 40 N at full command
    wishes = SetPoints.empty(2)
    wishes.quat[0] = 0.0, 0.0, 0.0, 1.0  # level, faces east
    wishes.yaw_rate[0] = 0.3
    wishes.force[0] = np.nan, np.nan, 12.5
    wishes.rates[1] = 0.1, 0.2, 0.3
    wishes.force[1] = 0.0, 0.0, 40.0
    telemetry.apply(wishes)
    m = peers[0].hear(OFFBOARD_LOCAL, "SET_ATTITUDE_TARGET")
    assert (m.type_mask, m.target_system, m.thrust) == (0b11, 1, pytest.approx(0.5))
    turn = math.sqrt(0.5)
    assert np.abs(m.q) == pytest.approx([turn, 0.0, 0.0, turn], abs=1e-6) and m.q[0] * m.q[3] > 0
    assert m.body_yaw_rate == pytest.approx(-0.3)
    m = peers[1].hear(OFFBOARD_LOCAL, "SET_ATTITUDE_TARGET")
    assert (m.type_mask, m.thrust) == (128, pytest.approx(1.0))
    assert (m.body_roll_rate, m.body_pitch_rate, m.body_yaw_rate) == pytest.approx(
        (0.1, -0.2, -0.3)
    )
    wishes.force[:] = np.nan
    telemetry.apply(wishes)
    telemetry.apply(wishes)
    assert [i for i, text in texts if "need a force" in text] == [0, 1]


def test_actuator_commands_are_refused_for_px4(pair):
    telemetry, *_ = pair
    wishes = SetPoints.empty(2, 4)
    telemetry.apply(wishes)
    wishes.actuators[0] = 0.5
    with pytest.raises(AutopilotError, match="no actuator commands.*rates and force"):
        telemetry.apply(wishes)


@pytest.mark.parametrize(
    "message",
    [
        mavlink.MAVLink_local_position_ned_message(1, math.nan, 0, 0, 0, 0, 0),
        mavlink.MAVLink_local_position_ned_message(1, 0, 0, 3e38, 0, 0, 0),
        mavlink.MAVLink_local_position_ned_message(1, 0, 0, 0, 0, -math.inf, 0),
        mavlink.MAVLink_attitude_quaternion_message(1, math.nan, 0, 0, 0, 0, 0, 0),
        mavlink.MAVLink_attitude_quaternion_message(1, 1, 0, 0, 0, math.inf, 0, 0),
    ],
)
def test_estimates_that_are_no_numbers_are_left_out(pair, message):
    telemetry, peers, _ = pair
    telemetry.step(0)
    peers[1].hear(CAMERA_LOCAL, "HEARTBEAT")
    peers[1].say(CAMERA_LOCAL, *state())
    before = [
        x[1].copy()
        for x in (
            drain(telemetry, 20_000).pos,
            telemetry.estimates().vel,
            telemetry.estimates().quat,
            telemetry.estimates().ang_vel,
        )
    ]
    peers[1].say(CAMERA_LOCAL, message)
    found = drain(telemetry, 40_000)
    for old, new in zip(before, (found.pos, found.vel, found.quat, found.ang_vel)):
        np.testing.assert_array_equal(old, new[1])


def test_strangers_and_other_vehicles_are_not_heard(pair):
    telemetry, peers, texts = pair
    telemetry.step(0)
    peers[0].hear(CAMERA_LOCAL, "HEARTBEAT")
    peers[1].hear(CAMERA_LOCAL, "HEARTBEAT")
    text = mavlink.MAVLink_statustext_message(2, b"stranger")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for system in (1, 2):
            sender = mavlink.MAVLink(None, system, 1)
            stranger.sendto(b"".join(m.pack(sender) for m in (*state(), text)), peers[0].partner)
    other = mavlink.MAVLink(None, 2, 1)
    peers[0].sockets[CAMERA_LOCAL].sendto(
        b"".join(m.pack(other) for m in (*state(), text)), peers[0].partner
    )
    found = drain(telemetry, 20_000)
    assert not found.ready.any() and not found.armed.any() and texts == []
    assert (telemetry.heard_us < 0).all()
