"""What the referees of single challenges count."""

import numpy as np
import pytest

from xtdrone_challenge.challenges.formation_through_forest import FormationThroughForest
from xtdrone_challenge.challenges.inspection import Inspection
from xtdrone_core import FleetState

STEP_US = 20_000


def shown(referee, steps):
    """Shows a referee states, one every 20 ms: positions, or positions and velocities, (N, 3)."""
    for k, step in enumerate(steps, 1):
        pos, vel = step if isinstance(step, tuple) else (step, np.zeros_like(step))
        state = FleetState.zeros(len(pos), 1)
        state.pos[:], state.vel[:] = pos, vel
        referee.on_step(k * STEP_US, state, None)
    return referee.figures()


@pytest.fixture
def house():
    return Inspection().told(3)["houses"][0]


def beside(house, east, north=0.0, up=1.5):
    """Two vehicles: one beside a house, one far above everything."""
    return np.array([[*house, 0.0], [0.0, 0.0, 100.0]]) + [[east, north, up], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("offset", "speed", "seen"),
    [
        ((6.0,), 0.0, 1),
        ((6.0,), 3.9, 1),
        ((6.0,), 4.1, 0),  # too fast
        ((11.0,), 0.0, 0),  # too far away
        ((4.0, 5.0), 0.0, 1),  # along the wall, but in front of the other one
        ((3.0, 0.0, 5.0), 0.0, 0),  # too steep above it
        ((6.0, 6.0), 0.0, 2),  # off a corner
    ],
)
def test_walls_are_seen_from_near_and_before_them(house, offset, speed, seen):
    referee = Inspection().referee(3)
    pos = beside(house, *offset)
    figures = shown(referee, [(pos, np.array([[speed, 0.0, 0.0], [0.0, 0.0, 0.0]]))])
    assert figures["seen"] == seen
    assert not referee.over


def test_the_score_of_an_inspection_is_its_share_in_time(house):
    referee = Inspection().referee(3)
    shown(referee, [beside(house, *side) for side in ((6.0,), (-6.0,), (0.0, 6.0), (0.0, -6.0))])
    assert referee.points(0) == pytest.approx(100.0 * 4 / 24)
    assert referee.points(1) == 0.0


def test_houses_stand_apart_and_are_others_for_each_seed():
    houses = [Inspection().told(seed)["houses"] for seed in (1, 2)]
    assert not np.allclose(*houses)
    for places in houses:
        apart = np.linalg.norm(places[:, None] - places, axis=2)[np.triu_indices(6, 1)]
        assert apart.min() > 16.0


def formation_flight(off, last):
    """A V to the goal in 4 s; one vehicle is off its slot (m) for half of the way, and last."""
    slots = FormationThroughForest().told(1)["slots"]
    steps = []
    for k, x in enumerate(np.linspace(0.0, 56.0, 200)):
        pos = np.array([x, 0.0, 2.0]) + slots
        pos[1, 0] -= off if k % 2 else 0.0
        steps.append(pos)
    steps[-1][2, 0] -= last
    return steps


@pytest.mark.parametrize(("off", "kept"), [(0.0, 1.0), (1.0, 1.0), (1.5, 0.5)])
def test_the_shape_of_a_formation_is_half_of_its_score(off, kept):
    referee = FormationThroughForest().referee(1)
    figures = shown(referee, formation_flight(off, 0.0))
    assert figures["shape_kept"] == pytest.approx(kept, abs=0.01)
    assert referee.over
    assert referee.points(0) == pytest.approx(50.0 + 50.0 * kept, abs=0.5)
    assert referee.points(1) == 0.0


def test_a_formation_that_does_not_arrive_has_no_points():
    referee = FormationThroughForest().referee(1)
    assert shown(referee, formation_flight(0.0, 60.0)[-1:]) == {}
    assert not referee.over and referee.points(0) == 0.0
