"""Gates in the world, and laps of simulated flights."""

import json

import numpy as np
import pytest

from xtdrone_control.race import RaceAgent
from xtdrone_control.race_path import Course
from xtdrone_core import Scenario, ScenarioError, VehicleSpec, XtdroneError, resources
from xtdrone_core.racing.track import read_track
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_guidance.lap_path import LapPath
from xtdrone_sim.engines.gazebo.world import world_sdf
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import world_of


def test_gates_are_solid_models_of_the_world_of_both_engines():
    scenario = Scenario(fleet("iris", 1), track="eight")
    world = world_of(scenario)
    gates = read_track("eight").gates
    names = [model.name for model in world.models if model.name.startswith("gate_")]
    assert names == [f"gate_{k + 1}" for k in range(len(gates))]
    bars = [shape for shape in world.shapes if shape.name.startswith("gate_2::") and shape.collides]
    assert len(bars) == 4
    middle = np.mean([bar.pose.pos for bar in bars], axis=0)
    assert middle == pytest.approx(gates[1].pos)
    text = world_sdf(
        world, scenario.vehicles, [load_vehicle("iris")], "plugin", "socket", "looks", 0.004
    )
    assert text.count('<model name="gate_') == len(gates) and "gate_6" in text


def test_a_pitched_gate_stands_as_its_axes_say(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("gates: [{pos: [3, 0, 4], yaw: 0.7, pitch: 0.4}, {pos: [9, 0, 4]}]")
    world = world_of(Scenario(fleet("iris", 1), track=str(path)))
    axes = read_track(path).gates[0].axes()
    bar = next(shape for shape in world.shapes if shape.name.startswith("gate_1::"))
    assert [bar.pose.direction(row) for row in np.eye(3)] == [pytest.approx(row) for row in axes]


def test_world_with_a_model_of_a_gates_name(tmp_path):
    path = tmp_path / "taken.world"
    text = resources.world_sdf("empty").read_text()
    path.write_text(text.replace("ground_plane", "gate_2"))
    with pytest.raises(ScenarioError, match="'gate_2' like a gate"):
        world_of(Scenario(fleet("iris", 1), track="eight", world=str(path)))


@pytest.mark.parametrize("name", resources.track_names())
@pytest.mark.slow
def test_path_goes_through_all_gates(name):
    track = read_track(name)
    path = LapPath(track)
    pos, along, _ = path.at(path.gates)
    for k, gate in enumerate(track.gates):
        assert pos[k] == pytest.approx(gate.pos, abs=0.01)
        assert gate.radius is not None or along[k] @ gate.axes()[0] > 0.95
    course = Course(track, 2, 6.0, 5.0)
    t = np.linspace(0, course.duration, 4000)
    pos, vel, acc = (np.array(each) for each in zip(*map(course.at, t)))
    assert np.linalg.norm(vel, axis=1).max() <= 6.01
    assert np.linalg.norm(acc, axis=1).max() <= 5.0 * 2**0.5 * 1.05
    assert np.linalg.norm(vel[[0, -1]], axis=1).max() < 0.15  # at rest at both ends
    numeric = np.gradient(pos, t, axis=0)
    assert np.abs(numeric - vel)[1:-1].max() < 0.1


@pytest.mark.slow
def test_a_gate_in_the_way_is_a_crash(tmp_path):
    track = tmp_path / "low.yaml"
    track.write_text("gates: [{pos: [0, 0, 2], size: 1.0}, {pos: [9, 0, 2]}]")
    # The lower bar of the first gate is above the vehicle, which climbs into it.
    simulation = Simulation(
        Scenario(fleet("iris", 1), track=str(track), speed=0.0), agent=Climb(), links=False
    )
    try:
        simulation.run(until_us=14_000_000)
        assert [(crash.kind, crash.other) for crash in simulation.crashes[:1]] == [
            ("obstacle", "gate_1")
        ]
    finally:
        simulation.close()


def test_a_gate_that_moves_is_an_actor_and_gazebo_refuses_it(tmp_path):
    path = tmp_path / "swing.yaml"
    path.write_text(
        "gates: [{pos: [3, 0, 3], yaw: 0.5}, {pos: [9, 0, 3], yaw: 1.0, move: [0, 2, 0.3]}]"
    )
    world = world_of(Scenario(fleet("iris", 1), track=str(path)))
    assert [model.name for model in world.models if model.name.startswith("gate_")] == ["gate_1"]
    (gate,) = read_track(path).gates[1:]
    (actor,) = world.actors
    assert actor.name == "gate_2" and sum(s.collides for s in actor.limbs[0].shapes) == 4
    for t in (0.0, 0.7, 3.9, 17.2):
        pose = actor.pose(t)
        assert pose.pos == pytest.approx(gate.pos + gate.displacement(t), abs=2e-3)
        assert pose.direction((1, 0, 0)) == pytest.approx(gate.axes()[0])
    with pytest.raises(XtdroneError, match="gate_2 of the track moves"):
        world_sdf(world, (), [], "plugin", "socket", "looks", 0.004)
    with pytest.raises(XtdroneError, match="gate 2 of track 'swing' moves"):
        Simulation(Scenario(fleet("iris", 1), track=str(path)), agent=RaceAgent(1), links=False)


def Climb():
    from xtdrone_control.agents import HoverAgent

    return HoverAgent(1, height=3.0)


def test_agent_race_needs_a_track_and_flies_one_vehicle():
    with pytest.raises(XtdroneError, match="flies one vehicle"):
        RaceAgent(2)
    with pytest.raises(XtdroneError, match="--track NAME"):
        Simulation(Scenario(fleet("iris", 1)), agent=RaceAgent(1), links=False)


def test_body_rates_of_a_plan_keep_to_the_vehicles_parameters(tmp_path):
    def plan(params="", **options):
        agent = RaceAgent(1, plan="time_optimal", laps=1, **options)
        scenario = Scenario(fleet("iris", 1), track="eight", params=str(params))
        Simulation(scenario, agent=agent, links=False).close()

    with pytest.raises(XtdroneError, match="body_rate 5 rad/s is above .* of iris_0, 3.84 rad/s"):
        plan(body_rate=5.0)
    (slow := tmp_path / "slow.params").write_text("1\t1\tMC_ROLLRATE_MAX\t100\t9\n")
    with pytest.raises(XtdroneError, match="body_rate 3 rad/s is above .* of iris_0, 1.75 rad/s"):
        plan(slow, body_rate=3.0)


@pytest.mark.long
def test_a_race_is_flown_timed_and_compared_with_a_ghost(tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    events = []
    for name, ghost, speed in (("slow", "", 3.0), ("quick", "slow", 5.0)):
        folder = run_folder.create(name)
        scenario = Scenario(
            (VehicleSpec("iris", "iris_0", (0.0, 0.0, 0.0)),),
            track="eight",
            ghost=ghost,
            speed=0.0,
            gps="rtk",
            log="none",
            name=name,
        )
        (folder / "scenario.yaml").write_text(json.dumps(scenario.to_dict()))
        agent = RaceAgent(1, speed=speed, laps=1)
        simulation = Simulation(scenario, folder, agent=agent, links=False)
        try:
            simulation.run()
        finally:
            simulation.close()
        assert not simulation.crashes and agent.goals_reached() == {"laps": (1, 1)}
        events.append(run_folder.read_events(folder))
    race = run_folder.read_summary(folder)["race"]
    assert (race["track"], race["ghost"], race["vehicles"][0]["missed_gates"]) == (
        "eight",
        "slow",
        0,
    )
    assert len(race["vehicles"][0]["laps"]) == 1
    gates = [event for event in events[1] if event["event"] == "gate"][:7]  # it stops behind them
    assert [event["gate"] for event in gates] == [1, 2, 3, 4, 5, 6, 1]
    assert [event["lap"] for event in gates] == [1] * 7
    lap = next(event for event in events[1] if event["event"] == "lap")
    slow = next(event for event in events[0] if event["event"] == "lap")
    assert lap["best"] and lap["lap_s"] == gates[-1]["split_s"] < slow["lap_s"]
    assert gates[-1]["to_ghost_s"] == pytest.approx(lap["lap_s"] - slow["lap_s"], abs=1e-3)
    assert "to_best_s" not in gates[-1]  # there was no lap before


def test_way_points_have_no_frame():
    scenario = Scenario(fleet("racer", 1), track="split_s")
    assert not [model.name for model in world_of(scenario).models if "gate" in model.name]


@pytest.mark.long
def test_time_optimal_flight_passes_its_way_points_in_the_planned_time(tmp_path):
    path = tmp_path / "two.yaml"
    path.write_text(
        "laps: 1\nstart: [0, 0, 2]\nend: [0, 4, 2]\n"
        "gates: [{pos: [6, 0, 2.5], radius: 0.3}, {pos: [4, 4, 1.5], radius: 0.3}]"
    )
    scenario = Scenario(
        fleet("racer", 1), track=str(path), gps="rtk", rate_control="indi", speed=0.0, log="none"
    )
    events = []
    agent = RaceAgent(
        plan="time_optimal", on_event=lambda t, name, **values: events.append((name, values))
    )
    simulation = Simulation(scenario, agent=agent, links=False)
    try:
        simulation.run()
    finally:
        simulation.close()
    planned = dict(events)["race"]["planned_s"]
    assert agent.goals_reached() == {"laps": (1, 1)}
    assert planned < 4.0
    assert not simulation.crashes


def test_time_optimal_flight_of_a_vehicle_that_cannot_hover_is_refused():
    scenario = Scenario(fleet("plane", 1), track="eight")
    agent = RaceAgent(plan="time_optimal")
    with pytest.raises(XtdroneError, match="a time-optimal plan for plane is not possible") as no:
        Simulation(scenario, agent=agent, links=False)
    assert "\n" not in str(no.value)
