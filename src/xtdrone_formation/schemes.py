"""Formation schemes: communication and control of leader and followers.

A scheme of your own inherits from `Leader` and `Follower` and overrides some of their methods;
`Formation` runs it for a whole fleet. Vehicle 0 is the leader, vehicle i flies slot i - 1. This
module depends neither on ROS nor on a simulator.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from xtdrone_core.errors import unknown_name
from xtdrone_core.listing import described
from xtdrone_core.runs.snapshot import Memory
from xtdrone_core.scenario.arguments import fields_of
from xtdrone_core.scenario.options import option

from .declarations import SCHEMES, TOPOLOGIES, Radio
from .errors import FormationError
from .leaders import ConsensusLeader, Leader
from .network import NeighbourState, separation_pairs

PERIOD_US = 20_000  # packets and set-points [us]
_SHARPNESS = 8  # exponent of the smooth limit: 1 % below identity at 0.7 of the limit
# Axis about which two vehicles pass each other. It is no direction in which formations usually
# align vehicles, since two vehicles along the axis would get no sideways velocity.
_PASSING_AXIS = np.array([0.36, 0.48, 0.8])


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
    """State of the M followers themselves."""

    pos: np.ndarray  # (M, 3) estimated, world [m]
    vel: np.ndarray  # (M, 3) estimated, world [m/s]
    slot: np.ndarray  # (M, 3) current slot, relative to the leader [m]
    slot_vel: np.ndarray  # (M, 3) its velocity [m/s]
    slot_acc: np.ndarray  # (M, 3) its acceleration [m/s^2]


@dataclass(frozen=True)
class FollowerParameters:
    """Parameters of the followers' control laws."""

    gain: float = option(1.0, "of the slot error", unit="1/s", minimum=0.0, maximum=100.0)
    damping: float = option(
        2.0, "of velocity differences, in acceleration laws", unit="1/s", minimum=0.0, maximum=100.0
    )
    speed_limit: float = option(
        5.0, "largest speed of the followers", unit="m/s", minimum=0.0, maximum=100.0
    )
    acceleration_limit: float = option(
        4.0, "largest acceleration, in acceleration laws", unit="m/s^2", minimum=0.0, maximum=100.0
    )
    avoid_gain: float = option(
        2.0, "repulsion velocity at avoid_distance", unit="m/s", minimum=0.0, maximum=100.0
    )
    avoid_radius: float = option(
        1.4, "within which vehicles repel each other", unit="m", minimum=0.0, maximum=1000.0
    )
    avoid_distance: float = option(
        1.0,
        "at which no velocity towards each other remains",
        unit="m",
        minimum=0.0,
        maximum=1000.0,
    )
    look_ahead: float = option(
        0.5,
        "prediction horizon of the distance to another vehicle",
        unit="s",
        minimum=0.0,
        maximum=60.0,
    )
    packet_timeout: float = option(
        0.5,
        "after which a sender is assumed to slow down and stop",
        unit="s",
        minimum=0.0,
        maximum=60.0,
    )

    def __post_init__(self) -> None:
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

    MEMORY: ClassVar[tuple[str, ...]] = ()  # a law with a memory of its own names it here

    commands = "velocity"  # type of the output of control(): "velocity" or "acceleration"
    leader: type[Leader] = Leader  # class of the leader that belongs to it
    # Class of its parameters; a law of your own may add some.
    Parameters: type[FollowerParameters] = FollowerParameters

    def __init__(self, parameters: FollowerParameters = FollowerParameters()) -> None:
        """Makes followers with these gains and limits."""
        self.parameters = parameters

    def packet(self, t_us: int, own: SelfState) -> np.ndarray:
        """Returns the packets of the followers, (M, 12)."""
        return np.hstack([own.pos, own.vel, own.slot, own.slot_vel])

    def control(self, t_us: int, own: SelfState, neighbours: NeighbourState) -> np.ndarray:
        """Returns velocity [m/s] or acceleration [m/s^2] of each follower, world, (M, 3)."""
        raise NotImplementedError

    def predict(self, neighbours: NeighbourState) -> tuple[np.ndarray, np.ndarray]:
        """Extrapolates the senders to the current time: position (E, 3) [m], velocity [m/s].

        A sender whose packets fail to arrive for packet_timeout is assumed to slow down to rest
        within the same time, so that its receivers come to rest too.
        """
        limit = self.parameters.packet_timeout
        late = np.clip(neighbours.age - limit, 0.0, limit)
        travel = np.minimum(neighbours.age, limit) + late - 0.5 * late * late / limit
        fading = 1.0 - late / limit
        return neighbours.pos + travel[:, None] * neighbours.vel, fading[:, None] * neighbours.vel

    def avoid(self, desired: np.ndarray, pos: np.ndarray, vel: np.ndarray) -> np.ndarray:
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
        parameters = self.parameters
        predicted = pos + parameters.look_ahead * vel
        i, j = _pairs_near(parameters.avoid_radius, pos, predicted)
        if len(i) == 0:
            return desired
        gap, predicted_gap = pos[i] - pos[j], predicted[i] - predicted[j]
        gap2 = np.einsum("ik,ik->i", gap, gap)
        distance = np.sqrt(np.minimum(gap2, np.einsum("ik,ik->i", predicted_gap, predicted_gap)))
        away = gap / np.sqrt(np.maximum(gap2, 1e-12))[:, None]
        urgency = (parameters.avoid_radius - distance) / (
            parameters.avoid_radius - parameters.avoid_distance
        )
        push = (
            parameters.avoid_gain * urgency[:, None] * (away + 0.5 * np.cross(_PASSING_AXIS, away))
        )
        change = np.zeros_like(desired)
        for vehicle, direction, sign in ((i, away, 1.0), (j, -away, -1.0)):
            inward = np.minimum(np.einsum("ik,ik->i", desired[vehicle], direction), 0.0)
            removed = (np.minimum(urgency, 1.0) * inward)[:, None] * direction
            np.add.at(change, vehicle, sign * push - removed)
        change[0] = 0.0
        return desired + change


def _pairs_near(radius: float, *positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns pairs i < j of vehicles closer than a radius in any positions (N, 3), sorted."""
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

    def control(self, t_us: int, own: SelfState, neighbours: NeighbourState) -> np.ndarray:
        """Returns the feed-forward of the neighbours' velocity, plus feedback of the slot error."""
        pos, vel = self.predict(neighbours)
        target = neighbours.mean(pos - neighbours.slot) + own.slot
        return (
            neighbours.mean(vel - neighbours.slot_vel)
            + own.slot_vel
            + self.parameters.gain * (target - own.pos)
        )


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

    def control(self, t_us: int, own: SelfState, neighbours: NeighbourState) -> np.ndarray:
        """Tracks the velocity of the first-order law, with damping."""
        desired = super().control(t_us, own, neighbours)
        return own.slot_acc + self.parameters.damping * (desired - own.vel)


def descriptions() -> dict[str, Any]:
    """Returns what `xtdrone list` says on each scheme, with the parameters of its followers."""
    return described(SCHEMES, _parameters)


def _parameters(follower: Any) -> Any:  # a class of a user, in and out as described() has it
    return fields_of(follower.Parameters)


def scheme(
    name: str,
    radio: Radio = Radio(),
    parameters: FollowerParameters | None = None,
    topology: str = "",
) -> tuple[Leader, Follower]:
    """Makes the leader and the followers of a scheme.

    Args:
        name: One of SCHEMES, module:Class or FILE.py:Class of a Follower of your own.
        radio: Properties of the links between vehicles.
        parameters: Parameters of the followers' control law; None: their defaults.
        topology: Communication graph, see network.topology(); empty: the scheme's own.

    Raises:
        ScenarioError: No such scheme.
        FormationError: No such topology.
    """
    follower: type[Follower] = SCHEMES.load(name)
    leader = follower.leader(radio)
    if topology:
        if topology not in TOPOLOGIES:
            raise FormationError(unknown_name("topology", topology, TOPOLOGIES))
        leader.topology = topology
    return leader, follower(follower.Parameters() if parameters is None else parameters)
