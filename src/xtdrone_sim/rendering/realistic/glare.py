"""Bright sources that a lens makes ghosts and a veil of: the sun and lamps, as far as they show."""

import math
from collections.abc import Callable

import numpy as np

from . import fog, lamps, sun
from .conditions import Conditions

_ASIDE = 0.2  # cosine of the angle from the axis, beyond which no light gets into the lens
_RAYS = 16  # rays to a source, which tell how much of it is hidden
_WEAK = 1e-4  # fraction of the mean luminance below which a lamp is left out
_PEAK = 0.04  # luminance of the brightest ghost per illuminance [1/sr]


def sources(
    conditions: Conditions,
    rows: np.ndarray,
    pos: np.ndarray,
    axes: np.ndarray,
    mean: float,
    free: Callable[[np.ndarray], np.ndarray],
) -> list:
    """The sources in front of a camera, as flare.flared() takes them.

    Args:
        conditions: Of the run.
        rows: Of lamps.Lamps.
        pos, axes: (3,) of the camera, (3, 3) its axes as columns, world.
        mean: Luminance of the image [cd/m^2].
        free: Returns for rays (M, 3) from the camera whether nothing is in them; (M,) bool.
    """
    visible = []
    sky = conditions.sky
    if sky.sun.any() and sky.towards[2] > 0.0:
        at = sky.towards @ axes
        if at[0] > _ASIDE:
            open_ = free(1e4 * _disc(sky.towards, math.tan(sun.SIZE))).mean()
            through = 1.0
            if conditions.veil[0] >= 0.0:
                through = fog.transmittance(300.0 / max(sky.towards[2], 0.02), *conditions.air)
            if open_ * through > 0.0:
                visible.append((-at[1] / at[0], at[2] / at[0], open_ * through * sky.sun))
    for lamp in rows[rows[:, 15] == 0.0]:
        direction = lamp[:3] - pos
        away = float(np.linalg.norm(direction))
        at = direction @ axes / max(away, 1e-9)
        if at[0] <= _ASIDE or away < 2.0 * lamps.BULB:
            continue
        lux = lamps.illuminance(lamp, *pos, *(direction / away)) * lamp[6:9]
        if _PEAK * lux.max() < _WEAK * mean:
            continue
        directions = (away - lamps.BULB) * _disc(direction / away, lamps.BULB / away)
        lux = lux * free(directions).mean() * fog.transmittance(away, *conditions.air)
        if lux.any():
            visible.append((-at[1] / at[0], at[2] / at[0], lux))
    return visible


def _disc(towards: np.ndarray, size: float) -> np.ndarray:
    """Directions (M, 3) that are spread evenly over a disc of an angular radius."""
    aside = np.cross(towards, [0.0, 0.0, 1.0] if abs(towards[2]) < 0.9 else [1.0, 0.0, 0.0])
    aside /= np.linalg.norm(aside)
    k = np.arange(_RAYS)
    radius, turn = size * np.sqrt((k + 0.5) / _RAYS), 2.399963 * k
    directions = (
        towards
        + (radius * np.cos(turn))[:, None] * aside
        + (radius * np.sin(turn))[:, None] * np.cross(towards, aside)
    )
    return directions / np.linalg.norm(directions, axis=1)[:, None]
