"""A fleet that is commanded by MAVROS's setpoint_raw topics and services alone."""

from collections.abc import Sequence

import numpy as np
import rospy

from mavros_msgs.msg import AttitudeTarget, PositionTarget
from mavros_msgs.srv import CommandBool, SetMode
from xtdrone_autopilot.control.vector import thrust_normalised
from xtdrone_autopilot.state.vehicle_status import describe_bodies, new_status
from xtdrone_core import ARM, KEEP, FleetModel, SetPoints
from xtdrone_core.modes import ROS_NAME, Mode
from xtdrone_formation.topics.fleet import RosFleet
from xtdrone_ros1.messages import Message
from xtdrone_ros1.ros1 import Ros1

from .errors import ControlNodeError

_LOCAL = 1  # MAV_FRAME_LOCAL_NED, which MAVROS takes in ENU
# Bits of PositionTarget.type_mask: fields to ignore.
_PARTS = (
    ("pos", 0b111, "position"),
    ("vel", 0b111 << 3, "velocity"),
    ("acc", 0b111 << 6, "acceleration_or_force"),
)
_NO_YAW, _NO_YAW_RATE = 1 << 10, 1 << 11
_NO_RATES, _NO_ATTITUDE = 0b111, 1 << 7  # bits of AttitudeTarget.type_mask


class RawFleet(RosFleet):
    """Vehicles controlled by position to acceleration, or by attitude or body rates and force."""

    def __init__(self, ros: Ros1, names: Sequence[str], model: FleetModel | None = None):
        """Subscribes and advertises.

        Args:
            ros: The node.
            names: Namespaces of the vehicles.
            model: Model of the vehicles, if forces are to be commanded.
        """
        super().__init__(ros, names)
        tops = [ros.mavros(name) for name in names]
        self._local, self._attitude = (
            [rospy.Publisher(f"{top}/setpoint_raw/{what}", kind, queue_size=1) for top in tops]
            for what, kind in (("local", PositionTarget), ("attitude", AttitudeTarget))
        )
        self._mode = [rospy.ServiceProxy(f"{top}/set_mode", SetMode) for top in tops]
        self._arm = [rospy.ServiceProxy(f"{top}/cmd/arming", CommandBool) for top in tops]
        self._status: np.ndarray | None = None
        if model is not None:
            self._status = new_status(model.n)
            describe_bodies(self._status, model)

    def send(self, set_points: SetPoints) -> None:
        """Sends set-points and requests of the whole fleet; NaN values are masked out."""
        for i in range(self.n):
            force = set_points.force[i, 2]
            if np.isfinite(force):
                self._send(self._attitude[i], self._attitude_of(set_points, i, force))
            elif np.isfinite(set_points.pos[i]).all() or np.isfinite(set_points.vel[i]).all():
                self._send(self._local[i], _local_of(set_points, i))
            try:
                if set_points.mode[i] != KEEP:
                    self._mode[i](custom_mode=ROS_NAME[Mode(set_points.mode[i])])
                if set_points.arm[i] != KEEP:
                    self._arm[i](set_points.arm[i] == ARM)
            except rospy.ServiceException as error:  # the Agent repeats the request
                rospy.logwarn("%s", error)

    def _send(self, publisher: rospy.Publisher, message: Message) -> None:
        message.header.stamp = rospy.Time.from_sec(self._t_us * 1e-6)
        publisher.publish(message)

    def _attitude_of(self, set_points: SetPoints, i: int, force: float) -> AttitudeTarget:
        if self._status is None:
            raise ControlNodeError("set-points of force need a model of the vehicles: give model")
        message = AttitudeTarget(thrust=thrust_normalised(self._status[i], force))
        rates, quat = set_points.rates[i], set_points.quat[i]
        if np.isfinite(rates).all():
            message.type_mask = _NO_ATTITUDE
            message.orientation.w = 1.0
            _fill(message.body_rate, rates)
        else:
            message.type_mask = _NO_RATES
            _fill(message.orientation, quat[:3])
            message.orientation.w = float(quat[3])
        return message


def _local_of(set_points: SetPoints, i: int) -> PositionTarget:
    message = PositionTarget(coordinate_frame=_LOCAL)
    for name, bits, field in _PARTS:
        values = getattr(set_points, name)[i]
        if np.isfinite(values).all():
            _fill(getattr(message, field), values)
        else:
            message.type_mask |= bits
    for name, bit in (("yaw", _NO_YAW), ("yaw_rate", _NO_YAW_RATE)):
        value = float(getattr(set_points, name)[i])
        if np.isfinite(value):
            setattr(message, name, value)
        else:
            message.type_mask |= bit
    return message


def _fill(part: Message, values: Sequence[float]) -> None:
    part.x, part.y, part.z = map(float, values)
