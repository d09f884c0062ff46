"""What a planner may do wrong, and that its silence ends no flight."""

import gc
import sys
import threading
import weakref
from dataclasses import replace

import numpy as np
import pytest

from xtdrone_planning.maps.distance_field import DistanceField
from xtdrone_planning.maps.voxel_map import VoxelMap
from xtdrone_planning.planners.asking import Asker
from xtdrone_planning.planners.planner import Limits, Plan, Situation, Trajectory

HERE = np.array([1.0, 2.0, 3.0])
SITUATION = Situation(
    500,
    HERE,
    np.zeros(3),
    np.zeros(3),
    HERE + 1.0,
    VoxelMap((4, 4, 4), 0.5),
    DistanceField((4, 4, 4), 0.5),
    Limits(3.0, 4.0, 0.4, 0.8, 1.0, 3.0),
)


class Doing:
    def __init__(self, do):
        self.plan = do


def still(begun_us=500, pos=HERE, count=3):
    return Trajectory(begun_us, np.tile(pos, (count, 1)), np.zeros((3, 3)), np.zeros((3, 3)))


def jerky(situation):
    pos = HERE + np.zeros((3, 3))
    return Plan(Trajectory(500, pos, np.zeros((3, 3)), np.full((3, 3), 9.0)))


def fail(situation):
    raise RuntimeError("killed\nby a test")


ended = threading.Event()  # the end of a test, and of what hangs in it


def sleep(situation):
    ended.wait()


def work(situation):
    while not ended.is_set():
        pass


@pytest.fixture(autouse=True)
def _end():
    ended.clear()
    yield
    ended.set()


@pytest.mark.parametrize(
    "do, reason",
    [
        (fail, "the planner failed: RuntimeError killed"),
        (lambda situation: sys.exit(3), "the planner failed: SystemExit 3"),
        (lambda: None, "the planner failed: TypeError"),
        (sleep, "the planner hangs: no answer in 0.1 s"),
        (work, "the planner hangs: no answer in 0.1 s"),
        (lambda situation: None, "returned NoneType, no Plan"),
        (lambda situation: Plan(None), "no trajectory and no reason"),
        (lambda situation: Plan([[1.0, 2.0, 3.0]]), "trajectory is list, no Trajectory"),
        (lambda situation: Plan(still(count=2)), "of the shape"),
        (lambda situation: Plan(still(count=0)), "of the shape"),
        (lambda situation: Plan(still(pos=HERE * np.nan)), "not finite"),
        (lambda situation: Plan(still(pos=HERE + 3.0)), "begins 5.2 m from where the vehicle is"),
        (lambda situation: Plan(still(begun_us=0)), "does not begin now"),
        (jerky, "accelerates by 15.6 m/s^2, where 4 is allowed"),
    ],
)
def test_a_fault_of_a_planner_is_no_plan_and_says_why(do, reason):
    asker = Asker(Doing(do), 0.1)
    for _ in range(2):  # one that hangs is not waited for again
        plan, _ = asker.plan(SITUATION)
        assert plan.trajectory is None
        assert reason in plan.reason and "\n" not in plan.reason


def test_a_plan_comes_back_as_it_was_given_with_the_time_it_took():
    given = Plan(still())

    def plan(situation):
        sum(range(200_000))
        return given

    answer = Asker(Doing(plan), 60.0).plan(SITUATION)
    assert answer.plan is given
    assert answer.processor_ms > 0.1


def test_the_thread_and_what_it_was_given_go_with_the_asker():
    before = set(threading.enumerate())
    voxels = VoxelMap((4, 4, 4), 0.5)
    asker = Asker(Doing(lambda situation: Plan(still())), 60.0)
    assert asker.plan(replace(SITUATION, voxels=voxels)).plan.trajectory is not None
    (thread,) = set(threading.enumerate()) - before
    left = weakref.ref(voxels)
    del asker, voxels
    gc.collect()
    thread.join(timeout=60.0)
    assert not thread.is_alive() and left() is None
