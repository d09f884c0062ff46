"""How often a marker is found, and how well its pose: by distance, angle, light and blur."""

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sensor_models.cameras import CameraParameters
from sensor_models.lens import Lens
from xtdrone_core import plot_style
from xtdrone_dynamics.quaternion import from_euler, multiply, to_matrix

from . import detect, model, pose
from .families import Marker, require_opencv

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DISTANCES = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.5, 15.0, 20.0, 25.0, 30.0)  # [m]
ANGLES = (0.0, 15.0, 30.0, 45.0, 55.0, 65.0, 70.0, 75.0, 80.0, 85.0)  # [deg]
BLURS = (0.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0)  # length of the smear [pixels]
TIMES = ("12:00", "18:00", "19:30", "20:30", "21:30", "23:00", "01:00")
PLAIN = ""  # a light: that of plain images
_NEAR = 4.0  # distance in the figures by angle, light and blur [m]
_WORLD = """<sdf version="1.6"><world name="rates">
  <include><uri>model://{name}</uri></include>
  <model name="ground"><static>1</static><link name="link"><visual name="visual">
    <geometry><plane><normal>0 0 1</normal><size>200 200</size></plane></geometry>
    <material><script><name>Gazebo/Grass</name></script></material>
  </visual></link></model>
</world></sdf>
"""


@dataclass(frozen=True)
class Condition:
    """Where a camera looks from, and how it moves."""

    distance: float = _NEAR  # from the middle of the marker [m]
    angle: float = 0.0  # of the line of sight from its normal [deg]
    blur: float = 0.0  # length of a smear by motion, in a random direction [pixels]


@dataclass(frozen=True)
class Rate:
    """Detections under one condition."""

    found: float  # share of the images
    error: float  # median distance of the pose from the truth [m], NaN without any
    stddev: float  # median of what the covariance says of that [m]


@dataclass(frozen=True)
class Camera:
    """A camera that looks for a marker."""

    parameters: CameraParameters
    lens: Lens

    @classmethod
    def of(cls, width: int, height: int, fov: float, seed: int = 0) -> "Camera":
        """A camera of width and height [pixels] and a horizontal field of view [rad]."""
        parameters = CameraParameters.pinhole(
            width, height, fov, near=0.02, far=300.0, noise_stddev=0.007
        )
        return cls(parameters, Lens(parameters, seed, 0, 0))


@contextmanager
def scene_of(marker: Marker, camera: Camera, time_of_day: str = PLAIN) -> Iterator[Any]:
    """A scene (of xtdrone_sim, without types) with a pad that has the marker.

    Args:
        marker: Its top is at z = 0.02 m.
        camera: That looks at it.
        time_of_day: Of realistic images, as in 18:30; PLAIN for plain ones.
    """
    from xtdrone_sim.rendering.realistic.conditions import conditions_of
    from xtdrone_sim.rendering.realistic.scene import RealisticScene
    from xtdrone_sim.rendering.scene import RenderedScene
    from xtdrone_sim.world import load_world

    size = camera.lens.pinhole.width, camera.lens.pinhole.height
    with tempfile.TemporaryDirectory(prefix="xtdrone-rates-") as folder:
        name = model.write([marker], model.Place(model.PAD), Path(folder), "pad").name
        path = Path(folder) / "rates.world"
        path.write_text(_WORLD.format(name=name).replace("model://", f"file://{folder}/"))
        world = load_world(str(path))
        scene = (
            RealisticScene(world, (), (), conditions_of(world, time_of_day), 1, size)
            if time_of_day
            else RenderedScene(world, (), (), size)
        )
    try:
        yield scene
    finally:
        scene.close()


def rate(
    scene: Any,  # as of scene_of()
    camera: Camera,
    marker: Marker,
    detector: detect.Detector,
    rng: np.random.Generator,
    condition: Condition | None = None,
    *,
    images: int = 20,
    corner_stddev: float = 0.3,
) -> Rate:
    """Looks at a marker from random places at one distance and angle.

    Args:
        scene, camera, marker, detector: What looks at what.
        rng: Draws the places.
        condition: None for that of the default.
        images: How many.
        corner_stddev: See pose.CORNER_STDDEV.
    """
    at = condition or Condition()
    errors, stddevs = [], []
    for _ in range(images):
        pos, quat, truth = _place(rng, at.distance, math.radians(at.angle))
        lens, shot = camera.lens, camera.parameters
        image = lens.image(scene.draw(pos, quat, lens.pinhole, shot.near, shot.far))
        seen = detector.detect(_smeared(image, at.blur, rng))
        found = pose.estimate([marker], seen, shot, corner_stddev)
        if found is not None:
            errors.append(float(np.linalg.norm(found.pos - truth)))
            stddevs.append(math.sqrt(np.trace(found.covariance[:3, :3])))
    if not errors:
        return Rate(0.0, math.nan, math.nan)
    return Rate(len(errors) / images, float(np.median(errors)), float(np.median(stddevs)))


def _place(
    rng: np.random.Generator, distance: float, angle: float
) -> tuple[np.ndarray, tuple[float, float, float, float], np.ndarray]:
    """Returns position and attitude of a camera, and the marker's place in its frame (3,)."""
    azimuth, roll = rng.uniform(-math.pi, math.pi, 2)
    middle = np.array([0.0, 0.0, 0.02])
    away = np.array(
        [math.sin(angle) * math.cos(azimuth), math.sin(angle) * math.sin(azimuth), math.cos(angle)]
    )
    pos = middle + distance * away
    aside = rng.uniform(-0.15, 0.15, 2)  # it does not stand in the middle of the image
    looks = from_euler(0.0, 0.5 * math.pi - angle, azimuth + math.pi)
    quat = multiply(*looks, *from_euler(roll, aside[0], aside[1]))
    turn = np.array(to_matrix(*quat)).reshape(3, 3)
    return pos, quat, turn.T @ (middle - pos)


def _smeared(image: np.ndarray, length: float, rng: np.random.Generator) -> np.ndarray:
    """Returns an image smeared along a line of a length [pixels]."""
    if length < 1.0:
        return image
    cv2 = require_opencv()
    side = 2 * math.ceil(length / 2) + 1
    kernel, middle = np.zeros((side, side), np.float32), side // 2
    angle = rng.uniform(0.0, math.pi)
    half = 0.5 * length * np.array([math.cos(angle), math.sin(angle)])
    ends = [tuple(np.rint(middle + sign * half).astype(int).tolist()) for sign in (-1, 1)]
    cv2.line(kernel, *ends, 1.0)
    return np.asarray(cv2.filter2D(image, -1, kernel / kernel.sum()))


def measure(
    marker: Marker,
    camera: Camera,
    library: str,
    images: int,
    progress: Callable[[], object] = lambda: None,
) -> dict[str, list[tuple[float | str, Rate]]]:
    """Measures all rates of a library.

    Returns:
        `distance`, `angle`, `blur` and `light` -> the conditions with their Rates.
    """
    detector = detect.make_detector(marker.family, library)
    rng, found = np.random.default_rng(0), dict[str, list[tuple[float | str, Rate]]]()
    stddev = pose.CORNER_STDDEV[library]
    varied: Sequence[tuple[str, Sequence[float]]] = (
        ("distance", DISTANCES),
        ("angle", ANGLES),
        ("blur", BLURS),
    )
    with scene_of(marker, camera) as scene:
        for name, values in varied:
            found[name] = []
            for value in values:
                one = rate(
                    scene,
                    camera,
                    marker,
                    detector,
                    rng,
                    Condition(**{name: value}),
                    images=images,
                    corner_stddev=stddev,
                )
                found[name].append((value, one))
                progress()
    found["light"] = []
    for time in TIMES:
        with scene_of(marker, camera, time) as scene:
            one = rate(
                scene,
                camera,
                marker,
                detector,
                rng,
                images=max(images // 4, 1),
                corner_stddev=stddev,
            )
        found["light"].append((time, one))
        progress()
    return found


def conditions() -> int:
    """Returns how many conditions measure() looks at."""
    return len(DISTANCES) + len(ANGLES) + len(BLURS) + len(TIMES)


def draw(rates: dict[str, dict[str, list[tuple[float | str, Rate]]]], marker: Marker) -> "Figure":
    """Draws the rates of libraries by name, as measure() returns them."""
    figure, axes = plot_style.panels(2, 2, 10.0, 6.6)
    labels = {
        "distance": f"distance, in sides of the marker of {marker.size:g} m",
        "angle": f"angle from its normal at {_NEAR:g} m [deg]",
        "blur": f"smear by motion at {_NEAR:g} m [pixels]",
        "light": f"time of day at {_NEAR:g} m, realistic images",
    }
    for panel, (name, label) in zip(axes.ravel(), labels.items()):
        for k, (library, found) in enumerate(rates.items()):
            x = [
                value / marker.size if name == "distance" and isinstance(value, float) else value
                for value, _ in found[name]
            ]
            panel.plot(
                x,
                [100.0 * one.found for _, one in found[name]],
                "o-",
                color=plot_style.series(k),
                label=library,
                ms=4,
            )
        panel.set(xlabel=label, ylabel="found [%]", ylim=(-4, 104))
        plot_style.legend(panel)
    return figure


def lines(rates: dict[str, dict[str, list[tuple[float | str, Rate]]]]) -> Iterator[str]:
    """Yields a table of the rates, errors and standard deviations."""
    yield "library   by        value    found   error   stddev"
    for library, found in rates.items():
        for name, rows in found.items():
            for value, one in rows:
                shown = value if isinstance(value, str) else f"{value:g}"
                yield (
                    f"{library:<9} {name:<9} {shown:>6}  {100 * one.found:>5.0f} %  "
                    f"{1e3 * one.error:>5.0f} mm {1e3 * one.stddev:>5.0f} mm"
                )
