"""Fits Gill and D'Andrea's second model to measurements, or to another propeller."""

import math
from dataclasses import dataclass

import numpy as np

from .errors import PropellerError
from .measured import Measured
from .propeller import INCH, NOMINAL_TIP, Propeller, from_coefficients

_FARTHEST = 0.3  # advance ratios lambda_c and mu of a fit, as the model has it
_GRID = 13
_FLOWS = 300
_STATIC = 0.02  # in axial measurements lambda_c below this is near hover


@dataclass(frozen=True)
class Fit:
    """A fitted propeller.

    Attributes:
        propeller: By gill_dandrea_2.
        thrust, torque: RMS of what is left, over the largest thrust and torque fitted.
        remarks: What the data do not say.
    """

    propeller: Propeller
    thrust: float
    torque: float
    remarks: tuple[str, ...] = ()


def fit_measured(measured: Measured, like: Propeller | None = None) -> Fit:
    """Fits thrust and torque in axial flow by least squares.

    Args:
        measured: The measurements.
        like: Whose coefficients in oblique flow are taken; None: of a propeller without them.

    Raises:
        PropellerError: The diameter is unknown.
    """
    if measured.diameter <= 0.0:
        raise PropellerError(
            f"'{measured.name}' does not say how large the propeller is: give --diameter [inch], "
            "or a name such as mine_10x4.7.txt"
        )
    climb = measured.advance / math.pi
    thrust = measured.thrust * 8.0 / math.pi**3
    torque = measured.power * 8.0 / math.pi**4
    base = np.stack([np.ones_like(climb), climb, climb**2], axis=1)
    remarks = []
    if np.ptp(climb) < _STATIC:
        base = base[:, :1]
        remarks.append("static tests alone: thrust and power do not change with the flow")
    if like is None:
        remarks.append("measured in axial flow: no H-force nor moments in oblique flow (--like)")
    own = np.zeros(14) if like is None else np.array(like.numbers[3:])
    error = []
    for values, places in ((thrust, (0, 1, 3)), (torque, (6, 7, 9))):
        found, *_ = np.linalg.lstsq(base, values, rcond=None)
        own[list(places)] = 0.0
        own[list(places[: len(found)])] = found
        error.append(_left(base @ found, values))
    made = from_coefficients(
        measured.name,
        "gill_dandrea_2",
        0.5 * measured.diameter * INCH,
        measured.blades,
        own.tolist(),
    )
    return Fit(made, error[0], error[1], tuple(remarks))


def fit_propeller(of: Propeller) -> Fit:
    """Fits all of gill_dandrea_2 to another propeller, over its range of advance ratios."""
    grid = np.linspace(-0.5 * _FARTHEST, _FARTHEST, _GRID), np.linspace(0.0, _FARTHEST, _GRID)
    climb, mu = (each.ravel() for each in np.meshgrid(*grid))
    omega = NOMINAL_TIP / of.radius
    found = of.loads(omega, climb * NOMINAL_TIP, mu * NOMINAL_TIP, 1.0)
    scale = 0.5 * math.pi * of.radius**2 * NOMINAL_TIP**2
    whole = np.stack([np.ones_like(climb), climb, mu**2, climb**2], axis=1)
    oblique = np.stack([mu, mu * climb], axis=1)
    own: list[float] = []
    left = []
    for base, values in (
        (whole, found.thrust / scale),
        (oblique, found.h_force / scale),
        (whole, found.torque / scale / of.radius),
        (oblique, found.rolling / scale / of.radius),
        (oblique, found.pitching / scale / of.radius),
    ):
        numbers, *_ = np.linalg.lstsq(base, values, rcond=None)
        own += numbers.tolist()
        left.append(_left(base @ numbers, values))
    made = from_coefficients(of.name, "gill_dandrea_2", of.radius, of.blades, own)
    return Fit(made, left[0], left[2])


def surrogate_errors(
    of: Propeller, table: Propeller, steepest: float = 0.5 * math.pi
) -> tuple[float, float]:
    """RMS of a surrogate's thrust and torque over those of hover at its speeds.

    Over flows up to V = 0.3 omega R, with tips at 30 to 150 m/s.

    Args:
        of: What it is fitted to.
        table: The surrogate.
        steepest: Largest incidence [rad]: pi/2 is level flight, pi vertical descent.
    """
    draw = np.random.default_rng(0)
    tip, ratio, angle = (
        draw.uniform(low, high, _FLOWS)
        for low, high in ((30.0, 150.0), (0.0, _FARTHEST), (0.0, steepest))
    )
    flow = tip / of.radius, tip * ratio * np.cos(angle), tip * ratio * np.sin(angle)
    true, found, hover = of.loads(*flow), table.loads(*flow), of.loads(flow[0])
    thrust = (found.thrust - true.thrust) / hover.thrust
    torque = (found.torque - true.torque) / hover.torque
    return float(np.sqrt(np.mean(thrust**2))), float(np.sqrt(np.mean(torque**2)))


def _left(fitted: np.ndarray, values: np.ndarray) -> float:
    """RMS of what is left, over the largest value."""
    return float(np.sqrt(np.mean((fitted - values) ** 2)) / np.abs(values).max())
