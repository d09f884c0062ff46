"""The server's heart: the newest state to all pages, and their orders to the simulation."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np

from xtdrone_core import XtdroneError
from xtdrone_core.errors import failure, one_line
from xtdrone_core.mavlink import key_file
from xtdrone_core.modes import ROS_NAME
from xtdrone_core.runs.frame_ring import FrameReader
from xtdrone_core.runs.ports import Ports

from .. import frame
from ..errors import WebError
from .base import Base
from .cameras import Cameras
from .fleet import FleetLink
from .page import Page
from .pilot import UNITS, Pilot
from .race import Race
from .sticks import Sticks
from .world_control import REQUESTS, EventLog, WorldControl

_POLL_S = 0.006  # between two looks into the ring [s]
_STATUS_S = 0.5
_SECOND = 1.0
_EVENTS = 400  # that a new page gets
_REPEATS = 30  # of which a new one may be a repetition
_STALE_S = 2.0  # without a heartbeat after which a vehicle counts as not connected [s]
_ASKING = 8  # orders that are under way at once


class Station(Base):
    """Everything that pages have in common.

    Attributes:
        pages: Those that are open.
        told: What the simulation said about itself at its start.
    """

    def __init__(self, told: dict[str, Any]):
        """Opens the ring, and the links to the vehicles."""
        self.told, self.pages = told, set[Page]()
        self.names = [vehicle["name"] for vehicle in told["vehicles"]]
        n = len(self.names)
        key = key_file.read_key(told["key"]) if told["key"] else None
        self.link = FleetLink(n, Ports(told["instance"]), key, self._on_text, told["px4"])
        self.world = WorldControl(told["instance"], told["control"])
        self.pilot = Pilot(self.link, self.names, told["origin"], self._positions)
        self.sticks = Sticks(self.link)
        self._cameras = Cameras(self.world)
        self.race = Race(told["track"], told["ghost"])
        self._racing: asyncio.Task | None = None
        self._reader = FrameReader(told["ring"], told["arrays"])
        self._log = EventLog(told["folder"])
        self._events: deque[dict[str, Any]] = deque(maxlen=_EVENTS)
        self._records = frame.blank(n)
        self._agent_knows = False  # the Agent has told slots by itself
        self._t = 0.0
        self._pool = ThreadPoolExecutor(_ASKING)
        self._status: dict[str, Any] = {}
        starts = np.array([vehicle["start"][:3] for vehicle in told["vehicles"]])
        self._offset = 0.0 if told["shared_origin"] else starts
        self._tasks: list[asyncio.Task] = []

    def start(self) -> None:
        """Begins to work in the running event loop."""
        self.link.start()
        for work, period in (
            (self._show, _POLL_S),
            (self._ask_status, _STATUS_S),
            (self._greet, _SECOND),
            (self._watch_sticks, 0.05),
        ):
            self._tasks.append(asyncio.create_task(_repeat(work, period)))

    async def close(self) -> None:
        """Ends everything."""
        for task in self._tasks:
            task.cancel()
        self.link.close()
        self.pilot.close()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self.world.close()

    def scene(self, page: Page) -> dict[str, Any]:
        """What a page needs to know before the first frame."""
        told = self.told
        return {
            "op": "scene",
            **self._drawn(),
            "pilot": page.pilot,
            "modes": {int(mode): name for mode, name in ROS_NAME.items()},
            "failures": list(UNITS),
            "control": told["control"],
            "cameras": [
                {"vehicle": camera["vehicle"], "sensor": camera["sensor"], "kind": camera["kind"]}
                for camera in told["cameras"]
            ],
            "status": self._status,
            "events": list(self._events),
            "race": self.race.told,
            "laps": self.race.state,
        }

    async def image(self, number: int) -> bytes | None:
        """The newest image of a camera as JPEG, or None."""
        return await self._cameras.image(number)

    async def serve(self, page: Page, op: str, asked: Any) -> None:
        """Carries out what a page asks; its answer is sent to it."""
        if op == "":
            self._take_sticks(page, asked)
        elif op == "ping":
            page.tell(
                {
                    "op": "pong",
                    "t0": asked.get("t0"),
                    "t1": time.monotonic(),
                    "sent": page.sent,
                    "dropped": page.dropped,
                }
            )
        else:
            answer = await self._answer(page, op, asked)
            page.tell({"op": "answer", "id": asked.get("id"), "to": op, **answer})

    def leave(self, page: Page) -> None:
        """A page has closed: what it flew by sticks holds its position."""
        super().leave(page)
        if page.piloted is not None:
            self._hold([page.piloted], "the page that flew it was closed")
            page.piloted = None

    def event(self, level: int, who: str, text: str, t: float | None = None) -> None:
        """Adds an event and shows it to every page; levels are MAVLink's severities."""
        event = {
            "t": round(self._t if t is None else t, 3),
            "level": level,
            "who": who,
            "text": one_line(text),
        }
        if any(event == recent for recent in islice(reversed(self._events), _REPEATS)):
            return  # the flight stack says it again for each try
        self._events.append(event)
        for page in self.pages:
            page.tell({"op": "event", **event})

    async def _answer(self, page, op, asked) -> dict[str, Any]:
        work = self._work(op)
        if work is None:
            return {
                "ok": False,
                "error": f"'{op[:40]}' is not known: choose one of "
                f"{', '.join(sorted(self._known()))}",
            }
        if not page.pilot and op not in _LOOKING:
            return {
                "ok": False,
                "error": "this page may look and not command: open the link with "
                "the token that was printed",
            }
        try:
            loop = asyncio.get_running_loop()
            done = await loop.run_in_executor(self._pool, work, asked)
        except XtdroneError as error:
            self.event(4, "", f"{op} refused: {error}")
            return {"ok": False, "error": str(error)}
        except Exception as error:  # of one request: the server goes on
            return {"ok": False, "error": failure(f"'{op}'", error)}
        self._note_refusals(op, done)
        return {"ok": True, **done}

    def _known(self):
        return {*REQUESTS, *self.pilot.orders, "params", *_LOOKING}

    def _work(self, op) -> Callable[[dict], dict] | None:
        if op in REQUESTS:
            return lambda asked: self.world.do(op, asked)
        if op in self.pilot.orders:
            return lambda asked: self.pilot.do(op, asked)
        return {
            "params": self.pilot.parameters,
            "items": self.pilot.items,
            "ghosts": self.race.runs,
            "ghost": self.race.ghost,
        }.get(op)

    def _note_refusals(self, op, done):
        for result in done.get("results", ()):
            if not result["ok"]:
                self.event(4, result["vehicle"], f"{op} refused: {result['text']}")

    def _take_sticks(self, page, data):
        if not page.pilot:
            page.tell({"op": "error", "error": "this page may look and not fly"})
            return
        try:
            page.piloted = self.sticks.take(data)
        except WebError as error:
            page.tell({"op": "error", "error": str(error)})

    async def _show(self):
        """The newest state to every page."""
        frames = self._reader.read()
        if not frames:
            return
        t_us, data = frames[-1]
        self._t = t_us * 1e-6
        self.sticks.stepped(data["steps"])
        if self.race.changed(data["passages"]):
            self._racing = asyncio.create_task(self._tell_race())
        records = data["vehicles"].view(frame.VEHICLE).copy()
        armed = records["armed"].astype(bool)
        for name in ("set_pos", "set_vel"):
            values = getattr(self.link, name) + (self._offset if name == "set_pos" else 0.0)
            records[name] = np.where(armed[:, None], values, np.nan)
        records["battery"] = self.link.battery
        slots = self._log.slots  # of a formation that other processes fly
        self._agent_knows |= bool(np.isfinite(records["slot"]).any())
        if not self._agent_knows and slots is not None and len(slots) == len(records) - 1:
            records["slot"][1:] = records["pos"][0] + slots
        self._records = records
        packed = frame.pack(records, self._t, time.monotonic(), self.sticks.latency())
        for page in self.pages:
            page.offer(packed)

    async def _ask_status(self):
        """The clock's state, and why vehicles are not ready, to every page; events, too."""
        for event in self._log.news():
            self.event(event["level"], event["who"], event["text"], event["t"])
        if not self.pages or not self.told["control"]:
            return
        loop = asyncio.get_running_loop()
        with contextlib.suppress(WebError):
            status = await loop.run_in_executor(self._pool, self.world.ask, "status")
            health = (await loop.run_in_executor(self._pool, self.world.ask, "health"))["health"]
            now = time.monotonic()
            self._status = {
                "t": status["t_us"] * 1e-6,
                "paused": status["paused"],
                "speed": status["speed"],
                "factor": status["real_time_factor_now"],
                "pages": sum(page.looks for page in self.pages),
                "waiting": [each.get("not_ready", "") for each in health],
                "connected": [bool(now - heard < _STALE_S) for heard in self.link.heard],
                "mission": self.link.mission_seq.tolist(),
            }
            for page in self.pages:
                page.tell({"op": "status", **self._status})

    async def _tell_race(self):
        """The laps to every page."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(WebError):
            self.race.state = await loop.run_in_executor(self._pool, self.world.ask, "race")
            for page in self.pages:
                page.tell({"op": "laps", **self.race.state})

    async def _greet(self):
        self.link.greet()

    async def _watch_sticks(self):
        lost = self.sticks.lost()
        for page in self.pages:
            if page.piloted in lost:
                page.piloted = None
        self._hold(lost, "its sticks have stopped")

    def _hold(self, vehicles, why):
        """Has vehicles hold their positions, if they are flown by sticks."""
        flown = [
            i
            for i in vehicles
            if self._records["armed"][i]
            and ROS_NAME.get(int(self._records["mode"][i])) in _BY_STICKS
        ]
        for i in flown:
            self.event(4, self.names[i], f"{why}: it holds its position")
        if flown:
            self._pool.submit(self.pilot.do, "hold", {"vehicles": flown})

    def _positions(self):
        return self._records["est_pos"].astype(float)

    def _on_text(self, i, severity, text):
        self.event(severity, self.names[i], text)


_LOOKING = ("items", "ghosts", "ghost")  # what pages may ask that may not command
_BY_STICKS = ("MANUAL", "STABILIZED", "ACRO", "ALTCTL", "POSCTL")


async def _repeat(work: Callable[[], Coroutine[Any, Any, None]], period: float) -> None:
    """Calls work() again and again; an error of one call is reported and does not end it."""
    while True:
        try:
            await work()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            print(failure(work.__name__, error), flush=True)
            await asyncio.sleep(_SECOND)
        await asyncio.sleep(period)
