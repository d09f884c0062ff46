"""Serves a replay until Ctrl-C."""

import asyncio
import secrets
import signal

from xtdrone_core.runs.ports import Ports

from ..server.app import App
from ..server.guard import Guard
from ..server.listening import link, listening
from .station import ReplayStation


def serve(station: ReplayStation, address: str, instance: int) -> int:
    """Serves the page and prints its link; returns the exit status after Ctrl-C.

    Raises:
        WebError: The port is taken.
    """
    asyncio.run(_serve(station, Guard(secrets.token_urlsafe(18), address, Ports(instance).replay)))
    return 0


async def _serve(station: ReplayStation, guard: Guard) -> None:
    async with listening(App(station, guard).application(), guard):
        station.start()
        ended = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
        print(f"page: {link(guard)}\nCtrl-C ends it", flush=True)
        await ended.wait()
        station.close()
