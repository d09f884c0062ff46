"""Allocation of force and torque to rotor commands.

The mixer is the pseudo-inverse of the effectiveness matrix in hover. It gives rotor thrusts;
XTDrone (3) turns them into rotor speeds, and those into commands 0..1. Fully actuated vehicles, and
those whose servos tilt rotors, are allocated by vectoring.py.
"""

import math
from typing import Any

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.effectiveness import effectiveness, largest_thrust
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER, lifting_rotors
from xtdrone_dynamics.compiled import fleet_kernel, njit

from ..state.vehicle_status import NO_SET_POINT, ON_WINGS
from .vector import clamp
from .vectoring import Vectoring, allocate, command_servos, tilt_forwards

YAW_THRUST_MARGIN = 0.15  # share of the rotor's range that yaw may take from the collective
IDLE_COMMAND = 0.01  # of an armed rotor without a set-point
SWEEPS = 40  # of the allocation for a vehicle with a failed rotor
# Weights in that allocation: of the errors of collective thrust, roll, pitch and yaw torque, each
# row of the effectiveness matrix normalised; and of each rotor's thrust.
WEIGHTS = np.array([1.0, 30.0, 30.0, 0.05])
MIN_WEIGHT = 1e-4


@njit
def tilt_share(tilt: float, carried: float) -> float:
    """Share of a rotor's thrust for roll and pitch that leaves it above zero.

    Args:
        tilt: That thrust [N].
        carried: Its part of the collective [N].
    """
    return max(carried, 0.0) / -tilt if tilt < 0.0 else 1.0


@njit
def thrust_range(
    lowest: float, highest: float, yaw_peak: float, smallest_max: float, share: float
) -> tuple[float, float, float]:
    """How far roll and pitch are followed, and the limits of the collective then.

    The collective is raised for roll and pitch only with MC_AIRMODE: without it a vehicle that
    takes the thrust away as it lands does not lift itself off by righting itself.

    Args:
        lowest, highest: Of all rotors' thrusts for roll and pitch, and 0 [N].
        yaw_peak: Largest thrust for yaw [N].
        smallest_max: Of the rotors' largest thrusts [N].
        share: The least tilt_share() without MC_AIRMODE, 1 with it.

    Returns:
        (share of roll and pitch, least and largest thrust of each rotor [N]).
    """
    span = smallest_max / (highest - lowest) if highest - lowest > smallest_max else 1.0
    span = min(span, share)
    low = -lowest * span
    high = max(smallest_max - highest * span - min(yaw_peak, YAW_THRUST_MARGIN * smallest_max), low)
    return span, low, high


@njit
def yaw_share(yaw: float, thrust: float, most: float) -> float:
    """Share of a rotor's thrust for yaw [N] that the range of its thrust leaves."""
    room = max(most - thrust, 0.0) if yaw > 0.0 else max(thrust, 0.0)
    return room / abs(yaw) if abs(yaw) > 1e-9 else 1.0


@njit
def _allocate_one(v, q, mixer, t_max, n_rotors, thrust):
    """Thrust of each rotor [N]. Priority: roll and pitch, collective, yaw."""
    lowest, highest, yaw_peak, smallest_max, share = 0.0, 0.0, 0.0, math.inf, 1.0
    for r in range(n_rotors):
        tilt = mixer[r, 3] * v.sp_torque[0] + mixer[r, 4] * v.sp_torque[1]
        thrust[r] = tilt
        lowest = min(lowest, tilt)
        highest = max(highest, tilt)
        yaw_peak = max(yaw_peak, abs(mixer[r, 5] * v.sp_torque[2]))
        smallest_max = min(smallest_max, t_max[r])
        if q.MC_AIRMODE == 0:
            share = min(share, tilt_share(tilt, mixer[r, 2] * v.sp_thrust))
    span, low, high = thrust_range(lowest, highest, yaw_peak, smallest_max, share)
    # Yaw uses the thrust range that is left.
    share = 1.0
    for r in range(n_rotors):
        thrust[r] = span * thrust[r] + clamp(mixer[r, 2] * v.sp_thrust, low, high)
        share = min(share, yaw_share(mixer[r, 5] * v.sp_torque[2], thrust[r], t_max[r]))
    for r in range(n_rotors):
        thrust[r] = clamp(thrust[r] + share * mixer[r, 5] * v.sp_torque[2], 0.0, t_max[r])


@njit
def rotor_command(
    thrust: float, motor_constant: float, scaling: float, zero: float, weight: float
) -> float:
    """Command of a rotor for a thrust [N]; see Rotor for the constants.

    Args:
        weight: Share of it that counts, hover_weight.
    """
    command = (math.sqrt(thrust / motor_constant) - zero) / scaling
    return clamp(weight * command, IDLE_COMMAND, 1.0)


@njit
def _allocate_within(v, gain, hessian, t_max, used, n_rotors, thrust):
    """Thrust of each rotor [N] with a failed rotor: optimum within the thrust limits.

    A hexarotor with one failed rotor hovers with the opposite rotor stopped, where the
    pseudo-inverse would give negative thrusts. This minimises the weighted squares of the
    errors of thrust and torque, by coordinate descent from the last step's values in `thrust`.
    """
    for _ in range(SWEEPS):
        for r in range(n_rotors):
            if not used[r]:
                thrust[r] = 0.0
                continue
            slope = gain[r, 0] * v.sp_thrust
            for k in range(3):
                slope += gain[r, k + 1] * v.sp_torque[k]
            for s in range(n_rotors):
                slope -= hessian[r, s] * thrust[s]
            thrust[r] = clamp(thrust[r] + slope / hessian[r, r], 0.0, t_max[r])


@njit
def vector_fleet(
    status: np.ndarray,
    parameters: np.ndarray,
    vehicle: np.ndarray,
    body: np.ndarray,
    joints: np.ndarray,
    actuator: np.ndarray,
    half_wings: np.ndarray,
    used: np.ndarray,
    tiltrotor: np.ndarray,
    forward_weight: np.ndarray,
    weight: np.ndarray,
    scale: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    values: np.ndarray,
    position: np.ndarray,
    dt: float,
    thrust: np.ndarray,
    commands: np.ndarray,
) -> None:
    """Thrusts (N, A) and servo commands of the vehicles of vectoring.Vectoring."""
    for i in range(status.shape[0]):
        if not used[i]:
            continue
        flies = status[i].armed and status[i].sp_kind != NO_SET_POINT
        if tiltrotor[i]:
            tilt_forwards(
                status[i],
                actuator[i],
                weight[i],
                forward_weight[i],
                scale[i],
                low[i],
                high[i],
                values[i],
                position[i],
            )
        if flies and status[i].vtol_state == ON_WINGS:
            pass  # the throttle drives the rotors
        elif flies:
            allocate(
                status[i],
                parameters[i],
                vehicle[i : i + 1],
                body[i : i + 1],
                joints[i : i + 1],
                actuator[i : i + 1],
                half_wings[i : i + 1],
                weight[i],
                scale[i],
                low[i],
                high[i],
                values[i],
            )
        else:
            values[i] = 0.0
        for r in range(vehicle[i].rotors):
            thrust[i, r] = values[i, r]
        command_servos(actuator[i], scale[i], values[i], position[i], dt, commands[i])


@fleet_kernel
def mix_fleet(
    status: np.ndarray,
    parameters: np.ndarray,
    actuator: np.ndarray,
    mixer: np.ndarray,
    gain: np.ndarray,
    hessian: np.ndarray,
    used: np.ndarray,
    whole: np.ndarray,
    vectored: np.ndarray,
    t_max: np.ndarray,
    n_rotors: np.ndarray,
    thrust: np.ndarray,
    commands: np.ndarray,
) -> None:
    """Commands (N, A) of the rotors; the arguments are those of Mixer."""
    for i in range(status.shape[0]):
        v = status[i]
        if v.vehicle_type != MULTICOPTER:
            continue
        if not v.armed:
            for r in range(commands.shape[1]):
                commands[i, r] = 0.0
            continue
        if v.sp_kind == NO_SET_POINT:
            for r in range(n_rotors[i]):
                commands[i, r] = IDLE_COMMAND
            continue
        if whole[i] and not vectored[i]:
            _allocate_one(v, parameters[i], mixer[i], t_max[i], n_rotors[i], thrust[i])
        elif not vectored[i]:
            _allocate_within(v, gain[i], hessian[i], t_max[i], used[i], n_rotors[i], thrust[i])
        for r in range(n_rotors[i]):
            a = actuator[i, r]
            commands[i, r] = rotor_command(
                thrust[i, r],
                a.motor_constant,
                a.input_scaling,
                a.zero_position_armed,
                v.hover_weight,
            )


class Mixer(Memory):
    """Mixer of a fleet; implements parts.Mixer."""

    MEMORY = ("_mixer", "_gain", "_hessian", "_used", "_whole", "_thrust", "_vectoring")

    def __init__(self, fleet: FleetModel):
        """fleet: The vehicles; all the rotors that carry them in hover are in use."""
        self._fleet, self._lifting = fleet, lifting_rotors(fleet)
        n, width = fleet.actuator.shape
        self._mixer, self._gain = np.zeros((n, width, 6)), np.zeros((n, width, 4))
        self._hessian = np.zeros((n, width, width))
        self._used = np.zeros((n, width), dtype=np.bool_)
        self._whole = np.ones(n, dtype=np.bool_)
        self._effectiveness = effectiveness(fleet)
        self._vectoring = Vectoring(fleet)
        for i in range(fleet.n):
            self.use_rotors(i, fleet.rotor_mask[i])
        self._t_max = np.where(fleet.rotor_mask & ~self._lifting, np.inf, largest_thrust(fleet))
        self._n_rotors = fleet.n_rotors
        self._thrust = np.zeros((n, width))
        self.remember_start()

    def use_rotors(self, i: int, used: np.ndarray) -> None:
        """Allocates vehicle i to those of used (A,) bool only that carry it in hover."""
        used = used & self._lifting[i]
        matrix = self._effectiveness[i, 2:]
        self._mixer[i] = 0.0
        self._mixer[i, used, 2:] = np.linalg.pinv(matrix[:, used])
        self._used[i] = used
        self._whole[i] = (used == self._lifting[i]).all()
        self._vectoring.use_rotors(i, used)
        count = max(self._fleet.vehicle["rotors"][i], 1)
        size = np.sqrt((matrix**2).sum(axis=1) / count)
        weights = WEIGHTS / np.maximum(size, 1e-9) ** 2
        self._gain[i] = matrix.T * weights
        self._hessian[i] = (matrix.T * weights) @ matrix
        self._hessian[i].flat[:: matrix.shape[1] + 1] += MIN_WEIGHT

    def step(
        self,
        status: np.ndarray,
        parameters: np.ndarray,
        estimator: Any,
        dt: float,
        commands: np.ndarray,
    ) -> None:
        """Writes commands (N, A): rotors 0..1, zero where disarmed; servos that tilt them -1..1."""
        f, u = self._fleet, self._vectoring
        if u.any:
            vector_fleet(
                status,
                parameters,
                f.vehicle,
                f.body,
                f.joint,
                f.actuator,
                f.half_wing,
                u.used,
                u.tiltrotor,
                u.forward_weight,
                u.weight,
                u.scale,
                u.low,
                u.high,
                u.values,
                u.position,
                dt,
                self._thrust,
                commands,
            )
        mix_fleet(
            status,
            parameters,
            self._fleet.actuator,
            self._mixer,
            self._gain,
            self._hessian,
            self._used,
            self._whole,
            u.used,
            self._t_max,
            self._n_rotors,
            self._thrust,
            commands,
        )
