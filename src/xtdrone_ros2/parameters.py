"""Services of a ROS 2 node's parameters: those of each vehicle, and the simulation's own."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from xtdrone_core import ControlError
from xtdrone_core.mavlink.client import ClientError, MavlinkClient, is_integer, param_value
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_mavros.mavlink_link import FleetLink, unpack
from xtdrone_mavros.requests import LinkTransport

from .wire.node import Node
from .wire.quality import PARAMETER_EVENTS
from .wire.types import Fields, Message

Value = bool | int | float | str
_PACKAGE = "rcl_interfaces/srv/"
_EVENT = "rcl_interfaces/msg/ParameterEvent"
# ParameterType and the field of ParameterValue of each type of Python.
_TYPES: dict[type, tuple[int, str]] = {
    bool: (1, "bool_value"),
    int: (2, "integer_value"),
    float: (3, "double_value"),
    str: (4, "string_value"),
}
_FIELDS = dict(_TYPES.values())
_NAMES = {number: kind.__name__ for kind, (number, _) in _TYPES.items()}
_FEW = 8  # up to so many parameters are read one by one
_ANSWER_S, _TRIES = 1.0, 1
PARAM_VALUE = mavlink.MAVLINK_MSG_ID_PARAM_VALUE


class Refused(Exception):
    """A parameter cannot be set."""


class Holder(Protocol):
    """A holder of parameters."""

    def names(self) -> Sequence[str]:
        """Returns the names of all parameters."""

    def values(self, names: Sequence[str]) -> Mapping[str, Value]:
        """Returns the values of those of these names that exist."""

    def kinds(self, names: Sequence[str]) -> Mapping[str, type]:
        """Returns the types of those of these names that exist."""

    def set(self, name: str, value: Value) -> None:
        """Sets a parameter to a value of its type. Raises Refused."""

    def description(self, name: str) -> tuple[str, bool]:
        """Returns a description, and whether the parameter is read-only."""


T = TypeVar("T")
Answer: TypeAlias = Callable[[Message], Fields]


class ParameterServices:
    """The parameter services of one node."""

    def __init__(
        self,
        node: Node,
        name: str,
        holder: Holder,
        changed: Callable[[str, Mapping[str, Value]], None] | None = None,
    ):
        """Offers the services.

        Args:
            node: The participant.
            name: Node's name, beginning with /.
            holder: Holder of the parameters.
            changed: Called with the node's name and the values that were set, if the holder does
                not report changes itself.
        """
        self._node, self._name, self._holder, self._changed = node, name, holder, changed
        for service, answer in (
            ("list_parameters", self._list),
            ("get_parameters", self._get),
            ("get_parameter_types", self._kinds),
            ("describe_parameters", self._describe),
            ("set_parameters", self._set),
            ("set_parameters_atomically", self._set_all),
        ):
            kind = f"{_PACKAGE}{service.title().replace('_', '')}"
            node.service(
                f"{name}/{service}", kind, functools.partial(self._answer, kind, answer), of=name
            )

    def _answer(self, kind: str, answer: Answer, request: Message) -> Message:
        return self._node.types.message(f"{kind}_Response", **answer(request))

    def _list(self, request: Message) -> Fields:
        wanted = tuple(request.prefixes)
        names = [
            name
            for name in self._holder.names()
            if not wanted
            or any(name == prefix or name.startswith(f"{prefix}.") for prefix in wanted)
        ]
        return {"result": {"names": names}}

    def _get(self, request: Message) -> Fields:
        values = self._holder.values(request.names)
        return {"values": [to_message(values.get(name)) for name in request.names]}

    def _kinds(self, request: Message) -> Fields:
        kinds = self._holder.kinds(request.names)
        return {"types": [_TYPES[kinds[name]][0] if name in kinds else 0 for name in request.names]}

    def _describe(self, request: Message) -> Fields:
        kinds = self._holder.kinds(request.names)
        return {"descriptors": [self._descriptor(name, kinds.get(name)) for name in request.names]}

    def _descriptor(self, name: str, kind: type | None) -> Fields:
        if kind is None:
            return {"name": name}
        text, read_only = self._holder.description(name)
        return {"name": name, "type": _TYPES[kind][0], "description": text, "read_only": read_only}

    def _set(self, request: Message) -> Fields:
        return {
            "results": [self._result(self._set_one, parameter) for parameter in request.parameters]
        }

    def _set_all(self, request: Message) -> Fields:
        return {"result": self._result(self._set_every, request.parameters)}

    @staticmethod
    def _result(act: Callable[[T], None], argument: T) -> Fields:
        try:
            act(argument)
        except Refused as error:
            return {"successful": False, "reason": str(error)}
        return {"successful": True}

    def _set_every(self, parameters: Sequence[Message]) -> None:
        """Sets all or none: earlier ones are restored if a later one is refused."""
        wanted = [self._checked(parameter) for parameter in parameters]
        done: list[tuple[str, Value]] = []
        try:
            for name, value, before in wanted:
                self._holder.set(name, value)
                done.append((name, before))
        except Refused:
            for name, before in reversed(done):
                self._holder.set(name, before)
            raise
        self._notify({name: value for name, value, _ in wanted})

    def _set_one(self, parameter: Message) -> None:
        name, value, _ = self._checked(parameter)
        self._holder.set(name, value)
        self._notify({name: value})

    def _checked(self, parameter: Message) -> tuple[str, Value, Value]:
        """Returns the name, the new value in its type, and the present one.

        Raises:
            Refused: There is no such parameter, or it is of another type.
        """
        name, given = parameter.name, parameter.value
        before = self._holder.values([name]).get(name)
        if before is None:
            raise Refused(
                f"{self._name} has no parameter '{name}': ros2 param list {self._name} shows them"
            )
        if given.type not in _FIELDS:
            raise Refused(f"{name} cannot be removed: give a {type(before).__name__}")
        value = getattr(given, _FIELDS[given.type])
        if type(before) is float and _NAMES[given.type] == "int":
            value = float(value)
        elif _NAMES[given.type] != type(before).__name__:
            raise Refused(
                f"{name} '{value}' is a {_NAMES[given.type]}: give a {type(before).__name__}"
            )
        return name, type(before)(value), before

    def _notify(self, values: Mapping[str, Value]) -> None:
        if self._changed is not None:
            self._changed(self._name, values)


def to_message(value: Value | None) -> Fields:
    """Returns the fields of a rcl_interfaces/ParameterValue; {} (not set) for None."""
    if value is None:
        return {}
    number, field = _TYPES[type(value)]
    return {"type": number, field: value}


class VehicleParameters:
    """PX4's parameters of one vehicle, by MAVLink."""

    def __init__(self, link: FleetLink, i: int):
        """Takes the link to the fleet, and the index of the vehicle."""
        self._client = MavlinkClient(i + 1, LinkTransport(link, i), _TRIES, _ANSWER_S)
        self._names: tuple[str, ...] = ()

    def names(self) -> Sequence[str]:
        """Returns all names, see Holder; none where the vehicle does not answer."""
        if not self._names:
            self._names = tuple(sorted(self._all()))
        return self._names

    def _all(self) -> dict[str, int | float]:
        try:
            return self._client.parameters()
        except ClientError:
            return {}

    def values(self, names: Sequence[str]) -> Mapping[str, Value]:
        """Returns values, see Holder, as the vehicle has them now."""
        return self._all() if len(names) > _FEW else dict(self._asked(names))

    def _asked(self, names: Sequence[str]) -> Iterator[tuple[str, int | float]]:
        for name in names:
            try:
                yield name, self._client.parameter(name)
            except ClientError:  # it has no such parameter
                continue

    def kinds(self, names: Sequence[str]) -> Mapping[str, type]:
        """Returns types, see Holder; known ones are not asked for again."""
        known = self._client.params
        missing = [name for name in names if name not in known]
        if missing:
            self.values(missing)
        return {name: type(known[name][0]) for name in names if name in known}

    def set(self, name: str, value: Value) -> None:
        """Sets a parameter; see Holder."""
        kind = self._client.params[name][1]
        assert isinstance(value, (int, float))
        try:
            got, said = self._client.set_parameter(name, value, kind)
        except ClientError as error:
            raise Refused(f"{name} is not set: {error}") from error
        same = got == value if is_integer(kind) else abs(got - value) <= 1e-6 * abs(value)
        if not same:
            raise Refused(said or f"{name} stays {got:g}: the vehicle does not take {value:g}")

    def description(self, name: str) -> tuple[str, bool]:
        """Returns a description, and whether it is read-only; see Holder."""
        return "a parameter of PX4", False


class SimulationParameters:
    """The options of the simulation: read-only but for its speed."""

    def __init__(self, options: Mapping[str, tuple[Value, str]], instance: int):
        """Takes the options of a simulation.

        Args:
            options: Name -> value and description.
            instance: Instance of the simulation.
        """
        self._options, self._instance = options, instance

    def names(self) -> Sequence[str]:
        """Returns all names; see Holder."""
        return sorted(self._options)

    def values(self, names: Sequence[str]) -> Mapping[str, Value]:
        """Returns values; see Holder."""
        values = {name: self._options[name][0] for name in names if name in self._options}
        if "speed" in values:
            try:
                values["speed"] = float(self._ask("status")["speed"])
            except ControlError:  # it has ended
                del values["speed"]
        return values

    def kinds(self, names: Sequence[str]) -> Mapping[str, type]:
        """Returns types; see Holder."""
        return {name: type(self._options[name][0]) for name in names if name in self._options}

    def set(self, name: str, value: Value) -> None:
        """Sets a parameter; see Holder."""
        if name != "speed":
            raise Refused(
                f"{name} is an option of the simulation's start: of a running one, only "
                "the speed is set"
            )
        try:
            self._ask("speed", speed=value)
        except ControlError as error:
            raise Refused(str(error)) from error

    def description(self, name: str) -> tuple[str, bool]:
        """Returns a description, and whether it is read-only; see Holder."""
        return self._options[name][1], name != "speed"

    def _ask(self, op: str, **values: Value) -> dict[str, Any]:  # JSON
        client = ControlClient(self._instance)
        try:
            return client.request(op, **values)
        finally:
            client.close()


class Parameters:
    """The parameters of a fleet and of its simulation, and /parameter_events."""

    def __init__(self, node: Node, names: Sequence[str], link: FleetLink):
        """Offers the parameters of the vehicles.

        Args:
            node: The participant.
            names: Namespaces of the vehicles; the node of each is /NAME.
            link: MAVLink link to the fleet, which others read.
        """
        self._node, self._names, self._now_us = node, names, 0
        self._events = node.writer("/parameter_events", _EVENT, PARAMETER_EVENTS)
        self._known: list[dict[bytes, tuple[bytes, int]]] = [{} for _ in names]
        for i, name in enumerate(names):
            ParameterServices(node, f"/{name}", VehicleParameters(link, i))

    def offer(self, name: str, options: Mapping[str, tuple[Value, str]], instance: int) -> None:
        """Offers the simulation's options as parameters of the node `name`."""
        ParameterServices(
            self._node, name, SimulationParameters(options, instance), self._publish_event
        )

    def step(self, t_us: int) -> None:
        """Advances simulated time to t_us."""
        self._now_us = t_us

    def take(self, i: int, payload: bytes, decoded: Callable[[], mavlink.MAVLink_message]) -> None:
        """Takes a PARAM_VALUE of vehicle i: a value that differs from the last is a change.

        Args:
            i: Index of the vehicle.
            payload: Payload of the message.
            decoded: Returns the message.
        """
        *_, name, kind = unpack(PARAM_VALUE, payload)
        key, known = (payload[:4], kind), self._known[i]  # compared as bytes, since some are NaN
        if known.setdefault(name, key) != key:
            known[name] = key
            message = decoded()
            self._publish_event(f"/{self._names[i]}", {message.param_id: param_value(message)})

    def _publish_event(self, name: str, values: Mapping[str, Value]) -> None:
        if self._events.wanted:
            types = self._node.types
            self._events.write(
                types.serialised(
                    types.message(
                        _EVENT,
                        node=name,
                        stamp={
                            "sec": self._now_us // 1_000_000,
                            "nanosec": self._now_us % 1_000_000 * 1000,
                        },
                        changed_parameters=[
                            {"name": key, "value": to_message(value)}
                            for key, value in values.items()
                        ],
                    )
                )
            )
