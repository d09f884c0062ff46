"""The live server by a client of its protocol, and the recording: killed, full disk, no SDK."""

import asyncio
import io
import json
import os
import signal
import struct
import subprocess
import sys

import aiohttp
import numpy as np
import pytest

import recorded_flights
import waiting
from xtdrone_control.agents import SquareAgent
from xtdrone_core import Reading, Scenario
from xtdrone_core.runs.log_file import LogGaps
from xtdrone_core.runs.ports import Ports
from xtdrone_core.runs.truth_log import read_truth
from xtdrone_sim.simulation import Simulation
from xtdrone_web.errors import WebError
from xtdrone_web.foxglove.channels import Channels
from xtdrone_web.foxglove.mcap_file import McapFile
from xtdrone_web.foxglove.telemetry import Telemetry
from xtdrone_web.gltf.writer import without

pytest.importorskip("foxglove")
WANTED = {
    "/tf": "foxglove.FrameTransforms",
    "/iris_1/pose": "foxglove.PoseInFrame",
    "/iris_1/estimate": "foxglove.PoseInFrame",
    "/iris_1/fix": "foxglove.LocationFix",
    "/log": "foxglove.Log",
    "/scene": "foxglove.SceneUpdate",
    "/iris_1/state": "xtdrone.VehicleState",
}
_MESSAGE = struct.Struct("<BIQ")  # op 1, subscription, time [ns]


def classes(channels):
    """Message classes of advertised protobuf channels by topic."""
    import base64

    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    found = {}
    for channel in channels:
        if channel["encoding"] == "protobuf":
            pool = descriptor_pool.DescriptorPool()
            data = base64.b64decode(channel["schema"])
            for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
                pool.Add(file)
            found[channel["topic"]] = message_factory.GetMessageClass(
                pool.FindMessageTypeByName(channel["schemaName"])
            )
    return found


async def listen(url, step):
    """Subscribes to WANTED; step() goes on with the flight. Returns texts, and bytes by topic."""
    told, received = [], {}
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(
            url, protocols=("foxglove.sdk.v1", "foxglove.websocket.v1"), max_msg_size=0
        ) as socket,
    ):
        channels = []
        while not set(WANTED) <= {channel["topic"] for channel in channels}:
            told.append(json.loads((await socket.receive()).data))
            channels += told[-1].get("channels", [])
        ids = {channel["id"]: channel["topic"] for channel in channels}
        await socket.send_str(
            json.dumps(
                {
                    "op": "subscribe",
                    "subscriptions": [{"id": number, "channelId": number} for number in ids],
                }
            )
        )
        while not set(WANTED) <= set(received):
            step()
            try:
                message = await socket.receive(0.005)
            except asyncio.TimeoutError:
                continue
            if message.type == aiohttp.WSMsgType.BINARY and message.data[0] == 1:
                _, number, stamp = _MESSAGE.unpack_from(message.data)
                received[ids[number]] = stamp, message.data[_MESSAGE.size :]
    return told, channels, received


@pytest.fixture
def simulation():
    scenario = Scenario(vehicles="iris@0,0; iris@3,1", foxglove=True, speed=0.0)
    running = Simulation(scenario, None, SquareAgent(2), links=False)
    yield running
    running.close()


@pytest.mark.slow
def test_client_of_the_protocol_gets_every_kind(simulation):
    telemetry = Telemetry(simulation)
    simulation.observers.append(telemetry)
    assert telemetry.url == f"ws://127.0.0.1:{Ports().foxglove}"
    sent = {}

    def step():
        for _ in range(10):
            simulation.step()
            if simulation.t_us % 20_000 == 0:
                sent[simulation.t_us] = simulation.state.copy()
        simulation.event(simulation.t_us, "waypoint", index=3)

    told, channels, received = asyncio.run(listen(telemetry.url, step))
    assert told[0]["op"] == "serverInfo" and "time" in told[0]["capabilities"]
    assert {c["topic"]: c["schemaName"] for c in channels if c["topic"] in WANTED} == WANTED
    made = classes(channels)
    read = {
        topic: made[topic].FromString(data)
        for topic, (_, data) in received.items()
        if topic in made
    }
    stamp = received["/tf"][0] // 1000
    second = read["/tf"].transforms[1]
    assert (second.parent_frame_id, second.child_frame_id) == ("world", "iris_1")
    t, q = second.translation, second.rotation
    np.testing.assert_allclose([t.x, t.y, t.z], sent[stamp].pos[1], atol=1e-9)
    np.testing.assert_allclose([q.x, q.y, q.z, q.w], sent[stamp].quat[1], atol=1e-9)
    fix = read["/iris_1/fix"]
    world = simulation.world
    assert abs(np.radians(fix.latitude) - world.latitude) < 1e-5 and fix.frame_id == "iris_1"
    state = json.loads(received["/iris_1/state"][1])
    assert state["armed"] in (True, False) and len(state["velocity"]) == 3
    said = read["/log"]
    assert (said.message, said.level) == ("waypoint index 3", 2)
    models = {entity.id: entity.models[0] for entity in read["/scene"].entities}
    assert set(models) == {"world", "iris_0", "iris_1"}
    assert models["iris_0"].data[:4] == b"glTF" and models["iris_0"].media_type.startswith("model")


def test_what_is_only_for_far_away_is_left_out_of_models():
    import xtdrone_web.gltf.scene as scene
    from xtdrone_sim.vehicles.sdf import load_vehicle

    data = without(scene.vehicle_file(load_vehicle("iris")).read_bytes(), "far")
    size = int.from_bytes(data[12:16], "little")
    told = json.loads(data[20 : 20 + size])
    assert len(data) == int.from_bytes(data[8:12], "little") and len(data) % 4 == 0
    names = [told["nodes"][k]["name"] for k in told["nodes"][0]["children"]]
    assert "far" not in names and "body_0" in names


def test_images_and_scans_keep_their_values():
    """What cameras and lidars give, through a file and back."""
    import foxglove
    from mcap.reader import make_reader

    from xtdrone_web.replay.mcap_file import Schemas

    place = {"pos": (0.1, 0.0, -0.05), "quat": (0.0, 0.0, 0.0, 1.0)}
    fan = {**place, "min_angle": -1.0, "max_angle": 1.0}
    sensors = [
        {
            "vehicle": "a",
            "sensor": "depth",
            "kind": "depth",
            "parameters": [place],
            "arrays": [("image", "|u1", [2, 3, 3]), ("depth", "<f4", [2, 3])],
        },
        {
            "vehicle": "a",
            "sensor": "grey",
            "kind": "camera",
            "parameters": [place],
            "arrays": [("image", "|u1", [2, 3])],
        },
        {
            "vehicle": "a",
            "sensor": "scan",
            "kind": "lidar",
            "parameters": [fan],
            "arrays": [("ranges", "<f4", [1, 5])],
        },
    ]
    context, file = foxglove.Context(), io.BytesIO()
    writer = foxglove.open_mcap(file, context=context)
    channels = Channels(foxglove, context, ["a"], sensors)
    assert channels.watched
    rng = np.random.default_rng(1)
    colour = rng.integers(0, 255, (2, 3, 3), dtype=np.uint8)
    depth, ranges = rng.random((2, 3)), rng.random((1, 5)).astype(np.float32)
    channels.reading(Reading("depth", "a", "depth", 1_500_000, {"image": colour, "depth": depth}))
    channels.reading(Reading("camera", "a", "grey", 1_500_000, {"image": colour[:, :, 0]}))
    channels.reading(Reading("lidar", "a", "scan", 1_600_000, {"ranges": ranges}))
    writer.close()
    found, schemas = {}, Schemas()
    for schema, channel, message in make_reader(io.BytesIO(file.getvalue())).iter_messages():
        schemas.add(schema)
        found[channel.topic] = schemas.decoded(schema.id, message.data)
    image = found["/a/depth/image"]
    assert (image.encoding, image.width, image.height, image.step) == ("rgb8", 3, 2, 9)
    assert image.data == colour.tobytes() and image.frame_id == "a/depth"
    assert (image.timestamp.seconds, image.timestamp.nanos) == (1, 500_000_000)
    far = found["/a/depth/depth"]
    assert far.encoding == "32FC1" and far.step == 12
    np.testing.assert_allclose(np.frombuffer(far.data, "<f4").reshape(2, 3), depth, rtol=1e-6)
    assert found["/a/grey/image"].encoding == "mono8"
    scan = found["/a/scan/ranges"]
    np.testing.assert_allclose(scan.ranges, ranges[0])
    assert (scan.start_angle, scan.end_angle) == (-1.0, 1.0)


def test_taken_port_is_said_in_one_line(simulation):
    import socket

    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", Ports().foxglove))
        taken.listen()
        with pytest.raises(WebError, match="of foxglove is in use; stop it first"):
            Telemetry(simulation)


def test_nobody_watches_no_image_is_drawn(simulation):
    telemetry = Telemetry(simulation)
    assert not telemetry.wants_readings
    telemetry.close()
    telemetry.close()


def test_recording_needs_a_folder_and_the_sdk(monkeypatch):
    scenario = Scenario(vehicles="iris*1", mcap=True)
    simulation = Simulation(scenario, None, links=False)
    try:
        with pytest.raises(WebError, match="needs a run folder"):
            Telemetry(simulation)
        monkeypatch.setitem(sys.modules, "foxglove", None)
        with pytest.raises(WebError, match=r"mcap needs .*foxglove.*\[foxglove\]'"):
            Telemetry(simulation)
    finally:
        simulation.close()


def times(path):
    """Times of the messages of an MCAP that may be incomplete [s]."""
    from mcap.exceptions import EndOfFile
    from mcap.records import Message
    from mcap.stream_reader import StreamReader

    found = []
    try:
        found.extend(
            record.log_time * 1e-9
            for record in StreamReader(io.BytesIO(path.read_bytes())).records
            if isinstance(record, Message)
        )
    except EndOfFile:
        pass
    return found


@pytest.mark.slow
def test_killed_recording_has_all_but_the_last_second(tmp_path):
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "xtdrone_core.command",
            "sim",
            "--speed",
            "5",
            "--mcap",
            "true",
            "--log",
            "none",
            "--vehicle",
            "iris",
        ],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "XTDRONE_RUNS": str(tmp_path)},
        start_new_session=True,
    )
    truth, path = tmp_path / "run" / "truth.bin", tmp_path / "run" / "run.mcap"
    try:
        waiting.until(
            lambda: truth.exists() and truth.stat().st_size > 200 * 112,
            "four seconds were recorded",
            process,
        )
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    t_us, _ = read_truth(truth, 1)
    found = times(path)
    assert found[-1] > t_us[-1] * 1e-6 - 1.5 and found == sorted(found)
    from xtdrone_web.replay import sources

    assert sources.read(str(path)).end_s == pytest.approx(found[-1], abs=0.03)


def test_full_disk_ends_the_recording_and_not_the_flight(tmp_path, monkeypatch):
    from xtdrone_core.runs import log_file

    append, lost, folder = log_file.append, [], tmp_path / "full"

    def full(path, data, create=True):
        if path.name == "run.mcap" and path.exists() and path.stat().st_size > 60_000:
            lost.append(len(data))
            raise OSError(28, "No space left on device")
        append(path, data, create)

    monkeypatch.setattr(log_file, "append", full)
    recorded_flights.fly(folder, 6.0, [Telemetry], mcap=True, log="none")
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["sim_time_s"] == 6.0 and len(lost) == 1
    [gap] = summary["log_gaps"]
    assert gap["log"] == "run.mcap" and gap["missing_s"][0][1] is None
    assert (folder / "console" / "autopilot.log").read_text().count("run.mcap cannot") == 1
    found = times(folder / "run.mcap")
    assert 0.9 < found[-1] <= gap["missing_s"][0][0] + 0.01


def test_file_of_a_recording_appends_whole_parts(tmp_path):
    file = McapFile(tmp_path / "x.mcap", LogGaps(tmp_path))
    assert file.write(b"abc") == 3 and file.seek(0, 1) == 3
    file.flush()
    assert not (tmp_path / "x.mcap").exists()
    file.save()
    file.write(b"de")
    file.save()
    assert (tmp_path / "x.mcap").read_bytes() == b"abcde"
