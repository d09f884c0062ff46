"""State of the flight stack: one record per vehicle.

Compiled loops read and write it; the MAVLink side writes commands and set-points
into it and reports from it. Frames as everywhere: world ENU, body FLU, yaw
counter-clockwise from east.
"""

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.effectiveness import effectiveness, largest_thrust, rank

NEW_MODE = -1  # value of mode_stage: the mode has not begun yet
NEVER = 1 << 62  # time of what has not happened [us]
_STATION_US = 2_500_000  # a ground station counts as there for so long after a heartbeat [us]

# Kinds of set-point that OFFBOARD can follow (offboard_kind).
NO_SET_POINT, TRAJECTORY, ATTITUDE, RATES, ACTUATORS = range(5)

# Bits of events, raised by the compiled loops and dealt with by the commander.
EVENT_LANDED = 1
EVENT_TAKEN_OFF = 2
EVENT_DISARM_LANDED = 4
EVENT_DISARM_PREFLIGHT = 8
EVENT_OFFBOARD_LOST = 16
EVENT_FAILSAFE_DELAY_OVER = 32
EVENT_TARGET_REACHED = 64


# What AUTO modes do at their target (target_type).
TARGET_POSITION, TARGET_LOITER, TARGET_TAKEOFF, TARGET_ORBIT, TARGET_LAND = range(5)

# When a target counts as reached (watch).
WATCH_NOTHING, WATCH_PLACE, WATCH_HEIGHT, WATCH_TIME = range(4)

# Stages of a take-off (stage).
STAGE_DISARMED, STAGE_SPOOL_UP, STAGE_READY, STAGE_RAMP, STAGE_FLIGHT = range(5)

VEHICLE_STATUS = np.dtype([
    # What the vehicle is doing.
    ("mode", "i1"),  # a Mode
    ("mode_disarmed", "i1"),  # the last one that was asked for and that it may be armed in
    ("armed", "?"),
    ("landed", "?"),
    ("ready", "?"),  # arming checks pass
    ("failsafe", "?"),  # a failsafe chose the mode
    ("mode_stage", "i1"),  # step within the mode, 0 at its entry
    ("armed_t", "i8"),  # when it was armed [us]
    ("mode_t", "i8"),  # when the mode began [us]
    ("landed_t", "i8"),  # since when landed or flying [us]
    # Take-off and landing.
    ("stage", "i1"),  # STAGE_ of the take-off
    ("taken_off", "?"),  # since it was armed
    ("in_mission", "?"),  # flies a mission that is not over
    ("contact", "?"),  # it touches the ground,
    ("maybe_landed", "?"),  # and probably stands there
    ("contact_t", "i8"),  # since when the criteria of contact hold [us], NEVER = they do not,
    ("maybe_landed_t", "i8"),  # those of having probably landed,
    ("still_t", "i8"),  # those of having landed,
    ("idle_t", "i8"),  # those of disarming by itself
    ("events", "i4"),  # EVENT_ bits
    # Home.
    ("home", "f8", (3,)),  # [m]
    ("home_yaw", "f8"),  # [rad]
    ("home_set", "?"),
    # Set-point of an offboard controller; NaN = not controlled.
    ("offboard_kind", "i1"),
    ("offboard_t", "i8"),  # time of the last set-point [us]
    ("offboard_count", "i8"),  # number of set-points so far
    ("offboard_pos", "f8", (3,)),
    ("offboard_vel", "f8", (3,)),
    ("offboard_acc", "f8", (3,)),
    ("offboard_yaw", "f8"),
    ("offboard_yaw_rate", "f8"),
    ("offboard_quat", "f8", (4,)),  # xyzw, body to world
    ("offboard_rates", "f8", (3,)),  # body [rad/s]
    ("offboard_side_force", "f8", (2,)),  # along the body's x and y [N]
    ("offboard_thrust", "f8"),  # along the body's z [N]
    # Sticks of MANUAL_CONTROL, -1..1.
    ("stick_t", "i8"),  # when they last came [us]
    ("stick_forward", "f8"),
    ("stick_right", "f8"),
    ("stick_up", "f8"),
    ("stick_clockwise", "f8"),
    ("gcs_t", "i8"),  # when a ground station's heartbeat last came [us]
    # Target of an AUTO mode.
    ("target", "f8", (3,)),  # [m]
    ("previous", "f8", (3,)),  # where its leg begins [m], NaN = where the vehicle was
    ("following", "f8", (3,)),  # where the next leg ends [m], NaN = it stops at the target
    ("target_yaw", "f8"),  # [rad], NaN = towards the end of the way
    ("target_speed", "f8"),  # horizontal [m/s]; NaN = MPC_XY_CRUISE
    ("takeoff_height", "f8"),  # of the next AUTO.TAKEOFF, world z [m]; NaN = MIS_TAKEOFF_ALT
    ("target_type", "i1"),  # a TARGET_
    ("watch", "i1"),  # WATCH_: raise EVENT_TARGET_REACHED when the target is reached
    ("accept", "f8"),  # its acceptance radius, inside which a corner is cut [m]
    ("reach", "f8"),  # horizontal distance at which it counts as reached [m],
    ("reach_height", "f8"),  # and vertical one [m]
    ("hold_s", "f8"),  # and for how long it stays [s]
    ("reached_t", "i8"),  # when the place was reached [us], NEVER = not yet
    ("faced", "?"),  # the heading was reached as well
    ("roi", "f8", (3,)),  # region of interest that a mission faces [m], NaN = none
    ("target_vel", "f8", (3,)),  # the target moves [m/s]
    ("centre", "f8", (3,)),  # of an orbit, or the point that AUTO.FOLLOW_TARGET faces [m]
    ("orbit_radius", "f8"),  # positive = clockwise seen from above [m]
    ("orbit_left", "f8"),  # angle still to fly, inf = no end [rad]
    ("descend", "?"),  # AUTO.LAND without a position: level descent, PX4's DESCEND
    ("smooth_pos", "f8", (3,)),  # jerk-limited trajectory to the target [m]
    ("smooth_vel", "f8", (3,)),
    ("smooth_acc", "f8", (3,)),
    ("smooth_wanted", "f8", (3,)),  # the velocity that it goes to [m/s]
    ("on_trajectory", "?"),  # it followed that trajectory in the last step
    # The leg as flown: start, end and what follows.
    ("line", "f8", (3, 3)),  # [m]
    ("line_accept", "f8"),  # its acceptance radius [m]
    ("no_previous", "?"),
    ("no_following", "?"),
    ("place_on_line", "i1"),  # where the vehicle is on it, of navigation.line
    ("way", "f8", (3, 3)),  # the leg, or the way back to it [m]
    ("turn_speed", "f8"),  # horizontal speed with which the present turn began [m/s]
    ("climbs", "?"),  # upwards, by the velocity before smoothing
    ("wants_up", "?"),  # fast enough for a take-off
    # Set-points of each loop, as reported.
    ("sp_kind", "i1"),  # which loop the mode feeds: TRAJECTORY, ATTITUDE, RATES, ACTUATORS or none
    ("sp_pos", "f8", (3,)),
    ("sp_vel", "f8", (3,)),
    ("sp_acc", "f8", (3,)),
    ("sp_yaw", "f8"),
    ("sp_yaw_rate", "f8"),
    ("sp_quat", "f8", (4,)),
    ("sp_rates", "f8", (3,)),
    ("sp_torque", "f8", (3,)),  # body [N m]
    ("sp_thrust", "f8"),  # collective along the body's z [N]
    ("sp_side_force", "f8", (2,)),  # along the body's x and y [N]; 0 unless `fully_actuated`
    # Internal state of the control loops.
    ("vel_integral", "f8", (3,)),  # [m/s^2]
    ("free_yaw", "f8"),  # heading kept while no loop above gives one, NaN = none yet [rad]
    ("rate_integral", "f8", (3,)),  # [rad/s^2]
    ("acc_filtered", "f8", (3,)),  # world [m/s^2]
    ("last_rate", "f8", (3,)),  # angular velocity of the step before, body [rad/s]
    ("tilt_limit", "f8"),  # largest tilt of the velocity loop now [rad]
    ("climb_max", "f8"),  # largest vertical velocity; negative as a take-off begins [m/s]
    ("sink_max", "f8"),  # and downwards [m/s]
    ("ramp", "f8"),  # 0..1 how far a take-off has come: 0 on the ground, 1 in flight
    # Hover thrust, as a command 0..1 of all rotors.
    ("hover", "f8"),  # that the velocity loop uses
    ("hover_estimate", "f8"),
    ("hover_var", "f8"),  # variance of the estimate
    ("hover_noise", "f8"),  # variance of the acceleration [(m/s^2)^2]
    ("hover_residual", "f8"),  # mean of what it does not explain [m/s^2]
    ("hover_ratio", "f8"),  # mean test ratio, with the innovation's sign
    ("hover_known_s", "f8"),  # for so long it has been good [s]
    ("hover_valid", "?"),
    ("been_high", "?"),  # above the ground's effect since take-off
    # The body, from the SDF.
    ("mass", "f8"),  # [kg]
    ("inertia", "f8", (3, 3)),  # [kg m^2]
    ("fully_actuated", "?"),  # force and torque are commanded in all six directions
    ("thrust_max", "f8"),  # all rotors at full command [N]
    ("thrust_poly", "f8", (3,)),  # collective [N] as polynomial of the common command 0..1
    ("drag", "f8"),  # deceleration for each m/s across the rotors, in hover [1/s]
], align=True)


def new_status(n: int) -> np.ndarray:
    """Records of n vehicles, disarmed on the ground in AUTO.LOITER (PX4's mode after boot)."""
    from xtdrone_core.modes import Mode

    status = np.zeros(n, dtype=VEHICLE_STATUS)
    status["mode"] = status["mode_disarmed"] = Mode.LOITER
    status["landed"] = True
    for name in ("offboard_pos", "offboard_vel", "offboard_acc", "offboard_yaw",
                 "offboard_yaw_rate", "takeoff_height", "target_speed", "target_yaw", "previous",
                 "following", "line", "roi", "sp_pos", "sp_vel", "sp_acc", "sp_yaw", "sp_yaw_rate"):
        status[name] = np.nan
    for name in ("offboard_quat", "sp_quat"):
        status[name][:, 3] = 1.0
    for name in ("offboard_t", "stick_t", "still_t", "gcs_t"):
        status[name] = -(1 << 62)
    return status


def station_away(status: np.ndarray, t_us: int) -> np.ndarray:
    """(N,) time for which no ground station has been there [s], negative where one is.

    As in PX4, one counts as there for 2.5 s after its heartbeat.
    """
    return (t_us - status["gcs_t"] - _STATION_US) * 1e-6


def thrust_normalised(status: np.ndarray) -> np.ndarray:
    """(N,) collective set-point of each vehicle as the common rotor command 0..1 that gives it."""
    return command_of(status["thrust_poly"], status["sp_thrust"])


def command_of(thrust_poly: np.ndarray, thrust: np.ndarray) -> np.ndarray:
    """The common rotor command 0..1 at which all rotors together give a thrust.

    Args:
        thrust_poly: (N, 3) collective [N] as polynomial of that command.
        thrust: (N,) [N].
    """
    c, b, a = thrust_poly.T
    c = np.minimum(c - thrust, 0.0)
    return np.minimum((-b + np.sqrt(b * b - 4 * a * c)) / (2 * a), 1.0)


def describe_bodies(status: np.ndarray, fleet: FleetModel) -> None:
    """Writes mass, inertia, thrust and drag of each body of a FleetModel into its record."""
    status["mass"] = fleet.vehicle["mass"]
    status["inertia"] = fleet.vehicle["inertia"]
    status["fully_actuated"] = [rank(matrix) == 6 for matrix in effectiveness(fleet)]
    status["thrust_max"] = largest_thrust(fleet).sum(axis=1)
    # Collective = sum of C_T (scaling u + zero)^2, a polynomial in the common command u.
    a = fleet.actuator
    c = np.where(fleet.rotor_mask, a["motor_constant"], 0.0)
    s, z = a["input_scaling"], a["zero_position_armed"]
    status["thrust_poly"] = np.stack([c * z * z, 2 * c * s * z, c * s * s], -1).sum(axis=1)
    # H-force of XTDrone (4) at the speed that all rotors have in hover.
    hover = np.sqrt(fleet.vehicle["mass"] * GRAVITY / np.maximum(c.sum(axis=1), 1e-12))
    status["drag"] = a["rotor_drag_coefficient"].sum(axis=1) * hover / fleet.vehicle["mass"]
