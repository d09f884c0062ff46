"""The parts of a simulation, and what it refuses at construction."""

import signal
import time

import numpy as np
import pytest

from xtdrone_control.agents import HoverAgent
from xtdrone_core import ControlError, FleetModel, Scenario, ScenarioError, SetPoints, command
from xtdrone_core.contracts import Agent, AutopilotContext, Observer
from xtdrone_core.runs.control_link import ControlClient, ControlServer
from xtdrone_core.runs.ports import Ports
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim import parts as building, warm_up
from xtdrone_sim.commands import running
from xtdrone_sim.plant.plant import Plant
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world


class Deaf:
    """An autopilot that takes no pose from outside and speaks to nobody."""

    def __init__(self, fleet_model):
        self._commands = np.zeros(fleet_model.rotor_mask.shape)

    @classmethod
    def for_scenario(cls, context):
        return cls(context.fleet)

    def step(self, t_us, sensors):
        return self._commands

    def estimates(self):
        raise NotImplementedError

    def apply(self, set_points):
        raise NotImplementedError

    def health(self):
        return []

    def interrupt(self):
        pass

    def close(self):
        pass


def test_true_poses_need_an_autopilot_that_takes_them():
    name = f"{__name__}:Deaf"
    Simulation(Scenario(fleet("iris", 1), autopilot=name)).close()
    with pytest.raises(ScenarioError, match="takes no pose from outside: leave out pose_source"):
        Simulation(Scenario(fleet("iris", 1), autopilot=name, pose_source="truth"))


def test_an_incomplete_agent_is_refused_at_construction():
    class Half:
        done = False

        def step(self, t_us, estimates):
            return SetPoints.empty(1)

    with pytest.raises(ScenarioError, match="Half is not an Agent: it needs period_us"):
        Simulation(Scenario(fleet("iris", 1)), agent=Half(), links=False)
    assert isinstance(HoverAgent(1), Agent)


class Count(Observer):
    """Counts what it hears."""

    def __init__(self, period_us=0):
        self.period_us = period_us
        self.starts, self.steps, self.closes = [], [], 0

    def on_start(self, t_us, state, sensors):
        self.starts.append(t_us)

    def on_step(self, t_us, state, sensors):
        assert state.t_us == sensors.t_us == t_us
        self.steps.append(t_us)

    def close(self):
        self.closes += 1


def test_observers_see_every_step_or_as_often_as_they_want():
    each, rare = Count(), Count(20_000)
    simulation = Simulation(
        Scenario(fleet("iris", 1), speed=0.0), links=False, observers=[each, rare]
    )
    simulation.run(until_us=100_000)
    simulation.close()
    assert each.starts == rare.starts == [0]
    assert each.steps == list(range(4_000, 100_001, 4_000))
    assert rare.steps == list(range(20_000, 100_001, 20_000))
    assert each.closes == rare.closes == 1


def test_an_agent_is_asked_as_often_as_it_wants():
    class Slow(HoverAgent):
        period_us = 40_000
        asked = []

        def step(self, t_us, estimates):
            self.asked.append(t_us)
            return super().step(t_us, estimates)

    simulation = Simulation(Scenario(fleet("iris", 1), speed=0.0), agent=Slow(1), links=False)
    simulation.run(until_us=200_000)
    simulation.close()
    assert Slow.asked == list(range(0, 200_000, 40_000))


def test_each_part_can_be_built_alone():
    scenario = Scenario(fleet("iris", 2), wind="3,0,0")
    world = load_world(scenario.world)
    models = tuple(load_vehicle(spec.type) for spec in scenario.vehicles)
    model = FleetModel.of(models)
    engine = building.build_engine(scenario, world, models)
    plant = Plant(scenario, model, world, engine)
    sensors = building.build_sensors(scenario, world, models, engine)
    batch = sensors.step(engine.state, 0)
    origin = world.latitude, world.longitude, world.altitude
    autopilot = building.build_autopilot(
        AutopilotContext(scenario, model, origin, world.magnetic_field, None, False, print, batch)
    )
    assert len(building.build_rendered(scenario, world, models, engine)) == 0
    wrench = plant.step(0, autopilot.step(0, batch), engine.state, 4_000)
    assert engine.step(wrench, plant.actuators.joint_targets, 4_000).t_us == 4_000
    assert plant.actuators.wind.tolist() == [[3.0, 0.0, 0.0]] * 2
    autopilot.close()
    engine.close()


def test_the_control_socket_answers_by_a_class_of_its_own():
    simulation = Simulation(
        Scenario(fleet("iris", 1), speed=0.0), links=False, control=ControlServer(Ports().control)
    )
    try:
        handle = simulation.requests.handle
        assert handle("status", {})["vehicles"] == ["iris_0"]
        assert handle("step", {"n": 3})["t_us"] == 12_000
        assert simulation.pacer.paused and not simulation.pacer.holds
        assert handle("health", {})["health"][0]["armed"] is False
        with pytest.raises(ControlError, match="choose one of disturb, disturbed, event, goal"):
            handle("fly", {})
    finally:
        simulation.close()


@pytest.fixture
def asked():
    """A simulation and what answers the requests of its control socket."""
    simulation = Simulation(
        Scenario(fleet("iris", 2), speed=0.0), links=False, control=ControlServer(Ports().control)
    )
    said = []
    simulation.console.say = lambda t_us, vehicle, severity, text: said.append(text)
    yield simulation, simulation.requests.handle, said
    simulation.close()


@pytest.mark.parametrize("speed", [1e-300, 1e-4, -1, 1e7, "1", None, [1], 10**400])
def test_a_speed_that_makes_no_sense_is_refused(asked, speed):
    simulation, handle, _ = asked
    with pytest.raises(ControlError, match="speed .* is not allowed: .* give 0, or 0.001 to 1e6"):
        handle("speed", {"speed": speed})
    assert simulation.pacer.speed == 0.0


def test_a_request_that_fails_costs_a_line_and_not_the_fleet(asked, monkeypatch):
    simulation, handle, said = asked
    monkeypatch.setitem(simulation.requests.handlers, "health", lambda request: 1 / 0)
    with pytest.raises(ControlError, match="request 'health' failed.*ZeroDivisionError"):
        handle("health", {})
    assert len(said) == 1 and "request 'health' failed" in said[0]
    assert handle("status", {})["n"] == 2


def test_a_slow_simulation_answers_while_it_waits(asked):
    """The wall time of one tick at this speed is 200 s."""
    simulation, _, _ = asked
    simulation.pacer.set_speed(0.0001, 0)
    client = ControlClient()
    client.ask("stop")
    begin = time.monotonic()
    simulation.run()
    assert simulation.t_us == 20_000 and time.monotonic() - begin < 100.0
    assert client.ready(1.0) and client.answer()["ok"]


def test_the_control_socket_is_open_while_kernels_are_compiled(monkeypatch):
    """So that a client can tell a simulation that starts from one that is not there."""
    clients = []

    def compiling(scenario):
        clients.append(ControlClient(timeout=0.1))
        with pytest.raises(ControlError, match="it may be starting"):
            clients[0].request("status")

    monkeypatch.setattr(warm_up, "ensure_warm", compiling)
    assert command.main(["sim", "--no_run_folder", "--speed", "0", "--duration", "0.2"]) == 0
    assert clients[0].ready(0.0) and clients[0].answer()["vehicles"] == ["iris_0"]


def test_a_signal_after_the_flight_leaves_its_conclusion_alone(runs, monkeypatch):
    """As of roslaunch, which the bridge ends when the simulation does."""
    monkeypatch.setattr(running, "plot_flight", lambda folder: signal.raise_signal(signal.SIGINT))
    assert command.main(["sim", "--speed", "0", "--duration", "0.2"]) == 0


def test_reset_save_and_load_by_the_control_socket(tmp_path, monkeypatch):
    done = []
    for name in ("reset", "save", "load"):
        monkeypatch.setattr(
            Simulation, name, lambda self, value, name=name: done.append((name, value))
        )
    for sub in ("console", "ulog"):
        (tmp_path / sub).mkdir()
    simulation = Simulation(
        Scenario(fleet("iris", 2), speed=0.0),
        tmp_path,
        links=False,
        control=ControlServer(Ports().control),
    )
    try:
        handle = simulation.requests.handle
        handle("reset", {"vehicles": ["iris_1"]})
        handle("reset", {})
        handle("save", {"name": "before"})
        handle("load", {})
        assert done == [
            ("reset", ["iris_1"]),
            ("reset", None),
            ("save", tmp_path / "before.snapshot"),
            ("load", tmp_path / "snapshot.snapshot"),
        ]
        for wrong in ("iris_1", [["iris_1"]], [None], {"iris_1": 1}):
            with pytest.raises(ControlError, match="a reset names vehicles"):
                handle("reset", {"vehicles": wrong})
        with pytest.raises(ControlError, match="no name for a snapshot"):
            handle("save", {"name": "../elsewhere"})
    finally:
        simulation.close()
