"""A fleet as record arrays, the input of plant, allocation, flight stack and engines.

Records of float64 or float32; kernels load their fields by name. Fleets are padded to the vehicle
with the most bodies, joints and actuators; a padding record is zero.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Any, get_type_hints

import numpy as np

from .vehicle import KINDS, Actuator, Body, HalfWing, Hull, Matrix, Pack, Rotor, Tyre, Vehicle, Wing

Real = type[np.float64] | type[np.float32]

NO_ACTUATOR = 0  # kind of a padding record
ACTUATOR_KINDS = {kind: number for number, kind in enumerate(KINDS, start=1)}
ROTOR, SERVO, SURFACE, WHEEL, PROPELLER, GRIPPER = ACTUATOR_KINDS.values()


def vehicle_dtype(real: Real = np.float64) -> np.dtype:
    """Record of a whole vehicle, (N,)."""
    return np.dtype(
        [
            ("bodies", "i8"),
            ("joints", "i8"),
            ("actuators", "i8"),
            ("rotors", "i8"),  # how many
            ("wings", "i8"),
            ("half_wings", "i8"),
            ("tyres", "i8"),
            ("hulls", "i8"),
            ("mass", real),  # [kg]
            ("inertia", real, (3, 3)),  # joints at zero, about the centre of gravity [kg m^2]
        ],
        align=True,
    )


def body_dtype(real: Real = np.float64) -> np.dtype:
    """Record of a body, (N, B); see Body."""
    return np.dtype(
        [
            ("parent", "i8"),
            ("joint", "i8"),  # indices; -1 for the base
            ("mass", real),  # [kg]
            ("inertia", real, (6,)),  # xx, yy, zz, xy, xz, yz about its centre of gravity [kg m^2]
            ("cog", real, (3,)),  # centre of gravity in its frame [m]
            ("pos", real, (3,)),  # position in the parent's frame, joint at zero [m]
            ("quat", real, (4,)),  # xyzw
        ],
        align=True,
    )


def joint_dtype(real: Real = np.float64) -> np.dtype:
    """Record of a joint, (N, J); see Joint."""
    return np.dtype(
        [
            ("body", "i8"),  # index of the body that it moves
            ("prismatic", "?"),
            ("axis", real, (3,)),  # frame of the body
            ("anchor", real, (3,)),  # frame of the body [m]
            ("lower", real),
            ("upper", real),  # [rad] or [m]
            ("damping", real),
        ],
        align=True,
    )


def actuator_dtype(real: Real = np.float64, kinds: tuple[type[Actuator], ...] = KINDS) -> np.dtype:
    """Record of an actuator of any kind, (N, A): the fields of all kinds, by their names."""
    fields: dict[str, tuple] = {"kind": ("i8",)}
    for kind in kinds:
        for name, hint in _numbers(kind):
            fields.setdefault(name, _scalar(hint, real))
    fields["power_constant"] = (real,)  # shaft power / speed^3 of a rotor [W s^3]
    fields["propeller_at"] = (
        "i8",
    )  # where its propeller begins in FleetModel.propellers; -1: none
    return np.dtype([(name, *form) for name, form in fields.items()], align=True)


def wing_dtype(real: Real = np.float64) -> np.dtype:
    """Record of a lifting surface, (N, W), under the names of Wing."""
    return _part_dtype(Wing, real)


def tyre_dtype(real: Real = np.float64) -> np.dtype:
    """Record of a tyre, (N, T), under the names of Tyre."""
    return _part_dtype(Tyre, real)


def hull_dtype(real: Real = np.float64) -> np.dtype:
    """Record of a float in the water, (N, H), under the names of Hull."""
    return _part_dtype(Hull, real)


def half_wing_dtype(real: Real = np.float64) -> np.dtype:
    """Record of a half wing, (N, H), under the names of HalfWing."""
    return _part_dtype(HalfWing, real)


def effects_dtype(real: Real = np.float64) -> np.dtype:
    """Record of a vehicle's aerodynamic effects, (N,); zeros switch an effect off."""
    return np.dtype(
        [
            ("linear_drag", real, (3,)),  # along each body axis [N s/m]
            ("drag_areas", real, (3,)),  # drag coefficient times area [m^2]
            ("ground_radius", real),  # radius of a rotor, for ground effect [m]
            ("lift", real),  # translational, of one rotor [N s^2/m^2]
            ("damping", real),  # damping of climb and descent by one rotor [N s^2/m]
            ("wake_radius", real),  # radius of the downwash of the whole vehicle [m]
            ("disc_area", real),  # disc area of all rotors [m^2]
            ("air_density", "?"),  # coefficients scale with the density of the air
        ],
        align=True,
    )


def battery_dtype(real: Real = np.float64) -> np.dtype:
    """Record of a vehicle's battery, (N,), under the names of Pack; 0 cells without one."""
    return np.dtype(
        [(entry.name, "i8" if entry.type is int else real) for entry in dataclasses.fields(Pack)],
        align=True,
    )


@dataclasses.dataclass(frozen=True)
class FleetModel:
    """N vehicles as records."""

    vehicles: tuple[Vehicle, ...]
    vehicle: np.ndarray  # (N,) vehicle_dtype
    body: np.ndarray  # (N, B) body_dtype
    joint: np.ndarray  # (N, J) joint_dtype
    actuator: np.ndarray  # (N, A) actuator_dtype
    wing: np.ndarray  # (N, W) wing_dtype
    half_wing: np.ndarray  # (N, H) half_wing_dtype
    tyre: np.ndarray  # (N, T) tyre_dtype
    hull: np.ndarray  # (N, H) hull_dtype
    effects: np.ndarray  # (N,) effects_dtype
    battery: np.ndarray  # (N,) battery_dtype
    propellers: np.ndarray  # (P,) numbers of all propellers, see xtdrone_dynamics.propellers.layout
    kinds: tuple[type[Actuator], ...] = KINDS  # kinds of actuators, own ones last

    @classmethod
    def of(cls, vehicles: Iterable[Vehicle], dtype: Real = np.float64) -> "FleetModel":
        """The records of some vehicles.

        Args:
            vehicles: One for each vehicle of the fleet.
            dtype: Type of the real numbers, float64 or float32.
        """
        vehicles = tuple(vehicles)
        n = len(vehicles)
        own = {type(driven) for vehicle in vehicles for driven in vehicle.actuators} - {*KINDS}
        kinds = (*KINDS, *sorted(own, key=lambda kind: (kind.__module__, kind.__qualname__)))

        def table(form: Callable[..., np.dtype], parts: Callable[[Vehicle], tuple]) -> np.ndarray:
            width = max((len(parts(vehicle)) for vehicle in vehicles), default=0)
            return np.zeros((n, width), dtype=form(dtype))

        body = table(body_dtype, lambda vehicle: vehicle.bodies)
        joint = table(joint_dtype, lambda vehicle: vehicle.joints)
        actuator = table(
            lambda real: actuator_dtype(real, kinds), lambda vehicle: vehicle.actuators
        )
        wing = table(wing_dtype, lambda vehicle: vehicle.wings)
        half_wing = table(half_wing_dtype, lambda vehicle: vehicle.half_wings)
        tyre = table(tyre_dtype, lambda vehicle: vehicle.tyres)
        hull = table(hull_dtype, lambda vehicle: vehicle.hulls)
        whole, effects, battery = (
            np.zeros(n, dtype=form(dtype)) for form in (vehicle_dtype, effects_dtype, battery_dtype)
        )
        body["parent"] = body["joint"] = -1
        actuator["propeller_at"] = -1
        shelf = _Shelf()
        made: dict[int, int] = {}  # a vehicle to the row that has its records already
        tables = (whole, body, joint, actuator, wing, half_wing, tyre, hull, effects, battery)
        for i, vehicle in enumerate(vehicles):
            first = made.setdefault(id(vehicle), i)
            if first < i:
                for records in tables:
                    records[i] = records[first]
                continue
            _fill_vehicle(whole[i], vehicle)
            for k, part in enumerate(vehicle.bodies):
                _fill_body(body[i, k], part)
            for k, link in enumerate(vehicle.joints):
                _fill(joint[i, k], link)
                body[i, link.body]["joint"] = k
            for k, driven in enumerate(vehicle.actuators):
                _fill(actuator[i, k], driven)
                actuator[i, k]["kind"] = 1 + kinds.index(type(driven))
                if isinstance(driven, Rotor):
                    actuator[i, k]["power_constant"] = _power_constant(vehicle, driven)
                    actuator[i, k]["propeller_at"] = shelf.place(vehicle, driven)
            for records, parts in (
                (wing, vehicle.wings),
                (half_wing, vehicle.half_wings),
                (tyre, vehicle.tyres),
                (hull, vehicle.hulls),
            ):
                for k, piece in enumerate(parts):
                    _fill(records[i, k], piece)
            _fill_effects(effects[i], vehicle)
            if vehicle.battery is not None:
                _fill(battery[i], vehicle.battery)
        return cls(
            vehicles,
            whole,
            body,
            joint,
            actuator,
            wing,
            half_wing,
            tyre,
            hull,
            effects,
            battery,
            np.array(shelf.numbers or [0.0], dtype=dtype),
            kinds,
        )

    @property
    def n(self) -> int:
        """Number of vehicles."""
        return len(self.vehicles)

    @property
    def n_rotors(self) -> np.ndarray:
        """(N,) number of rotors, which come first among the actuators."""
        return self.vehicle["rotors"]

    @property
    def rotor_mask(self) -> np.ndarray:
        """(N, A) bool, which actuators are rotors."""
        return self.actuator["kind"] == ROTOR


class _Shelf:
    """The numbers of all propellers of a fleet, each once."""

    def __init__(self) -> None:
        self.numbers: list[float] = []
        self._places: dict[tuple[float, ...], int] = {}

    def place(self, vehicle: Vehicle, rotor: Rotor) -> int:
        """Returns where the numbers of a rotor's propeller begin; -1 without one."""
        if not rotor.propeller:
            return -1
        numbers = vehicle.propellers[rotor.propeller]
        if numbers not in self._places:
            self._places[numbers] = len(self.numbers)
            self.numbers += numbers
        return self._places[numbers]


def packed(matrix: Matrix) -> tuple[float, ...]:
    """A symmetric matrix (3, 3) as xx, yy, zz, xy, xz, yz."""
    return (matrix[0][0], matrix[1][1], matrix[2][2], matrix[0][1], matrix[0][2], matrix[1][2])


def _part_dtype(kind: type, real: Real) -> np.dtype:
    return np.dtype([(name, *_scalar(hint, real)) for name, hint in _numbers(kind)], align=True)


def _numbers(kind: type) -> list[tuple[str, object]]:
    """Names and types of the fields of a kind of part that go into records."""
    hints = get_type_hints(kind)
    return [
        (entry.name, hints[entry.name])
        for entry in dataclasses.fields(kind)
        if hints[entry.name] is not str
    ]


def _scalar(hint: object, real: Real) -> tuple:
    if hint is bool:
        return ("?",)
    return ("i8",) if hint is int else (real,) if hint is float else (real, (3,))


def _fill(record: Any, part: Any) -> None:  # a record, and a dataclass with its fields
    """Copies the fields of a part that its record has."""
    for entry in dataclasses.fields(part):
        if entry.name in record.dtype.names:
            record[entry.name] = getattr(part, entry.name)


def _fill_vehicle(record: np.void, vehicle: Vehicle) -> None:
    record["mass"], record["inertia"] = vehicle.mass, vehicle.inertia
    for name in (
        "bodies",
        "joints",
        "actuators",
        "rotors",
        "wings",
        "half_wings",
        "tyres",
        "hulls",
    ):
        record[name] = len(getattr(vehicle, name))


def _fill_body(record: np.void, body: Body) -> None:
    record["inertia"] = packed(body.inertia)
    for name in ("parent", "mass", "cog", "pos", "quat"):
        record[name] = getattr(body, name)


def _power_constant(vehicle: Vehicle, rotor: Rotor) -> float:
    """Shaft power over speed^3 [W s^3]: the pack's, or what the drag moment (6) takes."""
    if vehicle.battery is not None and vehicle.battery.rotor_power_constant > 0.0:
        return vehicle.battery.rotor_power_constant
    return rotor.moment_constant * rotor.motor_constant


def _fill_effects(record: np.void, vehicle: Vehicle) -> None:
    effects = vehicle.effects
    if "linear_drag" in effects:
        record["linear_drag"] = effects["linear_drag"]["coefficients"]
    if "quadratic_drag" in effects:
        record["drag_areas"] = effects["quadratic_drag"]["areas"]
    if "ground_effect" in effects:
        record["ground_radius"] = effects["ground_effect"]["rotor_radius"][0]
    if "translational_lift" in effects:
        record["lift"] = effects["translational_lift"]["lift"][0]
        record["damping"] = effects["translational_lift"]["damping"][0]
    if "downwash" in effects and vehicle.rotors:
        radius = effects["downwash"]["rotor_radius"][0]
        record["wake_radius"] = radius + max(math.hypot(*rotor.pos[:2]) for rotor in vehicle.rotors)
        record["disc_area"] = len(vehicle.rotors) * math.pi * radius * radius
    record["air_density"] = "air_density" in effects


__all__ = [
    "ACTUATOR_KINDS",
    "GRIPPER",
    "NO_ACTUATOR",
    "PROPELLER",
    "ROTOR",
    "SERVO",
    "SURFACE",
    "WHEEL",
    "FleetModel",
    "actuator_dtype",
    "battery_dtype",
    "body_dtype",
    "effects_dtype",
    "half_wing_dtype",
    "hull_dtype",
    "joint_dtype",
    "packed",
    "tyre_dtype",
    "vehicle_dtype",
    "wing_dtype",
]
