"""Schemes and communication in the simple simulator."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from steered_leader import SteeredLeader
from xtdrone_core import Mode, ScenarioError
from xtdrone_formation import (
    Follower,
    FollowerParameters,
    Formation,
    FormationError,
    Leader,
    Network,
    Radio,
    saturate,
    scheme,
    slots,
)
from xtdrone_formation.agents import FormationAgent
from xtdrone_formation.declarations import SCHEMES, TOPOLOGIES
from xtdrone_formation.leaders import PathLeader
from xtdrone_formation.network import topology
from xtdrone_formation.schemes import CentralisedFollower
from xtdrone_formation.simple.simulator import PERIOD_US, SimpleSimulator


def airborne(n, offsets=None):
    """A simulator with n vehicles in OFFBOARD, hanging 60 m above the ground."""
    places = np.vstack([np.zeros((1, 3)), slots("origin", n) if offsets is None else offsets])
    simulator = SimpleSimulator(places)
    simulator.pos[:, 2] += 60.0
    simulator.armed[:] = True
    simulator.landed[:] = False
    simulator.mode[:] = Mode.OFFBOARD
    return simulator


def run(formation, simulator, seconds, look_every=1):
    """Flies on; returns the least separation on the way, looked at every so many steps."""
    minimum = math.inf
    for k in range(round(seconds * 1e6 / PERIOD_US)):
        simulator.apply(formation.step(simulator.t_us, simulator.pos, simulator.vel))
        simulator.step()
        if k % look_every == 0:
            minimum = min(minimum, simulator.separation())
    return minimum


def fly(formation, simulator, name, seconds=8.0, look_every=1):
    """Commands a formation and flies until `seconds` after its transition."""
    transition = formation.command(simulator.t_us, name)
    duration = (transition.end_us - simulator.t_us) * 1e-6
    return run(formation, simulator, duration + seconds, look_every)


# That one flies through both in the full simulator, in test_formation_both.py.
EACH_BUT_ACCELERATION = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name == "consensus_acceleration" else ())
        for name in SCHEMES.names()
    ],
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "n, name",
    [
        (9, "centralised"),
        pytest.param(18, "centralised", marks=pytest.mark.long),
        pytest.param(100, "centralised", marks=pytest.mark.long),
        (9, "consensus"),
        pytest.param(18, "consensus", marks=pytest.mark.long),
        (9, "consensus_acceleration"),
    ],
)
def test_three_formations_reach_their_slots(n, name):
    simulator = airborne(n)
    formation = Formation(n, *scheme(name))
    formation.start(0, simulator.pos)
    for shape in ("cube", "pyramid", "triangle"):
        minimum = fly(formation, simulator, shape, look_every=3)  # by 5 cm at most in between
        assert formation.errors(simulator.t_us, simulator.pos).max() < 0.05
        assert minimum >= 1.35


@pytest.mark.slow
@pytest.mark.long  # a hundred do so above
def test_a_thousand_reach_their_slots_in_three_formations():
    """From one into the next that is near, and fast, since 1000 vehicles take long."""
    simulator = airborne(1000, slots("sphere", 1000))
    law = scheme("centralised", parameters=FollowerParameters(speed_limit=11.0))
    formation = Formation(1000, *law, speed=9.0, acceleration=4.0)
    formation.start(0, simulator.pos)
    for shape in ("diamond", "sphere", "pyramid"):
        minimum = fly(formation, simulator, shape, 1.0, look_every=5)
        assert formation.errors(simulator.t_us, simulator.pos).max() < 0.05
        assert minimum >= 1.35


@pytest.mark.parametrize("name", SCHEMES.names())
def test_followers_keep_their_slots_behind_a_moving_leader(name):
    simulator = airborne(9)
    leader, follower = scheme(name)
    moving = PathLeader([[40.0, 10.0, 65.0]], speed=4.0, acceleration=0.4)
    moving.topology = type(leader).topology
    formation = Formation(9, moving, follower)
    formation.start(0, simulator.pos)
    moving.start()
    fly(formation, simulator, "cube", 2.0)
    worst = 0.0
    for _ in range(200):
        run(formation, simulator, 0.02)
        worst = max(worst, formation.errors(simulator.t_us, simulator.pos).max())
    assert worst < {"consensus": 0.35, "consensus_acceleration": 0.6}.get(name, 0.2)


@pytest.mark.slow
@EACH_BUT_ACCELERATION
def test_loss_and_delay_leave_a_bounded_error_and_no_collision(name):
    simulator = airborne(9)
    formation = Formation(9, *scheme(name, Radio(delay=0.2, loss=0.2)))
    formation.start(0, simulator.pos)
    for shape in ("cube", "pyramid", "triangle"):
        assert fly(formation, simulator, shape, 10.0) >= 1.0
        assert formation.errors(simulator.t_us, simulator.pos).max() < 0.1
    assert 0.15 < formation.network.lost / formation.network.sent < 0.25


@pytest.mark.slow
@EACH_BUT_ACCELERATION
def test_the_formation_holds_when_the_leader_falls_silent(name):
    simulator = airborne(9)
    leader = SteeredLeader()
    leader.topology = SCHEMES.load(name).leader.topology
    formation = Formation(9, leader, scheme(name)[1])
    formation.start(0, simulator.pos)
    fly(formation, simulator, "pyramid")
    leader.velocity = np.array([2.0, 0.0, 0.0])
    run(formation, simulator, 4.0)
    shape = simulator.pos[1:] - simulator.pos[1]
    formation.network.silent[0] = True
    leader.velocity = np.zeros(3)
    run(formation, simulator, 10.0)
    stopped = simulator.pos.copy()
    run(formation, simulator, 5.0)
    np.testing.assert_allclose(simulator.pos, stopped, atol=0.05)
    np.testing.assert_allclose(simulator.pos[1:] - simulator.pos[1], shape, atol=0.3)


def test_two_that_must_change_places_get_past_each_other():
    """Without a planned way, head-on: avoidance alone has to lead them past each other."""

    class Swap(CentralisedFollower):
        def control(self, t_us, own, neighbours):
            return own.slot[::-1] + [0.0, 0.0, 40.0] - own.pos

    offsets = np.array([[5.0, 0.0, 0.0], [13.0, 0.0, 0.0]])
    simulator = airborne(3, offsets)
    formation = Formation(3, Leader(), Swap(FollowerParameters(speed_limit=1.0)), speed=0.9)
    formation.start(0, simulator.pos)
    minimum = run(formation, simulator, 40.0)
    np.testing.assert_allclose(simulator.pos[1:, :2], offsets[::-1, :2], atol=0.1)
    assert minimum > 0.8


def crowd(rng, n, spacing, part):
    """n random places in a box of which balls of a size `spacing` fill a part, 40 m east."""
    edge = (n * spacing**3 / part) ** (1 / 3)
    places = np.zeros((0, 3))
    while len(places) < n:
        place = rng.uniform(-edge / 2, edge / 2, 3)
        if not len(places) or np.linalg.norm(places - place, axis=1).min() >= spacing:
            places = np.vstack([places, place])
    return places + [40.0, 0.0, 0.0]


def crowded_cases():
    """Starts and goals: through one point, on one line, in a tight box."""
    angle = 2 * np.pi * np.arange(6) / 6
    ring = np.stack([5 * np.cos(angle), 5 * np.sin(angle), 0 * angle], axis=1)
    line = 2.0 * np.arange(1, 9)[:, None]
    rng = np.random.default_rng(1)
    box = crowd(rng, 49, 1.6, 0.3), crowd(rng, 49, 1.6, 0.3)
    east = np.array([40.0, 0.0, 0.0])
    return {
        "through one point": (east + ring, east - ring),
        "one line": (line * [1, 0, 0], line[::-1] * [1, 0, 0]),
        "upright line": (east + line * [0, 0, 1], east + line[::-1] * [0, 0, 1]),
        "tight box": box,
    }


@pytest.mark.slow
@pytest.mark.parametrize("case", crowded_cases())
def test_no_deadlock_without_a_planned_transition(case):
    """Each goes straight for its goal; avoidance alone leads everybody there."""
    start, goal = crowded_cases()[case]

    class Straight(CentralisedFollower):
        def control(self, t_us, own, neighbours):
            return goal + [0.0, 0.0, 60.0] - own.pos

    simulator = airborne(len(start) + 1, start)
    formation = Formation(
        len(start) + 1, Leader(), Straight(FollowerParameters(speed_limit=2.0)), speed=1.8
    )
    formation.start(0, simulator.pos)
    assert run(formation, simulator, 20.0) > 0.9
    np.testing.assert_allclose(simulator.pos[1:] - [0.0, 0.0, 60.0], goal, atol=0.3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "direction",
    [
        (1, 0, 0),
        (0, 0, 1),
        (0.6, 0, 0.8),
        *(pytest.param(along, marks=pytest.mark.long) for along in ((0, 1, 0), (1, 1, 0))),
    ],
)
def test_no_deadlock_against_one_that_stands_in_the_way(direction):
    class Through(CentralisedFollower):
        def control(self, t_us, own, neighbours):
            goal = own.slot + [0.0, 0.0, 40.0]
            goal[1] = goal[0] + 6.0 * np.array(direction)
            return goal - own.pos

    direction = np.array(direction, dtype=float)
    first = np.array([20.0, 0.0, 0.0])
    offsets = np.stack([first, first - 6.0 * direction])
    simulator = airborne(3, offsets)
    formation = Formation(3, Leader(), Through(FollowerParameters(speed_limit=1.0)), speed=0.9)
    formation.start(0, simulator.pos)
    assert run(formation, simulator, 30.0) > 0.8
    np.testing.assert_allclose(simulator.pos[2], first + 6.0 * direction + [0, 0, 40], atol=0.1)


@given(x=st.tuples(*[st.floats(-1e9, 1e9)] * 3), limit=st.floats(0.1, 20.0))
@settings(max_examples=200)
def test_saturation_limits_and_keeps_the_direction(x, limit):
    vector = np.array([x])
    out = saturate(vector, limit)
    assert np.linalg.norm(out) <= limit * (1 + 1e-9)
    assert np.linalg.norm(np.cross(out, vector)) <= 1e-6 * max(1.0, np.linalg.norm(vector)) * limit
    if np.linalg.norm(vector) < 0.5 * limit:
        np.testing.assert_allclose(out, vector, rtol=1e-2)


@given(angle=st.floats(0, 6.3), size=st.floats(0.0, 50.0), step=st.floats(0.0, 0.01))
@settings(max_examples=200)
def test_saturation_is_continuous(angle, size, step):
    one = size * np.array([[math.cos(angle), math.sin(angle), 0.0]])
    other = one + step * np.array([[0.6, 0.0, 0.8]])
    assert np.linalg.norm(saturate(one, 3.0) - saturate(other, 3.0)) <= 1.01 * step + 1e-12


@given(place=st.floats(0.8, 2.0), step=st.floats(1e-9, 1e-4), seed=st.integers(0, 1000))
@settings(max_examples=100)
def test_avoidance_is_continuous(place, step, seed):
    rng = np.random.default_rng(seed)
    follower = CentralisedFollower()
    vel, wish = rng.normal(0, 1, (2, 3, 3))
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    pos = np.array([[50.0, 0, 0], [0, 0, 0], place * direction])
    near = pos + [[0, 0, 0], [0, 0, 0], [0, 0, step]]
    difference = follower.avoid(wish, pos, vel) - follower.avoid(wish, near, vel)
    assert np.abs(difference).max() <= 200.0 * step


@pytest.mark.slow
def test_an_own_scheme_takes_few_lines():
    """A follower that only looks at where its neighbours are."""

    class Lazy(Follower):
        def control(self, t_us, own, neighbours):
            return 2.0 * (neighbours.mean(neighbours.pos - neighbours.slot) + own.slot - own.pos)

    class Ring(Leader):
        topology = "ring"

    simulator = airborne(6)
    formation = Formation(6, Ring(), Lazy())
    formation.start(0, simulator.pos)
    fly(formation, simulator, "T", 40.0)
    assert formation.errors(simulator.t_us, simulator.pos).max() < 0.05


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_named_scheme_flies_over_every_topology(topology):
    simulator = airborne(9)
    formation = Formation(9, *scheme("centralised", topology=topology))
    formation.start(0, simulator.pos)
    fly(formation, simulator, "cube", 4.0)
    assert formation.errors(simulator.t_us, simulator.pos).max() < 0.05


def test_nobody_hears_the_leader_for_a_while():
    network = Network([(1, 0), (1, 2)], 3, Radio(leader_lost=(0.04, 0.08)))
    ages = []
    for t_us in range(0, 120_000, 20_000):
        network.exchange(t_us, np.zeros((3, 12)))
        ages.append(network.neighbours(t_us, np.array([1])).age.round(3).tolist())
    assert ages == [[0, 0], [0, 0], [0.02, 0], [0.04, 0], [0, 0], [0, 0]]


def test_who_falls_silent_is_taken_to_slow_down_to_rest():
    """At its speed for the time-out, then to 0 within the same time; by its integral."""
    follower = CentralisedFollower(FollowerParameters(packet_timeout=0.4))
    ages = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 5.0])
    heard = SimpleNamespace(
        age=ages, pos=np.full((6, 3), 7.0), vel=np.tile([2.0, -1.0, 0.0], (6, 1))
    )
    pos, vel = follower.predict(heard)
    t = np.linspace(0.0, 5.0, 50_001)
    share = np.clip(2.0 - t / 0.4, 0.0, 1.0)
    travelled = np.interp(ages, t, np.cumsum(share) * 1e-4)
    np.testing.assert_allclose(pos, 7.0 + travelled[:, None] * heard.vel, atol=1e-3)
    np.testing.assert_allclose(vel, np.interp(ages, t, share)[:, None] * heard.vel, atol=1e-9)


def test_packets_arrive_late_and_some_not_at_all():
    network = Network([(1, 0)], 2, Radio(delay=0.1))
    for k in range(11):
        packets = np.zeros((2, 12))
        packets[0, 0] = k
        network.exchange(20_000 * k, packets)
    neighbours = network.neighbours(200_000, np.array([1]))
    assert neighbours.pos[0, 0] == 5
    assert neighbours.age[0] == pytest.approx(0.1)


def test_nothing_is_heard_beyond_the_range():
    network = Network([(1, 0), (2, 0)], 3, Radio(range=10.0))
    packets = np.zeros((3, 12))
    packets[1, 0], packets[2, 0] = 9.0, 11.0
    network.exchange(0, packets)
    neighbours = network.neighbours(0, np.array([1, 2]))
    assert np.isfinite(neighbours.age).tolist() == [True, False]
    assert (network.sent, network.lost) == (2, 1)


@pytest.mark.parametrize("kind", ["star", "complete", "chain", "ring", "nearest"])
@pytest.mark.parametrize("n", [2, 3, 9, 50])
def test_word_of_the_leader_reaches_everyone(kind, n):
    edges = topology(kind, slots("line", n))
    assert set(edges[:, 0]) == set(range(1, n)) or kind in ("ring", "complete")
    assert (edges[:, 0] != edges[:, 1]).all()
    assert not (edges[:, 0] == 0).any()


class Astray(Leader):
    topology = "stra"


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: topology("stars", slots("V", 5)), ["unknown topology 'stars'", "mean 'star'"]),
        (lambda: topology(np.zeros((3, 3)), slots("V", 5)), ["(3, 3)", "5 vehicles"]),
        (lambda: topology(np.zeros((5, 5)), slots("V", 5)), ["vehicle 1 is not connected"]),
        (lambda: Radio(loss=1.5), ["loss 1.5", "0 to 1"]),
        (lambda: Radio(delay=-1), ["delay -1"]),
        (lambda: Radio(range=0), ["range 0"]),
        (lambda: Radio(leader_lost=3.0), ["leader_lost 3.0", "two times"]),
        (lambda: Radio(leader_lost=(5.0, 3.0)), ["leader_lost (5.0, 3.0)"]),
        (lambda: scheme("consensus", topology="chan"), ["unknown topology 'chan'", "mean 'chain'"]),
        (lambda: FollowerParameters(gain=0), ["gain 0"]),
        (lambda: FollowerParameters(avoid_radius=0.5), ["avoid_radius 0.5"]),
        (lambda: Formation(1, Leader(), CentralisedFollower()), ["n = 1"]),
        (lambda: Formation(9, Leader(), CentralisedFollower(), speed=6.0), ["6.0 m/s", "0.9"]),
        (lambda: scheme("central"), ["unknown scheme 'central'", "module:Class"]),
        (lambda: scheme("no_module:Law"), ["cannot load scheme 'no_module:Law'", "PYTHONPATH"]),
        (lambda: scheme("math:sqrt"), ["'math:sqrt' is not a class"]),
        (
            lambda: FormationAgent(9, ("cube",), (Astray(), CentralisedFollower())),
            ["'stra'", "'star'"],
        ),
        (lambda: PathLeader([[0, 0]]), ["waypoints [[0, 0]]", "[x, y, z]"]),
        (lambda: PathLeader([[0, 0, 9]], speed=0), ["speed 0"]),
        (lambda: SimpleSimulator([[0, 0]]), ["(1, 2)"]),
    ],
)
def test_what_is_refused_in_one_line(make, words):
    with pytest.raises((FormationError, ScenarioError)) as caught:
        make()
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)
