"""Random streams that compiled kernels draw from: one per vehicle and sensor.

A stream is four 64-bit words, the state of xoshiro256++ (Blackman and Vigna,
2021). A stream depends on the scenario's seed, the vehicle's number and the
sensor's number only, so neither the size of the fleet nor the order of
stepping changes what a sensor does.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

_TO_UNIT = 2.0**-53  # the upper 53 bits as a fraction of one


def new_stream(seed: int, vehicle: int, sensor: int) -> np.ndarray:
    """The start of a stream: (4,) uint64.

    Args:
        seed: The scenario's.
        vehicle: Number that is constant for the vehicle.
        sensor: Number of the sensor on the vehicle.
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(vehicle, sensor))
    return sequence.generate_state(4, np.uint64)


@njit(inline="always")
def _rotate_left(word: np.uint64, count: int) -> np.uint64:
    return (word << np.uint64(count)) | (word >> np.uint64(64 - count))


@njit
def next_uniform(stream: np.ndarray) -> float:
    """The stream's next number in [0, 1); advances it in place."""
    out = _rotate_left(stream[0] + stream[3], 23) + stream[0]
    shifted = stream[1] << np.uint64(17)
    stream[2] ^= stream[0]
    stream[3] ^= stream[1]
    stream[1] ^= stream[2]
    stream[0] ^= stream[3]
    stream[2] ^= shifted
    stream[3] = _rotate_left(stream[3], 45)
    return (out >> np.uint64(11)) * _TO_UNIT


@njit
def next_normals(stream: np.ndarray) -> tuple[float, float]:
    """Two independent standard normal numbers, by Marsaglia's polar method."""
    while True:
        u = 2.0 * next_uniform(stream) - 1.0
        v = 2.0 * next_uniform(stream) - 1.0
        square = u * u + v * v
        if 0.0 < square < 1.0:
            factor = math.sqrt(-2.0 * math.log(square) / square)
            return u * factor, v * factor
