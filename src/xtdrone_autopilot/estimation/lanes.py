"""The estimator in SIMD lanes: the covariances of a block of vehicles are processed together.

For each vehicle a step calls the functions of kernel.step_fleet() in the same order, so the results
are bit-equal. Operations on whole covariances that are due for most vehicles at once run in lanes:
prediction, magnetometer and barometer. For the others, a vehicle's covariance is copied out of its
block and back.
"""

import math
from typing import NamedTuple

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.earth.atmosphere import height_of_pressure
from xtdrone_dynamics.lane_numbers import LANES, lane_array

from .aid_sources import baro_is_continuous, check_baro, check_mag, fuse_baro, fuse_mag
from .filter import inject, make_symmetric, predict_covariance
from .fusion import baro_offset_weight, fuse_fix, fuse_others, has_fix, has_pressure, others_due
from .kernel import SYMMETRY_STEPS, add_noises, is_aligned, predict
from .output import predict_output, report
from .state import HISTORY_STEPS, NEVER, SIZE

# Rows of the inputs of a block: attitude, specific force or Earth's field, magnetometer reading and
# bias, variance and gate of a measurement. _INPUTS is their number.
_QUAT, _VECTOR, _MAG, _BIAS, _VARIANCE, _GATE = 0, 4, 7, 10, 13, 14
_INPUTS = 15


def blocks_of(n: int) -> np.ndarray:
    """Returns zero covariances of n vehicles in lanes: (B, SIZE, SIZE, LANES)."""
    return np.zeros((-(-n // LANES), SIZE, SIZE, LANES))


def new_scratch() -> tuple:
    """Returns the scratch arrays of step_block()."""
    return (
        np.zeros((6, SIZE)),
        np.zeros((4, SIZE, LANES)),
        np.zeros((_INPUTS, LANES)),
        np.zeros((LANES, 3)),
        np.zeros((SIZE, SIZE)),
    )


# Length of the step [s], its end [us], and number of steps so far.
STEP_TIME = np.dtype([("dt", "f8"), ("t_us", "i8"), ("count", "i8")])


class _Block(NamedTuple):
    """Records of the vehicles of a block, one per lane, and arrays to compute with."""

    tuning: np.ndarray  # (L,) records of EkfParameters, L <= LANES
    parameters: np.ndarray  # (L,) records of the flight stack's parameters
    sensors: np.ndarray  # (L,) of SENSORS
    estimates: np.ndarray  # (L,) of ESTIMATE
    filters: np.ndarray  # (L,) of FILTER
    history: np.ndarray  # (L, HISTORY_STEPS) of PAST_STATE
    cov: np.ndarray  # (SIZE, SIZE, LANES) covariances
    work: np.ndarray  # (6, SIZE) scratch of one vehicle; row 0 is the pending correction
    rows: np.ndarray  # (4, SIZE, LANES) scratch of all lanes; row 0 are the pending corrections
    inputs: np.ndarray  # (_INPUTS, LANES)
    dv_before: np.ndarray  # (LANES, 3) dv of FILTER before the step
    one_cov: np.ndarray  # (SIZE, SIZE) covariance of one vehicle


@njit
def step_block(block: int, arguments: tuple, scratch: tuple) -> None:
    """Steps one block of vehicles, as a task of SharedWork.

    Args:
        block: Index of the block.
        arguments: tuning, parameters, world, now, times, sensors, estimates, filters, history and
            covs, as in kernel.step_fleet(); but covs is blocks_of() and now is (1,) of STEP_TIME.
        scratch: From new_scratch().
    """
    tuning, parameters, world, now, times, sensors, estimates, filters, history, covs = arguments
    first, last = block * LANES, min((block + 1) * LANES, len(filters))
    vehicles = _Block(
        tuning[first:last],
        parameters[first:last],
        sensors[first:last],
        estimates[first:last],
        filters[first:last],
        history[first:last],
        covs[block],
        scratch[0],
        scratch[1],
        scratch[2],
        scratch[3],
        scratch[4],
    )
    _step_block(vehicles, world, now[0].dt, now[0].t_us, times, now[0].count)


@njit
def _step_block(
    block: _Block, world: tuple, dt: float, t_us: int, times: np.ndarray, count: int
) -> None:
    """Steps a block of vehicles; for the arguments see kernel.step_fleet()."""
    cov, rows = lane_array(block.cov), lane_array(block.rows)
    inputs = lane_array(block.inputs)
    _predict_block(block, world, dt, t_us)
    predict_covariance(inputs[_QUAT:], inputs[_VECTOR:], cov, dt)
    any_mag, any_baro = _add_noises_and_fixes(block, world, dt, t_us, times, count)
    if any_mag:
        _fuse_mags(block, t_us, cov, rows, inputs)
    if any_baro:
        _fuse_baros(block, world, t_us, cov, rows, inputs)
    _fuse_others_and_correct(block, world, dt, t_us, times, count)
    if block.inputs[0].any():
        make_symmetric(cov, inputs[0] != 0.0)
    for lane in range(len(block.filters)):
        if block.filters[lane].aligned_t != NEVER:
            ekf, estimate = block.filters[lane], block.estimates[lane]
            report(block.tuning[lane], ekf, estimate, block.cov[:, :, lane], t_us)


@njit
def _predict_block(block: _Block, world: tuple, dt: float, t_us: int) -> None:
    """Predicts the states of a block, and writes the inputs of predict_covariance()."""
    block.inputs[:] = 0.0  # a lane without an aligned vehicle keeps a zero covariance
    for lane in range(len(block.filters)):
        tuning, readings = block.tuning[lane], block.sensors[lane]
        estimate, ekf = block.estimates[lane], block.filters[lane]
        ekf.steps += 1
        if ekf.aligned_t == NEVER and not is_aligned(
            tuning, world[3], t_us, readings, estimate, ekf, block.cov[:, :, lane]
        ):
            continue
        force = predict(tuning, readings, estimate, ekf, block.dv_before[lane], t_us, dt)
        for k in range(4):
            block.inputs[_QUAT + k, lane] = estimate.quat[k]
        for k in range(3):
            block.inputs[_VECTOR + k, lane] = force[k]


@njit
def _add_noises_and_fixes(
    block: _Block, world: tuple, dt: float, t_us: int, times: np.ndarray, count: int
) -> tuple[bool, bool]:
    """Adds process noises and fuses GPS fixes.

    Returns:
        Whether any magnetometer, and any barometer, has a new reading.
    """
    any_mag, any_baro = False, False
    for lane in range(len(block.filters)):
        tuning, params, readings = block.tuning[lane], block.parameters[lane], block.sensors[lane]
        estimate, ekf, history = block.estimates[lane], block.filters[lane], block.history[lane]
        if ekf.aligned_t == NEVER:
            continue
        past_state, cov = history[count % HISTORY_STEPS], block.cov[:, :, lane]
        add_noises(tuning, params, readings, estimate, ekf, past_state, cov, dt)
        if has_fix(tuning, readings):
            _load_lane(block, lane)
            fuse_fix(
                tuning,
                params,
                world,
                t_us,
                times,
                count,
                readings,
                estimate,
                ekf,
                history,
                block.one_cov,
                block.work,
            )
            _store_lane(block, lane)
        any_mag |= readings.mag_new
        any_baro |= has_pressure(params, ekf, readings)
    return any_mag, any_baro


@njit
def _fuse_others_and_correct(
    block: _Block, world: tuple, dt: float, t_us: int, times: np.ndarray, count: int
) -> None:
    """Fuses the remaining readings, corrects the states and steps the output predictors.

    Row 0 of the inputs becomes 1 where make_symmetric() is due.
    """
    for lane in range(len(block.filters)):
        tuning, params, readings = block.tuning[lane], block.parameters[lane], block.sensors[lane]
        estimate, ekf = block.estimates[lane], block.filters[lane]
        block.inputs[0, lane] = 0.0
        if ekf.aligned_t == NEVER:
            continue
        if others_due(tuning, params, readings, estimate, ekf, t_us):
            _load_lane(block, lane)
            fuse_others(
                tuning,
                params,
                world,
                t_us,
                times,
                count,
                readings,
                estimate,
                ekf,
                block.history[lane],
                block.one_cov,
                block.work,
            )
            _store_lane(block, lane)
        inject(block.rows[0, :, lane], ekf, estimate)
        predict_output(params, ekf, estimate, block.dv_before[lane], dt)
        block.inputs[0, lane] = ekf.steps % SYMMETRY_STEPS == 0


@njit
def _fuse_mags(
    block: _Block, t_us: int, cov: np.ndarray, rows: np.ndarray, inputs: np.ndarray
) -> None:
    """Fuses the new magnetometer readings of a block; cov, rows and inputs are in lanes."""
    for lane in range(len(block.filters)):
        readings, tuning = block.sensors[lane], block.tuning[lane]
        estimate, ekf = block.estimates[lane], block.filters[lane]
        new = readings.mag_new and ekf.aligned_t != NEVER
        for k in range(4):
            block.inputs[_QUAT + k, lane] = estimate.quat[k]
        for k in range(3):
            block.inputs[_VECTOR + k, lane] = ekf.earth_field[k]
            block.inputs[_MAG + k, lane] = readings.mag[k] if new else math.nan
            block.inputs[_BIAS + k, lane] = estimate.field_bias[k]
        block.inputs[_VARIANCE, lane] = tuning.mag_noise**2
        block.inputs[_GATE, lane] = tuning.mag_gate
    fuse_mag(
        inputs[_QUAT:],
        inputs[_VECTOR:],
        inputs[_MAG:],
        inputs[_BIAS:],
        inputs[_VARIANCE],
        inputs[_GATE],
        cov,
        rows,
    )
    for lane in range(len(block.filters)):
        if block.sensors[lane].mag_new and block.filters[lane].aligned_t != NEVER:
            check_mag(
                block.tuning[lane],
                block.filters[lane],
                block.estimates[lane],
                block.cov[:, :, lane],
                block.rows[3, :, lane],
                t_us,
            )


@njit
def _fuse_baros(
    block: _Block, world: tuple, t_us: int, cov: np.ndarray, rows: np.ndarray, inputs: np.ndarray
) -> None:
    """Fuses the new barometer readings of a block; cov, rows and inputs are in lanes."""
    for lane in range(len(block.filters)):
        tuning, params = block.tuning[lane], block.parameters[lane]
        readings, ekf = block.sensors[lane], block.filters[lane]
        block.inputs[0, lane] = math.nan
        block.inputs[2, lane] = 0.0
        if has_pressure(params, ekf, readings):
            height = height_of_pressure(readings.baro_pressure) - world[2]
            if baro_is_continuous(tuning, ekf, block.cov[:, :, lane], height, t_us):
                block.inputs[0, lane] = height - ekf.pos[2] - ekf.baro_offset
                block.inputs[2, lane] = 1.0
        block.inputs[1, lane] = baro_offset_weight(tuning, params, ekf, t_us)
        block.inputs[_VARIANCE, lane] = tuning.baro_noise**2
        block.inputs[_GATE, lane] = tuning.baro_gate
    rows[3, 0] = fuse_baro(inputs[0], inputs[1], inputs[_VARIANCE], inputs[_GATE], cov, rows)
    for lane in range(len(block.filters)):
        if block.inputs[2, lane] != 0.0:
            check_baro(block.filters[lane], block.estimates[lane], block.rows[3, 0, lane], t_us)


@njit
def _load_lane(block: _Block, lane: int) -> None:
    """Copies covariance and pending correction of one lane out of its block."""
    for j in range(SIZE):
        block.work[0, j] = block.rows[0, j, lane]
        for k in range(SIZE):
            block.one_cov[j, k] = block.cov[j, k, lane]


@njit
def _store_lane(block: _Block, lane: int) -> None:
    """Copies covariance and pending correction of one lane back into its block."""
    for j in range(SIZE):
        block.rows[0, j, lane] = block.work[0, j]
        block.work[0, j] = 0.0
        for k in range(SIZE):
            block.cov[j, k, lane] = block.one_cov[j, k]
