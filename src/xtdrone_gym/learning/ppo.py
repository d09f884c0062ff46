"""Proximal policy optimisation on a TaskBatch, on plain PyTorch.

Schulman et al., "Proximal Policy Optimization Algorithms", arXiv:1707.06347; advantages after
Schulman et al., "High-Dimensional Continuous Control Using Generalized Advantage Estimation",
arXiv:1506.02438; the learning rate follows the policy's change as in Rudin et al., "Learning to
Walk in Minutes", arXiv:2109.11978. The end of an episode by its time is no end: its reward
contains the value of what would have followed (Pardo et al., arXiv:1712.00378).

All vehicles of all environments share one policy: a row is one vehicle.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from ..rows import Rows
from ..scaling import Scaling
from ..task_batch import TaskBatch
from .settings import Settings

_MAX_KL = 2.0  # times the target kl: an update ends there


def layers(sizes: tuple[int, ...], last: int, gain: float) -> nn.Sequential:
    """Returns a perceptron of rectified linear units.

    Args:
        sizes: Widths of its input and hidden layers.
        last: Width of its output.
        gain: Initial gain of the output layer.
    """
    parts: list[nn.Module] = []
    for a, b in itertools.pairwise(sizes):
        hidden = nn.Linear(a, b)
        nn.init.orthogonal_(hidden.weight, math.sqrt(2.0))
        nn.init.zeros_(hidden.bias)
        parts += [hidden, nn.ReLU()]
    output = nn.Linear(sizes[-1], last)
    nn.init.orthogonal_(output.weight, gain)
    nn.init.zeros_(output.bias)
    return nn.Sequential(*parts, output)


class Actor(nn.Module):
    """A network from observations, divided by their scales, to a Gaussian over actions in -1..1."""

    def __init__(self, inputs: int, outputs: int, settings: Settings):
        super().__init__()
        self.recurrent = settings.recurrent
        if self.recurrent:
            self.cell = nn.GRUCell(inputs, self.recurrent)
        self.mean = layers((self.recurrent or inputs, *settings.hidden), outputs, 0.01)
        self.log_deviation = nn.Parameter(torch.full((outputs,), math.log(settings.initial_std)))

    def forward(self, x: torch.Tensor, memory: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns mean (M, K) and the next memory (M, H)."""
        if self.recurrent:
            memory = self.cell(x, memory)
            x = memory
        return self.mean(x), memory


class Rollout(NamedTuple):
    """T steps of R rows."""

    observation: torch.Tensor  # (T + 1, R, N) scaled
    critic: torch.Tensor  # (T + 1, R, C) scaled
    action: torch.Tensor  # (T, R, K) -1..1
    mean: torch.Tensor  # (T, R, K) of the policy that acted
    memory: torch.Tensor  # (R, H) at the start
    reward: torch.Tensor  # (T, R) scaled
    done: torch.Tensor  # (T, R)
    advantage: torch.Tensor  # (T, R)
    target: torch.Tensor  # (T, R) of the value


class Progress(NamedTuple):
    """One iteration."""

    iteration: int
    steps: int  # steps of all rows so far
    seconds: float  # time of training so far [s]
    reward: float  # mean of a step
    success: float  # success rate of the episodes that ended in it; NaN without any
    kl: float  # Kullback-Leibler divergence of its last update
    learning_rate: float


class Learner:
    """Learns a policy for the rows of a TaskBatch.

    Attributes:
        tasks: The TaskBatch.
        actor, critic: The networks.
        scaling: Between the task's units and the networks'.
    """

    def __init__(self, tasks: TaskBatch, settings: Settings = Settings(), seed: int = 0):
        """Begins without training.

        Args:
            tasks: The environments.
            settings: Settings of the learner.
            seed: Seed of networks and exploration; the tasks have their own.
        """
        self.tasks, self.settings, self.seed = tasks, settings, seed
        self.rows = Rows(tasks, settings.discount, settings.shaping)
        self.scaling = self.rows.scaling
        torch.manual_seed(seed)
        rows, inputs, outputs = self.rows.count, tasks.observation.shape[2], tasks.action.shape[2]
        critic_inputs = inputs
        if settings.asymmetric:
            critic_inputs += self.rows.state_space.shape[0]
        self.actor = Actor(inputs, outputs, settings)
        self.critic = layers((critic_inputs, *settings.hidden), 1, 1.0)
        self.optimisers = [
            torch.optim.Adam(net.parameters(), lr=rate, fused=True)
            for net, rate in (
                (self.actor, settings.learning_rate),
                (self.critic, settings.critic_learning_rate),
            )
        ]
        # Of exploration, and of the minibatches of actor and critic.
        self._generators = [torch.Generator().manual_seed(3 * seed + k) for k in range(3)]
        self._critic_thread = ThreadPoolExecutor(1)
        t = settings.horizon
        self._observation = torch.zeros(t + 1, rows, inputs)
        self._critic = torch.zeros(t + 1, rows, critic_inputs)
        self._action, self._mean = torch.zeros(2, t, rows, outputs)
        self._memory = torch.zeros(rows, settings.recurrent)
        self._reward, self._done, self._next = torch.zeros(3, t, rows)
        self._return = np.zeros(rows)
        self._moments, self._updates = np.zeros(2), 0  # mean and mean square of returns
        self.iteration = self.steps = 0
        self.seconds = 0.0
        self._compile()
        self.restart()

    def _compile(self) -> None:
        """Calls what steps call, for the time that kernels take to compile is none of learning.

        restart() makes it undone.
        """
        self.rows.step(self._action[0].numpy())
        self.tasks.batch.state.pos[..., 2] = 0.0  # on the ground, where other kernels are called
        self.rows.step(self._action[0].numpy())
        self.rows.state()
        self.tasks.begin(np.ones(self.tasks.environments, dtype=np.bool_))

    def save(self) -> dict[str, Any]:
        """Returns all that learning goes on from, as plain data and arrays, see restart()."""
        optimisers = [
            {
                name: value.numpy()
                for k, state in optimiser.state_dict()["state"].items()
                for name, value in ((f"{k}.{part}", state[part]) for part in state)
            }
            for optimiser in self.optimisers
        ]
        return {
            "networks": [arrays_of(net) for net in (self.actor, self.critic)],
            "optimisers": optimisers,
            "rates": [optimiser.param_groups[0]["lr"] for optimiser in self.optimisers],
            "generators": [generator.get_state().numpy() for generator in self._generators],
            "moments": self._moments,
            "updates": self._updates,
            "iteration": self.iteration,
            "steps": self.steps,
            "seconds": self.seconds,
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Goes on from what save() returned; call restart() then, as after the save."""
        for net, arrays in zip((self.actor, self.critic), saved["networks"], strict=True):
            set_arrays(net, arrays)
        for optimiser, arrays, rate in zip(
            self.optimisers, saved["optimisers"], saved["rates"], strict=True
        ):
            states: dict[int, dict[str, torch.Tensor]] = {}
            for name, value in arrays.items():
                k, part = name.split(".")
                states.setdefault(int(k), {})[part] = torch.from_numpy(np.array(value))
            optimiser.load_state_dict({**optimiser.state_dict(), "state": states})
            optimiser.param_groups[0]["lr"] = rate
        for generator, state in zip(self._generators, saved["generators"], strict=True):
            generator.set_state(torch.from_numpy(np.array(state)))
        self._moments, self._updates = np.array(saved["moments"]), saved["updates"]
        self.iteration, self.steps = saved["iteration"], saved["steps"]
        self.seconds = saved["seconds"]

    def restart(self) -> None:
        """Begins all episodes anew, by the seed and the iteration, at different times.

        What is learned from then on depends on nothing that save() leaves out.
        """
        self.rows.begin(self.seed * 1_000_003 + self.iteration)
        self.tasks.stagger()
        self._memory = torch.zeros_like(self._memory)
        self._return[:] = 0.0

    def learn(self, iterations: int) -> Iterator[Progress]:
        """Iterations of rollout and update, as many as asked for."""
        for _ in range(iterations):
            begin = time.perf_counter()
            reward, success, rollout = self.roll()
            kl = self._update(rollout)
            self.iteration += 1
            self.steps += rollout.advantage.numel()
            self.seconds += time.perf_counter() - begin
            yield Progress(
                self.iteration,
                self.steps,
                self.seconds,
                reward,
                success,
                kl,
                self.optimisers[0].param_groups[0]["lr"],
            )

    @torch.inference_mode()
    def roll(self) -> tuple[float, float, Rollout]:
        """Makes the rollout of one iteration; returns mean reward, success rate and rollout."""
        rows, tasks, s = self.rows, self.tasks, self.settings
        start = self._memory.clone()
        deviation = self.actor.log_deviation.exp()
        noise = torch.randn(self._action.shape, generator=self._generators[0])
        ended = won = 0
        total = 0.0
        self._observe(0)
        for t in range(s.horizon):
            self._mean[t], self._memory = self.actor(self._observation[t], self._memory)
            torch.addcmul(self._mean[t], noise[t], deviation, out=self._action[t])
            rows.step(self._action[t].numpy())
            self._reward[t] = torch.from_numpy(self._scale_reward(rows.reward, rows.done))
            self._done[t] = torch.from_numpy(rows.done)
            total += float(tasks.reward.mean())
            self._observe(t + 1)
            if tasks.done.any():
                ended += int(tasks.done.sum())
                won += int(tasks.success[tasks.done].sum())
                self._memory[self._done[t] > 0.0] = 0.0
                self._next[t] = self._final_values(rows.truncated)
        value = self.critic(self._critic)[..., 0]
        advantage = torch.zeros_like(self._reward)
        gae = torch.zeros_like(value[0])
        for t in reversed(range(s.horizon)):
            going = 1.0 - self._done[t]
            following = going * value[t + 1] + self._done[t] * self._next[t]
            gae = (
                self._reward[t]
                + s.discount * following
                - value[t]
                + s.discount * s.gae_lambda * going * gae
            )
            advantage[t] = gae
        rollout = Rollout(
            self._observation,
            self._critic,
            self._action,
            self._mean,
            start,
            self._reward,
            self._done,
            advantage,
            advantage + value[:-1],
        )
        return total / s.horizon, won / ended if ended else math.nan, rollout

    def _scale_reward(self, reward: np.ndarray, done: np.ndarray) -> np.ndarray:
        """Returns rewards (R,) divided by the standard deviation of the returns so far."""
        self._return[:] = self.settings.discount * self._return + reward
        batch_mean, batch_square = self._return.mean(), np.square(self._return).mean()
        weight = 1.0 / min(self._updates + 1, 1000)
        self._moments += weight * (np.array([batch_mean, batch_square]) - self._moments)
        self._updates += 1
        self._return[done] = 0.0
        deviation = math.sqrt(max(self._moments[1] - self._moments[0] ** 2, 1e-8))
        return np.asarray(reward / deviation, dtype=np.float32)

    def _observe(self, t: int) -> None:
        """Writes the inputs of actor and critic into row t."""
        self._observation[t] = torch.from_numpy(self.rows.observation())
        self._critic[t] = self._critic_input(self._observation[t], self.rows.state)

    def _critic_input(
        self, observation: torch.Tensor, state: Callable[[], np.ndarray]
    ) -> torch.Tensor:
        """Returns the critic's input (M, C); calls state() only if it sees more than the actor."""
        if not self.settings.asymmetric:
            return observation
        return torch.cat([observation, torch.from_numpy(state())], dim=1)

    def _final_values(self, truncated: np.ndarray) -> torch.Tensor:
        """Returns values (R,) after the last steps of truncated rows (R,) bool; others 0."""
        out = torch.zeros(len(truncated))
        which = np.flatnonzero(truncated)
        if len(which):
            final = self.rows.final(which)
            # The truth after a restart is another episode's: here the critic knows no more.
            out[torch.from_numpy(which)] = self.critic(
                self._critic_input(torch.from_numpy(final), lambda: self.rows.unknown_state(final))
            )[:, 0]
        return out

    def _update(self, rollout: Rollout) -> float:
        """Epochs over a rollout; returns the last divergence of the policy."""
        valued = self._critic_thread.submit(self._update_critic, rollout)
        kl = self._update_actor(rollout)
        valued.result()
        return kl

    def _update_critic(self, rollout: Rollout) -> None:
        """Runs on a thread of its own, since it shares nothing with the actor."""
        optimiser, observation, target = (
            self.optimisers[1],
            _flat(rollout.critic[:-1]),
            _flat(rollout.target),
        )
        for index in self._minibatches(self._generators[2]):
            error = self.critic(observation[index])[:, 0] - target[index]
            optimiser.zero_grad()
            error.square().mean().backward()
            nn.utils.clip_grad_norm_(self.critic.parameters(), 1.0)
            optimiser.step()

    def _update_actor(self, rollout: Rollout) -> float:
        s, optimiser = self.settings, self.optimisers[0]
        old_deviation = self.actor.log_deviation.detach().clone()
        advantage = _flat(
            (rollout.advantage - rollout.advantage.mean()) / (rollout.advantage.std() + 1e-8)
        )
        observation, actions, means = (
            _flat(rollout.observation[:-1]),
            _flat(rollout.action),
            _flat(rollout.mean),
        )
        log_old = _log_density(actions, means, old_deviation)
        kl = 0.0
        for index in self._minibatches(self._generators[1]):
            mean = self._means(rollout, observation[index], index)
            log = _log_density(actions[index], mean, self.actor.log_deviation)
            ratio = (log - log_old[index]).exp()
            a = advantage[index]
            gain = torch.minimum(ratio * a, ratio.clamp(1.0 - s.clip, 1.0 + s.clip) * a).mean()
            loss = -gain - s.entropy_coefficient * self.actor.log_deviation.sum()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.actor.parameters(), 1.0)
            optimiser.step()
            with torch.no_grad():
                self.actor.log_deviation.clamp_(min=math.log(s.min_std), max=0.0)
                kl = float(_divergence(means[index], old_deviation, mean, self.actor.log_deviation))
            if kl > _MAX_KL * s.target_kl:
                break
        self._adapt(kl)
        return kl

    def _adapt(self, kl: float) -> None:
        """Sets the learning rate of the next update, by the change of the policy in this one."""
        group, target = self.optimisers[0].param_groups[0], self.settings.target_kl
        if kl > 1.5 * target:
            group["lr"] = max(group["lr"] / 1.5, 1e-5)
        elif kl < target / 1.5:
            group["lr"] = min(group["lr"] * 1.5, 1e-2)

    def _minibatches(self, generator: torch.Generator) -> Iterator[torch.Tensor]:
        """Yields indices t R + row of each minibatch; of a recurrent policy whole sequences."""
        s, count = self.settings, self._observation.shape[1]
        for _ in range(s.epochs):
            if s.recurrent:
                first = torch.arange(s.horizon)[:, None] * count
                for rows in torch.randperm(count, generator=generator).chunk(s.minibatches):
                    yield (first + rows).reshape(-1)
            else:
                yield from torch.randperm(s.horizon * count, generator=generator).chunk(
                    s.minibatches
                )

    def _means(
        self, rollout: Rollout, observation: torch.Tensor, index: torch.Tensor
    ) -> torch.Tensor:
        """Returns the actions of the present policy (M, K)."""
        if not self.settings.recurrent:
            return self.actor(observation, rollout.memory)[0]
        horizon = self.settings.horizon
        rows = index[: len(index) // horizon]
        memory, means, observation = (
            rollout.memory[rows],
            [],
            observation.reshape(horizon, len(rows), -1),
        )
        for t in range(horizon):
            mean, memory = self.actor(observation[t], memory)
            memory = memory * (1.0 - rollout.done[t, rows])[:, None]
            means.append(mean)
        return torch.cat(means)


def arrays_of(net: nn.Module) -> dict[str, np.ndarray]:
    """Returns the weights of a network by name."""
    return {name: value.numpy() for name, value in net.state_dict().items()}


def set_arrays(net: nn.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Sets the weights that arrays_of() has returned."""
    net.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in arrays.items()})


def _flat(x: torch.Tensor) -> torch.Tensor:
    """Returns steps and rows as one axis."""
    return x.reshape(-1, *x.shape[2:])


def _log_density(
    action: torch.Tensor, mean: torch.Tensor, log_deviation: torch.Tensor
) -> torch.Tensor:
    """Returns the logarithm of a Gaussian's density, but for a constant."""
    return (-0.5 * ((action - mean) / log_deviation.exp()).square() - log_deviation).sum(-1)


def _divergence(
    mean: torch.Tensor,
    log_deviation: torch.Tensor,
    new_mean: torch.Tensor,
    new_log_deviation: torch.Tensor,
) -> torch.Tensor:
    """Returns the mean Kullback-Leibler divergence of two Gaussians, the old one first."""
    ratio = (2.0 * (log_deviation - new_log_deviation)).exp()
    distance = ((mean - new_mean) / new_log_deviation.exp()).square()
    return 0.5 * (ratio + distance - 1.0).sum(-1).mean() + (new_log_deviation - log_deviation).sum()


@torch.inference_mode()
def evaluate(
    actor: Actor,
    scaling: Scaling,
    tasks: TaskBatch,
    seed: int = 0,
    watch: Callable[[TaskBatch], object] | None = None,
) -> float:
    """Returns the success rate of one episode in each environment, without exploration.

    Args:
        actor: The policy.
        scaling: Its units.
        tasks: Environments of the same task.
        seed: Seed of the episodes.
        watch: Called after each step.
    """
    tasks.begin(seed=seed)
    rows = tasks.environments * tasks.task.vehicles
    memory = torch.zeros(rows, actor.recurrent)
    going = np.ones(tasks.environments, dtype=np.bool_)
    won = np.zeros_like(going)
    for _ in range(math.ceil(tasks.task.seconds / tasks.task.step_s)):
        observation = torch.from_numpy(scaling.observation(tasks.observation.reshape(rows, -1)))
        mean, memory = actor(observation, memory)
        tasks.step(scaling.action(mean.numpy()).reshape(tasks.action.shape))
        if watch is not None:
            watch(tasks)
        ended = going & tasks.done
        won[ended] = tasks.success[ended]
        going &= ~ended
        if not going.any():
            break
    return float(won.mean())
