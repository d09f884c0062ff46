"""A run folder as a recording: truth, flight logs where there are any, and events."""

import sys
from pathlib import Path

import numpy as np

from xtdrone_core import files
from xtdrone_core.runs import run_folder
from xtdrone_plots.run import Run
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import world_of

from ..errors import WebError
from ..events import page_event
from . import flight_log
from .recording import Recording, empty, thinned

_MAX_LOGS = 30  # vehicles whose flight logs are read, as for figures


def read(folder: Path) -> Recording:
    """Returns a run folder, also of a run that was killed.

    Raises:
        XtdroneError: It is no run folder, has no truth log, or its world or vehicles are not here.
    """
    from tqdm import tqdm

    run = Run(folder)
    scenario = run.scenario
    if not files.is_file(folder / run_folder.TRUTH):
        raise WebError(
            f"run '{folder}' has no {run_folder.TRUTH}, the true poses: give a run that flew"
        )
    t_s, truth = run.truth
    kept = thinned(t_s, scenario.n)
    t_s, truth = t_s[kept], truth[kept]
    table = empty(len(t_s), scenario.n)
    for name, columns in (
        ("pos", slice(0, 3)),
        ("quat", slice(3, 7)),
        ("vel", slice(7, 10)),
        ("rates", slice(10, 13)),
    ):
        table[name] = truth[:, :, columns]
    for name in ("pos", "quat", "vel"):
        table[f"est_{name}"] = np.nan
    models = [load_vehicle(spec.type) for spec in scenario.vehicles]
    events = [page_event(event) for event in run_folder.read_events(folder)]
    logged = range(scenario.n) if scenario.n <= _MAX_LOGS else range(0)
    for i in tqdm(logged, desc="flight logs", file=sys.stderr, disable=None, leave=False):
        log = run.log(i)
        if log is not None:
            spec = scenario.vehicles[i]
            own = np.array(spec.pos) if scenario.origin != "shared" else np.zeros(3)
            flight_log.fill(table[:, i], t_s, log, models[i], own)
            events += flight_log.texts(log, spec.name)
    events.sort(key=lambda event: event["t"])
    return Recording(
        folder.resolve().name,
        "run",
        world_of(scenario),
        list(scenario.vehicles),
        models,
        t_s,
        table,
        events,
    )
