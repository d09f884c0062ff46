"""The people, cars and vehicles of a compiled scene: their pixels, boxes and places."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import mujoco
import numpy as np

from xtdrone_sim.scene.mujoco_scene import actor_of

from . import flow
from .variation import Subject

_DRAWN = 3  # groups of geoms below this are drawn
_RIM = 48  # points on a circle
_BALL = 320  # points on a sphere
_SEEN = 12  # fewer pixels are no label
_TINY = 1e-6  # an area that is none [pixels^2]
_NEAR = 0.05  # points nearer than this to the camera's plane have no pixel [m]


class Camera(NamedTuple):
    """Where a camera is, for the kernels of flow.py."""

    eye: np.ndarray  # (3,) [m]
    axes: np.ndarray  # (3, 3) forward, left and up as columns, world
    lens: tuple[float, ...]  # see flow.pixel_of()


class Subjects:
    """What labels are for, in a compiled scene."""

    def __init__(self, model: mujoco.MjModel, subjects: Sequence[Subject]) -> None:
        """Finds their geoms, and points on them that show how far they reach."""
        self.all = tuple(subjects)
        number = {subject.name: k + 1 for k, subject in enumerate(subjects)}
        owner = np.zeros(model.nbody, dtype=np.int64)
        for body in range(model.nbody):
            name = model.body(body).name
            owner[body] = number.get(actor_of(name) or name.partition("/")[0], 0)
        # Of each geom: which subject it belongs to, from 1 on; 0 for none.
        self.of_geom = owner[model.geom_bodyid]
        self.of_geom[model.geom_group >= _DRAWN] = 0
        geoms = np.flatnonzero(self.of_geom)
        points = [_surface(model, int(geom)) for geom in geoms]
        self._points = np.concatenate(points) if points else np.zeros((0, 3))
        lengths = [len(each) for each in points]
        self._geom = np.repeat(geoms, lengths)
        self._subject = self.of_geom[self._geom]

    def points(self, data: mujoco.MjData) -> np.ndarray:
        """Points (M, 3) on their surfaces, world [m]."""
        turn = data.geom_xmat.reshape(-1, 3, 3)[self._geom]
        return data.geom_xpos[self._geom] + np.einsum("kij,kj->ki", turn, self._points)

    def labels(
        self, instance: np.ndarray, data: mujoco.MjData, yaws: np.ndarray, camera: Camera
    ) -> list[dict[str, Any]]:
        """The label of each subject that shows, in plain data.

        Args:
            instance: (H, W) which subject is in each pixel, from 1 on.
            data: Where they are.
            yaws: (S,) of the subjects [rad].
            camera: Where from.
        """
        height, width = instance.shape
        boxes = flow.boxes_of(instance, len(self.all))
        points = self.points(data)
        pixels = flow.pixels_of(points, camera.eye, camera.axes, camera.lens)
        labels = []
        for k, subject in enumerate(self.all):
            left, top, right, bottom, count = boxes[k].tolist()
            if count < _SEEN:
                continue
            own = self._subject == k + 1
            seen = pixels[own]
            seen = seen[seen[:, 2] > _NEAR]
            low, high = seen[:, :2].min(axis=0), seen[:, :2].max(axis=0)
            whole = float(np.prod(high - low)) + _TINY
            low = np.maximum(low, -0.5)
            high = np.minimum(high, (width - 0.5, height - 0.5))
            inside = float(np.prod(np.maximum(high - low, 0.0))) + _TINY
            area = (right - left + 1) * (bottom - top + 1)
            labels.append(
                {
                    "track": k,
                    "name": subject.name,
                    "class": subject.kind,
                    # Left, top, width, height, from the outer edges of pixels.
                    "box": [left, top, right - left + 1, bottom - top + 1],
                    "whole_box": [round(float(x), 2) for x in (*(low + 0.5), *(high - low))],
                    "pixels": count,
                    "visible": round(min(1.0, area / inside), 3),
                    "truncated": round(max(0.0, 1.0 - inside / whole), 3),
                    **_solid(points[own], float(yaws[k]), camera),
                    "runs": flow.runs_of(instance, k + 1, boxes[k]).tolist(),
                }
            )
        return labels


def _solid(points: np.ndarray, yaw: float, camera: Camera) -> dict[str, Any]:
    """Size, place and heading as of KITTI: camera frame x right, y down, z forward."""
    c, s = math.cos(yaw), math.sin(yaw)
    along, across = points @ (c, s, 0.0), points @ (-s, c, 0.0)
    low = np.array([along.min(), across.min(), points[:, 2].min()])
    size = np.array([along.max(), across.max(), points[:, 2].max()]) - low
    middle = low[:2] + 0.5 * size[:2]
    foot = np.array([c * middle[0] - s * middle[1], s * middle[0] + c * middle[1], low[2]])
    forward, left, up = (foot - camera.eye) @ camera.axes
    ahead = np.array([c, s, 0.0]) @ camera.axes
    turned = math.atan2(-ahead[0], -ahead[1])
    return {
        "size": np.round(size, 3).tolist(),  # length, width, height [m]
        "foot": np.round(foot, 3).tolist(),  # middle of its lower side, world [m]
        "location": np.round((-left, -up, forward), 3).tolist(),
        "rotation_y": round(turned, 4),
        "alpha": round(turned - math.atan2(-left, forward), 4),
    }


def _surface(model: mujoco.MjModel, geom: int) -> np.ndarray:
    """Points (P, 3) of a geom in its frame that reach as far as it does [m]."""
    kind, size = model.geom_type[geom], model.geom_size[geom]
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        first = model.mesh_vertadr[mesh]
        return np.array(model.mesh_vert[first : first + model.mesh_vertnum[mesh]], dtype=float)
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return size[0] * _sphere()
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        angle = np.arange(_RIM) * 2.0 * np.pi / _RIM
        rim = np.column_stack([size[0] * np.cos(angle), size[0] * np.sin(angle), 0.0 * angle])
        return np.concatenate([rim + (0.0, 0.0, size[1]), rim - (0.0, 0.0, size[1])])
    corners = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    return corners * size


def _sphere() -> np.ndarray:
    k = np.arange(_BALL) + 0.5
    z = 1.0 - 2.0 * k / _BALL
    angle = np.pi * (1.0 + np.sqrt(5.0)) * k
    level = np.sqrt(1.0 - z * z)
    return np.column_stack([level * np.cos(angle), level * np.sin(angle), z])
