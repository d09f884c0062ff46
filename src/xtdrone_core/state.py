"""The arrays that pass between engine, sensors, autopilot and agents.

World frame ENU, body frame FLU, SI units, radians, quaternions xyzw (body to
world). The vehicle is the leading axis everywhere, also for one vehicle.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(slots=True)
class FleetState:
    """True state of the fleet, as the engine knows it."""

    t_us: int  # simulated time [us]
    pos: np.ndarray  # (N, 3) centre of gravity, world [m]
    quat: np.ndarray  # (N, 4) xyzw, body to world
    vel: np.ndarray  # (N, 3) of the centre of gravity, world [m/s]
    ang_vel: np.ndarray  # (N, 3) body frame [rad/s]
    acc: np.ndarray  # (N, 3) mean acceleration over the last step, world [m/s^2]
    rotor_vel: np.ndarray  # (N, R) rotor speed, >= 0 [rad/s]

    @classmethod
    def zeros(cls, n: int, n_rotors: int) -> "FleetState":
        """A level fleet at rest at the origin: n vehicles, at most n_rotors rotors each."""
        quat = np.zeros((n, 4))
        quat[:, 3] = 1.0
        return cls(0, np.zeros((n, 3)), quat, np.zeros((n, 3)), np.zeros((n, 3)),
                   np.zeros((n, 3)), np.zeros((n, n_rotors)))

    def copy(self) -> "FleetState":
        """A deep copy, for whoever keeps a state beyond the step."""
        return FleetState(self.t_us, self.pos.copy(), self.quat.copy(), self.vel.copy(),
                          self.ang_vel.copy(), self.acc.copy(), self.rotor_vel.copy())


@dataclass(slots=True)
class SensorBatch:
    """What the fleet's sensors say at one step; a flag tells whose reading is new.

    Readings keep their last value until the next one. The IMU is new at every
    step. An estimator sees this and nothing else.
    """

    t_us: int  # simulated time [us]
    gyro: np.ndarray  # (N, 3) angular rate, body [rad/s]
    accel: np.ndarray  # (N, 3) specific force, body [m/s^2]; +9.8 on z at rest
    mag: np.ndarray  # (N, 3) magnetic field, body [T]
    mag_new: np.ndarray  # (N,) bool
    baro_pressure: np.ndarray  # (N,) static pressure [Pa]
    baro_temperature: np.ndarray  # (N,) air temperature [K]
    baro_new: np.ndarray  # (N,) bool
    gps_t_us: np.ndarray  # (N,) int64, time at which the fix was true [us]
    gps_lat: np.ndarray  # (N,) geodetic latitude [rad]
    gps_lon: np.ndarray  # (N,) longitude [rad]
    gps_alt: np.ndarray  # (N,) height above mean sea level [m]
    gps_vel: np.ndarray  # (N, 3) world ENU [m/s]
    gps_eph: np.ndarray  # (N,) horizontal position standard deviation [m]
    gps_epv: np.ndarray  # (N,) vertical position standard deviation [m]
    gps_fix: np.ndarray  # (N,) int8, 0 none, 3 three-dimensional, 6 RTK fixed
    gps_sats: np.ndarray  # (N,) int8, satellites used
    gps_new: np.ndarray  # (N,) bool
    gps_hdop: np.ndarray  # (N,) horizontal dilution of precision
    gps_vdop: np.ndarray  # (N,) vertical dilution of precision
    airspeed_pressure: np.ndarray  # (N,) pitot's differential pressure [Pa]
    airspeed_new: np.ndarray  # (N,) bool
    range_distance: np.ndarray  # (N,) [m]; inf beyond the longest, -inf below the shortest
    range_new: np.ndarray  # (N,) bool
    battery_voltage: np.ndarray  # (N,) at the terminals [V]; NaN for a vehicle without a pack
    battery_current: np.ndarray  # (N,) [A]; NaN for a vehicle without a pack

    @classmethod
    def empty(cls, n: int) -> "SensorBatch":
        """A batch without any reading for n vehicles."""
        def v3():
            return np.zeros((n, 3))

        def v1():
            return np.zeros(n)

        def flag():
            return np.zeros(n, dtype=np.bool_)

        return cls(0, v3(), v3(), v3(), flag(), v1(), v1(), flag(),
                   np.zeros(n, dtype=np.int64), v1(), v1(), v1(), v3(), v1(), v1(),
                   np.zeros(n, dtype=np.int8), np.zeros(n, dtype=np.int8), flag(), v1(), v1(),
                   v1(), flag(), v1(), flag(), np.full(n, np.nan), np.full(n, np.nan))


@dataclass(slots=True)
class Estimates:
    """What the autopilot believes and is doing; all that an Agent may see."""

    t_us: int  # simulated time [us]
    pos: np.ndarray  # (N, 3) world, from the world's origin [m]
    quat: np.ndarray  # (N, 4) xyzw
    vel: np.ndarray  # (N, 3) world [m/s]
    ang_vel: np.ndarray  # (N, 3) body [rad/s]
    armed: np.ndarray  # (N,) bool
    landed: np.ndarray  # (N,) bool
    mode: np.ndarray  # (N,) int8, a Mode
    ready: np.ndarray  # (N,) bool, the arming checks pass


KEEP, DISARM, ARM = -1, 0, 1  # values of SetPoints.arm; KEEP also of SetPoints.mode


@dataclass(slots=True)
class SetPoints:
    """What an Agent asks for. NaN means 'not controlled', as in PX4's trajectory set-point."""

    pos: np.ndarray  # (N, 3) world [m]
    vel: np.ndarray  # (N, 3) world [m/s]
    acc: np.ndarray  # (N, 3) world [m/s^2]
    yaw: np.ndarray  # (N,) counter-clockwise from east [rad]
    yaw_rate: np.ndarray  # (N,) [rad/s]
    mode: np.ndarray  # (N,) int8, a Mode to change to, or KEEP
    arm: np.ndarray  # (N,) int8, ARM, DISARM or KEEP

    @classmethod
    def empty(cls, n: int) -> "SetPoints":
        """Asks for nothing: n vehicles go on as they are."""
        def nan(*shape):
            return np.full(shape, np.nan)

        return cls(nan(n, 3), nan(n, 3), nan(n, 3), nan(n), nan(n),
                   np.full(n, KEEP, dtype=np.int8), np.full(n, KEEP, dtype=np.int8))

    def clear(self) -> None:
        """Back to asking for nothing, in place."""
        for name in ("pos", "vel", "acc", "yaw", "yaw_rate"):
            getattr(self, name).fill(np.nan)
        self.mode.fill(KEEP)
        self.arm.fill(KEEP)
