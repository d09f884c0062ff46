"""Means and shares with their 95 % confidence intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A figure of several flights; NaN where they do not say."""

    value: float
    low: float  # ends of the interval
    high: float
    count: int  # of the flights


def mean(values: Sequence[float]) -> Estimate:
    """Mean with Student's t interval, for independent flights; of fewer than two there is none."""
    from scipy.special import stdtrit

    data = np.asarray(values, dtype=float)
    middle = float(data.mean()) if len(data) else math.nan
    if len(data) < 2:
        return Estimate(middle, math.nan, math.nan, len(data))
    half = float(
        stdtrit(len(data) - 1, 0.5 + _CONFIDENCE / 2) * data.std(ddof=1) / math.sqrt(len(data))
    )
    return Estimate(middle, middle - half, middle + half, len(data))


def share(successes: int, count: int) -> Estimate:
    """Share of successes with Wilson's score interval (J. Am. Stat. Assoc. 22, 1927, 209)."""
    from scipy.special import ndtri

    if not count:
        return Estimate(math.nan, math.nan, math.nan, 0)
    z, p = float(ndtri(0.5 + _CONFIDENCE / 2)), successes / count
    middle = (p + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(p * (1 - p) / count + z * z / (4 * count * count))
    return Estimate(
        p,
        0.0 if successes == 0 else middle - half,
        1.0 if successes == count else middle + half,
        count,
    )
