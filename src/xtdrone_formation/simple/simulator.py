"""The simple 3D simulator: point masses of second order, thousands at once.

It takes the same set-points and gives the same estimates as an autopilot of the
full simulator, so Agents and schemes fly in it unchanged. A vehicle follows its
velocity set-point with one time constant, within limits of acceleration and
speed; position set-points become velocities by a proportional law.
"""

import math
from dataclasses import dataclass

import numpy as np

from xtdrone_core import ARM, DISARM, KEEP, Estimates, FleetState, Mode, SetPoints

from .. import formations
from ..errors import FormationError
from ..schemes import saturate

PERIOD_US = 20_000  # of a step [us]


@dataclass(frozen=True)
class PointMass:
    """Numbers of the vehicle model; by default near those of the iris under the flight stack."""

    time_constant: float = 0.3  # of the velocity [s]
    position_gain: float = 0.95  # of position set-points [1/s]
    max_speed: float = 12.0  # [m/s]
    max_acceleration: float = 5.0  # [m/s^2]
    takeoff_height: float = 2.5  # of the mode TAKEOFF [m]
    land_speed: float = 0.7  # of the mode LAND [m/s]

    def __post_init__(self):
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise FormationError(f"{name} {value} of the simple simulator is not allowed: give "
                                     "a positive number")


class SimpleSimulator:
    """A fleet of point masses on level ground."""

    def __init__(self, places, parameters: PointMass = PointMass(), noise: float = 0.0,
                 seed: int = 1):
        """The fleet stands at its places.

        Args:
            places: (N, 3) at start, world [m].
            parameters: The vehicle model.
            noise: Standard deviation of each vehicle's constant position error,
                per axis [m].
            seed: Of these errors.

        Raises:
            FormationError: Places that are no table of positions.
        """
        places = np.array(places, dtype=float)
        if places.ndim != 2 or places.shape[1] != 3 or not np.isfinite(places).all():
            raise FormationError(f"places of shape {places.shape} are not allowed: give a row x, "
                                 "y, z [m] for each vehicle")
        n = len(places)
        self.n, self.t_us, self.parameters = n, 0, parameters
        self.pos, self.vel, self.acc = places.copy(), np.zeros((n, 3)), np.zeros((n, 3))
        self.armed = np.zeros(n, dtype=np.bool_)
        self.landed = np.ones(n, dtype=np.bool_)
        self.mode = np.full(n, Mode.LOITER, dtype=np.int8)
        self.yaw = np.zeros(n)
        self._start = places.copy()
        self._ground = self._start[:, 2]
        self._error = noise * np.random.default_rng(seed).standard_normal((n, 3))
        self._wish = SetPoints.empty(n)
        self._hold = places.copy()  # of the modes that stay at a place
        self._ready = np.ones(n, dtype=np.bool_)
        self._quat = np.zeros((n, 4))
        self._still = np.zeros((n, 3))

    def estimates(self) -> Estimates:
        """What the vehicles believe."""
        self._quat[:, 2], self._quat[:, 3] = np.sin(self.yaw / 2), np.cos(self.yaw / 2)
        return Estimates(self.t_us, self.pos + self._error, self._quat, self.vel, self._still,
                         self.armed, self.landed, self.mode, self._ready)

    def state(self) -> FleetState:
        """The truth, for recorders."""
        self._quat[:, 2], self._quat[:, 3] = np.sin(self.yaw / 2), np.cos(self.yaw / 2)
        state = FleetState.zeros(self.n, 0)
        state.t_us = self.t_us
        state.pos[:], state.quat[:], state.vel[:], state.acc[:] = (
            self.pos, self._quat, self.vel, self.acc)
        return state

    def apply(self, set_points: SetPoints) -> None:
        """Takes an Agent's wishes, in force from the next step on."""
        asked = set_points.mode != KEEP
        if asked.any():
            self._hold[asked] = self.pos[asked]
            rising = asked & (set_points.mode == Mode.TAKEOFF)
            self._hold[rising, 2] = self._ground[rising] + self.parameters.takeoff_height
            back = asked & (set_points.mode == Mode.RTL)
            self._hold[back, :2] = self._start[back, :2]
            self.mode[asked] = set_points.mode[asked]
        self.armed |= set_points.arm == ARM
        self.armed &= ~((set_points.arm == DISARM) & self.landed)
        wish = self._wish
        wish.pos[:], wish.vel[:], wish.acc[:] = set_points.pos, set_points.vel, set_points.acc
        turn = np.isfinite(set_points.yaw)
        self.yaw[turn] = set_points.yaw[turn]
        wish.yaw_rate[:] = set_points.yaw_rate

    def step(self) -> None:
        """Advances the fleet by 20 ms."""
        p, dt = self.parameters, PERIOD_US * 1e-6
        wanted = saturate(self._acceleration(), p.max_acceleration)
        vel = saturate(self.vel + dt * wanted, p.max_speed)
        vel[~self.armed] = 0.0
        pos = self.pos + dt * vel
        low = pos[:, 2] <= self._ground
        pos[low, 2] = self._ground[low]
        home = (self.mode == Mode.RTL) & (np.linalg.norm((pos - self._hold)[:, :2], axis=1) < 0.3)
        self.mode[home] = Mode.LAND
        turning = self.armed & (self.mode == Mode.OFFBOARD) & np.isfinite(self._wish.yaw_rate)
        self.yaw[turning] += dt * self._wish.yaw_rate[turning]
        sinking = self.mode == Mode.LAND
        self.landed = low & (sinking | ~self.armed)
        self.armed &= ~(self.landed & sinking)
        vel[low & (vel[:, 2] < 0)] = 0.0
        self.acc = (vel - self.vel) / dt
        self.vel, self.pos = vel, pos
        self.t_us += PERIOD_US

    def _acceleration(self):
        """What the flight controller of each vehicle asks for, (N, 3) [m/s^2]."""
        p, wish = self.parameters, self._wish
        offboard = (self.mode == Mode.OFFBOARD)[:, None]
        place = np.where(offboard, wish.pos, self._hold)
        target = p.position_gain * (place - (self.pos + self._error))
        controlled = np.isfinite(target)
        target = np.where(controlled, target, 0.0)
        target += np.where(offboard & np.isfinite(wish.vel), wish.vel, 0.0)
        target[self.mode == Mode.LAND, 2] = -p.land_speed
        acc = np.where(offboard & np.isfinite(wish.acc), wish.acc, 0.0)
        # An axis with an acceleration alone is left to it; all others follow their velocity.
        alone = offboard & ~controlled & ~np.isfinite(wish.vel) & np.isfinite(wish.acc)
        return acc + np.where(alone, 0.0, (target - self.vel) / p.time_constant)

    def separation(self) -> float:
        """Least distance between two vehicles now [m]."""
        return formations.separation(self.pos[1:] - self.pos[0])


def fly(simulator: SimpleSimulator, agent, until_s: float = 600.0, on_step=None) -> bool:
    """Lets an Agent fly the fleet until it is done.

    Args:
        simulator: The fleet.
        agent: Any Agent.
        until_s: Simulated time at which to give up [s].
        on_step: Called with the simulator after each step.

    Returns:
        Whether the agent got done.
    """
    while simulator.t_us < until_s * 1e6:
        simulator.apply(agent.step(simulator.t_us, simulator.estimates()))
        if agent.done:
            return True
        simulator.step()
        if on_step:
            on_step(simulator)
    return False
