"""A user-defined velocity controller for the whole fleet.

    PYTHONPATH=examples xtdrone fly square \
        --velocity_control my_velocity_control:Gentle
"""

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_autopilot.state.vehicle_status import TRAJECTORY
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.constants import GRAVITY

GAIN = np.array([1.8, 1.8, 4.0])  # of the velocity error [1/s]
LIMIT = np.array([2.0, 2.0, 8.0])  # of its integral; a low thrust tells touch-down [m/s^2]


class Gentle(Memory):
    """Velocity loop: a proportional-integral law that never tilts beyond 12 degrees."""

    MEMORY = ("_integral",)  # for reset, save and load

    def __init__(self, fleet):
        self._integral = np.zeros((fleet.n, 3))
        self.remember_start()

    def step(self, status, parameters, estimator, dt):
        p = status
        on = p["sp_kind"] == TRAJECTORY
        error = np.nan_to_num(p["sp_vel"] - estimator.vel)  # NaN: this axis is not controlled
        self._integral[on] = np.clip(self._integral + 0.4 * error * dt, -LIMIT, LIMIT)[on]
        self._integral[p["landed"]] = 0.0
        acc = GAIN * error + self._integral + np.nan_to_num(p["sp_acc"])
        force = acc + [0.0, 0.0, GRAVITY]
        force[:, 2] = np.clip(force[:, 2], 0.05 * GRAVITY, 1.6 * GRAVITY)
        side = np.linalg.norm(force[:, :2], axis=1)
        maximum = np.tan(np.radians(12)) * force[:, 2]
        force[:, :2] *= np.minimum(1.0, maximum / np.maximum(side, 1e-9))[:, None]
        up = force / np.linalg.norm(force, axis=1, keepdims=True)
        heading = Rotation.from_quat(estimator.quat).as_euler("ZYX")[:, 0]
        yaw = np.where(np.isfinite(p["sp_yaw"]), p["sp_yaw"], heading)
        left = np.cross(up, np.stack([np.cos(yaw), np.sin(yaw), 0.0 * yaw], axis=1))
        left /= np.linalg.norm(left, axis=1, keepdims=True)
        axes = np.stack([np.cross(left, up), left, up], axis=2)  # columns: body axes in the world
        p["sp_quat"][on] = Rotation.from_matrix(axes).as_quat()[on]
        body_up = Rotation.from_quat(estimator.quat).apply([0.0, 0.0, 1.0])
        thrust = p["mass"] * p["ramp"] * (force * body_up).sum(axis=1)
        p["sp_thrust"][on] = np.clip(thrust, 0.0, p["thrust_max"])[on]
