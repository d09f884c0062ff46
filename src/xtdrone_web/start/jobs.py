"""Programs that the start page has started: simulations, plots, replays. They end with it."""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xtdrone_core.errors import one_line
from xtdrone_core.runs.parent import tied
from xtdrone_core.runs.ports import INSTANCES, Ports, in_use

from ..errors import WebError
from ..links.world_control import WorldControl

MAX_LINES = 2000  # lines of a console that are kept
_MAX_LINE = 2000  # characters of a line
_MAX_ENDED = 24  # ended jobs that are remembered
_INTERRUPT_S, _TERMINATE_S = 20.0, 5.0  # time that a job gets to end [s]
_LINK = re.compile(r"(http://[\w.:\[\]]+/\S*)")
_TOKEN = re.compile(r"#token=\S+")


class Job:
    """A program, its console and its state.

    Attributes:
        number: Number of this job.
        kind: "simulation", "plot" or "replay".
        title: In words.
        instance: Instance of the simulation or replay, or None.
        lines: Lines of its console, without tokens.
        clock: Clock of a simulation: simulated time t [s], and factor of real time.
        link, watch_link: Links of its page, for pilots and for viewers, once it has printed them.
    """

    def __init__(
        self,
        number: int,
        kind: str,
        title: str,
        instance: int | None,
        process: subprocess.Popen[bytes],
    ):
        """Takes a program that runs."""
        self.number, self.kind, self.title, self.instance = number, kind, title, instance
        self.process = process
        self.lines: deque[str] = deque(maxlen=MAX_LINES)
        self.line_count = 0  # lines of its console so far
        self.link = self.watch_link = self.folder = ""
        self.begun, self.ended = time.time(), 0.0
        self.stopping = False
        self.reading: asyncio.Task[None] | None = None
        self.clock: dict[str, float] = {}
        self._world = WorldControl(instance or 0, instance is not None)
        self._polling = False

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return not self.ended

    def state(self) -> str:
        """Returns its state in a word."""
        if self.running:
            return (
                "stopping"
                if self.stopping
                else ("running" if self.link or self.kind == "plot" else "starting")
            )
        if self.stopping:
            return "stopped"
        return "failed" if self.process.returncode else "ended"

    def take(self, line: str) -> None:
        """Takes another line of its console."""
        link = _LINK.search(line)
        if link and "viewers" in line:
            self.watch_link = link[1]
        elif link and not self.link:
            self.link = link[1]
        if link and link[1] in (self.link, self.watch_link):
            return  # the page shows it as one button, not in the console
        folder = re.search(r"run folder: (\S+)", line)
        if folder:
            self.folder = os.path.basename(folder[1])
        self.lines.append(_TOKEN.sub("", one_line(line.rpartition("\r")[2])[:_MAX_LINE]))
        self.line_count += 1

    def poll_clock(self) -> None:
        """Asks for the clock of a simulation in a thread; `clock` has it at the next call."""
        if self.kind == "simulation" and self.link and self.running and not self._polling:
            self._polling = True
            asyncio.get_running_loop().run_in_executor(None, self._ask_clock)

    def _ask_clock(self) -> None:
        with contextlib.suppress(WebError):  # it is ending, or not there yet
            status = self._world.ask("status")
            self.clock = {"t": status["t_us"] * 1e-6, "factor": status["real_time_factor_now"]}
        self._polling = False

    def status(self, pilot: bool) -> "JobStatus":
        """Returns its state for a page; links with a token are for pilots."""
        self.poll_clock()
        shown = self.watch_link or _TOKEN.sub("", self.link)
        return JobStatus(
            number=self.number,
            kind=self.kind,
            title=self.title,
            instance=self.instance,
            state=self.state(),
            begun=self.begun,
            ended=self.ended,
            status=self.process.poll(),
            run=self.folder,
            link=self.link if pilot else shown,
            line_count=self.line_count,
            clock=self.clock,
            last=self.lines[-1] if self.lines else "",
        )


@dataclass(frozen=True)
class JobStatus:
    """The state of a job, as a page gets it."""

    number: int
    kind: str
    title: str
    instance: int | None
    state: str  # starting, running, stopping, stopped, failed or ended
    begun: float  # [s] since 1970
    ended: float  # 0 while it runs
    status: int | None  # exit status
    run: str  # name of its run folder; empty without one
    link: str  # address of its page; empty without one
    line_count: int  # lines of its console so far
    clock: dict[str, float]  # clock of a simulation: t [s] and factor
    last: str  # line of its console


class Jobs:
    """All jobs of a start page."""

    def __init__(self, first: int):
        """Takes the instance that simulations get first, if it is free."""
        self._first = first
        self._jobs: dict[int, Job] = {}
        self._count = 0

    def start(
        self,
        kind: str,
        title: str,
        words: Sequence[str],
        instance: int | None = None,
        then: Callable[[Job], None] = lambda job: None,
    ) -> Job:
        """Starts `xtdrone WORDS`, from the main thread: it ends with this one.

        Args:
            kind, title, instance: Those of Job.
            words: Words of the command line; no shell reads them.
            then: Called when it has ended.
        """
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONUNBUFFERED": "1",
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "xtdrone_core.command", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=tied(signal.SIGTERM),
            env=environment,
        )
        self._count += 1
        job = Job(self._count, kind, title, instance, process)
        self._jobs[job.number] = job
        job.reading = asyncio.create_task(_read(job, then))
        for old in [each for each in self._jobs.values() if not each.running][:-_MAX_ENDED]:
            del self._jobs[old.number]
        return job

    def free_instance(self) -> int:
        """Returns the next instance on which a simulation can start.

        Raises:
            WebError: There is none.
        """
        taken = self.taken("simulation")
        for k in (self._first, *(k for k in range(INSTANCES) if k != self._first)):
            if k not in taken and Ports(k).free() and not in_use(Ports(k).web, tcp=True):
                return k
        raise WebError(f"all {INSTANCES} instances are in use: stop a simulation first")

    def taken(self, kind: str) -> set[int | None]:
        """Returns the instances of the jobs of a kind that run."""
        return {job.instance for job in self.running() if job.kind == kind}

    def find(self, number: int) -> Job:
        """Returns a job by its number.

        Raises:
            WebError: There is none.
        """
        if number not in self._jobs:
            raise WebError(f"there is no program {number} here, or it ended long ago")
        return self._jobs[number]

    def statuses(self, pilot: bool) -> list[JobStatus]:
        """Returns the status of all jobs, the newest first."""
        return [job.status(pilot) for job in reversed(self._jobs.values())]

    def running(self) -> list[Job]:
        """Returns the jobs that have not ended."""
        return [job for job in self._jobs.values() if job.running]

    async def stop(self, job: Job) -> None:
        """Ends a job as Ctrl-C does; if it does not, by SIGTERM, and then for good."""
        job.stopping = True
        for number, seconds in (
            (signal.SIGINT, _INTERRUPT_S),
            (signal.SIGTERM, _TERMINATE_S),
            (signal.SIGKILL, _TERMINATE_S),
        ):
            if not job.running:
                return
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.process.pid, number)
            if job.reading is not None:
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(asyncio.shield(job.reading), seconds)

    async def close(self) -> None:
        """Ends all of them."""
        await asyncio.gather(*(self.stop(job) for job in self.running()))


async def _read(job: Job, then: Callable[[Job], None]) -> None:
    """Takes the console of a job until its end."""
    reader = asyncio.StreamReader(limit=1 << 20)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), job.process.stdout
    )
    try:
        while True:
            try:
                line = await reader.readline()
            except ValueError:  # a line without an end
                continue
            if not line:
                break
            job.take(line.decode(errors="replace").rstrip("\n"))
        while job.process.poll() is None:  # it has closed its output, and ends
            await asyncio.sleep(0.02)
    finally:
        transport.close()
        job.process.poll()
        job.ended = time.time()
    then(job)
