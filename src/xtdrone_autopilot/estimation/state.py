"""State of the estimator: layout of the error state, records of filter and history."""

from typing import NamedTuple

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
        ("antenna_vel", "f8", (3,)),  # velocity of antenna_pos, world [m/s]
        ("quat", "f8", (4,)),  # attitude xyzw, body to world
    ],
    align=True,
)


class VehicleEkf(NamedTuple):
    """Records and arrays of one vehicle's filter, as kernels take them."""

    tuning: Record  # record of EkfParameters
    params: Record  # record of the flight stack's parameters
    readings: Record  # SENSORS of the step
    estimate: Record  # ESTIMATE, the output
    state: Record  # FILTER, the state
    history: np.ndarray  # (HISTORY_STEPS,) of PAST_STATE
    cov: np.ndarray  # (SIZE, SIZE) covariance of the error state
    work: np.ndarray  # (6, SIZE) scratch; row 0 is the pending correction


class Step(NamedTuple):
    """Time and place of a step, the same for all vehicles."""

    origin: tuple[
        float, float, float
    ]  # latitude, longitude [rad] and height [m] of the world's origin
    field: np.ndarray  # (3,) the Earth's magnetic field there, ENU [T]
    dt: float  # length of the step [s]
    t_us: int  # end of the step [us]
    times: np.ndarray  # (HISTORY_STEPS,) ends of the steps in the history, including this one [us]
    n_steps: int  # number of steps so far


@njit
def reset_filter(state: Record, field: np.ndarray, t_us: int) -> None:
    """Resets a record of FILTER; field (3,) is the Earth's magnetic field, ENU [T]."""
    clear_alignment(state)
    for k in range(3):
        state.pos[k] = 0.0
        state.vel[k] = 0.0
        state.earth_field[k] = field[k]
        state.dv[k] = 0.0
        state.dp[k] = 0.0
        state.vision_offset[k] = 0.0
        state.return_sum[k] = 0.0
        state.slew[k] = 0.0
        state.rate[k] = 0.0
    state.baro_offset = 0.0
    state.steps = 0
    state.aligned_steps = 0
    state.aligned_t = NEVER
    state.position_t = NEVER
    state.gps_t = NEVER
    state.vision_t = NEVER
    state.baro_t = NEVER
    state.mag_t = NEVER
    state.range_t = NEVER
    state.airspeed_t = NEVER
    state.sideslip_t = NEVER
    state.zero_velocity_t = NEVER
    state.gps_heard_t = NEVER
    state.moved_t = t_us
    state.fixes = 0
    state.ref_eph = 0.0
    state.ref_epv = 0.0
    state.gps_lost = False
    state.return_fixes = 0
    state.output_reset = NO_RESET


@njit
def clear_alignment(state: Record) -> None:
    """Clears the sums of the alignment."""
    state.samples = 0
    state.field_samples = 0
    state.accel_square = 0.0
    state.gyro_square = 0.0
    for k in range(3):
        state.accel_sum[k] = 0.0
        state.gyro_sum[k] = 0.0
        state.field_sum[k] = 0.0
