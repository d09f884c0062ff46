"""Runs `xtdrone ...` in this process, its flights cut short."""

import argparse
import contextlib
import functools
import io
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from xtdrone_core import command, registry
from xtdrone_core.errors import XtdroneError

from .common import Crash, Nonsense

STEPS = 5  # of a flight, where it is cut
PRECIOUS = b"precious"  # contents of files that no command may touch


class CutShort(XtdroneError):
    """The flight has begun, and its state is finite: that is all that is asked."""


@functools.cache
def load() -> dict[str, argparse.ArgumentParser]:
    """Every subcommand and action by its words, such as "mission check"."""
    from xtdrone_sim.warm_up import ensure_warm

    ensure_warm()
    found: dict[str, argparse.ArgumentParser] = {}
    for name in registry.entries(command.GROUP):
        parser = command.build_parser([name])
        found.update(_leaves(parser, ()))
    return found


def _leaves(parser, words) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield " ".join(words), parser
    for action in below:
        for name, inner in action.choices.items():
            yield from _leaves(inner, (*words, name))


def cut_flights() -> None:
    """From now on, every flight in this process ends after a few steps."""
    from xtdrone_campaign import commands as campaign
    from xtdrone_core.mavlink.client import MavlinkClient
    from xtdrone_formation.simple import simulator
    from xtdrone_sim import simulation

    def run(self, until_us=None):
        for _ in range(STEPS):
            self.step()
        _check_finite(self.state)
        raise CutShort("flight cut short")

    def fly(*_):  # which it would do in other processes
        raise CutShort("campaign cut short")

    simulation.Simulation.run, campaign.fly_missing = run, fly
    before = simulator.SimpleSimulator.step

    def step(self):
        before(self)
        _check_finite(self.state())
        if self.t_us > STEPS * 20_000:
            raise CutShort("flight cut short")

    simulator.SimpleSimulator.step = step
    MavlinkClient.__init__.__defaults__ = (1, 0.01)  # nobody answers: do not wait long for it


def _check_finite(state):
    for name in ("pos", "quat", "vel", "ang_vel"):
        if not np.isfinite(getattr(state, name)).all():
            raise Nonsense(f"{name} of the state is not finite")
    if np.abs(state.pos).max() > 1e7 or np.abs(state.vel).max() > 1e4:
        raise Nonsense(f"flies at {state.pos.tolist()} with {state.vel.tolist()}")


def run(words: list[str]) -> int:
    """Runs a command line, and checks that what it says about bad input is one line.

    Returns:
        Its exit status.

    Raises:
        Failure: What it does is not right.
    """
    out, err = io.StringIO(), io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(record=True) as said,
        ):
            status = command.main(words)
    except SystemExit as end:
        status = end.code
    lines = [line for line in err.getvalue().splitlines() if not line.startswith("warning: ")]
    _check_precious()
    if "Traceback" in err.getvalue():
        raise Crash(err.getvalue())
    if status not in (0, 1, 2, 130):
        raise Crash(f"exit status {status!r}: {err.getvalue()[-500:]}")
    if status and len(lines) != 1 and not out.getvalue():
        raise Nonsense(f"status {status} with {len(lines)} lines: {err.getvalue()[-500:]}")
    if said:
        raise Nonsense(f"warns: {said[0].message} at {said[0].filename}:{said[0].lineno}")
    return status


def precious(folder: Path) -> Path:
    """A file of somebody else's in a folder; run() checks that it stays as it is."""
    path = folder / "precious.txt"
    path.write_bytes(PRECIOUS)
    _watched.append(path)
    return path


_watched: list[Path] = []


def _check_precious():
    for path in _watched:
        if not path.is_file() or path.read_bytes() != PRECIOUS:
            path.write_bytes(PRECIOUS)
            raise Nonsense(f"a file that was there is overwritten: {path}")


def fifo(folder: Path) -> Path:
    """A FIFO that nobody writes to."""
    path = folder / "fifo"
    os.mkfifo(path)
    return path
