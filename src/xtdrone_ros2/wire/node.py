"""One DDS participant that looks like a node of ROS 2: writers, readers, and discovery."""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cyclonedds._clayer import ddspy_take, ddspy_write
from cyclonedds.core import DDSException, Listener, Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from rosbags.serde import SerdeError

from ..errors import Ros2Error
from ..rtps.services import Services
from .idl import dds_name, struct
from .quality import DEFAULT, LATCHED, Quality
from .recorder import Recorder
from .types import Fields, Message, Types

LOCAL = "127.0.0.1"
_CALLS = 8  # calls of services that run at once
_ANY = 0xFFFF  # mask of samples in every state
_TAKEN = 64  # samples taken at once
_PARTICIPANTS = 100  # participants on one machine that are searched without multicast
_RECEIVE = "4MB"  # receive buffer
# On loopback, which often has no multicast, announcements go each second to all ports that
# participants may have: otherwise no participant would discover another.
_ON_LOOPBACK = f"""<AllowMulticast>false</AllowMulticast></General><Discovery>
<ParticipantIndex>auto</ParticipantIndex>
<MaxAutoParticipantIndex>{_PARTICIPANTS}</MaxAutoParticipantIndex>
<Peers><Peer address="{LOCAL}"/></Peers>
<InitialLocatorPruneDelay>inf</InitialLocatorPruneDelay>
<DiscoveredLocatorPruneDelay>inf</DiscoveredLocatorPruneDelay>
<SPDPInterval>1s</SPDPInterval></Discovery>"""
_CONFIGURATION = """<CycloneDDS><Domain Id="any"><General><Interfaces>
<NetworkInterface address="{address}"/></Interfaces>{rest}
<Tracing><Verbosity>severe</Verbosity><OutputFile>stderr</OutputFile></Tracing><Internal>
<SocketReceiveBufferSize min="default" max="{receive}"/></Internal></Domain></CycloneDDS>"""


class Writer:
    """A publisher of serialised messages.

    Attributes:
        wanted: Whether it has subscribers, or is recorded or latched.
    """

    def __init__(
        self,
        node: "Node",
        topic: str,
        kind: str,
        quality: Quality,
        record: Callable[[bytes], None] | None = None,
    ):
        """Advertises a topic, see Node.writer(); record() gets each message as well."""
        self._record = record
        # A writer that is not reliable keeps nothing for late subscribers.
        self._always = record is not None or (quality.latched and quality.reliable)
        self.wanted = self._always
        self._listener = Listener(on_publication_matched=self._matched)
        self.entity = DataWriter(
            node.participant,
            node.topic(topic, kind),
            qos=quality.policies(),
            listener=self._listener,
        )
        self._number = self.entity._ref
        node.keep(self)

    def write(self, data: bytes) -> None:
        """Sends a message, encapsulation and padding included.

        Raises:
            Ros2Error: DDS does not take it.
        """
        if self._record is not None:
            self._record(data)
        status = ddspy_write(self._number, data)
        if status < 0 and status != DDSException.DDS_RETCODE_TIMEOUT:  # a slow subscriber's
            raise Ros2Error(
                f"DDS does not take a message of {self.entity.topic.name} "
                f"({len(data)} bytes): {DDSException(status)}"
            )

    def _matched(self, writer: DataWriter, status: Any) -> None:  # a status of Cyclone
        self.wanted = self._always or status.current_count > 0


class Reader:
    """A subscriber, whose messages are handled in the thread that calls Node.handle()."""

    def __init__(
        self, node: "Node", topic: str, kind: str, quality: Quality, handle: Callable[[bytes], None]
    ):
        """Subscribes; see Node.reader()."""
        self._node, self._handle = node, handle
        self._waiting = False
        self._listener = Listener(on_data_available=self._available)
        self.entity = DataReader(
            node.participant,
            node.topic(topic, kind),
            qos=quality.policies(),
            listener=self._listener,
        )
        node.keep(self)

    def _available(self, reader: DataReader) -> None:
        if not self._waiting:
            self._waiting = True
            self._node.arrived(self)

    def take(self) -> None:
        """Handles the messages that have come."""
        self._waiting = False
        while True:
            samples = ddspy_take(self.entity._ref, _ANY, _TAKEN)
            if isinstance(samples, int):
                raise Ros2Error(
                    f"DDS cannot read {self.entity.topic.name}: {DDSException(samples)}"
                )
            for data, info in samples:
                if info.valid_data:
                    self._handle(data)
            if len(samples) < _TAKEN:
                return


class Node:
    """A participant with a node of ROS 2 or more, as `ros2 node list` and its like see them.

    Attributes:
        participant: Cyclone's participant.
        types: Types of the messages.
    """

    def __init__(
        self,
        types: Types,
        name: str,
        domain: int,
        address: str = LOCAL,
        recorder: Recorder | None = None,
    ):
        """Joins a domain.

        Args:
            types: Types of the messages.
            name: Node's name, such as /xtdrone.
            domain: ROS_DOMAIN_ID.
            address: IPv4 address of the interface; that of loopback reaches this machine alone.
            recorder: Records what is published.

        Raises:
            Ros2Error: DDS cannot start there.
        """
        self.types = types
        self._recorder = recorder
        self._name, self._at = name, (domain, address)
        self._services: Services | None = None  # None as long as none is offered
        self._topics: dict[str, Topic] = {}
        # GUIDs of the writers and readers of each node of ROS 2 that this participant is.
        self._nodes: dict[str, tuple[list[bytes], list[bytes]]] = {name: ([], [])}
        self._pool = ThreadPoolExecutor(_CALLS)
        self._kept: list[Writer | Reader] = []
        self._arrived: deque[Reader] = deque()
        self._wake_out, self._wake_in = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        rest = _ON_LOOPBACK if address == LOCAL else "</General>"
        try:
            self._domain = Domain(
                domain, _CONFIGURATION.format(address=address, rest=rest, receive=_RECEIVE)
            )
            self.participant = DomainParticipant(domain, qos=Qos(Policy.Userdata(b"enclave=/;")))
        except DDSException as error:
            raise Ros2Error(
                f"DDS cannot start on {address} in domain {domain}: give an IPv4 "
                "address of this machine, and a domain with free ports"
            ) from error
        self._graph = Writer(
            self, "ros_discovery_info", "rmw_dds_common/msg/ParticipantEntitiesInfo", LATCHED
        )

    def keep(self, entity: Writer | Reader) -> None:
        """Keeps an entity that DDS's threads call, until close()."""
        self._kept.append(entity)

    def fileno(self) -> int:
        """Returns the descriptor that is readable once messages have come, for select()."""
        return self._wake_out

    def arrived(self, reader: Reader) -> None:
        """Notes that messages have come; called by DDS's threads."""
        self._arrived.append(reader)
        try:
            os.write(self._wake_in, b"\0")
        except BlockingIOError:  # it is full of what will wake the reader
            pass

    def handle(self) -> None:
        """Handles the messages that have come."""
        try:
            os.read(self._wake_out, 4096)
        except BlockingIOError:
            pass
        while self._arrived:
            self._arrived.popleft().take()

    def topic(self, name: str, kind: str) -> Topic:
        """Returns Cyclone's topic.

        Args:
            name: Name on the wire, for example rt/clock.
            kind: Type.
        """
        known = self._topics.get(name)
        if known is None:
            known = self._topics[name] = Topic(
                self.participant,
                name,
                struct(self.types, kind),
                qos=Qos(Policy.DataRepresentation(use_cdrv0_representation=True)),
            )
        return known

    def writer(self, name: str, kind: str, quality: Quality = DEFAULT) -> Writer:
        """Returns a publisher.

        Args:
            name: Topic, beginning with /.
            kind: Type, for example std_msgs/msg/String.
            quality: QoS that it offers.
        """
        record = None if self._recorder is None else self._recorder.tap(name, kind, quality)
        made = Writer(self, f"rt{name}", kind, quality, record)
        self._nodes[self._name][0].append(made.entity.get_guid().bytes)
        return made

    def reader(
        self, name: str, kind: str, handle: Callable[[bytes], None], quality: Quality = DEFAULT
    ) -> Reader:
        """Returns a subscriber.

        Args:
            name: Topic, beginning with /.
            kind: Type.
            handle: Called by handle() with each message.
            quality: QoS that it requests.
        """
        made = Reader(self, f"rt{name}", kind, quality, handle)
        self._nodes[self._name][1].append(made.entity.get_guid().bytes)
        return made

    def service(
        self, name: str, kind: str, answer: Callable[[Message], Message], of: str = ""
    ) -> None:
        """Offers a service; before announce().

        Args:
            name: Beginning with /.
            kind: Type, for example std_srvs/srv/Trigger.
            answer: Gives the response to a request, in a thread of its own.
            of: Node that offers it, beginning with /; "" for this one.
        """

        def respond(data: bytes) -> bytes | None:
            try:
                request = self.types.read(data, f"{kind}_Request")
            except SerdeError:
                return None
            return self.types.serialised(answer(request))

        if self._services is None:
            self._services = Services(*self._at, _PARTICIPANTS, self._pool)
        guids = self._services.offer(name, dds_name(kind).rstrip("_"), respond)
        for known, guid in zip(self._nodes.setdefault(of or self._name, ([], [])), guids):
            known.append(guid)

    def announce(self) -> None:
        """Announces to ROS 2's graph which publishers and subscribers each node has."""
        if self._services is not None:
            self._services.start()
        own = self._gid(self.participant.get_guid().bytes)
        self._graph.write(
            self.types.serialised(
                self.types.message(
                    "rmw_dds_common/msg/ParticipantEntitiesInfo",
                    gid=own,
                    node_entities_info_seq=[self._entities(*item) for item in self._nodes.items()],
                )
            )
        )

    def _entities(self, name: str, guids: tuple[list[bytes], list[bytes]]) -> Fields:
        writers, readers = ([self._gid(guid) for guid in part] for part in guids)
        space, _, own = name.rpartition("/")
        return {
            "node_namespace": space or "/",
            "node_name": own,
            "reader_gid_seq": readers,
            "writer_gid_seq": writers,
        }

    def _gid(self, guid: bytes) -> dict[str, list[int]]:
        length = len(self.types.blank("rmw_dds_common/msg/Gid").data)
        return {"data": list(guid.ljust(length, b"\0"))}

    def close(self) -> None:
        """Leaves the domain."""
        if self._services is not None:
            self._services.close()
        self._pool.shutdown(wait=False, cancel_futures=True)
        for entity in (self.participant, self._domain):  # deletes their entities as well
            entity._delete(entity._ref)
        os.close(self._wake_in)
        os.close(self._wake_out)
