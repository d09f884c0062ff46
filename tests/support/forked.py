"""A function in a process of its own, forked from a server.

Earlier tests may have left threads and OpenGL in the process of the tests, and have opened displays
that its environment names. The server has imported what most functions need, and started nothing.
"""

import multiprocessing
from collections.abc import Callable
from typing import Any

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    ["xtdrone_autopilot.autopilot", "xtdrone_core.command", "xtdrone_sim.simulation"]
)


def in_a_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """What function(*arguments) returns; an EOFError where its process dies."""
    reader, writer = _SERVER.Pipe(duplex=False)
    process = _SERVER.Process(target=_send, args=(writer, function, arguments))
    process.start()
    writer.close()
    result = reader.recv()
    process.join()
    return result


def _send(writer, function, arguments):
    writer.send(function(*arguments))
