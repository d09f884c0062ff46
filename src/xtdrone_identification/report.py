"""The result of an identification: a table, JSON, and figures of fitted over measured curves."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from xtdrone_core import plot_style

from .identification import Identified
from .score import QUANTITIES, Score

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WINDOW_S = 12.0  # shown of the record [s]
_MEASURED = "#888888"


def lines(found: Identified) -> list[str]:
    """Returns the result as lines of text."""
    fit, record = found.fit, found.fitted
    out = [
        f"{record.seconds + found.held_out.seconds:.1f} s in the air at "
        f"{1.0 / record.step_s:.0f} Hz; the last {found.held_out.seconds:.1f} s are held out"
    ]
    out += [f"  {line}" for line in record.remarks]
    out.append(f"{'parameter':28}{'model':>12}{'identified':>12}{'95 % interval':>26}  unit")
    fitted = {one.name for one in fit.model.parameters}
    for name, value in fit.values.items():
        if name not in fitted:
            out.append(f"{name:28}{'':12}{value:12.5g}{'given':>26}")
    for one in fit.model.parameters:
        low, high = fit.interval(one.name)
        hidden = one.of_vehicle and not fit.is_known(one.name)
        words = "not known" if hidden else f"{low:.4g} to {high:.4g}"
        start = f"{one.start:12.5g}" if one.of_vehicle else f"{'':12}"
        out.append(f"{one.name:28}{start}{fit.values[one.name]:12.5g}{words:>26}  {one.unit}")
    for axis, bias in zip("xyz", fit.gyro_bias):
        out.append(f"{'gyro_bias_' + axis:28}{'':12}{bias:12.5g}{'':26}  rad/s")
    out.append(f"{'gyro_noise':28}{'':12}{fit.noise[0]:12.5g}{'':26}  rad/s a reading")
    if record.accel is not None:
        out.append(f"{'accel_noise':28}{'':12}{fit.noise[1]:12.5g}{'':26}  m/s^2 a reading")
    out += ["", f"held out: RMS of {found.after.starts} predictions, model -> identified"]
    out.append(
        f"{'ahead':12}" + "".join(f"{f'{name} [{unit}]':>24}" for name, unit in QUANTITIES.items())
    )
    for k, ahead in enumerate(found.after.horizons_s):
        row = f"{ahead:<10.2f} s"
        for name in QUANTITIES:
            pair = f"{found.before.rms[name][k]:.3g} -> {found.after.rms[name][k]:.3g}"
            row += f"{pair:>24}"
        out.append(row)
    out += ["", "not known from this log:"]
    out += [f"  {line}" for line in found.unknown]
    return out


def data(found: Identified) -> dict[str, Any]:
    """Returns the result for programs, as result.json has it."""
    fit = found.fit
    parameters = {
        one.name: {
            "unit": one.unit,
            "model": one.start,
            "value": fit.values[one.name],
            "interval": list(fit.interval(one.name)),
            "known": fit.is_known(one.name),
        }
        for one in fit.model.parameters
    }
    return {
        "log": found.fitted.name,
        "seconds": found.fitted.seconds,
        "held_out_seconds": found.held_out.seconds,
        "step_s": found.fitted.step_s,
        "remarks": list(found.fitted.remarks),
        "given": {k: v for k, v in fit.values.items() if k not in parameters},
        "parameters": parameters,
        "gyro_bias": fit.gyro_bias.tolist(),
        "noise": {"gyro": fit.noise[0], "accel": fit.noise[1]},
        "held_out": {"model": _score(found.before), "identified": _score(found.after)},
        "unknown": list(found.unknown),
    }


def _score(score: Score) -> dict[str, Any]:
    return {
        "ahead_s": score.horizons_s.tolist(),
        "starts": score.starts,
        **{name: values.tolist() for name, values in score.rms.items()},
    }


def draw_fit(found: Identified, title: str) -> "Figure":
    """Draws fitted over measured body rates and specific force, in a part of the record."""
    record, predicted = found.fitted, found.fit.predicted
    count = min(len(record.t_s), round(_WINDOW_S / record.step_s))
    begin = (len(record.t_s) - count) // 2
    shown = slice(begin, begin + count)
    rows = [
        (f"rate {axis} [rad/s]", (record.gyro - found.fit.gyro_bias)[:, k], predicted.rates[:, k])
        for k, axis in enumerate("xyz")
    ]
    if record.accel is not None:
        rows += [
            (f"force {axis} [m/s²]", record.accel[:, k], predicted.force[:, k])
            for k, axis in enumerate("xyz")
        ]
    figure = plot_style.figure(12, 1.0 + 1.5 * len(rows), title)
    axes = plot_style.time_axes(figure, [row[0] for row in rows], xlabel="time of the log [s]")
    for k, (row, (_, measured, fitted)) in enumerate(zip(axes, rows)):
        row.plot(record.t_s[shown], measured[shown], color=_MEASURED, lw=0.8, label="measured")
        row.plot(
            record.t_s[shown], fitted[shown], color=plot_style.series(0), lw=1.2, label="fitted"
        )
        if k == 0:
            plot_style.legend(figure, below=True)
    return figure


def draw_score(found: Identified, title: str) -> "Figure":
    """Draws the errors of predictions of the held-out part over how far ahead they are."""
    figure = plot_style.figure(12, 3.6, title)
    axes = figure.subplots(1, len(QUANTITIES))
    for row, (name, unit) in zip(axes, QUANTITIES.items()):
        for k, (label, score) in enumerate((("model", found.before), ("identified", found.after))):
            row.plot(
                score.horizons_s,
                score.rms[name],
                marker="o",
                color=plot_style.series(1 - k),
                label=label,
            )
        row.set_xlabel("ahead [s]")
        row.set_ylabel(f"{name}, RMS [{unit}]")
        row.set_ylim(bottom=0.0)
        row.set_xlim(0.0, math.ceil(10.0 * float(np.max(found.after.horizons_s))) / 10.0)
    plot_style.legend(figure, below=True)
    return figure
