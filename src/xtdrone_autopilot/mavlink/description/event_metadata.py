"""All events as a ground station reads them: component metadata of type 4."""

import re
from collections.abc import Sequence
from typing import Any

from xtdrone_core.modes import NAV_STATES

from ...safety.arming_checks import ARMING_SUMMARY, CHECKS, HEALTH_SUMMARY
from ...safety.checks import Check, Component
from ...state.events import ENUMS, EVENTS, event_number

_MODES, _COMPONENTS = "navigation_mode_group_t", "health_component_t"  # bit fields
_SUMMARY = {  # name: message, and the arguments behind the first
    ARMING_SUMMARY: (
        "Arming check summary event",
        {"error": _COMPONENTS, "warning": _COMPONENTS, "can_arm": _MODES, "can_run": _MODES},
    ),
    HEALTH_SUMMARY: (
        "Health report summary event",
        {"is_present": _COMPONENTS, "error": _COMPONENTS, "warning": _COMPONENTS},
    ),
}
_TYPES = {"f": "float"}


def metadata() -> dict:
    """Events, their groups, and the enumerations of their arguments."""
    checks: dict[bool, dict[str, Any]] = {
        False: {},
        True: {},
    }  # whether they are about health: number -> event
    for check in CHECKS:
        checks[check.health][str(check.number)] = _check(check)
    for name, health in ((ARMING_SUMMARY, False), (HEALTH_SUMMARY, True)):
        checks[health][str(event_number(name))] = _summary(name)
    events = {
        str(event.number): {
            "name": event.name,
            "message": event.message,
            **_arguments(event.arguments),
            **({"type": "append_health_and_arming_messages"} if event.adds_checks else {}),
        }
        for event in EVENTS
    }
    return {
        "version": 2,
        "components": {
            "1": {
                "namespace": "px4",
                "enums": _enums(),
                "supported_protocols": ["health_and_arming_check"],
                "navigation_mode_groups": {
                    "groups": {
                        str(number): [state.custom_mode]
                        for number, state in NAV_STATES.items()
                        if state.listed
                    }
                },
                "event_groups": {
                    "default": {"events": events},
                    "arming_check": {"events": checks[False]},
                    "health": {"events": checks[True]},
                },
            }
        },
    }


def _arguments(kinds: Sequence[str]) -> dict[str, Any]:
    if not kinds:
        return {}
    return {
        "arguments": [
            {"name": f"arg{k}", "type": f"px4::{kind}" if kind in ENUMS else kind}
            for k, kind in enumerate(kinds)
        ]
    }


def _check(check: Check) -> dict[str, Any]:
    extra = [{"name": "arg0", "type": _TYPES[check.argument]}] if check.argument else []
    return {
        "name": check.name,
        "message": check.message,
        "arguments": [
            {"name": "modes", "type": _MODES},
            {"name": "health_component_index", "type": "uint8_t"},
            *extra,
        ],
    }


def _summary(name: str) -> dict[str, Any]:
    message, arguments = _SUMMARY[name]
    return {
        "name": name,
        "message": message,
        "type": "summary",
        "arguments": [
            {"name": "chunk_idx", "type": "uint8_t"},
            *({"name": key, "type": f"px4::{kind}"} for key, kind in arguments.items()),
        ],
    }


def _enums() -> dict[str, Any]:
    plain = {
        name: {
            "type": "uint8_t",
            "description": name,
            "entries": {str(number): _entry(text) for text, number in values.items()},
        }
        for name, values in ENUMS.items()
    }
    bits = {
        _COMPONENTS: {1 << one: one.name.lower() for one in Component},
        _MODES: {1 << number: state.name for number, state in NAV_STATES.items()},
    }
    return {
        **plain,
        **{
            name: {
                "type": "uint32_t",
                "is_bitfield": True,
                "description": name,
                "entries": {str(bit): _entry(text) for bit, text in of.items()},
            }
            for name, of in bits.items()
        },
    }


def _entry(text: str) -> dict[str, str]:
    return {"name": re.sub(r"\W+", "_", text).lower(), "description": text.replace("_", " ")}
