"""GPS fixes in the estimator: fused, refused, and walked to where GPS comes back."""

import math

from xtdrone_dynamics.compiled import njit

from .aid_sources import height_reference
from .delayed_fusion import fuse_place, fuse_velocity, locate, place_then
from .flags import HEIGHT_BY_GPS, TEST_HGT, TEST_POS
from .state import NEVER, POS

GPS_PLACE, GPS_HEIGHT, GPS_VELOCITY = 1, 2, 4  # bits of EKF2_GPS_CTRL
GPS_AWAY_US = 1_000_000  # without a fix so long, GPS has gone [us]


@njit
def fuse_gps(par, q, memory, past, slots, t_us, delay, cov, work, pos, vel, quat, place, gps_vel,
             accuracy, ratios):
    """A GPS fix."""
    if slots[0] < 0 or not q.EKF2_GPS_CTRL & GPS_PLACE:
        return
    memory.away = memory.away or t_us - memory.heard_t > GPS_AWAY_US
    memory.heard_t = t_us
    if memory.located_t == NEVER or t_us - max(memory.gps_t, memory.vision_t) > par.reset_time:
        locate(memory, past, slots, delay, cov, pos, vel, place, gps_vel, accuracy,
               par.gps_vel_noise, True)
        memory.located_t = t_us
        memory.gps_t = t_us
        memory.baro_t = NEVER
        memory.fixes = 0
        _forget_return(memory)
        memory.away = False
        return
    good = not q.EKF2_GPS_CTRL & GPS_VELOCITY or fuse_velocity(
        par, memory, past, slots, delay, cov, work, vel, quat, gps_vel, ratios)
    by_gps = height_reference(par, q, memory, t_us) == HEIGHT_BY_GPS
    last = 3 if by_gps and q.EKF2_GPS_CTRL & GPS_HEIGHT else 2
    away = memory.away or t_us - memory.gps_t > par.reset_time
    if away and memory.vision_t > t_us - par.aid_time:
        if good:
            _come_back(par, memory, past, slots, delay, cov, pos, vel, place, accuracy, t_us,
                       last)
        else:
            _forget_return(memory)
        return
    memory.away = False
    _forget_return(memory)
    if memory.shift[0] == 0.0 and memory.shift[1] == 0.0 and memory.shift[2] == 0.0:
        good = fuse_place(memory, past, slots, delay, cov, work, pos, vel, place, accuracy,
                          par.pos_gate, True, 0, last, ratios, TEST_POS, TEST_HGT) and good
    if good:
        memory.gps_t = t_us
        memory.fixes += 1


@njit
def _come_back(par, memory, past, slots, delay, cov, pos, vel, place, accuracy, t_us, last):
    """Fixes of a GPS that was lost: their mean tells how far the position has to walk to it."""
    memory.back_fixes += 1
    for k in range(last):
        memory.back_sum[k] += (place[k] - past[slots[0]].antenna_pos[k]
                               - place_then(memory, past, slots, delay, pos, vel, k))
    if memory.back_fixes < par.ready_fixes:
        return
    for k in range(last):
        memory.shift[k] = memory.back_sum[k] / memory.back_fixes
        sigma = accuracy[0] if k < 2 else accuracy[1]
        cov[POS + k, POS + k] += sigma * sigma
    memory.gps_t = t_us
    memory.away = False


@njit
def _forget_return(memory):
    memory.back_fixes = 0
    for k in range(3):
        memory.back_sum[k] = 0.0


@njit
def walk(par, memory, pos, baro_offset, terrain, dt):
    """One step of the way to a GPS that came back; what was learnt in the old place moves along."""
    away = math.sqrt(memory.shift[0] ** 2 + memory.shift[1] ** 2 + memory.shift[2] ** 2)
    if away == 0.0:
        return
    share = min(1.0, par.return_speed * dt / away)
    for k in range(3):
        step = share * memory.shift[k]
        pos[k] += step
        memory.vision_offset[k] -= step
        memory.shift[k] = 0.0 if share == 1.0 else memory.shift[k] - step
        if k == 2:
            baro_offset[0] -= step
            terrain[0] += step
