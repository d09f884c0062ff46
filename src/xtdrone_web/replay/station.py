"""The station of recorded flights: each page plays them at its own time."""

import asyncio
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import frame, panels
from ..description import for_page, glb_file, to_plain
from ..links.order import Request
from ..server.base import Base
from ..server.page import Page
from .playback import Playback
from .settings import FASTEST, SLOWEST

_PERIOD_S = 0.02  # time between two frames [s]
_MAX_EVENTS = 2000  # number of events that a page gets
_LATENCY = (math.nan, math.nan, math.nan, 0.0)  # no sticks: nobody flies
REFUSED = "this is a recording: it takes no orders; 'xtdrone sim --web true' has a fleet that does"


@dataclass
class Player:
    """A page's place in the recording."""

    t_s: float
    playing: bool = True
    speed: float = 1.0
    wall_s: float = 0.0  # wall time of t_s [s]
    fresh: bool = True  # the page has not got this time yet

    def advance(self, now_s: float, end_s: float) -> None:
        """Moves on to a time of the monotonic clock; stops at the end."""
        if self.playing:
            self.t_s = min(self.t_s + self.speed * (now_s - self.wall_s), end_s)
            self.fresh = True
            self.playing = self.t_s < end_s
        self.wall_s = now_s


class ReplayStation(Base):
    """Serves a Playback; see Base."""

    def __init__(self, playback: Playback, begin_s: float | None = None, speed: float = 1.0):
        """Serves a Playback.

        Args:
            playback: What is played.
            begin_s: Where a new page begins [s]; None: at the start.
            speed: Speed at which a new page plays.
        """
        self.pages = set[Page]()
        self._playback, self._speed = playback, speed
        self._begin_s = playback.start_s if begin_s is None else begin_s
        self._players: dict[Page, Player] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins to play in the running event loop."""
        self._task = asyncio.create_task(self._play())

    def close(self) -> None:
        """Ends it."""
        if self._task is not None:
            self._task.cancel()

    def scene(self, page: Page) -> dict[str, Any]:
        """Begins to play; returns what a page needs to know before the first frame."""
        player = Player(self._begin_s, speed=self._speed, wall_s=time.monotonic())
        self._players[page] = player
        events = self._playback.events
        return {
            "op": "scene",
            **for_page(self._playback.scene),
            "panels": panels.addresses(),
            "pilot": False,
            "replay": to_plain(self._playback.description),
            "modes": self._playback.modes,
            "control": False,
            "cameras": [],
            "status": self._status(player),
            "events": [],
            "marks": events[:_MAX_EVENTS],
        }

    async def image(self, number: int) -> bytes | None:
        """Returns None: images are not recorded."""
        return None

    def cameras(self) -> int:
        """Returns 0: images are not recorded."""
        return 0

    def asset(self, kind: str, name: str) -> Path | None:
        """Returns a glTF file; see glb_file()."""
        return glb_file(self._playback.scene, kind, name)

    def panel_script(self, name: str) -> Path | None:
        """Returns the JavaScript module of a panel."""
        return panels.scripts().get(name)

    def leave(self, page: Page) -> None:
        """Forgets a page that has closed."""
        self.pages.discard(page)
        self._players.pop(page, None)

    async def take_bytes(self, page: Page, data: bytes) -> None:
        """Refuses sticks."""
        page.send_message({"op": "error", "error": REFUSED})

    async def serve(self, page: Page, op: str, request: Request) -> None:
        """Carries out play, pause, speed and jumps of a page; refuses all else."""
        error = self._do(page, self._players[page], op, request)
        answer = {"ok": False, "error": error} if error else {"ok": True}
        page.send_message({"op": "answer", "id": request.get("id"), "to": op, **answer})
        page.send_message(self._status(self._players[page]))

    def _do(self, page: Page, player: Player, op: str, request: Request) -> str:
        """Carries out a request; returns why it is refused, or ""."""
        now = time.monotonic()
        if op == "pause":
            player.playing = False
        elif op == "resume":
            if player.t_s >= self._playback.end_s:
                self._jump(page, player, self._playback.start_s, True)
            player.playing, player.wall_s = True, now
        elif op == "speed":
            speed = request.get("speed")
            if not _number(speed, SLOWEST, FASTEST):
                given = repr(speed)[:40]
                return f"speed {given} is not allowed: give {SLOWEST:g} to {FASTEST:g}"
            player.speed = float(request["speed"])
        elif op == "seek":
            if not _number(request.get("t"), -1e9, 1e9):
                return "seek needs a time t in seconds"
            self._jump(page, player, float(request["t"]), bool(request.get("past", True)))
        else:
            return REFUSED
        return ""

    def _jump(self, page: Page, player: Player, t_s: float, with_past: bool) -> None:
        player.t_s = min(max(t_s, self._playback.start_s), self._playback.end_s)
        player.fresh, player.wall_s = False, time.monotonic()
        if with_past:
            times = [*self._playback.past(player.t_s), player.t_s]
            page.send_bytes(frame.pack_past([self._packed(each) for each in times]))
        page.offer(self._packed(player.t_s))  # in place of an older one that has not left yet

    def _packed(self, t_s: float) -> bytes:
        return frame.pack(self._playback.at(t_s), t_s, time.monotonic(), _LATENCY)

    def _status(self, player: Player) -> dict[str, Any]:
        return {
            "op": "status",
            "t": player.t_s,
            "paused": not player.playing,
            "speed": player.speed,
            "factor": player.speed,
            "pages": len(self.pages),
        }

    async def _play(self) -> None:
        """Sends a frame to every page whose time has changed."""
        while True:
            for page in list(self.pages):
                player = self._players[page]
                played = player.playing
                player.advance(time.monotonic(), self._playback.end_s)
                if player.fresh:
                    player.fresh = False
                    page.offer(self._packed(player.t_s))
                if played and not player.playing:
                    page.send_message(self._status(player))
            await asyncio.sleep(_PERIOD_S)


def _number(value: object, low: float, high: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
