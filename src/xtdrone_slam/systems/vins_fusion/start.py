"""Writes VINS-Fusion's configuration from a dataset's calibration, then executes the bridge."""

import os
import sys
from pathlib import Path

from xtdrone_slam.datasets import calibration

_FIXED = {
    "imu": 1,
    "num_of_cam": 2,
    "imu_topic": '"/imu0"',
    "image0_topic": '"/cam0/image_raw"',
    "image1_topic": '"/cam1/image_raw"',
    "estimate_extrinsic": 0,
    "multiple_thread": 1,
    "max_cnt": 200,
    "min_dist": 20,
    "freq": 0,
    "F_threshold": 1.0,
    "show_track": 0,
    "flow_back": 1,
    "max_solver_time": 0.04,
    "max_num_iterations": 8,
    "keyframe_parallax": 10.0,
    "g_norm": 9.81,
    "estimate_td": 0,
    "td": 0.0,
    "load_previous_pose_graph": 0,
    "save_image": 0,
}


def write(folder: Path, stereo: calibration.Calibration) -> None:
    """Writes vins_fusion.yaml and a file for each camera."""
    names = [f"vins_cam{number}.yaml" for number in range(2)]
    for name, camera in zip(names, (stereo.left, stereo.right)):
        if camera.distortion_model == calibration.EQUIDISTANT:
            model = "KANNALA_BRANDT"
            groups = {"projection_parameters": "k2 k3 k4 k5 mu mv u0 v0".split()}
        else:
            model = "PINHOLE"
            groups = {
                "distortion_parameters": "k1 k2 p1 p2".split(),
                "projection_parameters": "fx fy cx cy".split(),
            }
        numbers = iter((*camera.distortion, *camera.intrinsics))
        (folder / name).write_text(
            "\n".join(
                [
                    "%YAML:1.0",
                    "---",
                    f"model_type: {model}",
                    "camera_name: camera",
                    f"image_width: {camera.width}",
                    f"image_height: {camera.height}",
                    *(
                        line
                        for group, names_in in groups.items()
                        for line in (f"{group}:", *(f"   {k}: {next(numbers)}" for k in names_in))
                    ),
                    "",
                ]
            )
        )
    imu = stereo.imu
    rate = imu.rate**0.5  # it expects the standard deviation of one reading
    values = {
        **_FIXED,
        "image_width": stereo.left.width,
        "image_height": stereo.left.height,
        "cam0_calib": f'"{names[0]}"',
        "cam1_calib": f'"{names[1]}"',
        "output_path": f'"{folder}"',
        "pose_graph_save_path": f'"{folder}"',
        "acc_n": imu.accelerometer_noise_density * rate,
        "gyr_n": imu.gyroscope_noise_density * rate,
        "acc_w": imu.accelerometer_random_walk,
        "gyr_w": imu.gyroscope_random_walk,
    }
    lines = ["%YAML:1.0", *(f"{name}: {value}" for name, value in values.items())]
    for number, camera in enumerate((stereo.left, stereo.right)):
        data = ", ".join(repr(float(x)) for x in camera.pose.ravel())
        lines += [
            f"body_T_cam{number}: !!opencv-matrix",
            "   rows: 4",
            "   cols: 4",
            "   dt: d",
            f"   data: [{data}]",
        ]
    (folder / "vins_fusion.yaml").write_text("\n".join(lines) + "\n")


def main() -> None:
    """Replaces this process; never returns."""
    dataset, folder = map(Path, sys.argv[1:3])
    write(folder, calibration.read_euroc(dataset / "mav0"))
    os.execv(
        sys.executable,
        [sys.executable, "-m", "xtdrone_slam.systems.ros_node.bridge", *sys.argv[1:]],
    )


if __name__ == "__main__":
    main()
