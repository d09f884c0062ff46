"""`xtdrone tune --web`: the tuning page by itself."""

import asyncio
import contextlib
import ipaddress
import secrets
import signal
from pathlib import Path

from aiohttp import web

from xtdrone_core.errors import shown
from xtdrone_core.runs.ports import Ports

from ..errors import WebError
from ..frame import STATIC
from ..server.guard import Guard
from ..server.listening import link, listening
from ..server.rules import rules
from .bench import Bench
from .routes import PREFIX, tuning_routes


def serve(log: str | None, address: str, instance: int) -> int:
    """Serves the page until Ctrl-C.

    Args:
        log: The log that is opened at the start, or None.
        address: IPv4 address on which the page is served.
        instance: Instance of its port, and of flights that it starts.

    Returns:
        The exit status.

    Raises:
        WebError: The log cannot be read, the address is none, or the port is taken.
    """
    try:
        ipaddress.IPv4Address(address)
    except ValueError as error:
        raise WebError(
            f"address '{shown(address)}' is not an IPv4 address: write it as 192.168.1.20"
        ) from error
    asyncio.run(_serve(None if log is None else Path(log).absolute(), address, instance))
    return 0


def application(bench: Bench, guard: Guard) -> web.Application:
    """Returns the tuning page by itself, with the files that it needs."""
    made = web.Application(middlewares=[rules(guard)])

    async def to_page(request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound(PREFIX)

    made.add_routes(
        [web.get("/", to_page), *tuning_routes(bench, guard), web.static("/static", STATIC)]
    )
    return made


async def _serve(log: Path | None, address: str, instance: int) -> None:
    token = secrets.token_urlsafe(18)
    guard = Guard(token, address, Ports(instance).tuning)
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    bench = Bench(log, instance)
    try:
        async with listening(application(bench, guard), guard, "tuning page"):
            opening = asyncio.create_task(bench.open_first())
            waiting = asyncio.create_task(ended.wait())
            await asyncio.wait({opening, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if opening.done():
                opening.result()
                print(f"page: {link(guard, PREFIX[1:])}#token={token}\nCtrl-C ends it", flush=True)
                await waiting
            opening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await opening
    finally:
        await bench.close()
