"""Selection of new readings, and their conversion for the aid sources."""

import math

from xtdrone_dynamics.compiled import njit
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
from .state import NEVER, Step, VehicleEkf


@njit
def has_fix(ekf: VehicleEkf) -> bool:
    """Returns whether there is a new 3D fix that is accurate enough."""
    readings, tuning = ekf.readings, ekf.tuning
    return (
        readings.gps_new
        and readings.gps_fix >= 3
        and readings.gps_eph <= tuning.max_eph
        and readings.gps_epv <= tuning.max_epv
    )


@njit
def has_pressure(ekf: VehicleEkf) -> bool:
    """Returns whether the barometer has a new reading to fuse."""
    return (
        ekf.state.position_t != NEVER and ekf.readings.baro_new and ekf.params.EKF2_BARO_CTRL != 0
    )


@njit
def baro_offset_weight(ekf: VehicleEkf, t_us: int) -> float:
    """Returns 1 if the barometer's offset is estimated, 0 if it is the height reference."""
    return 0.0 if height_reference(ekf, t_us) == HEIGHT_BY_BARO else 1.0


@njit
def others_due(ekf: VehicleEkf, t_us: int) -> bool:
    """Returns whether fuse_others() has something to fuse."""
    return zero_velocity_due(ekf, is_at_rest(ekf, t_us), t_us) or (
        ekf.state.position_t != NEVER
        and (ekf.readings.range_new or ekf.readings.airspeed_new or sideslip_due(ekf, t_us))
    )


@njit
def fuse_others(ekf: VehicleEkf, step: Step) -> None:
    """Fuses range finder, pitot tube, sideslip and zero velocity, where they are due."""
    params, readings, state, t_us = ekf.params, ekf.readings, ekf.state, step.t_us
    if state.position_t != NEVER:
        if (
            readings.range_new
            and math.isfinite(readings.range_distance)
            and params.EKF2_RNG_CTRL != 0
        ):
            delay_us = round(params.EKF2_RNG_DELAY * 1e3)
            slots = find_slots(step.times, step.n_steps, state.aligned_steps, t_us - delay_us)
            if slots[0] >= 0:
                fuse_range(ekf, slots, delay_us * 1e-6, readings.range_distance, t_us)
        if readings.airspeed_new and params.EKF2_ARSP_THR > 0.0:
            delay_us = round(params.EKF2_ASP_DELAY * 1e3)
            slots = find_slots(step.times, step.n_steps, state.aligned_steps, t_us - delay_us)
            air_density = density(step.origin[2] + state.pos[2])
            if readings.baro_temperature > 0.0:
                air_density = readings.baro_pressure / (
                    AIR_GAS_CONSTANT * readings.baro_temperature
                )
            if slots[0] >= 0:
                fuse_airspeed(ekf, slots, readings.airspeed_pressure, air_density, t_us)
        if sideslip_due(ekf, t_us):
            fuse_sideslip(ekf, t_us)
    at_rest = is_at_rest(ekf, t_us)
    if zero_velocity_due(ekf, at_rest, t_us):
        update_zero_velocity(ekf, readings.gyro, at_rest, t_us)


@njit
def fuse_fix(ekf: VehicleEkf, step: Step) -> None:
    """Converts the receiver's fix to the world frame and fuses it."""
    tuning, readings, pos = ekf.tuning, ekf.readings, ekf.work[4]
    lat, lon, height = step.origin
    pos[0], pos[1] = to_local(readings.gps_lat, readings.gps_lon, lat, lon)
    pos[2] = readings.gps_alt - height
    slots = find_slots(step.times, step.n_steps, ekf.state.aligned_steps, readings.gps_t_us)
    delay = (step.t_us - readings.gps_t_us) * 1e-6
    eph, epv = readings.gps_eph, readings.gps_epv
    accuracy = (max(eph, tuning.gps_pos_noise), max(epv, tuning.gps_pos_noise))
    fuse_gps(ekf, slots, step.t_us, delay, pos, readings.gps_vel, accuracy)
    ekf.state.ref_eph, ekf.state.ref_epv = eph, epv
