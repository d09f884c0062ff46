"""Shared by the ROS nodes: publishers and subscribers of serialised messages, and start-up."""

import contextlib
import importlib
import signal
import socket
import sys
import threading
import time
import urllib.parse
import warnings

import rosgraph
import rospy

from xtdrone_control import ros_serialisation as serialisation
from xtdrone_control.errors import ControlNodeError
from xtdrone_core import ControlError, XtdroneError, parent
from xtdrone_core.control_link import ControlClient

_HELD = "/xtdrone/launch_held"  # parameter: a node still needs the launch
MASTER_S = 2.0  # between two checks of the ROS master [s, wall]


def ros_class(kind: str, folder: str = "msg"):
    """The class of a type like 'std_msgs/Float64'."""
    package, name = kind.split("/")
    return getattr(importlib.import_module(f"{package}.{folder}"), name)


def bytes_class(kind: str):
    """A message class whose content is given as bytes, with the name and md5 sum of the type."""
    base = ros_class(kind)
    if base not in _BYTES:
        _BYTES[base] = type(base.__name__, (base,), {
            "__slots__": ["data_bytes"], "_has_header": False,
            "__init__": lambda self, data=b"": setattr(self, "data_bytes", data),
            "serialize": lambda self, buffer: buffer.write(self.data_bytes)})
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
    """A publisher of serialised messages; wanted() returns whether there are subscribers."""

    def __init__(self, topic, kind, latched=False):
        self._class = bytes_class(kind)
        with warnings.catch_warnings():  # rospy wants a queue; ours is in serialisation.Connection
            warnings.simplefilter("ignore")
            self._publisher = rospy.Publisher(topic, self._class, latch=latched)
        impl = self._publisher.impl
        add = impl.add_connection
        impl.add_connection = lambda connection: add(serialisation.Connection(connection))
        self.wanted = impl.has_connections

    def publish(self, data: bytes) -> None:
        """Sends one message."""
        self._publisher.publish(self._class(data))


def require_master() -> None:
    """Checks that there is a ROS master; rospy would wait for one forever.

    Raises:
        ControlNodeError: There is none.
    """
    if not rosgraph.is_master_online():
        raise ControlNodeError(f"no ROS master at {rosgraph.get_master_uri()}: start one with "
                               "roscore or roslaunch")


def require_alone(name: str) -> None:
    """Checks that no node of this name is running: the master would stop it for a second one.

    Raises:
        ControlNodeError: There is one, for example of another launch on the same master.
    """
    name = rosgraph.names.load_mappings(sys.argv).get("__name", name)
    name = rosgraph.names.ns_join(rosgraph.names.get_ros_namespace(), name)
    try:
        uri = urllib.parse.urlparse(rosgraph.Master(name).lookupNode(name))
        socket.create_connection((uri.hostname, uri.port), timeout=1.0).close()
    except (rosgraph.MasterException, OSError):  # unknown, or dead without a word
        return
    raise ControlNodeError(f"a node {name} is running already: stop the other launch first")


def start(name: str, **options) -> None:
    """Calls rospy.init_node with these options and handles SIGINT and SIGTERM safely.

    rospy's own signal handlers call the master; if they interrupt another call to the master, the
    node deadlocks. Here a separate thread makes that call.
    """
    def end(number, _):
        threading.Thread(target=rospy.signal_shutdown, args=(f"signal {number}",)).start()

    require_alone(name)
    rospy.init_node(name, disable_signals=True, **options)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    parent.watch(lambda: rospy.signal_shutdown("roslaunch has gone"))


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
    """Connects to the control socket of the simulation, once it exists.

    Raises:
        ControlError: There was none within the time-out [s, wall].
    """
    patience = Patience(wait)
    while True:
        try:
            return ControlClient(instance, max(patience.left(), 1.0))  # it may be compiling
        except ControlError:
            if patience.left() <= 0:
                raise
        patience.wait(0.05)


def fleet(wait: float) -> list[str]:
    """The names of the vehicles, once the bridge has published them.

    Raises:
        ControlNodeError: It did not within the time-out [s, wall].
    """
    patience = Patience(wait)
    while True:
        patience.wait(0.05)
        with contextlib.suppress(OSError):  # the master has just gone
            names = rospy.get_param("/xtdrone/vehicles", None)
            if names:
                return names
        if patience.left() <= 0:
            raise ControlNodeError("/xtdrone/vehicles is not set: start the simulation and the "
                                   "bridge first, for example with roslaunch "
                                   "launch/formation.launch")


def main(name: str, run) -> int:
    """Calls run() and returns the exit status of the node; errors are printed as one line."""
    try:
        run()
    except KeyboardInterrupt:  # and rospy.ROSInterruptException, which is one
        return 130
    except (XtdroneError, rospy.ROSException) as error:
        if rospy.is_shutdown() and isinstance(error, rospy.ROSException):
            return 130  # a topic has closed while it was used
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    return 0
