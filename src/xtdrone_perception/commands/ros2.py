"""`xtdrone perception ros2`: objects or markers in the images of a topic of ROS 2."""

import argparse

from xtdrone_core import extras
from xtdrone_core.command import Subparsers

from ..errors import PerceptionError
from ..landing.station import LIBRARIES

EXAMPLES = """the simulation runs in another terminal:
  xtdrone sim --vehicle iris_downward --world landing --ros2 true

examples:
  xtdrone perception ros2 --image /iris_downward_0/downward_camera/image_raw
  xtdrone perception ros2 --image /iris_downward_0/downward_camera/image_raw \\
      --marker tag36h11:0,1,2:0.8
"""


def register(actions: Subparsers) -> None:
    """Adds the action."""
    parser = actions.add_parser(
        "ros2", help="objects or markers in images of ROS 2, as vision_msgs", epilog=EXAMPLES
    )
    parser.add_argument("--image", metavar="TOPIC", required=True, help="images of 8 bits")
    parser.add_argument(
        "--camera_info", metavar="TOPIC", default="", help="[camera_info, beside the images]"
    )
    parser.add_argument("--detector", metavar="FILE", help="NAME.onnx [the project's own]")
    parser.add_argument("--threshold", type=float, metavar="SCORE", help="[the detector's own]")
    parser.add_argument(
        "--marker", nargs="+", metavar="FAMILY:ID,...:SIZE", help="markers in place of objects"
    )
    parser.add_argument("--library", choices=LIBRARIES, default=LIBRARIES[0], help="of markers")
    parser.add_argument(
        "--out", metavar="TOPIC", default="", help="[detections or markers, beside the images]"
    )
    parser.add_argument("--rate", type=float, default=0.0, metavar="HZ", help="most images [all]")
    parser.add_argument("--domain", type=int, metavar="ID", help="[ROS_DOMAIN_ID, or 0]")
    parser.add_argument(
        "--address", metavar="ADDRESS", default="127.0.0.1", help="of the interface [127.0.0.1]"
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    extras.require("cyclonedds", "ROS 2", "ros2", PerceptionError)
    from xtdrone_ros2.options import MAX_DOMAIN, ros_domain

    from ..ros import images, messages, ros2

    domain = ros_domain() if args.domain is None else args.domain
    if not 0 <= domain <= MAX_DOMAIN:
        raise PerceptionError(f"--domain {domain}: give 0 to {MAX_DOMAIN}")
    finding: ros2.Finding
    if args.marker:
        from ..markers.picture import nested_of

        groups = [nested_of(text) for text in args.marker]
        finding = ros2.Markers(messages.MarkerFinder(groups, args.library))
    else:
        from ..detection.detector import OWN, Detector

        changes = {} if args.threshold is None else {"threshold": args.threshold}
        finding = ros2.Objects(Detector(args.detector or OWN, **changes))
    topics = ros2.Topics(
        args.image,
        args.camera_info or images.beside(args.image, "camera_info"),
        args.out or images.beside(args.image, finding.out),
    )
    ros2.run(topics, finding, args.rate, domain, args.address)
    return 0
