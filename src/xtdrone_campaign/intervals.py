"""Means and proportions with their 95 % confidence intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """Estimate of a quantity from several flights; NaN where it is unknown."""

    value: float
    low: float  # lower end of the interval
    high: float  # upper end of the interval
    count: int  # number of flights


def mean(values: Sequence[float]) -> Estimate:
    """Returns the mean with Student's t interval, NaN for fewer than two flights."""
    from scipy.special import stdtrit

    data = np.asarray(values, dtype=float)
    middle = float(data.mean()) if len(data) else math.nan
    if len(data) < 2:
        return Estimate(middle, math.nan, math.nan, len(data))
    half = float(
        stdtrit(len(data) - 1, 0.5 + _CONFIDENCE / 2) * data.std(ddof=1) / math.sqrt(len(data))
    )
    return Estimate(middle, middle - half, middle + half, len(data))


def proportion(successes: int, count: int) -> Estimate:
    """Returns the proportion of successes with Wilson's score interval.

    Wilson (1927), J. Am. Stat. Assoc. 22, 209.
    """
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
