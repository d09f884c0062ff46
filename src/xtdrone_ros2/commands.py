"""What comes in by ROS 2 and goes to the vehicles by MAVLink."""

import functools
import queue
import select
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from rosbags.serde import SerdeError

from xtdrone_core.errors import failure
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs.ports import Ports
from xtdrone_mavros.mavlink_link import FleetLink
from xtdrone_mavros.rows import Subscription

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
_ORDER = "std_msgs/String"  # of topics whose messages must not be lost
_ANSWER_S = 5.0  # that a vehicle has to answer a command of a service [s]
_SAID_S = 5.0  # between two equal lines of the log [s]


class Commands:
    """The subscribers of a fleet, and the link by which they command it.

    Attributes:
        parameters: Of the vehicles.
    """

    def __init__(
        self,
        node: Node,
        names: Sequence[str],
        vehicle_types: Sequence[int],
        instance: int,
        px4: bool,
        mavros: bool,
        rotors: Sequence[Sequence[Sequence[float]]],
    ):
        """Subscribes.

        Args:
            node: Theirs.
            names: Of the vehicles.
            vehicle_types: PX4's, 0 for a VTOL.
            instance: Of the simulation.
            px4: Whether the flight stack is the real PX4, with an off-board link only.
            mavros: Whether there are MAVROS's topics, too.
            rotors: Of each vehicle, as RotorSpeeds takes them.

        Raises:
            MavrosError: The off-board link's ports are taken.
        """
        self._node = node
        self._link = FleetLink(len(names), "offboard" if px4 else "ros2", Ports(instance))
        self._said: dict[tuple[str, str], float] = {}
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
            for row in rotor_speeds.subscriptions:
                self._subscribe(f"{numbered(pegasus.NAMESPACE, i)}/{row.name}", rotor_speeds, row)

        self._xtdrone = Xtdrone(node, names, self._link, vehicle_types, self._subscribe)
        self._mavros = Mavros(node, names, self._link, self.log) if mavros else None
        self.parameters = Parameters(node, names, self._link)

    def _subscribe(self, topic: str, vehicle: Any, row: Subscription) -> None:
        quality = DEFAULT if row.type == _ORDER else INPUT
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
        """Of what can be read when a vehicle has sent something: for select()."""
        return self._poll.fileno()

    def _take(self, vehicle: Any, row: Subscription, data: bytes) -> None:
        try:
            row.handle(vehicle, self._node.types.read(data, ros2_name(row.type)))
        except SerdeError as error:
            self.log(vehicle.name, mavlink.MAV_SEVERITY_WARNING, f"{row.name}: {error}")
        except Exception as error:  # of one message: the others go on
            self.log(vehicle.name, mavlink.MAV_SEVERITY_WARNING, failure(row.name, error))

    def _command(self, vehicle: px4_in.Px4Vehicle, request: Any) -> Any:
        """Sends the command of a service's request, and waits for its answer."""
        asked = request.request
        answered = {"command": asked.command, "result": mavlink.MAV_RESULT_FAILED}
        with self._link.inbox(vehicle.index, _ACK) as box:
            px4_in.vehicle_command(vehicle, asked)
            end = time.monotonic() + _ANSWER_S
            while (left := end - time.monotonic()) > 0.0:
                try:
                    ack = box.get(timeout=left)
                except queue.Empty:
                    break
                if ack.command == asked.command and ack.result != mavlink.MAV_RESULT_IN_PROGRESS:
                    answered = px4_in.command_ack(vehicle, ack)
                    break
        return self._node.types.message("px4_msgs/srv/VehicleCommand_Response", reply=answered)

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
        """A line for the user's log, not more often than each _SAID_S.

        Args:
            name: Of the vehicle.
            severity: MAV_SEVERITY.
            text: What there is to say.
        """
        now = time.monotonic()
        if now - self._said.get((name, text), -_SAID_S) >= _SAID_S:
            self._said[name, text] = now
            print(f"{name}: {text}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Closes the link."""
        self._link.close()
