"""Searches: CMA-ES for one objective, NSGA-II for several; each asks for a generation at a time.

A generation is the same whoever evaluates it and in whatever order, so that a study has one result
for a seed, serial, in processes or on Ray.
"""

import warnings
from collections.abc import Generator, Sequence

import numpy as np

from xtdrone_core import extras

from .errors import OptimiseError
from .study import Study

_SIGMA = 0.25  # of CMA-ES at its start, in widths of the box
_FAILED = 1e9  # objective of a candidate that cannot fly
_VIOLATED = 1e6  # added to an objective for a violated constraint

# Points (n, D) of the unit cube out; objectives (n, M) and excesses (n, C) in, NaN if it failed.
Graded = tuple[np.ndarray, np.ndarray]
Search = Generator[np.ndarray, Graded, None]


def search(study: Study) -> Search:
    """Returns the search of a study, which begins with its start."""
    return (_cma if study.method == "cma" else _nsga2)(study)


def points_of(study: Study, points: Sequence[np.ndarray]) -> list[dict[str, float]]:
    """Returns the values of points in the unit cube."""
    return [
        {
            one.name: float(one.low + (one.high - one.low) * np.clip(x, 0.0, 1.0))
            for one, x in zip(study.variables, point, strict=True)
        }
        for point in points
    ]


def _start(study: Study) -> np.ndarray:
    return np.array([(one.start - one.low) / (one.high - one.low) for one in study.variables])


def _cma(study: Study) -> Search:
    """CMA-ES of Hansen; constraints and failures by rank behind all that is allowed."""
    cma = extras.require("cma", "method cma", "optimise", OptimiseError)
    start = _start(study)
    yield start[None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        strategy = cma.CMAEvolutionStrategy(
            np.clip(start, 0.02, 0.98) if len(start) > 1 else start,
            _SIGMA,
            {
                "bounds": [0.0, 1.0],
                "seed": study.seed + 1,  # 0 would take the clock
                "verbose": -9,
                "verb_log": 0,
                "popsize": study.population,
            },
        )
        while True:
            points = np.array(strategy.ask())
            objectives, excess = yield points
            strategy.tell(list(points), _costs(objectives[:, 0], excess).tolist())


def _costs(objective: np.ndarray, excess: np.ndarray) -> np.ndarray:
    """Returns numbers whose order is: allowed ones, those that violate least, those that failed."""
    violated = np.maximum(excess, 0.0).sum(axis=1)
    allowed = np.tanh(np.nan_to_num(objective) / 1e6) * 1e6  # below what a violation adds
    out = np.where(violated > 0.0, _VIOLATED * (1.0 + violated), allowed)
    return np.where(np.isfinite(objective) & np.isfinite(violated), out, _FAILED)


def _nsga2(study: Study) -> Search:
    """NSGA-II of Deb by pymoo."""
    require = "method nsga2", "optimise", OptimiseError
    moo = extras.require("pymoo.algorithms.moo.nsga2", *require)
    problems = extras.require("pymoo.core.problem", *require)
    evaluators = extras.require("pymoo.core.evaluator", *require)
    static = extras.require("pymoo.problems.static", *require)
    start = _start(study)
    size, count = len(study.variables), max(1, len(study.constraints))
    problem = problems.Problem(
        n_var=size, n_obj=len(study.objectives), n_ieq_constr=count, xl=0.0, xu=1.0
    )
    first = np.random.default_rng(study.seed).random((study.population, size))
    first[0] = start
    algorithm = moo.NSGA2(pop_size=study.population, sampling=first)
    algorithm.setup(problem, termination=("n_gen", 10**9), seed=study.seed, verbose=False)
    yield start[None]
    while True:
        asked = algorithm.ask()
        objectives, excess = yield asked.get("X")
        failed = ~np.isfinite(objectives).all(axis=1) | ~np.isfinite(excess).all(axis=1)
        violated = excess if excess.shape[1] else np.zeros((len(excess), 1))
        graded = static.StaticProblem(
            problem,
            F=np.where(failed[:, None], _FAILED, objectives),
            G=np.where(failed[:, None], _FAILED, violated),
        )
        evaluators.Evaluator().eval(graded, asked)
        algorithm.tell(infills=asked)


def front(objectives: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Returns the indices of candidates that none other dominates, by their first objective.

    Args:
        objectives: (n, M), all to be small.
        allowed: (n,) bool, which count.
    """
    kept = [
        k
        for k in np.flatnonzero(allowed)
        if not any(
            (objectives[j] <= objectives[k]).all() and (objectives[j] < objectives[k]).any()
            for j in np.flatnonzero(allowed)
        )
    ]
    unique = {tuple(objectives[k]): k for k in reversed(kept)}
    return np.array(sorted(unique.values(), key=lambda k: (objectives[k, 0], k)), dtype=int)
