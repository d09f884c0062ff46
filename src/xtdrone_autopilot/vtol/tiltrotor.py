"""The tiltrotor (VT_TYPE 1): servos tilt some of the rotors that carry it, so that they push.

States, times and angles as PX4's vtol_att_control/tiltrotor.cpp. PX4 gives the rotors a collective
thrust and a tilt; here they are given the vertical force that holds the height, with the lift of
the wings as it is measured, and the forward force of that tilt: allocation finds thrusts and
tilts. On the way forwards the tilt waits while the wings do not carry it.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY

from ..control.vector import clamp, thrust_newtons, thrust_normalised
from ..fixed_wing.guidance import Motion
from ..state.vehicle_status import HOVERS, ON_WINGS, TO_FIXED_WING, TO_HOVER
from .transition import (
    begin,
    decelerating_pitch,
    front_is_complete,
    holds_height,
    is_airborne,
    since,
    vertical_force,
)

FORWARDS = 0.5 * math.pi  # tilt for which PX4's parameters are 1 [rad]
STEEP = 1.2  # tilt beyond which its tangent is of no use [rad]
STEEPNESS = math.tan(STEEP)
SERVO_S = 0.5  # within which servos turn the rotors
TILTED = 0.01  # of 1, how near a tilt counts as reached
THROTTLE_OFF_S = 0.5  # in which the throttle falls as a transition to hover begins, as in PX4
SOFT = 0.1  # of the weight: what lacks of the lift, for which the pitch changes at its full rate
PITCH_RATE = 0.15  # [rad/s]
MAX_THRUST = 1.5  # over the weight, while the rotors tilt up
MAX_PITCH = 0.2  # for the wings to carry it [rad]
WAITS = 0.5  # of the weight on the rotors, over the cosine of the tilt, with which it waits


@njit
def change_state(v: np.void, u: np.void, w: np.void, q: np.void, m: Motion, t_us: int) -> None:
    """Moves vtol_state on towards what is wanted; arguments as of standard.change_state()."""
    if v.quadchute:
        v.vtol_state = HOVERS
    elif u.wanted == ON_WINGS:
        if v.vtol_state == HOVERS:
            _begin(v, u, m, t_us)
            v.vtol_state = TO_FIXED_WING
            u.thrust = u.vertical = u.mean_thrust = v.sp_thrust
        elif v.vtol_state == TO_HOVER:
            v.vtol_state, u.finished_t = ON_WINGS, t_us
        elif v.vtol_state == TO_FIXED_WING and not _is_second(u):
            if (
                u.tilt >= FORWARDS * (q.VT_TILT_TRANS - TILTED)
                and front_is_complete(v, u, w, q, t_us)
            ) or not is_airborne(v):
                u.finished_t = t_us
        elif v.vtol_state == TO_FIXED_WING and (
            u.tilt >= FORWARDS * (q.VT_TILT_FW - TILTED) or not is_airborne(v)
        ):
            v.vtol_state, u.finished_t = ON_WINGS, t_us
    elif v.vtol_state == ON_WINGS:
        _begin(v, u, m, t_us)
        v.vtol_state, u.pusher = TO_HOVER, w.throttle
        u.thrust = u.vertical = 0.0
        u.tilt = FORWARDS * q.VT_TILT_FW
    elif v.vtol_state == TO_FIXED_WING or (v.vtol_state == TO_HOVER and _hovers(v, u, q, m, t_us)):
        v.vtol_state = HOVERS


@njit
def _hovers(v, u, q, m, t_us):
    """Whether a transition to hover is over."""
    if not is_airborne(v):
        return True
    slow = m.forward < q.MPC_XY_CRUISE or since(u, t_us) > q.VT_B_TRANS_DUR
    return slow and u.tilt <= FORWARDS * (q.VT_TILT_MC + TILTED)


@njit
def _begin(v, u, m, t_us):
    begin(v, u, m, t_us)
    u.pitch = u.pitch_integral = m.pitch
    u.tilt = u.forward = 0.0


@njit
def _is_second(u):
    """Whether the transition forwards is in its second part, with the wings to carry it."""
    return u.finished_t > u.begun_t


@njit
def change_over(
    v: np.void,
    u: np.void,
    w: np.void,
    q: np.void,
    m: Motion,
    front: float,
    accel: float,
    t_us: int,
    dt: float,
) -> None:
    """In a transition: pitch, and the forces of the rotors along the body's x and z.

    Args:
        v, u, w, q, m, t_us: As of change_state().
        front: Share of the tilting rotors in the thrust of all at the same command.
        accel: Along the way over the ground [m/s^2].
        dt: [s].
    """
    v.hover_weight = 1.0
    needed = v.sp_thrust
    if holds_height(v):
        up = u.thrust * math.cos(m.pitch) * math.cos(m.roll) + u.forward * math.sin(m.pitch)
        needed = vertical_force(v, u, q, m, up, dt) - u.forward * math.sin(m.pitch)
        # Rotors that are not yet tilted up would push it forwards.
        most = v.thrust_max
        if v.vtol_state == TO_HOVER:
            most = min(MAX_THRUST * v.mass * GRAVITY * max(math.cos(u.tilt), 0.0), most)
        u.thrust = clamp(needed / math.cos(m.pitch), 0.0, most)
    else:
        u.thrust = v.sp_thrust
    lacking = clamp(needed / (SOFT * v.mass * GRAVITY), -1.0, 1.0)
    if v.vtol_state == TO_FIXED_WING:
        _tilt_forwards(v, u, q, needed, lacking, t_us, dt)
        u.mean_thrust += dt / (SERVO_S + dt) * (u.thrust - u.mean_thrust)
        push = front * max(
            thrust_newtons(v, q.VT_F_TRANS_THR) * math.sin(u.tilt),
            u.mean_thrust * math.tan(min(u.tilt, STEEP)),
        )
        u.pusher = thrust_normalised(v, push / front)
        # What changes faster than the servos turn is thrust along the axes that the rotors have.
        along = min(push / max(u.mean_thrust, 1e-3), front * STEEPNESS)
        u.forward = max(push + along * (u.thrust - u.mean_thrust), 0.0)
        v.sp_tilt = FORWARDS
        return
    # The nose rises to slow it down where the wings then do not lift it, too.
    before = u.pitch_integral
    u.pitch = decelerating_pitch(u, q, m, accel, dt)
    if holds_height(v):
        u.pitch_integral = clamp(
            before
            + max(lacking, 0.0) * (u.pitch_integral - before)
            + min(lacking, 0.0) * PITCH_RATE * dt,
            0.0,
            1.0,
        )
    slow = since(u, t_us) / THROTTLE_OFF_S
    u.forward = front * thrust_newtons(v, u.pusher) * max(1.0 - slow, 0.0)
    back = clamp((since(u, t_us) - THROTTLE_OFF_S) / max(q.VT_BT_TILT_DUR, 0.1), 0.0, 1.0)
    u.tilt = FORWARDS * (q.VT_TILT_FW + back * (q.VT_TILT_MC - q.VT_TILT_FW))
    v.sp_tilt = u.tilt


@njit
def _tilt_forwards(v, u, q, needed, lacking, t_us, dt):
    """Tilt and pitch on the way forwards."""
    hover, part, wings = q.VT_TILT_MC, q.VT_TILT_TRANS, q.VT_TILT_FW
    if not _is_second(u):
        share = min(since(u, t_us) / max(q.VT_F_TRANS_DUR, 0.1), 1.0)
        u.tilt = FORWARDS * (hover + abs(part - hover) * share)
        u.pitch = math.radians(q.FW_PSP_OFF) * share
        return
    waits = holds_height(v) and needed > WAITS * v.mass * GRAVITY * math.cos(u.tilt)
    if not waits:
        step = abs(wings - part) * dt / max(q.VT_TRANS_P2_DUR, 0.1)
        u.tilt = min(u.tilt + FORWARDS * step, FORWARDS * wings)
    if holds_height(v):
        u.pitch = clamp(u.pitch + lacking * PITCH_RATE * dt, 0.0, MAX_PITCH)


@njit
def push_in_hover(v: np.void, q: np.void, front: float, assist: float) -> float:
    """Force of the tilting rotors along the body's x in hover, by VT_TILT_MC and by assist().

    Args:
        v, q: As of change_state().
        front: As of change_over().
        assist: Tilt of 0..1 in the place of a nose-down pitch.
    """
    tilt = min(FORWARDS * (q.VT_TILT_MC + assist), STEEP)
    return front * v.sp_thrust * math.tan(tilt)
