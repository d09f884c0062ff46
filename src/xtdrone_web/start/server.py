"""The process of the start page: serves until Ctrl-C, and ends what it has started."""

import asyncio
import secrets
import signal
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from xtdrone_core.runs.ports import Ports

from ..server.guard import Guard
from ..server.listening import link, listening
from ..tuning.bench import Bench
from ..tuning.routes import tuning_routes
from .app import StartApp
from .catalogue import Catalogue
from .form import Plan
from .jobs import Jobs
from .orders import Orders
from .shelf import Shelf


def serve(
    address: str,
    port: int | None,
    instance: int,
    scenarios: Path,
    first: Plan | None = None,
    opened: Callable[[str], object] | None = None,
) -> None:
    """Serves the start page until SIGINT, SIGTERM or SIGHUP.

    Args:
        address: IPv4 address.
        port: TCP port; None for that of the instance.
        instance: Instance that the first simulation gets, if it is free.
        scenarios: Folder of saved scenarios and of the user's models.
        first: What the form begins with.
        opened: Called with the link when it is served, in a thread of its own.

    Raises:
        WebError: The port is taken.
    """
    with tempfile.TemporaryDirectory(prefix="xtdrone-web-") as folder:
        asyncio.run(
            _serve(
                address,
                port or Ports(instance).start,
                instance,
                scenarios,
                Path(folder),
                first,
                opened,
            )
        )


async def _serve(
    address: str,
    port: int,
    instance: int,
    scenarios: Path,
    folder: Path,
    first: Plan | None,
    opened: Callable[[str], object] | None,
) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    token = secrets.token_urlsafe(18)
    guard = Guard(token, address, port)
    jobs, shelf, bench = Jobs(instance), Shelf(scenarios), Bench(None, instance)
    catalogue = Catalogue(scenarios / "models")
    orders = Orders(jobs, shelf, catalogue, folder, address)
    application = StartApp(guard, shelf, jobs, orders, catalogue, first).application()
    application.add_routes(tuning_routes(bench, guard))
    try:
        async with listening(application, guard, "start page"):
            watch = link(guard)
            print(
                f"page: {watch}#token={token}\npage for viewers, who cannot command: {watch}\n"
                f"scenarios: {scenarios}\nCtrl-C ends it and what it has started",
                flush=True,
            )
            if opened is not None:
                threading.Thread(
                    target=opened, args=(f"{watch}#token={token}",), daemon=True
                ).start()
            await ended.wait()
    finally:
        if jobs.running():
            print(f"ending {len(jobs.running())} programs ...", flush=True)
        await catalogue.close()
        await jobs.close()
        await bench.close()
