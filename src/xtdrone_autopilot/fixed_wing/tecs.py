"""TECS: total energy control of height and airspeed by pitch and throttle, as PX4's src/lib/tecs.

The throttle controls the specific total energy, the pitch its balance between height and speed.
"""

import math
from typing import NamedTuple

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY

from ..control.vector import clamp
from ..navigation.trajectory import speed_to_slow

JERK = 1000.0  # of the height's reference [m/s^3]
SPEED_ERROR_SHARE = 0.15  # of the trim airspeed, that it may be off before underspeed counts
RESTART_US = 1_000_000  # after such a break it starts anew [us]
EPSILON = 1e-6


class Demand(NamedTuple):
    """What total energy control is asked for, and its limits."""

    height: float  # world z [m]
    height_rate: float  # [m/s]; NaN = the height is controlled
    airspeed: float  # equivalent [m/s]
    airspeed_min: float  # equivalent [m/s]
    pitch_min: float  # [rad]
    pitch_max: float
    throttle_min: float
    throttle_max: float
    climb: float  # largest rate of the height's reference [m/s]
    sink: float
    height_tc: float  # time constant of the height [s]
    guards_underspeed: bool
    load_factor: float


@njit
def _towards(x, target, step):
    return min(max(target, x - step), x + step)


@njit
def _filter_airspeed(w, q, measured, dt):
    """Steady-state Kalman filter of airspeed and its rate, whose measured rate counts as 0."""
    inverse = 1.0 / q.FW_T_SPD_STD
    rate_inverse = 1.0 / q.FW_T_SPD_DEV_STD
    noise = q.FW_T_SPD_PRC_STD
    weight = rate_inverse * rate_inverse * noise
    total = inverse + weight
    root = math.sqrt(noise * (2.0 * inverse + weight))
    k00, k01 = inverse * root / total, weight / total
    k10, k11 = inverse * inverse * noise / total, weight * root / total
    speed, rate = w.tas + dt * w.tas_rate, w.tas_rate
    off, off_rate = measured - speed, -rate
    w.tas = speed + dt * (k00 * off + k01 * off_rate)
    w.tas_rate = rate + dt * (k10 * off + k11 * off_rate)
    if w.tas < EPSILON:
        w.tas = 0.0
        off = (-speed / dt - k01 * off_rate) / k00
        w.tas_rate = rate + dt * (k10 * off + k11 * off_rate)


@njit
def _move_reference(w, q, d, height, dt):
    """Moves the reference of the height; returns whether the height is controlled."""
    acc = q.FW_T_VERT_ACC
    wanted = d.height
    if math.isfinite(d.height_rate):
        w.rate_ref = _towards(
            w.rate_ref, clamp(d.height_rate, -q.FW_T_SINK_MAX, q.FW_T_CLMB_MAX), acc * dt
        )
        if d.height_rate != 0.0 or w.rate_ref != 0.0:
            w.held_height = math.nan
            w.ref_height, w.ref_rate = height, w.rate_ref
            return False
        if not math.isfinite(w.held_height):
            w.held_height = height
        wanted = w.held_height
    off = wanted - w.ref_height
    rate = clamp(
        math.copysign(speed_to_slow(abs(off), 0.0, acc, JERK), off),
        -min(d.sink, q.FW_T_SINK_MAX),
        min(d.climb, q.FW_T_CLMB_MAX),
    )
    w.ref_rate = _towards(w.ref_rate, rate, acc * dt)
    w.ref_height += w.ref_rate * dt
    return True


@njit
def _underspeed(d, q, tas, eas2tas):
    """How far the airspeed is too low, 0..1."""
    margin = SPEED_ERROR_SHARE * q.FW_AIRSPD_TRIM
    fully = max(eas2tas * d.airspeed_min - 2.0 * margin, 0.0)
    begins = max(eas2tas * d.airspeed_min - margin, fully)
    return 1.0 - clamp((tas - fully) / max(begins - fully, EPSILON), 0.0, 1.0)


@njit
def trim_throttle(q: np.void, airspeed: float, eas2tas: float) -> float:
    """Throttle of level flight at an equivalent airspeed: PX4's PerformanceModel."""
    throttle = q.FW_THR_TRIM
    if q.FW_THR_ASPD_MIN > EPSILON and airspeed < q.FW_AIRSPD_TRIM:
        throttle -= (
            (q.FW_THR_TRIM - q.FW_THR_ASPD_MIN)
            / (q.FW_AIRSPD_TRIM - q.FW_AIRSPD_MIN)
            * (q.FW_AIRSPD_TRIM - airspeed)
        )
    elif q.FW_THR_ASPD_MAX > EPSILON and airspeed > q.FW_AIRSPD_TRIM:
        throttle += (
            (q.FW_THR_ASPD_MAX - q.FW_THR_TRIM)
            / (q.FW_AIRSPD_MAX - q.FW_AIRSPD_TRIM)
            * (airspeed - q.FW_AIRSPD_TRIM)
        )
    return throttle * max(eas2tas, 1.0)


@njit
def _pitch_command(w, q, d, tas, balance, estimate, has_airspeed):
    per_rad = GRAVITY * (tas if has_airspeed and tas > EPSILON else q.FW_AIRSPD_TRIM)
    wanted = ((balance - estimate) * q.FW_T_PTCH_DAMP + q.FW_T_SEB_R_FF * balance) / per_rad
    return clamp(wanted + w.pitch_integral, d.pitch_min, d.pitch_max)


@njit
def _throttle_command(w, q, d, energy, most, least, trim, has_airspeed):
    if energy >= EPSILON:
        predicted = trim + energy * (d.throttle_max - trim) / most
    else:
        predicted = trim - energy * (trim - d.throttle_min) / least
    wanted = predicted + (energy - w.energy_rate) * q.FW_T_THR_DAMPING / (most - least)
    wanted += w.throttle_integral if has_airspeed else max(w.throttle_integral, 0.0)
    wanted = w.underspeed * d.throttle_max + (1.0 - w.underspeed) * wanted
    return clamp(wanted, d.throttle_min, d.throttle_max)


@njit
def control(
    w: np.void, q: np.void, d: Demand, t_us: int, height: float, climb: float, dt: float
) -> None:
    """One step: writes tecs_pitch and tecs_throttle.

    Args:
        w: Record of FIXED_WING_STATE.
        q: Parameters.
        d: The demand; its pitch limits count from FW_PSP_OFF.
        t_us: Now [us].
        height: World z [m].
        climb: Vertical velocity [m/s].
        dt: [s].
    """
    has_airspeed = q.FW_USE_AIRSPD != 0 and math.isfinite(w.airspeed)
    measured = w.airspeed if has_airspeed else q.FW_AIRSPD_TRIM
    fresh = t_us - w.tecs_t > RESTART_US
    w.tecs_t = t_us
    if fresh:
        w.ref_height, w.ref_rate, w.rate_ref = height, climb, climb
        w.held_height = math.nan
        w.tas, w.tas_rate = measured, 0.0
        w.pitch_integral = w.throttle_integral = 0.0
    else:
        _filter_airspeed(w, q, measured, dt)
    by_height = _move_reference(w, q, d, height, dt)
    if not math.isfinite(d.height_rate):
        w.rate_ref, w.held_height = climb, math.nan
    tas, tas_rate = w.eas2tas * w.tas, w.eas2tas * w.tas_rate

    most = max(q.FW_T_CLMB_MAX, EPSILON) * GRAVITY
    least = -max(q.FW_T_SINK_MIN * w.eas2tas, EPSILON) * GRAVITY
    acc = 0.0
    if has_airspeed:
        acc = clamp(
            (w.eas2tas * d.airspeed - tas) / max(q.FW_T_TAS_TC, 0.1),
            0.5 * least / max(tas, EPSILON),
            0.5 * most / max(tas, EPSILON),
        )
    rate = w.rate_ref
    if by_height:
        rate = clamp(
            (w.ref_height - height) / max(d.height_tc, 0.1) + q.FW_T_HRATE_FF * w.ref_rate,
            -q.FW_T_SINK_MAX,
            q.FW_T_CLMB_MAX,
        )
    w.underspeed = 0.0
    if d.guards_underspeed and has_airspeed:
        w.underspeed = _underspeed(d, q, tas, w.eas2tas)

    potential, kinetic = rate * GRAVITY, tas * acc
    potential_now, kinetic_now = climb * GRAVITY, tas * tas_rate
    weight = 0.0
    if has_airspeed:
        weight = 2.0 * w.underspeed + (1.0 - w.underspeed) * clamp(q.FW_T_SPDWEIGHT, 0.0, 2.0)
    on_height, on_speed = clamp(2.0 - weight, 0.0, 1.0), clamp(weight, 0.0, 1.0)
    balance = potential * on_height - kinetic * on_speed
    balance_now = potential_now * on_height - kinetic_now * on_speed
    energy = clamp(potential + kinetic + q.FW_T_RLL2THR * (d.load_factor - 1.0), least, most)
    energy_now = potential_now + kinetic_now
    share = 1.0 if fresh else dt / (q.FW_T_STE_R_TC + dt)
    w.energy_rate += share * (energy_now - w.energy_rate)
    trim = clamp(trim_throttle(q, d.airspeed, w.eas2tas), d.throttle_min, d.throttle_max)
    if fresh:
        w.tecs_pitch = _pitch_command(w, q, d, tas, balance, balance_now, has_airspeed)
        w.tecs_throttle = _throttle_command(w, q, d, energy, most, least, trim, has_airspeed)
        return

    gain = (balance - balance_now) * q.FW_T_I_GAIN_PIT / max(tas * GRAVITY, EPSILON)
    if w.tecs_pitch >= d.pitch_max:
        gain = min(gain, 0.0)
    elif w.tecs_pitch <= d.pitch_min:
        gain = max(gain, 0.0)
    w.pitch_integral = w.pitch_integral + gain * dt if q.FW_T_I_GAIN_PIT > EPSILON else 0.0
    wanted = _pitch_command(w, q, d, tas, balance, balance_now, has_airspeed)
    step = dt * q.FW_T_VERT_ACC / max(tas, EPSILON)
    w.tecs_pitch = clamp(_towards(w.tecs_pitch, wanted, step), d.pitch_min, d.pitch_max)

    if has_airspeed:
        gain = (energy - w.energy_rate) * q.FW_T_THR_INTEG / (most - least) * (1.0 - w.underspeed)
        if w.tecs_throttle >= d.throttle_max:
            gain = min(gain, 0.0)
        elif w.tecs_throttle <= d.throttle_min:
            gain = max(gain, 0.0)
        w.throttle_integral += gain * dt
    wanted = _throttle_command(w, q, d, energy, most, least, trim, has_airspeed)
    if q.FW_THR_SLEW_MAX > EPSILON:
        wanted = _towards(
            w.tecs_throttle, wanted, dt * (d.throttle_max - d.throttle_min) * q.FW_THR_SLEW_MAX
        )
    w.tecs_throttle = clamp(wanted, d.throttle_min, d.throttle_max)
