"""Start and end of a node: the ROS master, signals, time-outs, the launch."""

import contextlib
import queue
import signal
import socket
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable

import rosgraph
import rospy
from rosgraph.xmlrpc import ThreadingXMLRPCServer
from rospy.impl import tcpros_base

from xtdrone_core import XtdroneError
from xtdrone_core.runs import parent

from .errors import Ros1Error

_HELD = "/xtdrone/launch_held"  # parameter: a node still needs the launch
_BACKLOG = 1024  # connections that may wait to be accepted, from every node of a large fleet
MASTER_S = 2.0  # time between two checks of the ROS master [s, wall]


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
    """Returns whether the node with this full name is running, as far as the master knows."""
    try:
        uri = urllib.parse.urlparse(rosgraph.Master(name).lookupNode(name))
        socket.create_connection((uri.hostname, uri.port), timeout=1.0).close()
    except (rosgraph.MasterException, OSError):  # unknown, or it has died without a word
        return False
    return True


def start(name: str, disable_rostime: bool = False) -> None:
    """Calls rospy.init_node and handles SIGINT and SIGTERM safely.

    rospy's own signal handlers call the master; if they interrupt another call to the master, the
    node deadlocks. Here a separate thread makes that call. A SimpleQueue can be used in a handler,
    also in one that interrupts another.

    rospy's servers let five connections wait. Of more, as when the nodes of a fleet begin to call
    each other, some come through at the second attempt, one second later, which is ten seconds of
    a fast flight.
    """
    came: queue.SimpleQueue[int] = queue.SimpleQueue()

    def end() -> None:
        rospy.signal_shutdown(f"signal {came.get()}")

    require_alone(name)
    ThreadingXMLRPCServer.request_queue_size = _BACKLOG
    rospy.init_node(name, disable_signals=True, disable_rostime=disable_rostime)
    # rospy offers no other access to its server.
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
    """A wait with a time-out that ends with ROS, since roslaunch may start a node while it ends."""

    def __init__(self, seconds: float = float("inf")):
        """Begins to wait, with a time-out [s, wall]."""
        self._end = time.monotonic() + seconds
        self._look = 0.0

    def left(self) -> float:
        """Returns the remaining time [s]."""
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


def main(name: str, run: Callable[[], int | None]) -> int:
    """Calls run() and returns its status or 0; errors are printed as one line, with status 1."""
    parent.end_with_launch()
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # the imports are over
        return run() or 0
    except KeyboardInterrupt:  # and rospy.ROSInterruptException, which is one
        return 130
    except (XtdroneError, rospy.ROSException) as error:
        if rospy.is_shutdown() and isinstance(error, rospy.ROSException):
            return 130  # a topic has closed while it was used
        print(f"{name}: {error}", file=sys.stderr)
        return 1
