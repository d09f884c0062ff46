"""The Agent `openings`: flies through gates or windows that its camera sees, without a map."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from xtdrone_core import Estimates, SetPoints
from xtdrone_core.contracts import Flight
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import Option
from xtdrone_dynamics.quaternion import to_euler

from ..errors import PerceptionError
from ..tracking.sight import camera_of
from ..tracking.watching import ImageWatcher
from .openings import Opening, OpeningFinder
from .passage import Passages

_SWEEP = 0.5  # yaw rate of the search [rad/s]
_GAIN = 0.8  # climb rate per height that is missing [1/s]


class _Seen(NamedTuple):
    """What an image showed, until it is delivered."""

    due_us: int
    t_us: int
    openings: list[Opening]


class OpeningsAgent(FlightAgent):
    """Flies through upright rectangular openings of a known size, one after another.

    Each image of the camera ahead is searched for holes with four straight edges; their corners,
    the known size and the vehicle's estimate give a place, which several images confirm. The
    vehicle flies on the opening's axis through it, and looks around where it sees none. Where the
    openings are is not told. Events: `opening` (where one was found), `passed`, `gave_up`.
    """

    def __init__(
        self,
        n: int = 1,
        count: Annotated[int, Option("openings that are passed", minimum=1, maximum=1000)] = 1,
        width: Annotated[float, Option("of an opening", unit="m", minimum=0.6, maximum=20.0)] = 1.8,
        tall: Annotated[
            float, Option("height of an opening", unit="m", minimum=0.6, maximum=20.0)
        ] = 1.8,
        height: Annotated[
            float, Option("of the take-off", unit="m", minimum=0.5, maximum=60.0)
        ] = 2.0,
        flight_speed: Annotated[
            float, Option("through an opening", unit="m/s", minimum=0.3, maximum=6.0)
        ] = 1.5,
        rate: Annotated[float, Option("images", unit="Hz", minimum=1.0, maximum=25.0)] = 8.0,
        latency: Annotated[
            float, Option("from an image to its corners", unit="s", minimum=0.0, maximum=1.0)
        ] = 0.05,
        search: Annotated[
            float, Option("time after which it gives up", unit="s", minimum=1.0, maximum=600.0)
        ] = 25.0,
        on_event: Callable[..., None] | None = None,
    ) -> None:
        """Prepares one vehicle; on_event(t_us, name, **values) is called at each event.

        Raises:
            PerceptionError: Several vehicles.
        """
        super().__init__(n, height, on_event=on_event)
        if n != 1:
            raise PerceptionError(f"{n} vehicles: 'openings' flies one")
        self._count, self._size = count, (width, tall)
        self._latency_us, self._search_us = round(1e6 * latency), round(1e6 * search)
        self._rate, self._image_us = rate, 0
        self._passages = Passages(flight_speed)
        self._pending: list[_Seen] = []
        self._searching_us = self._began_us = -1
        self._hold: np.ndarray | None = None  # where it searches
        self._images = self._found = 0

    def attach(self, flight: Flight) -> None:
        """Finds the camera.

        Raises:
            PerceptionError: The vehicle has no camera, or OpenCV is not installed.
        """
        self._flight = flight
        self._camera = camera_of(flight.fleet.vehicles[0])
        self._finder = OpeningFinder(self._camera.camera, *self._size)
        self._image_us = self._camera.image_us(self._rate)
        flight.observers.append(ImageWatcher(self, flight, self._camera))

    def wants_image(self, t_us: int) -> bool:
        """Whether an image is due: none before the take-off is over."""
        return self._began_us >= 0 and t_us % self._image_us == 0

    def look(self, t_us: int, image: np.ndarray) -> None:
        """Searches an image."""
        estimates = self._flight.autopilot.estimates()
        eye = self._camera.believed(self._flight.state, 0, estimates.pos[0], estimates.quat[0])
        openings = self._finder(image, eye)
        self._images += 1
        self._found += bool(openings)
        self._pending.append(_Seen(t_us + self._latency_us, t_us, openings))

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Begins to search."""
        self._began_us = self._searching_us = t_us

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Flies to the next opening and through it, or looks around."""
        while self._pending and self._pending[0].due_us <= t_us:
            seen = self._pending.pop(0)
            self._passages.see(seen.t_us, seen.openings)
        pos = estimates.pos[0]
        if self._passages.choose(pos, _ahead(estimates.quat[0])):
            self._tell(t_us, "opening")
        if self._passages.next is None:
            return self._look_around(t_us, pos, out)
        velocity, look, over = self._passages.fly(pos)
        out.vel[0], out.yaw[0] = velocity, math.atan2(look[1], look[0])
        self._hold, self._searching_us = None, t_us
        if over:
            self.event(t_us, "passed", number=len(self._passages.passed))
        return over and len(self._passages.passed) >= self._count

    def _look_around(self, t_us: int, pos: np.ndarray, out: SetPoints) -> bool:
        if self._hold is None:
            self._hold = pos.copy()
            self._yaw_from = float(out.yaw[0])
        if t_us - self._searching_us > self._search_us:
            self.event(t_us, "gave_up")
            return True
        out.pos[0] = self._hold
        out.yaw[0] = self._yaw_from + _SWEEP * 1e-6 * (t_us - self._searching_us)
        return False

    def _tell(self, t_us: int, name: str) -> None:
        known = self._passages.next
        assert known is not None
        east, north, up = (round(float(x), 2) for x in known.pos)
        self.event(t_us, name, east=east, north=north, up=up)

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Returns how many openings were passed, of how many."""
        return {"openings": (len(self._passages.passed), self._count)}

    def report(self, folder: Path) -> None:
        """Adds the openings passed and the share of images that showed one to the summary."""
        metrics: dict[str, Any] = {
            "openings_passed": len(self._passages.passed),
            "openings_seen_share": round(self._found / max(self._images, 1), 3),
        }
        run_folder.update_summary(folder, **metrics)
        for name, value in metrics.items():
            print(f"{name}: {value}")


def _ahead(quat: np.ndarray) -> np.ndarray:
    """Level direction (2,) in which a vehicle of attitude xyzw looks."""
    yaw = to_euler(*quat)[2]
    return np.array([math.cos(yaw), math.sin(yaw)])
