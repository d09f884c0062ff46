"""XTDrone's commands, without ROS."""

import math

import pytest

from ros_fixtures import needs_ros
from xtdrone_control.command_translator import ENU, FLU, FLU_OFFSET, CommandTranslator, Request
from xtdrone_control.errors import ControlNodeError

S = 1_000_000  # [us]


@pytest.fixture
def one():
    """A translator whose lines are kept, of a vehicle at (1, 2, 3) facing north, in LOITER."""
    lines = []
    translator = CommandTranslator(lines.append)
    translator.lines = lines
    translator.set_pose((1.0, 2.0, 3.0), math.pi / 2)
    translator.set_mode("AUTO.LOITER")
    return translator


@pytest.mark.parametrize("word, request_", [
    ("ARM", Request(arm=True)), ("DISARM", Request(arm=False)),
    ("OFFBOARD", Request(mode="OFFBOARD")), ("AUTO.TAKEOFF", Request(mode="AUTO.TAKEOFF")),
    ("AUTO.LAND", Request(mode="AUTO.LAND")), ("AUTO.RTL", Request(mode="AUTO.RTL")),
    ("anything else", Request(mode="anything else")), (" ARM ", Request(arm=True)),
    ("HOVER", None), ("stop controlling", None), ("", None), ("mission7", None),
])
def test_words(one, word, request_):
    assert one.command(word, 0) == request_


def test_mission_is_remembered(one):
    one.command("mission7", 0)
    assert one.mission == "mission7"
    assert one.lines == ["mission7: noted"]


def test_a_repeated_word_is_ignored_and_a_new_one_is_not(one):
    assert one.command("ARM", 0)
    assert [one.command("ARM", t) for t in range(100_000, 5 * S, 100_000)] == [None] * 49
    assert one.command("OFFBOARD", 5 * S)
    assert one.command("ARM", 5 * S)
    assert one.command("ARM", 7 * S), "after a second it is meant anew"


def test_nothing_words_do_not_end_a_repetition(one):
    assert one.command("ARM", 0)
    one.command("", 100_000)
    one.command("stop controlling", 200_000)
    assert one.command("ARM", 300_000) is None


@pytest.mark.parametrize("method, frame", [("pose_flu", FLU_OFFSET), ("pose_enu", ENU)])
def test_poses(one, method, frame):
    getattr(one, method)((4.0, 5.0, 6.0), 0.5)
    target = one.set_point()
    assert (target.frame, target.pos, target.yaw) == (frame, (4.0, 5.0, 6.0), 0.5)
    assert target.type_mask == 8 + 16 + 32 + 64 + 128 + 256 + 2048


@pytest.mark.parametrize("frame", [FLU, ENU])
@pytest.mark.parametrize("method, field, mask", [
    ("velocity", "vel", 1 + 2 + 4 + 64 + 128 + 256 + 1024),
    ("acceleration", "acc", 1 + 2 + 4 + 8 + 16 + 32 + 1024),
])
def test_velocities_and_accelerations(one, method, field, mask, frame):
    getattr(one, method)(frame, (0.5, -1.0, 0.1), 0.3)
    target = one.set_point()
    assert (target.frame, target.type_mask) == (frame, mask)
    assert getattr(target, field) == (0.5, -1.0, 0.1)
    assert target.yaw_rate == 0.3
    assert not one.needs_pose


@pytest.mark.parametrize("vel, rate, hover", [
    ((0.02, -0.02, 0.0), 0.005, True), ((0.021, 0.0, 0.0), 0.0, False),
    ((0.0, 0.0, -0.03), 0.0, False), ((0.0, 0.0, 0.0), -0.006, False),
])
def test_nearly_nothing_means_hover(one, vel, rate, hover):
    one.set_mode("OFFBOARD")
    one.velocity(FLU, (1.0, 0.0, 0.0), 0.0)
    one.velocity(FLU, vel, rate)
    target = one.set_point()
    if hover:
        assert (target.frame, target.pos, target.yaw) == (ENU, (1.0, 2.0, 3.0), math.pi / 2)
    else:
        assert target.vel == vel


def test_hover_holds_the_place_where_it_began(one):
    one.set_mode("OFFBOARD")
    one.velocity(ENU, (1.0, 0.0, 0.0), 0.0)
    one.velocity(ENU, (0.0, 0.0, 0.0), 0.0)
    first = one.set_point()
    one.set_pose((9.0, 9.0, 9.0), 0.0)
    one.velocity(ENU, (0.0, 0.0, 0.0), 0.0)  # zeros go on coming, as from a keyboard
    assert one.set_point() == first
    one.velocity(ENU, (1.0, 0.0, 0.0), 0.0)
    one.velocity(ENU, (0.0, 0.0, 0.0), 0.0)
    assert one.set_point().pos == (9.0, 9.0, 9.0)


def test_an_offboard_that_somebody_else_asked_for_is_left_to_him(one):
    one.set_mode("OFFBOARD")
    assert one.set_point() is None
    one.velocity(FLU, (1.0, 0.0, 0.0), 0.0)
    assert one.set_point().vel == (1.0, 0.0, 0.0)


def test_outside_offboard_the_hold_follows_the_vehicle(one):
    assert one.set_point().pos == (1.0, 2.0, 3.0)
    one.set_pose((1.0, 2.0, 8.0), 0.0)
    assert one.set_point().pos == (1.0, 2.0, 8.0)
    one.command("OFFBOARD", 5 * S)
    one.set_mode("OFFBOARD")
    one.set_point()
    one.set_pose((1.0, 2.0, 9.0), 0.0)
    assert one.set_point().pos == (1.0, 2.0, 8.0)


def test_landing_ends_the_motion(one):
    one.velocity(ENU, (1.0, 0.0, 0.0), 0.0)
    one.command("AUTO.LAND", 0)
    assert one.set_point().pos == (1.0, 2.0, 3.0)


def test_take_off_keeps_what_was_asked(one):
    one.pose_enu((5.0, 5.0, 5.0), 0.0)
    one.command("AUTO.TAKEOFF", 0)
    assert one.set_point().pos == (5.0, 5.0, 5.0)


def test_nothing_to_send_before_the_first_pose():
    assert CommandTranslator().set_point() is None


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_numbers_that_are_none_are_refused(one, bad):
    before = one.set_point()
    for k in range(4):
        v = [0.0] * 4
        v[k] = bad
        for ask in (lambda: one.velocity(FLU, v[:3], v[3]), lambda: one.pose_enu(v[:3], v[3]),
                    lambda: one.acceleration(ENU, v[:3], v[3]), lambda: one.pose_flu(v[:3], v[3])):
            with pytest.raises(ControlNodeError, match="not finite"):
                ask()
    assert one.set_point() == before


@needs_ros
def test_xtdrones_classes_are_where_its_users_look_for_them():
    from xtdrone_control.communication import Communication, FleetCommunication

    assert issubclass(Communication, FleetCommunication)
