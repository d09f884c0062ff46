"""Whole flights by Agents, inside the lockstep and as fast as possible."""

import json

import numpy as np
import pytest

from own_ports import LATEST
from physics import MULTIROTORS
from xtdrone_core import Scenario
from xtdrone_core.command import main
from xtdrone_core.errors import CRASHED, MISSED
from xtdrone_core.runs.truth_log import read_truth

# Rigs with cameras or lidars fly like the iris that carries them; rendering is tested elsewhere.
VEHICLES = [name for name in MULTIROTORS if not name.startswith("iris_")]
CORNERS = np.array([(4, 0), (4, 4), (0, 4), (0, 0)], dtype=float)


def fly(runs, *words):
    """Runs `xtdrone fly ...`; returns the run folder."""
    assert main(["fly", *words]) == 0
    return (runs / LATEST).resolve()


def events(folder):
    """The lines of events.jsonl."""
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def check_corners(folder):
    """Every vehicle of a flight was at each corner of its own square when it was told."""
    scenario = Scenario.load(folder / "scenario.yaml")
    t_us, table = read_truth(folder / "truth.bin", scenario.n)
    corners = [event for event in events(folder) if event["event"] == "corner"]
    starts = np.array([vehicle.pos for vehicle in scenario.vehicles])[:, :2]
    assert len(corners) == 4
    for corner, place in zip(corners, CORNERS):
        k = np.searchsorted(t_us, corner["t_us"])
        assert np.linalg.norm(table[k, :, :2] - starts - place, axis=1).max() <= 0.3
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["landed"] and summary["collisions"] == 0
    assert abs(table[-1, :, 2] - table[0, :, 2]).max() < 0.1


@pytest.mark.slow
def test_all_kinds_in_one_fleet_fly_the_square_and_hit_its_corners(runs):
    listed = ", ".join(f"{name}*1" for name in VEHICLES)
    folder = fly(runs, "square", "--gps", "rtk", "--vehicles", listed)
    check_corners(folder)
    assert Scenario.load(folder / "scenario.yaml").n == len(VEHICLES)


@pytest.mark.parametrize(
    "vehicle",
    [pytest.param(name, marks=() if name == "iris" else pytest.mark.long) for name in VEHICLES],
)
def test_square_is_flown_alone(runs, vehicle):
    check_corners(fly(runs, "square", "--gps", "rtk", "--vehicle", vehicle))


def test_a_crash_is_told_and_is_no_success(runs, capsys):
    assert main(["fly", "square", "--disturbances", "20: rotor iris_0 2 0"]) == CRASHED
    printed = capsys.readouterr().out
    folder = (runs / LATEST).resolve()
    summary = json.loads((folder / "summary.json").read_text())
    (crash,) = summary["crashes"]
    assert not summary["landed"] and crash["vehicle"] == "iris_0" and crash["kind"] == "ground"
    assert crash["speed"] > 2.0 and 20.0 < crash["t"] < 22.0
    assert summary["reached"]["corners"][0] < summary["reached"]["corners"][1] == 4
    (event,) = (event for event in events(folder) if event["event"] == "crash")
    assert event["t_us"] == round(crash["t"] * 1e6) and event["speed"] == crash["speed"]
    assert "crash             2" in printed and "iris_0 hit the ground" in printed
    assert "landed            0 of 1" in printed


def test_a_flight_ends_with_what_it_reached_and_a_status_of_its_own(runs, capsys):
    assert main(["fly", "square", "--n", "2", "--set", "time_out=0.5"]) == MISSED
    folder = (runs / LATEST).resolve()
    printed = capsys.readouterr().out
    assert json.loads((folder / "summary.json").read_text())["reached"] == {"corners": [0, 4]}
    for line in (
        "reached           0 of 4 corners",
        "landed            2 of 2",
        "crashes           none",
        "least separation  2.",
        "position estimate 0.",
        "warnings          none",
        f"run folder: {folder}",
    ):
        assert f"\n{line}" in printed


def test_equal_seeds_give_equal_bytes_and_others_do_not(runs):
    short = "--set", "side=1", "--set", "hold=0"
    first, again = (fly(runs, "square", "--seed", "7", *short) for _ in range(2))
    other = fly(runs, "square", "--seed", "8", *short)
    assert (first / "truth.bin").read_bytes() == (again / "truth.bin").read_bytes()
    assert (first / "truth.bin").read_bytes() != (other / "truth.bin").read_bytes()
