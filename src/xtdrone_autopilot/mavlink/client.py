"""A small ground station: speaks MAVLink to a running simulation, for the command line."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from pymavlink import mavutil

from xtdrone_core.ports import Ports

from ..errors import AutopilotError
from ..navigation.mission_items import of_message
from .dialect import mavlink

SOURCE = 254  # our system id; ground stations usually have 255
RETRY_S, TRIES = 1.0, 5


class Client:
    """One vehicle's ground-station link, seen from the other end."""

    def __init__(self, vehicle: int, ports: Ports | None = None):
        """Connects to a vehicle.

        Args:
            vehicle: Its system id, from 1.
            ports: Of the simulation; None = those of the environment's instance.

        Raises:
            AutopilotError: It does not answer.
        """
        self.vehicle = vehicle
        self._link = mavutil.mavlink_connection(
            f"udpout:127.0.0.1:{(ports or Ports()).ground_station_local(vehicle - 1)}",
            source_system=SOURCE, dialect="common")
        self._target = vehicle, 1
        self.texts = []  # STATUSTEXTs that came in
        for _ in range(TRIES):
            self.heartbeat()
            if self.wait("HEARTBEAT", RETRY_S):
                return
        self.close()
        raise AutopilotError(f"vehicle {vehicle} does not answer: start a simulation with 'xtdrone "
                             "sim', and count vehicles from 1")

    def close(self) -> None:
        """Closes the socket."""
        self._link.close()

    def heartbeat(self) -> None:
        """Tells the vehicle that a ground station is here."""
        self._link.mav.heartbeat_send(mavlink.MAV_TYPE_GCS, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 4)

    def wait(self, kinds: Any, seconds: float,
             condition: Callable[[Any], bool] = lambda message: True) -> Any:
        """The next message of one of these kinds that meets a condition; None after the time."""
        kinds = [kinds] if isinstance(kinds, str) else list(kinds)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            message = self._link.recv_match(type=[*kinds, "STATUSTEXT"], blocking=True,
                                            timeout=min(left, 1.0))
            if message is None or message.get_srcSystem() != self.vehicle:
                continue
            if message.get_type() == "STATUSTEXT":
                self._keep(message)
            if message.get_type() in kinds and condition(message):
                return message
        return None

    def _keep(self, message):
        if message.chunk_seq and self.texts:
            self.texts[-1] += message.text
        else:
            self.texts.append(message.text)

    def command(self, number: int, *params: float) -> tuple[int, str]:
        """Sends COMMAND_LONG; returns the MAV_RESULT and what the vehicle said with it.

        Raises:
            AutopilotError: No acknowledgement comes.
        """
        params = (list(params) + [0.0] * 7)[:7]
        self.texts.clear()
        for attempt in range(TRIES):
            self._link.mav.command_long_send(*self._target, number, attempt, *params)
            ack = self.wait("COMMAND_ACK", RETRY_S, lambda m: m.command == number)
            if ack is not None:
                return ack.result, "; ".join(self.texts)
        raise AutopilotError(f"vehicle {self.vehicle} does not acknowledge command {number}")

    def upload(self, kind: int, items: list) -> None:
        """Replaces the items of a kind (MISSION, FENCE or RALLY of mission_items).

        Raises:
            AutopilotError: The vehicle refuses them, or falls silent.
        """
        self.texts.clear()
        if not items:
            self._link.mav.mission_clear_all_send(*self._target, kind)
        else:
            self._link.mav.mission_count_send(*self._target, len(items), kind)
        for _ in range(TRIES * (len(items) + 1)):
            message = self.wait(["MISSION_REQUEST_INT", "MISSION_REQUEST", "MISSION_ACK"],
                                RETRY_S * TRIES, lambda m: m.mission_type == kind)
            if message is None:
                break
            if message.get_type() == "MISSION_ACK":
                if message.type != mavlink.MAV_MISSION_ACCEPTED:
                    reason = "; ".join(self.texts) or mavlink.enums["MAV_MISSION_RESULT"][
                        message.type].name
                    raise AutopilotError(f"vehicle {self.vehicle}: {reason}")
                return
            item = items[message.seq]
            self._link.mav.mission_item_int_send(
                *self._target, message.seq, item.frame, item.command, 0, item.autocontinue,
                *item.params, item.x, item.y, item.z, kind)
        raise AutopilotError(f"vehicle {self.vehicle} fell silent during the upload")

    def download(self, kind: int) -> list:
        """The items of a kind that the vehicle holds.

        Raises:
            AutopilotError: It does not answer.
        """
        count = self._ask("MISSION_COUNT", lambda: self._link.mav.mission_request_list_send(
            *self._target, kind), lambda m: m.mission_type == kind).count
        items = []
        for seq in range(count):
            items.append(of_message(self._ask(
                "MISSION_ITEM_INT", lambda seq=seq: self._link.mav.mission_request_int_send(
                    *self._target, seq, kind),
                lambda m, seq=seq: m.seq == seq and m.mission_type == kind)))
        self._link.mav.mission_ack_send(*self._target, mavlink.MAV_MISSION_ACCEPTED, kind)
        return items

    def parameter(self, name: str) -> float:
        """The value of a parameter.

        Raises:
            AutopilotError: The vehicle does not have it.
        """
        message = self._ask("PARAM_VALUE", lambda: self._link.mav.param_request_read_send(
            *self._target, name.encode(), -1), lambda m: m.param_id == name)
        return _value(message)

    def parameters(self) -> dict[str, float]:
        """Every parameter of the vehicle.

        Raises:
            AutopilotError: It does not answer.
        """
        values, count = {}, None
        self._link.mav.param_request_list_send(*self._target)
        while count is None or len(values) < count:
            message = self.wait("PARAM_VALUE", RETRY_S)
            if message is None and count is None:
                message = self._ask("PARAM_VALUE", lambda: self._link.mav.param_request_list_send(
                    *self._target))
            if message is None:  # some were lost: ask for the first that is missing
                indices = {index for index, _ in values.values()}
                missing = next(k for k in range(count) if k not in indices)
                message = self._ask(
                    "PARAM_VALUE", lambda index=missing: self._link.mav.param_request_read_send(
                        *self._target, b"", index))
            values[message.param_id] = message.param_index, _value(message)
            count = message.param_count
        return {name: value for name, (_, value) in values.items()}

    def set_parameter(self, name: str, value: float, integer: bool) -> float:
        """Sets a parameter and returns the value that is now in force.

        Raises:
            AutopilotError: The vehicle does not answer, or refuses the value.
        """
        kind = mavlink.MAV_PARAM_TYPE_INT32 if integer else mavlink.MAV_PARAM_TYPE_REAL32
        sent = _bytes_of(int(value)) if integer else value
        self.texts.clear()
        message = self._ask("PARAM_VALUE", lambda: self._link.mav.param_set_send(
            *self._target, name.encode(), sent, kind), lambda m: m.param_id == name)
        got = _value(message)
        if abs(got - value) > 1e-6 * max(abs(value), 1.0):
            raise AutopilotError("; ".join(self.texts) or f"{name} stays {got:g}")
        return got

    def _ask(self, kind, send, condition=lambda message: True):
        for _ in range(TRIES):
            send()
            message = self.wait(kind, RETRY_S, condition)
            if message is not None:
                return message
        raise AutopilotError(f"vehicle {self.vehicle} does not answer: "
                             + ("; ".join(self.texts) or f"no {kind}"))


def _bytes_of(value: int) -> float:
    """PX4 sends integers as the float of the same four bytes."""
    return np.int32(value).view(np.float32).item()


def _value(message) -> float:
    if message.param_type == mavlink.MAV_PARAM_TYPE_INT32:
        return np.float32(message.param_value).view(np.int32).item()
    return message.param_value
