"""The flight log: PX4's formats, true content, readable after a kill, the same for a seed."""

import io
import json
import re
import struct

import numpy as np
import pytest
from pyulog import ULog

from flight_logs import DATA, hover
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.parameters import store as parameters
from xtdrone_autopilot.ulog import format as ulog_format
from xtdrone_core.state import ExtraReadings, Topic


def data_of(log, name):
    """One topic's fields."""
    return next(d.data for d in log.data_list if d.name == name)


@pytest.fixture(scope="module")
def flights(tmp_path_factory):
    """Run folders of short flights: one vehicle (full), three (fleet), three again."""
    return [
        hover(tmp_path_factory.mktemp(name), n)
        for name, n in (("one", 1), ("three", 3), ("again", 3))
    ]


def logs_of(flight):
    return sorted((flight.folder / "ulog").glob("*/*.ulg"))


def test_formats_are_those_of_a_log_that_px4_wrote():
    theirs = ULog(str(DATA / "px4_hover.ulg")).message_formats
    for topic in ulog_format.topics():
        if topic.name not in theirs:  # that flight had neither sticks nor wind, and was no VTOL's
            assert topic.name in ("wind", "vtol_vehicle_status", "manual_control_setpoint")
            continue
        fields = [(kind, count or 0, name) for kind, count, name in theirs[topic.name].fields]
        text = topic.format.split(":")[1].rstrip(";").split(";")
        ours = [re.fullmatch(r"(\w+)(?:\[(\d+)\])? (\w+)", field).groups() for field in text]
        assert [(kind, int(count or 0), name) for kind, count, name in ours] == fields


def test_format_of_the_sticks_is_that_of_px4_s_definition():
    """ManualControlSetpoint.msg of v1.15.4: its fields by falling size, filled up to 8 bytes."""
    defined = [
        "uint64_t timestamp",
        "uint64_t timestamp_sample",
        "bool valid",
        "uint8_t data_source",
        "float roll",
        "float pitch",
        "float yaw",
        "float throttle",
        "float flaps",
        *(f"float aux{k}" for k in range(1, 7)),
        "bool sticks_moving",
        "uint16_t buttons",
    ]
    sizes = {"uint64_t": 8, "float": 4, "uint16_t": 2, "bool": 1, "uint8_t": 1}
    fields = sorted(defined, key=lambda field: -sizes[field.split()[0]])
    padding = -sum(sizes[field.split()[0]] for field in defined) % 8
    topic = next(t for t in ulog_format.topics() if t.name == "manual_control_setpoint")
    assert topic.format == f"{topic.name}:{';'.join(fields)};uint8_t[{padding}] _padding0;"


@pytest.mark.parametrize(
    "row, reason",
    [
        ({"values": {"nothing": 1}}, "no field 'nothing'"),
        ({"values": {"xyz": "rats"}}, "did you mean 'rates'"),
        ({"values": {"xyz": "quat"}}, "holds 3 numbers, but column 'quat' has 4"),
    ],
)
def test_a_wrong_row_of_the_table_is_refused(row, reason):
    with pytest.raises(AutopilotError, match=reason):
        ulog_format.topic_of(
            "topic", {"fields": "uint64_t timestamp;float[3] xyz", "full": 4, "fleet": 0, **row}
        )


def extra_topic(kind):
    """The topic of a sensor that the second of two vehicles has."""
    fields = {
        "count": ("uint16_t", lambda records, t_us: records["count"]),
        "flow": (kind, lambda records, t_us: records["flow"]),
    }
    records = np.array([(1, (0.5, 1.5)), (2, (2.5, 3.5))], [("count", "i8"), ("flow", "f8", 2)])
    extra = ExtraReadings(records, np.array([False, True]), Topic("wind_tunnel", 50.0, fields))
    return ulog_format.ExtraTopic(extra, 7)


def test_a_sensor_of_ones_own_has_a_topic_with_its_types():
    topic = extra_topic("float")
    assert topic.format == "wind_tunnel:uint64_t timestamp;uint16_t count;float[2] flow;"
    assert topic.period_us == 20_000
    body = struct.pack("<HQH2f", 7, 123, 2, 2.5, 3.5)
    assert list(topic.messages(123)) == [(1, struct.pack("<HB", len(body), ord("D")) + body)]
    with pytest.raises(AutopilotError, match=r"type of wind_tunnel.flow 'floats'.*'float'"):
        extra_topic("floats")


@pytest.mark.slow
@pytest.mark.parametrize("which, n", [(0, 1), (1, 3)])
def test_every_vehicle_has_a_log_that_is_whole(flights, which, n):
    paths = logs_of(flights[which])
    assert [p.parent.name for p in paths] == [f"iris_{i}" for i in range(n)]
    profile = "full" if n == 1 else "fleet"
    for path in paths:
        log = ULog(str(path))
        assert not log.file_corruption
        assert log.last_timestamp >= flights[which].t_us - 1_000_000
        wanted = {t.name for t in ulog_format.topics() if t.periods[profile] and t.where < 0}
        assert {d.name for d in log.data_list} == wanted
        for topic in ulog_format.topics():
            if topic.name in wanted and not topic.on_change:
                steps = np.diff(data_of(log, topic.name)["timestamp"].astype(np.int64))
                assert (steps == topic.periods[profile]).all(), topic.name


def test_a_fleet_s_log_takes_about_20_kilobytes_a_second(flights):
    path = logs_of(flights[1])[0]
    log = ULog(str(path))
    rate = (path.stat().st_size - 20_000) / (log.last_timestamp * 1e-6)
    assert 12e3 < rate < 22e3


def test_values_are_in_px4_s_frames_and_units(flights):
    flight = flights[0]
    log = ULog(str(logs_of(flight)[0]))
    position, truth = data_of(log, "vehicle_local_position"), flight.truth
    late = position["timestamp"] > 11_000_000
    t = position["timestamp"][late]

    def true(column):
        return np.interp(t, truth[0], truth[1][:, 0, column])

    for name, column, sign in (
        ("x", 1, 1),
        ("y", 0, 1),
        ("z", 2, -1),
        ("vx", 8, 1),
        ("vy", 7, 1),
        ("vz", 9, -1),
    ):
        np.testing.assert_allclose(position[name][late], sign * true(column), atol=0.5)
    assert position["z"][late].mean() == pytest.approx(-3.0, abs=0.4)
    # The vehicle stands with its nose to the east: 90 degrees from north.
    assert position["heading"][late].mean() == pytest.approx(np.pi / 2, abs=0.1)
    attitude = data_of(log, "vehicle_attitude")
    assert attitude["q[0]"][-1] == pytest.approx(np.sqrt(0.5), abs=0.05)
    assert attitude["q[3]"][-1] == pytest.approx(np.sqrt(0.5), abs=0.05)
    sensors = data_of(log, "sensor_combined")
    assert sensors["accelerometer_m_s2[2]"].mean() == pytest.approx(-9.8, abs=0.5)
    place = data_of(log, "vehicle_global_position")
    assert place["lat"][-1] == pytest.approx(47.3977420, abs=1e-5)
    assert place["lon"][-1] == pytest.approx(8.5455940, abs=1e-5)
    gps = data_of(log, "vehicle_gps_position")
    assert gps["latitude_deg"][-1] == pytest.approx(47.3977420, abs=3e-5)
    for data, sea, ellipsoid in (
        (gps, "altitude_msl_m", "altitude_ellipsoid_m"),
        (place, "alt", "alt_ellipsoid"),
    ):
        np.testing.assert_allclose(data[ellipsoid] - data[sea], 47.21, atol=0.01)
    assert (np.diff(gps["timestamp_sample"][2:].astype(np.int64)) == 100_000).all()
    air = data_of(log, "vehicle_air_data")
    assert air["baro_alt_meter"][-1] == pytest.approx(491.0, abs=2.0)
    assert air["rho"][-1] == pytest.approx(1.168, abs=0.02)
    field = data_of(log, "vehicle_magnetometer")
    strength = np.linalg.norm([field[f"magnetometer_ga[{k}]"] for k in range(3)], axis=0)
    assert strength.mean() == pytest.approx(0.482, abs=0.03)
    motors = data_of(log, "actuator_motors")
    assert 0.5 < motors["control[0]"][-1] < 0.9 and np.isnan(motors["control[4]"][-1])
    target = data_of(log, "vehicle_local_position_setpoint")
    assert target["z"][-1] == pytest.approx(-3.0, abs=0.3)
    battery = data_of(log, "battery_status")
    assert 14.0 < battery["voltage_v"][-1] < 17.0 and battery["cell_count"][-1] == 4


def test_changes_of_state_are_logged_when_they_happen(flights):
    status = data_of(ULog(str(logs_of(flights[1])[1])), "vehicle_status")
    first = np.flatnonzero(status["arming_state"] == 2)[0]
    late = int(status["timestamp"][first]) - int(status["armed_time"][first])
    assert 0 <= late <= 20_000
    assert 14 in status["nav_state"]  # OFFBOARD, in PX4's numbers
    assert status["system_id"][0] == 2


def test_parameters_and_messages_are_in_the_log(flights):
    log = ULog(str(logs_of(flights[0])[0]))
    assert set(log.initial_parameters) == set(parameters.listed())
    assert log.initial_parameters["MPC_XY_CRUISE"] == pytest.approx(5.0)
    assert isinstance(log.initial_parameters["MAV_TYPE"], int)
    assert [(name, value) for _, name, value in log.changed_parameters] == [
        ("MPC_XY_CRUISE", pytest.approx(7.5))
    ]
    assert any("Armed" in m.message and m.log_level_str() == "INFO" for m in log.logged_messages)


def test_equal_seeds_give_equal_bytes(flights):
    for one, other in zip(logs_of(flights[1]), logs_of(flights[2])):
        assert one.read_bytes() == other.read_bytes()


def _data_begins(data):
    """First byte after the header, and where each later message ends."""
    at, begin, ends = 16, None, []
    while at < len(data):
        size, kind = int.from_bytes(data[at : at + 2], "little"), data[at + 2 : at + 3]
        begin = at if begin is None and kind == b"D" else begin
        at += 3 + size
        if begin is not None:
            ends.append(at)
    assert at == len(data)
    return begin, ends


@pytest.mark.slow
def test_a_log_cut_at_any_byte_can_be_read(flights):
    data = logs_of(flights[1])[0].read_bytes()
    begin, ends = _data_begins(data)
    # Every byte of the first messages, a sample of the rest, and just behind the last ones.
    near = range(begin, begin + 700)
    sample = np.random.default_rng(1).integers(begin, len(data), 40)
    for cut in [*near, *sample.tolist(), *ends[-5:]]:
        log = ULog(io.BytesIO(data[:cut]))
        assert not log.file_corruption
        count = sum(len(d.data["timestamp"]) for d in log.data_list)
        complete = sum(
            data[start + 2 : start + 3] == b"D"
            for start, end in zip([begin, *ends], ends)
            if end <= cut
        )
        assert count == complete


def test_a_log_cut_inside_its_header_does_no_harm(flights):
    data = logs_of(flights[1])[0].read_bytes()
    begin, _ = _data_begins(data)
    for cut in range(16, begin, 97):
        ULog(io.BytesIO(data[:cut]))


def test_no_file_is_without_its_header_and_a_killed_flight_leaves_a_log(runs):
    flight = hover(runs, 2, seconds=3.5, close=False)  # nothing is closed, as after a kill
    for path in logs_of(flight):
        log = ULog(str(path))
        assert not log.file_corruption and log.last_timestamp >= 2_400_000
    assert not list(flight.folder.rglob("*.part"))
    flight.simulation.close()


def test_a_folder_that_cannot_be_written_is_refused(runs):
    (runs / "taken").write_text("")
    with pytest.raises(AutopilotError, match="log:=none"):
        hover(runs, 1, seconds=0.1, ulog=runs / "taken")


def test_a_log_that_cannot_be_written_has_a_gap_and_is_begun_again(runs):
    """A folder that is moved away stands for the disk; tests/integration has a full one."""
    flight = hover(runs, 1, seconds=2.5, close=False)
    folder = logs_of(flight)[0].parent
    folder.rename(flight.folder / "away")
    folder.write_text("in the way")
    flight.simulation.run(until_us=5_500_000)
    folder.unlink()
    flight.simulation.run(until_us=8_500_000)
    flight.simulation.close()
    summary = json.loads((flight.folder / "summary.json").read_text())
    assert summary["log_gaps"] == [
        {"log": "ulog/iris_0/log001.ulg", "reason": "Not a directory", "missing_s": [[2.0, 5.0]]}
    ]
    console = (flight.folder / "console" / "autopilot.log").read_text()
    assert console.count("log001.ulg cannot be written from 2.00 s on: Not a directory") == 1
    log = ULog(str(logs_of(flight)[0]))
    assert not log.file_corruption and log.last_timestamp == 8_496_000
    assert [drop.duration for drop in log.dropouts] == [3000]


@pytest.mark.parametrize("log, n, rate_of_sensors", [("full", 2, 250), ("fleet", 1, 25)])
def test_the_scenario_chooses_the_profile(runs, log, n, rate_of_sensors):
    flight = hover(runs, n, seconds=1.1, log=log)
    sensors = data_of(ULog(str(logs_of(flight)[0])), "sensor_combined")
    assert len(sensors["timestamp"]) == pytest.approx(1.1 * rate_of_sensors, abs=1)


def test_log_none_writes_none(runs):
    assert not logs_of(hover(runs, 1, seconds=0.1, log="none"))
