"""A node of ROS 2 as the formation's nodes need it; see xtdrone_formation.topics.ros.Ros."""

import functools
import select
import sys
import threading
import time
from collections.abc import Callable, Sequence

from xtdrone_core.errors import failure
from xtdrone_mavros.vehicle_kind import OF_VEHICLE_TYPE, Kind

from ..errors import Ros2Error
from ..topics.px4_out import namespace
from ..wire import ros1
from ..wire.node import Node, Reader
from ..wire.quality import DEFAULT, SENSOR
from ..wire.types import Message, Types

_STATUS = "px4_msgs/msg/VehicleStatus"
_POLL_S = 0.05
_TURN_MS = 200  # time after which new topics are announced [ms]


class Ros2:
    """The node, whose messages are handled in a thread of its own."""

    def __init__(
        self,
        name: str,
        names: Sequence[str],
        domain: int,
        address: str,
        namespaces: Sequence[str] = (),
    ):
        """Joins a domain.

        Args:
            name: Node's name, beginning with /.
            names: Names of the vehicles, in the order of the fleet.
            domain: ROS_DOMAIN_ID.
            address: IPv4 address of the interface.
            namespaces: What the vehicles' topics begin with; without, /NAME.

        Raises:
            Ros2Error: DDS cannot start there.
        """
        self._names, self._domain = list(names), domain
        self._namespaces = dict(zip(names, namespaces or [f"/{each}" for each in names]))
        self._node = Node(Types(), name, domain, address)
        self._kinds: dict[str, Kind] = {}
        self._alive: Reader | None = None  # subscribes to a topic of the simulation
        self._announced, self._closed = False, False
        self._thread = threading.Thread(target=self._handle, daemon=True)
        self._thread.start()

    def fleet(self, wait: float) -> list[str]:
        """Returns the vehicles' names, once they are there; see Ros."""
        for i, name in enumerate(self._names):
            self._node.reader(
                f"{namespace(i)}/fmu/out/vehicle_status",
                _STATUS,
                functools.partial(self._on_status, name),
                SENSOR,
            )
        topic = f"{self.mavros(self._names[0])}/state"
        self._alive = self._node.reader(topic, "mavros_msgs/msg/State", lambda data: None, DEFAULT)
        end = time.monotonic() + wait
        while self.ended():
            if time.monotonic() > end:
                raise Ros2Error(
                    f"nobody publishes {topic} in domain {self._domain}: start the "
                    "simulation with --ros2 true --ros2_mavros true, in that domain"
                )
            time.sleep(_POLL_S)
        return self._names

    def mavros(self, name: str) -> str:
        """Returns what MAVROS's names of a vehicle begin with; see Ros."""
        return f"{self._namespaces[name]}/mavros"

    def kind(self, name: str) -> Kind | None:
        """Returns the kind of a vehicle; see Ros."""
        return self._kinds.get(name)

    def listen(self, topic: str, kind: str, handle: Callable[[bytes], object]) -> None:
        """Subscribes; see Ros."""
        ros1.listen(self._node, topic, kind, handle)
        self._announced = False

    def output(self, topic: str, kind: str, latched: bool = False) -> ros1.Output:
        """Advertises a topic; see Ros."""
        made = ros1.Output(self._node, topic, kind, latched)
        self._announced = False
        return made

    def ended(self) -> bool:
        """Returns whether there is no simulation, or the node has failed."""
        alive = self._alive
        return (
            self._closed
            or alive is None
            or alive.entity.get_subscription_matched_status().current_count == 0
        )

    @staticmethod
    def info(text: str) -> None:
        """Prints a line."""
        print(text, flush=True)

    @staticmethod
    def error(text: str) -> None:
        """Prints a line."""
        print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leaves the domain. May be called once."""
        self._closed = True
        self._thread.join()
        self._node.close()

    def _on_status(self, name: str, data: bytes) -> None:
        self._kinds[name] = kind_of_status(self._node.types.read(data, _STATUS))

    def _handle(self) -> None:
        poll = select.poll()
        poll.register(self._node, select.POLLIN)
        while not self._closed:
            poll.poll(_TURN_MS)
            try:
                self._node.handle()
                if not self._announced:
                    self._announced = True
                    self._node.announce()
            except Exception as error:
                self.error(failure("a message", error))


def kind_of_status(message: Message) -> Kind:
    """Returns the kind of a vehicle for its px4_msgs/VehicleStatus."""
    return (
        Kind.VTOL if message.is_vtol else OF_VEHICLE_TYPE.get(message.vehicle_type, Kind.MULTIROTOR)
    )
