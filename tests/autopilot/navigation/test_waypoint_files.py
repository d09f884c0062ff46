"""Text missions 'QGC WPL' of MAVProxy, Mission Planner, MAVROS and old QGroundControls."""

import pytest

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.navigation.mission_items import FENCE, MISSION, RALLY
from xtdrone_autopilot.navigation.plan_file import load
from xtdrone_core.command import main

HOME = "0 1 0 16 0 0 0 0 47.397742 8.545594 488.5 1"
TAKEOFF = "1 0 3 22 0 0 0 nan 47.397742 8.545594 10 1"
WAYPOINT = "2 0 3 16 5 0 0 Nan 47.397742 8.5458594 12.5 1"
JUMP = "3 0 0 177 2 3 0 0 0 0 0 1"
RETURN = "4 0 0 20 0 0 0 0 0 0 0 1"
ROWS = HOME, TAKEOFF, WAYPOINT, JUMP, RETURN


@pytest.fixture
def read(tmp_path):
    def plan(*lines, end="\n", header="QGC WPL 110", encoding="utf-8"):
        path = tmp_path / "mission.waypoints"
        path.write_bytes((end.join([header, *lines]) + end).encode(encoding))
        return load(path)

    return plan


@pytest.mark.parametrize("gap", [" ", "\t", "   ", " \t"], ids=["space", "tab", "spaces", "both"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["Unix", "Windows"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"], ids=["plain", "mark"])
def test_a_text_mission_is_read_without_its_home(read, gap, end, encoding):
    plan = read(*(row.replace(" ", gap) for row in ROWS), end=end, encoding=encoding)
    items = plan.items[MISSION]
    assert plan.home == (47.397742, 8.545594, 488.5) and "row 0" in plan.note
    assert [item.command for item in items] == [22, 16, 177, 20]
    assert (items[1].frame, items[1].x, items[1].y) == (3, 473977420, 85458594)
    assert (items[1].z, items[1].params[0], items[1].autocontinue) == (12.5, 5.0, 1)
    assert items[2].params[:2] == (1.0, 3.0)  # row 2 is item 1


def test_blank_lines_comments_and_a_last_line_without_its_end(tmp_path):
    path = tmp_path / "mission.txt"
    path.write_text("\n".join(["QGC WPL 110", "# by hand", *ROWS[:2], "", WAYPOINT]))
    assert len(load(path).items[MISSION]) == 2


def test_version_120_has_no_home(read):
    jump = "2 0 0 177 1 3 0 0 0 0 0 1"
    first, second = (row[1:] for row in (TAKEOFF, WAYPOINT))
    plan = read("0" + first, "1" + second, jump, header="QGC WPL 120")
    assert plan.home is None and plan.note == ""
    assert [item.command for item in plan.items[MISSION]] == [22, 16, 177]
    assert plan.items[MISSION][2].params[0] == 1.0


@pytest.mark.parametrize(
    "row, home, count",
    [
        ("0 1 0 0 0 0 0 0 47.397742 8.545594 488.5 1", True, 1),  # Mission Planner's
        ("0 1 0 16 0 0 0 0 0 0 0 1", False, 1),  # a home that was not set
        ("0 1 3 22 0 0 0 0 47.397742 8.545594 10 1", False, 2),  # a take-off is no home
    ],
)
def test_row_0_is_home_where_it_is_no_other_item(read, row, home, count):
    plan = read(row, WAYPOINT)
    assert (plan.home is not None) == home and len(plan.items[MISSION]) == count


def test_a_row_0_that_looks_like_a_waypoint_is_named(read, caplog):
    """As MAVROS' users write it for PX4; QGroundControl takes it as home, too."""
    read(HOME, WAYPOINT)
    assert not caplog.messages
    plan = read("0 1 3 16 0 0 0 0 47.397742 8.545594 10 1", WAYPOINT)
    assert len(plan.items[MISSION]) == 1 and plan.home is not None
    assert "row 0 is not flown: it is the home position" in caplog.messages[0]


def test_mission_planners_fences_and_rally_points(read):
    corners = [f"{k} 0 0 5001 3 0 0 0 47.{k} 8.{k} 0 1" for k in (1, 2, 3)]
    rally = "4 0 3 5100 0 0 0 0 47.1 8.1 20 1"
    plan = read(HOME, *corners, rally)
    assert [len(plan.items[kind]) for kind in (MISSION, FENCE, RALLY)] == [0, 3, 1]


@pytest.mark.parametrize(
    "lines, header, said",
    [
        ([HOME], "QGC WPL 100", "is QGC WPL 100: 110 and 120 are read"),
        ([HOME, "1 0 3 16 0 0"], "QGC WPL 110", "line 3 has 6 columns: an item has 12, number"),
        ([HOME.replace("488.5", "high")], "QGC WPL 110", "line 2 is no item.*'high'"),
        ([HOME, "", JUMP.replace("177 2", "177 0")], "QGC WPL 110", "jumps to item 0, which"),
        ([HOME, "1 0 10 16 0 0 0 0 47 8 10 1"], "QGC WPL 110", "frame 10 is not supported"),
        ([HOME, "1 0 3 82 0 0 0 0 47 8 10 1"], "QGC WPL 110", "SPLINE_WAYPOINT.*not supported"),
        ([HOME, "inf 0 3 16 0 0 0 0 47 8 10 1"], "QGC WPL 110", "line 3 is no item"),
    ],
)
def test_what_is_no_mission_is_refused_with_its_line(read, lines, header, said):
    with pytest.raises(AutopilotError, match=said) as refused:
        read(*lines, header=header)
    assert "\n" not in str(refused.value)


def test_a_check_says_how_its_items_are_counted(tmp_path, capsys):
    path = tmp_path / "mission.waypoints"
    path.write_text("\n".join(["QGC WPL 110", *ROWS]))
    assert main(["mission", "check", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "mission: 4 items, 2 of them with a position"
    assert "note: row 0 of the file is its home position; items are counted from row 1" in lines[-1]
