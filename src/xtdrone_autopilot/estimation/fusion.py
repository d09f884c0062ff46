"""Selection of new readings, and their conversion for the aid sources."""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import AIR_GAS_CONSTANT
from xtdrone_dynamics.earth.atmosphere import density
from xtdrone_dynamics.earth.geodesy import to_local

from ..state.estimator_flags import HEIGHT_BY_BARO
from .aid_sources import (
    fuse_range,
    height_reference,
    is_at_rest,
    update_zero_velocity,
    zero_velocity_due,
)
from .air_data import fuse_airspeed, fuse_sideslip, sideslip_due
from .delayed_fusion import find_slots
from .gnss import fuse_gps
from .state import NEVER


@njit
def has_fix(tuning: Record, readings: Record) -> bool:
    """Returns whether there is a new 3D fix that is accurate enough."""
    return (
        readings.gps_new
        and readings.gps_fix >= 3
        and readings.gps_eph <= tuning.max_eph
        and readings.gps_epv <= tuning.max_epv
    )


@njit
def has_pressure(params: Record, ekf: Record, readings: Record) -> bool:
    """Returns whether the barometer has a new reading to fuse."""
    return ekf.position_t != NEVER and readings.baro_new and params.EKF2_BARO_CTRL != 0


@njit
def baro_offset_weight(tuning: Record, params: Record, ekf: Record, t_us: int) -> float:
    """Returns 1 if the barometer's offset is estimated, 0 if it is the height reference."""
    return 0.0 if height_reference(tuning, params, ekf, t_us) == HEIGHT_BY_BARO else 1.0


@njit
def others_due(
    tuning: Record, params: Record, readings: Record, estimate: Record, ekf: Record, t_us: int
) -> bool:
    """Returns whether fuse_others() has something to fuse."""
    return zero_velocity_due(tuning, ekf, is_at_rest(tuning, ekf, estimate, t_us), t_us) or (
        ekf.position_t != NEVER
        and (
            readings.range_new or readings.airspeed_new or sideslip_due(params, ekf, estimate, t_us)
        )
    )


@njit
def fuse_others(
    tuning: Record,
    params: Record,
    world: tuple,
    t_us: int,
    times: np.ndarray,
    count: int,
    readings: Record,
    estimate: Record,
    ekf: Record,
    history: np.ndarray,
    cov: np.ndarray,
    work: np.ndarray,
) -> None:
    """Fuses range finder, pitot tube, sideslip and zero velocity, where they are due."""
    if ekf.position_t != NEVER:
        if (
            readings.range_new
            and math.isfinite(readings.range_distance)
            and params.EKF2_RNG_CTRL != 0
        ):
            delay_us = round(params.EKF2_RNG_DELAY * 1e3)
            slots = find_slots(times, count, ekf.aligned_steps, t_us - delay_us)
            if slots[0] >= 0:
                fuse_range(
                    tuning,
                    params,
                    ekf,
                    estimate,
                    history,
                    slots,
                    delay_us * 1e-6,
                    cov,
                    work,
                    readings.range_distance,
                    t_us,
                )
        if readings.airspeed_new and params.EKF2_ARSP_THR > 0.0:
            slots = find_slots(
                times, count, ekf.aligned_steps, t_us - round(params.EKF2_ASP_DELAY * 1e3)
            )
            air_density = density(world[2] + ekf.pos[2])
            if readings.baro_temperature > 0.0:
                air_density = readings.baro_pressure / (
                    AIR_GAS_CONSTANT * readings.baro_temperature
                )
            if slots[0] >= 0:
                fuse_airspeed(
                    tuning,
                    params,
                    ekf,
                    estimate,
                    history,
                    slots,
                    cov,
                    work,
                    readings.airspeed_pressure,
                    air_density,
                    t_us,
                )
        if sideslip_due(params, ekf, estimate, t_us):
            fuse_sideslip(tuning, params, ekf, estimate, cov, work, t_us)
    at_rest = is_at_rest(tuning, ekf, estimate, t_us)
    if zero_velocity_due(tuning, ekf, at_rest, t_us):
        update_zero_velocity(tuning, ekf, estimate, cov, work, readings.gyro, at_rest, t_us)


@njit
def fuse_fix(
    tuning: Record,
    params: Record,
    world: tuple,
    t_us: int,
    times: np.ndarray,
    count: int,
    readings: Record,
    estimate: Record,
    ekf: Record,
    history: np.ndarray,
    cov: np.ndarray,
    work: np.ndarray,
) -> None:
    """Converts the receiver's fix to the world frame and fuses it."""
    measured_pos = work[4]
    measured_pos[0], measured_pos[1] = to_local(
        readings.gps_lat, readings.gps_lon, world[0], world[1]
    )
    measured_pos[2] = readings.gps_alt - world[2]
    slots = find_slots(times, count, ekf.aligned_steps, readings.gps_t_us)
    accuracy = (
        max(readings.gps_eph, tuning.gps_pos_noise),
        max(readings.gps_epv, tuning.gps_pos_noise),
    )
    fuse_gps(
        tuning,
        params,
        ekf,
        estimate,
        history,
        slots,
        t_us,
        (t_us - readings.gps_t_us) * 1e-6,
        cov,
        work,
        measured_pos,
        readings.gps_vel,
        accuracy,
    )
    ekf.ref_eph, ekf.ref_epv = readings.gps_eph, readings.gps_epv
