"""How surfaces reflect: materials of SDF, and water, as rows of the table that shade() takes."""

import math

import mujoco
import numpy as np

_MATT = (0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
_WATER = (0.02, 0.06, 0.0, 0.0, 0.035, 0.0)
_WORN = 0.4  # variation of a ground's albedo, over metres
_LEVEL = 0.01  # a plane within this of the water's level is its surface [m]


def table_of(model: mujoco.MjModel, water: float) -> tuple[np.ndarray, np.ndarray]:
    """Surfaces of a model, and which one each of its geoms has.

    Args:
        model: With the materials of mujoco_shapes.
        water: Height of the water's surface [m]; -inf without.

    Returns:
        (K, 6) specular, roughness, metalness, emission, slope of ripples and variation over metres,
        the first row matt;
        and (G,) rows. Where K is 1 all are matt.
    """
    rows, of_geom = [_MATT], np.zeros(model.ngeom, dtype=np.int32)
    for m in range(model.nmat):
        if model.mat_roughness[m] >= 0.0:
            of_geom[model.geom_matid == m] = len(rows)
            rows.append((model.mat_specular[m], model.mat_roughness[m],
                         max(model.mat_metallic[m], 0.0), model.mat_emission[m], 0.0, 0.0))
    ground = (model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE) & (model.geom_bodyid == 0)
    worn = ground & (of_geom == 0)
    if worn.any():
        of_geom[worn] = len(rows)
        rows.append((*_MATT[:5], _WORN))
    if water > -math.inf:
        surface = ground & (abs(model.geom_pos[:, 2] - water) < _LEVEL)
        of_geom[surface] = len(rows)
        rows.append(_WATER)
    return np.array(rows), of_geom
