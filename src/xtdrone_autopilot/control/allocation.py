"""Allocation of force and torque to rotor commands.

The mixer is the pseudo-inverse of the effectiveness matrix in hover. It gives rotor thrusts;
XTDrone (3) turns them into rotor speeds, and those into commands 0..1. If the matrix has rank six
(fully actuated), all six rows are used; otherwise only collective thrust and the three torques.
"""

import math
from typing import Any

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.snapshot import Memory
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.effectiveness import effectiveness, largest_thrust, rank

from ..vehicle_status import NO_SET_POINT
from .vector import clamp

YAW_THRUST_MARGIN = 0.15  # share of the rotor's range that yaw may take from the collective
IDLE_COMMAND = 0.01  # of an armed rotor without a set-point
SWEEPS = 40  # of the allocation for a vehicle with a failed rotor
# Weights in that allocation: of the errors of collective thrust, roll, pitch and yaw torque, each
# row of the effectiveness matrix normalised; and of each rotor's thrust.
WEIGHTS = np.array([1.0, 30.0, 30.0, 0.05])
LEAST_WEIGHT = 1e-4


@njit
def _rest(v, row, share):
    """Thrust of a rotor for share of the yaw torque, plus side force if fully actuated [N]."""
    return share * row[5] * v.sp_torque[2] + share * (row[0] * v.sp_side_force[0]
                                                      + row[1] * v.sp_side_force[1])


@njit
def _share_of_tilt(v, mixer, n_rotors, thrust):
    """Share of the roll and pitch thrusts (A,) that leaves no rotor below zero [N]."""
    share = 1.0
    for r in range(n_rotors):
        if thrust[r] < 0.0:
            share = min(share, max(mixer[r, 2] * v.sp_thrust, 0.0) / -thrust[r])
    return share


@njit
def _allocate_one(v, q, mixer, t_max, n_rotors, thrust):
    """Thrust of each rotor [N]. Priority: roll and pitch, collective, yaw and side force.

    The collective is raised for roll and pitch only with MC_AIRMODE: without it a vehicle that
    takes the thrust away as it lands does not lift itself off by righting itself.
    """
    lowest, highest, yaw_peak, smallest_max = 0.0, 0.0, 0.0, math.inf
    for r in range(n_rotors):
        tilt = mixer[r, 3] * v.sp_torque[0] + mixer[r, 4] * v.sp_torque[1]
        thrust[r] = tilt
        lowest = min(lowest, tilt)
        highest = max(highest, tilt)
        yaw_peak = max(yaw_peak, abs(_rest(v, mixer[r], 1.0)))
        smallest_max = min(smallest_max, t_max[r])
    span = 1.0
    if highest - lowest > smallest_max:
        span = smallest_max / (highest - lowest)
    if q.MC_AIRMODE == 0:
        span = min(span, _share_of_tilt(v, mixer, n_rotors, thrust))
    low = -lowest * span
    high = max(smallest_max - highest * span - min(yaw_peak, YAW_THRUST_MARGIN * smallest_max), low)
    # Yaw uses the thrust range that is left.
    share = 1.0
    for r in range(n_rotors):
        thrust[r] = span * thrust[r] + clamp(mixer[r, 2] * v.sp_thrust, low, high)
        yaw = _rest(v, mixer[r], 1.0)
        if yaw > 1e-9:
            share = min(share, max(t_max[r] - thrust[r], 0.0) / yaw)
        elif yaw < -1e-9:
            share = min(share, max(thrust[r], 0.0) / -yaw)
    for r in range(n_rotors):
        thrust[r] = clamp(thrust[r] + _rest(v, mixer[r], share), 0.0, t_max[r])


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
def _mix(status, parameters, actuator, mixer, gain, hessian, used, whole, t_max, n_rotors, thrust,
         commands):
    for i in range(status.shape[0]):
        v = status[i]
        if not v.armed:
            for r in range(commands.shape[1]):
                commands[i, r] = 0.0
            continue
        if v.sp_kind == NO_SET_POINT:
            for r in range(n_rotors[i]):
                commands[i, r] = IDLE_COMMAND
            continue
        if whole[i]:
            _allocate_one(v, parameters[i], mixer[i], t_max[i], n_rotors[i], thrust[i])
        else:
            _allocate_within(v, gain[i], hessian[i], t_max[i], used[i], n_rotors[i], thrust[i])
        for r in range(n_rotors[i]):
            a = actuator[i, r]
            speed = math.sqrt(thrust[i, r] / a.motor_constant)
            commands[i, r] = clamp((speed - a.zero_position_armed) / a.input_scaling,
                                   IDLE_COMMAND, 1.0)


class Mixer(Memory):
    """Mixer of a fleet; implements parts.Mixer."""

    MEMORY = ("_mixer", "_gain", "_hessian", "_used", "_whole", "_thrust")

    def __init__(self, fleet: FleetModel):
        """fleet: The vehicles; all their rotors are in use."""
        self._fleet = fleet
        n, width = fleet.actuator.shape
        self._mixer, self._gain = np.zeros((n, width, 6)), np.zeros((n, width, 4))
        self._hessian = np.zeros((n, width, width))
        self._used = np.zeros((n, width), dtype=np.bool_)
        self._whole = np.ones(n, dtype=np.bool_)
        self._effectiveness = effectiveness(fleet)
        for i in range(fleet.n):
            self.use_rotors(i, fleet.rotor_mask[i])
        self._t_max = largest_thrust(fleet)
        self._n_rotors = fleet.n_rotors
        self._thrust = np.zeros((n, width))
        self.remember_start()

    def use_rotors(self, i: int, used: np.ndarray) -> None:
        """Allocates vehicle i to the rotors of used (A,) bool only."""
        whole = self._effectiveness[i]
        first = 0 if rank(whole[:, used]) == 6 else 2
        self._mixer[i] = 0.0
        self._mixer[i, used, first:] = np.linalg.pinv(whole[first:, used])
        self._used[i] = used
        self._whole[i] = (used == self._fleet.rotor_mask[i]).all()
        matrix = whole[2:]
        count = max(self._fleet.vehicle["rotors"][i], 1)
        size = np.sqrt((matrix ** 2).sum(axis=1) / count)
        weights = WEIGHTS / np.maximum(size, 1e-9) ** 2
        self._gain[i] = matrix.T * weights
        self._hessian[i] = (matrix.T * weights) @ matrix
        self._hessian[i].flat[::matrix.shape[1] + 1] += LEAST_WEIGHT

    def step(self, status: np.ndarray, parameters: np.ndarray, estimator: Any, dt: float,
             commands: np.ndarray) -> None:
        """Writes commands (N, A) in 0..1, zero where disarmed."""
        _mix(status, parameters, self._fleet.actuator, self._mixer, self._gain, self._hessian,
             self._used, self._whole, self._t_max, self._n_rotors, self._thrust, commands)
