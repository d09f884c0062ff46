"""The launch file: a flight over ROS, live to a system under test, and a replay of it."""

import json

import pytest

pytest.importorskip("cv2")
pytest.importorskip("evo")

from ros_fixtures import ROOT, Processes, environment, free_port, needs_ros
from xtdrone_slam.datasets.dataset import Dataset
from xtdrone_slam.evaluation import results

pytestmark = needs_ros


@pytest.mark.long  # 37 s; its parts are tested in tests/slam and beside it
def test_benchmark_launch_file(tmp_path):
    # Not along a line, about which the alignment of the estimate would leave the rotation open.
    (tmp_path / "short.csv").write_text(
        "t,x,y,z,yaw\n0,0,3,0.8,-1.57\n1.5,0.6,2.7,1.2,-1.4\n3,0.7,2.2,0.8,-1.3\n"
    )
    processes = Processes(environment(free_port(), tmp_path))
    port = processes.env["ROS_MASTER_URI"].rsplit(":", 1)[1]
    done = processes.run(
        "roslaunch",
        "-p",
        port,
        ROOT / "launch" / "slam_benchmark.launch",
        "system:=klt",
        "world:=indoor",
        "runs:=2",
        "speed:=0",
        "replay_speed:=0",
        f"trajectory:={tmp_path / 'short.csv'}",
        "loss:=0.1",
        "texture:=0.8",
    )
    said = done.stdout + done.stderr
    folder = tmp_path / "runs" / "slam_live"
    assert (folder / "report.html").exists(), said
    replayed, live = results.load(folder)
    assert live.metadata["live"] and live.metadata["texture"] == 0.8
    (run,) = live.systems[0].runs
    assert run.outcome["reason"] == "", run.outcome
    assert run.outcome["not_arrived"] > 0 and run.outcome["missing"] == 0
    assert (
        run.outcome["answers"] + run.outcome["not_arrived"] + run.outcome["dropped"]
        == run.outcome["frames"]
        == len(Dataset(folder / "dataset"))
    )
    assert replayed.systems[0].runs[0].outcome["frames"] == run.outcome["frames"]
    for flight in (live, replayed):
        run = flight.systems[0].runs[0]  # a busy machine may drop live pairs; it then counts not
        assert run.evaluation.statistics["ape_translation"]["rmse"] < 0.05
    assert replayed.systems[0].good, replayed.systems[0].runs[0].verdict
    assert len(Dataset(folder / "dataset").imu()) > 100
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert "landed" in [event["event"] for event in events]
