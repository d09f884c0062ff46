"""Runs ORB-SLAM3 on the link's input. It is run by the Python of ORB-SLAM3's own environment and
imports only `link` from the workspace.
"""

import json
import os
import sys

import numpy as np
import orbslam3

# A pose that moves [m] or turns [rad] farther from one pair to the next tells of a new frame.
_MOVED, _TURNED = 0.5, 0.35


class Frame:
    """The first world frame of ORB-SLAM3, in which all poses are given.

    ORB-SLAM3 turns its map to gravity once the IMU is initialised, a few seconds after its start.
    A second jump is an error of its own.
    """

    def __init__(self) -> None:
        """Begins with ORB-SLAM3's own frame."""
        self._first_from_now, self._last = np.eye(4), None
        self.turned = False

    def __call__(self, pose: np.ndarray) -> np.ndarray:
        """Returns a pose (4, 4) in the first frame."""
        given = self._first_from_now @ pose
        last, self._last = self._last, given
        if self.turned or last is None:
            return given
        cosine = 0.5 * (np.trace(last[:3, :3].T @ given[:3, :3]) - 1.0)
        if np.linalg.norm((given - last)[:3, 3]) < _MOVED and cosine > np.cos(_TURNED):
            return given
        self.turned = True
        self._first_from_now = last @ np.linalg.inv(pose)
        self._last = last
        return last


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
    frame = Frame()
    readings = []  # since the last pair: accelerometer, gyroscope, time [s]
    for kind, t_us, payload in link.messages(sys.stdin.buffer):
        if kind == link.IMU:
            gyro, accel = link.reading(payload).tolist()
            readings.append((*accel, *gyro, t_us * 1e-6))
        if kind != link.PAIR:
            continue
        left, right = (image.copy() for image in link.images(payload, tuple(values["shape"])))
        if values["inertial"]:
            slam.process_stereo_inertial_enhanced(left, right, t_us * 1e-6, readings)
        else:
            slam.process_image_stereo(left, right, t_us * 1e-6)
        readings = []
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
        if values["inertial"]:
            pose = frame(pose)
        quat = link.quaternion(pose[:3, :3])
        print(link.pose_line(t_us, pose[:3, 3], quat, features), file=answers)
    slam.shutdown()
    # Its threads sometimes hang in the destructor.
    answers.flush()
    os._exit(0)


main()
