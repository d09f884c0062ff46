"""The policy in examples/policies through the embedded stack, MAVROS's topics and real PX4."""

import os
import re

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="learning is not installed: scripts/setup.sh --learn")

import xtdrone as xd
from ros_fixtures import ROOT, Processes, environment, free_port, needs_ros
from xtdrone_core.contracts import Observer
from xtdrone_gym.policy.agent import PolicyAgent

POLICY = ROOT / "examples/policies/position_iris.onnx"
RACER = ROOT / "examples/policies/track_iris.onnx"  # learned by the command of docs/racing.md
NEAR = 0.5  # of the goal, by the truth, at the end of an episode [m]


class Ends(Observer):
    """True distance of each vehicle to its goal at the end of each episode."""

    def __init__(self, agent):
        self.agent, self.distances, self._last = agent, [], None

    def on_step(self, t_us, state, sensors):
        goals = self.agent.episode_goals()
        if goals is not None:
            self._last = np.linalg.norm(state.pos - goals, axis=1)
        elif self._last is not None:
            self.distances.append(self._last)
            self._last = None


@pytest.mark.long
@pytest.mark.parametrize(
    ("autopilot", "n"),
    [
        ("embedded", 4),
        pytest.param(
            "px4",
            2,
            marks=[
                pytest.mark.px4,
                pytest.mark.skipif(
                    not os.environ.get("PX4_BUILD"), reason="needs real PX4: set PX4_BUILD"
                ),
            ],
        ),
    ],
)
def test_it_reaches_its_goals_in_wind(autopilot, n):
    agent = PolicyAgent(n, str(POLICY), episodes=3)
    ends = Ends(agent)
    scenario = xd.Scenario.from_dict(
        {
            "vehicles": "; ".join(f"iris@{10 * k},0,0" for k in range(n)),
            "gps": "rtk",
            "autopilot": autopilot,
            "wind": "2,2,0",
        }
    )
    with xd.Simulation(scenario, agent=agent, observers=[ends], links=autopilot == "px4") as flight:
        flight.run(180.0)
        assert flight.done and not flight.crashes
    assert len(ends.distances) == 3
    assert np.concatenate(ends.distances).max() < NEAR


@pytest.mark.slow
def test_a_policy_of_gates_begins_ahead_of_the_first_and_flies_all_laps_by_its_estimates():
    agent = PolicyAgent(1, str(RACER))
    scenario = xd.Scenario(vehicles="iris", track="eight", gps="rtk", seed=1, log="none")
    with xd.Simulation(scenario, agent=agent) as flight:
        flight.run_until(lambda: agent.episode_goals() is not None, "racing", 60.0)
        assert flight.state.pos[0] == pytest.approx((6.0, 0.0, 2.4), abs=0.6)
        flight.run(60.0)
        assert flight.done and not flight.crashes
    assert agent.goals_reached() == {"episodes": (1, 1)}


@needs_ros
@pytest.mark.slow
@pytest.mark.long
def test_it_flies_over_mavros_topics(tmp_path):
    port = free_port()
    done = Processes(environment(port, tmp_path)).run(
        "roslaunch",
        "-p",
        str(port),
        ROOT / "launch/policy.launch",
        f"policy:={POLICY}",
        "speed:=1",
        "episodes:=3",
        "gps:=rtk",
        "n:=2",
        timeout=300.0,
    )  # unpaced, it would be late
    assert done.returncode in (0, 4), done.stdout[-3000:] + done.stderr[-3000:]
    reached = re.search(r"reached (\d+) of 6 episodes", done.stdout)
    assert reached and int(reached[1]) >= 5, done.stdout[-3000:]
    assert "crashes           none" in done.stdout
