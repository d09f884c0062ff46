"""Flights of VTOLs by the embedded flight stack, in the lockstep."""

import math

import numpy as np
import pytest

from stack_flights import NAN, POSITION, VELOCITY
from xtdrone_autopilot.mavlink.streams import BUFFER
from xtdrone_autopilot.navigation import plan_file
from xtdrone_autopilot.state.vehicle_status import HOVERS, ON_WINGS, TO_FIXED_WING, TO_HOVER
from xtdrone_core import Mode, resources
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import NAV_STATES
from xtdrone_dynamics.quaternion import to_euler

PLAN = plan_file.load(resources.root() / "docs/missions/vtol.plan")
HEIGHT = 30.0  # of the plan, and of the flights here [m]
RADIUS = 80.0  # NAV_LOITER_RAD [m]
GUSTS = "mean=0,5,0 dryden=5"
BACK_S = 18.0  # a tail-sitter glides for 14 s until its wings carry it no more
# Largest height error in transitions and on the wings, calm and in gusts; measured 1.5, 2.2 and
# 0.7, 3.3 m of the standard VTOL, 0.3, 0.5 and 2.0, 4.3 m of the tail-sitter, 0.2, 1.8 and 1.7,
# 3.2 m of the tiltrotor.
HEIGHTS = {
    "standard_vtol": (3.0, 2.0, 4.0),
    "tailsitter": (1.0, 3.0, 6.0),
    "tiltrotor": (3.0, 3.0, 5.0),
}


@pytest.fixture(
    params=["standard_vtol", "tailsitter", pytest.param("tiltrotor", marks=pytest.mark.long)]
)
def kind(request):
    """The type of the VTOL; a tiltrotor is flown by tests that name it."""
    return request.param


# What the types of VTOLs share is flown with one of them.
ONE = pytest.mark.parametrize("kind", ["standard_vtol"], indirect=True)


@pytest.fixture
def vtol(flight, kind):
    """A VTOL on the ground, in calm air if nothing else is given."""

    def make(**scenario):
        return flight(vehicle=kind, **scenario)

    return make


@pytest.fixture
def aloft(vtol):
    """A VTOL that hovers after AUTO.TAKEOFF."""

    def make(**scenario):
        return vtol(**scenario).once(hover_up)

    return make


def hover_up(f):
    f.set(MIS_TAKEOFF_ALT=HEIGHT)
    f.autopilot.commander.take_off(0, NAN, f.simulation.t_us)
    assert f.autopilot.commander.arm(0, f.simulation.t_us).accepted
    f.wait(lambda: f.mode == Mode.LOITER, 30)
    f.run(5)


def state(f):
    return f.autopilot.status["vtol_state"][0]


def transition(f, wanted, at_once=0.0):
    """DO_VTOL_TRANSITION; returns the result of the acknowledgement, None = no answer."""
    f.links.replies.clear()
    f.send(
        mavlink.MAVLink_command_long_message(
            1, 1, mavlink.MAV_CMD_DO_VTOL_TRANSITION, 0, float(wanted), at_once, 0, 0, 0, 0, 0
        )
    )
    return f.links.replies[-1].result if f.links.replies else None


@pytest.mark.parametrize("kind", ["standard_vtol", "tailsitter"], indirect=True)
@pytest.mark.parametrize("at", [HOVERS, ON_WINGS])
def test_displays_turn_a_tailsitter_that_is_on_its_wings(vtol, kind, at):
    f = vtol()
    streams = f.autopilot.streams()
    f.autopilot.status["vtol_state"] = at
    chosen = np.ones(1, dtype=bool)
    out = np.zeros((1, BUFFER), dtype=np.uint8)
    length = np.zeros(1, dtype=np.int64)
    streams.append(
        streams.index["ATTITUDE_QUATERNION"], 0, chosen, np.zeros(1, dtype=np.uint8), out, length
    )
    (message,) = mavlink.MAVLink(None).parse_buffer(out[0, : length[0]].tobytes())
    turned = kind == "tailsitter" and at == ON_WINGS
    half = math.sqrt(0.5)
    assert message.repr_offset_q == pytest.approx([half, 0, half, 0] if turned else [0] * 4)


def to_wings(f):
    assert transition(f, ON_WINGS) == mavlink.MAV_RESULT_ACCEPTED
    f.wait(lambda: state(f) == ON_WINGS, 12)


def fly_plan(f):
    """The plan until it is disarmed: rows of position, velocity and vtol_state at 10 Hz."""
    f.autopilot.missions.load_items(0, PLAN.items)
    f.start()
    rows = []
    for _ in range(300):
        f.run(1, lambda: rows.append((*f.pos, *f.vel, state(f))), rate=10)
        if not f.armed:
            return np.array(rows)
    raise AssertionError(f.said)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind, wind",
    [
        ("tailsitter", GUSTS),  # the others change over, return and land in the next tests
        *(
            pytest.param(kind, wind, marks=pytest.mark.long)
            for kind, wind in (
                ("standard_vtol", GUSTS),
                ("standard_vtol", ""),
                ("tailsitter", ""),
                ("tiltrotor", ""),
                ("tiltrotor", GUSTS),
            )
        ),
    ],
    indirect=["kind"],
)
def test_it_hovers_up_flies_a_kilometre_on_its_wings_and_lands_in_a_hover(vtol, kind, wind):
    f = vtol(wind=wind)
    rows = fly_plan(f)
    assert {"Mission finished, landed", "Disarmed by landing"} <= set(f.said)
    assert not any("Quad-chute" in text for text in f.said)
    pos, vel, states = rows[:, :3], rows[:, 3:6], rows[:, 6]
    order = states[np.flatnonzero(np.diff(states, prepend=0))].tolist()
    assert order == [HOVERS, TO_FIXED_WING, ON_WINGS, TO_HOVER, HOVERS]
    changing, calm, in_gusts = HEIGHTS[kind]
    for change in (TO_FIXED_WING, TO_HOVER):
        heights = pos[states == change, 2]
        assert abs(heights - heights[0]).max() < changing
    wings = states == ON_WINGS
    assert np.linalg.norm(np.diff(pos[wings], axis=0), axis=1).sum() > 1000.0
    assert abs(pos[wings, 2] - HEIGHT).max() < (in_gusts if wind else calm)
    legs = wings & (abs(pos[:, 1] - 200.0) < 60.0) & (pos[:, 0] > -80.0) & (pos[:, 0] < 200.0)
    assert abs(pos[legs, 1] - 200.0).max() < 4.0
    assert np.linalg.norm(pos[-1, :2]) < 1.5
    touching = np.flatnonzero(pos[:, 2] > pos[-1, 2] + 0.2)[-1]
    assert vel[touching:, 2].min() > -1.2


@pytest.mark.long
def test_it_changes_over_and_back_by_command_and_loiters_in_both(aloft):
    f = aloft().once(to_wings)
    centre = f.autopilot.status["target"][0].copy()
    f.run(40)
    rows = []
    f.run(18, lambda: rows.append(f.pos - centre), rate=5)  # half a circle
    rows = np.array(rows)
    assert abs(np.hypot(rows[:, 0], rows[:, 1]) - RADIUS).max() < 5.0
    assert abs(rows[:, 2]).max() < 3.0
    assert transition(f, HOVERS) == mavlink.MAV_RESULT_ACCEPTED
    f.wait(lambda: state(f) == HOVERS, BACK_S)
    f.run(12)
    held = f.pos
    f.run(3)
    assert np.linalg.norm(f.pos - held) < 0.3 and np.linalg.norm(f.vel) < 0.3


@pytest.mark.slow
@ONE
def test_vtol_takeoff_changes_over_and_loiters_at_its_place(vtol):
    f = vtol()
    f.run(1)
    f.wait(lambda: f.autopilot.status["ready"][0], 5)
    f.set(VTO_LOITER_ALT=45.0)
    lat, lon, sea = f.autopilot.origin
    north, east = 250.0, 100.0
    f.send(
        mavlink.MAVLink_command_int_message(
            1,
            1,
            0,
            mavlink.MAV_CMD_NAV_VTOL_TAKEOFF,
            0,
            0,
            0,
            0,
            0,
            NAN,
            round(math.degrees(lat + north / 6.371e6) * 1e7),
            round(math.degrees(lon + east / 6.371e6 / math.cos(lat)) * 1e7),
            sea + HEIGHT,
        )
    )
    assert f.links.replies[-1].result == mavlink.MAV_RESULT_ACCEPTED
    assert f.autopilot.commander.arm(0, f.simulation.t_us).accepted
    assert NAV_STATES[f.autopilot.status["nav_state"][0]].name == "VTOL Takeoff"
    f.wait(lambda: state(f) == TO_FIXED_WING, 60)
    assert abs(f.pos[2] - HEIGHT) < 1.0 and np.hypot(*f.pos[:2]) < 1.0
    f.wait(lambda: f.mode == Mode.LOITER, 90)
    assert state(f) == ON_WINGS
    f.run(20)
    distance = np.hypot(*(f.pos[:2] - (east, north)))
    assert abs(distance - RADIUS) < 5.0 and abs(f.pos[2] - 45.0) < 3.0


@ONE
@pytest.mark.slow
def test_commands_that_it_refuses(aloft):
    f = aloft()
    assert transition(f, 7) == mavlink.MAV_RESULT_TEMPORARILY_REJECTED
    assert f.set_mode(Mode.RTL).accepted
    assert transition(f, ON_WINGS) == mavlink.MAV_RESULT_TEMPORARILY_REJECTED
    assert state(f) == HOVERS


def test_others_are_no_vtols(flight):
    f = flight()
    assert transition(f, ON_WINGS) is None
    assert "is no VTOL" in f.said[-1]


@pytest.mark.long
def test_land_mode_stops_in_a_hover_and_lands(aloft):
    f = aloft().once(to_wings)
    f.run(5)
    assert f.set_mode(Mode.LAND).accepted
    begun = f.pos
    f.wait(lambda: not f.armed, 80)
    assert 20.0 < np.hypot(*(f.pos - begun)[:2]) < 180.0
    assert f.pos[2] < 0.5
    assert "Disarmed by landing" in f.said


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind, wind",
    [
        pytest.param("standard_vtol", "", marks=pytest.mark.long),
        ("tiltrotor", GUSTS),
        *(
            pytest.param(kind, GUSTS, marks=pytest.mark.long)
            for kind in ("standard_vtol", "tailsitter")
        ),
    ],
    indirect=["kind"],
)
def test_return_comes_home_on_the_wings_and_lands_there_in_a_hover(aloft, wind):
    f = aloft(wind=wind)
    to_wings(f)
    f.autopilot.commander.reposition(0, (300.0, 200.0, 40.0), NAN, NAN, f.simulation.t_us)
    f.run(20)
    f.set(RTL_RETURN_ALT=50.0, RTL_DESCEND_ALT=30.0, RTL_LAND_DELAY=0.0)
    assert f.set_mode(Mode.RTL).accepted
    f.wait(lambda: not f.armed, 200)
    assert np.hypot(*(f.pos - f.autopilot.status["home"][0])[:2]) < 1.5


@pytest.mark.slow
def test_offboard_set_points_in_hover_and_on_the_wings(aloft):
    f = aloft()
    f.target(mavlink.MAV_FRAME_LOCAL_NED, VELOCITY, vx=2.0)
    f.offboard()
    f.run(6, lambda: f.target(mavlink.MAV_FRAME_LOCAL_NED, VELOCITY, vx=2.0), rate=10)
    assert abs(f.vel[1] - 2.0) < 0.3

    def north_east():
        f.target(mavlink.MAV_FRAME_LOCAL_NED, POSITION, x=400.0, y=400.0, z=-HEIGHT)

    f.run(1, north_east, rate=10)
    assert transition(f, ON_WINGS) == mavlink.MAV_RESULT_ACCEPTED
    f.run(25, north_east, rate=10)
    assert state(f) == ON_WINGS
    assert f.vel[0] > 5.0 and f.vel[1] > 5.0 and abs(f.pos[2] - HEIGHT) < 4.0


def sticks(f, forward=0.0, right=0.0, up=0.0):
    f.send(
        mavlink.MAVLink_manual_control_message(
            1, round(1000 * forward), round(1000 * right), round(500 * (up + 1.0)), 0, 0
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind, mode",
    [
        ("standard_vtol", Mode.POSCTL),
        pytest.param("standard_vtol", Mode.ALTCTL, marks=pytest.mark.long),
        pytest.param("standard_vtol", Mode.STABILIZED, marks=pytest.mark.long),
        ("tailsitter", Mode.STABILIZED),
        pytest.param("tiltrotor", Mode.STABILIZED, marks=pytest.mark.long),
    ],
    indirect=["kind"],
)
def test_it_changes_over_in_manual_modes(aloft, mode):
    f = aloft()
    sticks(f)
    assert f.set_mode(mode).accepted
    f.run(2, lambda: sticks(f), rate=10)
    assert transition(f, ON_WINGS) == mavlink.MAV_RESULT_ACCEPTED
    f.run(10, lambda: sticks(f), rate=10)
    assert state(f) == ON_WINGS
    if mode != Mode.STABILIZED:
        f.run(10, lambda: sticks(f), rate=10)
        assert abs(f.pos[2] - HEIGHT) < 5.0
    rolls = []

    def to_the_right():
        sticks(f, right=0.5)
        rolls.append(to_euler(*f.simulation.state.quat[0])[0])

    f.run(5, to_the_right, rate=10)
    assert max(rolls) > math.radians(10.0)
    assert transition(f, HOVERS) == mavlink.MAV_RESULT_ACCEPTED
    f.wait(lambda: sticks(f) or state(f) == HOVERS, BACK_S)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind, cause, parameters, reason",
    [
        (
            "standard_vtol",
            "timeout",
            {"VT_TRANS_TIMEOUT": 2.0, "VT_F_TRANS_THR": 0.1},
            "transition timeout",
        ),
        ("standard_vtol", "height", {"VT_FW_MIN_ALT": 60.0}, "minimum altitude"),
        ("standard_vtol", "roll", {"VT_FW_QC_R": 15}, "maximum roll"),
        pytest.param("standard_vtol", "command", {}, "external command", marks=pytest.mark.long),
        ("tailsitter", "command", {}, "external command"),
        pytest.param("tiltrotor", "command", {}, "external command", marks=pytest.mark.long),
    ],
    indirect=["kind"],
)
def test_quadchutes_return_in_a_hover(aloft, cause, parameters, reason):
    f = aloft()
    f.set(RTL_RETURN_ALT=35.0, **parameters)
    assert transition(f, ON_WINGS) == mavlink.MAV_RESULT_ACCEPTED
    if cause == "command":
        f.run(15)
        transition(f, HOVERS, at_once=1.0)
    f.wait(lambda: f.autopilot.status["quadchute"][0] != 0, 40)
    assert state(f) in (HOVERS, TO_HOVER) and any(reason in text for text in f.said)
    assert "Quad-chute triggered" in f.said
    f.wait(lambda: f.mode == Mode.RTL, 10)
    climbs = []
    f.run(8, lambda: climbs.append(f.vel[2]))
    if cause == "command":  # the way home is the same after each cause
        f.wait(lambda: (climbs.append(f.vel[2]), not f.armed)[1], 150)
        assert np.hypot(*(f.pos - f.autopilot.status["home"][0])[:2]) < 1.5
    assert min(climbs) > -2.5  # it does not fall


@pytest.mark.slow
@ONE
def test_reset_in_a_transition_gives_a_fresh_vehicles_flight(vtol):
    def fly(f):
        f.run(1)
        f.set(MIS_TAKEOFF_ALT=HEIGHT)
        f.wait(lambda: f.autopilot.status["ready"][0], 5)
        f.autopilot.commander.take_off(0, NAN, f.simulation.t_us)
        f.autopilot.commander.arm(0, f.simulation.t_us)
        f.wait(lambda: f.mode == Mode.LOITER, 30)
        transition(f, ON_WINGS)
        f.run(2)
        return f.pos, f.vel

    f = vtol()
    f.simulation.reset()
    first = fly(f)
    assert state(f) == TO_FIXED_WING
    f.simulation.reset()
    assert state(f) == HOVERS
    again = fly(f)
    np.testing.assert_array_equal(first, again)
