"""Each failsafe in flight, in simulated time, with the action that PX4's parameter names."""

import math

import numpy as np
import pytest

from stack_flights import MissionFlight
from xtdrone_autopilot.navigation.mission_items import FENCE
from xtdrone_core import Mode
from xtdrone_core.mavlink.dialect import mavlink

NAN = math.nan


def heartbeat(f):
    f.send(mavlink.MAVLink_heartbeat_message(mavlink.MAV_TYPE_GCS, 8, 0, 0, 4, 3))


def sticks(f):
    f.send(mavlink.MAVLink_manual_control_message(1, 0, 0, 500, 0, 0))


def says(f, *words):
    return any(all(word in text for word in words) for text in f.said)


def set_and_take_off(f, **parameters):
    """Sets them once it hovers, so that all tests go on from one take-off."""
    f.take_off()
    f.set(**parameters)
    f.run(0.1)


def away(f):
    f.autopilot.commander.reposition(0, np.array([15.0, 0, 5]), NAN, NAN, f.simulation.t_us)


@pytest.mark.slow
def test_data_link_loss_holds_then_returns(flight):
    f = flight()
    f.set(NAV_DLL_ACT=2, COM_DL_LOSS_T=5, RTL_RETURN_ALT=6.0, RTL_DESCEND_ALT=5.0)
    f.run(0.5)
    refusal = f.autopilot.commander.arm(0, f.simulation.t_us)
    assert "the ground station link is lost" in refusal.reason
    heartbeat(f)
    f.run(0.2)
    f.take_off()
    away(f)
    f.run(5, lambda: heartbeat(f), 1)
    f.run(7.8)  # PX4 takes it for there until 2.5 s after its heartbeat
    assert says(f, "no ground station for 5 s", "hold for 5 s, then return")
    assert f.mode == Mode.LOITER
    f.run(5)
    assert f.mode == Mode.RTL
    f.wait(lambda: not f.armed, 60)
    assert np.linalg.norm(f.pos[:2]) < 0.5


def test_ground_station_that_comes_back_in_the_hold_ends_it(flight):
    f = flight()
    f.upload([f.item(22, 0, 0, 5.0), f.item(16, 60, 0, 5.0)])
    f.set(NAV_DLL_ACT=2, COM_DL_LOSS_T=5)
    heartbeat(f)
    f.run(0.2)
    f.start()
    f.wait(lambda: f.mode == Mode.LOITER, 10)
    f.run(1)
    heartbeat(f)
    f.run(0.2)
    assert f.mode == Mode.MISSION and says(f, "ground station is back")


def lose_station(f):
    """A hover in which no heartbeat comes for 4 s; the link counts as lost after 5 s."""
    f.take_off()
    heartbeat(f)
    f.set(NAV_DLL_ACT=2, COM_DL_LOSS_T=5, RTL_RETURN_ALT=30.0)
    f.run(4.0)


LINK_ACTIONS = [(1, Mode.LOITER), (2, Mode.RTL), (3, Mode.LAND), (5, None), (6, None)]


@pytest.mark.slow
@pytest.mark.parametrize("action, mode", LINK_ACTIONS)  # None: its rotors stop
def test_data_link_loss(flight, action, mode):
    f = flight().once(lose_station)
    f.set(NAV_DLL_ACT=action)
    assert f.armed and not says(f, "no ground station")
    f.run(9.5)
    assert says(f, "no ground station")
    assert not f.armed if mode is None else f.mode == mode


@pytest.mark.slow
@pytest.mark.parametrize("action, mode", LINK_ACTIONS)
def test_manual_control_loss(flight, action, mode):
    f = flight()
    set_and_take_off(f, NAV_RCL_ACT=action, RTL_RETURN_ALT=30.0)
    sticks(f)
    assert f.set_mode(Mode.POSCTL).accepted
    f.run(2, lambda: sticks(f))
    f.run(7)
    assert says(f, "manual control lost")
    assert not f.armed if mode is None else f.mode == mode


def test_who_lands_already_does_not_return(flight):
    f = flight()
    set_and_take_off(f, NAV_RCL_ACT=2, RTL_RETURN_ALT=30.0)
    f.run(0.5, lambda: sticks(f))
    assert f.set_mode(Mode.LAND).accepted
    f.run(2)
    assert says(f, "manual control lost") and f.mode == Mode.LAND


@pytest.mark.slow
@pytest.mark.parametrize(
    "action, with_sticks, mode",
    [
        (0, True, Mode.POSCTL),
        (0, False, Mode.RTL),
        (1, True, Mode.ALTCTL),
        (2, True, Mode.STABILIZED),
        (3, False, Mode.RTL),
        (4, False, Mode.LAND),
        (5, False, Mode.LOITER),
        (6, False, None),
        (7, False, None),
    ],
)
def test_offboard_loss(flight, action, with_sticks, mode):
    f = flight()
    set_and_take_off(
        f,
        COM_OBL_RC_ACT=action,
        RTL_RETURN_ALT=30.0,
        COM_OF_LOSS_T=0.5,
        COM_FAIL_ACT_T=2.0,
        COM_RCL_EXCEPT=4,
    )
    f.target(mavlink.MAV_FRAME_LOCAL_NED, 0xDF8, z=-5.0)
    f.offboard()
    each = (lambda: sticks(f)) if with_sticks else None
    f.run(0.7, each)
    assert says(f, "offboard set-points lost, hold for 2 s") and f.mode == Mode.LOITER
    f.run(2.2, each)
    assert not f.armed if mode is None else f.mode == mode


def test_manual_control_that_was_never_there_is_not_missed(flight):
    f = flight()
    f.take_off()
    f.run(3)
    assert not says(f, "manual control")


def test_manual_control_loss_is_excepted_in_missions(flight):
    f = flight()
    f.upload([f.item(22, 0, 0, 5.0), f.item(17, 10, 0, 5.0)])
    f.set(COM_RCL_EXCEPT=1)
    f.run(0.5, lambda: sticks(f))
    f.start()
    f.run(10)
    assert f.mode == Mode.MISSION
    f.set(COM_RCL_EXCEPT=0)
    f.run(0.5)
    assert f.mode == Mode.LOITER and says(f, "manual control lost")


@pytest.mark.slow
@pytest.mark.parametrize(
    "action, critical, emergency",
    [(0, Mode.LOITER, Mode.LOITER), (2, Mode.LAND, Mode.LAND), (3, Mode.RTL, Mode.LAND)],
)
def test_battery_low_critical_and_at_emergency_level(flight, action, critical, emergency):
    f = flight()
    set_and_take_off(f, COM_LOW_BAT_ACT=action, RTL_RETURN_ALT=40.0)
    level = f.autopilot.battery.step
    drained = [0.5]

    def step(*args):
        level(*args)
        f.autopilot.battery.level[:] = drained[0]

    f.autopilot.battery.step = step
    drained[0] = 0.14
    f.run(0.5)
    assert says(f, "Warning: battery low, 14% left") and f.mode == Mode.LOITER
    drained[0] = 0.06
    f.run(6)
    assert says(f, "battery critical") and f.mode == critical
    drained[0] = 0.04
    f.run(0.5)
    assert says(f, "emergency") and f.mode == emergency
    if emergency == Mode.LAND:
        f.wait(lambda: not f.armed, 40)


@pytest.mark.parametrize(
    "name, target", [("GF_MAX_HOR_DIST", (30.0, 0, 5)), ("GF_MAX_VER_DIST", (0.0, 0, 40))]
)
@pytest.mark.slow
def test_distance_limits_of_the_geofence(flight, name, target):
    f = flight()
    set_and_take_off(f, **{name: 12.0, "GF_ACTION": 3, "COM_FAIL_ACT_T": 0.0})
    f.autopilot.commander.reposition(0, np.array(target), NAN, NAN, f.simulation.t_us)
    f.run(8)
    assert f.mode == Mode.RTL and says(f, "geofence broken", f"{name} allows 12 m")


@pytest.mark.slow
@pytest.mark.parametrize(
    "action, mode",
    [
        (0, Mode.MISSION),
        (1, Mode.MISSION),
        (2, Mode.LOITER),
        (3, Mode.RTL),
        (4, None),
        (5, Mode.LAND),
    ],
)
def test_actions_of_the_geofence(flight, action, mode):
    f = flight()
    set_and_take_off(f, GF_MAX_HOR_DIST=8.0, GF_ACTION=action, COM_FAIL_ACT_T=0.0)
    f.upload([f.item(16, 40, 0, 5.0)])
    assert f.set_mode(Mode.MISSION).accepted
    f.run(6)
    assert says(f, "geofence") == (action > 0)
    assert not f.armed if mode is None else f.mode == mode


def test_flight_that_lasts_too_long_returns(flight):
    f = flight()
    f.set(COM_FLT_TIME_MAX=12, COM_FAIL_ACT_T=0.0, RTL_RETURN_ALT=6.0)
    f.take_off()
    away(f)
    assert not says(f, "maximum flight time")
    f.wait(lambda: f.mode == Mode.RTL, 12)
    assert says(f, "maximum flight time reached, 12 s", "return")


@pytest.mark.parametrize("action, mode", [(1, Mode.LOITER), (3, Mode.RTL), (5, Mode.LAND)])
def test_wind_above_its_limits(flight, action, mode):
    f = flight()
    set_and_take_off(
        f, COM_WIND_WARN=5.0, COM_WIND_MAX=8.0, COM_WIND_MAX_ACT=action, COM_FAIL_ACT_T=0.0
    )
    wind = f.autopilot.estimator.wind
    wind[0] = 0.0, 6.0  # as a pitot tube would tell it
    f.run(0.2)
    assert says(f, "wind of 6.0 m/s, COM_WIND_WARN allows 5 m/s") and f.mode == Mode.LOITER
    wind[0] = 0.0, 9.0
    f.run(0.3)
    assert says(f, "wind of 9.0 m/s, COM_WIND_MAX allows 8 m/s") and f.mode == mode


def test_sys_status_tells_of_sensors_as_px4_does(flight):
    gps = mavlink.MAV_SYS_STATUS_SENSOR_GPS
    f = flight()
    streams = f.autopilot.streams()

    def told():
        out, length = np.zeros((1, 600), dtype=np.uint8), np.zeros(1, dtype=np.int64)
        streams.append(
            streams.index["SYS_STATUS"],
            f.simulation.t_us,
            np.ones(1, dtype=bool),
            np.zeros(1, dtype=np.uint8),
            out,
            length,
        )
        m = mavlink.MAVLink(None).parse_buffer(out[0, : length[0]].tobytes())[0]
        return (
            m.onboard_control_sensors_present,
            m.onboard_control_sensors_enabled,
            m.onboard_control_sensors_health,
        )

    f.take_off()
    assert told() == (0x0220802D, 0x0221802D, 0x3220803F)  # recorded of PX4 in flight
    f.set(COM_POSCTL_NAVL=1)
    lose_gps(f)
    f.run(6)
    present, _, health = told()
    assert present & gps and not health & gps


def test_geofence_that_predicts_is_not_left(flight):
    f = flight()
    set_and_take_off(f, GF_PREDICT=1, GF_ACTION=2, MPC_XY_CRUISE=10.0)
    corners = [(-30, -30), (40, -30), (40, 30), (-30, 30)]
    f.upload([f.item(5001, x, y, 0.0, (4.0, 0, 0, 0)) for x, y in corners], FENCE)
    f.autopilot.commander.reposition(0, np.array([100.0, 0, 5]), NAN, NAN, f.simulation.t_us)
    places = []
    f.run(20, lambda: places.append(f.pos[0]))
    assert f.mode == Mode.LOITER and says(f, "geofence", "would leave")
    assert 25.0 < max(places) < 40.0 and np.linalg.norm(f.vel) < 0.2


def lose_gps(f):
    f.send(
        mavlink.MAVLink_command_long_message(
            1,
            1,
            mavlink.MAV_CMD_INJECT_FAILURE,
            0,
            mavlink.FAILURE_UNIT_SENSOR_GPS,
            mavlink.FAILURE_TYPE_OFF,
            0,
            0,
            0,
            0,
            0,
        )
    )


def test_gps_loss_descends_level_and_lands(flight):
    f = flight()
    f.take_off()
    lose_gps(f)
    f.run(8)
    assert f.mode == Mode.LAND and f.autopilot.status["descend"][0]
    assert says(f, "position lost", "descend without position")
    f.wait(lambda: not f.armed, 30)
    assert says(f, "Landing detected") and f.pos[2] < 0.3


def test_gps_loss_gives_the_sticks_height_control(flight):
    f = flight()
    f.take_off()
    f.set_mode(Mode.POSCTL)
    lose_gps(f)
    f.run(8, lambda: sticks(f))
    assert f.mode == Mode.ALTCTL
    assert abs(f.pos[2] - 5.0) < 1.5


def test_estimator_failure_stops_the_rotors(flight):
    """Without an attitude nothing can be flown: PX4's last resort, too, is termination."""
    f = flight()
    f.take_off()
    f.run(1)
    f.autopilot.estimator.quat[0] = NAN
    f.run(0.2)
    assert says(f, "the estimator has failed: terminate") and not f.armed
    assert (f.autopilot.commands == 0).all()


def test_attitude_failure_terminates_only_without_the_circuit_breaker(flight):
    for breaker in (121212, 0):
        f = flight()
        set_and_take_off(f, CBRK_FLIGHTTERM=breaker)
        thrust = 0.5
        quat = [math.cos(0.7), math.sin(0.7), 0.0, 0.0]  # 80 degrees to the right

        def fly():
            f.send(mavlink.MAVLink_set_attitude_target_message(0, 1, 1, 7, quat, 0, 0, 0, thrust))

        fly()
        f.offboard()
        f.run(0.9, fly)
        assert says(f, "attitude failure")
        assert f.armed == (breaker != 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "action, mode", [(0, Mode.LOITER), (1, Mode.LOITER), (2, Mode.LAND), (3, Mode.RTL), (4, None)]
)
def test_actions_on_rotor_failure(action, mode):
    f = MissionFlight(vehicle="octorotor").ready()
    try:
        set_and_take_off(f, CA_FAILURE_MODE=1, COM_ACT_FAIL_ACT=action, RTL_RETURN_ALT=30.0)
        f.send(
            mavlink.MAVLink_command_long_message(
                1,
                1,
                mavlink.MAV_CMD_INJECT_FAILURE,
                0,
                mavlink.FAILURE_UNIT_SYSTEM_MOTOR,
                mavlink.FAILURE_TYPE_OFF,
                3,
                0,
                0,
                0,
                0,
            )
        )
        f.run(2)
        assert says(f, "rotor 2 (motor 3) has failed")
        assert not f.armed if mode is None else f.mode == mode and f.pos[2] > 2.0
    finally:
        f.simulation.close()


@pytest.mark.slow
@pytest.mark.parametrize("vehicle, motor", [("iris", 1), ("iris", 3), ("typhoon_h480", 5)])
def test_rotor_failure_is_found(vehicle, motor):
    f = MissionFlight(vehicle=vehicle).ready()
    try:
        set_and_take_off(f, COM_ACT_FAIL_ACT=4)
        f.run(1)
        assert not says(f, "has failed")
        f.send(
            mavlink.MAVLink_command_long_message(
                1,
                1,
                mavlink.MAV_CMD_INJECT_FAILURE,
                0,
                mavlink.FAILURE_UNIT_SYSTEM_MOTOR,
                mavlink.FAILURE_TYPE_OFF,
                motor,
                0,
                0,
                0,
                0,
            )
        )
        f.run(0.5)
        assert says(f, f"rotor {motor - 1} (motor {motor}) has failed: terminate") and not f.armed
    finally:
        f.simulation.close()


def test_octorotor_flies_on_without_a_failed_rotor():
    f = MissionFlight(vehicle="octorotor").ready()
    try:
        set_and_take_off(f, CA_FAILURE_MODE=1, COM_ACT_FAIL_ACT=2)
        f.send(
            mavlink.MAVLink_command_long_message(
                1,
                1,
                mavlink.MAV_CMD_INJECT_FAILURE,
                0,
                mavlink.FAILURE_UNIT_SYSTEM_MOTOR,
                mavlink.FAILURE_TYPE_OFF,
                3,
                0,
                0,
                0,
                0,
            )
        )
        tilts = []

        def watch():
            x, y, _, _ = f.simulation.state.quat[0]
            tilts.append(math.degrees(math.acos(1 - 2 * (x * x + y * y))))

        f.run(1, watch)
        assert says(f, "rotor 2 (motor 3) has failed: land") and f.mode == Mode.LAND
        f.wait(lambda: watch() or not f.armed, 40)
        assert max(tilts) < 20
    finally:
        f.simulation.close()


@pytest.mark.slow
@pytest.mark.parametrize("vehicle", ["iris", "typhoon_h480"])
def test_hard_flying_is_not_taken_for_a_failed_rotor(vehicle):
    f = MissionFlight(vehicle=vehicle, wind="mean=6,0,0 dryden=4").ready()
    try:
        f.take_off()
        speed = [10.0]

        def fly():
            f.target(
                mavlink.MAV_FRAME_LOCAL_NED,
                0xFC7 & ~0xC00,
                vx=speed[0],
                vy=-speed[0],
                vz=speed[0] / 10,
                yaw_rate=1.5,
            )

        fly()
        f.offboard()
        for _ in range(8):
            f.run(2, fly)
            speed[0] = -speed[0]
        assert not says(f, "has failed")
    finally:
        f.simulation.close()


def test_failures_can_be_forbidden(flight):
    f = flight()
    f.set(SYS_FAILURE_EN=0)
    lose_gps(f)
    assert f.links.replies[-1].result == mavlink.MAV_RESULT_DENIED
    assert says(f, "SYS_FAILURE_EN")


def follow(f, east, north, vel=(0.0, 0.0, 0.0)):
    from xtdrone_dynamics.earth.geodesy import to_geodetic

    lat, lon = to_geodetic(east, north, f.autopilot.origin[0], f.autopilot.origin[1])
    f.send(
        mavlink.MAVLink_follow_target_message(
            0,
            3,
            round(math.degrees(lat) * 1e7),
            round(math.degrees(lon) * 1e7),
            f.autopilot.origin[2],
            (vel[1], vel[0], 0.0),
            (0, 0, 0),
            (1, 0, 0, 0),
            (0, 0, 0),
            (0, 0, 0),
            0,
        )
    )


@pytest.mark.slow
def test_follow_target_stays_behind_what_moves(flight):
    f = flight()
    f.set_mode(Mode.FOLLOW_TARGET)
    assert says(f, "there is no target")
    f.take_off()
    start = f.simulation.t_us

    def east():
        return 10 + 3.0 * (f.simulation.t_us - start) * 1e-6

    follow(f, east(), 0)
    assert f.set_mode(Mode.FOLLOW_TARGET).accepted
    f.run(25, lambda: follow(f, east(), 0, (3.0, 0.0)), 2)
    np.testing.assert_allclose(f.pos, (east() - 8, 0, 8), atol=0.8)
    assert f.vel[0] == pytest.approx(3.0, abs=0.3)
    f.run(6)
    assert f.mode == Mode.FOLLOW_TARGET and says(f, "Target not heard for 3 s")
    place = f.pos
    f.run(3)
    assert np.linalg.norm(f.pos - place) < 1.0
    follow(f, *place[:2] + (20, 0))
    f.run(3)
    assert f.pos[0] - place[0] > 2.0


def test_orbit_by_command(flight):
    f = flight()
    f.take_off()
    f.send(
        mavlink.MAVLink_command_long_message(
            1, 1, mavlink.MAV_CMD_DO_ORBIT, 0, -6.0, 2.0, 0, 0, NAN, NAN, NAN
        )
    )
    f.run(10)
    radii = []
    f.run(10, lambda: radii.append(np.hypot(*f.pos[:2])))
    assert 5.4 < min(radii) and max(radii) < 6.6
    assert f.pos[0] * f.vel[1] - f.pos[1] * f.vel[0] > 0  # counter-clockwise
    assert np.linalg.norm(f.vel) == pytest.approx(2.0, abs=0.4)
