"""Procedural textures for realistic images, by the names of Gazebo's material scripts.

They tile without seams, over materials.TILE metres. Other names get those of materials.picture().
"""

import zlib
from functools import lru_cache

import numpy as np

from ...scene import materials

_SIZE = 1024  # side of a texture [pixels]


@lru_cache(maxsize=16)
def picture(script: str) -> np.ndarray:
    """Texture of a material script, (n, n, 3) uint8.

    Args:
        script: Name such as Gazebo/Bricks. Besides Gazebo's, Asphalt, Concrete and Brick are known.
    """
    name = script.rpartition("/")[2]
    make = _MAKERS.get(name.rstrip("0123456789"))
    if make is None:
        return materials.picture(script)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return (255.0 * np.clip(make(rng), 0.0, 1.0)).astype(np.uint8)


def noise(
    rng: np.random.Generator, rows: int, columns: int, roughness: float, octaves: int
) -> np.ndarray:
    """Periodic noise (n, n), of mean 0.5 and deviation 0.15, as octaves of random grids."""
    total = np.zeros((_SIZE, _SIZE))
    for k in range(octaves):
        grid = rng.random((min(rows << k, _SIZE), min(columns << k, _SIZE)))
        total += roughness**k * _interpolate_rows(_interpolate_rows(grid.T).T)
    return 0.5 + 0.15 * (total - total.mean()) / total.std()


def _interpolate_rows(grid: np.ndarray) -> np.ndarray:
    """The grid's rows at the texture's width, smoothly."""
    position = np.arange(_SIZE) * grid.shape[1] / _SIZE
    left = position.astype(int)
    weight = position - left
    weight = weight * weight * (3.0 - 2.0 * weight)
    return grid[:, left] * (1.0 - weight) + grid[:, (left + 1) % grid.shape[1]] * weight


def _colour_map(value: np.ndarray, *colours: tuple[float, float, float]) -> np.ndarray:
    """Returns colours along a scale by values (n, n), 0..1."""
    position = np.clip(value, 0.0, 1.0) * (len(colours) - 1)
    return np.stack(
        [np.interp(position, range(len(colours)), channel) for channel in np.array(colours).T],
        axis=-1,
    )


def _grass(rng: np.random.Generator) -> np.ndarray:
    """Blades as fine noise that is longer in one direction, and tufts.

    Larger patches would be seen to repeat.
    """
    blades = 0.5 * noise(rng, 256, 512, 0.9, 2) + 0.5 * noise(rng, 512, 192, 0.9, 2)
    tufts = noise(rng, 32, 32, 0.8, 5)
    shade = 0.5 + 1.5 * (blades - 0.5) + 0.5 * (tufts - 0.5)
    return _colour_map(
        shade, (0.17, 0.20, 0.09), (0.31, 0.37, 0.17), (0.44, 0.49, 0.26), (0.58, 0.57, 0.36)
    )


def _asphalt(rng: np.random.Generator) -> np.ndarray:
    """Grains of stone in tar, with some light and dark ones."""
    grains = noise(rng, 512, 512, 0.9, 2)
    worn = noise(rng, 3, 3, 0.6, 5)
    shade = 0.42 + 0.9 * (grains - 0.5) + 0.5 * (worn - 0.5)
    return _colour_map(shade, (0.15, 0.15, 0.16), (0.33, 0.33, 0.34), (0.60, 0.59, 0.57))


def _concrete(rng: np.random.Generator) -> np.ndarray:
    """Stains, pores, and the joints of slabs of two metres."""
    stains = noise(rng, 3, 3, 0.6, 6)
    pores = np.clip((noise(rng, 256, 256, 0.8, 2) - 0.72) / 0.1, 0.0, 1.0)
    image = _colour_map(0.5 + 0.9 * (stains - 0.5), (0.52, 0.51, 0.49), (0.72, 0.71, 0.68))
    image *= (1.0 - 0.3 * pores)[:, :, None]
    y, x = np.mgrid[0:_SIZE, 0:_SIZE] % (_SIZE // 2)
    joint = np.minimum(x, y) < 3
    image[joint] *= 0.72
    return image


def _plaster(rng: np.random.Generator) -> np.ndarray:
    stains = noise(rng, 2, 2, 0.6, 5)
    grain = noise(rng, 256, 256, 0.9, 2)
    return _colour_map(
        0.5 + 0.6 * (stains - 0.5) + 0.35 * (grain - 0.5), (0.60, 0.58, 0.54), (0.86, 0.84, 0.79)
    )


def _brick(rng: np.random.Generator) -> np.ndarray:
    """Bricks of 25 by 10 cm in a running bond, rounded, with rough joints."""
    shade, edge = _bond(rng, 40, 16, 0.5, 0.018, 0.05)
    tint = _colour_map(shade, (0.42, 0.20, 0.15), (0.60, 0.30, 0.22), (0.68, 0.40, 0.29))
    rough = noise(rng, 64, 64, 0.8, 4)
    image = tint * (0.72 + 0.56 * rough)[:, :, None]
    mortar = _colour_map(noise(rng, 128, 128, 0.8, 3), (0.50, 0.48, 0.44), (0.72, 0.70, 0.66))
    return image * (1.0 - edge)[:, :, None] + mortar * edge[:, :, None]


def _floor(rng: np.random.Generator) -> np.ndarray:
    """Boards of 16 cm with grain along them, and gaps."""
    shade, edge = _bond(rng, 24, 2, 0.37, 0.003, 0.02)
    grain = noise(rng, 192, 3, 0.85, 4)
    tone = 0.2 + 0.6 * shade + 0.55 * (grain - 0.5) + 0.2 * (noise(rng, 12, 2, 0.6, 3) - 0.5)
    image = _colour_map(tone, (0.36, 0.22, 0.12), (0.56, 0.38, 0.22), (0.72, 0.54, 0.34))
    return image * (1.0 - 0.65 * edge)[:, :, None]


def _bark(rng: np.random.Generator) -> np.ndarray:
    """Fibres of wood."""
    grain = noise(rng, 96, 6, 0.85, 4)
    return _colour_map(
        0.5 + 1.2 * (grain - 0.5), (0.24, 0.17, 0.11), (0.42, 0.31, 0.21), (0.58, 0.45, 0.32)
    )


def _tiles(rng: np.random.Generator) -> np.ndarray:
    shade, edge = _bond(rng, 8, 8, 0.0, 0.01, 0.01)
    image = _colour_map(
        0.5 + 0.3 * (shade - 0.5) + 0.3 * (noise(rng, 256, 256, 0.9, 2) - 0.5),
        (0.74, 0.74, 0.72),
        (0.92, 0.92, 0.90),
    )
    return image * (1.0 - 0.45 * edge)[:, :, None]


def _bond(
    rng: np.random.Generator, rows: int, columns: int, shift: float, across: float, along: float
) -> tuple[np.ndarray, np.ndarray]:
    """Shade of each block of a wall, 0..1, and how much of each pixel is joint, 0..1."""
    y, x = (np.mgrid[0:_SIZE, 0:_SIZE] + 0.5) / _SIZE
    row = (y * rows).astype(int)
    offset = x * columns + (shift * row) % 1.0
    column = offset.astype(int) % columns
    shade = rng.random((rows, columns))[row, column]
    wobble = 0.03 * (noise(rng, 64, 64, 0.8, 3) - 0.5)
    beside = np.minimum(offset % 1.0, 1.0 - offset % 1.0) * rows / columns + wobble
    over = np.minimum(y * rows % 1.0, 1.0 - y * rows % 1.0) + wobble
    near = np.minimum(beside - across * rows / columns * 0.5, over - along)
    return shade, np.clip(1.0 - near / 0.04, 0.0, 1.0)


_MAKERS = {
    "Grass": _grass,
    "Road": _asphalt,
    "Residential": _asphalt,
    "Asphalt": _asphalt,
    "Concrete": _concrete,
    "PaintedWall": _plaster,
    "Bricks": _brick,
    "Brick": _brick,
    "WoodFloor": _floor,
    "Wood": _bark,
    "WoodPallet": _floor,
    "CeilingTiled": _tiles,
}
