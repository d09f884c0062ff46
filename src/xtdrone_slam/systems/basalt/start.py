"""Writes Basalt's configuration from a dataset's calibration, then executes the driver."""

import argparse
import json
import os
from pathlib import Path
from typing import Any

from xtdrone_slam.benchmark import link
from xtdrone_slam.datasets import calibration

PARAMETERS = {
    "optical_flow_levels": "levels of the image pyramid above the image itself",
    "optical_flow_detection_grid_size": "cell with one corner each [pixels]",
    "vio_max_kfs": "keyframes in the window",
    "vio_max_states": "frames in the window",
    "vio_obs_std_dev": "standard deviation of a corner's position [pixels]",
}


def values(stereo: calibration.Calibration) -> dict[str, Any]:
    """Returns plain data for the driver; poses are body_from_camera."""
    cameras = [
        {
            "width": camera.width,
            "height": camera.height,
            "matrix": camera.matrix.tolist(),
            "distortion": list(camera.distortion),
            "pose": camera.pose.tolist(),
        }
        for camera in (stereo.left, stereo.right)
    ]
    imu = stereo.imu
    return {
        "cameras": cameras,
        "rate": imu.rate,
        "gyro_noise": imu.gyroscope_noise_density,
        "gyro_walk": imu.gyroscope_random_walk,
        "accel_noise": imu.accelerometer_noise_density,
        "accel_walk": imu.accelerometer_random_walk,
        "link": str(Path(link.__file__).parent),
    }


def main() -> None:
    """Replaces this process; never returns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path, help="folder with mav0, for its calibration")
    parser.add_argument("folder", type=Path, help="for the driver's settings")
    parser.add_argument("home", type=Path, help="Basalt's environment")
    for name, help_text in PARAMETERS.items():
        parser.add_argument(f"--{name}", type=json.loads, help=help_text)
    args = parser.parse_args()
    settings = args.folder / "driver.json"
    stereo = calibration.read_euroc(args.dataset / "mav0")
    if not stereo.is_radtan:
        parser.error("the lenses are equidistant, and Basalt gets radial-tangential ones here")
    numbers = values(stereo)
    settings.write_text(json.dumps({**numbers, "vio": str(args.folder / "vio.json")}))
    vio = json.loads(Path(__file__).with_name("vio.json").read_text())
    for name in PARAMETERS:
        if getattr(args, name) is not None:
            vio["value0"][f"config.{name}"] = getattr(args, name)
    (args.folder / "vio.json").write_text(json.dumps(vio, indent=1))
    python = args.home / "bin" / "python"
    environment = {
        **os.environ,
        "LD_PRELOAD": str(args.home / "calibration_shim.so"),
        "DEPTHAI_CALIBRATION": str(args.folder / "depthai.json"),
    }
    os.execve(
        python,
        [str(python), "-E", str(Path(__file__).with_name("driver.py")), str(settings)],
        environment,
    )


if __name__ == "__main__":
    main()
