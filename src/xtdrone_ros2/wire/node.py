"""One DDS participant that looks like a node of ROS 2: writers, readers, and discovery."""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from cyclonedds._clayer import ddspy_take, ddspy_write
from cyclonedds.core import DDSException, Listener, Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from rosbags.serde import SerdeError

from ..errors import Ros2Error
from .idl import struct
from .quality import DEFAULT, LATCHED, SERVICE, Quality
from .recorder import Recorder
from .types import Types

LOCAL = "127.0.0.1"
_HEAD, _BODY = 4, 20  # where a request's guid and number begin, and where they end [bytes]
_CALLS = 8  # of services at once
_ANY = 0xFFFF  # samples in every state
_TAKEN = 64  # samples at once
_PARTICIPANTS = 100  # of one machine that are looked for where there is no multicast
_RECEIVE = "4MB"  # buffer asked of the kernel
# On loopback, which often has no multicast, we call at all ports that participants may have, each
# second: others do not hear of us otherwise, nor we of them.
_ON_LOOPBACK = f"""<AllowMulticast>false</AllowMulticast></General><Discovery>
<ParticipantIndex>auto</ParticipantIndex>
<MaxAutoParticipantIndex>{_PARTICIPANTS}</MaxAutoParticipantIndex>
<Peers><Peer address="{LOCAL}"/></Peers><SPDPInterval>1s</SPDPInterval></Discovery>"""
_CONFIGURATION = """<CycloneDDS><Domain Id="any"><General><Interfaces>
<NetworkInterface address="{address}"/></Interfaces>{rest}<Internal>
<SocketReceiveBufferSize min="default" max="{receive}"/></Internal></Domain></CycloneDDS>"""


class Writer:
    """A publisher of serialised messages.

    Attributes:
        wanted: Whether somebody subscribes to it, or it is recorded or latched.
    """

    def __init__(self, node: "Node", topic: str, kind: str, quality: Quality,
                 record: Callable[[bytes], None] | None = None):
        """Of a Node, see Node.writer(); record() takes each message, too."""
        self._record = record
        # One that is not reliable keeps nothing for those who come late.
        self._always = record is not None or (quality.latched and quality.reliable)
        self.wanted = self._always
        self._listener = Listener(on_publication_matched=self._matched)
        self.entity = DataWriter(node.participant, node.topic(topic, kind),
                                 qos=quality.policies(), listener=self._listener)
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
            raise Ros2Error(f"DDS does not take a message of {self.entity.topic.name} "
                            f"({len(data)} bytes): {DDSException(status)}")

    def _matched(self, writer, status):
        self.wanted = self._always or status.current_count > 0


class Reader:
    """A subscriber, whose messages are handled in the thread that calls Node.handle()."""

    def __init__(self, node: "Node", topic: str, kind: str, quality: Quality,
                 handle: Callable[[bytes], None]):
        """Of a Node, see Node.reader()."""
        self._node, self._handle = node, handle
        self._waiting = False
        self._listener = Listener(on_data_available=self._available)
        self.entity = DataReader(node.participant, node.topic(topic, kind),
                                 qos=quality.policies(), listener=self._listener)
        node.keep(self)

    def _available(self, reader):
        if not self._waiting:
            self._waiting = True
            self._node.arrived(self)

    def take(self) -> None:
        """Handles what has come."""
        self._waiting = False
        while True:
            samples = ddspy_take(self.entity._ref, _ANY, _TAKEN)
            if isinstance(samples, int):
                raise Ros2Error(f"DDS cannot read {self.entity.topic.name}: "
                                f"{DDSException(samples)}")
            for data, info in samples:
                if info.valid_data:
                    self._handle(data)
            if len(samples) < _TAKEN:
                return


class Service:
    """A service as the clients of rmw_cyclonedds_cpp call it.

    Requests and responses begin with 16 bytes that say whose they are. Those of rmw_fastrtps_cpp
    say it elsewhere, so that neither of the two can call the other's services.
    """

    def __init__(self, node: "Node", name: str, kind: str, answer: Callable[[Any], Any],
                 pool: Executor):
        """Of a Node, see Node.service()."""
        self._types, self._kind, self._answer, self._pool = node.types, kind, answer, pool
        self.writer = Writer(node, f"rr{name}Reply", f"{kind}_Response", SERVICE)
        self.reader = Reader(node, f"rq{name}Request", f"{kind}_Request", SERVICE, self._take)

    def _take(self, data):
        self._pool.submit(self._respond, data)

    def _respond(self, data):
        head, whose, body = data[:_HEAD], data[_HEAD:_BODY], data[_BODY:]
        try:
            request = self._types.read(head + body, f"{self._kind}_Request")
        except SerdeError:
            return
        response = self._types.serialised(self._answer(request))
        self.writer.write(response[:_HEAD] + whose + response[_HEAD:])


class Node:
    """A participant with one node of ROS 2, as `ros2 node list` and `ros2 topic list` see it.

    Attributes:
        participant: Cyclone's.
        types: Of its messages.
    """

    def __init__(self, types: Types, name: str, domain: int, address: str = LOCAL,
                 recorder: Recorder | None = None):
        """Joins a domain.

        Args:
            types: Of its messages.
            name: Of the node, such as /xtdrone.
            domain: ROS_DOMAIN_ID.
            address: IPv4 address of the interface; that of loopback reaches this machine alone.
            recorder: Records what is published.

        Raises:
            Ros2Error: DDS cannot start there.
        """
        self.types = types
        self._recorder = recorder
        self._space, _, self._name = name.rpartition("/")
        self._topics: dict[str, Topic] = {}
        self._writers: list[Writer] = []
        self._readers: list[Reader] = []
        self._services: list[Service] = []
        self._pool = ThreadPoolExecutor(_CALLS)
        self._kept: list[Writer | Reader] = []
        self._arrived: deque[Reader] = deque()
        self._wake_out, self._wake_in = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        rest = _ON_LOOPBACK if address == LOCAL else "</General>"
        try:
            self._domain = Domain(domain, _CONFIGURATION.format(address=address, rest=rest,
                                                                receive=_RECEIVE))
            self.participant = DomainParticipant(domain, qos=Qos(
                Policy.Userdata(b"enclave=/;")))
        except DDSException as error:
            raise Ros2Error(f"DDS cannot start on {address} in domain {domain}: give "
                            "ros2_address an IPv4 address of this machine, and ros2_domain a "
                            "number with free ports") from error
        self._graph: Writer | None = Writer(
            self, "ros_discovery_info", "rmw_dds_common/msg/ParticipantEntitiesInfo", LATCHED)

    def keep(self, entity: Writer | Reader) -> None:
        """Keeps what DDS's threads call, as long as they do: until close()."""
        self._kept.append(entity)

    def fileno(self) -> int:
        """Of what can be read when messages have come: for select()."""
        return self._wake_out

    def arrived(self, reader: Reader) -> None:
        """Called by DDS's threads."""
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
        """Cyclone's topic.

        Args:
            name: On the wire, for example rt/clock.
            kind: Its type.
        """
        known = self._topics.get(name)
        if known is None:
            known = self._topics[name] = Topic(
                self.participant, name, struct(self.types, kind),
                qos=Qos(Policy.DataRepresentation(use_cdrv0_representation=True)))
        return known

    def writer(self, name: str, kind: str, quality: Quality = DEFAULT) -> Writer:
        """A publisher.

        Args:
            name: The topic, beginning with /.
            kind: Its type, for example std_msgs/msg/String.
            quality: What subscribers may ask for at most.
        """
        record = None if self._recorder is None else self._recorder.tap(name, kind, quality)
        made = Writer(self, f"rt{name}", kind, quality, record)
        self._writers.append(made)
        return made

    def reader(self, name: str, kind: str, handle: Callable[[bytes], None],
               quality: Quality = DEFAULT) -> Reader:
        """A subscriber.

        Args:
            name: The topic, beginning with /.
            kind: Its type.
            handle: Called by handle() with each message.
            quality: What it asks of publishers at least.
        """
        made = Reader(self, f"rt{name}", kind, quality, handle)
        self._readers.append(made)
        return made

    def service(self, name: str, kind: str, answer: Callable[[Any], Any]) -> Service:
        """A service.

        Args:
            name: Beginning with /.
            kind: Its type, for example std_srvs/srv/Trigger.
            answer: Gives the response to a request, in a thread of its own.
        """
        made = Service(self, name, kind, answer, self._pool)
        self._services.append(made)
        self._writers.append(made.writer)
        self._readers.append(made.reader)
        return made

    def announce(self) -> None:
        """Tells ROS 2's graph which publishers and subscribers the node has."""
        own = self.types.message(
            "rmw_dds_common/msg/NodeEntitiesInfo", node_namespace=self._space or "/",
            node_name=self._name,
            reader_gid_seq=[self._gid(reader.entity) for reader in self._readers],
            writer_gid_seq=[self._gid(writer.entity) for writer in self._writers])
        self._graph.write(self.types.serialised(self.types.message(
            "rmw_dds_common/msg/ParticipantEntitiesInfo", gid=self._gid(self.participant),
            node_entities_info_seq=[own])))

    def _gid(self, entity):
        length = len(self.types.blank("rmw_dds_common/msg/Gid").data)
        return {"data": list(entity.get_guid().bytes.ljust(length, b"\0"))}

    def close(self) -> None:
        """Leaves the domain."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for entity in (self.participant, self._domain):  # with all that belongs to them
            entity._delete(entity._ref)
        os.close(self._wake_in)
        os.close(self._wake_out)
