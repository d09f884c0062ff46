"""Finds what a flight would only find when it starts: programs and vehicles that do not fit."""

import functools
import re
from collections.abc import Callable
from typing import Any

from xtdrone_core import FleetModel, Scenario, Vehicle, XtdroneError
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.scenario import arguments

# What some Agents fly, by their names: the scenario's option, and what it is.
_FLOWN = {"mission": ("mission", "a plan"), "race": ("track", "a track, such as eight")}


def nothing_to_fly(scenario: Scenario, agent: str) -> tuple[str, str] | None:
    """Returns the field and the reason where an Agent lacks what it flies along."""
    option, words = _FLOWN.get(agent, ("", ""))
    if not option or getattr(scenario, option):
        return None
    return option, f"agent '{agent}' flies {words}: give its name or file here"


def missing_program(scenario: Scenario, ready: dict[str, dict[str, str]]) -> tuple[str, str] | None:
    """Returns the field and the reason where an engine or a flight stack is not installed.

    Args:
        scenario: The scenario.
        ready: What is there, by names of engines and flight stacks; see form.description().
    """
    wanted = [("engine", scenario.engine)]
    if not scenario.px4:  # another build is given
        wanted += [("autopilot", name) for name in scenario.autopilots]
    for field, name in wanted:
        found = ready.get(name)
        if found and not found["there"]:
            return field, f"'{name}' is not installed here: {found['how']}"
    return None


def not_hovering(scenario: Scenario, agent: type) -> str:
    """Returns why a vehicle cannot be flown by an Agent that takes off and hovers, or ""."""
    if not issubclass(agent, FlightAgent):
        return ""
    grounded = [spec.name for spec in scenario.vehicles if not _hovers(spec.type)]
    return (
        f"{', '.join(grounded[:3])} cannot hover, as all vehicles of this agent must: "
        "choose agent mission, or another type"
        if grounded
        else ""
    )


def unfit_setting(agent: type, words: dict[str, str], n: int) -> tuple[str, str] | None:
    """Returns the option and the reason where an Agent cannot fly n vehicles; None where it can.

    Args:
        agent: Its class.
        words: Its options as texts.
        n: Number of vehicles.
    """
    known = arguments.arguments_of(agent, words)
    try:
        _made(agent, words, n)
    except XtdroneError as error:
        return _blamed(str(error), agent, words, n, known), str(error)
    return None


def _made(agent: Callable[..., Any], words: dict[str, str], n: int) -> None:
    """Makes an Agent, as a flight does."""
    given = [f"{name}={value}" for name, value in words.items()]
    settings = arguments.read("agent", agent, given)  # type: ignore[arg-type]  # a class
    agent(n, on_event=lambda t_us, name, **values: None, **settings)


def _blamed(
    reason: str, agent: type, words: dict[str, str], n: int, known: dict[str, Any]
) -> str:  # known: Arguments
    """Returns the option that a refusal is about: without its value, or with its name in quotes."""
    for name in words:
        try:
            _made(agent, {key: value for key, value in words.items() if key != name}, n)
        except XtdroneError:
            continue
        return name
    quoted = set(re.findall(r"'([^']+)'", reason))
    for name, argument in known.items():
        text = words.get(name, str(argument.row()["default"]))
        if quoted & set(re.split(r"[,\s]+", text)):
            return name
    return ""


@functools.lru_cache(maxsize=256)
def _hovers(kind: str) -> bool:
    """Whether vehicles of a type can hover; those that cannot be read are refused elsewhere."""
    from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER, vehicle_types
    from xtdrone_sim.vehicles.sdf import load_vehicle

    try:
        model: Vehicle = load_vehicle(kind)
    except XtdroneError:
        return True
    return bool(vehicle_types(FleetModel.of([model]))[0] == MULTICOPTER)
