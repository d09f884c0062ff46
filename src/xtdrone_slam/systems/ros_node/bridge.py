"""Runs a ROS node as a system: publishes pairs and IMU on topics and reads its pose topic.

Starts a ROS master on a free loopback port, and the node; both end with this process. Images are
mono8 and not rectified, with camera_info.
"""

import argparse
import math
import os
import shlex
import socket
import subprocess
import sys
import threading
import time
import xmlrpc.client
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from xtdrone_core import resources
from xtdrone_core.runs.parent import tied
from xtdrone_mavros.inputs.fields import quat, time_us, xyz
from xtdrone_slam.benchmark import link
from xtdrone_slam.datasets import calibration

RosObject: TypeAlias = Any  # a message, its class or a stamp of rospy, which has no annotations
POSES = {
    "geometry_msgs/PoseStamped": ("geometry_msgs.msg", "PoseStamped", "pose"),
    "geometry_msgs/PoseWithCovarianceStamped": (
        "geometry_msgs.msg",
        "PoseWithCovarianceStamped",
        "pose.pose",
    ),
    "nav_msgs/Odometry": ("nav_msgs.msg", "Odometry", "pose.pose"),
}
_START_S = 25.0  # wall time for the master to start, and for the node to subscribe [s]
_POSE_S = 3.0  # wait for the pose topic; some nodes advertise it with the first pose only [s]
_STAMP_TOLERANCE_US = 1000  # tolerance between the stamps of a pair and of its pose [us]


class Answers:
    """Writes one answer for each pair, in the order of the pairs."""

    def __init__(self, body_from_frame: np.ndarray, patience: float) -> None:
        """Waits for no pair yet.

        Args:
            body_from_frame: Pose (4, 4) of the frame whose pose the node publishes.
            patience: Wall time after which a pair without a pose counts as lost [s].
        """
        self._frame_from_body = np.linalg.inv(body_from_frame)
        self._patience = patience
        self._lock = threading.Lock()
        self._waiting: list[tuple[int, float]] = []  # t_us, wall time of publishing, in order

    def published(self, t_us: int) -> None:
        """Notes a pair; call it before the pair is published."""
        with self._lock:
            self._waiting.append((t_us, time.monotonic()))

    def pose(self, t_us: int, pos: npt.ArrayLike, quat: npt.ArrayLike) -> None:
        """Takes a pose; earlier pairs that have none are lost."""
        matrix = calibration.pose_matrix(pos, quat) @ self._frame_from_body
        with self._lock:
            while self._waiting and self._waiting[0][0] < t_us - _STAMP_TOLERANCE_US:
                self._write(link.lost_line(self._waiting.pop(0)[0], 0))
            if self._waiting and abs(self._waiting[0][0] - t_us) <= _STAMP_TOLERANCE_US:
                turned = Rotation.from_matrix(matrix[:3, :3]).as_quat()
                self._write(link.pose_line(self._waiting.pop(0)[0], matrix[:3, 3], turned, 0))

    def give_up(self, patience: float | None = None) -> int:
        """Answers "lost" for pairs past their time-out; returns how many are still waiting."""
        limit = time.monotonic() - (self._patience if patience is None else patience)
        with self._lock:
            while self._waiting and self._waiting[0][1] <= limit:
                self._write(link.lost_line(self._waiting.pop(0)[0], 0))
            return len(self._waiting)

    def _write(self, line: str) -> None:
        print(line, flush=True)


class Topics:
    """Publishers of the node's inputs and the subscriber to its pose."""

    def __init__(
        self, args: argparse.Namespace, stereo: calibration.Calibration, answers: Answers
    ) -> None:
        """Registers with the master named by the environment."""
        import importlib

        import rospy
        from sensor_msgs.msg import CameraInfo, Image, Imu

        rospy.init_node("slam_bridge", disable_signals=True, disable_rostime=True)
        self._rospy, self._image, self._imu_class = rospy, Image, Imu
        self.images = [
            rospy.Publisher(topic, Image, queue_size=20) for topic in (args.left, args.right)
        ]
        self._infos = [
            rospy.Publisher(topic.rpartition("/")[0] + "/camera_info", CameraInfo, queue_size=20)
            for topic in (args.left, args.right)
        ]
        self._info_messages = [
            _info(CameraInfo, camera, baseline)
            for camera, baseline in (
                (stereo.left, 0.0),
                (stereo.right, float(stereo.right_from_left[0, 3])),
            )
        ]
        self._imu = rospy.Publisher(args.imu, Imu, queue_size=1000)
        module, name, path = POSES[args.pose_type]

        def on_pose(message: RosObject) -> None:
            pose = message
            for name in path.split("."):
                pose = getattr(pose, name)
            answers.pose(time_us(message.header), xyz(pose.position), quat(pose.orientation))

        kind = getattr(importlib.import_module(module), name)
        self.pose = rospy.Subscriber(args.pose, kind, on_pose, queue_size=50)

    def connected(self) -> bool:
        """Returns whether the node is connected to both images and to all else it subscribes to."""
        import rosgraph

        wanted = {
            topic: len(nodes) for topic, nodes in rosgraph.Master("slam_bridge").getSystemState()[1]
        }
        return all(publisher.get_num_connections() for publisher in self.images) and all(
            publisher.get_num_connections() >= wanted.get(publisher.resolved_name, 0)
            for publisher in (*self._infos, self._imu)
        )

    def pose_connected(self) -> bool:
        """Returns whether a node sends its poses here.

        It drops poses until its own end of the connection is ready, which it alone knows.
        """
        import rosgraph

        master, here = rosgraph.Master("slam_bridge"), self._rospy.get_name()
        topic = self.pose.resolved_name
        try:
            for node in dict(master.getSystemState()[0]).get(topic, ()):
                uri = master.lookupNode(node)
                api: Any = xmlrpc.client.ServerProxy(uri)  # its methods have no types
                # Each row: number, other end, direction (o: outwards), transport, topic, ...
                if any(
                    row[1:3] == [here, "o"] and row[4] == topic for row in api.getBusInfo(here)[2]
                ):
                    return True
        except (OSError, rosgraph.MasterException, xmlrpc.client.Error):
            pass  # it has ended, or is about to begin
        return False

    def publish(self, t_us: int, pair: np.ndarray) -> None:
        """Publishes a pair (2, H, W) with its camera_info."""
        for publisher, info, values, pixels, frame in zip(
            self.images, self._infos, self._info_messages, pair, ("cam0", "cam1")
        ):
            message = self._image(
                height=pixels.shape[0],
                width=pixels.shape[1],
                encoding="mono8",
                step=pixels.shape[1],
                data=pixels.tobytes(),
            )
            for each in (message, values):
                each.header.stamp, each.header.frame_id = self._stamp(t_us), frame
            info.publish(values)
            publisher.publish(message)

    def imu(self, t_us: int, gyro: np.ndarray, accel: np.ndarray) -> None:
        """Publishes a reading, without an attitude."""
        message = self._imu_class()
        message.header.stamp, message.header.frame_id = self._stamp(t_us), "imu0"
        message.orientation.w = 1.0
        message.orientation_covariance[0] = -1.0
        for vector, values in (
            (message.angular_velocity, gyro),
            (message.linear_acceleration, accel),
        ):
            vector.x, vector.y, vector.z = values
        self._imu.publish(message)

    def _stamp(self, t_us: int) -> RosObject:
        return self._rospy.Time(t_us // 1_000_000, t_us % 1_000_000 * 1000)


def _info(kind: RosObject, camera: calibration.Camera, baseline: float) -> RosObject:
    """Makes a CameraInfo; baseline is minus the right camera's x in the left one [m]."""
    fx, fy, cx, cy = camera.intrinsics
    return kind(
        height=camera.height,
        width=camera.width,
        distortion_model=camera.ros_distortion_model,
        D=camera.ros_distortion,
        K=camera.matrix.ravel().tolist(),
        R=np.eye(3).ravel().tolist(),
        P=[fx, 0.0, cx, fx * baseline, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    )


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _await(what: str, ready: Callable[[], bool], child: subprocess.Popen[bytes]) -> None:
    """Waits for ready(); exits on a time-out or when the child process has ended."""
    end = time.monotonic() + _START_S
    command = str(child.args[0] if isinstance(child.args, list) else child.args)
    while not ready():
        if child.poll() is not None:
            sys.exit(f"{what}: '{command}' ended with status {child.returncode}")
        if time.monotonic() > end:
            sys.exit(f"{what}: not within {_START_S:g} s")
        time.sleep(0.05)


def main() -> int:
    """Runs until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("dataset", type=Path, help="folder with mav0, for its calibration")
    add("folder", type=Path, help="output folder of the node")
    add("--start", required=True, help="command that starts the node, for example a roslaunch")
    add("--left", default="/cam0/image_raw")
    add("--right", default="/cam1/image_raw")
    add("--imu", default="/imu0")
    add("--pose", default="/pose", help="topic of the pose, stamped with the time of the pair")
    add("--pose_type", default="geometry_msgs/PoseStamped", choices=sorted(POSES))
    add("--pose_of", default="body", choices=["body", "left"], help="frame whose pose that is")
    add("--patience", type=float, default=1.0, help="time-out after which a pair is lost [s]")
    args = parser.parse_args()
    command = shlex.split(args.start)
    if not command or not math.isfinite(args.patience):
        parser.error("give the node's command as --set start='rosrun PACKAGE NODE'")
    paths = {
        "{dataset}": args.dataset,
        "{folder}": args.folder,
        "{launch}": resources.root() / "launch",
    }
    for name, path in paths.items():
        command = [word.replace(name, str(path.absolute())) for word in command]
    stereo = calibration.read_euroc(args.dataset / "mav0")
    port = _free_port()
    os.environ.update(ROS_MASTER_URI=f"http://127.0.0.1:{port}", ROS_IP="127.0.0.1")
    os.environ.pop("ROS_HOSTNAME", None)
    import rosgraph

    def start(words: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=sys.stderr, preexec_fn=tied()
        )

    children = [start(["rosmaster", "--core", "-p", str(port)])]
    try:
        _await("the ROS master", rosgraph.is_master_online, children[0])
        answers = Answers(stereo.left.pose if args.pose_of == "left" else np.eye(4), args.patience)
        topics = Topics(args, stereo, answers)
        children.append(start(command))
        _await("the node's subscription to both images", topics.connected, children[1])
        end = time.monotonic() + _POSE_S
        while not topics.pose_connected() and time.monotonic() < end:
            time.sleep(0.02)
        _publish_input(topics, answers, (stereo.left.height, stereo.left.width))
    finally:
        for child in reversed(children):
            child.terminate()
        for child in children:
            child.wait(10.0)
    return 0


def _publish_input(topics: Topics, answers: Answers, shape: tuple[int, int]) -> None:
    """Publishes all messages of the link, and waits for the last answers."""
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.05):
            answers.give_up()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    for kind, t_us, payload in link.messages(sys.stdin.buffer):
        if kind == link.IMU:
            topics.imu(t_us, *link.reading(payload))
        elif kind == link.PAIR:
            answers.published(t_us)
            topics.publish(t_us, link.images(payload, shape))
    while answers.give_up():
        time.sleep(0.02)
    stop.set()
    watcher.join()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FileNotFoundError as error:
        sys.exit(f"cannot start '{error.filename}': no such file")
