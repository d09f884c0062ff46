"""The flight in which MAVROS was recorded, flown through the bridge, and all that it says.

Needs a ROS master with a simulation of one iris_0 that has not flown yet.
"""

import math
import threading
import time

import genpy
import roslib.message
import rospy
from nav_msgs.msg import Odometry

from mavros_msgs.msg import PositionTarget, State
from xtdrone_ros1 import messages as ros_messages

TOP = "/iris_0/mavros/"
HOVER, YAW = (2.0, 1.0, 5.0), 0.5  # ENU [m], [rad]
POSITION, VELOCITY = 0b100111111000, 0b010111000111  # type masks
MEASURE_S = 20.0  # simulated
_SLOWEST = 20.0  # wall time for a second of simulated time [s]


def plain(value):
    """A ROS message as dicts, lists and numbers."""
    if isinstance(value, (genpy.Time, genpy.Duration)):
        return {"secs": value.secs, "nsecs": value.nsecs}
    if isinstance(value, genpy.Message):
        return {name: plain(getattr(value, name)) for name in value.__slots__}
    if isinstance(value, bytes):
        return list(value)
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


class Listener:
    """Counts a topic's messages and keeps the last."""

    def __init__(self, name: str, kind: str):
        self.count, self._kind, self._last = 0, kind, None
        rospy.Subscriber(TOP + name, rospy.AnyMsg, self._take, queue_size=200)

    def _take(self, message):
        self.count, self._last = self.count + 1, message._buff

    def message(self):
        """The last message; None before the first."""
        if self._last is None:
            return None
        return roslib.message.get_message_class(self._kind)().deserialize(self._last)

    def sample(self):
        """The last message as plain values; None before the first."""
        return None if self._last is None else plain(self.message())


class Flight:
    """Flies, and records what the reference has.

    Attributes:
        topics: Name -> rate in the hover [Hz], messages in the whole flight, sample.
        answers: Of the reference's calls, in their order.
    """

    def __init__(self, reference: dict):
        """reference: the contents of mavros_reference.json."""
        rospy.init_node("mavros_flight", anonymous=True, disable_signals=True)
        self.topics, self.answers, self._calls = {}, [], reference["calls"]
        self._services = reference["services"]
        self._listeners = {
            name: Listener(name, row["type"])
            for name, row in reference["topics"].items()
            if row["direction"] == "pub"
        }
        self._position, self._target = None, None
        rospy.Subscriber(
            "/xtdrone/iris_0/ground_truth/odom",
            Odometry,
            lambda m: setattr(self, "_position", m.pose.pose.position),
            queue_size=5,
        )
        self._publisher = rospy.Publisher(TOP + "setpoint_raw/local", PositionTarget, queue_size=1)
        threading.Thread(target=self._stream, daemon=True).start()

    def fly(self) -> None:
        """Flies all of it.

        Raises:
            RuntimeError: The vehicle did not do what it should.
        """
        self._await(lambda: self._state.connected and self._position, "a connection", 60)
        self._sleep(18.0)
        for name in ("NAV_DLL_ACT", "NAV_RCL_ACT"):  # without ground station and remote control
            self._call("param/set", {"param_id": name, "value": {"integer": 0}})
        self._call("set_mode", {"custom_mode": "AUTO.TAKEOFF"})
        self._call("cmd/arming", {"value": True})
        self._await(lambda: self._state.mode == "AUTO.LOITER" and self._position.z > 2, "2 m", 60)
        self._aim(VELOCITY, velocity=(1.0, 0.0, 0.5))
        self._sleep(1.0)
        self._call("set_mode", {"custom_mode": "OFFBOARD"})
        self._await(lambda: self._state.mode == "OFFBOARD", "OFFBOARD", 5)
        self._sleep(4.0)
        self._aim(VELOCITY, frame=8, velocity=(0.0, 1.0, 0.0), yaw_rate=0.3)
        self._sleep(4.0)
        self._aim(POSITION, position=HOVER, yaw=YAW)
        self._await(lambda: math.dist(self._here(), HOVER) < 0.6, "the hover", 30)
        self._sleep(8.0)
        self._measure()
        self._make_calls("hover")
        self._call("set_mode", {"custom_mode": "AUTO.MISSION"})
        self._await(lambda: self._state.mode == "AUTO.MISSION", "AUTO.MISSION", 5)
        self._target = None
        self._await(lambda: self._field("mission/reached", "wp_seq") == 3, "the last item", 120)
        self._sleep(5.0)
        self._call("set_mode", {"custom_mode": "AUTO.LAND"})
        self._await(
            lambda: self._field("extended_state", "landed_state") == 1 and not self._state.armed,
            "the ground",
            60,
        )
        self._sleep(3.0)
        self._make_calls("landed")
        self._sleep(2.0)
        for name, listener in self._listeners.items():
            row = self.topics[name]
            row["messages"] = listener.count
            row["sample"] = row["sample"] or listener.sample()

    @property
    def _state(self):
        return self._listeners["state"].message() or State()

    def _field(self, topic, name):
        """A field of a topic's last message; None before the first."""
        return getattr(self._listeners[topic].message(), name, None)

    def _here(self):
        return self._position.x, self._position.y, self._position.z

    def _stream(self):
        while not rospy.is_shutdown():
            if self._target is not None:
                self._publisher.publish(self._target)
            self._sleep(0.05)

    def _aim(self, mask, frame=1, position=(0.0,) * 3, velocity=(0.0,) * 3, yaw=0.0, yaw_rate=0.0):
        target = PositionTarget(coordinate_frame=frame, type_mask=mask, yaw=yaw, yaw_rate=yaw_rate)
        target.position.x, target.position.y, target.position.z = position
        target.velocity.x, target.velocity.y, target.velocity.z = velocity
        self._target = target

    @staticmethod
    def _sleep(seconds):
        until, end = rospy.get_time() + seconds, time.monotonic() + _SLOWEST * seconds
        while rospy.get_time() < until and time.monotonic() < end:
            time.sleep(0.002)

    def _await(self, condition, what, seconds):
        until, end = rospy.get_time() + seconds, time.monotonic() + _SLOWEST * seconds
        while not condition():
            if rospy.get_time() > until or time.monotonic() > end:
                raise RuntimeError(
                    f"{what}: not reached within {seconds} s; the vehicle is in "
                    f"{self._state.mode or 'no mode'}"
                )
            time.sleep(0.01)

    def _measure(self):
        counts, begin = {n: x.count for n, x in self._listeners.items()}, rospy.get_time()
        self._sleep(MEASURE_S)
        passed = rospy.get_time() - begin
        for name, listener in self._listeners.items():
            came = listener.count - counts[name]
            self.topics[name] = {
                "rate": round(came / passed, 2),
                "sample": listener.sample() if came else None,
            }

    def _make_calls(self, phase):
        for when, service, request, _ in self._calls:
            if when == phase:
                self.answers.append(self._call(service, request))
                self._sleep(0.1)

    def _call(self, service, request):
        """The answer of a service as plain values, or {'error': text}."""
        cls = roslib.message.get_service_class(self._services[service]["type"])
        message = ros_messages.request(cls)
        genpy.message.fill_message_args(message, [request])
        try:
            return plain(rospy.ServiceProxy(TOP + service, cls).call(message))
        except rospy.ServiceException as error:
            return {"error": str(error)}
