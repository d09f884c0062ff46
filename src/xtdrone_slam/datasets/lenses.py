"""Undistorts and rectifies images of a calibrated pair by OpenCV, for either model of a lens."""

from pathlib import Path
from typing import Any

import numpy as np

from .calibration import EQUIDISTANT, Calibration, Camera


def rectification(calibration: Calibration) -> Any:  # OpenCV's tuple of arrays and regions
    """Returns R1, R2, P1, P2 and Q, as cv2.stereoRectify does."""
    import cv2

    left, right = calibration.left, calibration.right
    pose = calibration.right_from_left
    given = (
        left.matrix,
        np.array(left.distortion),
        right.matrix,
        np.array(right.distortion),
        (left.width, left.height),
        pose[:3, :3],
        pose[:3, 3],
    )
    if left.distortion_model == EQUIDISTANT:
        return cv2.fisheye.stereoRectify(*given, flags=cv2.CALIB_ZERO_DISPARITY)
    return cv2.stereoRectify(*given, alpha=0)


def rectifying_maps(
    camera: Camera, rotation: np.ndarray, projection: np.ndarray, kind: int
) -> Any:  # OpenCV's pair of maps
    """Returns the maps of cv2.remap() that rectify a camera's image.

    Args:
        camera: The camera.
        rotation, projection: R and P of rectification().
        kind: Type of the maps, cv2.CV_32FC1 or cv2.CV_16SC2.
    """
    import cv2

    make = (
        cv2.fisheye.initUndistortRectifyMap
        if camera.distortion_model == EQUIDISTANT
        else cv2.initUndistortRectifyMap
    )
    size = camera.width, camera.height
    return make(camera.matrix, np.array(camera.distortion), rotation, projection[:, :3], size, kind)


def undistorted(camera: Camera, pixels: np.ndarray) -> np.ndarray:
    """Returns coordinates (M, 1, 2) at unit distance of pixels (M, 1, 2)."""
    import cv2

    undistort = (
        cv2.fisheye.undistortPoints
        if camera.distortion_model == EQUIDISTANT
        else cv2.undistortPoints
    )
    flat: np.ndarray = undistort(pixels, camera.matrix, np.array(camera.distortion))
    return flat


def write_opencv(path: Path, calibration: Calibration) -> None:
    """Writes an OpenCV FileStorage file: both cameras, R, T, and the rectification."""
    import cv2

    left, right = calibration.left, calibration.right
    pose = calibration.right_from_left
    storage = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
    storage.write("image_width", left.width)
    storage.write("image_height", left.height)
    storage.write("distortion_model", left.distortion_model)
    values = {
        "M1": left.matrix,
        "D1": np.array(left.distortion),
        "M2": right.matrix,
        "D2": np.array(right.distortion),
        "R": pose[:3, :3],
        "T": pose[:3, 3],
        **dict(zip(("R1", "R2", "P1", "P2", "Q"), rectification(calibration))),
    }
    for name, value in values.items():
        storage.write(name, np.ascontiguousarray(value))
    storage.release()
