"""Navigation over ROS topics: goals and depth images in, the map, the way and a state out."""

import math
import queue
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
import rospy

from sensor_models.ros_messages import cloud
from xtdrone_mavros.inputs.fields import quat, xyz
from xtdrone_ros1.messages import Fields, Message, fill, ros_class

from ..errors import PlanningError
from ..goals import GoalAgent
from .depth import CloudTopic, DepthTopic, SensorTopic

GOAL = "/move_base_simple/goal"
FRAME = "map"
_MAP_US = 1_000_000  # simulated time between two maps [us]
_WAY_US = 200_000  # between two ways
_EVERY = 5  # each so many samples of a trajectory are shown
_PATIENCE_US = 20_000_000  # simulated time without an image or a cloud after which it gives up [us]
_BUFFER = 1 << 25  # for images that arrive while the node is busy [bytes]


class Output(Protocol):
    """A topic to publish on."""

    def wanted(self) -> bool:
        """Returns whether it has subscribers."""

    def publish(self, fields: Fields) -> None:
        """Publishes a message of these fields."""


class Topic:
    """A topic of rospy, as an Output."""

    def __init__(self, name: str, kind: str, latch: bool = False) -> None:
        self._class = ros_class(kind)
        self._publisher = rospy.Publisher(name, self._class, queue_size=5, latch=latch)

    def wanted(self) -> bool:
        """Returns whether it has subscribers."""
        return bool(self._publisher.get_num_connections() > 0)

    def publish(self, fields: Fields) -> None:
        """Publishes a message of these fields."""
        self._publisher.publish(fill(self._class(), fields))


class Navigation:
    """Feeds a GoalAgent with messages, and shows what it knows and does.

    Messages may come in any thread: each waits until the step that takes it.
    """

    def __init__(
        self, agent: GoalAgent, depth: SensorTopic, outputs: dict[str, Output], fixed: str = FRAME
    ) -> None:
        """Begins to listen.

        Args:
            agent: Flies.
            depth: Sees.
            outputs: By name: occupied, path, trajectory.
            fixed: Frame of goals and of what is published.
        """
        self.agent, self._depth, self._outputs, self._fixed = agent, depth, outputs, fixed
        self._came: queue.SimpleQueue[tuple[Callable[[Any], None], Message]] = queue.SimpleQueue()
        self._map_us, self._way_us = 0, 0
        self._first_us: int | None = None

    def handler(self, take: Callable[[Any], None]) -> Callable[[Message], None]:
        """Returns what a topic calls, so that `take` is called in the next step."""
        return lambda message: self._came.put((take, message))

    def on_goal(self, message: Message) -> None:
        """Takes a geometry_msgs/PoseStamped; a height of 0, as rviz gives it, is the take-off's."""
        frame = message.header.frame_id.lstrip("/")
        if frame not in ("", self._fixed):
            raise PlanningError(
                f"a goal in frame '{frame}' is not allowed: give it in {self._fixed}"
            )
        goal = np.array(xyz(message.pose.position))
        if goal[2] == 0.0:
            goal[2] = self.agent.hover_height
        self.agent.fly_to(goal, _yaw(quat(message.pose.orientation)))

    def step(self, t_us: int) -> None:
        """Takes what has come, before a step of the Agent, and publishes."""
        while not self._came.empty():
            take, message = self._came.get()
            try:
                take(message)
            except PlanningError as error:
                self.agent.refuse(str(error))
        if self.agent.sight is None and self._depth.sight is not None:
            self.agent.see_by(self._depth.sight)
        self._depth.pass_on(t_us)
        self._publish(t_us)

    def sees(self, t_us: int) -> bool:
        """Takes what has come, before the flight; returns whether the vehicle can see.

        Raises:
            PlanningError: It could not for too long.
        """
        self._first_us = t_us if self._first_us is None else self._first_us
        self.step(t_us)
        if self.agent.sight is None and t_us - self._first_us > _PATIENCE_US:
            raise PlanningError(
                f"no {self._depth.missing()} came in {_PATIENCE_US * 1e-6:g} s: give topics with "
                "--depth and --info or --cloud, and publish the sensor's frame"
            )
        return self.agent.sight is not None

    def _publish(self, t_us: int) -> None:
        pilot = self.agent.pilot
        if t_us >= self._map_us and self._outputs["occupied"].wanted():
            self._map_us = t_us + _MAP_US
            points = pilot.voxels.occupied()[None]
            self._outputs["occupied"].publish(cloud(self._header(t_us), points))
        if t_us >= self._way_us:
            self._way_us = t_us + _WAY_US
            self._show("path", t_us, pilot.path if pilot.goal is not None else ())
            if self.agent.is_flying:
                self._show("trajectory", t_us, pilot.flown.pos[::_EVERY])

    def _show(self, name: str, t_us: int, way: Iterable[Iterable[float]]) -> None:
        if self._outputs[name].wanted():
            header = self._header(t_us)
            self._outputs[name].publish({"header": header, "poses": _poses(header, way)})

    def _header(self, t_us: int) -> dict[str, Any]:
        stamp = {"secs": t_us // 1_000_000, "nsecs": t_us % 1_000_000 * 1000}
        return {"stamp": stamp, "frame_id": self._fixed}


def subscribe(navigation: Navigation, sensor: SensorTopic, topic: str, info: str) -> None:
    """Subscribes to goals, to a camera's images and CameraInfo or to clouds, and to /tf_static."""
    topics: list[tuple[str, str, Callable[[Any], None]]] = [
        ("/tf_static", "tf2_msgs/TFMessage", sensor.frames.add),
        (GOAL, "geometry_msgs/PoseStamped", navigation.on_goal),
    ]
    if isinstance(sensor, DepthTopic):
        topics.append((info, "sensor_msgs/CameraInfo", sensor.on_info))
        topics.append((topic, "sensor_msgs/Image", sensor.on_image))
    elif isinstance(sensor, CloudTopic):
        topics.append((topic, "sensor_msgs/PointCloud2", sensor.on_cloud))
    for topic, kind, take in topics:
        rospy.Subscriber(
            topic, ros_class(kind), navigation.handler(take), queue_size=20, buff_size=_BUFFER
        )


def _poses(header: Fields, way: Iterable[Iterable[float]]) -> list[Fields]:
    return [
        {
            "header": header,
            "pose": {"position": dict(zip("xyz", map(float, place))), "orientation": {"w": 1.0}},
        }
        for place in way
    ]


def _yaw(q: tuple[float, float, float, float]) -> float | None:
    """Returns the heading [rad] of a quaternion xyzw; None if it is none."""
    x, y, z, w = q
    if not 0.5 < x * x + y * y + z * z + w * w < 2.0:
        return None
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
