"""The client's side of MAVLink: commands, parameters and missions of one vehicle.

The protocols stand here once; how messages get to the vehicle and back is the business of a
Transport. Time-outs are in wall time, since a paused simulation does not answer.
"""

import functools
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ..errors import XtdroneError
from .dialect import mavlink

TRIES, WAIT_S = 5, 1.0
_ANSWER_S = 0.2  # for the answer to a parameter that is set, behind an earlier change [s]
_ROUNDS = 5  # how often an upload may be asked for each item, on average
_INTEGERS = {
    mavlink.MAV_PARAM_TYPE_UINT8: "B",
    mavlink.MAV_PARAM_TYPE_INT8: "b",
    mavlink.MAV_PARAM_TYPE_UINT16: "H",
    mavlink.MAV_PARAM_TYPE_INT16: "h",
    mavlink.MAV_PARAM_TYPE_UINT32: "I",
    mavlink.MAV_PARAM_TYPE_INT32: "i",
}


class ClientError(XtdroneError):
    """A vehicle does not do what it was asked over MAVLink."""


class NoAnswer(ClientError):
    """It does not answer."""


class Refused(ClientError):
    """It refuses.

    Attributes:
        result: The MAV_MISSION_RESULT that says so.
    """

    def __init__(self, text: str, result: int):
        super().__init__(text)
        self.result = result


Receive = Callable[[float], Any]  # the next message within so many seconds, or None


Condition = Callable[[mavlink.MAVLink_message], bool]  # takes a message


def _any(message: mavlink.MAVLink_message) -> bool:
    return True


class Transport(Protocol):
    """Sends messages to one vehicle and receives its own."""

    system: int  # system id of this end

    def send(self, message: mavlink.MAVLink_message) -> None:
        """Sends a pymavlink message to the vehicle."""

    def listen(self, *kinds: str) -> AbstractContextManager[Receive]:
        """Receives the vehicle's messages of these types while the context lasts."""


def ground_station_heartbeat() -> mavlink.MAVLink_message:
    """The message by which a ground station says that it is there."""
    return mavlink.MAVLink_heartbeat_message(
        mavlink.MAV_TYPE_GCS, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, mavlink.MAV_STATE_ACTIVE, 3
    )


class MavlinkClient:
    """Asks one vehicle and waits for its answers; may be used from several threads.

    Attributes:
        vehicle: Its system id.
        params: name -> (value, MAV_PARAM_TYPE) of the parameters that came in so far.
    """

    def __init__(
        self, vehicle: int, transport: Transport, tries: int = TRIES, wait_s: float = WAIT_S
    ):
        """A client of one vehicle.

        Args:
            vehicle: Its system id.
            transport: Connection to the vehicle.
            tries: How often to ask before it counts as silent.
            wait_s: How long to wait for an answer each time [s].
        """
        self.vehicle = vehicle
        self.tries, self.wait_s = tries, wait_s
        self.params: dict[str, tuple[int | float, int]] = {}
        self._transport = transport
        self._target = vehicle, mavlink.MAV_COMP_ID_AUTOPILOT1

    # Commands -------------------------------------------------------------------------------

    def command(self, number: int, *params: float, confirmation: int = 0) -> tuple[int, str]:
        """Sends COMMAND_LONG, whose confirmation counts up with each try.

        Args:
            number: MAV_CMD.
            *params: Up to seven; the others are 0.
            confirmation: Of the first try.

        Returns:
            The MAV_RESULT and what the vehicle said with it.

        Raises:
            NoAnswer: No acknowledgement comes.
        """
        seven = ([float(x) for x in params] + [0.0] * 7)[:7]
        return self._command(
            number,
            [
                mavlink.MAVLink_command_long_message(
                    *self._target, number, confirmation + k, *seven
                )
                for k in range(self.tries)
            ],
        )

    def command_int(
        self,
        number: int,
        params: Sequence[float],
        x: int,
        y: int,
        z: float,
        frame: int = mavlink.MAV_FRAME_GLOBAL,
        current: int = 0,
        autocontinue: int = 0,
    ) -> tuple[int, str]:
        """Sends COMMAND_INT with four parameters and a position; otherwise as command()."""
        return self._command(
            number,
            [
                mavlink.MAVLink_command_int_message(
                    *self._target,
                    frame,
                    number,
                    current,
                    autocontinue,
                    *map(float, params),
                    x,
                    y,
                    float(z),
                )
            ]
            * self.tries,
        )

    def _command(self, number: int, requests: Sequence[mavlink.MAVLink_message]) -> tuple[int, str]:
        with self._exchange("COMMAND_ACK") as exchange:
            ack = exchange.ask(
                requests,
                self.wait_s,
                lambda m: (
                    m.command == number
                    and m.result != mavlink.MAV_RESULT_IN_PROGRESS
                    and m.target_system in (0, self._transport.system)
                ),
            )
            if ack is None:
                raise NoAnswer(f"vehicle {self.vehicle} does not acknowledge command {number}")
            return ack.result, exchange.said

    # Parameters -----------------------------------------------------------------------------

    def parameter(self, name: str) -> int | float:
        """The value of a parameter.

        Raises:
            NoAnswer: The vehicle does not have it, or does not answer.
        """
        with self._exchange("PARAM_VALUE") as exchange:
            return self._parameter(
                exchange,
                mavlink.MAVLink_param_request_read_message(*self._target, name.encode(), -1),
                name,
            )

    def set_parameter(self, name: str, value: float, kind: int) -> tuple[int | float, str]:
        """Sets a parameter.

        The vehicle tells changes by the same message as its answer: one with another value may be
        of an earlier change, so the answer is waited for a while longer.

        Args:
            name: The parameter.
            value: A whole number where the type is an integer.
            kind: MAV_PARAM_TYPE.

        Returns:
            The value that is now in force and what the vehicle said with it.

        Raises:
            NoAnswer: The vehicle does not have it, or does not answer.
        """
        sent = _as_float_bytes(int(value), kind) if is_integer(kind) else value
        asked = struct.pack("<f", sent)
        with self._exchange("PARAM_VALUE") as exchange:
            message = self._answer(
                exchange,
                mavlink.MAVLink_param_set_message(*self._target, name.encode(), sent, kind),
                lambda m: m.param_id == name,
            )
            if struct.pack("<f", message.param_value) != asked:
                message = (
                    exchange.next(
                        _ANSWER_S,
                        lambda m: m.param_id == name and struct.pack("<f", m.param_value) == asked,
                    )
                    or message
                )
            return self._store(message), exchange.said

    def parameters(self) -> dict[str, int | float]:
        """Every parameter of the vehicle; asks again for those that were lost.

        Raises:
            NoAnswer: The vehicle does not answer; `params` holds those that came.
        """
        names: dict[int, str] = {}
        count = None
        with self._exchange("PARAM_VALUE") as exchange:
            everything = mavlink.MAVLink_param_request_list_message(*self._target)
            message = self._answer(exchange, everything)
            while True:
                self._store(message)
                count = message.param_count
                if message.param_index < count:
                    names[message.param_index] = message.param_id
                if len(names) >= count:
                    return {name: self.params[name][0] for name in names.values()}
                message = exchange.next(self.wait_s)
                if message is None:  # some were lost: ask for the first that is missing
                    missing = next(k for k in range(count) if k not in names)
                    message = self._answer(
                        exchange,
                        mavlink.MAVLink_param_request_read_message(*self._target, b"", missing),
                    )

    def _parameter(
        self, exchange: "_Exchange", request: mavlink.MAVLink_message, name: str
    ) -> int | float:
        return self._store(self._answer(exchange, request, lambda m: m.param_id == name))

    def _store(self, message: mavlink.MAVLink_message) -> int | float:
        value = param_value(message)
        self.params[message.param_id] = value, message.param_type
        return value

    # Missions -------------------------------------------------------------------------------

    def upload(
        self,
        items: Sequence[Mapping[str, Any]],
        kind: int = mavlink.MAV_MISSION_TYPE_MISSION,
        asked: Callable[[int], object] = lambda seq: None,
    ) -> None:
        """Replaces the items of a kind.

        Args:
            items: Fields of MISSION_ITEM_INT: frame, command, current, autocontinue, param1 to
                param4, x, y, z.
            kind: MAV_MISSION_TYPE.
            asked: Called with the number of each item that the vehicle asks for.

        Raises:
            Refused: The vehicle refuses them.
            NoAnswer: It falls silent.
        """
        if not items:
            self.clear(kind)
            return
        with self._exchange("MISSION_REQUEST_INT", "MISSION_REQUEST", "MISSION_ACK") as exchange:
            self._transport.send(
                mavlink.MAVLink_mission_count_message(*self._target, len(items), kind)
            )
            for _ in range(_ROUNDS * (len(items) + 1)):
                message = exchange.next(self.wait_s * self.tries, lambda m: m.mission_type == kind)
                if message is None:
                    break
                if message.get_type() == "MISSION_ACK":
                    self._check(message, exchange)
                    return
                if message.seq < len(items):
                    asked(message.seq)
                    self._transport.send(
                        mavlink.MAVLink_mission_item_int_message(
                            *self._target, seq=message.seq, **items[message.seq], mission_type=kind
                        )
                    )
        raise NoAnswer(f"vehicle {self.vehicle} fell silent during the upload")

    def download(
        self, kind: int = mavlink.MAV_MISSION_TYPE_MISSION
    ) -> list[mavlink.MAVLink_message]:
        """The items of a kind that the vehicle holds, as MISSION_ITEM_INT messages.

        Raises:
            NoAnswer: It does not answer.
        """
        with self._exchange("MISSION_COUNT", "MISSION_ITEM_INT") as exchange:
            count = self._answer(
                exchange,
                mavlink.MAVLink_mission_request_list_message(*self._target, kind),
                lambda m: m.get_type() == "MISSION_COUNT" and m.mission_type == kind,
            ).count
            items = [
                self._answer(
                    exchange,
                    mavlink.MAVLink_mission_request_int_message(*self._target, seq, kind),
                    functools.partial(_is_item, seq, kind),
                )
                for seq in range(count)
            ]
        self._transport.send(
            mavlink.MAVLink_mission_ack_message(*self._target, mavlink.MAV_MISSION_ACCEPTED, kind)
        )
        return items

    def clear(self, kind: int = mavlink.MAV_MISSION_TYPE_MISSION) -> None:
        """Removes the items of a kind. Raises as upload()."""
        with self._exchange("MISSION_ACK") as exchange:
            self._check(
                self._answer(
                    exchange,
                    mavlink.MAVLink_mission_clear_all_message(*self._target, kind),
                    lambda m: m.mission_type == kind,
                ),
                exchange,
            )

    def set_current(self, seq: int, any_item: bool = False) -> None:
        """Goes on with an item of the mission.

        Args:
            seq: Its number.
            any_item: Whether a MISSION_CURRENT with another item is an answer as well.

        Raises:
            NoAnswer: The vehicle does not confirm it.
        """
        with self._exchange("MISSION_CURRENT") as exchange:  # a stream as well: wait for two
            self._answer(
                exchange,
                mavlink.MAVLink_mission_set_current_message(*self._target, seq),
                lambda m: any_item or m.seq == seq,
                2 * self.wait_s,
            )

    def _check(self, ack: mavlink.MAVLink_message, exchange: "_Exchange") -> None:
        if ack.type != mavlink.MAV_MISSION_ACCEPTED:
            name = mavlink.enums["MAV_MISSION_RESULT"][ack.type].name
            raise Refused(f"vehicle {self.vehicle}: {exchange.said or name}", ack.type)

    # Messages -------------------------------------------------------------------------------

    def is_there(self) -> bool:
        """Says that a ground station is here until the vehicle's own heartbeat comes in."""
        with self._exchange("HEARTBEAT") as exchange:
            return exchange.ask([ground_station_heartbeat()] * self.tries, self.wait_s) is not None

    def send(self, message: mavlink.MAVLink_message) -> None:
        """Sends a message for which no answer is awaited."""
        self._transport.send(message)

    def _exchange(self, *kinds: str) -> "_Exchange":
        return _Exchange(self._transport, kinds)

    def _answer(
        self,
        exchange: "_Exchange",
        request: mavlink.MAVLink_message,
        condition: Condition = _any,
        wait_s: float | None = None,
    ) -> mavlink.MAVLink_message:
        message = exchange.ask([request] * self.tries, wait_s or self.wait_s, condition)
        if message is None:
            raise NoAnswer(
                f"vehicle {self.vehicle} does not answer: "
                + (exchange.said or f"no {' or '.join(exchange.kinds)}")
            )
        return message


class _Exchange:
    """Requests and their answers; keeps what the vehicle says meanwhile."""

    def __init__(self, transport: Transport, kinds: tuple[str, ...]):
        self.kinds = kinds
        self._transport = transport
        self._texts: list[str] = []
        self._listening = transport.listen(*kinds, "STATUSTEXT")

    def __enter__(self) -> "_Exchange":
        self._receive = self._listening.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:  # type, exception and traceback
        self._listening.__exit__(*error)

    @property
    def said(self) -> str:
        """The STATUSTEXTs so far."""
        return "; ".join(self._texts)

    def ask(
        self,
        requests: Sequence[mavlink.MAVLink_message],
        wait_s: float,
        condition: Condition = _any,
    ) -> mavlink.MAVLink_message:
        """Sends one request after the other until an answer meets the condition, or None does."""
        for request in requests:
            self._transport.send(request)
            message = self.next(wait_s, condition)
            if message is not None:
                return message
        return None

    def next(self, seconds: float, condition: Condition = _any) -> mavlink.MAVLink_message:
        """The next message that meets the condition, or None after the time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            message = self._receive(left)
            if message is None:
                continue
            if message.get_type() == "STATUSTEXT":
                self._keep(message)
            elif condition(message):
                return message
        return None

    def _keep(self, message: mavlink.MAVLink_message) -> None:
        if message.chunk_seq and self._texts:
            self._texts[-1] += message.text
        else:
            self._texts.append(message.text)


def _is_item(seq: int, kind: int, message: mavlink.MAVLink_message) -> bool:
    return (
        message.get_type() == "MISSION_ITEM_INT"
        and message.seq == seq
        and message.mission_type == kind
    )


def is_integer(kind: int) -> bool:
    """Returns whether a MAV_PARAM_TYPE is a whole number."""
    return kind in _INTEGERS


def param_value(message: mavlink.MAVLink_message) -> int | float:
    """Value of a PARAM_VALUE; PX4 encodes integers bytewise in the float field."""
    kind = _INTEGERS.get(message.param_type)
    if kind is None:
        return float(message.param_value)
    return int(struct.unpack_from("<" + kind, struct.pack("<f", message.param_value))[0])


def _as_float_bytes(value: int, kind: int) -> float:
    data = struct.pack("<" + _INTEGERS[kind], value).ljust(4, b"\0")
    return float(struct.unpack("<f", data)[0])
