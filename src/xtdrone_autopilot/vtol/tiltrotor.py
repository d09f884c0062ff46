"""Tiltrotor (VT_TYPE 1): servos tilt some of the lifting rotors forwards.

States, times and angles as PX4's vtol_att_control/tiltrotor.cpp. PX4 commands a collective thrust
and a tilt. Here the set-points are the vertical force that holds the height, considering the
measured lift of the wings, and the forward force of that tilt; the allocation finds thrusts and
tilts. In a front transition the tilt waits until the wings carry the vehicle.
"""

import math

from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import GRAVITY

from ..control.vector import clamp, thrust_newtons, thrust_normalised
from ..fixed_wing.guidance import Motion
from ..state.vehicle_status import HOVERS, ON_WINGS, TO_FIXED_WING, TO_HOVER
from .transition import (
    begin_transition,
    decelerating_pitch,
    elapsed_s,
    front_is_complete,
    holds_height,
    is_airborne,
    vertical_force,
)

FORWARDS = 0.5 * math.pi  # tilt at which PX4's tilt parameters are 1 [rad]
MAX_TANGENT_TILT = 1.2  # largest tilt whose tangent is used [rad]
MAX_TANGENT = math.tan(MAX_TANGENT_TILT)
SERVO_S = 0.5  # time in which servos turn the rotors [s]
TILT_TOLERANCE = 0.01  # a tilt this close to its target counts as reached, in PX4's 0..1
THROTTLE_OFF_S = 0.5  # time in which the throttle falls in a back transition, as in PX4 [s]
DEFICIT_SCALE = 0.1  # lift deficit over weight at which the pitch changes at its full rate
PITCH_RATE = 0.15  # [rad/s]
MAX_THRUST_TO_WEIGHT = 1.5  # largest thrust to weight while the rotors tilt up
MAX_PITCH = 0.2  # largest pitch that adds lift of the wings [rad]
# Largest fraction of the weight, over the cosine of the tilt, that the rotors may lift while the
# tilt goes on.
MAX_ROTOR_LIFT = 0.5


@njit
def change_state(
    vehicle: Record, transition: Record, wing: Record, params: Record, motion: Motion, t_us: int
) -> None:
    """Advances vtol_state towards the requested state; see standard.change_state()."""
    if vehicle.quadchute:
        vehicle.vtol_state = HOVERS
    elif transition.requested == ON_WINGS:
        if vehicle.vtol_state == HOVERS:
            _begin_tilting(vehicle, transition, motion, t_us)
            vehicle.vtol_state = TO_FIXED_WING
            transition.thrust = transition.vertical = transition.mean_thrust = vehicle.sp_thrust
        elif vehicle.vtol_state == TO_HOVER:
            vehicle.vtol_state, transition.finished_t = ON_WINGS, t_us
        elif vehicle.vtol_state == TO_FIXED_WING and not _is_second(transition):
            if (
                transition.tilt >= FORWARDS * (params.VT_TILT_TRANS - TILT_TOLERANCE)
                and front_is_complete(vehicle, transition, wing, params, t_us)
            ) or not is_airborne(vehicle):
                transition.finished_t = t_us
        elif vehicle.vtol_state == TO_FIXED_WING and (
            transition.tilt >= FORWARDS * (params.VT_TILT_FW - TILT_TOLERANCE)
            or not is_airborne(vehicle)
        ):
            vehicle.vtol_state, transition.finished_t = ON_WINGS, t_us
    elif vehicle.vtol_state == ON_WINGS:
        _begin_tilting(vehicle, transition, motion, t_us)
        vehicle.vtol_state, transition.pusher = TO_HOVER, wing.throttle
        transition.thrust = transition.vertical = 0.0
        transition.tilt = FORWARDS * params.VT_TILT_FW
    elif vehicle.vtol_state == TO_FIXED_WING or (
        vehicle.vtol_state == TO_HOVER and _hovers(vehicle, transition, params, motion, t_us)
    ):
        vehicle.vtol_state = HOVERS


@njit
def _hovers(vehicle: Record, transition: Record, params: Record, motion: Motion, t_us: int) -> bool:
    """Returns whether a back transition is complete."""
    if not is_airborne(vehicle):
        return True
    is_slow = (
        motion.forward < params.MPC_XY_CRUISE or elapsed_s(transition, t_us) > params.VT_B_TRANS_DUR
    )
    return is_slow and transition.tilt <= FORWARDS * (params.VT_TILT_MC + TILT_TOLERANCE)


@njit
def _begin_tilting(vehicle: Record, transition: Record, motion: Motion, t_us: int) -> None:
    """Begins a transition from the present pitch, with rotors that point up."""
    begin_transition(vehicle, transition, motion, t_us)
    transition.pitch = transition.pitch_integral = motion.pitch
    transition.tilt = transition.forward = 0.0


@njit
def _is_second(transition: Record) -> bool:
    """Returns whether a front transition is in its second phase, in which the wings carry."""
    return transition.finished_t > transition.start_t


@njit
def change_over(
    vehicle: Record,
    transition: Record,
    wing: Record,
    params: Record,
    motion: Motion,
    front_fraction: float,
    accel: float,
    t_us: int,
    dt: float,
) -> None:
    """Writes pitch, and the forces of the rotors along body x and z, of a transition.

    Args:
        vehicle, transition, wing, params, motion, t_us: See change_state().
        front_fraction: Fraction of the tilting rotors in the thrust of all at the same command.
        accel: Acceleration along the course over the ground [m/s^2].
        dt: Length of the step [s].
    """
    vehicle.hover_weight = 1.0
    lift_needed = _step_thrust(vehicle, transition, params, motion, dt)
    lift_deficit = clamp(lift_needed / (DEFICIT_SCALE * vehicle.mass * GRAVITY), -1.0, 1.0)
    if vehicle.vtol_state == TO_FIXED_WING:
        _tilt_forwards(vehicle, transition, params, lift_needed, lift_deficit, t_us, dt)
        _push_forwards(vehicle, transition, params, front_fraction, dt)
        vehicle.sp_tilt = FORWARDS
        return
    # The nose rises to decelerate, unless the wings would then lift more than the weight.
    last_integral = transition.pitch_integral
    transition.pitch = decelerating_pitch(transition, params, motion, accel, dt)
    if holds_height(vehicle):
        transition.pitch_integral = clamp(
            last_integral
            + max(lift_deficit, 0.0) * (transition.pitch_integral - last_integral)
            + min(lift_deficit, 0.0) * PITCH_RATE * dt,
            0.0,
            1.0,
        )
    elapsed_fraction = elapsed_s(transition, t_us) / THROTTLE_OFF_S
    transition.forward = (
        front_fraction
        * thrust_newtons(vehicle, transition.pusher)
        * max(1.0 - elapsed_fraction, 0.0)
    )
    tilt_fraction = clamp(
        (elapsed_s(transition, t_us) - THROTTLE_OFF_S) / max(params.VT_BT_TILT_DUR, 0.1), 0.0, 1.0
    )
    transition.tilt = FORWARDS * (
        params.VT_TILT_FW + tilt_fraction * (params.VT_TILT_MC - params.VT_TILT_FW)
    )
    vehicle.sp_tilt = transition.tilt


@njit
def _step_thrust(
    vehicle: Record, transition: Record, params: Record, motion: Motion, dt: float
) -> float:
    """Writes the thrust that holds the height; returns the lift that the rotors need [N]."""
    if not holds_height(vehicle):
        transition.thrust = vehicle.sp_thrust
        return vehicle.sp_thrust
    forward_lift = transition.forward * math.sin(motion.pitch)
    lift_now = transition.thrust * math.cos(motion.pitch) * math.cos(motion.roll) + forward_lift
    lift_needed = vertical_force(vehicle, transition, params, motion, lift_now, dt) - forward_lift
    # Rotors that are not tilted up yet would accelerate it forwards.
    max_thrust = vehicle.thrust_max
    if vehicle.vtol_state == TO_HOVER:
        max_thrust = min(
            MAX_THRUST_TO_WEIGHT * vehicle.mass * GRAVITY * max(math.cos(transition.tilt), 0.0),
            max_thrust,
        )
    transition.thrust = clamp(lift_needed / math.cos(motion.pitch), 0.0, max_thrust)
    return lift_needed


@njit
def _push_forwards(
    vehicle: Record, transition: Record, params: Record, front_fraction: float, dt: float
) -> None:
    """Writes the forward force of the tilting rotors in a front transition."""
    transition.mean_thrust += dt / (SERVO_S + dt) * (transition.thrust - transition.mean_thrust)
    forward_force = front_fraction * max(
        thrust_newtons(vehicle, params.VT_F_TRANS_THR) * math.sin(transition.tilt),
        transition.mean_thrust * math.tan(min(transition.tilt, MAX_TANGENT_TILT)),
    )
    transition.pusher = thrust_normalised(vehicle, forward_force / front_fraction)
    # Changes of thrust faster than the servos act along the present axes of the rotors.
    forward_per_thrust = min(
        forward_force / max(transition.mean_thrust, 1e-3), front_fraction * MAX_TANGENT
    )
    transition.forward = max(
        forward_force + forward_per_thrust * (transition.thrust - transition.mean_thrust), 0.0
    )


@njit
def _tilt_forwards(
    vehicle: Record,
    transition: Record,
    params: Record,
    lift_needed: float,
    lift_deficit: float,
    t_us: int,
    dt: float,
) -> None:
    """Writes tilt and pitch of a front transition."""
    hover_tilt, transition_tilt, wing_tilt = (
        params.VT_TILT_MC,
        params.VT_TILT_TRANS,
        params.VT_TILT_FW,
    )
    if not _is_second(transition):
        fraction = min(elapsed_s(transition, t_us) / max(params.VT_F_TRANS_DUR, 0.1), 1.0)
        transition.tilt = FORWARDS * (hover_tilt + abs(transition_tilt - hover_tilt) * fraction)
        transition.pitch = math.radians(params.FW_PSP_OFF) * fraction
        return
    tilt_waits = holds_height(
        vehicle
    ) and lift_needed > MAX_ROTOR_LIFT * vehicle.mass * GRAVITY * math.cos(transition.tilt)
    if not tilt_waits:
        step = abs(wing_tilt - transition_tilt) * dt / max(params.VT_TRANS_P2_DUR, 0.1)
        transition.tilt = min(transition.tilt + FORWARDS * step, FORWARDS * wing_tilt)
    if holds_height(vehicle):
        transition.pitch = clamp(transition.pitch + lift_deficit * PITCH_RATE * dt, 0.0, MAX_PITCH)


@njit
def push_in_hover(
    vehicle: Record, params: Record, front_fraction: float, assist_tilt: float
) -> float:
    """Returns the force of the tilting rotors along body x in hover [N].

    Args:
        vehicle, params: See change_state().
        front_fraction: See change_over().
        assist_tilt: Tilt 0..1 that replaces a nose-down pitch, from pusher.assist().
    """
    tilt = min(FORWARDS * (params.VT_TILT_MC + assist_tilt), MAX_TANGENT_TILT)
    return front_fraction * vehicle.sp_thrust * math.tan(tilt)
