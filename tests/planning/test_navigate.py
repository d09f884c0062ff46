"""The Agent navigate: refusals, random worlds as SDF, a flight between trees."""

import numpy as np
import pytest

import xtdrone as xd
from xtdrone_core.command import main
from xtdrone_core.errors import XtdroneError
from xtdrone_core.runs import run_folder
from xtdrone_planning.agent import NavigateAgent, read_goals
from xtdrone_planning.exploration.agent import ExploreAgent
from xtdrone_planning.forest import objects_of, write_world
from xtdrone_planning.maps.voxel_map import VoxelMap
from xtdrone_planning.results import Case, Kept, Result, Scene, summary
from xtdrone_planning.table import fly, shortest_way


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: NavigateAgent(2), "n = 2 is not allowed"),
        (lambda: NavigateAgent(1, goal="1,2"), "goal '1,2' is not allowed"),
        (lambda: NavigateAgent(1, goal="1,2,nan"), "give x,y,z in metres"),
        (lambda: NavigateAgent(1, goal="here"), "give x,y,z in metres"),
        (lambda: NavigateAgent(1, planner="teleport"), "teleport"),
        (lambda: NavigateAgent(1, low=3.0, high=2.0), "high 2 m is not allowed"),
        (lambda: ExploreAgent(1, area="1,2,0,3"), "area '1,2,0,3' is not allowed"),
        (lambda: objects_of("no_such_world", 0), "no_such_world"),
    ],
)
def test_refusals_are_one_line(make, message):
    with pytest.raises(XtdroneError, match=message) as error:
        make()
    assert "\n" not in str(error.value)


def test_a_vehicle_without_eyes_is_refused():
    agent = NavigateAgent(1)
    scenario = xd.Scenario(vehicles="iris", log="none")
    with (
        pytest.raises(XtdroneError, match="neither a depth camera nor a lidar"),
        xd.Simulation(scenario, agent=agent),
    ):
        pass


def test_an_area_without_the_start_is_refused():
    agent = ExploreAgent(1, area="3,-10,23,10")
    scenario = xd.Scenario(vehicles="iris_depth_small", world="hall", log="none")
    with (
        pytest.raises(XtdroneError, match="the vehicle begins at 0,0, outside of the area 3,-10"),
        xd.Simulation(scenario, agent=agent),
    ):
        pass


def test_several_goals_are_read():
    assert read_goals("1,2,3; -4,5,6").tolist() == [[1.0, 2.0, 3.0], [-4.0, 5.0, 6.0]]


@pytest.mark.slow
def test_a_random_world_stands_in_the_simulation_as_in_the_batch(tmp_path, capsys):
    path = tmp_path / "forest.world"
    assert main(["planning", "world", "woods", "--seed", "5", "--out", str(path)]) == 0
    assert "200 objects" in capsys.readouterr().out
    again = tmp_path / "again.world"
    write_world(again, "woods", 5)
    assert path.read_bytes() == again.read_bytes()
    from xtdrone_sim.world.sdf_world import load_world

    world = load_world(path)
    assert len(world.shapes) >= 200


def test_the_shortest_way_goes_around_what_stands_there():
    objects = objects_of("woods", 0)[:2].copy()
    start, goal = np.array([0.0, 0.0, 2.0]), np.array([8.0, 0.0, 2.0])
    objects["pos"][:] = (4.0, 0.0, 2.0), (40.0, 20.0, 2.0)
    objects["quat"][:] = 0.0, 0.0, 0.0, 1.0
    objects["size"][:, 0] = 1.0
    around = 2.0 * (np.hypot(4.0, 0.0) ** 2 - 1.36**2) ** 0.5 + 1.36 * 2.0 * np.arcsin(1.36 / 4.0)
    assert shortest_way(objects, start, goal) == pytest.approx(around, rel=0.05)
    objects["pos"][0] = 4.0, 5.0, 2.0
    assert shortest_way(objects, start, goal) == pytest.approx(8.0, rel=0.01)


def test_the_table_counts_what_was_untouched_at_the_goal():
    good, bad = result(), result(1, touched="iris_0 and tree")
    assert "| local | 3 | 2 | 1 (50 %) | 1 | 1.018 |" in summary([good, bad])[-1]
    assert "touched iris_0 and tree" in str(bad)


@pytest.mark.long
def test_it_flies_through_a_forest_that_it_has_not_known(tmp_path, runs, capsys):
    path = tmp_path / "forest.world"
    write_world(path, "woods", 2)
    command = ["fly", "navigate", "--vehicle", "iris_depth", "--world", str(path), "--set"]
    assert main([*command, "goal=14,0,2", "--name", "navigate"]) == 0
    assert "held" not in capsys.readouterr().out  # nothing was held
    folder = runs / "navigate"
    summary = run_folder.read_summary(folder)
    assert summary["goals_reached"] == 1
    assert not summary["crashes"] and not summary["collisions"]
    assert summary["way_m"] < 1.2 * 14.0
    assert len(VoxelMap.read(folder / "map.npz").occupied()) > 1000
    assert (folder / "plots" / "navigation.png").stat().st_size > 10_000


def result(seed=0, **changes):
    row = dict(reached=True, touched="", way=57.0, shortest=56.0, seconds=20.0, reason="")
    return Result(Case("local", 3.0), Scene("woods", seed), **{**row, **changes}, plan_ms=5.0)


def test_flights_that_are_kept_are_not_flown_again(tmp_path):
    path = tmp_path / "table.jsonl"
    kept = Kept(path)
    kept.add(result(0))
    kept.add(result(1, touched="iris_0 and a tree"))
    # A program that was killed leaves half a line, which goes.
    path.write_text(path.read_text() + '{"case": {"pla')
    kept = Kept(path)
    kept.add(result(2))
    scenes = [Scene("woods", seed) for seed in range(3)]
    flown = list(fly(scenes, [Case("local", 3.0)], Kept(path)))
    assert [row.success for row in flown] == [True, False, True]
    assert len(path.read_text().splitlines()) == 3


@pytest.mark.parametrize("line", ["{}", "nonsense", '{"case": 3}', "[]"])
def test_a_file_that_holds_no_results_is_refused(tmp_path, line, capsys):
    path = tmp_path / "table.jsonl"
    path.write_text(line + "\n")
    assert main(["planning", "table", "--out", str(path)]) == 1
    assert "line 1 of" in capsys.readouterr().err


def test_a_planner_of_a_user_is_a_class_of_one_method(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_planners.py").write_text(
        "from xtdrone_planning.planners.planner import Plan\n"
        "class Patient:\n"
        "    def plan(self, situation):\n"
        "        return Plan(None, reason='not yet')\n"
        "class Nothing:\n"
        "    pass\n"
    )
    assert NavigateAgent(1, planner="my_planners:Patient").goals().tolist() == [[20.0, 0.0, 2.0]]
    for name, message in (("Nothing", "plan"), ("Missing", "Missing")):
        with pytest.raises(XtdroneError, match=message) as error:
            NavigateAgent(1, planner=f"my_planners:{name}")
        assert "\n" not in str(error.value)
