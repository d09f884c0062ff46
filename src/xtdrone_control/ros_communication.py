"""XTDrone's communication node for one or all vehicles: /xtdrone/V/... to V/mavros/..."""

import struct
import threading
import time

import rospy
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from mavros_msgs.msg import ExtendedState, State, StatusText
from mavros_msgs.srv import CommandBool, CommandVtolTransition, SetMode
from xtdrone_core.errors import unknown_name
from xtdrone_core.modes import FROM_ROS_NAME
from xtdrone_mavros import ros_serialisation as serialisation
from xtdrone_mavros.command_translator import (
    ENU,
    FLU,
    HOLDS,
    STREAM_HZ,
    TRANSITIONS,
    CommandTranslator,
)
from xtdrone_mavros.convert.geometry import euler
from xtdrone_mavros.errors import MavrosError
from xtdrone_mavros.vehicle_kind import Kind
from xtdrone_ros1 import ros_tools

CONFIRM_S = 5.0  # wall time for a mode to be confirmed [s]
CONFIRM_STATES = 3  # and messages of V/mavros/state, one per second of simulated time
REASON_S = 1.0  # wall time for the status text of a refusal to arrive [s]
POLL_S = 0.01  # between two checks for it [s]
COMMANDS = ("ARM", "DISARM", *HOLDS, *TRANSITIONS, *FROM_ROS_NAME)
WARNING = 4  # MAV_SEVERITY: this and below is a reason for a refusal


class Vehicle:
    """One vehicle's topics and services."""

    def __init__(self, name: str):
        """name: the vehicle's namespace, for example iris_0."""
        self.name = name
        self._info = rospy.Publisher(f"/xtdrone/{name}/info", String, queue_size=20)
        self._target = ros_tools.Output(
            f"/{name}/mavros/setpoint_raw/local", "mavros_msgs/PositionTarget"
        )
        self._arming = rospy.ServiceProxy(f"/{name}/mavros/cmd/arming", CommandBool)
        self._set_mode = rospy.ServiceProxy(f"/{name}/mavros/set_mode", SetMode)
        self._vtol_transition = rospy.ServiceProxy(
            f"/{name}/mavros/cmd/vtol_transition", CommandVtolTransition
        )
        self._translator = CommandTranslator(self._report)
        self._kind = None  # until the vehicle is connected
        self._pose = None  # bytes of the last PoseStamped
        self._mode, self._states = "", 0  # the last mode, and the number of states received
        self._reason = ""  # the autopilot's last warning
        self._next_us = None
        self._lock = threading.Lock()
        self._requests = threading.Lock()  # one at a time
        self._subscribe()

    def _subscribe(self):
        mavros = f"/{self.name}/mavros/"
        pose, twist = "geometry_msgs/Pose", "geometry_msgs/Twist"
        do = self._translator
        ros_tools.Input(mavros + "local_position/pose", "geometry_msgs/PoseStamped", self._on_pose)
        rospy.Subscriber(mavros + "state", State, self._on_state, queue_size=10)
        rospy.Subscriber(mavros + "statustext/recv", StatusText, self._on_text, queue_size=10)
        rospy.Subscriber(f"/xtdrone/{self.name}/cmd", String, self._on_command)  # no limit
        top = f"/xtdrone/{self.name}/cmd_"
        ros_tools.Input(f"{top}pose_flu", pose, self._poser(self._relative))
        ros_tools.Input(f"{top}pose_enu", pose, self._poser(do.pose_enu))
        for word, frame in (("flu", FLU), ("enu", ENU)):
            ros_tools.Input(f"{top}vel_{word}", twist, self._mover(do.velocity, frame))
            ros_tools.Input(f"{top}accel_{word}", twist, self._mover(do.acceleration, frame))

    def _poser(self, method):
        def handle(data):
            x, y, z, *quat = struct.unpack("<7d", data)
            self._execute(method, (x, y, z), euler(quat if any(quat) else (0.0, 0.0, 0.0, 1.0))[2])

        return handle

    def _relative(self, pos, yaw):
        self._set_pose()
        self._translator.pose_flu(pos, yaw)

    def _mover(self, method, frame):
        def handle(data):
            x, y, z, _, _, yaw_rate = struct.unpack("<6d", data)
            self._execute(method, frame, (x, y, z), yaw_rate)

        return handle

    def _execute(self, method, *values):
        try:
            with self._lock:
                method(*values)
        except MavrosError as error:
            self._report(str(error))

    def _on_pose(self, data):
        self._pose = data

    def _on_state(self, m):
        self._mode, self._states = m.mode, self._states + 1
        with self._lock:
            self._translator.set_mode(m.mode)
        if m.connected and self._kind is None:
            self._take_kind(ros_tools.vehicle_kind(self.name))

    def _take_kind(self, kind):
        self._kind = kind
        if kind is None:
            return
        with self._lock:
            self._translator.set_kind(kind)
        if kind is Kind.VTOL:
            rospy.Subscriber(
                f"/{self.name}/mavros/extended_state",
                ExtendedState,
                self._on_extended_state,
                queue_size=10,
            )

    def _on_extended_state(self, m):
        with self._lock:
            self._translator.set_kind(self._kind, m.vtol_state)

    def _on_text(self, m):
        if m.severity <= WARNING:
            self._reason = m.text

    def _on_command(self, m):
        with self._lock:
            request = self._translator.command(m.data, round(rospy.get_time() * 1e6))
        if request is not None:
            threading.Thread(
                target=self._request, args=(m.data.strip(), request), daemon=True
            ).start()

    def _request(self, command, request):
        """Calls MAVROS's service and publishes the result on /xtdrone/V/info."""
        with self._requests:
            self._reason = ""
            try:
                if request.mode:
                    done = self._change_mode(request.mode)
                elif request.transition:
                    done = self._vtol_transition(state=request.transition).success
                else:
                    done = self._arming(request.arm).success
            except rospy.ServiceException as error:
                done, self._reason = False, f"MAVROS does not answer ({error})"
            left = REASON_S  # counted in sleeps: a stall of the machine delays the text too
            while not (done or self._reason) and left > 0.0:
                time.sleep(POLL_S)
                left -= POLL_S
            self._report(
                f"{command}: done"
                if done
                else f"{command} refused: {self._reason or 'the autopilot gave no reason'}"
            )

    def _change_mode(self, mode):
        """Requests a mode and waits until the vehicle's state shows it, or a time-out."""
        if not self._set_mode(0, mode).mode_sent:
            self._reason = unknown_name("command", mode, COMMANDS)
            return False
        first, end = self._states, time.monotonic() + CONFIRM_S
        while self._mode != mode:
            limit = 2 if self._reason else CONFIRM_STATES
            if self._states - first >= limit or time.monotonic() > end or rospy.is_shutdown():
                return False
            time.sleep(0.02)
        return True

    def tick(self, t_us: int) -> None:
        """Sends the set-point if one is due at the simulated time t_us."""
        if self._next_us is None:
            self._next_us = t_us
        if t_us < self._next_us:
            return
        period = 1e6 / STREAM_HZ
        self._next_us = max(self._next_us + period, t_us - period)
        with self._lock:
            if self._translator.needs_pose:
                self._set_pose()
            target = self._translator.set_point()
        if target is not None and self._target.wanted():
            self._target.publish(
                serialisation.position_target(
                    t_us,
                    "map",
                    target.frame,
                    target.type_mask,
                    target.pos,
                    target.vel,
                    target.acc,
                    target.yaw,
                    target.yaw_rate,
                )
            )

    def _set_pose(self):
        """Passes the last estimated pose on, if there is one."""
        if self._pose is not None:
            size = struct.unpack_from("<I", self._pose, 12)[0]
            x, y, z, *quat = struct.unpack_from("<7d", self._pose, 16 + size)
            self._translator.set_pose((x, y, z), euler(quat)[2])

    def _report(self, text):
        rospy.loginfo("%s: %s", self.name, text)
        self._info.publish(text)


class FleetCommunication:
    """All vehicles of a fleet in one process."""

    def __init__(self, names):
        """names: the vehicles' namespaces."""
        self.vehicles = [Vehicle(name) for name in names]

    def start(self) -> None:
        """Sends set-points at 30 Hz of ROS time until ROS shuts down."""
        try:
            self._run()
        except rospy.ROSInterruptException:
            pass

    def _run(self):
        if rospy.get_param("/use_sim_time", False):
            rospy.Subscriber("/clock", Clock, self._on_clock, queue_size=10)
            patience = ros_tools.Patience()
            while True:
                patience.wait(0.2)
        else:
            rate = rospy.Rate(STREAM_HZ)
            while not rospy.is_shutdown():
                self._tick(round(rospy.get_time() * 1e6))
                rate.sleep()

    def _on_clock(self, m):
        self._tick(m.clock.secs * 1_000_000 + m.clock.nsecs // 1000)

    def _tick(self, t_us):
        for vehicle in self.vehicles:
            vehicle.tick(t_us)


class Communication(FleetCommunication):
    """The communication node of one vehicle, as XTDrone has it: `Communication("iris", 0)`."""

    def __init__(self, vehicle_type: str, vehicle_id):
        """vehicle_type and vehicle_id: the two parts of the namespace, for example iris and 0."""
        name = f"{vehicle_type}_{vehicle_id}"
        ros_tools.require_master()
        ros_tools.start(f"{name}_communication")
        super().__init__([name])
