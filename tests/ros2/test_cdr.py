"""The bytes of messages: those of rosbags, whatever the numbers, for each type and each row."""

import numpy as np
import pytest

pytest.importorskip("cyclonedds")

from xtdrone_ros2.feed import VEHICLE
from xtdrone_ros2.topics import pegasus, px4_out
from xtdrone_ros2.topics.row import Fleet, Step, numbered
from xtdrone_ros2.wire.layout import Batch, Layout
from xtdrone_ros2.wire.types import DISTRIBUTIONS, Types, ros2_name

N = 12  # so that numbers of vehicles have one digit or two
ROWS = (*pegasus.TOPICS, *px4_out.TOPICS)


@pytest.fixture(scope="module", params=DISTRIBUTIONS)
def types(request):
    return Types(request.param)


def value_at(message, path):
    for name in path.split("."):
        message = message[int(name)] if name.isdigit() else getattr(message, name)
    return message


def numbers_of(message, types):
    """All numbers of a message in their order."""
    if isinstance(message, np.ndarray):
        return message.astype(float).ravel().tolist()
    if isinstance(message, list):
        return [x for part in message for x in numbers_of(part, types)]
    if hasattr(message, "__msgtype__"):
        return [
            x
            for name, _ in types.store.fielddefs[message.__msgtype__][1]
            for x in numbers_of(getattr(message, name), types)
        ]
    return [] if isinstance(message, str) else [float(message)]


def same_as_rosbags(data, kind, types):
    """The message of the bytes, which are those that rosbags gives for it."""
    message = types.read(data, kind)
    again = bytes(types.store.serialize_cdr(message, kind, little_endian=True))
    assert data[: len(again)] == again
    assert not any(data[len(again) :]) and len(data) % 4 == 0 and len(data) - len(again) < 4
    return message


@pytest.mark.slow
def test_each_number_of_each_type_has_its_place(types):
    rng = np.random.default_rng(1)
    for kind in types.store.fielddefs:
        layout = Layout(types, types.blank(kind))
        record = layout.records(1)
        for path in layout.dtype.names:
            number, _ = layout.dtype.fields[path]
            if number.shape:
                continue
            value = rng.integers(0, 2) if number.kind == "b" else rng.integers(1, 100)
            record[path] = value
            assert value_at(types.read(record.tobytes(), kind), path) == value, (kind, path)
        same_as_rosbags(record.tobytes(), kind, types)


def test_groups_are_the_numbers_of_a_part(types):
    kind = "tf2_msgs/msg/TFMessage"
    template = types.message(
        kind,
        transforms=[{"header": {"frame_id": "map"}, "child_frame_id": "x" * k} for k in range(5)],
    )
    record = Layout(types, template).records(1)
    for k in range(5):
        record[f"transforms.{k}.transform"] = np.arange(7.0) + k
    message = same_as_rosbags(record.tobytes(), kind, types)
    for k, part in enumerate(message.transforms):
        assert part.child_frame_id == "x" * k
        assert numbers_of(part.transform, types) == [*(np.arange(7.0) + k)]


def test_text_beside_ascii_and_sequences_of_strings(types):
    kind = "diagnostic_msgs/msg/DiagnosticArray"
    template = types.message(
        kind,
        header={"frame_id": "Höhe"},
        status=[{"name": "é", "values": [{"key": "a", "value": "bb"}]}, {"level": 2}],
    )
    record = Layout(types, template).records(1)
    record["status.1.level"], record["header.stamp.sec"] = 1, 77
    message = same_as_rosbags(record.tobytes(), kind, types)
    assert (message.status[1].level, message.header.stamp.sec) == (1, 77)
    assert (message.header.frame_id, message.status[0].values[0].value) == ("Höhe", "bb")


def fleet():
    return Fleet(
        tuple(f"iris_{i}" for i in range(N)),
        (0.8, 0.1, 500.0),
        47.0,
        np.zeros((N, 3)),
        np.ones(N, np.uint8),
        np.zeros(N, np.bool_),
    )


def random_step(t_us=12_345_678):
    rng = np.random.default_rng(2)
    raw = np.zeros(N, VEHICLE)

    def fill(part):
        for name in part.dtype.names:
            field = part[name]
            if field.dtype.fields:
                fill(field)
            elif field.dtype.kind == "f":
                field[...] = rng.uniform(-50.0, 50.0, field.shape)
            elif field.dtype.kind == "b":
                field[...] = rng.integers(0, 2, field.shape)
            else:
                field[...] = rng.integers(0, 7, field.shape)

    fill(raw)
    for name in ("quat", "est_quat"):
        raw[name] /= np.linalg.norm(raw[name], axis=1, keepdims=True)
    return Step(t_us, raw, fleet())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_rows_are_what_rosbags_writes(types, row):
    kind = ros2_name(row.type)
    batch = Batch(types, [types.message(kind, **numbered(row.constants, i)) for i in range(N)])
    row.fill(random_step(), batch)
    for i in range(N):
        message = same_as_rosbags(batch.data(i), kind, types)
        if hasattr(message, "header") and "{i}" in row.constants["header"]["frame_id"]:
            assert message.header.frame_id.startswith(f"drone{i}_")


def filled(types, name, step):
    row = next(row for row in ROWS if row.name == name)
    kind = ros2_name(row.type)
    batch = Batch(types, [types.message(kind, **numbered(row.constants, i)) for i in range(N)])
    row.fill(step, batch)
    return [types.read(batch.data(i), kind) for i in range(N)]


def test_frames_of_pegasus(types):
    """Body velocities are the body's; an IMU tells forward, right, down."""
    step = random_step()
    step.vehicles["quat"] = 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)  # nose to the north
    step.vehicles["vel"] = 1.0, 2.0, 3.0
    step.vehicles["sensors"]["gyro"] = 0.1, 0.2, 0.3
    step.vehicles["sensors"]["gps_t_us"] = np.arange(N) * 1_500_000
    twist = filled(types, "state/twist", step)[11]
    assert numbers_of(twist.twist.linear, types) == pytest.approx([2.0, -1.0, 3.0])
    imu = filled(types, "sensors/imu", step)[3]
    assert numbers_of(imu.angular_velocity, types) == pytest.approx([0.1, -0.2, -0.3])
    assert imu.orientation_covariance[0] == -1.0
    fix = filled(types, "sensors/gps", step)[3]
    assert (fix.header.stamp.sec, fix.header.stamp.nanosec) == (4, 500_000_000)
    assert fix.altitude == pytest.approx(step["gps_alt"][3] + 47.0)


def test_frames_of_px4(types):
    """North, east, down; a vehicle that is level with its nose to the north has q = 1, 0, 0, 0."""
    step = random_step()
    step.vehicles["est_quat"] = 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)
    step.vehicles["est_pos"], step.vehicles["est_vel"] = (1.0, 2.0, 3.0), (4.0, 5.0, 6.0)
    step.vehicles["est_ang_vel"] = 0.1, 0.2, 0.3
    step.fleet.offsets[5] = 10.0, 0.0, 0.0
    odometry = filled(types, "vehicle_odometry", step)
    assert odometry[0].position.tolist() == pytest.approx([2.0, 1.0, -3.0])
    assert odometry[5].position.tolist() == pytest.approx([2.0, -9.0, -3.0])
    assert odometry[0].q.tolist() == pytest.approx([1.0, 0.0, 0.0, 0.0], abs=1e-6)
    assert odometry[0].velocity.tolist() == pytest.approx([5.0, 4.0, -6.0])
    assert odometry[0].angular_velocity.tolist() == pytest.approx([0.1, -0.2, -0.3])
    assert np.isnan(odometry[0].position_variance).all()
    local = filled(types, "vehicle_local_position", step)[5]
    assert (local.x, local.y, local.z) == pytest.approx((2.0, -9.0, -3.0))
    assert local.heading == pytest.approx(0.0, abs=1e-6)
    assert local.ref_lat == pytest.approx(np.degrees(0.8), abs=1e-6)
    assert local.timestamp == step.t_us
    globally = filled(types, "vehicle_global_position", step)[0]
    assert globally.lat > np.degrees(0.8)
    assert globally.alt == pytest.approx(503.0, abs=0.01)


def test_status_of_px4(types):
    step = random_step()
    step.vehicles["mode"], step.vehicles["armed"] = 5, True  # OFFBOARD
    status = filled(types, "vehicle_status", step)[7]
    assert (status.nav_state, status.arming_state, status.system_id) == (14, 2, 8)
    mode = filled(types, "vehicle_control_mode", step)[0]
    assert mode.flag_control_offboard_enabled and not mode.flag_control_auto_enabled
