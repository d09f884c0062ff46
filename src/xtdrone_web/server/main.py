"""The process of the web server: reads what is simulated from standard input, ends with it."""

import asyncio
import gc
import json
import os
import signal
import sys

from xtdrone_core import XtdroneError
from xtdrone_core.runs.ports import Ports

from .app import App
from .guard import Guard
from .listening import listening
from .station import Station


async def _serve(told) -> None:
    station = Station(told)
    guard = Guard(told["token"], told["address"], Ports(told["instance"]).web)
    async with listening(App(station, guard).application(), guard):
        station.start()
        ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(sys.stdin, ended.set)  # the simulation closes it
        print("ready", flush=True)
        sys.stdout = sys.stderr  # what is said from now on is for the simulation's log
        asyncio.get_running_loop().run_in_executor(None, _warm_up)
        gc.freeze()  # what lives for ever is not looked at again: shorter pauses
        await ended.wait()
        await station.close()


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
