"""PLAN*COUNT: plans of anywhere on Earth, moved to where vehicles start."""

import itertools
import math

import numpy as np
import pytest

import plan_data
from xtdrone_autopilot.navigation.fleet_plans import moved, of_fleet
from xtdrone_autopilot.navigation.mission_items import FENCE, MISSION, RALLY
from xtdrone_autopilot.navigation.plan_file import load
from xtdrone_dynamics.constants import EARTH_RADIUS
from xtdrone_dynamics.earth.geodesy import to_local

WAYPOINT, TAKEOFF, LAND, SPEED = 16, 22, 21, 178
ORIGIN = math.radians(47.397742), math.radians(8.545594), 488.0
STARTS = (0.0, 0.0, 0.0), (400.0, -300.0, 0.0)
PLACES = (0.0, 0.0), (100.0, 0.0), (2500.0, 1800.0), (-3000.0, 40.0)  # east, north of home [m]
HOMES = {
    "72 km east": (47.5, 9.5),
    "equator": (0.0, 100.0),
    "latitude 0 and longitude 0": (0.0, 0.0),
    "date line, east": (-17.0, 179.999),
    "date line, west": (65.0, -179.999),
    "north pole": (89.99, 12.0),
    "south pole": (-89.995, -70.0),
    "antipode": (-47.397742, -171.454406),
}
ROUNDING = 0.02  # two places of 1e-7 degrees each [m]


def unit_vectors(items):
    angles = np.radians([[item.x * 1e-7, item.y * 1e-7] for item in items])
    lat, lon = angles.T
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def distances(items):
    """Distances of each two places, along straight lines through the Earth [m]."""
    vectors = unit_vectors(items) * EARTH_RADIUS
    return [np.linalg.norm(a - b) for a, b in itertools.combinations(vectors, 2)]


@pytest.fixture(params=HOMES.values(), ids=HOMES)
def planned(request, tmp_path):
    home = request.param
    items = [plan_data.item(WAYPOINT, x, y, 10.0, origin=home) for x, y in PLACES]
    return plan_data.write(tmp_path / "a.plan", *items, home=(*home, 120.0))


def test_a_plan_keeps_its_shape_wherever_it_is_planned(planned):
    given = load(planned).items[MISSION]
    for start, plan in zip(STARTS, of_fleet(f"{planned}*2", STARTS, ORIGIN), strict=True):
        assert distances(plan.items[MISSION]) == pytest.approx(distances(given), abs=ROUNDING)
        home = [math.radians(v) for v in plan.home[:2]]
        assert to_local(*home, *ORIGIN[:2]) == pytest.approx(start[:2], abs=1e-6)
        found = [to_local(*np.radians([k.x * 1e-7, k.y * 1e-7]), *home) for k in plan.items[0]]
        # Azimuths, too: north stays north at the planned home.
        assert np.allclose(found, PLACES, atol=ROUNDING)


def test_heights_above_the_sea_move_with_the_home(tmp_path):
    home = 0.5, 100.0
    items = [
        plan_data.item(WAYPOINT, 50.0, 0.0, 132.0, origin=home, frame=0),
        plan_data.item(WAYPOINT, 50.0, 0.0, 12.0, origin=home),
        {**plan_data.plain(SPEED, 1, 8), "frame": 0},
    ]
    path = plan_data.write(tmp_path / "a.plan", *items, home=(*home, 120.0))
    (plan,) = of_fleet(f"{path}*1", [(0.0, 0.0, 2.5)], ORIGIN)
    assert [item.z for item in plan.items[MISSION]] == [502.5, 12.0, 0.0]
    assert plan.items[MISSION][2] == load(path).items[MISSION][2]  # no place, nothing to move


def test_fence_and_rally_points_move_along(tmp_path):
    home = 0.5, 100.0
    fence = {
        "version": 2,
        "circles": [
            {"inclusion": True, "circle": {"center": plan_data.place(5, 6, home), "radius": 9}}
        ],
    }
    rally = {"version": 2, "points": [[*plan_data.place(-7, 8, home), 15.0]]}
    path = plan_data.write(tmp_path / "a.plan", home=(*home, 0.0), fence=fence, rallyPoints=rally)
    (plan,) = of_fleet(f"{path}*1", [(20.0, 0.0, 0.0)], ORIGIN)
    found = [plan.items[kind][0].position(ORIGIN, np.zeros(3))[:2] for kind in (FENCE, RALLY)]
    assert np.allclose(found, [(25.0, 6.0), (13.0, 8.0)], atol=0.02)


def test_a_plan_at_latitude_0_and_longitude_0_lands_at_home(tmp_path):
    """There the two zeros are a place; elsewhere they leave it open."""
    land = {**plan_data.plain(LAND), "frame": 3}
    at_zero = plan_data.write(tmp_path / "a.plan", land, home=(0.0, 0.0, 0.0))
    (plan,) = of_fleet(f"{at_zero}*1", STARTS[1:], ORIGIN)
    assert plan.items[MISSION][0].has_place
    elsewhere = plan_data.write(tmp_path / "b.plan", land, home=(1.0, 0.0, 0.0))
    (plan,) = of_fleet(f"{elsewhere}*1", STARTS[1:], ORIGIN)
    assert not plan.items[MISSION][0].has_place


def test_a_single_plan_keeps_its_shape_for_each_vehicle(tmp_path):
    far = [plan_data.item(WAYPOINT, 4000.0 * k, 3000.0 * k, 10.0) for k in range(4)]
    path = plan_data.write(tmp_path / "a.plan", *far)
    first, second = of_fleet(str(path), [(5.0, 0.0, 0.0), (3000.0, 0.0, 0.0)], ORIGIN)
    assert first == load(path)
    given, found = (distances(plan.items[MISSION]) for plan in (first, second))
    assert found == pytest.approx(given, abs=ROUNDING)


def test_a_plan_that_stays_is_not_rounded(planned):
    plan = load(planned)
    assert moved(plan, ORIGIN[:2], ORIGIN[:2]) is plan
