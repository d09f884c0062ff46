"""What counts as a settled formation, in flight and in reports."""

import numpy as np

TOLERANCE = 0.35  # root mean square over the followers' slot errors of a formation in place [m]
FARTHEST = 2 * TOLERANCE  # of any one of them [m]
SETTLED_S = 3.0  # for so long without interruption makes it settled [s]


def in_place(errors: np.ndarray) -> np.ndarray:
    """Whether a formation is in place, by its followers' slot errors (..., N - 1) [m]."""
    rms = np.sqrt(np.mean(np.square(errors), axis=-1))
    return (rms <= TOLERANCE) & (np.max(errors, axis=-1) <= FARTHEST)
