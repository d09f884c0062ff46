"""A study: what may change, how it is flown, and what is good; read from a YAML file."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xtdrone_campaign.flight import FIGURES, Flight
from xtdrone_core import Scenario, files, registry, resources
from xtdrone_core.errors import shown, unknown_name
from xtdrone_core.files import check_keys, read_yaml
from xtdrone_core.scenario import arguments
from xtdrone_sim.vehicles.report import vehicle_figures
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.vehicles.sdf_numbers_by_path import SdfNumbers

from .errors import OptimiseError
from .expressions import Constraint, Expression

METHODS = ("cma", "nsga2")
MODEL = "model"  # prefix of the figures that a vehicle has without being flown
_KEYS = (
    "vehicle",
    "variables",
    "set",
    "parameters",
    "flights",
    "objectives",
    "constraints",
    "method",
    "population",
    "evaluations",
    "seed",
)
_FLIGHT_KEYS = ("agent", "set", "scenario", "seeds", "longest", "batch", "call")
_MAX_SEEDS = 1000


@dataclass(frozen=True)
class Variable:
    """A number that is chosen."""

    name: str
    low: float
    high: float
    start: float


@dataclass(frozen=True)
class FlightPlan:
    """A flight of every candidate.

    Attributes:
        name: Prefix of its figures.
        flight: What is flown; the vehicle is filled in.
        seeds: It is flown once with each.
        settings: Expressions of the Agent's options, by name.
        batch: Whether a batch flies it, on the true state.
        call: module:function that returns figures instead of a flight; empty: none.
    """

    name: str
    flight: Flight
    seeds: tuple[int, ...]
    settings: Mapping[str, Expression]
    batch: bool = False
    call: str = ""


@dataclass(frozen=True)
class Study:
    """A study; its fields are those of the YAML file."""

    name: str
    vehicle: str
    variables: tuple[Variable, ...]
    numbers: Mapping[str, Expression]  # by the path of a number in the SDF file
    parameters: Mapping[str, Expression]  # by the name of PX4's parameter
    flights: tuple[FlightPlan, ...]
    objectives: Mapping[str, Expression]  # all are made small
    constraints: tuple[Constraint, ...]
    method: str
    population: int
    evaluations: int
    seed: int
    definition: Mapping[str, Any]  # plain data that defines all of it

    @property
    def start(self) -> dict[str, float]:
        """The values with which it begins."""
        return {one.name: one.start for one in self.variables}


def read(path: Path | str) -> Study:
    """Reads a study, and checks every name in it.

    Raises:
        XtdroneError: It cannot be read; a path, a parameter, an option or a figure means nothing.
    """
    data = read_yaml(path, "study", error=OptimiseError)
    check_keys(data, f"'{path}'", ("vehicle", "variables", "objectives"), OptimiseError)
    for key in data:
        if key not in _KEYS:
            raise OptimiseError(f"'{path}': {unknown_name('entry', str(key), _KEYS)}")
    vehicle = _vehicle(Path(path), str(data["vehicle"]))
    variables = tuple(_variable(name, each) for name, each in _mapping(data, "variables").items())
    if not variables:
        raise OptimiseError(f"'{path}' has no variables: nothing can be optimised")
    names = [one.name for one in variables]
    numbers = _expressions(data, "set", names)
    parameters = _expressions(data, "parameters", names)
    file = SdfNumbers(resources.vehicle_sdf(vehicle))
    for place in numbers:
        file.numbers(place)
    _check_parameters(parameters)
    flights = tuple(
        _flight(name, each, vehicle, names) for name, each in _mapping(data, "flights").items()
    )
    known = [*names, *_figures(vehicle, flights)]
    objectives = {
        name: Expression(text, f"objective {name}")
        for name, text in _mapping(data, "objectives").items()
    }
    constraints = tuple(Constraint(text) for text in data.get("constraints") or ())
    callers = {f"{one.name}." for one in flights if one.call}
    graded: tuple[Expression | Constraint, ...] = (*objectives.values(), *constraints)
    for each in graded:
        own = [name for name in each.names if any(map(name.startswith, callers))]
        each.check([*known, *own])
    method = str(data.get("method", "cma" if len(objectives) == 1 else "nsga2"))
    _check_method(method, len(objectives))
    return Study(
        name=Path(path).stem,
        vehicle=vehicle,
        variables=variables,
        numbers=numbers,
        parameters=parameters,
        flights=flights,
        objectives=objectives,
        constraints=constraints,
        method=method,
        population=_whole(data, "population", 4 + 2 * len(variables), 2, 10_000),
        evaluations=_whole(data, "evaluations", 200, 2, 1_000_000),
        seed=_whole(data, "seed", 1, 0, 2**31 - 1),
        definition={key: data[key] for key in sorted(data)},
    )


def _vehicle(path: Path, name: str) -> str:
    """Returns a vehicle's name, or the path of its file beside the study or from here."""
    beside = path.parent / name
    for place in (beside, Path(name).expanduser()):
        if "/" in name and (files.is_file(place) or files.is_folder(place)):
            name = str(place.absolute())
            break
    load_vehicle(name)
    return name


def _mapping(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key) or {}
    if not isinstance(value, dict):
        raise OptimiseError(f"{key} of a study is '{shown(str(value))}': give names with values")
    return {str(name): each for name, each in value.items()}


def _variable(name: str, given: Any) -> Variable:  # of YAML
    if not name.isidentifier():
        raise OptimiseError(f"variable '{shown(name)}' is no name: give letters, digits and _")
    check_keys(given, f"variable {name}", ("from", "to"), OptimiseError)
    numbers: list[float] = []
    for key in ("from", "to", "start"):
        value = given.get(key, None if key == "start" else math.nan)
        if value is None:
            value = 0.5 * (numbers[0] + numbers[1])
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise OptimiseError(f"{key} of variable {name} is '{shown(str(value))}', no number")
        numbers.append(float(value))
    low, high, start = numbers
    if not low < high or not low <= start <= high:
        raise OptimiseError(
            f"variable {name} is from {low:g} to {high:g} with start {start:g}: give from < to, "
            "and a start between them"
        )
    return Variable(name, low, high, start)


def _expressions(data: Mapping[str, Any], key: str, names: list[str]) -> dict[str, Expression]:
    out = {}
    for place, text in _mapping(data, key).items():
        out[place] = Expression(text, f"{key} {place}")
        out[place].check(names)
    return out


def _check_parameters(parameters: Mapping[str, Expression]) -> None:
    from xtdrone_autopilot.parameters import store

    for name in parameters:
        if name not in store.table():
            raise OptimiseError(unknown_name("PX4 parameter", name, store.table()))


def _flight(name: str, given: Any, vehicle: str, names: list[str]) -> FlightPlan:  # of YAML
    given = {} if given is None else given
    check_keys(given, f"flight {name}", (), OptimiseError)
    for key in given:
        if key not in _FLIGHT_KEYS:
            raise OptimiseError(f"flight {name}: {unknown_name('entry', str(key), _FLIGHT_KEYS)}")
    if not name.isidentifier() or name == MODEL:
        raise OptimiseError(f"flight '{shown(name)}' needs another name: letters, digits and _")
    agent = str(given.get("agent", "square"))
    settings = {
        key: Expression(text, f"option {key} of flight {name}")
        if isinstance(text, str) and _is_of(text, names)
        else text
        for key, text in _mapping(given, "set").items()
    }
    fixed = {k: v for k, v in settings.items() if not isinstance(v, Expression)}
    chosen = {k: v for k, v in settings.items() if isinstance(v, Expression)}
    words = tuple(f"{key}={value}" for key, value in fixed.items())
    if not given.get("call"):
        agent_class = registry.AGENTS.load(agent)
        known = arguments.arguments_of(agent_class, fixed)
        for key in settings:
            if key not in known:
                raise OptimiseError(
                    f"flight {name}: {unknown_name(f'option of agent {agent!r}', key, known)}"
                )
        arguments.read(f"agent '{agent}'", agent_class, words)
    scenario = Scenario.from_dict({**_mapping(given, "scenario"), "vehicles": [{"type": vehicle}]})
    longest = given.get("longest", 300.0)
    if not isinstance(longest, (int, float)) or not 0.0 < longest < 1e5:
        raise OptimiseError(f"longest of flight {name} is '{shown(str(longest))}': give seconds")
    plain = scenario.to_dict()
    flight = Flight(0, agent, words, plain, {}, float(longest))
    seeds = _seeds(name, given.get("seeds", 1), scenario.seed)
    return FlightPlan(
        name, flight, seeds, chosen, bool(given.get("batch")), str(given.get("call", ""))
    )


def _is_of(text: str, names: list[str]) -> bool:
    """Tells whether an option is an expression of variables, and no word."""
    try:
        return any(name in names for name in Expression(text, "option").names)
    except OptimiseError:
        return False


def _seeds(name: str, given: Any, first: int) -> tuple[int, ...]:  # of YAML
    if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= _MAX_SEEDS:
        return tuple(range(first, first + given))
    if isinstance(given, list) and given and all(isinstance(each, int) for each in given):
        return tuple(given)
    raise OptimiseError(
        f"seeds of flight {name} is '{shown(str(given))}': give how many, up to {_MAX_SEEDS}, or a "
        "list of them"
    )


def _figures(vehicle: str, flights: tuple[FlightPlan, ...]) -> list[str]:
    """Returns the names of all figures."""
    own = [f"{MODEL}.{name}" for name in model_figures(vehicle)]
    return own + [f"{one.name}.{figure}" for one in flights if not one.call for figure in FIGURES]


def model_figures(vehicle: str) -> dict[str, Any]:
    """Returns the numbers that a vehicle has without being flown, or lists of them."""
    found = vehicle_figures(load_vehicle(vehicle))
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, (int, float))
        or (isinstance(value, list) and value and all(isinstance(v, (int, float)) for v in value))
    }


def _check_method(method: str, objectives: int) -> None:
    if method not in METHODS:
        raise OptimiseError(unknown_name("method", method, METHODS))
    if not objectives:
        raise OptimiseError("the study has no objectives: give at least one")
    if method == "cma" and objectives > 1:
        raise OptimiseError(
            f"method cma takes one objective, and the study has {objectives}: take nsga2, or give "
            "a sum of them as one"
        )


def _whole(data: Mapping[str, Any], key: str, default: int, low: int, high: int) -> int:
    value = data.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise OptimiseError(
            f"{key} of a study is '{shown(str(value))}': give a whole number from {low} to {high}"
        )
    return value


def with_vehicle(flight: Flight, vehicle: str) -> Flight:
    """Returns a flight by another vehicle, at the same place."""
    scenario = dict(flight.scenario)
    scenario["vehicles"] = [{**scenario["vehicles"][0], "type": vehicle}]
    return dataclasses.replace(flight, scenario=scenario)
