"""QGroundControl's complex items: what the vehicle gets for them."""

import itertools
import json
import math

import numpy as np
import pytest

import plan_data
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.navigation.mission_items import MISSION
from xtdrone_autopilot.navigation.plan_file import load, save
from xtdrone_dynamics.earth.geodesy import to_local

ABOVE_HOME, ABOVE_SEA, NO_PLACE = 3, 0, 2  # frames
APPROACH, LANDING = (-300.0, 20.0), (0.0, 0.0)  # east, north of home [m]


def landing(kind, version, **more):
    return {
        "type": "ComplexItem",
        "complexItemType": kind,
        "version": version,
        "altitudesAreRelative": True,
        "landCoordinate": [*plan_data.place(*LANDING), 0],
        "landingApproachCoordinate": [*plan_data.place(*APPROACH), 40],
        "loiterClockwise": True,
        "loiterRadius": 75,
        "useLoiterToAlt": True,
        **more,
    }


def structure(**more):
    camera = {"AdjustedFootprintFrontal": 4, "AdjustedFootprintSide": 3, "DistanceToSurface": 5}
    return {
        "type": "ComplexItem",
        "complexItemType": "StructureScan",
        "version": 3,
        "CameraCalc": camera,
        "EntranceAltitude": 30,
        "GimbalPitch": -10,
        "Layers": 2,
        "ScanBottomAlt": 6,
        "StructureHeight": 14,
        "StartFromTop": False,
        "polygon": [plan_data.place(x, y) for x, y in ((0, 0), (0, 20), (10, 20), (10, 0))],
        **more,
    }


def transects(kind, items=None, version=1):
    inner = {"version": version}
    if items is not None:
        inner["Items"] = items
    return {
        "type": "ComplexItem",
        "complexItemType": kind,
        "version": 5 if kind == "survey" else 2,
        "TransectStyleComplexItem": inner,
    }


@pytest.fixture
def read(tmp_path):
    """The mission of a plan of these items."""

    def mission(*items):
        return load(plan_data.write(tmp_path / "a.plan", *items)).items[MISSION]

    return mission


def local(item):
    """East and north of home [m]."""
    radians = math.radians(item.x * 1e-7), math.radians(item.y * 1e-7)
    return to_local(*radians, *map(math.radians, plan_data.ORIGIN))


@pytest.mark.parametrize(
    "kind, version, land", [("fwLandingPattern", 2, 21), ("vtolLandingPattern", 1, 85)]
)
@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("clockwise", [True, False])
def test_a_landing_pattern_is_start_approach_and_landing(
    read, kind, version, land, relative, clockwise
):
    start, approach, end = read(
        landing(kind, version, altitudesAreRelative=relative, loiterClockwise=clockwise)
    )
    frame = ABOVE_HOME if relative else ABOVE_SEA
    assert (start.command, start.frame, start.params) == (189, NO_PLACE, (0.0,) * 4)
    assert (approach.command, approach.frame, approach.z) == (31, frame, 40.0)
    assert approach.params == (1.0, 75.0 if clockwise else -75.0, 0.0, 1.0)
    assert local(approach) == pytest.approx(APPROACH, abs=0.02)
    assert (end.command, end.frame, end.z) == (land, frame, 0.0)
    assert math.isnan(end.params[3]) == (land == 85)
    assert local(end) == pytest.approx(LANDING, abs=0.02)


def test_a_landing_pattern_may_use_a_waypoint_speed_and_camera(read):
    items = read(
        landing(
            "fwLandingPattern",
            2,
            useLoiterToAlt=False,
            useDoChangeSpeed=True,
            finalApproachSpeed=14.9,  # which is sent as a whole number
            stopTakingPhotos=True,
            stopVideoPhotos=True,
        )
    )
    assert [item.command for item in items] == [189, 178, 206, 2001, 2501, 16, 21]
    assert items[1].params == (0.0, 14.0, -1.0, 0.0)
    assert math.isnan(items[5].params[3])  # any heading


@pytest.mark.parametrize(
    "relative, frame", [((True, True), 3), ((False, False), 0), ((True, False), 3)]
)
def test_a_landing_pattern_of_version_1(read, relative, frame):
    old = landing("fwLandingPattern", 1)
    old["loiterCoordinate"] = old.pop("landingApproachCoordinate")
    del old["altitudesAreRelative"]
    old["loiterAltitudeRelative"], old["landAltitudeRelative"] = relative
    assert [(item.command, item.frame) for item in read(old)[1:]] == [(31, frame), (21, frame)]


@pytest.mark.parametrize("kind", ["survey", "CorridorScan"])
def test_surveys_and_corridors_are_the_items_that_are_stored(read, kind):
    """With the gates between which QGroundControl triggers the camera."""
    gate = plan_data.item(4501, 12, 0, 20, (0, 0, 0, 0))
    inner = [plan_data.item(16, 10, 0, 20), gate, plan_data.plain(206, 25, 0, 1)]
    items = read(transects(kind, [*inner, plan_data.item(16, 20, 0, 20)], 2))
    assert [item.command for item in items] == [16, 4501, 206, 16]
    assert [round(local(item)[0]) for item in items if item.frame == ABOVE_HOME] == [10, 12, 20]


@pytest.mark.parametrize("from_top, heights", [(False, (8.0, 12.0)), (True, (12.0, 8.0))])
def test_a_structure_is_flown_round_in_layers(read, from_top, heights):
    """5 m off its walls, closed rounds, the camera triggered every 3 m, in and out at 30 m."""
    items = read(structure(StartFromTop=from_top))
    layer = [16, 206, 16, 16, 16, 16, 206]
    assert [item.command for item in items] == [16, 196, *layer, *layer, 197, 16]
    corners = [(-5, -5), (-5, 25), (15, 25), (15, -5), (-5, -5)]
    rounds = [item for item in items if item.command == 16][1:-1]
    assert np.allclose([local(item) for item in rounds], corners * 2, atol=0.02)
    assert [item.z for item in rounds] == [height for height in heights for _ in range(5)]
    assert [item.params[:3] for item in items if item.command == 206] == [(3, 0, 1), (0, 0, 0)] * 2
    assert items[0].z == items[-1].z == 30.0 and local(items[0]) == local(items[-1])


@pytest.mark.parametrize("turned", [False, True])
def test_the_way_round_a_structure_is_outside_whichever_way_it_is_drawn(read, turned):
    corners = [(0, 0), (0, 20), (5, 20), (10, 20), (10, 0)]  # with a vertex on an edge
    drawn = [plan_data.place(*corner) for corner in (corners[::-1] if turned else corners)]
    rounds = [item for item in read(structure(polygon=drawn)) if item.command == 16]
    east, north = np.array([local(item) for item in rounds]).T
    assert (east.min(), east.max()) == pytest.approx((-5, 15), abs=0.02)
    assert (north.min(), north.max()) == pytest.approx((-5, 25), abs=0.02)


def test_jumps_lead_over_what_is_expanded(read):
    """doJumpIds of a survey's items count last."""
    first = {**plan_data.item(16, 5, 0, 10), "doJumpId": 2}
    survey = transects("survey", [{**plan_data.item(16, 9, 0, 10), "doJumpId": k} for k in (2, 3)])
    items = read(survey, first, {**plan_data.plain(177, 2, 1), "doJumpId": 9})
    assert items[-1].params[0] == 2.0


def test_what_was_expanded_is_saved_as_simple_items(read, tmp_path):
    given = plan_data.write(tmp_path / "b.plan", landing("fwLandingPattern", 2), structure())
    save(tmp_path / "c.plan", load(given))
    assert repr(load(tmp_path / "c.plan").items) == repr(load(given).items)


def without(entry, key):
    return {name: value for name, value in entry.items() if name != key}


@pytest.mark.parametrize(
    "entry, said",
    [
        (transects("survey"), "'survey' has no Items.*save the plan again in QGroundControl"),
        (transects("CorridorScan"), "'CorridorScan' has no Items"),
        (transects("survey", [], 7), "'survey': version 7 is not supported, 1, 2 are"),
        (landing("fwLandingPattern", 3), "'fwLandingPattern': version 3 is not supported, 1, 2"),
        (landing("vtolLandingPattern", 2), "version 2 is not supported, 1 is"),
        (structure(version=2), "'StructureScan': version 2 is not supported, 3 is"),
        (without(landing("fwLandingPattern", 2), "loiterRadius"), "has no loiterRadius"),
        (landing("vtolLandingPattern", 1, loiterRadius="big"), "loiterRadius of .* give a number"),
        (
            landing("vtolLandingPattern", 1, landCoordinate=[1, 2]),
            "landCoordinate .* needs latitude",
        ),
        (landing("vtolLandingPattern", 1, useLoiterToAlt=3), "give true or false"),
        (structure(Layers=1e9), "layers of 4 waypoints: a mission may have 2000 items"),
        (structure(Layers=0), "0 layers"),
        (structure(polygon=[[47, 8], [47, 9]]), "needs three vertices"),
        (structure(polygon=[[47, 8], [47, 8], [47, 9]]), "has a vertex twice"),
        ({"type": "ComplexItem", "complexItemType": "spiral"}, "'spiral' is not known.*survey"),
        ({"type": "ComplexItem", "complexItemType": ["survey"]}, "is not known"),
    ],
)
def test_what_cannot_be_expanded_is_refused_with_the_reason(read, entry, said):
    with pytest.raises(AutopilotError, match=said) as refused:
        read(entry)
    assert "\n" not in str(refused.value)


def test_places_apart_from_the_parameters_are_read(read):
    """As QGroundControl wrote them in 2016."""
    old = plan_data.item(16, 30, 0, 10)
    *old["params"], latitude, longitude, height = old["params"]
    old["coordinate"] = [latitude, longitude, height]
    (item,) = read(old)
    assert local(item)[0] == pytest.approx(30, abs=0.02) and item.z == 10.0


def test_parameters_in_a_list_come_before_those_that_are_named(read):
    (item,) = read({**plan_data.item(16, 30, 0, 10), "param1": 7.0, "param2": 7.0})
    assert item.params[:2] == (0.0, 0.0) and item.z == 10.0


def test_waypoints_of_a_scan_are_apart(read):
    places = [local(item) for item in read(structure()) if item.command == 16]
    assert all(a != b for a, b in itertools.pairwise(places[1:6]))


@pytest.mark.parametrize(
    "kind, version, said",
    [
        ("survey", 9, "version 9 is not supported, 2, 3, 4, 5 are"),
        ("survey", 3, "is of a version before 4, which has no waypoints"),
        ("CorridorScan", 1, "version 1 is not supported, 2 is"),
    ],
)
def test_versions_of_surveys_and_corridors_are_qgroundcontrol_s(read, kind, version, said):
    entry = {**transects(kind, [plan_data.item(16)]), "version": version}
    with pytest.raises(AutopilotError, match=said):
        read(entry)


def test_a_mission_file_before_plans_is_read(tmp_path):
    """As QGroundControl wrote them before version 3.2, with a doJump by the item's id."""

    def item(number, command, place, *params):
        named = {f"param{k}": value for k, value in enumerate(params, 1)}
        return {
            "type": "missionItem",
            "id": number,
            "command": command,
            "frame": ABOVE_HOME,
            "autoContinue": True,
            "coordinate": [*plan_data.place(*place), 10],
            **named,
        }

    items = [
        item(1, 22, (0, 0), 15, 0, 0, 0),
        item(2, 16, (30, 0), 0, 0, 0, 0),
        item(3, 177, (0, 0), 2, 1, 0, 0),
        item(4, 21, (0, 0), 0, 0, 0, 0),
    ]
    data = {
        "MAV_AUTOPILOT": 12,
        "complexItems": [],
        "groundStation": "QGroundControl",
        "items": items,
        "plannedHomePosition": item(0, 16, (0, 0), 0, 0, 0, 0),
        "version": "1.0",
    }
    path = tmp_path / "old.mission"
    path.write_text(json.dumps(data))
    plan = load(path)
    assert [each.command for each in plan.items[MISSION]] == [22, 16, 177, 21]
    assert local(plan.items[MISSION][1]) == pytest.approx((30, 0), abs=0.02)
    assert plan.items[MISSION][2].params[:2] == (1.0, 1.0)  # to the item with id 2
    assert plan.home == pytest.approx((*plan_data.ORIGIN, 10))
    path.write_text(json.dumps({**data, "complexItems": [{"type": "survey"}]}))
    with pytest.raises(AutopilotError, match="has surveys of an old form"):
        load(path)
