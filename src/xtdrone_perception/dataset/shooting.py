"""Takes the images of one scene and writes them with what they show."""

import json
import os
import time
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

from sensor_models.lens import Lens, normalised_coordinates
from xtdrone_core import FleetState
from xtdrone_dynamics.quaternion import from_euler, to_matrix
from xtdrone_sim.rendering.realistic import passes
from xtdrone_sim.rendering.realistic.conditions import conditions_of
from xtdrone_sim.rendering.realistic.scene import RealisticScene
from xtdrone_sim.rendering.scene import RenderedScene

from . import flow, png
from .options import Options
from .subjects import Camera, Subjects
from .variation import Setting, setting
from .views import Path as Way, draw_path

_GEOM = mujoco.mjtObj.mjOBJ_GEOM
_QUALITY = 92  # of JPEG
_TARGETED = 0.9  # share of scenes that look at a subject
_CHEST = 0.9  # height of what is looked at [m]


class Task(NamedTuple):
    """A scene to take."""

    folder: Path
    options: Options
    scene: int


def name_of(scene: int, frame: int) -> str:
    """The name of an image, without its suffix."""
    return f"{scene:06}_{frame:04}"


def record_of(folder: Path, scene: int) -> Path:
    """The file with the labels of a scene; it is there when all its images are."""
    return folder / "scenes" / f"{scene:06}.json"


def take(task: Task) -> float:
    """Takes a scene; returns the seconds of processor time."""
    began = time.process_time()
    folder, options, scene = task
    split = options.split_of(scene)
    for kind in ("images", *options.outputs):
        (folder / kind / split).mkdir(parents=True, exist_ok=True)
    shoot = Shoot(options, scene)
    frames = []
    try:
        for frame in range(options.frames_of(scene)):
            name = name_of(scene, frame)
            shot = shoot.shot(frame)
            frames.append(shot.record | {"image": name})
            _write(folder, split, name, shot, options)
    finally:
        shoot.close()
    path = record_of(folder, scene)
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps({"scene": scene, "split": split, **shoot.record, "frames": frames}))
    part.replace(path)
    return time.process_time() - began


class Shot(NamedTuple):
    """An image and what it shows."""

    image: np.ndarray  # (H, W, 3) uint8
    instance: np.ndarray  # (H, W) uint16 which subject, from 1 on
    depth: np.ndarray | None  # (H, W) float32 along the axis [m], inf for nothing; if it is wanted
    flow: np.ndarray | None  # (H, W, 2) float32 [pixels] to the next image
    record: dict[str, Any]  # labels, in plain data


class Shoot:
    """A random scene with its camera.

    Attributes:
        subjects: What labels are for.
        record: What is true of all its images, in plain data.
    """

    def __init__(self, options: Options, scene: int) -> None:
        """Draws and compiles a scene."""
        self._options = options
        rng = np.random.default_rng([options.seed, scene])
        self._setting = drawn = setting(options, rng)
        self._scene = _compiled(options, drawn, scene)
        self.subjects = Subjects(self._scene.model, drawn.subjects)
        self._state = _fleet_state(drawn)
        self._place(0)
        self._way = self._look(rng)
        self._lens = _lens_of(options, scene)
        camera = self._lens.camera
        self._lens_numbers = (camera.fx, camera.fy, camera.cx, camera.cy, *camera.distortion)
        self._rays = np.stack(normalised_coordinates(camera), axis=2)
        self.record = {
            "world": drawn.world.name,
            "rendering": options.rendering,
            "time_of_day": drawn.time_of_day,
            "weather": drawn.weather,
            "start_s": round(drawn.start_s, 3),
            "intrinsics": list(self._lens_numbers),
        }

    def close(self) -> None:
        """Frees what draws."""
        self._scene.close()

    def shot(self, frame: int) -> Shot:
        """Takes an image; its flow needs where everything is at the next one."""
        options, camera = self._options, self._lens.camera
        self._place(frame)
        at = self._camera(frame)
        pos, quat = self._way.at(frame / options.rate)
        # Reading distances takes time; a realistic scene leaves its camera in place only with them.
        measured = options.rendering != "plain" or bool({"depth", "flow"} & set(options.outputs))
        drawn = self._scene.draw(pos, quat, self._lens.pinhole, camera.near, camera.far, measured)
        raw, raw_depth = drawn if measured else (drawn, None)
        pinhole = self._lens.pinhole
        numbers = passes.numbers(
            self._scene.mjv_scene, self._scene.mjr_context, pinhole.width, pinhole.height
        )
        x, y = (self._lens.x + 0.5).astype(int), (self._lens.y + 0.5).astype(int)
        geom = self._geoms()[numbers[np.clip(y, 0, pinhole.height - 1),
                                     np.clip(x, 0, pinhole.width - 1)]]  # fmt: skip
        instance = np.append(self.subjects.of_geom, 0)[geom].astype(np.uint16)
        depth = None if raw_depth is None else _exact(raw_depth, self._lens)
        labels = self.subjects.labels(instance, self._scene.data, self._yaws(frame), at)
        record = {
            "t_s": round(frame / options.rate, 4),
            "pos": np.round(pos, 4).tolist(),
            "quat": np.round(quat, 6).tolist(),
            "labels": labels,
        }
        moved = None
        if depth is not None and "flow" in options.outputs:
            moved = self._flow(frame, geom, depth, at)
        return Shot(self._lens.image(raw), instance, depth, moved, record)

    def _camera(self, frame: int) -> Camera:
        pos, quat = self._way.at(frame / self._options.rate)
        return Camera(pos, np.array(to_matrix(*quat)).reshape(3, 3), self._lens_numbers)

    def _flow(self, frame: int, geom: np.ndarray, depth: np.ndarray, at: Camera) -> np.ndarray:
        data = self._scene.data
        body = np.append(self._scene.model.geom_bodyid, 0)[geom]
        before = data.xmat.reshape(-1, 3, 3).copy(), data.xpos.copy()
        self._place(frame + 1)
        turn = data.xmat.reshape(-1, 3, 3) @ before[0].transpose(0, 2, 1)
        shift = data.xpos - np.einsum("bij,bj->bi", turn, before[1])
        motion = np.concatenate([turn, shift[:, :, None]], axis=2)
        after = self._camera(frame + 1)
        return flow.flow_of(
            depth, body, motion, self._rays, at.eye, at.axes, after.eye, after.axes, at.lens
        )

    def _geoms(self) -> np.ndarray:
        """The geom of each number that passes.numbers() gives; -1 for none."""
        drawn = self._scene.mjv_scene
        of_number = np.full(drawn.ngeom + 1, -1)
        for geom in drawn.geoms[: drawn.ngeom]:
            if geom.segid >= 0 and geom.objtype == _GEOM:
                of_number[geom.segid + 1] = geom.objid
        return of_number

    def _t_s(self, frame: int) -> float:
        return self._setting.start_s + frame / self._options.rate

    def _place(self, frame: int) -> None:
        self._state.t_us = round(1e6 * self._t_s(frame))
        self._state.pos[:] = self._at(frame / self._options.rate)
        self._scene.place(self._state)

    def _at(self, seconds: float) -> np.ndarray:
        """Where the vehicles are (N, 3) after some time, never much lower than at first [m]."""
        start = np.array([spec.pos for spec in self._setting.specs]).reshape(-1, 3)
        pos = start + seconds * self._setting.vel
        pos[:, 2] = np.maximum(pos[:, 2], start[:, 2] - 0.2)
        return pos

    def _yaws(self, frame: int) -> np.ndarray:
        quats = [actor.pose(self._t_s(frame)).quat for actor in self._setting.world.actors]
        headings = [np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
                    for x, y, z, w in quats]  # fmt: skip
        return np.array(headings + [spec.yaw for spec in self._setting.specs])

    def _look(self, rng: np.random.Generator) -> Way:
        """The camera's way, past a subject or some place."""
        setting = self._setting
        seconds = self._options.frames / self._options.rate
        middle_s = setting.start_s + 0.5 * seconds
        targets = [np.array(actor.pose(middle_s).pos) + (0.0, 0.0, _CHEST)
                   for actor in setting.world.actors]  # fmt: skip
        targets += list(self._at(0.5 * seconds))
        if targets and rng.random() < _TARGETED:
            target = targets[int(rng.integers(len(targets)))]
        else:
            place = setting.places.ground(rng, 0.5)
            target = np.array([0.0, 0.0, 1.0]) if place is None else place + (0.0, 0.0, _CHEST)
        return draw_path(setting.places, target, np.radians(self._options.fov), seconds, rng)


def _compiled(options: Options, drawn: Setting, scene: int) -> RenderedScene:
    pinhole = _lens_of(options, 0).pinhole
    size = pinhole.width, pinhole.height
    if options.rendering == "plain":
        return RenderedScene(drawn.world, drawn.specs, drawn.models, size)
    conditions = conditions_of(drawn.world, drawn.time_of_day, drawn.weather)
    return RealisticScene(drawn.world, drawn.specs, drawn.models, conditions, scene, size)


@lru_cache(maxsize=2)
def _lens_of(options: Options, scene: int) -> Lens:
    return Lens(options.camera, options.seed, scene, 0)


def _exact(raw: np.ndarray, lens: Lens) -> np.ndarray:
    """Depths without the camera's noise, which is of images."""
    x = np.clip((lens.x + 0.5).astype(int), 0, raw.shape[1] - 1)
    y = np.clip((lens.y + 0.5).astype(int), 0, raw.shape[0] - 1)
    return raw[y, x]


def _fleet_state(drawn: Setting) -> FleetState:
    """The fleet at rest at its places, level."""
    models = drawn.models
    state = FleetState.zeros(
        len(models),
        1,
        joints=max((len(model.joints) for model in models), default=0),
        bodies=max((len(model.bodies) for model in models), default=1),
    )
    for k, spec in enumerate(drawn.specs):
        state.quat[k] = from_euler(0.0, 0.0, spec.yaw)
    return state


def _write(folder: Path, split: str, name: str, shot: Shot, options: Options) -> None:
    from PIL import Image

    Image.fromarray(shot.image).save(folder / "images" / split / f"{name}.jpg", quality=_QUALITY)
    if "masks" in options.outputs:
        png.write(folder / "masks" / split / f"{name}.png", shot.instance)
    if shot.depth is not None and "depth" in options.outputs:
        png.write_depth(folder / "depth" / split / f"{name}.png", shot.depth)
    if shot.flow is not None:
        png.write_flow(folder / "flow" / split / f"{name}.png", shot.flow)
