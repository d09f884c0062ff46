"""A fleet in formation: leader, followers and the network between them."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from xtdrone_core import SetPoints
from xtdrone_core.contracts import Snapshot
from xtdrone_core.runs.snapshot import Memory

from . import formations
from .assignment import Transition, hold, plan
from .errors import FormationError
from .leaders import Leader
from .network import NeighbourState, Network
from .schemes import Follower, SelfState, saturate


class Formation(Memory):
    """Leader, followers and network of a fleet; step() computes the set-points of a period."""

    MEMORY = ("name", "leader", "follower", "ground", "_leader_z")

    def __init__(
        self,
        n: int,
        leader: Leader,
        follower: Follower,
        speed: float = 3.0,
        acceleration: float = 2.0,
        ground: float = -math.inf,
    ) -> None:
        """Makes a fleet without a formation; call start() or command() first.

        Args:
            n: Number of vehicles, 2 or more.
            leader: Controls vehicle 0 and defines the communication.
            follower: Controls vehicles 1 to n - 1.
            speed: Largest speed of a transition, relative to the leader [m/s].
            acceleration: Largest acceleration of a transition [m/s^2].
            ground: Height of the ground [m].

        Raises:
            FormationError: Too few vehicles, or limits that do not fit.
        """
        if n < 2:
            raise FormationError(
                f"n = {n} is not allowed: a formation has a leader and followers, "
                "give 2 or more vehicles"
            )
        if speed > 0.9 * follower.parameters.speed_limit:
            raise FormationError(
                f"transition speed {speed} m/s leaves no margin to the followers' "
                f"speed limit of {follower.parameters.speed_limit} m/s: give at "
                "most 0.9 of it"
            )
        self.n = n
        self.leader, self.follower = leader, follower
        self._transition: Transition | None = None
        self.name = "waiting"
        self.ground = ground
        self._leader_z = math.inf  # the leader's height at the last step [m]
        self._speed, self._acceleration = speed, acceleration
        self._rows = np.arange(1, n)
        self._set_points = SetPoints.empty(n)
        self._network: Network | None = None

    def save(self) -> dict[str, Any]:
        """Saves also the transition and the network."""
        return {
            **super().save(),
            "transition": None if self._transition is None else self._transition.save(),
            "network": None if self._network is None else self._network.save(),
        }

    def load(self, snapshot: Snapshot) -> None:
        """Restores what save() returned."""
        super().load(snapshot)
        self._transition = self._network = None
        if snapshot["transition"] is not None:
            self._transition = Transition(**snapshot["transition"])
        if snapshot["network"] is not None:
            self._network = Network(snapshot["network"]["edges"], self.n, self.leader.radio)
            self._network.load(snapshot["network"])

    @property
    def started(self) -> bool:
        """Whether start() was called."""
        return self._transition is not None

    @property
    def transition(self) -> Transition:
        """The transition to the current formation, after start()."""
        assert self._transition is not None
        return self._transition

    @property
    def network(self) -> Network:
        """The network between the vehicles, after start()."""
        assert self._network is not None
        return self._network

    def start(self, t_us: int, pos: np.ndarray) -> None:
        """Takes the current positions (N, 3) [m] as the first formation."""
        self._transition = hold(pos[1:] - pos[0], t_us)
        self._leader_z = float(pos[0, 2])
        self._network = Network(self.leader.edges(self.transition.goal), self.n, self.leader.radio)

    def command(
        self, t_us: int, name: str, offsets: npt.ArrayLike | None = None, floor: float = -math.inf
    ) -> Transition:
        """Begins the transition to a formation.

        Args:
            t_us: Simulated time [us].
            name: The formation's name.
            offsets: (N - 1, 3) its slots [m]; None: formations.slots(name, n).
            floor: Lowest offset clear of the ground, relative to the leader [m].

        Returns:
            The transition; its `goal` holds the slots in the followers' order.

        Raises:
            FormationError: The formation does not fit above the ground, or no safe transition to
                it was found.
        """
        if offsets is None:
            offsets = formations.slots(name, self.n)
        formations.require_height(name, offsets, self._leader_z - self.ground)
        current = self.transition.at(t_us)[0]
        self._transition = plan(
            current, offsets, t_us, self._speed, self._acceleration, floor=floor
        )
        self.network.rewire(self.leader.edges(self.transition.goal))
        self.name = name
        return self.transition

    def step(self, t_us: int, pos: np.ndarray, vel: np.ndarray) -> SetPoints:
        """Exchanges packets and computes set-points.

        Args:
            t_us: Simulated time [us], one period after the last call.
            pos: (N, 3) estimated positions, world [m].
            vel: (N, 3) estimated velocities, world [m/s].

        Returns:
            Set-points of all vehicles; overwritten by the next call.
        """
        self._leader_z = float(pos[0, 2])
        slots, slot_vel, slot_acc = self.transition.at(t_us)
        lifted = formations.lifted(slots, self._leader_z - self.ground)
        if lifted is not slots:  # they stay up while the leader moves
            slot_vel = slot_vel - [0.0, 0.0, vel[0, 2]]
        own = SelfState(pos[1:], vel[1:], lifted, slot_vel, slot_acc)
        leader_pos, leader_vel, leader_acc = self.leader.control(t_us, pos[0], vel[0])
        packets = np.vstack(
            [self.leader.packet(t_us, pos[0], vel[0]), self.follower.packet(t_us, own)]
        )
        self.network.exchange(t_us, packets)
        neighbours = self.network.neighbours(t_us, self._rows)
        desired = self._control(t_us, own, neighbours, leader_vel)
        out = self._set_points
        out.pos[0], out.vel[0], out.acc[0] = leader_pos, leader_vel, leader_acc
        if self.follower.commands == "acceleration":
            out.acc[1:] = self._accelerate(desired, pos, vel)
        else:
            limit = self.follower.parameters.speed_limit
            out.vel[1:] = saturate(self.follower.avoid(desired, pos, vel)[1:], limit)
            out.acc[1:] = own.slot_acc
        return out

    def pattern(self, t_us: int) -> np.ndarray:
        """Returns the slots (N - 1, 3) at a time, clear of the ground below the leader [m]."""
        return formations.lifted(self.transition.at(t_us)[0], self._leader_z - self.ground)

    def _control(
        self, t_us: int, own: SelfState, neighbours: NeighbourState, leader_vel: np.ndarray
    ) -> np.ndarray:
        """Returns the output of the control law (N, 3); zero where nothing was received yet."""
        desired = np.zeros((self.n, 3))
        desired[0] = np.nan_to_num(leader_vel)
        desired[1:] = self.follower.control(t_us, own, neighbours)
        nothing = ~np.isfinite(neighbours.age)
        if nothing.any():
            desired[1 + neighbours.to[nothing]] = 0.0
        return desired

    def _accelerate(self, desired: np.ndarray, pos: np.ndarray, vel: np.ndarray) -> np.ndarray:
        """Returns accelerations (M, 3) of an acceleration law, with avoidance and both limits."""
        p = self.follower.parameters
        # Avoidance modifies velocities: the one that the law would reach in its time constant.
        target = vel + desired / p.damping
        target[1:] = saturate(self.follower.avoid(target, pos, vel)[1:], p.speed_limit)
        return saturate(p.damping * (target - vel)[1:], p.acceleration_limit)

    def errors(self, t_us: int, pos: np.ndarray) -> np.ndarray:
        """Returns the distance (N - 1,) of each follower from its final slot [m]."""
        error = (
            pos[1:] - pos[0] - formations.lifted(self.transition.goal, self._leader_z - self.ground)
        )
        return np.sqrt(np.einsum("ik,ik->i", error, error))
