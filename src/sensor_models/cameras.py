"""Parameters of cameras, read from a vehicle's SDF or from presets.yaml.

Table II of XTDrone under exactly its names in snake case. A pixel's centre has
whole coordinates, as in OpenCV and ROS, so the middle of an image of width w is
at (w - 1) / 2. Cameras look along their frame's x axis, with the image's right
towards -y and its lower edge towards -z, as in Gazebo.
"""

import dataclasses
import math
from dataclasses import dataclass

from xtdrone_core import SensorBlock
from xtdrone_core.errors import unknown_name
from xtdrone_dynamics.quaternion import from_euler, multiply, rotate

from . import fisheye
from .blocks import (
    MAX_LATENCY,
    PLUGIN_TAGS,
    UNSET_RATE,
    field_names,
    number,
    numbers,
    preset_values,
    refuse_misspelt,
    sample_rate,
    scalar_tags,
    scalars,
    values_at,
    whole_number,
)
from .errors import SensorError

PLUMB_BOB, EQUIDISTANT = "plumb_bob", "equidistant"  # Brown-Conrady's lens, Kannala-Brandt's
FORMATS = {"mono8": 1, "rgb8": 3}  # bytes per pixel
_SDF_FORMATS = {
    "L8": "mono8",
    "L_INT8": "mono8",
    "R8G8B8": "rgb8",
    "RGB_INT8": "rgb8",
    **{name: name for name in FORMATS},
}
_MAX_SIDE = 4096  # [pixels]
_MAX_PIXELS = 100_000  # largest focal length or principal point
_MAX_EXPOSURE = 0.1  # [s]
_MAX_EV = 20.0
_MAX_FRINGE = 0.02
_MAX_FLARE = 50.0
_PAIR = ("left", "right")

_CAMERA_PATHS = {  # where SDF and Gazebo's ROS plugins keep what Table II names
    "width": ("image", "width"),
    "height": ("image", "height"),
    "format": ("image", "format"),
    "anti_aliasing": ("image", "anti_aliasing"),
    "noise_mean": ("noise", "mean"),
    "noise_stddev": ("noise", "stddev"),
    "fx": ("lens", "intrinsics", "fx"),
    "fy": ("lens", "intrinsics", "fy"),
    "cx": ("lens", "intrinsics", "cx"),
    "cy": ("lens", "intrinsics", "cy"),
    "skew": ("lens", "intrinsics", "s"),
    "k1": ("distortion", "k1"),
    "k2": ("distortion", "k2"),
    "k3": ("distortion", "k3"),
    "k4": ("distortion", "k4"),
    "distortion_model": ("distortion", "model"),
    "p1": ("distortion", "p1"),
    "p2": ("distortion", "p2"),
    "distortion_center": ("distortion", "center"),
    "near": ("clip", "near"),
    "far": ("clip", "far"),
    "horizontal_fov": ("horizontal_fov",),
}


@dataclass(frozen=True)
class CameraParameters:
    """One camera: XTDrone's Table II. Its shutter is global: a frame shows one instant.

    Examples:
        >>> import xtdrone as xd
        >>> from sensor_models.cameras import cameras_of
        >>> vehicle = xd.load_vehicle("iris_depth")
        >>> block = next(block for block in vehicle.sensors if block.kind == "depth")
        >>> cameras_of(block)[0].width
        480
    """

    name: str  # left, right, or empty for a camera on its own
    pos: tuple[float, float, float]  # from the centre of gravity, body FLU [m]
    quat: tuple[float, float, float, float]  # xyzw, camera frame (x forward) to body
    rate: float  # [Hz]
    latency: float  # from the exposure to the image's arrival [s]
    width: int  # [pixels]
    height: int  # [pixels]
    format: str  # mono8 or rgb8
    noise_mean: float  # mean of a pixel's noise, full scale is 1
    noise_stddev: float  # standard deviation of a pixel's noise, full scale 1; of a depth [m]
    fx: float  # focal lengths [pixels]
    fy: float
    cx: float  # principal point [pixels]
    cy: float
    skew: float  # [pixels]
    k1: float  # radial distortion, of Brown-Conrady or of an equidistant lens
    k2: float
    k3: float
    p1: float  # tangential distortion, of Brown-Conrady
    p2: float
    distortion_center: tuple[float, float]  # [pixels]; OpenCV puts it into the principal point
    near: float  # nothing nearer is seen [m]
    far: float  # nothing further is seen [m]
    hack_baseline: float  # distance to the left camera of a rectified pair, for CameraInfo [m]
    anti_aliasing: int = 0  # samples per pixel at edges; each costs time
    k4: float = 0.0  # an equidistant lens has it
    distortion_model: str = PLUMB_BOB  # plumb_bob, or equidistant for a fisheye
    # The rest is of realistic images only.
    exposure_time: float = 0.005  # [s]; what moves meanwhile is blurred
    exposure_value: float | None = None  # EV at ISO 100; None = automatic
    vignetting: float = 0.4  # 1 = cos^4 of the angle from the axis, 0 = none
    chromatic_aberration: float = 0.0  # relative size of red over green, and of green over blue
    bloom: float = 0.02  # fraction of the light that the lens scatters
    flare: float = 1.0  # strength of reflections in the lens; 1 = coated glass, 0 = none

    def __post_init__(self) -> None:
        def check(fine: bool, what: str, allowed: str) -> None:
            if not fine:
                label = f"camera '{self.name}'" if self.name else "a camera"
                raise SensorError(f"{what} of {label} is not allowed: {allowed}")

        for name in ("width", "height"):
            side = getattr(self, name)
            check(1 <= side <= _MAX_SIDE, f"{name} {side}", f"give 1 to {_MAX_SIDE} pixels")
        check(
            self.distortion_model in (PLUMB_BOB, EQUIDISTANT),
            f"distortion_model '{self.distortion_model}'",
            f"give {PLUMB_BOB} or {EQUIDISTANT}",
        )
        check(
            self.k4 == 0.0 if self.distortion_model == PLUMB_BOB else self._is_centred(),
            f"distortion of the model {self.distortion_model}",
            f"{PLUMB_BOB} has k1, k2, k3, p1 and p2; {EQUIDISTANT} has k1 to k4, and its centre is "
            "the principal point",
        )
        check(self.format in FORMATS, f"format '{self.format}'", "give mono8 or rgb8")
        check(
            0 < min(self.fx, self.fy) and max(self.fx, self.fy) <= _MAX_PIXELS,
            f"focal length {self.fx:g} {self.fy:g}",
            f"give fx and fy above 0, to {_MAX_PIXELS}",
        )
        check(
            max(map(abs, (self.cx, self.cy, self.skew))) <= _MAX_PIXELS,
            f"principal point {self.cx:g} {self.cy:g} or skew {self.skew:g}",
            f"give at most {_MAX_PIXELS} pixels",
        )
        check(
            0 < self.near < self.far, f"clip {self.near:g} to {self.far:g} m", "give 0 < near < far"
        )
        check(self.noise_stddev >= 0, f"noise stddev {self.noise_stddev:g}", "give a number from 0")
        check(
            0 <= self.latency <= MAX_LATENCY,
            f"latency {self.latency:g}",
            f"give seconds from 0 to {MAX_LATENCY:g}",
        )
        check(
            self.anti_aliasing in (0, 2, 4, 8),
            f"anti_aliasing {self.anti_aliasing}",
            "give 0, 2, 4 or 8",
        )
        check(
            0 <= self.exposure_time <= _MAX_EXPOSURE,
            f"exposure_time {self.exposure_time:g}",
            f"give seconds from 0 to {_MAX_EXPOSURE:g}",
        )
        value = self.exposure_value
        check(
            value is None or abs(value) <= _MAX_EV,
            f"exposure_value {value}",
            f"give -{_MAX_EV:g} to {_MAX_EV:g} EV, or leave it out for an automatic one",
        )
        check(0 <= self.vignetting <= 1, f"vignetting {self.vignetting:g}", "give 0 to 1")
        check(
            abs(self.chromatic_aberration) <= _MAX_FRINGE,
            f"chromatic_aberration {self.chromatic_aberration:g}",
            f"give -{_MAX_FRINGE:g} to {_MAX_FRINGE:g}",
        )
        check(0 <= self.bloom <= 0.5, f"bloom {self.bloom:g}", "give 0 to 0.5")
        check(0 <= self.flare <= _MAX_FLARE, f"flare {self.flare:g}", f"give 0 to {_MAX_FLARE:g}")

    @classmethod
    def pinhole(
        cls,
        width: int,
        height: int,
        horizontal_fov: float,
        *,
        pos: tuple[float, float, float] = (0.0, 0.0, 0.0),
        quat: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0),
        near: float = 0.1,
        far: float = 100.0,
        format: str = "rgb8",
        noise_stddev: float = 0.0,
        rate: float = UNSET_RATE,
    ) -> "CameraParameters":
        """A camera without distortion that looks straight ahead.

        Args:
            width, height: [pixels].
            horizontal_fov: Its field of view [rad].
            Others: See the attributes.

        Raises:
            SensorError: A value is not allowed.
        """
        if not 0.0 < horizontal_fov < math.pi:
            raise SensorError(
                f"horizontal_fov {horizontal_fov:g} of a camera is not allowed: give 0 to pi"
            )
        focal = 0.5 * width / math.tan(0.5 * horizontal_fov)
        cx, cy = 0.5 * (width - 1), 0.5 * (height - 1)
        return cls(
            "",
            pos,
            quat,
            rate,
            0.0,
            width,
            height,
            format,
            0.0,
            noise_stddev,
            focal,
            focal,
            cx,
            cy,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            (cx, cy),
            near,
            far,
            0.0,
        )

    @property
    def camera_matrix(self) -> tuple[tuple[float, float, float], ...]:
        """(3, 3) rows of K."""
        return ((self.fx, self.skew, self.cx), (0.0, self.fy, self.cy), (0.0, 0.0, 1.0))

    def _is_centred(self) -> bool:
        return self.p1 == self.p2 == 0.0 and self.distortion_center == (self.cx, self.cy)

    @property
    def is_fisheye(self) -> bool:
        """Whether the lens is equidistant."""
        return self.distortion_model == EQUIDISTANT

    @property
    def fisheye_distortion(self) -> tuple[float, float, float, float]:
        """k1 to k4 of an equidistant lens."""
        return self.k1, self.k2, self.k3, self.k4

    @property
    def distortion(self) -> tuple[float, float, float, float, float]:
        """k1, k2, p1, p2, k3, in OpenCV's order."""
        return self.k1, self.k2, self.p1, self.p2, self.k3


def cameras_of(block: SensorBlock) -> tuple[CameraParameters, ...]:
    """The cameras of a block of kind camera or depth: one, or a stereo pair.

    Tags are SDF's and those of Gazebo's ROS plugins; names of Table II may also
    be given in <sensor>, <camera> or <plugin>, where they take precedence.

    Raises:
        SensorError: An invalid value, or more than two cameras.
    """
    tags = block.parameters
    cameras = tags.get("camera", {})
    cameras = cameras if isinstance(cameras, list) else [cameras]
    if len(cameras) > 2:
        raise SensorError(f"'{block.name}' has {len(cameras)} cameras: give one, or a stereo pair")
    rate = sample_rate(block)
    names = _PAIR if len(cameras) == 2 else ("",)
    pair = [_camera(block, rate, name, camera) for name, camera in zip(names, cameras)]
    if len(pair) == 2 and pair[1].hack_baseline == 0.0:
        apart = math.dist(pair[0].pos, pair[1].pos)
        pair[1] = dataclasses.replace(pair[1], hack_baseline=apart)
    if len(pair) == 2:
        pair[0] = dataclasses.replace(pair[0], hack_baseline=0.0)
    return tuple(pair)


def _camera(block: SensorBlock, rate: float, name: str, camera: dict) -> CameraParameters:
    values = {
        "noise_mean": 0.0,
        "noise_stddev": 0.0,
        "skew": 0.0,
        "k1": 0.0,
        "k2": 0.0,
        "k3": 0.0,
        "k4": 0.0,
        "distortion_model": PLUMB_BOB,
        "p1": 0.0,
        "p2": 0.0,
        "near": 0.1,
        "far": 100.0,
        "hack_baseline": 0.0,
        "latency": 0.0,
        "width": 320,
        "height": 240,
        "format": "rgb8",
        "horizontal_fov": 1.047,
        **preset_values(block, ""),
    }
    plain = {**scalar_tags(block), **scalars(camera)}
    fields = field_names(CameraParameters)
    own = (*fields, *PLUGIN_TAGS, "update_rate", "preset", "horizontal_fov")
    refuse_misspelt(block, camera, _CAMERA_PATHS.values(), own)
    refuse_misspelt(block, plain, [], own)
    values.update(values_at(camera, _CAMERA_PATHS))
    if "horizontal_fov" in plain and "lens" not in camera:  # SDF's fov replaces a preset's lens
        for key in ("fx", "fy", "cx", "cy"):
            values.pop(key, None)
    values.update(
        {
            key: value
            for key, value in plain.items()
            if key in fields - {"name", "pos"} or key == "horizontal_fov"
        }
    )
    pos, quat = _placed(block, camera)
    values.update(_projection(block, camera))
    distortion_model = str(values.pop("distortion_model"))
    picture = str(values.pop("format"))
    if block.kind == "depth" and picture.startswith("R_FLOAT"):  # says so of the depths
        picture = "rgb8"
    if picture not in _SDF_FORMATS:
        raise SensorError(unknown_name(f"format of camera '{block.name}'", picture, _SDF_FORMATS))
    centre = values.pop("distortion_center", None)
    v = {key: number(block, key, value) for key, value in values.items()}
    width, height, anti_aliasing = (
        whole_number(block, name, v.pop(name, 0)) for name in ("width", "height", "anti_aliasing")
    )
    fov = v.pop("horizontal_fov")
    is_fisheye = distortion_model == EQUIDISTANT
    if not 0 < fov < (2.0 if is_fisheye else 1.0) * math.pi:
        maximum = "2 pi" if is_fisheye else "pi"
        raise SensorError(
            f"horizontal_fov {fov:g} of '{block.name}' is not allowed: give 0 to {maximum}"
        )
    half = 0.5 * fov
    bent = (
        fisheye.bend(half, (v["k1"], v["k2"], v["k3"], v["k4"])) if is_fisheye else math.tan(half)
    )
    v.setdefault("fx", 0.5 * width / bent)
    v.setdefault("fy", v["fx"])
    v.setdefault("cx", 0.5 * (width - 1))
    v.setdefault("cy", 0.5 * (height - 1))
    if centre is None:
        centre = v["cx"], v["cy"]
    else:
        x, y = numbers(block, "distortion_center", centre, 2)
        centre = x * width - 0.5, y * height - 0.5
    v.pop("rate", None)
    return CameraParameters(
        name=name,
        pos=pos,
        quat=quat,
        rate=rate,
        width=width,
        height=height,
        format=_SDF_FORMATS[picture],
        distortion_center=centre,
        distortion_model=distortion_model,
        anti_aliasing=anti_aliasing,
        **v,
    )


def _projection(block: SensorBlock, camera: dict) -> dict[str, object]:
    """The distortion of SDF's <lens><type>, by its series; empty without one."""
    lens = camera.get("lens")
    kind = lens.get("type") if isinstance(lens, dict) else None
    if kind is None or kind == fisheye.PINHOLE:
        return {}
    if kind not in fisheye.PROJECTIONS:
        allowed = (fisheye.PINHOLE, *fisheye.PROJECTIONS)
        raise SensorError(unknown_name(f"lens type of camera '{block.name}'", kind, allowed))
    series = dict(zip(("k1", "k2", "k3", "k4"), fisheye.PROJECTIONS[kind], strict=True))
    return {"distortion_model": EQUIDISTANT, **series}


def _placed(block: SensorBlock, camera: dict) -> tuple:
    """Position and attitude of a <camera> with a <pose> of its own in its sensor."""
    if not camera.get("pose"):
        return block.pos, block.quat
    x, y, z, roll, pitch, yaw = numbers(block, "pose", camera["pose"], 6)
    offset = rotate(*block.quat, x, y, z)
    return (
        tuple(a + b for a, b in zip(block.pos, offset)),
        tuple(multiply(*block.quat, *from_euler(roll, pitch, yaw))),
    )
