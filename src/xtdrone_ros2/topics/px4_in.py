"""Topics that PX4 v1.15 subscribes to by uXRCE-DDS, below /fmu/in: off-board control, commands.

As in PX4, offboard_control_mode says that the controller is alive, and of what kind its set-points
are; a set-point is valid until the next one of its kind. So both forward the latest set-point by
MAVLink. World NED, body FRD; NaN is not controlled.
"""

import math
from typing import Any

from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_mavros.host import Log
from xtdrone_mavros.inputs.fields import target
from xtdrone_mavros.mavlink_link import FleetLink
from xtdrone_mavros.rows import RosMessage, Subscription

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
_ROLL_RATE, _PITCH_RATE, _BODY_YAW_RATE, _ATTITUDE = (
    1,
    2,
    4,
    128,
)  # bits that ignore them, of attitude targets
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
        index, name: Number and name of the vehicle.
        link: MAVLink link to the fleet.
        host: Log.
        now_us: Simulated time [us].
        kind: Kind of set-points: trajectory, attitude or rates; "" before it is known.
        set_points: The last MAVLink message of each kind.
        askers: Command -> system and component that last sent it.
    """

    def __init__(self, index: int, name: str, link: FleetLink, host: Log):
        self.index, self.name, self.link, self.host = index, name, link, host
        self.now_us = 0
        self.kind = ""
        self.set_points: dict[str, mavlink.MAVLink_message] = {}
        self.askers: dict[int, tuple[int, int]] = {}

    def send_set_point(self) -> None:
        """Sends the valid set-point, if there is one."""
        message = self.set_points.get(self.kind)
        if message is not None:
            message.time_boot_ms = self.now_us // 1000 & 0xFFFFFFFF
            self.link.send(self.index, message)

    def take(self, kind: str, message: mavlink.MAVLink_message) -> None:
        """Takes a new set-point."""
        self.set_points[kind] = message
        if kind == self.kind:
            self.send_set_point()


def offboard_control_mode(vehicle: Px4Vehicle, message: RosMessage) -> None:
    vehicle.kind = next((kind for name, kind in _KINDS.items() if getattr(message, name)), "")
    if not vehicle.kind and any(getattr(message, name) for name in _NOT_TAKEN):
        vehicle.host.log(
            vehicle.name,
            mavlink.MAV_SEVERITY_WARNING,
            "offboard_control_mode: thrust, torque and actuators are not taken: set "
            "position, velocity, acceleration, attitude or body_rate",
        )
    vehicle.send_set_point()


def trajectory_setpoint(vehicle: Px4Vehicle, message: RosMessage) -> None:
    mask, numbers = 0, []
    for k, value in enumerate((*message.position, *message.velocity, *message.acceleration)):
        known = math.isfinite(value)
        mask |= 0 if known else 1 << k
        numbers.append(float(value) if known else 0.0)
    for value, bit in ((message.yaw, _YAW), (message.yawspeed, _YAW_RATE)):
        known = math.isfinite(value)
        mask |= 0 if known else bit
        numbers.append(float(value) if known else 0.0)
    vehicle.take(
        "trajectory",
        mavlink.MAVLink_set_position_target_local_ned_message(
            0, *target(vehicle), mavlink.MAV_FRAME_LOCAL_NED, mask, *numbers
        ),
    )


def vehicle_attitude_setpoint(vehicle: Px4Vehicle, message: RosMessage) -> None:
    turning = math.isfinite(message.yaw_sp_move_rate)
    vehicle.take(
        "attitude",
        mavlink.MAVLink_set_attitude_target_message(
            0,
            *target(vehicle),
            _ROLL_RATE | _PITCH_RATE | (0 if turning else _BODY_YAW_RATE),
            [float(x) for x in message.q_d],
            0.0,
            0.0,
            float(message.yaw_sp_move_rate) if turning else 0.0,
            _thrust(message),
        ),
    )


def vehicle_rates_setpoint(vehicle: Px4Vehicle, message: RosMessage) -> None:
    vehicle.take(
        "rates",
        mavlink.MAVLink_set_attitude_target_message(
            0,
            *target(vehicle),
            _ATTITUDE,
            [1.0, 0.0, 0.0, 0.0],
            float(message.roll),
            float(message.pitch),
            float(message.yaw),
            _thrust(message),
        ),
    )


def _thrust(message: RosMessage) -> float:
    """Returns the thrust, 0..1, along the body's z of a multirotor, or its x of a plane."""
    x, _, z = (float(value) for value in message.thrust_body)
    return min(max(-z if z else x, 0.0), 1.0)


def vehicle_command(vehicle: Px4Vehicle, message: RosMessage) -> None:
    """Commands for another system are not this vehicle's, as in PX4."""
    if message.target_system not in (0, vehicle.index + 1):
        return
    vehicle.askers[message.command] = message.source_system, message.source_component
    place = message.param5, message.param6
    if message.command in _AT_A_PLACE and all(map(math.isfinite, place)) and any(place):
        vehicle.link.send(
            vehicle.index,
            mavlink.MAVLink_command_int_message(
                *target(vehicle),
                mavlink.MAV_FRAME_GLOBAL,
                message.command,
                0,
                0,
                message.param1,
                message.param2,
                message.param3,
                message.param4,
                *(round(degrees * 1e7) for degrees in place),
                message.param7,
            ),
        )
        return
    vehicle.link.send(
        vehicle.index,
        mavlink.MAVLink_command_long_message(
            *target(vehicle),
            message.command,
            message.confirmation,
            message.param1,
            message.param2,
            message.param3,
            message.param4,
            message.param5,
            message.param6,
            message.param7,
        ),
    )


def command_ack(
    vehicle: Px4Vehicle, message: mavlink.MAVLink_command_ack_message
) -> dict[str, Any]:
    """Returns the fields of a px4_msgs/VehicleCommandAck for a COMMAND_ACK."""
    system, component = vehicle.askers.get(message.command, (0, 0))
    return {
        "timestamp": vehicle.now_us,
        "command": message.command,
        "result": message.result,
        "result_param1": message.progress,
        "result_param2": message.result_param2,
        "target_system": system,
        "target_component": component,
        "from_external": True,
    }


SUBSCRIPTIONS: tuple[Subscription[Px4Vehicle], ...] = (
    Subscription("offboard_control_mode", "px4_msgs/OffboardControlMode", offboard_control_mode),
    Subscription("trajectory_setpoint", "px4_msgs/TrajectorySetpoint", trajectory_setpoint),
    Subscription(
        "vehicle_attitude_setpoint", "px4_msgs/VehicleAttitudeSetpoint", vehicle_attitude_setpoint
    ),
    Subscription("vehicle_rates_setpoint", "px4_msgs/VehicleRatesSetpoint", vehicle_rates_setpoint),
    Subscription("vehicle_command", "px4_msgs/VehicleCommand", vehicle_command),
)
