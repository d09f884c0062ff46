"""Judges a team: each flight in a process of its own, which can crash or hang alone."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from xtdrone_core.runs.parent import tied

from . import network
from .judge import Judged
from .programs import program_of

HUNG, ENDED = "hung", "ended"
_END_S = 10.0  # wall time in which a judge ends what it has started [s]


def flights(
    challenge: str, team: str, seeds: Sequence[int], folder: Path, patience_s: float
) -> Iterator[dict[str, Any]]:
    """Judges a flight for each seed; yields the results in the order of the seeds.

    Agents fly on all cores, programs one flight after the other, since they are paced.

    Args:
        challenge: Its name.
        team: As of judge().
        seeds: Of the flights.
        folder: A run folder for each flight goes into it.
        patience_s: Wall time after which a flight counts as hung [s].
    """
    cores = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(cores if program_of(team) is None else 1) as pool:
        yield from pool.map(lambda seed: _one(challenge, team, seed, folder, patience_s), seeds)


def _one(challenge: str, team: str, seed: int, folder: Path, patience_s: float) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        request, answer = Path(scratch, "request.json"), Path(scratch, "answer.json")
        flight = folder / f"seed_{seed}"
        asked = {"challenge": challenge, "team": team, "seed": seed, "folder": str(flight)}
        request.write_text(json.dumps(asked))
        command = [sys.executable, "-m", f"{__package__}.judge", str(request), str(answer)]
        with (folder / f"seed_{seed}.log").open("w") as log:
            process = _start(command, log, team)
            try:
                process.wait(patience_s)
            except subprocess.TimeoutExpired:
                reason = f"no end after {patience_s:g} s of wall time"
                return asdict(Judged(seed, 0.0, HUNG, reason))
            finally:
                _end(process)
        if not answer.exists():
            reason = f"the process of the flight has ended: see seed_{seed}.log"
            return asdict(Judged(seed, 0.0, ENDED, reason))
        return dict(json.loads(answer.read_text()))


def _start(command: Sequence[str], log: IO[str], team: str) -> subprocess.Popen[bytes]:
    """Starts a judge, that of a program in a network of its own where that is allowed."""
    if program_of(team) is None:
        return subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=tied())
    tie = tied(signal.SIGTERM, then=network.isolate if network.allowed() else None)
    return subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=tie)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a judge, which ends what it has started."""
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
