"""Tries the inputs of a kind in forked processes that a watchdog watches."""

import contextlib
import ctypes
import faulthandler
import gc
import mmap
import os
import re
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Pipe
from pathlib import Path

from xtdrone_core.errors import XtdroneError
from xtdrone_core.runs.parent import tied

from .common import FAILURES, Crash, Failure, Hang, Kind, Nonsense, generator

LIMITS_S = {"start": 180.0, "input": 2.0, "close": 20.0}  # kernels may be compiled by start()
MEMORY = 8 << 30  # private data of a fork: more is a MemoryError, not the end of the machine
BROKEN = 3  # forks in a row that cannot start: the kind is given up
_PHASES = tuple(LIMITS_S)
_NUMBER = re.compile(r"-?\d[\d.e+-]*")


@dataclass
class Found:
    """One input that was not held against."""

    kind: str
    seed: int
    first: int  # index at which its fork began
    index: int
    column: str
    text: str  # what happened
    value: str  # repr of the input
    data: bytes | None  # the input itself where it is bytes or text

    @property
    def cause(self) -> str:
        """Tells failures apart: the end of a traceback with its place, or the text; no numbers."""
        lines = [line.strip() for line in self.text.strip().splitlines()] or [""]
        place = next((line for line in reversed(lines) if line.startswith("File ")), "")
        return _NUMBER.sub("#", f"{self.column}: {lines[-1][:100]} ").strip() + (
            place and f" {place.removeprefix('File ')}"
        )


@dataclass
class Result:
    """What became of the inputs of a kind."""

    tried: int = 0
    missing: str = ""  # why the kind cannot be tried here
    counts: Counter = field(default_factory=Counter)  # by column
    causes: dict[str, list[Found]] = field(default_factory=dict)

    def add(self, found: Found) -> None:
        """Counts a failure."""
        self.counts[found.column] += 1
        self.causes.setdefault(found.cause, []).append(found)


def run(
    kind: Kind,
    seed: int,
    seconds: float,
    first: int = 0,
    last: int | None = None,
    progress: Callable[[Result], None] = lambda result: None,
) -> Result:
    """Tries inputs until the time is over, or up to the last.

    Args:
        kind: What to try.
        seed: Of the inputs.
        seconds: Wall time for the inputs, without the preparation.
        first: Index of the first input.
        last: Index of the last input.
        progress: Called with the result so far after each fork.
    """
    result = Result(missing=kind.missing())
    if result.missing:
        return result
    kind.prepare()
    gc.freeze()  # a collection in a fork would copy every page
    deadline = time.monotonic() + seconds
    index, broken = first, 0
    while broken < BROKEN and time.monotonic() < deadline and (last is None or index <= last):
        end = index + kind.per_fork - 1
        fork = _Fork(kind, seed, index, end if last is None else min(end, last))
        try:
            after = fork.watch(deadline, result.add)
        finally:
            fork.end()
        result.tried += after - index
        broken = broken + 1 if after == index else 0
        index = after
        progress(result)
    return result


class _Shared(ctypes.Structure):
    """What a fork and its watchdog both see."""

    _fields_ = [
        ("phase", ctypes.c_int64),
        ("index", ctypes.c_int64),
        ("begin", ctypes.c_double),
        ("waited", ctypes.c_double),
        ("stop", ctypes.c_int64),
    ]


class _Fork:
    """A forked process that tries one input after the other, and its watchdog."""

    def __init__(self, kind, seed, first, last):
        self._kind, self._seed, self._first = kind, seed, first
        self._shared = _Shared.from_buffer(mmap.mmap(-1, ctypes.sizeof(_Shared)))
        self._shared.index, self._shared.begin = first, time.monotonic()
        self._folder = tempfile.TemporaryDirectory(prefix="hostile-", ignore_cleanup_errors=True)
        self._stderr = tempfile.TemporaryFile()
        self._pipe, child = Pipe(duplex=False)
        sys.stdout.flush()
        sys.stderr.flush()
        end_with_parent = tied(signal.SIGTERM)  # this process, which may be a fork itself
        self._pid = os.fork()
        if self._pid == 0:
            end_with_parent()
            _Child(kind, seed, range(first, last + 1), self._shared, self._stderr, child).run(
                self._folder.name
            )
        child.close()

    def watch(self, deadline, add) -> int:
        """Waits until it is done, crashes or hangs; the index to go on with."""
        shared, after = self._shared, None
        while True:
            ended = os.waitpid(self._pid, os.WNOHANG)
            with contextlib.suppress(EOFError, OSError):
                while self._pipe.poll(0 if ended[0] else 0.02):
                    item = self._pipe.recv()
                    if isinstance(item, Found):
                        add(item)
                    else:
                        after = item
            if ended[0]:
                self._pid = 0
                if ended[1]:
                    add(self._found(Crash, f"{self._said()}\n{_end_of(ended[1])}"))
                break
            shared.stop = time.monotonic() > deadline
            phase = _PHASES[shared.phase]
            if self._taken() > LIMITS_S[phase]:
                add(self._found(Hang, f"{self._stack()}\nmore than {LIMITS_S[phase]:g} s: {phase}"))
                break
        if after is not None:
            return after
        return shared.index + (_PHASES[shared.phase] == "input")

    def _taken(self):
        """Time that the present input has taken, less that without a CPU [s]."""
        begin, waited = self._shared.begin, self._shared.waited
        return time.monotonic() - begin - max(_run_queue(self._pid) - waited, 0.0)

    def _found(self, failure, text):
        index = self._shared.index
        value = None
        if _PHASES[self._shared.phase] == "input":
            with contextlib.suppress(Exception):  # make() may need what start() has set up
                value = self._kind.make(generator(self._kind.name, self._seed, index), index)
        return _found(self._kind, self._seed, self._first, index, failure, text, value)

    def _stack(self):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGUSR1)
        time.sleep(0.2)
        return self._said()

    def _said(self):
        number = self._stderr.fileno()  # pread: the fork writes at the file's own offset
        data = os.pread(number, 5000, max(0, os.fstat(number).st_size - 5000))
        return data.decode(errors="replace").strip()

    def end(self):
        """Ends it and what it started."""
        if self._pid:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        self._pipe.close()
        self._stderr.close()
        self._folder.cleanup()


class _Child:
    """The forked process."""

    def __init__(self, kind, seed, indices, shared, stderr, pipe):
        self._kind, self._seed, self._indices = kind, seed, indices
        self._shared, self._stderr, self._pipe = shared, stderr, pipe
        self._read = 0

    def run(self, folder):
        """Tries the inputs and exits."""
        status = 1
        try:
            os.setpgid(0, 0)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.chdir(folder)
            self._redirect()
            faulthandler.enable(self._stderr, all_threads=False)
            faulthandler.register(signal.SIGUSR1, self._stderr)
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            self._enter("start")
            self._kind.start(Path(folder))
            self._enter("input")
            index = self._try_all()
            self._enter("close")
            self._kind.close()
            self._pipe.send(index)
            status = 0
        except BaseException:
            os.write(2, traceback.format_exc().encode(errors="replace"))
        finally:
            os._exit(status)

    def _redirect(self):
        """Sends stderr to the watchdog and stdout nowhere, whatever pytest made of them."""
        os.dup2(self._stderr.fileno(), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        sys.unraisablehook, threading.excepthook = sys.__unraisablehook__, threading.__excepthook__

    def _enter(self, phase):
        self._shared.begin, self._shared.waited = time.monotonic(), _run_queue(os.getpid())
        self._shared.phase = _PHASES.index(phase)

    def _try_all(self):
        for index in self._indices:
            if self._shared.stop:
                return index
            self._shared.index = index
            value = self._kind.make(generator(self._kind.name, self._seed, index), index)
            self._shared.begin, self._shared.waited = time.monotonic(), _run_queue(os.getpid())
            try:
                self._kind.try_one(value)
                self._check_stderr()
            except Failure as failure:
                self._report(index, type(failure), str(failure), value)
            except XtdroneError as error:
                if "\n" in str(error).strip():
                    self._report(index, Nonsense, f"an error of several lines: {error}", value)
            except (Exception, SystemExit, KeyboardInterrupt):
                self._report(index, Crash, traceback.format_exc(), value)
        return self._indices.stop

    def _check_stderr(self):
        """Finds tracebacks that a thread, a destructor or a handler of errors has printed."""
        sys.stderr.flush()
        size = os.fstat(2).st_size
        if size > self._read:
            said = os.pread(self._stderr.fileno(), size - self._read, self._read).decode(
                errors="replace"
            )
            self._read = size
            if "Traceback" in said:
                raise Crash(said)

    def _report(self, index, failure, text, value):
        self._pipe.send(
            _found(self._kind, self._seed, self._indices.start, index, failure, text, value)
        )


def _found(kind, seed, first, index, failure, text, value):
    assert failure in FAILURES
    data = value.encode(errors="surrogatepass") if isinstance(value, str) else value
    return Found(
        kind.name,
        seed,
        first,
        index,
        failure.column,
        text[-8000:],
        _shown(value),
        data if isinstance(data, bytes) else None,
    )


def _shown(value):
    try:
        return repr(value)[:20_000]
    except RecursionError:
        return f"a deeply nested {type(value).__name__}"


def _end_of(status):
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"the process ended with status {code}"
    return f"the process was ended by {signal.Signals(-code).name}"


def _run_queue(pid) -> float:
    """Time that a process has waited for a CPU so far [s]; 0 where the kernel does not say."""
    try:
        with open(f"/proc/{pid}/schedstat") as file:
            return int(file.read().split()[1]) * 1e-9
    except (OSError, IndexError, ValueError):
        return 0.0
