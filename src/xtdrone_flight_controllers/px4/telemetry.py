"""MAVLink telemetry from real PX4s, and an Agent's set-points and commands to them.

The socket sends heartbeats to each PX4's onboard camera link (14280 + i; see
xtdrone_core.runs.ports), which has no other client. That link gives slow telemetry, and leaves the
ground-station and offboard links to other clients. Once an Agent flies the fleet, the socket uses
the offboard link (14580 + i) too, on which PX4 then streams at full rate. Only what comes from
these ports counts, and only of their vehicle.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.state.vehicle_status import command_of
from xtdrone_core.frames import enu_ned, flu_frd, quat_enu_ned
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import PX4_MODE, Mode, from_custom_mode
from xtdrone_core.runs.ports import Ports
from xtdrone_core.state import SetPoints

from ..common.telemetry import NEVER, Address, PeerTelemetry

ORIGIN_US = 500_000  # from sending the shared origin to the first external pose [us]
_ORIGIN_TOLERANCE = 2e-7  # tolerance of latitude and longitude of the shared origin [deg]
_NO_ATTITUDE = 128  # bit of the type mask of attitude targets
_POSE_VARIANCE = 1e-4, 1e-4  # variances of an external pose [m^2], [rad^2]
# Upper triangle of the 6 x 6 covariance, row by row: x, y, z, roll, pitch, yaw; NaN = unknown.
_POSE_COVARIANCE = [
    _POSE_VARIANCE[row // 3] if row == column else 0.0
    for row in range(6)
    for column in range(row, 6)
]
_NO_ANGLES = (0.0,) * 5  # angles, distance and size of a landing target whose place is given
_SILENT_US = 3_000_000  # time without a heartbeat from PX4 after which it is sent some [us]
_UNKNOWN_COVARIANCE = [math.nan] * 21


class FleetTelemetry(PeerTelemetry):
    """Estimates of N vehicles from PX4's telemetry; sends set-points and commands to PX4.

    Attributes:
        thrust_poly: (N, 3) collective thrust [N] as polynomial of the common rotor command, or
            None.
    """

    flight_stack = mavlink.MAV_AUTOPILOT_PX4
    heartbeat_type = mavlink.MAV_TYPE_GENERIC  # PX4 reports the loss of an onboard controller

    def __init__(
        self,
        n: int,
        origin: Sequence[float],
        offsets: npt.ArrayLike,
        shared_origin: bool,
        on_text: Callable[[int, int, str], None],
        own: Ports | None = None,
        thrust_poly: np.ndarray | None = None,
    ):
        """Opens the socket; nothing is sent yet.

        Args:
            n: Number of vehicles.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            offsets: (N, 3) origin of each local frame in the world, if not shared [m].
            shared_origin: Whether each PX4 gets the world's origin as that of its local frame.
            on_text: Called with (vehicle, severity, text).
            own: Ports of the simulation; None = those of the environment's instance.
            thrust_poly: (N, 3) collective thrust [N] as polynomial of the common rotor command,
                for the normalised thrust of SET_ATTITUDE_TARGET; None if no set-point will
                have a force.
        """
        self._ports = own or Ports()
        super().__init__(n, on_text, self._ports)
        self.thrust_poly = thrust_poly
        self._origin = tuple(origin)
        self._shared = shared_origin
        if not shared_origin:
            self._offsets = np.array(offsets, dtype=float)
        # PX4's ports of the links in use, by its number
        self._links: tuple[Callable[[int], int], ...] = (self._ports.camera_local,)
        self._vehicle_at = {
            ("127.0.0.1", local(i)): i
            for i in range(n)
            for local in (self._ports.camera_local, self._ports.offboard_local)
        }
        self._origin_known[:] = not shared_origin
        self._origin_sent_us = np.full(n, NEVER if shared_origin else -NEVER)

    def wants_heartbeat(self, i: int) -> bool:
        """Returns whether vehicle i is silent: PX4 then waits for a first datagram.

        PX4 forwards heartbeats to its other links, where clients take their mode for its own:
        MAVSDK's FollowMe ends by them.
        """
        return bool(self._t_us - self.heard_us[i] > _SILENT_US)

    @property
    def offboard(self) -> bool:
        """Whether this simulation uses the offboard links."""
        return len(self._links) > 1

    def ends(self, i: int) -> list[Address]:
        """PX4's ends of the links in use."""
        return [("127.0.0.1", local(i)) for local in self._links]

    def vehicle_at(self, address: Address, system: int) -> int | None:
        """Finds the vehicle by the port."""
        return self._vehicle_at.get(address)

    def mode_of(self, custom_mode: int) -> Mode | None:
        """Returns the mode with PX4's number."""
        return from_custom_mode(custom_mode)

    def numbers_of(self, mode: Mode) -> tuple[int, int]:
        """PX4's main mode and sub mode."""
        return PX4_MODE[mode]

    def apply(self, set_points: SetPoints) -> None:
        """Sends an Agent's set-points and requests on the offboard links.

        Raises:
            AutopilotError: Actuator commands are set; PX4 does not accept them by MAVLink.
        """
        if np.isfinite(set_points.actuators).any():
            raise AutopilotError(
                "real PX4 takes no actuator commands by MAVLink (it knows "
                "SET_ACTUATOR_CONTROL_TARGET no more since 1.14, and before not "
                "in lockstep): command body rates and force, or fly "
                "autopilot:=embedded"
            )
        if not self.offboard:
            self._links += (self._ports.offboard_local,)
            self._greet_us = 0
        super().apply(set_points)

    def send_landing_target(self, i: int, t_us: int, pos: npt.ArrayLike) -> None:
        """Sends the place of a landing target to vehicle i (LANDING_TARGET), in its local frame.

        Args:
            i: The vehicle.
            t_us: Simulated time of the measurement [us].
            pos: (3,) world [m].
        """
        x, y, z = map(float, enu_ned(np.asarray(pos) - self._offsets[i]))
        self.send(
            i,
            mavlink.MAVLink_landing_target_message(
                t_us,
                0,
                mavlink.MAV_FRAME_LOCAL_NED,
                *_NO_ANGLES,
                x,
                y,
                z,
                (1.0, 0.0, 0.0, 0.0),
                mavlink.LANDING_TARGET_TYPE_VISION_FIDUCIAL,
                1,
            ),
        )

    def send_pose(self, i: int, t_us: int, pos: npt.ArrayLike, quat: npt.ArrayLike) -> None:
        """Sends a pose to vehicle i as external vision (ODOMETRY), in its local frame.

        With a shared origin, no pose is sent until ORIGIN_US after the origin: without GPS, PX4
        shifts the height that it has when the origin arrives by the height of the origin.

        Args:
            i: The vehicle.
            t_us: Simulated time of the pose [us], which is PX4's own time.
            pos: (3,) centre of gravity, world [m].
            quat: (4,) xyzw, body to world.
        """
        if t_us < self._origin_sent_us[i] + ORIGIN_US:
            return
        x, y, z = map(float, enu_ned(np.asarray(pos) - self._offsets[i]))
        qx, qy, qz, qw = map(float, quat_enu_ned(quat))
        nothing = [math.nan] * 3
        self.send(
            i,
            mavlink.MAVLink_odometry_message(
                t_us,
                mavlink.MAV_FRAME_LOCAL_NED,
                mavlink.MAV_FRAME_BODY_FRD,
                x,
                y,
                z,
                (qw, qx, qy, qz),
                *nothing,
                *nothing,
                _POSE_COVARIANCE,
                _UNKNOWN_COVARIANCE,
                0,
                mavlink.MAV_ESTIMATOR_TYPE_VISION,
            ),
        )

    def missing(self, i: int) -> str:
        """Why PX4 does not arm."""
        return (
            "PX4 has not been heard"
            if self.heard_us[i] < 0
            else "PX4 does not know its place yet"
            if not self._located[i]
            else "PX4 has not taken the world's origin"
            if not self._origin_known[i]
            else "PX4's arming checks fail"
        )

    def begin_again(self, i: int) -> None:
        """Clears everything known of vehicle i, whose PX4 is being restarted."""
        super().begin_again(i)
        self._origin_known[i] = not self._shared
        self._origin_sent_us[i] = NEVER if self._shared else -NEVER

    def greeted(self, i: int) -> None:
        """Asks for streams, and has PX4 take the shared origin."""
        if self.offboard:
            for name in ("LOCAL_POSITION_NED", "ATTITUDE_QUATERNION"):
                self.command(
                    i,
                    mavlink.MAV_CMD_SET_MESSAGE_INTERVAL,
                    getattr(mavlink, f"MAVLINK_MSG_ID_{name}"),
                    20_000,
                )
        if self._shared and self._located[i] and not self._origin_known[i]:
            self._origin_sent_us[i] = min(self._origin_sent_us[i], self._t_us)
            lat, lon, alt = self._origin
            self.send(
                i,
                mavlink.MAVLink_set_gps_global_origin_message(
                    self._systems[i],
                    round(math.degrees(lat) * 1e7),
                    round(math.degrees(lon) * 1e7),
                    round(alt * 1e3),
                    self._t_us,
                ),
            )
            self.command(
                i, mavlink.MAV_CMD_REQUEST_MESSAGE, mavlink.MAVLINK_MSG_ID_GPS_GLOBAL_ORIGIN
            )

    def set_attitude(self, i: int, set_points: SetPoints) -> None:
        """Sends SET_ATTITUDE_TARGET: attitude or body rates, with normalised thrust."""
        why = (
            "an attitude or body rates need a force along the body's z axis"
            if self.thrust_poly is None or not math.isfinite(set_points.force[i, 2])
            else "a force across the body's z axis cannot be flown"
            if np.nan_to_num(set_points.force[i, :2]).any()
            else ""
        )
        if why:
            self.ignore(i, why)
            return
        by_attitude = bool(np.isfinite(set_points.quat[i, 0]))
        rates = set_points.rates[i].copy()
        if by_attitude and math.isfinite(set_points.yaw_rate[i]):
            rates[2] = set_points.yaw_rate[i]
        mask = _NO_ATTITUDE * (not by_attitude)
        mask |= sum(1 << k for k in range(3) if not math.isfinite(rates[k]))
        quat = (
            quat_enu_ned(set_points.quat[i])[[3, 0, 1, 2]] if by_attitude else (1.0, 0.0, 0.0, 0.0)
        )
        assert self.thrust_poly is not None  # else there is a reason why not
        thrust = command_of(
            self.thrust_poly[i : i + 1], np.maximum(set_points.force[i : i + 1, 2], 0.0)
        )[0]
        self.send(
            i,
            mavlink.MAVLink_set_attitude_target_message(
                self._t_us // 1000 & 0xFFFFFFFF,
                self._systems[i],
                mavlink.MAV_COMP_ID_AUTOPILOT1,
                mask,
                list(map(float, quat)),
                *map(float, flu_frd(np.nan_to_num(rates))),
                float(thrust),
            ),
        )

    def _origin_is(self, i: int, message: np.void) -> None:
        lat, lon = message["latitude"] * 1e-7, message["longitude"] * 1e-7
        wanted = map(math.degrees, self._origin[:2])
        if self._shared and all(
            abs(a - b) <= _ORIGIN_TOLERANCE for a, b in zip((lat, lon), wanted)
        ):
            self._origin_known[i] = True
