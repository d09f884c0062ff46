"""The Agent that picks up a parcel: its arm, what it refuses, and a flight."""

import json

import numpy as np
import pytest

from xtdrone_core import Scenario, XtdroneError
from xtdrone_core.command import main
from xtdrone_perception.picking.agent import PickAgent
from xtdrone_perception.picking.arm import Arm
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.sdf import load_vehicle

VEHICLE = "quadrotor_gripper"
MODELS = "parcel@3.2,0.3,0,0.7; goal_marker@2.8,3.2"


def test_the_gripper_is_where_the_arm_reaches():
    """By the lengths of its drawing: shoulder, upper arm, elbow, forearm."""
    vehicle = load_vehicle(VEHICLE)
    arm = Arm(vehicle)
    for s, e in ((0.0, 0.0), (0.97, -2.54), (1.5, -1.0)):
        upper, lower = np.array([np.cos(s), -np.sin(s)]), np.array([np.cos(s + e), -np.sin(s + e)])
        below = -0.03 * np.array([np.sin(s), np.cos(s)])
        base = np.array([-0.088, 0.22 - 0.07]) - [vehicle.cog[0], vehicle.cog[2]]
        x, z = base + 0.2 * upper + below - 0.21 * lower
        assert arm.gripper(np.array([s, e])) == pytest.approx([x, 0.0, z], abs=1e-3)


def test_commands_turn_the_joints_to_their_angles():
    vehicle = load_vehicle(VEHICLE)
    arm = Arm(vehicle)
    assert [vehicle.actuators[k].name for k in arm.columns] == ["shoulder", "elbow"]
    assert arm.commands(np.array([1.6, -3.1])) == pytest.approx([1.0, -1.0])


@pytest.mark.parametrize(
    ("scenario", "options", "line"),
    [
        ({"vehicles": "iris_downward"}, {}, "iris_downward has no gripper: take a vehicle such as"),
        ({"vehicles": f"{VEHICLE}*2"}, {"n": 2}, "pick flies one vehicle, not 2"),
        ({}, {"arm": "0.9"}, "arm '0.9' is not allowed: give an angle for each joint"),
        ({}, {"arm": "0.9,1.5"}, "arm '0.9,1.5' is not allowed: give an angle for each joint"),
        ({}, {"arm": "nan,0"}, "arm 'nan,0' is not allowed: give an angle for each joint"),
    ],
)
def test_flights_that_cannot_be_are_refused(scenario, options, line):
    scenario = Scenario(**{"vehicles": VEHICLE, "models": MODELS, **scenario})
    with pytest.raises(XtdroneError, match=line):
        Simulation(scenario, links=False, agent=PickAgent(**options))


def test_an_arm_of_words_is_refused():
    with pytest.raises(XtdroneError, match="arm 'down' is not allowed: give angles in rad"):
        PickAgent(arm="down")


@pytest.mark.long
def test_a_parcel_is_picked_up_and_put_down(runs):
    words = ["--vehicle", VEHICLE, "--models", MODELS, "--name", "pick"]
    assert main(["fly", "pick", *words]) == 0
    (folder,) = runs.glob("pick*")
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["placed_off_goal_m"] < 0.05
    assert summary["height_off_while_arm_moves_m"] < 0.15
    assert summary["crashes"] == []
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    names = [event["event"] for event in events]
    assert names.index("gripped") < names.index("let_go")
    assert (folder / "plots" / "pick.png").stat().st_size > 10_000
