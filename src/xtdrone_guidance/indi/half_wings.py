"""The half wings of a fleet, and the loops of vehicles on them."""

import math

import numpy as np

from xtdrone_autopilot.control.vector import air_velocity, clamp
from xtdrone_autopilot.navigation.navigator import flies_trajectory
from xtdrone_autopilot.state.vehicle_status import NO_SET_POINT, STAGE_RAMP, TRAJECTORY
from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate, rotate_inverse

from ..force import follow_jerk, velocity_gains
from .aerodynamics import INTO_AIR, flies, point_wings, turn_heading, turn_rates
from .trim import check_trim, half_wings_of, held_path, within_reach
from .wing_push import measure

# Largest horizontal acceleration for an error of velocity, beyond what the path asks for: an error
# has to outweigh that, which counts for a vehicle that follows the path [m/s^2].
MAX_FEEDBACK = 6.0
FAST_AIR = 6.0  # airspeed above which that counts, for there wings balloon [m/s]
# Time constant of the filter of the turn's change, and that with which body rates follow [s].
TURN_FILTER_S, RATE_LAG_S = 0.02, 0.05
MAX_GUST = 2.0  # largest disturbance that is taken off, over the weight
# By which the gains of pitch rate and pitch grow from hover to fast flight.
PITCH_GROWTH, ATTITUDE_GROWTH = 1.5, 0.75
SETTLE_S = 0.4  # time in which its thrust goes to nothing there [s]
SLIDES = 0.3  # speed over the ground from which on wind drags it there [m/s]
MIN_LIFT = 0.05  # smallest vertical force that is asked of the rotors, over the weight


@njit
def _stand(vehicle: Record, heading: float, part: float) -> None:
    """Writes attitude and thrust set-points of a vehicle on the ground: upright, and it settles.

    Args:
        vehicle: Record of VEHICLE_STATUS.
        heading: [rad].
        part: Of the thrust that is left, since a velocity that the ground stops keeps a half of it.
    """
    vehicle.sp_quat[0], vehicle.sp_quat[1] = 0.0, 0.0
    vehicle.sp_quat[2], vehicle.sp_quat[3] = math.sin(0.5 * heading), math.cos(0.5 * heading)
    vehicle.sp_yaw_rate = 0.0
    carried = vehicle.mass * (vehicle.sp_acc[2] + GRAVITY)
    vehicle.sp_thrust = part * clamp(carried, 0.0, vehicle.thrust_max)


@njit
def _limit_feedback(vehicle: Record, params: Record, vel: np.ndarray) -> None:
    """Bounds what an error of the horizontal velocity adds to sp_acc: height goes before position.

    Args:
        vehicle, params: Records of VEHICLE_STATUS, with sp_acc, and parameters.
        vel: (3,) world [m/s].
    """
    wanted = vehicle.sp_vel
    if not (math.isfinite(wanted[0]) and math.isfinite(wanted[1])):
        return
    gain, _ = velocity_gains(params)
    east, north = gain * (wanted[0] - vel[0]), gain * (wanted[1] - vel[1])
    largest = MAX_FEEDBACK + math.hypot(vehicle.sp_acc[0] - east, vehicle.sp_acc[1] - north)
    beyond = max(1.0 - largest / max(math.hypot(east, north), 1e-9), 0.0)
    vehicle.sp_acc[0] -= beyond * east
    vehicle.sp_acc[1] -= beyond * north


@njit
def _fly_one(
    vehicle: Record,
    params: Record,
    wings: Record,
    estimate: Record,
    disturbance: np.ndarray,
    stands: bool,
    dt: float,
    pose: np.ndarray,
    path: np.ndarray,
    turn: np.ndarray,
) -> None:
    """Writes the set-points of one vehicle; see fly_fleet()."""
    quat, weight = estimate.quat, vehicle.mass * GRAVITY
    # What wind drags over the ground tips over, unless it is carried at once.
    if vehicle.stage == STAGE_RAMP and math.hypot(estimate.vel[0], estimate.vel[1]) > SLIDES:
        vehicle.ramp = 1.0
    ux, uy, uz = air_velocity(vehicle, estimate)
    if ux * ux + uy * uy + uz * uz > FAST_AIR * FAST_AIR:
        _limit_feedback(vehicle, params, estimate.vel)
    air = rotate(quat[0], quat[1], quat[2], quat[3], ux, uy, uz)
    gust, square = MAX_GUST * weight, ux * ux + uy * uy + uz * uz
    fx = vehicle.mass * vehicle.sp_acc[0] - clamp(disturbance[0], -gust, gust)
    fy = vehicle.mass * vehicle.sp_acc[1] - clamp(disturbance[1], -gust, gust)
    fz = vehicle.mass * vehicle.sp_acc[2] - clamp(disturbance[2], -gust, gust) + weight
    flying, change = flies(vehicle, estimate, air), INTO_AIR * dt
    pose[0] = turn_heading(vehicle, estimate, pose[0], flying, air, dt)
    pose[1] += clamp((1.0 if flying else 0.0) - pose[1], -change, change)
    if stands and vehicle.sp_vel[2] < 0.0:
        turn[0], turn[1], turn[2] = 0.0, 0.0, 0.0
        pose[2] = max(pose[2] - dt / SETTLE_S, 0.0)
        _stand(vehicle, pose[0], pose[2])
        return
    pose[2] = 1.0
    # Wings may push downwards, rotors may not.
    fz = max(fz, MIN_LIFT * weight - wings.lift * square)
    point_wings(vehicle, wings, estimate, pose[0], pose[1], air, (fx, fy, fz))
    held = within_reach(wings, weight, air, (fx, fy, fz))
    acceleration, jerk = held_path(wings, vehicle.mass, air, path)
    rates = turn_rates(wings, vehicle.mass, air, held, acceleration, jerk)
    gain = dt / (TURN_FILTER_S + dt)
    for axis in range(3):
        wanted = pose[1] * rates[axis]
        path[9 + axis] += gain * ((wanted - path[6 + axis]) / dt - path[9 + axis])
        path[6 + axis] = wanted
        turn[axis] = wanted + RATE_LAG_S * path[9 + axis]


@fleet_kernel
def follow_fleet(status: np.ndarray, wings: np.ndarray, dt: float, path: np.ndarray) -> None:
    """Follows the acceleration of the path by its set-points, before the velocity loop.

    Args:
        status: (N,) records of VEHICLE_STATUS.
        wings: (N,) of HALF_WINGS.
        dt: Length of the step [s].
        path: (N, 12) updated: acceleration [m/s^2] and jerk [m/s^3], world; see fly_fleet().
    """
    for i in range(len(status)):
        if wings[i].lift > 0.0:
            for axis in range(3):
                wanted = status[i].sp_acc[axis]
                path[i, 3 + axis] = follow_jerk(wanted, path[i, axis], path[i, 3 + axis], dt)
                path[i, axis] = wanted if math.isfinite(wanted) else 0.0


@fleet_kernel
def fly_fleet(
    status: np.ndarray,
    parameters: np.ndarray,
    estimates: np.ndarray,
    wings: np.ndarray,
    disturbance: np.ndarray,
    stands: np.ndarray,
    dt: float,
    pose: np.ndarray,
    path: np.ndarray,
    turn: np.ndarray,
) -> None:
    """Writes attitude and thrust set-points for sp_acc, which the velocity loop has written.

    Args:
        status, parameters, estimates: (N,) records of VEHICLE_STATUS, parameters and ESTIMATE.
        wings: (N,) of HALF_WINGS.
        disturbance: (N, 3) force, world [N].
        stands: (N,) bool, whether it stands on the ground.
        dt: Length of the step [s].
        pose: (N, 3) updated: heading [rad], share of flight 0..1, see point_wings(), and part of
            the thrust that is left on the ground.
        path: (N, 12) see follow_fleet(); updated are the rates of turn of the last step [rad/s] and
            how they change [rad/s^2].
        turn: (N, 3) output: rates with which the wings turn with their path, world [rad/s].
    """
    for i in range(len(status)):
        vehicle = status[i]
        if (
            wings[i].lift > 0.0
            and vehicle.vehicle_type == MULTICOPTER
            and vehicle.sp_kind == TRAJECTORY
        ):
            _fly_one(
                vehicle,
                parameters[i],
                wings[i],
                estimates[i],
                disturbance[i],
                stands[i],
                dt,
                pose[i],
                path[i],
                turn[i],
            )


@njit
def in_air(vehicle: Record, reach: np.ndarray) -> float:
    """Returns the factor of the gain of the pitch rate, which elevons move slowly in hover.

    Args:
        vehicle: Record of VEHICLE_STATUS.
        reach: (3,) see HalfWings.
    """
    return 1.0 + PITCH_GROWTH * _part_of_air(vehicle, reach)


@njit
def _part_of_air(vehicle: Record, reach: np.ndarray) -> float:
    """Returns the part 0..1 of the pitch torque that the air gives; see in_air()."""
    hover = vehicle.inertia[1, 1] * vehicle.turn_max[1]
    return reach[1] / max(reach[1] + hover, 1e-9)


@fleet_kernel
def turn_fleet(
    status: np.ndarray,
    estimates: np.ndarray,
    wings: np.ndarray,
    reach: np.ndarray,
    turn: np.ndarray,
) -> None:
    """Adds to sp_rates how wings turn with their path, and raises those of pitch with the air.

    Args:
        status, estimates, wings, turn: See fly_fleet().
        reach: (N, 3) see HalfWings.
    """
    for i in range(len(status)):
        vehicle = status[i]
        if wings[i].lift > 0.0 and flies_trajectory(vehicle) and vehicle.sp_kind != NO_SET_POINT:
            vehicle.sp_rates[1] *= 1.0 + ATTITUDE_GROWTH * _part_of_air(vehicle, reach[i])
            quat = estimates[i].quat
            rates = rotate_inverse(
                quat[0], quat[1], quat[2], quat[3], turn[i, 0], turn[i, 1], turn[i, 2]
            )
            for axis in range(3):
                vehicle.sp_rates[axis] += rates[axis]


class HalfWings(Memory):
    """The half wings of a fleet.

    Attributes:
        any: Whether any vehicle flies on some.
        sums: (N,) of HALF_WINGS.
        level: (N, 3) torque of wings whose elevons are level, by their model, body [N m].
        reach: (N, 3) torque that the air adds to what the vehicle exerts in hover [N m].
        force, torque: (N, 3) disturbance, world [N] and body [N m].
        turn: (N, 3) rates with which they turn with their path, world [rad/s].
        stands: (N,) bool, whether it stands on the ground.
    """

    MEMORY = (
        "level",
        "reach",
        "force",
        "torque",
        "turn",
        "stands",
        "_position",
        "_filters",
        "_trim",
    )

    def __init__(self, fleet: FleetModel) -> None:
        """Starts with wings at rest.

        Raises:
            XtdroneError: The elevons of a vehicle cannot hold its wings.
        """
        n, width = fleet.actuator.shape
        self._fleet, self.sums = fleet, half_wings_of(fleet)
        check_trim(fleet, self.sums)
        self.any = bool((self.sums["lift"] > 0.0).any())
        self.level, self.reach, self.force, self.torque, self.turn = np.zeros((5, n, 3))
        self._position, self._filters = np.zeros((n, width)), np.zeros((n, 12))
        self._trim, self.stands = np.zeros((n, 3)), np.zeros(n, dtype=bool)
        self.remember_start()

    def step(
        self,
        status: np.ndarray,
        estimates: np.ndarray,
        commands: np.ndarray,
        thrust: np.ndarray,
        shown: np.ndarray,
        gains: np.ndarray,
        dt: float,
    ) -> None:
        """Measures the disturbance; see measure()."""
        fleet = self._fleet
        measure(
            status,
            estimates,
            fleet.vehicle,
            fleet.actuator,
            fleet.half_wing,
            self.sums,
            commands,
            thrust,
            shown,
            gains,
            dt,
            self._position,
            self.stands,
            self._filters,
            self._trim,
            self.level,
            self.reach,
            self.force,
            self.torque,
        )
