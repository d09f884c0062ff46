"""The output of `xtdrone tune --json` for programs: one JSON object a line."""

import json
import math
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_control.teleoperation.control import AXES, GAINS
from xtdrone_control.teleoperation.gains import TABLE_2
from xtdrone_control.teleoperation.record import Record

from . import report
from .tuning import Preview, Tuned

_MIN_PERIOD_S = 0.1  # wall time between two lines of an axis [s]
_MAX_POINTS = 1500  # points of a curve of the log


def say(op: str, **values: Any) -> None:  # values of JSON
    """Prints a line; numbers that are not finite become null."""
    print(json.dumps({"op": op, **_finite(values)}, separators=(",", ":")), flush=True)


def _finite(value: Any) -> Any:  # values of JSON
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Progress:
    """Prints the progress of each axis; the `watch` of tuning.tune."""

    def __init__(self, generations: int) -> None:
        """Starts with no progress.

        Args:
            generations: Number of generations of each axis.
        """
        self._generations = generations
        self._lock = threading.Lock()  # axes are searched in threads
        self._axes: dict[str, list[float]] = {}  # generation, start, last line [s]

    def __call__(self, axis: str, more: int, best: float) -> None:
        """Prints that an axis has done more generations; best is its smallest J so far."""
        with self._lock:
            now = time.perf_counter()
            state = self._axes.setdefault(axis, [0, now, -math.inf])
            state[0] += more
            if state[0] < self._generations and now - state[2] < _MIN_PERIOD_S:
                return
            state[2] = now
            say(
                "progress",
                axis=axis,
                generation=int(state[0]),
                of=self._generations,
                J=best,
                seconds=round(now - state[1], 3),
            )


def begin(folder: Path) -> None:
    """Prints where the results will be."""
    say("begin", folder=str(folder.absolute()))


def record(flight: Record, previews: Sequence[Preview]) -> None:
    """Prints what a log holds: its length, and each axis's stick and motion."""
    assert flight.motion is not None
    thin = slice(None, None, max(1, len(flight.t_s) // _MAX_POINTS))
    say(
        "record",
        seconds=float(flight.t_s[-1]),
        samples=len(flight.t_s),
        t=_list(flight.t_s[thin]),
        axes={
            one.name: {
                "unit": report.UNITS[one.name],
                "moves": one.moves,
                "stick": _list(flight.sticks[thin, k]),
                "measured": _list(report.scale_of(one.name) * flight.motion[thin, k]),
            }
            for k, one in enumerate(previews)
        },
    )


def done(
    tuned: Sequence[Tuned], begin: float, folder: Path, gains: Path, result: dict[str, Any]
) -> None:
    """Prints the result: files, result.json's content, Table 2, and curves by axis.

    Args:
        tuned: The axes.
        begin: Time in the log at which the stretch begins [s].
        folder: Folder of the results.
        gains: File of the gains.
        result: As in result.json.
    """
    curves = {
        one.name: [
            {
                "part": label,
                "t": _list(begin + t_s),
                "measured": _list(measured),
                "simulated": _list(flown),
            }
            for label, t_s, measured, flown in report.curves(one)
        ]
        for one in tuned
        if one.fitted is not None
    }
    table = {axis: dict(zip(GAINS, row.tolist())) for axis, row in zip(AXES, TABLE_2)}
    say(
        "done",
        folder=str(folder.absolute()),
        gains=str(gains.absolute()),
        result=result,
        table_2=table,
        curves=curves,
    )


def _list(values: np.ndarray) -> list[float]:
    return np.round(values, 5).tolist()
