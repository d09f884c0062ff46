"""Parameters of sensors in place of the vehicles' own: 'imu.preset=bmi088; gps.latency=0.3'."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from xtdrone_core import SensorBlock
from xtdrone_core.errors import shown, unknown_name

from .blocks import PLUGIN_TAGS
from .errors import SensorError
from .parameters import preset, presets
from .rendered_sensor import rendered_sensors
from .sensor import sensors

Changes = Mapping[str, Mapping[str, str]]  # values by kind of the sensor and name

_ENTRY = re.compile(r"\s*(\w+)\.(\w+)\s*=\s*(.*?)\s*")


def parse_changes(text: str) -> dict[str, dict[str, str]]:
    """The values of a list of KIND.NAME=VALUE, separated by ';'.

    Args:
        text: The list. NAME is `preset`, or a parameter that the presets have.

    Raises:
        SensorError: An entry that cannot be read, an unknown name, or no such value.
    """
    changes: dict[str, dict[str, str]] = {}
    for entry in filter(str.strip, text.split(";")):
        match = _ENTRY.fullmatch(entry)
        if not match:
            raise SensorError(
                f"cannot read sensors '{shown(entry)}': write KIND.NAME=VALUE, separated by ';'"
            )
        kind, name, value = match.groups()
        if kind not in (known := {**sensors(), **rendered_sensors()}):
            raise SensorError(unknown_name("kind of sensor", kind, known))
        _check(kind, name, value)
        changes.setdefault(kind, {})[name] = value
    return changes


def changed(block: SensorBlock, changes: Changes) -> SensorBlock:
    """A sensor with the values for its kind; a preset takes the place of all its own."""
    values = changes.get(block.kind)
    if not values:
        return block
    if block.kind in rendered_sensors():
        return replace(block, parameters=_rendered(block.parameters, values))
    own = {} if "preset" in values else block.parameters
    sitl = sensors()[block.kind].tags.sitl
    kept = {
        tag: value
        for tag, value in own.items()
        if tag not in values and sitl.get(tag, ("",))[0] not in values
    }
    return replace(block, parameters={**kept, **values})


def _rendered(own: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    """Returns the tags of a block that sees the scene; ours come before SDF's own."""
    rate = {"update_rate": values["rate"]} if "rate" in values else {}
    kept = {} if "preset" in values else {**own}
    plugins = own.get("plugin", [])  # which name topics and frames
    kept["plugin"] = [
        {tag: value for tag, value in plugin.items() if PLUGIN_TAGS.get(tag, tag) not in values}
        for plugin in (plugins if isinstance(plugins, list) else [plugins])
        if isinstance(plugin, dict)
    ]
    return {**kept, **values, **rate}


def _check(kind: str, name: str, value: str) -> None:
    if kind in rendered_sensors():
        of_kind = presets().get(kind, {})
        names = {parameter for one in of_kind.values() for parameter in one}
    else:
        of_kind = sensors()[kind].tags.all_presets()
        names = set(sensors()[kind].tags.known_names())
    known = {"preset", *names}
    if name not in known:
        raise SensorError(unknown_name(f"parameter of sensor '{kind}'", name, known))
    if name == "preset":
        preset(kind, value, of_kind)
        return
    if any(isinstance(values.get(name), str) for values in of_kind.values()):
        return  # a text, such as the format of an image, which the sensor checks
    try:
        valid = math.isfinite(float(value))
    except ValueError:
        valid = False
    if not valid:
        raise SensorError(f"{kind}.{name} '{shown(value)}' is not allowed: give a number")
