"""What PX4 v1.15 takes by uXRCE-DDS, below /fmu/in: off-board control and commands.

As in PX4, offboard_control_mode says that the controller lives, and of what kind its set-points
are; a set-point counts until the next one of its kind. So each of the two sends the latest
set-point on, by MAVLink. World NED, body FRD; NaN is not controlled.
"""

import math
from typing import Any

from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_mavros.inputs.fields import target
from xtdrone_mavros.rows import Subscription

PREFIX = "/fmu/in/"
ACK = "/fmu/out/vehicle_command_ack"
SERVICE = "/fmu/vehicle_command"
_KINDS = {
    "position": "trajectory",
    "velocity": "trajectory",
    "acceleration": "trajectory",
    "attitude": "attitude",
    "body_rate": "rates",
}
_NOT_TAKEN = ("thrust_and_torque", "direct_actuator")
_YAW, _YAW_RATE = 1 << 10, 1 << 11  # bits that ignore them, of position targets
_ROLL_RATE, _PITCH_RATE, _BODY_YAW_RATE, _ATTITUDE = 1, 2, 4, 128  # of attitude targets
_AT_A_PLACE = {  # commands whose parameters 5 and 6 are degrees, which a float does not hold
    mavlink.MAV_CMD_NAV_TAKEOFF,
    mavlink.MAV_CMD_NAV_LAND,
    mavlink.MAV_CMD_DO_REPOSITION,
    mavlink.MAV_CMD_DO_SET_HOME,
    mavlink.MAV_CMD_DO_SET_ROI_LOCATION,
    mavlink.MAV_CMD_DO_ORBIT,
}


class Px4Vehicle:
    """One vehicle's inputs.

    Attributes:
        index, name: Of the vehicle.
        link: A FleetLink.
        host: Its log(name, severity, text) is for the user.
        now_us: Simulated time [us].
        kind: Of the set-points: trajectory, attitude or rates; "" before it is known.
        set_points: The last MAVLink message of each kind.
        askers: Command -> system and component that asked for it last.
    """

    def __init__(self, index: int, name: str, link: Any, host: Any):
        self.index, self.name, self.link, self.host = index, name, link, host
        self.now_us = 0
        self.kind = ""
        self.set_points: dict[str, Any] = {}
        self.askers: dict[int, tuple[int, int]] = {}

    def send_set_point(self) -> None:
        """Sends the set-point that counts, if there is one."""
        message = self.set_points.get(self.kind)
        if message is not None:
            message.time_boot_ms = self.now_us // 1000 & 0xFFFFFFFF
            self.link.send(self.index, message)

    def take(self, kind: str, message: Any) -> None:
        """Takes a new set-point."""
        self.set_points[kind] = message
        if kind == self.kind:
            self.send_set_point()


def offboard_control_mode(v: Px4Vehicle, m: Any) -> None:
    v.kind = next((kind for name, kind in _KINDS.items() if getattr(m, name)), "")
    if not v.kind and any(getattr(m, name) for name in _NOT_TAKEN):
        v.host.log(
            v.name,
            mavlink.MAV_SEVERITY_WARNING,
            "offboard_control_mode: thrust, torque and actuators are not taken: set "
            "position, velocity, acceleration, attitude or body_rate",
        )
    v.send_set_point()


def trajectory_setpoint(v: Px4Vehicle, m: Any) -> None:
    mask, numbers = 0, []
    for k, value in enumerate((*m.position, *m.velocity, *m.acceleration)):
        known = math.isfinite(value)
        mask |= 0 if known else 1 << k
        numbers.append(float(value) if known else 0.0)
    for value, bit in ((m.yaw, _YAW), (m.yawspeed, _YAW_RATE)):
        known = math.isfinite(value)
        mask |= 0 if known else bit
        numbers.append(float(value) if known else 0.0)
    v.take(
        "trajectory",
        mavlink.MAVLink_set_position_target_local_ned_message(
            0, *target(v), mavlink.MAV_FRAME_LOCAL_NED, mask, *numbers
        ),
    )


def vehicle_attitude_setpoint(v: Px4Vehicle, m: Any) -> None:
    turning = math.isfinite(m.yaw_sp_move_rate)
    v.take(
        "attitude",
        mavlink.MAVLink_set_attitude_target_message(
            0,
            *target(v),
            _ROLL_RATE | _PITCH_RATE | (0 if turning else _BODY_YAW_RATE),
            [float(x) for x in m.q_d],
            0.0,
            0.0,
            float(m.yaw_sp_move_rate) if turning else 0.0,
            _thrust(m),
        ),
    )


def vehicle_rates_setpoint(v: Px4Vehicle, m: Any) -> None:
    v.take(
        "rates",
        mavlink.MAVLink_set_attitude_target_message(
            0,
            *target(v),
            _ATTITUDE,
            [1.0, 0.0, 0.0, 0.0],
            float(m.roll),
            float(m.pitch),
            float(m.yaw),
            _thrust(m),
        ),
    )


def _thrust(m):
    """0..1: along the body's z of what hovers, or its x of what flies by wings."""
    x, _, z = (float(value) for value in m.thrust_body)
    return min(max(-z if z else x, 0.0), 1.0)


def vehicle_command(v: Px4Vehicle, m: Any) -> None:
    """Commands for another system are not this vehicle's, as in PX4."""
    if m.target_system not in (0, v.index + 1):
        return
    v.askers[m.command] = m.source_system, m.source_component
    place = m.param5, m.param6
    if m.command in _AT_A_PLACE and all(map(math.isfinite, place)) and any(place):
        v.link.send(
            v.index,
            mavlink.MAVLink_command_int_message(
                *target(v),
                mavlink.MAV_FRAME_GLOBAL,
                m.command,
                0,
                0,
                m.param1,
                m.param2,
                m.param3,
                m.param4,
                *(round(degrees * 1e7) for degrees in place),
                m.param7,
            ),
        )
        return
    v.link.send(
        v.index,
        mavlink.MAVLink_command_long_message(
            *target(v),
            m.command,
            m.confirmation,
            m.param1,
            m.param2,
            m.param3,
            m.param4,
            m.param5,
            m.param6,
            m.param7,
        ),
    )


def command_ack(v: Px4Vehicle, m: Any) -> dict[str, Any]:
    """Fields of px4_msgs/VehicleCommandAck, of a COMMAND_ACK."""
    system, component = v.askers.get(m.command, (0, 0))
    return {
        "timestamp": v.now_us,
        "command": m.command,
        "result": m.result,
        "result_param1": m.progress,
        "result_param2": m.result_param2,
        "target_system": system,
        "target_component": component,
        "from_external": True,
    }


SUBSCRIPTIONS = (
    Subscription("offboard_control_mode", "px4_msgs/OffboardControlMode", offboard_control_mode),
    Subscription("trajectory_setpoint", "px4_msgs/TrajectorySetpoint", trajectory_setpoint),
    Subscription(
        "vehicle_attitude_setpoint", "px4_msgs/VehicleAttitudeSetpoint", vehicle_attitude_setpoint
    ),
    Subscription("vehicle_rates_setpoint", "px4_msgs/VehicleRatesSetpoint", vehicle_rates_setpoint),
    Subscription("vehicle_command", "px4_msgs/VehicleCommand", vehicle_command),
)
