"""The form: what it offers, and whether what was filled in can be flown.

A form is plain data: {"vehicles": [{type, name, pos, yaw}], "options": {NAME: VALUE}, "agent": "",
"settings": {NAME: TEXT}}. Options are those that Scenario declares, whatever they are.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from xtdrone_core import Scenario, XtdroneError, listing, registry
from xtdrone_core.errors import shown
from xtdrone_core.scenario import arguments, scenario_options
from xtdrone_core.scenario.options import checked
from xtdrone_core.scenario.vehicles import FLEET, fleet
from xtdrone_sim import late_options

from ..errors import WebError
from . import flyable

_OF_THE_PAGE = ("web", "web_address", "gui")  # options that the page itself decides
# Where the form has an option; all others are under the last heading.
GROUPS = {
    "World": ("world", "wind", "disturbances"),
    "Engine and flight stack": ("engine", "autopilot", "px4", "px4_loss"),
    "Sensors": ("gps", "sensors", "pose_source"),
    "Flight": ("speed", "seed", "mission", "params", "name", "log", "instance"),
}
_KINDS = {str: "text", int: "integer", float: "number", bool: "boolean"}
_KEYS = {"vehicles", "options", "agent", "settings"}
MAX = 250  # vehicles: with a page there are MAVLink links


class Refused(WebError):
    """A form that cannot be flown.

    Attributes:
        field: Name of the option, "vehicles", "agent" or "set.NAME"; "" of all of it.
    """

    def __init__(self, field: str, text: str):
        """Refuses the value of a field, with the reason in one line."""
        super().__init__(text)
        self.field = field


@dataclass(frozen=True)
class Plan:
    """A scenario and the Agent that flies it; without one it waits for pilots."""

    scenario: Scenario
    agent: str
    settings: dict[str, str]


def description() -> dict[str, Any]:
    """Returns everything that the form offers, from where it is declared."""
    schema = listing.schema()["properties"]
    options = []
    for name, (kind, option, default) in scenario_options.declared().items():
        if name in FLEET or name in _OF_THE_PAGE:
            continue
        group = next((group for group, names in GROUPS.items() if name in names), "More")
        options.append(
            {
                "name": name,
                "group": group,
                "kind": _KINDS[kind],
                "help": option.help,
                "unit": option.unit,
                "default": "" if option.unset else default,
                "unset": option.unset,
                "choices": [word for word in option.choices if word],
                "offered": _offered(option.names),
                "minimum": schema[name].get("minimum"),
                "maximum": schema[name].get("maximum"),
            }
        )
    return {
        "options": options,
        "groups": [*GROUPS, "More"],
        "maximum": MAX,
        "agents": listing.agents(),
        "engines": listing.engines(),
        "autopilots": listing.autopilots(),
        "presets": _presets(),
        "ready": _ready(),
    }


def _offered(names: Callable[[], Iterable[str]] | None) -> list[str]:
    try:
        return list(names()) if names else []
    except XtdroneError:
        return []


def _presets() -> dict[str, list[str]]:
    """Presets of each kind of sensor that `sensors` may change; gps has an option of its own."""
    from sensor_models.parameters import presets
    from sensor_models.sensor import sensors

    return {
        kind: list(names)
        for kind, names in presets().items()
        if kind in sensors() and kind != "gps"
    }


def _ready() -> dict[str, dict[str, str]]:
    """Returns what `xtdrone doctor` finds of Gazebo and PX4: text, state and advice."""
    from xtdrone_control.doctor import machine

    findings = {finding.subject.lower(): finding for finding in machine.programs()}
    how = {"gazebo": "run scripts/setup_gazebo.sh", "px4": "set PX4_BUILD, or give px4 below"}
    missing = {
        name: "not set" in finding.text or finding.level != "ok"
        for name, finding in findings.items()
    }
    return {
        name: {
            "text": finding.text,
            "there": "" if missing[name] else "yes",
            "how": finding.advice or (how[name] if missing[name] else ""),
        }
        for name, finding in findings.items()
    }


def read(data: Any) -> Plan:  # data: JSON from a page, checked here
    """Returns the plan of a form.

    Raises:
        Refused: It cannot be flown.
    """
    if not isinstance(data, dict) or not set(data) <= _KEYS:
        raise Refused("", f"a form is an object with {', '.join(sorted(_KEYS))}")
    given, settings = data.get("options") or {}, data.get("settings") or {}
    vehicles, agent = data.get("vehicles"), data.get("agent") or ""
    if not isinstance(given, dict) or not isinstance(settings, dict) or not isinstance(agent, str):
        raise Refused("", "options and settings are objects, agent is a name")
    options = _options(given)
    if not isinstance(vehicles, list) or not 1 <= len(vehicles) <= MAX:
        count = len(vehicles) if isinstance(vehicles, list) else 0
        raise Refused("vehicles", f"{count} vehicles are not allowed: place 1 to {MAX} on the map")
    scenario = _scenario(vehicles, options)
    return Plan(scenario, agent, _settings(agent, settings))


def check(plan: Plan) -> None:
    """Checks that a plan can be flown on this machine, and by its Agent.

    Raises:
        Refused: A program is not installed, or the Agent does not fly so many or such vehicles.
    """
    if found := flyable.missing_program(plan.scenario, _ready()):
        raise Refused(*found)
    if not plan.agent:
        return
    if found := flyable.nothing_to_fly(plan.scenario, plan.agent):
        raise Refused(*found)
    kind = registry.AGENTS.load(plan.agent)
    if found := flyable.unfit_setting(kind, plan.settings, plan.scenario.n):
        option, reason = found
        raise Refused(f"set.{option}" if option else "agent", reason)
    if reason := flyable.not_hovering(plan.scenario, kind):
        raise Refused("vehicles", reason)


def written(plan: Plan) -> dict[str, Any]:
    """Returns the form of a plan: options that are not at their defaults."""
    values = plan.scenario.to_dict()
    usual = Scenario(vehicles=fleet("iris", 1)).to_dict()
    options = {
        name: value
        for name, value in values.items()
        if name != "vehicles" and name not in _OF_THE_PAGE and value != usual[name]
    }
    if plan.agent:  # an Agent flies as fast as possible where no speed is given
        options["speed"] = plan.scenario.speed
    return {
        "vehicles": values["vehicles"],
        "options": options,
        "agent": plan.agent,
        "settings": dict(plan.settings),
    }


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """Returns the values of the options that are given, each in its own type."""
    known, values = scenario_options.declared(), {}
    for name, value in given.items():
        if name not in known or name in FLEET or name in _OF_THE_PAGE:
            raise Refused("", f"'{shown(name)}' is no option of this form")
        if value in (None, ""):
            continue
        kind, option, _ = known[name]
        try:
            values[name] = checked(name, kind, option, value)
            late_options.read(name, values[name])
        except XtdroneError as error:
            raise Refused(name, str(error)) from error
    return values


def _scenario(vehicles: list[object], options: dict[str, Any]) -> Scenario:
    """Returns the scenario; an error names the first value without which there is none."""
    try:
        return Scenario.from_dict({"vehicles": vehicles, **options})
    except XtdroneError as error:
        for name in options:
            rest = {key: value for key, value in options.items() if key != name}
            try:
                Scenario.from_dict({"vehicles": vehicles, **rest})
            except XtdroneError:
                continue
            raise Refused(name, str(error)) from error
        raise Refused("vehicles", str(error)) from error


def _settings(agent: str, settings: dict[str, object]) -> dict[str, str]:
    """Returns the options of the Agent as texts, those left out that are empty."""
    if not agent:
        return {}
    try:
        registry.AGENTS.check(agent)
        kind = registry.AGENTS.load(agent)
    except XtdroneError as error:
        raise Refused("agent", str(error)) from error
    words = {str(name): str(value) for name, value in settings.items() if str(value) != ""}
    for name, value in words.items():
        try:
            known = arguments.arguments_of(kind, words)
            if name in known:
                known[name].read(value)
        except XtdroneError as error:
            raise Refused(f"set.{name}", str(error)) from error
    try:
        arguments.read(f"agent '{agent}'", kind, [f"{k}={v}" for k, v in words.items()])
    except XtdroneError as error:
        raise Refused("agent", str(error)) from error
    return words
