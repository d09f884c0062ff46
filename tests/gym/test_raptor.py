"""RAPTOR's rotors on any multirotor, what it is told, and its refusals; flights where it is."""

import sys

import numpy as np
import pytest

import xtdrone as xd
from xtdrone_core import FleetModel
from xtdrone_dynamics.abilities.effectiveness import effectiveness, largest_thrust
from xtdrone_gym.errors import LearningError
from xtdrone_gym.policy.agent import PolicyAgent
from xtdrone_gym.policy.raptor import FourRotors, Raptor
from xtdrone_sim.vehicles.sdf import load_vehicle

FRONT_RIGHT, BACK_RIGHT, BACK_LEFT, FRONT_LEFT = range(4)


def wrench(name, action):
    """Vertical force and torques that a vehicle's rotors give at an action."""
    vehicle = load_vehicle(name)
    fleet = FleetModel.of([vehicle])
    commands = FourRotors(vehicle).commands(np.array(action, float))
    actuator, rotors = fleet.actuator[0], fleet.rotor_mask[0]
    speed = actuator["zero_position_armed"] + actuator["input_scaling"] * commands
    thrust = np.where(rotors, actuator["motor_constant"] * speed**2, 0.0)
    return effectiveness(fleet)[0, 2:, rotors].T @ thrust[rotors], largest_thrust(fleet)[0].sum()


@pytest.mark.parametrize("name", ["iris", "crazyflie", "typhoon_h480", "octorotor", "racer"])
def test_its_rotors_push_where_they_are(name):
    (lift, roll, pitch, yaw), largest = wrench(name, [0.0] * 4)
    assert lift == pytest.approx(0.25 * largest, rel=0.05)  # half of the speed of each rotor
    assert np.abs([roll, pitch, yaw]).max() < 0.01 * largest
    for rotor, signs in (
        (FRONT_RIGHT, (-1, -1, -1)),
        (BACK_RIGHT, (-1, 1, 1)),
        (BACK_LEFT, (1, 1, -1)),
        (FRONT_LEFT, (1, -1, 1)),
    ):
        action = np.zeros(4)
        action[rotor] = 0.2
        found = wrench(name, action)[0]
        assert (np.sign(found[1:]) == signs).all(), rotor
        assert found[0] > lift


def test_its_rotors_are_those_of_a_quadrotor():
    four = FourRotors(load_vehicle("iris"))
    action = np.array([0.1, -0.3, 0.2, 0.0])
    commands = four.commands(action)
    # Its front arms are longer than those behind, so that rotors differ a little from a square's.
    assert np.sort(commands) == pytest.approx(np.sort(0.5 * (action + 1.0)), abs=0.1)


def test_what_it_does_not_fly_is_refused():
    with pytest.raises(LearningError, match="raptor does not fly plane"):
        FourRotors(load_vehicle("plane"))
    scenario = xd.Scenario(vehicles="iris", autopilot="px4")
    agent = PolicyAgent(policy="raptor")
    flight = type("F", (), {"scenario": scenario, "fleet": FleetModel.of([load_vehicle("iris")])})
    with pytest.raises(LearningError, match="raptor commands rotors, which autopilot px4"):
        agent.attach(flight)


def test_a_missing_package_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "foundation_policy", None)
    with pytest.raises(LearningError, match=r"pip install .*\[raptor\]'"):
        Raptor((load_vehicle("iris"),))


class _Told:
    """A network that keeps what it is told."""

    def reset(self):
        self.seen = []

    def evaluate_step(self, seen):
        self.seen.append(seen)
        return np.full((len(seen), 4), 0.25)


def test_it_is_told_the_error_from_its_heading(monkeypatch):
    told = _Told()
    package = type(sys)("foundation_policy")
    package.Raptor = lambda: told
    monkeypatch.setitem(sys.modules, "foundation_policy", package)
    pilot = Raptor((load_vehicle("iris"),))
    half = np.pi / 4  # it looks north
    quat = np.array([[0.0, 0.0, np.sin(half), np.cos(half)]])
    zero = np.zeros((1, 3))
    for _ in range(2):
        pilot.act(zero + [0, 0.5, 0], quat, zero + [0, 2, 0], zero, zero, np.array([np.pi / 2]))
    row = told.seen[0][0]
    assert row[:3] == pytest.approx([0.5, 0, 0]) and row[12:15] == pytest.approx([2, 0, 0])
    assert row[3:12] == pytest.approx(np.eye(3).ravel())
    assert (told.seen[0][0][18:] == 0).all() and (told.seen[1][0][18:] == 0.25).all()
    pilot.act(zero + [0, 50, 0], quat, zero, zero, zero, np.array([np.pi / 2]))
    assert np.linalg.norm(told.seen[2][0][:3]) == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("vehicle", ["iris", "typhoon_h480"])
def test_it_flies_episodes(vehicle):
    pytest.importorskip("foundation_policy", reason="pip install 'xtdrone[raptor]'")
    agent = PolicyAgent(policy="raptor", episodes=1, height=5.0)
    with xd.Simulation(xd.Scenario(vehicles=vehicle, gps="rtk"), agent=agent) as simulation:
        simulation.run()
        assert not simulation.crashes
    assert agent.goals_reached() == {"episodes": (1, 1)}
