"""A small MAVLink ground station for the command line; connects to a running simulation."""

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from pymavlink import mavutil

from xtdrone_core import ControlError
from xtdrone_core.mavlink.client import MavlinkClient, Receive, ground_station_heartbeat
from xtdrone_core.mavlink.dialect import MavlinkMessage, mavlink
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_core.runs.ports import Ports

from ..errors import AutopilotError
from ..navigation.mission_items import Item, fields_of, of_message

SOURCE = 254  # system id of this client; ground stations usually have 255


class UdpTransport:
    """The ground station's end of a vehicle's UDP link.

    Attributes:
        alone: No other program has the ground station's port.
    """

    system = SOURCE

    def __init__(self, vehicle: int, ports: Ports, key: bytes | None = None) -> None:
        """Opens a socket.

        Args:
            vehicle: System id of the vehicle.
            ports: Ports of the simulation.
            key: 32 bytes that sign what is sent, and that the answers must be signed with.
        """
        self._vehicle = vehicle
        os.environ["MAVLINK20"] = "1"  # as pymavlink does itself, once it hears a vehicle
        port = ports.ground_station_local(vehicle - 1)
        self._link = mavutil.mavlink_connection(
            f"udpout:127.0.0.1:{port}", source_system=SOURCE, dialect="common"
        )
        self.alone = ports.join_ground_station(self._link.port)
        self._link.port.connect(("127.0.0.1", port))  # the kernel drops what other vehicles send
        if key:  # programs side by side have link ids of their own
            self._link.setup_signing(key, link_id=1 + os.getpid() % 255)

    def send(self, message: MavlinkMessage) -> None:
        """See Transport."""
        self._link.mav.send(message)

    @contextlib.contextmanager
    def listen(self, *kinds: str) -> Iterator[Receive]:
        """See Transport; includes messages that were received earlier and not read yet."""

        def receive(seconds: float) -> MavlinkMessage | None:
            message = self._link.recv_match(type=list(kinds), blocking=True, timeout=seconds)
            if message is None or message.get_srcSystem() != self._vehicle:
                return None
            return message

        yield receive

    def close(self) -> None:
        """Closes the socket."""
        self._link.close()


class Client(MavlinkClient):
    """MAVLink client of one vehicle of a running simulation, for the command line."""

    def __init__(self, vehicle: int, ports: Ports | None = None, key: bytes | None = None) -> None:
        """Connects to a vehicle.

        Args:
            vehicle: System id of the vehicle, from 1.
            ports: Ports of the simulation; None = those of the environment's instance.
            key: 32 bytes, where the simulation's links are guarded by a key.

        Raises:
            AutopilotError: The vehicle does not answer.
        """
        ports = ports or Ports()
        self._udp = UdpTransport(vehicle, ports, key)
        super().__init__(vehicle, self._udp)
        if not self.is_there():
            self.close()
            raise AutopilotError(
                f"vehicle {vehicle} does not answer: " + _advice(ports, self._udp.alone)
            )

    def close(self) -> None:
        """Closes the socket."""
        self._udp.close()

    def _exchange(self, *kinds: str) -> Any:  # a class private to the module of MavlinkClient
        # A vehicle keeps what it has to say while no ground station is there.
        self.send(ground_station_heartbeat())
        return super()._exchange(*kinds)

    def upload_items(self, kind: int, items: list[Item]) -> None:
        """Replaces all items of a kind (MISSION, FENCE or RALLY). Raises as upload() does."""
        self.upload([fields_of(item) for item in items], kind)

    def download_items(self, kind: int) -> list[Item]:
        """The vehicle's items of a kind (MISSION, FENCE or RALLY). Raises as download() does."""
        return [of_message(message) for message in self.download(kind)]

    def change_parameter(self, name: str, value: float, integer: bool) -> float:
        """Sets a parameter and returns the value that the vehicle now uses.

        Raises:
            NoAnswer: The vehicle does not answer.
            AutopilotError: The vehicle rejects the value.
        """
        kind = mavlink.MAV_PARAM_TYPE_INT32 if integer else mavlink.MAV_PARAM_TYPE_REAL32
        got, said = self.set_parameter(name, value, kind)
        if not abs(got - value) <= 1e-6 * max(abs(value), 1.0):  # also where it is NaN
            raise AutopilotError(said or f"{name} stays {got:g}")
        return got


def _advice(ports: Ports, alone: bool) -> str:
    """Returns what to do about a vehicle that does not answer."""
    paused = count = None
    with (
        contextlib.suppress(ControlError),
        contextlib.closing(ControlClient(ports.instance, timeout=1.0)) as control,
    ):
        status = control.request("status")
        paused, count = status["paused"], status["n"]
    if paused:
        return "the simulation is paused; resume it with 'xtdrone control resume'"
    return (
        "no simulation runs; start one with 'xtdrone sim'"
        if count is None
        else f"the simulation has {count}, counted from 1; give --key where its links have one"
    ) + (
        ""
        if alone
        else f"; real PX4 answers only the program that has UDP port "
        f"{ports.ground_station}: end that one first"
    )
