"""Each mode and each kind of set-point, flown in the lockstep and checked against the truth."""

import math

import numpy as np
import pytest

from stack_flights import ACCELERATION, HEIGHT, POSITION, VELOCITY, Flight, each_step, hover_command
from xtdrone_core import Mode
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_dynamics.earth.geodesy import to_geodetic

TWO_TASKS_US = 40_000  # the trajectory of AUTO modes goes on by 16 and by 24 ms in turn


@pytest.fixture
def flight():
    made = []

    def make(**scenario):
        made.append(Flight(**scenario))
        return made[-1].take_off()

    yield make
    for one in made:
        one.simulation.close()


def test_take_off_reaches_its_height_and_holds_its_place(flight):
    f = flight()
    places = []
    f.run(10, lambda: places.append(f.pos))
    assert abs(np.mean(places, axis=0)[2] - HEIGHT) < 0.4  # the receiver's own bias, and its start
    assert np.ptp(places, axis=0).max() < 0.3


@pytest.mark.slow
@pytest.mark.parametrize(
    "frame, values, expected",
    [
        (mavlink.MAV_FRAME_LOCAL_NED, dict(x=3.0, y=2.0, z=-6.0), (2.0, 3.0, 6.0)),
        (mavlink.MAV_FRAME_LOCAL_OFFSET_NED, dict(x=3.0, y=2.0, z=-1.0), (2.0, 3.0, 6.0)),
        (mavlink.MAV_FRAME_BODY_OFFSET_NED, dict(x=3.0, y=2.0, z=-1.0), (3.0, -2.0, 6.0)),
    ],
)
def test_offboard_positions_in_each_frame(flight, frame, values, expected):
    f = flight()
    f.target(frame, POSITION, **values)
    f.offboard()
    wanted = f.autopilot.status["offboard_pos"][0].copy()

    def keep():  # an offset counts from where the vehicle is when it comes, so it is sent once
        f.autopilot.status["offboard_t"][0] = f.simulation.t_us

    f.run(10, keep)
    np.testing.assert_allclose(wanted, expected, atol=0.4)
    np.testing.assert_allclose(f.pos, wanted, atol=0.3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "frame, expected",
    [
        (mavlink.MAV_FRAME_LOCAL_NED, (1.0, 2.0, 0.5)),
        (mavlink.MAV_FRAME_BODY_NED, (2.0, -1.0, 0.5)),
    ],
)
def test_offboard_velocities_in_each_frame(flight, frame, expected):
    f = flight()

    def fly():
        f.target(frame, VELOCITY, vx=2.0, vy=1.0, vz=-0.5)

    fly()
    f.offboard()
    f.run(6, fly)
    np.testing.assert_allclose(f.vel, expected, atol=0.15)


def test_offboard_mixes_what_each_axis_follows(flight):
    """Velocity across, place upwards, and a yaw rate."""
    f = flight()

    def fly():
        f.target(mavlink.MAV_FRAME_LOCAL_NED, 0x5E3, vx=1.0, vy=2.0, z=-8.0, yaw_rate=0.3)

    fly()
    f.offboard()
    f.run(6, fly)
    np.testing.assert_allclose(f.vel[:2], (2.0, 1.0), atol=0.15)
    assert f.pos[2] == pytest.approx(8.0, abs=0.3)
    assert f.simulation.state.ang_vel[0, 2] == pytest.approx(-0.3, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    "frame, height",
    [(mavlink.MAV_FRAME_GLOBAL_INT, None), (mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT, 7.0)],
)
def test_offboard_global_places(flight, frame, height):
    f = flight()
    lat0, lon0, alt0 = f.autopilot.origin
    lat, lon = to_geodetic(4.0, -3.0, lat0, lon0)
    alt = alt0 + 7.0 if height is None else height

    def fly():
        f.send(
            mavlink.MAVLink_set_position_target_global_int_message(
                0,
                1,
                1,
                frame,
                0xDF8 & ~0x400,
                round(math.degrees(lat) * 1e7),
                round(math.degrees(lon) * 1e7),
                alt,
                0,
                0,
                0,
                0,
                0,
                0,
                math.radians(90),
                0,
            )
        )

    fly()
    f.offboard()
    f.run(10, fly)
    np.testing.assert_allclose(f.pos, (4.0, -3.0, 7.0), atol=0.35)


def test_offboard_acceleration_is_felt(flight):
    f = flight()

    def fly():
        f.target(mavlink.MAV_FRAME_LOCAL_NED, ACCELERATION, afx=0.0, afy=1.0, afz=0.0)

    fly()
    f.offboard()
    f.run(0.6, fly)
    before = f.vel
    f.run(2, fly)
    # The mean speed of those two seconds is what the rotors' H-force brakes. Open loop, the
    # accelerometer's turn-on bias of 0.2 m/s^2 is felt through the estimate of the tilt.
    expected = 1.0 - h_force_damping(f) * (f.vel + before)[0] / 2
    assert (f.vel - before)[0] / 2 == pytest.approx(expected, abs=0.2)
    assert abs((f.vel - before)[1]) < 0.3


def test_offboard_yaw_is_a_heading_from_north(flight):
    f = flight()

    def fly():
        f.target(mavlink.MAV_FRAME_LOCAL_NED, POSITION & ~0x400, z=-HEIGHT, yaw=math.radians(150))

    fly()
    f.offboard()
    f.run(8, fly)
    x, y, z, w = f.simulation.state.quat[0]
    yaw = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    assert math.degrees(yaw) == pytest.approx(90 - 150, abs=3)


def h_force_damping(f):
    """Deceleration by XTDrone (4) for each m/s, with all rotors at hover speed [1/s]."""
    model = f.simulation.fleet
    a = model.actuator[0]
    speed = a["zero_position_armed"] + a["input_scaling"] * hover_command(f)
    return (a["rotor_drag_coefficient"] * speed).sum() / model.vehicle["mass"][0]


def test_offboard_attitude_tilts_towards_north(flight):
    f = flight()
    pitch = math.radians(-10)  # nose down, nose to the north
    quat = [math.cos(pitch / 2), 0.0, math.sin(pitch / 2), 0.0]
    thrust = hover_command(f)

    def fly():
        f.send(mavlink.MAVLink_set_attitude_target_message(0, 1, 1, 7, quat, 0, 0, 0, thrust))

    fly()
    f.offboard()
    f.run(0.5, fly)
    before = f.vel
    f.run(2.0, fly)
    # dv/dt = g tan(10 deg) - k v, from the speed that it had then.
    k = h_force_damping(f)
    top = 9.80665 * math.tan(math.radians(10)) / k
    expected = top + (before[1] - top) * math.exp(-2.0 * k)
    assert f.vel[1] == pytest.approx(expected, rel=0.08)


def test_offboard_attitude_with_a_yaw_rate_turns(flight):
    f = flight()
    thrust, start = hover_command(f), f.simulation.t_us

    def fly():
        yaw = math.radians(90) + 0.8 * (f.simulation.t_us - start) * 1e-6
        f.send(
            mavlink.MAVLink_set_attitude_target_message(
                0, 1, 1, 3, [math.cos(yaw / 2), 0, 0, math.sin(yaw / 2)], 0, 0, 0.8, thrust
            )
        )

    fly()
    f.offboard()
    f.run(2.0, fly)
    assert f.simulation.state.ang_vel[0, 2] == pytest.approx(-0.8, abs=0.08)
    x, y, z, w = f.simulation.state.quat[0]
    wanted = -0.8 * (f.simulation.t_us - start) * 1e-6
    yaw = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    assert abs(math.remainder(yaw - wanted, math.tau)) < 0.1  # it does not lag behind


def test_offboard_rates_turn_the_body(flight):
    f = flight()
    thrust = hover_command(f)

    def fly():
        f.send(
            mavlink.MAVLink_set_attitude_target_message(
                0, 1, 1, 128, [1, 0, 0, 0], 0, 0, 0.8, thrust
            )
        )

    fly()
    f.offboard()
    f.run(2.0, fly)
    assert f.simulation.state.ang_vel[0, 2] == pytest.approx(-0.8, abs=0.1)


def local(mask=POSITION, frame=mavlink.MAV_FRAME_LOCAL_NED, **values):
    fields = dict.fromkeys(
        ("x", "y", "z", "vx", "vy", "vz", "afx", "afy", "afz", "yaw", "yaw_rate"), 0.0
    )
    return mavlink.MAVLink_set_position_target_local_ned_message(
        0, 1, 1, frame, mask, **{**fields, **values}
    )


def globe(mask=POSITION, frame=mavlink.MAV_FRAME_GLOBAL_INT, lat=47.0, alt=500.0):
    return mavlink.MAVLink_set_position_target_global_int_message(
        0, 1, 1, frame, mask, round(lat * 1e7), 85_000_000, alt, 0, 0, 0, 0, 0, 0, 0, 0
    )


def attitude(mask=7, quat=(1, 0, 0, 0), rates=(0, 0, 0), thrust=0.5):
    return mavlink.MAVLink_set_attitude_target_message(0, 1, 1, mask, quat, *rates, thrust)


@pytest.fixture(scope="module")
def on_ground():
    one = Flight()
    yield one
    one.simulation.close()


@pytest.mark.parametrize(
    "message, reason",
    [
        (local(frame=mavlink.MAV_FRAME_BODY_FRD), "coordinate frame 12 is not supported"),
        (local(x=math.nan), "x has to be a number up to 1e+06"),
        (local(z=math.inf), "z has to be a number"),
        (local(y=2e6), "y has to be a number"),
        (local(VELOCITY, vz=math.nan), "vz has to be a number"),
        (local(POSITION & ~0x400, yaw=math.nan), "yaw has to be a number up to 100"),
        (local(ACCELERATION | 0x200, afx=1.0), "forces"),
        (local(0x1FF), "leaves nothing to follow"),
        (globe(alt=math.nan), "alt has to be a number"),
        (globe(lat=91.0), "lat_int has to be a number"),
        (globe(frame=mavlink.MAV_FRAME_LOCAL_NED), "coordinate frame 1 is not supported"),
        (globe(0xDFF), "leaves nothing to follow"),
        (attitude(quat=(math.nan, 0, 0, 0)), "q has to be a number up to 1.1"),
        (attitude(quat=(0.1, 0, 0, 0)), "length 1"),
        (attitude(thrust=math.nan), "thrust has to be a number up to 1"),
        (attitude(thrust=1.5), "thrust has to be a number up to 1"),
        (attitude(7 | 64), "need a thrust"),
        (attitude(3, rates=(0, 0, math.nan)), "body_yaw_rate has to be a number"),
        (attitude(128, rates=(math.inf, 0, 0)), "body_roll_rate has to be a number"),
        (attitude(128 | 7), "leaves nothing to follow"),
    ],
)
def test_a_set_point_that_makes_no_sense_is_ignored_with_its_reason_said_once(
    on_ground, message, reason
):
    on_ground.said.clear()
    on_ground.autopilot.outbox.forget_said()
    for _ in range(3):
        on_ground.send(message)
    assert sum("Set-point ignored" in text and reason in text for text in on_ground.said) == 1
    assert on_ground.autopilot.status["offboard_kind"][0] == 0


@pytest.mark.parametrize(
    "message, field, expected",
    [
        (local(0xDFB, x=math.nan, z=-4.0), "offboard_pos", (math.nan, math.nan, 4.0)),
        (globe(0xDFB, alt=495.0), "offboard_pos", (math.nan, math.nan, 7.0)),
        (
            globe(0xDFB, mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT, alt=7.0),
            "offboard_pos",
            (math.nan, math.nan, 7.0),
        ),
        (attitude(128 | 3, rates=(math.nan, 0, 0.5)), "offboard_rates", (0.0, 0.0, -0.5)),
    ],
)
def test_what_the_type_mask_ignores_may_be_anything(on_ground, message, field, expected):
    p = on_ground.autopilot.status
    p["offboard_kind"] = 0
    on_ground.send(message)
    assert p["offboard_kind"][0] != 0
    np.testing.assert_allclose(p[field][0], expected, atol=1e-3)
    p["offboard_kind"] = 0


@pytest.mark.slow
@pytest.mark.parametrize("frame", [mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT, mavlink.MAV_FRAME_GLOBAL])
@pytest.mark.parametrize(
    "command, params",
    [
        (mavlink.MAV_CMD_DO_REPOSITION, (-1, 0, 0, math.nan)),
        (mavlink.MAV_CMD_DO_ORBIT, (20, 2, 0, 0)),
    ],
)
def test_heights_of_commands_are_above_the_sea_in_every_frame_as_in_px4(
    flight, command, params, frame
):
    f = flight()
    lat, lon, alt = f.autopilot.origin
    place = round(math.degrees(lat) * 1e7), round(math.degrees(lon) * 1e7)
    for message in (
        mavlink.MAVLink_command_int_message(1, 1, frame, command, 0, 0, *params, *place, alt + 9.0),
        mavlink.MAVLink_command_long_message(
            1, 1, mavlink.MAV_CMD_DO_CHANGE_ALTITUDE, 0, alt + 9.0, frame, 0, 0, 0, 0, 0
        ),
    ):
        f.autopilot.status["target"][0] = 0.0
        f.send(message)
        assert f.autopilot.status["target"][0, 2] == pytest.approx(9.0, abs=0.3)


@pytest.mark.parametrize(
    "command, params, result, reason",
    [
        (mavlink.MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN, (1,), 3, "stop the simulation"),
        (mavlink.MAV_CMD_IMAGE_START_CAPTURE, (), 3, "no such device"),
        (mavlink.MAV_CMD_DO_CHANGE_ALTITUDE, (3e6, 1), 2, "height 3e+06 m is not allowed"),
        (mavlink.MAV_CMD_NAV_TAKEOFF, (0, 0, 0, 0, 0, 0, 3e6), 2, "height 3e+06 m is not allowed"),
        (mavlink.MAV_CMD_DO_SET_HOME, (0, 0, 0, 0, 47, 8, 3e6), 2, "home needs latitude"),
        (mavlink.MAV_CMD_DO_REPOSITION, (0, 1, 0, 0, 47, 8, 3e6), 2, "no position at latitude 47"),
        (
            mavlink.MAV_CMD_DO_REPOSITION,
            (0, 1, 0, 0, 47, 8, 3e30),
            2,
            "MAV_CMD_DO_REPOSITION denied: param7 has to be a number up to 2e+09",
        ),
        (mavlink.MAV_CMD_RUN_PREARM_CHECKS, (1,), 0, "Ready to arm"),
    ],
)
def test_commands_are_answered_in_words(on_ground, command, params, result, reason):
    f = on_ground
    f.wait(lambda: f.autopilot.status["ready"][0], 5)
    f.said.clear()
    f.send(
        mavlink.MAVLink_command_long_message(1, 1, command, 0, *params, *[0] * (7 - len(params)))
    )
    assert f.links.replies[-1].result == result
    assert reason in " ".join(f.said)


@pytest.mark.parametrize(
    "base, custom, reason",
    [(0, 4, "needs PX4's custom mode"), (1, 99 << 16, "there is no mode 99, 0")],
)
def test_a_wrong_set_mode_is_answered_in_words(on_ground, base, custom, reason):
    on_ground.run(1)  # in which texts may be said
    on_ground.said.clear()
    on_ground.send(mavlink.MAVLink_set_mode_message(1, base, custom))
    assert reason in on_ground.said[0]


def sticks(f, forward=0, right=0, up=500, turn=0):
    f.send(mavlink.MAVLink_manual_control_message(1, forward, right, up, turn, 0))


def test_posctl_flies_with_the_sticks_and_stops_without(flight):
    f = flight()
    assert not f.autopilot.commander.set_mode(0, Mode.POSCTL, f.simulation.t_us).accepted
    sticks(f)
    assert f.autopilot.commander.set_mode(0, Mode.POSCTL, f.simulation.t_us).accepted
    f.run(4, lambda: sticks(f, forward=500))
    assert f.vel[0] > 3.0 and abs(f.vel[1]) < 0.5  # nose to the east
    f.run(6, lambda: sticks(f))
    assert np.linalg.norm(f.vel) < 0.2
    place = f.pos
    f.run(5, lambda: sticks(f))
    assert np.linalg.norm(f.pos - place) < 0.4


def test_position_slow_is_slow(flight):
    """MC_SLOW_DEF_HVEL 3 m/s, _VVEL 1 m/s, _YAWR 45 deg/s; POSCTL itself is faster again."""
    f = flight()
    sticks(f)
    f.send(mavlink.MAVLink_set_mode_message(1, 1, 0x2030000))
    assert f.mode == Mode.POSCTL
    f.run(5, lambda: sticks(f, forward=1000, up=1000))
    assert f.vel[0] == pytest.approx(3.0, abs=0.2) and f.vel[2] == pytest.approx(1.0, abs=0.15)
    f.send(mavlink.MAVLink_set_mode_message(1, 1, 0x30000))
    f.run(4, lambda: sticks(f, forward=1000, up=1000))
    assert f.vel[0] > 4.5 and f.vel[2] > 2.0
    f.run(2, lambda: sticks(f, turn=1000))
    assert abs(f.simulation.state.ang_vel[0, 2]) > math.radians(100)
    f.send(mavlink.MAVLink_set_mode_message(1, 1, 0x2030000))
    f.run(3, lambda: sticks(f, turn=1000))
    assert abs(f.simulation.state.ang_vel[0, 2]) == pytest.approx(math.radians(45), abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [Mode.MANUAL, Mode.STABILIZED, Mode.ALTCTL])
def test_tilt_modes_tilt_with_the_stick(flight, mode):
    f = flight()
    sticks(f)
    assert f.autopilot.commander.set_mode(0, mode, f.simulation.t_us).accepted
    f.run(1.5, lambda: sticks(f, right=400))
    assert f.vel[1] < -1.0  # right of a nose to the east is south
    if mode == Mode.ALTCTL:
        assert abs(f.pos[2] - HEIGHT) < 0.6


def test_acro_rolls_at_the_rate_of_the_stick(flight):
    f = flight()
    sticks(f)
    assert f.autopilot.commander.set_mode(0, Mode.ACRO, f.simulation.t_us).accepted
    f.run(0.4, lambda: sticks(f, right=300))
    assert f.simulation.state.ang_vel[0, 0] == pytest.approx(math.radians(30), rel=0.2)


def test_acro_rolls_by_the_curve_of_its_parameters(flight):
    f = flight()
    f.autopilot.parameters.set(0, "MC_ACRO_EXPO", 0.5)
    f.autopilot.parameters.set(0, "MC_ACRO_SUPEXPO", 0.6)
    sticks(f)
    assert f.autopilot.commander.set_mode(0, Mode.ACRO, f.simulation.t_us).accepted
    f.run(0.4, lambda: sticks(f, right=600))
    share = (0.5 * 0.6 + 0.5 * 0.6**3) * 0.4 / (1 - 0.6 * 0.6)
    assert f.autopilot.status["sp_rates"][0, 0] == pytest.approx(math.radians(100 * share))
    assert f.simulation.state.ang_vel[0, 0] == pytest.approx(math.radians(100 * share), rel=0.2)


@pytest.mark.slow
def test_rtl_comes_home_and_lands(flight):
    f = flight()
    f.autopilot.parameters.set(0, "RTL_RETURN_ALT", 8.0)
    f.autopilot.parameters.set(0, "RTL_DESCEND_ALT", 6.0)
    f.autopilot.commander.reposition(
        0, np.array([20.0, 10.0, 5.0]), math.nan, math.nan, f.simulation.t_us
    )
    f.run(14)
    assert np.linalg.norm(f.pos[:2] - (20, 10)) < 1.0
    heights = []
    assert f.autopilot.commander.set_mode(0, Mode.RTL, f.simulation.t_us).accepted
    f.run(12, lambda: heights.append(f.pos[2]))
    assert max(heights) == pytest.approx(8.0, abs=0.8)
    f.wait(lambda: not f.autopilot.status["armed"][0], 40)
    assert np.linalg.norm(f.pos[:2]) < 0.5 and f.pos[2] < 0.3


@pytest.mark.slow
@pytest.mark.parametrize(
    "cone, min_dist, east, height",
    [
        (0, 10, 8.0, 20.0),
        (45, 10, 8.0, 8.0),
        (45, 10, 4.5, 5.0),
        (45, 7, 8.0, 20.0),
        (25, 10, 8.0, 17.2),
        (45, 10, 1.0, 5.0),
    ],
)
def test_rtl_near_home_climbs_into_the_cone_over_it(flight, cone, min_dist, east, height):
    f = flight()
    for name, value in (
        ("RTL_RETURN_ALT", 20.0),
        ("RTL_CONE_ANG", cone),
        ("RTL_MIN_DIST", min_dist),
        ("MPC_XY_CRUISE", 12.0),
    ):
        f.autopilot.parameters.set(0, name, value)
    f.autopilot.commander.reposition(
        0, np.array([east, 0.0, HEIGHT]), math.nan, math.nan, f.simulation.t_us
    )
    f.run(8)
    assert f.autopilot.commander.set_mode(0, Mode.RTL, f.simulation.t_us).accepted
    f.run(0.02)
    assert f.autopilot.status["target"][0, 2] == pytest.approx(height, abs=0.4)


@pytest.mark.slow
def test_auto_modes_never_exceed_the_jerk_of_their_parameter(flight):
    """Through repositioning, changes of mode in full flight, return and landing."""
    f = flight()
    accelerations = []

    def fly(seconds):
        for _ in range(round(seconds * 250)):
            f.simulation.step()
            if f.autopilot.status["armed"][0] and f.simulation.t_us % TWO_TASKS_US == 0:
                accelerations.append(f.autopilot.status["smooth_acc"][0].copy())

    def go(place):
        f.autopilot.commander.reposition(0, np.array(place), math.nan, 10.0, f.simulation.t_us)

    go((40.0, 10.0, 9.0))
    fly(1.3)  # it still speeds up
    go((0.0, 30.0, 4.0))
    fly(5)
    for mode, seconds in ((Mode.RTL, 4), (Mode.LOITER, 1.2), (Mode.LAND, 30)):
        assert f.autopilot.commander.set_mode(0, mode, f.simulation.t_us).accepted
        fly(seconds)
    assert not f.autopilot.status["armed"][0]
    assert abs(np.diff(accelerations, axis=0)).max() / 0.04 <= 4.0 * 1.001  # MPC_JERK_AUTO
    assert abs(np.array(accelerations)).max() > 2.0


def test_the_loops_run_at_the_rates_of_px4(flight):
    """Position and velocity each 8 ms, the trajectory after 16 and after 24 ms in turn."""
    f = flight()
    changes = {"smooth_pos": [], "sp_quat": [], "sp_rates": []}
    last = {}

    def look(t_us, *_):
        for name, times in changes.items():
            value = f.autopilot.status[name][0].tolist()
            if last.get(name) != value:
                last[name] = value
                times.append(t_us)

    f.autopilot.commander.reposition(
        0, np.array((20.0, 0.0, 5.0)), math.nan, 5.0, f.simulation.t_us
    )
    f.run(1)
    each_step(f.simulation, look)
    f.run(0.4)
    periods = {name: np.diff(times[1:]).tolist() for name, times in changes.items()}
    assert set(periods["sp_quat"]) == {8_000} and set(periods["sp_rates"]) == {4_000}
    assert sorted(periods["smooth_pos"][:2]) == [16_000, 24_000]
    assert periods["smooth_pos"][2:] == periods["smooth_pos"][:-2]


@pytest.mark.slow
@pytest.mark.parametrize("before", [Mode.LOITER, Mode.POSCTL, Mode.STABILIZED, Mode.OFFBOARD])
def test_the_heading_of_auto_modes_turns_no_faster_than_their_parameter(flight, before):
    f = flight()
    a = f.autopilot
    for name, value in (("RTL_RETURN_ALT", 3.0), ("RTL_CONE_ANG", 0)):  # it turns home at once
        a.parameters.set(0, name, value)

    def ask():
        sticks(f, turn=300)
        f.target(mavlink.MAV_FRAME_LOCAL_NED, 0x5C7, vx=1.0, vy=1.0, yaw_rate=0.5)

    ask()
    assert a.commander.set_mode(0, before, f.simulation.t_us).accepted
    f.run(3, ask)
    headings = [a.estimator.yaw(0)]
    each_step(
        f.simulation, lambda t_us, *_: t_us % TWO_TASKS_US or headings.append(a.status["sp_yaw"][0])
    )
    assert a.commander.set_mode(0, Mode.RTL, f.simulation.t_us).accepted
    f.run(3)
    turns = np.degrees(np.abs([math.remainder(x, math.tau) for x in np.diff(headings)])) / 0.04
    assert turns[1:].max() < 45.1 and turns[0] < 500  # the first: from the heading, not set-point


def test_landing_touches_down_softly_and_disarms(flight):
    f = flight()
    assert f.autopilot.commander.set_mode(0, Mode.LAND, f.simulation.t_us).accepted
    speeds = []
    f.wait(lambda: speeds.append(-f.vel[2]) or not f.autopilot.status["armed"][0], 30)
    assert max(speeds) < 1.8
    assert f.mode == Mode.LOITER
    assert ["Landing detected", "Disarmed by landing"] == f.said[-2:]


@pytest.mark.slow
def test_vision_carries_the_flight_in_place_of_truth_from_sensors(flight):
    """pose_source truth: the estimate follows the engine's pose more closely than GPS allows."""
    f = flight(pose_source="truth")
    errors = []
    f.run(5, lambda: errors.append(np.linalg.norm(f.autopilot.estimator.pos[0] - f.pos)))
    assert np.mean(errors) < 0.06
