"""Servos of camera mounts: their channels are gimbal_roll, gimbal_pitch and gimbal_yaw."""

import math

from xtdrone_core import Servo, Vehicle

AXES = ("gimbal_roll", "gimbal_pitch", "gimbal_yaw")  # channels of sitl_gazebo's models


def mount_servos(vehicle: Vehicle) -> dict[int, Servo]:
    """The servos of a vehicle's camera mount, by their number among its actuators."""
    return {
        k: driven
        for k, driven in enumerate(vehicle.actuators)
        if isinstance(driven, Servo) and driven.name in AXES
    }


def sense(vehicle: Vehicle, servo: Servo) -> float:
    """1 where the servo's joint turns as the angle of its axis does, -1 the other way.

    Angles are those of the axes forwards, right and down; joints have left and up.
    """
    axis = AXES.index(servo.name)
    along = vehicle.joints[servo.joint].axis[axis]
    return math.copysign(1.0, along if axis == 0 else -along)
