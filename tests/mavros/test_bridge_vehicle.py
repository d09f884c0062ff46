"""The bridge's topics, set-points and services, without ROS and without a network."""

import importlib
import math
from types import SimpleNamespace as Fields

import pytest
from pymavlink.dialects.v20 import common as mavlink

from bridge_host import NOW, Host, Link
from ros_fixtures import needs_ros
from xtdrone_autopilot.mavlink.streams import stream_declarations
from xtdrone_dynamics.earth.geoid import geoid_height
from xtdrone_mavros import ros_serialisation as ros
from xtdrone_mavros.bridge import Bridge
from xtdrone_mavros.inputs import SUBSCRIPTIONS, set_points
from xtdrone_mavros.services import SERVICES, commands, parameters, plans
from xtdrone_mavros.topics import TOPICS
from xtdrone_ros1.messages import response as response_of

MISSION = mavlink.MAV_MISSION_TYPE_MISSION
GEOID = geoid_height(math.radians(47.5), math.radians(8.5))  # at the places below [m]


@pytest.fixture
def fleet():
    """Two vehicles: (bridge, link, host)."""
    link, host = Link(2), Host()
    bridge = Bridge(["iris_0", "iris_1"], link, host)
    bridge.tick(NOW)
    return bridge, link, host


def heartbeat(custom=6 << 16, base=128 | 81):
    return mavlink.MAVLink_heartbeat_message(2, 12, base, custom, 4, 3)


@needs_ros
def test_state_of_a_vehicle_that_comes_and_goes(fleet):
    bridge, link, host = fleet
    state = host.outputs["iris_1", "state"]
    assert not state.last().connected
    link.feed(1, heartbeat())
    bridge.poll()
    message = state.last()
    assert (message.connected, message.armed, message.mode) == (True, True, "OFFBOARD")
    assert message.header.stamp.secs == 3
    assert link.of_kind("COMMAND_LONG")[0][1].command == 520  # asked for its version
    assert len(host.put_off) == 1  # its missions are read later
    link.feed(1, heartbeat(custom=4 << 16 | 5 << 24, base=81))
    bridge.poll()
    assert (state.last().armed, state.last().mode) == (False, "AUTO.RTL")
    assert not host.outputs["iris_0", "state"].last().connected
    for t in range(4, 15):
        bridge.tick(t * 1_000_000)
    assert not state.last().connected
    assert "gone" in host.lines[-1][2]


@needs_ros
def test_a_stream_of_set_points_that_stalls_is_late_until_it_goes_on_or_is_given_up(fleet):
    bridge, link, _host = fleet
    vehicle = bridge.vehicles[1]

    def stream():
        set_points.setpoint_velocity_unstamped(
            vehicle, Fields(linear=Fields(x=1.0, y=0.0, z=0.0), angular=Fields(z=0.0))
        )

    bridge.tick(NOW + 2_000_000)
    assert not bridge.late  # nobody streams
    stream()
    bridge.tick(NOW + 3_000_000)
    assert not bridge.late  # before OFFBOARD nothing is lost by it
    link.feed(1, heartbeat())
    bridge.poll()
    assert bridge.late == [vehicle]
    stream()
    assert not bridge.late
    bridge.tick(NOW + 3_500_000)
    assert not bridge.late  # two a second are enough for PX4
    bridge.tick(NOW + 3_600_000)
    assert bridge.late == [vehicle]
    vehicle.end_stream()
    assert not bridge.late
    stream()
    link.feed(1, heartbeat(custom=4 << 16 | 5 << 24))
    bridge.poll()
    bridge.tick(NOW + 6_000_000)
    assert not bridge.late  # it flies home now


@needs_ros
def test_heartbeat_of_a_ground_station_is_not_a_vehicle(fleet):
    bridge, link, host = fleet
    link.feed(0, mavlink.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3))
    bridge.poll()
    assert not host.outputs["iris_0", "state"].last().connected


@needs_ros
def test_pose_uses_the_attitude_of_the_same_instant(fleet):
    bridge, link, host = fleet
    half = math.sqrt(0.5)
    link.feed(
        0,
        mavlink.MAVLink_local_position_ned_message(2980, 1, 2, -3, 1.0, 0, 0),
        mavlink.MAVLink_attitude_quaternion_message(2980, half, 0, 0, half, 0, 0, 0.5),
    )
    bridge.poll()
    pose = host.outputs["iris_0", "local_position/pose"].last()
    assert pose.header.frame_id == "map" and pose.header.stamp.nsecs == 980_000_000
    assert (pose.pose.position.x, pose.pose.position.y, pose.pose.position.z) == (2, 1, 3)
    assert pose.pose.orientation.w == pytest.approx(1.0)  # facing east
    odom = host.outputs["iris_0", "local_position/odom"].last()
    assert odom.twist.twist.linear.y == pytest.approx(1.0)  # north is to the left
    assert odom.twist.twist.angular.z == pytest.approx(-0.5)
    velocity = host.outputs["iris_0", "local_position/velocity_local"].last()
    assert velocity.twist.linear.y == pytest.approx(1.0)


@needs_ros
def test_clock_of_another_origin_gives_our_time(fleet):
    bridge, link, host = fleet
    link.feed(0, mavlink.MAVLink_local_position_ned_message(900_000_000, 0, 0, 0, 0, 0, 0))
    bridge.poll()
    assert host.outputs["iris_0", "local_position/pose"].last().header.stamp.secs == 3


@needs_ros
def test_sensors_and_receiver(fleet):
    bridge, link, host = fleet
    link.feed(
        0,
        mavlink.MAVLink_attitude_quaternion_message(2990, 1, 0, 0, 0, 0, 0, 0.5),
        mavlink.MAVLink_highres_imu_message(
            2_990_000, 1, 2, -9.8, 0.1, 0, 0, 0.2, 0, 0.4, 95000.0, 0, 0, 20, 0x3F | 0x200
        ),
        mavlink.MAVLink_gps_raw_int_message(
            2_990_000, 3, 475000000, 85000000, 500000, 100, 100, 0, 0, 12, 548000, 2000, 3000, 0, 0
        ),
        mavlink.MAVLink_global_position_int_message(
            2990, 475000000, 85000000, 500000, 2500, 0, 0, 0, 9000
        ),
    )
    bridge.poll()

    def last(topic):
        return host.outputs["iris_0", topic].last()

    assert last("imu/data").linear_acceleration.z == pytest.approx(9.8)
    assert last("imu/data").angular_velocity.z == pytest.approx(-0.5)
    assert last("imu/data_raw").orientation_covariance[0] == -1
    assert last("imu/static_pressure").fluid_pressure == pytest.approx(95000)
    assert not host.outputs["iris_0", "imu/mag"].sent  # no new reading
    fix = last("global_position/global")
    assert (fix.latitude, fix.longitude) == pytest.approx((47.5, 8.5))
    assert fix.altitude == pytest.approx(500.0 + GEOID)
    assert fix.position_covariance[0] == pytest.approx(4.0)
    assert last("global_position/rel_alt").data == pytest.approx(2.5)
    assert last("global_position/compass_hdg").data == pytest.approx(90.0)


def test_nothing_is_built_where_nobody_listens():
    link, host = Link(1), Host()
    host.listened = False
    bridge = Bridge(["iris_0"], link, host)
    bridge.tick(NOW)
    link.feed(
        0,
        mavlink.MAVLink_local_position_ned_message(2980, 1, 2, -3, 1.0, 0, 0),
        mavlink.MAVLink_vfr_hud_message(1, 2, 3, 4, 5, 6),
    )
    bridge.poll()
    assert not host.outputs["iris_0", "local_position/pose"].sent
    assert not host.outputs["iris_0", "vfr_hud"].sent


@needs_ros
@pytest.mark.parametrize("text", ["Arming denied", "x" * 50, "a text of more than " * 6])
def test_status_texts_of_any_length(fleet, text):
    bridge, link, host = fleet
    data = text.encode()
    parts = [data[k : k + 50] for k in range(0, len(data) + 1, 50)] if len(data) > 50 else [data]
    for k, part in enumerate(parts):
        link.feed(0, mavlink.MAVLink_statustext_message(4, part, 7 if len(parts) > 1 else 0, k))
    bridge.poll()
    assert host.lines == [("iris_0", 4, text)]
    assert host.outputs["iris_0", "statustext/recv"].last().text == text


def test_refused_mode_is_said(fleet):
    bridge, link, host = fleet
    link.feed(1, mavlink.MAVLink_command_ack_message(176, mavlink.MAV_RESULT_DENIED))
    bridge.poll()
    assert host.lines == [("iris_1", 4, "mode refused: MAV_RESULT_DENIED")]


# What each input sends: topic, message, kind of MAVLink message, fields of it.
XYZ = Fields(x=1.0, y=2.0, z=3.0)
EAST = Fields(x=0.0, y=0.0, z=0.0, w=1.0)
POSE = Fields(position=XYZ, orientation=EAST)
STAMP = Fields(stamp=Fields(secs=2, nsecs=500_000_000))
TWIST = Fields(linear=XYZ, angular=XYZ)
INPUTS = [
    (
        "setpoint_raw/local",
        ros.position_target(NOW, "map", 1, 2552, (1, 2, 3), (0, 0, 0), (0, 0, 0), 0.0, 0.0),
        "SET_POSITION_TARGET_LOCAL_NED",
        dict(x=2.0, y=1.0, z=-3.0, type_mask=2552, yaw=math.pi / 2, coordinate_frame=1),
    ),
    (
        "setpoint_raw/local",
        ros.position_target(NOW, "", 8, 1479, (0, 0, 0), (1, 2, 3), (0, 0, 0), 0.0, 0.5),
        "SET_POSITION_TARGET_LOCAL_NED",
        dict(vx=1.0, vy=-2.0, vz=-3.0, yaw_rate=-0.5, coordinate_frame=8),
    ),
    (
        "setpoint_raw/attitude",
        Fields(type_mask=7, orientation=EAST, body_rate=XYZ, thrust=0.5),
        "SET_ATTITUDE_TARGET",
        dict(thrust=0.5, type_mask=7, body_pitch_rate=-2.0),
    ),
    (
        "setpoint_raw/global",
        Fields(
            coordinate_frame=6,
            type_mask=0,
            latitude=47.5,
            longitude=8.5,
            altitude=10.0,
            velocity=XYZ,
            acceleration_or_force=XYZ,
            yaw=0.0,
            yaw_rate=0.0,
        ),
        "SET_POSITION_TARGET_GLOBAL_INT",
        dict(lat_int=475000000, alt=10.0, vx=2.0, vz=-3.0),
    ),
    (
        "setpoint_position/local",
        Fields(pose=POSE),
        "SET_POSITION_TARGET_LOCAL_NED",
        dict(x=2.0, y=1.0, z=-3.0, type_mask=0b100111111000, yaw=math.pi / 2),
    ),
    (
        "setpoint_position/global",
        Fields(
            pose=Fields(
                position=Fields(latitude=47.5, longitude=8.5, altitude=500.0), orientation=EAST
            )
        ),
        "SET_POSITION_TARGET_GLOBAL_INT",
        dict(lat_int=475000000, lon_int=85000000, alt=500.0),
    ),
    (
        "setpoint_velocity/cmd_vel",
        Fields(twist=TWIST),
        "SET_POSITION_TARGET_LOCAL_NED",
        dict(vx=2.0, vy=1.0, vz=-3.0, yaw_rate=-3.0, type_mask=0b010111000111),
    ),
    (
        "setpoint_velocity/cmd_vel_unstamped",
        TWIST,
        "SET_POSITION_TARGET_LOCAL_NED",
        dict(vx=2.0, type_mask=0b010111000111),
    ),
    (
        "setpoint_accel/accel",
        Fields(vector=XYZ),
        "SET_POSITION_TARGET_LOCAL_NED",
        dict(afx=2.0, afz=-3.0, type_mask=0b110000111111),
    ),
    (
        "vision_pose/pose",
        Fields(header=STAMP, pose=POSE),
        "VISION_POSITION_ESTIMATE",
        dict(usec=2_500_000, x=2.0, yaw=math.pi / 2),
    ),
    (
        "vision_pose/pose_cov",
        Fields(header=STAMP, pose=Fields(pose=POSE, covariance=list(range(36)))),
        "VISION_POSITION_ESTIMATE",
        dict(x=2.0),
    ),
    (
        "manual_control/send",
        Fields(x=500.0, y=-2000.0, z=300.0, r=0.0, buttons=5),
        "MANUAL_CONTROL",
        dict(x=500, y=-1000, z=300, buttons=5, target=2),
    ),
    ("rc/override", Fields(channels=[1500] * 18), "RC_CHANNELS_OVERRIDE", dict(chan1_raw=1500)),
    ("statustext/send", Fields(severity=6, text="hello"), "STATUSTEXT", dict(severity=6)),
    (
        "global_position/set_gp_origin",
        Fields(position=Fields(latitude=47.5, longitude=8.5, altitude=500.0 + GEOID)),
        "SET_GPS_GLOBAL_ORIGIN",
        dict(latitude=475000000, altitude=500000),
    ),
    (
        "home_position/set",
        Fields(geo=Fields(latitude=47.5, longitude=8.5, altitude=500.0 + GEOID)),
        "COMMAND_INT",
        dict(command=179, x=475000000, z=500.0),
    ),
]


@pytest.mark.parametrize("topic, message, kind, expected", INPUTS)
def test_inputs(fleet, topic, message, kind, expected):
    bridge, link, _ = fleet
    handle = {row.name: row.handle for row in SUBSCRIPTIONS}[topic]
    link.sent.clear()
    handle(bridge.vehicles[1], message)
    ((i, sent),) = link.sent
    assert (i, sent.get_type()) == (1, kind)
    for name, value in expected.items():
        assert getattr(sent, name) == pytest.approx(value), name
    sent.pack(mavlink.MAVLink(None))  # every field fits its type


def test_thrust_goes_with_attitude_and_rates(fleet):
    bridge, link, _ = fleet
    vehicle = bridge.vehicles[0]
    set_points.setpoint_thrust(vehicle, Fields(thrust=0.6))
    set_points.setpoint_attitude(vehicle, Fields(pose=POSE))
    set_points.setpoint_rates(vehicle, Fields(twist=TWIST))
    attitude, rates = (m for _, m in link.of_kind("SET_ATTITUDE_TARGET"))
    assert attitude.thrust == rates.thrust == 0.6
    assert (attitude.type_mask, rates.type_mask) == (7, 128)


def test_the_table_tells_the_rates_of_the_embedded_flight_stack():
    rates = {stream.name: stream.rates.get("bridge", 0) for stream in stream_declarations()}
    told = {
        row.message: row.rate
        for row in TOPICS
        if row.message in rates and row.name not in ("mission/waypoints", "mission/reached")
    }
    assert told == {message: rates[message] for message in told}


def test_names_are_of_one_row_each():
    for table in (TOPICS, SUBSCRIPTIONS, SERVICES):
        assert len({row.name for row in table}) == len(table)


class Prepared:
    """Stands for Requests, whose exchanges test_bridge_link looks at."""

    def __init__(self, result):
        self.result, self.sent = result, []
        self.params, self.params_known = {"A": (1, 6), "B": (2.5, 9)}, True

    def __getattr__(self, name):
        def call(*args):
            self.sent.append((name, *args))
            return self.result

        return call


COMMANDS = [
    ("cmd/arming", Fields(value=True), 400, (1, 0, 0, 0, 0, 0, 0)),
    (
        "cmd/command",
        Fields(
            broadcast=False,
            command=222,
            confirmation=0,
            param1=1,
            param2=2,
            param3=3,
            param4=4,
            param5=5,
            param6=6,
            param7=7,
        ),
        222,
        (1, 2, 3, 4, 5, 6, 7),
    ),
    (
        "cmd/takeoff",
        Fields(min_pitch=0, yaw=90, latitude=47, longitude=8, altitude=500),
        22,
        (0, 0, 0, 90, 47, 8, 500),
    ),
    (
        "cmd/land",
        Fields(min_pitch=0, yaw=90, latitude=47, longitude=8, altitude=500),
        21,
        (0, 0, 0, 90, 47, 8, 500),
    ),
    (
        "cmd/set_home",
        Fields(current_gps=True, yaw=0, latitude=0, longitude=0, altitude=0),
        179,
        (1, 0, 0, 0, 0, 0, 0),
    ),
    ("cmd/vtol_transition", Fields(state=4), 3000, (4, 0, 0, 0, 0, 0, 0)),
    (
        "set_message_interval",
        Fields(message_id=32, message_rate=50.0),
        511,
        (32, 20_000, 0, 0, 0, 0, 0),
    ),
    ("set_message_interval", Fields(message_id=32, message_rate=0.0), 511, (32, 0) + (0,) * 5),
    ("home_position/req_update", Fields(), 410, (0,) * 7),
]


@pytest.mark.parametrize("result, success", [(0, True), (2, False)])
@pytest.mark.parametrize("service, request_, command, params", COMMANDS)
def test_command_services(fleet, service, request_, command, params, result, success):
    bridge, _, _ = fleet
    vehicle = bridge.vehicles[0]
    vehicle.requests = Prepared(result)
    answer = {row.name: row.answer for row in SERVICES}[service]
    response = answer(vehicle, request_)
    assert response[0] is (success or service == "set_message_interval")
    ((name, sent, values, *_),) = vehicle.requests.sent
    assert (name, sent) == ("command_long", command)
    assert tuple(map(float, values)) == tuple(map(float, params))


def test_parameters_are_read_ten_seconds_after_the_connection(fleet):
    bridge, link, host = fleet
    vehicle = bridge.vehicles[1]
    link.feed(1, heartbeat())
    bridge.poll()
    host.put_off.clear()
    bridge.tick(NOW + 9_000_000)
    assert not host.put_off
    for seconds in (11, 12):
        link.feed(1, heartbeat())
        bridge.poll()
        bridge.tick(NOW + seconds * 1_000_000)
    assert host.put_off == [vehicle.requests.param_pull]


def test_the_vehicle_is_told_the_time(fleet):
    bridge, link, _ = fleet
    link.feed(1, heartbeat())
    bridge.poll()
    for seconds in (1, 2):
        bridge.tick(NOW + seconds * 1_000_000)
    told = [(i, m.time_unix_usec) for i, m in link.of_kind("SYSTEM_TIME")]
    assert told == [(1, NOW + 1_000_000), (1, NOW + 2_000_000)]


@pytest.mark.parametrize("wanted, pulls", [(True, 1), (False, 0)])
def test_a_mission_that_a_ground_station_uploads_is_read(fleet, wanted, pulls):
    bridge, link, host = fleet
    bridge.vehicles[0].use_parameters({"mission": {"pull_after_gcs": wanted}})
    for total in (65535, 65535, 4, 4):
        link.feed(0, mavlink.MAVLink_mission_current_message(0, total))
        bridge.poll()
    assert len(host.put_off) == pulls
    bridge.vehicles[0].plans[mavlink.MAV_MISSION_TYPE_MISSION] = [None] * 2  # what we pushed
    link.feed(0, mavlink.MAVLink_mission_current_message(0, 2))
    bridge.poll()
    assert len(host.put_off) == pulls


def test_modes_by_name_and_unknown_ones(fleet):
    bridge, link, host = fleet
    link.feed(0, heartbeat(base=128 | 81))
    bridge.poll()
    link.sent.clear()
    vehicle = bridge.vehicles[0]
    assert commands.set_mode(vehicle, Fields(base_mode=0, custom_mode="AUTO.LAND")) == (True,)
    ((_, sent),) = link.sent
    assert (sent.command, sent.param1, sent.param2, sent.param3) == (176, 129, 4, 6)
    assert commands.set_mode(vehicle, Fields(base_mode=0, custom_mode="OFBOARD")) == (False,)
    assert "did you mean 'OFFBOARD'" in host.lines[-1][2]
    assert len(link.sent) == 1


def test_parameter_services(fleet):
    bridge, _, host = fleet
    vehicle = bridge.vehicles[0]
    vehicle.requests = Prepared(5)
    found = parameters.param_get(vehicle, Fields(param_id="A"))
    assert found == (True, {"integer": 5, "real": 0.0})
    vehicle.requests = Prepared((True, 0.5))
    done = parameters.param_set(vehicle, Fields(param_id="B", value=Fields(integer=0, real=0.5)))
    assert done == (True, {"integer": 0, "real": 0.5})
    vehicle.requests = Prepared(None)
    assert parameters.param_get(vehicle, Fields(param_id="?"))[0] is False
    assert parameters.param_pull(vehicle, Fields(force_pull=False)) == (True, 2)
    assert host.params["iris_0"] == {"A": 1, "B": 2.5}
    host.params["iris_0"] = {"A": 1, "B": 3.5, "UNKNOWN": 1}
    vehicle.requests = Prepared((True, 3.5))
    assert parameters.param_push(vehicle, Fields()) == (True, 2)
    assert vehicle.requests.sent == [("param_set", "B", 0, 3.5)]


@needs_ros
def test_mission_services(fleet):
    bridge, link, host = fleet
    vehicle = bridge.vehicles[0]
    items = [
        mavlink.MAVLink_mission_item_int_message(
            0, 0, k, 6, 16, 0, 1, 0, 0, 0, 0, 475000000, 85000000, 10.0
        )
        for k in range(2)
    ]
    vehicle.requests = Prepared(items)
    assert plans.pull(MISSION, vehicle, None) == (True, 2)
    link.feed(0, mavlink.MAVLink_mission_current_message(1))
    bridge.poll()
    mission = host.outputs["iris_0", "mission/waypoints"].last()
    assert mission.current_seq == 1
    assert [w.is_current for w in mission.waypoints] == [False, True]
    assert mission.waypoints[0].x_lat == pytest.approx(47.5)
    assert plans.push(MISSION, vehicle, Fields(start_index=3, waypoints=[])) == (False, 0)


@needs_ros
@pytest.mark.parametrize("row", SERVICES, ids=lambda row: row.name)
def test_services_answer_with_the_fields_of_their_type(row):
    package, cls = row.type.split("/")
    response = response_of(getattr(importlib.import_module(f"{package}.srv"), cls))
    assert len(response.__slots__) <= 3


@needs_ros
@pytest.mark.parametrize("kind", sorted({row.type for row in TOPICS + SUBSCRIPTIONS}))
def test_types_exist(kind):
    package, name = kind.split("/")
    assert getattr(importlib.import_module(f"{package}.msg"), name)


@needs_ros
@pytest.mark.parametrize(
    "message, topic, check",
    [
        (
            mavlink.MAVLink_extended_sys_state_message(3, 2),
            "extended_state",
            lambda m: m.landed_state == 2 and m.vtol_state == 3,
        ),
        (
            mavlink.MAVLink_battery_status_message(
                0, 0, 0, 2000, [4000] * 4 + [65535] * 6, 500, 0, 0, 80
            ),
            "battery",
            lambda m: abs(m.voltage - 16) < 1e-4 and abs(m.current + 5) < 1e-4 and m.present,
        ),
        (
            mavlink.MAVLink_home_position_message(
                475000000, 85000000, 500000, 1, 2, -3, [1, 0, 0, 0], 0, 0, 0
            ),
            "home_position/home",
            lambda m: (
                (m.position.x, m.position.z, m.geo.altitude) == (2, 3, pytest.approx(500 + GEOID))
            ),
        ),
        (
            mavlink.MAVLink_altitude_message(1, 1, 2, 3, 4, 5, 6),
            "altitude",
            lambda m: (m.amsl, m.relative) == (2, 4),
        ),
        (
            mavlink.MAVLink_vfr_hud_message(1, 2, 90, 50, 100, 0.5),
            "vfr_hud",
            lambda m: (m.heading, m.throttle, m.climb) == (90, 0.5, 0.5),
        ),
        (
            mavlink.MAVLink_estimator_status_message(1, 0b101, 0, 0, 0, 0, 0, 0, 0, 0),
            "estimator_status",
            lambda m: m.attitude_status_flag and not m.velocity_horiz_status_flag,
        ),
        (
            mavlink.MAVLink_system_time_message(1_700_000_000_000_000, 2990),
            "time_reference",
            lambda m: m.time_ref.secs == 1_700_000_000 and m.source == "fcu",
        ),
        (
            mavlink.MAVLink_gps_global_origin_message(475000000, 85000000, 500000),
            "global_position/gp_origin",
            lambda m: (
                (m.position.latitude, m.position.altitude) == pytest.approx((47.5, 500 + GEOID))
            ),
        ),
        (
            mavlink.MAVLink_servo_output_raw_message(2_990_000, 0, *range(1, 9)),
            "rc/out",
            lambda m: list(m.channels[:8]) == list(range(1, 9)),
        ),
        (
            mavlink.MAVLink_position_target_local_ned_message(
                2990, 1, 0, 1, 2, -3, 0, 0, 0, 0, 0, 0, 0, 0
            ),
            "setpoint_raw/target_local",
            lambda m: (m.position.x, m.position.z) == (2, 3),
        ),
        (
            mavlink.MAVLink_attitude_target_message(2990, 0, [1, 0, 0, 0], 0, 1, 0, 0.5),
            "setpoint_raw/target_attitude",
            lambda m: m.thrust == 0.5 and m.body_rate.y == -1,
        ),
        (
            mavlink.MAVLink_param_value_message(b"MPC_Z", 2.5, 9, 10, 3),
            "param/param_value",
            lambda m: (m.param_id, m.value.real, m.param_index) == ("MPC_Z", 2.5, 3),
        ),
        (
            mavlink.MAVLink_mission_item_reached_message(4),
            "mission/reached",
            lambda m: m.wp_seq == 4,
        ),
    ],
)
def test_slow_topics(fleet, message, topic, check):
    bridge, link, host = fleet
    link.feed(1, message)
    bridge.poll()
    assert check(host.outputs["iris_1", topic].last())


def test_time_synchronisation_is_answered(fleet):
    bridge, link, _ = fleet
    link.feed(0, mavlink.MAVLink_timesync_message(0, 123))
    bridge.poll()
    ((_, answer),) = link.of_kind("TIMESYNC")
    assert (answer.tc1, answer.ts1) == (NOW * 1000, 123)


def test_heartbeats_once_a_simulated_second(fleet):
    bridge, link, _ = fleet
    link.sent.clear()
    for t in range(NOW + 20_000, NOW + 3_000_001, 20_000):
        bridge.tick(t)
    assert len(link.of_kind("HEARTBEAT")) == 2 * 3
