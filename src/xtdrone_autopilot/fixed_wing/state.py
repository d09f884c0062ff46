"""State of fixed-wing control: one record per vehicle, beside its VEHICLE_STATUS.

Angles are PX4's: roll to the right, pitch upwards, headings clockwise from north. Horizontal
vectors are (north, east).
"""

import numpy as np

# Phases of a take-off (takeoff): PX4's RunwayTakeoffState, and those of launch_detection_status.
TAKEOFF_NOT_BEGUN, THROTTLE_RAMP, CLAMPED_TO_RUNWAY, WAITING_FOR_LAUNCH, LAUNCHED, CLIMBOUT, FLY = (
    range(7)
)

FIXED_WING_STATE = np.dtype(
    [
        # Air data.
        ("airspeed", "f8"),  # measured calibrated airspeed; NaN = none [m/s]
        ("airspeed_t", "i8"),  # time of the last measurement [us]
        ("eas2tas", "f8"),  # true over equivalent airspeed
        # Set-points of attitude control.
        ("roll", "f8"),  # [rad]
        ("pitch", "f8"),  # [rad]
        ("throttle", "f8"),  # 0..1
        ("rate", "f8", (3,)),  # body rates, FRD [rad/s]
        ("torque", "f8", (3,)),  # FRD, -1..1 of the authority of the surfaces
        ("rate_integral", "f8", (3,)),  # integral part of the torque, FRD
        ("hold_integrals", "?"),  # the integrators are held at zero, as before a launch
        # Total energy control.
        ("tecs_t", "i8"),  # time of the last step of TECS [us]
        ("eas", "f8"),  # filtered equivalent airspeed [m/s]
        ("eas_rate", "f8"),  # rate of eas [m/s^2]
        ("height_ref", "f8"),  # height reference, world z [m]
        ("height_ref_rate", "f8"),  # rate of height_ref [m/s]
        ("height_rate_ref", "f8"),  # height rate reference, where a rate is commanded [m/s]
        ("held_height", "f8"),  # height held at a commanded rate of 0, world z; NaN = none [m]
        ("underspeed", "f8"),  # underspeed ratio, 0..1
        ("pitch_integral", "f8"),  # [rad]
        ("throttle_integral", "f8"),
        ("energy_rate", "f8"),  # filtered rate of the specific total energy [m^2/s^3]
        ("tecs_pitch", "f8"),  # pitch set-point relative to FW_PSP_OFF [rad]
        ("tecs_throttle", "f8"),  # throttle set-point, 0..1
        # Guidance.
        ("airspeed_sp", "f8"),  # slewed set-point, equivalent airspeed; NaN = none yet [m/s]
        ("airspeed_ref", "f8"),  # true airspeed that NPFG demands [m/s]
        ("bearing", "f8"),  # bearing over the ground that NPFG demands [rad]
        ("track_error", "f8"),  # distance from the path, positive to its right [m]
        ("track_error_bound", "f8"),  # track error from which it flies straight to the path [m]
        ("guidance_roll", "f8"),  # roll that NPFG demands [rad]
        # The leg.
        (
            "orbit_bearing",
            "f8",
        ),  # direction from the orbit's centre, counter-clockwise from east [rad]
        ("leg", "f8", (3,)),  # target to which min_distance and loiters refer [m]
        ("min_distance", "f8"),  # smallest horizontal distance from the target so far [m]
        ("loiters", "?"),  # circles the target until its height is reached
        ("course_held", "?"),  # POSCTL holds a course
        ("course_start", "f8", (2,)),  # point of the course line [m]
        ("course", "f8"),  # direction of the course line [rad]
        # Take-off and landing.
        ("takeoff", "i1"),  # phase of the take-off
        ("takeoff_t", "i8"),  # start of the phase [us]
        ("launch_s", "f8"),  # time for which a launch has exceeded FW_LAUN_AC_THLD [s]
        ("start_pos", "f8", (2,)),  # start of the take-off [m]
        ("start_height", "f8"),  # height there, world z [m]
        ("start_heading", "f8"),  # heading there [rad]
        ("landing", "?"),  # a landing has begun
        ("landing_t", "i8"),  # start of the landing [us]
        ("terrain", "f8"),  # last measured terrain height of the landing, world z [m]
        ("terrain_t", "i8"),  # time of that measurement; NEVER = none yet [us]
        ("entrance", "f8", (2,)),  # start of the approach relative to the touch-down point [m]
        ("entrance_height", "f8"),  # height of the entrance above the touch-down point [m]
        ("touchdown_offset", "f8"),  # the pilot's nudge, to the right of the approach [m]
        ("flaring", "?"),  # the flare has begun
        ("flare_t", "i8"),  # start of the flare [us]
        ("flare_rate", "f8"),  # height rate at its start [m/s]
        ("flare_throttle", "f8"),  # throttle at its start
        ("manual_takeoff_done", "?"),  # fast enough since a take-off in ALTCTL or POSCTL
        # Landing detection.
        ("speed_filtered", "f8"),  # horizontal speed [m/s]
        ("climb_filtered", "f8"),  # absolute vertical speed [m/s]
        ("airspeed_filtered", "f8"),  # true airspeed [m/s]
        ("acc_filtered", "f8"),  # specific force along body x and y [m/s^2]
        ("still_t", "i8"),  # time since when the vehicle is still; NEVER = it is not [us]
    ],
    align=True,
)


def new_state(n: int) -> np.ndarray:
    """Returns the records of n vehicles on the ground."""
    state = np.zeros(n, dtype=FIXED_WING_STATE)
    for name in ("airspeed", "airspeed_sp", "held_height", "leg"):
        state[name] = np.nan
    state["eas2tas"] = 1.0
    state["airspeed_t"] = state["tecs_t"] = -(1 << 62)
    return state
