"""State of a VTOL's transitions: one record per vehicle, beside its VEHICLE_STATUS."""

import numpy as np

from ..state.vehicle_status import HOVERS, NEVER

TRANSITION_STATE = np.dtype(
    [
        ("wanted", "i1"),  # HOVERS or ON_WINGS
        ("begun_t", "i8"),  # when the present or last transition began [us]
        ("begun_height", "f8"),  # world z [m]
        ("finished_t", "i8"),  # when fixed-wing flight began [us]
        ("start", "f8", (2,)),  # where the transition began, north and east [m]
        ("course", "f8"),  # that the transition to fixed-wing flight holds [rad]
        ("pusher", "f8"),  # throttle of the rotors that push forwards, 0..1
        ("pitch", "f8"),  # set-point in a transition, upwards [rad]
        ("pitch_integral", "f8"),  # of the deceleration in a transition to hover [rad]
        # Of tail-sitters and tiltrotors in a transition:
        ("tilt", "f8"),  # of the body, or of the rotors, 0 = hover [rad]
        ("thrust", "f8"),  # along the body's z [N]
        ("mean_thrust", "f8"),  # of a tiltrotor, over SERVO_S [N]
        ("forward", "f8"),  # thrust of a tiltrotor along the body's x [N]
        ("vertical", "f8"),  # upward part of that thrust, filtered [N]
        ("highest", "f8"),  # height from which a descent counts, world z [m]; NaN = none
    ],
    align=True,
)


def new_state(n: int) -> np.ndarray:
    """Records of n vehicles that hover or stand."""
    state = np.zeros(n, dtype=TRANSITION_STATE)
    state["wanted"] = HOVERS
    state["begun_t"] = state["finished_t"] = -NEVER
    state["highest"] = np.nan
    return state
