"""What pushes vehicles on half wings: the measured disturbance less the wrench of their wings.

The push of the ground is no wind, and, where it settles there, no disturbance.
"""

import math

import numpy as np

from xtdrone_autopilot.control.vector import air_velocity
from xtdrone_core.fleet_model import SURFACE
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.forces import servo
from xtdrone_dynamics.quaternion import rotate, rotate_inverse
from xtdrone_dynamics.shapes import Vector

from .aerodynamics import exerted, learn_wind
from .trim import trimmed
from .wrench import measured

# Cut-off of what elevons out of trim add to the force of wings: they push the wrong way first [Hz].
TRIM_CUT_OFF = 0.15
# Upward force along the body that only the ground exerts, over the weight: wings that hang take
# none along their chord. Who stands does so until less is left of it.
GROUND_FORCE, STANDING_FORCE = 0.4, 0.15
UPRIGHT, STANDING_SPEED = 0.8, 2.5  # cosine of the tilt and speed [m/s] with which it may stand


@njit
def _stands(vehicle: Record, estimate: Record, force: Vector, stood: bool) -> bool:
    """Returns whether what pushes a vehicle that hangs is the ground.

    Args:
        vehicle, estimate: Records of VEHICLE_STATUS and ESTIMATE.
        force: Disturbance, world [N].
        stood: Whether it stood one step before.
    """
    quat, vel = estimate.quat, estimate.vel
    _, _, upright = rotate(quat[0], quat[1], quat[2], quat[3], 0.0, 0.0, 1.0)
    moves = math.sqrt(vel[0] * vel[0] + vel[1] * vel[1] + vel[2] * vel[2])
    if upright < UPRIGHT or moves > STANDING_SPEED:
        return False
    _, _, along = rotate_inverse(quat[0], quat[1], quat[2], quat[3], force[0], force[1], force[2])
    least = STANDING_FORCE if stood else GROUND_FORCE
    return force[2] > 0.0 and along > least * vehicle.mass * GRAVITY


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
    stood: bool,
    filters: np.ndarray,
    trim: np.ndarray,
    level: np.ndarray,
    reach: np.ndarray,
    force: np.ndarray,
    torque: np.ndarray,
) -> bool:
    """Takes the wrench of one vehicle's wings off its disturbance; see measure().

    Returns whether it stands on the ground.
    """
    quat, air = estimate.quat, air_velocity(vehicle, estimate)
    flown = exerted(model, half_wings, 1.0, position, thrust, air, estimate.ang_vel)
    neutral = exerted(model, half_wings, 0.0, position, thrust, air, estimate.ang_vel)
    ideal = trimmed(wings, air, thrust.sum())
    x, y, z = rotate(quat[0], quat[1], quat[2], quat[3], flown[0], flown[1], flown[2])
    ix, iy, iz = rotate(quat[0], quat[1], quat[2], quat[3], ideal[0], ideal[1], ideal[2])
    wrench = (x, y, z, flown[3], flown[4], flown[5])
    beyond = (x - ix, y - iy, z - iz)
    speed = math.sqrt(air[0] * air[0] + air[1] * air[1] + air[2] * air[2])
    ahead = speed * max(air[2], 0.0)  # air from behind, in a descent, works against the slipstream
    slow = 1.0 - math.exp(-2.0 * math.pi * TRIM_CUT_OFF * dt)
    for axis in range(6):
        gain = gains[0] if axis < 3 else gains[1]
        filters[axis] += gain * (wrench[axis] - filters[axis])
        filters[6 + axis] += gain * (filters[axis] - filters[6 + axis])
    for axis in range(3):
        trim[axis] += slow * (beyond[axis] - trim[axis])
        level[axis] = neutral[3 + axis]
        reach[axis] = wings.turn[axis] * ahead
        force[axis] = shown[6 + axis] - filters[6 + axis]
        torque[axis] = shown[9 + axis] - filters[9 + axis]
    pushed = (force[0], force[1], force[2])
    stands = _stands(vehicle, estimate, pushed, stood)
    if not stands:
        learn_wind(wings, quat, air, pushed, dt, vehicle.wind)
    settles = stands and vehicle.sp_vel[2] < 0.0
    for axis in range(3):
        force[axis] = 0.0 if settles else force[axis] + trim[axis]
    return stands


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
    stands: np.ndarray,
    filters: np.ndarray,
    trim: np.ndarray,
    level: np.ndarray,
    reach: np.ndarray,
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
        stands: (N,) bool updated: whether it stands on the ground.
        filters: (N, 12) updated, as `shown`, of the wrench of the wings.
        trim: (N, 3) updated: filtered force of wings beyond that in trim, world [N].
        level: (N, 3) output: torque of wings whose elevons are level, body [N m].
        reach: (N, 3) output: largest torque of the elevons in the air that meets them [N m].
        force, torque: (N, 3) output: disturbance, world [N] and body [N m].
    """
    for i in range(len(status)):
        vehicle = status[i]
        for k in range(models[i].actuators):
            if actuators[i, k].kind == SURFACE:
                position[i, k] = servo.act(actuators[i, k], commands[i, k], position[i, k], dt)[0]
        if wings[i].lift > 0.0 and measured(shown[i]):
            stands[i] = _measure_one(
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
                stands[i],
                filters[i],
                trim[i],
                level[i],
                reach[i],
                force[i],
                torque[i],
            )
        else:
            stands[i] = False
            filters[i], trim[i], level[i], reach[i], vehicle.wind[:] = 0.0, 0.0, 0.0, 0.0, 0.0
            for axis in range(3):
                force[i, axis], torque[i, axis] = shown[i, 6 + axis], shown[i, 9 + axis]
