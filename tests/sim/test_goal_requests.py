"""Goals for an Agent over the control socket."""

from types import SimpleNamespace

import numpy as np
import pytest

from xtdrone_core import ControlError, XtdroneError
from xtdrone_sim.control.requests import ControlRequests


class Taker:
    """An Agent that takes goals."""

    goal = None

    def take_goal(self, goal):
        if goal[2] > 3.0:
            raise XtdroneError("goal is too high")
        self.goal = goal

    def navigation(self):
        return {"state": "hovering", "goal": self.goal}


def requests(agent):
    state = SimpleNamespace(pos=np.zeros((1, 3)))
    simulation = SimpleNamespace(rendered=(), agent=agent, t_us=4000, say=print, state=state)
    return ControlRequests(simulation, SimpleNamespace())


def test_an_agent_takes_a_goal_and_tells_what_it_does():
    asked = requests(Taker())
    assert asked.handle("goal", {"goal": [1, 2.5, 2]}) == {"t_us": 4000}
    answer = asked.handle("navigation", {})
    assert answer == {"t_us": 4000, "state": "hovering", "goal": [1.0, 2.5, 2.0]}


@pytest.mark.parametrize("goal", [None, "1,2,3", [1, 2], [1, 2, "3"], [1, 2, float("nan")]])
def test_what_is_no_goal_is_refused(goal):
    with pytest.raises(ControlError, match="give \\[x, y, z\\] in metres"):
        requests(Taker()).handle("goal", {"goal": goal})


def test_refusals_of_the_agent_are_the_answer():
    with pytest.raises(ControlError, match="too high"):
        requests(Taker()).handle("goal", {"goal": [1, 2, 30]})
    for op in ("goal", "navigation"):
        with pytest.raises(ControlError, match="takes no goals"):
            requests(SimpleNamespace()).handle(op, {"goal": [1, 2, 2]})


def test_the_start_grid_is_told():
    assert requests(None).handle("places", {}) == {"places": [[0.0, 0.0, 0.0]]}
