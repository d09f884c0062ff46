"""Runs tasks on a Ray cluster, or on this machine by Ray."""

import contextlib
import os
import socket
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from xtdrone_core import XtdroneError, extras

from .errors import CampaignError
from .runners import Done

LOCAL = "local"  # this machine, in place of an address
_RETRIES = 3  # of a task whose process or machine is lost


class RayRunner:
    """Ray's workers, which keep what they have loaded from task to task; see runners.Runner."""

    def __init__(
        self,
        function: Callable[..., object],
        address: str | None = None,
        cores: float = 1,
        environment: Mapping[str, str] | None = None,
        error: type[XtdroneError] = CampaignError,
        instead: str = "leave out --ray",
    ) -> None:
        """Connects to nothing yet.

        Args:
            function: Takes one task.
            address: Address of a Ray cluster; None: this machine.
            cores: Number of cores that a task reserves.
            environment: Variables of the workers.
            error: Class of the errors.
            instead: What the user can do where Ray is not installed.
        """
        self._function, self._address, self._cores = function, address, cores
        self._environment, self._error, self._instead = environment or {}, error, instead

    def run(self, tasks: Sequence[object]) -> Generator[Done, None, None]:
        """Yields each task when it is done; see runners.Runner.run().

        Raises:
            XtdroneError: Ray is not installed, or there is no cluster.
        """
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage reports to its vendor
        if self._address and _has_token():  # Ray looks for one only if it chooses the address
            os.environ.setdefault("RAY_AUTH_MODE", "token")
        ray = extras.require("ray", "a campaign on Ray", "campaign", self._error, self._instead)
        if not tasks:
            return
        self._connect(ray)
        # What a lost machine had begun is done again by another one. An exception is an answer.
        remote = ray.remote(num_cpus=self._cores, max_retries=_RETRIES)(self._function)
        waiting: dict[Any, int] = {}
        try:
            waiting.update({remote.remote(task): k for k, task in enumerate(tasks)})
            while waiting:
                all_of = list(waiting)
                ray.wait(all_of, num_returns=1)
                # All that are done by now: to look through thousands for each one would take long.
                done, _ = ray.wait(all_of, num_returns=len(all_of), timeout=0)
                for reference in done:
                    index = waiting.pop(reference)
                    try:
                        yield Done(index, ray.get(reference))
                    except ray.exceptions.RayError as error:
                        yield Done(index, error=str(error).splitlines()[0])
        finally:
            if waiting:  # so that what the tasks started is stopped, too
                for reference in waiting:
                    ray.cancel(reference)
                ray.wait(list(waiting), num_returns=len(waiting), timeout=5.0)
            ray.shutdown()

    def _connect(self, ray: ModuleType) -> None:
        here = {"address": "local", "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
        variables = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **self._environment}
        try:
            if self._address:
                _check_reachable(self._address)
            with _no_stderr():  # Ray's C++ part repeats the exception there
                ray.init(
                    **({"address": self._address} if self._address else here),
                    logging_level="error",
                    log_to_driver=False,
                    runtime_env={"env_vars": variables},
                )
        except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
            raise self._error(
                f"no Ray at '{self._address}': {str(error).splitlines()[0]}; start "
                "one with ray start --head, and give both sides the same token "
                "(RAY_AUTH_TOKEN or ~/.ray/auth_token)"
            ) from error


def _check_reachable(address: str) -> None:
    """Raises an OSError if nothing listens at HOST:PORT, long before Ray would time out."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=5.0).close()


@contextlib.contextmanager
def _no_stderr() -> Iterator[None]:
    """Discards the standard error of this process within the context."""
    kept = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _has_token() -> bool:
    return (
        any(os.environ.get(name) for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"))
        or (Path.home() / ".ray" / "auth_token").is_file()
    )
