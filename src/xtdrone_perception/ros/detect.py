"""A detector on ROS topics: images in, boxes out."""

import argparse

import rospy

from xtdrone_core.errors import shown
from xtdrone_ros1 import node

from ..detection.detector import OWN, Detector
from . import images, topics
from .messages import boxes, darknet_boxes


def run(args: argparse.Namespace) -> None:
    """Runs the node from start to end.

    Raises:
        PerceptionError: There is no such detector, or an image that it does not take.
    """
    changes = {} if args.threshold is None else {"threshold": args.threshold}
    detector = Detector(args.detector or OWN, args.threads, **changes)
    node.require_master()
    node.start("detect", disable_rostime=True)
    out = args.out or images.beside(args.image, "detections")
    names = list(detector.names)
    rospy.set_param(f"{out}_classes", names)
    information = topics.publisher(f"{out}_info", "vision_msgs/VisionInfo", latch=True)
    information({"method": shown(detector.path.name), "database_location": f"{out}_classes"})
    publish = topics.publisher(out, "vision_msgs/Detection2DArray")

    other = (
        topics.publisher(args.darknet, "darknet_ros_msgs/BoundingBoxes") if args.darknet else None
    )

    def use(message: images.Message) -> None:
        header, found = images.header(message), detector(images.pixels(message))
        publish(boxes(header, found))
        if other is not None:
            other(darknet_boxes(header, found, names))

    topics.follow(args.image, use, args.rate)
