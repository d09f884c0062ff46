"""The process of the web server: reads what is simulated from standard input, ends with it."""

import asyncio
import gc
import json
import os
import signal
import sys

from aiohttp import web

from xtdrone_core import XtdroneError
from xtdrone_core.runs.ports import Ports, advice

from ..errors import WebError
from .app import App
from .guard import Guard
from .station import Station

_CLOSE_S = 1.0  # that open requests get at the end [s]


async def _serve(told) -> None:
    port = Ports(told["instance"]).web
    station = Station(told)
    app = App(station, Guard(told["token"], told["address"], port))
    runner = web.AppRunner(app.application(), access_log=None, shutdown_timeout=_CLOSE_S,
                           keepalive_timeout=15.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, told["address"], port).start()
    except OSError as error:
        raise WebError(f"port {port} (TCP) of the page cannot be opened on {told['address']}: "
                       f"{error.strerror or error}; {advice()}") from error
    station.start()
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, ended.set)  # the simulation closes it
    print("ready", flush=True)
    sys.stdout = sys.stderr  # what is said from now on is for the simulation's log
    asyncio.get_running_loop().run_in_executor(None, _warm_up)
    gc.freeze()  # what lives for ever is not looked at again: shorter pauses
    await ended.wait()
    await station.close()
    await runner.cleanup()


def _warm_up() -> None:
    """Imports what an order would wait for."""
    import xtdrone_dynamics.earth.geodesy  # noqa: F401


def main() -> int:
    """Runs until standard input ends; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the flight, and that the server
    told = json.loads(sys.stdin.readline())
    try:
        asyncio.run(_serve(told))
    except XtdroneError as error:
        print(error, file=sys.stderr)
        return 1
    sys.stderr.flush()
    os._exit(0)  # threads that wait for silent vehicles are not waited for


if __name__ == "__main__":
    sys.exit(main())
