"""The routes of the tuning page, for a server of its own or for one that has more pages."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

from aiohttp import web

from xtdrone_core import XtdroneError

from ..errors import WebError
from ..frame import STATIC
from ..server.guard import MAX_CLIENTS, Guard
from ..server.hello import admitted
from ..server.page import MAX_MESSAGE, Page
from . import logs
from .bench import Bench

PREFIX = "/tune"
_BEAT_S = 5.0  # a page that does not answer for so long is closed [s]
_MAX_ORDERS = 16  # orders of a page that are under way at once
_PART_S = 30.0  # time that the next part of an upload may take [s]


def tuning_routes(bench: Bench, guard: Guard, prefix: str = PREFIX) -> list[web.RouteDef]:
    """Returns routes for an application with the rules of server.rules that serves /static.

    Args:
        bench: What the pages share; the application closes it at its end.
        guard: Knows the token, without which this page shows nothing.
        prefix: Prefix of the paths.
    """
    pages = _Pages(bench, guard)
    return [
        web.get(prefix, pages.index),
        web.get(f"{prefix}/socket", pages.socket),
        web.post(f"{prefix}/upload", pages.upload),
    ]


class _Pages:
    def __init__(self, bench: Bench, guard: Guard):
        self._bench, self._guard = bench, guard
        self._uploading = False

    async def index(self, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(STATIC / "tune.html")

    async def socket(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(heartbeat=_BEAT_S, max_msg_size=MAX_MESSAGE, compress=False)
        await socket.prepare(request)
        page = Page(socket, request)
        if len(self._bench.pages) >= MAX_CLIENTS:
            await page.refuse(f"{MAX_CLIENTS} pages are open already: close one")
        elif not await admitted(page, self._guard):
            pass
        elif not page.pilot:
            await page.refuse("this page needs its token: open the link that was printed")
        else:
            await self._converse(page)
        return socket

    async def _converse(self, page: Page) -> None:
        self._bench.welcome(page)
        sending = asyncio.create_task(page.send())
        working: set[asyncio.Task[Any]] = set()
        try:
            async for message in page.messages():
                if isinstance(message, bytes):
                    page.send_message({"op": "error", "error": "this page takes no bytes"})
                    continue
                if len(working) >= _MAX_ORDERS:
                    page.send_message(
                        {
                            "op": "answer",
                            "id": message.get("id"),
                            "to": message["op"],
                            "ok": False,
                            "error": "too many orders at once: wait for answers",
                        }
                    )
                    continue
                task = asyncio.create_task(self._bench.serve(page, message))
                working.add(task)
                task.add_done_callback(working.discard)
        finally:
            self._bench.pages.discard(page)
            sending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sending

    async def upload(self, request: web.Request) -> web.StreamResponse:
        """Takes a log as the body, ?name= its name; opens it, and keeps it if it can be read."""
        if not self._guard.is_pilot(
            request.headers.get("Authorization", "").removeprefix("Bearer ")
        ):
            return _refused(403, "an upload needs the page's token: open the link that was printed")
        if self._uploading:
            return _refused(409, "another upload is under way: wait for its end")
        self._uploading = True
        try:
            return await self._take(request, request.query.get("name", ""))
        except XtdroneError as error:
            return _refused(200, str(error))
        except OSError as error:
            return _refused(200, f"the upload cannot be kept: {error.strerror or error}")
        except asyncio.TimeoutError:
            return _refused(408, f"the upload stopped for {_PART_S:g} s")
        finally:
            self._uploading = False

    async def _take(self, request: web.Request, name: str) -> web.Response:
        if (request.content_length or 0) > logs.MAX_UPLOAD:
            raise WebError(_too_large())
        log = self._bench.logs.place(name)
        kept = False
        try:
            await _receive(request, name, log.path)
            await self._bench.show(log)
            kept = True
        except WebError as error:  # the path is gone again: the user knows the file by its name
            raise WebError(str(error).replace(str(log.path), name)) from error
        finally:
            if not kept:
                log.path.unlink(missing_ok=True)
                with contextlib.suppress(OSError):
                    log.path.parent.rmdir()
        return web.json_response({"ok": True, "name": log.name})


async def _receive(request: web.Request, name: str, path: Path) -> None:
    size = 0
    with open(path, "xb") as file:
        while part := await asyncio.wait_for(request.content.readany(), _PART_S):
            if size == 0:
                logs.check_beginning(name, part)
            size += len(part)
            if size > logs.MAX_UPLOAD:
                raise WebError(_too_large())
            file.write(part)
    if size == 0:
        raise WebError("the file is empty")


def _too_large() -> str:
    return f"the file has more than {logs.MAX_UPLOAD >> 20} MB, which is the most for a log"


def _refused(status: int, why: str) -> web.Response:
    """Returns a refusal as JSON; its status is 200 where only the file is at fault."""
    return web.json_response({"ok": False, "error": why}, status=status)
