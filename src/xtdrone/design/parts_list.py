"""What a multirotor is built of, as its builder knows it."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, get_type_hints

from xtdrone_core import files
from xtdrone_core.errors import ScenarioError, shown, unknown_name


def _number(
    text: str, unit: str, low: float, high: float, default: Any = MISSING, whole: bool = False
) -> Any:  # a field of a dataclass
    metadata = {"text": text, "unit": unit, "range": (low, high), "whole": whole}
    return (
        field(metadata=metadata)
        if default is MISSING
        else field(default=default, metadata=metadata)
    )


@dataclass(frozen=True, kw_only=True)
class PartsList:
    """The parts of a multirotor with rotors in X.

    Attributes:
        name: Type of the vehicle.
        propeller: Size such as 10x4.7 or 5x4.3x3 [inch], or one of `xtdrone propeller list`.
    """

    name: str = field(metadata={"text": "name of the vehicle"})
    frame: float = _number("frame, motor to motor across the middle", "mm", 50, 4000)
    kv: float = _number("motors' KV", "rpm/V", 20, 30000)
    propeller: str = field(metadata={"text": "propeller, such as 10x4.7 or 5x4.3x3 [inch]"})
    cells: int = _number("battery, cells in series", "", 1, 16, whole=True)
    capacity: float = _number("battery, capacity", "Ah", 0.02, 200)
    mass: float = _number("mass ready to fly", "kg", 0.01, 200)
    rotors: int = _number("rotors", "", 4, 16, 4, whole=True)
    motor_mass: float = _number(
        "mass of a motor with its propeller, 0: a part of the whole", "g", 0, 20000, 0.0
    )
    loading: float = _number(
        "full throttle under load, over KV times the battery's voltage", "", 0.3, 1.0, 0.8
    )
    avionics: float = _number("power of everything but the motors", "W", 0, 2000, 3.0)

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if "range" not in entry.metadata:
                continue
            low, high = entry.metadata["range"]
            whole = entry.metadata["whole"] and value != int(value)
            if not low <= value <= high or whole:
                unit = entry.metadata["unit"]
                raise ScenarioError(
                    f"{entry.name} {shown(value)} of '{shown(self.name)}' is not allowed: give "
                    f"{'a whole number' if entry.metadata['whole'] else 'a number'} from {low:g} "
                    f"to {high:g}{unit and f' [{unit}]'}"
                )
        if self.rotors % 2:
            raise ScenarioError(
                f"rotors {self.rotors} of '{shown(self.name)}' is not allowed: give an even number"
            )


def from_data(data: Mapping[str, Any]) -> PartsList:
    """The parts of a mapping, as of a YAML file; numbers may be text.

    Raises:
        ScenarioError: One is missing, unknown, or not a number.
    """
    hints = get_type_hints(PartsList)
    known = [entry.name for entry in fields(PartsList)]
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key not in known:
            raise ScenarioError(unknown_name("part of a vehicle", key, known))
        kind = hints[key]
        try:
            number = kind(value) if kind is str else float(value)
        except (TypeError, ValueError) as failed:
            raise ScenarioError(
                f"{key} '{shown(value)}' is not allowed: give a number without its unit"
            ) from failed
        values[key] = int(number) if kind is int and number == int(number) else number
    missing = [
        entry.name
        for entry in fields(PartsList)
        if entry.default is MISSING and entry.name not in values
    ]
    if missing:
        raise ScenarioError(f"a new vehicle lacks {', '.join(missing)}: give each of them")
    return PartsList(**values)


def read(path: str) -> dict[str, Any]:
    """The mapping of a YAML file of parts.

    Raises:
        ScenarioError: It is none.
    """
    data = files.read_yaml(path, "parts of a vehicle", error=ScenarioError)
    if not isinstance(data, dict):
        raise ScenarioError(
            f"'{shown(path)}' holds no parts of a vehicle: give lines such as 'frame: 450'"
        )
    return {str(key): value for key, value in data.items()}
