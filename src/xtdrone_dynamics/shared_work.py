"""Work on a whole fleet that is split with a second thread, without the interpreter.

The work is cut into parts that do not depend on each other, so that its result does not depend on
who does which. The thread stays in compiled code: it neither needs the interpreter's lock nor keeps
it. The caller does what the thread has not begun, and so never waits for a thread that another
program keeps from running.
"""

import functools
import os
import threading
import types
import weakref
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numba import types as numba_types
from numba.core.typing import signature

from .compiled import Kernel, fleet_kernel, njit

LARGE_FLEET = 32  # vehicles from which on waking a thread costs less than it saves

# sem_overview(7)
_sem_init = numba_types.ExternalFunction(
    "sem_init",
    signature(numba_types.int32, numba_types.uintp, numba_types.int32, numba_types.uint32),
)
_sem_post, _sem_wait, _sem_trywait = (
    numba_types.ExternalFunction(name, signature(numba_types.int32, numba_types.uintp))
    for name in ("sem_post", "sem_wait", "sem_trywait")
)
_Arguments = TypeVar("_Arguments", bound=tuple)
_SEMAPHORE = 32  # bytes of one
_SPINS = 5_000  # tries before the caller sleeps: some 20 us, less than to be woken takes


def worthwhile(n: int) -> bool:
    """Whether the work on n vehicles is worth a thread, and there is a core for it."""
    return n >= LARGE_FLEET and len(os.sched_getaffinity(0)) > 1


class SharedWork:
    """Calls a kernel for each part of some work, in the caller and in a thread side by side."""

    def __init__(
        self,
        kernel: Callable[[int, _Arguments, tuple], None],
        parts: int,
        arguments: _Arguments,
        scratch: Callable[[], tuple] = tuple,
        threaded: bool = True,
    ):
        """Starts the thread, which waits.

        Args:
            kernel: kernel(part, arguments, scratch), compiled, at the top level of a module.
            parts: Number of parts.
            arguments: Arrays that the kernel works on.
            scratch: Makes the scratch arrays of a thread.
            threaded: Whether to start a thread; otherwise the caller does all. See worthwhile().
        """
        # One for each part that waits, one for each that is done, and one for any that waits.
        self._semaphores = np.zeros((2 * parts + 1, _SEMAPHORE), dtype=np.uint8)
        self._begun = np.zeros(parts, dtype=np.bool_)  # parts that the thread has begun
        self._arguments, self._scratch = arguments, scratch()
        self._pending, self._threaded = False, threaded
        serve, complete, alone = _loops_of(kernel)
        self._complete = complete if threaded else alone
        if not threaded:
            return
        _create(self._semaphores)
        ends = np.zeros(1, dtype=np.bool_)
        thread = threading.Thread(
            target=serve, daemon=True, args=(self._semaphores, ends, arguments, scratch())
        )
        thread.start()
        self._end = weakref.finalize(self, _end, self._semaphores, ends, thread)

    def offer(self) -> None:
        """Lets the work begin; its arguments may not change until complete()."""
        self._pending = True
        if self._threaded:
            _offer(self._semaphores)

    def complete(self) -> None:
        """Does what the thread has not begun, and returns when all is done."""
        if self._pending:
            self._complete(self._semaphores, self._begun, self._arguments, self._scratch)
            self._pending = False

    def do(self) -> None:
        """Does all of the work now."""
        self.offer()
        self.complete()

    def close(self) -> None:
        """Ends the thread. May be called twice."""
        self.complete()
        if self._threaded:
            self._end()


def _end(semaphores: np.ndarray, ends: np.ndarray, thread: threading.Thread) -> None:
    ends[0] = True
    _offer(semaphores[-1:])  # wakes the thread; a part would be done once more
    thread.join()


@functools.cache
def _loops_of(kernel: Kernel) -> tuple[Kernel, Kernel, Kernel]:
    """Returns _serve(), _complete() and _alone() for a kernel."""
    compiled = []
    for function in (_serve, _complete, _alone):
        plain = types.FunctionType(function.__code__, {**globals(), "_kernel": kernel})
        plain.__module__ = __name__
        plain.__name__ = f"{function.__name__}_{kernel.__name__}"
        plain.__qualname__ = f"{plain.__name__}_{kernel.__module__}"
        compiled.append(fleet_kernel(plain, kernel))
    return compiled[0], compiled[1], compiled[2]


def _kernel(part: int, arguments: tuple, scratch: tuple) -> None:
    """Stands for the kernel."""


@fleet_kernel
def _create(semaphores: np.ndarray) -> None:
    for k in range(len(semaphores)):
        _sem_init(semaphores[k].ctypes.data, 0, 0)


@fleet_kernel
def _offer(semaphores: np.ndarray) -> None:
    for k in range(len(semaphores) // 2):
        _sem_post(semaphores[k].ctypes.data)
    _sem_post(semaphores[-1].ctypes.data)


@njit
def _wait(semaphore: np.ndarray) -> None:
    for _ in range(_SPINS):
        if _sem_trywait(semaphore.ctypes.data) == 0:
            return
    _sleep(semaphore)


@njit
def _sleep(semaphore: np.ndarray) -> None:
    while _sem_wait(semaphore.ctypes.data) != 0:  # a signal interrupts it
        pass


def _serve(semaphores: np.ndarray, ends: np.ndarray, arguments: tuple, scratch: tuple) -> None:
    """Runs in the thread: does the parts that wait, from the first on."""
    parts = len(semaphores) // 2
    while True:
        _wait(semaphores[-1])  # the next work often follows soon
        if ends[0]:
            return
        for k in range(parts):
            if _sem_trywait(semaphores[k].ctypes.data) == 0:
                _kernel(k, arguments, scratch)
                _sem_post(semaphores[parts + k].ctypes.data)


def _complete(semaphores: np.ndarray, begun: np.ndarray, arguments: tuple, scratch: tuple) -> None:
    """Does the parts that the thread has not begun, from the last on, and waits for the others."""
    parts = len(semaphores) // 2
    for k in range(parts - 1, -1, -1):
        begun[k] = _sem_trywait(semaphores[k].ctypes.data) != 0
        if not begun[k]:
            _kernel(k, arguments, scratch)
    for k in range(parts):
        if begun[k]:
            _wait(semaphores[parts + k])


def _alone(semaphores: np.ndarray, begun: np.ndarray, arguments: tuple, scratch: tuple) -> None:
    """Does all parts in the caller."""
    for k in range(len(begun)):
        _kernel(k, arguments, scratch)
