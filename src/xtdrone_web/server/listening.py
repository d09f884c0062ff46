"""Listening of every server of a page."""

import contextlib
from collections.abc import AsyncIterator

from aiohttp import web

from xtdrone_core.runs.ports import advice

from ..errors import WebError
from .guard import Guard

_CLOSE_S = 1.0  # time that open requests get at the end [s]


@contextlib.asynccontextmanager
async def listening(
    application: web.Application, guard: Guard, what: str = "page"
) -> AsyncIterator[None]:
    """Serves an application at its Guard's address and port while the context lasts.

    Args:
        application: Application to serve.
        guard: Its rules.
        what: Its name in messages.

    Raises:
        WebError: The port is taken.
    """
    runner = web.AppRunner(
        application, access_log=None, shutdown_timeout=_CLOSE_S, keepalive_timeout=15.0
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, guard.address, guard.port).start()
    except OSError as error:
        await runner.cleanup()
        raise WebError(
            f"port {guard.port} (TCP) of the {what} cannot be opened on "
            f"{guard.address}: {error.strerror or error}; {advice()}"
        ) from error
    try:
        yield
    finally:
        await runner.cleanup()


def link(guard: Guard, path: str = "") -> str:
    """Returns the link of a page, for a browser on this machine."""
    address = "127.0.0.1" if guard.address == "0.0.0.0" else guard.address
    return f"http://{address}:{guard.port}/{path}"
