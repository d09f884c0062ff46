"""Whole flights by Agents, inside the lockstep and as fast as possible."""

import json

import numpy as np
import pytest

from own_ports import LATEST
from xtdrone_core import Scenario, resources
from xtdrone_core.command import main
from xtdrone_core.truth_log import read_truth

# Rigs with cameras or lidars fly like the iris that carries them; rendering is tested elsewhere.
VEHICLES = [name for name in resources.vehicle_names() if not name.startswith("iris_")]
CORNERS = np.array([(4, 0), (4, 4), (0, 4), (0, 0)], dtype=float)


def fly(runs, *words):
    """Runs `xtdrone fly ...`; returns the run folder."""
    assert main(["fly", *words]) == 0
    return (runs / LATEST).resolve()


def events(folder):
    """The lines of events.jsonl."""
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("vehicle", VEHICLES)
def test_square_is_flown_and_its_corners_are_hit(runs, vehicle):
    folder = fly(runs, "square", "--gps", "rtk", "--vehicle", vehicle)
    scenario = Scenario.load(folder / "scenario.yaml")
    t_us, table = read_truth(folder / "truth.bin", scenario.n)
    corners = [event for event in events(folder) if event["event"] == "corner"]
    assert len(corners) == 4
    for corner, place in zip(corners, CORNERS):
        k = np.searchsorted(t_us, corner["t_us"])
        assert np.linalg.norm(table[k, 0, :2] - place) <= 0.3
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["landed"] and summary["collisions"] == 0
    assert abs(table[-1, 0, 2] - table[0, 0, 2]) < 0.1
    assert (folder / "plots" / "flight.png").stat().st_size > 10_000


def test_equal_seeds_give_equal_bytes_and_others_do_not(runs):
    first, again = (fly(runs, "square", "--seed", "7") for _ in range(2))
    other = fly(runs, "square", "--seed", "8")
    assert (first / "truth.bin").read_bytes() == (again / "truth.bin").read_bytes()
    assert (first / "truth.bin").read_bytes() != (other / "truth.bin").read_bytes()


def test_a_mixed_fleet_flies(runs):
    names = VEHICLES
    listed = ", ".join(f"{name}*1" for name in names)
    folder = fly(runs, "square", "--gps", "rtk", "--vehicles", listed)
    assert json.loads((folder / "summary.json").read_text())["landed"]
    assert Scenario.load(folder / "scenario.yaml").n == len(names)
