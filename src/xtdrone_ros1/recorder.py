"""Records topics into a bag, in the process that publishes most of them.

What this node publishes is written as it is published, without a socket; everything else that
matches is subscribed to.
"""

import contextlib
import re
import threading
from collections.abc import Callable
from pathlib import Path

import rosgraph
import rospy

from xtdrone_core.runs import run_folder
from xtdrone_core.runs.log_file import LogGaps

from .bag import Bag
from .errors import Ros1Error
from .messages import definition, md5sum, ros_class
from .node import MASTER_S
from .topics import Input, Output

TOPICS = (
    r"/clock|/tf|/xtdrone/.*|(/[^/]+)?/mavros/(state|extended_state|statustext/recv|"
    r"local_position/(pose|velocity_local)|setpoint_raw/local|home_position/home)"
)


class Recorder:
    """Records all topics of a pattern: a bridge's Outputs, and those of other nodes.

    Attributes:
        now_us: Simulated time of the messages that come now [us].
    """

    def __init__(self, path: Path, pattern: str = TOPICS, gaps: LogGaps | None = None):
        """Begins a bag; create it before the Outputs that it records.

        Args:
            path: File of the bag.
            pattern: Regular expression for the topics' names.
            gaps: Collects what the disk does not take; None: a new collection.

        Raises:
            OSError: It cannot be written.
        """
        self.now_us = 0
        self._bag, self._lock = Bag(path, gaps), threading.Lock()
        self._closed = False
        self._pattern = re.compile(pattern)
        self._known: set[str] = set()
        Output.recorder = self
        self._thread = threading.Thread(target=self._subscribe_new, daemon=True, name="recorder")
        self._thread.start()

    def tap(self, topic: str, kind: str) -> Callable[[bytes], None] | None:
        """Returns what takes a topic's messages, where it is recorded; see Tap."""
        if not self._pattern.fullmatch(topic):
            return None
        self._known.add(topic)
        return self._writer(topic, kind)

    def close(self) -> None:
        """Completes the bag. May be called twice."""
        with self._lock:
            self._closed = True
            self._bag.close()

    def _writer(self, topic: str, kind: str) -> Callable[[bytes], None]:
        cls = ros_class(kind)
        with self._lock:
            number = self._bag.connection(topic, kind, md5sum(cls), definition(cls))

        def write(data: bytes) -> None:
            with self._lock:
                if not self._closed:
                    self._bag.write(number, self.now_us, data)

        return write

    def _subscribe_new(self) -> None:
        """Subscribes to what other nodes publish."""
        master = rosgraph.Master(rospy.get_name())
        ending = threading.Event()
        rospy.on_shutdown(ending.set)
        while not ending.wait(0.5 * MASTER_S):
            with contextlib.suppress(OSError, rosgraph.MasterException):
                for topic, kind in master.getPublishedTopics(""):
                    if topic not in self._known and self._pattern.fullmatch(topic):
                        self._subscribe(topic, kind)

    def _subscribe(self, topic: str, kind: str) -> None:
        self._known.add(topic)
        try:
            Input(topic, kind, self._writer(topic, kind))
        except (ImportError, AttributeError):
            rospy.logwarn("%s is not recorded: its type %s is not known here", topic, kind)


def begin(folder: str | None, pattern: str) -> Recorder:
    """Returns a Recorder of bags/ros.bag in a run folder.

    Raises:
        Ros1Error: There is no folder, or it cannot be written.
    """
    if folder is None:
        raise Ros1Error(
            "the simulation has no run folder to record into: start it without --no_run_folder"
        )

    def warn(text: str) -> None:
        rospy.logwarn("%s", text)
        with contextlib.suppress(OSError):  # the simulation keeps what it finds in its summary
            size = (Path(folder) / run_folder.SUMMARY).stat().st_size
            run_folder.update_summary(Path(folder), reserve=size, bag_gaps=gaps.table())

    gaps = LogGaps(Path(folder), warn)
    try:
        return Recorder(Path(folder) / "bags" / "ros.bag", pattern, gaps)
    except (OSError, re.error) as error:
        raise Ros1Error(f"cannot record '{pattern}' into {folder}/bags: {error}") from error
