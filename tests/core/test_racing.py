"""Race tracks, the timing of laps, and ghosts."""

import itertools
import json

import numpy as np
import pytest

from race_run import write_run
from xtdrone_core import Scenario, ScenarioError, XtdroneError, resources
from xtdrone_core.racing import ghost
from xtdrone_core.racing.laps import Laps
from xtdrone_core.racing.track import Gate, Track, read_track
from xtdrone_core.scenario.vehicles import fleet

# A square of 10 m, flown counter-clockwise.
SQUARE = Track(
    "square",
    "",
    2,
    tuple(
        Gate(pos, yaw, 0.0, 2.0, 1.0)
        for pos, yaw in (
            ((5, 0, 2), 0.0),
            ((10, 5, 2), np.pi / 2),
            ((5, 10, 2), np.pi),
            ((0, 5, 2), -np.pi / 2),
        )
    ),
)
ROUND = ((0, 0, 2), (10, 0, 2), (10, 10, 2), (0, 10, 2), (0, 0, 2))


def fly(laps, corners, speed=10.0, step_us=20_000, begin_us=0):
    """Flies one vehicle along straight ways; returns the passages and the end [us]."""
    found, t = [], begin_us
    for a, b in itertools.pairwise(corners):
        count = round(np.linalg.norm(np.subtract(b, a)) / (speed * step_us * 1e-6))
        for k in range(count):
            found += laps.step(t, np.array([a], float) + k / count * np.subtract(b, a))
            t += step_us
    return found, t


def test_laps_and_splits_are_interpolated():
    laps = Laps(SQUARE, 1)
    found, t = fly(laps, [*ROUND, *ROUND[1:], *ROUND[1:2]], speed=7.3, step_us=36_000)
    # The first gate is 5 m from the start, the others 10 m apart.
    assert [(p.gate, p.lap) for p in found] == [
        (0, 1),
        (1, 1),
        (2, 1),
        (3, 1),
        (0, 2),
        (1, 2),
        (2, 2),
        (3, 2),
        (0, 3),
    ]
    # A side takes a whole number of steps, so that corners are not cut.
    side_s = round(10 / 7.3 / 0.036) * 0.036
    assert found[0].t_s == pytest.approx(0.5 * side_s, abs=1e-9)
    assert [p.split_s for p in found[1:5]] == pytest.approx([side_s * k for k in (1, 2, 3, 4)])
    assert found[4].lap_s == pytest.approx(4 * side_s) and found[4].best
    assert laps.lap[0] == 3 and laps.missed[0] == 0
    assert [lap["splits"][-1] for lap in laps.flown[0]] == pytest.approx([4 * side_s] * 2)
    assert not fly(laps, ROUND, begin_us=t)[0]  # after the finish nothing counts


def test_only_openings_in_their_direction_and_order_count():
    laps = Laps(SQUARE, 1)
    assert fly(laps, ROUND[::-1])[0] == []  # the wrong way round
    laps = Laps(SQUARE, 1)
    # Too high for the first gate: the way begins 1 m above, and the other gates do not count.
    assert fly(laps, [(x, y, 3.0) for x, y, _ in ROUND])[0] == [] and laps.lap[0] == 0
    assert laps.missed[0] == 0  # there is no race yet
    laps = Laps(SQUARE, 1)
    beside = [(0, 0, 2), (8, 0, 2), (8, 10, 2), (0, 10, 2), (0, 6, 2)]
    found, _ = fly(laps, beside)
    assert [(p.gate, p.missed) for p in found] == [(0, False), (1, True)]
    assert laps.next[0] == 1 and laps.missed[0] == 1 and laps.count[0] == 2
    far = [(0, 0, 2), (3, 0, 2), (7, 0, 2), (2, 0, 9), (2, 10, 9)]
    laps = Laps(SQUARE, 1)
    assert [p.missed for p in fly(laps, far)[0]] == [False]  # too far away to have been tried


def test_best_lap_is_the_quicker_one():
    laps = Laps(SQUARE, 1)
    first, t = fly(laps, [*ROUND, *ROUND[1:2]], speed=5.0)
    second, _ = fly(laps, [(10, 0, 2), *ROUND[2:], *ROUND[1:2]], speed=10.0, begin_us=t)
    assert [p.best for p in first + second if p.lap_s] == [True, True]
    assert laps.best[0, -1] == pytest.approx(second[-1].lap_s)
    assert second[-1].lap_s < first[-1].lap_s


def test_reset_and_snapshot():
    laps = Laps(SQUARE, 2)
    for k in range(200):
        laps.step(k * 20_000, np.array([[0.2 * k, 0, 2], [0.1 * k, 0, 2.0]]))
    saved = laps.save()
    assert laps.lap.tolist() == laps.count.tolist() == [1, 1]
    laps.reset(np.array([True, False]))
    assert laps.lap.tolist() == [0, 1] and np.isnan(laps.began_s[0])
    other = Laps(SQUARE, 2)
    other.load(saved)
    assert other.lap.tolist() == [1, 1] and other.began_s.tolist() == saved["began_s"].tolist()


def test_pitched_gate():
    gate = Gate((0, 0, 3), 0.0, 0.5, 2.0, 2.0)
    along, left, up = gate.axes()
    assert along == pytest.approx((np.cos(0.5), 0, np.sin(0.5)))
    assert np.cross(along, left) == pytest.approx(up)
    assert all(max(np.abs(pos[1:])) == pytest.approx(1.05) for pos, _ in gate.bars())


@pytest.mark.parametrize("name", resources.track_names())
def test_tracks_of_the_workspace(name):
    track = read_track(name)
    assert track.about and len(track.gates) >= 4
    apart = [
        np.linalg.norm(np.subtract(a.pos, b.pos))
        for a, b in zip(track.gates, (*track.gates[1:], track.gates[0]))
    ]
    assert min(apart) > 2.0


@pytest.mark.parametrize(
    "text, told",
    [
        ("gates: []", "2 to 100"),
        ("laps: 2", "no 'gates'"),
        ("gates: 3", "2 to 100"),
        ("gates: [{pos: [0, 0, 3]}, {yaw: 1}]", "gate 2 has no 'pos'"),
        ("gates: [{pos: [0, 0, 3]}, {pos: [1, 2]}]", "give 3 numbers"),
        ("gates: [{pos: [0, 0, 3]}, {pos: [5, 0, 3], size: 0.1}]", "size"),
        ("gates: [{pos: [0, 0, 3]}, {pos: [5, 0, 3], size: [1, 2, 3]}]", "1 or 2 numbers"),
        ("gates: [{pos: [0, 0, 3]}, {pos: [5, 0, 0.5]}]", "into the ground"),
        ("gates: [{pos: [0, 0, 3]}, {pos: [5, 0, 3], roll: 1}]", "'roll', which is not known"),
        ("gates: [{pos: [0, 0, 3]}, {pos: [5, 0, 3]}]\nlaps: 0", "laps"),
        ("gates: [{pos: [0, 0, 3]}, {pos: [5, 0, x]}]", "pos of"),
        ("[1, 2]", "mapping"),
    ],
)
def test_bad_tracks_are_refused_in_a_line(tmp_path, text, told):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ScenarioError, match=told) as caught:
        read_track(path)
    assert "\n" not in str(caught.value) and "mine.yaml" in str(caught.value)


def test_scenario_refuses_unknown_tracks_and_ghosts_without_one():
    with pytest.raises(ScenarioError, match="eight, park"):
        Scenario(fleet("iris", 1), track="ate")
    with pytest.raises(ScenarioError, match="needs a track"):
        Scenario(fleet("iris", 1), ghost="latest")


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A run `old` with two laps of the track eight."""
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    write_run(tmp_path / "old", "eight", ((1.0, 3.0), (4.0, 2.0)))
    return tmp_path


def test_ghost_is_the_best_lap(runs):
    track = read_track("eight")
    found = ghost.read_ghost("old", track)
    assert (found.run, found.vehicle, found.type) == ("old", "iris_0", "iris")
    assert found.splits[-1] == 2.0
    assert found.t[0] <= 0.0 and found.t[-1] >= 2.0 and len(found.t) <= 104
    assert found.pose[:, 0] == pytest.approx(found.t + 4.0)
    assert json.loads(json.dumps(found.plain()))["splits"][-1] == 2.0
    assert ghost.runs_with(track) == [{"run": "old", "best_s": 2.0}]
    assert ghost.runs_with(read_track("park")) == []


def test_runs_that_cannot_be_ghosts(runs):
    with pytest.raises(XtdroneError, match="no whole lap of track 'park'"):
        ghost.read_ghost("old", read_track("park"))
    with pytest.raises(XtdroneError, match="no run 'new'"):
        ghost.read_ghost("new", read_track("eight"))
    path = runs / "old" / "summary.json"
    path.write_text(path.read_text().replace('"began_s"', '"begun"'))
    with pytest.raises(XtdroneError, match="damaged"):
        ghost.read_ghost("old", read_track("eight"))
    assert ghost.runs_with(read_track("eight")) == []


def test_way_points_are_passed_in_any_direction_where_their_balls_are_entered():
    balls = Track(
        "balls", "", 1, tuple(Gate((x, 0.0, 2.0), 0.0, 0.0, 1.0, 1.0, 0.5) for x in (0.0, 10.0))
    )
    laps = Laps(balls, 1)
    found, _ = fly(laps, [(-5, 0.3, 2), (15, 0.3, 2), (-5, -0.6, 2), (-5, 0.3, 2), (5, 0.3, 2)])
    # The way back passes beside the first one, 0.6 m from its middle.
    assert [(p.gate, p.lap) for p in found] == [(0, 1), (1, 1), (0, 2)]
    before = np.sqrt(0.5**2 - 0.3**2)
    assert found[0].t_s == pytest.approx((5.0 - before) / 10.0, abs=1e-3)
    assert found[1].split_s == pytest.approx(1.0, abs=1e-3)


def test_a_track_of_way_points_is_read():
    track = read_track("split_s")
    assert [gate.radius for gate in track.gates] == [0.3] * 7
    assert track.start == (-5.0, 4.5, 1.2) and track.end == (4.75, -0.9, 1.2)
    assert track.laps * len(track.gates) + track.beyond == 19
    assert track.gates[0].bars() == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {pos: [0, 0, 2], radius: 0}", "radius of track .* gate 1"),
        ("- {pos: [0, 0, 2], radius: 0.3, yaw: 1}", "'yaw', which is not known"),
        ("- {pos: [0, 0, 2]}\nbeyond: 3", "beyond of track"),
        ("- {pos: [0, 0, 2]}\nstart: [1, 2]", "start of track .* 3 numbers"),
    ],
)
def test_way_points_that_are_refused(tmp_path, text, message):
    path = tmp_path / "own.yaml"
    path.write_text("gates:\n- {pos: [3, 0, 2]}\n" + text)
    if "radius" in text:
        message = message.replace("gate 1", "gate 2")
    with pytest.raises(ScenarioError, match=message):
        read_track(path)


def test_a_gate_that_moves_is_passed_where_it_is(tmp_path):
    path = tmp_path / "swing.yaml"
    path.write_text(
        "gates: [{pos: [0, 0, 3], size: 1.0, move: [0, 2, 0], period: 4}, {pos: [9, 0, 3]}]"
    )
    track = read_track(path)
    assert track.moving == (0,)
    assert track.gates[0].displacement(1.0) == pytest.approx([0.0, 2.0, 0.0])
    for aside, passed in ((2.0, True), (0.0, False)):
        laps = Laps(track, 1)
        found = [
            passage
            for t_us, x in ((900_000, -0.5), (1_000_000, 0.1), (1_100_000, 0.5))
            for passage in laps.step(t_us, np.array([[x, aside, 3.0]]))
        ]
        assert [p.gate for p in found] == [0] * passed


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("{pos: [0, 0, 3], move: [0, 1]}", "move of track .* give 3 numbers"),
        ("{pos: [0, 0, 3], move: [0, 1, 0], period: 0}", "period of track"),
        ("{pos: [0, 0, 2], move: [0, 0, 1.5]}", "reaches 0.50 m into the ground"),
    ],
)
def test_a_gate_that_cannot_move_so_is_refused(tmp_path, gate, message):
    path = tmp_path / "swing.yaml"
    path.write_text(f"gates: [{gate}, {{pos: [9, 0, 3]}}]")
    with pytest.raises(ScenarioError, match=message):
        read_track(path)
