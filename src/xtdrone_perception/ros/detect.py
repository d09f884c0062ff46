"""A detector on ROS topics: images in, boxes out."""

import argparse

import rospy

from xtdrone_core.errors import shown
from xtdrone_ros1 import node
from xtdrone_ros1.messages import Fields, Message

from ..detection.detector import OWN, Detector
from ..detection.found import Detections
from . import images


def boxes(header: Fields, found: Detections) -> Fields:
    """Returns the fields of a vision_msgs/Detection2DArray, the surest box first.

    Boxes are in pixels; 0 is the outer edge of the first one.
    """
    return {
        "header": header,
        "detections": [
            {
                "header": header,
                "results": [{"id": int(kind), "score": float(score)}],
                "bbox": {
                    "center": {"x": float(left + right) / 2, "y": float(top + bottom) / 2},
                    "size_x": float(right - left),
                    "size_y": float(bottom - top),
                },
            }
            for (left, top, right, bottom), score, kind in zip(
                found.boxes, found.scores, found.classes
            )
        ],
    }


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
    information = images.publisher(f"{out}_info", "vision_msgs/VisionInfo", latch=True)
    information({"method": shown(detector.path.name), "database_location": f"{out}_classes"})
    publish = images.publisher(out, "vision_msgs/Detection2DArray")

    def use(message: Message) -> None:
        publish(boxes(images.header(message), detector(images.pixels(message))))

    images.follow(args.image, use, args.rate)
