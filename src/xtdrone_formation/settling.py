"""What counts as a settled formation, in flight and in reports."""

import math

import numpy as np

from .formations import separation

TOLERANCE = 0.35  # root mean square over the followers' slot errors of a formation in place [m]
FARTHEST = 2 * TOLERANCE  # of any one of them [m]
SETTLED_S = 3.0  # for so long without interruption makes it settled [s]
_BODY = 0.8  # two vehicles nearer than this may touch [m]


def in_place(errors: np.ndarray) -> np.ndarray:
    """Whether a formation is in place, by its followers' slot errors (..., N - 1) [m]."""
    rms = np.sqrt(np.mean(np.square(errors), axis=-1))
    return (rms <= TOLERANCE) & (np.max(errors, axis=-1) <= FARTHEST)


def too_coarse(places, horizontal: float, vertical: float) -> str:
    """A line that says what receivers of this accuracy mean for formations; empty: nothing.

    Each vehicle is where its receiver says, give or take its standard deviations. Two vehicles
    then differ by sqrt(2) times as much. Below TOLERANCE in the root mean square the formation
    can settle; two places are safe from a touch when three standard deviations fit between them.

    Args:
        places: (N - 1, 3) of the followers from the leader, in each formation and at the start [m].
        horizontal: Standard deviation on each level axis [m].
        vertical: The same upwards [m].
    """
    error = math.sqrt(2 * (2 * horizontal ** 2 + vertical ** 2))
    least = min(map(separation, places))
    wanted = _BODY + 3 * math.sqrt(2) * max(horizontal, vertical)
    if error <= TOLERANCE and least >= wanted:
        return ""
    touch = f", and two that shall be {least:.1f} m apart may touch" if least < wanted else ""
    advice = (f"; a spacing of {math.ceil(wanted)} m keeps those in formation apart, not those "
              "that change places" if touch else "")
    return (f"warning: receivers good to {horizontal:g} m ({vertical:g} m in height) put vehicles "
            f"about {error:.1f} m beside their slots, where {TOLERANCE:g} m counts as "
            f"settled{touch}: fly with the receivers' preset rtk{advice}")
