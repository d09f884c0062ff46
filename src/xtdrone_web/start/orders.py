"""The start page's commands: start and stop, save and remove, plots and replays, uploads."""

import asyncio
import functools
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import BodyPartReader, web

from xtdrone_core import Scenario
from xtdrone_core.errors import one_line, shown
from xtdrone_core.runs.ports import INSTANCES

from ..errors import WebError
from . import designs, form, runs, uploads
from .catalogue import Catalogue
from .jobs import Job, Jobs
from .shelf import Shelf, write, yaml_text

_MAX_PARTS = uploads.MAX
Result = TypeVar("Result")


class Orders:
    """Handlers of requests that only pilots may make."""

    def __init__(self, jobs: Jobs, shelf: Shelf, catalogue: Catalogue, folder: Path, address: str):
        """Takes a folder for the files of jobs, and the address on which their pages are served."""
        self._jobs, self._shelf, self._catalogue = jobs, shelf, catalogue
        self._folder, self._address = folder, address

    def routes(self) -> list[web.RouteDef]:
        """Returns the routes of all orders."""
        return [
            web.post("/api/check", self._check),
            web.post("/api/start", self._start),
            web.post("/api/jobs/{number:[0-9]{1,9}}/stop", self._stop),
            web.post("/api/runs/{name}/{what:plot|replay}", self._show),
            web.post("/api/scenarios/{name}", self._save),
            web.put("/api/scenarios/{name}.{kind:yaml|launch}", self._take),
            web.delete("/api/scenarios/{name}", self._delete),
            web.post("/api/models/{name}", self._upload),
            web.delete("/api/models/{name}", self._remove),
            web.post("/api/designs/{name}", self._design),
        ]

    async def _check(self, request: web.Request) -> web.Response:
        await _do(_flyable, await _json(request))
        return web.json_response({"ok": True})

    async def _start(self, request: web.Request) -> web.Response:
        data = await _json(request)
        plan = await _do(_flyable, data)
        given = (data.get("options") or {}).get("instance")
        instance = None if given in (None, "") else plan.scenario.instance
        return web.json_response(asdict(self._begin(plan, instance).status(True)))

    def _begin(self, plan: form.Plan, wanted: int | None) -> Job:
        """Starts a plan on an instance; None for the next free one."""
        scenario = plan.scenario
        if wanted is not None and wanted in self._jobs.taken("simulation"):
            raise form.Refused(
                "instance",
                f"instance {wanted} is that of a simulation that runs: "
                "leave it empty for the next free one",
            )
        instance = self._jobs.free_instance() if wanted is None else wanted
        file = self._folder / f"{scenario.name}-{instance}.yaml"
        write(file, yaml_text(plan).encode())
        words = ["fly", plan.agent] if plan.agent else ["sim"]
        for name, value in plan.settings.items():
            words += ["--set", f"{name}={value}"]
        words += [
            "--scenario",
            str(file),
            "--instance",
            str(instance),
            "--web",
            "true",
            "--web_address",
            self._address,
        ]
        counts = f"{scenario.n} vehicle{'s' * (scenario.n > 1)} in {scenario.world}"
        flown = "" if scenario.flown_by == "embedded" else f", {scenario.flown_by}"
        by, name = plan.agent or "simulation", scenario.name
        title = (
            f"{by}: {counts}{flown}" if name == Scenario.name else f"{name}: {by}, {counts}{flown}"
        )
        return self._jobs.start("simulation", title, words, instance)

    async def _stop(self, request: web.Request) -> web.Response:
        job = self._jobs.find(int(request.match_info["number"]))
        await self._jobs.stop(job)
        return web.json_response(asdict(job.status(True)))

    async def _show(self, request: web.Request) -> web.Response:
        name, what = request.match_info["name"], request.match_info["what"]
        runs.folder_of(name)
        for job in self._jobs.running():
            if (job.kind, job.title) == (what, name):
                return web.json_response(asdict(job.status(True)))
        words, instance = [what, name], None
        if what == "replay":  # each has a page of its own
            instance = min(set(range(INSTANCES)) - self._jobs.taken(what), default=0)
            words += ["--instance", str(instance), "--address", self._address]
        job = self._jobs.start(what, name, words, instance)
        return web.json_response(asdict(job.status(True)))

    async def _save(self, request: web.Request) -> web.Response:
        data = await _json(request)
        if not isinstance(data, dict):
            raise WebError('to save is {"kind": "yaml", "form": {...}}')
        plan = await _do(form.read, data.get("form"))
        path = await _do(self._shelf.save, request.match_info["name"], str(data.get("kind")), plan)
        return web.json_response({"path": str(path)})

    async def _take(self, request: web.Request) -> web.Response:
        plan = await _do(
            self._shelf.take,
            request.match_info["name"],
            request.match_info["kind"],
            await request.read(),
        )
        return web.json_response({"form": form.written(plan)})

    async def _delete(self, request: web.Request) -> web.Response:
        await _do(self._shelf.delete, request.match_info["name"])
        return web.json_response({"ok": True})

    async def _upload(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        sent = await _parts(request)
        contents = await _do(uploads.unpacked, sent)
        sdf = await _do(uploads.keep, self._catalogue.folder, name, contents)
        try:
            report = await self._catalogue.check(sdf)
        except BaseException:
            uploads.remove(self._catalogue.folder, name)
            raise
        return web.json_response({**report, "name": str(sdf), "label": name})

    async def _design(self, request: web.Request) -> web.Response:
        name, folder = request.match_info["name"], self._catalogue.folder
        place, said = await _do(designs.made, folder, name, await _json(request))
        sdf = place / "model.sdf"
        try:
            report = await self._catalogue.check(sdf)
        except BaseException:
            uploads.remove(folder, name)
            raise
        figures = dict(line.split() for line in said.splitlines() if len(line.split()) == 2)
        said = (
            f"Hover at {100 * float(figures['hover_throttle']):.0f} % throttle for "
            f"{float(figures['hover_time_min']):.0f} min, thrust to weight "
            f"{float(figures['thrust_to_weight']):.1f}."
        )
        return web.json_response({**report, "name": str(sdf), "label": name, "said": said})

    async def _remove(self, request: web.Request) -> web.Response:
        await _do(uploads.remove, self._catalogue.folder, request.match_info["name"])
        return web.json_response({"ok": True})


def _flyable(data: Any) -> form.Plan:  # data: JSON from a page
    """Returns the plan of a form that can be flown."""
    plan = form.read(data)
    form.check(plan)
    return plan


async def _do(work: Callable[..., Result], *args: Any) -> Result:  # args: those of work
    """Runs what reads files or imports beside the event loop."""
    return await asyncio.get_running_loop().run_in_executor(None, functools.partial(work, *args))


async def _json(request: web.Request) -> Any:  # any value of JSON
    try:
        return json.loads(await request.text())
    except (ValueError, RecursionError) as error:
        raise WebError(f"cannot read the request: {one_line(str(error))[:120]}") from error


async def _parts(request: web.Request) -> dict[str, bytes]:
    """Returns the files of an upload by name, as long as they are not too much.

    Raises:
        WebError: They are, or it is no upload.
    """
    if not request.content_type.startswith("multipart/"):
        raise WebError("files are sent as multipart/form-data")
    contents: dict[str, bytes] = {}
    total = 0
    async for part in await request.multipart():
        name = part.filename if isinstance(part, BodyPartReader) else None
        if not isinstance(part, BodyPartReader) or name is None:
            raise WebError("each part has to be a file with a name")
        data = bytearray()
        while chunk := await part.read_chunk(1 << 16):
            total += len(chunk)
            if total > uploads.MAX_SENT:
                raise WebError(f"more than {uploads.MAX_SENT >> 20} MB are not taken")
            data += chunk
        if name in contents or len(contents) >= _MAX_PARTS:
            raise WebError(f"'{shown(name)}' is one file too many, or is there twice")
        contents[name] = bytes(data)
    return contents
