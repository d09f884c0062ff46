"""Detects a rotor without thrust, from commands, angular acceleration and specific force.

A model of the rotors predicts both accelerations of the commands. The residual is compared
with the loss of each single rotor: its torque must be missing, and its lift as well. The
ground that pushes at one foot gives the torque of a lost rotor on the other side, but it lifts.
"""

import math
from typing import Any

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.effectiveness import effectiveness
from xtdrone_dynamics.compiled import fleet_kernel

FILTER_S = 0.02  # time constant of the residuals [s]
STEADY_S = 2.0  # time constant of the lift that a payload or a low battery takes [s]
FOUND_S = 0.08  # for so long must one rotor explain what is missing [s]
MIN_THRUST = 0.7  # of the mean of all rotors; the controller asks more, not less, of a dead one
MIN_SHARE = 0.6  # of the rotor's torque that is missing
MIN_LIFT = 0.4  # of the rotor's lift that is missing
MAX_REST = 0.35  # of what is missing may the rotor leave unexplained, squared


@fleet_kernel
def _watch(
    vehicle: np.ndarray,
    actuator: np.ndarray,
    flying: np.ndarray,
    enabled: np.ndarray,
    commands: np.ndarray,
    estimates: np.ndarray,
    accel: np.ndarray,
    last_rate: np.ndarray,
    missing: np.ndarray,
    steady: np.ndarray,
    speed: np.ndarray,
    blamed: np.ndarray,
    since: np.ndarray,
    torque: np.ndarray,
    lift: np.ndarray,
    axis: np.ndarray,
    inverse: np.ndarray,
    dt: float,
    failed: np.ndarray,
) -> None:
    gain = dt / (FILTER_S + dt)
    known_up, known_down, share_up, share_down = -1.0, -1.0, 0.0, 0.0  # most rotors are alike
    for i in range(commands.shape[0]):
        rate = estimates[i].ang_vel
        j = vehicle[i].inertia
        n_rotors = vehicle[i].rotors
        lx = j[0, 0] * rate[0] + j[0, 1] * rate[1] + j[0, 2] * rate[2]
        ly = j[1, 0] * rate[0] + j[1, 1] * rate[1] + j[1, 2] * rate[2]
        lz = j[2, 0] * rate[0] + j[2, 1] * rate[1] + j[2, 2] * rate[2]
        tx = lz * -rate[1] + ly * rate[2]
        ty = lx * -rate[2] + lz * rate[0]
        tz = ly * -rate[0] + lx * rate[1]
        mean = 0.0
        lifting = 0.0
        for r in range(n_rotors):
            a = actuator[i, r]
            wanted = 0.0
            if flying[i]:
                wanted = a.zero_position_armed + a.input_scaling * commands[i, r]
            if a.time_constant_up != known_up:
                known_up = a.time_constant_up
                share_up = 1.0 - math.exp(-dt / max(known_up, 1e-6))
            if a.time_constant_down != known_down:
                known_down = a.time_constant_down
                share_down = 1.0 - math.exp(-dt / max(known_down, 1e-6))
            share = share_up if wanted > speed[i, r] else share_down
            speed[i, r] += share * (wanted - speed[i, r])
            thrust = actuator[i, r].motor_constant * speed[i, r] * speed[i, r]
            mean += thrust / n_rotors
            lifting += lift[i, r] * thrust
            tx += torque[i, 0, r] * thrust
            ty += torque[i, 1, r] * thrust
            tz += torque[i, 2, r] * thrust
        g = inverse[i]
        ax = (rate[0] - last_rate[i, 0]) / dt - (g[0, 0] * tx + g[0, 1] * ty + g[0, 2] * tz)
        ay = (rate[1] - last_rate[i, 1]) / dt - (g[1, 0] * tx + g[1, 1] * ty + g[1, 2] * tz)
        for k in range(3):
            last_rate[i, k] = rate[k]
        missing[i, 0] += gain * (ax - missing[i, 0])
        missing[i, 1] += gain * (ay - missing[i, 1])
        bias = estimates[i].accel_bias
        measured = 0.0
        for k in range(3):
            measured += axis[i, k] * (accel[i, k] - bias[k])
        lost = lifting / vehicle[i].mass - measured
        missing[i, 2] += gain * (lost - missing[i, 2])
        if not flying[i] or enabled[i] == 0:
            blamed[i] = -1
            failed[i] = -1
            missing[i] = 0.0
            steady[i] = 0.0
            continue
        # Not below zero: a vehicle that stands on the ground is carried, not light.
        steady[i] = max(steady[i] + dt / STEADY_S * (lost - steady[i]), 0.0)
        if failed[i] >= 0:
            continue
        best = -1
        for r in range(n_rotors):
            thrust = actuator[i, r].motor_constant * speed[i, r] * speed[i, r]
            if thrust < MIN_THRUST * mean:
                continue
            sx = -(g[0, 0] * torque[i, 0, r] + g[0, 1] * torque[i, 1, r]) * thrust
            sy = -(g[1, 0] * torque[i, 0, r] + g[1, 1] * torque[i, 1, r]) * thrust
            size = max(sx * sx + sy * sy, 1e-9)
            share = (missing[i, 0] * sx + missing[i, 1] * sy) / size
            dx, dy = missing[i, 0] - sx * share, missing[i, 1] - sy * share
            rest = (dx * dx + dy * dy) / (size * max(share * share, 1e-9))
            wanting = (missing[i, 2] - steady[i]) * vehicle[i].mass
            if share > MIN_SHARE and rest < MAX_REST and wanting > MIN_LIFT * lift[i, r] * thrust:
                best = r
        if best < 0 or best != blamed[i]:
            since[i] = 0.0
        since[i] += dt
        blamed[i] = best
        if best >= 0 and since[i] >= FOUND_S:
            failed[i] = best


class RotorMonitor(Memory):
    """Watches the rotors of a fleet."""

    MEMORY = ("_speed", "_last_rate", "_missing", "_steady", "_blamed", "_since")

    def __init__(self, fleet: FleetModel) -> None:
        """No rotor has failed."""
        n, rotors = fleet.rotor_mask.shape
        self._fleet = fleet
        forces = effectiveness(fleet)
        self._torque = np.ascontiguousarray(forces[:, 3:])
        thrust = forces[:, :3].sum(axis=2)
        self._axis = thrust / np.maximum(np.linalg.norm(thrust, axis=1), 1e-9)[:, None]
        self._lift = np.einsum("nk,nka->na", self._axis, forces[:, :3])
        self._inverse = np.linalg.inv(fleet.vehicle["inertia"])
        self._speed = np.zeros((n, rotors))
        # Residuals: angular acceleration about x and y [rad/s^2], lift by mass [m/s^2].
        self._last_rate, self._missing = np.zeros((n, 3)), np.zeros((n, 3))
        self._steady = np.zeros(n)  # of the lift's residual [m/s^2]
        self._blamed = np.full(n, -1, dtype=np.int64)
        self._since = np.zeros(n)
        self.remember_start()

    def step(
        self,
        flying: np.ndarray,
        enabled: Any,
        commands: np.ndarray,
        estimates: Any,
        accel: np.ndarray,
        dt: float,
        failed: Any,
    ) -> None:
        """One step of dt [s].

        Args:
            flying: (N,) bool, in the air with rotors on.
            enabled: (N,) int, 0 = not watched.
            commands: (N, R) 0..1, as the mixer gave them.
            estimates: (N,) of ESTIMATE.
            accel: (N, 3) specific force as measured, body [m/s^2].
            dt: [s].
            failed: (N,) int16, OUTPUT: number of the failed rotor, -1 = none; it stays until
                the vehicle has landed.
        """
        if dt <= 0.0:
            return
        f = self._fleet
        _watch(
            f.vehicle,
            f.actuator,
            flying,
            enabled,
            commands,
            estimates,
            accel,
            self._last_rate,
            self._missing,
            self._steady,
            self._speed,
            self._blamed,
            self._since,
            self._torque,
            self._lift,
            self._axis,
            self._inverse,
            dt,
            failed,
        )
