"""A detector, or markers, on topics of ROS 2: images in, what they show out."""

import select
from collections.abc import Callable
from typing import NamedTuple, Protocol

from rosbags.serde import SerdeError

from xtdrone_core.errors import shown
from xtdrone_ros2.wire.node import Node
from xtdrone_ros2.wire.quality import DEFAULT, SENSOR
from xtdrone_ros2.wire.types import Types

from ..detection.detector import Detector
from . import images
from .messages import MarkerFinder, boxes, of_ros2, places

_TURN_MS = 200  # between two looks at whether an image was refused [ms]
_IMAGE, _CAMERA = "sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo"


class Finding(Protocol):
    """What is looked for."""

    out: str  # name of the topic beside that of the images
    kind: str  # of its messages

    def take_camera(self, message: images.Message) -> None:
        """Takes a CameraInfo."""

    def __call__(self, message: images.Message) -> images.Fields:
        """The fields of a message for an image."""


class Objects:
    """Objects by a detector."""

    out, kind = "detections", "vision_msgs/msg/Detection2DArray"

    def __init__(self, detector: Detector) -> None:
        """Is by this detector."""
        self._detector = detector

    def take_camera(self, message: images.Message) -> None:
        """Boxes need no camera."""

    def __call__(self, message: images.Message) -> images.Fields:
        """The fields of a Detection2DArray; class ids are names of classes."""
        found = boxes(images.header(message), self._detector(images.pixels(message)))
        return of_ros2(found, self._detector.names)


class Markers:
    """Places with markers, once the camera is known."""

    out, kind = "markers", "vision_msgs/msg/Detection3DArray"

    def __init__(self, finder: MarkerFinder) -> None:
        """Are by this finder."""
        self._finder = finder

    def take_camera(self, message: images.Message) -> None:
        """Learns the camera."""
        self._finder.camera = images.camera_of(message)

    def __call__(self, message: images.Message) -> images.Fields:
        """The fields of a Detection3DArray; a class id is the number of the largest marker."""
        return of_ros2(places(images.header(message), self._finder(images.pixels(message))))


class Topics(NamedTuple):
    """Where it is looked."""

    image: str
    camera_info: str
    out: str


def serve(node: Node, topics: Topics, finding: Finding, rate: float, log: Callable[[str], object],
          ended: Callable[[], bool] = lambda: False) -> None:  # fmt: skip
    """Looks at images until it is interrupted, or `ended` says so; says then how many.

    Args:
        node: A participant, which is closed by who made it.
        topics: Where.
        finding: What is looked for.
        rate: Most images in a second of their stamps; 0: all.
        log: Takes a line on messages that cannot be read, and at the end.
        ended: Whether it ends.

    Raises:
        XtdroneError: An image or a camera is of a kind that cannot be used.
    """
    writer, types = node.writer(topics.out, finding.kind, DEFAULT), node.types

    def use(message: images.Message) -> None:
        writer.write(types.serialised(types.message(finding.kind, **finding(message))))

    newest = images.Newest(use, rate)

    def reader(topic: str, kind: str, take: Callable[[images.Message], None]) -> None:
        def read(data: bytes) -> None:
            try:
                take(types.read(data, kind))
            except SerdeError as error:
                log(f"{topic}: {shown(error)}")

        node.reader(topic, kind, read, SENSOR)

    reader(topics.camera_info, _CAMERA, finding.take_camera)
    reader(topics.image, _IMAGE, newest.put)
    node.announce()
    poll = select.poll()
    poll.register(node, select.POLLIN)
    try:
        while newest.error is None and not ended():
            poll.poll(_TURN_MS)
            node.handle()
    except KeyboardInterrupt:
        pass
    newest.close()
    if newest.error is not None:
        raise newest.error
    log(f"{newest.used} images, {newest.left_out} left out")


def run(topics: Topics, finding: Finding, rate: float, domain: int, address: str) -> None:
    """Joins a domain of ROS 2 and serves there.

    Raises:
        Ros2Error: DDS cannot start there.
        XtdroneError: As of serve().
    """
    node = Node(Types(), "/perception", domain, address)
    try:
        serve(node, topics, finding, rate, lambda line: print(line, flush=True))
    finally:
        node.close()
