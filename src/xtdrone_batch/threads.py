"""Threads that share the environments of a batch; kernels run without the interpreter's lock."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


class Threads:
    """Calls a kernel for ranges of environments, side by side.

    Attributes:
        count: How many threads.
    """

    def __init__(self, count: int = 0):
        """count: How many; 0 for one on each core that this process may use."""
        self.count = count or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(self.count - 1) if self.count > 1 else None

    def over(self, total: int, kernel: Callable[[int, int], None]) -> None:
        """Calls kernel(first, last) so that all of 0..total-1 are done; returns afterwards."""
        parts = min(self.count, total)
        ranges = [(total * k // parts, total * (k + 1) // parts) for k in range(parts)]
        waiting = [self._pool.submit(kernel, *each) for each in ranges[1:]] if self._pool else []
        kernel(*ranges[0])
        for done in waiting:
            done.result()
