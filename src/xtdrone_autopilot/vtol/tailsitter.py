"""Tail-sitter (VT_TYPE 0): it hovers nose up, and tilts forwards to fly on its wings.

States and limits as PX4's vtol_att_control/tailsitter.cpp. PX4 tilts at a constant rate and accepts
the change of height. Here the rotors give the thrust that holds the height, considering the
measured lift of the wings, and the tilt waits if that thrust is not available.
"""

import math

import numpy as np

from xtdrone_core.fleet_model import ROTOR
from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import from_euler

from ..control.vector import clamp, thrust_newtons, thrust_normalised
from ..fixed_wing.attitude import control_rates
from ..fixed_wing.guidance import Motion
from ..state.vehicle_status import HOVERS, ON_WINGS, TO_FIXED_WING, TO_HOVER
from .transition import (
    begin_transition,
    elapsed_s,
    holds_height,
    is_airborne,
    min_front_transition_s,
    vertical_force,
)

DEFICIT_SCALE = 0.1  # lift deficit over weight at which it tilts back at its full rate
HOVER_TILT = 0.26  # tilt below which a back transition ends [rad]
WINGS_TILT = 1.05  # smallest tilt at which a front transition may end [rad]
MIN_UPWARD_FRACTION = 0.5  # smallest upward fraction of the thrust that is compensated
MAX_THRUST_TO_WEIGHT = 1.3  # largest thrust to weight with which the tilt goes forwards


@njit
def change_state(
    vehicle: Record, transition: Record, wing: Record, params: Record, motion: Motion, t_us: int
) -> None:
    """Advances vtol_state towards the requested state; see standard.change_state().

    The motion is that of the body before fixed-wing flight, then that of the wings.
    """
    requested = HOVERS if vehicle.quadchute else transition.requested
    if requested == ON_WINGS:
        if vehicle.vtol_state == HOVERS:
            begin_transition(vehicle, transition, motion, t_us)
            vehicle.vtol_state, transition.tilt = TO_FIXED_WING, max(-motion.pitch, 0.0)
            transition.thrust = transition.vertical = vehicle.sp_thrust
        elif vehicle.vtol_state == TO_HOVER:
            vehicle.vtol_state, transition.finished_t = ON_WINGS, t_us
        elif vehicle.vtol_state == TO_FIXED_WING and _flies(
            vehicle, transition, wing, params, _tilt(vehicle, motion), t_us
        ):
            vehicle.vtol_state, transition.finished_t = ON_WINGS, t_us
            transition.pusher = thrust_normalised(vehicle, transition.thrust)
    elif vehicle.vtol_state == ON_WINGS:
        begin_transition(vehicle, transition, motion, t_us)
        vehicle.vtol_state, transition.tilt = TO_HOVER, 0.5 * math.pi - motion.pitch
        transition.thrust, transition.vertical = thrust_newtons(vehicle, wing.throttle), 0.0
    elif vehicle.vtol_state == TO_FIXED_WING:
        vehicle.vtol_state = TO_HOVER
    elif vehicle.vtol_state == TO_HOVER and (
        _tilt(vehicle, motion) < HOVER_TILT or not is_airborne(vehicle)
    ):
        vehicle.vtol_state = HOVERS


@njit
def _flies(
    vehicle: Record, transition: Record, wing: Record, params: Record, tilt: float, t_us: int
) -> bool:
    """Returns whether tilt and airspeed suffice for fixed-wing flight."""
    if not is_airborne(vehicle):
        return True
    if tilt < WINGS_TILT or elapsed_s(transition, t_us) < min_front_transition_s(
        params, wing.eas2tas
    ):
        return False
    if math.isfinite(wing.airspeed) and params.FW_USE_AIRSPD:
        return wing.airspeed >= params.VT_ARSP_TRANS
    return elapsed_s(transition, t_us) > params.VT_F_TR_OL_TM * wing.eas2tas**3


@njit
def _tilt(vehicle: Record, motion: Motion) -> float:
    """Returns the tilt of the body from its attitude in hover [rad]."""
    return (
        -motion.pitch
        if vehicle.vtol_state in (HOVERS, TO_FIXED_WING)
        else 0.5 * math.pi - motion.pitch
    )


@njit
def _forwards(params: Record) -> float:
    """Returns the tilt of level fixed-wing flight [rad]."""
    return 0.5 * math.pi - math.radians(params.FW_PSP_OFF)


@njit
def change_over(
    vehicle: Record, transition: Record, wing: Record, params: Record, motion: Motion, dt: float
) -> None:
    """Writes the tilt of a transition, and the thrust that holds the height.

    In modes without height control it tilts at a constant rate.

    Args:
        vehicle, transition, wing, params, motion: See change_state().
        dt: Length of the step [s].
    """
    vehicle.hover_weight = 1.0
    upward = math.cos(_tilt(vehicle, motion)) * math.cos(motion.roll)
    to_wings = vehicle.vtol_state == TO_FIXED_WING
    rate = 0.5 * math.pi / max(params.VT_F_TRANS_DUR if to_wings else params.VT_B_TRANS_DUR, 0.1)
    if not holds_height(vehicle):
        transition.tilt = clamp(
            transition.tilt + (rate if to_wings else -rate) * dt, 0.0, _forwards(params)
        )
        return
    lift_needed = vertical_force(
        vehicle, transition, params, motion, transition.thrust * upward, dt
    )
    upward_fraction = max(upward, MIN_UPWARD_FRACTION)
    if to_wings:
        max_thrust = min(MAX_THRUST_TO_WEIGHT * vehicle.mass * GRAVITY, vehicle.thrust_max)
        step = rate * dt if lift_needed <= max_thrust * math.cos(transition.tilt) else -rate * dt
        transition.tilt = clamp(transition.tilt + step, 0.0, _forwards(params))
        transition.thrust = clamp(lift_needed / upward_fraction, 0.0, vehicle.thrust_max)
        return
    # With the body nearly level, thrust would only accelerate it.
    transition.thrust = clamp(lift_needed / upward_fraction, 0.0, vehicle.thrust_max) * clamp(
        upward / MIN_UPWARD_FRACTION, 0.0, 1.0
    )
    lift_deficit = clamp(lift_needed / (DEFICIT_SCALE * vehicle.mass * GRAVITY), -1.0, 1.0)
    transition.tilt = clamp(transition.tilt - lift_deficit * rate * dt, 0.0, 0.5 * math.pi)


@njit
def attitude(transition: Record) -> tuple[float, float, float, float]:
    """Returns the attitude set-point xyzw of a transition, with level wings."""
    return from_euler(0.0, transition.tilt, 0.5 * math.pi - transition.course)


@njit
def steer(vehicle: Record, wing: Record, params: Record, wing_axes: Record, dt: float) -> None:
    """Writes the torque of the elevons in a transition, for the rate set-points of the rotors.

    PX4 holds the elevons; at speed, the moment of the wings then exceeds that of the rotors.

    Args:
        vehicle, wing, params: See change_state().
        wing_axes: Record of ESTIMATE in the axes of the wings.
        dt: Length of the step [s].
    """
    wing.rate[0], wing.rate[1], wing.rate[2] = (
        vehicle.sp_rates[2],
        -vehicle.sp_rates[1],
        vehicle.sp_rates[0],
    )
    control_rates(wing, params, wing_axes.ang_vel, vehicle.landed, dt)


@njit
def drive(
    wing: Record,
    params: Record,
    throttle: float,
    actuators: np.ndarray,
    count: int,
    commands: np.ndarray,
) -> None:
    """Writes the commands of the rotors in fixed-wing flight, with differential thrust for yaw.

    Args:
        wing: Record of FIXED_WING_STATE.
        params: Record of the parameters.
        throttle: 0..1.
        actuators: (A,) records of the vehicle in a FleetModel.
        count: Number of actuators.
        commands: (A,) output; those of rotors are written.
    """
    differential = (
        0.5 * params.VT_FW_DIFTHR_S_Y * wing.torque[2] if params.VT_FW_DIFTHR_EN & 1 else 0.0
    )
    for k in range(count):
        if actuators[k].kind == ROTOR:
            side = math.copysign(1.0, actuators[k].pos[1]) if actuators[k].pos[1] != 0.0 else 0.0
            commands[k] = clamp(throttle + differential * side, 0.0, 1.0)
