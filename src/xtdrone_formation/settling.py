"""The definition of a settled formation, in flight and in reports."""

import math
from collections.abc import Sequence

import numpy as np

from .formations import separation

TOLERANCE = 0.35  # largest RMS slot error over the followers of a formation in place [m]
MAX_ERROR = 2 * TOLERANCE  # largest slot error of a single follower [m]
SETTLED_S = 3.0  # uninterrupted time in place after which a formation is settled [s]
_BODY = 0.8  # minimum distance at which two vehicles cannot touch [m]


def in_place(errors: np.ndarray) -> np.ndarray:
    """Returns whether a formation is in place, by its followers' slot errors (..., N - 1) [m]."""
    rms = np.sqrt(np.mean(np.square(errors), axis=-1))
    return (rms <= TOLERANCE) & (np.max(errors, axis=-1) <= MAX_ERROR)


def accuracy_warning(formations: Sequence[np.ndarray], horizontal: float, vertical: float) -> str:
    """Returns a warning if GNSS receivers are too inaccurate for some formations, or "".

    The relative position of two vehicles has sqrt(2) times the standard deviation of a receiver. A
    formation can settle if its RMS is below TOLERANCE; two vehicles do not touch if three standard
    deviations fit between them.

    Args:
        formations: (N - 1, 3) slots relative to the leader, of each formation and the start [m].
        horizontal: Standard deviation on each horizontal axis [m].
        vertical: Standard deviation of the height [m].
    """
    error = math.sqrt(2 * (2 * horizontal**2 + vertical**2))
    smallest = min(map(separation, formations))
    needed = _BODY + 3 * math.sqrt(2) * max(horizontal, vertical)
    if error <= TOLERANCE and smallest >= needed:
        return ""
    touch = f", and vehicles {smallest:.1f} m apart may collide" if smallest < needed else ""
    advice = (
        f"; a spacing of {math.ceil(needed)} m is safe in formation, but not during transitions"
        if touch
        else ""
    )
    return (
        f"warning: GNSS receivers with an accuracy of {horizontal:g} m ({vertical:g} m in "
        f"height) lead to slot errors of about {error:.1f} m, but {TOLERANCE:g} m counts as "
        f"settled{touch}: use the receiver preset rtk{advice}"
    )
