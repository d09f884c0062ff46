"""Loads on cables: their scenario, their physics, and the Agent that carries them."""

import contextlib
import json

import numpy as np
import pytest

from xtdrone_cooperation.loads.agent import LoadAgent
from xtdrone_cooperation.loads.motion import GRAVITY, Dash, carried, with_load
from xtdrone_core import Scenario, XtdroneError, resources
from xtdrone_core.command import main
from xtdrone_core.scenario.loads import SlungLoad, parse_loads
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.sdf import load_vehicle

ONE = "iris_0 0.5 1.5"
NAMES = ("iris_0", "iris_1", "iris_2")


def test_a_list_of_loads_is_read():
    assert parse_loads(f"{ONE}; iris_1+iris_2 0.8 1.2 2.0;", NAMES) == (
        SlungLoad("load_0", (0,), 0.5, 1.5),
        SlungLoad("load_1", (1, 2), 0.8, 1.2, 2.0),
    )
    assert parse_loads("", NAMES) == ()


@pytest.mark.parametrize(
    ("loads", "line"),
    [
        ("iris_0 0.5", "write NAME MASS LENGTH"),
        ("iris_0+iris_1 0.5 1.5", "write NAME MASS LENGTH"),
        ("iris_0+iris_1+iris_2 0.5 1.5 2 2", "write NAME MASS LENGTH"),
        ("iris_7 0.5 1.5", "there is no vehicle 'iris_7', only iris_0"),
        ("iris_0 0.5 1.5; iris_0 0.1 1", "iris_0 carries another one already"),
        ("iris_0 heavy 1.5", "mass 'heavy' is not allowed: give 0.001 to 1000 kg"),
        ("iris_0 0.5 -1", "length '-1' is not allowed: give 0.1 to 100 m"),
        ("iris_0 nan 1.5", "mass 'nan' is not allowed"),
    ],
)
def test_loads_that_cannot_be_are_refused(loads, line):
    with pytest.raises(XtdroneError, match=line):
        Scenario("iris*3", loads=loads)


@pytest.fixture
def hung():
    """hung(vehicles, loads): a Simulation whose vehicles stand or fall, and its load's state."""
    with contextlib.ExitStack() as stack:

        def make(loads=ONE, vehicles="iris"):
            scenario = Scenario(vehicles, loads=loads, speed=0.0)
            return stack.enter_context(contextlib.closing(Simulation(scenario, links=False)))

        yield make


def state_of(simulation, name="load_0"):
    return simulation.entities.table([simulation.entities.models[name]])[0]


def lift(simulation, height, at=0.0):
    """Puts the vehicle somewhere above its start, at rest."""
    state = np.zeros(13)
    state[:3], state[6] = (at, 0.0, height), 1.0
    simulation.engine.place(0, state)


def test_a_slack_cable_pulls_nothing_and_a_taut_one_holds(hung):
    simulation = hung()
    start = state_of(simulation)
    simulation.run(200_000)
    assert np.allclose(state_of(simulation)[:3], start[:3], atol=0.01)
    for height in np.linspace(0.2, 3.0, 700):
        lift(simulation, height)
        simulation.step()
    away = state_of(simulation)[:3] + [0.0, 0.0, 0.05] - simulation.state.pos[0]
    assert np.linalg.norm(away) == pytest.approx(1.5, abs=0.05)
    assert state_of(simulation)[2] > 1.0


def test_a_load_swings_as_a_pendulum(hung):
    """The time between two passes of the middle is half a period of 2 pi sqrt(l / g)."""
    simulation = hung("iris_0 0.001 1.5")
    load, passes, before = np.zeros(13), [], 1.0
    length = 1.5 + 0.05  # to the middle of the box
    load[:3], load[6] = (length * np.sin(0.1), 0.0, 5.0 - length * np.cos(0.1)), 1.0
    lift(simulation, 5.0)
    simulation.engine.place_inserted(0, load)
    while len(passes) < 3:
        lift(simulation, 5.0)
        simulation.step()
        away = state_of(simulation)[0]
        if away * before < 0.0:
            passes.append(simulation.t_us * 1e-6)
        before = away
    assert passes[2] - passes[0] == pytest.approx(2.0 * np.pi * np.sqrt(length / GRAVITY), rel=0.02)


def test_a_load_is_saved_and_comes_back_with_its_vehicle(hung, tmp_path):
    first = hung()
    for _ in range(50):
        lift(first, 2.0)
        first.step()
    first.save(tmp_path / "snapshot")
    second = hung()
    second.load(tmp_path / "snapshot")
    for simulation in (first, second):
        simulation.run(simulation.t_us + 400_000)
    assert np.array_equal(state_of(first), state_of(second))
    start = state_of(hung())
    first.reset([0])
    assert np.allclose(state_of(first), start)


def test_a_bar_lies_between_its_vehicles(hung):
    simulation = hung("iris_0+iris_1 0.8 1.5 2.0", "iris@0,-1; iris@0,1")
    x, y, _, *quat = state_of(simulation)[:7]
    assert (x, y) == pytest.approx((-0.6, 0.0), abs=1e-9)
    assert np.allclose(quat, [0.0, 0.0, 0.0, 1.0])
    assert len(simulation.engine.model.tendon_limited) == 2


class WithoutCables(EmbeddedEngine):
    """An engine like Gazebo's in that it cannot sling anything."""

    sling = None


def test_an_engine_without_cables_is_refused():
    with pytest.raises(XtdroneError, match="has no cables that can be slack: fly loads with"):
        Simulation(Scenario("iris", loads=ONE, engine=f"{__name__}:WithoutCables"), links=False)


@pytest.mark.parametrize(
    ("vehicles", "loads", "options", "line"),
    [
        ("iris*2", ONE, {}, "iris_1 carries no load: give one to each vehicle"),
        ("iris", ONE, {"height": 1.8}, "height 1.8 m is not allowed: give 2 m or more"),
        (
            "iris@0,0; iris@0,2",
            "iris_0+iris_1 0.8 1.5 1.0",
            {},
            "start 2 m apart, and its bar has 1 m",
        ),
    ],
)
def test_loads_that_the_agent_cannot_carry_are_refused(vehicles, loads, options, line):
    scenario = Scenario(vehicles, loads=loads)
    with pytest.raises(XtdroneError, match=line):
        Simulation(scenario, links=False, agent=LoadAgent(scenario.n, **options))


def test_a_dash_ends_where_it_should_and_is_not_faster():
    dash = Dash(np.array([1.0, 2.0, 3.0]), np.array([21.0, 2.0, 3.0]), 4.0, 2.0)
    times = np.linspace(0.0, dash.duration, 2001)
    places, accelerations = (np.array(each) for each in zip(*map(dash.at, times)))
    speeds = np.gradient(places[:, 0], times)
    assert np.allclose(places[[0, -1], 0], [1.0, 21.0])
    assert speeds.max() == pytest.approx(4.0, abs=0.01)
    assert speeds[[0, -1]] == pytest.approx(0.0, abs=0.01)
    assert np.allclose(np.gradient(speeds, times)[5:-5], accelerations[5:-5, 0], atol=0.02)


@pytest.mark.parametrize("length", [0.8, 1.5])
def test_a_load_below_the_planned_vehicle_moves_as_planned(length):
    """A pendulum whose pivot moves as carried() says, integrated without that."""
    dash = Dash(np.zeros(3), np.array([12.0, 0.0, 0.0]), 4.0, 2.0)
    angle, rate, dt = 0.0, 0.0, 0.001  # of the cable, forward of the vertical
    worst = 0.0
    for t in np.arange(0.0, dash.duration + 2.0, dt):
        plan = carried(dash.at, t, length)
        drive = -plan.acc[0] * np.cos(angle) - (GRAVITY + plan.acc[2]) * np.sin(angle)
        rate += drive / length * dt
        angle += rate * dt
        worst = max(worst, abs(plan.pos[0] + length * np.sin(angle) - dash.at(t)[0][0]))
    assert worst < 0.03
    assert np.degrees(abs(angle)) < 0.5


def test_commanded_acceleration_is_that_of_the_common_centre_of_gravity():
    plan = carried(lambda t: (np.zeros(3), np.array([1.0, 0.0, 0.0])), 0.0, 1.5)
    assert with_load(plan, 0.0) == pytest.approx(plan.acc)
    assert with_load(plan, 1.0) == pytest.approx([0.5, 0.0, 0.0], abs=1e-6)


def swings(folder):
    return json.loads((folder / "summary.json").read_text())["swing_2_s_after_stops_deg"]


@pytest.mark.slow
def test_a_load_hangs_still_two_seconds_after_a_stop(runs):
    words = ["--gps", "rtk", "--set", "way=12", "--loads", ONE, "--name", "one"]
    assert main(["fly", "load", *words]) == 0
    (folder,) = runs.glob("one*")
    assert len(swings(folder)) == 2
    assert max(swings(folder)) < 5.0
    assert (folder / "plots" / "load.png").stat().st_size > 10_000
    head, *rows = (folder / "loads.csv").read_text().splitlines()
    assert head == "t_s,load,x,y,z,swing_deg"
    heights = np.array([float(row.split(",")[4]) for row in rows])
    assert heights.max() > 1.7 and heights[-1] < 0.1  # it was lifted, and put down
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["crashes"] == []


@pytest.mark.long
def test_a_vehicle_that_ignores_its_load_lets_it_swing(runs):
    words = ["--gps", "rtk", "--set", "way=12", "--set", "method=vehicle", "--loads", ONE]
    assert main(["fly", "load", *words, "--name", "baseline"]) == 0
    (folder,) = runs.glob("baseline*")
    assert min(swings(folder)) > 10.0


@pytest.mark.long
def test_two_vehicles_carry_a_bar_through_a_gap_that_is_narrower(runs):
    words = ["--vehicles", "iris@0,-1; iris@0,1", "--loads", "iris_0+iris_1 0.8 1.5 2.0"]
    words += ["--gps", "rtk", "--world", "gap", "--set", "way=16", "--set", "speed=2"]
    assert main(["fly", "load", *words, "--name", "bar"]) == 0
    (folder,) = runs.glob("bar*")
    rows = [row.split(",") for row in (folder / "loads.csv").read_text().splitlines()[1:]]
    assert max(float(row[2]) for row in rows) > 15.0  # the wall is at 8 m
    assert json.loads((folder / "summary.json").read_text())["collisions"] == 0
    assert max(swings(folder)) < 5.0


ROPE = """
<link name="rope"><pose>0 0 -0.4 0 0 0</pose>
  <inertial><mass>0.02</mass><inertia><ixx>1e-4</ixx><iyy>1e-4</iyy><izz>1e-4</izz></inertia></inertial></link>
<joint name="hook" type="universal"><parent>base_link</parent><child>rope</child>
  <pose>0 0 0.4 0 0 0</pose></joint>
<link name="payload"><pose>0 0 -0.9 0 0 0</pose>
  <inertial><mass>0.3</mass><inertia><ixx>5e-4</ixx><iyy>5e-4</iyy><izz>5e-4</izz></inertia></inertial>
  <collision name="collision"><geometry><sphere><radius>0.05</radius></sphere></geometry>
  </collision></link>
<joint name="knot" type="ball"><parent>rope</parent><child>payload</child></joint>
"""


@pytest.fixture
def with_rope(tmp_path):
    """The SDF of an iris with a payload on a rope of two joints, as users' models have it."""
    model = resources.vehicle_sdf("iris").read_text()
    path = tmp_path / "roped.sdf"
    path.write_text(model.replace("</model>", f"{ROPE}</model>"))
    return path


def test_a_load_in_the_sdf_of_a_vehicle_hangs_on_a_cable(with_rope, hung):
    vehicle, plain = load_vehicle(with_rope), load_vehicle("iris")
    (load,) = vehicle.slung
    assert load.name == "payload"
    assert load.length == pytest.approx(0.9, abs=1e-6)
    assert vehicle.mass == pytest.approx(plain.mass)
    assert "link 'payload' hangs on a cable of 0.9 m; batches leave it out" in vehicle.remarks
    assert not any("hook" in remark or "knot" in remark for remark in vehicle.remarks)
    simulation = hung("", f"{with_rope}@0,0,0")
    name = f"{simulation.scenario.vehicles[0].name}_payload"
    lift(simulation, 3.0)
    simulation.engine.place_inserted(0, np.array([0.0, 0, 2.2, 0, 0, 0, 1, *[0.0] * 6]))
    for _ in range(250):
        lift(simulation, 3.0)
        simulation.step()
    away = state_of(simulation, name)[:3] - simulation.state.pos[0]
    assert np.linalg.norm(away) == pytest.approx(0.9, abs=0.12)
    assert simulation.engine.inserted[0].mass == pytest.approx(0.32)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("</collision>", '</collision><sensor name="eye" type="camera"/>'),
        ('type="ball"', 'type="prismatic"'),
        (
            "<parent>base_link</parent><child>rope</child>",
            "<parent>rope</parent><child>base_link</child>",
        ),
    ],
)
def test_what_is_no_load_stays_a_part_of_the_vehicle(with_rope, old, new):
    with_rope.write_text(with_rope.read_text().replace(ROPE, ROPE.replace(old, new)))
    vehicle = load_vehicle(with_rope)
    assert vehicle.slung == ()
    assert any(
        "'hook' is of type universal: it is held at zero" in line for line in vehicle.remarks
    )
