"""MAVLink requests to a vehicle: commands, parameters, missions.

Each method sends a request, waits for the answer and returns it. Time-outs are in wall time, since
a paused simulation does not answer.
"""

import queue
import struct
import time
from collections.abc import Sequence
from typing import Any

from pymavlink.dialects.v20 import common as mavlink

from .mavlink_link import SYSTEM_ID

TIMEOUT = 5.0  # for the acknowledgement of a command [s]
PART_TIMEOUT = 1.0  # for the next part of a longer exchange [s]
FAILED = mavlink.MAV_RESULT_FAILED
_INTEGERS = {mavlink.MAV_PARAM_TYPE_UINT8: "B", mavlink.MAV_PARAM_TYPE_INT8: "b",
             mavlink.MAV_PARAM_TYPE_UINT16: "H", mavlink.MAV_PARAM_TYPE_INT16: "h",
             mavlink.MAV_PARAM_TYPE_UINT32: "I", mavlink.MAV_PARAM_TYPE_INT32: "i"}


class Requests:
    """Requests to one vehicle of a fleet."""

    def __init__(self, link: Any, i: int):
        """link: a FleetLink. i: the vehicle's index."""
        self._link = link
        self._i = i
        self._target = (i + 1, mavlink.MAV_COMP_ID_AUTOPILOT1)
        self.params = {}  # name -> (value, MAV_PARAM_TYPE), those read so far
        self.param_count = 0

    # Commands -------------------------------------------------------------------------------

    def command_long(self, command: int, params: Sequence[float], confirmation: int = 0,
                     timeout: float = TIMEOUT) -> int:
        """Sends COMMAND_LONG with seven parameters.

        Returns:
            MAV_RESULT of the acknowledgement; MAV_RESULT_FAILED where none came.
        """
        return self._command(command, mavlink.MAVLink_command_long_message(
            *self._target, command, confirmation, *map(float, params)), timeout)

    def command_int(self, frame: int, command: int, current: int, autocontinue: int,
                    params: Sequence[float], x: int, y: int, z: float,
                    timeout: float = TIMEOUT) -> int:
        """Sends COMMAND_INT with four parameters and a position; returns as command_long."""
        return self._command(command, mavlink.MAVLink_command_int_message(
            *self._target, frame, command, current, autocontinue, *map(float, params), x, y,
            float(z)), timeout)

    def _command(self, command, message, timeout):
        with self._link.inbox(self._i, mavlink.MAVLINK_MSG_ID_COMMAND_ACK) as box:
            self._link.send(self._i, message)
            end = time.monotonic() + timeout
            while True:
                ack = _next(box, end - time.monotonic())
                if ack is None:
                    return FAILED
                if ack.command == command and ack.target_system in (0, SYSTEM_ID) \
                        and ack.result != mavlink.MAV_RESULT_IN_PROGRESS:
                    return ack.result

    def send_mode(self, base_mode: int, main: int, sub: int) -> None:
        """Requests a flight mode without waiting; HEARTBEAT shows the result."""
        self._link.send(self._i, mavlink.MAVLink_command_long_message(
            *self._target, mavlink.MAV_CMD_DO_SET_MODE, 0, base_mode, main, sub, 0, 0, 0, 0))

    # Parameters -----------------------------------------------------------------------------

    def param_get(self, name: str) -> Any:
        """Value of a parameter (int or float), or None where the vehicle does not have it."""
        request = mavlink.MAVLink_param_request_read_message(*self._target, name.encode(), -1)
        return self._param(name, request)

    def param_set(self, name: str, integer: int, real: float) -> Any:
        """Writes a parameter from a mavros_msgs/ParamValue, in the parameter's own type.

        Returns:
            The new value on the vehicle, or None.
        """
        if name not in self.params and self.param_get(name) is None:
            return None
        kind = self.params[name][1]
        if kind in _INTEGERS:
            value = _as_float_bytes(integer if integer else round(real), kind)
        else:
            value = real if real else float(integer)
        return self._param(name, mavlink.MAVLink_param_set_message(
            *self._target, name.encode(), value, kind))

    def param_pull(self) -> int:
        """Reads all parameters; returns their number."""
        with self._link.inbox(self._i, mavlink.MAVLINK_MSG_ID_PARAM_VALUE) as box:
            self._link.send(self._i, mavlink.MAVLink_param_request_list_message(*self._target))
            seen, count = set(), 1
            while len(seen) < count:
                message = _next(box, PART_TIMEOUT)
                if message is None:
                    break
                count = message.param_count
                seen.add(message.param_index)
                self._store(message)
            for index in set(range(count)) - seen:
                self._link.send(self._i, mavlink.MAVLink_param_request_read_message(
                    *self._target, b"", index))
                message = _next(box, PART_TIMEOUT)
                if message is not None:
                    self._store(message)
        return len(self.params)

    def _param(self, name, request):
        with self._link.inbox(self._i, mavlink.MAVLINK_MSG_ID_PARAM_VALUE) as box:
            self._link.send(self._i, request)
            end = time.monotonic() + PART_TIMEOUT
            while True:
                message = _next(box, end - time.monotonic())
                if message is None:
                    return None
                if message.param_id == name:
                    return self._store(message)

    def _store(self, message):
        value = param_value(message)
        self.params[message.param_id] = (value, message.param_type)
        self.param_count = message.param_count
        return value

    # Missions -------------------------------------------------------------------------------

    def mission_push(self, items: Sequence[Any]) -> int:
        """Uploads a mission; items are dicts of the fields of MISSION_ITEM_INT.

        Returns:
            Number of items accepted: all of them, or 0.
        """
        ids = (mavlink.MAVLINK_MSG_ID_MISSION_REQUEST, mavlink.MAVLINK_MSG_ID_MISSION_REQUEST_INT,
               mavlink.MAVLINK_MSG_ID_MISSION_ACK)
        with self._link.inbox(self._i, *ids) as box:
            self._link.send(self._i, mavlink.MAVLink_mission_count_message(
                *self._target, len(items), 0))
            while True:
                message = _next(box, PART_TIMEOUT)
                if message is None:
                    return 0
                if message.get_msgId() == mavlink.MAVLINK_MSG_ID_MISSION_ACK:
                    return len(items) if message.type == mavlink.MAV_MISSION_ACCEPTED else 0
                if message.seq < len(items):
                    self._link.send(self._i, mavlink.MAVLink_mission_item_int_message(
                        *self._target, seq=message.seq, **items[message.seq]))

    def mission_pull(self) -> Any:
        """The vehicle's mission as MISSION_ITEM_INT messages, or None where it does not answer."""
        items = []
        with self._link.inbox(self._i, mavlink.MAVLINK_MSG_ID_MISSION_COUNT,
                              mavlink.MAVLINK_MSG_ID_MISSION_ITEM_INT) as box:
            self._link.send(self._i, mavlink.MAVLink_mission_request_list_message(*self._target, 0))
            count = _next(box, PART_TIMEOUT)
            if count is None or count.get_msgId() != mavlink.MAVLINK_MSG_ID_MISSION_COUNT:
                return None
            for seq in range(count.count):
                self._link.send(self._i, mavlink.MAVLink_mission_request_int_message(
                    *self._target, seq, 0))
                item = _next(box, PART_TIMEOUT)
                if item is None:
                    return None
                items.append(item)
        self._link.send(self._i, mavlink.MAVLink_mission_ack_message(
            *self._target, mavlink.MAV_MISSION_ACCEPTED, 0))
        return items

    def mission_clear(self) -> bool:
        """Clears the mission; returns whether the vehicle accepted."""
        with self._link.inbox(self._i, mavlink.MAVLINK_MSG_ID_MISSION_ACK) as box:
            self._link.send(self._i, mavlink.MAVLink_mission_clear_all_message(*self._target, 0))
            ack = _next(box, PART_TIMEOUT)
            return ack is not None and ack.type == mavlink.MAV_MISSION_ACCEPTED

    def mission_set_current(self, seq: int) -> bool:
        """Sets the current item; returns whether the vehicle accepted."""
        with self._link.inbox(self._i, mavlink.MAVLINK_MSG_ID_MISSION_CURRENT) as box:
            self._link.send(self._i, mavlink.MAVLink_mission_set_current_message(
                *self._target, seq))
            end = time.monotonic() + 2 * PART_TIMEOUT
            while True:
                message = _next(box, end - time.monotonic())
                if message is None or message.seq == seq:
                    return message is not None


def heartbeat() -> Any:
    """The heartbeat of the bridge, sent once a second; it starts the streams of a link."""
    return mavlink.MAVLink_heartbeat_message(
        mavlink.MAV_TYPE_ONBOARD_CONTROLLER, mavlink.MAV_AUTOPILOT_INVALID, 0, 0,
        mavlink.MAV_STATE_ACTIVE, 3)


def param_value(message: Any) -> Any:
    """Value of a PARAM_VALUE, int or float; PX4 encodes integers bytewise in the float field."""
    kind = _INTEGERS.get(message.param_type)
    if kind is None:
        return message.param_value
    return struct.unpack_from("<" + kind, struct.pack("<f", message.param_value))[0]


def _as_float_bytes(value: int, kind: int) -> float:
    data = struct.pack("<" + _INTEGERS[kind], value).ljust(4, b"\0")
    return struct.unpack("<f", data)[0]


def _next(box, timeout):
    """The next message of an inbox, or None after the time-out [s]."""
    try:
        return box.get(timeout=max(timeout, 0.0))
    except queue.Empty:
        return None
