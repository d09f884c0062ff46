"""Several vehicles: packets, agreement under loss and delay, images without the others."""

import itertools

import numpy as np
import pytest

import xtdrone as xd
from xtdrone_core.command import main
from xtdrone_core.errors import XtdroneError
from xtdrone_core.runs import run_folder
from xtdrone_formation.declarations import Radio
from xtdrone_formation.network import Network
from xtdrone_planning.forest import write_world
from xtdrone_planning.maps.distance_field import DistanceField
from xtdrone_planning.planners import guard
from xtdrone_planning.planners.planner import STEP_S, Trajectory
from xtdrone_planning.several import apart, crossing, packets
from xtdrone_planning.several.agent import SwarmAgent
from xtdrone_planning.several.agreement import CONFIRMED, DROPPED, PERIOD_US, WAITS, Agreement
from xtdrone_planning.several.pilot import stand
from xtdrone_planning.sight import without

SEPARATION = 1.6


def line(begun_us, start, end, seconds=2.0):
    """A motion from rest to rest."""
    t = np.arange(round(seconds / STEP_S) + 1) * STEP_S
    u = t / seconds
    gap = np.subtract(end, start)
    s, ds, dds = 3 * u**2 - 2 * u**3, 6 * (u - u**2) / seconds, (6 - 12 * u) / seconds**2
    rows = [np.outer(each, gap) for each in (s, ds, dds)]
    return Trajectory(begun_us, rows[0] + start, rows[1], rows[2])


def rest(place):
    zero = np.zeros((1, 3))
    return Trajectory(0, np.array([place], dtype=float), zero, zero)


def agreements(n, reach=1e3):
    length = packets.size(n)
    return [Agreement(i, n, length, SEPARATION, reach, 2.0) for i in range(n)]


def told(receiver, *senders, t_us=1):
    rows = [sender.packet(np.zeros(3)) for sender in senders]
    numbers = np.array([sender.index for sender in senders])
    receiver.hear(numbers, np.array(rows), np.full(len(rows), t_us))


@pytest.mark.parametrize("seconds", [0.5, 1.98, 5.9])
def test_a_trajectory_is_heard_as_it_was_told(seconds):
    told_one = line(40_000, (1.0, 2.0, 2.0), (5.0, -1.0, 2.5), seconds)
    announcement = packets.Announcement(
        np.array([1.0, 2.0, 3.0]), packets.NOTHING, packets.Announced(7, told_one), np.arange(3)
    )
    heard = packets.unpack(packets.pack(announcement))
    assert heard.pos.tolist() == [1.0, 2.0, 3.0] and heard.heard.tolist() == [0, 1, 2]
    assert heard.flown == packets.NOTHING and heard.planned.number == 7
    times = told_one.begun_us + np.linspace(-0.1, seconds + 0.5, 200) * 1e6
    assert heard.planned.trajectory.places(times) == pytest.approx(told_one.places(times), abs=0.02)
    again = packets.as_heard(heard.planned)
    assert (again.trajectory.pos == heard.planned.trajectory.pos).all()


def test_the_least_distance_is_of_one_time():
    across = line(0, (0.0, -4.0, 2.0), (0.0, 4.0, 2.0))
    same_time = line(0, (-4.0, 0.0, 2.0), (4.0, 0.0, 2.0))
    later = line(3_000_000, (-4.0, 0.0, 2.0), (4.0, 0.0, 2.0))
    assert apart.least(across, same_time, 0) < 0.2
    assert apart.least(across, later, 0) == pytest.approx(4.0, abs=0.05)
    assert apart.least(across, same_time, 10_000_000) == pytest.approx(np.hypot(4, 4))
    above = line(0, (0.0, -4.0, 4.0), (0.0, 4.0, 4.0))
    assert apart.least(across, above, 0) == pytest.approx(1.0)  # heights count half


def test_a_plan_waits_for_all_that_are_near():
    a, b, c = agreements(3, reach=50.0)
    for k, each in enumerate((a, b, c)):
        each.begin(rest((0.0, 5.0 * k, 2.0)))
    told(a, b, c)
    told(b, a)
    a.propose(line(500_000, (0.0, 0.0, 2.0), (4.0, 0.0, 2.0)))
    assert a.decide(100_000, 500_000) == WAITS and a.unconfirmed(100_000) == [1, 2]
    told(b, a, t_us=120_000)
    told(a, b, t_us=140_000)
    assert a.unconfirmed(160_000) == [2]
    told(c, a, t_us=160_000)
    told(a, c, t_us=180_000)
    assert a.decide(200_000, 500_000) == CONFIRMED
    a.propose(line(900_000, (4.0, 0.0, 2.0), (8.0, 0.0, 2.0)))
    assert a.decide(1_000_000, 900_000) == DROPPED  # nobody has confirmed it in time


def test_of_two_plans_made_at_once_the_first_vehicle_keeps_its_own():
    a, b = agreements(2)
    a.begin(rest((0.0, 0.0, 2.0)))
    b.begin(rest((6.0, 0.0, 2.0)))
    told(a, b)
    told(b, a)
    a.propose(line(500_000, (0.0, 0.0, 2.0), (3.0, 0.0, 2.0)))
    b.propose(line(500_000, (6.0, 0.0, 2.0), (3.5, 0.0, 2.0)))
    told(a, b, t_us=100_000)
    told(b, a, t_us=100_000)
    assert b.decide(110_000, 500_000) == DROPPED
    assert a.decide(110_000, 500_000) == WAITS
    told(a, b, t_us=140_000)
    assert a.decide(150_000, 500_000) == CONFIRMED
    assert not b.is_free(line(700_000, (6.0, 0.0, 2.0), (3.5, 0.0, 2.0)), 150_000)


@pytest.mark.parametrize("loss, delay", [(0.1, 0.1), (0.5, 0.3)])
def test_what_is_flown_stays_apart_whatever_is_lost(loss, delay):
    """Four vehicles in a room of 6 x 6 m plan at random; those that are flown never come close."""
    n, random = 4, np.random.default_rng(3)
    net = Network([(i, j) for i in range(n) for j in range(n) if i != j], n, Radio(delay, loss))
    all_of = agreements(n)
    flown = [rest((2.5 * (i % 2), 2.5 * (i // 2), 2.0)) for i in range(n)]
    for each, trajectory in zip(all_of, flown):
        each.begin(trajectory)
    waits, confirmed = {}, 0
    for t_us in range(0, 20_000_000, PERIOD_US):
        rows = [each.packet(flown[i].since(t_us).pos) for i, each in enumerate(all_of)]
        net.exchange(t_us, np.array(rows))
        came = net.neighbours(t_us, np.arange(n))
        sent = np.where(np.isfinite(came.age), t_us - 1e6 * came.age, -1.0).astype(np.int64)
        for i, each in enumerate(all_of):
            mine = came.to == i
            each.hear(came.sender[mine], came.packets[mine], sent[mine])
            found = each.decide(t_us, waits.get(i, (0, None))[0])
            if found == CONFIRMED:
                flown[i] = waits.pop(i)[1]
                confirmed += 1
                for j in set(range(n)) - {i}:
                    assert apart.least(flown[i], flown[j], t_us) > SEPARATION - 0.02
            elif found != WAITS and t_us > 300_000 + 1e6 * flown[i].duration + flown[i].begun_us:
                end = np.append(random.uniform(0.0, 6.0, 2), 2.0)
                begin_us = t_us + round(1e6 * (2.0 * delay + 0.6))
                plan = line(begin_us, flown[i].pos[-1], end)
                if each.is_free(plan, t_us):
                    each.propose(plan)
                    waits[i] = begin_us, plan
    assert confirmed >= 8


def test_who_is_silent_and_near_is_not_flown_past():
    a, b = agreements(2, reach=10.0)
    a.begin(rest((0.0, 0.0, 2.0)))
    b.begin(rest((6.0, 0.0, 2.0)))
    a.hear(np.array([1]), b.packet(np.array([6.0, 0.0, 2.0]))[None], np.array([0]))
    a.packet(np.zeros(3))
    a.propose(line(500_000, (0.0, 0.0, 2.0), (0.0, 3.0, 2.0)))
    assert a.decide(400_000, 500_000) == WAITS
    a.hear(np.array([1]), b.packet(np.array([16.0, 0.0, 2.0]))[None], np.array([1]))
    assert a.decide(400_000, 500_000) == CONFIRMED  # too far away to meet


def test_a_snapshot_keeps_what_was_told_and_heard():
    a, b = agreements(2)
    a.begin(rest((0.0, 0.0, 2.0)))
    b.begin(rest((6.0, 0.0, 2.0)))
    told(a, b)
    a.propose(line(500_000, (0.0, 0.0, 2.0), (3.0, 0.0, 2.0)))
    other = agreements(2)[0]
    other.load(a.save())
    assert (other.packet(np.zeros(3)) == a.packet(np.zeros(3))).all()
    assert len(other.others()) == 1 and other.unconfirmed(0) == [1]


def test_another_vehicle_is_left_out_of_an_image():
    lens = (100.0, 100.0, 60.0, 45.0, 0.2, 10.0)
    depth = np.full((90, 120), 6.0, dtype=np.float32)
    depth[40:50, 55:65] = 4.0  # a vehicle ahead, and a tree beside it
    depth[:, 100:104] = 4.0
    seen = without(depth, lens, np.array([[0.0, 0.0, 4.3]]))
    assert np.isnan(seen[40:50, 55:65]).all()
    assert (seen[:, 100:104] == 4.0).all() and np.isfinite(seen).sum() == depth.size - 100
    assert without(depth, lens, np.array([[0.0, 0.0, -3.0], [9.0, 0.0, 4.0]])) is depth


def test_a_resting_vehicle_stands_in_the_field():
    field, other = DistanceField((12.0, 12.0, 6.0), 0.2, 1.2), np.array([2.0, 1.0, 2.0])
    stand(field, other, 1.6, np.array([-4.0, 1.0, 2.0]), 0.7)
    for place, distance in (
        ((2.0, 1.0, 2.0), 0.0),
        ((4.0, 1.0, 2.0), 1.1),
        ((-3.0, 0.0, 1.0), 1.2),
    ):
        assert max(field.distance(place), 0.0) == pytest.approx(distance, abs=0.25)
    assert guard.check(field, rest((2.0, 1.0, 2.0)), 0.3, known=False) == guard.CLOSE
    near = DistanceField((12.0, 12.0, 6.0), 0.2, 1.2)
    stand(near, other, 1.6, np.array([3.3, 1.0, 2.5]), 0.7)  # so near it may go away from there
    assert near.distance((3.3, 1.0, 2.5)) > 0.5
    before = near.square.copy()
    stand(near, np.array([100.0, 1.0, 2.0]), 1.6, np.zeros(3), 0.7)  # outside: nothing happens
    assert (near.square == before).all()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: SwarmAgent(3, goal="1,2,2;3,4,2"), "2 goals are not allowed for 3 vehicles"),
        (lambda: SwarmAgent(2, low=3.0, high=2.0), "high 2 m is not allowed"),
        (lambda: SwarmAgent(2, range=4.0), "range 4 m is not allowed: give 9.6 m"),
        (lambda: SwarmAgent(2, loss=1.5), "loss 1.5 is not allowed"),
    ],
)
def test_refusals_are_one_line(make, message):
    with pytest.raises(XtdroneError, match=message) as error:
        make()
    assert "\n" not in str(error.value)


def test_starts_that_are_too_near_are_refused():
    scenario = xd.Scenario(vehicles="iris_depth_small@0,0,0; iris_depth_small@0,1,0", log="none")
    with (
        pytest.raises(XtdroneError, match=r"start less than 1\.6 m from each other"),
        xd.Simulation(scenario, agent=SwarmAgent(2)),
    ):
        pass


def test_goals_are_crossed_or_kept():
    home = np.array([[0.0, -3.0, 0.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    for order, side in (("crossed", -1.0), ("kept", 1.0)):
        agent = SwarmAgent(3, goal="20,1,2", order=order)
        agent.home = home
        agent.begin_flight(0, None)
        assert agent.marks()[:, 1] == pytest.approx(1.0 + side * home[:, 1])
    assert all(np.linalg.norm(a - b) > 2.0 for a, b in itertools.pairwise(agent.marks()))


def test_flights_through_forests_are_kept_and_counted(tmp_path, monkeypatch):
    flown = []

    def flight(case, seed):
        flown.append(seed)
        return crossing.Crossing(case, seed, 10, (), 1.9 - 0.1 * seed, 25.0, 600.0, 90, 10, 2.0)

    monkeypatch.setattr(crossing, "flown", flight)
    case, file = crossing.Case(), tmp_path / "flights.jsonl"
    assert len(list(crossing.fly(case, range(2), file))) == 2
    again = list(crossing.fly(case, range(3), file))
    assert flown == [0, 1, 2] and crossing.read(file) == again
    row = crossing.summary(again)[-1]
    assert "| 3 | 0 | 30 of 30 | 1.70 | 2.40 | 10.0 % |" in row
    file.write_text('{"case": 3}\n')
    with pytest.raises(XtdroneError, match="line 1 of .* is no flight"):
        crossing.read(file)


@pytest.mark.long
def test_three_cross_each_other_between_trees(tmp_path, runs):
    world = tmp_path / "forest.world"
    write_world(world, "woods", 10)
    command = ["fly", "swarm", "--vehicles", crossing.vehicles(3), "--world", str(world)]
    options = ["goal=12.5,0,2", "delay=0.1", "loss=0.1"]
    settings = [word for option in options for word in ("--set", option)]
    assert main([*command, *settings, "--name", "swarm", "--log", "none"]) == 0
    summary = run_folder.read_summary(runs / "swarm")
    assert summary["goals_reached"] == 3 and not summary["collisions"]
    assert summary["least_distance_m"] > 1.2
    assert 0.05 < summary["packets_lost"] / summary["packets_sent"] < 0.15
    for name in ("navigation.png", "distances.png"):
        assert (runs / "swarm" / "plots" / name).stat().st_size > 10_000
