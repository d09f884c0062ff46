"""Allocation of torque and collective thrust to rotor commands.

The mixer is the pseudo-inverse of the rotor geometry of the SDF: thrusts, then
speeds through XTDrone (3), then commands 0..1.
"""

import math

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.snapshot import Memory
from xtdrone_dynamics.compiled import njit

from ..vehicle_status import NO_SET_POINT, rotor_thrust_max
from .vector import clamp

YAW_THRUST_MARGIN = 0.15  # share of the rotor's range that yaw may take from the collective
IDLE_COMMAND = 0.01  # of an armed rotor without a task
SWEEPS = 40  # of the allocation to a vehicle that lacks a rotor
# How much an error of collective, roll, pitch and yaw counts there, each row of the effectiveness
# scaled to the size of one; and how much a newton of thrust.
WEIGHTS = np.array([1.0, 30.0, 30.0, 0.05])
LEAST_WEIGHT = 1e-4


def effectiveness(fleet: FleetModel) -> np.ndarray:
    """Collective force and torques of each rotor per newton of its thrust.

    Returns:
        (N, 4, A): rows z force, then torque about x, y, z of the body [m]; zero
        in the columns of other actuators. The moment is r x T plus XTDrone (6).
    """
    a = fleet.actuator
    axis = a["axis"]
    torque = np.cross(a["pos"], axis)
    torque -= (a["direction"] * a["moment_constant"])[..., None] * axis
    return np.concatenate([axis[..., 2:3], torque], axis=2).transpose(0, 2, 1).copy()


@njit
def _allocate_one(v, mixer, t_max, n_rotors, thrust):
    """Thrust of each rotor [N]: tilt torque first, then collective, then yaw."""
    lowest, highest, yaw_peak, smallest_max = 0.0, 0.0, 0.0, math.inf
    for r in range(n_rotors):
        tilt = mixer[r, 1] * v.sp_torque[0] + mixer[r, 2] * v.sp_torque[1]
        thrust[r] = tilt
        lowest = min(lowest, tilt)
        highest = max(highest, tilt)
        yaw_peak = max(yaw_peak, abs(mixer[r, 3] * v.sp_torque[2]))
        smallest_max = min(smallest_max, t_max[r])
    span = 1.0
    if highest - lowest > smallest_max:
        span = smallest_max / (highest - lowest)
    low = -lowest * span
    high = max(smallest_max - highest * span - min(yaw_peak, YAW_THRUST_MARGIN * smallest_max), low)
    # Yaw takes what room is left.
    share = 1.0
    for r in range(n_rotors):
        thrust[r] = span * thrust[r] + clamp(mixer[r, 0] * v.sp_thrust, low, high)
        yaw = mixer[r, 3] * v.sp_torque[2]
        if yaw > 1e-9:
            share = min(share, max(t_max[r] - thrust[r], 0.0) / yaw)
        elif yaw < -1e-9:
            share = min(share, max(thrust[r], 0.0) / -yaw)
    for r in range(n_rotors):
        thrust[r] = clamp(thrust[r] + share * mixer[r, 3] * v.sp_torque[2], 0.0, t_max[r])


@njit
def _allocate_within(v, gain, hessian, t_max, used, n_rotors, thrust):
    """Thrust of each rotor [N] where one is out of use: the best within the limits.

    The pseudo-inverse would ask rotors for thrust below zero, since a hexarotor without one
    rotor hovers with the opposite one at rest. This minimises the weighted squares of what is
    missing, by coordinate descent from the thrusts of the last step (in `thrust`).
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
def _mix(status, actuator, mixer, gain, hessian, used, whole, t_max, n_rotors, thrust, commands):
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
            _allocate_one(v, mixer[i], t_max[i], n_rotors[i], thrust[i])
        else:
            _allocate_within(v, gain[i], hessian[i], t_max[i], used[i], n_rotors[i], thrust[i])
        for r in range(n_rotors[i]):
            a = actuator[i, r]
            speed = math.sqrt(thrust[i, r] / a.motor_constant)
            commands[i, r] = clamp((speed - a.zero_position_armed) / a.input_scaling,
                                   IDLE_COMMAND, 1.0)


class Mixer(Memory):
    """Mixer of a fleet, a parts.Mixer."""

    MEMORY = ("_mixer", "_gain", "_hessian", "_used", "_whole", "_thrust")

    def __init__(self, fleet: FleetModel):
        """All rotors are in use."""
        self._fleet = fleet
        n, rotors = fleet.rotor_mask.shape
        self._mixer, self._gain = np.zeros((2, n, rotors, 4))
        self._hessian = np.zeros((n, rotors, rotors))
        self._used = np.zeros((n, rotors), dtype=np.bool_)
        self._whole = np.ones(n, dtype=np.bool_)
        self._effectiveness = effectiveness(fleet)
        for i in range(fleet.n):
            self.use_rotors(i, fleet.rotor_mask[i])
        self._t_max = rotor_thrust_max(fleet)
        self._n_rotors = fleet.n_rotors
        self._thrust = np.zeros((n, rotors))
        self.remember_start()

    def use_rotors(self, i: int, used: np.ndarray) -> None:
        """Flies vehicle i with some of its rotors: used is (R,) bool."""
        self._mixer[i] = 0.0
        self._mixer[i, used] = np.linalg.pinv(self._effectiveness[i][:, used])
        self._used[i] = used
        self._whole[i] = (used == self._fleet.rotor_mask[i]).all()
        matrix = self._effectiveness[i]
        size = np.sqrt((matrix ** 2).sum(axis=1) / self._fleet.rotor_mask[i].sum())
        weights = WEIGHTS / np.maximum(size, 1e-9) ** 2
        self._gain[i] = matrix.T * weights
        self._hessian[i] = (matrix.T * weights) @ matrix
        self._hessian[i].flat[::matrix.shape[1] + 1] += LEAST_WEIGHT

    def step(self, status, parameters, estimator, dt: float, commands: np.ndarray) -> None:
        """Writes commands (N, A) in 0..1, zero where disarmed."""
        _mix(status, self._fleet.actuator, self._mixer, self._gain, self._hessian, self._used,
             self._whole, self._t_max, self._n_rotors, self._thrust, commands)
