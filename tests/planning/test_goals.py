"""The Agent that takes goals one by one: on a vehicle that meets its set-points exactly."""

import base64
import json

import numpy as np
import pytest

from xtdrone_core import Estimates, Mode, XtdroneError
from xtdrone_core.contracts import GoalTaker
from xtdrone_planning.errors import PlanningError
from xtdrone_planning.goals import GoalAgent, GoalsAgent, from_above
from xtdrone_planning.maps.voxel_map import VoxelMap
from xtdrone_planning.planners.planner import Limits

LIMITS = Limits(2.0, 4.0, 0.45, 0.9, 1.0, 3.5)
STEP_US = 20_000


class Eyes:
    """A Sight to which everything was shown before."""

    newest_us = 0

    def take(self, t_us, estimates):
        self.newest_us = t_us
        return 0


def occupy(voxels, places):
    """Makes places (3, ...) [m] obstacles."""
    numbers = np.floor(places.reshape(3, -1).T / voxels.resolution).astype(int)
    voxels.cells[tuple((numbers % voxels.shape).T)] = 9


def vehicle(**options):
    """An Agent in a known empty room with a block of 2 m at (6, 0), and what it has said."""
    states, events = [], []
    agent = GoalAgent(
        LIMITS,
        map_size=30.0,
        on_event=lambda t_us, name, **values: events.append((name, values)),
        on_state=states.append,
        **options,
    )
    voxels = agent.pilot.voxels
    voxels.cells.fill(-4)
    occupy(voxels, np.mgrid[5.05:7.0:0.1, -0.95:1.0:0.1, 0.05:4.0:0.1])
    agent.see_by(Eyes())
    return agent, states, events


def fly(agent, seconds=60.0, at=lambda t_us: None):
    """Flies until it is done; at(t_us) may return the mode in which it is then."""
    pos, vel, mode, armed = np.zeros((1, 3)), np.zeros((1, 3)), Mode.OFFBOARD, True
    quat, still = np.array([[0.0, 0.0, 0.0, 1.0]]), np.zeros((1, 3))
    for t_us in range(STEP_US, round(seconds * 1e6), STEP_US):
        mode = at(t_us) or mode
        estimates = Estimates(
            t_us, pos.copy(), quat, vel.copy(), still, np.array([armed]), np.array([not armed]),
            np.array([mode]), np.array([True]),
        )  # fmt: skip
        out = agent.step(t_us, estimates)
        if np.isfinite(out.pos).all():
            pos, vel = out.pos.copy(), np.nan_to_num(out.vel)
        if out.mode[0] == Mode.LAND:
            mode, armed = Mode.LAND, False
        if agent.done:
            break
    return pos[0]


def test_goals_are_reached_given_up_and_answered():
    agent, states, events = vehicle(count=2, patience=1.0)
    agent.fly_to(np.array([8.0, 2.5, 2.0]), yaw=1.0)

    def ask(t_us):
        if agent.answered == 1 and agent.pilot.goal is None and "6,0,2" not in states[-1]:
            agent.fly_to(np.array([6.0, 0.0, 2.0]))  # in the block

    fly(agent, at=ask)
    assert agent.done and (agent.reached, agent.answered) == (1, 2)
    assert agent.goals_reached() == {"goals": (1, 2)}
    assert states[:4] == ["on the ground", "hovering", "flying to 8,2.5,2", "reached 8,2.5,2"]
    in_it = "the goal is in an obstacle, or too close to one"
    assert states[4:] == ["flying to 6,0,2", f"held: {in_it}", f"given up 6,0,2: {in_it}"]
    assert [values["reached"] for name, values in events if name == "goal"] == [True, False]
    assert ("held", {"reason": in_it}) in events


@pytest.mark.slow
def test_a_goal_in_a_sealed_room_is_given_up_and_the_vehicle_hovers():
    agent, states, _ = vehicle(patience=1.0)
    room = np.mgrid[2.0:6.0:0.1, 4.0:8.0:0.1, -4.0:8.0:0.1]
    sides = (abs(room[0] - 4.0) > 1.7) | (abs(room[1] - 6.0) > 1.7)
    occupy(agent.pilot.voxels, room[:, sides])
    agent.fly_to(np.array([4.0, 6.0, 2.0]))
    place = fly(agent, 15.0)
    assert states[-1].startswith("given up 4,6,2: no nearer to the goal") and not agent.done
    assert np.linalg.norm(agent.pilot.flown.vel[-1]) == 0.0
    assert abs(place[0] - 4.0) > 2.4 or abs(place[1] - 6.0) > 2.4


def test_it_hovers_without_a_goal_and_says_when_it_is_blind_or_taken_over():
    agent, states, _ = vehicle()
    agent.see_by(eyes := Eyes())
    take = eyes.take

    def at(t_us):
        eyes.take = take if not 10e6 < t_us < 12e6 else lambda t_us, estimates: 0
        return Mode.POSCTL if 14e6 < t_us < 15e6 else Mode.OFFBOARD

    assert fly(agent, 16.0, at) == pytest.approx([0.0, 0.0, 2.0])
    said = [state for state in states if not state.startswith("held: no image since")]
    assert said == ["on the ground", "hovering", "hovering", "not in OFFBOARD", "hovering"]
    assert len(states) > len(said)


@pytest.mark.parametrize(
    "goal, message",
    [([1.0, 2.0, 9.0], "goal 1,2,9 is not allowed: give a height of 1 to 3.5 m"),
     ([np.nan, 2.0, 2.0], "goal nan,2,2 is not allowed: give x, y, z in metres")],
)  # fmt: skip
def test_goals_that_are_no_places_are_refused(goal, message):
    agent, _, _ = vehicle()
    with pytest.raises(PlanningError, match=message):
        agent.fly_to(np.array(goal))


def test_goals_come_in_flight_and_it_tells_what_it_knows():
    agent, _, events = vehicle(count=1)
    assert isinstance(agent, GoalTaker) and agent.navigation()["state"] == "on the ground"
    seen = []

    def at(t_us):
        if t_us == 12_000_000:
            agent.take_goal([10.0, 0.5, 0.0])  # at the height of the take-off
        elif t_us == 14_000_000:
            seen.append(json.loads(json.dumps(agent.navigation())))

    fly(agent, at=at)
    assert agent.reached == 1 and ("goal", {"index": 0, "reached": True}) in events
    (known,) = seen
    assert known["goal"] == [10.0, 0.5, 2.0] and known["state"] == "flying to 10,0.5,2"
    assert len(known["path"]) >= 2 and len(known["trajectory"]) > 3
    assert agent.navigation()["goal"] is None


def test_a_map_is_seen_from_above():
    voxels = VoxelMap((8.0, 8.0, 6.0), 0.5)
    voxels.cells[:4, :, 2:6] = -4  # x from 0 to 2 m, z from 1 to 3 m: free
    voxels.cells[1, :, 2:6] = 0  # as likely occupied as not counts as free, as for a way
    voxels.cells[3, 5 % 16, 4] = 9
    known = from_above(voxels, 1.0, 3.0)
    cells = np.frombuffer(base64.b64decode(known["cells"]), np.uint8).reshape(known["shape"])
    x0, y0 = known["low"]
    place = lambda x, y: cells[int((x - x0) / 0.5), int((y - y0) / 0.5)]  # noqa: E731
    assert place(0.6, -2.0) == 1 and place(1.6, 2.6) == 2
    assert from_above(VoxelMap((8.0, 8.0, 6.0), 0.5), 1.0, 3.0)["shape"] == [0, 0]


def test_way_points_of_a_file_are_goals(tmp_path):
    file = tmp_path / "round.csv"
    file.write_text("x,y,z\n2,0,2\n2,3,2\n")
    agent = GoalsAgent(plan=str(file), map_size=30.0)
    agent.pilot.voxels.cells.fill(-4)
    agent.see_by(Eyes())
    fly(agent)
    assert agent.done and agent.goals_reached() == {"goals": (2, 2)}
    file.write_text("2,0,20\n")
    with pytest.raises(XtdroneError, match="way-point 1 of plan .* is 20 m high"):
        GoalsAgent(plan=str(file))
    with pytest.raises(XtdroneError, match="n = 3 is not allowed"):
        GoalsAgent(3)
