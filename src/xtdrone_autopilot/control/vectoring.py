"""Control allocation to tilted rotors and to the servos that tilt rotors (thrust vectoring).

Each step linearises force and torque about the last thrusts and joint positions, and changes these
by weighted least squares within the actuators' limits. The actuator that exceeds its limit most is
fixed there, and the rest is solved again: the redistributed pseudo-inverse of T. A. Johansen and
T. I. Fossen, "Control allocation - A survey" (2013). Redundant directions, such as opposite tilts
of two arms, are kept small.
"""

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import ROTOR, SERVO, SURFACE
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.effectiveness import (
    commanded,
    fill,
    in_hover,
    largest_thrust,
    of_each,
    place,
    rank,
)
from xtdrone_dynamics.abilities.vehicle_type import (
    MULTICOPTER,
    TILTROTOR,
    vehicle_types,
    vtol_types,
)
from xtdrone_dynamics.compiled import Kernel, Record, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.forces import servo
from xtdrone_dynamics.shapes import Vector

from ..interfaces import Estimator
from ..state.vehicle_status import HOVERS, ON_WINGS
from .vector import clamp

# Weights of the errors of force and torque, relative to the authority of all actuators together:
# roll and pitch go before height, yaw and side force come last.
WEIGHTS = np.array([0.3, 0.3, 1.0, 30.0, 30.0, 0.03])
MIN_WEIGHT = 1e-5  # weight of an actuator's deflection
CHANGE_WEIGHT = 3e-3  # weight of an actuator's change in one step, so that the steps converge
MAX_JOINT_STEP = 0.1  # largest change of a joint position in one linearisation [rad] or [m]
SMALL_TILT = 0.25  # largest tilt of a tiltrotor's rotors that only yaws it in hover [rad]
LEAD_S = 0.015  # servos with a larger time constant are commanded beyond their target [s]
MAX_LEAD = 4.0  # largest factor of that overshoot
# Smallest thrust, over the largest, in whose slipstream elevons count: without any, thrust that
# only they can balance would never begin.
MIN_WASH = 0.05
MIN_THRUST_FRACTION = 0.3  # thrust over weight below which torque fades without MC_AIRMODE


@njit
def torque_fraction(vehicle: Record, params: Record) -> float:
    """Returns the fraction of the torque that is followed.

    Without MC_AIRMODE, torque fades with the thrust, so that a vehicle that lands does not lift off
    by levelling itself.
    """
    if params.MC_AIRMODE != 0:
        return 1.0
    return clamp(vehicle.sp_thrust / (MIN_THRUST_FRACTION * vehicle.mass * GRAVITY), 0.0, 1.0)


@njit
def _force_and_torque(vehicle: Record, params: Record, set_points: np.ndarray) -> None:
    """Writes force and torque set-points (6,) to set_points [N], [N m]."""
    fraction = torque_fraction(vehicle, params)
    set_points[0], set_points[1], set_points[2] = (
        vehicle.sp_side_force[0],
        vehicle.sp_side_force[1],
        vehicle.sp_thrust,
    )
    for k in range(3):
        set_points[3 + k] = fraction * vehicle.sp_torque[k]


@njit
def _normal_equations(
    matrix: np.ndarray, weight: np.ndarray, scale: np.ndarray, error: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the normal equations of the actuators' changes: matrix (A, A), right side (A,).

    The changes are relative to `scale`.
    """
    count = len(scale)
    left, right = np.zeros((count, count)), np.zeros(count)
    for i in range(count):
        left[i, i] = MIN_WEIGHT + CHANGE_WEIGHT if scale[i] > 0.0 else 1.0
        right[i] = -MIN_WEIGHT * values[i] / scale[i] if scale[i] > 0.0 else 0.0
        for axis in range(6):
            row = weight[axis] * matrix[axis, i] * scale[i]
            right[i] += row * error[axis]
            for j in range(count):
                left[i, j] += row * matrix[axis, j] * scale[j]
    return left, right


@njit
def solve_within(
    left: np.ndarray, right: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Solves left x = right for x (A,), fixing in turn the element that exceeds its limit most."""
    left, right = left.copy(), right.copy()
    solution = np.linalg.solve(left, right)
    for _ in range(len(right)):
        worst, excess = -1, 1e-9
        for k in range(len(right)):
            beyond = max(low[k] - solution[k], solution[k] - high[k])
            if beyond > excess:
                worst, excess = k, beyond
        if worst < 0:
            break
        left[worst, :] = 0.0
        left[worst, worst] = 1.0
        right[worst] = clamp(solution[worst], low[worst], high[worst])
        solution = np.linalg.solve(left, right)
    return solution


@njit
def allocate(
    vehicle: Record,
    params: Record,
    models: np.ndarray,
    bodies: np.ndarray,
    joints: np.ndarray,
    actuators: np.ndarray,
    half_wings: np.ndarray,
    air: Vector,
    weight: np.ndarray,
    scale: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    values: np.ndarray,
) -> None:
    """Steps thrusts and joint positions of one vehicle towards its force and torque set-points.

    Args:
        vehicle, params: Records of VEHICLE_STATUS and of the parameters.
        models, bodies, joints, actuators, half_wings: Records of the vehicle in a FleetModel, with
            a first axis of length 1.
        air: Velocity relative to the air, body [m/s], in which half wings work.
        weight: (6,) weights of the errors of force and torque.
        scale: (A,) range of each actuator [N], [rad] or [m]; 0 = it is not allocated.
        low, high: (A,) limits [N], [rad] or [m].
        values: (A,) thrust [N] or joint position [rad] or [m], updated.
    """
    count = len(values)
    poses = np.zeros((1, bodies.shape[1], 7))
    poses[:, :, 6] = 1.0
    joint_pos, thrust = np.zeros((1, joints.shape[1])), np.zeros((1, count))
    wash = np.zeros((1, count))
    for k in range(count):
        if actuators[0, k].kind == ROTOR:
            thrust[0, k] = wash[0, k] = values[k]
            if models[0].half_wings > 0:
                wash[0, k] = max(values[k], MIN_WASH * scale[k])
        elif actuators[0, k].kind == SERVO and scale[k] > 0.0:
            joint_pos[0, actuators[0, k].joint] = values[k]
    matrix = np.zeros((1, 6, count))
    place(models, bodies, joints, joint_pos, poses)
    fill(models, bodies, joints, actuators, half_wings, poses, wash, air[0], air[1], air[2], matrix)
    error = np.zeros(6)
    _force_and_torque(vehicle, params, error)
    for axis in range(6):
        for k in range(count):
            elevon = values[k] if actuators[0, k].kind == SURFACE else 0.0
            error[axis] -= matrix[0, axis, k] * (thrust[0, k] + elevon)
    left, right = _normal_equations(matrix[0], weight, scale, error, values)
    min_change, max_change = np.zeros(count), np.zeros(count)
    for k in range(count):
        if scale[k] > 0.0:
            step = high[k] if actuators[0, k].kind == ROTOR else MAX_JOINT_STEP
            min_change[k] = max(low[k] - values[k], -step) / scale[k]
            max_change[k] = min(high[k] - values[k], step) / scale[k]
    change = solve_within(left, right, min_change, max_change)
    for k in range(count):
        values[k] = clamp(values[k] + scale[k] * change[k], low[k], high[k])


@njit
def lead(actuator: Record, position: float, target: float) -> float:
    """Returns a position command beyond `target` that compensates the lag of a servo."""
    ahead = clamp(actuator.time_constant / LEAD_S, 1.0, MAX_LEAD)
    return clamp(position + ahead * (target - position), actuator.joint_lower, actuator.joint_upper)


@njit
def tilt_forwards(
    vehicle: Record,
    actuators: np.ndarray,
    weight: np.ndarray,
    forward_weight: float,
    scale: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    values: np.ndarray,
    position: np.ndarray,
) -> None:
    """Prepares the allocation of a tiltrotor, whose servos are slower than the control loops.

    Limits keep each servo near its present position. The force along x counts except for small
    tilts in hover, which only yaw the vehicle.

    Args:
        vehicle: Record of VEHICLE_STATUS.
        actuators: (A,) records of the vehicle in a FleetModel.
        weight: (6,) see allocate(); the weight of the force along x is written.
        forward_weight: Weight of the force along x where it counts.
        scale: (A,) see allocate().
        low, high: (A,) limits; those of servos are written.
        values: (A,) see allocate(); in fixed-wing flight the tilts are written.
        position: (A,) positions of the servos [rad].
    """
    max_tilt = 0.0
    for k in range(len(values)):
        actuator = actuators[k]
        if actuator.kind != SERVO or scale[k] <= 0.0:
            continue
        max_tilt = max(max_tilt, position[k])
        bottom = max(
            actuator.zero_position_armed + actuator.input_scaling * actuator.lower,
            actuator.joint_lower,
        )
        top = min(
            actuator.zero_position_armed + actuator.input_scaling * actuator.upper,
            actuator.joint_upper,
        )
        top = clamp(vehicle.sp_tilt, bottom, top)
        if vehicle.vtol_state == ON_WINGS:
            values[k] = top
        high[k] = max(min(top, position[k] + MAX_JOINT_STEP), position[k] - MAX_JOINT_STEP)
        low[k] = min(max(bottom, position[k] - MAX_JOINT_STEP), position[k] + MAX_JOINT_STEP)
        values[k] = clamp(values[k], low[k], high[k])
    forward_counts = (
        vehicle.vtol_state != HOVERS or vehicle.sp_side_force[0] > 0.0 or max_tilt > SMALL_TILT
    )
    weight[0] = forward_weight if forward_counts else 0.0


class Vectoring(Memory):
    """Thrust vectoring of a fleet: limits, values and modelled servo positions of its actuators.

    Attributes:
        fleet: The vehicles.
        used: (N,) bool, multicopters that are fully actuated or tilt rotors by servos.
        any: Whether any vehicle is used.
        tiltrotor: (N,) bool.
        forward_weight: (N,) see tilt_forwards().
        weight, scale, low, high, values: See allocate(), with the vehicle as first axis.
        position: (N, A) positions of the servos, by a model of their lag [rad] or [m].
    """

    MEMORY = ("low", "high", "weight", "values", "position")

    def __init__(self, fleet: FleetModel) -> None:
        """Starts with all rotors of the fleet in use."""
        self.fleet = fleet
        actuator, matrices = fleet.actuator, in_hover(fleet)
        self._largest = largest_thrust(fleet)
        tilts = np.isin(actuator["kind"], (SERVO, SURFACE)) & (abs(matrices).max(axis=1) > 0.0)
        steered = tilts.any(axis=1) | (np.array(list(of_each(rank, matrices))) == 6)
        self.used = steered & (vehicle_types(fleet) == MULTICOPTER)
        self.any = bool(self.used.any())
        ends = np.stack(
            [
                actuator["zero_position_armed"] + actuator["input_scaling"] * actuator[end]
                for end in ("lower", "upper")
            ]
        )
        self.low = np.where(tilts, np.maximum(ends.min(axis=0), actuator["joint_lower"]), 0.0)
        self.high = np.where(
            tilts, np.minimum(ends.max(axis=0), actuator["joint_upper"]), self._largest
        )
        self.scale = np.where(tilts, np.maximum(-self.low, self.high), self._largest)
        size = np.linalg.norm(matrices * self.scale[:, None], axis=2)
        rows = np.array(list(of_each(commanded, matrices)))
        self.weight = np.where(rows, WEIGHTS / np.where(rows, size, 1.0) ** 2, 0.0)
        self.tiltrotor = vtol_types(fleet) == TILTROTOR
        self._matrices, self._whole_weight = matrices, self.weight.copy()
        self.forward_weight = WEIGHTS[0] / np.maximum(size[:, 0], 1e-9) ** 2
        self.values, self.position = np.zeros(actuator.shape), np.zeros(actuator.shape)
        self.remember_start()

    def use_rotors(self, i: int, used: np.ndarray) -> None:
        """Allocates vehicle i to the rotors in used, (A,) bool.

        Where these leave it without a direction, it no longer pushes sideways.
        """
        rotors = self.fleet.rotor_mask[i]
        self.high[i, rotors] = np.where(used, self._largest[i], 0.0)[rotors]
        if self.used[i]:
            whole = rank(np.where(used | ~rotors, self._matrices[i], 0.0)) == 6
            self.weight[i, :2] = self._whole_weight[i, :2] if whole else 0.0

    def step(
        self,
        vector_fleet: Kernel,
        status: np.ndarray,
        parameters: np.ndarray,
        estimator: Estimator,
        dt: float,
        thrust: np.ndarray,
        commands: np.ndarray,
    ) -> None:
        """Writes thrusts (N, A) [N] and servo commands (N, A) of the vehicles in use.

        Args:
            vector_fleet: allocation.vector_fleet(), or one with another optimum.
            status, parameters: (N,) records of VEHICLE_STATUS and of the parameters.
            estimator: Their state.
            dt: Length of the step [s].
            thrust, commands: Written.
        """
        if not self.any:
            return
        fleet = self.fleet
        vector_fleet(
            status,
            parameters,
            estimator.records,
            fleet.vehicle,
            fleet.body,
            fleet.joint,
            fleet.actuator,
            fleet.half_wing,
            self.used,
            self.tiltrotor,
            self.forward_weight,
            self.weight,
            self.scale,
            self.low,
            self.high,
            self.values,
            self.position,
            dt,
            thrust,
            commands,
        )


@njit
def command_servos(
    actuators: np.ndarray,
    scale: np.ndarray,
    values: np.ndarray,
    position: np.ndarray,
    dt: float,
    commands: np.ndarray,
) -> None:
    """Writes the commands (A,) of one vehicle's servos; advances their lag model by dt [s]."""
    for k in range(len(values)):
        actuator = actuators[k]
        if actuator.kind != ROTOR and scale[k] > 0.0:
            target = lead(actuator, position[k], values[k])
            position[k] = servo.follow(
                position[k], target, actuator.rate, actuator.time_constant, dt
            )
            commands[k] = clamp(
                (target - actuator.zero_position_armed) / actuator.input_scaling,
                actuator.lower,
                actuator.upper,
            )
