"""The estimator in SIMD lanes: the covariances of a block of vehicles are processed together.

For each vehicle a step calls the functions of kernel.step_fleet() in the same order, so the results
are bit-equal. Operations on whole covariances that are due for most vehicles at once run in lanes:
prediction, magnetometer and barometer. For the others, a vehicle's covariance is copied out of its
block and back.
"""

import math

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


@njit
def step_block(block: int, arguments: tuple, scratch: tuple) -> None:
    """Steps one block of vehicles, as a task of SharedWork.

    Args:
        block: Index of the block.
        arguments: tuning, parameters, world, now, times, sensors, estimates, filters, history and
            covs, as in kernel.step_fleet(); but covs is blocks_of() and now is (1,) of STEP_TIME.
        scratch: From new_scratch().
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
    tuning: np.ndarray,
    parameters: np.ndarray,
    world: tuple,
    dt: float,
    t_us: int,
    times: np.ndarray,
    count: int,
    sensors: np.ndarray,
    estimates: np.ndarray,
    filters: np.ndarray,
    history: np.ndarray,
    block: np.ndarray,
    scratch: tuple,
) -> None:
    """Steps a block of vehicles, whose covariances are block (SIZE, SIZE, LANES)."""
    work, rows, inputs, dv_before, one_cov = scratch
    cov, lane_rows, lane_inputs = lane_array(block), lane_array(rows), lane_array(inputs)
    inputs[:] = 0.0  # a lane without an aligned vehicle keeps a zero covariance
    for lane in range(len(filters)):
        ekf = filters[lane]
        ekf.steps += 1
        if ekf.aligned_t == NEVER and not is_aligned(
            tuning[lane], world[3], t_us, sensors[lane], estimates[lane], ekf, block[:, :, lane]
        ):
            continue
        force = predict(
            tuning[lane], sensors[lane], estimates[lane], ekf, dv_before[lane], t_us, dt
        )
        for k in range(4):
            inputs[_QUAT + k, lane] = estimates[lane].quat[k]
        for k in range(3):
            inputs[_VECTOR + k, lane] = force[k]
    predict_covariance(lane_inputs[_QUAT:], lane_inputs[_VECTOR:], cov, dt)
    any_mag, any_baro = False, False
    for lane in range(len(filters)):
        readings, estimate, ekf = sensors[lane], estimates[lane], filters[lane]
        if ekf.aligned_t == NEVER:
            continue
        add_noises(
            tuning[lane],
            parameters[lane],
            readings,
            estimate,
            ekf,
            history[lane, count % HISTORY_STEPS],
            block[:, :, lane],
            dt,
        )
        if has_fix(tuning[lane], readings):
            _load_lane(block, rows, lane, one_cov, work)
            fuse_fix(
                tuning[lane],
                parameters[lane],
                world,
                t_us,
                times,
                count,
                readings,
                estimate,
                ekf,
                history[lane],
                one_cov,
                work,
            )
            _store_lane(block, rows, lane, one_cov, work)
        any_mag |= readings.mag_new
        any_baro |= has_pressure(parameters[lane], ekf, readings)
    if any_mag:
        _fuse_mags(
            tuning,
            t_us,
            sensors,
            estimates,
            filters,
            block,
            cov,
            rows,
            lane_rows,
            inputs,
            lane_inputs,
        )
    if any_baro:
        _fuse_baros(
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
            lane_rows,
            inputs,
            lane_inputs,
        )
    for lane in range(len(filters)):
        readings, estimate, ekf = sensors[lane], estimates[lane], filters[lane]
        inputs[0, lane] = 0.0
        if ekf.aligned_t == NEVER:
            continue
        if others_due(tuning[lane], parameters[lane], readings, estimate, ekf, t_us):
            _load_lane(block, rows, lane, one_cov, work)
            fuse_others(
                tuning[lane],
                parameters[lane],
                world,
                t_us,
                times,
                count,
                readings,
                estimate,
                ekf,
                history[lane],
                one_cov,
                work,
            )
            _store_lane(block, rows, lane, one_cov, work)
        inject(rows[0, :, lane], ekf, estimate)
        predict_output(parameters[lane], ekf, estimate, dv_before[lane], dt)
        inputs[0, lane] = ekf.steps % SYMMETRY_STEPS == 0
    if inputs[0].any():
        make_symmetric(cov, lane_inputs[0] != 0.0)
    for lane in range(len(filters)):
        if filters[lane].aligned_t != NEVER:
            report(tuning[lane], filters[lane], estimates[lane], block[:, :, lane], t_us)


@njit
def _fuse_mags(
    tuning: np.ndarray,
    t_us: int,
    sensors: np.ndarray,
    estimates: np.ndarray,
    filters: np.ndarray,
    block: np.ndarray,
    cov: np.ndarray,
    rows: np.ndarray,
    lane_rows: np.ndarray,
    inputs: np.ndarray,
    lane_inputs: np.ndarray,
) -> None:
    """Fuses the new magnetometer readings of a block."""
    for lane in range(len(filters)):
        readings, estimate, ekf = sensors[lane], estimates[lane], filters[lane]
        new = readings.mag_new and ekf.aligned_t != NEVER
        for k in range(4):
            inputs[_QUAT + k, lane] = estimate.quat[k]
        for k in range(3):
            inputs[_VECTOR + k, lane] = ekf.earth_field[k]
            inputs[_MAG + k, lane] = readings.mag[k] if new else math.nan
            inputs[_BIAS + k, lane] = estimate.field_bias[k]
        inputs[_VARIANCE, lane] = tuning[lane].mag_noise ** 2
        inputs[_GATE, lane] = tuning[lane].mag_gate
    fuse_mag(
        lane_inputs[_QUAT:],
        lane_inputs[_VECTOR:],
        lane_inputs[_MAG:],
        lane_inputs[_BIAS:],
        lane_inputs[_VARIANCE],
        lane_inputs[_GATE],
        cov,
        lane_rows,
    )
    for lane in range(len(filters)):
        if sensors[lane].mag_new and filters[lane].aligned_t != NEVER:
            check_mag(
                tuning[lane],
                filters[lane],
                estimates[lane],
                block[:, :, lane],
                rows[3, :, lane],
                t_us,
            )


@njit
def _fuse_baros(
    tuning: np.ndarray,
    parameters: np.ndarray,
    world: tuple,
    t_us: int,
    sensors: np.ndarray,
    estimates: np.ndarray,
    filters: np.ndarray,
    block: np.ndarray,
    cov: np.ndarray,
    rows: np.ndarray,
    lane_rows: np.ndarray,
    inputs: np.ndarray,
    lane_inputs: np.ndarray,
) -> None:
    """Fuses the new barometer readings of a block."""
    for lane in range(len(filters)):
        readings, ekf = sensors[lane], filters[lane]
        inputs[0, lane] = math.nan
        inputs[2, lane] = 0.0
        if has_pressure(parameters[lane], ekf, readings):
            height = height_of_pressure(readings.baro_pressure) - world[2]
            if baro_is_continuous(tuning[lane], ekf, block[:, :, lane], height, t_us):
                inputs[0, lane] = height - ekf.pos[2] - ekf.baro_offset
                inputs[2, lane] = 1.0
        inputs[1, lane] = baro_offset_weight(tuning[lane], parameters[lane], ekf, t_us)
        inputs[_VARIANCE, lane] = tuning[lane].baro_noise ** 2
        inputs[_GATE, lane] = tuning[lane].baro_gate
    lane_rows[3, 0] = fuse_baro(
        lane_inputs[0], lane_inputs[1], lane_inputs[_VARIANCE], lane_inputs[_GATE], cov, lane_rows
    )
    for lane in range(len(filters)):
        if inputs[2, lane] != 0.0:
            check_baro(filters[lane], estimates[lane], rows[3, 0, lane], t_us)


@njit
def _load_lane(
    block: np.ndarray, rows: np.ndarray, lane: int, one_cov: np.ndarray, work: np.ndarray
) -> None:
    """Copies covariance and pending correction of one lane out of its block."""
    for j in range(SIZE):
        work[0, j] = rows[0, j, lane]
        for k in range(SIZE):
            one_cov[j, k] = block[j, k, lane]


@njit
def _store_lane(
    block: np.ndarray, rows: np.ndarray, lane: int, one_cov: np.ndarray, work: np.ndarray
) -> None:
    """Copies covariance and pending correction of one lane back into its block."""
    for j in range(SIZE):
        rows[0, j, lane] = work[0, j]
        work[0, j] = 0.0
        for k in range(SIZE):
            block[j, k, lane] = one_cov[j, k]
