"""External vision in the estimator: poses whose origin is learnt while GPS is there."""

import math

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.quaternion import multiply

from .aid_sources import height_reference
from .delayed_fusion import find, fuse_place, locate, place_then
from .filter import fuse, inject
from .flags import HEIGHT_BY_VISION, TEST_VISION
from .gnss import GPS_AWAY_US
from .state import ATT, NEVER, VISION_HEIGHT, VISION_PLACE, VISION_YAW


@njit
def take_vision(par, q, i, t_us, measured_us, times, count, memory, past, covs, work, pos, vel,
                quat, gyro_bias, accel_bias, baro_offset, earth, field_bias, terrain, wind, ratios,
                place, attitude, pos_sigma, yaw_sigma):
    """A pose of vehicle i in the world frame from outside, true at measured_us; see Ekf."""
    mem, cov, ring, dx, h, gain = memory[i], covs[i], past[i], work[0], work[1], work[2]
    slots = find(times, count, mem.steps, measured_us)
    if mem.aligned_t == NEVER or slots[0] < 0 or not q.EKF2_EV_CTRL & VISION_PLACE:
        return
    delay = max(0, t_us - measured_us) * 1e-6
    accuracy = (pos_sigma, pos_sigma)
    if mem.located_t == NEVER or t_us - max(mem.gps_t, mem.vision_t) > par.reset_time:
        for k in range(3):
            mem.vision_offset[k] = 0.0
        work[4, :] = math.nan  # a pose says nothing of the velocity
        locate(mem, ring, slots, delay, cov, pos[i], vel[i], place, work[4], accuracy, 0.0, False)
        mem.located_t = t_us
        mem.vision_t = t_us
        mem.baro_t = NEVER
        mem.fixes = 0
        return
    lost = t_us - mem.vision_t > par.aid_time
    share = 1.0 if lost else min(1.0, (t_us - mem.vision_t) / par.vision_offset_time)
    by_vision = height_reference(par, q, mem, t_us) == HEIGHT_BY_VISION
    for k in range(3):
        if t_us - mem.gps_t <= GPS_AWAY_US and not (k == 2 and by_vision):
            if lost or ratios[i, TEST_VISION] <= 1.0:
                _learn_origin(mem, ring, slots, delay, pos[i], vel[i], place, k, share)
        work[4, k] = place[k] - mem.vision_offset[k]
    last = 3 if q.EKF2_EV_CTRL & VISION_HEIGHT else 2
    good = fuse_place(mem, ring, slots, delay, cov, work, pos[i], vel[i], work[4], accuracy,
                      q.EKF2_EVP_GATE, False, 0, last, ratios[i], TEST_VISION, TEST_VISION)
    if q.EKF2_EV_CTRL & VISION_YAW:
        r = ring[slots[1]].quat
        turn = multiply(attitude[0], attitude[1], attitude[2], attitude[3], -r[0], -r[1], -r[2],
                        r[3])
        h[:] = 0.0
        h[ATT + 2] = 1.0
        fuse(cov, dx, h, gain, 2.0 * math.atan2(turn[2], turn[3]) if turn[3] >= 0.0
             else 2.0 * math.atan2(-turn[2], -turn[3]), yaw_sigma * yaw_sigma, par.mag_gate)
    if good:
        mem.vision_t = t_us
        mem.fixes += 1
    inject(dx, pos[i], vel[i], quat[i], gyro_bias[i], accel_bias[i], baro_offset[i:i + 1],
           earth[i], field_bias[i], terrain[i:i + 1], wind[i])


@njit
def _learn_origin(memory, past, slots, delay, pos, vel, place, k, share):
    """Learns a share of how far an external vision's origin is from the world's on axis k."""
    error = place[k] - place_then(memory, past, slots, delay, pos, vel, k) \
        - memory.vision_offset[k]
    memory.vision_offset[k] += share * error
