"""The state of a recorded fleet between two records, for everything that replays one."""

import numpy as np

from ..errors import XtdroneError

_EARLY = 0.02  # a span may begin so long before the first record [s]
_JUMP = 1.0  # a vehicle that moves so much further than twice its speed was reset [m]


def span(
    begin_s: float | None,
    end_s: float | None,
    first_s: float,
    last_s: float,
    error: type[XtdroneError],
) -> tuple[float, float]:
    """Returns the first and last time that is taken of a recording [s].

    Args:
        begin_s, end_s: As asked for; None: all.
        first_s, last_s: Begin and end of the recording.
        error: Class of the errors.

    Raises:
        XtdroneError: The recording has nothing then.
    """
    begin = first_s if begin_s is None else begin_s
    end = last_s if end_s is None else end_s
    if not first_s - _EARLY <= begin <= last_s or begin > end:
        raise error(
            f"from {begin:g} s to {end:g} s there is nothing: the recording has "
            f"{first_s:g} s to {last_s:g} s"
        )
    return max(begin, first_s), min(end, last_s)


def locate(times: np.ndarray, t: float) -> tuple[int, int, float, float]:
    """Locates a time among those of the records.

    Args:
        times: (K,) ascending.
        t: The time, in their unit.

    Returns:
        Indices of the record before it and of the next, the fraction of the time between them (0
        to 1), and the time between them.
    """
    last = len(times) - 1
    k = int(np.clip(np.searchsorted(times, t, "right") - 1, 0, last))
    after = min(k + 1, last)
    step = float(times[after] - times[k])
    fraction = min(max((t - float(times[k])) / step, 0.0), 1.0) if step > 0.0 else 0.0
    return k, after, fraction, step


def fractions(
    fraction: float, step_s: float, pos: np.ndarray, next_pos: np.ndarray, vel: np.ndarray
) -> np.ndarray:
    """Returns the fraction (N, 1) of each vehicle; 0 for one that jumps, by a reset.

    Args:
        fraction: Time since the first record over the time between the two.
        step_s: Time between them [s].
        pos, next_pos: (N, 3) positions in them [m].
        vel: (N, 3) velocities in the first [m/s].
    """
    moved = np.linalg.norm(next_pos - pos, axis=1)
    jumps = moved > _JUMP + 2.0 * step_s * np.linalg.norm(vel, axis=1)
    return np.where(jumps, 0.0, fraction)[:, None].astype(pos.dtype)


def attitude(quat: np.ndarray, next_quat: np.ndarray, fraction: np.ndarray) -> np.ndarray:
    """Returns attitudes (N, 4) between two, at fractions (N, 1) of the time between them."""
    near = np.sign(np.sum(quat * next_quat, axis=1, keepdims=True))
    blend = quat + fraction * (near * next_quat - quat)
    return blend / np.linalg.norm(blend, axis=1, keepdims=True)
