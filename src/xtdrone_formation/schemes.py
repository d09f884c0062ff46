"""Formation schemes: communication and control of leader and followers.

A scheme of your own inherits from `Leader` and `Follower` and overrides some of their methods;
`Formation` runs it for a whole fleet. Vehicle 0 is the leader, vehicle i flies slot i - 1. This
module depends neither on ROS nor on a simulator.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xtdrone_core import SetPoints, registry
from xtdrone_core.errors import unknown_name
from xtdrone_core.listing import described
from xtdrone_core.runs.snapshot import Memory
from xtdrone_core.scenario.arguments import fields_of
from xtdrone_core.scenario.options import option

from . import formations
from .assignment import Transition, hold, plan
from .errors import FormationError
from .network import TOPOLOGIES, NeighbourState, Network, Radio, separation_pairs, topology

PERIOD_US = 20_000  # of packets and set-points [us]
_SHARPNESS = 8  # exponent of the smooth limit: 1 % below identity at 0.7 of the limit
# Axis about which two vehicles pass each other. It is no direction in which formations usually
# align vehicles, since two vehicles along the axis would get no sideways velocity.
_PASSING_AXIS = np.array([0.36, 0.48, 0.8])


def require_hovering(kinds: Iterable[tuple[str, str]]) -> None:
    """Checks that followers can hold a slot.

    Args:
        kinds: Name and kind of each follower, such as ("plane_1", "plane").

    Raises:
        FormationError: One of them is neither a multirotor nor a VTOL.
    """
    for name, kind in kinds:
        if kind not in ("multirotor", "VTOL"):
            raise FormationError(
                f"{name} is a {kind}, which cannot hold a slot beside its leader: "
                "give followers that hover; only the leader may be of any type"
            )


def saturate(vectors: np.ndarray, limit: float) -> np.ndarray:
    """Limits the length of vectors (M, 3) smoothly and keeps their direction.

    The length r becomes r / (1 + (r / limit)^8)^(1/8): nearly r up to 0.7 of the limit, and never
    above it.
    """
    length = np.sqrt(np.einsum("ik,ik->i", vectors, vectors)) / limit
    # Clipped, since the power would overflow; the result is the limit anyway.
    factor = (1.0 + np.minimum(length, 1e30) ** _SHARPNESS) ** (-1.0 / _SHARPNESS)
    return vectors * factor[:, None]


@dataclass(slots=True)
class SelfState:
    """The state of the M followers themselves."""

    pos: np.ndarray  # (M, 3) estimated, world [m]
    vel: np.ndarray  # (M, 3) estimated, world [m/s]
    slot: np.ndarray  # (M, 3) current slot, relative to the leader [m]
    slot_vel: np.ndarray  # (M, 3) its velocity [m/s]
    slot_acc: np.ndarray  # (M, 3) its acceleration [m/s^2]


class Leader(Memory):
    """The leader and the fleet's communication. It holds its position unless control() differs."""

    MEMORY = ("_position",)

    topology = "star"  # communication graph, see network.topology
    neighbours = 3  # of the topology "nearest"

    def __init__(self, radio: Radio = Radio()):
        """A leader whose fleet communicates over links with this delay, loss and range."""
        self.radio = radio
        self._position = None

    def edges(self, offsets: np.ndarray) -> np.ndarray:
        """Communication: (E, 2) edges (receiver, sender) for a formation's slots (N - 1, 3)."""
        return topology(self.topology, offsets, self.neighbours)

    def packet(self, t_us: int, pos: np.ndarray, vel: np.ndarray) -> np.ndarray:
        """Communication: the leader's packet; its slot is zero by definition."""
        return np.concatenate([pos, vel, np.zeros(6)])

    def control(self, t_us: int, pos: np.ndarray, vel: np.ndarray) -> tuple:
        """Control: set-points of the leader.

        Args:
            t_us: Simulated time [us].
            pos: (3,) estimated position, world [m].
            vel: (3,) estimated velocity, world [m/s].

        Returns:
            Position, velocity and acceleration, each (3,), NaN where not controlled.
        """
        if self._position is None:
            self._position = pos.copy()
        return self._position, np.zeros(3), np.zeros(3)

    def go_to(self, position: npt.ArrayLike) -> None:
        """Sets the position (3,) to hold, world [m]."""
        self._position = np.array(position, dtype=float)


class PathLeader(Leader):
    """Flies along waypoints, each leg a smooth motion from rest to rest; see start()."""

    def __init__(
        self, waypoints: Any, speed: float = 3.0, acceleration: float = 1.0, radio: Radio = Radio()
    ):
        """It holds its position until start() is called.

        Args:
            waypoints: (K, 3) world [m].
            speed: Largest speed [m/s].
            acceleration: Largest acceleration [m/s^2].
            radio: Properties of the links.

        Raises:
            FormationError: Invalid waypoints, speed or acceleration.
        """
        super().__init__(radio)
        try:
            self._waypoints = np.array(waypoints, dtype=float).reshape(-1, 3)
        except (TypeError, ValueError):
            self._waypoints = np.zeros((0, 3))
        if not len(self._waypoints) or not np.isfinite(self._waypoints).all():
            raise FormationError(
                f"waypoints {waypoints} of a leader's path are not allowed: give "
                "one or more of [x, y, z] in metres"
            )
        for what, value in (("speed", speed), ("acceleration", acceleration)):
            if not (math.isfinite(value) and value > 0):
                raise FormationError(
                    f"{what} {value} of a leader's path is not allowed: give a positive number"
                )
        self._speed, self._acceleration = speed, acceleration
        self._started = False
        self._leg = None

    def save(self) -> dict:
        """As of Memory, with what is left of the path."""
        return {
            **super().save(),
            "waypoints": self._waypoints.copy(),
            "started": self._started,
            "leg": None if self._leg is None else self._leg.save(),
        }

    def load(self, snapshot: Mapping[str, Any]) -> None:
        """As of Memory."""
        super().load(snapshot)
        self._waypoints, self._started = snapshot["waypoints"].copy(), snapshot["started"]
        self._leg = None if snapshot["leg"] is None else Transition(**snapshot["leg"])

    def start(self) -> None:
        """Begins the first leg at the next call of control()."""
        self._started = True

    def arrived(self, t_us: int) -> bool:
        """Whether the last waypoint is reached."""
        return self._leg is not None and len(self._waypoints) == 1 and t_us >= self._leg.end_us

    def control(self, t_us: int, pos: npt.ArrayLike, vel: npt.ArrayLike) -> Any:
        """Position, velocity and acceleration of the motion along the path."""
        if not self._started:
            return super().control(t_us, pos, vel)
        if self._leg is None:
            self._leg = self._plan(pos[None], t_us)
        while t_us >= self._leg.end_us and len(self._waypoints) > 1:
            self._waypoints = self._waypoints[1:]
            self._leg = self._plan(self._leg.goal, self._leg.end_us)
        return tuple(value[0] for value in self._leg.at(t_us))

    def _plan(self, start, t_us):
        return plan(start, self._waypoints[:1], t_us, self._speed, self._acceleration)


@dataclass(frozen=True)
class FollowerParameters:
    """Parameters of the followers' control laws."""

    gain: float = option(1.0, "of the slot error", unit="1/s", least=0.0, most=100.0)
    damping: float = option(
        2.0, "of velocity differences, in acceleration laws", unit="1/s", least=0.0, most=100.0
    )
    speed_limit: float = option(
        5.0, "largest speed of the followers", unit="m/s", least=0.0, most=100.0
    )
    acceleration_limit: float = option(
        4.0, "largest acceleration, in acceleration laws", unit="m/s^2", least=0.0, most=100.0
    )
    avoid_gain: float = option(
        2.0, "repulsion velocity at avoid_distance", unit="m/s", least=0.0, most=100.0
    )
    avoid_radius: float = option(
        1.4, "within which vehicles repel each other", unit="m", least=0.0, most=1000.0
    )
    avoid_distance: float = option(
        1.0, "at which no velocity towards each other remains", unit="m", least=0.0, most=1000.0
    )
    look_ahead: float = option(
        0.5, "prediction horizon of the distance to another vehicle", unit="s", least=0.0, most=60.0
    )
    packet_timeout: float = option(
        0.5, "after which a sender is assumed to slow down and stop", unit="s", least=0.0, most=60.0
    )

    def __post_init__(self):
        for name in ("gain", "damping", "speed_limit", "acceleration_limit", "packet_timeout"):
            if not getattr(self, name) > 0:
                raise FormationError(
                    f"{name} {getattr(self, name)} of the followers is not "
                    "allowed: give a positive number"
                )
        if not 0 < self.avoid_distance < self.avoid_radius:
            raise FormationError(
                f"avoid_distance {self.avoid_distance} and avoid_radius "
                f"{self.avoid_radius} are not allowed: the first must be positive "
                "and smaller than the second"
            )


class Follower(Memory):
    """Any number of followers under one control law. Inherit and override control()."""

    MEMORY = ()  # a law with a memory of its own names it here

    commands = "velocity"  # type of the output of control(): "velocity" or "acceleration"
    leader = Leader  # class of the leader that belongs to it
    Parameters = FollowerParameters  # class of its parameters; a law of your own may add some

    def __init__(self, parameters: FollowerParameters = FollowerParameters()):
        """Followers with these gains and limits."""
        self.parameters = parameters

    def packet(self, t_us: int, own: SelfState) -> np.ndarray:
        """Communication: the packets of the followers, (M, 12)."""
        return np.hstack([own.pos, own.vel, own.slot, own.slot_vel])

    def control(self, t_us: int, own: SelfState, neighbours: NeighbourState) -> np.ndarray:
        """Control: the velocity [m/s] or acceleration [m/s^2] of each follower, world, (M, 3)."""
        raise NotImplementedError

    def predict(self, neighbours: NeighbourState) -> tuple:
        """Extrapolates the senders to the current time: position (E, 3) [m], velocity [m/s].

        A sender whose packets fail to arrive for packet_timeout is assumed to slow down to rest
        within the same time, so that its receivers come to rest too.
        """
        limit = self.parameters.packet_timeout
        late = np.clip(neighbours.age - limit, 0.0, limit)
        travel = np.minimum(neighbours.age, limit) + late - 0.5 * late * late / limit
        fading = 1.0 - late / limit
        return neighbours.pos + travel[:, None] * neighbours.vel, fading[:, None] * neighbours.vel

    def avoid(self, desired: np.ndarray, pos: np.ndarray, vel: np.ndarray) -> Any:
        """Modifies the desired velocities to avoid collisions.

        Continuous in all arguments. Two vehicles that come close lose the velocity towards each
        other, repel each other, and circle each other in the same sense, so that they also pass
        each other head-on. The leader does not avoid anybody.

        Args:
            desired: (N, 3) desired velocity, leader first [m/s].
            pos: (N, 3) position [m].
            vel: (N, 3) velocity [m/s].

        Returns:
            (N, 3) velocity [m/s].
        """
        p = self.parameters
        predicted = pos + p.look_ahead * vel
        i, j = _pairs_near(p.avoid_radius, pos, predicted)
        if len(i) == 0:
            return desired
        gap, predicted_gap = pos[i] - pos[j], predicted[i] - predicted[j]
        now = np.einsum("ik,ik->i", gap, gap)
        distance = np.sqrt(np.minimum(now, np.einsum("ik,ik->i", predicted_gap, predicted_gap)))
        away = gap / np.sqrt(np.maximum(now, 1e-12))[:, None]
        urgency = (p.avoid_radius - distance) / (p.avoid_radius - p.avoid_distance)
        push = p.avoid_gain * urgency[:, None] * (away + 0.5 * np.cross(_PASSING_AXIS, away))
        change = np.zeros_like(desired)
        for vehicle, direction, sign in ((i, away, 1.0), (j, -away, -1.0)):
            inward = np.minimum(np.einsum("ik,ik->i", desired[vehicle], direction), 0.0)
            removed = (np.minimum(urgency, 1.0) * inward)[:, None] * direction
            np.add.at(change, vehicle, sign * push - removed)
        change[0] = 0.0
        return desired + change


def _pairs_near(radius, *positions):
    """Pairs i < j of vehicles closer than a radius in any of the positions (N, 3), sorted."""
    n = len(positions[0])
    number = [
        pairs[:, 0] * n + pairs[:, 1]
        for pairs in (separation_pairs(pos, radius) for pos in positions)
    ]
    return np.divmod(np.unique(np.concatenate(number)), n)


class CentralisedFollower(Follower):
    """The scheme of the XTDrone paper, section V: each follower hears the leader, keeps its slot.

    velocity = leader velocity + slot velocity + gain (leader position + slot - own position). With
    other topologies, the mean of the neighbours' positions minus their slots replaces the leader.
    """

    def control(self, t_us: int, own: SelfState, neighbours: NeighbourState) -> Any:
        """Feed-forward of the neighbours' velocity, plus feedback of the slot error."""
        pos, vel = self.predict(neighbours)
        target = neighbours.mean(pos - neighbours.slot) + own.slot
        return (
            neighbours.mean(vel - neighbours.slot_vel)
            + own.slot_vel
            + self.parameters.gain * (target - own.pos)
        )


class ConsensusLeader(Leader):
    """A leader heard only by its nearest followers."""

    topology = "nearest"


class ConsensusFollower(CentralisedFollower):
    """First-order consensus over the communication graph.

    velocity = mean over the neighbours of (their velocity - their slot velocity + gain (their
    position - own position - difference of the slots)) + slot velocity: the consensus tracking law
    of Ren and Beard. With the leader as the only neighbour it is the centralised scheme.
    """

    leader = ConsensusLeader


class AccelerationConsensusFollower(ConsensusFollower):
    """Second-order consensus on position and velocity, with acceleration set-points."""

    commands = "acceleration"

    def control(self, t_us: int, own: SelfState, neighbours: NeighbourState) -> Any:
        """Tracks the velocity of the first-order law, with damping."""
        desired = super().control(t_us, own, neighbours)
        return own.slot_acc + self.parameters.damping * (desired - own.vel)


SCHEMES = registry.Group("scheme", "xtdrone.schemes", "xtdrone_formation.schemes:Follower")


def descriptions() -> dict[str, Any]:
    """What `xtdrone list` says on each scheme, with the parameters of its followers."""
    return described(SCHEMES, lambda follower: fields_of(follower.Parameters))


def scheme(
    name: str,
    radio: Radio = Radio(),
    parameters: FollowerParameters | None = None,
    topology: str = "",
) -> tuple:
    """Leader and Follower objects of a scheme.

    Args:
        name: One of SCHEMES, or module:Class of a Follower of your own.
        radio: Properties of the links between vehicles.
        parameters: Of the followers' control law, of the scheme's class Parameters; None: its
            defaults.
        topology: Communication graph, see network.topology(); empty: the scheme's own.

    Raises:
        ScenarioError: No such scheme.
        FormationError: No such topology.
    """
    follower = SCHEMES.load(name)
    leader = follower.leader(radio)
    if topology:
        if topology not in TOPOLOGIES:
            raise FormationError(unknown_name("topology", topology, TOPOLOGIES))
        leader.topology = topology
    return leader, follower(follower.Parameters() if parameters is None else parameters)


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
    ):
        """A fleet without a formation; call start() or command() first.

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
        self.transition: Transition = None
        self.name = "waiting"
        self.ground = ground
        self._leader_z = math.inf  # at the last step [m]
        self._speed, self._acceleration = speed, acceleration
        self._rows = np.arange(1, n)
        self._set_points = SetPoints.empty(n)
        self.network: Network = None

    def save(self) -> dict:
        """As of Memory, with the transition and the network."""
        return {
            **super().save(),
            "transition": None if self.transition is None else self.transition.save(),
            "network": None if self.network is None else self.network.save(),
        }

    def load(self, snapshot: Mapping[str, Any]) -> None:
        """As of Memory."""
        super().load(snapshot)
        self.transition = self.network = None
        if snapshot["transition"] is not None:
            self.transition = Transition(**snapshot["transition"])
        if snapshot["network"] is not None:
            self.network = Network(snapshot["network"]["edges"], self.n, self.leader.radio)
            self.network.load(snapshot["network"])

    def start(self, t_us: int, pos: np.ndarray) -> None:
        """Takes the current positions (N, 3) [m] as the first formation."""
        self.transition = hold(pos[1:] - pos[0], t_us)
        self._leader_z = float(pos[0, 2])
        self.network = Network(self.leader.edges(self.transition.goal), self.n, self.leader.radio)

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
        now = self.transition.at(t_us)[0]
        self.transition = plan(now, offsets, t_us, self._speed, self._acceleration, floor=floor)
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
        """The slots (N - 1, 3) at a time, clear of the ground below the leader [m]."""
        return formations.lifted(self.transition.at(t_us)[0], self._leader_z - self.ground)

    def _control(self, t_us, own, neighbours, leader_vel):
        """Output of the control law (N, 3); zero for a follower that has received nothing yet."""
        desired = np.zeros((self.n, 3))
        desired[0] = np.nan_to_num(leader_vel)
        desired[1:] = self.follower.control(t_us, own, neighbours)
        nothing = ~np.isfinite(neighbours.age)
        if nothing.any():
            desired[1 + neighbours.to[nothing]] = 0.0
        return desired

    def _accelerate(self, desired, pos, vel):
        """Accelerations (M, 3) of an acceleration law, with avoidance and both limits."""
        p = self.follower.parameters
        # Avoidance modifies velocities: the one that the law would reach in its time constant.
        target = vel + desired / p.damping
        target[1:] = saturate(self.follower.avoid(target, pos, vel)[1:], p.speed_limit)
        return saturate(p.damping * (target - vel)[1:], p.acceleration_limit)

    def errors(self, t_us: int, pos: np.ndarray) -> np.ndarray:
        """Distance of each follower from its final slot, (N - 1,) [m]."""
        error = (
            pos[1:] - pos[0] - formations.lifted(self.transition.goal, self._leader_z - self.ground)
        )
        return np.sqrt(np.einsum("ik,ik->i", error, error))
