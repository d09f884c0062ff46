"""Allan deviation of sensor streams by an independent library, and what it says of Table I.

Used by the quick tests and by `make validation`. Streams come from the compiled
kernel that the simulation runs, with a true value of 0 and without rounding to
bits, which is no noise of Table I.
"""

import math
import zlib
from dataclasses import dataclass

import allantools
import numpy as np
from scipy.optimize import least_squares

from sensor_models import NoiseParameters, sensors
from sensor_models.noise import CHANNEL, reading
from sensor_models.parameters import presets
from sensor_models.streams import new_stream
from xtdrone_core import SensorBlock
from xtdrone_dynamics.compiled import njit


@dataclass(frozen=True)
class Quantity:
    """One noisy quantity of a preset."""

    kind: str
    preset: str
    field: str
    noise: NoiseParameters
    rate: float  # [Hz]

    def __str__(self):
        return f"{self.kind}-{self.preset}-{self.field}"

    @property
    def seed(self) -> int:
        """Of its streams, so that no two quantities share their luck."""
        return zlib.crc32(str(self).encode())

    @property
    def walks(self) -> bool:
        """Whether it has a bias that moves."""
        return self.noise.random_walk > 0


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error, and what the parameters say."""

    name: str
    value: float
    error: float
    expected: float

    @property
    def off(self) -> float:
        """Distance from the expected value in standard errors."""
        return abs(self.value - self.expected) / self.error


def quantities() -> list[Quantity]:
    """Every quantity of every preset that has white noise."""
    found = []
    for kind, sensor in sensors().items():
        for preset in presets()[kind]:
            parameters = sensor.parameters.from_block(
                SensorBlock(kind, preset, (0, 0, 0), (0, 0, 0, 1), {"preset": preset})
            )
            for field in vars(parameters):
                noise = getattr(parameters, field)
                if isinstance(noise, NoiseParameters):
                    rate = getattr(parameters, "rate", 250.0)
                    found.append(Quantity(kind, preset, field, noise, rate))
    return found


@njit
def _record(channel, stream, out):
    for k in range(out.shape[0]):
        out[k] = reading(channel, stream, 0.0)


def stream(quantity: Quantity, dt: float, count: int, number: int) -> np.ndarray:
    """Readings dt [s] apart of a sensor that begins with its standing bias."""
    noise = quantity.noise
    channels = np.zeros(1, dtype=CHANNEL)
    decay, drive = noise.bias_step(dt)
    words = new_stream(quantity.seed, number, 0)
    standing = (
        noise.random_walk * math.sqrt(0.5 * noise.bias_correlation_time)
        if math.isfinite(noise.bias_correlation_time)
        else 0.0
    )
    bias = standing * np.random.default_rng((quantity.seed, number)).standard_normal()
    channels[0] = (decay, drive, noise.white_sigma(dt), bias, 0.0, 0.0, -math.inf, math.inf)
    out = np.empty(count)
    _record(channels[0], words, out)
    return out


def theory(tau, density, walk, time):
    """Allan variance of white noise plus a Gauss-Markov bias."""
    tau = np.asarray(tau, dtype=float)
    white = density**2 / tau
    if walk == 0.0:
        return white
    x = tau / time
    # For small x the bracket is a difference of nearly equal numbers: its series there.
    bracket = np.where(
        x < 1e-3, x * x / 3.0, 1.0 - (3.0 - 4.0 * np.exp(-x) + np.exp(-2.0 * x)) / (2.0 * x)
    )
    return white + (walk * time) ** 2 / tau * bracket


def variances(quantity, dt, count, streams, taus) -> np.ndarray:
    """Overlapping Allan variance of each stream, (streams, len(taus)), by allantools."""
    rows = []
    for number in range(streams):
        data = stream(quantity, dt, count, number)
        found, deviation, _, _ = allantools.oadev(
            data, rate=1.0 / dt, data_type="freq", taus=np.array(taus)
        )
        assert len(found) == len(taus)
        rows.append(deviation**2)
    return np.array(rows)


def density(quantity: Quantity, count: int, streams: int) -> Estimate:
    """The noise density from the Allan deviation at one period."""
    dt = 1.0 / quantity.rate
    variance = variances(quantity, dt, count, streams, [dt])[:, 0]
    noise = quantity.noise
    # What the bias adds at one period is known and small: half the variance of its step. (theory()
    # is that of a bias averaged over the period, and readings are samples.)
    extra = 0.0
    if quantity.walks:
        time = noise.bias_correlation_time
        extra = -0.5 * noise.random_walk**2 * time * math.expm1(-dt / time)
    found = np.sqrt((variance - extra) * dt)
    return Estimate(
        "noise_density", found.mean(), found.std(ddof=1) / math.sqrt(streams), noise.noise_density
    )


def bias(quantity: Quantity, dt: float, lengths: float, streams: int):
    """Random walk and correlation time from the whole Allan curve.

    Args:
        quantity: The sensor.
        dt: Period of the readings [s].
        lengths: Of each stream, in correlation times.
        streams: Number of independent streams.

    Returns:
        (random_walk, bias_correlation_time, taus, mean Allan deviation).
    """
    noise = quantity.noise
    time = noise.bias_correlation_time
    steps = np.unique(np.round(np.geomspace(max(1, 0.02 * time / dt), 6.0 * time / dt, 14)))
    taus = steps * dt
    table = variances(quantity, dt, round(lengths * time / dt), streams, taus)
    weights = np.sqrt(1.0 / taus) / np.sqrt(1.0 / taus[0])

    def fit(rows):
        mean = rows.mean(axis=0)

        def residual(p):
            return weights * np.log(
                theory(taus, math.exp(p[0]), math.exp(p[1]), math.exp(p[2])) / mean
            )

        start = np.log([noise.noise_density, noise.random_walk, time])
        return np.exp(least_squares(residual, start).x)

    whole = fit(table)
    left_out = np.array([fit(np.delete(table, k, axis=0)) for k in range(streams)])
    around = left_out - left_out.mean(axis=0)
    spread = np.sqrt((streams - 1) / streams * (around**2).sum(axis=0))
    # The jackknife also takes away the bias that a fit to few streams has.
    value = streams * whole - (streams - 1) * left_out.mean(axis=0)
    return (
        Estimate("random_walk", value[1], spread[1], noise.random_walk),
        Estimate("bias_correlation_time", value[2], spread[2], time),
        taus,
        np.sqrt(table.mean(axis=0)),
    )
