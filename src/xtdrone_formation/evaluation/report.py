"""The report of a formation flight: metrics into its summary, and plots."""

from pathlib import Path
from typing import Any

from xtdrone_core.runs.run_folder import update_summary

from . import analysis, plots


def report(folder: Path | str, source: str | None = None) -> dict[str, Any]:
    """Evaluates a run, writes the metrics to summary.json, and draws the plots.

    Metrics from another source than the truth log are written to one field, for example
    report_rosbag, and the plots get its name as suffix, so that those of the truth are kept.

    Returns:
        The metrics.
    """
    flight = analysis.load(folder, source)
    fields = flight.summary()
    suffix = ".png" if flight.source == "truth" else f"_{flight.source}.png"
    update_summary(
        flight.folder,
        **(fields if flight.source == "truth" else {f"report_{flight.source}": fields}),
    )
    plots.trajectories(flight, flight.folder / f"trajectories{suffix}")
    if flight.windows:
        plots.formation_error(flight, flight.folder / f"formation_error{suffix}")
    return fields
