"""Procedural textures for the names of Gazebo's material scripts.

Gazebo takes `Gazebo/Bricks` and others from its own media. The embedded engine
generates textures for the same names, so that cameras see textured surfaces too.
"""

import zlib
from functools import lru_cache
from pathlib import Path

import numpy as np

from xtdrone_core import files
from xtdrone_core.errors import shown

from ..errors import SdfError

TILE = 4.0  # side of the square covered by one texture [m]
_SIZE = 512  # side of a texture [pixels]
_MAX = 1024  # side of a picture that is used as a texture [pixels]


@lru_cache(maxsize=16)
def picture(script: str) -> np.ndarray:
    """Texture of a material script, (512, 512, 3) uint8; it tiles without seams.

    Args:
        script: Name such as Gazebo/Bricks; unknown names get a mottled grey.
    """
    name = script.rpartition("/")[2]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if name == "Bricks":
        image = _bricks(rng)
    elif name == "Grass":
        image = _mottle(rng, (0.25, 0.42, 0.16), (0.42, 0.5, 0.25), 0.9)
    elif name.startswith("Wood"):
        image = _planks(rng)
    elif name in ("Road", "Residential"):
        image = _mottle(rng, (0.24, 0.24, 0.25), (0.42, 0.42, 0.42), 0.9)
    elif name == "CeilingTiled":
        image = _tiles(rng)
    else:
        image = _mottle(rng, (0.62, 0.62, 0.6), (0.85, 0.84, 0.8), 0.8)
    return (255.0 * np.clip(image, 0.0, 1.0)).astype(np.uint8)


def load(path: Path, shrink: bool = True) -> np.ndarray:
    """A picture, (h, w, 3) uint8.

    Args:
        path: In any format that Pillow reads.
        shrink: To the largest size that is used for textures.

    Raises:
        SdfError: Not a picture.
    """
    from PIL import Image

    files.check(path, "picture", SdfError)
    try:
        with Image.open(path) as image:
            if image.mode.startswith(("I", "F")):  # 16 bits or more: from black to white
                values = np.asarray(image, dtype=float)
                scaled = 255.0 * values / (values.max() or 1.0)
                return np.repeat(scaled[:, :, None], 3, axis=2)
            if shrink:
                image.thumbnail((_MAX, _MAX))
            return np.asarray(image.convert("RGB"))
    except Exception as error:  # damaged bytes raise any of them in Pillow
        raise SdfError(f"{path}: cannot be read as a picture: {shown(error)}") from error


def _noise(rng: np.random.Generator, roughness: float, stretch: int = 1) -> np.ndarray:
    """Tileable noise in 0..1, (size, size): octaves of smoothed random grids."""
    total, weight, amplitude = np.zeros((_SIZE, _SIZE)), 0.0, 1.0
    for cells in (4, 8, 16, 32, 64, 128, 256):
        grid = rng.random((cells, max(1, cells // stretch)))
        total += amplitude * _enlarged(_enlarged(grid).T).T
        weight += amplitude
        amplitude *= roughness
    return np.clip(0.5 + 2.0 * (total / weight - 0.5), 0.0, 1.0)


def _enlarged(grid: np.ndarray) -> np.ndarray:
    """Interpolates the grid's rows to the texture's width, linearly and periodically."""
    place = np.arange(_SIZE) * grid.shape[1] / _SIZE
    left = place.astype(int)
    part = place - left
    return grid[:, left] * (1.0 - part) + grid[:, (left + 1) % grid.shape[1]] * part


def _mottle(
    rng: np.random.Generator,
    dark: tuple[float, float, float],
    light: tuple[float, float, float],
    roughness: float,
) -> np.ndarray:
    noise = _noise(rng, roughness)[:, :, None]
    image: np.ndarray = np.array(dark) * (1.0 - noise) + np.array(light) * noise
    return image


def _blocks(
    rng: np.random.Generator, rows: int, columns: int, shift: float
) -> tuple[np.ndarray, np.ndarray]:
    """A random shade for each block of a wall, and a mask of the joints."""
    y, x = np.mgrid[0:_SIZE, 0:_SIZE] / _SIZE
    row = (y * rows).astype(int)
    along = x * columns + shift * (row % 2)
    column = along.astype(int) % columns
    shade = rng.random((rows, columns))[row, column]
    joint = (np.abs(y * rows - row - 0.5) > 0.45) | (np.abs(along % 1.0 - 0.5) > 0.475)
    return shade, joint


def _bricks(rng: np.random.Generator) -> np.ndarray:
    shade, joint = _blocks(rng, 40, 16, 0.5)
    shade = (0.6 + 0.4 * shade) * (0.75 + 0.35 * _noise(rng, 0.8))
    image = shade[:, :, None] * np.array((0.72, 0.34, 0.25))
    image[joint] = 0.68
    return image


def _planks(rng: np.random.Generator) -> np.ndarray:
    shade, joint = _blocks(rng, 24, 2, 0.5)
    grain = _noise(rng, 0.9, stretch=8)
    image = ((0.65 + 0.2 * shade) * (0.7 + 0.4 * grain))[:, :, None] * np.array((0.8, 0.58, 0.36))
    image[joint] *= 0.75
    return image


def _tiles(rng: np.random.Generator) -> np.ndarray:
    shade, joint = _blocks(rng, 8, 8, 0.0)
    image = ((0.8 + 0.1 * shade) * (0.85 + 0.2 * _noise(rng, 0.8)))[:, :, None] * np.ones(3)
    image[joint] = 0.5
    return image
