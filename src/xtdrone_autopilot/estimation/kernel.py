"""The compiled part of the estimator: an error-state extended Kalman filter per vehicle.

Error state, 25 numbers: attitude (3, a rotation vector in the world frame),
velocity (3), position (3), gyro bias (3), accelerometer bias (3), barometer
offset, Earth's magnetic field (3, world), magnetometer bias (3, body), height
of the ground below, wind (2, east and north). With
R the attitude (body to world) and f_w = R (accel - bias) the specific force:

    d attitude / dt = -R gyro bias
    d velocity / dt = attitude x f_w - R accelerometer bias
    d position / dt = velocity

A measurement tells of the past. It is compared with the present state taken
back by the inertial increments since then (they are kept in a ring), so
corrections made in between count, and its derivatives are taken back along with
it; the correction is applied to the present state.

GPS is the reference of position. While it is used, the place of an external
vision's origin is learnt, so that vision carries on without a step where GPS is
lost; where GPS comes back, the estimate walks over to it.

What the flight stack gets is not the filter's position and velocity but PX4's
output predictor: it follows the IMU at once and the filter's corrections with
time constants, so that a fix makes no step in the set-points.
"""

import math

from xtdrone_dynamics.atmosphere import density, height_of_pressure
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import AIR_GAS_CONSTANT
from xtdrone_dynamics.geodesy import to_local

from .aid_sources import (
    aid_still,
    feels_motion,
    fuse_airspeed,
    fuse_baro,
    fuse_field,
    fuse_range,
    ground_moves,
    height_reference,
)
from .alignment import align, collect, start_covariance
from .delayed_fusion import find, record
from .filter import add_noise, forget, inject, predict_covariance, predict_state, tidy
from .flags import (
    AIRSPEED_USED,
    ALIGNED,
    AT_REST,
    BARO_USED,
    GPS_USED,
    HEIGHT_BY_BARO,
    LOCATED,
    MAG_USED,
    RANGE_USED,
    VISION_USED,
)
from .gnss import fuse_gps, walk
from .state import (
    ATT,
    BARO_OFFSET,
    FIELD_BIAS,
    LATER,
    NEVER,
    NO_JUMP,
    POS,
    RING,
    VEL,
    WIND,
    clear_alignment,
)


@njit
def step_fleet(par, parameters, origin, field, dt, t_us, times, count, memory, past, covs, work,
               landed, antenna, range_pos, range_axis, airspeed_axis, pos, vel, quat, ang_vel,
               gyro_bias, accel_bias, baro_offset, earth, field_bias, terrain, wind, out_pos,
               out_vel, ready, flags, ratios, pos_std, vel_std, att_std, reset_count, reset_pos,
               gyro, accel, mag, mag_new, baro_pressure, baro_temperature, baro_new, gps_t_us,
               gps_lat, gps_lon, gps_alt, gps_vel, gps_eph, gps_epv, gps_fix, gps_new,
               airspeed_pressure, airspeed_new, range_distance, range_new):
    """One step of the whole fleet; see Ekf for the arrays."""
    place, before = work[4], work[5]  # before: MEMORY's dv before this step
    times[count % RING] = t_us
    for i in range(pos.shape[0]):
        mem, cov, ring, q = memory[i], covs[i], past[i], parameters[i]
        if mem.aligned_t == NEVER:
            collect(mem, gyro[i], accel[i], mag[i], mag_new[i])
            if mem.samples < par.align_steps:
                continue
            done = align(par, mem, quat[i], gyro_bias[i], accel_bias[i], field, t_us)
            clear_alignment(mem)
            if not done:
                continue
            start_covariance(par, quat[i], cov)
            for k in range(3):
                earth[i, k] = field[k]

        for k in range(3):
            before[k] = mem.dv[k]
        force = predict_state(par, mem, pos[i], vel[i], quat[i], gyro_bias[i], accel_bias[i],
                              gyro[i], accel[i], dt)
        predict_covariance(par, quat[i], force, cov, dt)
        ground_moves(par, q, cov, mem, pos[i], vel[i], terrain[i:i + 1], dt)
        if not math.isnan(wind[i, 0]):
            add_noise(cov, WIND, 2, q.EKF2_WIND_NSD ** 2 * dt, par.wind_sigma ** 2)
        walk(par, mem, pos[i], baro_offset[i:i + 1], terrain[i:i + 1], dt)
        for k in range(3):
            ang_vel[i, k] = gyro[i, k] - gyro_bias[i, k]
        if feels_motion(par, ang_vel[i], force):
            mem.moved_t = t_us
        mem.steps += 1
        record(ring[count % RING], mem, quat[i], ang_vel[i], antenna[i])

        if gps_new[i] and gps_fix[i] >= 3 and gps_eph[i] <= par.max_eph \
                and gps_epv[i] <= par.max_epv:
            place[0], place[1] = to_local(gps_lat[i], gps_lon[i], origin[0], origin[1])
            place[2] = gps_alt[i] - origin[2]
            slots = find(times, count, mem.steps, gps_t_us[i])
            accuracy = (max(gps_eph[i], par.gps_pos_noise), max(gps_epv[i], par.gps_pos_noise))
            fuse_gps(par, q, mem, ring, slots, t_us, (t_us - gps_t_us[i]) * 1e-6, cov, work,
                     pos[i], vel[i], quat[i], place, gps_vel[i], accuracy, ratios[i])
            mem.ref_eph, mem.ref_epv = gps_eph[i], gps_epv[i]
        if mag_new[i]:
            if fuse_field(par, cov, work, quat[i], earth[i], field_bias[i], mag[i], ratios[i]):
                mem.mag_t = t_us
            elif t_us - mem.mag_t > par.mag_reset_time:  # the bias is not what it was
                forget(cov, FIELD_BIAS, 3, par.field_bias_reset_sigma ** 2)
                mem.mag_t = t_us
        if baro_new[i] and mem.located_t != NEVER and q.EKF2_BARO_CTRL != 0:
            height = height_of_pressure(baro_pressure[i]) - origin[2]
            if t_us - mem.baro_t > par.reset_time:
                baro_offset[i] = height - pos[i, 2]
                forget(cov, BARO_OFFSET, 1, cov[POS + 2, POS + 2] + par.baro_noise ** 2)
                mem.baro_t = t_us
            elif fuse_baro(par, cov, work, pos[i], baro_offset[i:i + 1], height,
                           height_reference(par, q, mem, t_us) == HEIGHT_BY_BARO, ratios[i]):
                mem.baro_t = t_us
        if range_new[i] and math.isfinite(range_distance[i]) and mem.located_t != NEVER \
                and q.EKF2_RNG_CTRL != 0:
            late = round(q.EKF2_RNG_DELAY * 1e3)
            slots = find(times, count, mem.steps, t_us - late)
            if slots[0] >= 0:
                fuse_range(par, q, mem, ring, slots, late * 1e-6, cov, work, pos[i], vel[i],
                           terrain[i:i + 1], range_pos[i], range_axis[i], range_distance[i],
                           t_us, ratios[i])
        if airspeed_new[i] and mem.located_t != NEVER and q.EKF2_ARSP_THR > 0.0:
            slots = find(times, count, mem.steps, t_us - round(q.EKF2_ASP_DELAY * 1e3))
            air = density(origin[2] + pos[i, 2])
            if baro_temperature[i] > 0.0:
                air = baro_pressure[i] / (AIR_GAS_CONSTANT * baro_temperature[i])
            if slots[0] >= 0:
                fuse_airspeed(par, q, mem, ring, slots, cov, work, vel[i], wind[i],
                              airspeed_axis[i], airspeed_pressure[i], air, t_us, ratios[i])
        at_rest = aid_still(par, mem, cov, work, vel[i], gyro_bias[i], gyro[i], landed[i], t_us)
        inject(work[0], pos[i], vel[i], quat[i], gyro_bias[i], accel_bias[i],
               baro_offset[i:i + 1], earth[i], field_bias[i], terrain[i:i + 1], wind[i])
        _predict_output(q, mem, pos[i], vel[i], before, out_pos[i], out_vel[i],
                        reset_count[i:i + 1], reset_pos[i], dt)
        if count % 25 == 0:
            tidy(cov)
        _report(i, par, mem, cov, t_us, at_rest, ready, flags, pos_std, vel_std, att_std)


@njit
def _predict_output(q, memory, pos, vel, dv_before, out_pos, out_vel, reset_count, reset_pos, dt):
    """One step of the output; a place that the filter jumped to is followed at once."""
    for k in range(3):
        out_vel[k] += memory.dv[k] - dv_before[k]
        out_vel[k] += dt / q.EKF2_TAU_VEL * (vel[k] - out_vel[k])
        out_pos[k] += out_vel[k] * dt
        out_pos[k] += dt / q.EKF2_TAU_POS * (pos[k] - out_pos[k])
    if memory.jump == NO_JUMP:
        return
    for k in range(3):
        if memory.jump == LATER:
            reset_pos[k] = pos[k] - out_pos[k]
        out_pos[k] = pos[k]
        out_vel[k] = vel[k]
    reset_count[0] += memory.jump == LATER
    memory.jump = NO_JUMP


@njit
def _report(i, par, memory, cov, t_us, at_rest, ready, flags, pos_std, vel_std, att_std):
    """Flags and standard deviations of one vehicle."""
    for k in range(3):
        reference = memory.ref_eph if k < 2 else memory.ref_epv
        pos_std[i, k] = math.sqrt(max(0.0, cov[POS + k, POS + k]) + reference * reference)
        vel_std[i, k] = math.sqrt(max(0.0, cov[VEL + k, VEL + k]))
        att_std[i, k] = math.sqrt(max(0.0, cov[ATT + k, ATT + k]))
    since = t_us - par.aid_time
    flag = ALIGNED
    if memory.located_t != NEVER:
        flag |= LOCATED
    if memory.gps_t > since:
        flag |= GPS_USED
    if memory.vision_t > since:
        flag |= VISION_USED
    if memory.baro_t > since:
        flag |= BARO_USED
    if memory.mag_t > since:
        flag |= MAG_USED
    if memory.range_t > since:
        flag |= RANGE_USED
    if memory.airspeed_t > since:
        flag |= AIRSPEED_USED
    if at_rest:
        flag |= AT_REST
    flags[i] = flag
    ready[i] = (flag & (GPS_USED | VISION_USED) != 0 and memory.fixes >= par.ready_fixes
                and att_std[i, 2] < par.ready_yaw and vel_std[i, 0] < par.ready_vel
                and vel_std[i, 1] < par.ready_vel and vel_std[i, 2] < par.ready_vel)
