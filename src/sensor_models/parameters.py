"""Parameters of sensors, read from blocks of a vehicle's SDF or from presets.yaml.

A sensor block may name a preset (`<preset>rtk</preset>`) and may override any
value: under PX4 sitl_gazebo's tag names, in that project's units, or under the
names of XTDrone's Table I in snake case, in SI units, as presets.yaml has them.
"""

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from xtdrone_core import SensorBlock
from xtdrone_core.errors import unknown_name
from xtdrone_core.files import read_yaml
from xtdrone_core.sdf_numbers import leading_numbers

from .errors import SensorError
from .noise import NoiseParameters

_ABOVE_ZERO = ("rate", "range", "hdop", "vdop", "dropout_duration")
_TABLE_I = (
    "noise_density",
    "random_walk",
    "bias_correlation_time",
    "turn_on_bias_sigma",
    "bias_sigma",
)
_PRESETS = Path(__file__).parent / "presets.yaml"


@dataclass(frozen=True)
class Tags:
    """Allowed elements of a sensor's block, besides the parameters of its presets."""

    kind: str  # kind of the block
    preset: str  # preset of a block without <preset>
    sitl: Mapping[str, tuple[str, float]] = field(default_factory=dict)  # its tag: our name, scale
    prefixes: tuple[str, ...] = ("",)  # prefixes of the quantities with the errors of Table I
    names: tuple[str, ...] = ()  # names of parameters that no preset gives
    lists: Mapping[str, int] = field(default_factory=dict)  # parameters of so many numbers
    signed: tuple[str, ...] = ()  # parameters that may be negative
    read_apart: tuple[str, ...] = ()  # tags that `more` reads
    more: Callable[[SensorBlock], dict[str, float]] | None = None
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # beside presets.yaml

    def known_names(self) -> frozenset[str]:
        """All names that a block of this kind may set."""
        names = {name for values in self.all_presets().values() for name in values}
        return frozenset(
            names | {*self.names} | {prefix + name for prefix in self.prefixes for name in _TABLE_I}
        )

    def all_presets(self) -> dict[str, Mapping[str, Any]]:
        """The presets of this kind by name."""
        return {**presets().get(self.kind, {}), **self.presets}


@lru_cache
def presets() -> dict:
    """The presets of presets.yaml: {kind: {name: {parameter: value}}}."""
    known: dict = read_yaml(_PRESETS, "presets")
    return known


def descriptions() -> dict[str, str]:
    """A line on each preset, for `xtdrone list`."""
    return {
        name: kind + (f", {values['rate']:g} Hz" if "rate" in values else "")
        for kind, known in presets().items()
        for name, values in known.items()
    }


def receivers() -> list[str]:
    """The presets of GNSS receivers, for tab completion of option gps."""
    return list(presets()["gps"])


def preset_text(name: str) -> str:
    """A preset's text in presets.yaml: each value with its unit and source.

    Raises:
        SensorError: No such preset.
    """
    known = [name for presets_of_kind in presets().values() for name in presets_of_kind]
    if name not in known:
        raise SensorError(unknown_name("preset", name, known))
    lines = _PRESETS.read_text().splitlines()
    start = lines.index(f"  {name}:") + 1
    end = next((i for i in range(start, len(lines)) if not lines[i].startswith("    ")), len(lines))
    return "\n".join(line[4:] for line in lines[start:end])


def preset(kind: str, name: str, known: Mapping[str, Mapping[str, Any]] | None = None) -> dict:
    """One preset's values by name.

    Args:
        kind: Kind of the sensor.
        name: Name of the preset.
        known: Those of the kind; None = presets.yaml's.

    Raises:
        SensorError: No such preset.
    """
    known = presets()[kind] if known is None else known
    if name not in known:
        raise SensorError(unknown_name(f"{kind} preset", name, known))
    return dict(known[name])


def preset_of(block: SensorBlock, tags: Tags) -> dict:
    """The values of a block's preset."""
    name = str(block.parameters.get("preset", tags.preset)).strip()
    return preset(block.kind, name, tags.all_presets())


def values_of(block: SensorBlock, tags: Tags) -> dict:
    """A block's values in SI units by parameter name: its preset's, overridden by its tags.

    Raises:
        SensorError: A invalid value, or a tag that looks misspelt.
    """
    values = preset_of(block, tags)
    known = tags.known_names()
    own: dict[str, Any] = {}
    for tag, value in block.parameters.items():
        name, scale = tags.sitl.get(tag, (tag, 1.0))
        if name in tags.lists:
            own[name] = _numbers(block, tag, value, tags.lists[name])
        elif name in known:
            own[name] = scale * number_of(block, tag, value)
        elif tag not in tags.read_apart and tag != "preset":
            refuse_near_miss(block, tag, [*known, *tags.sitl, *tags.lists, *tags.read_apart], 0.85)
    if tags.more is not None:
        own = {**tags.more(block), **own}
    for name in own:  # a new walk replaces the preset's standing deviation, and the reverse
        prefix, _, _what = name.rpartition("random_walk")
        if name.endswith("random_walk"):
            values.pop(prefix + "bias_sigma", None)
        elif name.endswith("bias_sigma"):
            values.pop(name.replace("bias_sigma", "random_walk"), None)
    values.update(own)
    _check_signs(block, values, tags)
    return values


def noise_of(values: Mapping[str, float], prefix: str = "", scale: float = 1.0) -> NoiseParameters:
    """The Table I values that start with a prefix, times a scale; what is not given is zero.

    With a turn-on bias the Gauss-Markov bias starts at zero; without one it starts anywhere in its
    standing distribution.
    """
    time = values.get(prefix + "bias_correlation_time", math.inf)
    sigma = values.get(prefix + "bias_sigma")
    walk = values.get(prefix + "random_walk", 0.0)
    if sigma is not None and time > 0:
        walk = sigma * math.sqrt(2.0 / time)
    stationary = walk * math.sqrt(0.5 * time) if math.isfinite(time) else 0.0
    turn_on = values.get(prefix + "turn_on_bias_sigma")
    start = stationary if turn_on is None else 0.0
    return NoiseParameters(
        scale * values.get(prefix + "noise_density", 0.0),
        scale * walk,
        time,
        scale * (turn_on or 0.0),
        scale * start,
    )


def check_limits(block: SensorBlock, values: Mapping[str, float]) -> None:
    """Rejects an empty range.

    Raises:
        SensorError: minimum is not below maximum.
    """
    if values["minimum"] >= values["maximum"]:
        raise SensorError(
            f"range {values['minimum']:g} to {values['maximum']:g} of {block.kind} "
            f"'{block.name}' is not allowed: give minimum < maximum"
        )


def number_of(block: SensorBlock, tag: str, value: Any) -> float:  # text or a number, unchecked
    """A tag's value as a number.

    Raises:
        SensorError: It is none, or not finite.
    """
    numbers, _ = leading_numbers(str(value), 1)
    if not numbers or not math.isfinite(numbers[0]):
        raise SensorError(f"<{tag}> of {block.kind} '{block.name}' is '{value}': give a number")
    return numbers[0]


def refuse_near_miss(block: SensorBlock, tag: str, known: Iterable[str], likeness: float) -> None:
    """Rejects misspelt tags, which would otherwise be ignored like SDF's other tags.

    Raises:
        SensorError: It resembles one of the known tags (0 to 1).
    """
    if near := _nearest(tag, tuple(known), likeness):
        raise SensorError(
            f"unknown tag <{tag}> of {block.kind} '{block.name}': did you mean <{near}>?"
        )


@cache
def _nearest(tag: str, known: tuple[str, ...], likeness: float) -> str:
    """The known tag that resembles one, or empty; fleets ask the same for each vehicle."""
    return next(iter(difflib.get_close_matches(tag, known, n=1, cutoff=likeness)), "")


def _check_signs(block: SensorBlock, values: Mapping[str, Any], tags: Tags) -> None:
    """Rejects negative values, and 0 for divisors."""
    for name, value in values.items():
        above = name in _ABOVE_ZERO or name.endswith("_range")
        if (
            name not in tags.signed
            and name not in tags.lists
            and (value < 0 or (above and value == 0))
        ):
            raise SensorError(
                f"{name} {value:g} of {block.kind} '{block.name}' is not allowed: "
                f"give a number {'above' if above else 'from'} 0"
            )


def _numbers(block: SensorBlock, tag: str, value: object, count: int) -> tuple[float, ...]:
    numbers, _ = leading_numbers(str(value), count)
    if not numbers or not all(map(math.isfinite, numbers)):
        raise SensorError(
            f"<{tag}> of {block.kind} '{block.name}' is '{value}': give {count} numbers"
        )
    return numbers
