"""The server of a running simulation: its newest state to all pages, their orders to it."""

import asyncio
import contextlib
import dataclasses
import time
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import XtdroneError
from xtdrone_core.errors import failure, one_line
from xtdrone_core.mavlink import key_file
from xtdrone_core.modes import ROS_NAME, Mode
from xtdrone_core.runs.frame_ring import FrameReader
from xtdrone_core.runs.ports import Ports

from .. import frame, panels
from ..description import StationDescription, for_page, glb_file
from ..errors import WebError
from ..events import EventLog
from ..links.cameras import Cameras
from ..links.fleet import FleetLink
from ..links.order import Answer, Order, Request
from ..links.pilot import Pilot
from ..links.sticks import Sticks
from ..links.world_control import WorldControl
from ..panels.panel import Services
from ..server.base import Base
from ..server.page import Page

_POLL_S = 0.006  # time between two looks into the ring [s]
_STICKS_S = 0.05  # time between two looks for sticks that have stopped [s]
_STATUS_S = 0.5
_SECOND = 1.0
_EVENTS = 400  # number of events that a new page gets
_REPEATS = 30  # number of last events that a new one may repeat
_STALE_S = 2.0  # time without a heartbeat after which a vehicle counts as not connected [s]
_MAX_REQUESTS = 8  # requests that are under way at once
_HOLD_WHEN_CENTRED = (Mode.ALTCTL, Mode.POSCTL)
_FLOWN_BY_STICKS = (Mode.MANUAL, Mode.STABILIZED, Mode.ACRO, Mode.ALTCTL, Mode.POSCTL)


class Station(Base):
    """The part of a simulation's server that all pages share.

    Attributes:
        pages: Those that are open.
        description: Description of the simulation.
    """

    def __init__(self, description: StationDescription):
        """Opens the ring, and the links to the vehicles and the simulation."""
        self.description, self.pages = description, set[Page]()
        vehicles = description.scene.vehicles
        self.names = [vehicle.name for vehicle in vehicles]
        n = len(self.names)
        key = key_file.read_key(description.key) if description.key else None
        self.link = FleetLink(
            n, Ports(description.instance), key, self._on_text, join=description.px4
        )
        self.world = WorldControl(description.instance, description.control)
        self.pilot = Pilot(self.link, self.names, description.scene.origin, self._positions)
        self.sticks = Sticks(self.link)
        services = Services(description, self.pilot, self.world)
        self._panels = [panel(services) for panel in panels.server_sides().values()]
        self._orders: dict[str, Order] = {**self.world.orders(), **self.pilot.orders()}
        for panel in self._panels:
            self._orders |= panel.orders()
        self._cameras = Cameras(self.world)
        self._reader = FrameReader(description.ring, list(description.arrays))
        self._log = EventLog(description.folder)
        self._events: deque[Answer] = deque(maxlen=_EVENTS)
        self._records = frame.blank(n)
        self._agent_has_slots = False
        self._centred: set[int] = set()  # vehicles whose sticks are late, and centred here
        self._t = 0.0
        self._pool = ThreadPoolExecutor(_MAX_REQUESTS)
        self._status: Answer = {}
        starts = np.array([vehicle.start[:3] for vehicle in vehicles])
        self._offset = np.zeros(3) if description.shared_origin else starts
        self._tasks: list[asyncio.Task[None]] = []
        self._messages: set[asyncio.Task[None]] = set()  # panels' messages under way

    def start(self) -> None:
        """Begins to work in the running event loop."""
        self.link.start()
        for work, period in (
            (self._show, _POLL_S),
            (self._ask_status, _STATUS_S),
            (self._greet, _SECOND),
            (self._watch_sticks, _STICKS_S),
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
        """Returns what a page needs to know before the first frame."""
        described: dict[str, Any] = {
            "op": "scene",
            **for_page(self.description.scene),
            "panels": panels.addresses(),
            "pilot": page.pilot,
            "modes": {int(mode): name for mode, name in ROS_NAME.items()},
            "control": self.description.control,
            "cameras": [dataclasses.asdict(camera) for camera in self.description.cameras],
            "status": self._status,
            "events": list(self._events),
        }
        for panel in self._panels:
            described |= panel.scene()
        return described

    async def image(self, number: int) -> bytes | None:
        """Returns the newest image of a camera as JPEG, or None."""
        return await self._cameras.image(number)

    def cameras(self) -> int:
        """Returns the number of cameras."""
        return len(self.description.cameras)

    def asset(self, kind: str, name: str) -> Path | None:
        """Returns a glTF file; see glb_file()."""
        return glb_file(self.description.scene, kind, name)

    def panel_script(self, name: str) -> Path | None:
        """Returns the JavaScript module of a panel."""
        return panels.scripts().get(name)

    async def serve(self, page: Page, op: str, request: Request) -> None:
        """Carries out what a page asks, and answers it."""
        answer = await self._answer(page, op, request)
        page.send_message({"op": "answer", "id": request.get("id"), "to": op, **answer})

    async def take_bytes(self, page: Page, data: bytes) -> None:
        """Takes the sticks of a page."""
        if not page.pilot:
            page.send_message({"op": "error", "error": "this page may look and not fly"})
            return
        try:
            page.piloted = self.sticks.take(data)
        except WebError as error:
            page.send_message({"op": "error", "error": str(error)})

    def leave(self, page: Page) -> None:
        """Forgets a page that has closed: what it flew by sticks holds its position."""
        self.pages.discard(page)
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
        self._tell({"op": "event", **event})

    def _tell(self, message: Answer) -> None:
        for page in self.pages:
            page.send_message(message)

    async def _answer(self, page: Page, op: str, request: Request) -> Answer:
        order = self._orders.get(op)
        if order is None:
            return {
                "ok": False,
                "error": f"'{op[:40]}' is not known: choose one of "
                f"{', '.join(sorted(self._orders))}",
            }
        if not page.pilot and not order.for_viewers:
            return {
                "ok": False,
                "error": "this page may look and not command: open the link with "
                "the token that was printed",
            }
        try:
            done = await self._in_pool(lambda: order.run(request))
        except XtdroneError as error:
            self.event(4, "", f"{op} refused: {error}")
            return {"ok": False, "error": str(error)}
        except Exception as error:  # only this request fails: the server goes on
            return {"ok": False, "error": failure(f"'{op}'", error)}
        for result in done.get("results", ()):
            if not result["ok"]:
                self.event(4, result["vehicle"], f"{op} refused: {result['text']}")
        return {"ok": True, **done}

    async def _in_pool(self, work: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def _show(self) -> None:
        """Sends the newest state to every page."""
        frames = self._reader.read()
        if not frames:
            return
        t_us, data = frames[-1]
        self._t = t_us * 1e-6
        self.sticks.stepped(data["steps"])
        for panel in self._panels:
            if (work := panel.on_frame(data)) is not None:
                task = asyncio.create_task(self._tell_result(work))
                self._messages.add(task)
                task.add_done_callback(self._messages.discard)
        records = data["vehicles"].view(frame.VEHICLE).copy()
        armed = records["armed"].astype(bool)
        for name, values in (
            ("set_pos", self.link.set_pos + self._offset),
            ("set_vel", self.link.set_vel),
        ):
            records[name] = np.where(armed[:, None], values, np.nan)
        records["battery"] = self.link.battery
        slots = self._log.slots  # slots of a formation that other processes fly
        self._agent_has_slots |= bool(np.isfinite(records["slot"]).any())
        if not self._agent_has_slots and slots is not None and len(slots) == len(records) - 1:
            records["slot"][1:] = records["pos"][0] + slots
        self._records = records
        packed = frame.pack(records, self._t, time.monotonic(), self.sticks.latency())
        for page in self.pages:
            page.offer(packed)

    async def _tell_result(self, work: Callable[[], Answer]) -> None:
        with contextlib.suppress(WebError):
            self._tell(await self._in_pool(work))

    async def _ask_status(self) -> None:
        """Sends new events, the clock's state, and why vehicles are not ready to every page."""
        for event in self._log.news():
            self.event(event["level"], event["who"], event["text"], event["t"])
        if not self.pages or not self.description.control:
            return
        with contextlib.suppress(WebError):
            status = await self._in_pool(lambda: self.world.ask("status"))
            health = (await self._in_pool(lambda: self.world.ask("health")))["health"]
            now = time.monotonic()
            self._status = {
                "t": status["t_us"] * 1e-6,
                "paused": status["paused"],
                "speed": status["speed"],
                "factor": status["real_time_factor_now"],
                "pages": sum(page.receives_frames for page in self.pages),
                "waiting": [each.get("not_ready", "") for each in health],
                "connected": [bool(now - heard < _STALE_S) for heard in self.link.heard],
                "mission": self.link.mission_seq.tolist(),
            }
            self._tell({"op": "status", **self._status})

    async def _greet(self) -> None:
        self.link.greet()

    async def _watch_sticks(self) -> None:
        lost = [*self._rescue(self.sticks.late()), *self.sticks.lost()]
        for page in self.pages:
            if page.piloted in lost:
                page.piloted = None
        self._hold(lost, "its sticks have stopped")

    def _rescue(self, late: list[int]) -> list[int]:
        """Centres late sticks in modes that then hold the place; returns the other vehicles."""
        holding = [i for i in late if self._records["mode"][i] in _HOLD_WHEN_CENTRED]
        for i in holding:
            self.sticks.centre(i)
            if i not in self._centred:
                self.event(4, self.names[i], "its sticks are late: they are centred meanwhile")
        self._centred = set(holding)
        return self.sticks.forget([i for i in late if i not in holding])

    def _hold(self, vehicles: list[int], why: str) -> None:
        """Has vehicles hold their positions, if they are flown by sticks."""
        flown = [
            i
            for i in vehicles
            if self._records["armed"][i] and self._records["mode"][i] in _FLOWN_BY_STICKS
        ]
        for i in flown:
            self.event(4, self.names[i], f"{why}: it holds its position")
        if flown:
            self._pool.submit(self.pilot.hold, flown)

    def _positions(self) -> np.ndarray:
        return self._records["est_pos"].astype(float)

    def _on_text(self, i: int, severity: int, text: str) -> None:
        self.event(severity, self.names[i], text)


async def _repeat(work: Callable[[], Awaitable[None]], period: float) -> None:
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
