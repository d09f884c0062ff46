"""Pause, steps, speed, reset, disturbances and wind, over the simulation's control socket."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import ControlError
from xtdrone_core.runs.control_link import ControlClient

from ..errors import WebError

# Requests that a page may pass on, and the values of each.
REQUESTS = {
    "pause": (),
    "resume": (),
    "step": ("n",),
    "speed": ("speed",),
    "reset": ("vehicles",),
    "disturb": ("disturbance",),
    "wind": ("wind",),
    "stop": (),
}
_ANSWER_S = 10.0  # a reset of a large fleet takes a while [s]
_SERIOUS = {"crash": 2, "collision": 3, "disturbance": 4}  # severities as in MAVLink
_FORMS = ("formation", "return", "land")  # events that begin or end a formation
_MAX = 1 << 20  # of the event log that is read at once [bytes]


class WorldControl:
    """A client of the control socket; may be used from several threads, and blocks."""

    def __init__(self, instance: int, there: bool):
        """Connects at the first request.

        Args:
            instance: Of the simulation.
            there: Whether it has a control socket.
        """
        self._instance, self._there = instance, there
        self._client: ControlClient | None = None
        self._lock = threading.Lock()

    def do(self, op: str, request: dict[str, Any]) -> dict[str, Any]:
        """Passes a page's request on.

        Raises:
            WebError: The simulation refuses it.
        """
        values = {name: request[name] for name in REQUESTS[op] if name in request}
        return self.ask(op, **values)

    def ask(self, op: str, **values: Any) -> dict[str, Any]:
        """One request and its answer.

        Raises:
            WebError: The simulation refuses it, or there is none.
        """
        if not self._there:
            raise WebError("this simulation has no control socket")
        with self._lock:
            try:
                if self._client is None:
                    self._client = ControlClient(self._instance, _ANSWER_S)
                return self._client.request(op, **values)
            except (ControlError, OSError) as error:
                self.close()  # an answer that is late would be taken for the next one's
                raise WebError(str(error)) from error

    def close(self) -> None:
        """Closes the connection; the next request opens another."""
        client, self._client = self._client, None
        if client is not None:
            client.close()


class EventLog:
    """Reads what the run folder's event log gets.

    Attributes:
        slots: (N - 1, 3) of the followers beside the leader, as the last formation that was
            commanded says [m]; None without one.
    """

    def __init__(self, folder: str):
        """folder: Of the run; "" where there is none."""
        self._path = Path(folder) / "events.jsonl" if folder else None
        self._at = 0
        self.slots: np.ndarray | None = None

    def news(self) -> list[dict[str, Any]]:
        """Events since the last call: t [s], level as MAVLink's severities, who, and a text."""
        if self._path is None or not self._path.exists():
            return []
        with open(self._path, "rb") as file:
            file.seek(self._at)
            data = file.read(_MAX)
        data = data[: data.rfind(b"\n") + 1]
        self._at += len(data)
        events = [json.loads(line) for line in data.splitlines()]
        for event in events:
            if event.get("event") in _FORMS:
                self.slots = _slots(event.get("slots"))
        return [page_event(event) for event in events]


def _slots(given):
    """The slots of an event, which any client may have written; None where they are none."""
    try:
        found = np.array(given, dtype=float)
    except (TypeError, ValueError):
        return None
    return found if found.ndim == 2 and found.shape[1] == 3 else None


def page_event(line: dict[str, Any]) -> dict[str, Any]:
    """An event of the run folder's log as pages get it: t [s], level, who and a text."""
    line = dict(line)
    name = line.pop("event", "")
    t = line.pop("t_us", 0) * 1e-6
    who = line.pop("vehicle", "")
    values = " ".join(f"{key} {_shown(value)}" for key, value in line.items() if value != [])
    return {"t": t, "level": _SERIOUS.get(name, 6), "who": str(who), "text": f"{name} {values}"}


def _shown(value):
    if isinstance(value, list):
        return ", ".join(map(str, value)) if len(value) < 10 else f"{len(value)} of them"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
