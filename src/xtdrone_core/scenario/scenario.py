"""A scenario: which vehicles, where, in which world, on which engine and autopilot.

One frozen object, made from command-line options, launch arguments or a YAML
file, and stored as scenario.yaml in each run folder. It is validated
completely at construction, so that no error is left for the flight.
"""

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import files, registry, resources
from ..errors import ScenarioError, shown, unknown_name
from ..mavlink import key_file
from ..runs import run_folder
from ..runs.ports import INSTANCES, VARIABLE, Ports, default_instance
from . import declared as declarations
from .declared import DeclaredOptions, Settings
from .disturbances import parse_disturbances
from .loads import parse_loads
from .models import parse_models
from .options import Option, check_address, checked, number, option, options_of
from .vehicles import (
    FLEET,
    MAX_FLEET,
    VehicleSpec,
    check_vehicles,
    fleet,
    parse_vehicles,
    plain_vehicle,
    specs_in,
    specs_of,
)
from .weather import check_rendering


class _TakesDeclared(type):
    """Makes a Scenario from keywords that may be all options: of a fleet, autopilots, stations."""

    def __call__(cls, *args: Any, **values: Any) -> Any:  # as Scenario()
        if fleet_of := {name: values.pop(name) for name in ("vehicle", "n") if name in values}:
            if args or "vehicles" in values:
                raise ScenarioError("give vehicles, or vehicle and n: not both")
            kind, n = fleet_of.get("vehicle", "iris"), fleet_of.get("n", 1)
            values["vehicles"] = fleet(checked("vehicle", str, FLEET["vehicle"], kind), n)
        own = {field.name for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
        others = {name: values.pop(name) for name in [*values] if name not in own}
        values["declared"] = declarations.settings_of(others, values.get("declared", ()))
        return super().__call__(*args, **values)


@dataclass(frozen=True)
class Scenario(metaclass=_TakesDeclared):
    """Everything that a run depends on.

    The options of autopilots and stations are declared beside their code. As keywords and as
    attributes they are options like the others; settings() returns them by their declaration.

    `vehicles` may be given as parse_vehicles() takes them, as a vehicle composed in Python, or as
    a list of both and of VehicleSpecs; instead of it, `vehicle` and `n` are their type and number.
    In a scenario each has its number, and an autopilot only where that is not the scenario's.

    Examples:
        >>> import xtdrone as xd
        >>> scenario = xd.Scenario(vehicles="iris*2, typhoon_h480", gps="rtk", wind="2,0,0")
        >>> scenario.n, scenario.vehicles[2].name
        (3, 'typhoon_h480_2')
    """

    vehicles: tuple[VehicleSpec, ...]
    world: str = option("empty", "a name from worlds/, or an SDF file", names=resources.world_names)
    engine: str = option(
        "embedded", "physics engine, module:Class or FILE.py:Class", names=registry.ENGINES.names
    )
    autopilot: str = option(
        "embedded", "flight stack, module:Class or FILE.py:Class", names=registry.AUTOPILOTS.names
    )
    speed: float = option(
        1.0,
        "simulated seconds per second; 0 = as fast as possible",
        minimum=0.0,
        affects_flight=False,
    )
    seed: int = option(1, "seed of all random numbers", minimum=0)
    gps: str = option(
        "",
        "preset of every GPS receiver, for example rtk or m8n",
        unset="as the vehicle's SDF says",
        names=registry.completion("gps"),
    )
    sensors: str = option(
        "",
        "parameters of every vehicle's sensors: 'imu.preset=bmi088; gps.latency=0.3'",
        metavar="LIST",
        unset="as the vehicle's SDF says",
    )
    wind: str = option(
        "",
        "wind velocity 'E,N,U', or fields mean=E,N,U gust= dryden= field=",
        metavar="TEXT",
        unit="m/s",
        unset="as in the world's file",
    )
    waves: str = option(
        "",
        "waves of the world's water: significant height, or fields height= period= direction= "
        "spread= spectrum= start= seed=",
        metavar="TEXT",
        unit="m",
        unset="as in the world's file",
    )
    disturbances: str = option(
        "",
        "disturbances by simulated time [s]: '12: payload iris_0 0.3; "
        "20: rotor iris_0 2 0.0', also drain and charge",
        metavar="LIST",
        unset="none",
    )
    loads: str = option(
        "",
        "loads on cables: 'iris_0 0.5 1.5' hangs 0.5 kg on 1.5 m below a vehicle, "
        "'iris_0+iris_1 0.8 1.5 2.0' a bar of 2 m below two; separated by ';'",
        metavar="LIST",
        unset="none",
    )
    models: str = option(
        "",
        "models put into the world: 'parcel@3,0; NAME=MODEL@X,Y,Z,YAW', names from models/ or "
        "SDF files",
        metavar="LIST",
        unset="none",
    )
    pose_source: str = option(
        "sensors",
        "input of the estimator: its sensors, or as external vision the true pose, or that of a "
        "motion capture with its noise",
        choices=("sensors", "truth", "motion_capture"),
    )
    origin: str = option(
        "shared",
        "origin of local positions: one shared by all vehicles, or each vehicle's own start",
        choices=("shared", "own"),
    )
    namespace: str = option(
        "name",
        "ROS namespace of a vehicle: its name, as in /iris_0/mavros, or none for a fleet of one "
        "vehicle, /mavros",
        choices=("name", "none"),
        affects_flight=False,
    )
    rendering: str = option(
        "plain",
        "images of cameras: plain and fast, or realistic with sun, shadows, sky, weather and lens",
        choices=("plain", "realistic"),
    )
    time_of_day: str = option(
        "",
        "solar time in realistic images, as in 18:30",
        metavar="HH:MM",
        unset="as the world's <sky><time> says, or its light named sun",
    )
    weather: str = option(
        "",
        "weather in realistic images: clear, fog=200 (visibility in m) or rain=10 (mm/h)",
        metavar="TEXT",
        unset="clear, with the world's <fog>",
    )
    mission: str = option(
        "",
        "QGroundControl plan or QGC WPL text mission for every vehicle, shifted to its "
        "start: a file, or a name from docs/missions; or plans separated by commas, one "
        "for each vehicle, PLAN*COUNT for COUNT of them, moved from their planned home to "
        "their starts",
        metavar="FILE",
        unset="none",
        names=resources.mission_names,
    )
    track: str = option(
        "",
        "race track whose gates are put into the world and whose laps are "
        "timed: a name from worlds/tracks, or a YAML file",
        metavar="FILE",
        unset="none",
        names=resources.track_names,
    )
    ghost: str = option(
        "",
        "run whose best lap of the track flies along on the page, and whose "
        "times the laps are compared with",
        metavar="RUN",
        unset="none",
        names=run_folder.names,
        affects_flight=False,
    )
    params: str = option(
        "",
        "file of QGroundControl or MAVProxy for all vehicles, or a folder with NAME.params of each",
        metavar="FILE",
        unset="PX4's defaults",
    )
    unknown_params: str = option(
        "refuse",
        "parameters that PX4 v1.15 does not have: refuse the file, or skip them with a "
        "warning; a PX4 build of your own receives them",
        choices=("refuse", "skip"),
    )
    log: str = option(
        "auto",
        "flight logs (ULog) in the run folder; auto is full for one vehicle, fleet for more",
        choices=("auto", "full", "fleet", "identification", "none"),
    )
    name: str = option("run", "name of the run folder", metavar="NAME", affects_flight=False)
    key: str = option(
        "",
        "file of mode 600 with a passphrase: the ground station's and the "
        "offboard links accept and send only messages signed with it (MAVLink 2)",
        metavar="FILE",
        unset="no signatures, this machine only",
    )
    remote: str = option(
        "",
        "IPv4 address of another machine whose clients may connect; needs key",
        metavar="ADDRESS",
        unset="this machine only",
    )
    instance: int = option(
        default_factory=default_instance,
        help="number of this simulation, which shifts all ports, so that several run at once",
        minimum=0,
        maximum=INSTANCES - 1,
        launch=f"$(optenv {VARIABLE} 0)",
        affects_flight=False,
    )
    declared: tuple[DeclaredOptions, ...] = ()  # the options of autopilots and stations

    def __post_init__(self) -> None:
        object.__setattr__(self, "vehicles", specs_in(self.vehicles))
        if isinstance(self.world, os.PathLike):
            object.__setattr__(self, "world", os.fspath(self.world))
        for name, (field, declared) in options_of(type(self)).items():
            value = checked(name, field.type, declared, getattr(self, name))
            object.__setattr__(self, name, value)
        registry.ENGINES.check(self.engine)
        self._number()
        self._settle_autopilots()
        run_folder.check_name(self.name)
        check_vehicles(self.vehicles)
        if self.namespace == "none" and len(self.vehicles) > 1:
            raise ScenarioError(
                f"namespace 'none' is for one vehicle, and there are {len(self.vehicles)}: "
                "leave it away, or name the vehicles as in 'uav0=iris; uav1=iris'"
            )
        names = [vehicle.name for vehicle in self.vehicles]
        parse_disturbances(self.disturbances, names)
        parse_loads(self.loads, names)
        parse_models(self.models)
        resources.world_sdf(self.world)
        check_rendering(self.rendering, self.time_of_day, self.weather, self.engine)
        if self.track:
            resources.track_file(self.track)
        elif self.ghost:
            raise ScenarioError(
                f"ghost '{shown(self.ghost)}' needs a track: give --track NAME (track:=NAME)"
            )
        self._check_links()
        for settings in self.declared:
            settings.check(self)

    def __getattr__(self, name: str) -> Any:  # the type is that of the declared option
        for settings in self.__dict__.get("declared", ()):
            if name in options_of(type(settings)):
                return getattr(settings, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @classmethod
    def options(cls) -> dict[str, tuple[dataclasses.Field[Any], Option]]:
        """Field and Option of each option by name, in the order of the manual."""
        table: dict[str, tuple[dataclasses.Field[Any], Option]] = {}
        for name, entry in options_of(cls).items():
            if name == "key":
                table |= declarations.table_of(declarations.autopilot_options())
            elif name == "instance":
                table |= declarations.table_of(declarations.stations())
            table[name] = entry
        return table

    def settings(self, declaration: type[Settings]) -> Settings:
        """The options of an autopilot or station, with their types.

        Raises:
            ScenarioError: No entry point names the declaration.
        """
        for settings in self.declared:
            if isinstance(settings, declaration):
                return settings
        raise ScenarioError(
            f"{declaration.__name__} is not registered: name it by an entry point in the group "
            f"{registry.STATIONS.entry_points} or {registry.AUTOPILOT_OPTIONS.entry_points}"
        )

    def _number(self) -> None:
        """Gives each vehicle its number."""
        vehicles = tuple(
            dataclasses.replace(vehicle, number=i) if vehicle.number == -1 else vehicle
            for i, vehicle in enumerate(self.vehicles)
        )
        object.__setattr__(self, "vehicles", vehicles)
        owners: dict[int, str] = {}
        for vehicle in vehicles:
            number(
                f"number of '{shown(vehicle.name)}'", vehicle.number, 0, MAX_FLEET - 1, whole=True
            )
            if vehicle.number in owners:
                raise ScenarioError(
                    f"'{owners[vehicle.number]}' and '{vehicle.name}' both have "
                    f"number {vehicle.number}: give each its own"
                )
            owners[vehicle.number] = vehicle.name

    def _settle_autopilots(self) -> None:
        """Names an autopilot of a vehicle only where it is not the scenario's."""
        registry.AUTOPILOTS.check(self.autopilot)
        for name in {vehicle.autopilot for vehicle in self.vehicles} - {""}:
            registry.AUTOPILOTS.check(
                checked("autopilot of a vehicle", str, options_of(type(self))["autopilot"][1], name)
            )
        kinds = set(self.autopilots)
        whole = self.autopilot if len(kinds) > 1 or not kinds else kinds.pop()
        vehicles = tuple(
            dataclasses.replace(vehicle, autopilot="" if name == whole else name)
            for vehicle, name in zip(self.vehicles, self.autopilots)
        )
        object.__setattr__(self, "autopilot", whole)
        object.__setattr__(self, "vehicles", vehicles)

    @property
    def autopilots(self) -> tuple[str, ...]:
        """The autopilot of each vehicle."""
        return tuple(vehicle.autopilot or self.autopilot for vehicle in self.vehicles)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """What the ROS names of each vehicle begin with: /NAME, or nothing."""
        if self.namespace == "none":
            return ("",)
        return tuple(f"/{vehicle.name}" for vehicle in self.vehicles)

    @property
    def has_real_px4(self) -> bool:
        """Whether a real PX4 flies, to which programs have the off-board link and no other."""
        return any(declarations.options_of_autopilot(name).REAL_PX4 for name in self.autopilots)

    @property
    def flown_by(self) -> str:
        """The autopilots in words."""
        return ", ".join(dict.fromkeys(self.autopilots))

    def specified(self) -> tuple[VehicleSpec, ...]:
        """The vehicles, each with its autopilot, to compare them with those of another fleet."""
        return tuple(
            dataclasses.replace(vehicle, autopilot=name)
            for vehicle, name in zip(self.vehicles, self.autopilots)
        )

    @property
    def ports(self) -> Ports:
        """The ports of the vehicles."""
        return Ports(self.instance, tuple(vehicle.number for vehicle in self.vehicles))

    def _check_links(self) -> None:
        """Refuses open links without a key, and a key for links that cannot be signed."""
        given = "remote" if self.remote else "key"
        other = next(
            (
                name
                for name in self.autopilots
                if not declarations.options_of_autopilot(name).SIGNED_LINKS
            ),
            None,
        )
        if (self.key or self.remote) and other is not None:
            raise ScenarioError(
                f"{given} '{getattr(self, given)}' cannot be used with autopilot "
                f"{other}, whose links are its own: leave one of them out"
            )
        if self.remote:
            check_address("remote", self.remote)
            if not self.key:
                raise ScenarioError(
                    f"remote '{self.remote}' needs a key, so that no stranger "
                    "commands: give --key FILE (key:=FILE)"
                )
        if self.key:
            key_file.read_key(self.key)

    @property
    def n(self) -> int:
        """Number of vehicles."""
        return len(self.vehicles)

    def to_dict(self) -> dict:
        """Plain data for YAML."""
        data = {name: getattr(self, name) for name in self.options()}
        data = {"vehicles": [dataclasses.asdict(vehicle) for vehicle in self.vehicles], **data}
        data["vehicles"] = [plain_vehicle(i, v) for i, v in enumerate(data["vehicles"])]
        return data

    @classmethod
    def from_dict(cls, data: dict, defaults: Mapping[str, Any] | None = None) -> "Scenario":
        """The scenario of plain data, as scenario.yaml holds it.

        `vehicles` may also be a string as parse_vehicles takes it; `vehicle` and
        `n` do the same for a fleet of one type; `disturbances` may be a list of its entries.

        Args:
            data: Values by name.
            defaults: Likewise, in place of the scenario's own defaults.

        Raises:
            ScenarioError: An invalid key or value.
        """
        if not isinstance(data, dict):
            raise ScenarioError(
                "a scenario is a mapping of names to values, for example 'vehicles: iris*9'"
            )
        own_fleet = not data.keys().isdisjoint(FLEET)
        data = {
            **{
                name: value
                for name, value in (defaults or {}).items()
                if name not in FLEET or not own_fleet
            },
            **data,
        }
        known = {"vehicles", *FLEET, *cls.options()}
        for key in set(data) - known:
            raise ScenarioError(unknown_name("scenario key", key, known))
        vehicles = data.pop("vehicles", None)
        kind, n = data.pop("vehicle", "iris"), data.pop("n", 1)
        if vehicles is None or vehicles == "":
            specs = fleet(checked("vehicle", str, FLEET["vehicle"], kind), n)
        elif isinstance(vehicles, list):
            specs = specs_of(vehicles)
        else:
            specs = parse_vehicles(checked("vehicles", str, FLEET["vehicles"], vehicles))
        if isinstance(data.get("disturbances"), list):
            data["disturbances"] = "; ".join(
                checked("an entry of disturbances", str, options_of(cls)["disturbances"][1], entry)
                for entry in data["disturbances"]
            )
        return cls(vehicles=specs, **data)

    def save(self, path: Path | str) -> None:
        """Writes a scenario.yaml, which load() reads.

        Raises:
            ScenarioError: It cannot be written.
        """
        import yaml  # here, so that the command starts at once

        try:
            Path(path).write_text(yaml.safe_dump(self.to_dict(), sort_keys=False))
        except OSError as error:
            raise ScenarioError(
                f"cannot write '{shown(path)}': {error.strerror or error}"
            ) from error

    @classmethod
    def load(cls, path: Path | str, defaults: Mapping[str, Any] | None = None) -> "Scenario":
        """Reads scenario.yaml; defaults as of from_dict().

        Raises:
            ScenarioError: No such file, not YAML, or not a scenario.
        """
        return cls.from_dict(files.read_yaml(path, "scenario", error=ScenarioError), defaults)
