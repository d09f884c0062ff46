"""PX4's off-board topics as MAVLink: what counts, what is ignored, whose commands they are."""

import math
from types import SimpleNamespace

import pytest

pytest.importorskip("rosbags")

from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_ros2.topics import px4_in

NAN3 = [math.nan] * 3


class Link:
    def __init__(self):
        self.sent = []

    def send(self, i, message):
        self.sent.append((i, message))


class Host:
    def __init__(self):
        self.said = []

    def log(self, name, severity, text):
        self.said.append(text)


@pytest.fixture
def vehicle():
    return px4_in.Px4Vehicle(2, "iris_2", Link(), Host())


def mode(**flags):
    names = (
        "position",
        "velocity",
        "acceleration",
        "attitude",
        "body_rate",
        "thrust_and_torque",
        "direct_actuator",
    )
    return SimpleNamespace(**{name: flags.get(name, False) for name in names})


def point(position=NAN3, velocity=NAN3, acceleration=NAN3, yaw=math.nan, yawspeed=math.nan):
    return SimpleNamespace(
        position=position, velocity=velocity, acceleration=acceleration, yaw=yaw, yawspeed=yawspeed
    )


def command(**values):
    return SimpleNamespace(
        **{
            **dict.fromkeys(
                ("param1", "param2", "param3", "param4", "param5", "param6", "param7"), 0.0
            ),
            "command": 400,
            "target_system": 3,
            "source_system": 7,
            "source_component": 190,
            "confirmation": 0,
            **values,
        }
    )


def test_a_set_point_goes_out_with_itself_and_with_each_sign_of_life(vehicle):
    px4_in.offboard_control_mode(vehicle, mode(position=True))
    assert not vehicle.link.sent
    vehicle.now_us = 1_500_000
    px4_in.trajectory_setpoint(vehicle, point([1.0, 2.0, -3.0], yaw=0.5))
    vehicle.now_us = 1_600_000
    px4_in.offboard_control_mode(vehicle, mode(position=True))
    (i, message), (_, again) = vehicle.link.sent
    assert (i, message.target_system) == (2, 3)
    assert (message.x, message.y, message.z, message.yaw) == (1.0, 2.0, -3.0, 0.5)
    assert message.type_mask == 0b1001_1111_1000 and message.coordinate_frame == 1
    assert again is message and again.time_boot_ms == 1600


def test_axes_are_controlled_one_by_one(vehicle):
    px4_in.offboard_control_mode(vehicle, mode(velocity=True))
    px4_in.trajectory_setpoint(
        vehicle, point([math.nan, math.nan, -4.0], [1.0, 2.0, math.nan], yawspeed=0.2)
    )
    ((_, message),) = vehicle.link.sent
    assert message.type_mask == 0b0101_1110_0011
    assert (message.z, message.vx, message.vy, message.yaw_rate) == (-4.0, 1.0, 2.0, 0.2)


def test_attitude_and_rates_follow_the_mode(vehicle):
    attitude = SimpleNamespace(
        q_d=[1.0, 0.0, 0.0, 0.0], yaw_sp_move_rate=math.nan, thrust_body=[0.0, 0.0, -0.6]
    )
    rates = SimpleNamespace(roll=0.1, pitch=0.2, yaw=0.3, thrust_body=[0.0, 0.0, -1.6])
    px4_in.vehicle_attitude_setpoint(vehicle, attitude)
    px4_in.vehicle_rates_setpoint(vehicle, rates)
    assert not vehicle.link.sent
    px4_in.offboard_control_mode(vehicle, mode(attitude=True))
    px4_in.offboard_control_mode(vehicle, mode(body_rate=True))
    (_, first), (_, second) = vehicle.link.sent
    assert (first.type_mask, first.thrust) == (7, 0.6)
    assert (second.type_mask, second.thrust) == (128, 1.0)
    assert (second.body_roll_rate, second.body_yaw_rate) == (0.1, 0.3)


def test_what_is_not_taken_is_said(vehicle):
    px4_in.offboard_control_mode(vehicle, mode(direct_actuator=True))
    assert not vehicle.link.sent and "actuators are not taken" in vehicle.host.said[0]


def test_commands_for_others_are_left_to_them(vehicle):
    px4_in.vehicle_command(vehicle, command(target_system=1))
    assert not vehicle.link.sent
    px4_in.vehicle_command(vehicle, command(param1=1.0))
    px4_in.vehicle_command(vehicle, command(target_system=0))
    assert [message.get_type() for _, message in vehicle.link.sent] == ["COMMAND_LONG"] * 2
    assert vehicle.link.sent[0][1].param1 == 1.0


def test_places_keep_their_decimals(vehicle):
    px4_in.vehicle_command(
        vehicle,
        command(
            command=mavlink.MAV_CMD_DO_REPOSITION, param5=47.3977418, param6=8.5455938, param7=500.0
        ),
    )
    ((_, message),) = vehicle.link.sent
    assert message.get_type() == "COMMAND_INT"
    assert (message.x, message.y, message.z) == (473977418, 85455938, 500.0)
    px4_in.vehicle_command(
        vehicle, command(command=mavlink.MAV_CMD_NAV_TAKEOFF, param5=math.nan, param6=math.nan)
    )
    assert vehicle.link.sent[-1][1].get_type() == "COMMAND_LONG"


def test_the_answer_goes_to_whom_has_asked(vehicle):
    px4_in.vehicle_command(vehicle, command())
    ack = mavlink.MAVLink_command_ack_message(400, 1, 5, 0)
    fields = px4_in.command_ack(vehicle, ack)
    assert (fields["result"], fields["target_system"], fields["target_component"]) == (1, 7, 190)
