"""What the followers of a formation are given in one step."""

import numpy as np
import pytest

from xtdrone_formation import Formation, slots
from xtdrone_formation.leaders import Leader
from xtdrone_formation.schemes import CentralisedFollower

N, GROUND = 9, 50.0


class Seen(CentralisedFollower):
    """Followers that keep what they are given and want to stay where they are."""

    def control(self, t_us, own, neighbours):
        self.own, self.neighbours = own, neighbours
        return np.zeros_like(own.pos)


@pytest.fixture
def formation():
    """A formation that has become a pyramid, 10 m above the ground."""
    made = Formation(N, Leader(), Seen(), ground=GROUND)
    made.start(0, np.vstack([np.zeros((1, 3)), slots("origin", N)]) + [0.0, 0.0, GROUND + 10.0])
    made.command(0, "pyramid")
    return made


def step(formation, height):
    """A step after the transition, all in their slots, the leader descending by 1 m/s."""
    pos = np.vstack([np.zeros((1, 3)), formation.transition.goal]) + [0.0, 0.0, GROUND + height]
    vel = np.tile([0.0, 0.0, -1.0], (N, 1))
    formation.step(formation.transition.end_us, pos, vel)
    return formation.follower.own


def test_every_follower_hears_the_leader(formation):
    step(formation, 10.0)
    neighbours = formation.follower.neighbours
    np.testing.assert_array_equal(neighbours.to, np.arange(N - 1))
    assert not neighbours.sender.any() and not neighbours.age.any()


@pytest.mark.parametrize("height, rise", [(10.0, 0.0), (5.0, 0.0), (2.0, 3.0), (0.5, 4.0)])
def test_slots_rise_so_that_none_comes_within_a_metre_of_the_ground(formation, height, rise):
    """The lowest is 4 m below the leader; nor do slots rise above a leader below 1 m."""
    own = step(formation, height)
    np.testing.assert_allclose(own.slot, formation.transition.goal + [0.0, 0.0, rise])
    np.testing.assert_allclose(own.slot_vel, np.tile([0.0, 0.0, 1.0 if rise else 0.0], (N - 1, 1)))
    np.testing.assert_allclose(formation.pattern(formation.transition.end_us), own.slot)
    pos = np.vstack([np.zeros((1, 3)), own.slot]) + [0.0, 0.0, GROUND + height]
    np.testing.assert_allclose(formation.errors(0, pos), 0.0, atol=1e-12)
