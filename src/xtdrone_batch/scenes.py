"""The objects of many environments as record arrays, for contacts, cameras and lidars.

World frame of each environment: ENU, SI units, quaternions xyzw. Environments are padded to the
one with the most objects; a padding record is zero.
"""

from dataclasses import dataclass

import numpy as np

NO_OBJECT, PLANE, BOX, SPHERE, CYLINDER, MESH = range(6)
KINDS = {"plane": PLANE, "box": BOX, "sphere": SPHERE, "cylinder": CYLINDER, "mesh": MESH}


def object_dtype(real: type = np.float32) -> np.dtype:
    """Record of an object, (E, O)."""
    return np.dtype(
        [
            ("kind", "i4"),  # value of KINDS, or NO_OBJECT
            ("mesh", "i4"),  # index into Scenes.meshes
            ("semantic", "i4"),  # class of the object, as in a label image; 0 = none
            ("moving", "i4"),  # whether vel and ang_vel move it
            ("pos", real, (3,)),  # origin of its frame [m]
            ("quat", real, (4,)),  # xyzw, object to world
            (
                "size",
                real,
                (3,),
            ),  # as Shape.size: box and plane: sides (a plane's third is 0, it is
            # solid below); sphere: radius; cylinder: radius, length along z; mesh: scale
            ("colour", real, (3,)),  # RGB, 0..1
            ("vel", real, (3,)),  # world [m/s]
            ("ang_vel", real, (3,)),  # world [rad/s]
        ],
        align=True,
    )


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """A mesh that objects share."""

    points: np.ndarray  # (V, 3) [m], before the object's scale
    faces: np.ndarray  # (T, 3) indices of points, counter-clockwise from outside


@dataclass(frozen=True, eq=False)
class Scenes:
    """What stands, and moves, in E environments."""

    objects: np.ndarray  # (E, O) object_dtype
    bounds: np.ndarray  # (E, 2, 3) lowest and highest corner of each environment [m]
    meshes: tuple[TriangleMesh, ...] = ()
    semantics: tuple[str, ...] = ()  # names of the classes 1, 2, ...
