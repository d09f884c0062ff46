"""MAVLink telemetry from ArduPilot, and an Agent's set-points and commands to it.

Each ArduPilot sends its telemetry to this socket (its SERIAL1); the ground station's and the
offboard links are others. Its local frame begins where it got its first fix, and is moved to the
world's origin here.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import Mode
from xtdrone_core.runs.ports import Ports
from xtdrone_core.state import SetPoints
from xtdrone_dynamics.earth.geodesy import to_local

from ..common.telemetry import Address, PeerTelemetry

# ArduCopter's numbers of the modes that there are here.
MODES = {
    Mode.STABILIZED: 0,
    Mode.ACRO: 1,
    Mode.ALTCTL: 2,
    Mode.MISSION: 3,
    Mode.OFFBOARD: 4,
    Mode.POSCTL: 5,
    Mode.RTL: 6,
    Mode.LAND: 9,
    Mode.LOITER: 17,
}
_MODE_OF = {value: mode for mode, value in MODES.items()} | {16: Mode.POSCTL}
STREAMS = {
    "LOCAL_POSITION_NED": 20_000,
    "ATTITUDE_QUATERNION": 20_000,
    "EXTENDED_SYS_STATE": 100_000,
    "SYS_STATUS": 200_000,
}  # message: period [us]
_ABOVE = 0.3  # a set-point so much above the vehicle on the ground is a take-off [m]
_RETRY_US = 1_000_000  # a take-off is requested again after this time [us]


class ArduPilotTelemetry(PeerTelemetry):
    """Estimates of N vehicles from ArduPilot's telemetry; sends set-points and commands."""

    flight_stack = mavlink.MAV_AUTOPILOT_ARDUPILOTMEGA

    def __init__(
        self, n: int, origin: Sequence[float], on_text: Callable[[int, int, str], None], own: Ports
    ):
        """Opens the socket.

        Args:
            n: Number of vehicles.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            on_text: Called with (vehicle, severity, text).
            own: Ports of the simulation.
        """
        super().__init__(n, on_text, own)
        self._origin = tuple(origin)
        self._addresses: list[Address | None] = [None] * n
        self._asked_us = np.full(n, -_RETRY_US)  # when a take-off was asked for

    def ends(self, i: int) -> list[Address]:
        """The address that it sends from."""
        address = self._addresses[i]
        return [] if address is None else [address]

    def vehicle_at(self, address: Address, system: int) -> int | None:
        """Finds the vehicle by its system id; the first address that uses one keeps it."""
        i = self.vehicle_of.get(system)
        if i is None or self._addresses[i] not in (None, address):
            return None
        self._addresses[i] = address
        return i

    def mode_of(self, custom_mode: int) -> Mode | None:
        """Returns the mode with ArduCopter's number."""
        return _MODE_OF.get(custom_mode)

    def numbers_of(self, mode: Mode) -> tuple[int, int] | None:
        """ArduCopter's number; a take-off is a command in GUIDED."""
        number = MODES.get(Mode.OFFBOARD if mode is Mode.TAKEOFF else mode)
        return None if number is None else (number, 0)

    def apply(self, set_points: SetPoints) -> None:
        """Sends an Agent's set-points and requests.

        Raises:
            AutopilotError: Actuator commands are set.
        """
        if np.isfinite(set_points.actuators).any():
            raise AutopilotError(
                "ArduPilot takes no actuator commands by MAVLink: command "
                "positions or velocities, or fly autopilot:=embedded"
            )
        super().apply(set_points)

    def set_position(self, i: int, set_points: SetPoints, given: dict[str, np.ndarray]) -> None:
        """Sends set-points; on the ground, armed in GUIDED, it has to take off first."""
        guided = self._mode[i] == Mode.OFFBOARD
        if self._landed[i] and self._armed[i] and guided:
            height = set_points.pos[i, 2] - self._pos[i, 2] if given["pos"][i, 2] else _ABOVE
            climbs = given["vel"][i, 2] and set_points.vel[i, 2] > 0.0
            if (height > _ABOVE or climbs) and self._t_us - self._asked_us[i] >= _RETRY_US:
                self._asked_us[i] = self._t_us
                self.command(
                    i, mavlink.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, 0, 0, 0, max(float(height), 1.0)
                )
        elif guided and self._armed[i]:
            super().set_position(i, set_points, given)

    def missing(self, i: int) -> str:
        """Why ArduPilot does not arm."""
        return (
            "ArduPilot has not been heard"
            if self.heard_us[i] < 0
            else "ArduPilot does not know its place yet"
            if not self._located[i]
            else "ArduPilot has not told its origin"
            if not self._origin_known[i]
            else "ArduPilot's arming checks fail"
        )

    def begin_again(self, i: int) -> None:
        """Clears everything known of vehicle i, whose ArduPilot is being restarted."""
        super().begin_again(i)
        self._addresses[i] = None

    def greeted(self, i: int) -> None:
        """Asks for streams, and for the origin of its local frame."""
        for name, period in STREAMS.items():
            self.command(
                i,
                mavlink.MAV_CMD_SET_MESSAGE_INTERVAL,
                getattr(mavlink, f"MAVLINK_MSG_ID_{name}"),
                period,
            )
        if not self._origin_known[i]:
            self.command(
                i, mavlink.MAV_CMD_REQUEST_MESSAGE, mavlink.MAVLINK_MSG_ID_GPS_GLOBAL_ORIGIN
            )

    def _position(self, i: int, message: np.void) -> None:
        if self._origin_known[i]:
            super()._position(i, message)

    def _origin_is(self, i: int, message: np.void) -> None:
        lat, lon = (math.radians(message[name] * 1e-7) for name in ("latitude", "longitude"))
        x, y = to_local(lat, lon, *self._origin[:2])
        self._offsets[i] = x, y, message["altitude"] * 1e-3 - self._origin[2]
        self._origin_known[i] = True
