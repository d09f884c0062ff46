"""Twelve vehicles of six types fly and drive their plans through ROS: launch/mixed.launch."""

import json

import numpy as np
import pytest

from own_ports import LATEST
from ros_fixtures import ROOT, Processes, environment, free_port, needs_ros
from xtdrone_plots.run import Run

pytestmark = [needs_ros, pytest.mark.slow]
# How close each comes to each of its waypoints, and how far from the last one it ends [m].
# Measured: 1.0, 36.1, 13.2, 2.3 and 1.9; 0.2, 91 (a plane rolls out), 0.1, 1.5 and 1.9.
NEAR = {
    "iris": (2.0, 1.0),
    "typhoon_h480": (2.0, 1.0),
    "plane": (45.0, 120.0),
    "standard_vtol": (20.0, 1.0),
    "rover": (4.0, 3.0),
    "r1_rover": (4.0, 3.0),
}


@pytest.mark.long
def test_a_mixed_fleet_flies_its_plans_and_stops(tmp_path):
    processes = Processes(environment(port := free_port(), tmp_path))
    done = processes.run("roslaunch", "-p", port, ROOT / "launch" / "mixed.launch", "speed:=0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 of 12" in done.stdout and "reached 12 of 12 missions" in done.stdout
    run = Run(tmp_path / "runs" / LATEST)
    summary = json.loads((run.folder / "summary.json").read_text())
    assert summary["landed"] and summary["collisions"] == 0 and not summary["crashes"]
    types = [vehicle.type for vehicle in run.scenario.vehicles]
    assert len(types) == 12 and set(types) == set(NEAR)
    _, truth = run.truth
    for i, kind in enumerate(types):
        path, waypoints = truth[:, i, :2], run.plan(i).waypoints[:, :2]
        missed = [np.linalg.norm(path - waypoint, axis=1).min() for waypoint in waypoints]
        near, end = NEAR[kind]
        assert max(missed) < near, (kind, missed)
        assert np.linalg.norm(path[-1] - waypoints[-1]) < end, kind
