"""What the estimator keeps of each vehicle: the error state's layout, its memory and its past."""

import numpy as np

from xtdrone_dynamics.compiled import njit

# First index of each part of the error state.
ATT, VEL, POS, GYRO_BIAS, ACCEL_BIAS, BARO_OFFSET, EARTH, FIELD_BIAS = 0, 3, 6, 9, 12, 15, 16, 19
TERRAIN, WIND = 22, 23
SIZE = 25

VISION_PLACE, VISION_HEIGHT, VISION_YAW = 1, 2, 8  # bits of EKF2_EV_CTRL
RING = 64  # steps that a fix may be late: 252 ms at 250 Hz
NEVER = -(1 << 60)  # [us]
NO_JUMP, FIRST, LATER = range(3)  # values of MEMORY's jump

MEMORY = np.dtype([
    # Alignment at rest.
    ("samples", "i8"), ("field_samples", "i8"),
    ("accel_sum", "f8", (3,)), ("accel_square", "f8"),
    ("gyro_sum", "f8", (3,)), ("gyro_square", "f8"), ("field_sum", "f8", (3,)),
    # Inertial increments since the alignment: the integral of acceleration, and its integral.
    ("dv", "f8", (3,)), ("dp", "f8", (3,)),
    ("aligned_t", "i8"), ("located_t", "i8"),  # [us]
    # When each aid last passed its test, and what the rest aid did [us].
    ("gps_t", "i8"), ("vision_t", "i8"), ("baro_t", "i8"), ("mag_t", "i8"), ("rest_t", "i8"),
    ("moved_t", "i8"),  # when the IMU last felt motion [us]
    ("steps", "i8"),  # since the alignment, the ring holds that many at most
    ("fixes", "i8"),  # accepted since the last reset
    ("ref_eph", "f8"), ("ref_epv", "f8"),  # accuracy of the position's reference [m]
    ("range_t", "i8"), ("airspeed_t", "i8"),  # when they last passed their tests [us]
    ("vision_offset", "f8", (3,)),  # of vision's origin from the world's [m]
    ("heard_t", "i8"), ("away", "?"),  # when the last fix came [us]; GPS was silent before it
    ("back_fixes", "i8"), ("back_sum", "f8", (3,)),  # fixes of a GPS that comes back, innovations
    ("shift", "f8", (3,)),  # that position has still to walk, to a GPS that came back [m]
    ("jump", "i1"),  # what the output has still to follow at once: a FIRST or LATER place
])

PAST = np.dtype([
    ("dv", "f8", (3,)), ("dp", "f8", (3,)),  # MEMORY's, at the end of that step
    ("antenna_pos", "f8", (3,)), ("antenna_vel", "f8", (3,)),  # world, from the centre of gravity
    ("quat", "f8", (4,)),
])


@njit
def reset_memory(memory, t_us):
    """A vehicle that knows nothing: memory is one record of MEMORY."""
    clear_alignment(memory)
    for k in range(3):
        memory.dv[k] = 0.0
        memory.dp[k] = 0.0
    memory.aligned_t = NEVER
    memory.located_t = NEVER
    memory.gps_t = NEVER
    memory.vision_t = NEVER
    memory.baro_t = NEVER
    memory.mag_t = NEVER
    memory.rest_t = NEVER
    memory.moved_t = t_us
    memory.fixes = 0
    memory.range_t = NEVER
    memory.airspeed_t = NEVER
    memory.heard_t = NEVER
    memory.away = False
    memory.back_fixes = 0
    memory.jump = NO_JUMP
    for k in range(3):
        memory.vision_offset[k] = 0.0
        memory.back_sum[k] = 0.0
        memory.shift[k] = 0.0


@njit
def clear_alignment(memory):
    """Forgets the sums of an alignment."""
    memory.samples = 0
    memory.field_samples = 0
    memory.accel_square = 0.0
    memory.gyro_square = 0.0
    for k in range(3):
        memory.accel_sum[k] = 0.0
        memory.gyro_sum[k] = 0.0
        memory.field_sum[k] = 0.0
