"""Missions, geofences and rally points, sent by MAVLink messages and flown in the lockstep."""

import math

import numpy as np
import pytest

from stack_flights import NAN
from xtdrone_autopilot.navigation.mission_items import FENCE, MISSION, RALLY
from xtdrone_core import Mode
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs import run_folder


@pytest.mark.long
def test_twenty_waypoints_are_passed_inside_the_acceptance_radius(flight):
    f = flight()
    angles = np.linspace(0, 4 * np.pi, 20)
    places = np.stack(
        [(8 + angles) * np.cos(angles), (8 + angles) * np.sin(angles), 5 + 3 * np.sin(angles / 2)],
        axis=1,
    )
    items = [f.item(22, 0, 0, 5.0)] + [f.item(16, x, y, z) for x, y, z in places]
    items.append(f.item(20))
    assert f.upload(items) == mavlink.MAV_MISSION_ACCEPTED
    f.set(RTL_RETURN_ALT=6.0, RTL_DESCEND_ALT=4.0)
    f.start()
    nearest = np.full((20, 2), np.inf)

    def watch():
        k = f.seq() - 1
        if 0 <= k < 20 and f.mode == Mode.MISSION:
            off = f.pos - places[k]
            nearest[k] = np.minimum(nearest[k], (np.hypot(*off[:2]), abs(off[2])))

    speeds = []
    for _ in range(120):
        f.run(1, lambda: (watch(), speeds.append(np.linalg.norm(f.vel))))
        if f.mode == Mode.RTL:
            break
    assert f.mode == Mode.RTL, (f.seq(), f.pos, f.said)
    assert (nearest.max(axis=0) < (2.2, 0.9)).all()  # NAV_ACC_RAD, NAV_MC_ALT_RAD
    assert np.percentile(speeds[50 * 12 :], 10) > 1.0  # it does not stop at the corners
    f.wait(lambda: not f.armed, 60)
    assert np.linalg.norm(f.pos[:2]) < 0.5


def square(f, height=5.0):
    return [f.item(22, 0, 0, height), f.item(16, 10, 0, height), f.item(16, 10, 10, height)]


@pytest.mark.slow
def test_mission_takes_off_flies_and_lands_where_it_says(flight):
    f = flight()
    items = square(f) + [f.item(21, 4, 10, 0.0)]
    assert f.upload(items) == mavlink.MAV_MISSION_ACCEPTED
    f.start()
    f.wait(lambda: not f.armed, 60)
    np.testing.assert_allclose(f.pos[:2], (4, 10), atol=0.4)
    assert f.mode == Mode.MISSION
    assert f.said[-3:] == ["Landing detected", "Mission finished, landed", "Disarmed by landing"]


def test_waypoint_without_take_off_item_climbs_first(flight):
    f = flight()
    f.upload([f.item(16, 10, 0, 3.0)])
    f.start()
    f.wait(lambda: f.pos[2] > 1.7, 10)
    assert np.linalg.norm(f.pos[:2]) < 0.3
    f.wait(lambda: f.mode == Mode.LOITER, 30)
    assert np.linalg.norm(f.pos - (10, 0, 3)) < 2.2  # NAV_ACC_RAD and NAV_MC_ALT_RAD


@pytest.mark.slow
def test_hold_delay_and_speed(flight):
    f = flight()
    f.upload(
        [
            f.item(22, 0, 0, 4.0),
            f.item(16, 5, 0, 4.0, (4.0, 1.0, 0, NAN)),
            f.item(178, p=(1.0, 2.0, -1.0, 0.0)),
            f.item(93, p=(3.0, -1, -1, -1)),
            f.item(16, 25, 0, 4.0),
            f.item(17, 25, 0, 4.0),
        ]
    )
    f.start()
    f.wait(lambda: np.linalg.norm(f.pos - (5, 0, 4)) < 0.8, 30)
    f.run(1)
    places = []
    f.run(5.5, lambda: places.append(f.pos))
    assert np.ptp(places, axis=0).max() < 1.0 and np.linalg.norm(places[-1] - (5, 0, 4)) < 0.4
    speeds = []
    f.wait(lambda: speeds.append(np.linalg.norm(f.vel)) or f.seq() == 5, 30)
    assert 1.7 < max(speeds) < 2.3
    f.run(10)
    assert f.mode == Mode.MISSION and np.linalg.norm(f.pos - (25, 0, 4)) < 0.4


def test_home_is_set_on_the_way_and_returned_to(flight):
    f = flight()
    f.set(RTL_RETURN_ALT=4.0, RTL_DESCEND_ALT=3.0)
    f.upload(
        [
            f.item(22, 0, 0, 4.0),
            f.item(179, 12, 3, 0.0),
            f.item(16, 0, 12, 4.0),
            f.item(189),
            f.item(20),
        ]
    )
    f.start()
    f.wait(lambda: not f.armed, 90)
    np.testing.assert_allclose(f.pos[:2], (12, 3), atol=0.5)


@pytest.mark.slow
def test_heights_above_sea_loiter_to_a_height_and_loiter_without_end(flight):
    f = flight()
    sea = f.autopilot.origin[2]
    f.upload(
        [
            f.item(22, 0, 0, 4.0),
            f.item(31, 6, 0, 9.0),
            f.item(112, p=(1.0, -1, -1, -1)),
            f.item(16, 6, 6, sea + 6.0, frame=mavlink.MAV_FRAME_GLOBAL_INT),
            f.item(17, 6, 6, 6.0),
        ]
    )
    f.start()
    f.wait(lambda: f.seq() == 2, 40)
    np.testing.assert_allclose(f.pos, (6, 0, 9), atol=2.0)
    f.run(20)
    assert f.mode == Mode.MISSION and f.seq() == 4
    np.testing.assert_allclose(f.pos, (6, 6, 6), atol=0.4)


@pytest.mark.slow
def test_loiter_turns_and_time(flight):
    f = flight()
    f.upload(
        [
            f.item(22, 0, 0, 4.0),
            f.item(18, 10, 0, 4.0, (2.0, 0, 5.0, NAN)),
            f.item(19, 10, 0, 4.0, (3.0, 0, 0, NAN)),
        ]
    )
    f.start()
    f.wait(lambda: f.seq() == 1, 20)
    f.wait(lambda: np.hypot(*(f.pos[:2] - (10, 0))) < 5.8, 20)
    angles, radii = [], []

    def watch():
        way = f.pos[:2] - (10, 0)
        angles.append(math.atan2(way[1], way[0]))
        radii.append(np.hypot(*way))

    for _ in range(100):
        f.run(0.5, watch, 10)
        if f.seq() == 2:
            break
    turned = np.unwrap(angles)
    assert turned[-1] - turned[0] == pytest.approx(-4 * math.pi, abs=0.5)  # clockwise, twice
    assert 4.4 < min(radii[10:]) and max(radii[10:-10]) < 5.6
    f.wait(lambda: f.mode == Mode.LOITER, 30)
    assert np.linalg.norm(f.pos - (10, 0, 4)) < 1.0


def test_jump_repeats_and_camera_commands_are_passed_by(flight):
    f = flight()
    f.upload(
        [
            f.item(22, 0, 0, 3.0),
            f.item(16, 6, 0, 3.0),
            f.item(2000, p=(0, 0, 1, 0)),
            f.item(16, 0, 0, 3.0),
            f.item(177, p=(1.0, 2.0, 0, 0)),
            f.item(16, 0, 6, 3.0),
        ]
    )
    f.start()
    seen = []

    def watch():
        if not seen or seen[-1] != f.seq():
            seen.append(f.seq())

    f.wait(lambda: watch() or f.mode == Mode.LOITER, 90)
    assert seen == [0, 1, 3, 1, 3, 1, 3, 5]


def test_endless_jumps_do_not_hang(flight):
    f = flight()
    f.upload([f.item(177, p=(0.0, -1.0, 0, 0))])
    f.start()
    assert f.autopilot.missions.finished[0] and f.autopilot.status["landed"][0]
    assert any("go round without a waypoint" in text for text in f.said)


def test_heading_of_an_item_is_reached_before_it_goes_on(flight):
    f = flight()
    f.upload(
        [
            f.item(22, 0, 0, 3.0),
            f.item(16, 6, 0, 3.0, (0.0, 0, 0, 180.0)),
            f.item(16, 12, 0, 3.0, (0.0, 0, 0, 180.0)),
        ]
    )
    f.start()
    f.wait(lambda: f.seq() == 2, 40)
    assert math.degrees(f.autopilot.estimator.yaw(0)) == pytest.approx(-90, abs=12.5)  # south


def test_the_log_tells_which_items_were_reached(flight, runs):
    from pyulog import ULog

    run_folder.prepare(runs)
    f = flight(folder=runs)
    f.upload([f.item(22, 0, 0, 3.0), f.item(16, 5, 0, 3.0), f.item(16, 5, 5, 3.0)])
    f.start()
    f.wait(lambda: f.mode == Mode.LOITER, 40)
    f.run(1.1)
    f.simulation.close()
    log = ULog(str(next(runs.glob("ulog/*/*.ulg"))), ["mission_result"])
    data = log.data_list[0].data
    assert list(dict.fromkeys(data["seq_reached"].tolist())) == [-1, 0, 1, 2]
    assert data["finished"][-1] == 1 and not data["finished"][data["seq_reached"] < 2].any()


@pytest.mark.slow
def test_pause_and_resume(flight):
    f = flight()
    f.upload(square(f) + [f.item(16, 0, 10, 5.0)])
    f.start()
    f.wait(lambda: f.seq() == 2, 40)
    assert f.set_mode(Mode.LOITER).accepted
    f.run(5)
    assert f.seq() == 2 and not f.autopilot.missions.finished[0]
    assert f.set_mode(Mode.MISSION).accepted
    f.wait(lambda: f.mode == Mode.LOITER, 40)
    assert f.autopilot.missions.finished[0]


def test_mission_changes_in_flight(flight):
    f = flight()
    f.upload(square(f))
    f.start()
    f.wait(lambda: f.seq() == 1, 30)
    assert f.upload([f.item(16, -8, -8, 6.0)]) == mavlink.MAV_MISSION_ACCEPTED
    assert f.mode == Mode.MISSION
    f.wait(lambda: f.mode == Mode.LOITER, 40)
    f.run(4)
    assert np.linalg.norm(f.pos - (-8, -8, 6)) < 2.0
    f.set_mode(Mode.MISSION)
    f.send(mavlink.MAVLink_mission_clear_all_message(1, 1, 0))
    assert f.mode == Mode.LOITER
    assert not f.set_mode(Mode.MISSION).accepted and "there is no mission" in f.said[-1]


def test_set_current_skips(flight):
    f = flight()
    f.upload(square(f) + [f.item(16, 0, 10, 5.0)])
    f.start()
    f.wait(lambda: f.seq() == 1, 30)
    f.send(mavlink.MAVLink_mission_set_current_message(1, 1, 3))
    f.wait(lambda: f.mode == Mode.LOITER, 40)
    assert np.linalg.norm(f.pos - (0, 10, 5)) < 2.2  # NAV_ACC_RAD and NAV_MC_ALT_RAD
    f.send(mavlink.MAVLink_mission_set_current_message(1, 1, 9))
    assert "mission item 9 does not exist: give 0 to 3" in f.said[-1]


def test_far_first_waypoint_and_one_outside_the_fence_are_refused(flight):
    f = flight()
    f.upload([f.item(16, 5000, 0, 5.0)])
    f.set_mode(Mode.MISSION)
    assert "MIS_DIST_1WP" in f.autopilot.commander.arm(0, f.simulation.t_us).reason
    f.upload([f.item(16, 50, 0, 5.0)])
    f.upload([f.item(5003, 0, 0, 0.0, (30.0, 0, 0, 0))], FENCE)
    assert (
        "mission item 0 lies outside the geofence"
        in f.autopilot.commander.arm(0, f.simulation.t_us).reason
    )


@pytest.mark.slow
def test_geofence_polygon_stops_the_flight(flight):
    f = flight()
    corners = [(-20, -20), (8, -20), (8, 20), (-20, 20)]
    fence = [f.item(5001, x, y, 0.0, (4.0, 0, 0, 0)) for x, y in corners]
    assert f.upload(fence, FENCE) == mavlink.MAV_MISSION_ACCEPTED
    f.take_off()
    f.autopilot.commander.reposition(0, np.array([30.0, 0, 5]), NAN, NAN, f.simulation.t_us)
    f.run(15)
    assert 8.0 < f.pos[0] < 17.0  # what it needs to stop from 5 m/s
    assert f.mode == Mode.LOITER and any("geofence broken" in text for text in f.said)


@pytest.mark.parametrize(
    "items, inside, outside",
    [
        ([(5003, 0, 0, 10)], (9, 0), (11, 0)),
        ([(5003, 0, 0, 10), (5003, 0, 0, 0)], (9, 0), (11, 0)),
        ([(5004, 20, 0, 10)], (9, 0), (11, 0)),
        ([(5003, 0, 0, 10), (5003, 8, 0, 10)], (5, 0), (-5, 0)),
        ([(5003, 0, 0, 10), (5003, 30, 0, 10)], (5, 0), (30, 5)),
        ([(5003, 0, 0, 10), (5004, 5, 0, 2)], (-5, 0), (5, 1)),
        ([(5002, *at, 4) for at in ((4, 0), (9, 0), (9, 5), (4, 5))], (2, 2), (6, 2)),
    ],
)
@pytest.mark.slow
def test_shapes_of_the_fence(flight, items, inside, outside):
    f = flight()
    kinds = [f.item(command, x, y, 0.0, (size, 0, 0, 0)) for command, x, y, size in items]
    assert f.upload(kinds, FENCE) == mavlink.MAV_MISSION_ACCEPTED
    fence = f.autopilot.missions.fences[0]
    assert fence.contains(*inside) and not fence.contains(*outside)


def test_areas_without_home_do_not_count(flight):
    f = flight()
    f.upload([f.item(5003, 50, 0, 0.0, (10.0, 0, 0, 0))], FENCE)
    assert "Geofence invalid, doesn't contain Home position" in f.said
    assert f.autopilot.missions.fences[0].contains(0, 0)


def test_a_waypoint_in_a_geofence_bounds_nothing(flight):
    """PX4 takes it, and looks at shapes only."""
    f = flight()
    f.upload([f.item(5003, 0, 0, 0.0, (30.0, 0, 0, 0)), f.item(16, 9, 0, 5.0)], FENCE)
    assert len(f.autopilot.missions.items(0, FENCE)) == 2
    assert f.autopilot.missions.fences[0].contains(0, 20)
    assert any(
        "1 of 2 items bound nothing and are ignored, first item 1 (MAV_CMD_NAV_WAYPOINT)" in text
        for text in f.said
    )


def test_two_parameters_more_are_listed_once_there_was_a_mission(flight):
    f = flight()
    f.upload([f.item(5003, 0, 0, 0.0, (30.0, 0, 0, 0))], FENCE)
    assert not f.autopilot.parameters.mission_checked.any()
    f.upload([f.item(16, 9, 0, 5.0)], MISSION)
    f.upload([], MISSION)
    assert f.autopilot.parameters.mission_checked.all()


def test_arming_outside_the_fence_is_refused(flight):
    f = flight()
    f.autopilot.status["home"][0, 0] = 30.0  # an area that home is in would not count
    f.upload([f.item(5004, 0, 0, 0.0, (5.0, 0, 0, 0))], FENCE)
    f.run(0.5)
    assert "geofence" in f.autopilot.commander.arm(0, f.simulation.t_us).reason


@pytest.mark.slow
def test_rtl_goes_to_the_nearest_rally_point(flight):
    f = flight()
    f.set(RTL_RETURN_ALT=5.0, RTL_DESCEND_ALT=4.0)
    assert (
        f.upload([f.item(5100, 20, 0, 0.0), f.item(5100, -20, 0, 0.0)], RALLY)
        == mavlink.MAV_MISSION_ACCEPTED
    )
    f.take_off()
    f.autopilot.commander.reposition(0, np.array([14.0, 0, 5]), NAN, NAN, f.simulation.t_us)
    f.run(10)
    assert f.set_mode(Mode.RTL).accepted
    f.wait(lambda: not f.armed, 60)
    np.testing.assert_allclose(f.pos[:2], (20, 0), atol=0.5)


@pytest.mark.parametrize(
    "bad, result, word",
    [
        (
            dict(command=92, east=0, north=0, z=1.0),
            mavlink.MAV_MISSION_UNSUPPORTED,
            "not supported",
        ),
        (dict(command=84, east=0, north=0, z=1.0), mavlink.MAV_MISSION_UNSUPPORTED, "is no VTOL"),
        (
            dict(command=16, east=0, north=0, z=1.0, frame=1),
            mavlink.MAV_MISSION_UNSUPPORTED_FRAME,
            "frame 1",
        ),
        (
            dict(command=16, east=0, north=0, z=math.inf),
            mavlink.MAV_MISSION_INVALID_PARAM7,
            "height",
        ),
        (
            dict(command=16, east=0, north=0, z=1.0, p=(-1.0, 0, 0, 0)),
            mavlink.MAV_MISSION_INVALID_PARAM1,
            "hold -1",
        ),
        (dict(command=177, p=(7.0, 1.0, 0, 0)), mavlink.MAV_MISSION_INVALID_PARAM1, "no item 7"),
        (dict(command=178, p=(0.0, -9.0, 0, 0)), mavlink.MAV_MISSION_INVALID_PARAM2, "speed -9"),
        (dict(command=179, east=0, north=0, z=3e30), mavlink.MAV_MISSION_INVALID_PARAM7, "height"),
    ],
)
def test_bad_items_are_refused_and_the_old_mission_stays(flight, bad, result, word):
    f = flight()
    f.upload(square(f))
    assert f.upload([f.item(22, 0, 0, 3.0), f.item(**bad)]) == result
    assert word in f.said[-1]
    assert len(f.autopilot.missions.items(0, MISSION)) == 3


def test_what_was_uploaded_comes_back_to_the_bit(flight):
    f = flight()
    items = square(f) + [f.item(18, 3, 4, 5.0, (2.0, 0, -7.5, NAN)), f.item(20)]
    f.upload(items)
    f.links.replies.clear()
    f.send(mavlink.MAVLink_mission_request_list_message(1, 1, 0))
    assert f.links.replies.pop().count == 5
    for k, one in enumerate(items):
        f.send(mavlink.MAVLink_mission_request_int_message(1, 1, k, 0))
        got = f.links.replies.pop()
        assert (got.x, got.y, got.z, got.command, got.frame) == (
            one.x,
            one.y,
            one.z,
            one.command,
            one.frame,
        )
        np.testing.assert_array_equal((got.param1, got.param2, got.param3, got.param4), one.params)
    f.send(mavlink.MAVLink_mission_request_int_message(1, 1, 5, 0))
    assert f.links.replies.pop().type == mavlink.MAV_MISSION_INVALID_SEQUENCE


def test_lost_requests_are_repeated_and_then_given_up(flight):
    f = flight()
    f.send(mavlink.MAVLink_mission_count_message(1, 1, 2, 0))
    asked = len(f.links.replies)
    for _ in range(2):
        f.run(0.6)
        f.messages.check()
    assert len(f.links.replies) == asked + 2 and f.links.replies[-1].seq == 0
    f.run(21)
    f.messages.check()
    assert "Upload of mission given up: item 0 did not come" in f.said[-1]
