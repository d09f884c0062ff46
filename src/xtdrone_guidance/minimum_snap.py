"""Trajectories of least snap or jerk through points, as fast as a multirotor can fly them.

D. Mellinger and V. Kumar, "Minimum snap trajectory generation and control for quadrotors" (2011):
between two points each axis is a polynomial of order 7 (snap) or 5 (jerk), and the optimum is the
spline of that order that rests at both ends. The shares of the legs in the whole time minimise the
same integral; the whole time is the least that keeps speed, thrust and body rates within limits.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from xtdrone_core.errors import XtdroneError
from xtdrone_dynamics.constants import GRAVITY

from .planned import Planned

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

ORDERS = {"jerk": 3, "snap": 4}  # name of what is minimised to its derivative
_SAMPLES = 400  # times at which the limits are checked
_TIMES = 1e-3, 1e4  # range of the whole time [s]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)  # exact for the squared derivative


@dataclass(frozen=True)
class Limits:
    """What a vehicle is asked for at most."""

    speed: float = 5.0  # [m/s]
    thrust: float = 1.5  # over the weight
    body_rate: float = 3.0  # about the horizontal axes [rad/s]


class MinimumSnap:
    """A trajectory through points, from rest to rest.

    Attributes:
        times: (P,) at which it passes the points [s].
        duration: [s].
        settled: Time from which errors count [s].
    """

    settled = 0.0

    def __init__(
        self, points: np.ndarray, limits: Limits = Limits(), minimise: str = "snap"
    ) -> None:
        """Plans the trajectory.

        Args:
            points: (P, 3) two or more [m].
            limits: Limits that it keeps.
            minimise: A name of ORDERS.

        Raises:
            XtdroneError: Too few points, two neighbours at the same place, or limits that cannot
                be kept.
        """
        points = np.asarray(points, dtype=float).reshape(-1, 3)
        legs = np.linalg.norm(np.diff(points, axis=0), axis=1)
        if len(points) < 2 or not (legs > 1e-6).all():
            raise XtdroneError(
                f"a trajectory through {len(points)} points is not allowed: give two or more, no "
                "two neighbours at the same place"
            )
        _check_limits(limits)
        self._order = ORDERS[minimise]
        shares = self._shares(points, legs)
        self.duration = self._least_time(self.through(points, shares, self._order), limits)
        self.times = self.duration * np.concatenate([[0.0], np.cumsum(shares)])
        spline = self.through(points, self.duration * shares, self._order)
        self._derivatives = spline, spline.derivative(1), spline.derivative(2)

    def at(self, t: float) -> Planned:
        """Returns the trajectory at a time [s]; it rests before its start and after its end."""
        inside = min(max(t, 0.0), self.duration)
        pos, vel, acc = (derivative(inside) for derivative in self._derivatives)
        return Planned(pos, vel, acc)

    @staticmethod
    def through(points: np.ndarray, shares: np.ndarray, order: int = 4) -> "BSpline":
        """Returns the spline of least snap through points (P, 3), from rest to rest.

        Args:
            points: [m].
            shares: (P - 1,) durations of the legs.
            order: Derivative whose integral is least: 4 for snap, 3 for jerk.
        """
        from scipy.interpolate import make_interp_spline  # slow to import, not needed by help

        rest = [(k, np.zeros(3)) for k in range(1, order)]
        knots = np.concatenate([[0.0], np.cumsum(shares)])
        return make_interp_spline(knots, points, k=2 * order - 1, bc_type=(rest, rest))

    def _shares(self, points: np.ndarray, legs: np.ndarray) -> np.ndarray:
        """Returns the fractions (P - 1,) of the whole time that the legs get."""
        from scipy.optimize import minimize

        def cost(logarithms: np.ndarray) -> float:
            shares = np.exp(logarithms - logarithms.max())
            return float(np.log(self._integral(points, shares / shares.sum())))

        start = np.log(np.sqrt(legs))
        if len(legs) > 1:
            start = minimize(cost, start, method="L-BFGS-B", options={"maxiter": 60}).x
        shares = np.exp(start - start.max())
        fractions: np.ndarray = shares / shares.sum()
        return fractions

    def _integral(self, points: np.ndarray, shares: np.ndarray) -> float:
        """Returns the integral of the squared derivative over a whole time of 1 s."""
        knots = np.concatenate([[0.0], np.cumsum(shares)])
        derivative = self.through(points, shares, self._order).derivative(self._order)
        half = 0.5 * shares[:, None]
        times = knots[:-1, None] + half * (1.0 + _NODES)
        squares = (derivative(times) ** 2).sum(axis=-1)
        return float((half * _WEIGHTS * squares).sum())

    def _least_time(self, spline: "BSpline", limits: Limits) -> float:
        """Returns the least time [s] for a spline over 0..1 that keeps the limits."""
        inside = np.linspace(0.0, 1.0, _SAMPLES)
        vel, acc, jerk = (spline.derivative(k)(inside) for k in (1, 2, 3))

        def keeps(time: float) -> bool:
            force = acc / time**2 + [0.0, 0.0, GRAVITY]
            size = np.linalg.norm(force, axis=1)
            axis = force / np.maximum(size, 1e-9)[:, None]
            swing = jerk / time**3
            swing = swing - (swing * axis).sum(axis=1)[:, None] * axis
            rates = np.linalg.norm(swing, axis=1) / np.maximum(size, 1e-9)
            return bool(
                np.linalg.norm(vel, axis=1).max() / time <= limits.speed
                and size.max() <= limits.thrust * GRAVITY
                and force[:, 2].min() >= 0.1 * GRAVITY
                and rates.max() <= limits.body_rate
            )

        low, high = _TIMES
        while high / low > 1.001:
            middle = (low * high) ** 0.5
            low, high = (low, middle) if keeps(middle) else (middle, high)
        return high


def _check_limits(limits: Limits) -> None:
    for name, minimum in (("speed", 0.0), ("thrust", 1.0), ("body_rate", 0.0)):
        value = getattr(limits, name)
        if not (np.isfinite(value) and value > minimum):
            raise XtdroneError(
                f"{name} {value:g} of a trajectory is not allowed: give a number above {minimum:g}"
            )
