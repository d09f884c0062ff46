"""Flights of the plane by the embedded flight stack, in the lockstep."""

import math
import re

import numpy as np
import pytest

from stack_flights import NAN
from xtdrone_autopilot.navigation import plan_file
from xtdrone_autopilot.navigation.mission_items import MISSION
from xtdrone_autopilot.state.vehicle_status import TARGET_LAND
from xtdrone_core import Mode, resources
from xtdrone_core.mavlink.dialect import mavlink

PLAN = plan_file.load(resources.root() / "docs/missions/plane.plan")
RADIUS = 80.0  # NAV_LOITER_RAD [m]


@pytest.fixture
def plane(flight):
    """A plane on the runway, in calm air if nothing else is given."""

    def make(**scenario):
        return flight(vehicle="plane", **scenario)

    return make


def take_off(f):
    f.autopilot.commander.take_off(0, NAN, f.simulation.t_us)
    assert f.autopilot.commander.arm(0, f.simulation.t_us).accepted
    f.wait(lambda: f.mode == Mode.LOITER, 20)
    f.run(40)


@pytest.fixture
def aloft(plane):
    """A plane that loiters after AUTO.TAKEOFF."""

    def make(**scenario):
        return plane(**scenario).once(take_off)

    return make


def fly_plan(f):
    """The plan until it is disarmed.

    Returns:
        Rows of position, speed, estimated bank and airspeed, item, and climb rate, at 5 Hz.
    """
    f.autopilot.missions.load_items(0, PLAN.items)
    f.start()
    rows, state = [], f.autopilot.fixed_wing.records[0]
    for _ in range(250):
        f.run(
            1,
            lambda: rows.append(
                (*f.pos, np.linalg.norm(f.vel), state["roll"], state["airspeed"], f.seq(), f.vel[2])
            ),
            rate=5,
        )
        if not f.armed:
            return np.array(rows)
    raise AssertionError(f.said)


@pytest.mark.slow
@pytest.mark.parametrize("wind", [pytest.param("", marks=pytest.mark.long), "mean=0,5,0 dryden=5"])
def test_the_plan_is_flown_from_take_off_to_landing(plane, wind):
    f = plane(wind=wind)
    rows = fly_plan(f)
    assert {"Mission finished, landed", "Disarmed by landing"} <= set(f.said)
    pos = rows[:, :3]
    for corner in ((250, 0, 40), (250, 200, 40), (-150, 200, 40), (-150, 0, 40)):
        assert np.linalg.norm(pos - corner, axis=1).min() < 45.0
    settled = (rows[:, 6] >= 3) & (rows[:, 6] <= 5)  # after the first turns
    assert abs(pos[settled, 2] - 40.0).max() < 5.0
    assert rows[settled, 5].min() > 12.0 and rows[settled, 5].max() < 19.0
    assert np.degrees(abs(rows[:, 4])).max() < 50.1  # FW_R_LIM
    legs = settled & (pos[:, 0] > -80.0) & (pos[:, 0] < 150.0) & (pos[:, 1] > 150.0)
    assert abs(pos[legs, 1] - 200.0).max() < 4.0
    assert np.linalg.norm(f.pos[:2]) < 100.0 and f.pos[2] < 0.3
    assert rows[pos[:, 2] < 1.0, 7].min() > (-3.0 if wind else -1.0)  # of the touch-down


@pytest.mark.parametrize("seed", [7])
@pytest.mark.slow
def test_impacts_of_the_take_off_run_do_not_cost_its_position(flight, tmp_path, seed):
    """On a rough belly it bounces on the runway, by more than the accelerometer can read."""
    sdf = (resources.root() / "models/plane/model.sdf").read_text()
    (tmp_path / "plane").mkdir()
    rough = tmp_path / "plane/model.sdf"
    rough.write_text(re.sub(r"<mu>.*</mu2>", "<mu>1</mu><mu2>1</mu2>", sdf))
    f = flight(vehicle=str(rough), wind="mean=0,5,0 dryden=5", seed=seed)
    f.run(10.0 - f.simulation.t_us * 1e-6)
    f.autopilot.missions.load_items(0, PLAN.items)
    f.start()
    readings = []
    f.run(12, lambda: readings.append(abs(f.simulation.sensors.accel).max()), rate=250)
    assert max(readings) > 150.0
    assert f.mode == Mode.MISSION and "Failsafe activated" not in f.said
    assert np.linalg.norm(f.autopilot.estimator.pos[0] - f.pos) < 1.0


@pytest.mark.slow
def test_it_loiters_clockwise_on_its_radius_at_its_height(aloft):
    f = aloft()
    centre, rows = f.autopilot.status["target"][0].copy(), []
    f.run(40, lambda: rows.append(f.pos - centre), rate=5)
    rows = np.array(rows)
    assert abs(np.hypot(rows[:, 0], rows[:, 1]) - RADIUS).max() < 4.0
    assert abs(rows[:, 2]).max() < 3.0
    turned = np.unwrap(np.arctan2(rows[:, 1], rows[:, 0]))
    assert turned[-1] - turned[0] < -math.pi


def test_items_that_loiter_have_their_radius_and_time(plane):
    f = plane()
    takes_off = f.item(22, 100, 0, 40.0)
    loiters = f.item(19, 0, 150, 40.0, (10.0, 0.0, -60.0, 0.0))
    accepted = f.upload([takes_off, loiters, f.item(16, 300, 300, 40.0)])
    assert accepted == mavlink.MAV_MISSION_ACCEPTED
    f.start()
    f.wait(lambda: f.seq() == 1, 60)
    entered = []
    f.wait(lambda: (np.hypot(*(f.pos[:2] - (0, 150))) < 75.0, entered.append(f.pos))[0], 60)
    rows = []
    f.wait(lambda: (f.seq() == 2, rows.append(f.pos))[0], 60)
    assert len(rows) > 5.0 * 250
    turned = np.unwrap(np.arctan2(*(np.array(rows)[:, 1::-1] - (150, 0)).T))
    assert turned[-1] > turned[0]  # anti-clockwise


@pytest.mark.slow
def test_return_climbs_comes_home_and_loiters(aloft):
    f = aloft()
    f.set(RTL_RETURN_ALT=50.0, RTL_DESCEND_ALT=45.0)
    f.autopilot.commander.reposition(0, (300.0, 200.0, 40.0), NAN, NAN, f.simulation.t_us)
    f.run(30)
    assert f.set_mode(Mode.RTL).accepted
    f.wait(lambda: "RTL: completed, loitering" in f.said, 120)
    f.run(20)
    home = f.autopilot.status["home"][0]
    assert np.hypot(*(f.pos - home)[:2]) < 1.2 * RADIUS and 40.0 < f.pos[2] < 50.0


@pytest.mark.long
def test_return_lands_as_the_mission_does(aloft):
    f = aloft()
    f.autopilot.missions.replace(0, MISSION, PLAN.items[MISSION])
    assert f.set_mode(Mode.RTL).accepted
    f.wait(lambda: not f.armed, 250)
    assert np.linalg.norm(f.pos[:2]) < 100.0


def go_around(f):
    f.send(mavlink.MAVLink_command_long_message(1, 1, mavlink.MAV_CMD_DO_GO_AROUND, *[0] * 8))


def blind(f):
    """Its range finder fails."""
    f.autopilot.failures.inject(
        0, mavlink.FAILURE_UNIT_SENSOR_DISTANCE_SENSOR, mavlink.FAILURE_TYPE_OFF, 0
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "before, below_20_m, words",
    [
        (go_around, go_around, " by operator"),
        (blind, None, ": terrain measurement not found"),
        (None, blind, ": terrain estimate timed out"),
    ],
)
def test_an_aborted_landing_waits_above_it_and_begins_anew(aloft, before, below_20_m, words):
    f, items = aloft(), PLAN.items[MISSION]
    status = f.autopilot.status[0]
    f.autopilot.missions.replace(0, MISSION, items)
    f.autopilot.missions.set_current(0, len(items) - 2)  # the loiter before the landing
    if before is not None:
        before(f)
    assert f.set_mode(Mode.MISSION).accepted
    f.wait(lambda: status["target_type"] == TARGET_LAND, 120)
    if below_20_m is not None:
        f.wait(lambda: f.pos[2] < 20.0, 60)
        below_20_m(f)
    f.wait(lambda: f.mode == Mode.LOITER, 20)
    assert f"Landing aborted{words}" in f.said and f.seq() == len(items) - 3  # DO_LAND_START
    assert status["target"][2] == pytest.approx(30.0, abs=1.0)
    f.wait(lambda: abs(f.pos[2] - 30.0) < 3.0, 30)
    assert f.armed


@pytest.mark.slow
def test_land_mode_descends_on_a_circle(aloft):
    f = aloft()
    assert f.set_mode(Mode.LAND).accepted
    centre = f.autopilot.status["target"][0].copy()
    f.wait(lambda: f.pos[2] < 8.0, 60)
    assert abs(np.hypot(*(f.pos - centre)[:2]) - RADIUS) < 8.0
    f.wait(lambda: not f.armed, 40)
    assert "Landing detected" in f.said


def sticks(f, forward=0.0, right=0.0, up=0.0, clockwise=0.0):
    """MANUAL_CONTROL: -1..1 each."""
    f.send(
        mavlink.MAVLink_manual_control_message(
            1,
            round(1000 * forward),
            round(1000 * right),
            round(500 * (up + 1.0)),
            round(1000 * clockwise),
            0,
        )
    )


def by_sticks(f, seconds, **deflection):
    f.run(seconds, lambda: sticks(f, **deflection), rate=20)


@pytest.mark.slow
def test_altitude_and_position_modes(aloft):
    f = aloft()
    by_sticks(f, 0.5)
    assert f.set_mode(Mode.ALTCTL).accepted
    height = f.pos[2]
    by_sticks(f, 8.0, right=0.4)
    assert abs(f.pos[2] - height) < 3.0
    assert math.degrees(f.autopilot.fixed_wing.records["roll"][0]) == pytest.approx(20.0, abs=0.5)
    by_sticks(f, 8.0, forward=-1.0)
    assert f.pos[2] > height + 10.0 and f.vel[2] == pytest.approx(3.0, abs=1.5)
    assert f.set_mode(Mode.POSCTL).accepted
    by_sticks(f, 6.0)
    course = math.atan2(f.vel[1], f.vel[0])
    by_sticks(f, 10.0)
    assert abs(math.atan2(f.vel[1], f.vel[0]) - course) < 0.03


@pytest.mark.slow
def test_stabilized_acro_and_manual(aloft):
    f = aloft()
    by_sticks(f, 0.5, up=-0.6)
    assert f.set_mode(Mode.STABILIZED).accepted
    by_sticks(f, 2.0, right=0.5, up=-0.6)
    assert math.degrees(f.autopilot.fixed_wing.records["roll"][0]) == pytest.approx(22.5, abs=0.5)
    assert f.set_mode(Mode.ACRO).accepted
    by_sticks(f, 0.6, right=-0.3, up=-0.6)
    assert f.simulation.state.ang_vel[0, 0] == pytest.approx(-math.radians(27.0), abs=0.1)
    assert f.set_mode(Mode.MANUAL).accepted
    by_sticks(f, 0.2, right=0.5, up=-0.6)
    assert f.autopilot.fixed_wing.records["torque"][0, 0] == pytest.approx(0.5)


@pytest.mark.slow
def test_offboard_flies_to_a_position(aloft):
    f = aloft()
    frame = mavlink.MAV_FRAME_LOCAL_NED

    def stream():
        f.target(frame, 0xDF8, x=600.0, y=0.0, z=-50.0)

    f.run(0.5, stream, rate=10)
    f.offboard()
    f.run(12, stream, rate=10)
    ahead = np.array([0.0, 600.0]) - f.pos[:2]
    assert f.vel[:2] @ ahead > 0.97 * np.linalg.norm(f.vel[:2]) * np.linalg.norm(ahead)


def test_a_launch_is_waited_for(plane):
    f = plane()
    f.set(RWTO_TKOFF=0, FW_LAUN_DETCN_ON=1)
    f.autopilot.commander.take_off(0, NAN, f.simulation.t_us)
    assert f.autopilot.commander.arm(0, f.simulation.t_us).accepted
    f.run(3)
    assert f.autopilot.commands[0, 0] == 0.0 and f.autopilot.status["landed"][0]
    f.set(FW_LAUN_AC_THLD=-1.0)  # thus it is felt at once
    f.wait(lambda: f.mode == Mode.LOITER, 20)


def test_a_mission_without_a_take_off_is_not_begun(plane):
    f = plane()
    f.upload([f.item(16, 100, 0, 40.0), f.item(16, 300, 0, 40.0)])
    f.set_mode(Mode.MISSION)
    answer = f.autopilot.commander.arm(0, f.simulation.t_us)
    assert not answer.accepted and "take-off" in answer.reason


@pytest.mark.slow
def test_a_plane_that_is_reset_flies_the_same_again(plane):
    f = plane()
    places = []
    for _ in range(2):
        f.autopilot.missions.load_items(0, PLAN.items)
        f.start()
        f.run(8)
        places.append(f.pos)
        f.simulation.reset()
        f.ready()
    np.testing.assert_array_equal(*places)
