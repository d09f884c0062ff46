"""The estimator in lanes: the covariances of a block of vehicles in the vector unit at a time.

A step does for each vehicle what kernel.step_fleet() does, by the same functions in the same order,
so with the same bits. What works on whole covariances and is due for most vehicles at the same time
runs in lanes: the prediction, magnetometer and barometer. For the others a vehicle's covariance is
taken out of its block and put back.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.earth.atmosphere import height_of_pressure
from xtdrone_dynamics.lane_numbers import LANES, lane_array

from .aid_sources import baro_continues, fuse_baro, fuse_field, judge_baro, judge_field
from .filter import carry_covariance, inject, make_symmetric
from .kernel import (
    SYMMETRY_STEPS,
    aligned,
    begin,
    go_on,
    has_fix,
    has_others,
    has_pressure,
    offset_estimated,
    predict_output,
    report,
    take_fix,
    take_others,
)
from .state import HISTORY, NEVER, SIZE

# Rows of what a block's measurements are made of: attitude, force or the Earth's field, reading,
# bias of the magnetometer, variance, gate.
_QUAT, _VECTOR, _MAG, _BIAS, _VARIANCE, _GATE = 0, 4, 7, 10, 13, 14
_GIVEN = 15


def blocks_of(n: int) -> np.ndarray:
    """Covariances of n vehicles in lanes: (B, SIZE, SIZE, LANES)."""
    return np.zeros((-(-n // LANES), SIZE, SIZE, LANES))


def new_scratch() -> tuple:
    """What step_in_lanes() needs to compute."""
    return (
        np.zeros((6, SIZE)),
        np.zeros((4, SIZE, LANES)),
        np.zeros((_GIVEN, LANES)),
        np.zeros((LANES, 3)),
        np.zeros((SIZE, SIZE)),
    )


NOW = np.dtype([("dt", "f8"), ("t_us", "i8"), ("count", "i8")])  # [s], [us], steps


@njit
def step_block(block: int, arguments: tuple, scratch: tuple) -> None:
    """One step of a block of vehicles: a share of SharedWork.

    Args:
        block: Which one.
        arguments: tuning, parameters, world, now, times, sensors, estimates, filters, history and
            covs: as of kernel.step_fleet(), but covs is as of blocks_of(), and now (1,) of NOW.
        scratch: Of new_scratch().
    """
    (tuning, parameters, world, now, times, sensors, estimates, filters, history, covs) = arguments
    first, last = block * LANES, min((block + 1) * LANES, len(filters))
    _step_block(
        tuning[first:last],
        parameters[first:last],
        world,
        now[0].dt,
        now[0].t_us,
        times,
        now[0].count,
        sensors[first:last],
        estimates[first:last],
        filters[first:last],
        history[first:last],
        covs[block],
        scratch,
    )


@njit
def _step_block(
    tuning,
    parameters,
    world,
    dt,
    t_us,
    times,
    count,
    sensors,
    estimates,
    filters,
    history,
    block,
    scratch,
):
    """One step of a block of vehicles, whose covariances are block (SIZE, SIZE, LANES)."""
    work, rows, given, before, own = scratch
    cov, lanes, x = lane_array(block), lane_array(rows), lane_array(given)
    given[:] = 0.0  # of no vehicle, or of one without attitude: its covariance stays zero
    for v in range(len(filters)):
        f = filters[v]
        f.steps += 1
        if f.aligned_t == NEVER and not aligned(
            tuning[v], world[3], t_us, sensors[v], estimates[v], f, block[:, :, v]
        ):
            continue
        force = begin(tuning[v], sensors[v], estimates[v], f, before[v], t_us, dt)
        for k in range(4):
            given[_QUAT + k, v] = estimates[v].quat[k]
        for k in range(3):
            given[_VECTOR + k, v] = force[k]
    carry_covariance(x[_QUAT:], x[_VECTOR:], cov, dt)
    fields, pressures = False, False
    for v in range(len(filters)):
        s, e, f = sensors[v], estimates[v], filters[v]
        if f.aligned_t == NEVER:
            continue
        go_on(tuning[v], parameters[v], s, e, f, history[v, count % HISTORY], block[:, :, v], dt)
        if has_fix(tuning[v], s):
            _take_out(block, rows, v, own, work)
            take_fix(
                tuning[v], parameters[v], world, t_us, times, count, s, e, f, history[v], own, work
            )
            _put_back(block, rows, v, own, work)
        fields |= s.mag_new
        pressures |= has_pressure(parameters[v], f, s)
    if fields:
        _fuse_fields(tuning, t_us, sensors, estimates, filters, block, cov, rows, lanes, given, x)
    if pressures:
        _fuse_pressures(
            tuning,
            parameters,
            world,
            t_us,
            sensors,
            estimates,
            filters,
            block,
            cov,
            rows,
            lanes,
            given,
            x,
        )
    for v in range(len(filters)):
        s, e, f = sensors[v], estimates[v], filters[v]
        given[0, v] = 0.0
        if f.aligned_t == NEVER:
            continue
        if has_others(tuning[v], parameters[v], s, e, f, t_us):
            _take_out(block, rows, v, own, work)
            take_others(
                tuning[v], parameters[v], world, t_us, times, count, s, e, f, history[v], own, work
            )
            _put_back(block, rows, v, own, work)
        inject(rows[0, :, v], f, e)
        predict_output(parameters[v], f, e, before[v], dt)
        given[0, v] = f.steps % SYMMETRY_STEPS == 0
    if given[0].any():
        make_symmetric(cov, x[0] != 0.0)
    for v in range(len(filters)):
        if filters[v].aligned_t != NEVER:
            report(tuning[v], filters[v], estimates[v], block[:, :, v], t_us)


@njit
def _fuse_fields(tuning, t_us, sensors, estimates, filters, block, cov, rows, lanes, given, x):
    """The magnetometers of a block that have a new reading."""
    for v in range(len(filters)):
        s, e, f = sensors[v], estimates[v], filters[v]
        new = s.mag_new and f.aligned_t != NEVER
        for k in range(4):
            given[_QUAT + k, v] = e.quat[k]
        for k in range(3):
            given[_VECTOR + k, v] = f.earth_field[k]
            given[_MAG + k, v] = s.mag[k] if new else math.nan
            given[_BIAS + k, v] = e.field_bias[k]
        given[_VARIANCE, v] = tuning[v].mag_noise ** 2
        given[_GATE, v] = tuning[v].mag_gate
    fuse_field(x[_QUAT:], x[_VECTOR:], x[_MAG:], x[_BIAS:], x[_VARIANCE], x[_GATE], cov, lanes)
    for v in range(len(filters)):
        if sensors[v].mag_new and filters[v].aligned_t != NEVER:
            judge_field(tuning[v], filters[v], estimates[v], block[:, :, v], rows[3, :, v], t_us)


@njit
def _fuse_pressures(
    tuning, parameters, world, t_us, sensors, estimates, filters, block, cov, rows, lanes, given, x
):
    """The barometers of a block that have a new reading."""
    for v in range(len(filters)):
        s, f = sensors[v], filters[v]
        given[0, v] = math.nan
        given[2, v] = 0.0
        if has_pressure(parameters[v], f, s):
            height = height_of_pressure(s.baro_pressure) - world[2]
            if baro_continues(tuning[v], f, block[:, :, v], height, t_us):
                given[0, v] = height - f.pos[2] - f.baro_offset
                given[2, v] = 1.0
        given[1, v] = offset_estimated(tuning[v], parameters[v], f, t_us)
        given[_VARIANCE, v] = tuning[v].baro_noise ** 2
        given[_GATE, v] = tuning[v].baro_gate
    lanes[3, 0] = fuse_baro(x[0], x[1], x[_VARIANCE], x[_GATE], cov, lanes)
    for v in range(len(filters)):
        if given[2, v] != 0.0:
            judge_baro(filters[v], estimates[v], rows[3, 0, v], t_us)


@njit
def _take_out(block, rows, v, own, work):
    """Covariance and pending correction of one vehicle, out of its block."""
    for j in range(SIZE):
        work[0, j] = rows[0, j, v]
        for k in range(SIZE):
            own[j, k] = block[j, k, v]


@njit
def _put_back(block, rows, v, own, work):
    """Covariance and pending correction of one vehicle, back into its block."""
    for j in range(SIZE):
        rows[0, j, v] = work[0, j]
        work[0, j] = 0.0
        for k in range(SIZE):
            block[j, k, v] = own[j, k]
