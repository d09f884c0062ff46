"""The process of the page's server: reads a simulation's description, ends with standard input."""

import asyncio
import gc
import os
import signal
import sys

from xtdrone_core import XtdroneError
from xtdrone_core.runs.ports import Ports

from ..description import StationDescription, from_json
from ..server.app import App
from ..server.guard import Guard
from ..server.listening import listening
from .station import Station


async def _serve(description: StationDescription) -> None:
    station = Station(description)
    guard = Guard(description.token, description.address, Ports(description.instance).web)
    async with listening(App(station, guard).application(), guard):
        station.start()
        ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(sys.stdin, ended.set)  # the simulation closes it
        print("ready", flush=True)
        sys.stdout = sys.stderr  # texts from now on are for the simulation's log
        asyncio.get_running_loop().run_in_executor(None, _warm_up)
        gc.freeze()  # what lives for ever is not collected again: shorter pauses
        await ended.wait()
        await station.close()


def _warm_up() -> None:
    """Imports modules that an order would wait for."""
    import xtdrone_dynamics.earth.geodesy  # noqa: F401


def main() -> int:
    """Runs until standard input ends; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the flight, and that the server
    description = from_json(StationDescription, sys.stdin.readline())
    try:
        asyncio.run(_serve(description))
    except XtdroneError as error:
        print(error, file=sys.stderr)
        return 1
    sys.stderr.flush()
    os._exit(0)  # threads that wait for silent vehicles are not waited for


if __name__ == "__main__":
    sys.exit(main())
