"""Topics that Pegasus Simulator's ROS 2 backend subscribes to: rotor speeds, below /droneN.

https://github.com/PegasusSimulator/PegasusSimulator, logic/backends/ros2_backend.py. There nothing
else flies the vehicle. Here the flight stack does, so the speeds count in OFFBOARD; while the
vehicle is armed, servos and surfaces stay with it.
"""

import math
from collections.abc import Callable, Sequence

from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_mavros.host import Log
from xtdrone_mavros.inputs.fields import target
from xtdrone_mavros.mavlink_link import FleetLink
from xtdrone_mavros.rows import RosMessage, Subscription

from ..description import RotorRange

_GROUP = 8  # actuators of one message
_GROUPS = 2  # messages for PX4's 16 channels


class RotorSpeeds:
    """Commands the speeds of one vehicle's rotors.

    Attributes:
        index, name: Number and name of the vehicle.
        host: Log.
        subscriptions: One topic for each rotor.
    """

    def __init__(
        self, index: int, name: str, link: FleetLink, host: Log, rotors: Sequence[RotorRange]
    ):
        """Subscribes; rotors without a commanded speed stand still.

        Args:
            index, name: Number and name of the vehicle.
            link: MAVLink link to the fleet.
            host: Log.
            rotors: Range of each rotor; none if its flight stack takes no actuator commands.
        """
        self.index, self.name, self.host = index, name, host
        self._link, self._rotors = link, rotors
        self._controls = [math.nan] * (_GROUP * _GROUPS)
        self._new = False
        self.subscriptions: tuple[Subscription[RotorSpeeds], ...] = tuple(
            Subscription(f"control/rotor{k}/ref", "std_msgs/Float64", self._handler(k))
            for k in range(len(rotors))
        )
        for rotor in rotors:
            self._controls[rotor.channel] = 0.0

    def step(self, t_us: int) -> None:
        """Sends the speeds that have come since the last step."""
        if not self._new:
            return
        self._new = False
        for group in range(_GROUPS):
            controls = self._controls[_GROUP * group : _GROUP * (group + 1)]
            if any(map(math.isfinite, controls)):
                self._link.send(
                    self.index,
                    mavlink.MAVLink_set_actuator_control_target_message(
                        t_us, group, *target(self), controls
                    ),
                )

    def _handler(self, k: int) -> Callable[["RotorSpeeds", RosMessage], None]:
        return lambda vehicle, message: vehicle.take(k, float(message.data))

    def take(self, k: int, speed: float) -> None:
        """Takes the speed of rotor k [rad/s]; one that it cannot turn at is refused with a line."""
        rotor = self._rotors[k]
        if not abs(speed) <= rotor.max_speed:
            self.host.log(
                self.name,
                mavlink.MAV_SEVERITY_WARNING,
                f"control/rotor{k}/ref: {speed:g} rad/s is not taken: "
                f"give at most {rotor.max_speed:g}",
            )
            return
        turning = max(abs(speed) - rotor.min_speed, 0.0)  # below min_speed it stands
        self._controls[rotor.channel] = math.copysign(turning, speed) / rotor.speed_range
        self._new = True
