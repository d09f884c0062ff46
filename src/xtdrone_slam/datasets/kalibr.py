"""Reads a calibration by Kalibr: camchain-imucam.yaml and imu.yaml, also as OpenVINS has them."""

import contextlib
from pathlib import Path

import numpy as np

from xtdrone_core import XtdroneError
from xtdrone_core.errors import shown

from ..errors import SlamError
from .calibration import EQUIDISTANT, RADTAN, Calibration, Yaml, camera_of, imu_of, read_yaml

_CAMERA = {  # keys of a camera, and what Kalibr says of a size
    "T_cam_imu": "4 x 4",
    "camera_model": "",
    "distortion_model": "",
    "distortion_coeffs": "4",
    "intrinsics": "4",
    "resolution": "2",
    "rostopic": "",
}
_IMU = (
    "accelerometer_noise_density",
    "accelerometer_random_walk",
    "gyroscope_noise_density",
    "gyroscope_random_walk",
    "rostopic",
    "update_rate",
)
_NONE = "none"  # Kalibr's name of a lens without distortion
_ALLOWED = {"camera_model": ("pinhole",), "distortion_model": (RADTAN, EQUIDISTANT, _NONE)}


def read(chain: Path, imu: Path) -> tuple[Calibration, list[str]]:
    """Reads Kalibr's camchain-imucam.yaml and imu.yaml.

    Returns:
        The calibration, with a camera rate of 0 since Kalibr does not state it, and the topics of
        the left image, the right image and the IMU.

    Raises:
        SlamError: A file or a value is missing or wrong; it names all that is.
    """
    pair = {name: _with_kalibr_s_pose(camera) for name, camera in _mapping(chain).items()}
    noise = _mapping(imu)
    noise = noise.get("imu0", noise)  # as Kalibr's results have it
    faults = [fault for name in ("cam0", "cam1") for fault in _faults(name, pair.get(name))]
    faults += [f"{imu.name} has no {key}" for key in _IMU if key not in noise]
    try:
        if faults:
            raise ValueError("; ".join(faults))
        left, right = (camera_of(_as_euroc(pair[name])) for name in ("cam0", "cam1"))
        if left.distortion_model != right.distortion_model:
            raise ValueError("cam0 and cam1 have lenses of different models")
        return (
            Calibration(left, right, imu_of(noise, noise["update_rate"])),
            [str(part["rostopic"]) for part in (pair["cam0"], pair["cam1"], noise)],
        )
    except (ValueError, TypeError, OverflowError, np.linalg.LinAlgError) as error:
        raise SlamError(
            f"no calibration of a stereo pair and an IMU in '{shown(chain)}' and '{shown(imu)}': "
            f"{error}; give Kalibr's camchain-imucam.yaml and imu.yaml"
        ) from error


def _mapping(path: Path) -> Yaml:
    try:
        values = read_yaml(path)
    except XtdroneError as error:
        raise SlamError(f"{error}; give Kalibr's camchain-imucam.yaml and imu.yaml") from error
    if not isinstance(values, dict):
        raise SlamError(f"'{shown(path)}' is no calibration by Kalibr: it has no keys")
    return values


def _with_kalibr_s_pose(camera: Yaml) -> Yaml:
    """Returns a camera with T_cam_imu, also where a file of OpenVINS gives T_imu_cam instead."""
    if not isinstance(camera, dict) or "T_cam_imu" in camera or "T_imu_cam" not in camera:
        return camera
    inverse = camera["T_imu_cam"]
    with contextlib.suppress(ValueError, TypeError, np.linalg.LinAlgError):  # named by _faults()
        inverse = np.linalg.inv(np.array(inverse, dtype=float)).tolist()
    return {**camera, "T_cam_imu": inverse}


def _faults(name: str, camera: Yaml) -> list[str]:
    """Lists what is wrong with a camera of a chain."""
    if not isinstance(camera, dict):
        return [f"there is no {name}, and a stereo pair has cam0 and cam1"]
    faults = [f"{name} has no {key}" for key in _CAMERA if key not in camera]
    for key, allowed in _ALLOWED.items():
        if key in camera and camera[key] not in allowed:
            faults.append(
                f"{key} of {name} is {shown(camera[key])}, {' or '.join(allowed)} is wanted"
            )
    for key, wanted in _CAMERA.items():
        if not wanted or key not in camera or _is_undistorted(camera, key):
            continue
        size = _size(camera[key])
        if size != wanted:
            faults.append(f"{key} of {name} has to be {wanted} numbers, and is {size}")
    return faults


def _is_undistorted(camera: Yaml, key: str) -> bool:
    return key == "distortion_coeffs" and camera.get("distortion_model") == _NONE


def _size(value: Yaml) -> str:
    """Describes the size of a list of numbers."""
    try:
        table = np.array(value, dtype=float)
    except (ValueError, TypeError):
        return "no table of numbers"
    return " x ".join(map(str, table.shape)) or "one number"


def _as_euroc(camera: Yaml) -> Yaml:
    """Returns a camera of Kalibr's with EuRoC's keys."""
    is_undistorted = camera["distortion_model"] == _NONE
    return {
        **camera,
        "rate_hz": 0.0,
        "distortion_model": RADTAN if is_undistorted else camera["distortion_model"],
        "distortion_coefficients": [0.0] * 4 if is_undistorted else camera["distortion_coeffs"],
        "T_BS": {"data": np.linalg.inv(np.array(camera["T_cam_imu"], dtype=float))},
    }
