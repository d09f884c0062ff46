"""Identification of a vehicle: fit, score on a part that was held out, what is not known."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from xtdrone_core import Vehicle

from .errors import IdentificationError
from .fit import Fit, accel_bias_of, fit
from .parameters import Model
from .record import MIN_S, Record
from .score import Score, score

_LEAST_BIAS = 0.01  # a priori, of the accelerometer's mean reading along the thrust [m/s^2]
_STILL = 0.1  # body rates with a smaller deviation show no inertia [rad/s]
_SLOW = 2.0  # speeds below this show no drag [m/s]


@dataclass(frozen=True)
class Identified:
    """What a log says about a vehicle.

    Attributes:
        fit: Parameters and their intervals.
        fitted, held_out: The parts of the record.
        before, after: Scores on the held-out part by the model's numbers and by the fitted ones.
        unknown: A line on each thing that the log does not show.
    """

    fit: Fit
    fitted: Record
    held_out: Record
    before: Score
    after: Score
    unknown: tuple[str, ...]


def identify(
    vehicle: Vehicle,
    record: Record,
    *,
    known: str = "mass",
    given: Mapping[str, float] | None = None,
    held_out: float = 0.2,
    watch: Callable[[float], object] = lambda fraction: None,
) -> Identified:
    """Identifies a vehicle.

    Args:
        vehicle: The model with which to begin; its geometry is taken as it is.
        record: The flight.
        known: mass or motor_constant: which is taken as it is.
        given: Values of parameters that are not fitted.
        held_out: Fraction of the record, at its end, that is only predicted.
        watch: Called with the fraction of the work that is done.

    Raises:
        IdentificationError: Too short a record, or a name is unknown.
    """
    first, last = record.split(held_out)
    for part, what in ((first, "to fit to"), (last, "held out")):
        if part.seconds < 0.5 * MIN_S:
            raise IdentificationError(
                f"'{record.name}': of {record.seconds:.1f} s only {part.seconds:.1f} s are {what}: "
                "give a longer log, or another --held_out"
            )
    priors = {}
    if first.accel is not None:
        bias, sigma = accel_bias_of(first)
        priors["accel_bias_z"] = float(bias[2]), max(_LEAST_BIAS, 2.0 * float(sigma[2]))
    model = Model(
        vehicle,
        record.speeds,
        first.accel is not None,
        record.step_s,
        known=known,
        given=given,
        priors=priors,
    )
    result = fit(model, first, watch)
    start = np.zeros(len(model.parameters))
    return Identified(
        result,
        first,
        last,
        score(model, start, last),
        score(model, result.theta, last),
        tuple(_unknown(result, record)),
    )


def _unknown(result: Fit, record: Record) -> list[str]:
    """Says what the log does not show, and why."""
    out = []
    known = "mass" if "mass" not in {p.name for p in result.model.parameters} else "motor_constant"
    other = "thrust" if known == "mass" else "mass"
    out.append(
        f"mass and thrust by themselves: a flight shows their ratio; {known} was given, {other}, "
        "inertia and drag follow from it"
    )
    if not record.speeds:
        out.append(
            "speeds of the rotors: none are logged, so that a full command was taken as the "
            "model's speed; thrust over command is known, thrust over speed as well as that is"
        )
    for one in result.model.parameters:
        if one.of_vehicle and not result.is_known(one.name):
            low, high = result.interval(one.name)
            where = f"{low:.3g} to {high:.3g} {one.unit}"
            out.append(f"{one.name}: anywhere in {where}{_why(one.name, record)}")
    period = record.periods_s.get("command", 0.0)
    lag = result.values.get("time_constant_up", math.inf)
    if period > 1.5 * record.step_s:
        out.append(
            f"what the motors were told between two commands, {1e3 * period:.0f} ms apart: lag, "
            "delay and inertia may be beside their intervals; log actuator_motors at each step "
            "(--log identification, PX4: SDLOG_PROFILE with high rate and system identification)"
        )
        if period > 3.0 * lag:
            out.append("lag of the motors: it is shorter than the time between two commands")
    if record.accel is None:
        out.append("noise and offset of an accelerometer: none is logged")
    return out


def _why(name: str, record: Record) -> str:
    """Says what a log would need to show a parameter."""
    if name.startswith("i"):
        spread = record.gyro.std(axis=0)["xyz".index(name[1])]
        if spread < _STILL:
            return f": body rate {name[1]} hardly changes, {spread:.2g} rad/s"
    if "drag" in name and np.abs(record.vel).max() < _SLOW:
        return f": it flies at {np.abs(record.vel).max():.1f} m/s at most"
    if name == "rolling_moment_coefficient":
        return ": it cancels between rotors that turn both ways"
    if name == "zero_position_armed":
        return ": the thrust varies too little"
    return ""
