"""Shapes of SDF as MuJoCo's geoms, with meshes, heightmaps, colours and textures."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from ..vehicles.look import Look
from ..vehicles.mesh import MeshSource, convex_pieces
from ..vehicles.shapes import Shape
from ..vehicles.triangles import Mesh
from . import materials

_TYRE = 1000  # the highest priority of contacts
COLLISION_GROUP = 3  # geom group that is not drawn
_VISUAL_GROUP = 1
_BELOW = 10.0  # thickness of the ground below a heightmap [m]
_THIN = 1e-3  # least height of a heightmap [m]
_KINDS = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "plane": mujoco.mjtGeom.mjGEOM_PLANE,
    "mesh": mujoco.mjtGeom.mjGEOM_MESH,
    "heightmap": mujoco.mjtGeom.mjGEOM_HFIELD,
}
_CONVEX = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
_SHELL = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL  # also fits what has no volume
MAX_BATCH = 12_000  # geoms that are added to a scene at once
_PREFIX = "asset/"  # prefix of the names of assets, which a batch puts before the names in it
_FACES = (0, 1, 2, 0, 2, 3)  # two triangles of the four corners of a side


class _Batch:
    """Adds geoms to the world's body in batches.

    MjSpec lists all elements of its tree anew for each one that is added, so a world of a hundred
    thousand pieces would take minutes. A batch has a tree of its own until it is attached.
    """

    def __init__(self, scene: mujoco.MjSpec) -> None:
        self._scene = scene
        self._geoms: list[tuple[mujoco.MjsGeom, str]] = []  # geoms and their names
        self._body: mujoco.MjsBody | None = None

    def add(self, name: str, make: Callable[[mujoco.MjsBody], mujoco.MjsGeom]) -> mujoco.MjsGeom:
        """Makes a geom in the batch; attach() names it, and puts _PREFIX before its assets."""
        if len(self._geoms) >= MAX_BATCH:
            self.attach()
        if self._body is None:
            self._part = mujoco.MjSpec()
            self._body = self._part.worldbody
            self._frame: mujoco.MjsFrame = self._body.add_frame()
        geom = make(self._body)
        geom.set_frame(self._frame)
        self._geoms.append((geom, name))
        return geom

    def attach(self) -> None:
        """Moves the geoms to the scene."""
        if self._geoms:
            self._scene.worldbody.attach_frame(self._frame, _PREFIX, "")
            for geom, name in self._geoms:
                geom.name = name  # without the prefix
            self._geoms, self._body = [], None


class Shapes:
    """Adds shapes to a scene; each mesh, heightmap and texture is an asset once."""

    def __init__(
        self,
        scene: mujoco.MjSpec,
        seen: bool,
        picture: Callable[[str], np.ndarray] = materials.picture,
    ) -> None:
        """Adds to a scene; see mujoco_scene.build() for `seen` and `picture`."""
        self._scene, self._seen, self._draw = scene, seen, picture
        self._assets: dict[object, str] = {}  # name of each asset, by what it was made of
        # Asset and centre of the convex pieces of a mesh, by mesh and scale.
        self._in_pieces: dict[object, list[tuple[str, np.ndarray]]] = {}
        self._names: set[str] = set()
        self._batch = _Batch(scene)

    def finish(self) -> None:
        """Must be called after the last shape."""
        self._batch.attach()

    def add(self, body: mujoco.MjsBody, name: str, shape: Shape, fixed: bool = False) -> None:
        """Adds a shape to a body of the scene.

        MuJoCo's contacts take the convex hull of a mesh. What is fixed to the world consists of
        convex pieces instead, so that one can fly through its doors; rays see the mesh itself.

        Args:
            body: Body of the scene.
            name: Name of the collision, unique in the scene.
            shape: In the frame of the body.
            fixed: Whether the body never moves.
        """
        if shape.collides:
            if shape.kind == "mesh" and fixed and not self._seen:
                self._add_pieces(body, name, shape)
            elif shape.kind == "mesh":
                whole = self._mesh(_joined(shape), shape)
                geom = self._geom(body, shape, meshname=whole)
                if fixed:
                    geom.contype = geom.conaffinity = 0
                self._collide(geom, name)
            else:
                geom = self._primitive(body, shape)
                if shape.kind == "plane":  # endless for rays as for contacts, as in Gazebo
                    geom.size = [0.0, 0.0, 1.0]
                if shape.tyre >= 0:  # without friction, which the plant computes
                    geom.condim, geom.priority = 1, _TYRE
                self._collide(geom, name)
        elif self._seen:
            for geom in self._visual(body, shape):
                geom.group = _VISUAL_GROUP
                geom.contype = geom.conaffinity = 0

    def _collide(self, geom: mujoco.MjsGeom, name: str) -> None:
        geom.name, geom.group = self._unique(name), COLLISION_GROUP

    def _unique(self, name: str) -> str:
        while name in self._names:  # Gazebo takes two of one name
            name += "'"
        self._names.add(name)
        return name

    def _geom(
        self,
        body: mujoco.MjsBody,
        shape: Shape,
        **more: Any,  # arguments of add_geom()
    ) -> mujoco.MjsGeom:
        # Of two surfaces the more slippery one counts, as in Gazebo; MuJoCo takes the other one,
        # but for priorities.
        slippery = round(_TYRE * max(1.0 - shape.friction, 0.0))
        return body.add_geom(
            type=_KINDS[shape.kind],
            pos=shape.pose.pos,
            quat=wxyz(shape.pose.quat),
            rgba=shape.look.colour,
            priority=min(slippery, _TYRE - 1),
            friction=(shape.friction, 0.005, 0.0001),
            **more,
        )

    def _primitive(self, body: mujoco.MjsBody, shape: Shape) -> mujoco.MjsGeom:
        if shape.kind == "heightmap":
            return self._geom(body, shape, hfieldname=self._heightmap(shape))
        geom = self._geom(body, shape)
        if shape.kind == "box":
            geom.size = [0.5 * side for side in shape.size]
        elif shape.kind == "sphere":
            geom.size = [shape.size[0], 0.0, 0.0]
        elif shape.kind == "cylinder":
            geom.size = [shape.size[0], 0.5 * shape.size[1], 0.0]
        else:
            geom.size = [0.5 * shape.size[0], 0.5 * shape.size[1], 1.0]
        return geom

    def _add_pieces(self, body: mujoco.MjsBody, name: str, shape: Shape) -> None:
        for k, (asset, centre) in enumerate(self._pieces(shape)):
            if body == self._scene.worldbody:
                meshname = asset.removeprefix(_PREFIX)
                geom = self._batch.add(
                    self._unique(f"{name}#{k}"), partial(self._geom, shape=shape, meshname=meshname)
                )
                geom.group = COLLISION_GROUP
            else:
                geom = self._geom(body, shape, meshname=asset)
                self._collide(geom, f"{name}#{k}")
            geom.pos = shape.pose.point(centre)

    def _pieces(self, shape: Shape) -> list[tuple[str, np.ndarray]]:
        """Asset and centre of each convex piece of a mesh; the same for all trees of a forest."""
        key = shape.mesh, tuple(shape.size)
        if key not in self._in_pieces:
            pieces: list[tuple[str, np.ndarray]] = []
            self._in_pieces[key] = pieces
            for part in _mesh_of(shape).parts():
                for points in convex_pieces(_scaled(part, shape.size)):
                    centre = points.mean(axis=0)  # MuJoCo keeps points in single precision
                    pieces.append((self._add_mesh(points - centre, None, inertia=_CONVEX), centre))
        return self._in_pieces[key]

    def _visual(self, body: mujoco.MjsBody, shape: Shape) -> list[mujoco.MjsGeom]:
        if shape.kind == "mesh":
            return [self._part(body, shape, part) for part in _mesh_of(shape).parts()]
        look = shape.look
        geom = self._primitive(body, shape)
        if look.texture is not None:
            geom.material = self._picture(look)
        elif look.script:
            geom.material = self._procedural(look, shape.kind != "box")
        elif look.surface:
            geom.material = self._plain(look)
        if shape.kind == "box" and (look.texture or look.script):
            geom.type = mujoco.mjtGeom.mjGEOM_MESH
            geom.meshname = self._papered_box(shape.size, look.texture is None)
        return [geom]

    def _part(self, body: mujoco.MjsBody, shape: Shape, part: Mesh) -> mujoco.MjsGeom:
        look = shape.look
        geom = self._geom(body, shape, meshname=self._mesh(part, shape))
        if look.given:
            if look.texture is not None:
                geom.material = self._picture(look)
            elif look.script:
                geom.material = self._procedural(look, True)
            elif look.surface:
                geom.material = self._plain(look)
        elif part.texture is not None:
            geom.material = self._picture(replace(look, texture=part.texture))
            geom.rgba = (1.0, 1.0, 1.0, look.colour[3])
        elif part.colour is not None:
            geom.rgba = (*part.colour[:3], part.colour[3] * look.colour[3])
        return geom

    def _new(self, key: object) -> str:
        self._assets[key] = f"{_PREFIX}{len(self._assets)}"
        return self._assets[key]

    def _mesh(self, part: Mesh, shape: Shape) -> str:
        """Name of a mesh asset, made once per mesh and scale."""
        key = id(part), shape.size
        if key not in self._assets:
            scaled = _scaled(part, shape.size)
            self._assets[key] = self._add_mesh(
                scaled.points, scaled.faces, part.uv, part.uv_faces, _SHELL
            )
        return self._assets[key]

    def _add_mesh(
        self,
        points: np.ndarray,
        faces: np.ndarray | None,
        uv: np.ndarray | None = None,
        uv_faces: np.ndarray | None = None,
        inertia: mujoco.mjtMeshInertia | None = None,
    ) -> str:
        name = self._new(object())
        if len(points) < 4:  # MuJoCo wants four
            points = np.concatenate([points, points[:1].repeat(4 - len(points), axis=0) + _THIN])
        more: dict[str, np.ndarray] = {}
        if faces is not None:
            more["userface"] = np.asarray(faces, dtype=np.int32).ravel()
        if uv is not None:  # MuJoCo counts from the picture's upper edge
            more |= {
                "usertexcoord": (uv * (1.0, -1.0) + (0.0, 1.0)).ravel(),
                "userfacetexcoord": np.asarray(uv_faces, dtype=np.int32).ravel(),
            }
        self._scene.add_mesh(name=name, uservert=points.ravel(), inertia=inertia, **more)
        return name

    def _heightmap(self, shape: Shape) -> str:
        key = shape.heights, shape.size
        if key not in self._assets:
            assert shape.heights is not None, "a heightmap without a picture"
            heights = read_heights(shape.heights)
            field = self._scene.add_hfield(name=self._new(key))
            field.nrow, field.ncol = heights.shape
            field.size = [
                0.5 * shape.size[0],
                0.5 * shape.size[1],
                max(shape.size[2], _THIN),
                _BELOW,
            ]
            field.userdata = heights.ravel()
        return self._assets[key]

    def _procedural(self, look: Look, uniform: bool) -> str:
        """Name of a material textured like the Gazebo script of a look.

        Args:
            look: With the name of a script.
            uniform: Whether MuJoCo projects the texture, for shapes without texture coordinates.
        """
        key = look.script, uniform, look.surface
        if key not in self._assets:
            if look.script not in self._assets:
                self._texture(look.script, self._draw(look.script))
            repeat = 2.0 / materials.TILE if uniform else 1.0
            self._material(key, look, look.script, uniform, (repeat, repeat))
        return self._assets[key]

    def _plain(self, look: Look) -> str:
        """Name of a material without texture."""
        key = "", look.surface
        if key not in self._assets:
            self._material(key, look)
        return self._assets[key]

    def _picture(self, look: Look) -> str:
        """Name of a material with the picture of a look."""
        key = look.texture, look.repeats, look.surface
        if key not in self._assets:
            assert look.texture is not None, "a look without a picture"
            if look.texture not in self._assets:
                self._texture(look.texture, materials.load(look.texture))
            self._material(key, look, look.texture, False, look.repeats)
        return self._assets[key]

    def _texture(self, key: object, image: np.ndarray) -> None:
        texture = self._scene.add_texture(
            name=self._new(key),
            type=mujoco.mjtTexture.mjTEXTURE_2D,
            width=image.shape[1],
            height=image.shape[0],
            nchannel=3,
        )
        texture.data = image.tobytes()

    def _material(
        self,
        key: object,
        look: Look,
        texture: object = None,
        uniform: bool = False,
        repeats: tuple[float, float] = (1.0, 1.0),
    ) -> None:
        material = self._scene.add_material(
            name=self._new(key), texuniform=uniform, specular=0.1, shininess=0.1, texrepeat=repeats
        )
        if look.surface:
            material.specular, material.roughness = look.surface.specular, look.surface.roughness
            material.metallic, material.emission = look.surface.metalness, look.surface.emission
            material.shininess = 1.0 - look.surface.roughness
        if texture is not None:
            material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = self._assets[texture]

    def _papered_box(self, size: tuple[float, ...], tiled: bool) -> str:
        """Name of a box mesh with texture coordinates on every side.

        MuJoCo projects a 2D texture along one axis of a primitive box, which stretches it
        over the other sides.

        Args:
            size: Its sides [m].
            tiled: In the scale of our textures, instead of one picture on each side.
        """
        key = size, tiled
        if key not in self._assets:
            half = 0.5 * np.array(size)
            points: list[np.ndarray] = []
            coordinates: list[list[float]] = []
            faces: list[int] = []
            for axis in range(3):
                u, v = (axis + 1) % 3, (axis + 2) % 3
                for side in (1, -1):
                    first = len(points)
                    # The longer horizontal edge of the side runs along the texture's rows.
                    flat = (v, u) if axis == 1 else (u, v)
                    for a, b in ((-1, -1), (side, -side), (1, 1), (-side, side)):
                        point = np.zeros(3)
                        point[axis], point[u], point[v] = side, a, b
                        points.append(point * half)
                        coordinates.append(
                            [point[k] * half[k] / materials.TILE for k in flat]
                            if tiled
                            else [0.5 + 0.5 * point[flat[0]], 0.5 - 0.5 * point[flat[1]]]
                        )
                    faces += [first + k for k in _FACES]
            self._scene.add_mesh(
                name=self._new(key),
                uservert=np.array(points).ravel(),
                usertexcoord=np.array(coordinates).ravel(),
                userface=faces,
                userfacetexcoord=faces,
                inertia=_CONVEX,
            )
        return self._assets[key]


def read_heights(picture: Path) -> np.ndarray:
    """Heights (rows, columns) of a heightmap's picture, 0 to 1; the first row is at the lowest y.

    As in Gazebo the red channel is the height, scaled so that its brightest pixel is at the top.

    Raises:
        SdfError: Not a picture.
    """
    red: np.ndarray = materials.load(picture, shrink=False)[::-1, :, 0].astype(float)
    return red / (red.max() or 1.0)


def wxyz(quat: Sequence[float]) -> tuple[float, float, float, float]:
    """Returns a quaternion xyzw in MuJoCo's order."""
    return quat[3], quat[0], quat[1], quat[2]


def _mesh_of(shape: Shape) -> MeshSource:
    """The mesh of a shape of this kind."""
    assert shape.mesh is not None, f"a shape of kind {shape.kind} without a mesh"
    return shape.mesh


def _joined(shape: Shape) -> Mesh:
    """All parts of a shape's mesh as one."""
    parts = _mesh_of(shape).parts()
    if len(parts) == 1:
        return parts[0]
    firsts = np.cumsum([0, *(len(part.points) for part in parts[:-1])])
    return Mesh(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.faces + first for part, first in zip(parts, firsts, strict=True)]),
    )


def _scaled(part: Mesh, scale: Sequence[float]) -> Mesh:
    faces = part.faces[:, ::-1] if np.prod(scale) < 0.0 else part.faces
    return replace(part, points=part.points * scale, faces=faces)
