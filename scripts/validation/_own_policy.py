"""This project's policy for any vehicle: learned, and flown to the goals that RAPTOR is given."""

import subprocess
import sys
from pathlib import Path

import numpy as np

from xtdrone_autopilot.control.vector import thrust_newtons
from xtdrone_autopilot.state.vehicle_status import describe_bodies, new_status
from xtdrone_core import SetPoints
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_gym.policy.pilot import Pilot
from xtdrone_gym.policy.policy_file import Policy

LEARN = "learn Position-v0 --any_vehicle --mass 0.3 --thrust 0.2 --history 2 --steps 2000000"
# How far away its goal is that it is told: it has learned goals of up to 2 m along each axis, and
# comes at those of 5 m faster than it has learned to brake.
TOLD_M = 2.0


def learn(folder: str) -> str:
    """Learns a policy into a folder; returns its file."""
    command = [sys.executable, "-m", "xtdrone_core.command", *LEARN.split(), "--out", folder]
    subprocess.run(command, check=True)
    return str(Path(folder) / "policy.onnx")


class OwnAgent(FlightAgent):
    """Hands a vehicle to a policy of Position-v0 at 5 m, and moves its goal."""

    period_us = 4_000

    def __init__(self, policy: str, step_s: float, step_m: float, end_s: float):
        """Flies to a hover until step_s, then to a goal that is step_m further, until end_s."""
        super().__init__(1, 5.0)
        self.policy, self.step_s, self.step_m, self.end_s = Policy(policy), step_s, step_m, end_s
        self.rows = []

    def attach(self, flight):
        """Fits the policy to the vehicle."""
        self.flight, self.pilot = flight, Pilot(self.policy, flight.fleet.vehicles)
        self.status = new_status(1)
        describe_bodies(self.status, flight.fleet)
        self._out = SetPoints.empty(1, flight.fleet.actuator.shape[1])

    def begin(self, t_us, estimates):
        """Takes over where it is."""
        self.begun_us = t_us
        self.goal = self.home + [0.0, 0.0, self.height]
        self.start(t_us, estimates)

    def start(self, t_us, estimates):
        """Begins an episode at a place."""
        self.episode_us = self.due_us = t_us
        self.pilot.begin()
        self.offset = self.pilot.starts - estimates.pos

    def fly(self, t_us, estimates, out):
        """Flies to the goal."""
        since = (t_us - self.begun_us) * 1e-6
        moved = since > self.step_s
        if moved and self.episode_us == self.begun_us:
            self.start(t_us, estimates)
        goal = self.goal + [self.step_m * moved, 0.0, 0.0]
        if t_us >= self.due_us:
            self.due_us += self.pilot.period_us
            e = estimates
            pos, way = e.pos + self.offset, goal - e.pos
            near = min(1.0, TOLD_M / max(np.linalg.norm(way), 1e-9))
            self.pilot.tasks.goal.reshape(1, -1)[:, :3] = pos + near * way
            self.action = self.pilot.act(t_us - self.episode_us, pos, e.quat, e.vel, e.ang_vel)
        out.clear()
        out.rates[:] = self.action[:, :3]
        out.force[:] = [0.0, 0.0, thrust_newtons(self.status[0], self.action[0, -1])]
        self.rows.append((since, *(self.flight.state.pos[0] - goal[0])))
        return since >= self.end_s
