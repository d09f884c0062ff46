"""How surfaces reflect: materials of SDF, and water, as rows of the table that shade() takes."""

import math

import mujoco
import numpy as np

from . import leaves

_MATT = (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
_WATER = (0.02, 0.06, 0.0, 0.0, 0.035, 0.0, 0.0, 0.0)
_LEAVES = (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0)
_LAWN = 0.22  # relief of blades on a plane of one colour, in that of leaves
_GRASS = 0.15  # film of water on it: it lets rain through
_ROUND = (
    mujoco.mjtGeom.mjGEOM_SPHERE,
    mujoco.mjtGeom.mjGEOM_ELLIPSOID,
    mujoco.mjtGeom.mjGEOM_CYLINDER,
    mujoco.mjtGeom.mjGEOM_CAPSULE,
)
_WORN = 0.4  # variation of a ground's albedo, over metres
_LEVEL = 0.01  # a plane within this of the water's level is its surface [m]


def table_of(model: mujoco.MjModel, water: float) -> tuple[np.ndarray, np.ndarray]:
    """Surfaces of a model, and which one each of its geoms has.

    Args:
        model: With the materials of mujoco_shapes.
        water: Height of the water's surface [m]; -inf without.

    Returns:
        (K, 8) specular, roughness, metalness, emission, slope of ripples, variation over metres,
        relief of leaves, and how much of a film of water rain leaves on it, the first row
        matt; and (G,) rows. Where K is 1 all are matt.
    """
    rows, of_geom = [_MATT], np.zeros(model.ngeom, dtype=np.int32)
    for m in range(model.nmat):
        if model.mat_roughness[m] >= 0.0:
            of_geom[model.geom_matid == m] = len(rows)
            rows.append(
                (
                    model.mat_specular[m],
                    model.mat_roughness[m],
                    max(model.mat_metallic[m], 0.0),
                    model.mat_emission[m],
                    0.0,
                    0.0,
                    0.0,
                    1.0,
                )
            )
    ground = (model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE) & (model.geom_bodyid == 0)
    matt = of_geom == 0
    fixed = (model.body_weldid == 0) & (model.body_mocapid < 0)
    green = np.array([leaves.is_green(colour_of(model, k)) for k in range(model.ngeom)])
    plain = model.geom_matid < 0
    for which, row in (
        (ground & ~green, (*_MATT[:5], _WORN, 0.0, 1.0)),
        (ground & green & plain, (*_MATT[:5], _WORN, _LAWN, _GRASS)),
        (ground & green & ~plain, (*_MATT[:5], _WORN, 0.0, _GRASS)),
        (np.isin(model.geom_type, _ROUND) & green & fixed[model.geom_bodyid], _LEAVES),
    ):
        if (matt & which).any():
            of_geom[matt & which] = len(rows)
            rows.append(row)
    if water > -math.inf:
        surface = ground & (abs(model.geom_pos[:, 2] - water) < _LEVEL)
        of_geom[surface] = len(rows)
        rows.append(_WATER)
    return np.array(rows), of_geom


def colour_of(model: mujoco.MjModel, geom: int) -> np.ndarray:
    """Mean colour (3,) of a geom, sRGB, 0..1."""
    colour = np.array(model.geom_rgba[geom, :3], dtype=float)
    material = model.geom_matid[geom]
    texture = (
        model.mat_texid[material, mujoco.mjtTextureRole.mjTEXROLE_RGB] if material >= 0 else -1
    )
    if texture >= 0:
        first = model.tex_adr[texture]
        count = 3 * model.tex_width[texture] * model.tex_height[texture]
        mean = model.tex_data[first : first + count].reshape(-1, 3).mean(axis=0)
        colour = colour * mean / 255.0
    return colour
