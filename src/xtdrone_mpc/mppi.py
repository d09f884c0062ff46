"""Model predictive path integral control: the weighted mean of thousands of tried futures.

Each decision tries many sequences of body rates and thrust on the batch, which flies them with the
vehicle's full physics, and takes the mean of the sequences, weighted by the exponential of their
negative costs. G. Williams and others, "Information theoretic MPC for model-based reinforcement
learning" (2017), algorithm 2.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xtdrone_batch.arrays import BatchState
from xtdrone_batch.simulation import BatchSimulation
from xtdrone_core.errors import XtdroneError
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.effectiveness import hover_thrust
from xtdrone_dynamics.compiled import fleet_kernel, rebuilt

from .costs import Cost, check_compiled, follow

PERIOD_S = 0.02  # between two decisions, and of an action [s]
_SUB_STEPS = 5  # steps of 4 ms in a period


@dataclass(frozen=True)
class MppiSettings:
    """How futures are tried."""

    rollouts: int = 1024
    horizon: int = 30  # actions
    noise: tuple[float, float, float, float] = (2.0, 2.0, 0.5, 0.1)  # rates [rad/s], thrust 0..1
    smoothness: float = 0.8  # correlation of the noise from one action to the next
    temperature: float = 0.3  # over the spread of the best tenth's costs: less is greedier
    max_rates: tuple[float, float, float] = (6.0, 6.0, 2.0)  # [rad/s]


@fleet_kernel
def add_costs(
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    action: np.ndarray,
    reference: np.ndarray,
    total: np.ndarray,
) -> None:
    """Adds the cost `follow` of the states of a batch to `total` (E,); see Cost."""
    for e in range(len(total)):
        total[e] += follow(pos[e, 0], quat[e, 0], vel[e, 0], ang_vel[e, 0], action[e, 0], reference)


@fleet_kernel
def shape_noise(
    noise: np.ndarray,
    mean: np.ndarray,
    scale: np.ndarray,
    smoothness: float,
    minimum: np.ndarray,
    maximum: np.ndarray,
) -> None:
    """Makes sequences of actions of white noise (K, H, 4), in place; the first is the mean.

    Args:
        noise: Standard normal numbers.
        mean: (H, 4) actions.
        scale: (4,) standard deviations.
        smoothness: Correlation from one action to the next.
        minimum, maximum: (4,) limits of the actions.
    """
    fresh = math.sqrt(1.0 - smoothness * smoothness)
    for k in range(noise.shape[0]):
        for axis in range(4):
            value = 0.0
            for h in range(noise.shape[1]):
                drawn = noise[k, h, axis] * scale[axis] if k > 0 else 0.0
                value = drawn if h == 0 else smoothness * value + fresh * drawn
                noise[k, h, axis] = min(max(mean[h, axis] + value, minimum[axis]), maximum[axis])


def summed(cost: Cost) -> Callable[..., None]:
    """Returns add_costs() for another cost, compiled.

    Raises:
        XtdroneError: The cost is not compiled.
    """
    check_compiled(cost)
    return add_costs if cost is follow else rebuilt(add_costs, (cost,), follow=cost)


class Mppi(Memory):
    """The controller of one multirotor.

    Attributes:
        batch: The environments in which futures are tried.
        mean: (H, 4) the actions that are planned: body rates [rad/s] and the common command of all
            rotors 0..1.
        hover: That command in hover.
        actuator: (1, A) expected speeds of the rotors at the next decision [rad/s].
        best: Cost of the best future of the last decision.
    """

    MEMORY = ("mean", "actuator", "best", "_random")

    def __init__(
        self,
        cost: Cost,
        vehicle: str = "iris",
        settings: MppiSettings = MppiSettings(),
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        """Builds the batch.

        Args:
            cost: See Cost; it is added over the actions of a future.
            vehicle: Type of the vehicle.
            settings: How futures are tried.
            seed: Seed of the noise.
            threads: Number of threads; 0 for one on each core.

        Raises:
            XtdroneError: A vehicle that does not fly body rates, a cost that is not compiled, or
                numbers that are not allowed.
        """
        if settings.rollouts < 8 or settings.horizon < 2:
            raise XtdroneError(
                f"{settings.rollouts} rollouts of {settings.horizon} actions are not allowed: give "
                "8 or more, of 2 or more"
            )
        self._add, self._settings = summed(cost), settings
        self.batch = BatchSimulation(
            vehicle,
            settings.rollouts,
            action="rates",
            sub_steps=_SUB_STEPS,
            dtype="float32",
            threads=threads,
        )
        actuator = self.batch.model.actuator
        rotors = self.batch.model.rotor_mask
        speed = np.sqrt(
            hover_thrust(self.batch.model) / np.maximum(actuator["motor_constant"], 1e-12)
        )
        scaling = np.where(rotors, actuator["input_scaling"], 1.0)
        commands = (speed - actuator["zero_position_armed"]) / scaling
        self.hover = float(commands[rotors].mean())
        self._hover_speed = np.where(rotors, speed, 0.0)
        self._seed = seed
        self.mean = np.empty((settings.horizon, 4))
        self.begin()

    def begin(self) -> None:
        """Plans a hover, and starts the noise anew."""
        self.mean[:] = 0.0
        self.mean[:, 3] = self.hover
        self._random = np.random.default_rng(self._seed)
        self.actuator = self._hover_speed.copy()
        self.best = np.nan

    def decide(
        self,
        pos: np.ndarray,
        quat: np.ndarray,
        vel: np.ndarray,
        ang_vel: np.ndarray,
        references: np.ndarray,
    ) -> np.ndarray:
        """Tries futures from a state and returns the action for the next PERIOD_S.

        Args:
            pos, quat, vel, ang_vel: (3,), (4,), (3,), (3,), as in FleetState.
            references: (H, R) what the cost compares with after each action.

        Returns:
            (4,) body rates [rad/s] and the common command of all rotors 0..1.

        Raises:
            XtdroneError: Every future has a cost that is not finite.
        """
        self.mean[:-1] = self.mean[1:]
        tried = self._tried()
        self.batch.start_from(pos, quat, vel, ang_vel, self.actuator)
        costs, actuator = self._costs(tried, references)
        good = np.isfinite(costs)
        if not good.any():
            raise XtdroneError(
                "the cost of every future is not finite: let the cost return a finite number for "
                "any state"
            )
        self.best = float(costs[good].min())
        # Of the best tenth: futures that hit something cost so much that a mean would say nothing.
        spread = max(float(np.quantile(costs[good], 0.1)) - self.best, 1e-9)
        weights = np.exp(
            -(np.where(good, costs, np.inf) - self.best) / (self._settings.temperature * spread)
        )
        weights /= weights.sum()
        self.mean[:] = np.tensordot(weights, tried, axes=(0, 0))
        self.actuator[0] = weights @ actuator
        return self.mean[0].copy()

    def thrust(self, command: float) -> float:
        """Returns the thrust of all rotors at a common command 0..1 [N]."""
        actuator = self.batch.model.actuator[0, self.batch.model.rotor_mask[0]]
        speed = actuator["zero_position_armed"] + actuator["input_scaling"] * command
        return float((actuator["motor_constant"] * speed**2).sum())

    def _tried(self) -> np.ndarray:
        """Returns sequences of actions (K, H, 4), float32: the mean, and others about it."""
        settings = self._settings
        shape = settings.rollouts, settings.horizon, 4
        tried: np.ndarray = self._random.standard_normal(shape, dtype=np.float32)
        shape_noise(
            tried,
            self.mean,
            np.array(settings.noise),
            settings.smoothness,
            np.array([*(-value for value in settings.max_rates), 0.0]),
            np.array([*settings.max_rates, 1.0]),
        )
        return tried

    def _costs(self, tried: np.ndarray, references: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Flies the sequences; returns their costs (K,), and actuators after the first action."""
        total, actuator = np.zeros(len(tried)), np.empty(0)
        for k in range(tried.shape[1]):
            action = tried[:, k, None, :]
            state = self.batch.step(action)
            if k == 0:
                actuator = state.actuator[:, 0].copy()
            self._add_all(state, action, references[k], total)
        return total, actuator

    def _add_all(
        self, state: BatchState, action: np.ndarray, reference: np.ndarray, total: np.ndarray
    ) -> None:
        """Adds the costs of a state of the batch to `total` (K,), on all threads."""

        def add(first: int, last: int) -> None:
            part = slice(first, last)
            self._add(
                state.pos[part],
                state.quat[part],
                state.vel[part],
                state.ang_vel[part],
                action[part],
                reference,
                total[part],
            )

        self.batch.threads.over(len(total), add)
