"""Splines through points, the nearest point, speeds, and the field around them."""

import json
import math

import numpy as np
import pytest

from xtdrone_core.errors import XtdroneError
from xtdrone_guidance.fields import VectorField
from xtdrone_guidance.paths import SplinePath, reachable, read_path, read_points

BEND = np.array([[0.0, 0.0, 0.0], [6.0, 2.0, 1.0], [10.0, -3.0, 0.0], [14.0, 0.0, 2.0]])


@pytest.fixture
def circle():
    """A circle of radius 2 m about (-2, 0, 0), counter-clockwise."""
    phases = np.linspace(0.0, 2.0 * math.pi, 40, endpoint=False)
    points = np.stack([2.0 * np.cos(phases) - 2.0, 2.0 * np.sin(phases), 0.0 * phases], axis=1)
    return SplinePath(points, closed=True)


def test_a_closed_path_has_the_length_and_curvature_of_its_circle(circle):
    assert circle.length == pytest.approx(4.0 * math.pi, rel=1e-3)
    for s in np.linspace(0.0, circle.length, 9):
        point = circle.at(s)
        inwards = [-2.0, 0.0, 0.0] - point.pos
        assert np.linalg.norm(point.curvature) == pytest.approx(0.5, rel=0.02)
        assert point.curvature @ inwards == pytest.approx(1.0, rel=0.02)
        assert point.tangent @ inwards == pytest.approx(0.0, abs=0.01)


def test_a_path_has_two_points_and_a_closed_one_three():
    line = SplinePath(np.array([[0.0, 0.0, 0.0], [3.0, 4.0, 0.0]]), closed=False)
    assert np.linalg.norm(line.points[-1] - line.points[0]) == pytest.approx(5.0)
    SplinePath(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), closed=True)
    with pytest.raises(XtdroneError, match="a closed path of 2 points"):
        SplinePath(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), closed=True)


def test_an_open_path_goes_through_its_points_and_ends_there():
    path = SplinePath(BEND, closed=False)
    for point in BEND:
        assert np.linalg.norm(path.nearest(point).pos - point) < 0.01
    assert path.at(path.length + 5.0).pos == pytest.approx(BEND[-1])
    assert path.speeds(4.0, 3.0)[[0, -1]] == pytest.approx([0.0, 0.0])


def test_the_nearest_point_is_that_of_a_search_through_all(circle):
    rng = np.random.default_rng(5)
    for path in (circle, SplinePath(BEND, closed=False)):
        for place in rng.uniform(-4.0, 12.0, (20, 3)):
            best = np.linalg.norm(path.points - place, axis=1).min()
            assert np.linalg.norm(path.nearest(place).pos - place) <= best + 1e-9


def test_where_a_path_crosses_itself_the_branch_is_kept():
    path = read_path("eight", closed=False)
    crossing = np.array([0.0, 0.0, 0.0])
    first = path.nearest(crossing, near=0.0)
    second = path.nearest(crossing, near=0.5 * path.length)
    assert abs(first.tangent @ second.tangent) < 0.9
    assert second.arc_length == pytest.approx(0.5 * path.length, abs=0.1)


def test_the_speed_obeys_the_acceleration_in_bends_and_along_the_path():
    path = read_path("eight", closed=False)
    speeds = path.speeds(6.0, 3.0)
    across = speeds**2 * [np.linalg.norm(path.at(s).curvature) for s in path.arc_lengths]
    along = np.diff(speeds**2) / (2.0 * np.diff(path.arc_lengths))
    assert across.max() <= 3.0 * 1.01
    assert np.abs(along).max() <= 3.0 * 1.01
    assert speeds[0] == pytest.approx(speeds[-1])


@pytest.mark.parametrize("place", [2, 5])
def test_who_has_to_turn_with_all_of_the_acceleration_gains_no_speed_there(place):
    """From 1 m/s with 2 m/s^2 over steps of 0.5 m, but for the one after a bend; then backwards."""
    squares = 1.0 + 2.0 * (np.arange(9) - (np.arange(9) > place))
    bend = np.zeros(9)
    bend[place] = 2.0 / squares[place]
    fastest = np.full(9, 100.0)
    fastest[0] = 1.0
    found = reachable(fastest, 0.5, 2.0, bend)
    assert found**2 == pytest.approx(squares)
    assert reachable(fastest[::-1], 0.5, 2.0, bend[::-1]) == pytest.approx(found[::-1])


def test_the_field_leads_along_the_path_and_points_at_it_from_afar(circle):
    field = VectorField(circle, speed=1.0, width=0.5)
    on = field.at(np.array([0.0, 0.0, 0.0]))
    assert on.vel == pytest.approx([0.0, 1.0, 0.0], abs=0.02)
    assert on.acc == pytest.approx([-0.5, 0.0, 0.0], abs=0.05)  # of the circle, v^2/r
    off = field.at(np.array([0.5, 0.0, 0.0]))
    assert -off.vel[0] == pytest.approx(off.vel[1], rel=0.05)  # half towards it, at its width
    far = field.at(np.array([30.0, 0.0, 0.0]))
    assert far.vel[0] < -0.95 and abs(far.vel[1]) < 0.05


def test_who_follows_the_field_comes_to_the_path(circle):
    field = VectorField(circle, speed=2.0)
    place, near = np.array([5.0, -4.0, 3.0]), None
    for _ in range(1000):
        guided = field.at(place, near)
        near = guided.nearest.arc_length
        place = place + 0.01 * guided.vel
    assert field.at(place, near).distance < 0.02


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0,0,0\n", "a path of 1 points is not allowed: give 2 or more"),
        ("0,0,0\n1,2\n", "row 2 of path"),
        ("0,0,0\n1,x,2\n", "give x,y,z in metres"),
        ("0,0,0\n0,0,0\n1,0,0\n", "points 1 and 2 of the path are at the same place"),
        ("0,0,0\n1e6,0,0\n", "up to 10000"),
    ],
)
def test_a_file_that_is_no_path_is_refused_with_the_reason(tmp_path, text, reason):
    file = tmp_path / "path.csv"
    file.write_text(text)
    with pytest.raises(XtdroneError, match=reason):
        read_path(str(file), closed=False)


def test_an_unknown_name_is_refused_with_those_that_there_are():
    with pytest.raises(XtdroneError, match="unknown path 'oval'.*eight.*or give a .csv"):
        read_path("oval", closed=False)


def mission(*items, home=(47.3977, 8.5456, 488.0)):
    """The text of a .plan with items of (command, frame, latitude, longitude, height)."""
    return json.dumps(
        {
            "fileType": "Plan",
            "version": 1,
            "groundStation": "QGroundControl",
            "mission": {
                "version": 2,
                "plannedHomePosition": home,
                "items": [
                    {
                        "type": "SimpleItem",
                        "command": command,
                        "frame": frame,
                        "autoContinue": True,
                        "params": [0, 0, 0, None, *place],
                    }
                    for command, frame, *place in items
                ],
            },
            "geoFence": {"version": 2, "polygons": [], "circles": []},
            "rallyPoints": {"version": 2, "points": []},
        }
    )


TAKE_OFF, WAY_POINT, TURNS, LANDING = 22, 16, 18, 21
NORTH = 47.3977 + 100.0 / 111_180.0  # [deg]


def test_a_mission_is_a_path_through_its_way_points(tmp_path):
    file = tmp_path / "flight.plan"
    file.write_text(
        mission(
            (TAKE_OFF, 3, 47.3977, 8.5456, 10.0),
            (WAY_POINT, 3, NORTH, 8.5456, 20.0),
            (TURNS, 3, NORTH, 8.5456, 20.0),
            (WAY_POINT, 0, 47.3977, 8.5456, 488.0 + 30.0),
            (LANDING, 3, 47.3977, 8.5456, 0.0),
        )
    )
    points = read_points(str(file), "path", height=5.0)
    assert points == pytest.approx(np.array([[0.0, 100.0, 15.0], [0.0, 0.0, 25.0]]), abs=0.3)


@pytest.mark.parametrize(
    ("items", "home", "reason"),
    [
        ([(TAKE_OFF, 3, 47.3977, 8.5456, 10.0)], (47.3977, 8.5456, 0.0), "has no way-point"),
        ([(WAY_POINT, 3, 47.3977, 8.5456, 10.0)], (47.3977, 8.5456, 0.0), "of 1 points"),
        (
            [(WAY_POINT, 3, 47.3977, 8.5456, 10.0), (WAY_POINT, 3, 47.4, 8.5456, 10.0)],
            (40.0, 8.5456, 0.0),
            "farther than 10000 m from its home",
        ),
    ],
)
def test_a_mission_that_is_no_path_is_refused_in_one_line(tmp_path, items, home, reason):
    file = tmp_path / "flight.plan"
    file.write_text(mission(*items, home=home))
    with pytest.raises(XtdroneError, match=reason) as caught:
        read_path(str(file), closed=False)
    assert "\n" not in str(caught.value)
