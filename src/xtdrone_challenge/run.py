"""Judges a team: each flight in a process of its own, which can crash or hang alone."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from xtdrone_core.runs.parent import tied

from .judge import Judged

HUNG, ENDED = "hung", "ended"


def flights(
    challenge: str, team: str, seeds: Sequence[int], folder: Path, patience_s: float
) -> Iterator[dict[str, Any]]:
    """Judges a flight for each seed, on all cores; yields the results in the order of the seeds.

    Args:
        challenge: Its name.
        team: As of judge().
        seeds: Of the flights.
        folder: A run folder for each flight goes into it.
        patience_s: Wall time after which a flight counts as hung [s].
    """
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
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
            try:
                subprocess.run(
                    command, stdout=log, stderr=log, timeout=patience_s, preexec_fn=tied()
                )
            except subprocess.TimeoutExpired:
                reason = f"no end after {patience_s:g} s of wall time"
                return asdict(Judged(seed, 0.0, HUNG, reason))
        if not answer.exists():
            reason = f"the process of the flight has ended: see seed_{seed}.log"
            return asdict(Judged(seed, 0.0, ENDED, reason))
        return dict(json.loads(answer.read_text()))
