"""Encoding of the flight log: the data messages of the topics that are due.

For each vehicle the kernel fills a snapshot, a record of numbers in PX4's frames and units. Then it
builds the messages by copying bytes of the snapshot, as a table says.
"""

import math
from typing import NamedTuple

import numpy as np

from xtdrone_dynamics.compiled import Record, njit

from ..state.estimator_flags import AT_REST
from ..state.ned import to_frd
from .fill import (
    fill_air,
    fill_estimate,
    fill_estimator_status,
    fill_gps,
    fill_local_origin,
    fill_set_points,
    fill_state,
    fill_sticks,
)

VEHICLES_PER_TASK = 8  # vehicles that one task of SharedWork logs
AS_DOUBLE, AS_SINGLE, AS_WHOLE = range(3)  # type in the file: float64, float32, integer


class MessageLayout(NamedTuple):
    """Layout of the data messages of T topics."""

    sizes: np.ndarray  # (T,) bytes of each topic's message
    templates: np.ndarray  # (T, S) uint8, the messages with all constant fields filled in
    starts: np.ndarray  # (T + 1,) first row of each topic in runs
    # (P, 4) copies: AS_DOUBLE, AS_SINGLE or AS_WHOLE; byte in the source, in the message; count
    runs: np.ndarray
    whole_columns: np.ndarray  # (W,) numbers of the snapshot that runs copies as AS_WHOLE


class SnapshotNumbers(NamedTuple):
    """The snapshots as K numbers of each type in the file, and as bytes."""

    doubles: np.ndarray  # (N, K) float64, a view of the snapshots
    singles: np.ndarray  # (N, K) float32, overwritten with converted values
    wholes: np.ndarray  # (N, K) int64, overwritten with converted values
    doubles_bytes: np.ndarray  # (N, 8 K) uint8, views of the above
    singles_bytes: np.ndarray  # (N, 4 K)
    wholes_bytes: np.ndarray  # (N, 8 K)


class LogArguments(NamedTuple):
    """Everything that append() reads and writes, for a fleet of N vehicles and T topics."""

    t_us: np.ndarray  # (1,) simulated time [us]
    epoch_us: np.ndarray  # (N,) start of each vehicle, and of its topics' periods [us]
    grid_us: int  # time step of the schedule; every period is a multiple of it [us]
    schedule: np.ndarray  # (C, T) bool, topics due at each time step; it repeats after C steps
    layout: MessageLayout
    on_change: np.ndarray  # (T,) bool, topics that are also logged when the state changes
    where: np.ndarray  # (T,) a topic needs this number of the snapshot not to be 0; -1 = always
    buffers: np.ndarray  # (N, B) uint8
    lengths: np.ndarray  # (N,) bytes in use of each buffer
    state_key: np.ndarray  # (N,) int64, last state of each vehicle, for on_change
    snapshots: np.ndarray  # (N,) of SNAPSHOT
    numbers: SnapshotNumbers
    origin: tuple[float, float, float]  # latitude, longitude [rad] and height [m]
    local_origins: np.ndarray  # (N, 3) the same of each vehicle's local origin
    moved: np.ndarray  # (N,) bool, those that are not the world's
    status: np.ndarray  # (N,) of VEHICLE_STATUS
    parameters: np.ndarray  # (N,) records of the parameters
    estimates: np.ndarray  # (N,) of ESTIMATE
    sensors: np.ndarray  # (N,) of SENSORS
    batteries: np.ndarray  # (N,) records of the batteries
    missions: np.ndarray  # (N,) records of the missions
    commands: np.ndarray  # (N, A) actuator commands


@njit
def _convert(
    numbers: np.ndarray, whole_columns: np.ndarray, singles: np.ndarray, wholes: np.ndarray
) -> None:
    """Converts numbers (K,) of a snapshot to float32, and whole_columns to int64.

    Numbers that are not finite become 0 as integers.
    """
    for k in range(numbers.shape[0]):
        singles[k] = numbers[k]
    for k in whole_columns:
        wholes[k] = np.int64(numbers[k]) if math.isfinite(numbers[k]) else np.int64(0)


@njit
def _state_key(vehicle: Record, estimate: Record, mission: Record) -> np.int64:
    """Packs the state whose changes are logged into one number."""
    return (
        np.int64(vehicle.mode)
        | np.int64(vehicle.armed) << 8
        | np.int64(vehicle.landed) << 9
        | np.int64(vehicle.failsafe) << 10
        | np.int64(vehicle.ready) << 11
        | np.int64(estimate.flags & ~AT_REST) << 12
        | np.int64(mission.seq) << 24
        | np.int64(mission.total) << 40
        | np.int64(mission.last_reached & 0x3F) << 56
        | np.int64(mission.finished) << 62
    )


@njit
def _fill(arguments: LogArguments, i: int) -> None:
    """Fills the snapshot of vehicle i."""
    snapshot, vehicle, readings = arguments.snapshots[i], arguments.status[i], arguments.sensors[i]
    params, mission, battery = (
        arguments.parameters[i],
        arguments.missions[i],
        arguments.batteries[i],
    )
    snapshot.t = arguments.t_us[0]
    fill_state(snapshot, vehicle, params, arguments.origin, arguments.commands[i])
    fill_estimate(snapshot, arguments.origin, arguments.estimates[i], vehicle.acc_filtered)
    fill_estimator_status(snapshot, arguments.estimates[i], params.EKF2_HGT_REF)
    snapshot.mission_seq, snapshot.mission_total = mission.seq, mission.total
    snapshot.mission_valid = mission.total > 0
    snapshot.mission_reached, snapshot.mission_finished = mission.last_reached, mission.finished
    fill_set_points(snapshot, vehicle)
    if arguments.moved[i]:
        fill_local_origin(snapshot, arguments.origin, arguments.local_origins[i])
    fill_sticks(snapshot, vehicle, params, arguments.t_us[0])
    to_frd(readings.gyro, snapshot.gyro)
    to_frd(readings.accel, snapshot.accel)
    to_frd(readings.mag, snapshot.mag, 1e4)
    fill_gps(snapshot, readings)
    snapshot.battery_voltage, snapshot.battery_current = battery.voltage, battery.current
    snapshot.battery_level, snapshot.battery_cells = battery.level, params.BAT1_N_CELLS


@njit
def _append_message(arguments: LogArguments, i: int, topic: int) -> None:
    """Appends the data message of a topic to the buffer of vehicle i, if it has room."""
    layout, numbers = arguments.layout, arguments.numbers
    at = arguments.lengths[i]
    if at + layout.sizes[topic] > arguments.buffers.shape[1]:
        return
    for k in range(layout.sizes[topic]):
        arguments.buffers[i, at + k] = layout.templates[topic, k]
    for row in range(layout.starts[topic], layout.starts[topic + 1]):
        kind, source, count = layout.runs[row, 0], layout.runs[row, 1], layout.runs[row, 3]
        to = at + layout.runs[row, 2]
        if kind == AS_SINGLE:
            for k in range(count):
                arguments.buffers[i, to + k] = numbers.singles_bytes[i, source + k]
        elif kind == AS_DOUBLE:
            for k in range(count):
                arguments.buffers[i, to + k] = numbers.doubles_bytes[i, source + k]
        else:
            for k in range(count):
                arguments.buffers[i, to + k] = numbers.wholes_bytes[i, source + k]
    arguments.lengths[i] = at + layout.sizes[topic]


@njit
def append(task: int, arguments: LogArguments, scratch: tuple) -> None:
    """Appends the data messages of the topics that are due to the buffers of some vehicles.

    Args:
        task: Selects the vehicles: VEHICLES_PER_TASK, starting from task * VEHICLES_PER_TASK.
        arguments: Arguments of the whole fleet.
        scratch: Not needed.
    """
    a = arguments
    first = task * VEHICLES_PER_TASK
    for i in range(first, min(first + VEHICLES_PER_TASK, len(a.status))):
        age_us = a.t_us[0] - a.epoch_us[i]
        if age_us % a.grid_us != 0:
            continue
        due = a.schedule[age_us // a.grid_us % a.schedule.shape[0]]
        snapshot, readings = a.snapshots[i], a.sensors[i]
        key = _state_key(a.status[i], a.estimates[i], a.missions[i])
        changed = key != a.state_key[i]
        a.state_key[i] = key
        any_due = changed
        for topic in range(len(due)):
            any_due |= due[topic]
        # At every step, because the barometer's last reading may be older than the topics.
        fill_air(snapshot, readings.baro_pressure, readings.baro_temperature)
        if not any_due:
            continue
        _fill(a, i)
        numbers = a.numbers
        _convert(numbers.doubles[i], a.layout.whole_columns, numbers.singles[i], numbers.wholes[i])
        for topic in range(len(due)):
            if not (due[topic] or (changed and a.on_change[topic])):
                continue
            if a.where[topic] >= 0 and numbers.doubles[i, a.where[topic]] == 0.0:
                continue
            _append_message(a, i, topic)
