"""`xtdrone fly mission` ends, also where the mission does not."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import plan_data
from own_ports import LATEST
from plan_data import item, plain
from xtdrone_control.agents import MissionAgent
from xtdrone_core import (
    DISARM,
    KEEP,
    Estimates,
    FleetModel,
    Mode,
    Scenario,
    VehicleSpec,
    XtdroneError,
)
from xtdrone_core.command import main
from xtdrone_core.errors import MISSED
from xtdrone_core.runs.run_folder import runs_root
from xtdrone_sim.vehicles.sdf import load_vehicle

WAYPOINT, UNLIM, RTL, LAND, TAKEOFF, DELAY, JUMP = 16, 17, 20, 21, 22, 93, 177


@pytest.fixture
def fly(runs, tmp_path, capsys):
    """Flies a mission; returns the exit status, the events, and the lines."""

    def run(vehicle, *items):
        path = plan_data.write(tmp_path / "a.plan", *items)
        options = "--mission", str(path), "--vehicle", vehicle, "--speed", "0", "--log", "none"
        world = "lake" if vehicle == "boat" else "empty"
        status = main(["fly", "mission", *options, "--gps", "rtk", "--world", world])
        out, said = capsys.readouterr()
        events = (runs_root() / LATEST / "events.jsonl").read_text().splitlines()
        return status, [json.loads(line) for line in events], out, said

    return run


def scenario_of(vehicle, world="empty"):
    return Scenario(vehicles=(VehicleSpec(vehicle, f"{vehicle}_0", (0.0, 0.0, 0.0)),), world=world)


def stopping(entry):
    return {**entry, "autoContinue": False}


def take_off():
    return item(TAKEOFF, 0, 0, 5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "vehicle, items, reached, why",
    [
        (
            "iris",
            [item(UNLIM, 6, 0, 5), item(WAYPOINT, 6, 9, 5), item(LAND, 6, 9)],
            "2 of 4",
            "item 1 (MAV_CMD_NAV_LOITER_UNLIM) has no end",
        ),
        (
            "iris",
            [plain(RTL), item(WAYPOINT, 6, 9, 5)],
            "1 of 2",
            "item 1 (MAV_CMD_NAV_RETURN_TO_LAUNCH) comes before the last item",
        ),
        (
            "iris",
            [stopping(item(WAYPOINT, 6, 0, 5)), item(LAND, 6, 9)],
            "2 of 3",
            "item 1 (MAV_CMD_NAV_WAYPOINT) has autoContinue false",
        ),
        pytest.param(
            "iris",
            [stopping(plain(DELAY, 2)), item(LAND, 6, 9)],
            "1 of 2",
            "item 1 (MAV_CMD_NAV_DELAY) has autoContinue false",
            marks=pytest.mark.long,
        ),
        (
            "iris",
            [item(WAYPOINT, 6, 0, 5), plain(JUMP, 1, -1), item(LAND, 6, 9)],
            "2 of 3",
            "item 2 (MAV_CMD_DO_JUMP) goes round for ever",
        ),
        (
            "rover",
            [item(WAYPOINT, 6, 0, 0), item(WAYPOINT, 0, 0, 0), plain(JUMP, 1, -1)],
            "2 of 2",
            "item 2 (MAV_CMD_DO_JUMP) goes round for ever",
        ),
    ],
    ids=["unlimited", "return", "waypoint", "delay", "jump", "rover"],
)
def test_a_mission_that_stays_somewhere_is_ended_with_the_reason(fly, vehicle, items, reached, why):
    first = [] if vehicle == "rover" else [take_off()]
    status, events, out, said = fly(vehicle, *first, *items)
    assert status == (0 if vehicle == "rover" else MISSED)
    assert f"{reached} waypoints" in out
    assert f"mission of vehicle 0 ends early: mission {why}" in said
    (event,) = [event for event in events if event["event"] == "ends_early"]
    assert event["index"] == 0 and event["why"].endswith(why)
    assert events[-1]["event"] == "landed"


@pytest.mark.slow
@pytest.mark.parametrize("vehicle", ["iris", "rover", pytest.param("boat", marks=pytest.mark.long)])
def test_a_last_loiter_without_an_end_is_all_of_the_mission(fly, vehicle):
    first = take_off() if vehicle == "iris" else item(WAYPOINT, 4, 4, 0)
    status, _, out, _ = fly(vehicle, first, item(UNLIM, 12, 4, 5 if vehicle == "iris" else 0))
    assert status == 0 and "2 of 2 waypoints" in out


@pytest.mark.long
def test_a_plane_lands_where_it_would_circle_for_ever(fly):
    circle = item(UNLIM, 0, 400, 40, (0, 0, 60, None))
    status, _, out, said = fly("plane", item(TAKEOFF, 150, 0, 40), circle, plain(RTL))
    assert status == 0 and "2 of 2 waypoints" in out
    assert "item 1 (MAV_CMD_NAV_LOITER_UNLIM) has no end" in said


def flying():
    """An estimate of a vehicle in its mission."""
    yes, zeros = np.ones(1, dtype=bool), np.zeros((1, 3))
    return Estimates(
        0, zeros, np.zeros((1, 4)), zeros, zeros, yes, ~yes, np.array([Mode.MISSION]), yes
    )


def test_a_mission_of_which_nobody_knows_where_it_ends_is_over_after_the_longest_time():
    agent = MissionAgent(1, longest=100.0)
    for t_us in range(0, 100_100_000, 100_000):
        agent.step(t_us, flying())
    with pytest.raises(XtdroneError, match="mission of vehicle 0 is not over after 100 s"):
        agent.step(100_100_000, flying())


@pytest.mark.parametrize("vehicle, order", [("iris", (Mode.LAND, KEEP)), ("rover", (KEEP, DISARM))])
def test_where_a_mission_stays_the_vehicle_lands_or_is_disarmed_after_3_s(vehicle, order, capsys):
    health = {"waypoints": (1, 3), "stays": True, "ends_early": "mission item 1 has no end"}
    events = []
    agent = MissionAgent(1, on_event=lambda t_us, name, **values: events.append((name, values)))
    fleet = FleetModel.of([load_vehicle(vehicle)])
    autopilot = SimpleNamespace(health=lambda: [health])
    agent.attach(SimpleNamespace(autopilot=autopilot, fleet=fleet, scenario=scenario_of(vehicle)))
    yes, zeros = np.ones(1, dtype=bool), np.zeros((1, 3))
    flying = Estimates(
        0, zeros, np.zeros((1, 4)), zeros, zeros, yes, ~yes, np.array([Mode.MISSION]), yes
    )
    orders = []
    for t_us in range(0, 3_000_000, 100_000):
        out = agent.step(t_us, flying)
        orders.append((out.mode[0], out.arm[0]))
    assert set(orders) == {(KEEP, KEEP)}
    out = agent.step(3_000_000, flying)
    assert (out.mode[0], out.arm[0]) == order
    why = {"index": 0, "why": "mission item 1 has no end"}
    assert [values for name, values in events if name == "ends_early"] == [why]
    assert capsys.readouterr().err.count("ends early: mission item 1 has no end") == 1
    assert agent.goals_reached()["waypoints"] == (1, 3)


def test_vehicles_without_a_mission_are_named_at_once(capsys):
    """Not only when the time is over; those that have one are not named."""
    agent = MissionAgent(3)
    agent.health = lambda: [{"waypoints": (0, count)} for count in (0, 4, 0)]
    yes, zeros = np.ones(3, dtype=bool), np.zeros((3, 3))
    modes = np.full(3, Mode.LOITER)
    ready = Estimates(0, zeros, np.zeros((3, 4)), zeros, zeros, ~yes, yes, modes, yes)
    for t_us in (0, 5_000_000):
        agent.step(t_us, ready)
    said = "vehicle 0, 2 has no mission: upload one within 60 s, or give --mission FILE"
    assert capsys.readouterr().err.splitlines() == [said]


@pytest.mark.long
@pytest.mark.parametrize("vehicle", ["plane", "rover"])
def test_what_returns_and_does_not_land_by_itself_ends_there(fly, vehicle):
    """A plane circles above its home by RTL_LAND_DELAY = -1, a rover stands at it."""
    start = item(TAKEOFF, 150, 0, 40) if vehicle == "plane" else item(WAYPOINT, 5, 5)
    status, _, out, said = fly(vehicle, start, plain(RTL))
    assert status == 0 and "1 of 1 waypoints" in out and "1 of 1 missions" in out
    assert "ends early" not in said


@pytest.mark.parametrize(
    "vehicle, world, reason",
    [
        ("boat", "empty", "'boat' moves by propellers in the water, and world 'empty' has none"),
        ("rover", "lake", "'rover' drives on wheels, and world 'lake' has water up to z = 0 m"),
    ],
)
def test_a_boat_on_land_and_a_rover_in_water_are_refused(capsys, vehicle, world, reason):
    autopilot = SimpleNamespace(health=list)
    fleet = FleetModel.of([load_vehicle(vehicle)])
    scenario = scenario_of(vehicle, world)
    with pytest.raises(XtdroneError, match=reason):
        MissionAgent(1).attach(SimpleNamespace(autopilot=autopilot, fleet=fleet, scenario=scenario))
    assert main(["mission", "check", "course", "--vehicle", vehicle, "--world", world]) == 1
    assert f"ERROR: {reason}" in capsys.readouterr().out
