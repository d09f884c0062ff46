"""The bridge's frames and units against the array forms of the core, and against MAVROS's rules."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from pymavlink.dialects.v20 import common as mavlink

from xtdrone_core import frames
from xtdrone_mavros.convert import decode, encode, geometry

numbers = st.floats(-100.0, 100.0)
vectors = st.tuples(numbers, numbers, numbers)
angles = st.floats(-math.pi + 1e-6, math.pi - 1e-6)


@st.composite
def attitudes(draw):
    quat = np.array([draw(st.floats(-1.0, 1.0)) for _ in range(4)])
    quat[3] += 1.5
    return tuple(quat / np.linalg.norm(quat))


@pytest.mark.slow
@given(vectors)
def test_vectors_as_in_the_core(v):
    assert geometry.enu_ned(v) == pytest.approx(frames.enu_ned(v))
    assert geometry.flu_frd(v) == pytest.approx(frames.flu_frd(v))


@given(attitudes())
def test_attitudes_as_in_the_core(q):
    ours, core = np.array(geometry.quat_enu_ned(q)), frames.quat_enu_ned(q)
    assert ours * np.sign(ours @ core) == pytest.approx(core, abs=1e-12)


@given(angles)
def test_yaw_as_in_the_core_and_back(yaw):
    assert geometry.yaw_enu_ned(yaw) == pytest.approx(float(frames.yaw_enu_ned(yaw)))
    back = geometry.yaw_enu_ned(geometry.yaw_enu_ned(yaw))
    assert math.cos(back - yaw) == pytest.approx(1.0)


@given(attitudes(), vectors)
def test_rotation_and_back(q, v):
    assert geometry.rotate_inverse(q, geometry.rotate(q, v)) == pytest.approx(v, abs=1e-9)


def test_rotation_of_a_known_attitude():
    left = (0.0, 0.0, math.sin(math.pi / 4), math.cos(math.pi / 4))  # a quarter turn left
    assert geometry.rotate(left, (1.0, 0.0, 0.0)) == pytest.approx((0.0, 1.0, 0.0))
    assert geometry.euler(left) == pytest.approx((0.0, 0.0, math.pi / 2))


def payload(message):
    """Payload of a pymavlink message, as it would arrive."""
    data = bytes(message.pack(mavlink.MAVLink(None)))
    return data[10 : 10 + data[1]]


def test_local_position():
    t, pos, vel = decode.local_position(
        payload(mavlink.MAVLink_local_position_ned_message(1500, 1.0, 2.0, -3.0, 4.0, 5.0, -6.0))
    )
    assert (t, pos, vel) == (1_500_000, (2.0, 1.0, 3.0), (5.0, 4.0, 6.0))


def test_attitude_level_and_facing_north_is_a_quarter_turn_left_of_east():
    t, quat, rate = decode.attitude(
        payload(mavlink.MAVLink_attitude_quaternion_message(20, 1.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.3))
    )
    assert t == 20_000
    assert geometry.euler(quat) == pytest.approx((0.0, 0.0, math.pi / 2))
    assert rate == pytest.approx((0.1, -0.2, -0.3))


def test_units_of_the_imu():
    t, accel, gyro, mag, static, differential, celsius, new = decode.highres_imu(
        payload(
            mavlink.MAVLink_highres_imu_message(
                77, 0, 0, -9.8, 0.1, 0.2, 0.3, 0.2, 0.0, 0.4, 101325.0, 50.0, 0, 21.0, 0x1FFF
            )
        )
    )
    assert t == 77
    assert accel == pytest.approx((0, 0, 9.8))
    assert gyro == pytest.approx((0.1, -0.2, -0.3))
    assert mag == pytest.approx((2e-5, 0.0, -4e-5))
    assert (static, differential, celsius) == pytest.approx((101325.0, 50.0, 21.0))
    assert new == 0x1FFF


def test_global_position_and_receiver():
    _, lat, lon, alt, relative, vel, heading = decode.global_position(
        payload(
            mavlink.MAVLink_global_position_int_message(
                1, 475000000, 85000000, 488000, 2500, 100, 200, -300, 27000
            )
        )
    )
    assert (lat, lon, alt, relative, heading) == pytest.approx((47.5, 8.5, 488.0, 2.5, 270.0))
    assert vel == pytest.approx((2.0, 1.0, 3.0))
    raw = decode.gps_raw(
        payload(
            mavlink.MAVLink_gps_raw_int_message(
                5, 3, 475000000, 85000000, 488000, 100, 200, 500, 9000, 12, 536000, 800, 1200, 0, 0
            )
        )
    )
    t, fix, lat, lon, alt, accuracy, dilution, velocity, satellites = raw
    assert (t, fix, satellites) == (5, 3, 12)
    assert (alt, *accuracy, *dilution) == pytest.approx((488.0, 0.8, 1.2, 1.0, 2.0))
    assert velocity == pytest.approx((5.0, 0.0), abs=1e-9)  # course 90 degrees is east


def receiver(h_acc, v_acc, eph=100, epv=200, course=3000):
    return payload(
        mavlink.MAVLink_gps_raw_int_message(
            5, 3, 475000000, 85000000, 488000, eph, epv, 500, course, 12, 536000, h_acc, v_acc, 0, 0
        )
    )


def test_the_course_of_a_receiver_is_clockwise_from_north():
    assert decode.gps_raw(receiver(800, 1200)).velocity == pytest.approx((2.5, 2.5 * math.sqrt(3)))
    assert decode.gps_raw(receiver(800, 1200, course=65535)).velocity is None


@pytest.mark.parametrize(
    "message, diagonal, kind",
    [
        (receiver(800, 1200), (0.64, 0.64, 1.44), 2),  # known
        (receiver(0, 0), (1.0, 1.0, 4.0), 1),  # approximated by the dilution of precision
        (receiver(0, 0, 65535), (0.0, 0.0, 0.0), 0),  # unknown
    ],
)
def test_the_covariance_of_a_fix_is_of_its_accuracy_else_of_its_dilution(message, diagonal, kind):
    fix = decode.gps_fix(message)
    assert np.diag(np.reshape(fix.covariance, (3, 3))) == pytest.approx(diagonal)
    assert (fix.status, fix.covariance_type) == (0, kind)


@pytest.mark.parametrize(
    "frame, scale",
    [
        (mavlink.MAV_FRAME_MISSION, 1),
        (mavlink.MAV_FRAME_LOCAL_NED, 1e4),
        (mavlink.MAV_FRAME_GLOBAL_INT, 1e7),
        (mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT, 1e7),
    ],
)
def test_coordinates_of_items_by_their_frame(frame, scale):
    assert decode.coordinate_scale(frame) == scale


def test_the_set_point_that_is_told_is_in_the_frames_of_ros():
    told = mavlink.MAVLink_position_target_local_ned_message(
        7, 1, 0b101, 1.0, 2.0, -3.0, 4.0, 5.0, -6.0, 0.1, 0.2, -0.3, 0.3, 0.7
    )
    t_us, frame, mask, pos, vel, acc, yaw, rate = decode.position_target(payload(told))
    assert (t_us, frame, mask) == (7000, 1, 0b101)
    assert (*pos, *vel) == pytest.approx((2.0, 1.0, 3.0, 5.0, 4.0, 6.0))
    assert (*acc, yaw, rate) == pytest.approx((0.2, 0.1, 0.3, math.pi / 2 - 0.3, -0.7))


def test_covariances_of_odometry_have_the_axes_of_their_vectors():
    """North is the second axis of ROS's world; the body's axes only change their signs."""
    places, rates = ([0.0] * 21 for _ in range(2))
    places[0], places[6], rates[0], rates[1] = 4.0, 9.0, 16.0, 1.0
    told = mavlink.MAVLink_odometry_message(
        5, 1, 12, 1.0, 2.0, -3.0, [1.0, 0.0, 0.0, 0.0], 0, 0, 0, 0, 0, 0, places, rates, 0, 0
    )
    found = decode.odometry(payload(told))
    pose, twist = (np.reshape(each, (6, 6)) for each in found[5:7])
    assert (pose[0, 0], pose[1, 1]) == (9.0, 4.0)
    assert (twist[0, 0], twist[0, 1], twist[1, 0]) == (16.0, -1.0, -1.0)


def test_battery_without_a_current_sensor():
    number, volts, amperes, left, cells = decode.battery(
        payload(
            mavlink.MAVLink_battery_status_message(
                2, 0, 0, 2000, [4000, 4100] + [65535] * 8, -1, 0, 0, 75
            )
        )
    )
    assert number == 2
    assert volts == pytest.approx(8.1) and cells == pytest.approx([4.0, 4.1])
    assert math.isnan(amperes)
    assert left == pytest.approx(0.75)


# MAVROS's setpoint_raw: frames 8 and 9 are FLU to FRD, all others ENU to NED.
@pytest.mark.parametrize(
    "frame, pos, vel, yaw",
    [
        (1, (2.0, 1.0, -3.0), (5.0, 4.0, -6.0), math.pi / 2 - 0.3),
        (7, (2.0, 1.0, -3.0), (5.0, 4.0, -6.0), math.pi / 2 - 0.3),
        (8, (1.0, -2.0, -3.0), (4.0, -5.0, -6.0), -0.3),
        (9, (1.0, -2.0, -3.0), (4.0, -5.0, -6.0), -0.3),
    ],
)
def test_set_points_by_frame(frame, pos, vel, yaw):
    m = encode.set_position_target(
        3, 5_000_000, frame, 0b101, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0), (0.1, 0.2, 0.3), 0.3, 0.7
    )
    assert (m.x, m.y, m.z) == pytest.approx(pos)
    assert (m.vx, m.vy, m.vz) == pytest.approx(vel)
    assert m.yaw == pytest.approx(yaw)
    assert m.yaw_rate == pytest.approx(-0.7)
    assert (m.target_system, m.coordinate_frame, m.type_mask, m.time_boot_ms) == (4, frame, 5, 5000)


def test_attitude_set_point_and_back():
    quat = (0.1, -0.2, 0.3, math.sqrt(1 - 0.14))
    m = encode.set_attitude_target(0, 0, 0, quat, (0.1, 0.2, 0.3), 1.7)
    assert m.thrust == 1.0
    assert (m.body_roll_rate, m.body_pitch_rate, m.body_yaw_rate) == pytest.approx(
        (0.1, -0.2, -0.3)
    )
    w, x, y, z = m.q
    assert np.abs(np.dot(geometry.quat_enu_ned((x, y, z, w)), quat)) == pytest.approx(1.0)


def test_vision_pose_facing_east():
    m = encode.vision_position(9, (1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 1.0))
    assert (m.x, m.y, m.z) == (2.0, 1.0, -3.0)
    assert (m.roll, m.pitch, m.yaw) == pytest.approx((0.0, 0.0, math.pi / 2))
    assert m.covariance == [0.0] * 21  # as MAVROS; PX4 takes its own deviations then
