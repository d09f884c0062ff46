"""The state of a recorded fleet between two records, for everything that replays one."""

import numpy as np

_JUMP = 1.0  # beyond twice its speed, a vehicle that moves more than this was reset [m]


def place(times: np.ndarray, t: float) -> tuple[int, int, float, float]:
    """Where a time is among those of the records.

    Args:
        times: (K,) ascending.
        t: In the same unit.

    Returns:
        Indices of the record before it and of the next, the share of the way between them (0 to
        1), and the time between them.
    """
    last = len(times) - 1
    k = int(np.clip(np.searchsorted(times, t, "right") - 1, 0, last))
    after = min(k + 1, last)
    step = float(times[after] - times[k])
    share = min(max((t - float(times[k])) / step, 0.0), 1.0) if step > 0.0 else 0.0
    return k, after, share, step


def shares(share: float, step_s: float, pos: np.ndarray, next_pos: np.ndarray,
           vel: np.ndarray) -> np.ndarray:
    """The share (N, 1) of each vehicle; 0 for one that jumps, by a reset.

    Args:
        share: Of the way between two records.
        step_s: Between them [s].
        pos, next_pos: (N, 3) positions in them [m].
        vel: (N, 3) velocities in the first [m/s].
    """
    moved = np.linalg.norm(next_pos - pos, axis=1)
    jumps = moved > _JUMP + 2.0 * step_s * np.linalg.norm(vel, axis=1)
    return np.where(jumps, 0.0, share)[:, None].astype(pos.dtype)


def turned(quat: np.ndarray, next_quat: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Attitudes (N, 4) at shares (N, 1) of the way between two."""
    near = np.sign(np.sum(quat * next_quat, axis=1, keepdims=True))
    found = quat + share * (near * next_quat - quat)
    return found / np.linalg.norm(found, axis=1, keepdims=True)
