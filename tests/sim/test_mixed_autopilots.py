"""Vehicles of one simulation with autopilots of their own."""

import contextlib
import os

import numpy as np
import psutil
import pytest

import second_stack
import xtdrone as xd
from climbing import Climb
from xtdrone_sim.simulation import Simulation

SECOND, PROCESS = "second_stack:SecondStack", "second_stack:OwnClock"
TYPES = ("iris", "typhoon_h480", "iris")
needs_px4 = pytest.mark.skipif(
    not os.environ.get("PX4_BUILD"), reason="needs PX4_BUILD, a build of PX4"
)


class Armed(xd.Observer):
    """Which vehicles have said that they were armed."""

    def __init__(self):
        self.vehicles = []

    def on_text(self, t_us, vehicle, severity, text):
        if text.startswith("Armed"):
            self.vehicles.append(vehicle)


def fleet(*autopilots, **options):
    """A scenario of three vehicles; "" is the scenario's own autopilot."""
    return xd.Scenario(
        gps="rtk",
        vehicles=[
            xd.VehicleSpec(kind, f"v{i}", (5.0 * i, 0.0, 0.0), autopilot=autopilot)
            for i, (kind, autopilot) in enumerate(zip(TYPES, autopilots, strict=True))
        ],
        **options,
    )


def flight(scenario, tmp_path):
    """Poses, readings and health after commands, a backend, a load and a reset."""
    with xd.Simulation(scenario, backends={"v2": Climb()}) as sim:
        sim.arm()
        sim.takeoff(2.0)
        sim.save(tmp_path / "scene.zip")
        sim.run(1.0)
        before = sim.state.pos.copy()
        sim.load(tmp_path / "scene.zip")
        sim.run(1.0)
        assert np.array_equal(sim.state.pos, before)
        sim.reset("v1")
        sim.run(0.5)
        assert sim.estimates.armed.tolist() == [True, False, True] and sim.crashes == []
        return (
            sim.state.pos.copy(),
            sim.state.actuator.copy(),
            sim.estimates.quat.copy(),
            sim.health(),
        )


@pytest.mark.long
def test_vehicles_of_two_stacks_and_a_python_class_fly_as_with_one(tmp_path):
    alone = flight(fleet("", "", ""), tmp_path)
    *together, health = flight(fleet("", SECOND, ""), tmp_path)
    for one, other in zip(alone[:-1], together, strict=True):
        assert np.array_equal(one, other)
    assert health == alone[-1] and health[0]["mode"] == "OFFBOARD"


def test_logs_and_links_are_those_of_the_vehicles_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    with xd.Simulation(fleet("", SECOND, ""), record=True, links=True) as sim:
        sim.run(2.0)
        folder = sim.folder
        links = [report["links"] for report in sim.health()]
        assert len(links) == 3 and all(links)
    assert sorted(path.parent.name for path in folder.glob("ulog/*/*.ulg")) == ["v0", "v1", "v2"]
    text = (folder / "scenario.yaml").read_text()
    assert text.count(f"autopilot: {SECOND}") == 1
    again = xd.Scenario.load(folder / "scenario.yaml")
    assert again.autopilots == ("embedded", SECOND, "embedded") and again.n == 3
    assert f"embedded, {SECOND}" in (folder / "summary.json").read_text()


def test_a_whole_fleet_of_one_autopilot_names_it_once():
    assert fleet("px4", "px4", "px4").autopilot == "px4"
    assert [spec.autopilot for spec in fleet("px4", "px4", "px4").vehicles] == ["", "", ""]
    mixed = xd.Scenario.from_dict(
        {
            "vehicles": [
                {"type": "iris"},
                {"type": "iris", "autopilot": "px4"},
                {"type": "iris", "autopilot": "embedded"},
            ]
        }
    )
    assert mixed.autopilots == ("embedded", "px4", "embedded")
    assert mixed.vehicles[2].autopilot == "" and mixed.flown_by == "embedded, px4"


@pytest.mark.parametrize(
    "autopilot, real",
    [("embedded", False), ("px4", True), ("px4_hitl", True), ("betaflight", False)],
)
def test_real_px4_is_known_wherever_it_flies(autopilot, real):
    assert fleet("", autopilot, "").has_real_px4 is real


@pytest.mark.parametrize(
    "autopilots, options, why",
    [
        (("", "px5", ""), {}, "unknown autopilot 'px5'"),
        (("", "ardupilot", ""), {"web": True}, "web true cannot be used with autopilot ardupilot"),
        (("px4", "ardupilot", "px4"), {"mixer": "m:Mixer"}, "mixer 'm:Mixer' cannot be flown by"),
        (("", "px4", ""), {"remote": "10.0.0.2"}, "cannot be used with autopilot px4"),
    ],
)
def test_what_does_not_go_together_is_refused(autopilots, options, why):
    with pytest.raises(xd.ScenarioError, match=why):
        fleet(*autopilots, **options)


def test_numbers_are_checked():
    def numbered(*numbers, **options):
        return xd.Scenario(
            vehicles=[
                xd.VehicleSpec("iris", f"v{i}", (3.0 * i, 0.0, 0.0), number=k)
                for i, k in enumerate(numbers)
            ],
            **options,
        )

    assert numbered(0, 4).ports.system_id(1) == 5
    assert xd.Scenario.from_dict(numbered(0, 4).to_dict()) == numbered(0, 4)
    with pytest.raises(xd.ScenarioError, match="'v0' and 'v1' both have number 3"):
        numbered(3, 3)
    with pytest.raises(xd.ScenarioError, match="number of 'v0' -2 is not allowed"):
        numbered(-2, 1)
    with pytest.raises(xd.ScenarioError, match="web true needs vehicles whose numbers are their"):
        numbered(1, 0, web=True)


def test_what_one_of_them_cannot_do_is_said():
    with pytest.raises(xd.ScenarioError, match="'second_stack:OwnClock' takes no pose"):
        xd.Simulation(fleet("", PROCESS, "", pose_source="truth"))
    with xd.Simulation(fleet("", PROCESS, "")) as sim:
        with pytest.raises(
            xd.XtdroneError,
            match="the first vehicle with autopilot 'second_stack:S"
            "econdStack' cannot come while others fly",
        ):
            sim.spawn("iris", (0.0, 9.0, 0.0), autopilot=SECOND)
        sim.run(0.1)
        assert sim.names == ("v0", "v1", "v2")


@pytest.mark.long
def test_stacks_with_a_process_start_and_stop_with_their_vehicles(monkeypatch):
    made = []
    monkeypatch.setattr(second_stack.OwnClock, "made", made)
    with xd.Simulation(xd.Scenario(vehicles="iris*2", gps="rtk"), links=True) as sim:
        sim.arm()
        sim.takeoff(2.0)
        third = sim.spawn("typhoon_h480", (9.0, 0.0, 0.0), autopilot=PROCESS)
        fourth = sim.spawn("iris", (18.0, 0.0, 0.0), autopilot=PROCESS)
        assert len(made) == 2 and sim.scenario.flown_by == f"embedded, {PROCESS}"
        sim.arm([third, fourth])
        sim.takeoff(2.0, [third, fourth])
        assert np.abs(sim.state.pos[:, 2] - 2.0).max() < 0.4 and sim.crashes == []
        sim.remove("iris_0")  # the others have other rows then, and fly on
        sim.run(1.0)
        sim.remove(third)
        assert [one.closed for one in made] == [True, False]
        sim.velocity((0.0, 0.0, 0.5))
        sim.run(1.0)
        assert sim.names == ("iris_1", fourth) and (sim.state.vel[:, 2] > 0.3).all()
        assert sim.estimates.armed.all() and sim.estimates.pos[1] == pytest.approx(
            sim.state.pos[1], abs=0.3
        )
        sim.remove("iris_1")
        sim.run(0.5)
        assert sim.names == (fourth,) and sim.scenario.autopilot == PROCESS
    assert [one.closed for one in made] == [True, True] and made[0].left == made[1].left == []


@pytest.mark.slow
def test_one_of_a_group_leaves(monkeypatch):
    made = []
    monkeypatch.setattr(second_stack.OwnClock, "made", made)
    said = Armed()
    with xd.Simulation(
        xd.Scenario(vehicles="iris*3", autopilot=PROCESS, gps="rtk"), observers=[said]
    ) as sim:
        sim.run(0.1)
        sim.remove("iris_1")
        sim.arm("iris_2")
        assert sim.names == ("iris_0", "iris_2") and sim.estimates.armed.tolist() == [False, True]
        assert sim.spawn("iris", (3.0, 0.0, 0.0)) == "iris_1"
        assert len(made) == 2 and made[0].left == [1] and not made[0].closed
        assert sim.estimates.armed.tolist() == [False, False, True]
        sim.arm("iris_1")
        assert sim.estimates.armed.tolist() == [False, True, True]
        assert sim.spawn("iris", (0.0, 9.0, 0.0)) == "iris_3"
        sim.remove("iris_0")  # which lets iris_3 be the last of three, as it was of four
        for name in ("iris_2", "iris_3"):
            said.vehicles.clear()
            sim.land(name, wait=False)
            sim.run_until(lambda name=name: not sim.estimates.armed[sim.names.index(name)], "down")
            sim.arm(name)
            assert said.vehicles == [sim.names.index(name)]


@pytest.mark.px4
@needs_px4
def test_real_px4_and_ardupilot_fly_beside_the_embedded_stack(tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    third = "ardupilot" if os.environ.get("ARDUPILOT_BUILD") else SECOND
    specs = [
        xd.VehicleSpec("iris", f"v{i}", (5.0 * i, 0.0, 0.0), autopilot=autopilot)
        for i, autopilot in enumerate(("", "px4", third, ""))
    ]
    with xd.Simulation(
        xd.Scenario(vehicles=specs, gps="rtk"), backends={"v3": Climb()}, record=True
    ) as sim:
        sim.arm(time_out=120.0)
        sim.takeoff(3.0, time_out=60.0)
        sim.goto((0.0, 4.0, 3.0), "v0")
        sim.goto((5.0, 4.0, 3.0), "v1")
        assert np.abs(sim.state.pos[:3, 2] - 3.0).max() < 0.6 and sim.state.pos[3, 2] > 2.0
        sim.land(["v0", "v1", "v2"], time_out=90.0)
        assert sim.crashes == [] and not sim.estimates.armed[:3].any()
        processes = [
            child
            for child in psutil.Process().children(recursive=True)
            if child.name() in ("px4", "arducopter")
        ]
        assert len(processes) == (1 if third == SECOND else 2)
    assert not any(process.is_running() for process in processes)


@pytest.mark.px4
@needs_px4
def test_real_px4s_start_and_stop_with_their_vehicles():
    def living():
        return [
            child.pid
            for child in psutil.Process().children(recursive=True)
            if child.name() == "px4"
        ]

    with xd.Simulation(xd.Scenario(vehicles="iris*2", gps="rtk")) as sim:
        sim.arm()
        sim.takeoff(2.0)
        assert sim.spawn("iris", (9.0, 0.0, 0.0), autopilot="px4") == "iris_2"
        sim.arm("iris_2", time_out=120.0)
        sim.takeoff(3.0, "iris_2", time_out=60.0)
        sim.remove("iris_0")
        sim.goto((9.0, 3.0, 3.0), "iris_2")
        first = living()
        assert len(first) == 1 and np.abs(sim.state.pos[:, 2] - (2.0, 3.0)).max() < 0.6
        sim.remove("iris_2")
        assert living() == [] and sim.names == ("iris_1",)
        assert sim.spawn("iris", (18.0, 0.0, 0.0)) == "iris_0"
        assert sim.spawn("iris", (9.0, 0.0, 0.0), autopilot="px4") == "iris_2"
        sim.arm("iris_2", time_out=120.0)
        assert len(living()) == 1 and living() != first and sim.crashes == []
    assert living() == []


@pytest.mark.px4
@needs_px4
def test_a_real_px4_leaves_a_fleet_of_them():
    with xd.Simulation(xd.Scenario(vehicles="iris*3", autopilot="px4", gps="rtk")) as sim:
        sim.arm(time_out=120.0)
        sim.takeoff(2.0)
        sim.remove("iris_1")
        sim.goto(((0.0, 3.0, 2.0), (6.0, 3.0, 2.0)))
        assert sim.spawn("iris", (3.0, -5.0, 0.0)) == "iris_1"
        sim.arm("iris_1", time_out=120.0)
        sim.takeoff(2.0, "iris_1")
        assert np.abs(sim.state.pos[:, 2] - 2.0).max() < 0.6 and sim.crashes == []


def test_a_landing_target_goes_to_the_autopilot_of_its_vehicle(monkeypatch):
    told = []
    monkeypatch.setattr(
        second_stack.SecondStack,
        "take_landing_target",
        lambda self, i, t_us, pos: told.append((i, t_us, *pos)),
    )
    with contextlib.closing(Simulation(fleet("", SECOND, PROCESS))) as sim:
        sim.autopilot.take_landing_target(1, 20_000, np.array([1.0, 2.0, 3.0]))
        assert told == [(0, 20_000, 1.0, 2.0, 3.0)]
        with pytest.raises(xd.XtdroneError, match="takes no landing target: let embedded or px4"):
            sim.autopilot.take_landing_target(2, 20_000, np.zeros(3))
