"""What replays read: runs, ULogs of this stack and of real PX4, MCAP, rosbags; and what not."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from pyulog import ULog

import pose_bags
import recorded_flights
import ulogs
from web_client import Client
from xtdrone_core import XtdroneError, frames
from xtdrone_core.command import main
from xtdrone_core.runs.ports import Ports
from xtdrone_core.runs.truth_log import read_truth
from xtdrone_web.foxglove.telemetry import Telemetry
from xtdrone_web.replay import sources
from xtdrone_web.replay.playback import Playback
from xtdrone_web.replay.recording import NO_MODE, Recording, empty
from xtdrone_web.replay.station import REFUSED

PX4_LOG = Path(__file__).parents[1] / "data" / "px4_hover.ulg"
SECONDS, N = 9.0, 2
OFFBOARD = 14  # nav_state


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """The folder of a flight of two vehicles, with flight logs and run.mcap."""
    pytest.importorskip("foxglove")
    return recorded_flights.fly(
        tmp_path_factory.mktemp("replay") / "flown", SECONDS, [Telemetry], mcap=True
    )


@pytest.fixture(scope="module")
def recording(flown):
    return sources.read(str(flown))


def test_run_has_its_truth_at_each_record(flown, recording):
    t_us, truth = read_truth(flown / "truth.bin", N)
    for k in (0, 100, len(t_us) - 1):
        records = recording.at(t_us[k] * 1e-6 + 1e-9)
        for name, columns in (
            ("pos", slice(0, 3)),
            ("vel", slice(7, 10)),
            ("rates", slice(10, 13)),
        ):
            np.testing.assert_allclose(records[name], truth[k, :, columns], atol=1e-5)
        assert np.all(np.abs(np.sum(records["quat"] * truth[k, :, 3:7], axis=1)) > 1 - 1e-6)
    between = recording.at((t_us[400] + t_us[401]) * 0.5e-6)
    np.testing.assert_allclose(between["pos"], truth[400:402, :, :3].mean(axis=0), atol=1e-5)
    assert recording.truth and recording.names == ["iris_0", "iris_1"]


def test_run_has_what_its_flight_logs_say(flown, recording):
    log = {
        data.name: data.data
        for data in ULog(str(next((flown / "ulog" / "iris_1").glob("*.ulg")))).data_list
    }
    position = log["vehicle_local_position"]
    k = len(position["timestamp"]) - 2
    records = recording.at(position["timestamp"][k] * 1e-6)[1]
    np.testing.assert_allclose(
        records["est_pos"], [position["y"][k], position["x"][k], -position["z"][k]], atol=0.02
    )
    assert records["armed"] and records["mode"] == OFFBOARD and not records["landed"]
    assert 300.0 < records["actuator"][:4].min() and np.all(records["actuator"][4:] == 0.0)
    target = log["vehicle_local_position_setpoint"]
    k = int(np.searchsorted(target["timestamp"], position["timestamp"][k], "right")) - 1
    np.testing.assert_allclose(
        records["set_pos"], [target["y"][k], target["x"][k], -target["z"][k]], atol=1e-5
    )
    first = recording.at(recording.start_s)[1]
    assert np.isnan(first["est_pos"]).all()
    assert not first["armed"] and np.isnan(first["set_pos"]).all()
    texts = [event["text"] for event in recording.events]
    assert any("Armed by" in text for text in texts) and any("Takeoff" in text for text in texts)
    times = [event["t"] for event in recording.events]
    assert times == sorted(times)


def test_run_without_flight_logs_claims_no_mode(flown, tmp_path):
    folder = shutil.copytree(flown, tmp_path / "bare")
    shutil.rmtree(folder / "ulog")
    records = sources.read(str(folder)).at(SECONDS)
    assert np.all(records["mode"] == NO_MODE) and np.isnan(records["est_pos"]).all()


def test_killed_run_is_played_to_its_last_record(flown, tmp_path):
    folder = shutil.copytree(flown, tmp_path / "killed")
    path, log = folder / "truth.bin", next((folder / "ulog" / "iris_0").glob("*.ulg"))
    path.write_bytes(path.read_bytes()[:30_001])
    log.write_bytes(log.read_bytes()[:-5000])
    (folder / "summary.json").unlink()
    found = sources.read(str(folder))
    assert len(found.t_s) == 30_001 // (8 + N * 13 * 8)
    assert found.at(found.end_s)["armed"].any()


def test_log_of_real_px4_has_its_simulators_truth():
    found = sources.read(str(PX4_LOG))
    assert found.kind == "ULog" and found.truth and found.names == ["iris_0"]
    log = {data.name: data.data for data in ULog(str(PX4_LOG)).data_list}
    true, attitude = (log[f"vehicle_{name}_groundtruth"] for name in ("local_position", "attitude"))
    for k in (50, 150, 250):
        records = found.at(true["timestamp"][k] * 1e-6)[0]
        np.testing.assert_allclose(
            records["pos"], [true["y"][k], true["x"][k], -true["z"][k]], atol=0.02
        )
        m = int(np.searchsorted(attitude["timestamp"], true["timestamp"][k]))
        quat = frames.quat_enu_ned([attitude[f"q[{j}]"][m] for j in (1, 2, 3, 0)])
        assert abs(records["quat"] @ quat) > 0.999
    status = log["vehicle_status"]
    for k in (10, 40, 70):
        records = found.at(status["timestamp"][k] * 1e-6 + 0.021)[0]
        assert records["mode"] == status["nav_state"][k]
        assert records["armed"] == (status["arming_state"][k] == 2)
    assert {"armed", "disarmed"} <= {event["text"] for event in found.events}


def test_a_log_with_old_samples_and_tagged_texts_is_played_from_its_start(tmp_path):
    path = ulogs.write(tmp_path / "a.ulg", (0, ulogs.START_US - 1), tagged=True)
    found = sources.read(str(path))
    assert (found.start_s, found.end_s) == (1000.0, pytest.approx(1009.9, abs=0.05))
    events = {event["text"]: (event["t"], event["level"]) for event in found.events}
    assert events["tagged warning"] == (pytest.approx(1000.001), 4)
    assert events["plain message"] == (pytest.approx(1000.002), 6)


def test_a_log_whose_position_is_never_valid_says_so(tmp_path):
    path = ulogs.write(tmp_path / "a.ulg", valid=False)
    with pytest.raises(XtdroneError, match="its vehicle_local_position is never valid"):
        sources.read(str(path))


def test_mcap_is_the_flight_that_it_recorded(flown, recording):
    found = sources.read(str(flown / "run.mcap"))
    assert found.names == recording.names and found.world.name == recording.world.name
    for t in (1.0, 6.0, 8.5):
        one, other = found.at(t), recording.at(t)
        for name, within in (("pos", 1e-3), ("vel", 0.05), ("est_pos", 0.05)):
            if name == "est_pos" and t < 6.0:
                continue  # not valid yet
            np.testing.assert_allclose(one[name], other[name], atol=within)
        for name in ("armed", "mode"):
            assert list(one[name]) == list(other[name])
    assert any("Armed by" in event["text"] for event in found.events)


def test_mcap_without_its_end_is_played_to_the_last_chunk(flown, tmp_path):
    path = tmp_path / "cut.mcap"
    data = (flown / "run.mcap").read_bytes()
    path.write_bytes(data[: len(data) // 2])
    assert 2.0 < sources.read(str(path)).end_s < SECONDS - 1.0


def write_bag(path, name="/a"):
    """Poses of two vehicles, and the state of one, in whose namespace MAVROS is."""
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC)
    store.register(
        get_types_from_msg(
            "std_msgs/Header header\nbool connected\nbool armed\nbool guided\nbool manual_input\n"
            "string mode\nuint8 system_status",
            "mavros_msgs/msg/State",
        )
    )
    t = store.types
    with Writer(path) as bag:
        kinds = {
            f"{name}/mavros/local_position/pose": "geometry_msgs/msg/PoseStamped",
            f"{name}/mavros/state": "mavros_msgs/msg/State",
            "/odometry": "nav_msgs/msg/Odometry",
        }
        topics = {
            topic: bag.add_connection(topic, kind, typestore=store) for topic, kind in kinds.items()
        }
        for k in range(101):
            header = t["std_msgs/msg/Header"](
                k, t["builtin_interfaces/msg/Time"](k // 20, k % 20 * 50_000_000), "map"
            )
            pose = t["geometry_msgs/msg/Pose"](
                t["geometry_msgs/msg/Point"](0.1 * k, 2.0, 3.0),
                t["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0),
            )
            still = t["geometry_msgs/msg/TwistWithCovariance"](
                t["geometry_msgs/msg/Twist"](*[t["geometry_msgs/msg/Vector3"](0.0, 0.0, 0.0)] * 2),
                np.zeros(36),
            )
            messages = {
                f"{name}/mavros/local_position/pose": t["geometry_msgs/msg/PoseStamped"](
                    header, pose
                ),
                f"{name}/mavros/state": t["mavros_msgs/msg/State"](
                    header, True, k > 50, False, False, "OFFBOARD", 4
                ),
                "/odometry": t["nav_msgs/msg/Odometry"](
                    header,
                    "base",
                    t["geometry_msgs/msg/PoseWithCovariance"](pose, np.zeros(36)),
                    still,
                ),
            }
            for topic, message in messages.items():
                bag.write(
                    topics[topic], k * 50_000_000, store.serialize_ros1(message, kinds[topic])
                )


def test_bag_has_its_poses(tmp_path):
    write_bag(tmp_path / "two.bag")
    found = sources.read(str(tmp_path / "two.bag"), "solo", "outdoor")
    assert sorted(found.names) == ["a", "odometry"] and not found.truth
    a = found.names.index("a")
    np.testing.assert_allclose(found.at(2.025)["pos"][a], [4.05, 2.0, 3.0], atol=1e-4)
    np.testing.assert_allclose(found.at(2.025)["vel"][a], [2.0, 0.0, 0.0], atol=1e-3)
    assert [found.at(t)["armed"][a] for t in (1.0, 4.0)] == [0, 1]
    assert found.at(4.0)["mode"][a] == OFFBOARD and found.world.name == "outdoor"


@pytest.mark.slow
@pytest.mark.parametrize("name, called", [("", "vehicle"), ("/fleet/uav0", "fleet/uav0")])
def test_a_mavros_with_any_namespace_or_none_is_a_vehicle(tmp_path, name, called):
    write_bag(tmp_path / "one.bag", name)
    found = sources.read(str(tmp_path / "one.bag"))
    assert sorted(found.names) == sorted([called, "odometry"])
    assert found.at(4.0)["mode"][found.names.index(called)] == OFFBOARD


@pytest.mark.slow
@pytest.mark.parametrize("kind", pose_bags.KINDS)
@pytest.mark.parametrize("what, name", [("odometry", "odometry"), ("tf", "uav0")])
def test_bags_of_others_are_played(tmp_path, kind, what, name):
    found = sources.read(str(pose_bags.write(tmp_path, kind, what, "text")))
    assert found.names == [name] and not found.truth
    np.testing.assert_allclose(found.at(1.25)[0]["pos"], [1.25, 2.0, 3.0], atol=1e-4)


@pytest.mark.parametrize("kind", pose_bags.KINDS)
def test_a_bag_without_poses_says_what_it_has(tmp_path, kind):
    path = pose_bags.write(tmp_path, kind, "text")
    with pytest.raises(XtdroneError, match=r"has no poses .*: it has /text \(std_msgs/String\)"):
        sources.read(str(path))


GARBAGE = np.random.default_rng(1).bytes(3000)


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("x.ulg", GARBAGE, "is not a ULog"),
        ("x.ulg", b"", "is not a ULog"),
        ("x.ulg", PX4_LOG.read_bytes()[:9000], "no position"),
        ("x.mcap", GARBAGE, "no MCAP, or damaged"),
        ("x.mcap", b"\x89MCAP0\r\n", "no recording of this simulation"),
        ("x.bag", GARBAGE, "cannot read .*rosbag reindex"),
        ("x.bag", b"", "cannot read"),
        ("x.txt", b"hello", "give a run folder, its name, or a file"),
        ("x.ulg", None, "x.ulg"),
        ("nothing", None, "no run 'nothing'"),
    ],
)
def test_what_cannot_be_played_is_refused_in_one_line(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(XtdroneError, match=message) as refused:
        sources.read(str(path) if "." in name else name)
    assert "\n" not in str(refused.value)


def test_folder_that_is_no_run_is_refused(flown, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(XtdroneError, match=r"no scenario\.yaml"):
        sources.read(str(tmp_path / "empty"))
    folder = shutil.copytree(flown, tmp_path / "half")
    (folder / "truth.bin").unlink()
    with pytest.raises(XtdroneError, match=r"no truth\.bin"):
        sources.read(str(folder))


def made(recording, pos, t_s):
    """One vehicle of a recording's kind at positions (K, 3)."""
    table = empty(len(t_s), 1)
    table["pos"][:, 0] = pos
    return Recording(
        "made", "run", recording.world, recording.specs[:1], recording.models[:1], t_s, table
    )


def test_jumps_are_not_interpolated(recording):
    found = made(recording, [[0, 0, 0], [9, 0, 0], [9.1, 0, 0]], np.array([0.0, 0.02, 0.04]))
    assert found.at(0.019)["pos"][0, 0] == 0.0
    assert found.at(0.03)["pos"][0, 0] == pytest.approx(9.05)
    assert [found.at(t)["pos"][0, 0] for t in (-5.0, 5.0)] == pytest.approx([0.0, 9.1])


def test_two_are_aligned_at_their_starts_or_take_offs(recording):
    t = np.arange(0.0, 5.0, 0.02)
    climb = np.maximum(t - 3.0, 0.0)[:, None] * [0.0, 0.0, 1.0]
    other = made(recording, climb, t + 100.0)
    assert other.takeoff_s == pytest.approx(103.52, abs=0.03)
    at_start = Playback(recording, other)
    assert at_start.at(recording.start_s + 4.0)["pos"][2, 2] == pytest.approx(1.0, abs=0.01)
    at_takeoff = Playback(recording, other, "takeoff")
    off = recording.takeoff_s
    assert at_takeoff.at(off)["pos"][2, 2] == pytest.approx(0.52, abs=0.03)
    assert at_takeoff.start_s == pytest.approx(min(recording.start_s, off - 3.52), abs=0.03)
    vehicle = at_takeoff.scene.vehicles[2]
    assert vehicle.twin == 0 and vehicle.name == "iris_0 (made)"


@pytest.fixture(scope="module")
def server(flown):
    with recorded_flights.replaying(flown, "--speed", "2", "--from", "1") as running:
        yield running


@pytest.fixture
def connect(server):
    clients = []

    def open_one(**headers):
        clients.append(Client(server.url, **headers))
        return clients[-1]

    yield open_one
    for client in clients:
        client.close()


def said(client, op):
    return client.until(lambda m: isinstance(m, dict) and m.get("op") == op)


def until_time(client, condition):
    client.until(lambda m: m == "frame" and condition(float(client.frame[0]["t"])))


def test_page_plays_from_where_it_was_asked(connect, recording):
    client = connect()
    scene = said(client, "scene")
    assert scene["pilot"] is False and scene["replay"]["kind"] == "run"
    assert scene["replay"]["end"] == pytest.approx(recording.end_s)
    assert scene["modes"][str(OFFBOARD)] == "OFFBOARD"
    assert [event["text"] for event in scene["marks"]] == [
        event["text"] for event in recording.events
    ]
    until_time(client, lambda t: 1.0 <= t < 3.0)
    until_time(client, lambda t: t > 3.0)
    t = float(client.frame[0]["t"])
    np.testing.assert_array_equal(client.frame[1]["pos"], recording.at(t)["pos"])


def test_pages_have_times_of_their_own(connect):
    one, other = connect(), connect()
    assert one.ask("pause")["ok"] and one.ask("seek", t=7.0)["ok"]
    until_time(one, lambda t: t == 7.0)
    assert other.ask("speed", speed=0.1)["ok"]
    until_time(other, lambda t: t < 6.0)
    assert [m["paused"] for m in one.said if m["op"] == "status"][-1]
    assert not [m["paused"] for m in other.said if m["op"] == "status"][-1]


def test_jump_brings_what_was_before(connect, recording):
    client = connect()
    client.ask("pause")
    client.send(op="seek", id=2, t=8.0)
    client.until(lambda m: m == "past")
    times = [float(header["t"]) for header, _ in client.past]
    assert times == sorted(times) and times[-1] == 8.0 and len(times) > 50
    assert times[0] >= recording.start_s and np.max(np.diff(times)) < 0.11
    np.testing.assert_array_equal(client.past[9][1]["pos"], recording.at(times[9])["pos"])
    until_time(client, lambda t: t == 8.0)
    client.past = []
    client.send(op="seek", id=3, t=5.0, past=False)
    until_time(client, lambda t: t == 5.0)
    assert not client.past


@pytest.mark.parametrize(
    "op, values, message",
    [
        ("arm", {"vehicles": [0]}, REFUSED),
        ("stop", {}, REFUSED),
        ("seek", {}, "time t in seconds"),
        ("seek", {"t": float("inf")}, "time t"),
        ("seek", {"t": "x"}, "time t"),
        ("speed", {"speed": 17}, "give 0.1 to 16"),
        ("speed", {"speed": True}, "give 0.1 to 16"),
    ],
)
def test_orders_and_nonsense_are_refused(connect, op, values, message):
    answer = connect().ask(op, **values)
    assert not answer["ok"] and message in answer["error"]


def test_end_pauses_and_play_begins_anew(connect, recording):
    client = connect()
    client.ask("seek", t=1e6)
    until_time(client, lambda t: t == recording.end_s)
    if not any(m.get("op") == "status" and m["paused"] for m in client.said):
        client.until(lambda m: isinstance(m, dict) and m.get("op") == "status" and m["paused"])
    assert client.ask("resume")["ok"]
    until_time(client, lambda t: t < 1.0)


def test_other_sites_are_refused(connect, server):
    import aiohttp

    with pytest.raises(aiohttp.WSServerHandshakeError):
        connect(Origin="http://evil.example")


def test_second_one_on_the_port_says_so(server, flown, capsys):
    assert main(["replay", str(flown)]) == 1
    said = capsys.readouterr().err.strip()
    assert f"port {Ports().replay} (TCP) of the page" in said and "\n" not in said


def test_no_time_outside_of_the_recording(flown, capsys):
    assert main(["replay", str(flown), "--from", "100"]) == 1
    assert "there is nothing" in capsys.readouterr().err
    assert json.loads((flown / "summary.json").read_text())["n"] == N
