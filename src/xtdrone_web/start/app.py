"""The routes that the start page reads; those that it commands by are in orders.py."""

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler

from xtdrone_core import XtdroneError
from xtdrone_core.errors import failure

from ..errors import WebError
from ..frame import STATIC
from ..server.guard import Guard
from ..server.rules import rules
from . import form, runs
from .catalogue import Catalogue
from .jobs import Jobs
from .orders import Orders
from .shelf import SUFFIXES, Shelf, yaml_text

_MAX_REQUEST = 1 << 20  # largest request, uploads apart [bytes]
_BEARER = "Bearer "
Result = TypeVar("Result")


class StartApp:
    """The web application of the start page."""

    def __init__(
        self,
        guard: Guard,
        shelf: Shelf,
        jobs: Jobs,
        orders: Orders,
        catalogue: Catalogue,
        first: form.Plan | None = None,
    ):
        """Begins the form with `first`; application() is what aiohttp runs."""
        self._first = first
        self._guard, self._shelf, self._jobs = guard, shelf, jobs
        self._orders, self._catalogue = orders, catalogue
        self._pool = ThreadPoolExecutor(4)
        self._form: asyncio.Future[dict[str, Any]] | None = None

    def application(self) -> web.Application:
        """Returns a new aiohttp application."""
        application = web.Application(
            middlewares=[rules(self._guard), self._answered], client_max_size=_MAX_REQUEST
        )
        application.add_routes(
            [
                web.get("/", self._index),
                web.static("/static", STATIC),
                web.get("/api/form", self._described),
                web.get("/api/catalogue", self._listed),
                web.get("/api/me", self._me),
                web.get("/api/jobs", self._job_list),
                web.get("/api/jobs/{number:[0-9]{1,9}}", self._console),
                web.get("/api/runs", self._runs),
                web.get("/api/runs/{name}", self._run),
                web.get("/api/scenarios", self._scenarios),
                web.get("/api/scenarios/{name}", self._scenario),
                web.get("/scenarios/{name}.{kind:yaml|launch}", self._scenario_file),
                web.get("/runs/{name}/{path:.+}", self._file),
                web.get("/picture/{kind:vehicle|world}/{name}.jpg", self._picture),
                *self._orders.routes(),
            ]
        )
        return application

    @web.middleware
    async def _answered(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuses commands without the token; answers errors in one line, as JSON to the page."""
        if request.method not in ("GET", "HEAD") and not self._is_pilot(request):
            return _refusal(
                403,
                "this page may look and not command: open the link with the token that was printed",
            )
        try:
            return await handler(request)
        except form.Refused as error:
            return _refusal(200, str(error), error.field)
        except XtdroneError as error:
            if not request.path.startswith("/api/"):
                raise web.HTTPNotFound(text=f"{error}\n") from error
            return _refusal(200, str(error))
        except (web.HTTPException, asyncio.CancelledError):
            raise
        except Exception as error:  # only this request fails: the server goes on
            return _refusal(500, failure(request.path[:80], error))

    def _is_pilot(self, request: web.Request) -> bool:
        given = request.headers.get("Authorization", "")
        return given.startswith(_BEARER) and self._guard.is_pilot(given[len(_BEARER) :])

    async def _do(self, work: Callable[..., Result], *args: Any) -> Result:  # args of work
        """Runs what reads files beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(
            self._pool, functools.partial(work, *args)
        )

    async def _index(self, request: web.Request) -> web.FileResponse:
        return web.FileResponse(STATIC / "start.html")

    async def _me(self, request: web.Request) -> web.Response:
        given = request.headers.get("Authorization", "")
        pilot = self._is_pilot(request)
        if given and not pilot:
            raise WebError("the token is wrong or old: open the link that was printed last")
        return web.json_response({"pilot": pilot, "scenarios": str(self._shelf.folder)})

    async def _described(self, request: web.Request) -> web.Response:
        if self._form is None:  # once, as it imports every Agent
            self._form = asyncio.ensure_future(self._do(form.description))
        described = await asyncio.shield(self._form)
        first = self._first and form.written(self._first)
        return web.json_response({**described, "first": first})

    async def _listed(self, request: web.Request) -> web.Response:
        self._catalogue.begin()
        return web.json_response(await self._do(self._catalogue.rows))

    async def _job_list(self, request: web.Request) -> web.Response:
        return web.json_response(
            {"jobs": [asdict(job) for job in self._jobs.statuses(self._is_pilot(request))]}
        )

    async def _console(self, request: web.Request) -> web.Response:
        job = self._jobs.find(int(request.match_info["number"]))
        status = asdict(job.status(self._is_pilot(request)))
        return web.json_response({**status, "lines": list(job.lines)})

    async def _runs(self, request: web.Request) -> web.Response:
        return web.json_response(await self._do(runs.listed))

    async def _run(self, request: web.Request) -> web.Response:
        return web.json_response(await self._do(runs.described, request.match_info["name"]))

    async def _file(self, request: web.Request) -> web.FileResponse:
        path = await self._do(runs.file_of, request.match_info["name"], request.match_info["path"])
        kind = runs.TYPES.get(path.suffix.lower())
        headers = {
            "Content-Type": kind or "application/octet-stream",
            "Content-Security-Policy": runs.POLICY,
        }
        if kind is None:
            headers["Content-Disposition"] = "attachment"
        return web.FileResponse(path, headers=headers)

    async def _scenarios(self, request: web.Request) -> web.Response:
        return web.json_response(
            {"folder": str(self._shelf.folder), "scenarios": await self._do(self._shelf.names)}
        )

    async def _scenario(self, request: web.Request) -> web.Response:
        plan = await self._do(self._shelf.load, request.match_info["name"])
        return web.json_response({"form": form.written(plan), "yaml": yaml_text(plan)})

    async def _scenario_file(self, request: web.Request) -> web.FileResponse:
        name, kind = request.match_info["name"], request.match_info["kind"]
        path = self._shelf.path(name, kind)
        if path.is_symlink() or not path.is_file():
            raise WebError(f"there is no '{path.name}' here")
        return web.FileResponse(
            path,
            headers={
                "Content-Type": "text/plain",
                "Content-Disposition": f'attachment; filename="{name}{SUFFIXES[kind]}"',
            },
        )

    async def _picture(self, request: web.Request) -> web.FileResponse:
        path = await self._do(
            self._catalogue.picture, request.match_info["kind"], request.match_info["name"]
        )
        if path is None or not path.is_file():
            raise web.HTTPNotFound(text="there is no picture of this (yet)\n")
        return web.FileResponse(
            path, headers={"Content-Type": "image/jpeg", "Cache-Control": "max-age=3600"}
        )


def _refusal(status: int, text: str, field: str = "") -> web.Response:
    return web.json_response({"ok": False, "error": text, "field": field}, status=status)
