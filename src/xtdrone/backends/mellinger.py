"""The nonlinear controller of Mellinger and Kumar as a backend."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import to_matrix_array

from .allocation import Allocation
from .backend import Backend, VehicleState

# Position, velocity, acceleration and jerk (3,) each at a time since the start [m, s], world.
Trajectory = Callable[[float], tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]]


@dataclass(frozen=True, kw_only=True)
class MellingerGains:
    """Gains of force and torque; the defaults are those of Pegasus' example.

    Examples:
        >>> MellingerGains().scaled(2.0).position
        20.0
    """

    position: float = 10.0  # [N/m]
    velocity: float = 8.5  # [N s/m]
    integral: float = 1.5  # [N/(m s)]
    attitude: float = 3.5  # [N m]
    rates: float = 0.5  # [N m s]

    def scaled(self, factor: float) -> "MellingerGains":
        """Returns the gains times a factor."""
        return MellingerGains(**{name: factor * value for name, value in self.__dict__.items()})


class Mellinger(Backend):
    """Follows a trajectory by thrust and torque.

    D. Mellinger and V. Kumar, "Minimum snap trajectory generation and control for quadrotors"
    (2011), (4)-(10), with an integral of the position error, as Pegasus has it, and the drag of
    the rotors in hover fed forward.

    Attributes:
        error: (3,) position error of the last step, world [m].
        time: Since the start [s].

    Examples:
        >>> import numpy as np
        >>> still = np.zeros(3)
        >>> hover = Mellinger(lambda t: (np.array([0.0, 0.0, 2.0]), still, still, still), 10.0)
        >>> hover.duration
        10.0
    """

    MEMORY = ("done", "error", "time", "_integral")

    def __init__(
        self,
        trajectory: Trajectory,
        duration: float,
        gains: MellingerGains = MellingerGains(),
        yaw: float = 0.0,
        truth: bool = False,
        drag: float | None = None,
    ) -> None:
        """Prepares to fly a trajectory.

        Args:
            trajectory: Trajectory of the centre of gravity.
            duration: Time after which the vehicle is landed [s].
            gains: Gains of force and torque.
            yaw: Heading, counter-clockwise from east [rad].
            truth: Whether it gets the true state instead of the estimate.
            drag: Drag fed forward, over the speed across the thrust [N s/m]; None for that of
                the vehicle's rotors in hover, XTDrone (4).
        """
        self.trajectory, self.duration, self.gains = trajectory, duration, gains
        self.truth, self.done, self._drag = truth, False, drag
        self._heading = np.array([np.cos(yaw), np.sin(yaw), 0.0])
        self.error, self._integral, self.time = np.zeros(3), np.zeros(3), 0.0

    def prepare(self) -> None:
        """Reads mass, rotors and drag of its vehicle."""
        self._allocation, self._mass = Allocation(self.vehicle), self.vehicle.mass
        if self._drag is None:
            hover = self._allocation.thrusts(self._mass * GRAVITY, np.zeros(3))
            self._drag = sum(
                rotor.rotor_drag_coefficient * math.sqrt(thrust / rotor.motor_constant)
                for rotor, thrust in zip(self.vehicle.rotors, hover)
            )

    def begin(self, state: VehicleState) -> None:
        """Starts without an integral."""
        self._integral[:], self.time = 0.0, 0.0

    def step(self, t: float, state: VehicleState, sensors: np.void) -> np.ndarray:
        """Commands of the rotors."""
        gains, mass = self.gains, self._mass
        pos, vel, acc, jerk = (np.asarray(x, dtype=float) for x in self.trajectory(t))
        self.done = t >= self.duration
        self.error[:] = state.pos - pos
        self._integral += self.error * (t - self.time)
        self.time = t
        force = (
            -gains.position * self.error
            - gains.velocity * (state.vel - vel)
            - gains.integral * self._integral
            + mass * (acc + (0.0, 0.0, GRAVITY))
        )
        body = to_matrix_array(state.quat[None])[0]
        force += self._drag * (vel - (vel @ body[:, 2]) * body[:, 2])
        thrust = max(float(force @ body[:, 2]), 0.05 * mass * GRAVITY)
        z = force / np.linalg.norm(force)
        y = np.cross(z, self._heading)
        y /= np.linalg.norm(y)
        wanted = np.stack([np.cross(y, z), y, z], axis=1)
        error = wanted.T @ body
        turn = 0.5 * np.array(
            [error[2, 1] - error[1, 2], error[0, 2] - error[2, 0], error[1, 0] - error[0, 1]]
        )
        swing = mass / thrust * (jerk - (z @ jerk) * z)
        rates = np.array([-swing @ y, swing @ wanted[:, 0], 0.0])
        torque = -gains.attitude * turn - gains.rates * (state.ang_vel - rates)
        return self._allocation.commands(thrust, torque)
