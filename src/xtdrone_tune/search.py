"""Searches for the gains of one axis: the published differential evolution, SciPy's, CMA-ES."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from xtdrone_core import extras

from .errors import TuneError

Costs = Callable[[np.ndarray], np.ndarray]  # (D, n) candidates to (n,) costs
# Called with the generations since the last call and the best cost so far.
Watch = Callable[[int, float], Any]

GENERATIONS, POPULATION = 1000, 20  # section 3 of the paper
CROSSOVER, FACTOR = 0.5, 0.5
_POWER = 5  # gain = coordinate 0..1 to this power: resolves small gains as finely as large ones
_INITIAL_SIGMA = 0.25  # CMA-ES, in widths of the box
_STARTS = 3  # CMA-ES sometimes ends in a local minimum


def differential_evolution(
    costs: Costs, bounds: np.ndarray, rng: np.random.Generator, generations: int, watch: Watch
) -> np.ndarray:
    """rand/1/bin as Mora-Soto and others (2021) set it: NP = 20, CR = 0.5, F = 0.5.

    A component that leaves its bounds is reflected at them. The paper does not say how it keeps
    bounds; drawing anew would hardly ever hit the small gains near 0.

    Args:
        costs: The objective.
        bounds: (D, 2) lower and upper.
        rng: Source of every random number.
        generations: Number of generations.
        watch: Called with the progress.

    Returns:
        The best candidate (D,).
    """
    low, high = bounds[:, :1], bounds[:, 1:]
    size = (len(bounds), POPULATION)
    population = low + (high - low) * rng.random(size)
    cost = costs(population)
    own = np.arange(POPULATION)
    for _ in range(generations):
        # Three others each: the candidate itself gets the last place of its row.
        order = rng.random((POPULATION, POPULATION))
        order[own, own] = 2.0
        one, two, three = np.argsort(order, axis=1)[:, :3].T
        mutant = population[:, one] + FACTOR * (population[:, two] - population[:, three])
        mutant = np.where(mutant < low, 2.0 * low - mutant, mutant)
        mutant = np.clip(np.where(mutant > high, 2.0 * high - mutant, mutant), low, high)
        crosses = rng.random(size) < CROSSOVER
        crosses[rng.integers(len(bounds), size=POPULATION), own] = True
        trial = np.where(crosses, mutant, population)
        trial_cost = costs(trial)
        better = trial_cost <= cost
        population[:, better], cost[better] = trial[:, better], trial_cost[better]
        watch(1, float(cost.min()))
    return population[:, np.argmin(cost)]


class _Box:
    """Maps the unit cube to the free rows of candidates: gains by a power, the rest linear."""

    def __init__(self, bounds: np.ndarray) -> None:
        self._bounds = bounds
        self.free = np.flatnonzero(bounds[:, 1] > bounds[:, 0])
        self._power = np.where(self.free < 4, _POWER, 1)[:, None]

    def candidates(self, points: np.ndarray) -> np.ndarray:
        """Returns candidates (D, n) of points (d, n)."""
        out = np.repeat(self._bounds[:, :1], points.shape[1], axis=1)
        points = np.clip(points, 0.0, 1.0)
        low, high = self._bounds[self.free].T[:, :, None]
        out[self.free] = low + (high - low) * points**self._power
        return out


def scipy_evolution(
    costs: Costs, bounds: np.ndarray, rng: np.random.Generator, generations: int, watch: Watch
) -> np.ndarray:
    """SciPy's differential evolution best/1/bin over powers, then Nelder and Mead's simplex."""
    from scipy import optimize

    box = _Box(bounds)
    max_cost = np.log1p(1e12)

    def objective(points: np.ndarray) -> np.ndarray | float:
        points = points.reshape(len(box.free), -1)
        values = np.log(np.maximum(costs(box.candidates(points)), 1e-30))
        return values if values.size > 1 else min(float(values[0]), max_cost)

    def on_generation(intermediate_result: Any) -> None:  # an OptimizeResult; SciPy gives the name
        watch(2, float(np.exp(intermediate_result.fun)))

    result = optimize.differential_evolution(
        objective,
        [(0.0, 1.0)] * len(box.free),
        rng=rng,
        vectorized=True,
        updating="deferred",
        popsize=3 * POPULATION // len(box.free),
        maxiter=2 * generations // 5,
        tol=1e-6,
        polish=False,
        callback=on_generation,
    )
    polished = optimize.minimize(
        objective,
        result.x,
        method="Nelder-Mead",
        bounds=[(0.0, 1.0)] * len(box.free),
        options={"maxiter": 60 * len(box.free), "xatol": 1e-6, "fatol": 1e-9},
    )
    best = polished.x if polished.fun < result.fun else result.x
    return box.candidates(best[:, None])[:, 0]


def covariance_adaptation(
    costs: Costs, bounds: np.ndarray, rng: np.random.Generator, generations: int, watch: Watch
) -> np.ndarray:
    """CMA-ES of Hansen over powers, from three starts."""
    cma = extras.require("cma", "--method cma", "tune", TuneError)
    box = _Box(bounds)
    best, best_cost, lowest = np.full(len(box.free), 0.5), np.inf, np.inf
    for _ in range(_STARTS):
        options = {
            "bounds": [0.0, 1.0],
            "seed": int(rng.integers(1, 2**31)),
            "verbose": -9,
            "maxiter": generations // (2 * _STARTS),
            "popsize": POPULATION,
            "tolfun": 1e-9,
            "verb_disp": 0,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search = cma.CMAEvolutionStrategy(
                rng.uniform(0.2, 0.8, len(box.free)), _INITIAL_SIGMA, options
            )
            while not search.stop():
                points = search.ask()
                values = costs(box.candidates(np.array(points).T))
                search.tell(points, np.log(np.maximum(values, 1e-30)).tolist())
                lowest = min(lowest, float(values.min()))
                watch(2, lowest)
        if search.result.fbest < best_cost:
            best, best_cost = search.result.xbest, search.result.fbest
    return box.candidates(np.asarray(best)[:, None])[:, 0]


METHODS: dict[str, Callable[..., np.ndarray]] = {
    "de": differential_evolution,
    "scipy": scipy_evolution,
    "cma": covariance_adaptation,
}
