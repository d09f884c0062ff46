"""Detects a rotor without thrust, from commands and angular acceleration.

A model of the rotors predicts the angular acceleration of the commands. The residual
is compared with the loss of each single rotor.
"""

import math
from typing import Any

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.snapshot import Memory
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.effectiveness import effectiveness

FILTER_S = 0.02  # time constant of both accelerations [s]
FOUND_S = 0.08  # for so long must one rotor explain what is missing [s]
LEAST_THRUST = 0.7  # of the mean of all rotors; the controller asks more, not less, of a dead one
LEAST_SHARE = 0.6  # of the rotor's thrust that is missing
MOST_REST = 0.35  # of what is missing may the rotor leave unexplained, squared


@njit
def _watch(vehicle, actuator, flying, enabled, commands, estimates, last_rate, missing, speed,
           blamed, since, torque, inverse, dt, failed):
    gain = dt / (FILTER_S + dt)
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
        for r in range(n_rotors):
            a = actuator[i, r]
            wanted = 0.0
            if flying[i]:
                wanted = a.zero_position_armed + a.input_scaling * commands[i, r]
            tau = a.time_constant_up if wanted > speed[i, r] else a.time_constant_down
            speed[i, r] += (1.0 - math.exp(-dt / max(tau, 1e-6))) * (wanted - speed[i, r])
            thrust = actuator[i, r].motor_constant * speed[i, r] * speed[i, r]
            mean += thrust / n_rotors
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
        if not flying[i] or enabled[i] == 0:
            blamed[i] = -1
            failed[i] = -1
            missing[i, 0] = 0.0
            missing[i, 1] = 0.0
            continue
        if failed[i] >= 0:
            continue
        best = -1
        for r in range(n_rotors):
            thrust = actuator[i, r].motor_constant * speed[i, r] * speed[i, r]
            if thrust < LEAST_THRUST * mean:
                continue
            sx = -(g[0, 0] * torque[i, 0, r] + g[0, 1] * torque[i, 1, r]) * thrust
            sy = -(g[1, 0] * torque[i, 0, r] + g[1, 1] * torque[i, 1, r]) * thrust
            size = max(sx * sx + sy * sy, 1e-9)
            share = (missing[i, 0] * sx + missing[i, 1] * sy) / size
            dx, dy = missing[i, 0] - sx * share, missing[i, 1] - sy * share
            rest = (dx * dx + dy * dy) / (size * max(share * share, 1e-9))
            if share > LEAST_SHARE and rest < MOST_REST:
                best = r
        if best < 0 or best != blamed[i]:
            since[i] = 0.0
        since[i] += dt
        blamed[i] = best
        if best >= 0 and since[i] >= FOUND_S:
            failed[i] = best


class RotorMonitor(Memory):
    """Watches the rotors of a fleet."""

    MEMORY = ("_speed", "_last_rate", "_missing", "_blamed", "_since")

    def __init__(self, fleet: FleetModel):
        """No rotor has failed."""
        n, rotors = fleet.rotor_mask.shape
        self._fleet = fleet
        self._torque = np.ascontiguousarray(effectiveness(fleet)[:, 3:])
        self._inverse = np.linalg.inv(fleet.vehicle["inertia"])
        self._speed = np.zeros((n, rotors))
        self._last_rate, self._missing = np.zeros((n, 3)), np.zeros((n, 2))
        self._blamed = np.full(n, -1, dtype=np.int64)
        self._since = np.zeros(n)
        self.remember_start()

    def step(self, flying: np.ndarray, enabled: Any, commands: np.ndarray, estimates: Any,
             dt: float, failed: Any) -> None:
        """One step of dt [s].

        Args:
            flying: (N,) bool, in the air with rotors on.
            enabled: (N,) int, 0 = not watched.
            commands: (N, R) 0..1, as the mixer gave them.
            estimates: (N,) of ESTIMATE.
            dt: [s].
            failed: (N,) int16, OUTPUT: number of the failed rotor, -1 = none; it stays until
                the vehicle has landed.
        """
        if dt <= 0.0:
            return
        f = self._fleet
        _watch(f.vehicle, f.actuator, flying, enabled, commands, estimates, self._last_rate,
               self._missing, self._speed, self._blamed, self._since, self._torque,
               self._inverse, dt, failed)
