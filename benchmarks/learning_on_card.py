"""Learns to fly to a place by body rates and thrust, wholly on a graphics card.

The batch steps there, PyTorch reads its state there without a copy, and the policy's actions stay
there: proximal policy optimisation (Schulman et al., 2017) of two small networks. Without a card
the same program runs on the CPU:

    python benchmarks/learning_on_card.py --device cuda
    python benchmarks/learning_on_card.py --environments 512 --iterations 60

On the CPU use `xtdrone learn`, which has tasks, curricula and exports.
"""

import argparse
import time

import torch
from torch import nn

import xtdrone as xd
from xtdrone_batch.device_array import check_device
from xtdrone_batch.errors import BatchError

GOAL = (0.0, 0.0, 5.0)  # [m]
RATE = 3.0  # largest commanded body rate [rad/s]
HORIZON, EPOCHS, PARTS = 32, 4, 8
LONGEST = 4  # rollouts of an episode
GAMMA, LAMBDA, CLIP = 0.98, 0.95, 0.2
STARTS = xd.Randomisation(pos=(2.0, 2.0, 1.0), yaw=3.0, vel=1.0, mass=0.1, thrust=0.05)
LOST = 6.0  # distance at which an episode ends [m]


def network(outputs: int) -> nn.Sequential:
    """Returns a multilayer perceptron of the 15 numbers of observe()."""
    return nn.Sequential(
        nn.Linear(15, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)
    )


class Flight:
    """A batch whose state and actions are tensors."""

    def __init__(self, environments: int, device: str, seed: int):
        self.batch = xd.BatchSimulation(
            "iris@0,0,5", environments, action="rates", dtype="float32", device=device,
            randomisation=STARTS, seed=seed,
        )  # fmt: skip
        state = self.batch.state
        self.pos, self.quat, self.vel, self.ang_vel = (
            torch.from_dlpack(array)[:, 0]
            for array in (state.pos, state.quat, state.vel, state.ang_vel)
        )
        self.goal = torch.tensor(GOAL, device=device)
        self.scale = torch.tensor([RATE, RATE, RATE, 0.5], device=device)
        self.hover = torch.tensor([0.0, 0.0, 0.0, 0.5], device=device)

    def observe(self) -> torch.Tensor:
        """Returns (E, 15): way to the goal, velocity, body rates, two columns of the rotation."""
        x, y, z, w = self.quat.unbind(1)
        forward = torch.stack(
            (1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)), 1
        )
        up = torch.stack((2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)), 1)
        return torch.cat((self.goal - self.pos, self.vel, self.ang_vel, forward, up), 1)

    def step(self, action: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Flies 20 ms under actions (E, 4) of -1 to 1; returns rewards and who is lost."""
        command = self.hover + self.scale * action.clamp(-1.0, 1.0)
        command = command[:, None].contiguous()
        self.batch.step(command if command.is_cuda else command.numpy())
        square = (self.goal - self.pos).square().sum(1)
        reward = torch.exp(-square) + torch.exp(-0.1 * square)
        reward -= 0.02 * self.ang_vel.square().sum(1) + 0.02 * self.vel.square().sum(1)
        return reward, square > LOST**2

    def reset(self, which: torch.Tensor) -> None:
        """Puts environments (E,) bool back to a start."""
        if which.any():
            self.batch.reset(which.cpu().numpy())


class Learner:
    """Actor, critic and the rollouts that they learn from."""

    def __init__(self, flight: Flight, device: str):
        self.flight, self.device = flight, device
        self.actor, self.critic = network(4).to(device), network(1).to(device)
        self.deviation = nn.Parameter(torch.full((4,), -0.7, device=device))
        self.parameters = [*self.actor.parameters(), *self.critic.parameters(), self.deviation]
        self.optimiser = torch.optim.Adam(self.parameters, lr=1e-3)
        environments = flight.batch.environments
        self.age = torch.arange(environments, device=device) % LONGEST

    def policy(self, observation: torch.Tensor) -> torch.distributions.Normal:
        """Returns the distribution of actions."""
        return torch.distributions.Normal(self.actor(observation), self.deviation.exp())

    @torch.no_grad()
    def rollout(self) -> tuple[torch.Tensor, ...]:
        """Flies HORIZON steps; returns observations, actions, their log probability, advantages,
        values to learn and which steps count, each (HORIZON, E, ...)."""
        kept = []
        alive = torch.ones(self.flight.batch.environments, dtype=torch.bool, device=self.device)
        for _ in range(HORIZON):
            observation = self.flight.observe()
            policy = self.policy(observation)
            action = policy.sample()
            reward, lost = self.flight.step(action)
            kept.append(
                (observation, action, policy.log_prob(action).sum(1), reward, alive & lost, alive)
            )
            alive = alive & ~lost
        observation, action, log_probability, reward, lost, counts = map(torch.stack, zip(*kept))
        value = self.critic(torch.cat((observation, self.flight.observe()[None])))[..., 0]
        advantage, following = torch.zeros_like(value), torch.zeros_like(value[0])
        for t in range(HORIZON - 1, -1, -1):
            goes_on = (~lost[t]).float()
            error = reward[t] - lost[t] * 10.0 + GAMMA * goes_on * value[t + 1] - value[t]
            following = error + GAMMA * LAMBDA * goes_on * following
            advantage[t] = following
        self.age += 1
        ended = ~alive | (self.age >= LONGEST)
        self.flight.reset(ended)
        self.age[ended] = 0
        advantage = advantage[:-1]
        return observation, action, log_probability, advantage, advantage + value[:-1], counts

    def learn(self) -> None:
        """Flies a rollout and takes the steps of proximal policy optimisation."""
        *columns, counts = self.rollout()
        rows = [column.flatten(0, 1)[counts.flatten()] for column in columns]
        rows[3] = (rows[3] - rows[3].mean()) / (rows[3].std() + 1e-6)
        for _ in range(EPOCHS):
            for part in torch.randperm(len(rows[0]), device=self.device).chunk(PARTS):
                observation, action, before, advantage, target = (row[part] for row in rows)
                policy = self.policy(observation)
                ratio = (policy.log_prob(action).sum(1) - before).exp()
                clipped = ratio.clamp(1.0 - CLIP, 1.0 + CLIP)
                gain = torch.minimum(ratio * advantage, clipped * advantage).mean()
                miss = (self.critic(observation)[:, 0] - target).square().mean()
                self.optimiser.zero_grad()
                (0.1 * miss - gain - 0.002 * policy.entropy().sum(1).mean()).backward()
                nn.utils.clip_grad_norm_(self.parameters, 1.0)
                self.optimiser.step()

    @torch.no_grad()
    def success(self) -> float:
        """Returns the part of all starts from which the mean action is at the goal after 5 s:
        nearer than 0.2 m, slower than 0.5 m/s."""
        flight = self.flight
        flight.batch.reset()
        self.age[:] = 0
        for _ in range(250):
            flight.step(self.actor(flight.observe()))
        near = (flight.goal - flight.pos).norm(dim=1) < 0.2
        arrived = near & (flight.vel.norm(dim=1) < 0.5)
        flight.batch.reset()
        return float(arrived.float().mean())


def main() -> None:
    """Trains, and prints success, steps and seconds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--environments", type=int, default=16384)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.device == "cuda":
        try:
            check_device()
        except BatchError as error:
            print(f"nothing is measured: {error}")
            return
    torch.set_num_threads(1)  # on the CPU: the networks are too small to share
    torch.manual_seed(options.seed)
    learner = Learner(Flight(options.environments, options.device, options.seed), options.device)
    learner.learn()  # kernels are compiled before the clock starts
    steps, begin = 0, time.perf_counter()
    for k in range(options.iterations):
        learner.learn()
        steps += HORIZON * options.environments
        if (k + 1) % 20 == 0 or k + 1 == options.iterations:
            success = learner.success()
            seconds = time.perf_counter() - begin
            print(
                f"{steps / 1e6:8.1f} million steps, {seconds:6.1f} s, "
                f"{steps / seconds / 1e6:5.2f} million steps/s, success {success:.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
