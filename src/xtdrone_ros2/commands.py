"""Commands and other inputs from ROS 2, which go to the vehicles by MAVLink."""

import functools
import queue
import select
import sys
import time
from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np
from rosbags.serde import SerdeError

from xtdrone_core.errors import failure
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs.ports import Ports
from xtdrone_mavros.mavlink_link import FleetLink
from xtdrone_mavros.rows import RosMessage, Subscription

from .description import RotorRange
from .mavros import Mavros
from .parameters import PARAM_VALUE, Parameters
from .topics import pegasus, px4_in, px4_out
from .topics.pegasus_in import RotorSpeeds
from .topics.row import numbered
from .wire.node import Node
from .wire.quality import DEFAULT, INPUT
from .wire.types import ros2_name
from .xtdrone import Xtdrone

_ACK = mavlink.MAVLINK_MSG_ID_COMMAND_ACK
_RELIABLE_TYPE = "std_msgs/String"  # type of topics whose messages must not be lost
_ANSWER_S = 5.0  # time-out of a vehicle's answer to a service's command [s]
_REPEAT_S = 5.0  # time between two equal lines of the log [s]


class Named(Protocol):
    """A vehicle."""

    name: str


V = TypeVar("V", bound=Named)


class Commands:
    """The subscribers of a fleet, and the link by which they command it.

    Attributes:
        parameters: Parameters of the vehicles.
    """

    def __init__(
        self,
        node: Node,
        names: Sequence[str],
        namespaces: Sequence[str],
        vehicle_types: Sequence[int],
        instance: int,
        px4: bool,
        mavros: bool,
        rotors: Sequence[Sequence[RotorRange]],
    ):
        """Subscribes.

        Args:
            node: Node of the subscribers.
            names: Names of the vehicles.
            namespaces: What their names of ROS begin with: /NAME, or nothing.
            vehicle_types: PX4's vehicle_type of each, 0 for a VTOL.
            instance: Instance of the simulation.
            px4: Whether the flight stack is the real PX4, with an off-board link only.
            mavros: Whether there are MAVROS's topics, too.
            rotors: Rotors of each vehicle.

        Raises:
            MavrosError: The off-board link's ports are taken.
        """
        self._node = node
        self._link = FleetLink(len(names), "offboard" if px4 else "ros2", Ports(instance))
        self._logged_s: dict[tuple[str, str], float] = {}
        self._poll = select.epoll()
        for number in self._link.filenos():
            self._poll.register(number, select.EPOLLIN)
        self._vehicles, self._acks, self._rotor_speeds = [], [], []
        for i, name in enumerate(names):
            vehicle = px4_in.Px4Vehicle(i, name, self._link, self)
            self._vehicles.append(vehicle)
            begin = px4_out.namespace(i)
            self._acks.append(
                node.writer(begin + px4_in.ACK, "px4_msgs/msg/VehicleCommandAck", DEFAULT)
            )
            for row in px4_in.SUBSCRIPTIONS:
                self._subscribe(f"{begin}{px4_in.PREFIX}{row.name}", vehicle, row)
            node.service(
                f"{begin}{px4_in.SERVICE}",
                "px4_msgs/srv/VehicleCommand",
                functools.partial(self._command, vehicle),
            )

            rotor_speeds = RotorSpeeds(i, name, self._link, self, rotors[i])
            self._rotor_speeds.append(rotor_speeds)
            for rotor in rotor_speeds.subscriptions:
                topic = f"{numbered(pegasus.NAMESPACE, i)}/{rotor.name}"
                self._subscribe(topic, rotor_speeds, rotor)

        self._xtdrone = Xtdrone(node, names, self._link, vehicle_types, self._subscribe)
        self._mavros = Mavros(node, names, namespaces, self._link, self.log) if mavros else None
        self.parameters = Parameters(node, names, self._link)

    def _subscribe(self, topic: str, vehicle: V, row: Subscription[V]) -> None:
        quality = DEFAULT if row.type == _RELIABLE_TYPE else INPUT
        self._node.reader(
            topic, ros2_name(row.type), functools.partial(self._take, vehicle, row), quality
        )

    def step(self, t_us: int, vehicles: np.ndarray) -> None:
        """Advances simulated time to t_us; vehicles: (N,) of feed.VEHICLE."""
        for vehicle in self._vehicles:
            vehicle.now_us = t_us
        for rotor_speeds in self._rotor_speeds:
            rotor_speeds.step(t_us)
        self._xtdrone.step(t_us, vehicles)
        self.parameters.step(t_us)
        if self._mavros is not None:
            self._mavros.tick(t_us)

    def fileno(self) -> int:
        """Returns the descriptor that is readable once a vehicle has sent data, for select()."""
        return self._poll.fileno()

    def _take(self, vehicle: V, row: Subscription[V], data: bytes) -> None:
        try:
            row.handle(vehicle, self._node.types.read(data, ros2_name(row.type)))
        except SerdeError as error:
            self.log(vehicle.name, mavlink.MAV_SEVERITY_WARNING, f"{row.name}: {error}")
        except Exception as error:  # concerns one message: the others go on
            self.log(vehicle.name, mavlink.MAV_SEVERITY_WARNING, failure(row.name, error))

    def _command(self, vehicle: px4_in.Px4Vehicle, request: RosMessage) -> RosMessage:
        """Sends the command of a service's request, and waits for its answer."""
        command = request.request
        answer = {"command": command.command, "result": mavlink.MAV_RESULT_FAILED}
        with self._link.inbox(vehicle.index, _ACK) as box:
            px4_in.vehicle_command(vehicle, command)
            end = time.monotonic() + _ANSWER_S
            while (left := end - time.monotonic()) > 0.0:
                try:
                    ack = box.get(timeout=left)
                except queue.Empty:
                    break
                if ack.command == command.command and ack.result != mavlink.MAV_RESULT_IN_PROGRESS:
                    answer = px4_in.command_ack(vehicle, ack)
                    break
        return self._node.types.message("px4_msgs/srv/VehicleCommand_Response", reply=answer)

    def handle(self) -> None:
        """Publishes the answers to commands that have come, and MAVROS's topics."""
        received = list(self._link.receive(self._link.datagrams()))
        self._xtdrone.take(received)
        if self._mavros is not None:
            self._mavros.take(received)
        for i, message_id, payload, frame in received:
            if message_id == PARAM_VALUE:
                self.parameters.take(i, payload, functools.partial(self._link.decode, frame))
            elif message_id == _ACK and self._acks[i].wanted:
                fields = px4_in.command_ack(self._vehicles[i], self._link.decode(frame))
                self._acks[i].write(
                    self._node.types.serialised(
                        self._node.types.message("px4_msgs/msg/VehicleCommandAck", **fields)
                    )
                )

    def log(self, name: str, severity: int, text: str) -> None:
        """Logs a line about a vehicle, the same one at most once in _REPEAT_S."""
        now = time.monotonic()
        if now - self._logged_s.get((name, text), -_REPEAT_S) >= _REPEAT_S:
            self._logged_s[name, text] = now
            print(f"{name}: {text}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Closes the link."""
        self._link.close()
