"""A SLAM system in the loop: stereo topics in, V/mavros/vision_pose/pose out."""

import argparse
import threading

import numpy as np
import rospy

from xtdrone_core.runs import run_folder
from xtdrone_mavros.inputs.fields import quat
from xtdrone_ros1 import discovery, node
from xtdrone_ros1.messages import Message, ros_class

from ..agents.vision import Aligner
from ..benchmark import adapters, link, runner
from ..benchmark.session import Session
from ..benchmark.stereo_pairs import StereoPairs
from ..errors import SlamError
from .images import subscribe_images, subscribe_imu

_FRAME = "map"  # frame of the published poses


class Vision:
    """Pairs the images and publishes a pose for each answer.

    Its methods run in the threads of rospy and of the session.
    """

    def __init__(self, session: Session, publisher: rospy.Publisher, align: Aligner) -> None:
        """Waits for an attitude, which the first pose is aligned to."""
        self._session, self._publisher, self._align = session, publisher, align
        self._lock, self._pairs = threading.Lock(), StereoPairs()
        self._attitude: np.ndarray | None = None  # (4,) xyzw
        self._pose = ros_class("geometry_msgs/PoseStamped")
        session.on_answer = self._answer

    def attitude(self, message: Message) -> None:
        """Takes the estimated attitude of the vehicle, a sensor_msgs/Imu."""
        self._attitude = np.array(quat(message.orientation))

    def image(self, side: str, t_us: int, pixels: np.ndarray) -> None:
        """Takes an image (H, W) uint8; a pair is submitted once there is an attitude."""
        with self._lock:
            pair = self._pairs.add(side, t_us, pixels)
            if pair is not None and self._attitude is not None:
                self._session.frames += 1
                self._session.submit(*pair)

    def _answer(self, answer: link.Answer) -> None:
        if answer.pose is None or not answer.finite:
            return
        assert self._attitude is not None  # no pair is submitted before
        position, orientation = self._align(answer.pose, self._attitude)
        message = self._pose()
        message.header.frame_id = _FRAME
        seconds, rest_us = divmod(answer.t_us, 1_000_000)
        message.header.stamp = rospy.Time(seconds, rest_us * 1000)
        pose = message.pose
        pose.position.x, pose.position.y, pose.position.z = position
        q = pose.orientation
        q.x, q.y, q.z, q.w = orientation
        self._publisher.publish(message)


def run(args: argparse.Namespace) -> None:
    """Runs the node from start to end.

    Raises:
        SlamError: The system does not exist, needs depth images, or has failed.
    """
    node.require_master()
    node.start("slam_vision", disable_rostime=True)
    adapter = adapters.load(args.system)
    adapters.reject_depth(adapter)
    mavros = discovery.mavros(args.vehicle)
    with runner.SystemRun(adapter, args.dataset, run_folder.create(args.name)) as session:
        publisher = rospy.Publisher(
            f"{mavros}/vision_pose/pose", ros_class("geometry_msgs/PoseStamped"), queue_size=10
        )
        vision = Vision(session, publisher, Aligner(args.start, args.imu_pos))
        rospy.Subscriber(
            f"{mavros}/imu/data", ros_class("sensor_msgs/Imu"), vision.attitude, queue_size=10
        )
        if "imu" in adapter.inputs:
            subscribe_imu(f"{mavros}/imu/data_raw", session.imu)
        subscribe_images((args.left, args.right), vision.image)
        while not rospy.core.is_shutdown_requested():
            if not session.alive():
                session.fail("the system has ended")
                break
            rospy.rostime.wallsleep(0.1)
    if session.reason:
        raise SlamError(session.reason)
