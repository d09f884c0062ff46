"""What Pegasus Simulator's ROS 2 backend takes: the speed of each rotor, below /droneN.

https://github.com/PegasusSimulator/PegasusSimulator, logic/backends/ros2_backend.py. There nothing
else flies the vehicle. Here the flight stack does, so the speeds count in OFFBOARD; while the
vehicle is armed, servos and surfaces stay with it.
"""

import math
from collections.abc import Sequence
from typing import Any

from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_mavros.inputs.fields import target
from xtdrone_mavros.rows import Subscription

_GROUP = 8  # actuators of one message
_GROUPS = 2  # of PX4's 16 channels


class RotorSpeeds:
    """The rotors of one vehicle, which turn as told.

    Attributes:
        index, name: Of the vehicle.
        host: Its log(name, severity, text) is for the user.
        subscriptions: One topic for each rotor.
    """

    def __init__(
        self, index: int, name: str, link: Any, host: Any, rotors: Sequence[Sequence[float]]
    ):
        """Rotors that nobody has told a speed stand still.

        Args:
            index: Of the vehicle.
            name: Its name.
            link: A FleetLink.
            host: For lines of the log.
            rotors: (channel, speed at command 0, speed for a command of 1 more, largest speed) of
                each rotor, speeds in rad/s; none if its flight stack takes no actuator commands.
        """
        self.index, self.name, self.host = index, name, host
        self._link, self._rotors = link, rotors
        self._controls = [math.nan] * (_GROUP * _GROUPS)
        self._new = False
        self.subscriptions = tuple(
            Subscription(f"control/rotor{k}/ref", "std_msgs/Float64", self._taker(k))
            for k in range(len(rotors))
        )
        for channel, *_ in rotors:
            self._controls[int(channel)] = 0.0

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

    def _taker(self, k):
        return lambda vehicle, message: vehicle.take(k, float(message.data))

    def take(self, k: int, speed: float) -> None:
        """The speed of rotor k [rad/s]; one that it cannot turn at is refused with a line."""
        channel, at_zero, span, most = self._rotors[k]
        if not abs(speed) <= most:
            self.host.log(
                self.name,
                mavlink.MAV_SEVERITY_WARNING,
                f"control/rotor{k}/ref: {speed:g} rad/s is not taken: give at most {most:g}",
            )
            return
        turning = max(abs(speed) - at_zero, 0.0)  # slower than at_zero it stands
        self._controls[int(channel)] = math.copysign(turning, speed) / span
        self._new = True
