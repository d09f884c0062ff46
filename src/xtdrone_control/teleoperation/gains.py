"""Gains of the teleoperation: Table 2, and YAML files of them."""

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from xtdrone_core import files, outputs
from xtdrone_core.errors import unknown_name

from ..errors import TeleoperationError
from .control import AXES, GAINS

MAX_GAIN = 30.0  # bounds of every gain are 0 and this, section 3 of the paper
MAX_DELAY_S = 0.5  # delay of a link [s]
_HEAD = "# Gains of the teleoperation, of xtdrone tune or by hand: xtdrone fly teleoperation\n"
_OURS = _HEAD[:20].encode()  # head of a file that may be replaced

TABLE_2 = np.array(
    [  # k, p, i, d of height, yaw, pitch, roll
        [0.0028, 12.3973, 0.0146, 16.4687],
        [0.0027, 26.9075, 0.0001, 0.0022],
        [0.9879, 0.3159, 0.0363, 0.0029],
        [0.3030, 0.1176, 0.0116, 0.0781],
    ]
)


def read(path: Path | str) -> tuple[np.ndarray, float]:
    """Gains (4, 4) and the link's delay [s] of a file.

    An axis that the file lacks has the gains of Table 2.

    Raises:
        TeleoperationError: It cannot be read, or a name or number is not allowed.
    """
    data = files.read_yaml(path, "gains", error=TeleoperationError)
    if not isinstance(data, dict):
        raise TeleoperationError(f"gains '{path}': give a mapping of {', '.join(AXES)}")
    gains = TABLE_2.copy()
    delay = 0.0
    for name, value in data.items():
        if name == "delay":
            delay = _number(path, "delay", value, MAX_DELAY_S)
        elif name not in AXES:
            raise TeleoperationError(
                f"gains '{path}': {unknown_name('axis', name, (*AXES, 'delay'))}"
            )
        else:
            gains[AXES.index(name)] = _axis(path, name, value)
    return gains, delay


def _axis(path: Path | str, name: str, values: object) -> list[float]:
    if not isinstance(values, dict) or set(values) != set(GAINS):
        raise TeleoperationError(
            f"gains '{path}': {name} needs {', '.join(GAINS)}, no more and no less"
        )
    return [_number(path, f"{name}: {key}", values[key], MAX_GAIN) for key in GAINS]


def _number(path: Path | str, what: str, value: object, maximum: float) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not 0.0 <= value <= maximum
    ):
        raise TeleoperationError(
            f"gains '{path}': {what} is {value!r}: give a number from 0 to {maximum:g}"
        )
    return float(value)


def write(path: Path | str, gains: dict[str, np.ndarray], delay: float = 0.0) -> Path:
    """Writes gains (k, p, i, d) by axis and the link's delay [s]; returns the path.

    Raises:
        TeleoperationError: It cannot be written, or somebody else's file is there.
    """
    path = free_for(path)
    data: dict[str, Any] = {
        name: {key: round(float(f"{value:.6g}"), 9) for key, value in zip(GAINS, gains[name])}
        for name in AXES
        if name in gains
    }
    data["delay"] = float(f"{delay:.3g}")
    try:
        path.write_text(_HEAD + yaml.safe_dump(data, sort_keys=False))
    except OSError as failed:
        raise outputs.cannot_write(path, failed, TeleoperationError) from failed
    return path


def free_for(path: Path | str) -> Path:
    """Returns a path that gains may be written to.

    Raises:
        TeleoperationError: As write().
    """
    return outputs.free_for(
        path, "file of gains", lambda ends: ends.startswith(_OURS), TeleoperationError
    )
