"""MAVROS 1's topics and services for a whole fleet, from MAVLink alone and without rospy.

The tables in topics/, inputs/ and services/ list them; names are below V/mavros/ of each vehicle V.
xtdrone_ros1.bridge makes rospy's publishers, subscribers and services of them, xtdrone_ros2.mavros
those of ROS 2. Messages go out as bytes (ros_serialisation) and only if there is a subscriber.
Those that come in may be any objects with the fields of their ROS types.
"""

from collections.abc import Sequence

from xtdrone_core.mavlink.dialect import mavlink

from . import diagnostics, ros_serialisation as ros
from .convert.geometry import TO_FLU, TO_NED
from .host import Host
from .mavlink_link import FleetLink, Received
from .requests import heartbeat
from .timesync import PERIOD_US
from .topics import TOPICS
from .vehicle import Vehicle

HEARTBEAT_US = 1_000_000  # period of this end's heartbeat [us]
_STATIC_FRAMES = [  # parent, child, position, rotation xyzw
    ("map", "map_ned", (0.0,) * 3, TO_NED),
    ("odom", "odom_ned", (0.0,) * 3, TO_NED),
    ("base_link", "base_link_frd", (0.0,) * 3, TO_FLU),
]


class Bridge:
    """The fleet's topics and services. One thread calls poll() and tick()."""

    def __init__(self, names: Sequence[str], link: FleetLink, host: Host):
        """Creates one Vehicle per name.

        Args:
            names: ROS namespaces; the index is the MAVLink instance.
            link: MAVLink link to the fleet.
            host: ROS.
        """
        self._link = link
        self._next_heartbeat = self._next_timesync = 0
        self._arrived: list[bytes] = []
        self._diagnostics = host.output(
            "", "/diagnostics", "diagnostic_msgs/DiagnosticArray", False
        )
        host.output("", "/tf_static", "tf2_msgs/TFMessage", True).publish(
            ros.transforms(0, _STATIC_FRAMES)
        )
        self.vehicles = [Vehicle(i, name, link, host, TOPICS) for i, name in enumerate(names)]

    def poll(self) -> None:
        """Publishes everything that has come."""
        self.collect()
        self.publish()

    def collect(self) -> None:
        """Takes what has come, for publish()."""
        self._arrived += self._link.datagrams()

    def publish(self) -> None:
        """Publishes everything collected."""
        arrived, self._arrived = self._arrived, []
        self.take(list(self._link.receive(arrived)))

    def take(self, received: Sequence[Received]) -> None:
        """Publishes messages.

        Args:
            received: Messages that FleetLink.receive() yields.
        """
        for i, message_id, payload, _ in received:
            self.vehicles[i].latest[message_id] = payload
        for i, message_id, payload, frame in received:
            try:
                self.vehicles[i].take(message_id, payload, frame)
            except Exception as error:  # concerns one message: the others go on
                self.vehicles[i].log_failure(mavlink.mavlink_map[message_id].msgname, error)

    def tick(self, t_us: int) -> None:
        """Advances simulated time to t_us: sends heartbeats and reports lost vehicles."""
        for vehicle in self.vehicles:
            vehicle.now_us = t_us
        if t_us >= self._next_timesync:
            self._next_timesync = t_us + PERIOD_US
            for vehicle in self.vehicles:
                vehicle.request_timesync()
        if t_us >= self._next_heartbeat:
            self._next_heartbeat = t_us + HEARTBEAT_US
            self.greet()
            for vehicle in self.vehicles:
                vehicle.check_connection()
                vehicle.send_system_time()
                if self._diagnostics.wanted():
                    self._diagnostics.publish(diagnostics.report(vehicle))
        for vehicle in self.vehicles:
            vehicle.follow_trajectory(t_us)

    @property
    def late(self) -> list[Vehicle]:
        """Vehicles in OFFBOARD whose stream of set-points is overdue."""
        return [vehicle for vehicle in self.vehicles if vehicle.set_point_late]

    def greet(self) -> None:
        """Sends a heartbeat to every vehicle, which starts the streams of its link."""
        for vehicle in self.vehicles:
            self._link.send(vehicle.index, heartbeat())
