"""Events of a simulation as pages get them, from its run folder's event log."""

import json
from pathlib import Path
from typing import Any

import numpy as np

_SEVERITIES = {"crash": 2, "collision": 3, "disturbance": 4}  # severities of MAVLink
_INFO = 6
_FORMATION_EVENTS = ("formation", "return", "land")  # events that begin or end a formation
_MAX_READ = 1 << 20  # part of the event log that is read at once [bytes]


class EventLog:
    """Reader of the run folder's event log, as it grows.

    Attributes:
        slots: (N - 1, 3) of the followers beside the leader, as the last formation that was
            commanded says [m]; None without one.
    """

    def __init__(self, folder: str):
        """Takes the folder of the run; "" where there is none."""
        self._path = Path(folder) / "events.jsonl" if folder else None
        self._at = 0
        self.slots: np.ndarray | None = None

    def news(self) -> list[dict[str, Any]]:
        """Returns the events since the last call: t [s], level (MAVLink's severity), who, text."""
        if self._path is None or not self._path.exists():
            return []
        with open(self._path, "rb") as file:
            file.seek(self._at)
            data = file.read(_MAX_READ)
        data = data[: data.rfind(b"\n") + 1]
        self._at += len(data)
        events = [json.loads(line) for line in data.splitlines()]
        for event in events:
            if event.get("event") in _FORMATION_EVENTS:
                self.slots = _slots(event.get("slots"))
        return [page_event(event) for event in events]


def _slots(given: object) -> np.ndarray | None:
    """Returns the slots of an event, which any client may have written; None where it has none."""
    try:
        slots: np.ndarray = np.array(given, dtype=float)
    except (TypeError, ValueError):
        return None
    return slots if slots.ndim == 2 and slots.shape[1] == 3 else None


def page_event(line: dict[str, Any]) -> dict[str, Any]:
    """Returns an event of the run folder's log as pages get it: t [s], level, who and a text."""
    line = dict(line)
    name = line.pop("event", "")
    t = line.pop("t_us", 0) * 1e-6
    who = line.pop("vehicle", "")
    values = " ".join(f"{key} {_shown(value)}" for key, value in line.items() if value != [])
    return {
        "t": t,
        "level": _SEVERITIES.get(name, _INFO),
        "who": str(who),
        "text": f"{name} {values}",
    }


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) if len(value) < 10 else f"{len(value)} of them"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
