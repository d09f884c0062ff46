"""What a user sees while kernels are compiled: a line, and in a terminal a bar."""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from numba.core import event

_KIND = "numba:compile"
_LINE = "compiling the kernels; once, about a minute ..."


class _Compilations(event.Listener):  # type: ignore[misc]  # Numba has no types
    """Calls on_begin() before and on_end() after each function that is compiled and not cached."""

    def __init__(self, on_begin: Callable[[], None], on_end: Callable[[], None]):
        self._on_begin, self._on_end = on_begin, on_end

    def on_start(self, event: Any) -> None:  # Numba's Event
        """Extends Numba's."""
        self._on_begin()

    def on_end(self, event: Any) -> None:  # as above
        """Extends Numba's."""
        self._on_end()


class Bar:
    """The line before the first compilation, and the bar, which vanishes where none is going on."""

    def __init__(self, total: int | None = None, line: str = _LINE) -> None:
        """Shows nothing yet; total is the number of functions where it is known, roughly."""
        self._total, self._line = total, line
        self._depth = 0
        self._bar: Any = None  # a tqdm

    def begin(self) -> None:
        """A compilation begins, perhaps within another one."""
        self._depth += 1
        self._open()

    def end(self) -> None:
        """It ends."""
        self._depth -= 1
        self.count()
        if self._depth == 0 and self._total is None:
            self._bar.clear()

    def count(self) -> None:
        """One more function is compiled, also by another process."""
        self._open()
        if self._bar.total is not None and self._bar.n >= self._bar.total:
            self._bar.total = None  # there are more than was known
        self._bar.update()

    def close(self) -> None:
        """Removes the bar."""
        if self._bar is not None:
            self._bar.close()

    def _open(self) -> None:
        if self._bar is not None:
            return
        from tqdm import tqdm

        print(self._line, file=sys.stderr, flush=True)
        self._bar = tqdm(
            total=self._total,
            desc="kernels",
            unit=" functions",
            file=sys.stderr,
            mininterval=0.2,
            leave=False,
            disable=None,  # no bar in a file or pipe
            bar_format=None
            if self._total is None
            else "{desc}: {percentage:3.0f}%|{bar}| {n_fmt} functions, {elapsed}",
        )


@contextlib.contextmanager
def shown(total: int | None = None, line: str = _LINE) -> Iterator[Bar]:
    """Shows what is compiled within it."""
    bar = Bar(total, line)
    listener = _Compilations(bar.begin, bar.end)
    event.register(_KIND, listener)
    try:
        yield bar
    finally:
        event.unregister(_KIND, listener)
        bar.close()


@contextlib.contextmanager
def calling(on_compiled: Callable[[], None]) -> Iterator[None]:
    """Calls on_compiled() after each function that is compiled within it."""
    listener = _Compilations(lambda: None, on_compiled)
    event.register(_KIND, listener)
    try:
        yield
    finally:
        event.unregister(_KIND, listener)


@functools.cache
def show_always() -> None:
    """Shows from now on what this process compiles, as a batch does, whose kernels are many."""
    bar = Bar()
    event.register(_KIND, _Compilations(bar.begin, bar.end))
