"""One candidate: a model with its numbers, its flights, and what is measured of them.

It runs in worker processes, which load a study once.
"""

import dataclasses
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from xtdrone_campaign.batch import fly_batch
from xtdrone_campaign.flight import GOOD, Flight, fly_each
from xtdrone_core import resources
from xtdrone_core.errors import XtdroneError
from xtdrone_core.registry import load_own
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.vehicles.sdf_numbers_by_path import SdfNumbers

from .study import MODEL, FlightPlan, Study, model_figures, read, with_vehicle


@dataclass(frozen=True)
class Candidate:
    """A task of a runner.

    Attributes:
        study: Path of the study.
        values: Variables by name.
    """

    study: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class Measured:
    """What a candidate showed.

    Attributes:
        figures: By name, with a number for each seed.
        reason: Why it does not count; empty where it does.
    """

    figures: Mapping[str, list[float]]
    reason: str = ""


@lru_cache(maxsize=1)
def _study(path: str, _mtime: float) -> Study:
    return read(path)


def evaluate(candidate: Candidate) -> Measured:
    """Makes a candidate, and flies it; the function of a runner's tasks."""
    study = _study(candidate.study, Path(candidate.study).stat().st_mtime)
    with tempfile.TemporaryDirectory(prefix="xtdrone_optimise_") as folder:
        try:
            path = write_model(study, candidate.values, Path(folder) / "model")
            figures = {
                f"{MODEL}.{name}": value if isinstance(value, list) else [float(value)]
                for name, value in model_figures(str(path)).items()
            }
            for plan in study.flights:
                reason = _fly(study, plan, candidate.values, str(path), figures)
                if reason:
                    return Measured(figures, f"{plan.name}: {reason}")
        except XtdroneError as error:
            return Measured({}, str(error))
    return Measured(figures)


def write_model(study: Study, values: Mapping[str, float], folder: Path) -> Path:
    """Writes the model of a candidate, with its parameters; returns its SDF file.

    Raises:
        XtdroneError: It cannot be written, or is no vehicle.
    """
    file = SdfNumbers(resources.vehicle_sdf(study.vehicle))
    for place, expression in study.numbers.items():
        file.set(place, expression.value(values))
    path = file.write_model(folder)
    if study.parameters:
        lines = [
            _parameter(name, expression.value(values))
            for name, expression in study.parameters.items()
        ]
        own = folder / "vehicle.params"
        before = own.read_text() if own.exists() else ""
        own.write_text(before + "\n".join(lines) + "\n")
    load_vehicle(path)
    return path


def _parameter(name: str, value: float) -> str:
    """Returns a line of a parameter file, as QGroundControl writes it."""
    from xtdrone_autopilot.parameters import store

    whole = store.table()[name].type is int
    return f"1\t1\t{name}\t{round(value) if whole else f'{value:.9g}'}\t{6 if whole else 9}"


def _fly(
    study: Study,
    plan: FlightPlan,
    values: Mapping[str, float],
    vehicle: str,
    figures: dict[str, list[float]],
) -> str:
    """Adds the figures of a flight; returns why it failed, or nothing."""
    if plan.call:
        found: Mapping[str, Any] = load_own("figures of a study", plan.call)(
            vehicle, dict(values), plan.seeds
        )
        for name, value in found.items():
            numbers = value if isinstance(value, (list, tuple)) else [value]
            figures[f"{plan.name}.{name}"] = [float(each) for each in numbers]
        return ""
    flights = [_seeded(plan, with_vehicle(plan.flight, vehicle), values, s) for s in plan.seeds]
    results = (fly_batch if plan.batch else fly_each)(flights)
    for result in results:
        if result.status != GOOD:
            return f"{result.status}, {result.reason}"
    for name in results[0].figures:
        if all(name in result.figures for result in results):
            figures[f"{plan.name}.{name}"] = [float(r.figures[name]) for r in results]
    return ""


def _seeded(plan: FlightPlan, flight: Flight, values: Mapping[str, float], seed: int) -> Flight:
    words = (f"{key}={each.value(values):.9g}" for key, each in plan.settings.items())
    return dataclasses.replace(
        flight, settings=(*flight.settings, *words), scenario={**flight.scenario, "seed": seed}
    )
