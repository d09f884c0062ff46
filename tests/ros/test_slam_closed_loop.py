"""A visual system in the loop: GPS off, a short flight on the poses of a baseline."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from ros_fixtures import NODES, needs_ros, ros  # noqa: F401

pytest.importorskip("cv2")

from slam_wall import record_wall
from small_stereo import small_stereo
from xtdrone_core import Scenario
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_sim.simulation import Simulation
from xtdrone_slam import SlamError
from xtdrone_slam.agents.vision import VisionAgent


@pytest.mark.long
def test_flight_without_gps_stays_on_its_way(tmp_path):
    t = np.linspace(0.0, 3.0, 31)
    x = 0.4 * (1.0 - np.cos(np.pi * t / 3.0))
    (tmp_path / "a.csv").write_text(
        "t,x,y,z,yaw\n" + "".join(f"{a},{b},3,0.8,0\n" for a, b in zip(t, x))
    )
    (tmp_path / "run" / "console").mkdir(parents=True)
    (tmp_path / "run" / "summary.json").write_text("{}")
    scenario = Scenario(
        vehicles=parse_vehicles(f"{small_stereo(tmp_path)}@0,3"), world="indoor", speed=0.0
    )
    simulation = Simulation(scenario, tmp_path / "run", links=False)
    events = []
    try:
        agent = VisionAgent(
            1,
            str(tmp_path / "a.csv"),
            "klt",
            on_event=lambda t_us, name, **values: events.append((name, values)),
        )
        simulation.agent = agent
        simulation.run(40_000_000)
    finally:
        simulation.close()
    assert agent.done and ("vision", {"index": "aligned"}) in events
    agent.report(tmp_path / "run")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    # Odometry drifts: from 0.06 to 0.19 m with six seeds.
    assert summary["tracking_max_m"] < 0.45 and summary["vision_max_m"] < 0.25
    assert summary["vision_poses"] > 60 and summary["vision_reason"] == ""


def test_latency_that_makes_no_sense_is_refused():
    with pytest.raises(SlamError, match="latency of 900"):
        VisionAgent(1, latency_ms=900)


@pytest.fixture
def wall_dataset(tmp_path):
    return record_wall(tmp_path / "wall")


@needs_ros
def test_node_publishes_vision_pose(wall_dataset, ros):  # noqa: F811
    node = ros.start(
        NODES.parents[1] / "xtdrone_slam/nodes/vision",
        "--system",
        "klt",
        "--dataset",
        wall_dataset.folder,
        "--left",
        "/iris_0/left",
        "--right",
        "/iris_0/right",
        "--start",
        1,
        2,
        0.1,
    )
    fed = ros.run(
        sys.executable,
        Path(__file__).parents[1] / "support" / "slam_vision_feed.py",
        wall_dataset.folder,
    )
    assert fed.returncode == 0, fed.stderr + ros.stop(node)
    rows = np.array(
        [
            [float(word) for word in line.split()[1:]]
            for line in fed.stdout.splitlines()
            if line.startswith("vision")
        ]
    )
    last = rows[-1]  # 0.22 m ahead of the start, which is to the north
    assert last[0] == 960_000 and np.allclose(last[1:4], (1, 2.22, 0.1), atol=0.03)
    assert np.allclose(np.abs(last[4:]), 0.5**0.5, atol=0.01)
