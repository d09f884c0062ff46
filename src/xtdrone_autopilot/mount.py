"""Camera mounts: the servos whose control channels are gimbal_roll, gimbal_pitch and gimbal_yaw.

They turn to the angles of DO_MOUNT_CONTROL, also while the vehicle is disarmed. The autopilot does
not measure them; what it reports is the target, as PX4's mounts without encoders do.
"""

import math
from typing import Any

import numpy as np

from xtdrone_core import FleetModel, Servo, Vehicle
from xtdrone_core.snapshot import Memory

from .mavlink.dialect import mavlink
from .mavlink.handlers import obeys, streams
from .now import Now
from .safety.commander import ACCEPTED, DENIED, NO_ANSWER, Answer

AXES = ("gimbal_roll", "gimbal_pitch", "gimbal_yaw")  # channels of sitl_gazebo's models
_AIMED = mavlink.MAV_MOUNT_MODE_MAVLINK_TARGETING
_STRAIGHT = (mavlink.MAV_MOUNT_MODE_RETRACT, mavlink.MAV_MOUNT_MODE_NEUTRAL)


def _has_mount(mount: "Mount") -> np.ndarray:
    return mount.fitted


def _sense(vehicle: Vehicle, servo: Servo) -> float:
    """1 where the servo's joint turns as the angle of its axis does, -1 the other way.

    Angles are those of the axes forwards, right and down; joints have left and up.
    """
    axis = AXES.index(servo.name)
    along = vehicle.joints[servo.joint].axis[axis]
    return math.copysign(1.0, along if axis == 0 else -along)


class Mount(Memory):
    """The camera mounts of a fleet.

    Attributes:
        fitted: (N,) bool, which vehicles have one.
        angles: (N, 3) targets of roll, pitch and yaw [rad]; pitch is negative downwards, yaw
            positive to the right.
    """

    MEMORY = ("angles",)

    def __init__(self, fleet: FleetModel, estimator: Any, now: Now):
        """estimator: gives the heading, for the absolute yaw."""
        self._estimator, self._now = estimator, now
        self.angles = np.zeros((fleet.n, len(AXES)))
        self._servos = [(i, AXES.index(driven.name), k, driven, _sense(vehicle, driven))
                        for i, vehicle in enumerate(fleet.vehicles)
                        for k, driven in enumerate(vehicle.actuators)
                        if isinstance(driven, Servo) and driven.name in AXES]
        self.fitted = np.zeros(fleet.n, dtype=bool)
        self.fitted[[i for i, *_ in self._servos]] = True
        self.remember_start()

    def apply(self, commands: np.ndarray) -> None:
        """Writes the servos' commands into those of all actuators (N, A)."""
        for i, axis, k, servo, sense in self._servos:
            angle = sense * self.angles[i, axis]
            command = (angle - servo.zero_position_armed) / servo.input_scaling
            commands[i, k] = min(max(command, servo.lower), servo.upper)

    def heading(self, i: int) -> float:
        """Of vehicle i, clockwise from north [rad]."""
        return 0.5 * math.pi - self._estimator.yaw(i)

    def ranges(self, i: int) -> np.ndarray:
        """(3, 2) least and largest roll, pitch and yaw of vehicle i's mount [rad]."""
        out = np.zeros((len(AXES), 2))
        for vehicle, axis, _, servo, sense in self._servos:
            if vehicle == i:
                out[axis] = sorted((sense * servo.joint_lower, sense * servo.joint_upper))
        return out

    @obeys(mavlink.MAV_CMD_DO_MOUNT_CONFIGURE)
    def _configure(self, link, p):
        return self._answer(link, p[0], None)

    @obeys(mavlink.MAV_CMD_DO_MOUNT_CONTROL)
    def _control(self, link, p):
        return self._answer(link, p[6], (p[1], p[0], p[2]))

    def _answer(self, link, mode, degrees):
        """Changes to a MAV_MOUNT_MODE, and to roll, pitch and yaw [deg] where they are given."""
        i = link.vehicle
        if not self.fitted[i]:
            return Answer(NO_ANSWER, "this vehicle has no camera mount")
        if mode in _STRAIGHT:
            self.angles[i] = 0.0
        elif mode != _AIMED:
            return Answer(DENIED, f"mount mode {mode:g} is not supported: 2 takes angles, 0 and 1 "
                                  "look straight ahead")
        elif degrees is not None:
            if not all(map(math.isfinite, degrees)):
                return Answer(DENIED, "the angles of a mount have to be numbers")
            self.angles[i] = np.radians(degrees)
        return Answer(ACCEPTED)

    @streams("MOUNT_ORIENTATION", offboard=10, where=_has_mount)
    def _orientation(self, m: np.ndarray, t_us: int) -> None:
        m["time_boot_ms"] = t_us // 1000
        m["roll"], m["pitch"], m["yaw"] = np.degrees(self.angles).T
        heading = np.degrees([self.heading(i) for i in range(len(self.angles))])
        m["yaw_absolute"] = (m["yaw"] + heading) % 360.0
