"""Agents that fly curves and paths: their events, their refusals, and a figure at the end."""

import pytest

import xtdrone as xd
from xtdrone_control.race import RaceAgent
from xtdrone_core.command import main
from xtdrone_core.errors import XtdroneError
from xtdrone_core.runs import run_folder
from xtdrone_guidance.agents import GuidanceAgent, TrajectoryAgent


def test_an_unknown_curve_is_refused():
    with pytest.raises(XtdroneError, match="unknown curve 'oval'.*or give a .csv"):
        TrajectoryAgent(1, curve="oval")


def test_a_path_through_the_ground_is_refused():
    with pytest.raises(XtdroneError, match="the path descends to .* m above the start: give"):
        GuidanceAgent(1, path="lemniscate", height=0.6)


@pytest.mark.slow
def test_a_flight_along_a_path_ends_near_it_with_a_figure(tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    runs = tmp_path
    options = ["--velocity_control", "indi", "--rate_control", "indi", "--wind", "5,0,0"]
    agent = ["--set", "path=circle", "--set", "laps=1"]
    assert main(["fly", "guidance", "--gps", "rtk", "--name", "around", *options, *agent]) == 0
    events = {event["event"]: event for event in run_folder.read_events(runs / "around")}
    assert events["path"]["closed"] and events["path"]["length_m"] == pytest.approx(12.57, abs=0.1)
    assert events["path_over"]["rms_m"] < 0.15
    assert (runs / "around" / "plots" / "field.png").stat().st_size > 20_000


@pytest.mark.parametrize(
    "agent, options, message",
    [
        (
            TrajectoryAgent(1, curve="lemniscate", lap=0.5),
            {},
            "trajectory lemniscate needs a thrust",
        ),
        (
            GuidanceAgent(1, path="circle", speed=20.0, acceleration=20.0),
            {},
            "a bend of the path at acceleration 20 m/s.2 needs a thrust of 2.27 times",
        ),
        (
            RaceAgent(speed=30.0, acceleration=30.0),
            {"track": "eight"},
            "acceleration 30 m/s.2 needs a thrust of 3.22 times the weight, and 'iris' has 1.87",
        ),
    ],
)
def test_what_needs_more_thrust_than_there_is_is_refused(agent, options, message):
    scenario = xd.Scenario(vehicles="iris", log="none", **options)
    with pytest.raises(XtdroneError, match=message), xd.Simulation(scenario, agent=agent):
        pass
