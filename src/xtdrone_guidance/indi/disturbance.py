"""Measures the force and torque on a vehicle that its actuators do not explain.

The states of rotors and servos follow from their commands by the lag of the vehicle's model; the
wrench that they exert follows from the effectiveness matrix of the positions of the servos. The
motion is measured by gyroscope and accelerometer. Truth is not used.
"""

import math
from typing import ClassVar

import numpy as np

from xtdrone_autopilot.interfaces import Estimator
from xtdrone_core import FleetModel, SensorBatch
from xtdrone_core.fleet_model import SERVO
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.effectiveness import effectiveness
from xtdrone_dynamics.forces import rotor

from .half_wings import HalfWings
from .wrench import compare, exert, turn_columns

# Cut-off frequencies of the filters of force and torque, two equal poles each [Hz]. A servo that
# swings a rotor pushes the body back, which the effectiveness does not know, and a vehicle steered
# so loses its torque with its thrust: the disturbance is followed more slowly there.
CUT_OFF = (6.0, 16.0)
SERVO_CUT_OFF = (1.5, 1.0)


def _gain(cut_off: float, dt: float) -> float:
    """Gain of a first-order low-pass at each step of dt [s]."""
    return 1.0 - math.exp(-2.0 * math.pi * cut_off * dt)


def actuator_lag(fleet: FleetModel, dt: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns what the measurement needs of a fleet for steps of dt [s].

    Returns:
        lag_up and lag_down (N, A, 3), see exert(); gains (N, 2), see compare().
    """
    (n, width), moves = fleet.actuator.shape, moves_rotors(fleet)
    lag_up, lag_down, gains = np.zeros((n, width, 3)), np.zeros((n, width, 3)), np.zeros((n, 2))
    for axis, (hertz, servo_hertz) in enumerate(zip(CUT_OFF, SERVO_CUT_OFF)):
        gains[:, axis] = np.where(moves, _gain(servo_hertz, dt), _gain(hertz, dt))
    for i, k in np.ndindex(n, width):
        actuator = fleet.actuator[i, k]
        lag_up[i, k] = rotor.lag_factors(actuator["time_constant_up"], dt)
        lag_down[i, k] = rotor.lag_factors(actuator["time_constant_down"], dt)
    return lag_up, lag_down, gains


def moves_rotors(fleet: FleetModel) -> np.ndarray:
    """Returns (N,) bool, vehicles with servos that may move rotors."""
    return (fleet.actuator["kind"] == SERVO).any(axis=1)


class Disturbance(Memory):
    """Disturbance of each vehicle of a fleet, from commands and inertial readings.

    Attributes:
        force: (N, 3) filtered, world [N]; without the weight.
        torque: (N, 3) filtered, body [N m].
        wings: Its half wings, whose wrench is no disturbance.
    """

    MEMORY = ("_speed", "_position", "_last_rate", "_filters", "wings")

    def __init__(self, fleet: FleetModel) -> None:
        """Starts with a fleet whose rotors stand."""
        n, width = fleet.actuator.shape
        self._fleet, self._columns = fleet, effectiveness(fleet)
        self._speed, self._thrust = np.zeros((n, width)), np.zeros((n, width))
        self._position = np.zeros((n, width))
        self._joint_pos = np.zeros(fleet.joint.shape)
        self._poses = np.zeros((*fleet.body.shape, 7))
        self._poses[..., 6] = 1.0
        self._moves = moves_rotors(fleet)
        self._last_rate = np.zeros((n, 3))
        self._filters = np.zeros((n, 12))
        self.force, self.torque = self._filters[:, 6:9], self._filters[:, 9:]
        self.wings = HalfWings(fleet)
        if self.wings.any:
            self.force, self.torque = self.wings.force, self.wings.torque
        self._dt, self._gains = 0.0, np.zeros((n, 2))
        self._lag_up, self._lag_down = np.zeros((n, width, 3)), np.zeros((n, width, 3))
        self.remember_start()

    def step(
        self,
        status: np.ndarray,
        estimator: Estimator,
        sensors: SensorBatch,
        commands: np.ndarray,
        dt: float,
    ) -> None:
        """Takes the commands (N, A) of the last dt [s], and the readings after it.

        See interfaces.ActuatorFeedback.
        """
        fleet = self._fleet
        if dt != self._dt:
            self._dt = dt
            self._lag_up, self._lag_down, self._gains = actuator_lag(fleet, dt)
        exert(
            fleet.actuator,
            self._lag_up,
            self._lag_down,
            commands,
            dt,
            self._speed,
            self._thrust,
            self._position,
            self._joint_pos,
        )
        if self._moves.any():
            turn_columns(
                self._moves,
                fleet.vehicle,
                fleet.body,
                fleet.joint,
                fleet.actuator,
                fleet.half_wing,
                self._joint_pos,
                self._thrust,
                self._poses,
                self._columns,
            )
        compare(
            status,
            estimator.records,
            sensors.accel,
            self._thrust,
            self._columns,
            fleet.n_rotors,
            self._gains,
            dt,
            self._last_rate,
            self._filters,
        )
        if self.wings.any:
            self.wings.step(
                status, estimator.records, commands, self._thrust, self._filters, self._gains, dt
            )


class IndiLoop(Memory):
    """Base class of the loops, which share one Disturbance."""

    FEEDBACK = Disturbance
    FLIES_HALF_WINGS = True
    MEMORY: ClassVar[tuple[str, ...]] = ("disturbance",)
    disturbance: Disturbance

    def take_feedback(self, feedback: Disturbance) -> None:
        """Takes the disturbance; see interfaces.UsesFeedback."""
        self.disturbance = feedback
        self.remember_start()
