"""A formation between obstacles: slots, places beside them, when the shape counts as kept."""

from types import SimpleNamespace

import numpy as np
import pytest

from xtdrone_core.errors import XtdroneError
from xtdrone_planning.maps.distance_field import DistanceField
from xtdrone_planning.several.formation import SwarmFormationAgent
from xtdrone_planning.several.pilot import stand


def hovering(pos):
    return SimpleNamespace(pos=np.array(pos, dtype=float))


def formation(n=3, **options):
    """A formation at the take-off height, in a row across x, and its events."""
    events = []
    agent = SwarmFormationAgent(
        n,
        goal="20,0,2",
        map_size=30.0,
        on_event=lambda t_us, name, **values: events.append((name, values)),
        **options,
    )
    agent.home = np.array([[0.0, 2.5 * (k - (n - 1) / 2), 0.0] for k in range(n)])
    for i, pilot in enumerate(agent.pilots):
        pilot.start(0, agent.home[i] + [0.0, 0.0, 2.0], 0.0)
    agent.begin_flight(0, hovering(agent.home))
    return agent, events


def listen(agent):
    """Lets all hear all."""
    places = [pilot.flown.pos[0] for pilot in agent.pilots]
    rows = np.array([pilot.agreement.packet(at) for pilot, at in zip(agent.pilots, places)])
    for i, pilot in enumerate(agent.pilots):
        others = np.array([j for j in range(agent.n) if j != i])
        pilot.agreement.hear(others, rows[others], np.full(len(others), 1))


def test_followers_make_for_slots_beside_what_the_leader_flies():
    agent, _ = formation(5)
    listen(agent)
    agent.fly_on(20_000, hovering(agent.home + [0.0, 0.0, 2.0]))
    goals = np.array([pilot.goal for pilot in agent.pilots])
    assert goals[0].tolist() == [20.0, 0.0, 2.0]
    behind = goals[1:] - (agent.home[0] + [0.0, 0.0, 2.0])
    assert (behind[:, 0] < -1.0).all() and behind[:, 2] == pytest.approx(0.0)
    assert sorted(np.sign(behind[:, 1])) == [-1.0, -1.0, 1.0, 1.0]
    gaps = np.linalg.norm(goals[1:, None] - goals[None, 1:], axis=2)[np.triu_indices(4, 1)]
    assert gaps.min() >= 2.4


def test_a_slot_that_is_taken_is_left_for_a_place_beside_it():
    agent, _ = formation(3)
    listen(agent)
    agent.fly_on(20_000, hovering(agent.home + [0.0, 0.0, 2.0]))
    slot = agent.pilots[1].goal.copy()
    field = agent.pilots[1].field
    assert isinstance(field, DistanceField)
    stand(field, slot, 1.0, np.array([9.0, 9.0, 2.0]), 0.4)
    agent.fly_on(40_000, hovering(agent.home + [0.0, 0.0, 2.0]))
    aside = np.linalg.norm(agent.pilots[1].goal - slot)
    assert 0.3 < aside < 2.5 and field.distance(agent.pilots[1].goal) > 0.6


def test_it_says_when_the_shape_is_lost_and_kept_again():
    agent, events = formation(3)
    listen(agent)
    agent.fly_on(20_000, hovering(agent.home + [0.0, 9.0, 2.0]))
    slots = np.array([agent.home[0] + [0.0, 0.0, 2.0], *(p.goal for p in agent.pilots[1:])])
    off = slots + [[0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]
    for t_us, places in ((1, slots), (2, off), (2.2, off), (2.6, off), (3, slots)):
        agent.fly_on(round(t_us * 1e6), hovering(places))
    shapes = [values for name, values in events if name == "shape"]
    assert [each["kept"] for each in shapes] == [True, False, True]
    assert shapes[1]["off"] == [1]
    metrics = agent.metrics()
    assert metrics["shape_lost"] == 1 and 0.0 < metrics["shape_kept_percent"] < 100.0


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: SwarmFormationAgent(1), "n = 1 is not allowed"),
        (lambda: SwarmFormationAgent(3, goal="1,2,2;3,4,2"), "give that of the leader"),
        (lambda: SwarmFormationAgent(3, formation="heart-shaped"), "heart-shaped"),
    ],
)
def test_refusals_are_one_line(make, message):
    with pytest.raises(XtdroneError, match=message) as error:
        make()
    assert "\n" not in str(error.value)
