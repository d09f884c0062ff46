"""Parameters by MAVLink: PARAM_ messages, and the command that stores them."""

import functools
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from xtdrone_core.mavlink.dialect import MavlinkMessage, mavlink

from ..errors import AutopilotError
from ..parameters import file as parameter_file
from ..parameters.store import Parameter, ParameterStore, listed, table, to_bits
from ..state.answer import ACCEPTED, DENIED, REJECTED, Answer
from ..state.clock import StepClock
from ..state.handlers import handles, receives
from ..state.outbox import INFO, WARNING, Outbox
from .links import Link, Links

PER_TICK = 20  # parameters of a requested list, as PX4 sends by UDP
CHANGES_US = 1_000_000  # shortest time between reports of changes on every link, as in PX4 [us]
HASH = "_HASH_CHECK"  # is no parameter: a station that knows the values need not ask for all
_UNLISTED = 65535  # index of what is not in the list
_NOT_SENT = -CHANGES_US  # time of no change yet [us]
_TYPE = {int: mavlink.MAV_PARAM_TYPE_INT32, float: mavlink.MAV_PARAM_TYPE_REAL32}


@functools.cache
def _indices(mission_checked: bool) -> dict[str, int]:
    """Index of each listed name."""
    return {name: k for k, name in enumerate(listed(mission_checked))}


class ParameterProtocol:
    """The vehicle's side of the parameter protocol, for a fleet.

    As PX4 does it: a request for the list is answered by the hash and then by all listed
    parameters; what is set is answered on its link, and changes are reported on every link, at most
    once a second. A set with another type or an unknown name is not answered.
    """

    def __init__(
        self,
        parameters: ParameterStore,
        files: Sequence[Path] | None,
        outbox: Outbox,
        links: Links,
        status: np.ndarray,
        clock: StepClock,
    ) -> None:
        """The protocol of a fleet.

        Args:
            parameters: Parameters of the fleet.
            files: One for each vehicle, where it saves its parameters, or None.
            outbox: For what is said.
            links: Its Links.
            status: (N,) of VEHICLE_STATUS.
            clock: Time of the flight stack.
        """
        self._parameters, self._files, self._clock = parameters, files, clock
        self._outbox, self._links, self._status = outbox, links, status
        self._lists: dict[
            tuple[int, int], tuple[Link, int]
        ] = {}  # (kind of link, vehicle) -> (link, next index; -1 is the hash)
        self._changed: dict[
            int, dict[str, Parameter]
        ] = {}  # vehicle -> {name: Parameter}, still to be sent on every link
        self._sent_us: dict[int, int] = {}  # vehicle -> when changes were sent last [us]
        self._without_effect: set[int] = set()  # vehicles that were warned of one
        parameters.listeners.append(self._on_change)

    def step(self) -> None:
        """Sends the next parameters of requested lists, and changes; call it every tick."""
        for key, (link, begin) in list(self._lists.items()):
            end = begin + PER_TICK
            self._lists[key] = link, end
            if begin < 0:
                self._send_hash(link)
            names = list(self._index(link.vehicle))
            for name in names[max(begin, 0) : end]:
                self._send(link, table()[name])
            if end >= len(names):
                del self._lists[key]
        for i in list(self._changed):
            if 0 <= self._clock.t_us - self._sent_us.get(i, _NOT_SENT) < CHANGES_US:
                continue
            self._sent_us[i] = self._clock.t_us
            for p in self._changed.pop(i).values():
                self._links.broadcast(i, self._message(i, p))

    def _on_change(self, i: int, parameter: Parameter) -> None:
        self._changed.setdefault(i, {})[parameter.name] = parameter

    def _index(self, i: int) -> dict[str, int]:
        """Index of each name that vehicle i lists."""
        return _indices(bool(self._parameters.mission_checked[i]))

    @receives("PARAM_REQUEST_LIST")
    def _param_list(self, link: Link, message: MavlinkMessage) -> None:
        key = link.kind, link.vehicle
        # A station that asks again while the list is on its way does not want the hash.
        self._lists[key] = link, 0 if key in self._lists else -1

    @receives("PARAM_REQUEST_READ")
    def _param_read(self, link: Link, message: MavlinkMessage) -> None:
        index, name = message.param_index, message.param_id
        names = list(self._index(link.vehicle))
        if 0 <= index < len(names):
            name = names[index]
        if index >= len(names):
            return
        if name == HASH:
            self._send_hash(link)
        elif name in table():
            self._send(link, table()[name])

    @receives("PARAM_SET")
    def _param_set(self, link: Link, message: MavlinkMessage) -> None:
        if message.param_id == HASH:
            self._lists.pop((link.kind, link.vehicle), None)
            return
        p = table().get(message.param_id)
        if p is None or message.param_type != _TYPE[p.type]:
            return
        value = message.param_value
        if p.type is int:
            value = np.float32(value).view(np.int32).item()  # PX4 sends integers bytewise
        try:
            self._parameters.set(link.vehicle, p.name, value)
        except AutopilotError as error:
            self._outbox.say(link.vehicle, WARNING, str(error))
        self._send(link, p)
        if not p.effect:
            self._say_without_effect(link.vehicle, p)

    def _say_without_effect(self, i: int, parameter: Parameter) -> None:
        if i not in self._without_effect:
            self._without_effect.add(i)
            self._outbox.say(
                i, INFO, f"{parameter.name} is kept, but does nothing in this flight stack"
            )

    @handles(mavlink.MAV_CMD_PREFLIGHT_STORAGE)
    def _storage(self, link: Link, params: Sequence[float]) -> Answer:
        i, store, files = link.vehicle, self._parameters, self._files
        if self._status["armed"][i]:
            return Answer(REJECTED, "parameters are loaded and saved on the ground only")
        if params[0] in (2.0, 4.0):
            store.set_defaults(i)
            return Answer(ACCEPTED)
        if params[0] not in (0.0, 1.0):
            return Answer(
                DENIED,
                f"storage action {params[0]:g} is not supported: 0 loads, 1 saves, 2 "
                "and 4 go back to the defaults",
            )
        if files is None:
            return Answer(DENIED, "this run has no folder to save parameters in")
        try:
            if params[0] == 1.0:
                parameter_file.write(
                    files[i],
                    link.system,
                    {params.name: store.reported(i, params.name) for params in listed().values()},
                )
            else:
                parameter_file.load_into(store, i, parameter_file.read(files[i]))
        except AutopilotError as error:
            return Answer(DENIED, str(error))
        return Answer(ACCEPTED)

    def _send(self, link: Link, parameter: Parameter) -> None:
        self._links.reply(link, self._message(link.vehicle, parameter))

    def _message(self, i: int, parameter: Parameter) -> "_Value":
        """PARAM_VALUE of one parameter, integers bytewise as PX4 does."""
        bits = to_bits(parameter, self._parameters.reported(i, parameter.name))
        return self._value(i, parameter.name, bits, _TYPE[parameter.type])

    def _send_hash(self, link: Link) -> None:
        self._links.reply(
            link,
            self._value(
                link.vehicle,
                HASH,
                self._parameters.hash(link.vehicle),
                mavlink.MAV_PARAM_TYPE_UINT32,
            ),
        )

    def _value(self, i: int, name: str, bits: int, kind: int) -> "_Value":
        index = self._index(i)
        return _Value(name.encode(), bits, kind, len(index), index.get(name, _UNLISTED))


class _Value(mavlink.MAVLink_param_value_message):  # type: ignore[misc]  # pymavlink has no types
    """PARAM_VALUE with the four bytes of its value, which need not be those of a number."""

    def __init__(self, name: bytes, bits: int, *rest: int) -> None:
        super().__init__(name, np.uint32(bits).view(np.float32).item(), *rest)
        self._bits = bits

    def pack(self, mav: mavlink.MAVLink, force_mavlink1: bool = False) -> bytes:
        payload = struct.pack(
            "<IHH16sB",
            self._bits,
            self.param_count,
            self.param_index,
            self._param_id_raw,
            self.param_type,
        )
        return self._pack(mav, self.crc_extra, payload, force_mavlink1)
