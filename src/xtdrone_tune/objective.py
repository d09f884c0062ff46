"""Distance of one axis of the simulator from a flight: integral of the squared error, (33)-(36).

Mora-Soto and others (2021), Appl. Sci. 11, 12018, whose equations print the error without its
square; the index that they name, ISE, is of squares. Each axis is simulated by itself: its motion
is that of xtdrone_dynamics.euler_zxy with the other axes as they were measured, without the
Coriolis torques between the axes.
"""

import math
from dataclasses import dataclass

import numpy as np

from xtdrone_control.teleoperation.control import AXES, HEIGHT, MAX_TILT, PITCH, STEP_S, YAW
from xtdrone_control.teleoperation.gains import MAX_DELAY_S, MAX_GAIN
from xtdrone_control.teleoperation.record import Record
from xtdrone_control.teleoperation.simulator import TABLE_1
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.euler_zxy import Body

# Rows of a candidate: gains, delay of the link [steps], reference held against the wind from x, y.
NAMES = ("k", "p", "i", "d", "delay", "lean_x", "lean_y")
MAX_LEAN = 0.5  # [rad]
_DIVERGED = 1e3  # position beyond which a candidate has diverged [m] or [rad]
_BLOCK = 100  # steps between two checks of what has diverged
_MAX_COST = 1e12  # J of a candidate that diverges at once
# Inertia [kg] or [kg m^2], friction, weight [N], whether references add up, their bounds.
Plant = tuple[float, float, float, float, float, float]


@dataclass(frozen=True)
class Axis:
    """One axis of a flight, at STEP_S, K steps.

    Attributes:
        index: HEIGHT, YAW, PITCH or ROLL.
        stick: (pad + K,) -1..1, its first value repeated before the start.
        measured: (K,) [m] or [rad].
        lift: (K,) fraction of the thrust that is vertical; 1 where there is no thrust.
        wind: (2, K) factors of lean_x and lean_y; 0 for height and yaw.
        plant: Constants of its motion.
    """

    index: int
    stick: np.ndarray
    measured: np.ndarray
    lift: np.ndarray
    wind: np.ndarray
    plant: Plant

    @property
    def name(self) -> str:
        """height, yaw, pitch or roll."""
        return AXES[self.index]

    @property
    def leans(self) -> bool:
        """Whether the vehicle holds this axis against a wind by leaning."""
        return self.index >= PITCH

    def costs(self, candidates: np.ndarray) -> np.ndarray:
        """Returns J (n,) of candidates (7, n), rows NAMES, delay in [s]."""
        rows = np.ascontiguousarray(candidates, dtype=float)
        delay = np.clip(np.rint(rows[4] / STEP_S), 0, PAD).astype(np.int64)
        out = np.empty(rows.shape[1])
        _costs(rows, delay, self.stick, self.measured, self.lift, self.wind, self.plant, out)
        return out

    def flown(self, candidate: np.ndarray) -> np.ndarray:
        """Returns the position (K,) of one candidate (7,) at each step."""
        rows = np.array(candidate, dtype=float)[:, None]
        track = np.empty(len(self.measured))
        _track(
            rows,
            int(np.clip(round(rows[4, 0] / STEP_S), 0, PAD)),
            self.stick,
            self.measured,
            self.lift,
            self.wind,
            self.plant,
            track,
        )
        return track

    def nothing(self) -> float:
        """Returns J of a vehicle that does nothing: level, at its first height and heading."""
        rest = 0.0 if self.leans else self.measured[0]
        return float(((self.measured - rest) ** 2).sum() * STEP_S)

    def spread(self) -> float:
        """Returns J of the best constant, which cannot follow any motion."""
        return float(((self.measured - self.measured.mean()) ** 2).sum() * STEP_S)


PAD = round(MAX_DELAY_S / STEP_S)


def axis_of(record: Record, index: int, body: Body = TABLE_1) -> Axis:
    """Returns one axis of a record with motion at STEP_S."""
    assert record.motion is not None
    count = len(record.t_s)
    stick = np.append(np.full(PAD, record.sticks[0, index]), record.sticks[:, index])
    yaw, pitch, roll = record.motion[:, 1:].T
    ones, nothing = np.ones(count), np.zeros((2, count))
    if index == HEIGHT:
        return Axis(
            index,
            stick,
            record.motion[:, 0].copy(),
            np.cos(pitch) * np.cos(roll),
            nothing,
            (body[0], body[6], body[0] * body[10], 1.0, 0.0, math.inf),
        )
    if index == YAW:
        return Axis(
            index,
            stick,
            yaw.copy(),
            ones,
            nothing,
            (body[3], body[9], 0.0, 1.0, -math.inf, math.inf),
        )
    wind = (
        np.stack([np.cos(yaw), np.sin(yaw)])
        if index == PITCH
        else np.stack([np.sin(yaw), -np.cos(yaw)])
    )
    inertia, friction = (body[2], body[8]) if index == PITCH else (body[1], body[7])
    return Axis(
        index,
        stick,
        record.motion[:, index].copy(),
        ones,
        np.ascontiguousarray(wind),
        (inertia, friction, 0.0, 0.0, -MAX_TILT, MAX_TILT),
    )


# Candidates stand side by side in one array, at constant offsets: the compiler then knows that its
# parts do not overlap, and puts several lanes into one instruction.
LANES = 20
_REFERENCE, _POSITION, _RATE, _ERROR, _INTEGRAL, _SUM, _STICK = (LANES * k for k in range(7))
_K, _P, _I, _D, _LEAN_X, _LEAN_Y = (LANES * k for k in range(7, 13))
_SIZE = 13 * LANES


@njit(nogil=True)
def _costs(
    candidates: np.ndarray,
    delay: np.ndarray,
    stick: np.ndarray,
    measured: np.ndarray,
    lift: np.ndarray,
    wind: np.ndarray,
    plant: Plant,
    out: np.ndarray,
) -> None:
    """Writes J of all candidates, LANES at a time."""
    count = measured.shape[0]
    x, lane_delay, diverged = np.zeros(_SIZE), np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
    for first in range(0, candidates.shape[1], LANES):
        width = min(LANES, candidates.shape[1] - first)
        _load(candidates, delay, first, width, measured[0], plant[3], x, lane_delay)
        diverged[:] = 0
        for begin in range(0, count, _BLOCK):
            end = min(begin + _BLOCK, count)
            for step in range(begin, end):
                _advance(
                    step,
                    lane_delay,
                    stick,
                    measured[step],
                    lift[step],
                    wind[0, step],
                    wind[1, step],
                    plant,
                    x,
                )
            if _mark_diverged(x, diverged, end, width) == width:
                break
        for j in range(width):
            out[first + j] = (
                x[_SUM + j] * STEP_S
                if diverged[j] == 0
                else _MAX_COST * (2.0 - diverged[j] / count)
            )


@njit
def _load(
    candidates: np.ndarray,
    delay: np.ndarray,
    first: int,
    width: int,
    start: float,
    adds: float,
    x: np.ndarray,
    lane_delay: np.ndarray,
) -> None:
    """Puts candidates at the start of the flight; unused lanes stay at rest."""
    x[:] = 0.0
    lane_delay[:] = 0
    for j in range(width):
        c = candidates[:, first + j]
        lane_delay[j] = delay[first + j]
        x[_K + j], x[_P + j], x[_I + j], x[_D + j] = c[0], c[1], c[2], c[3]
        x[_LEAN_X + j], x[_LEAN_Y + j] = c[5], c[6]
        x[_POSITION + j], x[_REFERENCE + j] = start, start * adds


@njit
def _mark_diverged(x: np.ndarray, diverged: np.ndarray, end: int, width: int) -> int:
    """Notes lanes that have diverged until the step `end`; returns their number."""
    number = 0
    for j in range(width):
        if diverged[j] == 0 and not abs(x[_POSITION + j]) < _DIVERGED:
            diverged[j] = end
        if diverged[j] > 0:  # any finite state will do
            number += 1
            x[_POSITION + j] = x[_RATE + j] = x[_ERROR + j] = x[_INTEGRAL + j] = 0.0
            x[_REFERENCE + j] = 0.0
    return number


@njit
def _advance(
    step: int,
    lane_delay: np.ndarray,
    stick: np.ndarray,
    measured: float,
    lift: float,
    wind_x: float,
    wind_y: float,
    plant: Plant,
    x: np.ndarray,
) -> None:
    """Goes on by one step and adds the squared error."""
    inertia, friction, weight, adds, low, high = plant
    step_by_inertia, slope = STEP_S / inertia, 0.0 if step == 0 else 1.0 / STEP_S
    for k in range(LANES):
        x[_STICK + k] = stick[PAD + step - lane_delay[k]]
    for k in range(LANES):
        miss = measured - x[_POSITION + k]
        x[_SUM + k] += miss * miss
        reference = min(high, max(low, adds * x[_REFERENCE + k] + x[_K + k] * x[_STICK + k]))
        x[_REFERENCE + k] = reference
        error = reference + x[_LEAN_X + k] * wind_x + x[_LEAN_Y + k] * wind_y - x[_POSITION + k]
        integral = x[_INTEGRAL + k] + error * STEP_S
        pid = (
            x[_P + k] * error + x[_I + k] * integral + x[_D + k] * (slope * (error - x[_ERROR + k]))
        )
        x[_ERROR + k], x[_INTEGRAL + k] = error, integral
        rate = x[_RATE + k]
        x[_RATE + k] = rate + step_by_inertia * ((pid + weight) * lift - weight - friction * rate)
        x[_POSITION + k] += STEP_S * rate


@njit
def _track(
    candidate: np.ndarray,
    delay: int,
    stick: np.ndarray,
    measured: np.ndarray,
    lift: np.ndarray,
    wind: np.ndarray,
    plant: Plant,
    out: np.ndarray,
) -> None:
    """Writes the position of one candidate at each step."""
    x, lane_delay = np.zeros(_SIZE), np.zeros(LANES, np.int64)
    _load(candidate, np.full(1, delay), 0, 1, measured[0], plant[3], x, lane_delay)
    for step in range(measured.shape[0]):
        out[step] = x[_POSITION]
        _advance(
            step,
            lane_delay,
            stick,
            measured[step],
            lift[step],
            wind[0, step],
            wind[1, step],
            plant,
            x,
        )


def bounds(axis: Axis, extended: bool) -> np.ndarray:
    """Returns the bounds (7, 2) of each row, lower and upper; a fixed row has the same twice.

    Args:
        axis: The axis.
        extended: Whether the link may be lane_delay and the vehicle lean against a wind.
    """
    lean = MAX_LEAN if extended and axis.leans else 0.0
    high = [MAX_GAIN] * 4 + [MAX_DELAY_S if extended else 0.0, lean, lean]
    low = [0.0] * 5 + [-lean, -lean]
    return np.stack([low, high], axis=1)
