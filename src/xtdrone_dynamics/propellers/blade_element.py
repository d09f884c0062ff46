"""Hybrid blade element momentum theory, after Davoudi and Duraisamy (AIAA 2019-3031).

Each annulus of the disc has the induced velocity at which the thrust of the blades, averaged over
a turn, is that of Glauert's momentum theory for the flow through and across it. In oblique flow the
induced velocity rises towards the rear, as the skew of the wake has it (Pitt and Peters); tip
and root lose as Prandtl has it. The swirl is that of the momentum of the torque. The blade is
rigid. Descent is that of the helicopter branch: no vortex ring, no windmill brake.
"""

import math

import numpy as np

from ..compiled import njit
from .gill_dandrea import Loads
from .layout import (
    ANGLES,
    BLADES,
    ELEMENTS,
    EXPONENT,
    OWN,
    RADIUS,
    REYNOLDS,
    STATION_NUMBERS,
    STATIONS,
    VISCOSITY,
)

_AZIMUTHS = 8  # of a turn in oblique flow
_STEPS = 30  # of the search for the induced velocity, at most
_LIFTLESS = 0.3  # so much beyond its pitch no blade lifts [rad]
_STRAIGHT = 1e-3  # flow across below this part of the tip's speed is none


@njit
def section(numbers: np.ndarray, polar: int, angles: int, alpha: float) -> tuple[float, float]:
    """Lift and drag coefficient at any angle of attack [rad], linearly between the polar's."""
    x = (alpha + math.pi) / (2.0 * math.pi)
    x = (x - math.floor(x)) * (angles - 1)
    i = min(int(x), angles - 2)
    x, k = x - i, polar + 2 * i
    return (
        numbers[k] + x * (numbers[k + 2] - numbers[k]),
        numbers[k + 1] + x * (numbers[k + 3] - numbers[k + 1]),
    )


@njit
def prandtl(blades: float, position: float, root: float, sine: float) -> float:
    """Fraction of the momentum that finite blades reach, at the tip and at the root.

    Args:
        blades: Number of blades.
        position, root: Radius of the element and of the root, over that of the propeller.
        sine: Of the angle of the flow to the disc.
    """
    sine = max(abs(sine), 1e-6)
    tip = math.exp(-min(0.5 * blades * (1.0 - position) / (position * sine), 50.0))
    inner = math.exp(-min(0.5 * blades * (position - root) / (root * sine), 50.0))
    return max(4.0 / (math.pi * math.pi) * math.acos(tip) * math.acos(inner), 1e-4)


@njit
def element(
    numbers: np.ndarray,
    polar: int,
    angles: int,
    pitch: float,
    drag_factor: float,
    through: float,
    along: float,
    swirl: float,
) -> tuple[float, float]:
    """Normal and tangential force of an element: coefficients times speed^2 [m^2/s^2].

    Args:
        numbers, polar, angles: The polar, as section() has it.
        pitch: Of the blade there [rad].
        drag_factor: On the drag, for the Reynolds number.
        through: Velocity of the air through the disc [m/s].
        along: Speed of the blade against the air in the disc's plane, without the swirl [m/s].
        swirl: Of the air, with the blade [m/s].
    """
    moving = along - swirl
    square = through * through + moving * moving
    lift, drag = section(numbers, polar, angles, pitch - math.atan2(through, moving))
    drag, speed = drag * drag_factor, math.sqrt(square)
    return speed * (lift * moving - drag * through), speed * (lift * through + drag * moving)


@njit
def blade(
    numbers: np.ndarray,
    polar: int,
    angles: int,
    pitch: float,
    drag_factor: float,
    axial: float,
    induced: float,
    along: float,
    momentum: float,
    passes: int,
) -> tuple[float, float]:
    """element() with the swirl that its torque leaves, `momentum` times it.

    The first guess is that without drag, square to the flow; in further `passes` the torque of that
    gives the swirl.
    """
    through, swirl = axial + induced, 0.0
    normal = tangential = 0.0
    if along > 0.0:
        swirl = 0.5 * (along - math.sqrt(max(along * along - 4.0 * induced * through, 0.0)))
        swirl = min(max(swirl, -0.3 * along), 0.3 * along)
    for _ in range(passes):
        normal, tangential = element(
            numbers, polar, angles, pitch, drag_factor, through, along, swirl
        )
        if along > 0.0:
            swirl = tangential / max(momentum, 1e-9)
            swirl = min(max(swirl, -0.3 * along), 0.3 * along)
    return normal, tangential


@njit
def annulus(
    numbers: np.ndarray,
    at: int,
    station: int,
    root: float,
    drag_factor: float,
    omega: float,
    axial: float,
    across: float,
    azimuths: int,
    induced: float,
) -> tuple[float, float, float, float, float, float]:
    """Loads of the blades in one annulus at a mean induced velocity, means over a turn.

    Args:
        numbers: All propellers' numbers.
        at: Where the propeller begins.
        station: Where the annulus begins.
        root: Radius of the root over that of the propeller.
        drag_factor: On the drag, for the Reynolds number.
        omega: Speed [rad/s].
        axial, across: Velocity relative to the air along and across the thrust [m/s].
        azimuths: Positions of the blade in a turn.
        induced: [m/s].

    Returns:
        (thrust of momentum theory less that of the blades, thrust, H-force, tangential force,
        thrust that rolls, thrust that pitches), per solidity but the first [m^2/s^2].
    """
    radius, k = numbers[at + RADIUS], at + OWN
    angles, count = int(numbers[k + ANGLES]), int(numbers[k + STATIONS])
    polar = k + ELEMENTS + STATION_NUMBERS * count
    position, chord, pitch = numbers[station], numbers[station + 2], numbers[station + 3]
    blades = numbers[at + BLADES]
    through, turning = axial + induced, omega * position * radius
    speed = math.sqrt(through * through + across * across)
    flow = math.sqrt(through * through + turning * turning)
    loss = prandtl(blades, position, root, through / max(flow, 1e-9))
    solidity = blades * chord / (2.0 * math.pi * position)
    momentum = 4.0 * loss * speed / solidity
    skew = 0.0
    if azimuths > 1:
        chi = math.atan2(across, max(abs(through), 1e-9))
        skew = min(15.0 * math.pi / 32.0 * math.tan(0.5 * chi), 1.0) * position
    thrust = drag = torque = roll = nose = 0.0
    for a in range(azimuths):
        psi = 2.0 * math.pi * (a + 0.5) / azimuths
        sine, cosine = math.sin(psi), math.cos(psi)
        if azimuths == 1:
            sine = cosine = 0.0
        normal, tangential = blade(
            numbers,
            polar,
            angles,
            pitch,
            drag_factor,
            axial,
            induced * (1.0 + skew * cosine),
            turning + across * sine,
            momentum,
            3 if azimuths == 1 else 1,
        )
        thrust, torque, drag = thrust + normal, torque + tangential, drag + tangential * sine
        roll, nose = roll + normal * sine, nose - normal * cosine
    share = 1.0 / azimuths
    left = solidity * (momentum * induced - thrust * share)
    return left, thrust * share, drag * share, torque * share, roll * share, nose * share


@njit
def induced_velocity(
    numbers: np.ndarray,
    at: int,
    station: int,
    root: float,
    drag_factor: float,
    omega: float,
    axial: float,
    across: float,
    azimuths: int,
) -> float:
    """Mean induced velocity of an annulus [m/s]: where annulus() leaves nothing.

    It lies between none and that at which the blade no longer lifts. In descent the air goes down
    through the disc, unless that would take more thrust than the flow across lets the blades have.
    """
    radius, pitch = numbers[at + RADIUS], numbers[station + 3]
    turning = omega * numbers[station] * radius
    low = high = 0.0
    at_low = at_high = annulus(
        numbers, at, station, root, drag_factor, omega, axial, across, azimuths, 0.0
    )[0]
    if at_low > 0.0:  # it brakes, as a turbine
        low = min(-0.5 * axial, -1e-6)  # momentum theory's most
        at_low = annulus(
            numbers, at, station, root, drag_factor, omega, axial, across, azimuths, low
        )[0]
        if at_low >= 0.0:
            return low
    else:
        if axial < 0.0:
            at_through = annulus(
                numbers, at, station, root, drag_factor, omega, axial, across, azimuths, -axial
            )[0]
            if at_through <= 0.0:
                low, at_low = -axial, at_through
        high = max(turning * math.tan(min(pitch + _LIFTLESS, 1.4)) - axial, low + 1e-6)
        at_high = annulus(
            numbers, at, station, root, drag_factor, omega, axial, across, azimuths, high
        )[0]
        if at_high <= 0.0:
            return high
    middle = low
    enough = 1e-6 * omega * radius + 1e-9
    for _ in range(_STEPS):
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        here = annulus(
            numbers, at, station, root, drag_factor, omega, axial, across, azimuths, middle
        )[0]
        if abs(here) <= enough * (abs(axial) + abs(middle) + across) or high - low < enough:
            break
        # Regula falsi; an end that stays counts half (Illinois).
        if here > 0.0:
            high, at_high, at_low = middle, here, 0.5 * at_low
        else:
            low, at_low, at_high = middle, here, 0.5 * at_high
    return middle


@njit
def loads(numbers: np.ndarray, at: int, omega: float, axial: float, across: float) -> Loads:
    """Loads of a propeller from its blade elements.

    Args:
        numbers: All propellers' numbers, see layout.
        at: Where the propeller begins.
        omega: Speed [rad/s].
        axial, across: Velocity relative to the air along and across the thrust [m/s].

    Returns:
        As gill_dandrea.first().
    """
    radius, blades, k = numbers[at + RADIUS], numbers[at + BLADES], at + OWN
    tip = omega * radius
    azimuths = 1 if across < _STRAIGHT * (tip + abs(axial)) else _AZIMUTHS
    if azimuths == 1:
        across = 0.0
    first = k + ELEMENTS
    root = numbers[first] - 0.5 * numbers[first + 1]
    thrust = drag = torque = roll = nose = 0.0
    for s in range(int(numbers[k + STATIONS])):
        station = first + STATION_NUMBERS * s
        position, width, chord = numbers[station], numbers[station + 1], numbers[station + 2]
        reynolds = (tip * position + 1e-3) * chord * radius / numbers[k + VISCOSITY]
        drag_factor = min(
            max((reynolds / numbers[k + REYNOLDS]) ** numbers[k + EXPONENT], 0.5), 3.0
        )
        induced = induced_velocity(
            numbers, at, station, root, drag_factor, omega, axial, across, azimuths
        )
        _, normal, back, tangential, rolling, pitching = annulus(
            numbers, at, station, root, drag_factor, omega, axial, across, azimuths, induced
        )
        share = blades * chord * width / math.pi  # area of the blades over that of the disc
        thrust, drag = thrust + share * normal, drag + share * back
        torque += share * position * tangential
        roll, nose = roll + share * position * rolling, nose + share * position * pitching
    return thrust, drag, torque, roll, nose
