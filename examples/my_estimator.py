"""A user-defined estimator for the whole fleet.

PYTHONPATH=examples xtdrone fly square --estimator my_estimator:Complementary
"""

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_autopilot.interfaces import Estimator
from xtdrone_autopilot.state.estimator_flags import ALIGNED, GPS_USED, POSITION_VALID
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.earth.geodesy import to_local


class Complementary(Estimator):
    """Gyro and accelerometer carry the state on; GPS and magnetometer pull it back.

    A tilt error makes the predicted velocity drift across the specific force: the
    cross product of both turns the attitude back (Hua, 2010). First, at rest, it levels.
    """

    MEMORY = ("records", "_steps", "_fixes")  # so that a flight can be saved and reset

    def __init__(self, n, origin, magnetic_field_enu):
        super().__init__(n, origin, magnetic_field_enu)
        self._steps, self._fixes = np.zeros(n, dtype=int), np.zeros(n, dtype=int)
        self.reset()

    def reset(self, mask=None):
        super().reset(mask)
        i = slice(None) if mask is None else mask
        self._steps[i] = self._fixes[i] = 0
        self.pos_std[i], self.vel_std[i], self.att_std[i] = 0.3, 0.2, 0.03

    def step(self, sensors, parameters=None):
        s, dt, rest = sensors, 0.004, self._steps < 200  # the first 0.8 s
        gain = np.where(rest, np.maximum(1.0 / (self._steps + 1), 0.05), 0.0)[:, None]
        self.gyro_bias += gain * (s.gyro - self.gyro_bias)
        self.ang_vel[:] = s.gyro - self.gyro_bias
        turn = Rotation.from_quat(self.quat) * Rotation.from_rotvec(self.ang_vel * dt)
        force = turn.apply(s.accel)
        self.vel += (force - [0.0, 0.0, GRAVITY]) * dt
        self.pos += self.vel * dt
        mend = gain * np.cross(force, [0.0, 0.0, 1.0]) / GRAVITY  # about the world's axes
        for i in np.flatnonzero(s.gps_new & ~rest):
            east, north = to_local(s.gps_lat[i], s.gps_lon[i], *self.origin[:2])
            fix, error = (east, north, s.gps_alt[i] - self.origin[2]), s.gps_vel[i] - self.vel[i]
            mend[i] = 0.05 * np.cross(force[i], error) / GRAVITY
            self.vel[i] += error * (0.3 if self._fixes[i] else 1.0)
            self.pos[i] += (fix - self.pos[i]) * (0.1 if self._fixes[i] else 1.0)
            self._fixes[i] += 1
        field = turn.apply(s.mag)
        off = np.arctan2(self.field[1], self.field[0]) - np.arctan2(field[:, 1], field[:, 0])
        off = (off + np.pi) % (2 * np.pi) - np.pi
        mend[:, 2] += np.where(rest, gain[:, 0] * off, np.where(s.mag_new, 0.02 * np.sin(off), 0))
        self.quat[:] = (Rotation.from_rotvec(mend) * turn).as_quat()
        self.pos[rest], self.vel[rest], self._steps = 0.0, 0.0, self._steps + 1
        self.ready[:] = self._fixes >= 5
        self.flags[:] = ALIGNED * ~rest + (POSITION_VALID + GPS_USED) * self.ready
