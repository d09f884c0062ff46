"""An estimator and a velocity loop of one's own, for the whole fleet at once.

    PYTHONPATH=docs/examples xtdrone fly square --gps rtk \
        --estimator my_flight_stack:Complementary --velocity_control my_flight_stack:Gentle
"""

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_autopilot.estimation.flags import ALIGNED, GPS_USED, POSITION_VALID
from xtdrone_autopilot.interfaces import Estimator
from xtdrone_autopilot.vehicle_status import TRAJECTORY
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.geodesy import to_local


class Complementary(Estimator):
    """Gyro and accelerometer carry the state on; GPS and magnetometer pull it back.

    A tilt error makes the predicted velocity drift across the specific force: the
    cross product of both turns the attitude back (Hua, 2010).
    """

    def __init__(self, n, origin, magnetic_field_enu):
        super().__init__(n, origin, magnetic_field_enu)
        self._samples, self._fixes = [], np.zeros(n, dtype=int)
        self.pos_std[:], self.vel_std[:], self.att_std[:] = 0.3, 0.2, 0.03

    def step(self, sensors, parameters=None):
        s, dt = sensors, 0.004
        if len(self._samples) < 200:  # 0.8 s at rest
            self._samples.append((s.gyro.copy(), s.accel.copy(), s.mag.copy()))
            if len(self._samples) == 200:
                self._align(*np.mean(self._samples, axis=0))
            return
        self.ang_vel[:] = s.gyro - self.gyro_bias
        turn = Rotation.from_quat(self.quat) * Rotation.from_rotvec(self.ang_vel * dt)
        force = turn.apply(s.accel)
        self.vel += (force - [0.0, 0.0, GRAVITY]) * dt
        self.pos += self.vel * dt
        mend = np.zeros((self.n, 3))  # rotation about the world's axes
        for i in np.flatnonzero(s.gps_new):
            place = (*to_local(s.gps_lat[i], s.gps_lon[i], *self.origin[:2]),
                     s.gps_alt[i] - self.origin[2])
            error = s.gps_vel[i] - self.vel[i]
            mend[i] = 0.05 * np.cross(force[i], error) / GRAVITY
            self.vel[i] += error * (0.3 if self._fixes[i] else 1.0)
            self.pos[i] += (place - self.pos[i]) * (0.1 if self._fixes[i] else 1.0)
            self._fixes[i] += 1
        field = turn.apply(s.mag)
        off = np.arctan2(self.field[1], self.field[0]) - np.arctan2(field[:, 1], field[:, 0])
        mend[:, 2] += np.where(s.mag_new, 0.02 * np.sin(off), 0.0)
        self.quat[:] = (Rotation.from_rotvec(mend) * turn).as_quat()
        located = self._fixes >= 5
        self.flags[:] = ALIGNED + np.where(located, POSITION_VALID + GPS_USED, 0)
        self.ready[:] = located

    def _align(self, gyro, accel, mag):
        self.gyro_bias[:] = gyro
        for i in range(self.n):  # the world's up and east, seen by the body
            up = accel[i] / np.linalg.norm(accel[i])
            east = np.cross(mag[i], up)
            east = Rotation.from_rotvec(
                (np.arctan2(self.field[0], self.field[1])) * up).apply(
                    east / np.linalg.norm(east))
            self.quat[i] = Rotation.from_matrix([east, np.cross(up, east), up]).as_quat()


class Gentle:
    """Velocity loop: a proportional-integral law that never tilts beyond 12 degrees."""

    def __init__(self, fleet):
        self._integral = np.zeros((fleet.n, 3))

    def step(self, status, parameters, estimator, dt):
        p = status
        on = p["sp_kind"] == TRAJECTORY
        error = np.nan_to_num(p["sp_vel"] - estimator.vel)  # NaN: this axis is not controlled
        flying = (on & ~p["landed"])[:, None]
        self._integral = np.where(flying, np.clip(self._integral + 0.4 * error * dt, -2, 2), 0.0)
        acc = 1.8 * error + self._integral + np.nan_to_num(p["sp_acc"])
        force = acc + [0.0, 0.0, GRAVITY]
        force[:, 2] = np.clip(force[:, 2], 0.2 * GRAVITY, 1.6 * GRAVITY)
        side = np.linalg.norm(force[:, :2], axis=1)
        most = np.tan(np.radians(12)) * force[:, 2]
        force[:, :2] *= np.minimum(1.0, most / np.maximum(side, 1e-9))[:, None]
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
