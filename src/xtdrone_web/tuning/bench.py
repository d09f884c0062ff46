"""State that all tuning pages share: the chosen log, the search, its gains, a flight."""

import asyncio
import contextlib
import math
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from pathlib import Path
from typing import Any

from xtdrone_core import XtdroneError, outputs
from xtdrone_core.errors import failure, one_line

from ..errors import WebError
from ..links.order import Answer, Request
from ..server.page import Page
from . import flight
from .logs import Log, Logs
from .worker import Worker, message

# Of the orders' numbers, and the option of `xtdrone tune` that each one is.
_OPTIONS = {
    "method": "--method",
    "model": "--model",
    "begin": "--from",
    "end": "--to",
    "held_out": "--held_out",
    "generations": "--generations",
    "seed": "--seed",
}
_REPLAYED = ("log", "search", "progress", "done", "flight")  # to a new page, in this order


class Bench:
    """One log, one search and one flight at a time, shared by all pages.

    Attributes:
        pages: Those that are open.
        logs: What can be chosen.
    """

    def __init__(self, log: Path | None = None, instance: int = 0):
        """Takes the log that is opened at the start, and the instance of flights."""
        self.pages: set[Page] = set()
        self.logs = Logs(log)
        self._log: Log | None = None
        self._count = 0  # number of logs that were opened
        self._search: Worker | None = None
        self._task: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()
        self._shown: dict[str, Any] = {}  # newest message of each op; of progress, by axis
        self._flight = flight.Flight(self._tell, instance)
        self._orders: dict[str, Callable[[Request], Coroutine[Any, Any, Answer | None]]] = {
            "logs": self._list,
            "open": self._open,
            "start": self._start,
            "cancel": self._cancel,
            "save": self._save,
            "fly": self._fly,
            "land": self._land,
        }

    def welcome(self, page: Page) -> None:
        """Adds a page, and sends it what there is."""
        self.pages.add(page)
        page.send_message({"op": "welcome"})
        for op in _REPLAYED:
            newest = self._shown.get(op, {})
            for each in newest.values() if op == "progress" else [newest] if newest else ():
                page.send_message(each)

    async def serve(self, page: Page, request: Request) -> None:
        """Carries out what a page asks by a message with an op, and answers it."""
        op = request["op"]
        page.send_message(
            {"op": "answer", "id": request.get("id"), "to": op, **await self._answer(op, request)}
        )

    async def _answer(self, op: str, request: Request) -> Answer:
        order = self._orders.get(op)
        if order is None:
            return {
                "ok": False,
                "error": f"'{op[:40]}' is not known: choose one of "
                f"{', '.join(sorted(self._orders))}",
            }
        try:
            return {"ok": True, **(await order(request) or {})}
        except XtdroneError as error:
            return {"ok": False, "error": one_line(str(error))}
        except OSError as error:
            return {"ok": False, "error": error.strerror or one_line(str(error))}

    async def close(self) -> None:
        """Ends the search and the flight."""
        await self._cancel({})
        await self._flight.end()

    async def open_first(self) -> None:
        """Opens the log of the command line.

        Raises:
            WebError: It cannot be read.
        """
        if self.logs.first is not None:
            await self.show(self.logs.first)

    async def show(self, log: Log) -> None:
        """Reads a log and shows it to all pages.

        Raises:
            WebError: It cannot be read, or a search is under way.
        """
        async with self._opening:
            self._must_be_idle()
            record: dict[str, Any] = {}
            await Worker(["tune", "--preview", "--json", str(log.path)]).run(
                lambda line: record.update(message(line))
            )
            self._must_be_idle()
            self._log = log
            for op in ("search", "progress", "done"):
                self._shown.pop(op, None)
            self._count += 1
            self._tell({**record, "op": "log", "number": self._count, **asdict(log.described())})

    def _must_be_idle(self) -> None:
        if self._search is not None:
            raise WebError("a search is under way: cancel it first")

    def _tell(self, sent: flight.Message) -> None:
        """Sends a message to all pages, and to those that come later."""
        if sent["op"] == "progress":
            self._shown.setdefault("progress", {})[sent["axis"]] = sent
        else:
            self._shown[sent["op"]] = sent
        for page in self.pages:
            page.send_message(sent)

    async def _list(self, request: Request) -> Answer:
        return {
            "logs": await asyncio.to_thread(
                lambda: [asdict(log.described()) for log in self.logs.all()]
            )
        }

    async def _open(self, request: Request) -> None:
        await self.show(await asyncio.to_thread(self.logs.find, request.get("log")))

    async def _start(self, request: Request) -> None:
        self._must_be_idle()
        if self._log is None:
            raise WebError("no log is open: choose one first")
        words = ["tune", str(self._log.path), *_options(request)]
        self._shown.pop("progress", None)
        self._shown.pop("done", None)
        self._search = Worker([*words[:1], "--json", *words[1:]])
        self._tell({"op": "search", "running": True, "command": flight.command_line(words)})
        self._task = asyncio.create_task(self._run(self._search, self._log))

    async def _run(self, worker: Worker, log: Log) -> None:
        ended: dict[str, Any] = {"op": "search", "running": False}
        folders: list[str] = []
        try:
            if not await worker.run(lambda line: self._take(message(line), log, folders)):
                ended["cancelled"] = True
                for folder in folders:
                    with contextlib.suppress(OSError):  # only an empty one can be removed
                        Path(folder).rmdir()
        except XtdroneError as error:
            ended["error"] = one_line(str(error))
        except Exception as error:  # only this search fails: the server goes on
            ended["error"] = failure("the search", error)
        finally:
            self._search = None
            self._tell(ended)

    def _take(self, line: flight.Message, log: Log, folders: list[str]) -> None:
        """Takes a line of the search."""
        if line.get("op") == "begin":
            folders.append(line["folder"])
        elif line.get("op") == "progress":
            self._tell(line)
        elif line.get("op") == "done":
            words = flight.words(log.path, Path(line["gains"]))
            self._tell(
                {
                    **line,
                    "yaml": Path(line["gains"]).read_text(),
                    "fly": flight.command_line(words),
                    "run": log.run is not None,
                }
            )

    async def _cancel(self, request: Request) -> None:
        if self._search is not None:
            await self._search.cancel()
        if self._task is not None:
            await self._task

    def _gains(self) -> tuple[Log, Path]:
        done = self._shown.get("done")
        if done is None or self._log is None:
            raise WebError("there are no gains yet: start a search")
        return self._log, Path(done["gains"])

    async def _save(self, request: Request) -> Answer:
        log, gains = self._gains()
        if log.run is None:
            raise WebError(f"this log is of no run; its gains are in {gains}")
        text = gains.read_bytes()
        path = outputs.free_for(
            log.run / "gains.yaml", "file of gains", lambda ends: ends[:20] == text[:20], WebError
        )
        path.write_bytes(text)
        return {"path": str(path)}

    async def _fly(self, request: Request) -> None:
        log, gains = self._gains()
        await self._flight.start(log.path, gains)

    async def _land(self, request: Request) -> None:
        await self._flight.end()


def _options(request: Request) -> list[str]:
    """Returns words of the command line; the command itself says what is not allowed."""
    axes = request.get("axes")
    if not isinstance(axes, list) or not axes or not all(isinstance(axis, str) for axis in axes):
        raise WebError('axes are a list of names, such as ["yaw", "roll"]: choose at least one')
    words = [f"--axis={','.join(axes)}"]
    for name, option in _OPTIONS.items():
        value = request.get(name)
        if value is None:
            continue
        plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
        if not plain or (isinstance(value, float) and not math.isfinite(value)):
            raise WebError(f"{name} is {str(value)[:40]!r}: give a number or a name")
        words.append(f"{option}={value}")
    return words
