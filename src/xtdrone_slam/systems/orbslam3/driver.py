"""Runs ORB-SLAM3 on the link's input. It is run by the Python of ORB-SLAM3's own environment and
imports only `link` from the workspace.
"""

import json
import os
import sys

import numpy as np
import orbslam3


def main() -> None:
    """Runs until the input ends."""
    with open(sys.argv[1]) as file:
        values = json.load(file)
    sys.path.append(values["link"])  # last, so that it shadows no package of the environment
    import link

    answers = link.answers()
    sensor = orbslam3.Sensor.IMU_STEREO if values["inertial"] else orbslam3.Sensor.STEREO
    slam = orbslam3.System(values["vocabulary"], values["settings"], sensor)
    slam.set_use_viewer(False)
    if not slam.initialize():
        sys.exit("ORB-SLAM3 did not start")
    body_from_camera = np.array(values["body_from_camera"])
    readings = []  # since the last pair: accelerometer, gyroscope, time [s]
    for kind, t_us, payload in link.messages(sys.stdin.buffer):
        if kind == link.IMU:
            gyro, accel = link.reading(payload).tolist()
            readings.append([*accel, *gyro, t_us * 1e-6])
        if kind != link.PAIR:
            continue
        left, right = (image.copy() for image in link.images(payload, tuple(values["shape"])))
        if values["inertial"]:
            slam.process_stereo_inertial_enhanced(left, right, t_us * 1e-6, readings)
            readings = []
        else:
            slam.process_image_stereo(left, right, t_us * 1e-6)
        tracked = slam.get_tracking_state() == orbslam3.TrackingState.OK
        camera_from_world = slam.get_frame_pose() if tracked else None
        features = slam.get_num_matched_features()
        if camera_from_world is None:
            print(link.lost_line(t_us, features), file=answers)
            continue
        pose = (
            body_from_camera
            @ np.linalg.inv(np.asarray(camera_from_world, float))
            @ np.linalg.inv(body_from_camera)
        )
        quat = link.quaternion(pose[:3, :3])
        print(link.pose_line(t_us, pose[:3, 3], quat, features), file=answers)
    slam.shutdown()
    # Its threads sometimes hang in the destructor.
    answers.flush()
    os._exit(0)


main()
