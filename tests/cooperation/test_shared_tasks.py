"""Tasks and their files, bundles, and the Agent that flies them in the simple simulator."""

import itertools

import numpy as np
import pytest

from xtdrone_cooperation.errors import CooperationError
from xtdrone_cooperation.tasks.agent import TasksAgent
from xtdrone_cooperation.tasks.bundle import NOBODY, Bundle
from xtdrone_cooperation.tasks.hungarian import assign
from xtdrone_cooperation.tasks.task import KINDS, LANE_M, Task, random_tasks, read_tasks
from xtdrone_cooperation.tasks.ways import Ways
from xtdrone_core import XtdroneError
from xtdrone_core.scenario.vehicles import grid
from xtdrone_formation.simple.simulator import SimpleSimulator, fly

AREA = Task("field", "cover", 10.0, -5.0, size=12.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_is_done_around_its_place(kind):
    way = Task("one", kind, 3.0, 4.0, size=8.0, to_x=20.0, to_y=1.0).way()
    assert way.shape[1] == 2
    if kind == "deliver":
        np.testing.assert_allclose(way, [[3.0, 4.0], [20.0, 1.0]])
    else:
        assert np.abs(way - [3.0, 4.0]).max() <= 4.0 + 1e-9
        np.testing.assert_allclose(0.5 * (way.min(axis=0) + way.max(axis=0)), [3.0, 4.0], atol=2.0)


@pytest.mark.parametrize("kind", ["cover", "search"])
def test_no_place_of_an_area_is_farther_than_half_a_lane_from_the_way(kind):
    way = Task("field", kind, 0.0, 0.0, size=12.0).way()
    dense = np.concatenate([np.linspace(a, b, 50) for a, b in itertools.pairwise(way)])
    places = np.array(list(itertools.product(np.linspace(-6.0, 6.0, 25), repeat=2)))
    away = np.linalg.norm(places[:, None] - dense, axis=2).min(axis=1)
    assert away.max() <= 0.5 * LANE_M + 0.1


def test_tasks_are_read_from_a_table(tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text("name,kind,x,y,size,seconds,to_x,to_y\na,visit,1,2\nb,deliver,0,0,,3,9,8\n")
    assert read_tasks(path) == [
        Task("a", "visit", 1.0, 2.0),
        Task("b", "deliver", 0.0, 0.0, seconds=3.0, to_x=9.0, to_y=8.0),
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "has no column name"),
        ("name,kind,x,y\n", "has no task"),
        ("name,kind,x\na,visit,1\n", "has no column y"),
        ("name,kind,x,y,colour\na,visit,1,2,red\n", "unknown column 'colour'"),
        ("name,kind,x,y\na,vist,1,2\n", "did you mean 'visit'"),
        ("name,kind,x,y\na,visit,1,two\n", "y 'two' in row 2"),
        ("name,kind,x,y\na,visit,1,nan\n", "y nan of task 'a' is not allowed"),
        ("name,kind,x,y\na,visit,1\n", "lacks y"),
        ("name,kind,x,y\na,visit,1,2,3\n", "has 5 cells for 4 columns"),
        ("name,kind,x,y,size\na,cover,1,2,-3\n", "size -3 of task 'a' is not allowed"),
    ],
)
def test_a_table_that_cannot_be_is_refused_in_one_line(tmp_path, text, line):
    path = tmp_path / "tasks.csv"
    path.write_text(text)
    with pytest.raises(CooperationError) as caught:
        read_tasks(path)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_detour_is_the_difference_of_two_paths():
    ways = Ways([*random_tasks(6, 40.0, 3), AREA])
    place, path = np.array([1.0, -2.0]), [4, 2, 6]
    detours = ways.detours(place, path)
    for p, task in itertools.product(range(4), (0, 1, 3, 5)):
        longer = [*path[:p], task, *path[p:]]
        expected = ways.length(place, longer) - ways.length(place, path)
        assert detours[p, task] == pytest.approx(expected)


def agreed(ways, places, most, loss, rng, rounds=120):
    """Has vehicles bid over links that lose packets, until nothing changes; their bundles."""
    bundles = [Bundle(i, len(places), ways) for i in range(len(places))]
    unchanged = 0
    for number in range(1, rounds):
        before = [bundle.path.copy() for bundle in bundles]
        packets = [bundle.packet(np.zeros(3)) for bundle in bundles]
        for i, j in itertools.permutations(range(len(places)), 2):
            if rng.random() >= loss:
                bundles[i].hear(j, packets[j], number)
        for bundle, place in zip(bundles, places):
            bundle.build(place, most)
        same = all(bundle.path == path for bundle, path in zip(bundles, before))
        unchanged = unchanged + 1 if same else 0
        if unchanged >= 15:
            return bundles
    raise AssertionError("no agreement")


@pytest.mark.parametrize("loss", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(5))
def test_all_come_to_one_assignment_without_a_conflict(loss, seed):
    rng = np.random.default_rng(seed)
    ways = Ways(random_tasks(20, 60.0, seed))
    bundles = agreed(ways, rng.uniform(-30, 30, (5, 2)), 4, loss, rng)
    assert sorted(task for bundle in bundles for task in bundle.path) == list(range(20))
    for bundle in bundles[1:]:
        np.testing.assert_array_equal(bundle.winner, bundles[0].winner)


def test_a_task_each_costs_little_more_than_the_optimum():
    ratios = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        ways, places = Ways(random_tasks(6, 60.0, seed + 99)), rng.uniform(-30, 30, (6, 2))
        best = assign(ways, places, range(6))
        ours = [bundle.path for bundle in agreed(ways, places, 1, 0.2, rng)]
        cost = [
            sum(ways.length(place, path) for place, path in zip(places, each))
            for each in (ours, best)
        ]
        ratios.append(cost[0] / cost[1])
    assert min(ratios) >= 1.0 - 1e-9  # with a task each the Hungarian method is the optimum
    assert np.mean(ratios) <= 1.2


def test_the_tasks_of_who_is_silent_are_free_again_but_what_is_done_stays_done():
    ways = Ways(random_tasks(4, 20.0, 1))
    first, second = Bundle(0, 2, ways), Bundle(1, 2, ways)
    second.build(np.zeros(2), 4)
    done = second.begin()
    second.finish()
    first.hear(1, second.packet(np.zeros(3)), 1_000_000)
    first.build(np.array([90.0, 0.0]), 4)
    assert first.path == []
    assert first.forget_the_silent(500_000) == []
    assert first.forget_the_silent(2_000_000) == [1]
    first.build(np.zeros(2), 4)
    assert sorted([*first.path, done]) == [0, 1, 2, 3]


def test_what_is_begun_is_not_taken_away_and_of_two_who_have_begun_the_first_keeps_it():
    ways = Ways([Task("only", "visit", 10.0, 0.0)])
    far, near = Bundle(0, 2, ways), Bundle(1, 2, ways)
    far.build(np.zeros(2), 1)
    assert far.begin() == 0
    near.build(np.array([9.0, 0.0]), 1)
    near.hear(0, far.packet(np.zeros(3)), 1)
    assert near.path == []
    near = Bundle(1, 2, ways)
    near.build(np.array([9.0, 0.0]), 1)
    near.begin()
    near.hear(0, far.packet(np.zeros(3)), 1)
    far.hear(1, near.packet(np.zeros(3)), 1)
    assert (far.current, near.current) == (0, NOBODY)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["cbba", "hungarian"])
def test_all_tasks_are_done_though_packets_are_lost_and_a_vehicle_as_well(method):
    events = []
    agent = TasksAgent(
        4,
        count=12,
        area=40.0,
        method=method,
        loss=0.2,
        delay=0.1,
        lost="1@12",
        on_event=lambda t_us, name, **values: events.append((name, values)),
    )
    simulator = SimpleSimulator(grid(4))
    assert fly(simulator, agent, 300.0)
    assert agent.goals_reached() == {"tasks": (12, 12)}
    assert ("lost", {"vehicle": 1}) in events
    done = [values for name, values in events if name == "task" and values["state"] != "begun"]
    assert len(done) == 12 + agent.metrics()["tasks_done_twice"]
    assert simulator.landed.all()
    away = np.linalg.norm((simulator.pos - grid(4))[[0, 2, 3], :2], axis=1)
    assert away.max() < 0.5


@pytest.mark.slow
def test_all_kinds_are_flown(tmp_path):
    path = tmp_path / "tasks.csv"
    rows = [f"{kind},{kind},{5 * k},{-4 * k},6,1,3,3" for k, kind in enumerate(KINDS)]
    path.write_text("\n".join(["name,kind,x,y,size,seconds,to_x,to_y", *rows]) + "\n")
    agent = TasksAgent(2, tasks=str(path))
    assert fly(SimpleSimulator(grid(2)), agent, 300.0)
    assert agent.goals_reached() == {"tasks": (5, 5)}


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"lost": "9@3"}, "give vehicles 0 to 1"),
        ({"lost": "soon"}, "give VEHICLE@SECONDS"),
        ({"tasks": "nowhere.csv"}, "nowhere.csv"),
        ({"loss": 1.5}, "loss"),
    ],
)
def test_what_cannot_be_flown_is_refused_before_the_flight(options, line):
    with pytest.raises(XtdroneError, match=line):
        TasksAgent(2, **options)
