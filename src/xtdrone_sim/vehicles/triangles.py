"""Triangles of a mesh file, as its readers give them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

MAX_FILE = 256 << 20  # size of a file [bytes]


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles of one colour or texture."""

    points: np.ndarray  # (V, 3) [m]
    faces: np.ndarray  # (T, 3) indices of points, counter-clockwise from outside
    colour: tuple | None = None  # RGBA, where the file has one
    texture: Path | None = None
    uv: np.ndarray | None = None  # (U, 2) texture coordinates, from the lower left corner
    uv_faces: np.ndarray | None = None  # (T, 3) indices of uv
    name: str = ""  # name by which SDF's <submesh> selects it
