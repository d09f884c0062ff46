"""A scenario: which vehicles, where, in which world, on which engine and autopilot.

One frozen object, made from command-line options, launch arguments or a YAML
file, and stored as scenario.yaml in each run folder. All of it is checked when
it is made, so that nothing about it can fail in flight.
"""

import dataclasses
import math
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from . import registry, resources, run_folder
from .disturbances import parse_changes
from .errors import ScenarioError, unknown_name
from .ports import MAX_VEHICLES, check_instance, default_instance

BRIDGES = ("embedded", "mavros", "none")
POSE_SOURCES = ("sensors", "truth")
ORIGINS = ("shared", "own")
LOGS = ("auto", "full", "fleet", "none")  # auto: full for one vehicle, fleet for more
PX4_LOSSES = ("stop", "continue")
MIN_SPACING = 0.6  # two vehicles may not start closer than this [m]
GRID_SPACING = 3.0  # of vehicles without a pose of their own [m], as in XTDrone


@dataclass(frozen=True)
class VehicleSpec:
    """One vehicle of a scenario."""

    type: str  # a name from models/, or a path to an SDF file
    name: str  # ROS namespace, for example iris_0
    pos: tuple[float, float, float]  # of the model's origin at start, world [m]
    yaw: float = 0.0  # at start, counter-clockwise from east [rad]


@dataclass(frozen=True)
class Scenario:
    """Everything that a run depends on."""

    vehicles: tuple[VehicleSpec, ...]
    world: str = "empty"
    engine: str = "embedded"
    autopilot: str = "embedded"
    speed: float = 1.0  # simulated seconds per wall second; 0 = as fast as possible
    seed: int = 1
    gps: str = ""  # preset for every vehicle's GPS; empty = as the vehicle's SDF says
    wind: str = ""  # instead of the world's wind, for example "5,0,0" or "mean=5,0,0 dryden=5"
    changes: str = ""  # in flight, as "12: payload iris_0 0.3"; see xtdrone_core.disturbances
    pose_source: str = "sensors"
    origin: str = "shared"
    mission: str = ""  # .plan file that every vehicle holds at the start, or one each, by commas
    params: str = ""  # .params file for every vehicle, or a folder with one named after each
    log: str = "auto"  # what the flight logs in the run folder hold
    name: str = "run"
    px4: str = ""  # build folder or binary of PX4, for autopilot px4
    # Parts of the embedded flight stack: embedded, or module:Class of your own.
    estimator: str = "embedded"
    position_control: str = "embedded"
    velocity_control: str = "embedded"
    attitude_control: str = "embedded"
    rate_control: str = "embedded"
    mixer: str = "embedded"
    px4_loss: str = "stop"  # when a PX4 is lost: stop the flight, or continue with the rest
    gui: bool = False
    instance: int = field(default_factory=default_instance)  # of those on this machine; see ports

    def __post_init__(self):
        registry.check("engine", self.engine, registry.ENGINES)
        registry.check("autopilot", self.autopilot, registry.AUTOPILOTS)
        for part, table in registry.PARTS.items():
            name = getattr(self, part)
            registry.check(part, name, table)
            if name != "embedded" and self.autopilot == "px4":
                raise ScenarioError(f"{part} '{name}' cannot be flown by autopilot px4, which has "
                                    "its own: leave one of them out")
        for what, given, allowed in (("pose_source", self.pose_source, POSE_SOURCES),
                                     ("origin", self.origin, ORIGINS), ("log", self.log, LOGS),
                                     ("px4_loss", self.px4_loss, PX4_LOSSES)):
            if given not in allowed:
                raise ScenarioError(unknown_name(what, given, allowed))
        run_folder.check_name(self.name)
        check_instance(self.instance)
        if not (math.isfinite(self.speed) and self.speed >= 0):
            raise ScenarioError(f"speed {self.speed} is not allowed: give 1 for real time, another "
                                "positive factor, or 0 for as fast as possible")
        if self.seed < 0:
            raise ScenarioError(f"seed {self.seed} is not allowed: give a whole number from 0")
        if not 1 <= len(self.vehicles) <= MAX_VEHICLES:
            raise ScenarioError(f"{len(self.vehicles)} vehicles are not allowed: give 1 to "
                                f"{MAX_VEHICLES} (one MAVLink system id each)")
        self._check_vehicles()
        parse_changes(self.changes, [vehicle.name for vehicle in self.vehicles])
        resources.world_sdf(self.world)

    def _check_vehicles(self):
        seen = set()
        for vehicle in self.vehicles:
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", vehicle.name):
                raise ScenarioError(f"vehicle name '{vehicle.name}' is not a ROS name: use "
                                    "letters, digits and '_', the first one a letter")
            if vehicle.name in seen:
                raise ScenarioError(f"two vehicles are called '{vehicle.name}': give each a name "
                                    "of its own")
            seen.add(vehicle.name)
            if not all(map(math.isfinite, (*vehicle.pos, vehicle.yaw))):
                raise ScenarioError(f"pose of '{vehicle.name}' is not finite: {vehicle.pos}, yaw "
                                    f"{vehicle.yaw}")
        for type_ in {vehicle.type for vehicle in self.vehicles}:
            resources.vehicle_sdf(type_)
        pos = np.array([vehicle.pos for vehicle in self.vehicles])
        for i in range(len(pos) - 1):
            gap = np.linalg.norm(pos[i + 1:] - pos[i], axis=1)
            j = int(np.argmin(gap))
            if gap[j] < MIN_SPACING:
                a, b = self.vehicles[i].name, self.vehicles[i + 1 + j].name
                raise ScenarioError(f"'{a}' and '{b}' start {gap[j]:.2f} m apart: give poses at "
                                    f"least {MIN_SPACING} m apart")

    @property
    def n(self) -> int:
        """Number of vehicles."""
        return len(self.vehicles)

    def to_dict(self) -> dict:
        """Plain data for YAML."""
        data = dataclasses.asdict(self)
        data["vehicles"] = [{**v, "pos": list(v["pos"])} for v in data["vehicles"]]
        return data

    @classmethod
    def from_dict(cls, data: dict) -> "Scenario":
        """The scenario of plain data, as scenario.yaml holds it.

        `vehicles` may also be a text as parse_vehicles takes it; `vehicle` and
        `n` do the same for a fleet of one type; `changes` may be a list of its entries.

        Raises:
            ScenarioError: A key or value that makes no sense.
        """
        if not isinstance(data, dict):
            raise ScenarioError("a scenario is a mapping of names to values, for example "
                                "'vehicles: iris*9'")
        data = dict(data)
        fields = {f.name for f in dataclasses.fields(cls)}
        for key in set(data) - fields - {"vehicle", "n"}:
            raise ScenarioError(unknown_name("scenario key", key, fields | {"vehicle", "n"}))
        vehicles = data.pop("vehicles", None) or ""
        kind, n = data.pop("vehicle", "iris"), data.pop("n", 1)
        if isinstance(vehicles, str):
            specs = parse_vehicles(vehicles) if vehicles else fleet(kind, n)
        else:
            specs = _specs_of(vehicles)
        if isinstance(data.get("changes"), list):
            data["changes"] = "; ".join(map(str, data["changes"]))
        try:
            return cls(vehicles=specs, **data)
        except TypeError as error:
            raise ScenarioError(f"a scenario value has the wrong type: {error}") from error

    @classmethod
    def load(cls, path) -> "Scenario":
        """Reads scenario.yaml.

        Raises:
            ScenarioError: No such file, not YAML, or not a scenario.
        """
        import yaml  # here, so that the core needs NumPy only

        try:
            return cls.from_dict(yaml.safe_load(Path(path).read_text()))
        except OSError as error:
            raise ScenarioError(f"cannot read scenario '{path}': {error.strerror}") from error
        except yaml.YAMLError as error:
            line = str(error).splitlines()[0]
            raise ScenarioError(f"'{path}' is not YAML: {line}") from error


def grid(n: int, spacing: float = GRID_SPACING) -> np.ndarray:
    """n places on a square grid at the ground, row by row from the origin: (n, 3) [m]."""
    side = max(1, math.ceil(math.sqrt(n)))
    index = np.arange(n)
    return np.stack([index % side * spacing, index // side * spacing, 0.0 * index], axis=1)


def fleet(kind: str, n: int) -> tuple[VehicleSpec, ...]:
    """n vehicles of one type on the grid, named type_0 to type_(n-1).

    Raises:
        ScenarioError: n outside 1 to 250.
    """
    if not isinstance(n, int) or not 1 <= n <= MAX_VEHICLES:
        raise ScenarioError(f"n = {n} is not allowed: give 1 to {MAX_VEHICLES} vehicles (one "
                            "MAVLink system id each)")
    return _placed([(kind, None, None)] * n)


def parse_vehicles(text: str) -> tuple[VehicleSpec, ...]:
    """The vehicles of a list like `iris*4, typhoon_h480*2` or `iris@0,0,0; iris@3,0,0,1.57`.

    Entries are parted by ';' (or by ',' where no entry has a pose). An entry is
    a type, then `*COUNT` or `@X,Y[,Z[,YAW]]` [m, m, m, rad]. A type is a name
    from models/. Names are type_index, counted over the whole list, so that the
    index is also the MAVLink instance.

    Raises:
        ScenarioError: An entry that cannot be read.
    """
    entries = []
    for entry in re.split(r";" if "@" in text or ";" in text else r",", text):
        match = re.fullmatch(r"\s*([^*@\s]+)\s*(?:\*\s*(\d+)|@([-+.eE\d\s,]+))?\s*", entry)
        if not match:
            raise ScenarioError(f"cannot read vehicle '{entry.strip()}': write TYPE, TYPE*COUNT or "
                                "TYPE@X,Y,Z,YAW, parted by ';'")
        kind, count, pose = match.groups()
        if count is not None and not 1 <= int(count) <= MAX_VEHICLES:
            raise ScenarioError(f"count {count} in '{entry.strip()}' is not allowed: give 1 to "
                                f"{MAX_VEHICLES}")
        try:
            numbers = [float(x) for x in pose.split(",")] if pose else None
        except ValueError:
            numbers = []
        if numbers is not None and not 2 <= len(numbers) <= 4:
            raise ScenarioError(f"cannot read the pose in '{entry.strip()}': give X,Y[,Z[,YAW]] in "
                                "metres and radians")
        pos = None if numbers is None else tuple((numbers + [0.0])[:3] if len(numbers) < 3
                                                 else numbers[:3])
        yaw = numbers[3] if numbers and len(numbers) == 4 else 0.0
        entries += [(kind, pos, yaw)] * int(count or 1)
    return _placed(entries)


def _placed(entries) -> tuple[VehicleSpec, ...]:
    """Specs of (type, pos or None, yaw or None); those without a pose go on the grid."""
    places = iter(grid(sum(pos is None for _, pos, _ in entries)))
    specs = []
    for i, (kind, pos, yaw) in enumerate(entries):
        place = tuple(float(x) for x in (next(places) if pos is None else pos))
        label = Path(kind).parent.name if "/" in kind else kind
        specs.append(VehicleSpec(kind, f"{label}_{i}", place, yaw or 0.0))
    return tuple(specs)


def _specs_of(items) -> tuple[VehicleSpec, ...]:
    entries = []
    for item in items:
        if not isinstance(item, dict) or "type" not in item:
            raise ScenarioError(f"vehicle {item!r} has no type: write "
                                "{type: iris, pos: [0, 0, 0]}")
        unknown = set(item) - {"type", "name", "pos", "yaw"}
        if unknown:
            raise ScenarioError(unknown_name("vehicle key", unknown.pop(),
                                             {"type", "name", "pos", "yaw"}))
        pos = item.get("pos")
        if pos is not None and len(pos) != 3:
            raise ScenarioError(f"pos {pos} of a vehicle must be three numbers [m]")
        entries.append((item["type"], pos, item.get("yaw", 0.0)))
    return tuple(dataclasses.replace(spec, name=item.get("name", spec.name))
                 for spec, item in zip(_placed(entries), items))
