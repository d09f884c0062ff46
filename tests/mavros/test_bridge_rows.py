"""Every row of the bridge's tables: bytes that ROS reads, messages that fit, MAVROS's names."""

import importlib
import io
import json
import math
import random
from pathlib import Path
from types import SimpleNamespace as Fields

import pytest
import yaml

from bridge_host import NOW, Host, Link
from ros_fixtures import ROOT, needs_ros
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_mavros.bridge import Bridge
from xtdrone_mavros.inputs import SUBSCRIPTIONS
from xtdrone_mavros.services import SERVICES
from xtdrone_mavros.topics import TOPICS
from xtdrone_ros1.messages import field_types, md5sum

REFERENCE = json.loads((Path(__file__).parents[1] / "data/mavros_reference.json").read_text())
OTHER = {"setpoint_attitude/attitude"}  # in place of cmd_vel, by the parameter use_quaternion
RANGE = {
    "b": 127,
    "B": 255,
    "h": 32_767,
    "H": 65_535,
    "i": 2**31 - 1,
    "I": 2**32 - 1,
    "q": 2**51,
    "Q": 2**51,
}
SMALL = (
    "count",
    "chancount",
    "valid_points",
    "payload_length",
    "baseline_coords_type",
    "index",
    "num_logs",
    "type",
)


def ros_type(kind, folder="msg"):
    package, name = kind.split("/")
    return getattr(importlib.import_module(f"{package}.{folder}"), name)


@pytest.fixture
def one():
    """One vehicle: (bridge, link, host)."""
    link, host = Link(1), Host()
    bridge = Bridge(["iris_0"], link, host)
    bridge.tick(NOW)
    return bridge, link, host


def message_of(name, seed):
    """A MAVLink message with random numbers."""
    kind = mavlink.mavlink_map[getattr(mavlink, f"MAVLINK_MSG_ID_{name}")]
    generator, values = random.Random(seed), {}
    lengths = dict(zip(kind.ordered_fieldnames, kind.array_lengths))
    codes = {
        "float": "f",
        "double": "f",
        "char": "s",
        "int8_t": "b",
        "uint8_t": "B",
        "int16_t": "h",
        "uint16_t": "H",
        "int32_t": "i",
        "uint32_t": "I",
        "uint64_t": "Q",
        "int64_t": "q",
    }
    for field, of in zip(kind.fieldnames, kind.fieldtypes):
        code, n = codes[of], lengths[field]

        def number(code=code, field=field):
            if code == "f":
                return generator.uniform(-2.0, 2.0)
            return 1 if field in SMALL else generator.randint(1, RANGE[code])

        if code == "s":
            values[field] = b"text"
        else:
            values[field] = [number() for _ in range(n)] if n else number()
    if name == "ESC_STATUS":
        values["index"] = 0
    if name == "SYSTEM_TIME":
        values["time_unix_usec"] = 1_700_000_000_000_000
    if name == "HIGHRES_IMU":
        values["fields_updated"] = 0x1FFF  # everything is new
    return kind(**values)


@needs_ros
@pytest.mark.parametrize("row", [row for row in TOPICS if row.message], ids=lambda row: row.name)
def test_ros_reads_every_topic(one, row):
    bridge, link, host = one
    out = host.outputs["iris_0", row.name]
    out.sent.clear()
    if row.message == "ESC_STATUS":  # the number of motors comes with the other message
        link.feed(0, message_of("ESC_INFO", 1))
    link.feed(0, message_of(row.message, 2))
    bridge.poll()
    if row.name in ("mission/waypoints", "timesync_status", "statustext/recv"):
        link.feed(0, message_of(row.message, 3))
        bridge.poll()
    assert out.sent, "nothing is published"
    message = ros_type(row.type)()
    message.deserialize(out.sent[-1])
    again = io.BytesIO()
    message.serialize(again)
    assert again.getvalue() == out.sent[-1]


def filled(message, generator):
    """A ROS message with numbers in every field, also within others."""
    for name, kind in field_types(message).items():
        value = getattr(message, name)
        if kind.startswith("float"):
            setattr(
                message,
                name,
                generator.uniform(0.1, 0.9)
                if "[" not in kind
                else [generator.uniform(0.1, 0.9) for _ in (value or range(3))],
            )
        elif kind == "string[]":
            continue
        elif kind == "string":
            setattr(message, name, "map" if name == "frame_id" else "base_link")
        elif kind in ("time", "duration"):
            value.secs, value.nsecs = 2, 500_000_000
        elif hasattr(value, "__slots__"):
            filled(value, generator)
        elif isinstance(value, int) and not isinstance(value, bool):
            setattr(message, name, 1)
        elif kind.endswith("]") and "/" not in kind:
            setattr(message, name, [1] * (len(value) or 4))
        elif kind.endswith("[]"):
            element = ros_type(kind[:-2])
            setattr(message, name, [filled(element(), generator) for _ in range(2)])
    return message


@needs_ros
@pytest.mark.parametrize("row", SUBSCRIPTIONS, ids=lambda row: row.name)
def test_every_input_sends_what_fits_its_message(one, row):
    bridge, link, host = one
    message = filled(ros_type(row.type)(), random.Random(4))
    for name in ("GLOBAL_POSITION_INT", "LOCAL_POSITION_NED"):
        link.feed(0, message_of(name, 5))
    bridge.poll()
    bridge.vehicles[0].thrust = 0.5
    link.sent.clear()
    data = io.BytesIO()
    message.serialize(data)
    row.handle(bridge.vehicles[0], data.getvalue() if row.raw else message)
    if row.name == "setpoint_trajectory/local":
        bridge.tick(NOW + 2_500_000)
    if row.name == "setpoint_attitude/thrust":
        assert bridge.vehicles[0].thrust == message.thrust
        return
    sent = [
        m
        for _, m in link.sent
        if m.get_type() not in ("HEARTBEAT", "TIMESYNC") or row.name == "companion_process/status"
    ]
    assert len(sent) == 1 and not host.lines
    sent[0].pack(mavlink.MAVLink(None))  # every number fits its type


@needs_ros
@pytest.mark.parametrize("row", SERVICES, ids=lambda row: row.name)
def test_every_service_has_the_md5_sum_of_mavros(row):
    known = REFERENCE["services"][row.name]
    assert (row.type, md5sum(ros_type(row.type, "srv"))) == (known["type"], known["md5"])


@needs_ros
@pytest.mark.parametrize("row", [*TOPICS, *SUBSCRIPTIONS], ids=lambda row: row.name)
def test_every_topic_has_the_md5_sum_and_the_latch_of_mavros(row):
    if row.name in OTHER:
        return
    known = REFERENCE["topics"][row.name]
    published = row in TOPICS
    assert (row.type, md5sum(ros_type(row.type))) == (known["type"], known["md5"])
    assert known["direction"] == ("pub" if published else "sub")
    assert not published or row.latched == known.get("latched", False)


def test_nothing_of_mavros_is_missing_and_nothing_else_is_there():
    topics = [row.name for row in (*TOPICS, *SUBSCRIPTIONS)]
    services = [row.name for row in SERVICES]
    assert set(topics) - OTHER == set(REFERENCE["topics"])
    assert set(services) == set(REFERENCE["services"])
    assert len(topics) == len(set(topics)) and len(services) == len(set(services))


def test_rates_are_those_of_mavros():
    told = {row.name: row.rate for row in TOPICS}
    for name, known in REFERENCE["topics"].items():
        # Magnetometer and barometer come with some of the messages of the IMU only.
        if known.get("rate") and name not in (
            "imu/mag",
            "imu/static_pressure",
            "imu/temperature_imu",
        ):
            assert known["rate"] == pytest.approx(told[name], rel=0.15), name


def test_odometry_of_another_frame_is_refused_with_one_line(one):
    bridge, link, host = one
    handle = {row.name: row.handle for row in SUBSCRIPTIONS}["odometry/out"]
    link.sent.clear()
    handle(bridge.vehicles[0], Fields(header=Fields(frame_id="camera"), child_frame_id="base_link"))
    assert not link.sent and "'camera'" in host.lines[-1][2]


@needs_ros
def test_odometry_goes_out_in_the_frames_of_the_vehicle(one):
    bridge, link, _ = one
    message = ros_type("nav_msgs/Odometry")()
    message.header.frame_id, message.child_frame_id = "odom", "base_link"
    message.pose.pose.position.x, message.pose.pose.orientation.w = 4.0, 1.0
    message.twist.twist.linear.y = 2.0
    message.pose.covariance = [float(k) for k in range(36)]
    link.sent.clear()
    {row.name: row.handle for row in SUBSCRIPTIONS}["odometry/out"](bridge.vehicles[0], message)
    ((_, sent),) = link.sent
    assert (sent.x, sent.y, sent.z) == (0.0, 4.0, 0.0)  # east
    assert (sent.vx, sent.vy) == (0.0, -2.0)  # to the left
    half = math.sqrt(0.5)
    assert [abs(q) for q in sent.q] == pytest.approx([half, 0.0, 0.0, half])  # facing east
    assert sent.pose_covariance[0] == 7.0  # of north
    assert (sent.frame_id, sent.child_frame_id) == (20, 12)


def test_timesync_finds_the_offset_of_a_clock(one):
    bridge, link, _ = one
    link.feed(0, mavlink.MAVLink_heartbeat_message(2, 12, 81, 0, 3, 3))
    bridge.poll()
    for k in range(1, 601):
        t_us = NOW + 100_000 * k
        bridge.tick(t_us)
        link.feed(0, mavlink.MAVLink_timesync_message((t_us - 2_000_000) * 1000, t_us * 1000))
        bridge.poll()
        if k % 9 == 0:
            link.feed(0, mavlink.MAVLink_heartbeat_message(2, 12, 81, 0, 3, 3))
    assert bridge.vehicles[0].timesync.estimated_ns == pytest.approx(2e9)
    assert bridge.vehicles[0].timesync.answers == 600
    assert len(link.of_kind("TIMESYNC")) == 600


def test_a_trajectory_is_sent_point_by_point_and_can_be_reset(one):
    bridge, link, _ = one
    vehicle = bridge.vehicles[0]
    answers = {row.name: row.answer for row in SERVICES}
    assert answers["setpoint_trajectory/reset"](vehicle, None) == (
        False,
        "Trajectory reset denied: Empty trajectory",
    )
    level = Fields(x=0.0, y=0.0, z=0.0, w=1.0)
    points = [
        Fields(
            time_from_start=Fields(secs=1, nsecs=0),
            velocities=[],
            accelerations=[],
            transforms=[Fields(translation=Fields(x=float(k), y=0.0, z=2.0), rotation=level)],
        )
        for k in range(3)
    ]
    handle = {row.name: row.handle for row in SUBSCRIPTIONS}["setpoint_trajectory/local"]
    handle(vehicle, Fields(points=points))
    for t in range(NOW, NOW + 2_000_001, 20_000):
        bridge.tick(t)
    sent = [m for _, m in link.of_kind("SET_POSITION_TARGET_LOCAL_NED")]
    assert [(m.y, m.z) for m in sent] == [(0.0, -2.0), (1.0, -2.0)]
    assert sent[0].type_mask == 0b100111111000
    assert answers["setpoint_trajectory/reset"](vehicle, None) == (True, "")
    bridge.tick(NOW + 9_000_000)
    assert len(link.of_kind("SET_POSITION_TARGET_LOCAL_NED")) == 2


def test_a_frame_of_set_points_is_set_by_service_and_parameter(one):
    bridge, link, host = one
    vehicle = bridge.vehicles[0]
    handle = {row.name: row.handle for row in SUBSCRIPTIONS}["setpoint_velocity/cmd_vel_unstamped"]
    forward = Fields(linear=Fields(x=1.0, y=0.0, z=0.0), angular=Fields(z=0.5))
    {row.name: row.answer for row in SERVICES}["setpoint_velocity/mav_frame"](
        vehicle, Fields(mav_frame=8)
    )
    handle(vehicle, forward)
    assert host.params["iris_0"] == {"setpoint_velocity/mav_frame": "BODY_NED"}
    vehicle.use_parameters({"setpoint_velocity": {"mav_frame": "LOCAL_NED"}})
    handle(vehicle, forward)
    body, world = (m for _, m in link.of_kind("SET_POSITION_TARGET_LOCAL_NED"))
    assert (body.coordinate_frame, body.vx, body.vy, body.yaw_rate) == (8, 1.0, 0.0, -0.5)
    assert (world.coordinate_frame, world.vx, world.vy) == (1, 0.0, 1.0)
    vehicle.use_parameters({"setpoint_velocity": {"mav_frame": "NED"}})
    assert "setpoint_velocity/mav_frame is no MAV_FRAME" in host.lines[-1][2]


@needs_ros
def test_diagnostics_have_the_parts_of_mavros(one):
    bridge, link, host = one
    link.feed(
        0,
        mavlink.MAVLink_heartbeat_message(2, 12, 81, 4 << 16 | 3 << 24, 3, 3),
        mavlink.MAVLink_sys_status_message(
            0x0220802D, 0x0221802D, 0x3220803F, 140, 16200, -100, 100, 0, 0, 0, 0, 0, 0
        ),
        mavlink.MAVLink_gps_raw_int_message(0, 6, 0, 0, 0, 0, 0, 0, 0, 20),
    )
    bridge.poll()
    bridge.tick(NOW + 1_000_000)
    message = ros_type("diagnostic_msgs/DiagnosticArray")()
    message.deserialize(host.outputs["", "/diagnostics"].sent[-1])
    told = {status.name: status for status in message.status}
    for known in REFERENCE["diagnostics"]:
        status = told[f"iris_0/mavros: {known['name']}"]
        assert [value.key for value in status.values] == known["keys"]
        if known["name"] != "Time Sync":  # here nobody has answered yet
            assert status.message == known["message"]


@needs_ros
def test_static_frames_are_those_of_mavros(one):
    message = ros_type("tf2_msgs/TFMessage")()
    message.deserialize(one[2].outputs["", "/tf_static"].sent[-1])
    for found, known in zip(message.transforms, REFERENCE["tf_static"], strict=True):
        assert (found.header.frame_id, found.child_frame_id) == (known["frame"], known["child"])
        for axis, value in known["rotation"].items():
            assert getattr(found.transform.rotation, axis) == pytest.approx(value, abs=1e-9)


def test_parameters_are_those_of_mavros():
    """Where the bridge does otherwise it says so."""
    here = yaml.safe_load((ROOT / "src/xtdrone_mavros/mavros_parameters.yaml").read_text())
    known, differ = flat(REFERENCE["parameters"]), set()
    for name, value in flat(here).items():
        if known.get(name, value) != value:
            differ.add(name)
    assert differ == {"imu/angular_velocity_stdev", "landing_target/tf/send"}


@needs_ros
def test_motors_of_two_messages_are_one(one):
    bridge, link, host = one

    def info(index):
        return mavlink.MAVLink_esc_info_message(
            index, 2_900_000, 7, 6, 0, 63, [0] * 4, [index + k for k in range(4)], [2500] * 4
        )

    def status(index):
        return mavlink.MAVLink_esc_status_message(
            index, 2_900_000, [1000 * (index + k) for k in range(4)], [16.0] * 4, [2.0] * 4
        )

    counts = []
    for _ in range(2):
        for message in (info(0), info(4), status(0), status(4)):
            link.feed(0, message)
            bridge.poll()
        counts.append(
            [len(host.outputs["iris_0", name].sent) for name in ("esc_info", "esc_status")]
        )
    # Only after the first round is it known which message is the last of a round.
    assert [b - a for a, b in zip(*counts)] == [1, 1]
    found = host.outputs["iris_0", "esc_info"].last()
    assert (found.count, found.info, found.counter) == (6, 63, 7)
    assert [item.error_count for item in found.esc_info] == list(range(6))
    assert found.esc_info[0].temperature == 250_000
    rpm = [item.rpm for item in host.outputs["iris_0", "esc_status"].last().esc_status]
    assert rpm == [1000 * k for k in range(6)]


def test_attitudes_or_rates_are_taken_by_a_parameter():
    rows = {row.name: row for row in SUBSCRIPTIONS}
    for quaternion in (False, True):
        parameters = {"setpoint_attitude": {"use_quaternion": quaternion}}
        taken = [
            name
            for name in ("setpoint_attitude/attitude", "setpoint_attitude/cmd_vel")
            if rows[name].where(parameters)
        ]
        assert taken == ["setpoint_attitude/" + ("attitude" if quaternion else "cmd_vel")]


def flat(tree, top=""):
    """Nested parameters by their whole names."""
    out = {}
    for key, value in tree.items():
        out.update(flat(value, f"{top}{key}/") if isinstance(value, dict) else {top + key: value})
    return out


@needs_ros
@pytest.mark.parametrize("number", [math.nan, math.inf, 1e308])
def test_numbers_that_fit_no_message_cost_a_line_of_their_topic_a_second(one, number):
    bridge, link, host = one
    rows = {row.name: row for row in SUBSCRIPTIONS}
    vehicle, message = bridge.vehicles[0], ros_type("geographic_msgs/GeoPoseStamped")()
    message.pose.position.latitude = number
    for _ in range(3):
        vehicle.take_input(rows["setpoint_position/global"], message)
    lines = [line for *_, line in host.lines]
    assert len(lines) == 1 and lines[0].startswith("setpoint_position/global ignored: ")
    vehicle.take_input(rows["setpoint_position/global"], message.__class__())
    assert link.of_kind("SET_POSITION_TARGET_GLOBAL_INT")


def test_an_input_or_message_that_fails_does_not_stop_the_others(one, monkeypatch):
    bridge, link, host = one
    row = SUBSCRIPTIONS[0]
    bridge.vehicles[0].take_input(row, Fields())
    assert host.lines[-1][2].startswith(f"{row.name} failed, please report it: ")
    monkeypatch.setattr(bridge.vehicles[0], "take", lambda *args: 1 / 0)
    link.feed(0, message_of("ATTITUDE", 1))
    bridge.poll()
    assert host.lines[-1][2].startswith("ATTITUDE failed, please report it: ZeroDivisionError")


@needs_ros
def test_a_trajectory_that_cannot_be_sent_ends(one):
    bridge, link, host = one
    message = filled(ros_type("trajectory_msgs/MultiDOFJointTrajectory")(), random.Random(4))
    message.points[0].transforms[0].translation.x = 1e308
    row = next(row for row in SUBSCRIPTIONS if row.name == "setpoint_trajectory/local")
    send = link.send
    link.send = lambda i, sent, component=191: send(i, sent.pack(mavlink.MAVLink(None)))
    bridge.vehicles[0].take_input(row, message)
    bridge.tick(NOW + 60_000_000)
    assert bridge.vehicles[0].trajectory is None
    assert "setpoint_trajectory/local ignored: a value is out of range" in host.lines[-1][2]
