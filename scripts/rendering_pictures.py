"""Pictures of docs/rendering.md: each world plain and realistic, weather, times of day, the lens.

python scripts/rendering_pictures.py docs/images/rendering
"""

import math
import sys
from dataclasses import replace
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from sensor_models.cameras import CameraParameters
from sensor_models.lens import pinhole_of
from xtdrone_core import FleetState, SensorBlock, VehicleSpec
from xtdrone_core.racing.track import read_track
from xtdrone_dynamics.quaternion import from_euler
from xtdrone_sim.rendering.realistic.conditions import conditions_of
from xtdrone_sim.rendering.realistic.scene import RealisticScene
from xtdrone_sim.rendering.scene import RenderedScene
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world
from xtdrone_sim.world.gates import gate_models

SIZE, SMALL = (640, 400), (440, 275)  # of a picture on a sheet [pixels]
SAMPLES = 4
FIELD = 1.3  # [rad]
QUALITY = 88  # of JPEG: a palette would show as bands in the sky

# Sheet: world and track, time of day, simulated time [s], camera (x y z, pitch and yaw in degrees),
# vehicles (type, x y z, yaw).
WORLDS = {
    "outdoor": (
        "outdoor",
        "17:00",
        0.0,
        (-9, -13, 5.0, 4, 50),
        [("iris", -7.9, -10.7, 4.85, 20), ("typhoon_h480", -5.6, -10.6, 4.2, 40)],
    ),
    "indoor": (
        "indoor",
        "15:30",
        0.0,
        (-3.4, -2.6, 2.1, 8, 33),
        [("iris", -1.7, -1.9, 1.9, 60), ("tello", -2.3, -1.5, 1.9, 20)],
    ),
    "lake": (
        "lake",
        "18:45",
        0.0,
        (-7, -1.5, 1.6, 3, 17),
        [("boat", 0, 0, 0, 40), ("iris", -4.6, -0.2, 2.0, 20)],
    ),
    "empty": (
        "empty",
        "18:00",
        0.0,
        (-3.5, -1.5, 1.4, 12, 25),
        [
            ("iris", -1.7, -0.5, 1.1, 30),
            ("typhoon_h480", 0.6, -0.4, 1.2, 30),
            ("plane", 3.0, 3.0, 1.8, 60),
        ],
    ),
    "street": ("street", "15:30", 18.8, (4.5, 7.5, 3.2, 8, 126), [("iris", 2.6, 11.6, 3.3, 150)]),
    "park": ("outdoor park", "9:30", 0.0, (7.5, 0.8, 3.2, 8, 18), [("iris", 10.2, 2.4, 2.6, 10)]),
    "eight": ("empty eight", "18:30", 0.0, (3.5, -1.0, 3.4, 10, 20), [("iris", 5.9, 0.9, 2.8, 60)]),
}
VIEWS = {  # further ones
    "sun": ("outdoor", "17:30", 0.0, (-4, 9, 2.0, -12, 150), [("iris", -6, 10.2, 2.2, 150)]),
    "lamps": (
        "indoor",
        "21:15",
        0.0,
        (-2.6, 4.6, 2.3, 12, -22),
        [("iris", 2.4, 2.2, 1.6, 60), ("tello", 0.8, 2.6, 1.5, 20)],
    ),
    "wet": ("street", "15:30", 18.8, (3.4, 10.8, 1.8, 3, 128), [("iris", 0.6, 13.2, 2.2, 150)]),
}
CONDITIONS = [
    ("7:00", ""),
    ("12:00", ""),
    ("19:30", ""),
    ("12:00", "fog=120"),
    ("12:00", "rain=30"),
    ("21:30", ""),
]


def world_of(place):
    """A world by its name, or by its name and that of a track whose gates stand in it."""
    name, *track = place.split()
    return load_world(name, gate_models(read_track(track[0])) if track else ())


class Stage:
    """A world with vehicles and one camera."""

    def __init__(self, name, size):
        place, _, seconds, (x, y, z, pitch, yaw), things = {**WORLDS, **VIEWS}[name]
        self.world, self.size = world_of(place), size
        turn = math.radians(yaw)  # the first vehicle carries the camera, ahead of itself
        things = [("iris", x - 0.3 * math.cos(turn), y - 0.3 * math.sin(turn), z, yaw), *things]
        self.models = [load_vehicle(kind) for kind, *_ in things]
        self.specs = [
            VehicleSpec(kind, f"{kind}_{k}", tuple(map(float, pos)))
            for k, (kind, *pos, _) in enumerate(things)
        ]
        self.state = FleetState.zeros(
            len(things),
            16,
            max(len(m.joints) for m in self.models),
            max(len(m.bodies) for m in self.models),
        )
        for k, (_, *pos, turn) in enumerate(things):
            self.state.pos[k] = pos
            self.state.quat[k] = from_euler(0.0, 0.0, math.radians(turn))
        self.state.t_us = round(1e6 * seconds)
        self.state.body_quat[:, :, 3] = 1.0
        self.state.body_pos[:, 0], self.state.body_quat[:, 0] = self.state.pos, self.state.quat
        self.pos, self.quat = (x, y, z), from_euler(0.0, math.radians(pitch), math.radians(yaw))
        self.pinhole = pinhole_of(CameraParameters.pinhole(*size, FIELD))

    def plain(self):
        """The picture as it is without `rendering`."""
        return self._drawn(
            RenderedScene(self.world, self.specs, self.models, self._largest(), SAMPLES)
        )

    def realistic(self, hour="", weather="", turning=0.0, **lens):
        """The picture with `rendering` realistic; turning is a yaw rate [rad/s]."""
        tags = {"width": self.size[0], "height": self.size[1], "horizontal_fov": FIELD, **lens}
        eye = SensorBlock("camera", "eye", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), tags)
        models = [replace(self.models[0], sensors=(eye,)), *self.models[1:]]
        self.state.ang_vel[0, 2] = self.state.body_ang_vel[0, 0, 2] = turning
        return self._drawn(
            RealisticScene(
                self.world,
                self.specs,
                models,
                conditions_of(self.world, hour, weather),
                1,
                self._largest(),
                SAMPLES,
            )
        )

    def _largest(self):
        return self.pinhole.width, self.pinhole.height

    def _drawn(self, scene):
        scene.place(self.state)
        image = scene.draw(self.pos, self.quat, self.pinhole, 0.1, 300.0, key=("iris_0", "eye", ""))
        scene.close()
        return Image.fromarray(image[::-1])


def sheet(path, rows, labels):
    """Saves pictures in rows, each with its label."""
    width, height = rows[0][0].size
    page = Image.new("RGB", (width * len(rows[0]), height * len(rows)))
    font = ImageFont.load_default(13)
    for r, row in enumerate(rows):
        for c, picture in enumerate(row):
            page.paste(picture, (c * width, r * height))
            label = labels[r * len(row) + c]
            pen = ImageDraw.Draw(page, "RGBA")
            box = pen.textbbox((c * width + 8, r * height + 6), label, font=font)
            pen.rectangle((box[0] - 4, box[1] - 3, box[2] + 4, box[3] + 3), fill=(0, 0, 0, 130))
            pen.text((c * width + 8, r * height + 6), label, font=font, fill=(255, 255, 255))
    page.save(path, quality=QUALITY, optimize=True)
    print(path, path.stat().st_size // 1000, "kB", flush=True)


def main():
    """Makes them."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    only = sys.argv[2:]
    for name, (place, hour, *_) in WORLDS.items():
        if not only or name in only:
            stage, title = Stage(name, SIZE), place.replace(" ", " with track ")
            sheet(
                folder / f"{name}.jpg",
                [[stage.plain(), stage.realistic(hour)]],
                [f"{title}, plain", f"{title}, realistic, {hour}"],
            )
    if not only or "conditions" in only:
        stage = Stage("outdoor", SMALL)
        shots = [stage.realistic(*condition) for condition in CONDITIONS]
        sheet(
            folder / "conditions.jpg",
            [shots[:3], shots[3:]],
            [" ".join(filter(None, condition)) for condition in CONDITIONS],
        )
    if not only or "lamps" in only:
        stage = Stage("lamps", SIZE)
        lights, hour = stage.world.lights, VIEWS["lamps"][1]
        shots = [stage.realistic(hour)]
        stage.world = replace(
            stage.world, lights=tuple(replace(light, cast_shadows=False) for light in lights)
        )
        sheet(
            folder / "lamps.jpg",
            [[stage.realistic(hour), *shots]],
            ["lamps without shadows", "lamps with <cast_shadows>"],
        )
    if not only or "wet" in only:
        stage, hour = Stage("wet", SIZE), VIEWS["wet"][1]
        sheet(
            folder / "wet.jpg",
            [[stage.realistic(hour), stage.realistic(hour, "rain=15")]],
            [f"street, {hour}", f"street, {hour}, rain=15"],
        )
    if not only or "lens" in only:
        stage, sun = Stage("outdoor", SMALL), Stage("sun", SMALL)
        clean = {"vignetting": 0.0, "bloom": 0.0, "exposure_time": 0.0}
        shots = [
            stage.realistic("17:00", **{**clean, "vignetting": 1.0, "chromatic_aberration": 0.006}),
            stage.realistic("17:00", turning=1.5, **{**clean, "exposure_time": 0.03}),
            stage.realistic("17:00", **{**clean, "exposure_value": 13.5, "bloom": 0.15}),
            *(sun.realistic(VIEWS["sun"][1], flare=amount) for amount in (0, 1, 10)),
        ]
        sheet(
            folder / "lens.jpg",
            [shots[:3], shots[3:]],
            [
                "vignetting 1, chromatic aberration 0.006",
                "turning 86 deg/s, exposure 0.03 s",
                "exposure value 13.5, bloom 0.15",
                "flare 0",
                "flare 1",
                "flare 10",
            ],
        )


if __name__ == "__main__":
    main()
