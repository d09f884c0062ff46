"""The gimbal manager of each camera mount: MAVLink's gimbal protocol, version 2.

Only who has taken control by DO_GIMBAL_MANAGER_CONFIGURE may turn the gimbal, as in PX4.
https://mavlink.io/en/services/gimbal_v2.html
"""

import math
from collections.abc import Sequence

import numpy as np

from xtdrone_core.mavlink.dialect import MavlinkMessage, mavlink
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.quaternion import from_euler, to_euler

from ..state.answer import ACCEPTED, DENIED, NO_ANSWER, Answer
from ..state.clock import StepClock
from ..state.handlers import MessageSource, handles, on_request, receives, streams
from .mount import Mount

DEVICE = 1  # number of the gimbal that is the autopilot's own
_KEEP, _TAKE, _GIVE_UP = -1, -2, -3  # in place of a system id in DO_GIMBAL_MANAGER_CONFIGURE
_STRAIGHT = mavlink.GIMBAL_MANAGER_FLAGS_RETRACT | mavlink.GIMBAL_MANAGER_FLAGS_NEUTRAL
_CAPABILITIES = (
    mavlink.GIMBAL_MANAGER_CAP_FLAGS_HAS_NEUTRAL
    | mavlink.GIMBAL_MANAGER_CAP_FLAGS_HAS_ROLL_LOCK
    | mavlink.GIMBAL_MANAGER_CAP_FLAGS_HAS_PITCH_AXIS
    | mavlink.GIMBAL_MANAGER_CAP_FLAGS_HAS_PITCH_LOCK
    | mavlink.GIMBAL_MANAGER_CAP_FLAGS_HAS_YAW_AXIS
    | mavlink.GIMBAL_MANAGER_CAP_FLAGS_HAS_YAW_FOLLOW
    | mavlink.GIMBAL_MANAGER_CAP_FLAGS_HAS_YAW_LOCK
    | mavlink.GIMBAL_MANAGER_CAP_FLAGS_CAN_POINT_LOCATION_GLOBAL
)
_LEVEL = mavlink.GIMBAL_DEVICE_FLAGS_ROLL_LOCK | mavlink.GIMBAL_DEVICE_FLAGS_PITCH_LOCK


def _has_gimbal(manager: "GimbalManager") -> np.ndarray:
    return manager.mount.fitted


class GimbalManager(Memory):
    """The gimbal managers of a fleet.

    Attributes:
        mount: The mounts that they turn.
    """

    MEMORY = ("_control",)

    def __init__(self, mount: Mount, clock: StepClock) -> None:
        """Nobody is in control."""
        self.mount, self._clock = mount, clock
        # (N, 2, 2) system and component id of primary and secondary control, 0 = nobody
        self._control = np.zeros((len(mount.fitted), 2, 2), dtype=np.uint8)
        self.remember_start()

    @handles(mavlink.MAV_CMD_DO_GIMBAL_MANAGER_CONFIGURE)
    def _configure(self, link: MessageSource, params: Sequence[float]) -> Answer:
        if not self.mount.fitted[link.vehicle]:
            return _no_gimbal()
        for role in (0, 1):
            control, (system, component) = self._control[link.vehicle, role], params[2 * role :][:2]
            if system == _TAKE:
                control[:] = link.source
            elif system == _GIVE_UP and tuple(control) == link.source:
                control[:] = 0
            elif 0 <= system <= 255 and 0 <= component <= 255:
                control[:] = system, component
        return Answer(ACCEPTED)

    @handles(mavlink.MAV_CMD_DO_GIMBAL_MANAGER_PITCHYAW)
    def _pitch_yaw(self, link: MessageSource, params: Sequence[float]) -> Answer:
        pitch, yaw, pitch_rate, yaw_rate = np.radians(params[:4])
        flags = int(params[4]) if math.isfinite(params[4]) else 0
        return self._turn(link, flags, (0.0, pitch, yaw), (0.0, pitch_rate, yaw_rate))

    @receives("GIMBAL_MANAGER_SET_ATTITUDE")
    def _set_attitude(self, link: MessageSource, message: MavlinkMessage) -> None:
        w, x, y, z = message.q
        angles = to_euler(x, y, z, w) if math.isfinite(w) else (math.nan,) * 3
        rates = (message.angular_velocity_x, message.angular_velocity_y, message.angular_velocity_z)
        self._turn(link, message.flags, angles, rates)

    def _turn(
        self, link: MessageSource, flags: int, angles: Sequence[float], rates: Sequence[float]
    ) -> Answer:
        """Turns to roll, pitch and yaw [rad]; where they are NaN, it turns at rates [rad/s]."""
        i = link.vehicle
        if not self.mount.fitted[i]:
            return _no_gimbal()
        if list(link.source or ()) not in self._control[i].tolist():
            return Answer(
                DENIED,
                "another one is in control of the gimbal: take it by DO_GIMBAL_MANAGER_CONFIGURE",
            )
        if flags & _STRAIGHT:
            self.mount.look_ahead(i)
        elif not np.isfinite([*angles[1:], *rates[1:]]).any():
            return Answer(DENIED, "the gimbal needs angles or rates of pitch and yaw")
        else:
            self.mount.turn(i, angles, rates, bool(flags & mavlink.GIMBAL_MANAGER_FLAGS_YAW_LOCK))
        return Answer(ACCEPTED)

    def aim(self, i: int, system: int, position: np.ndarray | None) -> bool:
        """Looks at a place for the companion computer of vehicle i, which an Agent is.

        It takes control where nobody has it, as by DO_GIMBAL_MANAGER_CONFIGURE, and gives way to
        who took it.

        Args:
            i: The vehicle.
            system: Its system id.
            position: (3,) world [m]; None for straight ahead.

        Returns:
            Whether it is in control.
        """
        own = [system, mavlink.MAV_COMP_ID_ONBOARD_COMPUTER]
        primary = self._control[i, 0]
        if not primary.any():
            primary[:] = own
        if primary.tolist() != own:
            return False
        self.mount.look_at(i, position)
        return True

    @on_request("GIMBAL_MANAGER_INFORMATION")
    def _information(self, i: int, params: Sequence[float]) -> list:
        if not self.mount.fitted[i]:
            return []
        (pitch_min, pitch_max), (yaw_min, yaw_max) = self.mount.ranges(i)[1:]
        return [
            mavlink.MAVLink_gimbal_manager_information_message(
                self._clock.t_us // 1000,
                _CAPABILITIES,
                DEVICE,
                0.0,
                0.0,
                pitch_min,
                pitch_max,
                yaw_min,
                yaw_max,
            )
        ]

    @streams(
        "GIMBAL_MANAGER_STATUS", ground_station=0.5, offboard=0.5, bridge=False, where=_has_gimbal
    )
    def _status(self, message: np.ndarray, t_us: int) -> None:
        message["time_boot_ms"], message["gimbal_device_id"] = t_us // 1000, DEVICE
        message["primary_control_sysid"], message["primary_control_compid"] = self._control[:, 0].T
        message["secondary_control_sysid"], message["secondary_control_compid"] = self._control[
            :, 1
        ].T

    @streams(
        "GIMBAL_DEVICE_ATTITUDE_STATUS",
        ground_station=1,
        offboard=1,
        bridge=False,
        where=_has_gimbal,
    )
    def _attitude(self, message: np.ndarray, t_us: int) -> None:
        message["time_boot_ms"] = t_us // 1000
        message["flags"] = _LEVEL | mavlink.GIMBAL_DEVICE_FLAGS_YAW_IN_VEHICLE_FRAME
        quat = np.array([from_euler(*angles) for angles in self.mount.angles])
        message["q"] = quat[:, [3, 0, 1, 2]]


def _no_gimbal() -> Answer:
    return Answer(NO_ANSWER, "this vehicle has no gimbal")
