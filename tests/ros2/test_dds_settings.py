"""launch/cyclonedds.xml and launch/fastdds.xml: programs of others find what is on loopback."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("cyclonedds")

import fast_dds
from xtdrone_core.runs.ports import Ports
from xtdrone_ros2.wire import node as dds
from xtdrone_ros2.wire.layout import Layout
from xtdrone_ros2.wire.types import Types

ROOT = Path(__file__).resolve().parents[2]
SUPPORT, LAUNCH = ROOT / "tests" / "support", ROOT / "launch"
DOMAIN = 90 + Ports().instance
POSE = "geometry_msgs/msg/PoseStamped"


@pytest.fixture
def node():
    node = dds.Node(Types(), "/xtdrone", DOMAIN)
    yield node
    node.close()


def test_a_plain_program_on_cyclone_dds_finds_the_topics(node):
    node.writer("/a/pose", POSE)
    found = subprocess.run(
        [sys.executable, SUPPORT / "plain_dds.py", str(DOMAIN), "30", "/a/pose"],
        env={**os.environ, "CYCLONEDDS_URI": f"file://{LAUNCH / 'cyclonedds.xml'}"},
    )
    assert found.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("unshare") is None
    or subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode != 0,
    reason="no network of its own can be made here",
)
def test_it_does_beside_a_network_where_it_would_not_without_the_settings():
    done = subprocess.run(
        [sys.executable, SUPPORT / "dds_network.py", str(DOMAIN), LAUNCH / "cyclonedds.xml"],
        capture_output=True,
        text=True,
    )
    if "RTNETLINK" in done.stderr or "Unknown device type" in done.stderr:
        pytest.skip("no network interface can be made here")
    assert done.stdout.split() == ["rt/clock", "1", "0"], done.stderr


@pytest.mark.long
@pytest.mark.skipif(not fast_dds.installed(), reason=fast_dds.MISSING)
def test_a_program_on_fast_dds_hears_the_topics(node, tmp_path, monkeypatch):
    for name in ("FASTRTPS", "FASTDDS"):
        monkeypatch.setenv(f"{name}_DEFAULT_PROFILES_FILE", str(LAUNCH / "fastdds.xml"))
    writer = node.writer("/a/pose", POSE)
    record = Layout(node.types, node.types.message(POSE, header={"frame_id": "map"})).records(1)
    user = fast_dds.FastDdsUser(
        fast_dds.compiled(tmp_path),
        tmp_path,
        DOMAIN,
        10.0,
        [("/a/pose", "geometry_msgs/PoseStamped")],
    )
    ended = threading.Event()

    def write():
        while not ended.wait(0.02):
            writer.write(record.tobytes())

    thread = threading.Thread(target=write)
    thread.start()
    try:
        heard, _ = user.results()
    finally:
        ended.set()
        thread.join()
        user.close()
    assert heard["/a/pose"].count > 50 and heard["/a/pose"].bad == 0
