"""What a data set holds: its worlds, classes, number of images, camera and conditions."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sensor_models.cameras import CameraParameters
from xtdrone_core import files, resources
from xtdrone_core.errors import shown, unknown_name
from xtdrone_core.scenario.weather import hour_of, parse_weather

from ..errors import PerceptionError

VEHICLE = "vehicle"  # the class of this workspace's vehicles; others are figures of actors
FIGURES = ("person", "car")  # models that actors look like
OUTPUTS = ("masks", "depth", "flow")  # beside images and boxes, which are always written
SPLITS = ("train", "val", "test")
_MAX_SIDE = 4096  # [pixels]
_MAX_IMAGES = 1_000_000
_FILE = "options.yaml"


@dataclass(frozen=True)
class Options:
    """What a data set holds. The same options give the same bytes."""

    worlds: tuple[str, ...] = ("street",)
    classes: tuple[str, ...] = ("person", "car", "vehicle")
    images: int = 1000
    frames: int = 10  # images of one scene: a sequence for trackers
    rate: float = 5.0  # frames of a sequence [1/s]
    seed: int = 0
    width: int = 640  # [pixels]
    height: int = 480  # [pixels]
    fov: float = 70.0  # horizontal field of view [deg]
    lens: tuple[float, ...] = ()  # k1, k2, p1, p2, k3 of Brown and Conrady
    noise: float = 0.0  # standard deviation of a pixel's noise, of full scale 1
    rendering: str = "plain"
    times_of_day: tuple[str, ...] = ()  # of realistic images; one is drawn for each scene
    weathers: tuple[str, ...] = ()
    vehicles: tuple[str, ...] = ("iris", "solo", "typhoon_h480", "plane")
    outputs: tuple[str, ...] = OUTPUTS
    shares: tuple[float, ...] = (0.7, 0.15, 0.15)  # of training, validation and test
    randomise: bool = True  # textures, colours, lights and clutter

    def __post_init__(self) -> None:
        _listed("classes", self.classes, (*FIGURES, VEHICLE))
        _listed("outputs", self.outputs, OUTPUTS, empty=True)
        for world in self.worlds:
            resources.world_sdf(world)
        for vehicle in self.vehicles if VEHICLE in self.classes else ():
            resources.vehicle_sdf(vehicle)
        _whole("images", self.images, 1, _MAX_IMAGES)
        _whole("frames", self.frames, 1, 10_000)
        _whole("width", self.width, 16, _MAX_SIDE)
        _whole("height", self.height, 16, _MAX_SIDE)
        _whole("seed", self.seed, 0, 2**31)
        _within("rate", self.rate, 0.01, 1000.0)
        _within("fov", self.fov, 5.0, 150.0)
        _within("noise", self.noise, 0.0, 1.0)
        if self.rendering not in ("plain", "realistic"):
            raise PerceptionError(unknown_name("rendering", self.rendering, ("plain", "realistic")))
        if (self.times_of_day or self.weathers) and self.rendering == "plain":
            raise PerceptionError(
                "time of day and weather are of realistic images: add --rendering realistic"
            )
        for time in self.times_of_day:
            hour_of(time)
        for weather in self.weathers:
            parse_weather(weather)
        if len(self.lens) not in (0, 5) or not all(map(math.isfinite, self.lens)):
            raise PerceptionError(f"lens {shown(self.lens)}: give k1,k2,p1,p2,k3")
        if (
            len(self.shares) != len(SPLITS)
            or min(self.shares) < 0.0
            or abs(sum(self.shares) - 1.0) > 1e-6
        ):
            raise PerceptionError(
                f"shares {shown(self.shares)}: give those of {', '.join(SPLITS)}, from 0 on, "
                "with the sum 1"
            )

    @property
    def scenes(self) -> int:
        """Number of scenes."""
        return math.ceil(self.images / self.frames)

    @property
    def camera(self) -> CameraParameters:
        """The camera that takes the images."""
        plain = CameraParameters.pinhole(
            self.width,
            self.height,
            math.radians(self.fov),
            noise_stddev=self.noise,
            near=0.2,
            far=300.0,
        )
        if not self.lens:
            return plain
        k1, k2, p1, p2, k3 = self.lens
        return dataclasses.replace(plain, k1=k1, k2=k2, p1=p1, p2=p2, k3=k3)

    def frames_of(self, scene: int) -> int:
        """Number of images of a scene: the last one may have fewer."""
        return min(self.frames, self.images - scene * self.frames)

    def split_of(self, scene: int) -> str:
        """The split of a scene. All its images are in one, and it does not depend on the others.

        Scenes are spread by the golden ratio, so that few of them have the wanted shares, too.
        """
        place = (scene * (math.sqrt(5.0) - 1.0) / 2.0 + 0.5) % 1.0
        for split, share in zip(SPLITS, self.shares):
            if place < share:
                return split
            place -= share
        return SPLITS[self.shares.index(max(self.shares))]

    def plain(self) -> dict[str, Any]:
        """Returns plain data for YAML."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in dataclasses.asdict(self).items()
        }

    def claim(self, folder: Path) -> None:
        """Makes the folder this data set's, or goes on with it.

        Raises:
            PerceptionError: It holds something else, or cannot be written.
        """
        import yaml

        path = folder / _FILE
        try:
            if path.is_file():
                there = read_options(folder)
                if dataclasses.replace(there, images=self.images) != self:
                    raise PerceptionError(
                        f"'{folder}' holds a data set of other options ({_different(there, self)}):"
                        " give another --out, or the same options to go on"
                    )
            elif folder.is_dir() and any(folder.iterdir()):
                raise PerceptionError(
                    f"'{folder}' is no data set, and not empty: give another --out"
                )
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(yaml.safe_dump(self.plain(), sort_keys=False))
        except OSError as error:
            raise PerceptionError(f"cannot write '{folder}': {error.strerror}") from error


def read_options(folder: Path) -> Options:
    """The options of a data set that was made by this command.

    Raises:
        PerceptionError: It is none.
    """
    path = Path(folder) / _FILE
    if not files.is_file(path):
        raise PerceptionError(
            f"'{shown(folder)}' is no data set: give a folder that `xtdrone perception dataset` "
            "has made"
        )
    given = files.read_yaml(path, "options of a data set", error=PerceptionError)
    names = {field.name for field in dataclasses.fields(Options)}
    if not isinstance(given, dict) or not set(given) <= names:
        raise PerceptionError(f"'{path}' has not the options of a data set: make it again")
    values: dict[str, Any] = {  # of the types that the file gives
        name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
    }
    try:
        return Options(**values)
    except TypeError as error:
        raise PerceptionError(f"'{path}' has not the options of a data set: {error}") from error


def _different(one: Options, other: Options) -> str:
    a, b = one.plain(), other.plain()
    return ", ".join(name for name in a if a[name] != b[name] and name != "images")


def _listed(what: str, given: Sequence[str], allowed: Sequence[str], empty: bool = False) -> None:
    if not given and not empty:
        raise PerceptionError(f"no {what}: give some of {', '.join(allowed)}")
    for name in given:
        if name not in allowed:
            raise PerceptionError(unknown_name(what, name, allowed))
    if len(set(given)) < len(given):
        raise PerceptionError(f"{what} {', '.join(given)}: give each once")


def _whole(what: str, given: object, low: int, high: int) -> None:
    if not isinstance(given, int) or not low <= given <= high:
        raise PerceptionError(f"{what} {shown(given)}: give a whole number from {low} to {high}")


def _within(what: str, given: float, low: float, high: float) -> None:
    if not low <= given <= high:
        raise PerceptionError(f"{what} {shown(given)}: give a number from {low:g} to {high:g}")
