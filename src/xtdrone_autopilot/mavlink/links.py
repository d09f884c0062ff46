"""The UDP links of a fleet: PX4's ports, one socket for each vehicle and link.

The ground station's link streams from the start. The others send a heartbeat
until a peer speaks, then stream to it. Whoever sends a valid message to a
link's local port becomes a peer, beside the link's usual remote port. A link has room for some; who
comes when it is full gets answers, and streams as soon as one of them has been silent for a while.

With a key the ground station's and the offboard link are guarded: what goes out is signed, and
what comes in must be. Only then may they reach other machines; the bridge's link never does.

STATUSTEXTs wait for a ground station, as in PX4: without one the newest are kept for a while.
"""

import resource
import select
import socket
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xtdrone_core.mavlink.dialect import MavlinkMessage, mavlink
from xtdrone_core.mavlink.framing import Frame, frames
from xtdrone_core.mavlink.signing import UNSIGNED, Signer
from xtdrone_core.runs.ports import Ports, advice, check_links, open_udp
from xtdrone_core.runs.snapshot import Rows
from xtdrone_dynamics.compiled import fleet_kernel
from xtdrone_dynamics.shared_work import worthwhile

from ..errors import AutopilotError
from ..state.clock import STEP_US
from ..state.vehicle_status import NEVER, STATION_US
from .datagrams import LARGEST, Sender
from .streams import BUFFER, Streams

TICK_US = 20_000  # streams go out at this period, so that datagrams are few, if not faster [us]
PHASES_US = 100_000  # the streams of a link begin within this time [us]
PEER_LOST_US = 30_000_000  # a learned peer that is silent for this long is forgotten [us]
MAX_PEERS = 8  # peers learned on one link of one vehicle
_QUIET_US = 3_000_000  # a peer that was silent for this long makes room for another [us]
KEPT_TEXTS, KEPT_TEXT_US = 8, 5_000_000  # texts that wait for a station, and for how long [us]
MAX_DATAGRAM = 4096  # longer datagrams are cut [bytes]
MAX_DATAGRAMS = 64  # datagrams taken from one socket in one step
MAX_REFUSED = 32  # senders of one link whose refusal is reported
HERE = "127.0.0.1"
Address = tuple[str, int]  # IPv4 address and UDP port


@dataclass(frozen=True)
class LinkKind:
    """One of PX4's links."""

    name: str
    always: bool  # streams before it has received anything from a peer
    texts: bool  # sends STATUSTEXT though no ground station's heartbeat comes in
    guarded: bool = True  # the key, if there is one, guards it

    def local(self, ports: Ports, i: int) -> int:
        """UDP port of vehicle i's end."""
        return {
            "ground_station": ports.ground_station_local,
            "bridge": ports.bridge_local,
            "offboard": ports.offboard_local,
        }[self.name](i)

    def remote(self, ports: Ports, i: int) -> int:
        """Usual remote port of vehicle i."""
        return {
            "ground_station": ports.ground_station,
            "bridge": ports.bridge,
            "offboard": ports.offboard(i),
        }[self.name]


KINDS = (
    LinkKind("ground_station", True, False),
    LinkKind("offboard", False, False),
    LinkKind("bridge", False, True, guarded=False),
)


@dataclass
class Link:
    """One link of one vehicle."""

    vehicle: int
    system: int  # MAVLink system id of the vehicle
    kind: int  # index into KINDS
    socket: socket.socket
    remote: Address
    active: bool  # streams
    remote_t: int = -1  # when the usual remote last spoke [us]
    peers: dict[Address, int] = field(default_factory=dict)  # address -> when it last spoke [us]
    sender: Address | None = None  # address of the message that is being handled
    source: tuple[int, int] | None = None  # system and component id of its sender
    station_t: int = -NEVER  # when a ground station's heartbeat came last [us]
    waiting: deque[tuple[int, Sequence[MavlinkMessage]]] = field(
        default_factory=lambda: deque(maxlen=KEPT_TEXTS)
    )  # (time, messages)
    clock_us: float | None = None  # what its other end's clock lacks to the vehicle's [us]
    signer: Signer | None = None  # signs and checks, where there is a key
    refused: int = 0  # messages that were not signed as they must be
    refused_senders: set[Address] = field(default_factory=set)  # senders whose refusal was reported

    def addresses(self) -> list[Address]:
        """Addresses to which streams of this link go."""
        return [self.remote, *self.peers]


class Links:
    """All links of a fleet.

    Attributes:
        by_kind: The Link of each vehicle, in the order of KINDS.
        intervals: (kinds, N, streams) between two messages of a stream [us]; 0 for none.
        on_refused: Called with (vehicle, text) when a sender is refused for the first time.
    """

    def __init__(
        self,
        n: int,
        streams: Streams,
        ports: Ports | None = None,
        key: bytes | None = None,
        remote: str = HERE,
        before: "Links | None" = None,
        rows: Rows | None = None,
    ) -> None:
        """Opens the sockets of vehicles 0 to n - 1.

        Args:
            n: Number of vehicles.
            streams: What is sent.
            ports: Of the simulation; None = those of the environment's instance.
            key: 32 bytes that guard the links; None = they are open, to this machine alone.
            remote: IPv4 address of the machine to whose usual ports the guarded links send;
                if it is another one, they listen on every interface.
            before: Links of the fleet before it grew or shrank: those of the vehicles that both
                have stay open, with key and remote; the others are closed.
            rows: Where the vehicles were in that fleet.

        Raises:
            ScenarioError: More vehicles than MAVLink has system ids for.
            AutopilotError: A port is in use.
        """
        check_links(n)
        _allow_files(len(KINDS) * n + 256)
        self._ports = ports or Ports()
        self._key, self._remote = key, remote if key else HERE
        new = range(n)
        if before is not None and rows is not None:
            self._key, self._remote = before._key, before._remote
            new = np.flatnonzero(rows.new).tolist()
        self._signed_streams: list[dict[Any, Any]] = [{} for _ in range(n)]  # see Signer
        self._last_system = max(self._ports.system_id(i) for i in range(n))
        self.on_refused: Callable[[int, str], None] = lambda i, text: None
        self._streams = streams
        self._poll = select.epoll()
        self._senders = [Sender(n, 1 + MAX_PEERS) for _ in KINDS]
        self._decoder = mavlink.MAVLink(None)
        self._links: dict[int, Link] = {}  # links by file number
        # All are set below, by _open() or _take_over().
        self.by_kind: list[list[Any]] = [[None] * n for _ in KINDS]
        m = len(streams.names)
        self.intervals = np.zeros((len(KINDS), n, m), dtype=np.int64)  # [us], 0 = off
        self._phase = np.arange(m) * TICK_US % PHASES_US  # rare messages come in different ticks
        self._due = np.tile(self._phase, (len(KINDS), n, 1))  # [us]
        self._active = np.zeros((len(KINDS), n), dtype=bool)
        self._sequence = np.zeros((len(KINDS), n), dtype=np.uint8)
        self._out = np.zeros((len(KINDS), n, BUFFER), dtype=np.uint8)
        self._length = np.zeros((len(KINDS), n), dtype=np.int64)
        self._sending = (
            [
                sender.shared(*buffers)
                for sender, *buffers in zip(self._senders, self._out, self._length)
            ]
            if worthwhile(n)
            else []
        )
        self._wanted, self._listed = np.zeros((m, n), dtype=bool), np.zeros(m, dtype=bool)
        self._fast = np.zeros(len(KINDS), dtype=bool)  # a stream of this link is faster than ticks
        try:
            for i in new:
                for k in range(len(KINDS)):
                    self._open(i, k)
        except AutopilotError:
            self.close()
            raise
        if before is not None and rows is not None:
            self._take_over(before, rows)

    def _take_over(self, before: "Links", rows: Rows) -> None:
        """Goes on with the open links of the vehicles that were there, and closes the others."""
        there, source = ~rows.new, rows.source[~rows.new]
        for k in range(len(KINDS)):
            before._finish(k)
        for table in ("intervals", "_due", "_active", "_sequence"):
            getattr(self, table)[:, there] = getattr(before, table)[:, source]
        for old, i in rows.kept.items():
            self._signed_streams[i] = before._signed_streams[old]
        for k in range(len(KINDS)):
            for old, i in rows.kept.items():
                link = before.by_kind[k][old]
                del before._links[link.socket.fileno()]
                link.vehicle = i
                self._register(link)
            self._find_fast(k)
        before.close()

    def _open(self, i: int, k: int) -> None:
        kind = KINDS[k]
        port = kind.local(self._ports, i)
        remote = self._remote if kind.guarded else HERE
        sock = open_udp(
            port,
            lambda: AutopilotError(
                f"port {port} (UDP, {kind.name} link of vehicle {i}) is in use: another "
                f"simulation or PX4 is running ('xtdrone doctor' says which); {advice()}"
            ),
            HERE if remote == HERE else "",
        )
        link = Link(
            i, self._ports.system_id(i), k, sock, (remote, kind.remote(self._ports, i)), kind.always
        )
        if self._key and kind.guarded:
            link.signer = Signer(self._key, k, self._last_system, self._signed_streams[i])
        self._register(link)
        self.intervals[k, i] = self._streams.rates(kind.name)
        self._active[k, i] = kind.always

    def _register(self, link: Link) -> None:
        sock = link.socket
        self._links[sock.fileno()] = self.by_kind[link.kind][link.vehicle] = link
        self._poll.register(sock, select.EPOLLIN)
        self._senders[link.kind].sockets[link.vehicle] = sock.fileno()
        self._set_addresses(link)

    def _set_addresses(self, link: Link) -> None:
        self._finish(link.kind)
        self._senders[link.kind].set_addresses(link.vehicle, link.addresses())

    def restart(self, t_us: int) -> None:
        """Simulated time has jumped: all streams are due soon, who has spoken has just spoken."""
        for k in range(len(KINDS)):
            self._finish(k)
        self._due[:] = t_us + self._phase
        for link in self._links.values():
            link.peers.update(dict.fromkeys(link.peers, t_us))
            link.remote_t, link.station_t = min(link.remote_t, t_us), min(link.station_t, t_us)

    def health(self, i: int, t_us: int) -> dict[str, dict]:
        """Health of the links of vehicle i at a time [us]; see safety.health.Health.report()."""
        table = {}
        for kind, of_kind in zip(KINDS, self.by_kind):
            link = of_kind[i]
            heard = max([link.remote_t, *link.peers.values()])
            table[kind.name] = {
                "streams": bool(link.active),
                "peers": len(link.peers),
                "heard_s": None if heard < 0 else (t_us - heard) * 1e-6,
                "refused": link.refused,
            }
        return table

    def close(self) -> None:
        """Closes every socket."""
        for work in self._sending:
            work.close()
        self._sending.clear()
        for link in self._links.values():
            link.socket.close()
        self._links.clear()
        self._poll.close()

    def receive(self, t_us: int, handle: Callable[[Link, MavlinkMessage], None]) -> None:
        """Calls handle(link, message) for each valid message that has come in."""
        for number, _ in self._poll.poll(0):
            link = self._links[number]
            for _ in range(MAX_DATAGRAMS):
                try:
                    data, address = link.socket.recvfrom(MAX_DATAGRAM)
                except BlockingIOError:
                    break
                except OSError:  # an earlier datagram was rejected: its receiver's port is closed
                    continue
                self._parse(link, data, address, t_us, handle)

    def _parse(
        self,
        link: Link,
        data: bytes,
        address: Address,
        t_us: int,
        handle: Callable[[Link, MavlinkMessage], None],
    ) -> None:
        for frame in frames(data):
            if link.signer is not None and self._refuses(link, data, frame, address):
                continue
            try:
                message = self._decoder.decode(bytearray(data[frame.start : frame.end]))
            except Exception:  # an unknown signature or flag, or whatever the library trips over
                continue
            if link.signer is None or frame.message_id not in UNSIGNED:
                self._heard(link, address, t_us)
            link.sender = address
            link.source = message.get_srcSystem(), message.get_srcComponent()
            handle(link, message)

    def _refuses(self, link: Link, data: bytes, frame: Frame, address: Address) -> bool:
        """Returns whether a frame is not signed as it must be; counts it, and says so once."""
        why = link.signer.refusal(data, frame) if link.signer is not None else ""
        if not why:
            return False
        link.refused += 1
        if address not in link.refused_senders and len(link.refused_senders) < MAX_REFUSED:
            link.refused_senders.add(address)
            name = mavlink.mavlink_map[frame.message_id].msgname
            self.on_refused(link.vehicle, f"Refused {name} from {address[0]}:{address[1]}: {why}")
        return True

    def _heard(self, link: Link, address: Address, t_us: int) -> None:
        if address == link.remote:
            link.remote_t = t_us
        elif address in link.peers or self._make_room(link, t_us):
            new = address not in link.peers
            link.peers[address] = t_us
            if new:
                self._set_addresses(link)
        if not link.active:
            link.active = True
            self._active[link.kind, link.vehicle] = True
            self._due[link.kind, link.vehicle] = t_us + self._phase
            self._find_fast(link.kind)

    @staticmethod
    def _make_room(link: Link, t_us: int) -> bool:
        """Returns whether there is room for another peer; one silent for long is dropped for it."""
        if len(link.peers) == MAX_PEERS:
            silent = min(link.peers, key=link.peers.__getitem__)
            if t_us - link.peers[silent] < _QUIET_US:
                return False
            del link.peers[silent]
        return True

    def forget_silent_peers(self, t_us: int) -> None:
        """Stops sending to learned peers that have been silent for long."""
        for link in self._links.values():
            for address, heard in list(link.peers.items()):
                if t_us - heard > PEER_LOST_US:
                    del link.peers[address]
                    self._set_addresses(link)

    def reply(self, link: Link, message: MavlinkMessage) -> None:
        """Sends one message to the sender of the message being handled."""
        self._send(link, self._pack(link, message), [link.sender or link.remote])

    def broadcast(self, i: int, message: MavlinkMessage) -> None:
        """Sends one message on every link of vehicle i that has a peer."""
        for links in self.by_kind:
            link = links[i]
            if link.active:
                self._send(link, self._pack(link, message), link.addresses())

    def broadcast_text(self, i: int, messages: Sequence[MavlinkMessage], t_us: int) -> None:
        """Sends the STATUSTEXTs of one text of vehicle i, or keeps them for a ground station."""
        for links in self.by_kind:
            link = links[i]
            if KINDS[link.kind].texts or t_us - link.station_t <= STATION_US:
                self._send_text(link, messages)
            else:
                link.waiting.append((t_us, messages))

    def hear_station(self, link: Link, t_us: int) -> None:
        """A ground station's heartbeat has come on a link: texts that wait for one go out."""
        link.station_t = t_us
        while link.waiting:
            said_t, messages = link.waiting.popleft()
            if t_us - said_t < KEPT_TEXT_US:
                self._send_text(link, messages)

    def _send_text(self, link: Link, messages: Sequence[MavlinkMessage]) -> None:
        if link.active:
            for message in messages:
                self._send(link, self._pack(link, message), link.addresses())

    def request(self, link: Link, name: str, t_us: int) -> None:
        """Sends one message of the streams now, as MAV_CMD_REQUEST_MESSAGE asks."""
        self._send_now(link, name, t_us, [link.sender or link.remote])

    def broadcast_stream(self, i: int, name: str, t_us: int) -> None:
        """Sends one message of the streams now on every link of vehicle i that has a peer."""
        self._streams.changed(name)
        for links in self.by_kind:
            if links[i].active:
                self._send_now(links[i], name, t_us, links[i].addresses())

    def _send_now(self, link: Link, name: str, t_us: int, addresses: Sequence[Address]) -> None:
        i, k = link.vehicle, link.kind
        self._finish(k)
        self._length[k] = 0
        chosen = np.zeros(len(self._length[k]), dtype=bool)
        chosen[i] = True
        self._streams.append(
            self._streams.index[name],
            t_us,
            chosen,
            self._sequence[k],
            self._out[k],
            self._length[k],
        )
        self._send(link, self._out[k, i, : self._length[k, i]], addresses)

    def set_interval(self, link: Link, name: str, interval: int) -> None:
        """Period of one stream of a link [us]; 0 = the link's default, negative = off."""
        k = self._streams.index[name]
        if interval == 0:
            interval = int(self._streams.rates(KINDS[link.kind].name)[k])
        self.intervals[link.kind, link.vehicle, k] = max(interval, 0)
        self._find_fast(link.kind)

    def _find_fast(self, kind: int) -> None:
        intervals = self.intervals[kind][self._active[kind]]
        self._fast[kind] = ((intervals > 0) & (intervals < TICK_US)).any()

    def get_interval(self, link: Link, name: str) -> int:
        """Period of one stream of a link [us], 0 = off."""
        return int(self.intervals[link.kind, link.vehicle, self._streams.index[name]])

    def hurry(self, i: int, name: str, t_us: int) -> None:
        """Makes one stream of vehicle i due on every link at the next tick."""
        self._due[:, i, self._streams.index[name]] = t_us

    def message_name(self, number: float) -> str | None:
        """Name of the stream with a message id, or None."""
        return self._streams.ids.get(number)

    def stream(self, t_us: int) -> None:
        """Sends what is due; call it each step.

        What goes out at a tick has gone out before the step to the next one.
        """
        between = TICK_US if t_us % TICK_US else 0
        if (t_us + STEP_US) % TICK_US == 0:
            for work in self._sending:
                work.complete()
        if between and not self._fast.any():
            return
        for k in range(len(KINDS)):
            if (between and not self._fast[k]) or not take_due(
                self._due[k],
                self.intervals[k],
                self._active[k],
                self._streams.index["HEARTBEAT"],
                t_us,
                between,
                self._wanted,
                self._listed,
            ):
                continue
            self._finish(k)
            out, length = self._out[k], self._length[k]
            length.fill(0)
            for m in np.flatnonzero(self._listed):
                self._streams.append(m, t_us, self._wanted[m], self._sequence[k], out, length)
            if self._key and KINDS[k].guarded:
                for i in np.flatnonzero(length):
                    link = self.by_kind[k][i]
                    self._send(link, out[i, : length[i]], link.addresses())
            elif self._sending:
                self._sending[k].offer()
            else:
                self._senders[k].send(out, length)

    def _finish(self, k: int) -> None:
        """Waits until the streams of a kind of link have gone out."""
        if self._sending:
            self._sending[k].complete()

    def take_sequence(self, link: Link, frames: int) -> int:
        """The sequence number of the next frame on a link; that of those behind it follow on."""
        first = int(self._sequence[link.kind, link.vehicle])
        self._sequence[link.kind, link.vehicle] = (first + frames) % 256
        return first

    def send_frames(self, link: Link, frames: np.ndarray, address: tuple[str, int]) -> None:
        """Sends whole frames, (B,) uint8, to one address."""
        if link.signer is not None:
            self._send(link, frames, [address])
        else:
            self._finish(link.kind)
            self._senders[link.kind].send_to(link.vehicle, frames, address)

    def _pack(self, link: Link, message: MavlinkMessage) -> bytes:
        sender = mavlink.MAVLink(None, link.system, 1)
        sender.seq = self.take_sequence(link, 1)
        return message.pack(sender)

    def _send(
        self, link: Link, data: bytes | bytearray | np.ndarray, addresses: Sequence[Address]
    ) -> None:
        self._finish(link.kind)
        datagrams: Sequence[Any] = [data]  # bytes, or an array of them
        if link.signer is not None:
            datagrams = link.signer.datagrams(bytes(data), LARGEST)
        for address in addresses:
            for datagram in datagrams:
                try:
                    link.socket.sendto(datagram, address)
                except OSError:  # no receiver, or its buffer is full: telemetry may be lost
                    pass


@fleet_kernel
def take_due(
    due: np.ndarray,
    interval: np.ndarray,
    active: np.ndarray,
    heartbeat: int,
    t_us: int,
    between: int,
    wanted: np.ndarray,
    listed: np.ndarray,
) -> bool:
    """Finds the streams that are due, and when they are next.

    Args:
        due, interval: (N, M) of each vehicle and stream [us]; interval 0 = off.
        active: (N,) bool, all streams go out; else only the heartbeat does.
        heartbeat: Its index among the streams.
        t_us: Now [us].
        between: 0 at a tick; between ticks only streams with a shorter interval than this [us].
        wanted: (M, N) bool, written: those that are due.
        listed: (M,) bool, written: streams that are due for any.

    Returns:
        Whether there are any.
    """
    found = False
    wanted[:] = False
    listed[:] = False
    for i in range(due.shape[0]):
        first, last = (0, due.shape[1]) if active[i] else (heartbeat, heartbeat + 1)
        for m in range(first, last):
            if (
                interval[i, m] > 0
                and due[i, m] <= t_us
                and (interval[i, m] < between or between == 0)
            ):
                wanted[m, i] = listed[m] = found = True
                due[i, m] += interval[i, m]
                if due[i, m] <= t_us:
                    due[i, m] = t_us + interval[i, m]
    return found


def _allow_files(wanted: int) -> None:
    """Raises the limit of open files for large fleets, as far as the system lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
