"""The errors of one noisy quantity: XTDrone (11)(12), Table I.

A bias has two parts, as in RotorS: a Gauss-Markov process, and a constant drawn at start, the
turn-on bias.
"""

import math
from dataclasses import dataclass

import numpy as np

from xtdrone_dynamics.compiled import Record, njit

from .errors import SensorError
from .streams import next_normals

CHANNEL = np.dtype(
    [
        ("decay", "f8"),
        ("drive", "f8"),  # random drive of the bias over one period: XTDrone (12)
        ("white", "f8"),  # standard deviation of one reading's white noise
        ("bias", "f8"),  # the Gauss-Markov one, now
        ("turn_on", "f8"),  # the one that stays
        ("resolution", "f8"),  # one bit, or 0
        ("low", "f8"),
        ("high", "f8"),  # range
    ]
)


@dataclass(frozen=True)
class NoiseParameters:
    """One quantity's errors: XTDrone (11)(12), Table I. The unit u is the quantity's own."""

    noise_density: float  # white noise, continuous [u/sqrt(Hz)]
    random_walk: float  # drive of the bias, continuous [u/sqrt(s)]
    bias_correlation_time: float  # correlation time of the Gauss-Markov bias [s]; 0: none
    turn_on_bias_sigma: float  # standard deviation of a constant bias beside it [u]
    start_bias_sigma: float = 0.0  # deviation of the Gauss-Markov bias at start [u]

    def __post_init__(self) -> None:
        for name in ("noise_density", "random_walk", "turn_on_bias_sigma", "start_bias_sigma"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise SensorError(f"{name} {value} is not allowed: give a number from 0")
        if not self.bias_correlation_time >= 0:
            raise SensorError(
                f"bias_correlation_time {self.bias_correlation_time} is not allowed: "
                "give seconds from 0, at which there is no such bias"
            )

    def white_sigma(self, dt: float) -> float:
        """Standard deviation of the white noise of readings dt [s] apart."""
        return self.noise_density / math.sqrt(dt)

    def bias_step(self, dt: float) -> tuple[float, float]:
        """Decay and drive of the bias over dt [s]: XTDrone (12), exactly discretised."""
        if self.bias_correlation_time == 0.0:  # sitl_gazebo's equations in the limit
            return 0.0, 0.0
        if math.isinf(self.bias_correlation_time):
            return 1.0, self.random_walk * math.sqrt(dt)
        decay = math.exp(-dt / self.bias_correlation_time)
        spread = -math.expm1(-2.0 * dt / self.bias_correlation_time)
        drive = self.random_walk * math.sqrt(0.5 * self.bias_correlation_time * spread)
        return decay, drive


def set_channels(
    channels: np.ndarray,
    noise: NoiseParameters,
    dt: float,
    resolution: float = 0.0,
    low: float = -math.inf,
    high: float = math.inf,
) -> None:
    """Parameters of channels that are alike, with standard deviations in place of the biases.

    Args:
        channels: Records of CHANNEL.
        noise: The quantity's errors.
        dt: Between two readings [s].
        resolution: One bit; 0 = fine.
        low, high: Range of the readings.
    """
    decay, drive = noise.bias_step(dt)
    channels[:] = (
        decay,
        drive,
        noise.white_sigma(dt),
        noise.start_bias_sigma,
        noise.turn_on_bias_sigma,
        resolution,
        low,
        high,
    )


@njit
def turn_on(channels: np.ndarray, stream: np.ndarray) -> None:
    """Draws the biases at start; until here they hold their standard deviations."""
    for c in range(channels.shape[0]):
        first, second = next_normals(stream)
        channels[c].turn_on *= first
        channels[c].bias *= second


@njit
def reading(channel: Record, stream: np.ndarray, value: float) -> float:
    """A value with its errors, XTDrone (11)(12), cut to range and resolution."""
    walk, white = next_normals(stream)
    channel.bias = channel.decay * channel.bias + channel.drive * walk
    value += channel.turn_on + channel.bias + channel.white * white
    if channel.resolution > 0.0:
        value = channel.resolution * math.floor(value / channel.resolution + 0.5)
    return min(max(value, channel.low), channel.high)
