"""Follows what detections on a topic show, by MAVROS set-points and a camera's mount."""

import argparse
import math
import queue
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import rospy
from scipy.spatial.transform import Rotation

from sensor_models.cameras import CameraParameters
from xtdrone_control.raw_fleet import RawFleet
from xtdrone_core import Estimates, SetPoints
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_formation.topics.fleet import EventLog, end_simulation, run_agent
from xtdrone_mavros.inputs.fields import time_us
from xtdrone_ros1.frames import Frames
from xtdrone_ros1.messages import Fields, Message, ros_class
from xtdrone_ros1.ros1 import Ros1

from ..detection.found import Detections, nothing
from ..errors import PerceptionError
from ..tracking.ground_tracks import KINDS, PERSON, Kind
from ..tracking.pursuit import Pursuit, Sighting, Station
from ..tracking.sight import Eye, LevelGround
from . import images, topics

_KEPT_US = 2_000_000  # for how long places of the vehicle are kept [us]
_MOUNT_US = 100_000  # between two commands of the mount [us]
_TARGETING = 2  # MAV_MOUNT_MODE_MAVLINK_TARGETING: angles
# Axes of the optical frame (x right, y down, z ahead) in the camera's (x ahead, y left, z up).
_OPTICAL = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])

Publish = Callable[[Fields], object]


class _Place(NamedTuple):
    """Where the vehicle was, and how its camera looked."""

    t_us: int
    pos: np.ndarray  # (3,) [m]
    turn: Rotation  # body to world
    pitch: float  # of the mount, upwards [rad]


class TopicFollower(FlightAgent):
    """Follows the nearest target of a class that a node `detect` finds, on level ground.

    The camera is fixed, or its gimbal's pitch is commanded and yaw is the vehicle's. Messages are
    taken by take_...() in the thread of step(). Events: those of `follow`.

    Attributes:
        camera: That of the boxes, once its camera_info came.
        frames: Fixed frames of the vehicle.
    """

    def __init__(
        self,
        class_of: Callable[[], int],
        mount: Publish | None,
        height: float = 8.0,
        distance: float = 9.0,
        duration: float = 0.0,
        search: float = 20.0,
        kind: Kind = PERSON,
        on_event: Callable[..., None] | None = None,
    ) -> None:
        """Prepares a flight.

        Args:
            class_of: Returns the number of the class that is followed, -1 while it is not known.
            mount: Publishes a mavros_msgs/MountControl; None for a camera that is fixed.
            height: Above the start [m].
            distance: From the target, level [m].
            duration: Of following [s]; 0: without end.
            search: Time after which it gives up [s].
            kind: How targets move, and how large they are.
            on_event: Called at each event.
        """
        super().__init__(1, height, on_event=on_event)
        self._class_of, self._mount = class_of, mount
        self._distance, self._duration_us = distance, round(1e6 * duration)
        self._search_us, self._kind = round(1e6 * search), kind
        self.camera: CameraParameters | None = None
        self.frames = Frames()
        self._pursuit: Pursuit | None = None
        self._places: deque[_Place] = deque()
        self._pitch, self._mounted_us, self._begun_us = 0.0, -_MOUNT_US, -1

    def take_info(self, message: Message) -> None:
        """Takes a sensor_msgs/CameraInfo; the first one counts."""
        if self.camera is None:
            self.camera = images.camera_of(message)

    def take_detections(self, message: Message) -> None:
        """Takes a vision_msgs/Detection2DArray."""
        t_us = time_us(message.header)
        eye = self._eye(t_us, message.header.frame_id)
        if self._pursuit is None or eye is None:
            return
        self._pursuit.put(Sighting(t_us, t_us, found_of(message, self._class_of()), eye))

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """Notes where the vehicle is."""
        turn = Rotation.from_quat(estimates.quat[0])
        self._places.append(_Place(t_us, estimates.pos[0].copy(), turn, self._pitch))
        while self._places[0].t_us < t_us - _KEPT_US:
            self._places.popleft()
        return super().step(t_us, estimates)

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Begins to search.

        Raises:
            PerceptionError: No camera_info came.
        """
        if self.camera is None:
            raise PerceptionError("no camera_info came: give --camera_info, and publish images")
        ground = LevelGround(float(self.home[0, 2]))
        self._pursuit = Pursuit(self.camera, ground, self.event, kind=self._kind)
        self._begun_us = self._pursuit.lost_us = t_us

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Follows; ends after the duration, or when the search was in vain."""
        pursuit, ground = self._pursuit, float(self.home[0, 2])
        assert pursuit is not None
        pursuit.update(t_us)
        if pursuit.target is None and t_us - pursuit.lost_us > self._search_us:
            self.event(t_us, "gave_up")
            return True
        station = Station(self._distance, ground + self.height, ground)
        order = pursuit.order(t_us, estimates.pos[0], station)
        out.vel[0], out.yaw[0] = order.vel, order.yaw
        self._aim(t_us, order.look - estimates.pos[0])
        return 0 < self._duration_us <= t_us - self._begun_us

    def _aim(self, t_us: int, ahead: np.ndarray) -> None:
        if self._mount is None or t_us - self._mounted_us < _MOUNT_US:
            return
        self._mounted_us = t_us
        self._pitch = math.atan2(ahead[2], math.hypot(ahead[0], ahead[1]))
        self._mount({"mode": _TARGETING, "pitch": math.degrees(self._pitch)})

    def _eye(self, t_us: int, frame: str) -> Eye | None:
        """Where the camera was at a time; None while the vehicle's place or frames are unknown."""
        mounted = self.frames.on_body(frame)
        if mounted is None or not self._places:
            return None
        place = min(self._places, key=lambda each: abs(each.t_us - t_us))
        offset, turn = mounted
        pos = place.pos + place.turn.apply(offset)
        if self._mount is None:
            return Eye(pos, (place.turn * turn).as_matrix() @ _OPTICAL.T)
        yaw = place.turn.as_euler("ZYX")[0]
        return Eye(pos, Rotation.from_euler("ZY", [yaw, -place.pitch]).as_matrix())


def found_of(message: Message, kind: int) -> Detections:
    """The boxes of a class in a vision_msgs/Detection2DArray."""
    rows = [
        (each.bbox, result.score)
        for each in message.detections
        for result in each.results
        if result.id == kind
    ]
    if not rows:
        return nothing()
    boxes = np.array(
        [
            (
                box.center.x - 0.5 * box.size_x,
                box.center.y - 0.5 * box.size_y,
                box.center.x + 0.5 * box.size_x,
                box.center.y + 0.5 * box.size_y,
            )
            for box, _ in rows
        ]
    )
    scores = np.array([score for _, score in rows])
    return Detections(boxes, scores, np.full(len(rows), kind))


def run(args: argparse.Namespace) -> int:
    """Runs the node from start to end; returns its exit status.

    Raises:
        PerceptionError: No camera_info came.
    """
    ros = Ros1("follow")
    name = args.vehicle or ros.fleet(args.wait)[0]
    detections = args.detections or f"/{name}/{args.camera}/detections"
    mount = None
    if args.gimbal:
        mount = topics.publisher(
            f"{ros.mavros(name)}/mount_control/command", "mavros_msgs/MountControl"
        )

    def class_of() -> int:
        names: list[str] = rospy.get_param(f"{detections}_classes", [])
        return names.index(args.target) if args.target in names else -1

    log = EventLog(args.instance, echo=True)
    agent = TopicFollower(
        class_of,
        mount,
        args.height,
        args.distance,
        args.duration,
        args.search,
        KINDS.get(args.target, PERSON),
        log,
    )
    came: queue.SimpleQueue[tuple[Callable[[Any], None], Message]] = queue.SimpleQueue()
    for topic, kind, take in (
        ("/tf_static", "tf2_msgs/TFMessage", agent.frames.add),
        (images.beside(detections, "camera_info"), "sensor_msgs/CameraInfo", agent.take_info),
        (detections, "vision_msgs/Detection2DArray", agent.take_detections),
    ):
        rospy.Subscriber(
            topic, ros_class(kind), lambda message, take=take: came.put((take, message))
        )

    def take_all(_: int) -> None:
        while not came.empty():
            take, message = came.get()
            take(message)

    status = run_agent(RawFleet(ros, [name]), agent, take_all)
    if agent.done and log.client is not None and not args.no_stop:
        end_simulation(log.client)
    return status
