"""Detects a rotor without thrust, from commands, angular acceleration and specific force.

A model of the rotors predicts both accelerations of the commands. The residual is compared
with the loss of each single rotor: its torque must be missing, and its lift as well. The
ground that pushes at one foot gives the torque of a lost rotor on the other side, but it lifts.
"""

import math

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.effectiveness import effectiveness
from xtdrone_dynamics.compiled import fleet_kernel

FILTER_S = 0.02  # time constant of the residuals [s]
STEADY_S = 2.0  # time constant of the lift that a payload or a low battery takes [s]
DETECTION_S = 0.08  # time for which one rotor must explain the residuals [s]
# Least thrust of a suspect over the mean of all rotors: of a dead one the controller asks more.
MIN_THRUST = 0.7
MIN_FRACTION = 0.6  # least fraction of the rotor's torque that is missing
MIN_LIFT = 0.4  # least fraction of the rotor's lift that is missing
MAX_RESIDUAL = 0.35  # largest squared fraction of the torque residual that the rotor leaves open


@fleet_kernel
def _step_fleet(
    vehicle: np.ndarray,
    actuator: np.ndarray,
    flying: np.ndarray,
    enabled: np.ndarray,
    commands: np.ndarray,
    estimates: np.ndarray,
    accel: np.ndarray,
    last_rate: np.ndarray,
    residuals: np.ndarray,
    lift_bias: np.ndarray,
    speed: np.ndarray,
    suspect: np.ndarray,
    suspect_s: np.ndarray,
    torque: np.ndarray,
    lift: np.ndarray,
    axis: np.ndarray,
    inverse: np.ndarray,
    dt: float,
    failed: np.ndarray,
) -> None:
    """Updates the residuals of all vehicles, and writes failed rotors into `failed`."""
    gain = dt / (FILTER_S + dt)
    tau_up, tau_down, alpha_up, alpha_down = -1.0, -1.0, 0.0, 0.0  # most rotors are alike
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
            speed_sp = 0.0
            if flying[i]:
                speed_sp = a.zero_position_armed + a.input_scaling * commands[i, r]
            if a.time_constant_up != tau_up:
                tau_up = a.time_constant_up
                alpha_up = 1.0 - math.exp(-dt / max(tau_up, 1e-6))
            if a.time_constant_down != tau_down:
                tau_down = a.time_constant_down
                alpha_down = 1.0 - math.exp(-dt / max(tau_down, 1e-6))
            alpha = alpha_up if speed_sp > speed[i, r] else alpha_down
            speed[i, r] += alpha * (speed_sp - speed[i, r])
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
        residuals[i, 0] += gain * (ax - residuals[i, 0])
        residuals[i, 1] += gain * (ay - residuals[i, 1])
        bias = estimates[i].accel_bias
        measured = 0.0
        for k in range(3):
            measured += axis[i, k] * (accel[i, k] - bias[k])
        lost = lifting / vehicle[i].mass - measured
        residuals[i, 2] += gain * (lost - residuals[i, 2])
        if not flying[i] or enabled[i] == 0:
            suspect[i] = -1
            failed[i] = -1
            residuals[i] = 0.0
            lift_bias[i] = 0.0
            continue
        # Not below zero: a vehicle that stands on the ground is carried, not light.
        lift_bias[i] = max(lift_bias[i] + dt / STEADY_S * (lost - lift_bias[i]), 0.0)
        if failed[i] >= 0:
            continue
        candidate = -1
        for r in range(n_rotors):
            thrust = actuator[i, r].motor_constant * speed[i, r] * speed[i, r]
            if thrust < MIN_THRUST * mean:
                continue
            sx = -(g[0, 0] * torque[i, 0, r] + g[0, 1] * torque[i, 1, r]) * thrust
            sy = -(g[1, 0] * torque[i, 0, r] + g[1, 1] * torque[i, 1, r]) * thrust
            norm2 = max(sx * sx + sy * sy, 1e-9)
            fraction = (residuals[i, 0] * sx + residuals[i, 1] * sy) / norm2
            dx, dy = residuals[i, 0] - sx * fraction, residuals[i, 1] - sy * fraction
            residual = (dx * dx + dy * dy) / (norm2 * max(fraction * fraction, 1e-9))
            missing_lift = (residuals[i, 2] - lift_bias[i]) * vehicle[i].mass
            if (
                fraction > MIN_FRACTION
                and residual < MAX_RESIDUAL
                and missing_lift > MIN_LIFT * lift[i, r] * thrust
            ):
                candidate = r
        if candidate < 0 or candidate != suspect[i]:
            suspect_s[i] = 0.0
        suspect_s[i] += dt
        suspect[i] = candidate
        if candidate >= 0 and suspect_s[i] >= DETECTION_S:
            failed[i] = candidate


class RotorMonitor(Memory):
    """Watches the rotors of a fleet."""

    MEMORY = ("_speed", "_last_rate", "_residuals", "_lift_bias", "_suspect", "_suspect_s")

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
        self._last_rate, self._residuals = np.zeros((n, 3)), np.zeros((n, 3))
        self._lift_bias = np.zeros(n)  # bias of the lift's residual [m/s^2]
        self._suspect = np.full(n, -1, dtype=np.int64)
        self._suspect_s = np.zeros(n)
        self.remember_start()

    def step(
        self,
        flying: np.ndarray,
        enabled: np.ndarray,
        commands: np.ndarray,
        estimates: np.ndarray,
        accel: np.ndarray,
        dt: float,
        failed: np.ndarray,
    ) -> None:
        """Steps the monitor.

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
        fleet = self._fleet
        _step_fleet(
            fleet.vehicle,
            fleet.actuator,
            flying,
            enabled,
            commands,
            estimates,
            accel,
            self._last_rate,
            self._residuals,
            self._lift_bias,
            self._speed,
            self._suspect,
            self._suspect_s,
            self._torque,
            self._lift,
            self._axis,
            self._inverse,
            dt,
            failed,
        )
