"""Figures of propellers: thrust, power and efficiency over the flow."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from xtdrone_core import plot_style

from .errors import PropellerError
from .measured import Measured
from .propeller import Propeller

_POINTS = 61


def draw(
    propellers: Sequence[Propeller],
    path: Path | str,
    measured: Sequence[Measured] = (),
    farthest: float = 0.8,
    speed: float = 0.0,
) -> Path:
    """Draws coefficients over the advance ratio, and thrust over the incidence of the flow.

    Args:
        propellers: Those to compare.
        path: The picture.
        measured: Measurements, drawn as points.
        farthest: Largest advance ratio.
        speed: [rad/s]; 0: a nominal one.

    Raises:
        PropellerError: It cannot be written.
    """
    figure, axes = plot_style.panels(2, 2, 10.0, 7.0, "Propellers")
    thrust, power, gain, oblique = axes.ravel()
    advance = np.linspace(0.0, farthest, _POINTS)
    incidence = np.linspace(0.0, np.pi, _POINTS)
    for k, each in enumerate(propellers):
        look = {"color": plot_style.series(k), "label": f"{each.name} ({each.model})"}
        ct, cp = each.coefficients(advance, speed=speed)
        pulls = (ct > 0.0) & (cp > 0.0)
        thrust.plot(advance, ct, **look)
        power.plot(advance, cp, **look)
        gain.plot(advance[pulls], (ct * advance)[pulls] / cp[pulls], **look)
        turned = [float(each.coefficients(0.3, float(a), speed)[0]) for a in incidence]
        oblique.plot(np.degrees(incidence), turned, **look)
    for k, data in enumerate(measured):
        look = {
            "color": plot_style.series(len(propellers) + k),
            "ls": "",
            "marker": ".",
            "label": f"measured: {data.name}",
        }
        thrust.plot(data.advance, data.thrust, **look)
        power.plot(data.advance, data.power, **look)
        pulls = (data.thrust > 0.0) & (data.power > 0.0)
        efficiency = (data.thrust * data.advance)[pulls] / data.power[pulls]
        gain.plot(data.advance[pulls], efficiency, **look)
    for panel, name, label in (
        (thrust, "thrust", "C_T"),
        (power, "power", "C_P"),
        (gain, "efficiency", "C_T J / C_P"),
    ):
        plot_style.title(panel, name)
        panel.set(xlabel="advance ratio J", ylabel=label)
    plot_style.title(oblique, "thrust in oblique flow, V = 0.3 n D")
    oblique.set(xlabel="incidence: 0 climb, 90 across, 180 descent [deg]", ylabel="C_T")
    plot_style.legend(figure, below=True)
    return plot_style.save(figure, path, error=PropellerError)
