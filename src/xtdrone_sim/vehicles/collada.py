"""Meshes of COLLADA files (.dae): triangles, colours and textures, as Gazebo's loader has them.

Read are triangles, polylists and polygons of the nodes of the scene, also those of a skinned mesh
in its rest pose. Lengths are scaled by the file's <unit>; <up_axis> has no effect, as in Gazebo.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from xtdrone_core import files
from xtdrone_core.errors import shown
from xtdrone_dynamics import quaternion

from ..errors import SdfError
from .sdf_file import Element
from .triangles import MAX_FILE, Mesh

_GEOMETRIES = "instance_geometry", "instance_controller"
_MAX_DEPTH = 64  # deepest nesting of nodes


def read_collada(path: Path) -> list[Mesh]:
    """Reads the meshes of a file, one for each material of each geometry in the scene.

    Raises:
        SdfError: Not COLLADA, or nothing that can be drawn in it.
    """
    # Exporters leave a bare & in the names of files, so it is read as far as it can be.
    data = files.read_bytes(path, "COLLADA file", MAX_FILE, SdfError)
    root = files.parse_xml(data, str(path), SdfError, huge_tree=True, recover=True)
    try:
        meshes = list(_Document(path, root).meshes())
    except (AttributeError, StopIteration, *files.DAMAGED) as error:
        raise SdfError(f"{path}: a damaged COLLADA file: {shown(repr(error))}") from error
    if not meshes:
        raise SdfError(f"{path}: a COLLADA file without triangles")
    return meshes


class _Document:
    """A COLLADA file whose elements are found by their ids."""

    def __init__(self, path: Path, root: Element) -> None:
        for element in root.iter("*"):
            element.tag = etree.QName(element).localname
        self._path, self._root = path, root
        self._by_id: dict[str, Element] = {}
        for element in root.iter("*"):  # where two have one id, the outer one is meant
            if element.get("id"):
                self._by_id.setdefault(element.get("id"), element)
        unit = root.find("asset/unit")
        self._metre = 1.0 if unit is None else float(unit.get("meter", 1.0))

    def meshes(self) -> Iterator[Mesh]:
        """Yields all meshes of the scene, in metres."""
        scene = self._root.find("scene/instance_visual_scene")
        top = (
            self._root.find("library_visual_scenes/visual_scene")
            if scene is None
            else self._target(scene, "url")
        )
        scale = np.diag([self._metre] * 3 + [1.0])
        for node in top.iterchildren("node"):
            yield from self._node(node, scale, 0)

    def _target(self, element: Element, attribute: str) -> Element:
        return self._by_id[element.get(attribute).removeprefix("#")]

    def _node(self, node: Element, outer: np.ndarray, depth: int) -> Iterator[Mesh]:
        if depth > _MAX_DEPTH:
            raise ValueError("nodes that contain themselves")
        placed = outer
        for child in node:
            if child.tag in _TRANSFORMS:
                placed = placed @ _TRANSFORMS[child.tag](np.array(child.text.split(), dtype=float))
        for child in node:
            if child.tag == "node":
                yield from self._node(child, placed, depth + 1)
            elif child.tag == "instance_node":
                yield from self._node(self._target(child, "url"), placed, depth + 1)
            elif child.tag in _GEOMETRIES:
                yield from self._geometry(child, placed)

    def _geometry(self, instance: Element, placed: np.ndarray) -> Iterator[Mesh]:
        geometry = self._target(instance, "url")
        if geometry.tag == "controller":
            skin = geometry.find("skin")
            shape = skin.findtext("bind_shape_matrix")
            placed = placed if shape is None else placed @ _matrix(np.array(shape.split(), float))
            geometry = self._by_id[skin.get("source").removeprefix("#")]
        bound = {entry.get("symbol"): entry for entry in instance.iter("instance_material")}
        for part in geometry.iterchildren("mesh"):
            name = geometry.get("name", geometry.get("id", ""))
            for primitive in part.iterchildren("triangles", "polylist", "polygons"):
                mesh = self._primitive(
                    primitive, placed, bound.get(primitive.get("material")), name
                )
                if mesh is not None:
                    yield mesh

    def _primitive(
        self, primitive: Element, placed: np.ndarray, bound: Element | None, name: str
    ) -> Mesh | None:
        inputs = {entry.get("semantic"): entry for entry in reversed(primitive.findall("input"))}
        stride = 1 + max(int(entry.get("offset")) for entry in primitive.findall("input"))
        rows, counts = _indices(primitive, stride)
        corners = _triangles(counts)
        if len(corners) == 0:
            return None
        vertex = inputs["VERTEX"]
        positions = next(
            entry
            for entry in self._target(vertex, "source").iterchildren("input")
            if entry.get("semantic") == "POSITION"
        )
        points = self._numbers(positions)[:, :3] @ placed[:3, :3].T + placed[:3, 3]
        faces = rows[:, int(vertex.get("offset"))][corners]
        if np.linalg.det(placed[:3, :3]) < 0.0:
            faces, corners = faces[:, ::-1], corners[:, ::-1]
        colour, texture = self._look(bound)
        uv = uv_faces = None
        if texture is not None and "TEXCOORD" in inputs:
            uv = self._numbers(inputs["TEXCOORD"])[:, :2]
            uv_faces = rows[:, int(inputs["TEXCOORD"].get("offset"))][corners]
        return Mesh(points, faces, colour, texture if uv is not None else None, uv, uv_faces, name)

    def _numbers(self, reference: Element) -> np.ndarray:
        """Returns the rows of the array that an <input> refers to."""
        source = self._target(reference, "source")
        accessor = source.find("technique_common/accessor")
        values = np.array((source.findtext("float_array") or "").split(), dtype=float)
        stride = int(accessor.get("stride", 1))
        return values[: len(values) // stride * stride].reshape(-1, stride)

    def _look(self, bound: Element | None) -> tuple[tuple[float, ...] | None, Path | None]:
        """Returns colour (RGBA, None where the file has none) and texture of a bound material."""
        material = (
            None if bound is None else self._by_id.get(bound.get("target", "").removeprefix("#"))
        )
        effect = None if material is None else self._target(material.find("instance_effect"), "url")
        shading = None if effect is None else next(effect.iter("diffuse"), None)
        if shading is None:
            return None, None
        if shading.find("color") is not None:
            return tuple(map(float, shading.findtext("color").split())), None
        texture = shading.find("texture")
        return None, None if texture is None else self._image(effect, texture.get("texture"))

    def _image(self, effect: Element, name: str) -> Path | None:
        """Returns the file of a texture: directly, or by sampler and surface."""
        parameters = {entry.get("sid"): entry for entry in effect.iter("newparam")}
        for tag in ("sampler2D/source", "surface/init_from"):
            entry = parameters.get(name)
            text = None if entry is None else entry.findtext(tag)
            name = (text or name).strip()
        image = self._by_id.get(name)
        uri = None if image is None else (image.findtext("init_from") or "").strip()
        if not uri:
            return None
        last = uri.replace("\\", "/").rpartition("/")[2]
        beside = self._path.parent
        for path in (
            beside / uri.removeprefix("file://"),
            beside / last,
            beside.parent / "materials" / "textures" / last,
        ):
            if path.is_file():
                return path.resolve()
        return None


def _indices(primitive: Element, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns rows of indices (corners, stride) of all polygons, and each number of corners."""
    lists = [
        np.array((entry.text or "").split(), dtype=np.int64).reshape(-1, stride)
        for entry in primitive.iterchildren("p")
    ]
    rows = np.concatenate(lists) if lists else np.zeros((0, stride), dtype=np.int64)
    if primitive.tag == "polygons":
        return rows, np.array([len(entry) for entry in lists])
    counts = (primitive.findtext("vcount") or "").split()
    return rows, np.array(counts, dtype=np.int64) if counts else np.full(len(rows) // 3, 3)


def _triangles(counts: np.ndarray) -> np.ndarray:
    """Returns the numbers of the corners (T, 3) of polygons that are cut as fans."""
    if (counts == 3).all():
        return np.arange(3 * len(counts)).reshape(-1, 3)
    triangles, first = [], 0
    for count in counts.tolist():
        triangles += [(first, first + k, first + k + 1) for k in range(1, count - 1)]
        first += count
    return np.array(triangles, dtype=np.int64).reshape(-1, 3)


def _matrix(values: np.ndarray) -> np.ndarray:
    return values.reshape(4, 4)


def _translation(values: np.ndarray) -> np.ndarray:
    out = np.eye(4)
    out[:3, 3] = values
    return out


def _rotation(values: np.ndarray) -> np.ndarray:
    axis, angle = values[:3] / (np.linalg.norm(values[:3]) or 1.0), np.radians(values[3])
    out = np.eye(4)
    out[:3, :3] = quaternion.to_matrix_array(
        np.array([[*(axis * np.sin(0.5 * angle)), np.cos(0.5 * angle)]])
    )[0]
    return out


_TRANSFORMS: dict[str, Callable[[Any], np.ndarray]] = {
    "matrix": _matrix,
    "translate": _translation,
    "rotate": _rotation,
    "scale": lambda values: np.diag([*values, 1.0]),
}
