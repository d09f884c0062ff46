"""State of the flight stack: one record per vehicle.

Compiled loops read and write it; the MAVLink side writes commands and set-points
into it and reports from it. Frames as everywhere: world ENU, body FLU, yaw
counter-clockwise from east.
"""

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.modes import MODES, Mode
from xtdrone_dynamics.abilities.effectiveness import (
    in_hover,
    largest_thrust,
    largest_torque,
    of_each,
    rank,
)
from xtdrone_dynamics.abilities.force_envelope import ForceEnvelope
from xtdrone_dynamics.abilities.vehicle_type import (
    FIXED_WING,
    HALF_WINGED,
    MULTICOPTER,
    NOT_VTOL,
    half_winged,
    lifting_rotors,
    vehicle_types,
    vtol_types,
)
from xtdrone_dynamics.compiled import Record
from xtdrone_dynamics.constants import GRAVITY

NEW_MODE = -1  # value of mode_stage: the mode has not begun yet
NEVER = 1 << 62  # time of what has not happened [us]
STATION_US = 2_500_000  # a ground station counts as there for so long after a heartbeat [us]

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
EVENT_TRANSITION_OVER = 128
EVENT_QUADCHUTE = 256
EVENT_LANDING_ABORTED = 512


# What AUTO modes do at their target (target_type).
TARGET_POSITION, TARGET_LOITER, TARGET_TAKEOFF, TARGET_ORBIT, TARGET_LAND = range(5)

# When a target counts as reached (watch); WATCH_STOP: where a VTOL begins its transition to hover
# so as to stop there.
WATCH_NOTHING, WATCH_PLACE, WATCH_HEIGHT, WATCH_TIME, WATCH_STOP = range(5)

# Stages of a take-off (stage).
STAGE_DISARMED, STAGE_SPOOL_UP, STAGE_READY, STAGE_RAMP, STAGE_FLIGHT = range(5)

# What rovers and boats are turned by (drive).
STEERED, DIFFERENTIAL, BOAT = range(3)

# What a VTOL does (vtol_state): MAVLink's MAV_VTOL_STATE.
NO_VTOL, TO_FIXED_WING, TO_HOVER, HOVERS, ON_WINGS = range(5)

VEHICLE_STATUS = np.dtype(
    [
        ("vehicle_type", "i1"),  # MULTICOPTER, FIXED_WING or ROVER: whose control laws fly it
        ("vtol_type", "i1"),  # PX4's VT_TYPE, or NOT_VTOL
        ("vtol_state", "i1"),  # HOVERS, ON_WINGS or a transition; NO_VTOL
        ("quadchute", "i1"),  # why fixed-wing flight was given up, of state.reasons; 0 = it was not
        ("hover_weight", "f8"),  # fraction of the commands of the rotors that carry it in hover
        # What the vehicle is doing.
        ("mode", "i1"),  # a Mode
        ("nav_state", "i1"),  # PX4's number of what clients see: that of the mode, or of a variant
        ("mode_disarmed", "i1"),  # last requested mode in which it may be armed
        ("armed", "?"),
        ("landed", "?"),
        ("ready", "?"),  # arming checks pass
        ("failsafe", "?"),  # a failsafe chose the mode
        ("mode_stage", "i1"),  # step within the mode, 0 at its entry
        ("armed_t", "i8"),  # when it was armed [us]
        ("mode_t", "i8"),  # when the mode began [us]
        ("landed_t", "i8"),  # since when it has landed or flies [us]
        # Take-off and landing.
        ("stage", "i1"),  # STAGE_ of the take-off
        ("taken_off", "?"),  # taken off since it was armed
        ("in_mission", "?"),  # flies a mission that is not over
        ("contact", "?"),  # the vehicle touches the ground
        ("maybe_landed", "?"),  # the vehicle touches the ground and probably stands there
        ("contact_t", "i8"),  # since when the criteria of contact hold [us], NEVER = they do not
        ("maybe_landed_t", "i8"),  # since when those of having probably landed hold [us]
        ("still_t", "i8"),  # since when those of having landed hold [us]
        ("idle_t", "i8"),  # since when those of disarming by itself hold [us]
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
        ("stick_rates", "f8", (4,)),  # rates of forward, right, clockwise, up, filtered [1/s]
        ("stick_buttons", "i4"),  # as in the message
        ("stick_link", "i1"),  # link on which they came, index into mavlink.links.KINDS
        ("gcs_t", "i8"),  # when a ground station's heartbeat last came [us]
        # Target of an AUTO mode.
        ("target", "f8", (3,)),  # [m]
        ("lands_next", "?"),  # a fixed wing's landing begins at it
        ("landing_abort", "i1"),  # why that was aborted: state.reasons.ABORTED_ or 0
        ("previous", "f8", (3,)),  # where its leg begins [m], NaN = where the vehicle was
        ("following", "f8", (3,)),  # where the next leg ends [m], NaN = it stops at the target
        ("target_yaw", "f8"),  # [rad], NaN = towards the end of the path
        ("target_speed", "f8"),  # horizontal [m/s]; NaN = MPC_XY_CRUISE
        ("takeoff_height", "f8"),  # next AUTO.TAKEOFF's height, world z [m]; NaN = MIS_TAKEOFF_ALT
        ("target_type", "i1"),  # a TARGET_
        ("watch", "i1"),  # WATCH_: raise EVENT_TARGET_REACHED when the target is reached
        ("accept", "f8"),  # its acceptance radius, inside which a corner is cut [m]
        ("reach", "f8"),  # horizontal distance at which it counts as reached [m]
        ("reach_height", "f8"),  # vertical distance at which it counts as reached [m]
        ("hold_s", "f8"),  # how long it stays at the target [s]
        ("reached_t", "i8"),  # when the place was reached [us], NEVER = not yet
        ("faced", "?"),  # the heading was reached as well
        ("roi", "f8", (3,)),  # region of interest that a mission faces [m], NaN = none
        ("target_vel", "f8", (3,)),  # the target moves [m/s]
        ("centre", "f8", (3,)),  # centre of an orbit, or point that AUTO.FOLLOW_TARGET faces [m]
        ("orbit_radius", "f8"),  # positive = clockwise seen from above [m]
        ("orbit_left", "f8"),  # angle still to fly, inf = no end [rad]
        ("descend", "?"),  # AUTO.LAND without a position: level descent, PX4's DESCEND
        ("smooth_pos", "f8", (3,)),  # jerk-limited trajectory to the target [m]
        ("smooth_vel", "f8", (3,)),
        ("smooth_acc", "f8", (3,)),
        ("smooth_vel_sp", "f8", (3,)),  # velocity to which it goes [m/s]
        ("on_trajectory", "?"),  # it followed that trajectory in the last step
        # The leg as flown: start, end and what follows.
        ("line", "f8", (3, 3)),  # [m]
        ("line_accept", "f8"),  # its acceptance radius [m]
        ("no_previous", "?"),
        ("no_following", "?"),
        ("place_on_line", "i1"),  # where the vehicle is on it, of navigation.line
        ("path", "f8", (3, 3)),  # the leg, or the path back to it [m]
        ("turn_speed", "f8"),  # horizontal speed with which the present turn began [m/s]
        ("climbs", "?"),  # upwards, by the velocity before smoothing
        ("takeoff_requested", "?"),  # the mode asks for a take-off
        # Set-points of each loop, as reported.
        (
            "sp_kind",
            "i1",
        ),  # the loop that the mode feeds: TRAJECTORY, ATTITUDE, RATES, ACTUATORS or none
        ("sp_pos", "f8", (3,)),
        ("sp_vel", "f8", (3,)),
        ("sp_acc", "f8", (3,)),
        ("sp_yaw", "f8"),
        ("sp_yaw_rate", "f8"),
        ("sp_quat", "f8", (4,)),
        ("sp_rates", "f8", (3,)),
        ("sp_torque", "f8", (3,)),  # body [N m]
        ("sp_thrust", "f8"),  # collective along the body's z [N]
        ("sp_side_force", "f8", (2,)),  # along the body's x and y [N]; 0 unless `fully_actuated`,
        # and along x of a tiltrotor
        ("sp_tilt", "f8"),  # largest tilt of a tiltrotor's rotors; on its wings their tilt [rad]
        # Internal state of the control loops.
        ("vel_integral", "f8", (3,)),  # [m/s^2]
        ("free_yaw", "f8"),  # heading kept while no loop above gives one, NaN = none yet [rad]
        ("rate_integral", "f8", (3,)),  # [rad/s^2]
        ("acc_filtered", "f8", (3,)),  # world [m/s^2]
        ("last_rate", "f8", (3,)),  # angular velocity of the step before, body [rad/s]
        ("wind", "f8", (3,)),  # world, by a loop that measures it; else 0 [m/s]
        ("tilt_limit", "f8"),  # largest tilt of the velocity loop now [rad]
        ("climb_max", "f8"),  # largest vertical velocity; negative as a take-off begins [m/s]
        ("sink_max", "f8"),  # largest speed downwards [m/s]
        ("ramp", "f8"),  # progress of a take-off: 0 on the ground, 1 in flight
        # Rovers and boats.
        ("drive", "i1"),  # STEERED, DIFFERENTIAL or BOAT
        ("drive_stage", "i1"),  # stage of the drive to the target
        ("drive_target", "f8", (2,)),  # target of that drive [m]
        ("drive_speed", "f8"),  # speed reached in that drive [m/s]
        ("drive_yaw", "f8"),  # heading kept in STABILIZED [rad], NaN = none yet
        ("throttle", "f8"),  # -1..1
        ("steering", "f8"),  # -1..1, to the right
        ("speed_integral", "f8"),  # [m]
        ("turn_integral", "f8"),  # [rad]
        # Hover thrust, as a command 0..1 of all rotors.
        ("hover", "f8"),  # value that the velocity loop uses
        ("hover_estimate", "f8"),
        ("hover_var", "f8"),  # variance of the estimate
        ("hover_acc_var", "f8"),  # variance of the acceleration [(m/s^2)^2]
        ("hover_residual", "f8"),  # mean of what it does not explain [m/s^2]
        ("hover_test_ratio", "f8"),  # mean test ratio, with the sign of the innovation
        ("hover_good_s", "f8"),  # time for which the variance has been small enough [s]
        ("hover_valid", "?"),
        ("max_height", "f8"),  # greatest height above home since take-off [m]
        # The body, from the SDF.
        ("mass", "f8"),  # [kg]
        ("inertia", "f8", (3, 3)),  # [kg m^2]
        ("turn_max", "f8", (3,)),  # angular acceleration by its rotors, either way [rad/s^2]
        ("fully_actuated", "?"),  # force and torque are commanded in all six directions
        ("side_force_max", "f8"),  # force in any horizontal direction, level in hover [N]
        ("thrust_max", "f8"),  # all rotors at full command [N]
        ("thrust_poly", "f8", (3,)),  # collective [N] as polynomial of the common command 0..1
        ("drag", "f8"),  # deceleration for each m/s across the rotors, in hover [1/s]
    ],
    align=True,
)


def new_status(n: int) -> np.ndarray:
    """Records of n vehicles, disarmed on the ground in AUTO.LOITER (PX4's mode after boot)."""
    status = np.zeros(n, dtype=VEHICLE_STATUS)
    status["mode"] = status["mode_disarmed"] = Mode.LOITER
    status["nav_state"] = MODES[Mode.LOITER].nav_state
    status["landed"] = True
    status["vehicle_type"], status["vtol_type"] = MULTICOPTER, NOT_VTOL
    status["hover_weight"] = 1.0
    status["sp_tilt"] = 0.5 * np.pi
    for name in (
        "offboard_pos",
        "offboard_vel",
        "offboard_acc",
        "offboard_yaw",
        "offboard_yaw_rate",
        "takeoff_height",
        "target_speed",
        "target_yaw",
        "previous",
        "following",
        "line",
        "roi",
        "sp_pos",
        "sp_vel",
        "sp_acc",
        "sp_yaw",
        "sp_yaw_rate",
    ):
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
    return (t_us - status["gcs_t"] - STATION_US) * 1e-6


def thrust_normalised(status: np.ndarray) -> np.ndarray:
    """(N,) collective set-point of each vehicle as the common rotor command 0..1 that gives it."""
    return command_of(status["thrust_poly"], status["sp_thrust"])


def command_of(thrust_poly: np.ndarray, thrust: np.ndarray) -> np.ndarray:
    """The common rotor command 0..1 at which all rotors together give a thrust.

    Args:
        thrust_poly: (N, 3) collective [N] as polynomial of that command; zeros without rotors,
            whose command is 1.
        thrust: (N,) [N].
    """
    c, b, a = thrust_poly.T
    c = np.minimum(c - thrust, 0.0)
    command = np.ones(len(thrust_poly))
    np.divide(-b + np.sqrt(b * b - 4 * a * c), 2 * a, out=command, where=a > 0.0)
    return np.minimum(command, 1.0)


def describe_lost_rotors(status: np.ndarray, fleet: FleetModel, i: int, used: np.ndarray) -> None:
    """Writes whether the rotors that vehicle i still uses, (A,) bool, make it fully actuated."""
    if status["side_force_max"][i] > 0.0:
        matrix = in_hover(FleetModel.of([fleet.vehicles[i]]))[0]
        left = np.where(used | ~fleet.rotor_mask[i], 1.0, 0.0)[: matrix.shape[1]]
        status["fully_actuated"][i] = rank(matrix * left) == 6
        if not status["fully_actuated"][i]:
            status["sp_side_force"][i] = 0.0


def describe_bodies(status: np.ndarray, fleet: FleetModel) -> None:
    """Writes type, mass, inertia, thrust and drag of each vehicle into its record."""
    status["vehicle_type"], status["vtol_type"] = vehicle_types(fleet), vtol_types(fleet)
    status["vtol_state"] = np.where(status["vtol_type"] == NOT_VTOL, NO_VTOL, HOVERS)
    status["mass"] = fleet.vehicle["mass"]
    status["inertia"] = fleet.vehicle["inertia"]
    about = np.diagonal(status["inertia"], axis1=1, axis2=2)
    status["turn_max"] = largest_torque(fleet) / about
    status["turn_max"][status["vtol_type"] != NOT_VTOL] = 0.0  # wings take more than rotors give
    status["fully_actuated"] = [found == 6 for found in of_each(rank, in_hover(fleet))]
    for i in np.flatnonzero(status["fully_actuated"]):
        status["side_force_max"][i] = ForceEnvelope(
            FleetModel.of([fleet.vehicles[i]])
        ).across_weight()
    lifting = lifting_rotors(fleet)
    status["thrust_max"] = np.where(lifting, largest_thrust(fleet), 0.0).sum(axis=1)
    # Collective = sum of C_T (scaling u + zero)^2, a polynomial in the common command u.
    a = fleet.actuator
    c = np.where(lifting, a["motor_constant"], 0.0)
    s, z = a["input_scaling"], a["zero_position_armed"]
    status["thrust_poly"] = np.stack([c * z * z, 2 * c * s * z, c * s * s], -1).sum(axis=1)
    # H-force of XTDrone (4) at the speed that all rotors have in hover.
    hover = np.sqrt(fleet.vehicle["mass"] * GRAVITY / np.maximum(c.sum(axis=1), 1e-12))
    status["drag"] = a["rotor_drag_coefficient"].sum(axis=1) * hover / fleet.vehicle["mass"]


def describe_half_wings(status: np.ndarray, fleet: FleetModel) -> None:
    """Makes tail-sitters on half wings VTOLs, where control loops fly them at all speeds."""
    wings = half_winged(fleet)
    status["vtol_type"][wings], status["vtol_state"][wings] = HALF_WINGED, HOVERS


def on_wings(status: Record) -> bool:
    """Returns whether a vehicle flies as a fixed wing does, on legs and circles."""
    return bool(status["vehicle_type"] == FIXED_WING or status["vtol_state"] == ON_WINGS)


def runs_off(status: Record) -> bool:
    """Returns whether a vehicle takes off and lands as a fixed wing: no VTOL does."""
    return status["vehicle_type"] == FIXED_WING and status["vtol_type"] == NOT_VTOL
