"""Calibration of a stereo pair and an IMU, in the formats of EuRoC, Kalibr and OpenCV.

The body frame is the IMU's: x forward, y left, z up. A camera's optical frame has
x right, y down, z forward.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import yaml
from scipy.spatial.transform import Rotation

from xtdrone_core import XtdroneError, files
from xtdrone_core.errors import shown

from ..errors import SlamError

# Columns: the optical axes in the simulation's camera frame (x forward, y left, z up).
_OPTICAL = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
_FLU_FRD = np.diag([1.0, -1.0, -1.0, 1.0])  # from forward, left, up to forward, right, down
Yaml: TypeAlias = Any  # a value of YAML, whose form is checked where it is read
TOPICS = "/cam0/image_raw", "/cam1/image_raw", "/imu0"  # a dataset's images and IMU


_EUROC_MODELS = {"radtan": "radial-tangential", "equidistant": "equidistant"}
Matrix = tuple[tuple[float, ...], ...]  # rows


RADTAN, EQUIDISTANT = "radtan", "equidistant"  # Brown-Conrady's lens, and Kannala-Brandt's
_MODELS = {RADTAN: RADTAN, "radial-tangential": RADTAN, EQUIDISTANT: EQUIDISTANT}


_BROWN_CONRADY, _FISHEYE = ("k1", "k2", "p1", "p2"), ("k1", "k2", "k3", "k4")


@dataclass(frozen=True)
class Camera:
    """A pinhole camera with radial-tangential or equidistant (fisheye) distortion."""

    width: int  # [pixels]
    height: int  # [pixels]
    rate: float  # [Hz]
    intrinsics: tuple[float, float, float, float]  # fx, fy, cx, cy [pixels]
    distortion: tuple[float, float, float, float]  # k1, k2, p1, p2; equidistant: k1 to k4
    body_from_camera: Matrix  # (4, 4) rows, optical frame to body [m]
    distortion_model: str = RADTAN

    @property
    def matrix(self) -> np.ndarray:
        """Camera matrix K (3, 3)."""
        fx, fy, cx, cy = self.intrinsics
        return np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])

    @property
    def pose(self) -> np.ndarray:
        """Pose (4, 4), optical frame to body."""
        return np.array(self.body_from_camera)

    @property
    def ros_distortion_model(self) -> str:
        """Name of the model of the lens in sensor_msgs/CameraInfo."""
        return "plumb_bob" if self.distortion_model == RADTAN else self.distortion_model

    @property
    def ros_distortion(self) -> list[float]:
        """D of sensor_msgs/CameraInfo: k1, k2, p1, p2, k3; equidistant: k1 to k4."""
        return [*self.distortion, *[0.0] * (self.distortion_model == RADTAN)]

    @classmethod
    def from_simulation(
        cls, values: Mapping[str, Any], rate: float, imu_pos: npt.ArrayLike
    ) -> "Camera":
        """Makes a camera from the parameters of a simulated one.

        Args:
            values: Table II of the XTDrone paper in snake case, with pos relative to the centre of
                gravity and quat.
            rate: Rate of its images [Hz].
            imu_pos: (3,) IMU relative to the centre of gravity, body [m].

        Raises:
            SlamError: The lens model cannot be expressed in these formats.
        """
        centre = tuple(values["distortion_center"])
        is_fisheye = values.get("distortion_model") == EQUIDISTANT
        if (
            (values["k3"] and not is_fisheye)
            or values["skew"]
            or centre != (values["cx"], values["cy"])
        ):
            raise SlamError(
                "the camera has skew, k3 or a separate distortion centre, which EuRoC "
                "and Kalibr files cannot express: use k1, k2, p1, p2 only, or an equidistant lens"
            )
        pose = np.eye(4)
        pose[:3, :3] = Rotation.from_quat(values["quat"]).as_matrix() @ _OPTICAL
        pose[:3, 3] = np.subtract(values["pos"], imu_pos)
        return cls(
            values["width"],
            values["height"],
            rate,
            (values["fx"], values["fy"], values["cx"], values["cy"]),
            tuple(values[name] for name in (_FISHEYE if is_fisheye else _BROWN_CONRADY)),
            _rows(pose),
            EQUIDISTANT if is_fisheye else RADTAN,
        )


@dataclass(frozen=True)
class Imu:
    """Continuous-time noise of the IMU: Table I of the XTDrone paper."""

    rate: float  # [Hz]
    gyroscope_noise_density: float  # [rad/s/sqrt(Hz)]
    gyroscope_random_walk: float  # [rad/s^2/sqrt(Hz)]
    accelerometer_noise_density: float  # [m/s^2/sqrt(Hz)]
    accelerometer_random_walk: float  # [m/s^3/sqrt(Hz)]


@dataclass(frozen=True)
class Calibration:
    """A stereo pair and the IMU, whose frame is the body frame."""

    left: Camera
    right: Camera
    imu: Imu

    @property
    def right_from_left(self) -> np.ndarray:
        """Transform (4, 4) from the left optical frame to the right one [m]."""
        return np.linalg.inv(self.right.pose) @ self.left.pose

    @property
    def is_radtan(self) -> bool:
        """Whether both lenses have radial-tangential distortion."""
        return self.left.distortion_model == self.right.distortion_model == RADTAN

    def flipped(self) -> "Calibration":
        """Returns it with the body's axes forward, right, down, or back to forward, left, up."""
        left, right = (
            replace(camera, body_from_camera=_rows(_FLU_FRD @ camera.pose))
            for camera in (self.left, self.right)
        )
        return replace(self, left=left, right=right)


def pose_matrix(pos: npt.ArrayLike, quat: npt.ArrayLike) -> np.ndarray:
    """Returns the pose (4, 4) of a position (3,) [m] and a quaternion (4,) xyzw."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = Rotation.from_quat(quat).as_matrix(), pos
    return pose


def write_euroc(folder: Path, calibration: Calibration) -> None:
    """Writes sensor.yaml of cam0, cam1 and imu0, and body.yaml, into a mav0 folder."""
    for number, camera in enumerate((calibration.left, calibration.right)):
        _write(
            folder / f"cam{number}" / "sensor.yaml",
            {
                "sensor_type": "camera",
                "comment": ("left", "right")[number] + " camera of the pair",
                "T_BS": _matrix(camera.pose),
                "rate_hz": camera.rate,
                "resolution": [camera.width, camera.height],
                "camera_model": "pinhole",
                "intrinsics": list(camera.intrinsics),
                "distortion_model": _EUROC_MODELS[camera.distortion_model],
                "distortion_coefficients": list(camera.distortion),
            },
        )
    write_body(folder, calibration.imu)


def write_body(folder: Path, imu: Imu) -> None:
    """Writes sensor.yaml of the IMU and of the true state, and body.yaml, into a mav0 folder."""
    _write(
        folder / "imu0" / "sensor.yaml",
        {
            "sensor_type": "imu",
            "comment": "IMU, whose frame is the body's",
            "T_BS": _matrix(np.eye(4)),
            "rate_hz": imu.rate,
            **_noise(imu),
        },
    )
    _write(
        folder / "state_groundtruth_estimate0" / "sensor.yaml",
        {
            "sensor_type": "state",
            "comment": "true state from the simulator's engine",
            "T_BS": _matrix(np.eye(4)),
        },
    )
    _write(folder / "body.yaml", {"comment": "XTDrone workspace, simulated multirotor"})


def read_euroc(folder: Path) -> Calibration:
    """Reads a folder written by write_euroc, or of the EuRoC data set itself.

    Raises:
        SlamError: A file or a value is missing.
    """
    try:
        left, right = (camera_of(read_yaml(folder / f"cam{i}" / "sensor.yaml")) for i in range(2))
        imu = read_yaml(folder / "imu0" / "sensor.yaml")
        return Calibration(left, right, imu_of(imu, imu["rate_hz"]))
    except _INVALID as error:
        raise SlamError(
            f"no EuRoC calibration in '{shown(folder)}' ({shown(error)}): give a "
            "folder with cam0, cam1 and imu0, each with its sensor.yaml"
        ) from error


def write_kalibr(folder: Path, calibration: Calibration, topics: Sequence[str] = TOPICS) -> None:
    """Writes Kalibr's camchain-imucam.yaml and imu.yaml into a folder.

    Args:
        folder: Made where it is missing.
        calibration: Calibration of the pair and the IMU.
        topics: Topics of the left image, the right image and the IMU.
    """
    chain: dict[str, dict[str, Any]] = {}
    for number, camera in enumerate((calibration.left, calibration.right)):
        chain[f"cam{number}"] = {
            "T_cam_imu": np.linalg.inv(camera.pose).tolist(),
            "cam_overlaps": [1 - number],
            "camera_model": "pinhole",
            "distortion_coeffs": list(camera.distortion),
            "distortion_model": camera.distortion_model,
            "intrinsics": list(camera.intrinsics),
            "resolution": [camera.width, camera.height],
            "rostopic": topics[number],
            "timeshift_cam_imu": 0.0,
        }
    chain["cam1"]["T_cn_cnm1"] = calibration.right_from_left.tolist()
    _write(folder / "camchain-imucam.yaml", chain)
    imu = calibration.imu
    _write(folder / "imu.yaml", {**_noise(imu), "rostopic": topics[2], "update_rate": imu.rate})


def read_yaml(path: Path) -> Yaml:
    """Reads YAML, without the directive line of OpenCV, which is not valid YAML."""
    text = files.read_text(path, "calibration", 1 << 20).removeprefix("%YAML:1.0")
    return files.parse_yaml(text, f"calibration '{shown(path)}'")


def imu_of(values: Yaml, rate: Yaml) -> Imu:
    return Imu(_number(rate), *(_number(values[key]) for key in _noise(_NO_NOISE)))


def _number(value: Yaml) -> float:
    """Reads a finite number of a calibration."""
    number = float(value)
    if not abs(number) <= _MAX_NUMBER:
        raise ValueError(f"{shown(value)} is not allowed")
    return number


def camera_of(values: Yaml) -> Camera:
    if values["camera_model"] != "pinhole" or values["distortion_model"] not in _MODELS:
        raise ValueError(
            f"a camera is {shown(values['camera_model'])} with the distortion "
            f"{shown(values['distortion_model'])}, a pinhole with {' or '.join(_MODELS)} is wanted"
        )
    pose = np.array(values["T_BS"]["data"], dtype=float).reshape(4, 4)
    if not (np.abs(pose) <= _MAX_NUMBER).all():
        raise ValueError("the pose of a camera is not finite")
    width, height = (int(_number(side)) for side in values["resolution"])
    if not (0 < width <= _MAX_PIXELS and 0 < height <= _MAX_PIXELS):
        raise ValueError(f"{width} x {height} pixels are not allowed")
    return Camera(
        width,
        height,
        _number(values["rate_hz"]),
        _four(values["intrinsics"]),
        _four(values["distortion_coefficients"]),
        _rows(pose),
        _MODELS[values["distortion_model"]],
    )


def _four(values: Yaml) -> tuple[float, float, float, float]:
    a, b, c, d = map(_number, values)
    return a, b, c, d


def _rows(matrix: np.ndarray) -> Matrix:
    return tuple(map(tuple, matrix.tolist()))


def _noise(imu: Imu) -> dict[str, float]:
    return {
        "gyroscope_noise_density": imu.gyroscope_noise_density,
        "gyroscope_random_walk": imu.gyroscope_random_walk,
        "accelerometer_noise_density": imu.accelerometer_noise_density,
        "accelerometer_random_walk": imu.accelerometer_random_walk,
    }


_MAX_NUMBER = 1e9  # largest number in a calibration
_MAX_PIXELS = 100_000  # largest number of pixels per side
_INVALID = (
    XtdroneError,
    KeyError,
    IndexError,
    AttributeError,
    TypeError,
    ValueError,
    OverflowError,
)
_NO_NOISE = Imu(0.0, 0.0, 0.0, 0.0, 0.0)


def _matrix(matrix: np.ndarray) -> dict[str, Any]:
    return {"cols": 4, "rows": 4, "data": matrix.reshape(-1).tolist()}


def _write(path: Path, values: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(values, sort_keys=False))
