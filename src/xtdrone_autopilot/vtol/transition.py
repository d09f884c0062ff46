"""Transitions: functions that all types of VTOL share, as PX4's VtolType.

Angles and horizontal vectors are as in FIXED_WING_STATE.
"""

import math

from xtdrone_core.modes import Mode
from xtdrone_dynamics.compiled import Record, njit

from ..control.vector import clamp
from ..fixed_wing.guidance import Motion
from ..navigation.navigator import ACC_FILTER_S
from ..state.reasons import (
    DESCENT,
    LOSS_IN_TRANSITION,
    NO_QUADCHUTE,
    PITCHED,
    ROLLED,
    TIMEOUT,
    TOO_LOW,
)
from ..state.vehicle_status import EVENT_QUADCHUTE, HOVERS, ON_WINGS, TO_FIXED_WING

MANUAL, STABILIZED, ACRO = int(Mode.MANUAL), int(Mode.STABILIZED), int(Mode.ACRO)
PITCH_LIM = 0.3  # largest pitch set-point of a back transition [rad]
DECELERATION_FACTOR = 1.2  # factor of VT_B_DEC_MSS, against overshoot
CLIMB_THRESHOLD = 0.2  # climb rate above which the nose does not rise further [m/s]
MAX_CLIMB_SP = 2.0  # largest climb and sink rate back to the height [m/s]
ALT_LOSS_WINDOW_US = 5_000_000  # a height loss counts for this time after a transition [us]
TECS_TIMEOUT_US = 1_000_000  # TECS counts as running for this time after its last step [us]


@njit
def elapsed_s(transition: Record, t_us: int) -> float:
    """Returns the time since the transition began [s]."""
    return (t_us - transition.start_t) * 1e-6


@njit
def is_airborne(vehicle: Record) -> bool:
    """Returns whether the vehicle flies; on the ground a transition takes no time."""
    return vehicle.armed and not vehicle.landed


@njit
def min_front_transition_s(params: Record, eas2tas: float) -> float:
    """Returns the shortest duration of a front transition; longer in thinner air [s]."""
    return params.VT_TRANS_MIN_TM * eas2tas**3


@njit
def begin_transition(vehicle: Record, transition: Record, motion: Motion, t_us: int) -> None:
    """Begins a transition; a front transition holds the present heading."""
    transition.start_t, transition.start_height = t_us, motion.height
    transition.start_pos[0], transition.start_pos[1] = motion.pos
    transition.course = motion.heading
    transition.pitch_integral = 0.0
    vehicle.smooth_vel[2] = motion.climb


@njit
def front_is_complete(
    vehicle: Record, transition: Record, wing: Record, params: Record, t_us: int
) -> bool:
    """Returns whether the vehicle is fast enough for fixed-wing flight."""
    if not is_airborne(vehicle):
        return True
    if math.isfinite(wing.airspeed) and params.FW_USE_AIRSPD:
        return elapsed_s(transition, t_us) > min_front_transition_s(
            params, wing.eas2tas
        ) and wing.airspeed >= max(params.VT_ARSP_TRANS, params.VT_ARSP_BLEND)
    return (
        elapsed_s(transition, t_us)
        > max(params.VT_F_TR_OL_TM, params.VT_TRANS_MIN_TM) * wing.eas2tas**3
    )


@njit
def decelerating_pitch(
    transition: Record, params: Record, motion: Motion, accel: float, dt: float
) -> float:
    """Returns the pitch set-point that decelerates by VT_B_DEC_MSS [rad].

    The nose does not rise further while the vehicle climbs.

    Args:
        transition: Record of TRANSITION_STATE.
        params: Record of the parameters.
        motion: Motion of the vehicle.
        accel: Acceleration along the course over the ground [m/s^2].
        dt: Length of the step [s].
    """
    error = DECELERATION_FACTOR * params.VT_B_DEC_MSS + accel
    pitch = transition.pitch_integral
    if motion.climb > CLIMB_THRESHOLD and error > 0.0:
        error = 0.0
    if not ((pitch >= PITCH_LIM and error > 0.0) or (pitch <= 0.0 and error < 0.0)):
        transition.pitch_integral += params.VT_B_DEC_I * error * dt
    return clamp(pitch, 0.0, PITCH_LIM)


@njit
def vertical_force(
    vehicle: Record, transition: Record, params: Record, motion: Motion, lift_now: float, dt: float
) -> float:
    """Returns the upward force that the rotors need to hold the height, beside the wings [N].

    Args:
        vehicle: Record of VEHICLE_STATUS.
        transition: Record of TRANSITION_STATE; `vertical` is filtered like the acceleration.
        params: Record of the parameters.
        motion: Motion of the vehicle.
        lift_now: Present upward force of the rotors [N].
        dt: Length of the step [s].
    """
    climb_sp = clamp(
        params.MPC_Z_P * (transition.start_height - motion.height), -MAX_CLIMB_SP, MAX_CLIMB_SP
    )
    accel = params.MPC_Z_VEL_P_ACC * (climb_sp - motion.climb)
    transition.vertical += dt / (ACC_FILTER_S + dt) * (lift_now - transition.vertical)
    return transition.vertical + vehicle.mass * (accel - vehicle.acc_filtered[2])


@njit
def check_quadchute(
    vehicle: Record, transition: Record, wing: Record, params: Record, motion: Motion, t_us: int
) -> None:
    """Raises a quad-chute if a limit of fixed-wing flight is exceeded."""
    if vehicle.quadchute or vehicle.vtol_state == HOVERS:
        return
    ground = motion.terrain if math.isfinite(motion.terrain) else vehicle.home[2]
    too_high = 0 < params.VT_FW_QC_HMAX < motion.height - ground
    if is_airborne(vehicle) and not too_high:
        vehicle.quadchute = _quadchute_reason(vehicle, transition, wing, params, motion, t_us)
        if vehicle.quadchute:
            vehicle.events |= EVENT_QUADCHUTE


@njit
def _quadchute_reason(
    vehicle: Record, transition: Record, wing: Record, params: Record, motion: Motion, t_us: int
) -> int:
    """Returns the reason of a quad-chute, or NO_QUADCHUTE."""
    if params.VT_FW_MIN_ALT > 0.0 and motion.height < params.VT_FW_MIN_ALT:
        return TOO_LOW
    if _loses_height(vehicle, transition, wing, params, motion, t_us):
        return DESCENT
    counts_loss = vehicle.vtol_state == TO_FIXED_WING or (
        vehicle.vtol_state == ON_WINGS and t_us - transition.finished_t < ALT_LOSS_WINDOW_US
    )
    if (
        params.VT_QC_T_ALT_LOSS > 0.0
        and counts_loss
        and holds_height(vehicle)
        and transition.start_height - motion.height > params.VT_QC_T_ALT_LOSS
    ):
        return LOSS_IN_TRANSITION
    if 0.0 < math.radians(params.VT_FW_QC_P) < abs(motion.pitch):
        return PITCHED
    if 0.0 < math.radians(params.VT_FW_QC_R) < abs(motion.roll):
        return ROLLED
    if (
        params.VT_TRANS_TIMEOUT > 0.0
        and vehicle.vtol_state == TO_FIXED_WING
        and elapsed_s(transition, t_us) > params.VT_TRANS_TIMEOUT * wing.eas2tas**3
    ):
        return TIMEOUT
    return NO_QUADCHUTE


@njit
def holds_height(vehicle: Record) -> bool:
    """Returns whether the mode controls height or climb rate."""
    return vehicle.mode not in (MANUAL, STABILIZED, ACRO)


@njit
def _loses_height(
    vehicle: Record, transition: Record, wing: Record, params: Record, motion: Motion, t_us: int
) -> bool:
    """Returns whether the height has fallen by VT_QC_ALT_LOSS while TECS demands more."""
    tecs_runs = t_us - wing.tecs_t < TECS_TIMEOUT_US and vehicle.vtol_state == ON_WINGS
    if (
        params.VT_QC_ALT_LOSS <= 0.0
        or not holds_height(vehicle)
        or not tecs_runs
        or motion.height >= wing.height_ref
    ):
        transition.max_height = math.nan
        return False
    if not math.isfinite(transition.max_height):
        transition.max_height = motion.height
    transition.max_height = min(max(transition.max_height, motion.height), wing.height_ref)
    return transition.max_height - motion.height > params.VT_QC_ALT_LOSS
