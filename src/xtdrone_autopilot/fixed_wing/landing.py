"""Landing of a fixed wing: straight or circular approach, then the flare.

As PX4's FixedwingPositionControl.
"""

import math

from xtdrone_dynamics.compiled import Record, njit

from ..control.vector import clamp
from ..state.reasons import ABORTED_TERRAIN_LOST, ABORTED_WITHOUT_TERRAIN
from ..state.vehicle_status import EVENT_LANDING_ABORTED, NEVER
from . import npfg
from .guidance import (
    Motion,
    circle,
    control_energy,
    energy_demand,
    fly_line,
    level_near_ground,
    loiter_radius,
    set_airspeed,
    turn_min_airspeed,
)

TOUCHDOWN_NUDGE_RATE = 4.0  # speed at which full stick moves the touch-down point [m/s]
TOUCHDOWN_NUDGE_DEADZONE = 0.15  # deadzone of the stick that moves it
POST_TOUCHDOWN_CLAMP_S = 0.5  # time in which the pitch goes to RWTO_PSP after touch-down [s]
TERRAIN_FIRST_TIMEOUT_US = 10_000_000  # longest wait for a first terrain measurement [us]
TERRAIN_TIMEOUT_US = 1_000_000  # longest wait for a further one [us]
# Values of FW_LND_USETER: the ground is at the height of the touch-down point; the glide slope
# begins at the height of the terrain.
TERRAIN_IGNORED, TERRAIN_FOLLOWED = 0, 2


@njit
def land(
    vehicle: Record, wing: Record, params: Record, motion: Motion, t_us: int, dt: float
) -> None:
    """Writes roll, pitch and throttle of a landing at vehicle.target.

    The approach is straight from vehicle.previous, or circular around the target if that is NaN.
    See auto.fly_auto() for the arguments.
    """
    straight = math.isfinite(vehicle.previous[0])
    if not wing.landing:
        _begin(vehicle, wing, params, motion, t_us)
    min_airspeed = turn_min_airspeed(wing, params)
    landing_airspeed = params.FW_LND_AIRSPD if params.FW_LND_AIRSPD > 0.0 else min_airspeed
    min_airspeed = min(min_airspeed, landing_airspeed)
    set_airspeed(wing, params, motion, landing_airspeed, min_airspeed, False, dt)
    min_airspeed = min(min_airspeed, params.FW_AIRSPD_MIN)
    ground = _ground(vehicle, wing, params, motion, straight, t_us)
    if not wing.flaring and motion.height < ground + max(
        -params.FW_LND_FL_TIME * motion.climb, params.FW_LND_FLALT
    ):
        wing.flaring, wing.flare_t = True, t_us
        wing.flare_rate, wing.flare_throttle = motion.climb, wing.throttle
    flare_fraction = 0.0
    if wing.flaring:
        flare_fraction = clamp((t_us - wing.flare_t) * 1e-6 / params.FW_LND_FL_TIME, 0.0, 1.0)
    period = flare_fraction * params.RWTO_NPFG_PERIOD + (1.0 - flare_fraction) * params.NPFG_PERIOD
    if straight:
        height, slope = _approach(vehicle, wing, params, motion, ground, period, dt)
        rate = math.nan
    else:
        circle(
            wing,
            params,
            motion,
            (vehicle.target[1], vehicle.target[0]),
            loiter_radius(vehicle, params),
            period,
        )
        height, slope = motion.height, math.radians(params.FW_LND_ANG)
        rate = -landing_airspeed * slope / math.hypot(slope, 1.0)
    airspeed = wing.airspeed_ref / wing.eas2tas
    if wing.flaring:
        _flare(wing, params, motion, height, airspeed, min_airspeed, flare_fraction, t_us, dt)
    else:
        sink = min(
            max(landing_airspeed * slope / math.hypot(slope, 1.0), params.FW_T_SINK_R_SP),
            params.FW_T_SINK_MAX,
        )
        demand = energy_demand(
            wing,
            params,
            height,
            rate,
            airspeed,
            min_airspeed,
            (math.radians(params.FW_P_LIM_MIN), math.radians(params.FW_P_LIM_MAX)),
            (params.FW_THR_MIN, params.FW_THR_MAX),
            (params.FW_T_CLMB_R_SP, sink),
            params.FW_LND_THRTC_SC * params.FW_T_ALT_TC,
            True,
        )
        control_energy(wing, params, motion, demand, t_us, dt)
        if vehicle.landed:
            wing.throttle = params.FW_THR_IDLE
    level_near_ground(wing, params, motion, ground)


@njit
def _ground(
    vehicle: Record, wing: Record, params: Record, motion: Motion, straight: bool, t_us: int
) -> float:
    """Returns the height of the ground, world z [m]; aborts by FW_LND_ABORT if it is unknown."""
    if params.FW_LND_USETER == TERRAIN_IGNORED:
        return vehicle.target[2]
    if math.isfinite(motion.terrain):
        wing.terrain, wing.terrain_t = motion.terrain, t_us
    elif wing.terrain_t == NEVER:
        if straight and t_us - wing.landing_t > TERRAIN_FIRST_TIMEOUT_US:
            _abort(vehicle, wing, params, ABORTED_WITHOUT_TERRAIN)
        return vehicle.target[2]
    elif t_us - wing.terrain_t > TERRAIN_TIMEOUT_US:
        _abort(vehicle, wing, params, ABORTED_TERRAIN_LOST)
    return wing.terrain


@njit
def _abort(vehicle: Record, wing: Record, params: Record, reason: int) -> None:
    """Aborts the landing, if FW_LND_ABORT has the bit of the reason and it does not flare yet."""
    is_enabled = params.FW_LND_ABORT & (1 << (reason - ABORTED_WITHOUT_TERRAIN))
    if is_enabled and not wing.flaring and not vehicle.landing_abort:
        vehicle.landing_abort = reason
        vehicle.events |= EVENT_LANDING_ABORTED


@njit
def _begin(vehicle: Record, wing: Record, params: Record, motion: Motion, t_us: int) -> None:
    """Begins the approach; its glide slope is not steeper than FW_LND_ANG."""
    wing.landing, wing.flaring, wing.touchdown_offset = True, False, 0.0
    wing.landing_t, wing.terrain_t, vehicle.landing_abort = t_us, NEVER, 0
    if not math.isfinite(vehicle.previous[0]):
        return
    wing.entrance_height = max(vehicle.previous[2] - vehicle.target[2], 1e-6)
    north, east = vehicle.previous[1] - vehicle.target[1], vehicle.previous[0] - vehicle.target[0]
    outward = npfg.unit((north, east))
    if outward == (0.0, 0.0):
        outward = -math.cos(motion.heading), -math.sin(motion.heading)
    distance = max(
        math.hypot(north, east), wing.entrance_height / math.tan(math.radians(params.FW_LND_ANG))
    )
    wing.entrance[0], wing.entrance[1] = outward[0] * distance, outward[1] * distance


@njit
def _approach(
    vehicle: Record,
    wing: Record,
    params: Record,
    motion: Motion,
    ground: float,
    period: float,
    dt: float,
) -> tuple[float, float]:
    """Follows the approach; returns the height of the glide slope, world z [m], and its slope."""
    along = npfg.unit((-wing.entrance[0], -wing.entrance[1]))
    yaw = vehicle.stick_clockwise
    if params.FW_LND_NUDGE and abs(yaw) > TOUCHDOWN_NUDGE_DEADZONE and not wing.flaring:
        nudge = (yaw - math.copysign(TOUCHDOWN_NUDGE_DEADZONE, yaw)) * TOUCHDOWN_NUDGE_RATE * dt
        wing.touchdown_offset = clamp(
            wing.touchdown_offset + nudge, -params.FW_LND_TD_OFF, params.FW_LND_TD_OFF
        )
    touchdown = (
        vehicle.target[1] - along[1] * wing.touchdown_offset,
        vehicle.target[0] + along[0] * wing.touchdown_offset,
    )
    fly_line(wing, params, motion, touchdown, along, period)
    slope = wing.entrance_height / math.hypot(wing.entrance[0], wing.entrance[1])
    remaining = npfg.dot((touchdown[0] - motion.pos[0], touchdown[1] - motion.pos[1]), along)
    base = ground if params.FW_LND_USETER == TERRAIN_FOLLOWED else vehicle.target[2]
    return min(motion.height, base + min(remaining * slope, wing.entrance_height)), slope


@njit
def _flare(
    wing: Record,
    params: Record,
    motion: Motion,
    height: float,
    airspeed: float,
    min_airspeed: float,
    flare_fraction: float,
    t_us: int,
    dt: float,
) -> None:
    """Flares: the sink rate goes to FW_LND_FL_SINK, the throttle to idle.

    Args:
        wing, params, motion, t_us, dt: See auto.fly_auto().
        height: Height of the glide slope, world z [m].
        airspeed, min_airspeed: Equivalent airspeed and its minimum [m/s].
        flare_fraction: Elapsed fraction of the flare, 0..1.
    """
    blend = math.sqrt(flare_fraction)
    rate = blend * -params.FW_LND_FL_SINK + (1.0 - blend) * wing.flare_rate
    low = math.radians(blend * params.FW_LND_FL_PMIN + (1.0 - blend) * params.FW_P_LIM_MIN)
    high = math.radians(blend * params.FW_LND_FL_PMAX + (1.0 - blend) * params.FW_P_LIM_MAX)
    if params.FW_LND_TD_TIME > 0.0:
        since = (t_us - wing.flare_t) * 1e-6 - max(params.FW_LND_TD_TIME, params.FW_LND_FL_TIME)
        clamp_fraction = clamp(since / POST_TOUCHDOWN_CLAMP_S, 0.0, 1.0)
        ground_pitch = math.radians(params.RWTO_PSP)
        low, high = (
            clamp_fraction * ground_pitch + (1.0 - clamp_fraction) * low,
            clamp_fraction * ground_pitch + (1.0 - clamp_fraction) * high,
        )
    max_throttle = blend * params.FW_THR_IDLE + (1.0 - blend) * params.FW_THR_MAX
    demand = energy_demand(
        wing,
        params,
        height,
        rate,
        airspeed,
        min_airspeed,
        (low, high),
        (params.FW_THR_IDLE, max_throttle),
        (params.FW_T_CLMB_R_SP, params.FW_T_SINK_R_SP),
        params.FW_LND_THRTC_SC * params.FW_T_ALT_TC,
        False,
    )
    control_energy(wing, params, motion, demand, t_us, dt)
    wing.throttle = flare_fraction * wing.throttle + (1.0 - flare_fraction) * wing.flare_throttle
