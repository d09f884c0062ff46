"""A flight as a USD stage with time samples; z is up, metersPerUnit is 1."""

import contextlib
import importlib
import io
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from xtdrone_core import extras, outputs
from xtdrone_sim.vehicles.pose import Pose
from xtdrone_sim.world import Light

from ..errors import WebError
from ..gltf.writer import ROOT, Part
from .motion import Motion, angles
from .stage import Lens, facing

PxrObject: TypeAlias = Any  # an object of pxr, which is optional and has no annotations
_FOCAL = 24.0  # length of every camera's lens, in tenths of a unit
_LINE = 0.02  # width of a path [m]
_SUN, _DOME, _LAMP = 3.0, 0.6, 200.0  # brightness of the sun, the sky and other lights
_SUN_ANGLE = 0.53  # angle that the sun covers in the sky [deg]
_Z = (0.0, 0.0, 1.0)


def modules() -> ModuleType:
    """Returns the package pxr.

    Raises:
        WebError: It is not installed.
    """
    try:
        for name in (
            "Gf",
            "Kind",
            "Sdf",
            "Tf",
            "Usd",
            "UsdGeom",
            "UsdLux",
            "UsdShade",
            "UsdUtils",
            "Vt",
        ):
            importlib.import_module(f"pxr.{name}")
        return importlib.import_module("pxr")
    except ImportError as error:
        raise WebError(extras.lacking("USD", error, "usd", "give a .glb")) from error


def ours(path: Path) -> bool:
    """Tells whether a USD file was written by this program."""
    pxr = modules()
    with contextlib.suppress(pxr.Tf.ErrorException):
        layer = pxr.Sdf.Layer.OpenAsAnonymous(str(path), metadataOnly=True)
        return layer is not None and layer.comment == outputs.MARK
    return False


class FlightUsd:
    """Implements Stage.

    Meshes are prototypes, abstract prims that nodes refer to. Rotors turn by their logged speed:
    a renderer with motion blur sees it.

    Attributes:
        stage: The Usd.Stage.
    """

    def __init__(self, name: str, motion: Motion) -> None:
        """Begins the file of a flight of this name.

        Raises:
            WebError: There is no usd-core.
        """
        self._pxr = pxr = modules()
        self._rate = motion.rate
        self.stage = stage = pxr.Usd.Stage.CreateInMemory()
        pxr.UsdGeom.SetStageUpAxis(stage, pxr.UsdGeom.Tokens.z)
        pxr.UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        stage.SetTimeCodesPerSecond(motion.rate)
        stage.SetFramesPerSecond(motion.rate)
        stage.SetStartTimeCode(0.0)
        stage.SetEndTimeCode(float(len(motion.t_s) - 1))
        layer = stage.GetRootLayer()
        layer.comment = outputs.MARK
        layer.customLayerData = {"flight": name, "begin_s": motion.begin_s}
        root = pxr.UsdGeom.Xform.Define(stage, "/Flight")
        pxr.Usd.ModelAPI(root.GetPrim()).SetKind(pxr.Kind.Tokens.component)
        stage.SetDefaultPrim(root.GetPrim())
        self._nodes = [root.GetPrim()]
        self._materials: list[PxrObject] = []
        self._meshes: list[PxrObject] = []
        self._images: list[tuple[PxrObject, np.ndarray]] = []  # naming attribute, and image
        pxr.UsdGeom.Scope.Define(stage, "/Flight/Materials")
        stage.CreateClassPrim("/Flight/Prototypes")

    def material(
        self,
        roughness: float,
        metallic: float,
        image: np.ndarray | None = None,
        alpha: float = 1.0,
        name: str = "",
        colour: np.ndarray | None = None,
    ) -> int:
        """Adds a material; see Stage."""
        pxr, stage = self._pxr, self.stage
        path = f"/Flight/Materials/material_{len(self._materials)}"
        material = pxr.UsdShade.Material.Define(stage, path)
        shader = self._shader(f"{path}/surface", "UsdPreviewSurface")
        types = pxr.Sdf.ValueTypeNames
        for key, value in (("roughness", roughness), ("metallic", metallic), ("opacity", alpha)):
            shader.CreateInput(key, types.Float).Set(float(value))
        base = shader.CreateInput("diffuseColor", types.Color3f)
        if image is not None:
            base.ConnectToSource(self._texture(path, image))
        else:
            base.Set(pxr.Gf.Vec3f(*map(float, (1, 1, 1) if colour is None else colour)))
        material.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
        self._materials.append(material)
        return len(self._materials) - 1

    def _shader(self, path: str, kind: str) -> PxrObject:
        shader = self._pxr.UsdShade.Shader.Define(self.stage, path)
        shader.CreateIdAttr(kind)
        return shader

    def _texture(self, path: str, image: np.ndarray) -> PxrObject:
        types = self._pxr.Sdf.ValueTypeNames
        texture = self._shader(f"{path}/texture", "UsdUVTexture")
        self._images.append((texture.CreateInput("file", types.Asset), image))
        for side in ("wrapS", "wrapT"):
            texture.CreateInput(side, types.Token).Set("repeat")
        texture.CreateInput("sourceColorSpace", types.Token).Set("sRGB")
        place = self._shader(f"{path}/st", "UsdPrimvarReader_float2")
        place.CreateInput("varname", types.String).Set("st")
        texture.CreateInput("st", types.Float2).ConnectToSource(
            place.CreateOutput("result", types.Float2)
        )
        return texture.CreateOutput("rgb", types.Float3)

    def mesh(self, parts: Sequence[Part]) -> int:
        """Adds a mesh; see Stage."""
        pxr, stage = self._pxr, self.stage
        path = f"/Flight/Prototypes/mesh_{len(self._meshes)}"
        self._meshes.append(pxr.UsdGeom.Xform.Define(stage, path).GetPrim())
        for k, (triangles, _, material) in enumerate(parts):
            mesh = pxr.UsdGeom.Mesh.Define(stage, f"{path}/part_{k}")
            points = triangles.points.astype(np.float32)
            mesh.CreatePointsAttr(pxr.Vt.Vec3fArray.FromNumpy(points))
            mesh.CreateExtentAttr(
                pxr.Vt.Vec3fArray.FromNumpy(np.stack([points.min(axis=0), points.max(axis=0)]))
            )
            mesh.CreateFaceVertexCountsAttr(
                pxr.Vt.IntArray.FromNumpy(np.full(len(points) // 3, 3, dtype=np.int32))
            )
            mesh.CreateFaceVertexIndicesAttr(
                pxr.Vt.IntArray.FromNumpy(np.arange(len(points), dtype=np.int32))
            )
            mesh.CreateSubdivisionSchemeAttr(pxr.UsdGeom.Tokens.none)
            mesh.CreateNormalsAttr(
                pxr.Vt.Vec3fArray.FromNumpy(triangles.normals.astype(np.float32))
            )
            mesh.SetNormalsInterpolation(pxr.UsdGeom.Tokens.vertex)
            uv = (triangles.uv * (1.0, -1.0) + (0.0, 1.0)).astype(np.float32)
            pxr.UsdGeom.PrimvarsAPI(mesh).CreatePrimvar(
                "st", pxr.Sdf.ValueTypeNames.TexCoord2fArray, pxr.UsdGeom.Tokens.vertex
            ).Set(pxr.Vt.Vec2fArray.FromNumpy(uv))
            pxr.UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(self._materials[material])
        return len(self._meshes) - 1

    def node(
        self,
        name: str,
        mesh: int | None = None,
        pos: Sequence[float] = (0.0, 0.0, 0.0),
        quat: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
        parent: int = ROOT,
    ) -> int:
        """Adds a node; see Stage."""
        prim = self._pxr.UsdGeom.Xform.Define(self.stage, self._path(name, parent)).GetPrim()
        if mesh is not None:
            shown = self.stage.DefinePrim(prim.GetPath().AppendChild("shape"))
            shown.GetReferences().AddInternalReference(self._meshes[mesh].GetPath())
        self._place(prim, pos, quat)
        self._nodes.append(prim)
        return len(self._nodes) - 1

    def _path(self, name: str, parent: int) -> PxrObject:
        own = self._pxr.Tf.MakeValidIdentifier(name.rpartition("/")[2])
        above = self._nodes[parent]
        taken = {str(child.GetName()) for child in above.GetAllChildren()}
        while own in taken:
            own += "_"
        return above.GetPath().AppendChild(own)

    def _place(self, prim: PxrObject, pos: Sequence[float], quat: Sequence[float]) -> None:
        pxr = self._pxr
        form, double = pxr.UsdGeom.Xformable(prim), pxr.UsdGeom.XformOp.PrecisionDouble
        form.AddTranslateOp(double).Set(pxr.Gf.Vec3d(*map(float, pos)))
        form.AddOrientOp(double).Set(self._quaternion(quat))

    def _quaternion(self, quat: Sequence[float]) -> PxrObject:
        x, y, z, w = map(float, quat)
        return self._pxr.Gf.Quatd(w, x, y, z)

    def move(self, node: int, pos: np.ndarray, quat: np.ndarray) -> None:
        """Adds key frames of a node; see Stage."""
        vector = self._pxr.Gf.Vec3d
        shift, turn = self._pxr.UsdGeom.Xformable(self._nodes[node]).GetOrderedXformOps()[:2]
        for k, (at, attitude) in enumerate(zip(pos.tolist(), quat.tolist(), strict=True)):
            shift.Set(vector(*at), k)
            turn.Set(self._quaternion(attitude), k)

    def spin(self, node: int, axis: Sequence[float], speed: np.ndarray) -> None:
        """Turns a node about an axis; see Stage."""
        usd = self._pxr.UsdGeom
        form, double = usd.Xformable(self._nodes[node]), usd.XformOp.PrecisionDouble
        upright = np.allclose(axis, _Z)
        if not upright:
            form.AddOrientOp(double, "axis").Set(self._quaternion(facing([-x for x in axis])))
        turn = form.AddRotateZOp(double, "spin")
        for k, angle in enumerate(np.degrees(angles(speed, self._rate)).tolist()):
            turn.Set(angle, k)
        if not upright:
            form.AddOrientOp(double, "axis", isInverseOp=True)

    def line(self, name: str, points: np.ndarray, colour: np.ndarray, parent: int) -> None:
        """Adds a line; see Stage."""
        pxr = self._pxr
        curve = pxr.UsdGeom.BasisCurves.Define(self.stage, self._path(name, parent))
        curve.CreateTypeAttr(pxr.UsdGeom.Tokens.linear)
        curve.CreatePointsAttr(pxr.Vt.Vec3fArray.FromNumpy(points.astype(np.float32)))
        curve.CreateCurveVertexCountsAttr([len(points)])
        curve.CreateWidthsAttr([_LINE])
        curve.SetWidthsInterpolation(pxr.UsdGeom.Tokens.constant)
        curve.CreateExtentAttr(
            pxr.UsdGeom.Curves.ComputeExtent(
                curve.GetPointsAttr().Get(), curve.GetWidthsAttr().Get()
            )
        )
        pxr.UsdShade.MaterialBindingAPI.Apply(curve.GetPrim()).Bind(
            self._materials[self.material(1.0, 0.0, colour=colour)]
        )

    def camera(self, name: str, lens: Lens, pose: Pose, parent: int = ROOT) -> None:
        """Adds a camera; see Stage."""
        pxr = self._pxr
        camera = pxr.UsdGeom.Camera.Define(self.stage, self._path(name, parent))
        high = 2.0 * _FOCAL * math.tan(0.5 * lens.vertical)
        camera.CreateFocalLengthAttr(_FOCAL)
        camera.CreateVerticalApertureAttr(high)
        camera.CreateHorizontalApertureAttr(high * lens.aspect)
        camera.CreateClippingRangeAttr(pxr.Gf.Vec2f(lens.near, lens.far))
        self._place(camera.GetPrim(), pose.pos, pose.quat)

    def light(self, name: str, light: Light) -> None:
        """Adds a light; see Stage."""
        pxr, lux = self._pxr, self._pxr.UsdLux
        path = self._path(name, ROOT)
        if light.kind == "directional":
            made = lux.DistantLight.Define(self.stage, path)
            made.CreateAngleAttr(_SUN_ANGLE)
            made.CreateIntensityAttr(_SUN)
            lux.DomeLight.Define(self.stage, "/Flight/sky").CreateIntensityAttr(_DOME)
        else:
            made = lux.SphereLight.Define(self.stage, path)
            made.CreateIntensityAttr(_LAMP)
            made.CreateRadiusAttr(0.1)
            if light.kind == "spot":
                lux.ShapingAPI.Apply(made.GetPrim()).CreateShapingConeAngleAttr(
                    math.degrees(light.cutoff or math.pi / 4.0)
                )
        made.CreateColorAttr(pxr.Gf.Vec3f(*light.diffuse))
        self._place(made.GetPrim(), light.pos, facing(light.direction))

    def write(self, path: Path) -> None:
        """Writes the file, textures beside it in NAME_textures, or in a .usdz; see Stage."""
        if path.suffix.lower() == ".usdz":
            with tempfile.TemporaryDirectory() as folder:
                inner = Path(folder) / "flight.usdc"
                self._export(inner)
                if not self._pxr.UsdUtils.CreateNewUsdzPackage(
                    self._pxr.Sdf.AssetPath(str(inner)), str(path)
                ):
                    raise WebError(
                        f"cannot write '{path}': give a file in a folder that can be "
                        "written, with space"
                    )
        else:
            self._export(path)

    def _export(self, path: Path) -> None:
        from PIL import Image

        folder = path.parent / f"{path.stem}_textures"
        for k, (attribute, image) in enumerate(self._images):
            folder.mkdir(exist_ok=True)
            data = io.BytesIO()
            Image.fromarray(np.ascontiguousarray(image, dtype=np.uint8)).save(
                data, "JPEG", quality=90, comment=outputs.MARK.encode()
            )
            target = outputs.free_for(
                folder / f"{k}.jpg", "texture", lambda ends: outputs.MARK.encode() in ends, WebError
            )
            target.write_bytes(data.getvalue())
            attribute.Set(self._pxr.Sdf.AssetPath(f"./{folder.name}/{k}.jpg"))
        try:
            self.stage.GetRootLayer().Export(str(path))
        except self._pxr.Tf.ErrorException as error:
            raise WebError(
                f"cannot write '{path}': give a file in a folder that can be written, with space"
            ) from error
