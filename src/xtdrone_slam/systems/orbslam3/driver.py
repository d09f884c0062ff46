"""Runs ORB-SLAM3 behind the link. Run by its own environment's Python; of the workspace it loads
the file of the link only, by its path.
"""

import importlib.util
import json
import os
import sys

import numpy as np
import orbslam3


def load(path):
    """A Python file as a module."""
    spec = importlib.util.spec_from_file_location("link", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["link"] = module
    spec.loader.exec_module(module)
    return module


def main():
    """Until the images end."""
    with open(sys.argv[1]) as file:
        values = json.load(file)
    link = load(values["link"])
    # Answers go where standard output went; what ORB-SLAM3 itself prints goes to the log.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    slam = orbslam3.System(values["vocabulary"], values["settings"], orbslam3.Sensor.STEREO)
    slam.set_use_viewer(False)
    if not slam.initialize():
        sys.exit("ORB-SLAM3 did not start")
    body_from_camera = np.array(values["body_from_camera"])
    for t_us, left, right in link.frames(sys.stdin.buffer, tuple(values["shape"])):
        slam.process_image_stereo(left.copy(), right.copy(), t_us * 1e-6)
        known = slam.get_tracking_state() == orbslam3.TrackingState.OK
        camera_from_world = slam.get_frame_pose() if known else None
        features = slam.get_num_matched_features()
        if camera_from_world is None:
            print(link.lost_line(t_us, features), file=answers)
            continue
        pose = body_from_camera @ np.linalg.inv(np.asarray(camera_from_world, float)) \
            @ np.linalg.inv(body_from_camera)
        quat = link.quaternion(pose[:3, :3])
        print(link.pose_line(t_us, pose[:3, 3], quat, features), file=answers)
    slam.shutdown()
    # Its threads hang in the destructor at times.
    answers.flush()
    os._exit(0)


main()
