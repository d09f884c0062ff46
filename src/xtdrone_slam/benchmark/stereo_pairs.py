"""Images of two cameras that arrive one by one, as pairs of the same time."""

import numpy as np

SIDES = ("left", "right")
Pair = tuple[int, np.ndarray, np.ndarray]  # time [us], left and right image


class StereoPairs:
    """Matches left and right images by their time stamps."""

    def __init__(self) -> None:
        """Waits for the first image."""
        self._images: dict[str, dict[int, np.ndarray]] = {side: {} for side in SIDES}

    def add(self, side: str, t_us: int, pixels: np.ndarray) -> Pair | None:
        """Takes an image (H, W) uint8 of a side; returns the pair that it completes, if any.

        Images older than a pair are dropped: each camera sends its images in order of time, so
        that their other halves have been lost.
        """
        left, right = (self._images[each] for each in SIDES)
        self._images[side][t_us] = pixels
        if t_us not in left or t_us not in right:
            return None
        pair = t_us, left[t_us], right[t_us]
        for images in (left, right):
            for old in [each for each in images if each <= t_us]:
                del images[old]
        return pair
