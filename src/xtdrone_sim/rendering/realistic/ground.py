"""The ground beyond the edge of a world's plane: it goes on to the horizon."""

import math

import mujoco
import numpy as np

from xtdrone_dynamics.compiled import njit

from . import surfaces

_MIN = 50.0  # half a side of a plane that is a ground [m]


def ground_of(
    model: mujoco.MjModel, surface_of: np.ndarray
) -> tuple[float, np.ndarray, int] | None:
    """Height [m], mean colour (3,) uint8 and surface of the largest level plane; None without."""
    planes = [
        k
        for k in range(model.ngeom)
        if model.geom_type[k] == mujoco.mjtGeom.mjGEOM_PLANE
        and model.geom_bodyid[k] == 0
        and model.geom_group[k] < 3
        and model.geom_size[k, :2].min() >= _MIN
        and model.geom_quat[k, 0] > 0.9999
    ]
    if not planes:
        return None
    plane = max(planes, key=lambda k: model.geom_size[k, 0])
    colour = 255.0 * surfaces.colour_of(model, plane)
    return (
        float(model.geom_pos[plane, 2]),
        np.clip(np.rint(colour), 0, 255).astype(np.uint8),
        int(surface_of[plane]),
    )


@njit(nogil=True)
def extend(
    albedo: np.ndarray,
    distance: np.ndarray,
    ids: np.ndarray,
    level: float,
    colour: np.ndarray,
    surface: int,
    height: float,
    rise: np.ndarray,
    left: float,
    bottom: float,
    pixel: float,
    far: float,
) -> None:
    """Fills, in place, what nothing was drawn in, where a level plane would be seen.

    Args:
        albedo, distance, ids: Albedo, distance and ids of the image, see shade().
        level, colour, surface: Level, colour and surface of the plane, see ground_of().
        height: Height of the camera [m].
        rise: (3,) how much forward, left and up of the camera point upwards.
        left, bottom, pixel: See normals_of().
        far: Nothing is filled beyond this distance along the optical axis [m].
    """
    for v in range(distance.shape[0]):
        for u in range(distance.shape[1]):
            if math.isfinite(distance[v, u]):
                continue
            slope = (
                rise[0]
                - (left + (u + 0.5) * pixel) * rise[1]
                + (bottom + (v + 0.5) * pixel) * rise[2]
            )
            if (level - height) * slope <= 0.0:
                continue
            z = (level - height) / slope
            if z < far:
                distance[v, u] = z
                for c in range(3):
                    albedo[v, u, c] = colour[c]
                if ids.shape[0] > 0:
                    ids[v, u] = surface
