"""Marks methods as handlers of messages and commands, or as sources of telemetry streams."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])


class MessageSource(Protocol):
    """The link of a message, as its handler sees it."""

    @property
    def vehicle(self) -> int:
        """The vehicle that it came to."""

    @property
    def source(self) -> tuple[int, int] | None:
        """System and component id of its sender."""


def receives(*names: str) -> Callable[[_Method], _Method]:
    """Marks a method as the handler of messages: method(link, message)."""
    return _mark("receives", names)


def refuses(*names: str) -> Callable[[_Method], _Method]:
    """Marks a method that refuses messages: method(link, message, reason).

    It is called for those with a field out of range, which their handler does not get to see.
    """
    return _mark("refuses", names)


def handles(*numbers: int) -> Callable[[_Method], _Method]:
    """Marks a method as the handler of commands: method(link, params) -> Answer."""
    return _mark("handles", numbers)


def on_request(name: str) -> Callable[[_Method], _Method]:
    """Marks a method that answers a request for a message: method(vehicle, params) -> messages.

    params are those behind the message's number, param2 to param7 of the command.
    """
    return _mark("on_request", (name,))


@dataclass(frozen=True)
class Stream:
    """Declares how a telemetry message goes out."""

    name: str
    rates: dict = field(default_factory=dict)  # [Hz] on each link where it streams by itself
    where: Callable | None = None  # owner -> (N,) bool, the vehicles that have it
    batches: int = 0  # messages of one vehicle at most, 0 = one, which has no number


def streams(
    name: str,
    ground_station: float = 0,
    offboard: float = 0,
    bridge: bool = True,
    where: Callable | None = None,
    batches: int = 0,
) -> Callable[[_Method], _Method]:
    """Marks a method as the one that fills a telemetry message: method(m, t_us).

    Args:
        name: The message of the common dialect.
        ground_station, offboard: Rate on these links [Hz]; 0 = on request only.
        bridge: Whether the ROS bridge's link has it as well, at the rate of the offboard link,
            which is MAVROS's; False where no topic comes from it.
        where: Called with the method's owner, gives (N,) bool: the vehicles that have it. None =
            all.
        batches: Messages of one vehicle at most, where that can be several: the method and
            `where` get the number of the message, from 0, as a further argument.
    """
    rates = {"ground_station": ground_station, "offboard": offboard, "bridge": offboard * bridge}
    return _mark(
        "streams",
        (Stream(name, {link: rate for link, rate in rates.items() if rate}, where, batches),),
    )


def _mark(attribute: str, values: tuple[object, ...]) -> Callable[[_Method], _Method]:
    def decorate(method: _Method) -> _Method:
        setattr(method, attribute, values)
        return method

    return decorate


def declared(part: object, attribute: str) -> list:
    """(value, bound method) of everything of a part that is marked, in the order of the class."""
    return [
        (value, getattr(part, name))
        for kind in reversed(type(part).__mro__)
        for name, method in vars(kind).items()
        for value in getattr(method, attribute, ())
    ]


def declarations(kind: type, attribute: str) -> list:
    """The values of all marks in a class, in order."""
    return [value for method in vars(kind).values() for value in getattr(method, attribute, ())]
