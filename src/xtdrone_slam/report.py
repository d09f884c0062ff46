"""The table of a benchmark and its figures, in the manner of the XTDrone paper's section IV."""

import json
from pathlib import Path

import numpy as np

from .evaluation import DELTA_M, METRICS, UNITS, Evaluation

_HEADS = {"ape_translation": "APE translation", "ape_rotation": "APE rotation",
          "rpe_translation": "RPE translation", "rpe_rotation": "RPE rotation"}


def table(system: str, runs: list, deterministic: bool) -> str:
    """Markdown in the manner of Tables III and IV: accuracy, then cost; mean and spread of runs.

    Args:
        system: Its name.
        runs: (Outcome, Evaluation or None) of each run.
        deterministic: Whether the system calls itself so.
    """
    good = [(outcome, result) for outcome, result in runs if result is not None]
    lines = [f"# {system}: {len(good)} of {len(runs)} runs good", ""]
    for number, (outcome, _) in enumerate(runs, 1):
        if outcome.reason:
            lines.append(f"- run {number}: {outcome.reason}")
    if not good:
        return "\n".join(lines) + "\n"
    lines += ["", f"Accuracy after {good[0][1].alignment} alignment (RPE per {DELTA_M:g} m)", "",
              "| metric | unit | RMSE | mean | median | std | max |",
              "|---|---|---|---|---|---|---|"]
    for metric in METRICS:
        cells = [_spread([result.statistics[metric][key] for _, result in good])
                 for key in ("rmse", "mean", "median", "std", "max")]
        lines.append(f"| {_HEADS[metric]} | {UNITS[metric]} | " + " | ".join(cells) + " |")
    lines += ["", "Cost", "", "| CPU [%] | memory [MiB] | latency [ms] | dropped | lost |",
              "|---|---|---|---|---|"]
    costs = [_spread([getattr(outcome, name) for outcome, _ in good], digits) for name, digits in
             (("cpu_percent", 1), ("memory_mib", 1), ("latency_ms", 1), ("dropped", 1),
              ("lost", 1))]
    lines += ["| " + " | ".join(costs) + " |", "",
              f"Mean ± standard deviation of {len(good)} runs. CPU and memory are of the whole "
              "process tree, one core is 100 %."]
    if deterministic:
        whole = all(outcome.dropped == 0 for outcome, _ in good)
        lines.append("The system is deterministic: its accuracy has no spread" + (
            ", as no pair was dropped." if whole else
            " but for the pairs that were dropped, as the machine was too slow."))
    return "\n".join(lines) + "\n"


def save(folder: Path, system: str, runs: list, deterministic: bool) -> str:
    """Writes report.md, results.json and the figures into a folder; returns the table.

    Args:
        folder: With plots/ in it.
        system, runs, deterministic: As for table().
    """
    folder = Path(folder)
    text = table(system, runs, deterministic)
    (folder / "report.md").write_text(text)
    results = [{"reason": outcome.reason, "statistics": result.statistics if result else None}
               for outcome, result in runs]
    (folder / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    good = [result for _, result in runs if result is not None]
    if good:
        draw_trajectories(good, system, folder / "plots" / "trajectories")
        draw_rpe(good, system, folder / "plots" / "rpe")
    return text


def draw_trajectories(results: list[Evaluation], label: str, path: Path) -> None:
    """The paths from above and their height over time against the truth (figure 6), PNG and PDF."""
    figure, (plan, height) = _figure(1, 2, (11, 4.5))
    truth = results[0].reference
    for number, result in enumerate(results):
        t, x, y, z = result.estimate.T
        name = label if number == 0 else None
        plan.plot(x, y, color="tab:blue", lw=1, label=name)
        height.plot(t - truth[0, 0], z, color="tab:blue", lw=1, label=name)
    plan.plot(truth[:, 1], truth[:, 2], "k--", lw=1, label="truth")
    height.plot(truth[:, 0] - truth[0, 0], truth[:, 3], "k--", lw=1, label="truth")
    plan.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    height.set(xlabel="time [s]", ylabel="z [m]")
    plan.legend()
    _save(figure, path)


def draw_rpe(results: list[Evaluation], label: str, path: Path) -> None:
    """Relative errors over time (figure 7), PNG and PDF."""
    figure, axes = _figure(2, 1, (9, 5))
    for axis, metric in zip(axes, ("rpe_translation", "rpe_rotation")):
        for number, result in enumerate(results):
            axis.plot(result.times[metric] - result.reference[0, 0], result.errors[metric],
                      color="tab:blue", marker=".", lw=1, label=label if number == 0 else None)
        axis.set_ylabel(f"RPE per {DELTA_M:g} m [{UNITS[metric]}]")
        axis.set_ylim(bottom=0)
    axes[1].set_xlabel("time [s]")
    axes[0].legend()
    _save(figure, path)


def _spread(values, digits=4):
    return f"{np.mean(values):.{digits}f} ± {np.std(values):.{digits}f}"


def _figure(rows, columns, size):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns)
    for axis in axes:
        axis.grid(alpha=0.3)
    return figure, axes


def _save(figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path.with_suffix(".png"), dpi=130)
    figure.savefig(path.with_suffix(".pdf"))
