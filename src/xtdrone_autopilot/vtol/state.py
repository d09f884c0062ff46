"""State of a VTOL's transitions: one record per vehicle, beside its VEHICLE_STATUS."""

import numpy as np

from ..state.vehicle_status import HOVERS, NEVER

TRANSITION_STATE = np.dtype(
    [
        ("requested", "i1"),  # requested state, HOVERS or ON_WINGS
        ("start_t", "i8"),  # start of the present or last transition [us]
        ("start_height", "f8"),  # height there, world z [m]
        ("finished_t", "i8"),  # start of fixed-wing flight [us]
        ("start_pos", "f8", (2,)),  # position at the start of the transition, (north, east) [m]
        ("course", "f8"),  # course of a front transition, clockwise from north [rad]
        ("pusher", "f8"),  # throttle of the rotors that push forwards, 0..1
        ("pitch", "f8"),  # pitch set-point in a transition, upwards [rad]
        ("pitch_integral", "f8"),  # integral part of decelerating_pitch() [rad]
        # Transitions of tail-sitters and tiltrotors.
        ("tilt", "f8"),  # tilt of the body or of the rotors, 0 = hover [rad]
        ("thrust", "f8"),  # thrust along body z [N]
        ("mean_thrust", "f8"),  # thrust of a tiltrotor, low-pass filtered over SERVO_S [N]
        ("forward", "f8"),  # thrust of a tiltrotor along body x [N]
        ("vertical", "f8"),  # low-pass filtered upward component of the thrust [N]
        ("speed", "f8"),  # over the ground that a transition on half wings asks for [m/s]
        # Greatest height since TECS runs, for VT_QC_ALT_LOSS, world z; NaN = none [m].
        ("max_height", "f8"),
    ],
    align=True,
)


def new_state(n: int) -> np.ndarray:
    """Returns the records of n vehicles that hover or stand."""
    state = np.zeros(n, dtype=TRANSITION_STATE)
    state["requested"] = HOVERS
    state["start_t"] = state["finished_t"] = -NEVER
    state["max_height"] = np.nan
    return state
