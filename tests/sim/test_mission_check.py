"""`xtdrone mission check`: what a plan amounts to, and why it cannot be flown."""

import math

import pytest

import plan_data
from plan_data import ORIGIN, item, place, plain
from xtdrone_core.command import main

WAYPOINT, TURNS, RTL, LAND, TAKEOFF, SPEED, JUMP = 16, 18, 20, 21, 22, 178, 177


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
    """Three times to and fro over 20 m, two circles of 10 m radius, back from 50 m at 30 m."""
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
    assert lines[1].startswith("path: 240 m ")  # 30 + 5 * 20 + 30 + 50 + 30, circles not
    seconds = 30 / 3 + 180 / 5 + 2 * math.tau * 10 / 5 + 30 / 1.5
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
    ],
)
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
