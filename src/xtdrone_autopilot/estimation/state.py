"""State of the estimator per vehicle: layout of the error state, record and history."""

import numpy as np

from xtdrone_dynamics.compiled import njit

# First index of each part of the error state.
ATT, VEL, POS, GYRO_BIAS, ACCEL_BIAS, BARO_OFFSET, EARTH, FIELD_BIAS = 0, 3, 6, 9, 12, 15, 16, 19
TERRAIN, WIND = 22, 23
SIZE = 25

EV_POSITION, EV_HEIGHT, EV_YAW = 1, 2, 8  # bits of EKF2_EV_CTRL
HISTORY = 64  # largest delay of a measurement in steps: 252 ms at 250 Hz
NEVER = -(1 << 60)  # [us]
NO_RESET, FIRST_FIX, POSITION_RESET = range(3)  # values of FILTER's output_reset

FILTER = np.dtype(
    [
        # State of the filter that is not in the estimate: that holds the output predictor's.
        ("pos", "f8", (3,)),
        ("vel", "f8", (3,)),  # ENU, from the world's origin [m], [m/s]
        ("baro_offset", "f8"),  # barometer's height less true height, over the origin [m]
        ("earth_field", "f8", (3,)),  # ENU [T]
        ("steps", "i8"),  # since the start of the vehicle
        # Alignment at rest.
        ("samples", "i8"),
        ("field_samples", "i8"),
        ("accel_sum", "f8", (3,)),
        ("accel_square", "f8"),
        ("gyro_sum", "f8", (3,)),
        ("gyro_square", "f8"),
        ("field_sum", "f8", (3,)),
        # Inertial increments since the alignment: the integral of acceleration, and its integral.
        ("dv", "f8", (3,)),
        ("dp", "f8", (3,)),
        ("aligned_t", "i8"),
        ("position_t", "i8"),  # when attitude, position became valid [us]
        # When each aid source last passed its test, and when velocity was last held at zero [us].
        ("gps_t", "i8"),
        ("vision_t", "i8"),
        ("baro_t", "i8"),
        ("mag_t", "i8"),
        ("zero_velocity_t", "i8"),
        ("moved_t", "i8"),  # when the IMU last detected motion [us]
        ("aligned_steps", "i8"),  # since the alignment, the history holds that many at most
        ("fixes", "i8"),  # accepted since the last reset
        ("ref_eph", "f8"),
        ("ref_epv", "f8"),  # accuracy of the position's reference [m]
        # When they last passed their tests [us].
        ("range_t", "i8"),
        ("airspeed_t", "i8"),
        ("sideslip_t", "i8"),
        ("vision_offset", "f8", (3,)),  # of vision's origin from the world's [m]
        ("gps_heard_t", "i8"),
        ("gps_lost", "?"),  # the last fix [us]; GPS was silent before it
        ("return_fixes", "i8"),
        ("return_sum", "f8", (3,)),  # of a GPS that returns, innovations
        ("slew", "f8", (3,)),  # that position has still to move, to a GPS that returned [m]
        ("output_reset", "i1"),  # reset that the output predictor has still to apply
        ("rate", "f8", (3,)),  # angular velocity of the last step, body [rad/s]
    ],
    align=True,
)

PAST = np.dtype(
    [
        ("dv", "f8", (3,)),
        ("dp", "f8", (3,)),  # FILTER's, at the end of that step
        ("antenna_pos", "f8", (3,)),
        ("antenna_vel", "f8", (3,)),  # world, from the centre of gravity
        ("quat", "f8", (4,)),
    ],
    align=True,
)


@njit
def reset_filter(f: np.void, field: np.ndarray, t_us: int) -> None:
    """Clears a filter: f is one record of FILTER, field the Earth's (3,) [T]."""
    clear_alignment(f)
    for k in range(3):
        f.pos[k] = 0.0
        f.vel[k] = 0.0
        f.earth_field[k] = field[k]
        f.dv[k] = 0.0
        f.dp[k] = 0.0
        f.vision_offset[k] = 0.0
        f.return_sum[k] = 0.0
        f.slew[k] = 0.0
        f.rate[k] = 0.0
    f.baro_offset = 0.0
    f.steps = 0
    f.aligned_steps = 0
    f.aligned_t = NEVER
    f.position_t = NEVER
    f.gps_t = NEVER
    f.vision_t = NEVER
    f.baro_t = NEVER
    f.mag_t = NEVER
    f.range_t = NEVER
    f.airspeed_t = NEVER
    f.sideslip_t = NEVER
    f.zero_velocity_t = NEVER
    f.gps_heard_t = NEVER
    f.moved_t = t_us
    f.fixes = 0
    f.ref_eph = 0.0
    f.ref_epv = 0.0
    f.gps_lost = False
    f.return_fixes = 0
    f.output_reset = NO_RESET


@njit
def clear_alignment(f: np.void) -> None:
    """Clears the sums of an alignment."""
    f.samples = 0
    f.field_samples = 0
    f.accel_square = 0.0
    f.gyro_square = 0.0
    for k in range(3):
        f.accel_sum[k] = 0.0
        f.gyro_sum[k] = 0.0
        f.field_sum[k] = 0.0
