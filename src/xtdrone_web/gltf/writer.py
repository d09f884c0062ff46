"""glTF 2.0 files in one piece (GLB), without compression."""

import io
import json
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from .geometry import Triangles

ROOT = 0  # number of the node above all others
Part = tuple[Triangles, np.ndarray | None, int]  # see Glb.mesh()
_FLOAT, _ARRAY = 5126, 34962
_JPEG_QUALITY = 88
_Z_UP = [-(0.5**0.5), 0.0, 0.0, 0.5**0.5]  # glTF's y is up, ours is z


class Glb:
    """A file that is being put together."""

    def __init__(self) -> None:
        """Begins with a root node that turns our z up to glTF's y up."""
        self._data = bytearray()
        self._json: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "xtdrone"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"name": "z_up", "rotation": _Z_UP}],
            "meshes": [],
            "materials": [],
            "accessors": [],
            "bufferViews": [],
            "buffers": [{}],
        }

    def material(
        self,
        roughness: float,
        metallic: float,
        image: np.ndarray | None = None,
        alpha: float = 1.0,
        name: str = "",
        colour: np.ndarray | None = None,
    ) -> int:
        """Adds a material; returns its number.

        Args:
            roughness, metallic: 0 to 1.
            image: (h, w, 3) uint8 texture, or None for the colours of the corners.
            alpha: Opacity.
            name: Name of the material, which may get a texture later.
            colour: (3,) linear, of all of it.
        """
        surface: dict[str, Any] = {"roughnessFactor": roughness, "metallicFactor": metallic}
        if image is not None:
            surface["baseColorTexture"] = {"index": self._texture(image)}
        if alpha < 1.0 or colour is not None:
            linear = [1.0, 1.0, 1.0] if colour is None else colour.tolist()
            surface["baseColorFactor"] = [*linear, alpha]
        material: dict[str, Any] = {"pbrMetallicRoughness": surface}
        if name:
            material["name"] = name
        if alpha < 1.0:
            material["alphaMode"] = "BLEND"
        self._json["materials"].append(material)
        return len(self._json["materials"]) - 1

    def mesh(self, parts: Sequence[Part]) -> int:
        """Adds a mesh, which any number of nodes may show; returns its number.

        Args:
            parts: Triangles, colours of their corners (3 T, 3) linear or None, and material.
        """
        self._json["meshes"].append({"primitives": [self._primitive(*part) for part in parts]})
        return len(self._json["meshes"]) - 1

    def node(
        self,
        name: str,
        mesh: int | None = None,
        pos: Sequence[float] = (0.0, 0.0, 0.0),
        quat: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
        parent: int = ROOT,
        **more: Any,  # values of JSON
    ) -> int:
        """Adds a node below another one; returns its number.

        Args:
            name: Name of the node.
            mesh: Mesh that it shows.
            pos, quat: Its pose [m], xyzw.
            parent: The other one.
            more: Further properties of glTF.
        """
        nodes = self._json["nodes"]
        nodes.append(
            {
                "name": name,
                "translation": list(map(float, pos)),
                "rotation": list(map(float, quat)),
                **more,
            }
        )
        if mesh is not None:
            nodes[-1]["mesh"] = mesh
        nodes[parent].setdefault("children", []).append(len(nodes) - 1)
        return len(nodes) - 1

    def encoded(self) -> bytes:
        """Returns the file."""
        self._json["buffers"] = [{"byteLength": len(self._data)}] if self._data else []
        for name in ("meshes", "materials", "accessors", "bufferViews", "buffers"):
            if not self._json[name]:
                del self._json[name]
        text = json.dumps(self._json, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text
        if self._data:
            chunks += struct.pack("<I4s", len(self._data), b"BIN\0") + bytes(self._data)
        return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks

    def _primitive(
        self, triangles: Triangles, colours: np.ndarray | None, material: int
    ) -> dict[str, Any]:
        attributes = {
            "POSITION": self._floats(triangles.points, _ARRAY, True),
            "NORMAL": self._floats(triangles.normals, _ARRAY),
        }
        surface = self._json["materials"][material]
        if "name" in surface or "baseColorTexture" in surface["pbrMetallicRoughness"]:
            attributes["TEXCOORD_0"] = self._floats(triangles.uv, _ARRAY)
        if colours is not None:
            attributes["COLOR_0"] = self._floats(colours, _ARRAY)
        return {"attributes": attributes, "material": material}

    def _floats(self, values: np.ndarray, target: int | None = None, bounds: bool = False) -> int:
        """Adds an accessor of rows (K, M), or of numbers (K, 1)."""
        values = np.ascontiguousarray(values, dtype="<f4")
        wide = values.shape[1]
        accessor = {
            "bufferView": self._view(values.tobytes(), target),
            "componentType": _FLOAT,
            "count": len(values),
            "type": "SCALAR" if wide == 1 else f"VEC{wide}",
        }
        if bounds:
            accessor |= {"min": values.min(axis=0).tolist(), "max": values.max(axis=0).tolist()}
        self._json["accessors"].append(accessor)
        return len(self._json["accessors"]) - 1

    def _view(self, data: bytes, target: int | None = None) -> int:
        self._data += b"\0" * (-len(self._data) % 4)
        view = {"buffer": 0, "byteOffset": len(self._data), "byteLength": len(data)}
        self._json["bufferViews"].append(view | ({"target": target} if target else {}))
        self._data += data
        self._data += b"\0" * (-len(self._data) % 4)
        return len(self._json["bufferViews"]) - 1

    def _texture(self, image: np.ndarray) -> int:
        from PIL import Image

        file = io.BytesIO()
        Image.fromarray(np.ascontiguousarray(image, dtype=np.uint8)).save(
            file, "JPEG", quality=_JPEG_QUALITY
        )
        for name in ("images", "textures"):
            self._json.setdefault(name, [])
        self._json.setdefault(
            "samplers", [{"magFilter": 9729, "minFilter": 9987, "wrapS": 10497, "wrapT": 10497}]
        )
        self._json["images"].append(
            {"bufferView": self._view(file.getvalue()), "mimeType": "image/jpeg"}
        )
        self._json["textures"].append({"source": len(self._json["images"]) - 1, "sampler": 0})
        return len(self._json["textures"]) - 1


def without(glb: bytes, name: str) -> bytes:
    """Returns a glTF file in which nothing shows the nodes of this name; their data stays in it."""
    length = int.from_bytes(glb[12:16], "little")
    described = json.loads(glb[20 : 20 + length])
    hidden = {k for k, node in enumerate(described["nodes"]) if node["name"] == name}
    for node in described["nodes"]:
        if "children" in node:
            node["children"] = [k for k in node["children"] if k not in hidden]
    text = json.dumps(described, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    rest = glb[20 + length :]
    return b"".join(
        (
            glb[:8],
            (20 + len(text) + len(rest)).to_bytes(4, "little"),
            len(text).to_bytes(4, "little"),
            glb[16:20],
            text,
            rest,
        )
    )
