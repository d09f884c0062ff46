"""`xtdrone mission check`: what a plan amounts to, and why it cannot be flown."""

import json
import math

import pytest

import plan_data
from plan_data import ORIGIN, item, place, plain
from xtdrone_core.command import main

WAYPOINT, UNLIM, TURNS, TIME, TO_ALT = 16, 17, 18, 19, 31
RTL, LAND, TAKEOFF, SPEED, JUMP, VTOL_TAKEOFF, VTOL_LAND = 20, 21, 22, 178, 177, 84, 85
LOITERS = {
    "unlimited": (UNLIM, (0, 0, 60, None)),
    "turns": (TURNS, (2, 0, 60, None)),
    "counter-clockwise": (TURNS, (2, 0, -60, None)),
    "time": (TIME, (40, 0, 60, None)),
    "to a height": (TO_ALT, (1, 60, 0, 1)),
    "default radius": (UNLIM, (0, 0, 0, None)),  # NAV_LOITER_RAD
}


def circle(east, north, radius, inclusion):
    return {
        "circles": [
            {"inclusion": inclusion, "circle": {"center": place(east, north), "radius": radius}}
        ]
    }


@pytest.fixture
def check(tmp_path, capsys):
    """Checks a mission; returns the exit status and the lines."""

    def run(items, *options, fence=None, home=(*ORIGIN, 488.0)):
        path = plan_data.write(tmp_path / "a.plan", *items, fence=fence, home=home)
        status = main(["mission", "check", str(path), *options])
        return status, capsys.readouterr().out.splitlines()

    return run


def test_a_sound_plan_has_its_length_and_duration(check):
    """10 m up at 3 m/s, 60 m at 5 m/s, 30 s of waiting, 80 m at 8 m/s, 10 m down at 1.5 m/s."""
    waits = item(WAYPOINT, 60.0, 0.0, 10.0, (30, 0, 0, None))
    status, lines = check(
        [
            item(TAKEOFF, up=10.0),
            waits,
            plain(SPEED, 1, 8),
            item(WAYPOINT, 60.0, 80.0, 10.0),
            item(LAND, 60.0, 80.0),
        ]
    )
    assert status == 0 and len(lines) == 3
    assert lines[0] == "mission: 5 items, 4 of them with a position"
    assert lines[1] == (
        "path: 160 m in about 62 s, farthest 100 m from home, highest 10 m above it"
    )


def test_jumps_turns_and_returns_count(check):
    """Three times to and fro over 20 m, two circles of 10 m radius about 50 m, back at 30 m."""
    status, lines = check(
        [
            item(WAYPOINT, 0, 0, 30.0),
            item(WAYPOINT, 20.0, 0, 30.0),
            plain(JUMP, 1, 2),
            item(TURNS, 50.0, 0, 30.0, (2, 0, 10, None)),
            plain(RTL),
        ]
    )
    assert status == 0
    straight, circles = 5 * 20 + 20 + 40, 2 * math.tau * 10  # the circle begins and ends at 40 m
    assert lines[1].startswith(f"path: {30 + straight + circles + 30:.0f} m ")
    assert "farthest 60 m from home" in lines[1]
    seconds = 30 / 3 + (straight + circles) / 5 + 30 / 1.5
    assert lines[1].split("about ")[1].startswith(f"{seconds:.0f} s")


@pytest.mark.parametrize(
    "items, options, fence, said",
    [
        (
            [item(WAYPOINT, 78e3, 0, 10)],
            (),
            None,
            "ERROR: item 0 is 78.0 km from the start; MIS_DIST_1WP allows 900 m",
        ),
        (
            [item(WAYPOINT, 5, 0, 10), item(WAYPOINT, 78e3, 0, 10)],
            (),
            None,
            "WARNING: the leg to item 1 is 78.0 km long",
        ),
        (
            [item(WAYPOINT, 5, 0, 10), item(WAYPOINT, 30e3, 0, 10)],
            ("--vehicle", "heavy_lifter"),
            None,
            "ERROR: it takes about 100 min; the battery of 'heavy_lifter' carries a hover for",
        ),
        (
            [item(WAYPOINT, 0, 0, 3), item(WAYPOINT, -30, 0, 3)],
            ("--world", "outdoor"),
            None,
            "ERROR: the leg to item 1 meets the ground or an obstacle at (-16.0, 0.0, 3.0) m, "
            "16 m along",
        ),
        (
            [item(WAYPOINT, 20, 0, 10), item(WAYPOINT, 40, 0, -10)],
            (),
            None,
            "ERROR: the leg to item 1 meets the ground or an obstacle at (30.0, 0.0, 0.0) m",
        ),
        (
            [item(WAYPOINT, 20, 0, 10)],
            (),
            circle(0, 0, 15, True),
            "ERROR: item 0 lies outside the geofence",
        ),
        (
            [item(WAYPOINT, 5, 0, 10), item(WAYPOINT, 45, 0, 10)],
            (),
            circle(25, 0, 10, False),
            "WARNING: the leg to item 1 crosses the geofence at (16, 0) m",
        ),
        ([], (), None, "ERROR: there is no mission in it"),
        ([item(WAYPOINT, 5, 0, 10)], (), None, "WARNING: it ends in the air"),
        (
            [item(WAYPOINT, 5, 0, 10), plain(203), plain(203)],
            (),
            None,
            "note: MAV_CMD_DO_DIGICAM_CONTROL (items 1, 2) is skipped: 'iris' has no such device",
        ),
        (
            [item(WAYPOINT, 5, 0, 10), plain(205)],
            (),
            None,
            "note: MAV_CMD_DO_MOUNT_CONTROL (item 1) is skipped: 'iris' has no such device",
        ),
        (
            [item(WAYPOINT, 5, 0, 10), plain(211)],
            (),
            None,
            "note: MAV_CMD_DO_GRIPPER (item 1) is skipped: 'iris' has no such device",
        ),
    ],
    ids=[
        "far",
        "long",
        "battery",
        "wall",
        "ground",
        "outside",
        "crossing",
        "empty",
        "air",
        "device",
        "gimbal",
        "gripper",
    ],
)
@pytest.mark.slow
def test_what_is_wrong_is_said(check, items, options, fence, said):
    status, lines = check(items, *options, fence=fence)

    assert any(line.startswith(said) for line in lines), lines
    assert status == any(line.startswith("ERROR") for line in lines)


def test_a_gimbals_items_are_for_a_vehicle_that_has_one(check):
    _, lines = check([item(WAYPOINT, 5, 0, 10), plain(205)], "--vehicle", "typhoon_h480")
    assert not any("is skipped" in line for line in lines), lines


def test_a_plan_of_elsewhere_is_named(check):
    """Planned in another town: its home is where no vehicle of this world starts."""
    _, lines = check([item(WAYPOINT, 5, 0, 10)], home=(48.397742, 8.545594, 500.0))
    assert any(
        "planned home is 111.2 km from the origin of world 'empty'" in line for line in lines
    )


def test_parameters_count(check, tmp_path):
    """The limit of the first waypoint is that of the parameters that would be flown."""
    params = tmp_path / "near.params"
    params.write_text("1\t1\tMIS_DIST_1WP\t30.0\t9\n")
    status, lines = check([item(WAYPOINT, 40, 0, 10)], "--params", str(params))
    assert status == 1 and any("MIS_DIST_1WP allows 30 m" in line for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LOITERS)
@pytest.mark.parametrize("vehicle", ["plane", "standard_vtol", "iris"])
def test_circles_of_loiters_are_held_against_the_fence(check, kind, vehicle):
    """A zone that only the circle enters; multicopters hover."""
    command, params = LOITERS[kind]
    zone = circle(0, 360, 10, False) if kind != "default radius" else circle(0, 380, 5, False)
    start = item({"standard_vtol": VTOL_TAKEOFF}.get(vehicle, TAKEOFF), -150, 100, 110.0)
    items = [start, item(WAYPOINT, -150, 300, 110.0), item(command, 0, 300, 110.0, params)]
    _, lines = check([*items, plain(RTL)], "--vehicle", vehicle, fence=zone)
    radius = 80 if kind == "default radius" else 60
    expected = f"WARNING: the circle of item 2 (radius {radius} m about (0, 300) m) crosses"
    crosses = vehicle != "iris" or command == TURNS
    assert any(line.startswith(expected) for line in lines) == crosses, lines
    if crosses:
        assert f"farthest {300 + radius:.0f} m" in lines[1]


@pytest.mark.parametrize(
    "vehicle, items, said",
    [
        # Ends in the air, and circles there.
        ("plane", [item(TAKEOFF, 0, 150, 40), item(WAYPOINT, 0, 300, 40)], "circle of item 1"),
        # Returns, and comes down round its home.
        ("plane", [item(TAKEOFF, 0, 150, 40), plain(RTL)], "circle of item 1"),
        # Reaches a height that is far above by circling.
        ("plane", [item(TAKEOFF, 0, 150, 40), item(WAYPOINT, 0, 250, 140)], "circle of item 1"),
    ],
    ids=["end", "return", "climb"],
)
def test_other_circles_of_a_plane_count(check, vehicle, items, said):
    """The fence encloses the items and the legs, and the circle leaves it."""
    _, lines = check(items, "--vehicle", vehicle, fence=circle(0, 150, 160, True))
    assert any(said in line and "crosses the geofence" in line for line in lines), lines


def test_a_circle_that_meets_a_wall_is_an_error(check):
    """The wall of world outdoor is at x = -16 m."""
    items = [item(WAYPOINT, -2, 0, 3), item(TURNS, -8, 0, 3, (1, 0, 10, None)), plain(RTL)]
    status, lines = check(items, "--world", "outdoor")
    assert status == 1
    assert any(
        "ERROR: the circle of item 1 (radius 10 m about (-8, 0) m) meets" in k for k in lines
    )


@pytest.mark.parametrize(
    "items, said",
    [
        (
            [item(UNLIM, 9, 0, 9), item(WAYPOINT, 5, 0, 9), item(LAND, 5)],
            "items 1, 2 are never reached behind item 0 (MAV_CMD_NAV_LOITER_UNLIM)",
        ),
        (
            [item(WAYPOINT, 9, 0, 9), plain(RTL), item(LAND, 5)],
            "item 2 is never reached behind item 1 (MAV_CMD_NAV_RETURN_TO_LAUNCH)",
        ),
        (
            [{**item(WAYPOINT, 9, 0, 9), "autoContinue": False}, item(LAND, 5)],
            "item 1 is never reached behind item 0 (MAV_CMD_NAV_WAYPOINT)",
        ),
        (
            [item(WAYPOINT, 9, 0, 9), plain(JUMP, 4, 1), item(WAYPOINT, 5, 0, 9), item(LAND, 5)],
            "item 2 is never reached: jumps lead past",
        ),
        (
            [item(WAYPOINT, 9, 0, 9), item(WAYPOINT, 5, 0, 9), plain(JUMP, 1, -1), item(LAND, 5)],
            "it goes round for ever, by item 2 (MAV_CMD_DO_JUMP)",
        ),
        (
            [item(WAYPOINT, 9, 0, 9), item(WAYPOINT, 5, 0, 9), plain(JUMP, 1, -1), item(LAND, 5)],
            "item 3 is never reached behind item 2 (MAV_CMD_DO_JUMP)",
        ),
    ],
    ids=["unlimited", "return", "stop", "jump", "for ever", "behind for ever"],
)
def test_items_that_are_never_reached_are_named(check, items, said):
    status, lines = check(items)
    assert status == 0 and f"WARNING: {said}" in lines, lines


def test_items_behind_a_return_that_is_jumped_over_are_reached(check):
    """The jump leads past the return once, and then does not."""
    items = [item(WAYPOINT, 9, 0, 9), plain(JUMP, 4, 1), plain(RTL), item(WAYPOINT, 5, 0, 9)]
    _, lines = check([*items, plain(JUMP, 2, 1)])
    assert not any("never reached" in line for line in lines), lines


@pytest.mark.parametrize(
    "landing, said", [((), True), ((item(LAND, 0, 0),), False)], ids=["none", "landing"]
)
def test_a_plane_that_returns_circles_above_its_home_without_a_landing(check, landing, said):
    items = [item(TAKEOFF, 150, 0, 40), plain(RTL), item(WAYPOINT, -150, 0, 30), *landing]
    _, lines = check(items, "--vehicle", "plane")
    assert any("ends in the air, above its home, as RTL_LAND_DELAY" in k for k in lines) == said


@pytest.mark.parametrize("vehicle", ["rover", "boat"])
def test_what_drives_does_not_end_in_the_air(check, vehicle):
    _, lines = check([item(WAYPOINT, 20), item(WAYPOINT, 20, 20, 5)], "--vehicle", vehicle)
    assert not any("WARNING" in line for line in lines), lines
    assert "path: 40 m" in lines[1] and "highest 0 m" in lines[1]


@pytest.mark.parametrize(
    "vehicle, items, said",
    [
        ("rover", [item(TAKEOFF, up=5), item(WAYPOINT, 9)], "item 0 (MAV_CMD_NAV_TAKEOFF) is for"),
        ("boat", [item(WAYPOINT, 9), item(LAND, 9)], "item 1 (MAV_CMD_NAV_LAND) is for what flies"),
        ("plane", [item(WAYPOINT, 90, 0, 40), item(LAND, 9)], "it has no take-off (NAV_TAKEOFF)"),
        (
            "iris",
            [item(VTOL_TAKEOFF, up=9), item(LAND)],
            "item 0 (MAV_CMD_NAV_VTOL_TAKEOFF) is for",
        ),
    ],
)
def test_what_the_vehicle_would_refuse_is_an_error(check, vehicle, items, said):
    status, lines = check(items, "--vehicle", vehicle)
    assert status == 1 and any(line.startswith(f"ERROR: {said}") for line in lines), lines


def test_what_lands_and_then_only_acts_does_not_end_in_the_air(check):
    _, lines = check([item(WAYPOINT, 5, 0, 9), item(LAND, 5), plain(2501)])
    assert not any("in the air" in line for line in lines), lines


@pytest.mark.parametrize("home", [(47.5, 9.5), (0.5, 100.0)], ids=["72 km east", "5400 km south"])
def test_a_plan_of_elsewhere_is_checked_where_it_would_fly(tmp_path, capsys, home):
    """PLAN*COUNT, for each of COUNT vehicles."""
    corners = ((100, 0), (100, 100), (0, 100))
    items = [plan_data.item(WAYPOINT, x, y, 10.0, origin=home) for x, y in corners]
    path = plan_data.write(tmp_path / "a.plan", *items, plan_data.plain(RTL), home=(*home, 488))
    assert main(["mission", "check", f"{path}*1"]) == 0
    alone = capsys.readouterr().out.splitlines()
    assert "farthest 141 m from home" in alone[1] and len(alone) == 3
    assert main(["mission", "check", f"{path}*2", "--n", "2"]) == 0
    both = capsys.readouterr().out.splitlines()
    assert both == ["iris_0:", *alone, "iris_1:", *alone]
    assert main(["mission", "check", f"{path}*2"]) == 1
    assert "2 plans for 1 vehicles" in capsys.readouterr().err


def test_a_plan_for_all_is_checked_for_each_type(tmp_path, capsys):
    path = plan_data.write(tmp_path / "a.plan", item(WAYPOINT, 9, 0, 5), item(LAND, 9))
    assert main(["mission", "check", str(path), "--vehicles", "iris*2, rover"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.endswith(":")] == ["iris_0:", "rover_2:"]
    assert [line for line in lines if "ERROR" in line] == [
        "ERROR: item 1 (MAV_CMD_NAV_LAND) is for what flies, which rover does not"
    ]


@pytest.mark.parametrize(
    "mav_type, options, said",
    [
        (
            10,
            (),
            "it was planned for a rover or boat (vehicleType 10), and is checked for 'iris', a",
        ),
        (20, (), "it was planned for a VTOL (vehicleType 20), and is checked for 'iris', a multi"),
        (1, ("--vehicle", "rover"), "it was planned for a fixed wing (vehicleType 1), and is "),
        (11, ("--vehicle", "rover"), ""),
        (20, ("--vehicle", "standard_vtol"), ""),
        (13, (), ""),
        (99, (), ""),
        ("two", (), ""),
    ],
)
def test_a_plan_for_another_kind_of_vehicle_is_noted(tmp_path, capsys, mav_type, options, said):
    data = plan_data.plan([item(WAYPOINT, 10.0, 0.0, 5.0)])
    data["mission"]["vehicleType"] = mav_type
    (tmp_path / "a.plan").write_text(json.dumps(data))
    main(["mission", "check", str(tmp_path / "a.plan"), *options])
    lines = [line for line in capsys.readouterr().out.splitlines() if "planned for" in line]
    assert len(lines) == bool(said) and all(f"note: {said}" in line for line in lines)
