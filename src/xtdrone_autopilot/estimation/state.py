"""State of the estimator: layout of the error state, records of filter and history."""

import numpy as np

from xtdrone_dynamics.compiled import Record, njit

# First index of each part of the error state.
ATT, VEL, POS, GYRO_BIAS, ACCEL_BIAS, BARO_OFFSET, EARTH, FIELD_BIAS = 0, 3, 6, 9, 12, 15, 16, 19
TERRAIN, WIND = 22, 23
SIZE = 25

EV_POSITION, EV_HEIGHT, EV_YAW = 1, 2, 8  # bits of EKF2_EV_CTRL
HISTORY_STEPS = 64  # length of the history: measurements may be 252 ms old at 250 Hz
NEVER = -(1 << 60)  # time of an event that has not happened [us]
NO_RESET, FIRST_FIX, POSITION_RESET = range(3)  # values of output_reset in FILTER

FILTER = np.dtype(
    [
        # State of the filter beside that in ESTIMATE, which has the output predictor's pos and vel.
        ("pos", "f8", (3,)),  # centre of gravity from the world's origin, ENU [m]
        ("vel", "f8", (3,)),  # ENU [m/s]
        ("baro_offset", "f8"),  # barometric minus true height above the origin [m]
        ("earth_field", "f8", (3,)),  # the Earth's magnetic field, ENU [T]
        ("steps", "i8"),  # number of steps since the vehicle started
        # Sums of the alignment at rest.
        ("samples", "i8"),  # number of IMU readings
        ("field_samples", "i8"),  # number of magnetometer readings
        ("accel_sum", "f8", (3,)),
        ("accel_square", "f8"),
        ("gyro_sum", "f8", (3,)),
        ("gyro_square", "f8"),
        ("field_sum", "f8", (3,)),
        # Inertial increments since the alignment: acceleration integrated once and twice, ENU.
        ("dv", "f8", (3,)),  # [m/s]
        ("dp", "f8", (3,)),  # [m]
        ("aligned_t", "i8"),  # time at which the attitude became valid [us]
        ("position_t", "i8"),  # time at which the position became valid [us]
        # Times at which each aid source last passed its test, and of the last zero-velocity
        # update [us].
        ("gps_t", "i8"),
        ("vision_t", "i8"),
        ("baro_t", "i8"),
        ("mag_t", "i8"),
        ("zero_velocity_t", "i8"),
        ("moved_t", "i8"),  # time at which the IMU last detected motion [us]
        ("aligned_steps", "i8"),  # number of steps since the alignment
        ("fixes", "i8"),  # number of fixes accepted since the last reset
        ("ref_eph", "f8"),  # horizontal accuracy that the position's reference reports [m]
        ("ref_epv", "f8"),  # vertical accuracy that the position's reference reports [m]
        ("range_t", "i8"),
        ("airspeed_t", "i8"),
        ("sideslip_t", "i8"),
        ("vision_offset", "f8", (3,)),  # origin of vision in the world frame [m]
        ("gps_heard_t", "i8"),  # time of the last fix, accepted or not [us]
        ("gps_lost", "?"),  # GPS was silent, and its position is not fused yet
        ("return_fixes", "i8"),  # number of fixes since GPS returned
        ("return_sum", "f8", (3,)),  # sum of their innovations [m]
        ("slew", "f8", (3,)),  # distance that the position still moves to a returned GPS [m]
        ("output_reset", "i1"),  # reset that the output predictor has not applied yet
        ("rate", "f8", (3,)),  # angular velocity of the step before, body [rad/s]
    ],
    align=True,
)

PAST_STATE = np.dtype(
    [
        ("dv", "f8", (3,)),  # dv of FILTER at the end of the step [m/s]
        ("dp", "f8", (3,)),  # dp of FILTER at the end of the step [m]
        ("antenna_pos", "f8", (3,)),  # GPS antenna relative to the centre of gravity, world [m]
        ("antenna_vel", "f8", (3,)),  # its velocity relative to the centre of gravity, world [m/s]
        ("quat", "f8", (4,)),  # attitude xyzw, body to world
    ],
    align=True,
)


@njit
def reset_filter(ekf: Record, field: np.ndarray, t_us: int) -> None:
    """Resets a record of FILTER; field (3,) is the Earth's magnetic field, ENU [T]."""
    clear_alignment(ekf)
    for k in range(3):
        ekf.pos[k] = 0.0
        ekf.vel[k] = 0.0
        ekf.earth_field[k] = field[k]
        ekf.dv[k] = 0.0
        ekf.dp[k] = 0.0
        ekf.vision_offset[k] = 0.0
        ekf.return_sum[k] = 0.0
        ekf.slew[k] = 0.0
        ekf.rate[k] = 0.0
    ekf.baro_offset = 0.0
    ekf.steps = 0
    ekf.aligned_steps = 0
    ekf.aligned_t = NEVER
    ekf.position_t = NEVER
    ekf.gps_t = NEVER
    ekf.vision_t = NEVER
    ekf.baro_t = NEVER
    ekf.mag_t = NEVER
    ekf.range_t = NEVER
    ekf.airspeed_t = NEVER
    ekf.sideslip_t = NEVER
    ekf.zero_velocity_t = NEVER
    ekf.gps_heard_t = NEVER
    ekf.moved_t = t_us
    ekf.fixes = 0
    ekf.ref_eph = 0.0
    ekf.ref_epv = 0.0
    ekf.gps_lost = False
    ekf.return_fixes = 0
    ekf.output_reset = NO_RESET


@njit
def clear_alignment(ekf: Record) -> None:
    """Clears the sums of the alignment."""
    ekf.samples = 0
    ekf.field_samples = 0
    ekf.accel_square = 0.0
    ekf.gyro_square = 0.0
    for k in range(3):
        ekf.accel_sum[k] = 0.0
        ekf.gyro_sum[k] = 0.0
        ekf.field_sum[k] = 0.0
