"""One recording or two on a common time, as the page gets them."""

from typing import Any

import numpy as np

from ..frame import VEHICLE
from ..told import described
from .flight_log import MODES
from .recording import Recording

_PAST_S, _PAST_STEP_S = 30.0, 0.1  # what a page gets after a jump, for trails and plots [s]
_PAST_SIZE = 2 << 20  # of it, at most [bytes]


class Playback:
    """What is played.

    Attributes:
        told: World, types and vehicles, as described() gives them, and `replay`.
        start_s, end_s: First and last time [s].
        events: Of both, by time.
    """

    def __init__(self, first: Recording, second: Recording | None = None, align: str = "start"):
        """Of one recording, or two.

        Args:
            first: Its time is the common one, and its world is drawn.
            second: Whose vehicles are drawn translucent.
            align: A key of settings.ALIGNMENTS.
        """
        self._first, self._second = first, second
        self.start_s, self.end_s = first.start_s, first.end_s
        self.told = described(first.world, first.specs, first.models)
        self.events = list(first.events)
        self._shift = 0.0
        about: dict[str, Any] = {
            "name": first.name,
            "kind": first.kind,
            "truth": first.truth,
            "other": None,
        }
        if second is not None:
            begins = (
                (first.start_s, second.start_s)
                if align == "start"
                else (first.takeoff_s, second.takeoff_s)
            )
            self._shift = begins[0] - begins[1]
            span = second.start_s + self._shift, second.end_s + self._shift
            self.start_s, self.end_s = min(self.start_s, span[0]), max(self.end_s, span[1])
            about["other"] = {
                "name": second.name,
                "kind": second.kind,
                "truth": second.truth,
                "start": max(span[0], first.start_s),
                "end": min(span[1], first.end_s),
            }
            self._add(second)
        self.told["replay"] = {**about, "start": self.start_s, "end": self.end_s}

    def _add(self, second):
        told, names = described(second.world, second.specs, second.models), self._first.names
        for i, vehicle in enumerate(told["vehicles"]):
            twin = names.index(vehicle["name"]) if vehicle["name"] in names else i
            vehicle["twin"] = twin if twin < len(names) else None
            vehicle["name"] = f"{vehicle['name']} ({second.name})"
        self.told["types"] = {**told["types"], **self.told["types"]}
        self.told["vehicles"] += told["vehicles"]
        self.events += [
            {
                **event,
                "t": event["t"] + self._shift,
                "who": f"{event['who']} ({second.name})".strip(),
            }
            for event in second.events
        ]
        self.events.sort(key=lambda event: event["t"])

    @property
    def modes(self) -> dict[int, str]:
        """Names of the modes of the records."""
        return MODES

    def at(self, t_s: float) -> np.ndarray:
        """Records (n,) of all vehicles at a time [s]."""
        records = self._first.at(t_s)
        if self._second is None:
            return records
        return np.concatenate([records, self._second.at(t_s - self._shift)])

    def past(self, t_s: float) -> np.ndarray:
        """Times before t_s that a page gets after a jump there [s], ascending."""
        n = len(self.told["vehicles"])
        count = min(round(_PAST_S / _PAST_STEP_S), _PAST_SIZE // (n * VEHICLE.itemsize))
        step = _PAST_S / max(count, 1)
        times = t_s - step * np.arange(count, 0, -1)
        return times[times >= self.start_s]
