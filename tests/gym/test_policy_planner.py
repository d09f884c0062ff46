"""The policy of DepthNavigation-v0 as a planner: what it sees of a map, and what it answers."""

import numpy as np
import pytest

from xtdrone_gym.errors import LearningError
from xtdrone_gym.policy.planner import PolicyPlanner, View, within
from xtdrone_gym.tasks import TASKS
from xtdrone_planning.maps.distance_field import DistanceField
from xtdrone_planning.maps.voxel_map import VoxelMap
from xtdrone_planning.planners import guard
from xtdrone_planning.planners.planner import PLANNERS, Limits, Situation

pytest.importorskip("onnxruntime", reason="a policy needs an extra: pip install 'xtdrone[policy]'")

LIMITS = Limits(3.0, 4.0, 0.45, 0.9, 1.0, 3.5)
HERE = np.array([0.0, 0.0, 2.0])


def situation(trunks=(), goal=(20.0, 0.0, 2.0), vel=(0.0, 0.0, 0.0)):
    """A map of which nothing is known but some trunks, at x and y."""
    voxels = VoxelMap((30, 30, 8), 0.2, HERE)
    heights = np.arange(0.0, 4.0, 0.4)
    for x, y in trunks:
        corners = np.stack([0 * heights + x - 0.2, 0 * heights + y - 0.2, heights], axis=-1)
        voxels.insert_boxes(corners, np.full(10, 0.4), np.ones(10, dtype=bool))
    field = DistanceField((24, 24, 6), 0.2, 1.2)
    field.update(voxels, HERE)
    return Situation(0, HERE, np.array(vel), np.zeros(3), np.array(goal), voxels, field, LIMITS)


def test_it_is_a_planner_by_its_name():
    assert PLANNERS.load("policy") is PolicyPlanner


@pytest.mark.parametrize("turn", [0.0, 2.0])
def test_its_view_has_the_nearest_distance_where_something_stands(turn):
    ahead = np.array([np.cos(turn), np.sin(turn), 0.0])
    left = np.array([-ahead[1], ahead[0], 0.0])
    place = HERE + 5.0 * ahead + 3.0 * left
    view = View(TASKS["DepthNavigation-v0"].camera)
    seen = view.of(situation([place[:2]]), ahead)
    assert seen.shape == (3, 16)
    column = int(seen[1].argmin())
    assert 2 <= column <= 5  # left of the middle
    assert 0.4 < seen[1, column] < 0.55  # of 10 m
    assert (np.delete(seen[1], range(column - 2, column + 3)) == 1.0).all()
    assert (view.of(situation(), ahead) == 1.0).all()


@pytest.mark.parametrize("goal", [(20.0, 0.0, 2.0), (0.0, -20.0, 2.0), (-40.0, 40.0, 2.0)])
def test_it_flies_towards_a_goal_wherever_that_is(goal):
    of = situation(goal=goal)
    plan = PolicyPlanner().plan(of)
    assert plan.trajectory is not None
    assert (plan.trajectory.pos[0] == HERE).all() and not plan.trajectory.vel[0].any()
    way = (np.array(goal) - HERE) / np.linalg.norm(np.array(goal) - HERE)
    assert (plan.trajectory.pos[-1] - HERE) @ way > 0.8
    assert not guard.exceeds(plan.trajectory, LIMITS, 1.01)


def test_what_could_not_be_stopped_in_time_is_turned_aside():
    trunks = [(1.1, y) for y in np.arange(-0.6, 0.61, 0.2)]
    of = situation(trunks)
    of.voxels.set_free(HERE, 0.9)
    for y in (-2.0, 2.0):  # beside the trunks all is known
        for x in np.arange(0.0, 4.0, 0.5):
            of.voxels.set_free(np.array([x, y, 2.0]), 1.2)
    of.field.update(of.voxels, HERE)
    stop = guard.stopping(PolicyPlanner().plan(of).trajectory, 0.3, 2.8)
    assert guard.check(of.field, stop, LIMITS.radius) == guard.CLEAR


def test_it_stops_at_the_goal():
    of = situation(goal=(0.3, 0.0, 2.0))
    end = PolicyPlanner().plan(of).trajectory
    assert 0.05 < np.linalg.norm(end.vel, axis=1).max() < 0.4


def test_a_velocity_is_kept_within_speed_and_heights():
    fast = within(np.array([9.0, 0.0, 3.0]), situation())
    assert np.linalg.norm(fast) <= 3.0 + 1e-9
    down = within(np.array([0.0, 0.0, -3.0]), situation())
    assert down[2] == pytest.approx(-1.0 / 1.5)


def test_another_policy_is_refused(monkeypatch):
    from pathlib import Path

    class Other(PolicyPlanner):
        path = Path(__file__).parents[2] / "examples/policies/position_iris.onnx"

    with pytest.raises(LearningError, match=r"Position-v0.*give one of DepthNavigation-v0"):
        Other()
