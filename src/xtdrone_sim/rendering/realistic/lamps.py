"""Lamps: the lights of a world besides the sun, what arrives of them, and their shadows.

The shadows of a point or spot light are six maps of depth, the faces of a cube around it. What
never moves is drawn into them once, and the rest again where it is.
"""

import math
from collections.abc import Callable

import numpy as np

from xtdrone_dynamics.compiled import njit

from ...world import World

LUX = 2000.0  # illuminance by a lamp of diffuse 1 without attenuation
BULB = 0.06  # radius of what is seen of a lamp [m]
_SIDE = 512  # side of a face [pixels]
_MARGIN = 4.0  # pixels beyond the edge of a face, for what smoothes shadows
_REACH = _SIDE / (_SIDE - 2.0 * _MARGIN)  # half a face at unit distance
_NEAR = 0.2  # what is nearer to a lamp is its own case, and casts no shadow [m]
_BIAS = 0.01  # what is nearer to a surface casts no shadow on it [m]
_MAX = 16  # lamps that cast shadows; others light all that is in their range
_DIRECTIONAL = 15  # column of a row that says so


class Lamps:
    """The lamps of a world.

    Attributes:
        rows: (L, 16) position, direction, colour, attenuation, cosine of its cone's edge (-1 for
            all around), range, number of its shadows (-1 without), and whether it is directional.
        cubes: (6 K, n, n) float32 depth along the axes of the faces of K cubes [m].
        parallel: (M, 3) unit vectors towards the directional lamps that cast shadows.
    """

    def __init__(self, world: World) -> None:
        """Reads them; the first directional light is the sun, which is none of them.

        Args:
            world: The World.
        """
        suns = [light for light in world.lights if light.kind == "directional"]
        lights = [light for light in world.lights if light not in suns[:1]]
        self.rows = np.array(
            [
                [
                    *light.pos,
                    *light.direction,
                    *light.diffuse,
                    *light.attenuation,
                    math.cos(0.5 * light.cutoff) if light.cutoff else -1.0,
                    light.range,
                    -1.0,
                    float(light.kind == "directional"),
                ]
                for light in lights
            ]
        ).reshape(-1, 16)
        self.rows[:, 3:6] /= np.maximum(np.linalg.norm(self.rows[:, 3:6], axis=1), 1e-9)[:, None]
        casts = np.array([light.cast_shadows for light in lights], dtype=bool)
        around = np.flatnonzero(casts & (self.rows[:, _DIRECTIONAL] == 0.0))[:_MAX]
        beside = np.flatnonzero(casts & (self.rows[:, _DIRECTIONAL] == 1.0))
        self.rows[around, 14], self.rows[beside, 14] = range(len(around)), range(len(beside))
        self.parallel = -self.rows[beside, 3:6]
        self._around = self.rows[around]
        self.cubes = np.full((6 * len(around), _SIDE, _SIDE), np.inf, dtype=np.float32)
        self.forget()

    def forget(self) -> None:
        """All shadows have to be drawn anew."""
        self._still: np.ndarray | None = None
        self._touched: set[int] = set()

    def draw(
        self, render: Callable[..., np.ndarray], centres: np.ndarray, radii: np.ndarray
    ) -> None:
        """Brings the shadows up to date.

        Args:
            render: Called with whether what moves is wanted, position, forward, up, half a side at
                unit distance, near and far, side; returns (side, side) distances.
            centres, radii: (G, 3), (G,) spheres around what moves, world [m].
        """
        if self._still is None:
            self._still = (
                np.stack([self._face(render, False, k) for k in range(len(self.cubes))])
                if len(self.cubes)
                else self.cubes
            )
            self.cubes[:] = self._still
        touched = {int(k) for k in np.flatnonzero(self._touches(centres, radii))}
        for k in self._touched - touched:
            self.cubes[k] = self._still[k]
        for k in touched:
            np.minimum(self._still[k], self._face(render, True, k), out=self.cubes[k])
        self._touched = touched

    def _face(self, render: Callable[..., np.ndarray], moving: bool, k: int) -> np.ndarray:
        lamp, forward, up = self._around[k // 6], np.zeros(3), np.zeros(3)
        forward[k % 6 // 2] = -1.0 if k % 2 else 1.0
        up[(k % 6 // 2 + 2) % 3] = 1.0
        return render(moving, lamp[:3], forward, up, _REACH, _NEAR, lamp[13], _SIDE)

    def _touches(self, centres: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Whether something of these spheres is in each face, (6 K,)."""
        away = centres[None] - self._around[:, None, :3]  # (K, G, 3)
        near = np.linalg.norm(away, axis=2) - radii < self._around[:, None, 13]
        wide = radii * math.hypot(1.0, _REACH)
        faces = []
        for face in range(6):
            axis = face // 2
            f = (-1.0 if face % 2 else 1.0) * away[:, :, axis]
            aside = np.maximum(np.abs(away[:, :, (axis + 1) % 3]), np.abs(away[:, :, axis - 1]))
            faces.append((near & (f > -radii) & (aside <= _REACH * f + wide)).any(axis=1))
        return np.array(faces).T.ravel()


@njit
def illuminance(
    lamp: np.ndarray, px: float, py: float, pz: float, nx: float, ny: float, nz: float
) -> float:
    """Of a surface by a lamp of diffuse 1 [lux], attenuated as OpenGL and SDF say.

    Args:
        lamp: A row of Lamps.
        px, py, pz, nx, ny, nz: A point of the surface, world [m], and its normal.
    """
    if lamp[15] > 0.0:
        return LUX * max(-(lamp[3] * nx + lamp[4] * ny + lamp[5] * nz), 0.0)
    dx, dy, dz = lamp[0] - px, lamp[1] - py, lamp[2] - pz
    away = math.sqrt(dx * dx + dy * dy + dz * dz)
    if away > lamp[13] or away == 0.0:
        return 0.0
    facing = (dx * nx + dy * ny + dz * nz) / away
    if facing <= 0.0 or -(dx * lamp[3] + dy * lamp[4] + dz * lamp[5]) / away < lamp[12]:
        return 0.0
    return LUX * facing / (lamp[9] + away * (lamp[10] + away * lamp[11]))


@njit
def lit(
    cubes: np.ndarray,
    lamp: np.ndarray,
    px: float,
    py: float,
    pz: float,
    nx: float,
    ny: float,
    nz: float,
) -> float:
    """Share of a point or spot light that reaches a point, 0..1.

    Each pixel of the map is compared with the depth that the surface's plane has there, so that
    a surface does not shadow itself and edges of shadows stay where they are.

    Args:
        cubes: See Lamps.
        lamp, px, py, pz, nx, ny, nz: See illuminance().
    """
    side = cubes.shape[1]
    dx, dy, dz = px - lamp[0], py - lamp[1], pz - lamp[2]
    ax, ay, az = abs(dx), abs(dy), abs(dz)
    if ax >= ay and ax >= az:
        axis, f, a, b, nf, na, nb = 0, dx, dy, dz, nx, ny, nz
    elif ay >= az:
        axis, f, a, b, nf, na, nb = 1, dy, dz, dx, ny, nz, nx
    else:
        axis, f, a, b, nf, na, nb = 2, dz, dx, dy, nz, nx, ny
    way = 1.0 if f > 0.0 else -1.0
    z = max(abs(f), 1e-6)
    nf, na, right = way * nf, -way * na, -way * a
    plane = nf * z + na * right + nb * b
    face = 6 * int(lamp[14]) + 2 * axis + (1 if f < 0.0 else 0)
    u = (right / z / _REACH + 1.0) * 0.5 * side - 0.5
    v = (b / z / _REACH + 1.0) * 0.5 * side - 0.5
    i, j = int(u), int(v)
    p, q = u - i, v - j
    total = 0.0
    for k in range(-1, 3):  # the mean of 3 by 3 pixels around the point, by parts of pixels
        weight = (1.0 - q if k == -1 else q if k == 2 else 1.0) / 9.0
        slope = nf + nb * ((j + k + 0.5) * 2.0 / side - 1.0) * _REACH
        for h in range(-1, 3):
            here = slope + na * ((i + h + 0.5) * 2.0 / side - 1.0) * _REACH
            there = z if here * plane <= 0.0 else min(max(plane / here, 0.8 * z), 1.25 * z)
            if cubes[face, j + k, i + h] >= there * (1.0 - 1.0 / side) - _BIAS:
                total += weight * (1.0 - p if h == -1 else p if h == 2 else 1.0)
    return total


@njit(nogil=True)
def bulbs(
    image: np.ndarray,
    distance: np.ndarray,
    rows: np.ndarray,
    pos: np.ndarray,
    axes: np.ndarray,
    left: float,
    bottom: float,
    pixel: float,
) -> None:
    """Draws lamps into an image as round bulbs, as bright as they light the camera, in place.

    Args:
        image, distance: (h, w, 3) luminance, (h, w) along the optical axis [m].
        rows: See Lamps.
        pos, axes: (3,) of the camera, (3, 3) its axes as columns, world.
        left, bottom, pixel: Of the image at unit distance.
    """
    h, w = distance.shape
    for k in range(rows.shape[0]):
        lamp = rows[k]
        dx, dy, dz = lamp[0] - pos[0], lamp[1] - pos[1], lamp[2] - pos[2]
        away = math.sqrt(dx * dx + dy * dy + dz * dz)
        z = dx * axes[0, 0] + dy * axes[1, 0] + dz * axes[2, 0]
        if lamp[15] > 0.0 or z < 2.0 * BULB:
            continue
        level = illuminance(lamp, pos[0], pos[1], pos[2], dx / away, dy / away, dz / away)
        cu = (-(dx * axes[0, 1] + dy * axes[1, 1] + dz * axes[2, 1]) / z - left) / pixel - 0.5
        cv = ((dx * axes[0, 2] + dy * axes[1, 2] + dz * axes[2, 2]) / z - bottom) / pixel - 0.5
        radius = max(BULB / (z * pixel), 0.8)  # small ones are as bright in all
        bright = level / (math.pi * (radius * pixel) ** 2)
        reach = radius + 0.5
        if level <= 0.0 or not (-reach < cu < w + reach and -reach < cv < h + reach):
            continue
        for v in range(max(int(cv - reach), 0), min(int(cv + reach) + 2, h)):
            for u in range(max(int(cu - reach), 0), min(int(cu + reach) + 2, w)):
                coverage = min(max(reach - math.hypot(u - cu, v - cv), 0.0), 1.0)
                if coverage > 0.0 and distance[v, u] > z - BULB:
                    for c in range(3):
                        image[v, u, c] += coverage * (bright * lamp[6 + c] - image[v, u, c])
