"""XTDrone's own topics for ROS 2: /xtdrone/NAME/cmd and cmd_*, by the translator of ROS 1's node.

A vehicle's set-points are streamed at 30 Hz of simulated time from its first command on.
"""

import functools
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from xtdrone_core import modes
from xtdrone_core.errors import unknown_name
from xtdrone_core.mavlink.dialect import mavlink
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
from xtdrone_mavros.convert import encode, geometry
from xtdrone_mavros.errors import MavrosError
from xtdrone_mavros.inputs.fields import quat, xyz
from xtdrone_mavros.mavlink_link import FleetLink, Received, unpack
from xtdrone_mavros.requests import Requests
from xtdrone_mavros.rows import RosMessage, Subscription
from xtdrone_mavros.vehicle_kind import OF_VEHICLE_TYPE, Kind

from .wire.node import Node, Writer
from .wire.quality import DEFAULT
from .wire.types import ros2_name

_POLL_S = 0.01
_STREAMED_US = 500_000  # stream of set-points before OFFBOARD is requested [us]
T = TypeVar("T")
_TEXT, _EXTENDED = mavlink.MAVLINK_MSG_ID_STATUSTEXT, mavlink.MAVLINK_MSG_ID_EXTENDED_SYS_STATE


class XtdroneVehicle:
    """One vehicle's commands.

    Attributes:
        index, name: Number and name of the vehicle.
        report: Called with each line for /xtdrone/NAME/info.
    """

    def __init__(
        self, index: int, name: str, link: FleetLink, kind: Kind, report: Callable[[str], None]
    ):
        """Takes the link to the fleet, which others read, and the kind of vehicle."""
        self.index, self.name, self.report = index, name, report
        self._link, self._kind = link, kind
        self._requests = Requests(link, index)
        self._translator = CommandTranslator(report)
        self._translator.set_kind(kind)
        self._lock = threading.Lock()
        self._one_request = threading.Lock()
        self._now_us, self._mode, self._reason = 0, "", ""
        self._begun_us: int | None = None  # start of the stream [us]
        self._next_us = 0.0

    def step(self, t_us: int, vehicle: np.void) -> None:
        """Sends the set-point, if one is due.

        Args:
            t_us: Simulated time [us].
            vehicle: Record of the vehicle, of type feed.VEHICLE.
        """
        self._now_us = t_us
        if self._begun_us is None:
            return
        self._mode = modes.ROS_NAME[modes.Mode(int(vehicle["mode"]))]
        if t_us < self._next_us:
            return
        period = 1e6 / STREAM_HZ
        self._next_us = max(self._next_us + period, t_us - period)
        with self._lock:
            self._translator.set_mode(self._mode)
            self._translator.set_pose(
                vehicle["est_pos"].tolist(), geometry.euler(vehicle["est_quat"].tolist())[2]
            )
            target = self._translator.set_point()
        if target is not None:
            self._link.send(
                self.index,
                encode.set_position_target(
                    self.index,
                    t_us,
                    target.frame,
                    target.type_mask,
                    target.pos,
                    target.vel,
                    target.acc,
                    target.yaw,
                    target.yaw_rate,
                ),
            )

    def execute(self, method: Callable[[CommandTranslator], T]) -> T | None:
        """Returns method(translator), and starts the stream; None if it is refused."""
        if self._begun_us is None:
            self._begun_us, self._next_us = self._now_us, float(self._now_us)
        try:
            with self._lock:
                return method(self._translator)
        except MavrosError as error:
            self.report(str(error))
            return None

    def command(self, text: str) -> None:
        """Executes a command of /xtdrone/NAME/cmd."""
        request = self.execute(lambda do: do.command(text, self._now_us))
        if request is not None:
            threading.Thread(
                target=self._request, args=(text.strip(), request), daemon=True
            ).start()

    def take(self, message_id: int, payload: bytes) -> None:
        """Takes a MAVLink message: warnings, and the state of a VTOL."""
        if message_id == _TEXT:
            severity, words, *_ = unpack(message_id, payload)
            if severity <= mavlink.MAV_SEVERITY_WARNING:
                self._reason = words.split(b"\0")[0].decode(errors="replace")
        elif message_id == _EXTENDED:
            with self._lock:
                self._translator.set_kind(self._kind, unpack(message_id, payload)[0])

    def _request(self, command: str, request: Request) -> None:
        with self._one_request:
            self._reason = ""
            if request.mode:
                done = self._change_mode(request.mode)
            elif request.transition:
                done = self._accepted(mavlink.MAV_CMD_DO_VTOL_TRANSITION, request.transition)
            else:
                done = self._accepted(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, bool(request.arm))
            if not done:
                _await(lambda: bool(self._reason), REASON_S)
            self.report(
                f"{command}: done"
                if done
                else f"{command} refused: {self._reason or 'the autopilot gave no reason'}"
            )

    def _accepted(self, number: int, value: float) -> bool:
        return (
            self._requests.command_long(number, (value, 0, 0, 0, 0, 0, 0))
            == mavlink.MAV_RESULT_ACCEPTED
        )

    def _change_mode(self, name: str) -> bool:
        mode = modes.FROM_ROS_NAME.get(name)
        if mode is None:
            self._reason = unknown_name("command", name, COMMANDS)
            return False
        if mode is modes.Mode.OFFBOARD:
            begun = self._begun_us or 0
            _await(lambda: self._now_us - begun >= _STREAMED_US, CONFIRM_S)
        self._requests.send_mode(mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED, *modes.PX4_MODE[mode])
        _await(lambda: self._mode == name or bool(self._reason), CONFIRM_S)
        return self._mode == name


def _await(condition: Callable[[], bool], seconds: float) -> None:
    """Waits for a condition, at most so long [s, wall]."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(_POLL_S)


def _pose(method: str, vehicle: XtdroneVehicle, message: RosMessage) -> None:
    turn = quat(message.orientation)
    yaw = geometry.euler(turn if any(turn) else (0.0, 0.0, 0.0, 1.0))[2]
    vehicle.execute(lambda do: getattr(do, method)(xyz(message.position), yaw))


def _motion(method: str, frame: int, vehicle: XtdroneVehicle, message: RosMessage) -> None:
    vehicle.execute(lambda do: getattr(do, method)(frame, xyz(message.linear), message.angular.z))


SUBSCRIPTIONS: tuple[Subscription[XtdroneVehicle], ...] = (
    Subscription("cmd", "std_msgs/String", lambda vehicle, message: vehicle.command(message.data)),
    Subscription("cmd_pose_flu", "geometry_msgs/Pose", functools.partial(_pose, "pose_flu")),
    Subscription("cmd_pose_enu", "geometry_msgs/Pose", functools.partial(_pose, "pose_enu")),
    Subscription("cmd_vel_flu", "geometry_msgs/Twist", functools.partial(_motion, "velocity", FLU)),
    Subscription("cmd_vel_enu", "geometry_msgs/Twist", functools.partial(_motion, "velocity", ENU)),
    Subscription(
        "cmd_accel_flu", "geometry_msgs/Twist", functools.partial(_motion, "acceleration", FLU)
    ),
    Subscription(
        "cmd_accel_enu", "geometry_msgs/Twist", functools.partial(_motion, "acceleration", ENU)
    ),
)


class Xtdrone:
    """The fleet's /xtdrone/ topics."""

    def __init__(
        self,
        node: Node,
        names: Sequence[str],
        link: FleetLink,
        vehicle_types: Sequence[int],
        subscribe: Callable[[str, XtdroneVehicle, Subscription[XtdroneVehicle]], None],
    ):
        """Subscribes.

        Args:
            node: Node of the publishers.
            names: Namespaces of the vehicles.
            link: MAVLink link to the fleet, which others read.
            vehicle_types: PX4's vehicle_type of each, 0 for a VTOL.
            subscribe: Called with the name of each topic, its vehicle and its row.
        """
        self._vehicles = []
        for i, name in enumerate(names):
            info = node.writer(f"/xtdrone/{name}/info", "std_msgs/msg/String", DEFAULT)
            kind = OF_VEHICLE_TYPE.get(int(vehicle_types[i]), Kind.VTOL)
            vehicle = XtdroneVehicle(i, name, link, kind, functools.partial(_publish, node, info))
            self._vehicles.append(vehicle)
            for row in SUBSCRIPTIONS:
                subscribe(f"/xtdrone/{name}/{row.name}", vehicle, row)

    def step(self, t_us: int, vehicles: np.ndarray) -> None:
        """Advances simulated time to t_us; vehicles: (N,) of feed.VEHICLE."""
        for vehicle, record in zip(self._vehicles, vehicles):
            vehicle.step(t_us, record)

    def take(self, received: Sequence[Received]) -> None:
        """Takes MAVLink messages."""
        for i, message_id, payload, _ in received:
            if message_id in (_TEXT, _EXTENDED):
                self._vehicles[i].take(message_id, payload)


def _publish(node: Node, info: Writer, text: str) -> None:
    info.write(node.types.serialised(node.types.message(ros2_name("std_msgs/String"), data=text)))
