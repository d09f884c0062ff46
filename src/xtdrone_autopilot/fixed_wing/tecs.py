"""TECS: total energy control of height and airspeed by pitch and throttle, as PX4's src/lib/tecs.

The throttle controls the rate of the specific total energy (STE), the pitch the rate of the
specific energy balance (SEB) between potential (SPE) and kinetic energy (SKE). All rates of
specific energy are in [m^2/s^3].
"""

import math
from typing import NamedTuple

from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import GRAVITY

from ..control.vector import clamp
from ..navigation.trajectory import speed_to_slow

JERK_MAX = 1000.0  # jerk limit of the height reference [m/s^3]
TAS_ERROR_FRACTION = 0.15  # airspeed error at which underspeed begins, over the trim airspeed
DT_MAX_US = 1_000_000  # TECS restarts after a longer break [us]
EPSILON = 1e-6


class Demand(NamedTuple):
    """Set-points and limits of total energy control."""

    height: float  # world z [m]
    height_rate: float  # [m/s]; NaN = the height is controlled
    airspeed: float  # equivalent [m/s]
    airspeed_min: float  # equivalent [m/s]
    pitch_min: float  # relative to FW_PSP_OFF [rad]
    pitch_max: float  # relative to FW_PSP_OFF [rad]
    throttle_min: float  # 0..1
    throttle_max: float  # 0..1
    climb: float  # largest climb rate of the height reference [m/s]
    sink: float  # largest sink rate of the height reference [m/s]
    height_tc: float  # time constant of the height [s]
    guards_underspeed: bool  # a low airspeed takes priority over the height
    load_factor: float  # load factor of the present turn


@njit
def _towards(value: float, target: float, step: float) -> float:
    """Moves a value towards a target by at most a step."""
    return min(max(target, value - step), value + step)


@njit
def _filter_airspeed(wing: Record, params: Record, measured: float, dt: float) -> None:
    """Steps the steady-state Kalman filter of equivalent airspeed [m/s] and its rate.

    The measured rate counts as 0.
    """
    inverse = 1.0 / params.FW_T_SPD_STD
    rate_inverse = 1.0 / params.FW_T_SPD_DEV_STD
    noise = params.FW_T_SPD_PRC_STD
    weight = rate_inverse * rate_inverse * noise
    total = inverse + weight
    root = math.sqrt(noise * (2.0 * inverse + weight))
    k00, k01 = inverse * root / total, weight / total
    k10, k11 = inverse * inverse * noise / total, weight * root / total
    speed, rate = wing.eas + dt * wing.eas_rate, wing.eas_rate
    innovation, innovation_rate = measured - speed, -rate
    wing.eas = speed + dt * (k00 * innovation + k01 * innovation_rate)
    wing.eas_rate = rate + dt * (k10 * innovation + k11 * innovation_rate)
    if wing.eas < EPSILON:
        wing.eas = 0.0
        innovation = (-speed / dt - k01 * innovation_rate) / k00
        wing.eas_rate = rate + dt * (k10 * innovation + k11 * innovation_rate)


@njit
def _move_reference(wing: Record, params: Record, demand: Demand, height: float, dt: float) -> bool:
    """Moves the height reference; returns whether the height (not its rate) is controlled."""
    acc = params.FW_T_VERT_ACC
    height_sp = demand.height
    if math.isfinite(demand.height_rate):
        wing.height_rate_ref = _towards(
            wing.height_rate_ref,
            clamp(demand.height_rate, -params.FW_T_SINK_MAX, params.FW_T_CLMB_MAX),
            acc * dt,
        )
        if demand.height_rate != 0.0 or wing.height_rate_ref != 0.0:
            wing.held_height = math.nan
            wing.height_ref, wing.height_ref_rate = height, wing.height_rate_ref
            return False
        if not math.isfinite(wing.held_height):
            wing.held_height = height
        height_sp = wing.held_height
    height_error = height_sp - wing.height_ref
    rate = clamp(
        math.copysign(speed_to_slow(abs(height_error), 0.0, acc, JERK_MAX), height_error),
        -min(demand.sink, params.FW_T_SINK_MAX),
        min(demand.climb, params.FW_T_CLMB_MAX),
    )
    wing.height_ref_rate = _towards(wing.height_ref_rate, rate, acc * dt)
    wing.height_ref += wing.height_ref_rate * dt
    return True


@njit
def _underspeed(demand: Demand, params: Record, tas: float, eas2tas: float) -> float:
    """Returns the underspeed ratio, 0..1, for a true airspeed [m/s]."""
    margin = TAS_ERROR_FRACTION * params.FW_AIRSPD_TRIM
    full = max(eas2tas * demand.airspeed_min - 2.0 * margin, 0.0)
    onset = max(eas2tas * demand.airspeed_min - margin, full)
    return 1.0 - clamp((tas - full) / max(onset - full, EPSILON), 0.0, 1.0)


@njit
def trim_throttle(params: Record, airspeed: float, eas2tas: float) -> float:
    """Returns the throttle of level flight at an equivalent airspeed: PX4's PerformanceModel."""
    throttle = params.FW_THR_TRIM
    if params.FW_THR_ASPD_MIN > EPSILON and airspeed < params.FW_AIRSPD_TRIM:
        throttle -= (
            (params.FW_THR_TRIM - params.FW_THR_ASPD_MIN)
            / (params.FW_AIRSPD_TRIM - params.FW_AIRSPD_MIN)
            * (params.FW_AIRSPD_TRIM - airspeed)
        )
    elif params.FW_THR_ASPD_MAX > EPSILON and airspeed > params.FW_AIRSPD_TRIM:
        throttle += (
            (params.FW_THR_ASPD_MAX - params.FW_THR_TRIM)
            / (params.FW_AIRSPD_MAX - params.FW_AIRSPD_TRIM)
            * (airspeed - params.FW_AIRSPD_TRIM)
        )
    return throttle * max(eas2tas, 1.0)


@njit
def _pitch_command(
    wing: Record,
    params: Record,
    demand: Demand,
    tas: float,
    seb_rate: float,
    seb_rate_now: float,
    has_airspeed: bool,
) -> float:
    """Returns the pitch relative to FW_PSP_OFF [rad] for an SEB rate and its estimate."""
    per_rad = GRAVITY * (tas if has_airspeed and tas > EPSILON else params.FW_AIRSPD_TRIM)
    pitch = (
        (seb_rate - seb_rate_now) * params.FW_T_PTCH_DAMP + params.FW_T_SEB_R_FF * seb_rate
    ) / per_rad
    return clamp(pitch + wing.pitch_integral, demand.pitch_min, demand.pitch_max)


@njit
def _throttle_command(
    wing: Record,
    params: Record,
    demand: Demand,
    ste_rate: float,
    max_ste_rate: float,
    min_ste_rate: float,
    trim: float,
    has_airspeed: bool,
) -> float:
    """Returns the throttle 0..1 for an STE rate; trim is the throttle of level flight."""
    if ste_rate >= EPSILON:
        predicted = trim + ste_rate * (demand.throttle_max - trim) / max_ste_rate
    else:
        predicted = trim - ste_rate * (trim - demand.throttle_min) / min_ste_rate
    throttle = predicted + (ste_rate - wing.energy_rate) * params.FW_T_THR_DAMPING / (
        max_ste_rate - min_ste_rate
    )
    throttle += wing.throttle_integral if has_airspeed else max(wing.throttle_integral, 0.0)
    throttle = wing.underspeed * demand.throttle_max + (1.0 - wing.underspeed) * throttle
    return clamp(throttle, demand.throttle_min, demand.throttle_max)


@njit
def _restart(wing: Record, airspeed: float, height: float, climb: float) -> None:
    """Sets references and filters to the present motion, and clears the integrals."""
    wing.height_ref, wing.height_ref_rate, wing.height_rate_ref = height, climb, climb
    wing.held_height = math.nan
    wing.eas, wing.eas_rate = airspeed, 0.0
    wing.pitch_integral = wing.throttle_integral = 0.0


@njit
def _height_rate(
    wing: Record, params: Record, demand: Demand, height: float, height_controlled: bool
) -> float:
    """Returns the height rate set-point [m/s]."""
    if not height_controlled:
        return wing.height_rate_ref
    return clamp(
        (wing.height_ref - height) / max(demand.height_tc, 0.1)
        + params.FW_T_HRATE_FF * wing.height_ref_rate,
        -params.FW_T_SINK_MAX,
        params.FW_T_CLMB_MAX,
    )


@njit
def _speed_weight(wing: Record, params: Record, has_airspeed: bool) -> float:
    """Returns the weight of the speed in the energy balance, 0 (height only) to 2 (speed only)."""
    if not has_airspeed:
        return 0.0
    return 2.0 * wing.underspeed + (1.0 - wing.underspeed) * clamp(params.FW_T_SPDWEIGHT, 0.0, 2.0)


@njit
def _anti_windup(value: float, output: float, low: float, high: float) -> float:
    """Returns the input of an integrator, without the part that drives a limited output further."""
    if output >= high:
        return min(value, 0.0)
    if output <= low:
        return max(value, 0.0)
    return value


@njit
def _step_pitch(
    wing: Record,
    params: Record,
    demand: Demand,
    tas: float,
    seb_rate: float,
    seb_rate_now: float,
    has_airspeed: bool,
    dt: float,
) -> None:
    """Steps the loop of the energy balance: writes tecs_pitch and its integral."""
    error = (seb_rate - seb_rate_now) * params.FW_T_I_GAIN_PIT / max(tas * GRAVITY, EPSILON)
    error = _anti_windup(error, wing.tecs_pitch, demand.pitch_min, demand.pitch_max)
    wing.pitch_integral = (
        wing.pitch_integral + error * dt if params.FW_T_I_GAIN_PIT > EPSILON else 0.0
    )
    pitch = _pitch_command(wing, params, demand, tas, seb_rate, seb_rate_now, has_airspeed)
    step = dt * params.FW_T_VERT_ACC / max(tas, EPSILON)
    wing.tecs_pitch = clamp(
        _towards(wing.tecs_pitch, pitch, step), demand.pitch_min, demand.pitch_max
    )


@njit
def _step_throttle(
    wing: Record,
    params: Record,
    demand: Demand,
    ste_rate: float,
    max_ste_rate: float,
    min_ste_rate: float,
    trim: float,
    has_airspeed: bool,
    dt: float,
) -> None:
    """Steps the loop of the total energy: writes tecs_throttle and its integral."""
    if has_airspeed:
        error = (
            (ste_rate - wing.energy_rate)
            * params.FW_T_THR_INTEG
            / (max_ste_rate - min_ste_rate)
            * (1.0 - wing.underspeed)
        )
        error = _anti_windup(error, wing.tecs_throttle, demand.throttle_min, demand.throttle_max)
        wing.throttle_integral += error * dt
    throttle = _throttle_command(
        wing, params, demand, ste_rate, max_ste_rate, min_ste_rate, trim, has_airspeed
    )
    if params.FW_THR_SLEW_MAX > EPSILON:
        step = dt * (demand.throttle_max - demand.throttle_min) * params.FW_THR_SLEW_MAX
        throttle = _towards(wing.tecs_throttle, throttle, step)
    wing.tecs_throttle = clamp(throttle, demand.throttle_min, demand.throttle_max)


@njit
def control(
    wing: Record, params: Record, demand: Demand, t_us: int, height: float, climb: float, dt: float
) -> None:
    """Steps TECS: writes tecs_pitch and tecs_throttle.

    Args:
        wing: Record of FIXED_WING_STATE.
        params: Record of the parameters.
        demand: Set-points and limits.
        t_us: Present time [us].
        height: World z [m].
        climb: Climb rate [m/s].
        dt: Length of the step [s].
    """
    has_airspeed = params.FW_USE_AIRSPD != 0 and math.isfinite(wing.airspeed)
    airspeed = wing.airspeed if has_airspeed else params.FW_AIRSPD_TRIM
    restarts = t_us - wing.tecs_t > DT_MAX_US
    wing.tecs_t = t_us
    if restarts:
        _restart(wing, airspeed, height, climb)
    else:
        _filter_airspeed(wing, params, airspeed, dt)
    height_controlled = _move_reference(wing, params, demand, height, dt)
    if not math.isfinite(demand.height_rate):
        wing.height_rate_ref, wing.held_height = climb, math.nan
    tas, tas_rate = wing.eas2tas * wing.eas, wing.eas2tas * wing.eas_rate

    max_ste_rate = max(params.FW_T_CLMB_MAX, EPSILON) * GRAVITY
    min_ste_rate = -max(params.FW_T_SINK_MIN * wing.eas2tas, EPSILON) * GRAVITY
    tas_rate_sp = 0.0
    if has_airspeed:
        tas_rate_sp = clamp(
            (wing.eas2tas * demand.airspeed - tas) / max(params.FW_T_TAS_TC, 0.1),
            0.5 * min_ste_rate / max(tas, EPSILON),
            0.5 * max_ste_rate / max(tas, EPSILON),
        )
    wing.underspeed = 0.0
    if demand.guards_underspeed and has_airspeed:
        wing.underspeed = _underspeed(demand, params, tas, wing.eas2tas)

    spe_rate = _height_rate(wing, params, demand, height, height_controlled) * GRAVITY
    ske_rate = tas * tas_rate_sp
    spe_rate_now, ske_rate_now = climb * GRAVITY, tas * tas_rate
    speed_weight = _speed_weight(wing, params, has_airspeed)
    spe_weight, ske_weight = clamp(2.0 - speed_weight, 0.0, 1.0), clamp(speed_weight, 0.0, 1.0)
    seb_rate = spe_rate * spe_weight - ske_rate * ske_weight
    seb_rate_now = spe_rate_now * spe_weight - ske_rate_now * ske_weight
    turn_drag = params.FW_T_RLL2THR * (demand.load_factor - 1.0)
    ste_rate = clamp(spe_rate + ske_rate + turn_drag, min_ste_rate, max_ste_rate)
    alpha = 1.0 if restarts else dt / (params.FW_T_STE_R_TC + dt)
    wing.energy_rate += alpha * (spe_rate_now + ske_rate_now - wing.energy_rate)
    trim = clamp(
        trim_throttle(params, demand.airspeed, wing.eas2tas),
        demand.throttle_min,
        demand.throttle_max,
    )
    if restarts:
        wing.tecs_pitch = _pitch_command(
            wing, params, demand, tas, seb_rate, seb_rate_now, has_airspeed
        )
        wing.tecs_throttle = _throttle_command(
            wing, params, demand, ste_rate, max_ste_rate, min_ste_rate, trim, has_airspeed
        )
        return
    _step_pitch(wing, params, demand, tas, seb_rate, seb_rate_now, has_airspeed, dt)
    _step_throttle(
        wing, params, demand, ste_rate, max_ste_rate, min_ste_rate, trim, has_airspeed, dt
    )
