"""The routes of the page: its files, glTF, camera images, and the socket."""

import asyncio
import contextlib

from aiohttp import web

from ..frame import STATIC
from .base import Base
from .guard import MAX_CLIENTS, Guard, policy
from .hello import admitted
from .page import MAX_MESSAGE, Page
from .rules import rules

_MAX_ORDERS = 16  # orders of a page that are under way at once
_BEAT_S = 5.0  # a page that does not answer for so long is closed [s]


class App:
    """The web application of a station."""

    def __init__(self, station: Base, guard: Guard):
        """Takes what it serves; application() is what aiohttp runs."""
        self._station, self._guard = station, guard

    def application(self) -> web.Application:
        """Returns a new aiohttp application."""
        application = web.Application(middlewares=[rules(self._guard)], client_max_size=MAX_MESSAGE)
        application.add_routes(
            [
                web.get("/", self._index),
                web.get("/gamepad", self._gamepad),
                web.get("/socket", self._socket),
                web.get("/world.glb", self._glb),
                web.get("/vehicle/{name}.glb", self._glb),
                web.get("/actor/{name}.glb", self._glb),
                web.get("/camera/{number:[0-9]+}.jpg", self._camera),
                web.get("/panel/{name}.js", self._panel),
                web.static("/static", STATIC),
            ]
        )
        return application

    async def _index(self, request: web.Request) -> web.FileResponse:
        return web.FileResponse(
            STATIC / "index.html",
            headers={"Content-Security-Policy": policy(frames=self._guard.neighbours)},
        )

    async def _gamepad(self, request: web.Request) -> web.FileResponse:
        return web.FileResponse(
            STATIC / "gamepad.html",
            headers={"Content-Security-Policy": policy(framed_by=self._guard.neighbours)},
        )

    async def _glb(self, request: web.Request) -> web.FileResponse:
        name = request.match_info.get("name", "")
        kind = request.path.split("/")[1] if name else "world"
        path = self._station.asset(kind, name)
        if path is None or not path.exists():
            raise web.HTTPNotFound(text=f"there is no {kind} '{name[:60]}'\n")
        return web.FileResponse(path, headers={"Content-Type": "model/gltf-binary"})

    async def _camera(self, request: web.Request) -> web.Response:
        number = int(request.match_info["number"][:4])
        if number >= self._station.cameras():
            raise web.HTTPNotFound(text=f"there is no camera {number}\n")
        image = await self._station.image(number)
        if image is None:  # none yet, which is no error: the page asks again
            return web.Response(status=204)
        return web.Response(body=image, content_type="image/jpeg")

    async def _panel(self, request: web.Request) -> web.FileResponse:
        name = request.match_info["name"]
        path = self._station.panel_script(name)
        if path is None or not path.exists():
            raise web.HTTPNotFound(text=f"there is no panel '{name[:60]}'\n")
        return web.FileResponse(path, headers={"Content-Type": "text/javascript"})

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(heartbeat=_BEAT_S, max_msg_size=MAX_MESSAGE, compress=False)
        await socket.prepare(request)
        page = Page(socket, request)
        if len(self._station.pages) >= MAX_CLIENTS:
            await page.refuse(f"{MAX_CLIENTS} pages are open already: close one")
            return socket
        if not await admitted(page, self._guard):
            return socket
        self._station.pages.add(page)
        page.send_message(self._station.scene(page))
        sending = asyncio.create_task(page.send())
        try:
            await self._converse(page)
        finally:
            self._station.leave(page)
            sending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sending
        return socket

    async def _converse(self, page: Page) -> None:
        """Answers a page until it closes; an order that takes long does not hold up the sticks."""
        working: set[asyncio.Task[None]] = set()
        async for message in page.messages():
            if isinstance(message, bytes):
                await self._station.take_bytes(page, message)
                continue
            op = message["op"]
            if op == "ping":
                page.answer_ping(message)
            elif len(working) < _MAX_ORDERS:
                task = asyncio.create_task(self._station.serve(page, op, message))
                working.add(task)
                task.add_done_callback(working.discard)
            else:
                page.send_message(
                    {
                        "op": "answer",
                        "id": message.get("id"),
                        "to": op,
                        "ok": False,
                        "error": "too many orders at once: wait for their answers",
                    }
                )
