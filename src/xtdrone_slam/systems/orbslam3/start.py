"""Writes ORB-SLAM3's settings from a dataset's calibration, then executes the driver."""

import argparse
import json
import os
from pathlib import Path

import numpy as np

from xtdrone_slam.benchmark import link
from xtdrone_slam.datasets import calibration, lenses

_VIEWER = {
    "KeyFrameSize": 0.05,
    "KeyFrameLineWidth": 1.0,
    "GraphLineWidth": 0.9,
    "PointSize": 2.0,
    "CameraSize": 0.08,
    "CameraLineWidth": 3.0,
    "ViewpointX": 0.0,
    "ViewpointY": -0.7,
    "ViewpointZ": -1.8,
    "ViewpointF": 500.0,
}


def settings(
    stereo: calibration.Calibration,
    features: int,
    fast: int,
    loops: int,
    inertial: bool = False,
    inflation: float = 1.0,
) -> str:
    """ORB-SLAM3's settings file (version 1.0) for a stereo pair; other values as in its EuRoC
    example. With `inertial` the IMU's, too, its noise increased by a factor.
    """
    lines = ["%YAML:1.0", 'File.version: "1.0"', 'Camera.type: "PinHole"']
    for number, camera in ((1, stereo.left), (2, stereo.right)):
        values = zip(
            ("fx", "fy", "cx", "cy", "k1", "k2", "p1", "p2"),
            (*camera.intrinsics, *camera.distortion),
        )
        lines += [f"Camera{number}.{name}: {float(value)!r}" for name, value in values]
    lines += [
        f"Camera.width: {stereo.left.width}",
        f"Camera.height: {stereo.left.height}",
        f"Camera.fps: {round(stereo.left.rate)}",
        "Camera.RGB: 1",
        "Stereo.ThDepth: 60.0",
        *_matrix("Stereo.T_c1_c2", np.linalg.inv(stereo.right_from_left)),
        f"ORBextractor.nFeatures: {features}",
        "ORBextractor.scaleFactor: 1.2",
        "ORBextractor.nLevels: 8",
        f"ORBextractor.iniThFAST: {fast}",
        f"ORBextractor.minThFAST: {min(fast, 7)}",
        f"loopClosing: {loops}",
    ]
    if inertial:
        lines += _imu(stereo, inflation)
    lines += [f"Viewer.{name}: {value}" for name, value in _VIEWER.items()]
    return "\n".join(lines) + "\n"


def _imu(stereo: calibration.Calibration, inflation: float) -> list[str]:
    """Returns the lines of the IMU."""
    imu = stereo.imu
    return [
        f"IMU.NoiseGyro: {float(inflation * imu.gyroscope_noise_density)!r}",
        f"IMU.NoiseAcc: {float(inflation * imu.accelerometer_noise_density)!r}",
        f"IMU.GyroWalk: {float(inflation * imu.gyroscope_random_walk)!r}",
        f"IMU.AccWalk: {float(inflation * imu.accelerometer_random_walk)!r}",
        f"IMU.Frequency: {float(imu.rate)!r}",
        "IMU.InsertKFsWhenLost: 1",
        *_matrix("IMU.T_b_c1", stereo.left.pose),
    ]


def _matrix(name: str, values: np.ndarray) -> list[str]:
    """Returns the lines of a matrix (4, 4)."""
    data = ", ".join(repr(float(x)) for x in values.ravel())
    head = [f"{name}: !!opencv-matrix", "   rows: 4", "   cols: 4", "   dt: f"]
    return [*head, f"   data: [{data}]"]


def body_from_rectified(stereo: calibration.Calibration) -> np.ndarray:
    """Returns the (4, 4) of the rectified left camera, the frame whose pose ORB-SLAM3 returns."""
    rotation = lenses.rectification(stereo)[0]
    result = stereo.left.pose.copy()
    result[:3, :3] = result[:3, :3] @ rotation.T
    return result


def main() -> None:
    """Replaces this process; never returns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path, help="folder with mav0, for its calibration")
    parser.add_argument("folder", type=Path, help="for the settings")
    parser.add_argument("home", type=Path, help="ORB-SLAM3's environment")
    parser.add_argument("--features", type=int, default=1200, help="features per image")
    parser.add_argument("--fast", type=int, default=20, help="threshold of the FAST detector")
    parser.add_argument("--loops", type=int, choices=[0, 1], default=0, help="1: loop closing")
    parser.add_argument("--inertial", type=int, choices=[0, 1], default=0, help="1: with the IMU")
    parser.add_argument("--inflation", type=float, default=1.0, help="factor on the IMU's noise")
    args = parser.parse_args()
    stereo = calibration.read_euroc(args.dataset / "mav0")
    if not stereo.is_radtan:
        parser.error("the lenses are equidistant, and ORB-SLAM3 gets radial-tangential ones here")
    (args.folder / "orbslam3.yaml").write_text(
        settings(stereo, args.features, args.fast, args.loops, bool(args.inertial), args.inflation)
    )
    (args.folder / "driver.json").write_text(
        json.dumps(
            {
                "link": str(Path(link.__file__).parent),
                "vocabulary": str(args.home / "vocabulary.txt"),
                "settings": str(args.folder / "orbslam3.yaml"),
                "inertial": bool(args.inertial),
                "shape": [stereo.left.height, stereo.left.width],
                "body_from_camera": body_from_rectified(stereo).tolist(),
            }
        )
    )
    python = args.home / "bin" / "python"
    driver = Path(__file__).with_name("driver.py")
    os.execv(python, [str(python), "-E", str(driver), str(args.folder / "driver.json")])


if __name__ == "__main__":
    main()
