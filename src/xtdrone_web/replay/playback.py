"""One recording or two on a common time, as the page gets them."""

from dataclasses import dataclass, replace

import numpy as np

from ..description import describe
from ..frame import VEHICLE
from .flight_log import MODES
from .recording import Recording

_PAST_S, _PAST_STEP_S = 30.0, 0.1  # what a page gets after a jump, for trails and plots [s]
_PAST_SIZE = 2 << 20  # largest size of what a page gets after a jump [bytes]


@dataclass(frozen=True)
class OtherDescription:
    """The second of two recordings."""

    name: str
    kind: str
    truth: bool
    start: float  # the time that both have [s]
    end: float


@dataclass(frozen=True)
class ReplayDescription:
    """A description of what is played."""

    name: str
    kind: str
    truth: bool  # positions are true ones, not estimates
    start: float  # [s]
    end: float
    other: OtherDescription | None


class Playback:
    """A recording as it is played.

    Attributes:
        scene: World, types and vehicles of both recordings.
        description: Names, kinds and times.
        start_s, end_s: First and last time [s].
        events: Events of both, by time.
    """

    def __init__(self, first: Recording, second: Recording | None = None, align: str = "start"):
        """Plays one recording, or two.

        Args:
            first: Its time is the common one, and its world is drawn.
            second: Its vehicles are drawn translucent.
            align: A key of settings.ALIGNMENTS.
        """
        self._first, self._second = first, second
        self.start_s, self.end_s = first.start_s, first.end_s
        self.scene = describe(first.world, first.specs, first.models)
        self.events = list(first.events)
        self._shift = 0.0
        other = None
        if second is not None:
            begins = (
                (first.start_s, second.start_s)
                if align == "start"
                else (first.takeoff_s, second.takeoff_s)
            )
            self._shift = begins[0] - begins[1]
            span = second.start_s + self._shift, second.end_s + self._shift
            self.start_s, self.end_s = min(self.start_s, span[0]), max(self.end_s, span[1])
            other = OtherDescription(
                second.name,
                second.kind,
                second.truth,
                start=max(span[0], first.start_s),
                end=min(span[1], first.end_s),
            )
            self._add(second)
        self.description = ReplayDescription(
            first.name, first.kind, first.truth, self.start_s, self.end_s, other
        )

    def _add(self, second: Recording) -> None:
        added, names = describe(second.world, second.specs, second.models), self._first.names
        vehicles = list(self.scene.vehicles)
        for i, vehicle in enumerate(added.vehicles):
            twin = names.index(vehicle.name) if vehicle.name in names else i
            vehicles.append(
                replace(
                    vehicle,
                    name=f"{vehicle.name} ({second.name})",
                    compared=True,
                    twin=twin if twin < len(names) else None,
                )
            )
        self.scene = replace(
            self.scene, types={**added.types, **self.scene.types}, vehicles=tuple(vehicles)
        )
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
        """Returns records (n,) of all vehicles at a time [s]."""
        records = self._first.at(t_s)
        if self._second is None:
            return records
        return np.concatenate([records, self._second.at(t_s - self._shift)])

    def past(self, t_s: float) -> np.ndarray:
        """Returns times before t_s that a page gets after a jump there [s], ascending."""
        n = len(self.scene.vehicles)
        count = min(round(_PAST_S / _PAST_STEP_S), _PAST_SIZE // (n * VEHICLE.itemsize))
        step = _PAST_S / max(count, 1)
        times = t_s - step * np.arange(count, 0, -1)
        return times[times >= self.start_s]
