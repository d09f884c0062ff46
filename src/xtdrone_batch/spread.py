"""A batch spread over processes of this machine, or over the actors of a Ray cluster.

Each worker has some of the environments. What they draw depends on the seed and on their numbers,
so the results are those of one process, to the byte.
"""

import itertools
import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from xtdrone_core import extras
from xtdrone_core.errors import XtdroneError

from .arrays import BatchState
from .errors import BatchError
from .simulation import BatchSimulation

_Result = TypeVar("_Result")
_ENDED = "a worker of the batch has ended: build the batch again"


class SpreadBatch:
    """BatchSimulation in several processes; use it in a `with` block.

    Attributes:
        state: BatchState of all environments, as of the last step() or reset().
    """

    def __init__(
        self,
        vehicles: str = "iris",
        environments: int = 1,
        *,
        workers: int = 2,
        ray: str = "",
        **options: Any,  # as BatchSimulation's
    ):
        """Starts the workers.

        Args:
            vehicles, environments: As for BatchSimulation.
            workers: How many processes or actors.
            ray: Address of a Ray cluster, or 'local' to start one; "" for processes.
            options: Further ones of BatchSimulation. Each worker has one thread by default.

        Raises:
            XtdroneError: As of BatchSimulation; or Ray is not installed.
        """
        if not 1 <= workers <= environments:
            raise BatchError(
                f"workers = {workers} is not allowed: give 1 to {environments}, the "
                "number of environments"
            )
        ends = [environments * k // workers for k in range(workers + 1)]
        self._ranges = list(itertools.pairwise(ends))
        options = {"threads": 1, **options}
        start = _on_ray(ray) if ray else _Process
        self._workers = [
            start(vehicles, last - first, {**options, "first": first})
            for first, last in self._ranges
        ]
        try:
            self._gather([worker.result() for worker in self._workers])
        except BaseException:
            self.close()
            raise

    def step(self, action: np.ndarray) -> BatchState:
        """Does as BatchSimulation.step()."""
        action = np.asarray(action)
        if len(action) != len(self.state.pos):
            raise BatchError(
                f"an action of {len(action)} environments is not allowed: give "
                f"{len(self.state.pos)}"
            )
        return self._all("step", [(action[first:last],) for first, last in self._ranges])

    def reset(self, mask: np.ndarray | None = None, seed: int | None = None) -> BatchState:
        """Does as BatchSimulation.reset()."""
        if mask is None:
            return self._all("reset", [(None, seed)] * len(self._workers))
        mask = np.asarray(mask)
        if mask.dtype != np.bool_ or mask.shape != self.state.pos.shape[:1] or not mask.any():
            raise BatchError(
                f"a mask of {mask.dtype} and shape {mask.shape} is not allowed: give "
                f"bool and {self.state.pos.shape[:1]}, with at least one environment"
            )
        return self._all("reset", [(mask[first:last], seed) for first, last in self._ranges])

    def close(self) -> None:
        """Ends the workers. May be called twice."""
        for worker in self._workers:
            worker.close()

    def __enter__(self) -> "SpreadBatch":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _all(self, method: str, arguments: list[tuple]) -> BatchState:
        for worker, given in zip(self._workers, arguments, strict=True):
            worker.call(method, given)
        self._gather([worker.result() for worker in self._workers])
        return self.state

    def _gather(self, parts: list[tuple]) -> None:
        self.state = BatchState(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


class Part:
    """What runs in a worker: some environments of a batch."""

    def __init__(self, vehicles: str, environments: int, options: dict[str, Any]):
        self._batch = BatchSimulation(vehicles, environments, **options)

    def state(self) -> tuple:
        """The state, as plain arrays."""
        return tuple(self._batch.state)

    def step(self, action: np.ndarray) -> tuple:
        """One step; the state."""
        return tuple(self._batch.step(action))

    def reset(self, mask: np.ndarray | None, seed: int | None) -> tuple:
        """Resets those of the mask, if any are here; the state."""
        if mask is None or mask.any():
            self._batch.reset(mask, seed)
        return self.state()


class _Process:
    """A Part in a process, at the other end of a pipe."""

    def __init__(self, *given: Any):  # as Part's
        context = multiprocessing.get_context("spawn")
        self._pipe, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(there, given), daemon=True)
        self._process.start()
        there.close()

    def call(self, method: str, given: tuple) -> None:
        """Begins a method."""
        try:
            self._pipe.send((method, given))
        except OSError:
            raise BatchError(_ENDED) from None

    def result(self) -> tuple:
        """Returns what the method returned.

        Raises:
            BatchError: It failed, or the process has ended.
        """
        try:
            failed, value = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            raise BatchError(_ENDED) from None
        if failed:
            raise BatchError(value)
        return value

    def close(self) -> None:
        self._pipe.close()
        self._process.join(5.0)
        if self._process.is_alive():
            self._process.terminate()


def _serve(pipe: Connection, given: tuple) -> None:
    """Answers calls until the other end is closed."""

    def answer(make: Callable[[], _Result]) -> _Result | None:
        try:
            result = make()
            pipe.send((False, result.state() if isinstance(result, Part) else result))
            return result
        except XtdroneError as error:
            pipe.send((True, str(error)))
            return None

    part = answer(lambda: Part(*given))
    while part is not None:
        try:
            method, arguments = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        answer(lambda: getattr(part, method)(*arguments))  # noqa: B023  # called at once


def _on_ray(address: str) -> Callable[..., Any]:  # returns an actor class of Ray's
    """Makes actors of a Ray cluster."""
    instead = "leave `ray` out for processes of this machine"
    ray = extras.require("ray", "a batch on Ray", "campaign", BatchError, instead)
    if not ray.is_initialized():
        ray.init(
            address=None if address == "local" else address,
            include_dashboard=False,
            log_to_driver=False,
        )
    actor = ray.remote(Part)

    class OnRay:
        """A Part in an actor."""

        def __init__(self, *given: Any):  # as Part's
            self._actor = actor.remote(*given)
            self._waiting = self._actor.state.remote()

        def call(self, method: str, given: tuple) -> None:
            self._waiting = getattr(self._actor, method).remote(*given)

        def result(self) -> tuple:
            try:
                return ray.get(self._waiting)
            except ray.exceptions.RayError as error:
                cause = getattr(error, "cause", None)
                raise BatchError(str(cause or str(error).splitlines()[-1])) from None

        def close(self) -> None:
            ray.kill(self._actor)

    return OnRay
