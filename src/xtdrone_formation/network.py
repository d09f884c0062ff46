"""Communication between the vehicles: topology, delay and packet loss.

A vehicle broadcasts one packet (a row of numbers) per period. A topology is a set of directed
edges; each edge keeps the last packet received.
"""

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from xtdrone_core.contracts import Snapshot
from xtdrone_core.errors import unknown_name
from xtdrone_core.runs.snapshot import Memory

from .declarations import TOPOLOGIES, Radio
from .errors import FormationError

PACKET = 12  # columns of a packet: position, velocity, slot, slot velocity


def topology(kind: str | npt.ArrayLike, offsets: npt.ArrayLike, neighbours: int = 3) -> np.ndarray:
    """Returns the communication graph: edges (E, 2) (receiver, sender), sorted; 0 is the leader.

    Args:
        kind: "star" (all hear the leader), "complete", "chain" (each hears its predecessor), "ring"
            (a chain whose ends are connected too), "nearest" (each hears the nearest of those
            closer to the leader, so that the graph has no cycles), or an adjacency matrix (N, N)
            with 1 where the vehicle of the row hears that of the column.
        offsets: (N - 1, 3) slots of the followers [m].
        neighbours: Number of neighbours of each vehicle under "nearest".

    Raises:
        FormationError: Unknown topology, a matrix of a wrong size, or a follower that is not
            connected to the leader.
    """
    slots = np.asarray(offsets, dtype=float).reshape(-1, 3)
    n = len(slots) + 1
    edges: Iterable[tuple[int, int]]
    if not isinstance(kind, str):
        edges = _of_matrix(kind, n)
    elif kind == "star":
        edges = [(i, 0) for i in range(1, n)]
    elif kind == "complete":
        edges = [(i, j) for i in range(1, n) for j in range(n) if i != j]
    elif kind == "chain":
        edges = [(i, i - 1) for i in range(1, n)]
    elif kind == "ring":
        edges = [(i, j) for i in range(1, n) for j in {i - 1, (i + 1) % n} if j != i]
    elif kind == "nearest":
        edges = _nearest(slots, neighbours)
    else:
        raise FormationError(unknown_name("topology", kind, TOPOLOGIES))
    graph = np.array(sorted(edges), dtype=int).reshape(-1, 2)
    _check_reached(graph, n)
    return graph


def _of_matrix(adjacency: npt.ArrayLike, n: int) -> list[tuple[int, int]]:
    matrix = np.asarray(adjacency)
    if matrix.shape != (n, n):
        raise FormationError(
            f"a topology matrix of shape {matrix.shape} does not fit {n} "
            f"vehicles: give {n} rows of {n} zeros and ones"
        )
    return [(i, j) for i, j in np.argwhere(matrix != 0) if i != j and i != 0]


def _nearest(offsets: np.ndarray, neighbours: int) -> list[tuple[int, int]]:
    points = np.vstack([np.zeros((1, 3)), offsets])
    order = np.argsort(np.linalg.norm(points, axis=1), kind="stable")
    edges = []
    for rank in range(1, len(order)):
        earlier = order[:rank]
        distance = np.linalg.norm(points[earlier] - points[order[rank]], axis=1)
        nearest = np.argsort(distance, kind="stable")[:neighbours]
        edges += [(order[rank], earlier[k]) for k in nearest]
    return edges


def _check_reached(edges: np.ndarray, n: int) -> None:
    reached = {0}
    hears: dict[int, list[int]] = {}
    for receiver, sender in edges:
        hears.setdefault(int(sender), []).append(int(receiver))
    front = [0]
    while front:
        front = [r for s in front for r in hears.get(s, ()) if r not in reached]
        reached.update(front)
    missing = sorted(set(range(n)) - reached)
    if missing:
        raise FormationError(
            f"vehicle {missing[0]} is not connected to the leader in this "
            "topology: add an edge from a vehicle that is"
        )


@dataclass(slots=True)
class NeighbourState:
    """The last packet received on each edge by the M followers of a Follower."""

    to: np.ndarray  # (E,) row of the receiver, 0 to M - 1
    sender: np.ndarray  # (E,) vehicle that sent it, 0 is the leader
    packets: np.ndarray  # (E, P)
    age: np.ndarray  # (E,) time since it was sent [s]; inf if nothing was received yet
    average: csr_matrix  # (M, E) mean over the edges of each receiver

    @property
    def pos(self) -> np.ndarray:
        """(E, 3) position of the sender at the time of sending, world [m]."""
        return self.packets[:, 0:3]

    @property
    def vel(self) -> np.ndarray:
        """(E, 3) velocity of the sender at the time of sending, world [m/s]."""
        return self.packets[:, 3:6]

    @property
    def slot(self) -> np.ndarray:
        """(E, 3) slot of the sender, relative to the leader [m]."""
        return self.packets[:, 6:9]

    @property
    def slot_vel(self) -> np.ndarray:
        """(E, 3) slot velocity of the sender, relative to the leader [m/s]."""
        return self.packets[:, 9:12]

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Returns the means (M, K) of values (E, K) over the neighbours of each receiver."""
        return self.average @ values


# Edges of some receivers, the receivers' rows, the senders, and the mean over a receiver's edges.
_View = tuple[np.ndarray, np.ndarray, np.ndarray, csr_matrix]


class Network(Memory):
    """Transmits packets along the edges of a topology."""

    MEMORY = ("sent", "lost", "silent", "_rng")

    def __init__(self, edges: npt.ArrayLike, n: int, radio: Radio = Radio()) -> None:
        """Makes a network without packets.

        Args:
            edges: (E, 2) receiver and sender, sorted by receiver.
            n: Number of vehicles.
            radio: Properties of the links.
        """
        self.radio = radio
        self.sent = 0  # packets sent over an edge so far
        self.lost = 0  # packets lost or out of range
        self.silent = np.zeros(n, dtype=np.bool_)  # vehicles that do not send
        self._rng = np.random.default_rng(radio.seed)
        self._in_transit: deque[tuple[int, np.ndarray, np.ndarray]] = deque()
        self._perfect = radio.loss == 0 and math.isinf(radio.range)
        self._n = n
        # Indices by receivers, constant until the next change of topology.
        self._views: dict[bytes, _View] = {}
        self.edges = np.zeros((0, 2), dtype=int)
        self._packets = np.zeros((0, PACKET))
        self._sent_us = np.zeros(0, dtype=np.int64)
        self.rewire(edges)

    def save(self) -> dict[str, Any]:
        """Saves also the topology, the last packets and those in transit."""
        return {
            **super().save(),
            "edges": self.edges.copy(),
            "packets": self._packets.copy(),
            "sent_us": self._sent_us.copy(),
            "in_transit": list(self._in_transit),
        }

    def load(self, snapshot: Snapshot) -> None:
        """Restores what save() returned."""
        super().load(snapshot)
        self.edges, self._packets = snapshot["edges"].copy(), snapshot["packets"].copy()
        self._sent_us = snapshot["sent_us"].copy()
        self._in_transit = deque(tuple(packet) for packet in snapshot["in_transit"])
        self._views.clear()

    def rewire(self, edges: npt.ArrayLike) -> None:
        """Changes the topology; edges that remain keep their last packet."""
        old = {tuple(edge): k for k, edge in enumerate(self.edges.tolist())}
        edges = np.asarray(edges, dtype=int).reshape(-1, 2)
        packets = np.zeros((len(edges), self._packets.shape[1]))
        sent_us = np.full(len(edges), -1, dtype=np.int64)
        for k, edge in enumerate(edges.tolist()):
            if tuple(edge) in old:
                packets[k] = self._packets[old[tuple(edge)]]
                sent_us[k] = self._sent_us[old[tuple(edge)]]
        self.edges, self._packets, self._sent_us = edges, packets, sent_us
        self._views.clear()

    def exchange(self, t_us: int, packets: np.ndarray) -> None:
        """Sends one packet of each vehicle and delivers those that arrive by now.

        Args:
            t_us: Simulated time [us].
            packets: (N, P); the first three columns are the position.
        """
        if packets.shape[1] != self._packets.shape[1]:
            self._packets = np.zeros((len(self.edges), packets.shape[1]))
        silent = self.silent.copy()
        if self.radio.leader_lost:
            begin, end = self.radio.leader_lost
            silent[0] |= begin <= t_us * 1e-6 < end
        self._in_transit.append((t_us, packets.copy(), silent))
        arrived = t_us - round(self.radio.delay * 1e6)
        while self._in_transit and self._in_transit[0][0] <= arrived:
            self._deliver(*self._in_transit.popleft())

    def _deliver(self, sent_us: int, packets: np.ndarray, silent: np.ndarray) -> None:
        sender = self.edges[:, 1]
        if self._perfect and not silent.any():
            self._packets = packets[sender]
            self._sent_us[:] = sent_us
            self.sent += len(sender)
            return
        sends = ~silent[sender]
        received = sends & (self._rng.random(len(sender)) >= self.radio.loss)
        if math.isfinite(self.radio.range):
            gap = packets[sender, :3] - packets[self.edges[:, 0], :3]
            received &= np.einsum("ik,ik->i", gap, gap) <= self.radio.range**2
        self._packets[received] = packets[sender[received]]
        self._sent_us[received] = sent_us
        self.sent += int(sends.sum())
        self.lost += int(sends.sum() - received.sum())

    def neighbours(self, t_us: int, receivers: np.ndarray) -> NeighbourState:
        """Returns the last packets that vehicles received, given by their sorted indices."""
        key = receivers.tobytes()
        if key not in self._views:
            self._views[key] = self._view(receivers)
        mine, to, sender, average = self._views[key]
        sent_us = self._sent_us[mine]
        age = np.where(sent_us < 0, np.inf, (t_us - sent_us) * 1e-6)
        return NeighbourState(to, sender, self._packets[mine], age, average)

    def _view(self, receivers: np.ndarray) -> _View:
        row = np.full(self._n, -1)
        row[receivers] = np.arange(len(receivers))
        to = row[self.edges[:, 0]]
        mine = np.flatnonzero(to >= 0)
        to = to[mine]
        count = np.bincount(to, minlength=len(receivers))
        average = csr_matrix(
            (1.0 / count[to], (to, np.arange(len(to)))), shape=(len(receivers), len(to))
        )
        return mine, to, self.edges[mine, 1], average


def separation_pairs(pos: np.ndarray, radius: float) -> np.ndarray:
    """Returns pairs (K, 2) of vehicles closer than a radius, sorted for reproducible sums."""
    if len(pos) <= 150:
        square = np.einsum("ik,ik->i", pos, pos)
        gap2 = square[:, None] + square - 2.0 * (pos @ pos.T)
        near = np.argwhere(gap2 < radius * radius)
        return near[near[:, 0] < near[:, 1]]
    from scipy.spatial import cKDTree

    pairs = cKDTree(pos).query_pairs(radius, output_type="ndarray")
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
