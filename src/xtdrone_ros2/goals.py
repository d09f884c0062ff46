"""Goals from ROS 2, as rviz2's tool "2D Goal Pose" sends them, for an Agent that takes goals."""

import math
from collections.abc import Callable

from xtdrone_core import ControlError
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_mavros.inputs.fields import xyz

from .wire.node import Node
from .wire.quality import DEFAULT
from .wire.types import Message

GOAL, KIND = "/goal_pose", "geometry_msgs/msg/PoseStamped"
FRAME = "map"
_ANSWER_S = 5.0  # a simulation that does not answer for so long gets no goal [s]


class Goals:
    """Hands goals to the simulation's Agent; its refusals are lines of the log."""

    def __init__(self, node: Node, instance: int, log: Callable[[str], None]):
        """Subscribes.

        Args:
            node: Node of the subscriber.
            instance: Instance of the simulation.
            log: Takes a line on each goal that is refused.
        """
        self._instance, self._log = instance, log
        node.reader(GOAL, KIND, self._take, DEFAULT)

    def _take(self, message: Message) -> None:
        """Hands a PoseStamped on; one of height 0, as rviz2 gives it, is at the take-off's."""
        frame, goal = message.header.frame_id.lstrip("/"), list(xyz(message.pose.position))
        if frame not in ("", FRAME) or not all(map(math.isfinite, goal)):
            self._log(f"{GOAL}: a goal in frame '{frame}' is not taken: give numbers in {FRAME}")
            return
        try:
            client = ControlClient(self._instance, _ANSWER_S)
            try:
                client.request("goal", goal=goal)
            finally:
                client.close()
        except (ControlError, OSError) as error:
            self._log(f"{GOAL}: {error}")
