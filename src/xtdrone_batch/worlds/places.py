"""Places where vehicles are free of objects and of each other."""

import math

import numpy as np
import numpy.typing as npt

from sensor_models.streams import next_uniform
from xtdrone_dynamics.compiled import njit

from ..errors import BatchError
from ..physics.contacts import distance, near
from ..physics.meshes import MeshTables, mesh_distance, mesh_tables
from ..randomisation import seed_streams
from ..scenes import MESH, Scenes

TRIES = 500  # places for one vehicle
_SALT = 0x3C6EF372  # so that places are independent of the world's and the starts' numbers


def free_places(
    scenes: Scenes,
    radii: npt.ArrayLike,
    *,
    environments: int = 0,
    region: npt.ArrayLike | None = None,
    clearance: float = 0.3,
    seed: int = 0,
    first: int = 0,
) -> np.ndarray:
    """Random places for the vehicles of each environment.

    Those of environment e depend on the seed, on e and on what stands there alone.

    Args:
        scenes: Scenes of the environments.
        radii: (V,) of spheres about the vehicles [m].
        environments: How many, where scenes have one for all; 0 for as many as scenes have.
        region: (2, 3) lowest and highest place [m]; None for the bounds of each environment.
        clearance: Least distance of a sphere to an object, and of two spheres [m].
        seed: Seed of the random numbers.
        first: Number of the first environment.

    Returns:
        (E, V, 4) x, y, z [m] and yaw [rad].

    Raises:
        BatchError: A vehicle finds no place.
    """
    total = environments or len(scenes.objects)
    sizes = np.atleast_1d(np.asarray(radii, dtype=float))
    limits = np.array(
        np.broadcast_to(scenes.bounds if region is None else region, (total, 2, 3)), dtype=float
    )
    streams = np.zeros((total, 4), dtype=np.uint64)
    seed_streams(seed ^ _SALT, first, streams)
    out = np.zeros((total, len(sizes), 4))
    lost = np.zeros(total, dtype=np.int64)
    _draw(
        mesh_tables(scenes.meshes),
        scenes.objects,
        limits,
        sizes,
        float(clearance),
        streams,
        out,
        lost,
    )
    if lost.any():
        e = int(np.argmax(lost > 0))
        raise BatchError(
            f"environment {first + e} has no free place for {lost[e]} of "
            f"{len(sizes)} vehicles with a clearance of {clearance:g} m: give a wider "
            "region or a smaller clearance"
        )
    return out


@njit(nogil=True)
def _draw(
    tables: MeshTables,
    objects: np.ndarray,
    limits: np.ndarray,
    radii: np.ndarray,
    clearance: float,
    streams: np.ndarray,
    out: np.ndarray,
    lost: np.ndarray,
) -> None:
    """Draws places until one is free, for each vehicle; counts those that find none."""
    for e in range(out.shape[0]):
        stream, scene = streams[e], objects[e if objects.shape[0] > 1 else 0]
        for v in range(out.shape[1]):
            place, free = out[e, v], False
            for _ in range(TRIES):
                for k in range(3):
                    place[k] = limits[e, 0, k] + next_uniform(stream) * (
                        limits[e, 1, k] - limits[e, 0, k]
                    )
                place[3] = math.pi * (2.0 * next_uniform(stream) - 1.0)
                if _is_free(tables, scene, place, radii[v] + clearance) and _is_apart(
                    out[e], radii, v, clearance
                ):
                    free = True
                    break
            lost[e] += 0 if free else 1


@njit
def _is_free(tables: MeshTables, scene: np.ndarray, place: np.ndarray, radius: float) -> bool:
    """Whether a sphere touches no object."""
    for i in range(scene.shape[0]):
        obj = scene[i]
        if near(tables, obj, place[0], place[1], place[2], radius):
            if obj.kind == MESH:
                gap, _, _, _ = mesh_distance(
                    tables, obj, place[0], place[1], place[2], math.inf, math.inf
                )
            else:
                gap, _, _, _ = distance(obj, place[0], place[1], place[2])
            if gap < radius:
                return False
    return True


@njit
def _is_apart(places: np.ndarray, radii: np.ndarray, v: int, clearance: float) -> bool:
    """Whether vehicle v keeps its distance from those before it."""
    for j in range(v):
        min_distance = radii[v] + radii[j] + clearance
        dx, dy = places[v, 0] - places[j, 0], places[v, 1] - places[j, 1]
        dz = places[v, 2] - places[j, 2]
        if dx * dx + dy * dy + dz * dz < min_distance * min_distance:
            return False
    return True
