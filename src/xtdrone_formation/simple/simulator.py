"""The simple 3D simulator: second-order point masses, for thousands of vehicles.

It has the same set-points and estimates as an autopilot of the full simulator, so that Agents and
schemes fly in it unchanged. A vehicle tracks its velocity set-point as a first-order lag within
limits of acceleration and speed; position set-points become velocities by a proportional law.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xtdrone_core import ARM, DISARM, KEEP, Estimates, FleetState, Mode, SetPoints
from xtdrone_core.flight_agent import FlightAgent

from .. import formations
from ..errors import FormationError
from ..schemes import saturate

PERIOD_US = 20_000  # one step [us]


@dataclass(frozen=True)
class PointMass:
    """Parameters of the vehicle model; the defaults approximate the iris with its flight stack."""

    time_constant: float = 0.3  # response of the velocity [s]
    position_gain: float = 0.95  # gain of position set-points [1/s]
    max_speed: float = 12.0  # [m/s]
    max_acceleration: float = 5.0  # [m/s^2]
    takeoff_height: float = 2.5  # height in the mode TAKEOFF [m]
    land_speed: float = 0.7  # speed in the mode LAND [m/s]

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise FormationError(
                    f"{name} {value} of the simple simulator is not allowed: give a positive number"
                )


class SimpleSimulator:
    """A fleet of point masses above flat ground."""

    def __init__(
        self,
        start: npt.ArrayLike,
        parameters: PointMass = PointMass(),
        noise: float = 0.0,
        seed: int = 1,
    ) -> None:
        """Puts the fleet on its start positions.

        Args:
            start: (N, 3) start positions, world [m].
            parameters: The vehicle model.
            noise: Standard deviation of each vehicle's constant position error,
                per axis [m].
            seed: Seed of these errors.

        Raises:
            FormationError: The start positions are not a finite (N, 3) array.
        """
        home = np.array(start, dtype=float)
        if home.ndim != 2 or home.shape[1] != 3 or not np.isfinite(home).all():
            raise FormationError(
                f"start positions of shape {home.shape} are not allowed: give a "
                "row x, y, z [m] for each vehicle"
            )
        n = len(home)
        self.n, self.t_us, self.parameters = n, 0, parameters
        self.pos, self.vel, self.acc = home.copy(), np.zeros((n, 3)), np.zeros((n, 3))
        self.armed = np.zeros(n, dtype=np.bool_)
        self.landed = np.ones(n, dtype=np.bool_)
        self.mode = np.full(n, Mode.LOITER, dtype=np.int8)
        self.yaw = np.zeros(n)
        self._start = home.copy()
        self._ground = self._start[:, 2]
        self._error = noise * np.random.default_rng(seed).standard_normal((n, 3))
        self._set_points = SetPoints.empty(n)
        self._hold = home.copy()  # position of the modes that hold one
        self.ready = np.ones(n, dtype=np.bool_)
        self._quat = np.zeros((n, 4))
        self._still = np.zeros((n, 3))

    def estimates(self) -> Estimates:
        """Returns the estimates of the vehicles."""
        self._quat[:, 2], self._quat[:, 3] = np.sin(self.yaw / 2), np.cos(self.yaw / 2)
        return Estimates(
            self.t_us,
            self.pos + self._error,
            self._quat,
            self.vel,
            self._still,
            self.armed,
            self.landed,
            self.mode,
            self.ready,
        )

    def state(self) -> FleetState:
        """Returns the true state, for recorders."""
        self._quat[:, 2], self._quat[:, 3] = np.sin(self.yaw / 2), np.cos(self.yaw / 2)
        state = FleetState.zeros(self.n, 0)
        state.t_us = self.t_us
        state.pos[:], state.quat[:], state.vel[:], state.acc[:] = (
            self.pos,
            self._quat,
            self.vel,
            self.acc,
        )
        return state

    def apply(self, set_points: SetPoints) -> None:
        """Takes set-points and requests, effective from the next step on."""
        changes = set_points.mode != KEEP
        if changes.any():
            self._hold[changes] = self.pos[changes]
            takes_off = changes & (set_points.mode == Mode.TAKEOFF)
            self._hold[takes_off, 2] = self._ground[takes_off] + self.parameters.takeoff_height
            returns = changes & (set_points.mode == Mode.RTL)
            self._hold[returns, :2] = self._start[returns, :2]
            self.mode[changes] = set_points.mode[changes]
        self.armed |= set_points.arm == ARM
        self.armed &= ~((set_points.arm == DISARM) & self.landed)
        own = self._set_points
        own.pos[:], own.vel[:], own.acc[:] = set_points.pos, set_points.vel, set_points.acc
        controlled = np.isfinite(set_points.yaw)
        self.yaw[controlled] = set_points.yaw[controlled]
        own.yaw_rate[:] = set_points.yaw_rate

    def step(self) -> None:
        """Advances the fleet by 20 ms."""
        parameters, dt = self.parameters, PERIOD_US * 1e-6
        acceleration = saturate(self._acceleration(), parameters.max_acceleration)
        vel = saturate(self.vel + dt * acceleration, parameters.max_speed)
        vel[~self.armed] = 0.0
        pos = self.pos + dt * vel
        low = pos[:, 2] <= self._ground
        pos[low, 2] = self._ground[low]
        home = (self.mode == Mode.RTL) & (np.linalg.norm((pos - self._hold)[:, :2], axis=1) < 0.3)
        self.mode[home] = Mode.LAND
        rate = self._set_points.yaw_rate
        turning = self.armed & (self.mode == Mode.OFFBOARD) & np.isfinite(rate)
        self.yaw[turning] += dt * rate[turning]
        landing = self.mode == Mode.LAND
        self.landed = low & (landing | ~self.armed)
        self.armed &= ~(self.landed & landing)
        vel[low & (vel[:, 2] < 0)] = 0.0
        self.acc = (vel - self.vel) / dt
        self.vel, self.pos = vel, pos
        self.t_us += PERIOD_US

    def _acceleration(self) -> np.ndarray:
        """Returns acceleration set-points of the vehicles' controllers, (N, 3) [m/s^2]."""
        parameters, set_points = self.parameters, self._set_points
        offboard = (self.mode == Mode.OFFBOARD)[:, None]
        position = np.where(offboard, set_points.pos, self._hold)
        target = parameters.position_gain * (position - (self.pos + self._error))
        controlled = np.isfinite(target)
        target = np.where(controlled, target, 0.0)
        target += np.where(offboard & np.isfinite(set_points.vel), set_points.vel, 0.0)
        target[self.mode == Mode.LAND, 2] = -parameters.land_speed
        acc = np.where(offboard & np.isfinite(set_points.acc), set_points.acc, 0.0)
        # An axis with only an acceleration set-point has no velocity feedback.
        open_loop = (
            offboard & ~controlled & ~np.isfinite(set_points.vel) & np.isfinite(set_points.acc)
        )
        return acc + np.where(open_loop, 0.0, (target - self.vel) / parameters.time_constant)

    def separation(self) -> float:
        """Returns the smallest distance between two vehicles now [m]."""
        return formations.separation(self.pos[1:] - self.pos[0])


def fly(
    simulator: SimpleSimulator,
    agent: FlightAgent,
    until_s: float = 600.0,
    on_step: Callable[[SimpleSimulator], None] | None = None,
) -> bool:
    """Runs an Agent until it is done.

    Args:
        simulator: The fleet.
        agent: Any Agent.
        until_s: Simulated time-out [s].
        on_step: Called with the simulator after each step.

    Returns:
        Whether the agent is done.
    """
    while simulator.t_us < until_s * 1e6:
        simulator.apply(agent.step(simulator.t_us, simulator.estimates()))
        if agent.done:
            return True
        simulator.step()
        if on_step:
            on_step(simulator)
    return False
