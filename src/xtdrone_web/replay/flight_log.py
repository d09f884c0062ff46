"""ULog to the records of a vehicle, and a recording of a ULog alone."""

from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_autopilot.ulog.reader import NAV_STATES, FlightLog
from xtdrone_autopilot.ulog.series import Series, estimate, of_ned, series, set_point
from xtdrone_core import Vehicle, VehicleSpec, frames
from xtdrone_core.errors import one_line
from xtdrone_sim.world import World

from ..errors import WebError
from ..frame import VEHICLE
from .recording import NO_MODE, Recording, empty, grid, hold, interpolate, interpolate_attitude

_WXYZ = ("q[1]", "q[2]", "q[3]", "q[0]")
_RATES = ("xyz[0]", "xyz[1]", "xyz[2]")
_STATUS = ("nav_state", "arming_state", "pre_flight_checks_pass")
_ARMED = 2  # vehicle_status.arming_state
_ROTORS = VEHICLE["actuator"].shape[0]
MODES = {**NAV_STATES, NO_MODE: "no flight log"}
_POSITION = "vehicle_local_position"
_MAX_TEXTS = 2000  # texts of a log that the page shows


def fill(
    records: np.ndarray, t_s: np.ndarray, log: FlightLog, model: Vehicle, offset: np.ndarray
) -> None:
    """Puts all but the truth into a vehicle's records.

    Args:
        records: (K,) of frame.VEHICLE, at t_s.
        t_s: (K,) times of the log [s].
        log: The flight log.
        model: The Vehicle, whose actuators' commands these are.
        offset: (3,) where the log's local origin is in the world [m].
    """
    _estimates(records, t_s, log, offset)
    _battery(records, t_s, log)
    _status(records, t_s, log)
    commands = series(log, "actuator_motors", *(f"control[{k}]" for k in range(_ROTORS)))
    if commands is not None:
        rows, values = hold(t_s, commands.t_s, np.nan_to_num(commands.values))
        records["actuator"][rows] = _speeds(values, model)
    wind = series(log, "wind", "windspeed_east", "windspeed_north")
    if wind is not None:
        rows, values = hold(t_s, wind.t_s, np.nan_to_num(wind.values))
        records["wind"][rows, :2] = values
    target = set_point(log)
    if target is not None:
        rows, values = hold(t_s, target.t_s, target.values)
        armed = records["armed"][rows, None] > 0
        records["set_pos"][rows] = np.where(armed, values[:, :3] + offset, np.nan)
        records["set_vel"][rows] = np.where(armed, values[:, 3:], np.nan)


def _speeds(commands: np.ndarray, model: Vehicle) -> np.ndarray:
    """Returns speeds [rad/s] and angles of the actuators that motors' commands (K, 8) ask for."""
    out = np.zeros_like(commands)
    motors = [(k, a) for k, a in enumerate(model.actuators) if a.kind in ("rotor", "propeller")]
    for motor, (k, actuator) in enumerate(motors):
        if k < _ROTORS and motor < _ROTORS:
            out[:, k] = (
                actuator.zero_position_armed * (commands[:, motor] != 0.0)
                + actuator.input_scaling * commands[:, motor]
            )
    return out


def _estimates(records: np.ndarray, t_s: np.ndarray, log: FlightLog, offset: np.ndarray) -> None:
    position, attitude = estimate(log), attitudes(log, "vehicle_attitude")
    if position is not None:
        values = interpolate(t_s, position.t_s, position.values)
        rows, valid = hold(t_s, position.t_s, np.isfinite(position.values))
        values[: rows.start] = np.nan
        values[rows] = np.where(valid, values[rows], np.nan)
        records["est_pos"], records["est_vel"] = values[:, :3] + offset, values[:, 3:]
    if attitude is not None:
        records["est_quat"] = interpolate_attitude(t_s, attitude.t_s, attitude.values)


def attitudes(log: FlightLog, topic: str) -> Series | None:
    """Returns attitudes (K, 4) of a topic, xyzw, body FLU to ENU; None if it is not logged."""
    attitude = series(log, topic, *_WXYZ)
    if attitude is None:
        return None
    known = np.isfinite(attitude.values).all(axis=1)
    return (
        Series(attitude.t_s[known], frames.quat_enu_ned(attitude.values[known]))
        if known.any()
        else None
    )


def _battery(records: np.ndarray, t_s: np.ndarray, log: FlightLog) -> None:
    for name, topic, source in (
        ("voltage", "battery_status", "voltage_v"),
        ("current", "battery_status", "current_a"),
        ("battery", "battery_status", "remaining"),
        ("range", "distance_sensor", "current_distance"),
    ):
        readings = series(log, topic, source)
        if readings is not None:
            rows, values = hold(t_s, readings.t_s, readings.values)
            # PX4 writes -1 for what it does not know.
            records[name][rows] = np.where(values[:, 0] < 0.0, np.nan, values[:, 0])


def _status(records: np.ndarray, t_s: np.ndarray, log: FlightLog) -> None:
    status = series(log, "vehicle_status", *_STATUS)
    if status is not None:
        rows, values = hold(t_s, status.t_s, status.values)
        records["armed"][: rows.start] = 0
        records["mode"][rows], records["ready"][rows] = values[:, 0], values[:, 2] > 0
        records["armed"][rows] = values[:, 1] == _ARMED
    landed = series(log, "vehicle_land_detected", "landed")
    if landed is not None:
        rows, values = hold(t_s, landed.t_s, landed.values)
        records["landed"][rows] = values[:, 0] > 0


def texts(log: FlightLog, who: str) -> list[dict[str, Any]]:
    """Messages to the ground station as events of the page, with the log's times."""
    start_us = log.ulog.start_timestamp
    return [
        {
            "t": max(message.t_us, start_us) * 1e-6,
            "level": message.severity,
            "who": who,
            "text": one_line(message.text),
        }
        for message in log.messages()[:_MAX_TEXTS]
    ]


def _changes(log: FlightLog, who: str) -> list[dict[str, Any]]:
    """Returns modes, arming and take-offs of a log that has no run's events beside it."""

    def event(t: float, text: str) -> dict[str, Any]:
        return {"t": t - log.seconds_of(0), "level": 6, "who": who, "text": text}

    events = [event(begin, f"mode {name}") for begin, _, name in log.modes()]
    for begin, end in log.armed():
        events.append(event(begin, "armed"))
        if end < log.seconds:
            events.append(event(end, "disarmed"))
    return events


def read(path: Path, world: World, spec: VehicleSpec, model: Vehicle) -> Recording:
    """Returns a ULog, of this simulation or of real PX4, as a recording of one vehicle.

    Positions are PX4's ground truth where the simulator gave one, else estimates.

    Raises:
        XtdroneError: It is no ULog, or has no position.
    """
    log = FlightLog(path)
    estimated, true = estimate(log), of_ned(log, "vehicle_local_position_groundtruth")
    main = estimated if true is None else true
    if main is None or not np.isfinite(main.values[:, :3]).all(axis=1).any():
        if _POSITION in log.topics():
            raise WebError(
                f"'{path}' has no position: its {_POSITION} is never valid, as without GPS indoors"
            )
        raise WebError(f"'{path}' has no position: give a log that has the topic {_POSITION}")
    first = main if estimated is None else estimated
    t_s = grid(float(min(first.t_s[0], main.t_s[0])), float(max(first.t_s[-1], main.t_s[-1])), 1)
    table = empty(len(t_s), 1)
    records = table[:, 0]
    fill(records, t_s, log, model, np.zeros(3))
    values = interpolate(t_s, main.t_s, main.values)
    records["pos"], records["vel"] = values[:, :3], values[:, 3:]
    attitude = attitudes(
        log, "vehicle_attitude_groundtruth" if true is not None else "vehicle_attitude"
    )
    if attitude is not None:
        records["quat"] = interpolate_attitude(t_s, attitude.t_s, attitude.values)
    rates = series(log, "vehicle_angular_velocity", *_RATES)
    if rates is not None:
        records["rates"] = frames.flu_frd(interpolate(t_s, rates.t_s, rates.values))
    events = sorted(
        [*texts(log, spec.name), *_changes(log, spec.name)], key=lambda event: event["t"]
    )
    return Recording(
        path.name, "ULog", world, [spec], [model], t_s, table, events, true is not None
    )
