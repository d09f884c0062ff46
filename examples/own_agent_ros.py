"""A user-defined Agent that listens to a ROS topic: the fleet flies where /goal says.

roscore                                                            # in one terminal
PYTHONPATH=examples:$PYTHONPATH xtdrone fly own_agent_ros:Listener --n 3 --speed 1
rostopic pub -r 2 /goal geometry_msgs/Point '{x: 5, y: 2, z: 4}'   # in a third
"""

from typing import Annotated

import rosgraph
import rospy
from geometry_msgs.msg import Point

from xtdrone_core import XtdroneError
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.scenario.options import Option


class Listener(FlightAgent):
    """Vehicle 0 flies to the last goal that came, the others beside it as they started."""

    MEMORY = (*FlightAgent.MEMORY, "_begun_us", "_goal")

    def __init__(
        self,
        n=1,
        topic: Annotated[str, Option("of the goals, geometry_msgs/Point [m], ENU")] = "/goal",
        duration: Annotated[
            float, Option("in the air", unit="s", minimum=1.0, maximum=3600.0)
        ] = 60.0,
        on_event=None,
    ):
        super().__init__(n, height=3.0, on_event=on_event)
        self.duration_us, self._begun_us, self._goal = round(duration * 1e6), 0, None
        if not rosgraph.is_master_online():
            raise XtdroneError("there is no ROS master to listen to: start roscore")
        # Ctrl-C stays the simulation's; rospy calls take() in a thread of its own.
        rospy.init_node("listener", anonymous=True, disable_signals=True)
        rospy.Subscriber(topic, Point, self.take, queue_size=1)

    def take(self, message):
        """Keeps a goal; one assignment, so that fly() sees the old one or the new one."""
        self._goal = message.x, message.y, message.z

    def begin(self, t_us, estimates):
        """The time in the air begins."""
        self._begun_us = t_us

    def fly(self, t_us, estimates, out):
        """Flies to the goal of this moment; above home before the first one."""
        goal = self._goal or self.home[0] + [0.0, 0.0, self.height]
        out.pos[:] = self.home - self.home[0] + goal
        return t_us - self._begun_us >= self.duration_us
