"""The waves of a world's water: by the option of a scenario, or as its file says."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtdrone_core.errors import unknown_name
from xtdrone_core.scenario.options import number
from xtdrone_dynamics.earth import waves as model
from xtdrone_dynamics.earth.waves import JONSWAP, REGULAR, SPECTRA, WAVE

from ..errors import WaveError

KINDS = (*SPECTRA, REGULAR)
_STREAM = 1001  # of a sea's random numbers, beside that of the wind
_LIMITS: dict[str, tuple[float, float, str]] = {  # smallest, largest, unit
    "height": (0.0, 20.0, "m"),
    "period": (0.5, 30.0, "s"),
    "direction": (-360.0, 360.0, "°"),
    "spread": (0.0, 90.0, "°"),
    "start": (0.0, 1e6, "s"),
    "seed": (0.0, 2.0**31, ""),
}
WORDS = (*_LIMITS, "spectrum")


@dataclass(frozen=True)
class Waves:
    """A sea by its significant height, or the waves that a file lists."""

    height: float = 0.0  # significant height [m]; of regular waves from trough to crest
    period: float = 0.0  # of the spectrum's peak [s]; 0: as a fully developed sea has it
    direction: float = 0.0  # in which it runs, counter-clockwise from east [degrees]
    spread: float = 20.0  # standard deviation of directions [degrees]
    spectrum: str = JONSWAP  # one of KINDS
    start: float = 0.0  # when they begin to grow [s]
    seed: int = -1  # -1: the scenario's
    # amplitude [m], frequency [rad/s], direction [rad] and phase [rad] of each
    listed: tuple[tuple[float, float, float, float], ...] = ()

    @classmethod
    def of_values(cls, values: dict[str, str], what: str) -> "Waves":
        """Reads the values of WORDS as text.

        Raises:
            WaveError: One is unknown or not allowed.
        """
        found: dict[str, Any] = {}  # fields
        for word, text in values.items():
            if word == "spectrum":
                if text not in KINDS:
                    raise WaveError(unknown_name(f"spectrum of {what}", text, KINDS))
                found[word] = text
            elif word in _LIMITS:
                smallest, largest, unit = _LIMITS[word]
                value = number(f"{word} of {what}", text, smallest, largest, unit=unit)
                found[word] = int(value) if word == "seed" else value
            else:
                raise WaveError(unknown_name(f"word of {what}", word, WORDS))
        return cls(**found)

    @classmethod
    def parse(cls, text: str) -> "Waves":
        """Reads an option: a significant height [m], or words like height=0.4 period=4.

        Raises:
            XtdroneError: A word is unknown or not allowed, or given twice.
        """
        values: dict[str, str] = {}
        for part in text.split():
            word, equals, value = part.partition("=")
            word, value = (word, value) if equals else ("height", word)
            if word in values:
                raise WaveError(f"waves '{text}' give {word} twice: give it once")
            values[word] = value
        return cls.of_values(values, "waves")

    @property
    def calm(self) -> bool:
        """Whether there are none."""
        return self.height == 0.0 and not self.listed

    def sampled(self, seed: int, gravity: float) -> np.ndarray:
        """Returns (K,) of WAVE; none in a calm.

        Args:
            seed: Of the scenario, where they have none of their own.
            gravity: [m/s^2].
        """
        if self.listed:
            sizes, frequencies, directions, phases = np.array(self.listed).T
            return model.waves_of(sizes, frequencies, directions, phases, gravity)
        if self.calm:
            return np.zeros(0, dtype=WAVE)
        own = seed if self.seed < 0 else self.seed
        return model.sampled(
            self.spectrum,
            self.height,
            self.period or model.period_of(self.height, gravity),
            math.radians(self.direction),
            math.radians(self.spread),
            np.random.default_rng(np.random.SeedSequence(own, spawn_key=(_STREAM,))),
            gravity,
        )


CALM = Waves()
