"""A picture of an environment, taken by the cameras of a batch."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from sensor_models.cameras import CameraParameters
from xtdrone_core import outputs, plot_style
from xtdrone_dynamics.quaternion import from_euler

from .scenes import BOX, NO_OBJECT, PLANE, Scenes
from .simulation import BatchSimulation

_CEILING = 0.55  # fraction of the height above which boxes are left out of the plan
_FOV = 0.35  # field of view of the plan: narrow, so that nothing leans [rad]
_MARGIN = 2.0  # margin around the objects [m]
_OVERSAMPLING = 2  # rays along each side of a pixel


def draw(scenes: Scenes, path: Path | str) -> None:
    """Draws environment 0: from where vehicles start, from outside, and as a plan.

    Raises:
        XtdroneError: The file cannot be written.
    """
    path = outputs.picture(path)
    low, high = _extent(scenes)
    middle, wide = 0.5 * (low + high), float(max(high[:2] - low[:2]))
    things = scenes.objects[:1].copy()
    batch = BatchSimulation("iris", 1, scenes=replace(scenes, objects=things))
    above = things["pos"][..., 2] - 0.5 * things["size"][..., 2]
    ceiling = (things["kind"] == BOX) & (above > low[2] + _CEILING * (high[2] - low[2]))
    eye = 0.5 * wide / math.tan(0.5 * _FOV)
    views = (
        (
            "from the start",
            (0.0, 0.0, low[2] + min(1.7, 0.5 * (high[2] - low[2]))),
            (0.0, 0.0, 0.0),
            1.5,
            0.05,
            960,
            600,
        ),
        (
            "from outside",
            (*(middle[:2] - 0.7 * wide), low[2] + 0.6 * wide),
            (0.0, 0.53, 0.25 * math.pi),
            1.0,
            0.05,
            960,
            600,
        ),
        (
            "plan",
            (*middle[:2], high[2] + eye),
            (0.0, 0.5 * math.pi, 0.5 * math.pi),
            _FOV,
            0.05,
            800,
            800,
        ),
    )
    figure = plot_style.figure(16, 5.2)
    axes = figure.subplots(1, 3, width_ratios=(960 / 600, 960 / 600, 1.0))
    for axis, (title, pos, euler, fov, near, width, height) in zip(axes, views, strict=True):
        if title == "plan":
            things["kind"][ceiling] = NO_OBJECT
            batch.rays.invalidate()
        batch.state.pos[0, 0], batch.state.quat[0, 0] = pos, from_euler(*euler)
        camera = batch.add_camera(
            CameraParameters.pinhole(
                _OVERSAMPLING * width,
                _OVERSAMPLING * height,
                fov,
                near=near,
                far=max(2e3, 4.0 * eye),
            ),
            channels=("image",),
        )
        pixels = camera.capture().image
        assert pixels is not None, "the channel is asked for"
        image = pixels[0, 0].astype(float)
        image = image.reshape(height, _OVERSAMPLING, width, _OVERSAMPLING, 3).mean(axis=(1, 3))
        if title == "plan":
            x, y = middle[0], middle[1]
            half = 0.5 * wide
            axis.imshow(image.astype(np.uint8), extent=(x - half, x + half, y - half, y + half))
            axis.grid(False)
            axis.set_xlabel("east [m]")
            axis.set_ylabel("north [m]")
        else:
            axis.imshow(image.astype(np.uint8))
            axis.set_axis_off()
        axis.set_title(title)
    outputs.save_figure(figure, path, dpi=100)


def _extent(scenes: Scenes) -> tuple[np.ndarray, np.ndarray]:
    """Returns the corners about the middles of all objects but planes and about the starts."""
    o = scenes.objects[0]
    middles = o["pos"][(o["kind"] != NO_OBJECT) & (o["kind"] != PLANE)]
    low, high = scenes.bounds[0].copy()
    low[:2] = np.minimum(middles.min(axis=0, initial=0.0)[:2], 0.0) - _MARGIN
    high[:2] = np.maximum(middles.max(axis=0, initial=0.0)[:2], 0.0) + _MARGIN
    return low, high
