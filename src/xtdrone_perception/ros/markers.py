"""Markers on ROS topics: images in, poses with covariance out, and a vehicle's landing target."""

import argparse
import dataclasses
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import rospy
from scipy.spatial.transform import Rotation

from sensor_models.cameras import CameraParameters
from xtdrone_dynamics.quaternion import normalize
from xtdrone_mavros.inputs.fields import quat, time_us, xyz
from xtdrone_ros1 import discovery, node
from xtdrone_ros1.frames import Frames
from xtdrone_ros1.messages import Fields, Message, ros_class

from ..errors import PerceptionError
from ..landing.motion import Motion
from ..landing.tracker import in_world
from ..markers import pose
from ..markers.picture import nested_of
from . import images, topics
from .messages import OPTICAL, MarkerFinder, marker_frames, places

_KEPT_US = 2_000_000  # for how long poses of the vehicle are kept [us]
_WARN_S = 10.0  # between two warnings of what is missing [s, wall]
_LATE_US = 500_000  # no pose of the vehicle is so far from an image [us]

Publish = Callable[[Fields], object]


class _Pose(NamedTuple):
    """Pose of a vehicle."""

    t_us: int
    pos: np.ndarray  # (3,) [m]
    quat: np.ndarray  # (4,) xyzw


class LandingTarget:
    """Says where a marker is in a vehicle's local frame; its methods may run in several threads.

    Attributes:
        frames: Take what /tf_static says.
    """

    def __init__(self, publish: Publish, acceleration: float = 0.5) -> None:
        """Waits for a transform of the camera and poses of the vehicle.

        Args:
            publish: Called with the fields of a geometry_msgs/PoseStamped.
            acceleration: Of the target, see Motion.
        """
        self._publish, self._acceleration = publish, acceleration
        self._motion = Motion(acceleration)
        self._poses: list[_Pose] = []  # a new one at each pose, for the thread of the images
        self.frames = Frames()

    def vehicle_pose(self, message: Message) -> None:
        """Takes the vehicle's pose in its local frame, a geometry_msgs/PoseStamped."""
        t_us = time_us(message.header)
        if self._poses and t_us <= self._poses[-1].t_us:
            if self._poses[-1].t_us - t_us < _KEPT_US:
                return
            self._poses = []  # time began anew
        place = message.pose
        new = _Pose(t_us, np.array(xyz(place.position)), np.array(quat(place.orientation)))
        self._poses = [*(each for each in self._poses if each.t_us >= t_us - _KEPT_US), new]

    def seen(self, t_us: int, frame: str, camera: CameraParameters, found: pose.MarkerPose) -> bool:
        """Takes the marker's pose in an image, and publishes the landing target.

        Args:
            t_us: Time of the exposure [us].
            frame: The camera's optical frame.
            camera: Its lens.
            found: Pose in the camera's frame.

        Returns:
            Whether it was published: not without the camera's place on the vehicle, without poses
            of the vehicle, or as an outlier.
        """
        mounted, vehicle = self.frames.on_body(frame), self._pose_at(t_us)
        if mounted is None or vehicle is None:
            return False
        pos, turn = mounted
        x, y, z, w = (turn * Rotation.from_matrix(OPTICAL)).as_quat().tolist()
        camera = dataclasses.replace(camera, pos=tuple(pos.tolist()), quat=(x, y, z, w))
        place, covariance = in_world(found, camera, vehicle.pos, vehicle.quat)
        if self._motion.t_us - t_us > _KEPT_US:
            self._motion = Motion(self._acceleration)
        if not self._motion.measure(t_us, place, covariance):
            return False
        here, _ = self._motion.at(t_us)
        seconds, rest_us = divmod(t_us, 1_000_000)
        self._publish(
            {
                "header": {"stamp": {"secs": seconds, "nsecs": rest_us * 1000}, "frame_id": "map"},
                "pose": {"position": dict(zip("xyz", here.tolist())), "orientation": {"w": 1.0}},
            }
        )
        return True

    def missing(self, frame: str) -> str:
        """Returns in words what it needs in order to place what a camera of this frame sees."""
        if self.frames.on_body(frame) is None:
            return f"no base_link above '{frame}' on /tf_static"
        return "" if self._poses else "no local_position/pose of the vehicle"

    def _pose_at(self, t_us: int) -> _Pose | None:
        """The vehicle's pose at a time, between two messages or that of the nearest."""
        poses = self._poses
        if not poses or min(abs(each.t_us - t_us) for each in poses) > _LATE_US:
            return None
        before = [each for each in poses if each.t_us <= t_us]
        after = [each for each in poses if each.t_us > t_us]
        if not before or not after:
            return before[-1] if before else after[0]
        a, b = before[-1], after[0]
        share = (t_us - a.t_us) / (b.t_us - a.t_us)
        other = b.quat if a.quat @ b.quat >= 0.0 else -b.quat
        mean = normalize(*((1.0 - share) * a.quat + share * other))
        return _Pose(t_us, (1.0 - share) * a.pos + share * b.pos, np.array(mean))


def run(args: argparse.Namespace) -> None:
    """Runs the node from start to end.

    Raises:
        PerceptionError: There are no such markers, or an image or camera comes that it cannot take.
    """
    finder = MarkerFinder([nested_of(text) for text in args.marker], args.library)
    node.require_master()
    node.start("markers", disable_rostime=True)
    out = args.out or images.beside(args.image, "markers")
    publish = topics.publisher(out, "vision_msgs/Detection3DArray")
    if len(args.frames) > len(finder.groups):
        raise PerceptionError(
            f"{len(args.frames)} frames for {len(finder.groups)} places: give one for each --marker"
        )
    frames = {group[0].id: name for group, name in zip(finder.groups, args.frames)}
    transform = topics.publisher("/tf", "tf2_msgs/TFMessage") if frames else publish
    target = _target(args.land) if args.land else None
    info: deque[Message] = deque(maxlen=1)
    topic = args.camera_info or images.beside(args.image, "camera_info")
    rospy.Subscriber(topic, ros_class("sensor_msgs/CameraInfo"), info.append, queue_size=1)

    def use(message: Message) -> None:
        if info:
            finder.camera = images.camera_of(info.pop())
        found = finder(images.pixels(message))
        told = places(images.header(message), found)
        publish(told)
        if frames:
            transform(marker_frames(told, frames))
        frame = message.header.frame_id
        lacks = target.missing(frame) if target else ""
        if lacks or finder.camera is None:
            rospy.logwarn_throttle(_WARN_S, lacks or f"no {topic}: nothing is found")
        for marker, each in found:
            if target and finder.camera and marker == finder.groups[0][0]:
                target.seen(time_us(message.header), frame, finder.camera, each)

    topics.follow(args.image, use, args.rate)


def _target(vehicle: str) -> LandingTarget:
    """The landing target of a vehicle, from and to its MAVROS."""
    mavros = discovery.mavros(vehicle)
    kind = "geometry_msgs/PoseStamped"
    target = LandingTarget(topics.publisher(f"{mavros}/landing_target/pose", kind))
    rospy.Subscriber("/tf_static", ros_class("tf2_msgs/TFMessage"), target.frames.add)
    rospy.Subscriber(
        f"{mavros}/local_position/pose", ros_class(kind), target.vehicle_pose, queue_size=20
    )
    return target
