"""Reads PX4's ULog, of this simulation, of PX4's or of hardware, for identification."""

from pathlib import Path

import numpy as np

from xtdrone_autopilot.ulog.reader import FlightLog
from xtdrone_autopilot.ulog.series import estimate, series
from xtdrone_core.frames import flu_frd, quat_enu_ned

from .record import Record, Signal, record_of

_OFTEN_S = 0.03  # speeds that are reported less often are left out [s]
_RPM = 2.0 * np.pi / 60.0
_LOWEST_M = 1.0  # above where it stood, from which on it counts as in the air [m]


def read(path: Path, rotors: int) -> Record:
    """Reads a flight log.

    Args:
        path: The .ulg file.
        rotors: Number of rotors of the vehicle.

    Raises:
        XtdroneError: It cannot be read, or lacks signals.
    """
    log = FlightLog(path)
    signals: dict[str, Signal] = {}
    notes: list[str] = []
    motion = estimate(log)
    if motion is not None:
        signals["pos"] = Signal(motion.t_s, motion.values[:, :3])
        signals["vel"] = Signal(motion.t_s, motion.values[:, 3:])
    quat = series(log, "vehicle_attitude", "q[1]", "q[2]", "q[3]", "q[0]")
    if quat is not None:
        signals["quat"] = Signal(quat.t_s, quat_enu_ned(quat.values))
    for name, topics in {
        "gyro": (("sensor_combined", "gyro_rad[{}]"), ("vehicle_angular_velocity", "xyz[{}]")),
        "accel": (
            ("sensor_combined", "accelerometer_m_s2[{}]"),
            ("vehicle_acceleration", "xyz[{}]"),
        ),
    }.items():
        found = [series(log, topic, *(form.format(k) for k in range(3))) for topic, form in topics]
        best = max(
            (one for one in found if one is not None), key=lambda s: len(s.t_s), default=None
        )
        if best is not None:
            signals[name] = Signal(best.t_s, flu_frd(best.values))
    drive = _drive(log, rotors, notes)
    signals.update(drive)
    begin = log.seconds_of(0)  # seconds of the log less those of its time stamps
    flying = [(a - begin, b - begin) for a, b in log.flying()]
    if motion is not None:
        flying = _high(signals["pos"], flying)
    return record_of(str(path), signals, flying, tuple(notes))


def _high(pos: Signal, flying: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Returns the parts of stretches that are well above where the vehicle stood at their begin."""
    out = []
    for begin, end in flying:
        inside = (pos.t_s >= begin) & (pos.t_s <= end) & np.isfinite(pos.values[:, 2])
        t_s, height = pos.t_s[inside], pos.values[inside, 2]
        high = np.flatnonzero(height > (height[0] if len(height) else 0.0) + _LOWEST_M)
        if len(high):
            out.append((float(t_s[high[0]]), float(t_s[high[-1]])))
    return out


def _drive(log: FlightLog, rotors: int, notes: list[str]) -> dict[str, Signal]:
    """Returns what drives the rotors: measured speeds, commands, or pulses turned into them."""
    rpm = series(log, "esc_status", *(f"esc[{k}].esc_rpm" for k in range(rotors)))
    # PX4's simulators report speeds a few times a second, which say less than the commands.
    if rpm is not None and np.ptp(rpm.values) > 0.0 and np.median(np.diff(rpm.t_s)) < _OFTEN_S:
        notes.append("speeds are those that the speed controllers report")
        return {"speed": Signal(rpm.t_s, rpm.values * _RPM)}
    motors = series(log, "actuator_motors", *(f"control[{k}]" for k in range(rotors)))
    if motors is not None:
        return {"command": Signal(motors.t_s, motors.values)}
    pulses = series(log, "actuator_outputs", *(f"output[{k}]" for k in range(rotors)))
    if pulses is None:
        return {}
    values = pulses.values
    if np.nanmax(values) > 2.0:
        low, high = (
            float(log.ulog.initial_parameters.get(name, default))
            for name, default in (("PWM_MAIN_MIN", 1000.0), ("PWM_MAIN_MAX", 2000.0))
        )
        notes.append(f"commands are pulses of {low:g} to {high:g} us, scaled to 0 to 1")
        values = np.clip((values - low) / (high - low), 0.0, 1.0)
    return {"command": Signal(pulses.t_s, values)}
