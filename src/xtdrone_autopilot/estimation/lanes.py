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
from .state import NEVER, SIZE, Step, VehicleEkf

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
    step = Step(
        (world[0], world[1], world[2]), world[3], now[0].dt, now[0].t_us, times, now[0].count
    )
    _step_block(vehicles, step)


@njit(inline="always")  # because Numba cannot return records in a tuple
def _ekf(block: _Block, lane: int, cov: np.ndarray) -> VehicleEkf:
    """Returns the filter of one lane, with a covariance (SIZE, SIZE)."""
    return VehicleEkf(
        block.tuning[lane],
        block.parameters[lane],
        block.sensors[lane],
        block.estimates[lane],
        block.filters[lane],
        block.history[lane],
        cov,
        block.work,
    )


@njit
def _step_block(block: _Block, step: Step) -> None:
    """Steps a block of vehicles."""
    cov, rows = lane_array(block.cov), lane_array(block.rows)
    inputs = lane_array(block.inputs)
    _predict_block(block, step)
    predict_covariance(inputs[_QUAT:], inputs[_VECTOR:], cov, step.dt)
    any_mag, any_baro = _add_noises_and_fixes(block, step)
    if any_mag:
        _fuse_mags(block, step, cov, rows, inputs)
    if any_baro:
        _fuse_baros(block, step, cov, rows, inputs)
    _fuse_others_and_correct(block, step)
    if block.inputs[0].any():
        make_symmetric(cov, inputs[0] != 0.0)
    for lane in range(len(block.filters)):
        ekf = _ekf(block, lane, block.cov[:, :, lane])
        if ekf.state.aligned_t != NEVER:
            report(ekf, step.t_us)


@njit
def _predict_block(block: _Block, step: Step) -> None:
    """Predicts the states of a block, and writes the inputs of predict_covariance()."""
    block.inputs[:] = 0.0  # a lane without an aligned vehicle keeps a zero covariance
    for lane in range(len(block.filters)):
        ekf = _ekf(block, lane, block.cov[:, :, lane])
        ekf.state.steps += 1
        if ekf.state.aligned_t == NEVER and not is_aligned(ekf, step):
            continue
        force = predict(ekf, block.dv_before[lane], step)
        for k in range(4):
            block.inputs[_QUAT + k, lane] = ekf.estimate.quat[k]
        for k in range(3):
            block.inputs[_VECTOR + k, lane] = force[k]


@njit
def _add_noises_and_fixes(block: _Block, step: Step) -> tuple[bool, bool]:
    """Adds process noises and fuses GPS fixes.

    Returns:
        Whether any magnetometer, and any barometer, has a new reading.
    """
    any_mag, any_baro = False, False
    for lane in range(len(block.filters)):
        ekf = _ekf(block, lane, block.cov[:, :, lane])
        if ekf.state.aligned_t == NEVER:
            continue
        add_noises(ekf, step)
        if has_fix(ekf):
            _load_lane(block, lane)
            fuse_fix(_ekf(block, lane, block.one_cov), step)
            _store_lane(block, lane)
        any_mag |= ekf.readings.mag_new
        any_baro |= has_pressure(ekf)
    return any_mag, any_baro


@njit
def _fuse_others_and_correct(block: _Block, step: Step) -> None:
    """Fuses the remaining readings, corrects the states and steps the output predictors.

    Row 0 of the inputs becomes 1 where make_symmetric() is due.
    """
    for lane in range(len(block.filters)):
        ekf = _ekf(block, lane, block.one_cov)
        block.inputs[0, lane] = 0.0
        if ekf.state.aligned_t == NEVER:
            continue
        if others_due(ekf, step.t_us):
            _load_lane(block, lane)
            fuse_others(ekf, step)
            _store_lane(block, lane)
        inject(ekf, block.rows[0, :, lane])
        predict_output(ekf, block.dv_before[lane], step.dt)
        block.inputs[0, lane] = ekf.state.steps % SYMMETRY_STEPS == 0


@njit
def _fuse_mags(
    block: _Block, step: Step, cov: np.ndarray, rows: np.ndarray, inputs: np.ndarray
) -> None:
    """Fuses the new magnetometer readings of a block; cov, rows and inputs are in lanes."""
    for lane in range(len(block.filters)):
        readings, tuning = block.sensors[lane], block.tuning[lane]
        estimate, state = block.estimates[lane], block.filters[lane]
        new = readings.mag_new and state.aligned_t != NEVER
        for k in range(4):
            block.inputs[_QUAT + k, lane] = estimate.quat[k]
        for k in range(3):
            block.inputs[_VECTOR + k, lane] = state.earth_field[k]
            block.inputs[_MAG + k, lane] = readings.mag[k] if new else math.nan
            block.inputs[_BIAS + k, lane] = estimate.field_bias[k]
        block.inputs[_VARIANCE, lane] = tuning.mag_noise**2
        block.inputs[_GATE, lane] = tuning.mag_gate
    field, mag, bias = inputs[_VECTOR:], inputs[_MAG:], inputs[_BIAS:]
    variance, gate = inputs[_VARIANCE], inputs[_GATE]
    fuse_mag(inputs[_QUAT:], field, mag, bias, variance, gate, cov, rows)
    for lane in range(len(block.filters)):
        ekf = _ekf(block, lane, block.cov[:, :, lane])
        if ekf.readings.mag_new and ekf.state.aligned_t != NEVER:
            check_mag(ekf, block.rows[3, :, lane], step.t_us)


@njit
def _fuse_baros(
    block: _Block, step: Step, cov: np.ndarray, rows: np.ndarray, inputs: np.ndarray
) -> None:
    """Fuses the new barometer readings of a block; cov, rows and inputs are in lanes."""
    for lane in range(len(block.filters)):
        ekf = _ekf(block, lane, block.cov[:, :, lane])
        state = ekf.state
        block.inputs[0, lane] = math.nan
        block.inputs[2, lane] = 0.0
        if has_pressure(ekf):
            height = height_of_pressure(ekf.readings.baro_pressure) - step.origin[2]
            if baro_is_continuous(ekf, height, step.t_us):
                block.inputs[0, lane] = height - state.pos[2] - state.baro_offset
                block.inputs[2, lane] = 1.0
        block.inputs[1, lane] = baro_offset_weight(ekf, step.t_us)
        block.inputs[_VARIANCE, lane] = ekf.tuning.baro_noise**2
        block.inputs[_GATE, lane] = ekf.tuning.baro_gate
    rows[3, 0] = fuse_baro(inputs[0], inputs[1], inputs[_VARIANCE], inputs[_GATE], cov, rows)
    for lane in range(len(block.filters)):
        if block.inputs[2, lane] != 0.0:
            ekf = _ekf(block, lane, block.cov[:, :, lane])
            check_baro(ekf, block.rows[3, 0, lane], step.t_us)


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
