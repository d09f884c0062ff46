"""A small ground station: speaks MAVLink to a running simulation, for the command line."""

import contextlib
from collections.abc import Iterator
from typing import Any

from pymavlink import mavutil

from xtdrone_core.mavlink_client import MavlinkClient, Receive
from xtdrone_core.ports import Ports

from ..errors import AutopilotError
from ..navigation.mission_items import Item, fields_of, of_message
from .dialect import mavlink

SOURCE = 254  # our system id; ground stations usually have 255


class UdpTransport:
    """A vehicle's ground-station link, seen from the other end."""

    system = SOURCE

    def __init__(self, vehicle: int, port: int):
        """vehicle: its system id. port: where it listens."""
        self._vehicle = vehicle
        self._link = mavutil.mavlink_connection(f"udpout:127.0.0.1:{port}", source_system=SOURCE,
                                                dialect="common")

    def send(self, message: Any) -> None:
        """See Transport."""
        self._link.mav.send(message)

    @contextlib.contextmanager
    def listen(self, *kinds: str) -> Iterator[Receive]:
        """See Transport; what came in before and was not read yet is among it."""

        def receive(seconds):
            message = self._link.recv_match(type=list(kinds), blocking=True, timeout=seconds)
            if message is None or message.get_srcSystem() != self._vehicle:
                return None
            return message

        yield receive

    def close(self) -> None:
        """Closes the socket."""
        self._link.close()


class Client(MavlinkClient):
    """One vehicle of a running simulation, for the command line."""

    def __init__(self, vehicle: int, ports: Ports | None = None):
        """Connects to a vehicle.

        Args:
            vehicle: Its system id, from 1.
            ports: Of the simulation; None = those of the environment's instance.

        Raises:
            AutopilotError: It does not answer.
        """
        self._udp = UdpTransport(vehicle, (ports or Ports()).ground_station_local(vehicle - 1))
        super().__init__(vehicle, self._udp)
        if not self.is_there():
            self.close()
            raise AutopilotError(f"vehicle {vehicle} does not answer: start a simulation with "
                                 "'xtdrone sim', and count vehicles from 1")

    def close(self) -> None:
        """Closes the socket."""
        self._udp.close()

    def upload_items(self, kind: int, items: list[Item]) -> None:
        """Replaces the items of a kind (MISSION, FENCE or RALLY). Raises as upload()."""
        self.upload([fields_of(item) for item in items], kind)

    def download_items(self, kind: int) -> list[Item]:
        """The items of a kind that the vehicle holds. Raises as download()."""
        return [of_message(message) for message in self.download(kind)]

    def change_parameter(self, name: str, value: float, integer: bool) -> float:
        """Sets a parameter and returns the value that is now in force.

        Raises:
            NoAnswer: The vehicle does not answer.
            AutopilotError: It refuses the value.
        """
        kind = mavlink.MAV_PARAM_TYPE_INT32 if integer else mavlink.MAV_PARAM_TYPE_REAL32
        got, said = self.set_parameter(name, value, kind)
        if abs(got - value) > 1e-6 * max(abs(value), 1.0):
            raise AutopilotError(said or f"{name} stays {got:g}")
        return got
