"""One of each is added, as CONTRIBUTING.md says, by one declaration; the rest follows.

A sensor is added in test_adding_a_sensor.py.
"""

import argparse
import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bridge_host
from stack_flights import Flight, Link
from xtdrone_autopilot.mavlink.messages import Messages
from xtdrone_autopilot.safety import failsafes
from xtdrone_autopilot.safety.conditions import CONDITIONS, Action, Condition
from xtdrone_autopilot.state.handlers import receives
from xtdrone_core import Mode, Scenario
from xtdrone_core.command import main
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.scenario import scenario_options
from xtdrone_core.scenario.options import option
from xtdrone_core.scenario.vehicles import fleet, parse_vehicles
from xtdrone_mavros import bridge, topics
from xtdrone_mavros.rows import Topic
from xtdrone_mavros.topics.builders import copied
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.simulation import Simulation

ROOT = Path(__file__).resolve().parents[2]


def test_a_vehicle_is_a_folder(tmp_path, monkeypatch, capsys):
    (tmp_path / "worlds").symlink_to(ROOT / "worlds")
    for name in ("iris", "my_iris"):
        (tmp_path / "models" / name).mkdir(parents=True)
    text = (ROOT / "models" / "iris" / "model.sdf").read_text()
    (tmp_path / "models" / "iris" / "model.sdf").write_text(text)
    heavier = re.sub(r"<mass>1\.5\d*</mass>", "<mass>1.7</mass>", text, count=1)
    assert heavier != text
    (tmp_path / "models" / "my_iris" / "model.sdf").write_text(heavier)
    monkeypatch.setenv("XTDRONE_ROOT", str(tmp_path))
    assert main(["list", "vehicles"]) == 0
    assert "my_iris" in capsys.readouterr().out
    simulation = Simulation(Scenario(fleet("my_iris", 1)), links=False)
    mass = simulation.fleet.vehicle["mass"][0]
    simulation.close()
    assert mass > 1.7


JET = """<channel name="jet"><input_index>4</input_index><input_offset>0</input_offset>
<input_scaling>6</input_scaling><zero_position_disarmed>0</zero_position_disarmed>
<zero_position_armed>0</zero_position_armed>
<xtdrone:actuator xmlns:xtdrone="urn:xtdrone" kind="jet:Jet"><link>base_link</link>
<pos>0 0 0</pos><axis>0 0 1</axis></xtdrone:actuator></channel></control_channels>"""


def test_a_kind_of_actuator_is_a_class_and_an_element_of_the_vehicle(tmp_path):
    text = (ROOT / "models" / "iris" / "model.sdf").read_text()
    path = tmp_path / "jet_iris.sdf"
    path.write_text(text.replace("</control_channels>", JET))
    simulation = Simulation(Scenario(parse_vehicles(f"{path}@0,0,5; iris@3,0,5")), links=False)
    plant, state = simulation.plant.actuators, simulation.state
    vehicle = simulation.fleet.vehicles[0]
    commands = np.zeros(simulation.fleet.actuator.shape)
    commands[:, 4] = 0.5
    wrench = plant.step(commands, state, 4_000)
    simulation.close()
    assert [actuator.kind for actuator in vehicle.actuators] == ["rotor"] * 4 + ["jet"]
    assert wrench[:, 0, 2].tolist() == [3.0, 0.0]
    assert plant.power[0] == 150.0
    # At the place that the file says, and so with a torque about the centre of gravity.
    assert np.allclose(wrench[0, 0, 3:], np.cross(vehicle.actuators[4].pos, (0.0, 0.0, 3.0)))


class Slow(EmbeddedEngine):
    """An engine of one's own: counts its steps."""

    steps = 0

    def step(self, *args, **kwargs):
        Slow.steps += 1
        return super().step(*args, **kwargs)


def test_an_engine_is_a_class():
    simulation = Simulation(Scenario(fleet("iris", 1), engine="test_adding:Slow"), links=False)
    simulation.run(until_us=100_000)
    simulation.close()
    assert Slow.steps == 25


def test_an_option_is_a_field(monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class More(Scenario):
        moonlight: float = option(
            0.25, "brightness of the night", unit="lux", minimum=0.0, maximum=1.0
        )

    monkeypatch.setattr(scenario_options, "Scenario", More)
    parser = argparse.ArgumentParser()
    scenario_options.add(parser)
    assert "brightness of the night, 0 to 1 [lux] (0.25)" in " ".join(parser.format_help().split())
    made = scenario_options.scenario_of(parser.parse_args(["--moonlight", "0.5"]))
    assert made.moonlight == 0.5


class Crowd(Condition):
    """Someone stands below the vehicle, once it is higher than 4 m."""

    name, text, advice = "crowd", "somebody stands below", "wait until they are gone"
    waits = False

    def check(self, flying, q):
        return flying & (self.watched.estimator.pos[:, 2] > 4.0)

    def why(self, i):
        return self.text

    def action(self, i):
        return Action.LAND


def test_a_failsafe_is_a_class(monkeypatch):
    monkeypatch.setattr(failsafes, "CONDITIONS", (*CONDITIONS, Crowd))
    f = Flight()
    try:
        f.autopilot.parameters.set(0, "MIS_TAKEOFF_ALT", 5.0)
        f.wait(lambda: f.autopilot.status["ready"][0], 5)
        f.autopilot.commander.take_off(0, np.nan, f.simulation.t_us)
        assert f.autopilot.commander.arm(0, f.simulation.t_us).accepted
        f.wait(lambda: f.mode == Mode.LAND, 20)
        assert any("somebody stands below" in text for text in f.said)
    finally:
        f.simulation.close()


class Echo:
    """A part that receives a message that nobody else does."""

    def __init__(self):
        self.heard = []

    @receives("DEBUG")
    def debug(self, link, message):
        self.heard.append(message.value)


def test_a_mavlink_message_is_a_marked_method():
    part = Echo()
    Messages(None, part).handle(Link, mavlink.MAVLink_debug_message(0, 1, 2.5))
    assert part.heard == [2.5]


def test_a_ros_topic_is_a_row(monkeypatch):
    row = Topic(
        "custom_mode", "mavros_msgs/WaypointReached", "HEARTBEAT", copied("HEARTBEAT", "H", "type")
    )
    monkeypatch.setattr(bridge, "TOPICS", (*topics.TOPICS, row))
    link, host = bridge_host.Link(1), bridge_host.Host()
    made = bridge.Bridge(["iris_0"], link, host)
    link.feed(0, mavlink.MAVLink_heartbeat_message(2, 12, 81, 0, 3, 3))
    made.poll()
    assert host.outputs["iris_0", "custom_mode"].sent[-1].endswith(b"\2\0")


@pytest.mark.long
def test_a_flight_mode_is_a_row_and_a_module():
    """One by targets, and one by control laws, flown by each type of vehicle."""
    script = ROOT / "tests" / "support" / "added_mode_flights.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    flown = json.loads(done.stdout.splitlines()[-1])
    assert flown["modes"] == ["SPIRAL"] * 4
    assert flown["east"] == pytest.approx([15.0, 15.0], abs=5.0)
    assert flown["climb"] == pytest.approx(1.0, abs=0.1)
    assert flown["roll"] == pytest.approx([0.3, 0.3], abs=0.1)
    assert flown["turn"] < -0.1
