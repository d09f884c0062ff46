"""CPU and memory of a run, by the time of its flight."""

import numpy as np

SMOOTH_S = 1.0  # wall time over which CPU and memory are averaged [s]


def usage_in_flight(usage: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """Converts CPU and memory to the time of the flight.

    Args:
        usage: Rows of usage.csv: (U, 4) wall time [s], CPU [% of a core], memory [MiB], processes.
        frames: Rows of frames.csv: (F, 5), with the flight's time first, the wall time last.

    Returns:
        (V, 3) in the unit of the flight's time, [% of a core], [MiB], averaged over SMOOTH_S of
        wall time, from the first answer on while the system is alive.
    """
    usage = usage[usage[:, 2] > 0]
    if len(frames) == 0 or len(usage) == 0:
        return np.zeros((0, 3))
    sums = np.vstack([np.zeros(2), np.cumsum(usage[:, 1:3], axis=0)])
    begin = np.searchsorted(usage[:, 0], usage[:, 0] - SMOOTH_S, side="right")
    end = np.arange(1, len(usage) + 1)
    means = (sums[end] - sums[begin]) / (end - begin)[:, None]
    during = (usage[:, 0] >= frames[0, 4]) & (usage[:, 0] <= frames[-1, 4])
    times = np.interp(usage[during, 0], frames[:, 4], frames[:, 0])
    return np.column_stack([times, means[during]])
