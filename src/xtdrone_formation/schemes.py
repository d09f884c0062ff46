"""Formation schemes: what leader and followers tell each other, and how they steer.

An own scheme inherits from `Leader` and `Follower` and replaces some of their
hooks; `Formation` runs it for a whole fleet at once. Vehicle 0 is the leader,
vehicle i flies slot i - 1. Nothing here knows ROS or a simulator.
"""

import importlib
import math
from dataclasses import dataclass

import numpy as np

from xtdrone_core import SetPoints, registry
from xtdrone_core.errors import unknown_name

from . import formations
from .assignment import Transition, hold, plan
from .errors import FormationError
from .network import TOPOLOGIES, Heard, Network, Radio, separation_pairs, topology

PERIOD_US = 20_000  # of packets and set-points [us]
_SHARPNESS = 8  # exponent of the smooth limit: 1 % below identity at 0.7 of the limit
# Sense in which two vehicles pass each other. It lies along no direction in which vehicles
# usually stand, since a pair that lies along it would get no sideways push.
_PASSING_AXIS = np.array([0.36, 0.48, 0.8])


def saturate(vectors: np.ndarray, limit: float) -> np.ndarray:
    """Vectors (M, 3) of at most a given length; smooth, and the direction is kept.

    The length r becomes r / (1 + (r / limit)^8)^(1/8): nearly r up to 0.7 of
    the limit, and never above it.
    """
    length = np.sqrt(np.einsum("ik,ik->i", vectors, vectors)) / limit
    # Past 1e30 limits the power would overflow; the result is the limit either way.
    factor = (1.0 + np.minimum(length, 1e30) ** _SHARPNESS) ** (-1.0 / _SHARPNESS)
    return vectors * factor[:, None]


@dataclass(slots=True)
class Own:
    """What the M followers know of themselves."""

    pos: np.ndarray  # (M, 3) estimated, world [m]
    vel: np.ndarray  # (M, 3) estimated, world [m/s]
    slot: np.ndarray  # (M, 3) where the slot is now, from the leader [m]
    slot_vel: np.ndarray  # (M, 3) how it moves [m/s]
    slot_acc: np.ndarray  # (M, 3) [m/s^2]


class Leader:
    """The leader, and the fleet's communication. Holds its place unless control() says else."""

    topology = "star"  # who hears whom, as network.topology takes it
    neighbours = 3  # under the topology "nearest"

    def __init__(self, radio: Radio = Radio()):
        """A leader whose fleet talks over links with this delay, loss and range."""
        self.radio = radio
        self._place = None

    def edges(self, offsets: np.ndarray) -> np.ndarray:
        """Communication: (E, 2) of (receiver, sender) for a formation's slots (N - 1, 3)."""
        return topology(self.topology, offsets, self.neighbours)

    def packet(self, t_us: int, pos: np.ndarray, vel: np.ndarray) -> np.ndarray:
        """Communication: what the leader sends; its slot is zero by definition."""
        return np.concatenate([pos, vel, np.zeros(6)])

    def control(self, t_us: int, pos: np.ndarray, vel: np.ndarray):
        """Control: set-points of the leader.

        Args:
            t_us: Simulated time [us].
            pos: (3,) where the leader believes to be, world [m].
            vel: (3,) its velocity, world [m/s].

        Returns:
            Position, velocity and acceleration, each (3,), NaN where not
            controlled.
        """
        if self._place is None:
            self._place = pos.copy()
        return self._place, np.zeros(3), np.zeros(3)

    def go_to(self, place) -> None:
        """Holds another place (3,), world [m]."""
        self._place = np.array(place, dtype=float)


class SteeredLeader(Leader):
    """Flown by velocity commands, as from a keyboard; holds its place when they are zero."""

    def __init__(self, radio: Radio = Radio()):
        """A leader at rest."""
        super().__init__(radio)
        self.velocity = np.zeros(3)  # commanded, world [m/s]

    def control(self, t_us, pos, vel):
        """Velocity while one is commanded, else the place where the vehicle came to rest."""
        if np.linalg.norm(self.velocity) > 0.02:
            self._place = None
            return np.full(3, math.nan), self.velocity, np.zeros(3)
        if self._place is None and np.linalg.norm(vel) > 0.2:
            return np.full(3, math.nan), np.zeros(3), np.zeros(3)
        return super().control(t_us, pos, vel)


class PathLeader(Leader):
    """Flies along a list of places, each leg a smooth motion from rest to rest; see set_off()."""

    def __init__(self, places, speed: float = 3.0, acceleration: float = 1.0,
                 radio: Radio = Radio()):
        """It holds its place until set_off() is called.

        Args:
            places: (K, 3) world [m].
            speed: Largest speed [m/s].
            acceleration: Largest acceleration [m/s^2].
            radio: What the links do.

        Raises:
            FormationError: Places, a speed or an acceleration that make no sense.
        """
        super().__init__(radio)
        try:
            self._places = np.array(places, dtype=float).reshape(-1, 3)
        except (TypeError, ValueError):
            self._places = np.zeros((0, 3))
        if not len(self._places) or not np.isfinite(self._places).all():
            raise FormationError(f"places {places} of a leader's path are not allowed: give one or "
                                 "more of [x, y, z] in metres")
        for what, value in (("speed", speed), ("acceleration", acceleration)):
            if not (math.isfinite(value) and value > 0):
                raise FormationError(f"{what} {value} of a leader's path is not allowed: give a "
                                     "positive number")
        self._speed, self._acceleration = speed, acceleration
        self._under_way = False
        self._leg = None

    def set_off(self) -> None:
        """The first leg begins at the next call of control()."""
        self._under_way = True

    def arrived(self, t_us: int) -> bool:
        """Whether the last place is reached."""
        return self._leg is not None and len(self._places) == 1 and t_us >= self._leg.end_us

    def control(self, t_us, pos, vel):
        """Position, velocity and acceleration of the motion along the path."""
        if not self._under_way:
            return super().control(t_us, pos, vel)
        if self._leg is None:
            self._leg = self._plan(pos[None], t_us)
        while t_us >= self._leg.end_us and len(self._places) > 1:
            self._places = self._places[1:]
            self._leg = self._plan(self._leg.goal, self._leg.end_us)
        return tuple(value[0] for value in self._leg.at(t_us))

    def _plan(self, start, t_us):
        return plan(start, self._places[:1], t_us, self._speed, self._acceleration)



@dataclass(frozen=True)
class FollowerParameters:
    """Numbers of the followers' laws."""

    gain: float = 1.0  # of the slot error [1/s]
    damping: float = 2.0  # of velocity differences, in acceleration laws [1/s]
    speed_limit: float = 5.0  # [m/s]
    acceleration_limit: float = 4.0  # in acceleration laws [m/s^2]
    avoid_gain: float = 2.0  # speed of the push where two are avoid_distance apart [m/s]
    avoid_radius: float = 1.4  # within which vehicles push each other away [m]
    avoid_distance: float = 1.0  # at which nothing steers them closer any more [m]
    look_ahead: float = 0.5  # over which the distance to another is foreseen [s]
    silence: float = 0.5  # after which a sender counts as lost; it is taken to stop [s]

    def __post_init__(self):
        for name in ("gain", "damping", "speed_limit", "acceleration_limit", "silence"):
            if not getattr(self, name) > 0:
                raise FormationError(f"{name} {getattr(self, name)} of the followers is not "
                                     "allowed: give a positive number")
        if not 0 < self.avoid_distance < self.avoid_radius:
            raise FormationError(f"avoid_distance {self.avoid_distance} and avoid_radius "
                                 f"{self.avoid_radius} are not allowed: the first must be positive "
                                 "and smaller than the second")


class Follower:
    """Any number of followers under one law. Inherit, and replace control()."""

    commands = "velocity"  # what control() returns: "velocity" or "acceleration"
    leader = Leader  # class of the leader that goes with it

    def __init__(self, parameters: FollowerParameters = FollowerParameters()):
        """Followers with these gains and limits."""
        self.parameters = parameters

    def packet(self, t_us: int, own: Own) -> np.ndarray:
        """Communication: what each follower sends, (M, 12)."""
        return np.hstack([own.pos, own.vel, own.slot, own.slot_vel])

    def control(self, t_us: int, own: Own, heard: Heard) -> np.ndarray:
        """Control: the velocity [m/s] or acceleration [m/s^2] of each follower, world, (M, 3)."""
        raise NotImplementedError

    def foreseen(self, heard: Heard):
        """Where each sender should be by now, and its velocity: (E, 3) [m], (E, 3) [m/s].

        A sender that fell silent is taken to slow down to rest within as long
        again as the allowed silence, so that its hearers come to rest too.
        """
        limit = self.parameters.silence
        late = np.clip(heard.age - limit, 0.0, limit)
        travel = np.minimum(heard.age, limit) + late - 0.5 * late * late / limit
        fading = 1.0 - late / limit
        return heard.pos + travel[:, None] * heard.vel, fading[:, None] * heard.vel

    def avoid(self, wish: np.ndarray, pos: np.ndarray, vel: np.ndarray):
        """The wished velocities, changed so that nobody meets.

        Continuous in all arguments. Two vehicles that come near give up what
        steers them closer, push each other away, and turn around each other in
        the same sense, which also leads them past each other head-on. The
        leader gives way to nobody.

        Args:
            wish: (N, 3) wished velocity, leader first [m/s].
            pos: (N, 3) where they are [m].
            vel: (N, 3) how they move [m/s].

        Returns:
            (N, 3) velocity [m/s].
        """
        p = self.parameters
        soon = pos + p.look_ahead * vel
        i, j = _pairs_near(p.avoid_radius, pos, soon)
        if len(i) == 0:
            return wish
        gap, ahead = pos[i] - pos[j], soon[i] - soon[j]
        now = np.einsum("ik,ik->i", gap, gap)
        distance = np.sqrt(np.minimum(now, np.einsum("ik,ik->i", ahead, ahead)))
        away = gap / np.sqrt(np.maximum(now, 1e-12))[:, None]
        urgency = (p.avoid_radius - distance) / (p.avoid_radius - p.avoid_distance)
        push = p.avoid_gain * urgency[:, None] * (away + 0.5 * np.cross(_PASSING_AXIS, away))
        change = np.zeros_like(wish)
        for one, direction, sign in ((i, away, 1.0), (j, -away, -1.0)):
            inward = np.minimum(np.einsum("ik,ik->i", wish[one], direction), 0.0)
            give_up = (np.minimum(urgency, 1.0) * inward)[:, None] * direction
            np.add.at(change, one, sign * push - give_up)
        change[0] = 0.0
        return wish + change


def _pairs_near(radius, *places):
    """Pairs i < j of vehicles nearer than a radius in any of some places (N, 3), sorted."""
    n = len(places[0])
    number = [pairs[:, 0] * n + pairs[:, 1]
              for pairs in (separation_pairs(pos, radius) for pos in places)]
    return np.divmod(np.unique(np.concatenate(number)), n)


class CentralisedFollower(Follower):
    """The scheme of XTDrone, section V: each follower hears the leader and keeps its slot.

    velocity = leader's velocity + slot's velocity + gain (leader + slot - own position);
    where a topology lets it hear others, their place less their slot stands for the leader.
    """

    def control(self, t_us, own, heard):
        """Feed-forward of the velocity of those that it hears, and the slot error."""
        pos, vel = self.foreseen(heard)
        place = heard.mean(pos - heard.slot) + own.slot
        return (heard.mean(vel - heard.slot_vel) + own.slot_vel
                + self.parameters.gain * (place - own.pos))


class ConsensusLeader(Leader):
    """A leader that only its nearest followers hear."""

    topology = "nearest"


class ConsensusFollower(CentralisedFollower):
    """Distributed consensus over the communication graph, by velocity.

    velocity = mean over those heard of (their velocity - their slot's velocity
    + gain (their position - own position - difference of the slots)) + slot's
    velocity: the consensus tracking law of Ren and Beard. With the leader as
    the only one heard, the same law is the centralised scheme.
    """

    leader = ConsensusLeader


class AccelerationConsensusFollower(ConsensusFollower):
    """The same by acceleration: second-order consensus on position and velocity."""

    commands = "acceleration"

    def control(self, t_us, own, heard):
        """Follows the mean of those that it hears, with damping."""
        wish = super().control(t_us, own, heard)
        return own.slot_acc + self.parameters.damping * (wish - own.vel)


SCHEMES = registry.Group("scheme", "xtdrone.schemes")


def descriptions() -> dict[str, str]:
    """A line on each scheme, for `xtdrone list`."""
    return SCHEMES.descriptions()


def scheme(name: str, radio: Radio = Radio(),
           parameters: FollowerParameters = FollowerParameters(), topology: str = ""):
    """Leader and Follower objects of a scheme.

    Args:
        name: One of SCHEMES, or module:Class of a Follower of your own.
        radio: What the links between vehicles do.
        parameters: Numbers of the followers' law.
        topology: Who hears whom, as network.topology() takes it; empty: as
            the scheme says.

    Raises:
        FormationError: No such scheme or topology.
    """
    if name in SCHEMES.table():
        follower = SCHEMES.load(name)
    elif ":" in name:
        follower = _own(name)
    else:
        raise FormationError(unknown_name("scheme", name, SCHEMES.table(),
                                          "name a Follower of your own as module:Class"))
    leader = follower.leader(radio)
    if topology:
        if topology not in TOPOLOGIES:
            raise FormationError(unknown_name("topology", topology, TOPOLOGIES))
        leader.topology = topology
    return leader, follower(parameters)


def _own(name):
    module, _, attribute = name.partition(":")
    try:
        follower = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise FormationError(f"cannot load scheme '{name}': {error}; name a class as module:Class, "
                             "its folder on PYTHONPATH") from error
    if not (isinstance(follower, type) and issubclass(follower, Follower)):
        raise FormationError(f"scheme '{name}' is not a Follower: let the class inherit from "
                             "xtdrone_formation.Follower")
    return follower


class Formation:
    """A leader, its followers and their network: set-points for the fleet, period by period."""

    def __init__(self, n: int, leader: Leader, follower: Follower, speed: float = 3.0,
                 acceleration: float = 2.0):
        """A fleet without a formation yet; start() or command() comes first.

        Args:
            n: Number of vehicles, 2 or more.
            leader: Flies vehicle 0 and defines the communication.
            follower: Flies vehicles 1 to n - 1.
            speed: Largest speed of a transition, relative to the leader [m/s].
            acceleration: Largest acceleration of a transition [m/s^2].

        Raises:
            FormationError: Too few vehicles, or limits that do not fit.
        """
        if n < 2:
            raise FormationError(f"n = {n} is not allowed: a formation has a leader and followers, "
                                 "give 2 or more vehicles")
        if speed > 0.9 * follower.parameters.speed_limit:
            raise FormationError(f"transition speed {speed} m/s leaves followers limited to "
                                 f"{follower.parameters.speed_limit} m/s no reserve: give at most "
                                 "0.9 of their speed limit")
        self.n = n
        self.leader, self.follower = leader, follower
        self.transition: Transition = None
        self.name = "waiting"
        self._speed, self._acceleration = speed, acceleration
        self._rows = np.arange(1, n)
        self._set_points = SetPoints.empty(n)
        self.network: Network = None

    def start(self, t_us: int, pos: np.ndarray) -> None:
        """Takes the present places (N, 3) [m] as the first slots."""
        self.transition = hold(pos[1:] - pos[0], t_us)
        self.network = Network(self.leader.edges(self.transition.goal), self.n, self.leader.radio)

    def command(self, t_us: int, name: str, offsets=None, floor: float = -math.inf) -> Transition:
        """Begins the transition to a formation.

        Args:
            t_us: Simulated time [us].
            name: The formation's name.
            offsets: (N - 1, 3) its slots [m]; None: formations.slots(name, n).
            floor: Lowest offset that is free of the ground, from the leader [m].

        Returns:
            The transition; its `goal` has the followers' slots in their order.

        Raises:
            FormationError: The formation or the way there cannot be flown.
        """
        if offsets is None:
            offsets = formations.slots(name, self.n)
        now = self.transition.at(t_us)[0]
        self.transition = plan(now, offsets, t_us, self._speed, self._acceleration, floor=floor)
        self.network.rewire(self.leader.edges(self.transition.goal))
        self.name = name
        return self.transition

    def step(self, t_us: int, pos: np.ndarray, vel: np.ndarray) -> SetPoints:
        """Packets out, packets in, set-points.

        Args:
            t_us: Simulated time [us], one period after the last.
            pos: (N, 3) where the vehicles believe to be, world [m].
            vel: (N, 3) their velocity [m/s].

        Returns:
            Set-points of all vehicles; overwritten by the next call.
        """
        own = Own(pos[1:], vel[1:], *self.transition.at(t_us))
        leader_pos, leader_vel, leader_acc = self.leader.control(t_us, pos[0], vel[0])
        packets = np.vstack([self.leader.packet(t_us, pos[0], vel[0]),
                             self.follower.packet(t_us, own)])
        self.network.exchange(t_us, packets)
        heard = self.network.heard(t_us, self._rows)
        wish = self._wish(t_us, own, heard, leader_vel)
        out = self._set_points
        out.pos[0], out.vel[0], out.acc[0] = leader_pos, leader_vel, leader_acc
        if self.follower.commands == "acceleration":
            out.acc[1:] = self._accelerate(wish, pos, vel)
        else:
            limit = self.follower.parameters.speed_limit
            out.vel[1:] = saturate(self.follower.avoid(wish, pos, vel)[1:], limit)
            out.acc[1:] = own.slot_acc
        return out

    def _wish(self, t_us, own, heard, leader_vel):
        """What the law asks of each vehicle; zero before a follower has heard anything."""
        wish = np.zeros((self.n, 3))
        wish[0] = np.nan_to_num(leader_vel)
        wish[1:] = self.follower.control(t_us, own, heard)
        unheard = ~np.isfinite(heard.age)
        if unheard.any():
            wish[1 + heard.to[unheard]] = 0.0
        return wish

    def _accelerate(self, wish, pos, vel):
        """Accelerations (M, 3) of an acceleration law, with avoidance and both limits."""
        p = self.follower.parameters
        # Avoidance works on velocities: the one that the law would reach within its time constant.
        aim = vel + wish / p.damping
        aim[1:] = saturate(self.follower.avoid(aim, pos, vel)[1:], p.speed_limit)
        return saturate(p.damping * (aim - vel)[1:], p.acceleration_limit)

    def errors(self, t_us: int, pos: np.ndarray) -> np.ndarray:
        """Distance of each follower from its final slot, (N - 1,) [m]."""
        error = pos[1:] - pos[0] - self.transition.goal
        return np.sqrt(np.einsum("ik,ik->i", error, error))
