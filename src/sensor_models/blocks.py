"""Tags in the SDF blocks of cameras, lidars and other sensors that see the scene."""

import dataclasses
import math
from collections.abc import Collection, Iterable
from typing import Any

from xtdrone_core import SensorBlock
from xtdrone_core.sdf_numbers import leading_numbers

from .errors import SensorError
from .parameters import preset, presets, refuse_near_miss
from .sensor import whole_rate

UNSET_RATE = 25.0  # rate without <update_rate>, where Gazebo measures at each step [Hz]
MAX_LATENCY = 10.0  # [s]
_SIMILARITY = 0.8  # from here on a tag counts as misspelt
_GAZEBO_TAGS = ("pose", "updateRate", "min_range", "max_range")  # similar to tags of ours

PLUGIN_TAGS = {  # tags of Gazebo's ROS plugins: the names that we have
    "hackBaseline": "hack_baseline",
    "distortionK1": "k1",
    "distortionK2": "k2",
    "distortionK3": "k3",
    "distortionT1": "p1",
    "distortionT2": "p2",
    "distortion_k1": "k1",
    "distortion_k2": "k2",
    "distortion_k3": "k3",
    "distortion_t1": "p1",
    "distortion_t2": "p2",
}


def plugin_tags(block: SensorBlock) -> dict[str, str]:
    """Returns the tags of a block's Gazebo plugins as text: names of topics and frames."""
    plugins = block.parameters.get("plugin", [])
    tags: dict[str, str] = {}
    for plugin in plugins if isinstance(plugins, list) else [plugins]:
        if isinstance(plugin, dict):
            tags.update(scalars(plugin))
    return tags


def given_rate(block: SensorBlock) -> float:
    """Returns the rate that a block gives [Hz]; 0 where it gives none.

    Raises:
        SensorError: Not a number from 0.
    """
    values = {**preset_values(block, ""), **scalar_tags(block)}
    rate = number(
        block, "update_rate", block.parameters.get("update_rate", values.get("rate", 0.0))
    )
    if rate < 0.0:
        raise SensorError(
            f"<update_rate> of {block.kind} '{block.name}' is {rate:g}: give a number from 0"
        )
    return rate


def sample_rate(block: SensorBlock) -> float:
    """Returns the rate of a block in whole steps [Hz]."""
    return whole_rate(given_rate(block) or UNSET_RATE)


def preset_values(block: SensorBlock, default: str) -> dict[str, Any]:
    """Returns the values of a block's preset, of the default one, or {} where both are empty."""
    name = str(scalar_tags(block).get("preset", default)).strip()
    return preset(block.kind, name, presets().get(block.kind, {})) if name else {}


def scalar_tags(block: SensorBlock) -> dict[str, Any]:
    """Returns the tags directly in <sensor> and its <plugin>s, those of plugins under our names."""
    return {
        **scalars(block.parameters),
        **{PLUGIN_TAGS.get(tag, tag): value for tag, value in plugin_tags(block).items()},
    }


def scalars(tags: dict[str, Any]) -> dict[str, Any]:
    """Returns those of some tags that hold text, but for poses."""
    return {
        tag: value
        for tag, value in tags.items()
        if not isinstance(value, (dict, list)) and tag != "pose"
    }


def values_at(tags: dict[str, Any], paths: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    """Returns the values at some paths of nested tags, by name, where there is one."""
    values: dict[str, Any] = {}
    for name, path in paths.items():
        value: Any = tags
        for tag in path:
            value = value.get(tag) if isinstance(value, dict) else None
        if value is not None and not isinstance(value, (dict, list)):
            values[name] = value
    return values


def field_names(cls: type) -> set[str]:
    """Returns the names of a dataclass's fields."""
    return {field.name for field in dataclasses.fields(cls)}


def refuse_misspelt(
    block: SensorBlock, tags: dict, paths: Collection[tuple[str, ...]], more: Iterable[str] = ()
) -> None:
    """Rejects tags that resemble a known one of the same element.

    Args:
        block: The block of the tags.
        tags: Nested dict of the tags.
        paths: Known tags, from this element on.
        more: Further known tags of this element.
    """
    known = {path[0] for path in paths} | set(more)
    for tag, value in tags.items():
        if tag not in known and tag not in _GAZEBO_TAGS:
            refuse_near_miss(block, tag, known, _SIMILARITY)
        if isinstance(value, dict) and tag in known:
            refuse_misspelt(
                block, value, [path[1:] for path in paths if path[0] == tag and len(path) > 1]
            )


def whole_number(block: SensorBlock, tag: str, value: float) -> int:
    """Returns a tag's value as a whole number.

    Raises:
        SensorError: It is none.
    """
    if value != int(value):
        raise SensorError(
            f"<{tag}> of {block.kind} '{block.name}' is '{value:g}': give a whole number"
        )
    return int(value)


def number(block: SensorBlock, tag: str, value: object) -> float:
    """Returns a tag's value as a number; see numbers()."""
    return numbers(block, tag, value, 1)[0]


def numbers(block: SensorBlock, tag: str, value: object, count: int) -> tuple[float, ...]:
    """Returns the numbers that a tag's value begins with; see leading_numbers().

    Raises:
        SensorError: There are not so many finite ones.
    """
    values, _ = leading_numbers(str(value), count)
    if not values or not all(map(math.isfinite, values)):
        what = "a number" if count == 1 else f"{count} numbers"
        raise SensorError(f"<{tag}> of {block.kind} '{block.name}' is '{value}': give {what}")
    return values
