"""Component metadata: what a ground station shows beside parameters and events.

COMPONENT_METADATA names the file GENERAL, which names the others; all come by MAVLink FTP.
https://mavlink.io/en/services/component_information.html
"""

import functools
import json
import lzma
import math
from typing import Any

from xtdrone_core.mavlink.checksum import crc32

from ...parameters.store import Parameter, table
from . import event_metadata

_FOLDER = "etc/extras"
GENERAL = f"{_FOLDER}/component_general.json.xz"
_PARAMETERS = f"{_FOLDER}/parameters.json.xz"
_EVENTS = f"{_FOLDER}/all_events.json.xz"
_PARAMETER_METADATA, _EVENT_METADATA = 1, 4  # values of COMP_METADATA_TYPE


@functools.cache
def files() -> dict[str, bytes]:
    """Path -> content of each file; all vehicles have the same."""
    found = {
        _PARAMETERS: _packed(
            {"version": 1, "parameters": [_described(p) for p in table().values()]}
        ),
        _EVENTS: _packed(event_metadata.metadata()),
    }
    found[GENERAL] = _packed(
        {
            "version": 1,
            "metadataTypes": [
                {"type": kind, "uri": f"mftp://{path}", "fileCrc": crc32(found[path])}
                for kind, path in ((_PARAMETER_METADATA, _PARAMETERS), (_EVENT_METADATA, _EVENTS))
            ],
        }
    )
    return found


def _described(parameter: Parameter) -> dict[str, Any]:
    row = {
        "name": parameter.name,
        "type": "Int32" if parameter.type is int else "Float",
        "default": parameter.default,
        "min": parameter.min,
        "max": parameter.max,
        "group": parameter.group,
        "shortDesc": parameter.description,
        "longDesc": "" if parameter.effect else "Without effect in this flight stack.",
        "units": parameter.unit,
    }
    return {
        key: value
        for key, value in row.items()
        if value != "" and not (isinstance(value, float) and not math.isfinite(value))
    }


def _packed(content: object) -> bytes:
    return lzma.compress(json.dumps(content).encode())
