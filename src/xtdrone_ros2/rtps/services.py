"""A participant of RTPS that offers services to both of ROS 2's middlewares.

rmw_cyclonedds_cpp puts the identity of the client before the request; rmw_fastrtps_cpp puts it into
RTPS's inline parameters, which Cyclone DDS does not let its users write. Two servers, one for each,
do not help: a client calls as soon as it has discovered one of them. So this participant speaks
RTPS itself: it announces a reader of requests and a writer of responses for each service, by
unicast, to each participant that it discovers, and answers as that client's middleware expects.
"""

import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

from . import messages as rtps
from .reliable import Incoming, Outgoing

Answer = Callable[[bytes], bytes | None]
_CYCLONE = b"\x01\x10"  # vendor
_PARTICIPANT = bytes.fromhex("000001c1")
_SPDP = bytes.fromhex("000100c2"), bytes.fromhex("000100c7")  # writer, reader of participants
_WRITERS = bytes.fromhex("000003c2"), bytes.fromhex("000003c7")  # the same of writers
_READERS = bytes.fromhex("000004c2"), bytes.fromhex("000004c7")  # and of readers
_LISTENING = dict((_WRITERS, _READERS))
_OF_DISCOVERY = 0xC0  # bits of an entity's kind
_BUILTIN = 0x3F  # these six
_READER_KIND, _WRITER_KIND = 4, 3  # kinds of entities without a key
_MULTICAST, _PORT, _PER_DOMAIN, _FIRST = "239.255.0.1", 7400, 250, 10
_RELIABLE = struct.pack("<IiI", 2, 0, 100_000_000)  # blocks for 0.02 s
_LEASE_S, _EACH_S = 10, 1.0
_HEAD, _BODY = 4, 20  # begin and end of the client's identity in Cyclone's requests [bytes]
_BATCH = 8_000  # bytes of submessages in one datagram
_NEITHER = struct.pack(">I", 3)  # status of what is disposed and unregistered


@dataclass
class _Peer:
    """Another participant."""

    discovery: tuple[tuple[str, int], ...]  # addresses: each of its interfaces has one
    default: tuple[tuple[str, int], ...]
    cyclone: bool
    until: float  # the end of its lease, monotonic [s]
    outgoing: dict[bytes, Outgoing] = field(default_factory=dict)  # by our writer and its reader
    incoming: dict[bytes, Incoming] = field(default_factory=dict)  # by its writer
    # Our reader of each of its writers.
    readers: dict[bytes, bytes] = field(default_factory=lambda: dict(_LISTENING))

    def addresses(self, entity: bytes) -> tuple[tuple[str, int], ...]:
        """Returns the addresses for an entity: those of discovery, or the default ones."""
        return self.discovery if entity[3] & _OF_DISCOVERY else self.default


@dataclass(frozen=True)
class _Offered:
    """One service."""

    name: str
    kind: str  # pkg::srv::dds_::Name
    number: int
    answer: Answer

    @property
    def reader(self) -> bytes:
        return self.number.to_bytes(3, "big") + bytes([_READER_KIND])

    @property
    def writer(self) -> bytes:
        return self.number.to_bytes(3, "big") + bytes([_WRITER_KIND])


class Services:
    """The participant, in a thread of its own.

    Attributes:
        prefix: First 12 bytes of the participant's GUID.
    """

    def __init__(self, domain: int, address: str, ports: int, pool: Executor):
        """Joins a domain.

        Args:
            domain: ROS_DOMAIN_ID.
            address: IPv4 address of the interface.
            ports: Participants of one machine that are looked for.
            pool: Threads that answer.

        Raises:
            OSError: The address is not this machine's.
        """
        self.prefix = b"XTD" + os.urandom(9)
        self._pool, self._lock = pool, threading.RLock()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, 0))
        self._own = self._socket.getsockname()
        first = _PORT + _PER_DOMAIN * domain
        self._called = [(address, first + _FIRST + 2 * k) for k in range(ports)]
        if not address.startswith("127."):
            self._socket.setsockopt(
                socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address)
            )
            self._called.append((_MULTICAST, first))
        self._services: dict[bytes, _Offered] = {}  # by their readers
        self._by_topic: dict[str, bytes] = {}  # those readers
        self._writers = {_WRITERS[0], _READERS[0]}  # our own that are reliable
        self._peers: dict[bytes, _Peer] = {}
        self._ended, self._end = os.pipe()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def offer(self, name: str, kind: str, answer: Answer) -> tuple[bytes, bytes]:
        """Offers a service; before start().

        Args:
            name: Beginning with /.
            kind: Type of the service on the wire, pkg::srv::dds_::Name.
            answer: Gives the response to a request, both with their encapsulation; None where
                the request is none.

        Returns:
            GUIDs of the writer of responses and of the reader of requests.
        """
        made = _Offered(name, kind, len(self._services) + 1, answer)
        self._services[made.reader] = made
        self._by_topic[f"rq{name}Request"] = made.reader
        self._writers.add(made.writer)
        return self.prefix + made.writer, self.prefix + made.reader

    def start(self) -> None:
        """Begins to announce and to answer."""
        self._thread.start()

    def close(self) -> None:
        """Says farewell. May be called once."""
        os.write(self._end, b"\0")
        if self._thread.is_alive():
            self._thread.join()
        farewell = rtps.data(
            _SPDP[1],
            _SPDP[0],
            2,
            b"",
            ((rtps.PARTICIPANT, self.prefix + _PARTICIPANT), (rtps.STATUS, _NEITHER)),
        )
        for peer in self._peers.values():
            self._send(peer.discovery, farewell)
        self._socket.close()
        os.close(self._ended)
        os.close(self._end)

    # Discovery ----------------------------------------------------------------------------------

    def _run(self) -> None:
        due = 0.0
        while True:
            now = time.monotonic()
            if now >= due:
                due = now + _EACH_S
                self._announce(now)
            ready, _, _ = select.select([self._socket.fileno(), self._ended], [], [], due - now)
            if self._ended in ready:
                return
            if self._socket.fileno() in ready:
                self._receive()

    def _announce(self, now: float) -> None:
        own = rtps.data(
            _SPDP[1],
            _SPDP[0],
            1,
            rtps.PL_CDR
            + rtps.listed(
                (
                    (rtps.VERSION, b"\x02\x03"),
                    (rtps.VENDOR, bytes(2)),
                    (rtps.PARTICIPANT, self.prefix + _PARTICIPANT),
                    (rtps.BUILTIN, struct.pack("<I", _BUILTIN)),
                    (rtps.LEASE, struct.pack("<iI", _LEASE_S, 0)),
                    (rtps.DISCOVERY_LOCATOR, rtps.locator(self._own)),
                    (rtps.DEFAULT_LOCATOR, rtps.locator(self._own)),
                    (rtps.USER_DATA, rtps.string("enclave=/;")[:-1]),
                )
            ),
        )
        with self._lock:
            self._peers = {prefix: peer for prefix, peer in self._peers.items() if peer.until > now}
            self._send(
                {
                    *self._called,
                    *(address for peer in self._peers.values() for address in peer.discovery),
                },
                own,
            )
            for prefix, peer in self._peers.items():  # asks again for lost samples
                for key, stream in peer.outgoing.items():
                    if stream.waits:
                        self._send_all(peer.addresses(key[:4]), prefix, [stream.heartbeat()])

    def _greet(self, source: bytes, cyclone: bool, message: rtps.Submessage) -> None:
        """Adds a participant, and announces the services to a new one."""
        known = rtps.parameters(message.payload)
        discovery = rtps.addresses(known.get(rtps.DISCOVERY_LOCATOR, b""))
        default = rtps.addresses(known.get(rtps.DEFAULT_LOCATOR, b"")) or discovery
        if not discovery:
            if rtps.STATUS in message.qos:
                self._peers.pop(source, None)
            return
        (seconds,) = struct.unpack_from("<i", known.get(rtps.LEASE, struct.pack("<i", _LEASE_S)))
        until = time.monotonic() + max(seconds, _LEASE_S)
        if source in self._peers:
            self._peers[source].until = until
            return
        peer = self._peers[source] = _Peer(discovery, default, cyclone, until)
        self._send_all(discovery, source, self._offers(peer))

    def _offers(self, peer: _Peer) -> Iterator[bytes]:
        """Yields submessages that announce the services' writers and readers."""
        count = len(self._services)
        for (writer, reader), word, end in ((_WRITERS, "rr", "Reply"), (_READERS, "rq", "Request")):
            stream = peer.outgoing[writer + reader] = Outgoing(reader, writer, count)
            for service in self._services.values():
                replies = end == "Reply"
                kind = f"{service.kind}_{'Response' if replies else 'Request'}_"
                yield from stream.add(
                    rtps.PL_CDR
                    + rtps.listed(
                        (
                            (
                                rtps.ENDPOINT,
                                self.prefix + (service.writer if replies else service.reader),
                            ),
                            (rtps.PARTICIPANT, self.prefix + _PARTICIPANT),
                            (rtps.VERSION, b"\x02\x03"),
                            (rtps.VENDOR, bytes(2)),
                            (rtps.TOPIC, rtps.string(f"{word}{service.name}{end}")),
                            (rtps.TYPE, rtps.string(kind)),
                            (rtps.RELIABILITY, _RELIABLE),
                            (rtps.DURABILITY, bytes(4)),
                        )
                    )
                )
            yield stream.heartbeat()

    # Requests -----------------------------------------------------------------------------------

    def _receive(self) -> None:
        try:
            datagram = self._socket.recv(65536)
        except OSError:  # an earlier datagram found nobody there
            return
        cyclone = datagram[6:8] == _CYCLONE
        with self._lock:
            for message in rtps.parsed(datagram, self.prefix):
                if message.kind == rtps.DATA and message.writer == _SPDP[0]:
                    if message.source != self.prefix:
                        self._greet(message.source, cyclone, message)
                elif message.source in self._peers:
                    self._take(self._peers[message.source], message)

    def _take(self, peer: _Peer, message: rtps.Submessage) -> None:
        addresses = peer.addresses(message.writer)
        if message.kind in (rtps.ACKNACK, rtps.NACK_FRAG):
            if message.writer in self._writers:
                self._send_all(
                    addresses,
                    message.source,
                    self._stream(peer, message.writer, message.reader).answer(message),
                )
            return
        if message.reader == rtps.UNKNOWN:  # addressed to all readers of the writer
            message = replace(message, reader=peer.readers.get(message.writer, rtps.UNKNOWN))
        if message.reader not in self._services and message.reader not in _LISTENING.values():
            return
        stream = peer.incoming.setdefault(message.writer, Incoming())
        if message.kind == rtps.GAP:
            stream.skip(message)
        elif message.kind == rtps.HEARTBEAT:
            self._send_all(addresses, message.source, [stream.answer(message)])
        elif message.kind == rtps.DATA_FRAG:
            payload = stream.joined(message)
            if payload is not None:
                self._take(peer, replace(message, kind=rtps.DATA, payload=payload))
        elif stream.new(message.number):
            if message.reader in self._services:
                respond = self._respond_cyclone if peer.cyclone else self._respond_fast
                self._pool.submit(respond, self._services[message.reader], message)
            elif message.reader == _WRITERS[1]:
                self._add_writer(peer, message)

    @staticmethod
    def _stream(peer: _Peer, writer: bytes, reader: bytes) -> Outgoing:
        # The stream of a client that did not name its reader.
        known = peer.outgoing.get(writer + rtps.UNKNOWN)
        return known or peer.outgoing.setdefault(writer + reader, Outgoing(reader, writer))

    def _add_writer(self, peer: _Peer, message: rtps.Submessage) -> None:
        """Stores which service's reader a writer's requests go to."""
        endpoint = rtps.parameters(message.payload)
        reader = self._by_topic.get(endpoint.get(rtps.TOPIC, b"")[4:].split(b"\0")[0].decode())
        if reader is not None and len(endpoint.get(rtps.ENDPOINT, b"")) == 16:
            peer.readers[endpoint[rtps.ENDPOINT][rtps.PREFIX :]] = reader

    def _respond_cyclone(self, service: _Offered, message: rtps.Submessage) -> None:
        request = message.payload
        response = service.answer(request[:_HEAD] + request[_BODY:])
        if response is not None:
            self._reply(
                service,
                message,
                rtps.UNKNOWN,
                response[:_HEAD] + request[_HEAD:_BODY] + response[_HEAD:],
            )

    def _respond_fast(self, service: _Offered, message: rtps.Submessage) -> None:
        response = service.answer(message.payload)
        if response is None:
            return
        # Whose it is: the client's reader of responses; formerly its writer of requests.
        whose = next(
            (message.qos[name][:16] for name in rtps.RELATED if name in message.qos),
            message.source + message.writer,
        )
        reader = whose[rtps.PREFIX :] if whose[15] & _READER_KIND else rtps.UNKNOWN
        related = whose + rtps.sequence_number(message.number)
        self._reply(
            service, message, reader, response, tuple((name, related) for name in rtps.RELATED)
        )

    def _reply(
        self,
        service: _Offered,
        message: rtps.Submessage,
        reader: bytes,
        response: bytes,
        qos: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        with self._lock:
            peer = self._peers.get(message.source)
            if peer is None:
                return
            stream = self._stream(peer, service.writer, reader)
            self._send_all(
                peer.default, message.source, [*stream.add(response, qos), stream.heartbeat()]
            )

    # Sending ------------------------------------------------------------------------------------

    def _send_all(
        self, addresses: Collection[tuple[str, int]], prefix: bytes, submessages: Iterable[bytes]
    ) -> None:
        """Sends submessages to a participant, as many in a datagram as fit."""
        whose = rtps.to(prefix)
        batch = b""
        for submessage in submessages:
            if batch and len(batch) + len(submessage) > _BATCH:
                self._send(addresses, whose + batch)
                batch = b""
            batch += submessage
        if batch:
            self._send(addresses, whose + batch)

    def _send(self, addresses: Collection[tuple[str, int]], submessages: bytes) -> None:
        for address in addresses:
            try:
                self._socket.sendto(rtps.HEADER + self.prefix + submessages, address)
            except OSError:  # nobody is there
                continue
