"""The half wings of a fleet: their part of the disturbance, and the loops of vehicles on them."""

import math

import numpy as np

from xtdrone_autopilot.control.vector import air_velocity, clamp
from xtdrone_autopilot.state.vehicle_status import TRAJECTORY
from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import SURFACE
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.forces import servo
from xtdrone_dynamics.quaternion import rotate

from .aerodynamics import (
    INTO_AIR,
    check_trim,
    exerted,
    flies,
    half_wings_of,
    learn_wind,
    point_wings,
    trimmed,
    turn_heading,
    turn_rates,
)

# Cut-off of what elevons out of trim add to the force of wings: they push the wrong way first [Hz].
TRIM_CUT_OFF = 0.15
MAX_GUST = 2.0  # largest disturbance that is taken off, over the weight
MIN_LIFT = 0.05  # smallest vertical force that is asked of the rotors, over the weight


@njit
def _measure_one(
    vehicle: Record,
    estimate: Record,
    model: Record,
    half_wings: np.ndarray,
    wings: Record,
    thrust: np.ndarray,
    position: np.ndarray,
    shown: np.ndarray,
    gains: np.ndarray,
    dt: float,
    filters: np.ndarray,
    trim: np.ndarray,
    level: np.ndarray,
    force: np.ndarray,
    torque: np.ndarray,
) -> None:
    """Takes the wrench of one vehicle's wings off its disturbance; see measure()."""
    quat, air = estimate.quat, air_velocity(vehicle, estimate)
    flown = exerted(model, half_wings, 1.0, position, thrust, air, estimate.ang_vel)
    neutral = exerted(model, half_wings, 0.0, position, thrust, air, estimate.ang_vel)
    ideal = trimmed(wings.lift, air)
    x, y, z = rotate(quat[0], quat[1], quat[2], quat[3], flown[0], flown[1], flown[2])
    ix, iy, iz = rotate(quat[0], quat[1], quat[2], quat[3], ideal[0], ideal[1], ideal[2])
    wrench = (x, y, z, flown[3], flown[4], flown[5])
    beyond = (x - ix, y - iy, z - iz)
    slow = 1.0 - math.exp(-2.0 * math.pi * TRIM_CUT_OFF * dt)
    for axis in range(6):
        gain = gains[0] if axis < 3 else gains[1]
        filters[axis] += gain * (wrench[axis] - filters[axis])
        filters[6 + axis] += gain * (filters[axis] - filters[6 + axis])
    for axis in range(3):
        trim[axis] += slow * (beyond[axis] - trim[axis])
        level[axis] = neutral[3 + axis]
        force[axis] = shown[6 + axis] - filters[6 + axis]
        torque[axis] = shown[9 + axis] - filters[9 + axis]
    learn_wind(wings, quat, air, (force[0], force[1], force[2]), dt, vehicle.wind)
    for axis in range(3):
        force[axis] += trim[axis]


@fleet_kernel
def measure(
    status: np.ndarray,
    estimates: np.ndarray,
    models: np.ndarray,
    actuators: np.ndarray,
    half_wings: np.ndarray,
    wings: np.ndarray,
    commands: np.ndarray,
    thrust: np.ndarray,
    shown: np.ndarray,
    gains: np.ndarray,
    dt: float,
    position: np.ndarray,
    filters: np.ndarray,
    trim: np.ndarray,
    level: np.ndarray,
    force: np.ndarray,
    torque: np.ndarray,
) -> None:
    """Takes the wrench of half wings, by their model, off the disturbance; writes the wind.

    Args:
        status, estimates: (N,) records of VEHICLE_STATUS and ESTIMATE.
        models, actuators, half_wings: Records of the FleetModel.
        wings: (N,) of HALF_WINGS.
        commands: (N, A) of the last step.
        thrust: (N, A) of the rotors [N].
        shown: (N, 12) filters of wrench.compare(), by whose gains (N, 2) that of the wings runs.
        gains, dt: See wrench.compare().
        position: (N, A) of the elevons, updated [rad].
        filters: (N, 12) updated, as `shown`, of the wrench of the wings.
        trim: (N, 3) updated: filtered force of wings beyond that in trim, world [N].
        level: (N, 3) output: torque of wings whose elevons are level, body [N m].
        force, torque: (N, 3) output: disturbance, world [N] and body [N m].
    """
    for i in range(len(status)):
        vehicle = status[i]
        for k in range(models[i].actuators):
            if actuators[i, k].kind == SURFACE:
                position[i, k] = servo.act(actuators[i, k], commands[i, k], position[i, k], dt)[0]
        flying = vehicle.armed and not (vehicle.landed or vehicle.maybe_landed)
        if wings[i].lift > 0.0 and flying and vehicle.vehicle_type == MULTICOPTER:
            _measure_one(
                vehicle,
                estimates[i],
                models[i],
                half_wings[i],
                wings[i],
                thrust[i],
                position[i],
                shown[i],
                gains[i],
                dt,
                filters[i],
                trim[i],
                level[i],
                force[i],
                torque[i],
            )
        else:
            filters[i], trim[i], level[i], vehicle.wind[:] = 0.0, 0.0, 0.0, 0.0
            for axis in range(3):
                force[i, axis], torque[i, axis] = shown[i, 6 + axis], shown[i, 9 + axis]


@njit
def _fly_one(
    vehicle: Record,
    wings: Record,
    estimate: Record,
    disturbance: np.ndarray,
    pose: np.ndarray,
    dt: float,
) -> None:
    """Writes the set-points of one vehicle; see fly_fleet()."""
    quat, weight = estimate.quat, vehicle.mass * GRAVITY
    ux, uy, uz = air_velocity(vehicle, estimate)
    air = rotate(quat[0], quat[1], quat[2], quat[3], ux, uy, uz)
    gust, square = MAX_GUST * weight, ux * ux + uy * uy + uz * uz
    fx = vehicle.mass * vehicle.sp_acc[0] - clamp(disturbance[0], -gust, gust)
    fy = vehicle.mass * vehicle.sp_acc[1] - clamp(disturbance[1], -gust, gust)
    fz = vehicle.mass * vehicle.sp_acc[2] - clamp(disturbance[2], -gust, gust) + weight
    flying, change = flies(vehicle, estimate, air), INTO_AIR * dt
    pose[0] = turn_heading(vehicle, estimate, pose[0], flying, air, dt)
    pose[1] += clamp((1.0 if flying else 0.0) - pose[1], -change, change)
    # Wings may push downwards, rotors may not.
    fz = max(fz, MIN_LIFT * weight - wings.lift * square)
    point_wings(vehicle, wings, estimate, pose[0], pose[1], air, (fx, fy, fz))


@fleet_kernel
def fly_fleet(
    status: np.ndarray,
    estimates: np.ndarray,
    wings: np.ndarray,
    disturbance: np.ndarray,
    pose: np.ndarray,
    dt: float,
) -> None:
    """Writes attitude and thrust set-points for sp_acc, which the velocity loop has written.

    Args:
        status, estimates: (N,) records of VEHICLE_STATUS and ESTIMATE.
        wings: (N,) of HALF_WINGS.
        disturbance: (N, 3) force, world [N].
        pose: (N, 2) updated: heading [rad], share of flight 0..1, see point_wings().
        dt: Length of the step [s].
    """
    for i in range(len(status)):
        vehicle = status[i]
        if (
            wings[i].lift > 0.0
            and vehicle.vehicle_type == MULTICOPTER
            and vehicle.sp_kind == TRAJECTORY
        ):
            _fly_one(vehicle, wings[i], estimates[i], disturbance[i], pose[i], dt)


@fleet_kernel
def turn_fleet(status: np.ndarray, estimates: np.ndarray, wings: np.ndarray) -> None:
    """Adds to sp_rates how wings turn with their path; see fly_fleet() and turn_rates()."""
    for i in range(len(status)):
        vehicle = status[i]
        if wings[i].lift > 0.0 and vehicle.sp_kind == TRAJECTORY:
            turn = turn_rates(vehicle, wings[i].lift, estimates[i])
            for axis in range(3):
                vehicle.sp_rates[axis] += turn[axis]


class HalfWings(Memory):
    """The half wings of a fleet.

    Attributes:
        any: Whether any vehicle flies on some.
        sums: (N,) of HALF_WINGS.
        level: (N, 3) torque of wings whose elevons are level, by their model, body [N m].
        force, torque: (N, 3) disturbance, world [N] and body [N m].
    """

    MEMORY = ("level", "force", "torque", "_position", "_filters", "_trim")

    def __init__(self, fleet: FleetModel) -> None:
        """Starts with wings at rest.

        Raises:
            XtdroneError: The elevons of a vehicle cannot hold its wings.
        """
        n, width = fleet.actuator.shape
        self._fleet, self.sums = fleet, half_wings_of(fleet)
        check_trim(fleet, self.sums)
        self.any = bool((self.sums["lift"] > 0.0).any())
        self.level, self.force, self.torque = np.zeros((3, n, 3))
        self._position, self._filters = np.zeros((n, width)), np.zeros((n, 12))
        self._trim = np.zeros((n, 3))
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
            self._filters,
            self._trim,
            self.level,
            self.force,
            self.torque,
        )
