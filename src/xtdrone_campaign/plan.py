"""The plan of a campaign: which flights, in which order."""

import argparse
import dataclasses
import hashlib
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xtdrone_core import Scenario, files, registry
from xtdrone_core.contracts import SettableParameters
from xtdrone_core.errors import shown, unknown_name
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario import arguments, scenario_options
from xtdrone_core.scenario.options import number, pair

from . import batch, sweep
from .errors import CampaignError
from .flight import Flight

if TYPE_CHECKING:
    from xtdrone_autopilot.parameters.store import Parameter

MAX_FLIGHTS = 100_000
FILE = "plan.json"
# Quantities of the wind beside the scenario's option `wind`: what they add to it.
AIR = {"gust": "gust=10:5:{:.12g},0,0", "dryden": "dryden={:.12g}"}
_AIR_HELP = {
    "gust": "peak of a gust to the east, from 10 s on for 5 s [m/s]",
    "dryden": "turbulence: mean wind at 20 ft [m/s]",
}
# Options of a scenario that say how it runs here, or have an option of their own.
NOT_VARIED = {
    "speed": "flights run as fast as possible",
    "gui": "flights have no window",
    "instance": "each worker has its own",
    "name": "it names the campaign",
    "seed": "give --seeds",
    "log": "give --folders to keep the logs",
    "key": "flights have no links",
    "remote": "flights have no links",
}
_FILE_OPTIONS = "mission", "params", "world"  # may name a file, whose contents count
_LOCAL_OPTIONS = "name", "speed", "gui", "instance"  # options that change no flight


@dataclass(frozen=True)
class Plan:
    """Flights of one campaign.

    Attributes:
        agent: A name, module:Class or FILE.py:Class.
        varied: Values of each quantity that varies, by its name, in the order of --vary.
        combinations: Every combination of those values, the last quantity varying fastest.
        seeds: Each combination is flown once with each.
        flights: One for each combination, with the first seed.
        definition: Plain data that defines all flights; two plans are equal if it is.
    """

    agent: str
    varied: Mapping[str, tuple[str, ...]]
    combinations: tuple[Mapping[str, str], ...]
    seeds: tuple[int, ...]
    flights: tuple[Flight, ...]
    definition: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.combinations) * len(self.seeds)

    def values(self, index: int) -> tuple[Mapping[str, str], int]:
        """Returns the varied values and the seed of a flight."""
        return self.combinations[index // len(self.seeds)], self.seeds[index % len(self.seeds)]

    def flight(self, index: int, folder: Path | None = None) -> Flight:
        """Returns a flight; it leaves its run folder below `folder`, if one is given."""
        combination, seed = divmod(index, len(self.seeds))
        flight = self.flights[combination]
        return dataclasses.replace(
            flight,
            index=index,
            scenario={**flight.scenario, "seed": self.seeds[seed]},
            folder="" if folder is None else str(folder / f"{index:05d}"),
        )

    def groups(self, indices: Sequence[int], largest: int) -> list[list[int]]:
        """Groups flights that differ in their seeds only, which follow each other."""
        groups: list[list[int]] = []
        for k in indices:
            one = groups[-1] if groups else []
            if (
                one
                and len(one) < largest
                and k == one[-1] + 1
                and k % len(self.seeds)
                and self.values(k)[1] == self.values(one[-1])[1] + 1
            ):
                one.append(k)
            else:
                groups.append([k])
        return groups

    def keep(self, folder: Path, command: str) -> None:
        """Writes the plan to the folder of the campaign, or checks that it is there.

        Args:
            folder: Folder of the campaign.
            command: Command line that continues it.

        Raises:
            CampaignError: The folder holds another campaign.
        """
        path = folder / FILE
        if not path.exists():
            run_folder.write_json(
                path, {"command": command, "flights": len(self), "definition": self.definition}
            )
            return
        there = files.check_keys(
            files.read_json(path, "plan", error=CampaignError),
            "a plan",
            ["definition"],
            CampaignError,
        )
        before = files.check_keys(there["definition"], "the definition", error=CampaignError)
        other = [
            key
            for key in {**self.definition, **before}
            if _canonical(before.get(key)) != _canonical(self.definition.get(key))
        ]
        if other:
            raise CampaignError(
                f"'{folder}' holds another campaign, whose {' and '.join(other)} "
                f"differ{'s' * (len(other) == 1)}: repeat its command, which is "
                f"in its {FILE}, or give --out another folder"
            )


def make(args: argparse.Namespace) -> Plan:
    """Returns the plan of a command line, see commands.py; checks every combination.

    Raises:
        XtdroneError: A quantity, a value or a combination is not allowed.
    """
    agent, given = subject(args)
    for name, allowed in (("speed", ("0", "0.0")), ("gui", ("false", "0"))):
        if str(getattr(given, name) or allowed[0]) not in allowed:
            raise CampaignError(f"--{name} cannot be given: {NOT_VARIED[name]}, leave it out")
    agent_class = registry.AGENTS.load(agent)
    varied: dict[str, tuple[str, ...]] = {}
    for word in args.vary:
        name, spec = _pair(word)
        if name in varied:
            raise CampaignError(f"--vary gives {name} twice: give all its values in one")
        _check_name(name, given, args.set, agent, agent_class)
        varied[name] = sweep.parse(name, spec)
    base = scenario_options.scenario_of(given, speed=0.0)
    seeds = sweep.parse_seeds(args.seeds, base.seed)
    count = math.prod(map(len, varied.values())) * len(seeds)
    if count > MAX_FLIGHTS:
        raise CampaignError(
            f"the campaign has {count} flights: give fewer values, at most "
            f"{MAX_FLIGHTS} flights are flown"
        )
    combinations = tuple(
        dict(zip(varied, values)) for values in itertools.product(*varied.values())
    )
    flights = tuple(
        _flight(values, given, base, args, agent, agent_class) for values in combinations
    )
    if args.batch:
        usual = _plain(Scenario.from_dict({}))
        for flight in flights:
            batch.check(flight, usual)
    definition = {
        "agent": agent,
        "batch": args.batch,
        "set": list(args.set),
        "scenario": _plain(base),
        "vary": {name: list(values) for name, values in varied.items()},
        "seeds": list(seeds),
        "longest": args.longest,
        "files": _digests([flight.scenario for flight in flights]),
    }
    return Plan(agent, varied, combinations, seeds, flights, definition)


def subject(args: argparse.Namespace) -> tuple[str, argparse.Namespace]:
    """Returns a command line's Agent, and its options of the scenario.

    Raises:
        CampaignError: Two Agents or two scenarios are given.
    """
    named = args.subject
    if not named.endswith((".yaml", ".yml")):
        if args.agent:
            raise CampaignError(
                f"two Agents are given, '{named}' and '{args.agent}': leave out "
                "--agent, or name a scenario's YAML file in place of the first"
            )
        return named, args
    if args.scenario:
        raise CampaignError(f"two scenarios are given, '{named}' and '{args.scenario}': give one")
    given = argparse.Namespace(**{**vars(args), "scenario": named})
    flies_missions = bool(
        args.mission
        or Scenario.load(named).mission
        or any(word.startswith("mission=") for word in args.vary)
    )
    return args.agent or ("mission" if flies_missions else "square"), given


def quantities(agent_class: type, settings: Sequence[str] = ()) -> dict[str, str]:
    """Returns what --vary takes beside PX4's parameters, with a line on each.

    Args:
        agent_class: Class of the Agent, whose options may vary.
        settings: NAME=VALUE that it is given.
    """
    own = {
        name: scenario_options.meaning(option)
        for name, (_, option, _) in scenario_options.declared().items()
        if name not in NOT_VARIED
    }
    known = arguments.arguments_of(agent_class, dict(pair("set", each) for each in settings))
    return {**{name: argument.meaning() for name, argument in known.items()}, **_AIR_HELP, **own}


def _pair(word: str) -> tuple[str, str]:
    """Returns name and values of one --vary; the name of a sensor's parameter is KIND.NAME."""
    name, equals, spec = word.partition("=")
    if not equals or not name.replace(".", "", 1).isidentifier():
        raise CampaignError(
            f"cannot read --vary '{shown(word)}': write NAME=VALUES, for example wind=0..12/2"
        )
    return name, spec


def _check_name(
    name: str, given: argparse.Namespace, settings: Sequence[str], agent: str, agent_class: type
) -> None:
    """Refuses a quantity that is unknown, cannot vary, or is given beside --vary."""
    if name in NOT_VARIED:
        raise CampaignError(f"{name} cannot vary: {NOT_VARIED[name]}")
    if "." in name:  # a sensor's; its name is checked with its values
        return
    known = quantities(agent_class, settings)
    if name not in known and name not in _parameters():
        near = _parameters() if name.isupper() else known
        raise CampaignError(
            unknown_name(
                "quantity" if near is known else "PX4 parameter",
                name,
                near,
                f"an option of agent '{agent}'" if near is not known else "a PX4 parameter",
            )
        )
    by = (
        "--set"
        if any(pair("set", each)[0] == name for each in settings)
        else (f"--{name}" if getattr(given, name, None) not in (None, "") else "")
    )
    if by and name in (*scenario_options.declared(), *known):
        raise CampaignError(f"{name} is given by {by} and by --vary: leave out one of them")


def _flight(
    values: Mapping[str, str],
    given: argparse.Namespace,
    base: Scenario,
    args: argparse.Namespace,
    agent: str,
    agent_class: type,
) -> Flight:
    """Returns the flight of a combination, checked as far as it can be without flying."""
    options, air, sensors, words, parameters = {}, [], [], list(args.set), {}
    declared, own = scenario_options.declared(), arguments.arguments_of(agent_class)
    for name, value in values.items():
        if name in declared:
            options[name] = _eastward(value) if name == "wind" else value
        elif name in AIR:
            amount = number(name, value, 0.0, 100.0, unit="m/s")
            air += [AIR[name].format(amount)] * (amount > 0.0)
        elif "." in name:
            sensors.append(f"{name}={value}")
        elif name in _parameters() and name not in own:
            kind = _parameters()[name].type
            parameters[name] = float(number(name, value, whole=kind is int))
        else:
            words.append(f"{name}={value}")
    if air:
        options["wind"] = " ".join([options.get("wind", base.wind), *air]).strip()
    if sensors:
        options["sensors"] = "; ".join(
            filter(None, [options.get("sensors", base.sensors), *sensors])
        )
    scenario = (
        scenario_options.scenario_of(argparse.Namespace(**{**vars(given), **options}), speed=0.0)
        if options
        else base
    )
    _check_parts(scenario)
    fixed = [
        name
        for name in scenario.autopilots
        if not issubclass(registry.AUTOPILOTS.load(name), SettableParameters)
    ]
    if parameters and fixed:
        raise CampaignError(
            f"{min(parameters)} cannot vary with autopilot '{fixed[0]}',"
            " which takes parameters from files: vary params, or fly the embedded "
            "autopilot"
        )
    arguments.read(f"agent '{agent}'", agent_class, words)
    return Flight(0, agent, tuple(words), _plain(scenario), parameters, args.longest)


def _eastward(text: str) -> str:
    """Returns a varied wind as the scenario takes it: one number blows to the east."""
    try:
        return f"{float(text):.12g},0,0"
    except ValueError:
        return text


def _check_parts(scenario: Scenario) -> None:
    """Refuses wind, waves and sensors that would be refused when the simulation is built."""
    from sensor_models.changes import parse_changes
    from sensor_models.parameters import preset
    from xtdrone_sim.plant.wind import WindParameters
    from xtdrone_sim.world.waves import Waves

    WindParameters.parse(scenario.wind)
    Waves.parse(scenario.waves)
    parse_changes(scenario.sensors)
    if scenario.gps:
        preset("gps", scenario.gps)


def _parameters() -> Mapping[str, "Parameter"]:
    from xtdrone_autopilot.parameters import store

    return store.table()


def _plain(scenario: Scenario) -> dict[str, Any]:
    """Returns a scenario as plain data, without local options; files by their whole paths."""
    plain = {
        name: value for name, value in scenario.to_dict().items() if name not in _LOCAL_OPTIONS
    }
    for holder, key in (
        *((plain, name) for name in _FILE_OPTIONS),
        *((vehicle, "type") for vehicle in plain["vehicles"]),
    ):
        if files.is_file(holder[key]):  # a worker may be in another folder
            holder[key] = str(Path(holder[key]).absolute())
    return plain


def _digests(scenarios: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Returns the SHA-256 of each file that an option names."""
    named = {
        path
        for scenario in scenarios
        for path in (
            *(scenario[option] for option in _FILE_OPTIONS),
            *(vehicle["type"] for vehicle in scenario["vehicles"]),
        )
        if files.is_file(path)
    }
    return {path: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in sorted(named)}


def _canonical(data: object) -> str:
    return json.dumps(data, sort_keys=True)
