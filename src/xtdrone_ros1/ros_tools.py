"""Shared by the ROS nodes: publishers and subscribers of serialised messages, and start-up."""

import contextlib
import functools
import importlib
import itertools
import os
import queue
import select
import signal
import socket
import sys
import threading
import time
import traceback
import urllib.parse
import warnings
import xmlrpc.client
from collections.abc import Callable
from typing import Any, ClassVar

import rosgraph
import rospy
from rosgraph.xmlrpc import ThreadingXMLRPCServer
from rospy.impl import tcpros_base
from rospy.impl.registration import Registration, RegistrationListener, get_registration_listeners

from mavros_msgs.srv import VehicleInfoGet
from xtdrone_core import ControlError, XtdroneError
from xtdrone_core.runs import parent, ports
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_mavros import ros_serialisation as serialisation
from xtdrone_mavros.vehicle_kind import Kind, kind_of
from xtdrone_ros1.connection import Connection
from xtdrone_ros1.errors import Ros1Error

_TOGETHER = 1000  # registrations in one request to the master
_HELD = "/xtdrone/launch_held"  # parameter: a node still needs the launch
OWN_SIMULATION = "XTDRONE_OWN_SIMULATION"  # of the environment: set by simulation.launch
BRIDGE = "/xtdrone_bridge"  # the node
_BACKLOG = 1024  # connections that may wait to be accepted, from every node of a large fleet
MASTER_S = 2.0  # between two checks of the ROS master [s, wall]


def ros_class(kind: str, folder: str = "msg"):
    """The class of a type like 'std_msgs/Float64'."""
    package, name = kind.split("/")
    return getattr(importlib.import_module(f"{package}.{folder}"), name)


def bytes_class(kind: str):
    """A message class whose content is given as bytes, with the name and md5 sum of the type."""
    base = ros_class(kind)
    if base not in _BYTES:
        _BYTES[base] = type(
            base.__name__,
            (base,),
            {
                "__slots__": ["data_bytes"],
                "_has_header": False,
                "__init__": lambda self, data=b"": setattr(self, "data_bytes", data),
                "serialize": lambda self, buffer: buffer.write(self.data_bytes),
            },
        )
    return _BYTES[base]


def lazy_class(kind: str):
    """A message class that is not deserialised, with the name and md5 sum of the type."""
    base = ros_class(kind)

    def keep(self, data):
        self.data_bytes = data
        return self

    return type(base.__name__, (base,), {"__slots__": ["data_bytes"], "deserialize": keep})


_BYTES = {}


class Output:
    """A publisher of serialised messages; wanted() returns whether there are subscribers.

    The headers of its messages are numbered from 0, as roscpp does.

    Attributes:
        recorder: A ros_bag.Recorder that records Outputs made from now on, or None.
    """

    recorder: ClassVar[Any] = None

    def __init__(self, topic, kind, latched=False):
        self._class = bytes_class(kind)
        self._number = itertools.count() if ros_class(kind)._has_header else None
        self._latched = latched
        self._lock = threading.Lock()
        with warnings.catch_warnings():  # rospy wants a queue; ours is in Connection
            warnings.simplefilter("ignore")
            self._publisher = rospy.Publisher(topic, self._class, latch=latched)
        self._impl = self._publisher.impl
        add = self._impl.add_connection

        def adopt(connection):
            connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return add(Connection(connection))

        self._impl.add_connection = adopt
        self._record = None if self.recorder is None else self.recorder.tap(topic, kind)
        self.wanted = self._impl.has_connections if self._record is None else lambda: True

    def publish(self, data: bytes) -> None:
        """Sends one message."""
        if self._number is not None:
            data = next(self._number).to_bytes(4, "little") + data[4:]
        if self._record is not None:
            self._record(data)
        if self._latched:
            self._publisher.publish(self._class(data))
        elif self._impl.connections:
            self._send(serialisation.prefixed(data))

    def _send(self, message):
        """What rospy's publish() does, without what only message objects need."""
        with self._lock:
            for connection in self._impl.connections:
                try:
                    connection.write_data(message)
                except (rospy.exceptions.TransportException, OSError):
                    connection.close()  # the subscriber has gone


class Input:
    """A subscriber to serialised messages, with those of all Inputs read by one thread.

    rospy reads each connection in a thread of its own; those of a fleet wake up for every single
    message, and wait for each other. A topic with an Input takes no rospy.Subscriber in the same
    process.
    """

    _handles: ClassVar[dict[str, list[Callable[[bytes], None]]]] = {}  # by topic

    def __init__(self, topic, kind, handle: Callable[[bytes], None]):
        """handle(bytes) is called for each message, and must not wait for anything.

        Args:
            topic: Its name.
            kind: Its type, for example std_msgs/String.
            handle: Called in the thread that all Inputs share.
        """
        name = rospy.resolve_name(topic)
        handles = self._handles.get(name)
        if handles is not None:  # rospy has one connection for each topic
            handles.append(handle)
            return
        handles = self._handles[name] = [handle]
        reader = _reader()
        subscriber = rospy.Subscriber(topic, lazy_class(kind), tcp_nodelay=True)
        impl = subscriber.impl
        add = impl.add_connection

        def adopt(connection):
            connection.receive_loop = lambda _: reader.adopt(connection, handles)
            return add(connection)

        impl.add_connection = adopt


class _Reader(threading.Thread):
    """Reads the connections of all Inputs."""

    def __init__(self):
        super().__init__(daemon=True, name="inputs")
        self._poll = select.epoll()
        self._open = {}  # by descriptor: connection, handles, bytes of an unfinished message
        self.start()

    def adopt(self, connection, handles):
        """Takes over a connection whose header has been exchanged."""
        number = connection.socket.fileno()
        self._open[number] = connection, handles, bytearray(connection.read_buff.getvalue())
        self._take(number, b"")
        self._poll.register(number, select.EPOLLIN)

    def run(self):
        while not rospy.is_shutdown():
            for number, _ in self._poll.poll(1.0):
                self._receive(number)

    def _receive(self, number):
        connection = self._open[number][0]
        try:
            data = connection.socket.recv(1 << 18, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except (AttributeError, OSError):  # rospy has closed it
            data = b""
        if data:
            self._take(number, data)
            return
        del self._open[number]
        with contextlib.suppress(OSError, ValueError):
            self._poll.unregister(number)
        connection.close()

    def _take(self, number, data):
        _, handles, buffer = self._open[number]
        buffer += data
        begin = 0
        while len(buffer) - begin >= 4:
            end = begin + 4 + int.from_bytes(buffer[begin : begin + 4], "little")
            if end > len(buffer):
                break
            message = bytes(buffer[begin + 4 : end])
            begin = end
            for handle in handles:
                try:
                    handle(message)
                except Exception:
                    rospy.logerr("an input fails: %s", traceback.format_exc())
        del buffer[:begin]


@functools.cache
def _reader() -> _Reader:
    return _Reader()


class _Collector(RegistrationListener):
    """Keeps what a node declares: names, types (or a service's address), and the sort."""

    def __init__(self):
        self.added = []

    def reg_added(self, resolved_name, data_type_or_uri, reg_type):
        """See RegistrationListener."""
        self.added.append((resolved_name, data_type_or_uri, reg_type))


@contextlib.contextmanager
def registered_together():
    """Registers what is declared meanwhile with few requests; rospy sends one each, of 3 ms."""
    listeners, collector = get_registration_listeners(), _Collector()
    with listeners.lock:
        before, listeners.listeners = listeners.listeners, [collector]
    try:
        yield
    finally:
        with listeners.lock:
            listeners.listeners = before
    master = xmlrpc.client.ServerProxy(rosgraph.get_master_uri())
    me, address = rospy.get_name(), rospy.core.get_node_uri()
    for k in range(0, len(collector.added), _TOGETHER):
        added, calls = collector.added[k : k + _TOGETHER], xmlrpc.client.MultiCall(master)
        for name, kind, sort in added:
            register = {
                Registration.PUB: calls.registerPublisher,
                Registration.SUB: calls.registerSubscriber,
                Registration.SRV: calls.registerService,
            }[sort]
            register(me, name, kind, address)
        for (name, _, sort), (_, _, publishers) in zip(added, calls()):
            if sort == Registration.SUB:
                for listener in before:
                    listener.publisher_update(name, publishers)


class Service(rospy.Service):
    """A service whose ServiceException goes to the caller with its own words only."""

    def _write_service_error(self, transport, err_msg):
        super()._write_service_error(
            transport, err_msg.removeprefix("service cannot process request: ")
        )


def require_master() -> None:
    """Checks that there is a ROS master; rospy would wait for one forever.

    Raises:
        Ros1Error: There is none.
    """
    if not rosgraph.is_master_online():
        raise Ros1Error(
            f"no ROS master at {rosgraph.get_master_uri()}: start one with roscore or roslaunch"
        )


def require_alone(name: str) -> None:
    """Checks that no node of this name is running: the master would stop it for a second one.

    Raises:
        Ros1Error: There is one, for example of another launch on the same master.
    """
    name = rosgraph.names.load_mappings(sys.argv).get("__name", name)
    name = rosgraph.names.ns_join(rosgraph.names.get_ros_namespace(), name)
    if running(name):
        raise Ros1Error(f"a node {name} is running already: stop the other launch first")


def running(name: str) -> bool:
    """Whether the node with this full name is running, as far as the ROS master knows it."""
    try:
        uri = urllib.parse.urlparse(rosgraph.Master(name).lookupNode(name))
        socket.create_connection((uri.hostname, uri.port), timeout=1.0).close()
    except (rosgraph.MasterException, OSError):  # unknown, or it has died without a word
        return False
    return True


def start(name: str, **options) -> None:
    """Calls rospy.init_node with these options and handles SIGINT and SIGTERM safely.

    rospy's own signal handlers call the master; if they interrupt another call to the master, the
    node deadlocks. Here a separate thread makes that call. A SimpleQueue can be used in a handler,
    also in one that interrupts another.

    rospy's servers let five connections wait. Of more, as when the nodes of a fleet begin to call
    each other, some come through at the second attempt, one second later, which is ten seconds of
    a fast flight.
    """
    came: queue.SimpleQueue[int] = queue.SimpleQueue()

    def end():
        rospy.signal_shutdown(f"signal {came.get()}")

    require_alone(name)
    ThreadingXMLRPCServer.request_queue_size = _BACKLOG
    rospy.init_node(name, disable_signals=True, **options)
    tcpros_base._tcpros_server.tcp_ros_server.server_sock.listen(_BACKLOG)
    threading.Thread(target=end, daemon=True, name="signals").start()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: came.put(number))


def hold_launch() -> None:
    """Keeps the launch running after the simulation has ended, until release_launch()."""
    rospy.set_param(_HELD, True)


def end_launch() -> None:
    """Ends the launch of this node cleanly, once no node holds it.

    Returns when roslaunch has stopped this node, or at once without roslaunch.
    """
    if not parent.launched():
        return
    patience = Patience(parent.LINGER_S)
    with contextlib.suppress(rospy.ROSInterruptException, OSError):
        while rospy.get_param(_HELD, False) and patience.left() > 0:
            patience.wait(0.1)
        parent.end_launch()
        while patience.left() > 0:
            patience.wait(0.1)


def release_launch() -> None:
    """Releases hold_launch() and ends the launch."""
    rospy.set_param(_HELD, False)
    end_launch()


class Patience:
    """A wait with a time-out that ends with ROS, since roslaunch may start a node while ending."""

    def __init__(self, seconds: float = float("inf")):
        """seconds: time-out [s, wall]."""
        self._end = time.monotonic() + seconds
        self._look = 0.0

    def left(self) -> float:
        """Remaining time [s]."""
        return self._end - time.monotonic()

    def wait(self, seconds: float) -> None:
        """Sleeps for a moment.

        Raises:
            ROSInterruptException: ROS is shutting down, or its master has gone.
        """
        time.sleep(seconds)
        now = time.monotonic()
        if now >= self._look:
            self._look = now + MASTER_S
            if not rosgraph.is_master_online():
                raise rospy.ROSInterruptException("the ROS master has ended")
        if rospy.is_shutdown():
            raise rospy.ROSInterruptException("ROS is shutting down")


def connect(instance: int, wait: float) -> ControlClient:
    """Connects to the control socket of the simulation and waits until it has started.

    Only the socket has a time-out: a simulation opens it before it compiles its kernels, which
    takes minutes on a slow machine, and answers after that.

    Raises:
        ControlError: There was no socket within the time-out [s, wall], the simulation ended, or
            it is not that of this launch.
    """
    patience = Patience(wait)
    while True:
        try:
            client = ControlClient(instance, wait)
            break
        except ControlError:
            if patience.left() <= 0:
                raise
        patience.wait(0.05)
    client.ask("status")
    while not client.ready(0.0):
        patience.wait(0.05)
    status = client.answer()
    if os.environ.get(OWN_SIMULATION) and status.get("launch") != parent.launch():
        client.close()
        raise ControlError(
            f"the simulation that answers was not started by this launch: {ports.advice()}"
        )
    return client


def fleet(wait: float) -> list[str]:
    """The names of the vehicles, once the bridge has published them.

    As long as a bridge is running, which then waits for the simulation, there is no time-out.

    Raises:
        Ros1Error: It did not within the time-out [s, wall].
    """
    patience = Patience(wait)
    while True:
        patience.wait(0.05)
        with contextlib.suppress(OSError):  # the master has just gone
            names = rospy.get_param("/xtdrone/vehicles", None)
            if names:
                return names
        if patience.left() <= 0 and not running(BRIDGE):
            raise Ros1Error(
                "/xtdrone/vehicles is not set: start the simulation and the "
                "bridge first, for example with roslaunch "
                "launch/formation.launch"
            )


def vehicle_kind(name: str) -> Kind | None:
    """The kind of a connected vehicle by its HEARTBEAT; None where MAVROS does not answer yet."""
    try:
        answer = rospy.ServiceProxy(f"/{name}/mavros/vehicle_info_get", VehicleInfoGet)()
    except rospy.ServiceException:
        return None
    return kind_of(answer.vehicles[0].type)


def main(name: str, run) -> int:
    """Calls run() and returns its status or 0; errors are printed as one line, with status 1."""
    parent.end_with_launch()
    try:
        return run() or 0
    except KeyboardInterrupt:  # and rospy.ROSInterruptException, which is one
        return 130
    except (XtdroneError, rospy.ROSException) as error:
        if rospy.is_shutdown() and isinstance(error, rospy.ROSException):
            return 130  # a topic has closed while it was used
        print(f"{name}: {error}", file=sys.stderr)
        return 1
