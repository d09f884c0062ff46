"""A user-defined estimator for the whole fleet.

    PYTHONPATH=examples xtdrone fly square --gps rtk --estimator my_estimator:Complementary
"""

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_autopilot.estimation.flags import ALIGNED, GPS_USED, POSITION_VALID
from xtdrone_autopilot.interfaces import Estimator
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
            return self._align(*np.mean(self._samples, axis=0))
        self.ang_vel[:] = s.gyro - self.gyro_bias
        turn = Rotation.from_quat(self.quat) * Rotation.from_rotvec(self.ang_vel * dt)
        force = turn.apply(s.accel)
        self.vel += (force - [0.0, 0.0, GRAVITY]) * dt
        self.pos += self.vel * dt
        mend = np.zeros((self.n, 3))  # about the world's axes
        for i in np.flatnonzero(s.gps_new):
            east, north = to_local(s.gps_lat[i], s.gps_lon[i], *self.origin[:2])
            fix, error = (east, north, s.gps_alt[i] - self.origin[2]), s.gps_vel[i] - self.vel[i]
            mend[i] = 0.05 * np.cross(force[i], error) / GRAVITY
            self.vel[i] += error * (0.3 if self._fixes[i] else 1.0)
            self.pos[i] += (fix - self.pos[i]) * (0.1 if self._fixes[i] else 1.0)
            self._fixes[i] += 1
        field = turn.apply(s.mag)
        off = np.arctan2(self.field[1], self.field[0]) - np.arctan2(field[:, 1], field[:, 0])
        mend[:, 2] += np.where(s.mag_new, 0.02 * np.sin(off), 0.0)
        self.quat[:] = (Rotation.from_rotvec(mend) * turn).as_quat()
        self.ready[:] = self._fixes >= 5
        self.flags[:] = ALIGNED + np.where(self.ready, POSITION_VALID + GPS_USED, 0)

    def _align(self, gyro, accel, mag):
        self.gyro_bias[:], declination = gyro, np.arctan2(self.field[0], self.field[1])
        for i in range(self.n):  # the world's up and east, seen by the body
            up = accel[i] / np.linalg.norm(accel[i])
            east = Rotation.from_rotvec(declination * up).apply(np.cross(mag[i], up))
            east /= np.linalg.norm(east)
            self.quat[i] = Rotation.from_matrix([east, np.cross(up, east), up]).as_quat()
