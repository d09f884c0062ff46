"""A node of ROS 2 that flies vehicle 1 by PX4's off-board topics in simulated time.

Run by /usr/bin/python3 with ROS 2's environment: real_ros2_pilot.py HEIGHT. Prints the height that
it has held for a second.
"""

import math
import sys

import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_sensor_data

from px4_msgs.msg import (
    OffboardControlMode,
    TrajectorySetpoint,
    VehicleCommand,
    VehicleLocalPosition,
    VehicleStatus,
)

SPACE, SYSTEM = "/px4_1/fmu", 2
ARMED, OFFBOARD = 2, 14  # of VehicleStatus
HELD_S, PERIOD_S, LIMIT_S = 1.0, 0.1, 60.0  # simulated
NEAR = 0.4  # [m]


class Pilot(Node):
    """Streams set-points, asks for off-board control, arms, and waits for the height."""

    def __init__(self, height):
        super().__init__(
            "pilot", parameter_overrides=[Parameter("use_sim_time", Parameter.Type.BOOL, True)]
        )
        self.height, self.position, self.status = height, None, None
        self.held_since = self.started = None
        self.mode = self.create_publisher(
            OffboardControlMode, f"{SPACE}/in/offboard_control_mode", qos_profile_sensor_data
        )
        self.point = self.create_publisher(
            TrajectorySetpoint, f"{SPACE}/in/trajectory_setpoint", qos_profile_sensor_data
        )
        self.command = self.create_publisher(
            VehicleCommand, f"{SPACE}/in/vehicle_command", qos_profile_sensor_data
        )
        self.create_subscription(
            VehicleLocalPosition,
            f"{SPACE}/out/vehicle_local_position",
            lambda m: setattr(self, "position", m),
            qos_profile_sensor_data,
        )
        self.create_subscription(
            VehicleStatus,
            f"{SPACE}/out/vehicle_status",
            lambda m: setattr(self, "status", m),
            qos_profile_sensor_data,
        )
        self.create_timer(PERIOD_S, self.tick)  # of simulated time

    def tick(self):
        """Each PERIOD_S."""
        stamp = self.get_clock().now().nanoseconds // 1000
        self.started = self.started or stamp
        nan = [math.nan] * 3
        self.mode.publish(OffboardControlMode(timestamp=stamp, position=True))
        self.point.publish(
            TrajectorySetpoint(
                timestamp=stamp,
                position=[0.0, 0.0, -self.height],
                velocity=nan,
                acceleration=nan,
                jerk=nan,
                yaw=0.0,
                yawspeed=math.nan,
            )
        )
        if self.status is None or self.position is None:
            return
        if self.status.nav_state != OFFBOARD:
            self.order(176, 1.0, 6.0)
        elif self.status.arming_state != ARMED:
            self.order(400, 1.0)
        if abs(-self.position.z - self.height) > NEAR or self.status.arming_state != ARMED:
            self.held_since = None
        elif self.held_since is None:
            self.held_since = stamp
        elif stamp - self.held_since > HELD_S * 1e6:
            raise SystemExit(0)
        if stamp - self.started > LIMIT_S * 1e6:
            raise SystemExit(
                f"height {-self.position.z:.2f} m, mode {self.status.nav_state}, "
                f"arming state {self.status.arming_state}"
            )

    def order(self, number, *values):
        """Sends a command of MAVLink."""
        fields = {f"param{k + 1}": value for k, value in enumerate(values)}
        self.command.publish(
            VehicleCommand(
                timestamp=self.get_clock().now().nanoseconds // 1000,
                command=number,
                target_system=SYSTEM,
                target_component=1,
                source_system=1,
                source_component=1,
                from_external=True,
                **fields,
            )
        )


def main():
    """Flies."""
    rclpy.init()
    pilot = Pilot(float(sys.argv[1]))
    try:
        rclpy.spin(pilot)
    finally:
        print(f"{-pilot.position.z:.2f}" if pilot.position else "nothing heard", flush=True)


if __name__ == "__main__":
    main()
