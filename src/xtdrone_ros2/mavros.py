"""MAVROS's topics and services for ROS 2: the rows of the ROS 1 bridge, by the same Bridge.

Only the bytes differ. Topics are those of /NAME/mavros/, as for ROS 1.
"""

import functools
import queue
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rosbags.serde import SerdeError

import xtdrone_mavros
from xtdrone_core.files import read_yaml
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_mavros.bridge import Bridge
from xtdrone_mavros.inputs import SUBSCRIPTIONS
from xtdrone_mavros.mavlink_link import FleetLink, Received
from xtdrone_mavros.rows import RosMessage, Service, ServiceFailed, Subscription
from xtdrone_mavros.services import SERVICES
from xtdrone_mavros.vehicle import Vehicle

from .wire.node import Node
from .wire.quality import INPUT
from .wire.ros1 import Output
from .wire.types import ros2_name

_PARAMETERS = Path(xtdrone_mavros.__file__).with_name("mavros_parameters.yaml")
_TICK_US = 20_000  # period at which the bridge checks its connections [us]


class Mavros:
    """The bridge of a fleet."""

    def __init__(
        self,
        node: Node,
        names: Sequence[str],
        namespaces: Sequence[str],
        link: FleetLink,
        log: Callable[[str, int, str], None],
    ):
        """Creates publishers, subscribers and services.

        Args:
            node: Node of the topics.
            names: Names of the vehicles.
            namespaces: What their names of ROS begin with: /NAME, or nothing.
            link: MAVLink link to the fleet, which others read.
            log: Called with vehicle, MAV_SEVERITY and text.
        """
        self._node, self._log, self._due_us = node, log, 0
        self._tops = {name: f"{top}/mavros" for name, top in zip(names, namespaces)}
        self._parameters: dict[str, dict[str, Any]] = {}
        self._later: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._bridge = Bridge(names, link, self)
        given = read_yaml(_PARAMETERS, "parameters")
        for vehicle in self._bridge.vehicles:
            vehicle.use_parameters(given)
            for row in SUBSCRIPTIONS:
                if row.where(given):
                    node.reader(
                        f"{self._tops[vehicle.name]}/{row.name}",
                        ros2_name(row.type),
                        functools.partial(self._take, vehicle, row),
                        INPUT,
                    )
            for service in SERVICES:
                kind = ros2_name(service.type, "srv")
                node.service(
                    f"{self._tops[vehicle.name]}/{service.name}",
                    kind,
                    functools.partial(self._answer, vehicle, service, kind),
                )
        self._bridge.greet()
        threading.Thread(target=self._work, daemon=True).start()

    def take(self, received: Sequence[Received]) -> None:
        """Publishes what has come by MAVLink."""
        self._bridge.take(received)

    def tick(self, t_us: int) -> None:
        """Advances simulated time to t_us."""
        if t_us >= self._due_us or t_us < self._due_us - 2 * _TICK_US:
            self._due_us = t_us + _TICK_US
            self._bridge.tick(t_us)

    def _take(self, vehicle: Vehicle, row: Subscription[Vehicle], data: bytes) -> None:
        kind = ros2_name(row.type)
        types = self._node.types
        try:
            message = types.to_ros1(data, kind) if row.raw else types.read(data, kind)
        except SerdeError as error:
            self._log(vehicle.name, mavlink.MAV_SEVERITY_WARNING, f"{row.name}: {error}")
            return
        vehicle.take_input(row, message)

    def _answer(
        self, vehicle: Vehicle, service: Service[Vehicle], kind: str, request: RosMessage
    ) -> RosMessage:
        """Returns the response; an empty one if the service of ROS 1 ends with an error."""
        types, kind = self._node.types, f"{kind}_Response"
        try:
            values = vehicle.answer(service, request)
        except ServiceFailed as error:
            self._log(vehicle.name, mavlink.MAV_SEVERITY_ERROR, str(error))
            return types.blank(kind)
        names = [name for name, _ in types.store.fielddefs[kind][1]]
        return types.message(kind, **dict(zip(names, values)))

    def _work(self) -> None:
        while True:
            self._later.get()()

    # Host of the Bridge -----------------------------------------------------------

    def output(self, name: str, topic: str, kind: str, latched: bool) -> Output:
        """Returns a publisher; its topic is global if it begins with /."""
        whole = topic if topic.startswith("/") else f"{self._tops[name]}/{topic}"
        return Output(self._node, whole, kind, latched)

    def log(self, name: str, severity: int, text: str) -> None:
        """Logs warnings and worse; the simulation itself logs the others."""
        if severity <= mavlink.MAV_SEVERITY_WARNING:
            self._log(name, severity, text)

    def store_params(self, name: str, values: dict[str, int | float]) -> None:
        """Stores a vehicle's parameters."""
        self._parameters[name] = values

    def load_params(self, name: str) -> dict[str, int | float]:
        """Returns a vehicle's stored parameters."""
        return self._parameters.get(name, {})

    def set_parameter(self, name: str, key: str, value: str) -> None:
        """Stores one of MAVROS's own parameters."""
        self._parameters.setdefault(name, {})[key] = value

    def later(self, function: Callable[[], object]) -> None:
        """Calls a function that takes its time, after those before it."""
        self._later.put(function)
