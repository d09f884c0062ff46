"""A flight as identification needs it: commands and motion on one grid of time.

Frames are those of the workspace: world ENU, body FLU, quaternions xyzw.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from xtdrone_core.errors import shown
from xtdrone_core.runs.interpolation import attitude
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import multiply_array, rotate_inverse_array

from .errors import IdentificationError

MIN_S = 5.0  # shortest stretch in the air from which anything can be identified [s]
STEPS_S = (0.004, 0.02)  # the grid's step is that of the fastest signal, within these [s]
_STEADY = 1e-3  # relative change below which commands count as constant
_HOLE_S = 0.25  # a signal that is missing for longer splits the record [s]

# Signals by name: number of columns. Of `command` and `speed` there is one for each rotor.
MOTION = {"pos": 3, "vel": 3, "quat": 4, "gyro": 3, "accel": 3}


@dataclass(frozen=True)
class Signal:
    """Samples of one quantity.

    Attributes:
        t_s: (K,) rising [s].
        values: (K, M).
    """

    t_s: np.ndarray
    values: np.ndarray

    @property
    def step_s(self) -> float:
        """Median time between two samples [s]."""
        return float(np.median(np.diff(self.t_s))) if len(self.t_s) > 1 else math.inf


@dataclass(frozen=True)
class Record:
    """K samples of a flight at equal steps; only what was in the air.

    Attributes:
        name: Of the log.
        step_s: Length of a step [s].
        t_s: (K,) time of the log [s]; it jumps where a stretch begins.
        begins: (S,) index of the first sample of each stretch without gaps.
        inputs: (K, R) commands 0 to 1, or speeds [rad/s].
        speeds: Whether the inputs are measured speeds.
        pos, vel, quat: (K, 3), (K, 3), (K, 4) as the log has them [m], [m/s].
        gyro: (K, 3) body rates [rad/s].
        accel: (K, 3) specific force [m/s^2]; None where the log has none.
        periods_s: Median period of each signal in the log [s].
        remarks: What was taken from elsewhere or converted, a line each.
    """

    name: str
    step_s: float
    t_s: np.ndarray
    begins: np.ndarray
    inputs: np.ndarray
    speeds: bool
    pos: np.ndarray
    vel: np.ndarray
    quat: np.ndarray
    gyro: np.ndarray
    accel: np.ndarray | None
    periods_s: Mapping[str, float] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Time in the air [s]."""
        return len(self.t_s) * self.step_s

    def part(self, begin: int, end: int) -> "Record":
        """Returns the samples from begin to before end."""
        inside = self.begins[(self.begins > begin) & (self.begins < end)] - begin
        cut = {
            name: getattr(self, name)[begin:end]
            for name in ("t_s", "inputs", "pos", "vel", "quat", "gyro")
        }
        accel = None if self.accel is None else self.accel[begin:end]
        return replace(self, begins=np.concatenate([[0], inside]), accel=accel, **cut)

    def split(self, held_out: float) -> tuple["Record", "Record"]:
        """Returns the record without its last fraction, and that."""
        at = round(len(self.t_s) * (1.0 - held_out))
        return self.part(0, at), self.part(at, len(self.t_s))


def joined(records: list[Record]) -> Record:
    """Returns several records as one of several stretches.

    Raises:
        IdentificationError: One has measured speeds, another commands, or only some have an
            accelerometer.
    """
    first, *others = records
    if not others:
        return first
    for other in others:
        if (other.speeds, other.accel is None) != (first.speeds, first.accel is None):
            raise IdentificationError(
                f"'{first.name}' and '{other.name}' have different signals: identify from each"
            )
    step = max(record.step_s for record in records)
    records = [record if record.step_s == step else _thinned(record, step) for record in records]
    lengths = np.cumsum([0, *(len(record.t_s) for record in records)])
    every = {
        name: np.concatenate([getattr(record, name) for record in records])
        for name in ("t_s", "inputs", "pos", "vel", "quat", "gyro")
    }
    return replace(
        first,
        step_s=step,
        name=", ".join(record.name for record in records),
        begins=np.concatenate([record.begins + n for record, n in zip(records, lengths)]),
        accel=None if first.accel is None else np.concatenate([r.accel for r in records]),
        remarks=tuple(dict.fromkeys(line for record in records for line in record.remarks)),
        **every,
    )


def _thinned(record: Record, step_s: float) -> Record:
    every = max(1, round(step_s / record.step_s))
    names = ("t_s", "inputs", "pos", "vel", "quat", "gyro")
    return replace(
        record,
        step_s=step_s,
        begins=record.begins // every,
        accel=None if record.accel is None else record.accel[::every],
        **{name: getattr(record, name)[::every] for name in names},
    )


def record_of(
    name: str,
    signals: Mapping[str, Signal],
    flying: list[tuple[float, float]],
    remarks: tuple[str, ...] = (),
) -> Record:
    """Puts the signals of a log on one grid.

    Args:
        name: Of the log, for messages.
        signals: By the names of MOTION, and `command` or `speed`; only `accel`, `gyro`, `vel`
            may be missing.
        flying: (begin, end) of each stretch in the air [s].
        remarks: What was converted.

    Raises:
        IdentificationError: A signal is missing, constant, in another unit, or there is too little
            flight.
    """
    signals = {key: _clean(name, key, signal) for key, signal in signals.items()}
    for key in ("pos", "quat"):
        if key not in signals:
            raise IdentificationError(f"'{name}' has no {_WORDS[key]}, which identification needs")
    drive = "speed" if "speed" in signals else "command"
    if drive not in signals:
        raise IdentificationError(
            f"'{name}' has neither commands nor speeds of the motors: log actuator_motors, or "
            "give columns command_0, command_1, ... or speed_0, ..."
        )
    _check_drive(name, drive, signals[drive])
    notes = list(remarks)
    if "vel" not in signals:
        signals["vel"] = _derivative(signals["pos"])
        notes.append("velocity is the derivative of position")
    fastest = min(signals[key].step_s for key in ("gyro", "accel", "quat") if key in signals)
    step = min(max(round(fastest, 4), STEPS_S[0]), STEPS_S[1])
    pieces = [_grid(signals, begin, end, step) for begin, end in flying]
    pieces = [part for whole in pieces for part in _without_holes(signals, whole, step)]
    t_s = np.concatenate([np.zeros(0), *pieces])
    if len(t_s) * step < MIN_S:
        raise IdentificationError(
            f"'{name}' has {len(t_s) * step:.1f} s in the air with all signals: at least "
            f"{MIN_S:g} s are needed, and a minute of motion on all axes is better"
        )
    begins = np.cumsum([0, *(len(piece) for piece in pieces[:-1])])
    values = {key: _at(key, signal, t_s) for key, signal in signals.items()}
    if "gyro" not in values:
        values["gyro"] = np.concatenate(
            [_rates(values["quat"][k], step) for k in _slices(begins, len(t_s))]
        )
        notes.append("body rates are the derivative of attitude")
    else:
        _check_rates(name, values["gyro"], values["quat"], begins, step)
    accel = values.get("accel")
    if accel is not None:
        _check_accel(name, accel)
    return Record(
        name=name,
        step_s=step,
        t_s=t_s,
        begins=begins,
        inputs=values[drive],
        speeds=drive == "speed",
        pos=values["pos"],
        vel=values["vel"],
        quat=values["quat"],
        gyro=values["gyro"],
        accel=accel,
        periods_s={key: signal.step_s for key, signal in signals.items()},
        remarks=tuple(notes),
    )


_WORDS = {
    "pos": "position",
    "vel": "velocity",
    "quat": "attitude",
    "gyro": "body rates",
    "accel": "accelerations",
    "command": "motor commands",
    "speed": "motor speeds",
}


def _clean(name: str, key: str, signal: Signal) -> Signal:
    """Returns the samples that are finite, in the order of time."""
    t_s, values = np.asarray(signal.t_s, dtype=float), np.asarray(signal.values, dtype=float)
    known = np.isfinite(t_s) & np.isfinite(values).all(axis=1)
    t_s, values = t_s[known], values[known]
    t_s, first = np.unique(t_s, return_index=True)
    if len(t_s) < 2:
        raise IdentificationError(f"'{name}' has no finite {_WORDS[key]}: it is empty there")
    values = values[first]
    if key == "quat":
        norms = np.linalg.norm(values, axis=1)
        if not (np.abs(norms - 1.0) < 0.05).all():
            raise IdentificationError(
                f"'{name}': a quaternion has the norm {norms[np.argmax(np.abs(norms - 1))]:.3g}, "
                "and attitudes have 1: give qx, qy, qz, qw"
            )
        values = values / norms[:, None]
    return Signal(t_s, values)


def _check_drive(name: str, drive: str, signal: Signal) -> None:
    values = signal.values
    if np.ptp(values, axis=0).max() <= _STEADY * max(np.abs(values).max(), 1e-9):
        raise IdentificationError(
            f"'{name}': the {_WORDS[drive]} are constant, {shown(values[0].round(4).tolist())}: "
            "nothing can be identified from a vehicle that nobody steers"
        )
    largest = float(values.flat[np.abs(values).argmax()])
    if drive == "command" and abs(largest) > 1.01:
        raise IdentificationError(
            f"'{name}': a motor command is {largest:.4g}, and commands are 0 to 1: speeds are "
            "given as speed_0 [rad/s] or rpm_0 [1/min], pulses as pwm_0 [us]"
        )


def _check_rates(
    name: str, gyro: np.ndarray, quat: np.ndarray, begins: np.ndarray, step_s: float
) -> None:
    """Compares the gyroscope with the attitude, which shows its unit and its axes."""
    turned = np.concatenate([_rates(quat[k], step_s) for k in _slices(begins, len(quat))])
    width = max(1, round(0.1 / step_s))
    kernel = np.ones(width) / width
    for axis, letter in enumerate("xyz"):
        a = np.convolve(turned[:, axis], kernel, "same")
        b = np.convolve(gyro[:, axis] - gyro[:, axis].mean(), kernel, "same")
        if a.std() < 0.05:  # too little motion to tell
            continue
        slope = float((a - a.mean()) @ b / ((a - a.mean()) @ (a - a.mean())))
        if 40.0 < slope < 75.0:
            raise IdentificationError(
                f"'{name}': body rates are {slope:.0f} times those of the attitude: they seem to "
                "be in degrees/s, give rad/s"
            )
        if not 0.5 < slope < 2.0:
            raise IdentificationError(
                f"'{name}': body rate {letter} is {slope:.2f} times that of the attitude: give "
                "rad/s about forward, left, up, and attitudes of that body in east, north, up"
            )


def _check_accel(name: str, accel: np.ndarray) -> None:
    typical = float(np.median(np.linalg.norm(accel, axis=1)))
    if 0.5 < typical < 2.0:
        raise IdentificationError(
            f"'{name}': the accelerometer reads {typical:.2f} in flight: it seems to be in g, give "
            "m/s^2"
        )
    if not 0.4 * GRAVITY < typical < 3.0 * GRAVITY:
        raise IdentificationError(
            f"'{name}': the accelerometer reads {typical:.3g} m/s^2 in flight, where gravity is "
            f"{GRAVITY:.1f}: give the specific force in m/s^2, not the acceleration without gravity"
        )
    if np.median(accel[:, 2]) < 0.0:
        raise IdentificationError(
            f"'{name}': the accelerometer reads {np.median(accel[:, 2]):.1f} m/s^2 upwards in "
            "flight: give the axes forward, left, up"
        )


def _derivative(signal: Signal) -> Signal:
    return Signal(signal.t_s, np.gradient(signal.values, signal.t_s, axis=0))


def _rates(quat: np.ndarray, step_s: float) -> np.ndarray:
    """Returns body rates (K, 3) of attitudes (K, 4), by central differences."""
    if len(quat) < 3:
        return np.zeros((len(quat), 3))
    back, ahead = quat[:-2] * [-1.0, -1.0, -1.0, 1.0], quat[2:]
    turned = multiply_array(back, ahead)
    turned *= np.where(turned[:, 3:] < 0.0, -1.0, 1.0)
    inner = turned[:, :3] / step_s
    return np.concatenate([inner[:1], inner, inner[-1:]])


def turning(record: Record) -> np.ndarray:
    """Returns body rates (K, 3) by which the attitude of a record turns [rad/s]."""
    pieces = _slices(record.begins, len(record.t_s))
    return np.concatenate([_rates(record.quat[k], record.step_s) for k in pieces])


def moving(record: Record) -> np.ndarray:
    """Returns the specific force (K, 3) by which the velocity changes, axes of the body [m/s^2]."""
    pieces = _slices(record.begins, len(record.t_s))
    gained = [
        np.gradient(record.vel[k], record.step_s, axis=0) if k.stop - k.start > 1 else record.vel[k]
        for k in pieces
    ]
    return rotate_inverse_array(record.quat, np.concatenate(gained) + [0.0, 0.0, GRAVITY])


def _grid(signals: Mapping[str, Signal], begin: float, end: float, step_s: float) -> np.ndarray:
    begin = max(begin, *(float(signal.t_s[0]) for signal in signals.values()))
    end = min(end, *(float(signal.t_s[-1]) for signal in signals.values()))
    # On the gyroscope's own samples where they have that step, so that none is interpolated.
    base = signals.get("gyro", signals["quat"]).t_s
    first = base[min(int(np.searchsorted(base, begin - 1e-9)), len(base) - 1)]
    return np.arange(first, max(end, first) + 1e-9, step_s)


def _without_holes(
    signals: Mapping[str, Signal], t_s: np.ndarray, step_s: float
) -> list[np.ndarray]:
    """Splits a grid where a signal is missing; pieces shorter than a second are left out."""
    good = np.ones(len(t_s), dtype=bool)
    for signal in signals.values():
        steps = np.diff(signal.t_s)
        limit = max(_HOLE_S, 3.0 * signal.step_s)
        for k in np.flatnonzero(steps > limit):
            good &= (t_s <= signal.t_s[k]) | (t_s >= signal.t_s[k + 1])
    edges = np.flatnonzero(np.diff(np.concatenate([[0], good.astype(int), [0]])))
    pieces = [t_s[a:b] for a, b in zip(edges[::2], edges[1::2])]
    return [piece for piece in pieces if len(piece) * step_s >= 1.0]


def _slices(begins: np.ndarray, count: int) -> list[slice]:
    return [slice(a, b) for a, b in zip(begins, [*begins[1:], count])]


def _at(key: str, signal: Signal, t_s: np.ndarray) -> np.ndarray:
    """Returns a signal at other times: interpolated."""
    after = np.clip(np.searchsorted(signal.t_s, t_s), 1, len(signal.t_s) - 1)
    t0, t1 = signal.t_s[after - 1], signal.t_s[after]
    fraction = np.clip((t_s - t0) / (t1 - t0), 0.0, 1.0)[:, None]
    a, b = signal.values[after - 1], signal.values[after]
    return attitude(a, b, fraction) if key == "quat" else a + fraction * (b - a)
