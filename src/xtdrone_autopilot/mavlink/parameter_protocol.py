"""Parameters by MAVLink: PARAM_ messages, and the command that stores them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import AutopilotError
from ..outbox import WARNING, Outbox
from ..parameters import file as parameter_file
from ..parameters.store import ParameterStore, table
from ..safety.commander import ACCEPTED, DENIED, Answer
from .dialect import mavlink
from .handlers import obeys, receives

PER_TICK = 10  # parameters of a requested list


class ParameterProtocol:
    """The vehicle's side of the parameter protocol, for a fleet."""

    def __init__(self, parameters: ParameterStore, files: Sequence[Path] | None, outbox: Outbox,
                 links: Any):
        """files: one for each vehicle, where it saves its parameters, or None."""
        self._parameters, self._files = parameters, files
        self._outbox, self._links = outbox, links
        self._queue = []  # (link, name) still to be sent

    def step(self) -> None:
        """Sends the next parameters of requested lists; call it every tick."""
        for _ in range(min(PER_TICK, len(self._queue))):
            self._send(*self._queue.pop(0))

    @receives("PARAM_REQUEST_LIST")
    def _param_list(self, link, message):
        self._queue = [item for item in self._queue if item[0] is not link]
        self._queue += [(link, name) for name in table()]

    @receives("PARAM_REQUEST_READ")
    def _param_read(self, link, message):
        names = list(table())
        index = message.param_index
        name = message.param_id if index < 0 else (names[index] if index < len(names) else "")
        if name in table():
            self._send(link, name)

    @receives("PARAM_SET")
    def _param_set(self, link, message):
        p = table().get(message.param_id)
        if p is None:
            self._outbox.say(link.vehicle, WARNING,
                        f"there is no parameter {message.param_id}")
            return
        value = message.param_value
        if p.type is int and message.param_type == mavlink.MAV_PARAM_TYPE_INT32:
            value = np.float32(value).view(np.int32).item()  # PX4 sends integers bytewise
        try:
            self._parameters.set(link.vehicle, p.name, value)
        except AutopilotError as error:
            self._outbox.say(link.vehicle, WARNING, str(error))
        self._send(link, p.name)

    @obeys(mavlink.MAV_CMD_PREFLIGHT_STORAGE)
    def _storage(self, link, p):
        i, store, files = link.vehicle, self._parameters, self._files
        if p[0] == 2.0:
            store.set_defaults(i)
            return Answer(ACCEPTED)
        if p[0] not in (0.0, 1.0):
            return Answer(DENIED, f"storage action {p[0]:g} is not supported: 0 loads, 1 saves, 2 "
                                  "goes back to the defaults")
        if files is None:
            return Answer(DENIED, "this run has no folder to save parameters in")
        try:
            if p[0] == 1.0:
                values = {name: store.get(i, name) for name in table()}
                parameter_file.write(files[i], i + 1, values)
            else:
                parameter_file.load_into(store, i, parameter_file.read(files[i]))
        except AutopilotError as error:
            return Answer(DENIED, str(error))
        return Answer(ACCEPTED)

    def _send(self, link, name):
        """PARAM_VALUE of one parameter, integers bytewise as PX4 does."""
        p = table()[name]
        value = self._parameters.get(link.vehicle, name)
        kind = mavlink.MAV_PARAM_TYPE_REAL32
        if p.type is int:
            value = np.int32(value).view(np.float32).item()
            kind = mavlink.MAV_PARAM_TYPE_INT32
        names = list(table())
        self._links.reply(link, mavlink.MAVLink_param_value_message(
            name.encode(), value, kind, len(names), names.index(name)))
