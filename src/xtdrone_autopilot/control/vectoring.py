"""Allocation of force and torque to rotors that lean and to the servos that tilt them.

Each step linearises force and torque about the last thrusts and joint positions, and changes these
by weighted least squares within the actuators' limits: what would exceed a limit most is held
there, and the rest solved again (redistributed pseudo-inverse; Johansen and Fossen, "Control
allocation - A survey", 2013). What that leaves free, as the tilt of opposite arms, is kept small.
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
    place,
    rank,
)
from xtdrone_dynamics.abilities.vehicle_type import (
    MULTICOPTER,
    TILTROTOR,
    vehicle_types,
    vtol_types,
)
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.forces import servo

from ..state.vehicle_status import HOVERS, ON_WINGS
from .vector import clamp

# Weights of the errors of force and torque, in units of what all actuators together can command,
# and of the actuators themselves: roll and pitch before height, yaw and side force last.
WEIGHTS = np.array([0.3, 0.3, 1.0, 30.0, 30.0, 0.03])
MIN_WEIGHT = 1e-5
CHANGE_WEIGHT = 3e-3  # of the changes of one step, so that they converge
STEP = 0.1  # largest change of a joint position in one linearisation [rad] or [m]
SMALL_TILT = 0.25  # of a tiltrotor's rotors, in hover [rad]
LEAD_S = 0.015  # a servo that lags by more is commanded beyond its target
MAX_LEAD = 4.0
FULL_AUTHORITY = 0.3  # share of the weight below which torque fades without MC_AIRMODE


@njit
def _wanted(v, q, out):
    """Force and torque set-points (6,).

    Without MC_AIRMODE a vehicle that takes its thrust away does not lift itself by righting itself.
    """
    share = 1.0
    if q.MC_AIRMODE == 0:
        share = clamp(v.sp_thrust / (FULL_AUTHORITY * v.mass * GRAVITY), 0.0, 1.0)
    out[0], out[1], out[2] = v.sp_side_force[0], v.sp_side_force[1], v.sp_thrust
    for k in range(3):
        out[3 + k] = share * v.sp_torque[k]


@njit
def _normal_equations(matrix, weight, scale, error, values):
    """Left (A, A) and right (A,) side for the changes of all actuators, over their scales."""
    n = len(scale)
    left, right = np.zeros((n, n)), np.zeros(n)
    for a in range(n):
        left[a, a] = MIN_WEIGHT + CHANGE_WEIGHT if scale[a] > 0.0 else 1.0
        right[a] = -MIN_WEIGHT * values[a] / scale[a] if scale[a] > 0.0 else 0.0
        for k in range(6):
            row = weight[k] * matrix[k, a] * scale[a]
            right[a] += row * error[k]
            for b in range(n):
                left[a, b] += row * matrix[k, b] * scale[b]
    return left, right


@njit
def _solve_within(left, right, low, high):
    """The solution (A,) of left x = right; the farthest beyond a limit is held there, in turn."""
    left, right = left.copy(), right.copy()
    found = np.linalg.solve(left, right)
    for _ in range(len(right)):
        worst, excess = -1, 1e-9
        for a in range(len(right)):
            beyond = max(low[a] - found[a], found[a] - high[a])
            if beyond > excess:
                worst, excess = a, beyond
        if worst < 0:
            break
        left[worst, :] = 0.0
        left[worst, worst] = 1.0
        right[worst] = clamp(found[worst], low[worst], high[worst])
        found = np.linalg.solve(left, right)
    return found


@njit
def allocate(
    v: np.void,
    q: np.void,
    vehicle: np.ndarray,
    body: np.ndarray,
    joints: np.ndarray,
    actuator: np.ndarray,
    half_wings: np.ndarray,
    weight: np.ndarray,
    scale: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    values: np.ndarray,
) -> None:
    """Thrusts and joint positions of one vehicle for its set-points of force and torque.

    Args:
        v, q: Its records of VEHICLE_STATUS and of the parameters.
        vehicle, body, joints, actuator, half_wings: Its records, with a first axis of length 1.
        weight: (6,) of the errors of force and torque.
        scale: (A,) range of each actuator; 0 for those that are not allocated.
        low, high: (A,) limits [N], [rad] or [m].
        values: (A,) thrust [N] or joint position, in and out.
    """
    n = len(values)
    poses = np.zeros((1, body.shape[1], 7))
    poses[:, :, 6] = 1.0
    places, thrust = np.zeros((1, joints.shape[1])), np.zeros((1, n))
    for a in range(n):
        if actuator[0, a].kind == ROTOR:
            thrust[0, a] = values[a]
        elif actuator[0, a].kind == SERVO and scale[a] > 0.0:
            places[0, actuator[0, a].joint] = values[a]
    matrix = np.zeros((1, 6, n))
    place(vehicle, body, joints, places, poses)
    fill(vehicle, body, joints, actuator, half_wings, poses, thrust, 0.0, 0.0, 0.0, matrix)
    error = np.zeros(6)
    _wanted(v, q, error)
    for k in range(6):
        for a in range(n):
            elevon = values[a] if actuator[0, a].kind == SURFACE else 0.0
            error[k] -= matrix[0, k, a] * (thrust[0, a] + elevon)
    left, right = _normal_equations(matrix[0], weight, scale, error, values)
    least, most = np.zeros(n), np.zeros(n)
    for a in range(n):
        if scale[a] > 0.0:
            step = high[a] if actuator[0, a].kind == ROTOR else STEP
            least[a] = max(low[a] - values[a], -step) / scale[a]
            most[a] = min(high[a] - values[a], step) / scale[a]
    change = _solve_within(left, right, least, most)
    for a in range(n):
        values[a] = clamp(values[a] + scale[a] * change[a], low[a], high[a])


@njit
def lead(a: np.void, position: float, target: float) -> float:
    """Where to command a servo at `position` so that it gets to `target` sooner than it lags."""
    ahead = clamp(a.time_constant / LEAD_S, 1.0, MAX_LEAD)
    return clamp(position + ahead * (target - position), a.joint_lower, a.joint_upper)


@njit
def tilt_forwards(
    v: np.void,
    actuator: np.ndarray,
    weight: np.ndarray,
    forward_weight: float,
    scale: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    values: np.ndarray,
    position: np.ndarray,
) -> None:
    """What differs for a tiltrotor, which tilts its rotors far and more slowly than its loops are.

    Each servo is allocated near where it is; the force along x counts but for small tilts in
    hover, which only turn the nose.

    Args:
        v: Record of VEHICLE_STATUS.
        actuator: (A,) of the vehicle.
        weight: (6,) as of allocate(); that of the force along x is written.
        forward_weight: That of a force along x which counts.
        scale: (A,) as of allocate().
        low, high: (A,) limits; those of servos are written.
        values: (A,); on the wings the tilts are written.
        position: (A,) where the servos are [rad].
    """
    most = 0.0
    for k in range(len(values)):
        a = actuator[k]
        if a.kind != SERVO or scale[k] <= 0.0:
            continue
        most = max(most, position[k])
        bottom = max(a.zero_position_armed + a.input_scaling * a.lower, a.joint_lower)
        top = min(a.zero_position_armed + a.input_scaling * a.upper, a.joint_upper)
        top = clamp(v.sp_tilt, bottom, top)
        if v.vtol_state == ON_WINGS:
            values[k] = top
        high[k] = max(min(top, position[k] + STEP), position[k] - STEP)
        low[k] = min(max(bottom, position[k] - STEP), position[k] + STEP)
        values[k] = clamp(values[k], low[k], high[k])
    counts = v.vtol_state != HOVERS or v.sp_side_force[0] > 0.0 or most > SMALL_TILT
    weight[0] = forward_weight if counts else 0.0


class Vectoring(Memory):
    """Which vehicles are allocated so, and their actuators' limits, values and servo positions.

    Attributes:
        fleet: The vehicles.
        any: Whether any vehicle is used.
        used: (N,) bool, a multicopter that is fully actuated, or whose servos tilt its rotors.
        tiltrotor: (N,) bool.
        forward_weight: (N,) of tilt_forwards().
        weight, scale, low, high, values: As of allocate(), with the vehicle as first axis.
        position: (N, A) where the servos are by a model of their lag [rad] or [m].
    """

    MEMORY = ("low", "high", "weight", "values", "position")

    def __init__(self, fleet: FleetModel):
        """fleet: The vehicles; all their rotors are in use."""
        self.fleet = fleet
        a, matrix = fleet.actuator, in_hover(fleet)
        self._largest = largest_thrust(fleet)
        tilts = np.isin(a["kind"], (SERVO, SURFACE)) & (abs(matrix).max(axis=1) > 0.0)
        steered = tilts.any(axis=1) | (np.array([rank(one) for one in matrix]) == 6)
        self.used = steered & (vehicle_types(fleet) == MULTICOPTER)
        self.any = bool(self.used.any())
        ends = np.stack(
            [a["zero_position_armed"] + a["input_scaling"] * a[end] for end in ("lower", "upper")]
        )
        self.low = np.where(tilts, np.maximum(ends.min(axis=0), a["joint_lower"]), 0.0)
        self.high = np.where(tilts, np.minimum(ends.max(axis=0), a["joint_upper"]), self._largest)
        self.scale = np.where(tilts, np.maximum(-self.low, self.high), self._largest)
        size = np.linalg.norm(matrix * self.scale[:, None], axis=2)
        rows = np.array([commanded(one) for one in matrix])
        self.weight = np.where(rows, WEIGHTS / np.where(rows, size, 1.0) ** 2, 0.0)
        self.tiltrotor = vtol_types(fleet) == TILTROTOR
        self.forward_weight = WEIGHTS[0] / np.maximum(size[:, 0], 1e-9) ** 2
        self.values, self.position = np.zeros(a.shape), np.zeros(a.shape)
        self.remember_start()

    def use_rotors(self, i: int, used: np.ndarray) -> None:
        """Allocates vehicle i to the rotors of used (A,) bool only."""
        rotors = self.fleet.rotor_mask[i]
        self.high[i, rotors] = np.where(used, self._largest[i], 0.0)[rotors]


@njit
def command_servos(
    actuator: np.ndarray,
    scale: np.ndarray,
    values: np.ndarray,
    position: np.ndarray,
    dt: float,
    commands: np.ndarray,
) -> None:
    """Commands (A,) of one vehicle's servos, ahead of their lag; advances their model by dt [s]."""
    for k in range(len(values)):
        a = actuator[k]
        if a.kind != ROTOR and scale[k] > 0.0:
            ahead = lead(a, position[k], values[k])
            position[k] = servo.follow(position[k], ahead, a.rate, a.time_constant, dt)
            commands[k] = clamp((ahead - a.zero_position_armed) / a.input_scaling, a.lower, a.upper)
