"""XTDrone's commands, without ROS."""

import math

import pytest

from ros_fixtures import needs_ros
from xtdrone_mavros.command_translator import ENU, FLU, FLU_OFFSET, CommandTranslator, Request
from xtdrone_mavros.errors import MavrosError
from xtdrone_mavros.vehicle_kind import Kind, kind_of, on_wings

S = 1_000_000  # [us]
TO_WINGS, TO_ROTORS, ON_ROTORS, ON_WINGS = 1, 2, 3, 4  # MAV_VTOL_STATE


@pytest.fixture
def one():
    """A translator whose lines are kept, of a vehicle at (1, 2, 3) facing north, in LOITER."""
    lines = []
    translator = CommandTranslator(lines.append)
    translator.lines = lines
    translator.set_pose((1.0, 2.0, 3.0), math.pi / 2)
    translator.set_mode("AUTO.LOITER")
    return translator


@pytest.mark.parametrize(
    "word, request_",
    [
        ("ARM", Request(arm=True)),
        ("DISARM", Request(arm=False)),
        ("OFFBOARD", Request(mode="OFFBOARD")),
        ("AUTO.TAKEOFF", Request(mode="AUTO.TAKEOFF")),
        ("AUTO.LAND", Request(mode="AUTO.LAND")),
        ("AUTO.RTL", Request(mode="AUTO.RTL")),
        ("anything else", Request(mode="anything else")),
        (" ARM ", Request(arm=True)),
        ("HOVER", None),
        ("stop controlling", None),
        ("", None),
        ("mission7", None),
    ],
)
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
    assert one.command("ARM", 6 * S), "after a second it is meant anew"


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
@pytest.mark.parametrize(
    "method, field, mask",
    [
        ("velocity", "vel", 1 + 2 + 4 + 64 + 128 + 256 + 1024),
        ("acceleration", "acc", 1 + 2 + 4 + 8 + 16 + 32 + 1024),
    ],
)
def test_velocities_and_accelerations(one, method, field, mask, frame):
    getattr(one, method)(frame, (0.5, -1.0, 0.1), 0.3)
    target = one.set_point()
    assert (target.frame, target.type_mask) == (frame, mask)
    assert getattr(target, field) == (0.5, -1.0, 0.1)
    assert target.yaw_rate == 0.3
    assert not one.needs_pose


@pytest.mark.parametrize(
    "vel, rate, hover",
    [
        ((0.02, -0.02, 0.0), 0.005, True),
        ((0.021, 0.0, 0.0), 0.0, False),
        ((0.0, 0.0, -0.03), 0.0, False),
        ((0.0, 0.0, 0.0), -0.006, False),
    ],
)
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
        for ask in (
            lambda: one.velocity(FLU, v[:3], v[3]),
            lambda: one.pose_enu(v[:3], v[3]),
            lambda: one.acceleration(ENU, v[:3], v[3]),
            lambda: one.pose_flu(v[:3], v[3]),
        ):
            with pytest.raises(MavrosError, match="not finite"):
                ask()
    assert one.set_point() == before


@pytest.mark.parametrize(
    "mav_type, kind",
    [
        (1, Kind.PLANE),
        (2, Kind.MULTIROTOR),
        (10, Kind.ROVER),
        (11, Kind.BOAT),
        (13, Kind.MULTIROTOR),
        *[(number, Kind.VTOL) for number in range(19, 26)],
        (26, Kind.MULTIROTOR),
    ],
)
def test_kinds_by_the_type_of_the_heartbeat(mav_type, kind):
    assert kind_of(mav_type) is kind


def test_a_vtol_is_on_its_wings_from_the_begin_of_its_transition():
    assert [on_wings(Kind.VTOL, state) for state in range(5)] == [False, True, False, False, True]
    assert on_wings(Kind.PLANE, 0) and not on_wings(Kind.ROVER, ON_WINGS)


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("word, mode", [("takeoff", "AUTO.TAKEOFF"), ("land", "AUTO.LAND")])
def test_the_commands_of_xtdrones_plane_are_modes(one, kind, word, mode):
    one.set_kind(kind)
    assert one.command(word, 0) == Request(mode=mode)


def test_loiter_holds_the_position_of_the_moment(one):
    one.set_kind(Kind.PLANE)
    one.set_mode("OFFBOARD")
    one.pose_enu((50.0, 60.0, 70.0), 0.0)
    assert one.command("loiter", 0) is None
    assert one.set_point().pos == (1.0, 2.0, 3.0)
    one.pose_enu((50.0, 60.0, 70.0), 0.0)
    assert one.set_point().pos == (50.0, 60.0, 70.0)
    assert one.lines == ["loiter: done"]


def test_idle_is_refused_with_what_to_give_instead(one):
    assert one.command("idle", 0) is None
    assert "give loiter or land" in one.lines[-1]


@pytest.mark.parametrize("word, state", [("plane", ON_WINGS), ("multirotor", ON_ROTORS)])
@pytest.mark.parametrize("kind", Kind)
def test_only_a_vtol_has_transitions(one, kind, word, state):
    one.set_kind(kind)
    request = one.command(word, 0)
    if kind is Kind.VTOL:
        assert request == Request(transition=state) and one.lines == []
    else:
        assert request is None
        assert one.lines == [
            f"{word} refused: this vehicle is a {kind.value}, and only a VTOL has transitions"
        ]


@pytest.mark.parametrize(
    "kind, state", [(Kind.PLANE, 0), (Kind.VTOL, TO_WINGS), (Kind.VTOL, ON_WINGS)]
)
@pytest.mark.parametrize("motion", ["velocity", "acceleration"])
def test_fixed_wing_flight_takes_positions_only(one, kind, state, motion):
    one.set_kind(kind, state)
    with pytest.raises(MavrosError, match="publish positions on cmd_pose_enu"):
        getattr(one, motion)(FLU, (1.0, 0.0, 0.0), 0.0)
    getattr(one, motion)(FLU, (0.0, 0.0, 0.0), 0.0)
    assert one.set_point().pos == (1.0, 2.0, 3.0)


def test_a_transition_ends_a_velocity(one):
    one.set_kind(Kind.VTOL, ON_ROTORS)
    one.set_mode("OFFBOARD")
    one.velocity(FLU, (1.0, 0.0, 0.0), 0.0)
    assert one.set_point().vel == (1.0, 0.0, 0.0)
    one.set_kind(Kind.VTOL, TO_WINGS)
    assert one.set_point().pos == (1.0, 2.0, 3.0)
    one.pose_enu((5.0, 5.0, 5.0), 0.0)
    for state in (ON_WINGS, TO_ROTORS, ON_ROTORS):
        one.set_kind(Kind.VTOL, state)
        assert one.set_point().pos == (5.0, 5.0, 5.0)
    one.velocity(FLU, (1.0, 0.0, 0.0), 0.0)
    assert one.set_point().vel == (1.0, 0.0, 0.0)


def test_a_transition_leaves_the_offboard_of_another_node_alone(one):
    one.set_mode("OFFBOARD")
    one.set_kind(Kind.VTOL, TO_WINGS)
    assert one.set_point() is None


@pytest.mark.parametrize("kind", [Kind.PLANE, Kind.VTOL, Kind.ROVER, Kind.BOAT])
def test_a_pose_relative_to_the_body_is_one_of_the_moment(one, kind):
    one.set_kind(kind)
    one.pose_flu((10.0, 3.0, 4.0), 0.5)  # it faces north
    target = one.set_point()
    assert (target.frame, target.type_mask) == (ENU, 8 + 16 + 32 + 64 + 128 + 256 + 2048)
    assert target.pos == pytest.approx((-2.0, 12.0, 7.0))
    assert target.yaw == pytest.approx(math.pi / 2 + 0.5)


@pytest.mark.parametrize("kind", [Kind.ROVER, Kind.BOAT])
def test_rovers_and_boats_steer_by_the_angular_velocity(one, kind):
    """XTDrone's rover_communication sends it as the velocity to the left."""
    one.set_kind(kind)
    one.velocity(FLU, (2.0, 7.0, 7.0), 0.3)
    target = one.set_point()
    assert (target.frame, target.vel) == (FLU, (2.0, 0.3, 0.0))
    one.velocity(ENU, (2.0, 1.0, 0.0), 0.3)
    target = one.set_point()
    assert (target.frame, target.vel) == (ENU, (2.0, 1.0, 0.0))


@needs_ros
def test_xtdrones_classes_are_where_its_users_look_for_them():
    from xtdrone_control.communication import Communication, FleetCommunication

    assert issubclass(Communication, FleetCommunication)
