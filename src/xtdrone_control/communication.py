"""XTDrone's communication node for one or all vehicles: /xtdrone/V/... to V/mavros/...

The classes are where XTDrone has them:

    from xtdrone_control.communication import Communication
    Communication("iris", 0).start()
"""

import struct
import threading
import time
from collections.abc import Callable, Sequence

import rospy
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from mavros_msgs.msg import ExtendedState, State, StatusText
from mavros_msgs.srv import CommandBool, CommandVtolTransition, SetMode
from xtdrone_core.errors import unknown_name
from xtdrone_mavros import ros_serialisation as serialisation
from xtdrone_mavros.command_translator import (
    COMMANDS,
    CONFIRM_S,
    ENU,
    FLU,
    REASON_S,
    STREAM_HZ,
    CommandTranslator,
    Request,
)
from xtdrone_mavros.convert.geometry import Vector, euler
from xtdrone_mavros.errors import MavrosError
from xtdrone_mavros.inputs.fields import duration_us
from xtdrone_mavros.vehicle_kind import Kind
from xtdrone_ros1 import discovery, node
from xtdrone_ros1.topics import Input, Output

CONFIRM_STATES = 3  # messages of V/mavros/state that may go by, one a second of simulated time
POLL_S = 0.01  # time between two checks for a reason [s]
WARNING = 4  # MAV_SEVERITY: this and below is a reason for a refusal


class Vehicle:
    """One vehicle's topics and services."""

    def __init__(self, name: str):
        """Takes the name of the vehicle, for example iris_0."""
        self.name = name
        self._info = rospy.Publisher(f"/xtdrone/{name}/info", String, queue_size=20)
        self._top = top = discovery.mavros(name)
        self._target = Output(f"{top}/setpoint_raw/local", "mavros_msgs/PositionTarget")
        self._arming = rospy.ServiceProxy(f"{top}/cmd/arming", CommandBool)
        self._set_mode = rospy.ServiceProxy(f"{top}/set_mode", SetMode)
        self._vtol_transition = rospy.ServiceProxy(
            f"{top}/cmd/vtol_transition", CommandVtolTransition
        )
        self._translator = CommandTranslator(self._report)
        self._kind: Kind | None = None  # None until the vehicle is connected
        self._pose: bytes | None = None  # the last PoseStamped
        self._mode, self._states = "", 0  # the last mode, and the number of states received
        self._reason = ""  # the autopilot's last warning
        self._next_us: float | None = None
        self._lock = threading.Lock()
        self._requests = threading.Lock()  # one at a time
        self._subscribe()

    def _subscribe(self) -> None:
        mavros = f"{self._top}/"
        pose, twist = "geometry_msgs/Pose", "geometry_msgs/Twist"
        do = self._translator
        Input(mavros + "local_position/pose", "geometry_msgs/PoseStamped", self._on_pose)
        rospy.Subscriber(mavros + "state", State, self._on_state, queue_size=10)
        rospy.Subscriber(mavros + "statustext/recv", StatusText, self._on_text, queue_size=10)
        rospy.Subscriber(f"/xtdrone/{self.name}/cmd", String, self._on_command)  # no limit
        top = f"/xtdrone/{self.name}/cmd_"
        Input(f"{top}pose_flu", pose, self._pose_handler(self._relative))
        Input(f"{top}pose_enu", pose, self._pose_handler(do.pose_enu))
        for word, frame in (("flu", FLU), ("enu", ENU)):
            Input(f"{top}vel_{word}", twist, self._motion_handler(do.velocity, frame))
            Input(f"{top}accel_{word}", twist, self._motion_handler(do.acceleration, frame))

    def _pose_handler(self, method: Callable[[Vector, float], None]) -> Callable[[bytes], None]:
        def handle(data: bytes) -> None:
            x, y, z, *quat = struct.unpack("<7d", data)
            yaw = euler(quat if any(quat) else (0.0, 0.0, 0.0, 1.0))[2]
            self._execute(lambda: method((x, y, z), yaw))

        return handle

    def _relative(self, pos: Vector, yaw: float) -> None:
        self._set_pose()
        self._translator.pose_flu(pos, yaw)

    def _motion_handler(
        self, method: Callable[[int, Vector, float], None], frame: int
    ) -> Callable[[bytes], None]:
        def handle(data: bytes) -> None:
            x, y, z, _, _, yaw_rate = struct.unpack("<6d", data)
            self._execute(lambda: method(frame, (x, y, z), yaw_rate))

        return handle

    def _execute(self, command: Callable[[], None]) -> None:
        try:
            with self._lock:
                command()
        except MavrosError as error:
            self._report(str(error))

    def _on_pose(self, data: bytes) -> None:
        self._pose = data

    def _on_state(self, message: State) -> None:
        self._mode, self._states = message.mode, self._states + 1
        with self._lock:
            self._translator.set_mode(message.mode)
        if message.connected and self._kind is None:
            self._set_kind(discovery.vehicle_kind(self.name))

    def _set_kind(self, kind: Kind | None) -> None:
        self._kind = kind
        if kind is None:
            return
        with self._lock:
            self._translator.set_kind(kind)
        if kind is Kind.VTOL:
            rospy.Subscriber(
                f"{self._top}/extended_state", ExtendedState, self._on_extended_state, queue_size=10
            )

    def _on_extended_state(self, message: ExtendedState) -> None:
        with self._lock:
            self._translator.set_kind(Kind.VTOL, message.vtol_state)

    def _on_text(self, message: StatusText) -> None:
        if message.severity <= WARNING:
            self._reason = message.text

    def _on_command(self, message: String) -> None:
        with self._lock:
            request = self._translator.command(message.data, round(rospy.get_time() * 1e6))
        if request is not None:
            threading.Thread(
                target=self._request, args=(message.data.strip(), request), daemon=True
            ).start()

    def _request(self, command: str, request: Request) -> None:
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

    def _change_mode(self, mode: str) -> bool:
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

    def _set_pose(self) -> None:
        """Passes on the last estimated pose, if there is one."""
        if self._pose is not None:
            size = struct.unpack_from("<I", self._pose, 12)[0]
            x, y, z, *quat = struct.unpack_from("<7d", self._pose, 16 + size)
            self._translator.set_pose((x, y, z), euler(quat)[2])

    def _report(self, text: str) -> None:
        rospy.loginfo("%s: %s", self.name, text)
        self._info.publish(text)


class FleetCommunication:
    """All vehicles of a fleet in one process."""

    def __init__(self, names: Sequence[str]):
        """Takes the namespaces of the vehicles."""
        self.vehicles = [Vehicle(name) for name in names]

    def start(self) -> None:
        """Sends set-points at 30 Hz of ROS time until ROS shuts down."""
        try:
            self._run()
        except rospy.ROSInterruptException:
            pass

    def _run(self) -> None:
        if rospy.get_param("/use_sim_time", False):
            rospy.Subscriber("/clock", Clock, self._on_clock, queue_size=10)
            patience = node.Patience()
            while True:
                patience.wait(0.2)
        else:
            rate = rospy.Rate(STREAM_HZ)
            while not rospy.is_shutdown():
                self._tick(round(rospy.get_time() * 1e6))
                rate.sleep()

    def _on_clock(self, message: Clock) -> None:
        self._tick(duration_us(message.clock))

    def _tick(self, t_us: int) -> None:
        for vehicle in self.vehicles:
            vehicle.tick(t_us)


class Communication(FleetCommunication):
    """The communication node of one vehicle, as XTDrone has it: `Communication("iris", 0)`."""

    def __init__(self, vehicle_type: str, vehicle_id: int | str):
        """Takes the two parts of the namespace, for example iris and 0."""
        name = f"{vehicle_type}_{vehicle_id}"
        node.require_master()
        node.start(f"{name}_communication")
        super().__init__([name])
