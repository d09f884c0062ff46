"""The image link from the camera to a system: limited bandwidth and packet loss."""

import math

import numpy as np

from ..errors import SlamError


class Channel:
    """Decides which stereo pairs arrive, and when.

    The link has no buffer: one pair is transmitted at a time, and a pair that is taken during a
    transmission is lost. Random loss comes in addition; it is drawn from a seed, so that every
    system misses the same pairs.
    """

    def __init__(self, bandwidth: float = 0.0, loss: float = 0.0, seed: int = 1) -> None:
        """Makes an idle link.

        Args:
            bandwidth: Bandwidth of the link [MB/s], 10^6 bytes; 0: unlimited.
            loss: Probability that a pair is lost, 0 to 1.
            seed: Seed of the losses.

        Raises:
            SlamError: A value is out of range.
        """
        if not (math.isfinite(bandwidth) and bandwidth >= 0):
            raise SlamError(
                f"a bandwidth of {bandwidth} MB/s is not allowed: give a positive "
                "number, or 0 for no limit"
            )
        if not 0 <= loss <= 1:
            raise SlamError(f"a loss of {loss} is not allowed: give a fraction from 0 to 1")
        self._bandwidth, self._loss = 1e6 * bandwidth, loss
        self._rng = np.random.default_rng(seed)
        self._free_us = -math.inf

    def arrival(self, t_us: int, size: int) -> int | None:
        """Returns the arrival time of a pair of `size` bytes taken at t_us [us]; None if lost."""
        lost = self._rng.random() < self._loss  # drawn for every pair, whatever the bandwidth
        if lost or t_us < self._free_us:
            return None
        if self._bandwidth == 0:
            return t_us
        self._free_us = t_us + round(1e6 * size / self._bandwidth)
        return self._free_us
