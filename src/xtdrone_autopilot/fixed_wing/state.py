"""State of fixed-wing control: one record per vehicle, beside its VEHICLE_STATUS.

Angles are PX4's: roll to the right, pitch upwards, headings clockwise from north. Horizontal
vectors are north and east, as in PX4's guidance.
"""

import numpy as np

# Phases of a take-off (takeoff): on the runway, PX4's RunwayTakeoffState; from a launch,
# its launch_detection_status.
TAKEOFF_NOT_BEGUN, THROTTLE_RAMP, CLAMPED_TO_RUNWAY, WAITING_FOR_LAUNCH, LAUNCHED, CLIMBOUT, FLY = (
    range(7)
)

FIXED_WING_STATE = np.dtype(
    [
        # Air data.
        ("airspeed", "f8"),  # calibrated, as measured [m/s]; NaN = none is measured
        ("airspeed_t", "i8"),  # when it was measured last [us]
        ("eas2tas", "f8"),  # true over equivalent airspeed
        # Set-points of attitude control.
        ("roll", "f8"),  # [rad]
        ("pitch", "f8"),  # [rad]
        ("throttle", "f8"),  # 0..1
        ("rate", "f8", (3,)),  # forward, right, down [rad/s]
        ("torque", "f8", (3,)),  # forward, right, down; -1..1 of what the surfaces can do
        ("rate_integral", "f8", (3,)),  # of torque
        ("integrators_rest", "?"),  # of the rates, as before a launch
        # Total energy control.
        ("tecs_t", "i8"),  # when it ran last [us]
        ("tas", "f8"),  # filtered equivalent airspeed [m/s]
        ("tas_rate", "f8"),  # and its rate [m/s^2]
        ("ref_height", "f8"),  # reference of the height, world z [m]
        ("ref_rate", "f8"),  # [m/s]
        ("rate_ref", "f8"),  # reference where a height rate is commanded [m/s]
        ("held_height", "f8"),  # world z [m]; NaN = a height rate is commanded
        ("underspeed", "f8"),  # 0..1
        ("pitch_integral", "f8"),  # [rad]
        ("throttle_integral", "f8"),
        ("energy_rate", "f8"),  # specific total energy, filtered [m^2/s^3]
        ("tecs_pitch", "f8"),  # [rad], less FW_PSP_OFF
        ("tecs_throttle", "f8"),
        # Guidance.
        ("airspeed_sp", "f8"),  # set-point after its slew rate, equivalent [m/s]; NaN = none yet
        ("airspeed_ref", "f8"),  # true airspeed that the guidance wants [m/s]
        ("bearing", "f8"),  # that it wants to fly over the ground [rad]
        ("track_error", "f8"),  # distance from the path, positive to its right [m]
        ("track_error_bound", "f8"),  # from which it flies straight to the path [m]
        ("guidance_roll", "f8"),  # [rad]
        # The leg.
        ("around", "f8"),  # direction from v.centre, anti-clockwise from east [rad]
        ("leg", "f8", (3,)),  # the target that the next two are about [m]
        ("nearest", "f8"),  # smallest distance from it so far [m]
        ("circles", "?"),  # it loiters there until it has the target's height
        ("course_held", "?"),  # POSCTL flies straight on
        ("course_from", "f8", (2,)),  # from here, north and east [m]
        ("course", "f8"),  # [rad]
        # Take-off and landing.
        ("takeoff", "i1"),  # one of the phases above
        ("takeoff_t", "i8"),  # when the phase began [us]
        ("launch_s", "f8"),  # for how long the launch has accelerated, or the motor waits [s]
        ("start", "f8", (2,)),  # where it began, north and east [m]
        ("start_height", "f8"),  # world z [m]
        ("start_heading", "f8"),  # [rad]
        ("landing", "?"),  # it has begun
        ("landing_t", "i8"),  # when [us]
        ("terrain", "f8"),  # the ground as last measured in it, world z [m]
        ("terrain_t", "i8"),  # when that was [us]; NEVER = not yet
        ("entrance", "f8", (2,)),  # of the approach from the touch-down, north and east [m]
        ("entrance_height", "f8"),  # above the touch-down [m]
        ("touchdown_offset", "f8"),  # by the pilot, to the right of the approach [m]
        ("flaring", "?"),
        ("flare_t", "i8"),  # when that began [us]
        ("flare_rate", "f8"),  # height rate then [m/s]
        ("flare_throttle", "f8"),
        ("manual_takeoff_done", "?"),  # by ALTCTL or POSCTL: fast enough since it left the ground
        # Landing detection.
        ("speed_slow", "f8"),  # filtered horizontal speed [m/s]
        ("climb_slow", "f8"),  # filtered vertical speed, without its sign [m/s]
        ("airspeed_slow", "f8"),  # filtered true airspeed [m/s]
        ("acc_slow", "f8"),  # filtered acceleration along the body's x and y [m/s^2]
        ("still_since", "i8"),  # when its criteria began to hold [us]; NEVER = they do not
    ],
    align=True,
)


def new_state(n: int) -> np.ndarray:
    """Records of n vehicles on the ground."""
    state = np.zeros(n, dtype=FIXED_WING_STATE)
    for name in ("airspeed", "airspeed_sp", "held_height", "leg"):
        state[name] = np.nan
    state["eas2tas"] = 1.0
    state["airspeed_t"] = state["tecs_t"] = -(1 << 62)
    return state
