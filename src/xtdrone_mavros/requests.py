"""Requests of MAVROS's services to a vehicle: the MAVLink client on the bridge's link.

The services' responses have no field for a reason, so a failure is a return value here.
"""

import contextlib
import queue
from collections.abc import Iterator, Mapping, Sequence

from xtdrone_core.mavlink.client import ClientError, MavlinkClient, NoAnswer, Receive, is_integer
from xtdrone_core.mavlink.dialect import mavlink

from .mavlink_link import SYSTEM_ID, FleetLink, Inbox

ACK_WAIT_S, PART_WAIT_S = 5.0, 1.0
FAILED = mavlink.MAV_RESULT_FAILED


class LinkTransport:
    """MAVLink transport to one vehicle of a fleet."""

    system = SYSTEM_ID

    def __init__(self, link: FleetLink, i: int):
        self._link, self._i = link, i

    def send(self, message: mavlink.MAVLink_message) -> None:
        """See Transport."""
        self._link.send(self._i, message)

    @contextlib.contextmanager
    def listen(self, *kinds: str) -> Iterator[Receive]:
        """See Transport."""
        ids = [getattr(mavlink, f"MAVLINK_MSG_ID_{kind}") for kind in kinds]
        with self._link.inbox(self._i, *ids) as box:
            yield lambda seconds: _next(box, seconds)


class Requests:
    """Requests to one vehicle of a fleet, each sent once.

    Attributes:
        params_known: Whether all parameters were read.
    """

    def __init__(
        self,
        link: FleetLink,
        i: int,
        ack_wait_s: float = ACK_WAIT_S,
        part_wait_s: float = PART_WAIT_S,
    ):
        """Sends to vehicle i.

        Args:
            link: MAVLink link to the fleet.
            i: Index of the vehicle.
            ack_wait_s: Time-out of the acknowledgement of a command [s].
            part_wait_s: Time-out of the next part of a longer exchange [s].
        """
        transport = LinkTransport(link, i)
        self._commands = MavlinkClient(i + 1, transport, 1, ack_wait_s)
        self._client = MavlinkClient(i + 1, transport, 1, part_wait_s)
        self.params_known = False

    @property
    def params(self) -> dict[str, tuple[int | float, int]]:
        """Parameters read so far: name -> (value, MAV_PARAM_TYPE)."""
        return self._client.params

    def command_long(self, command: int, params: Sequence[float], confirmation: int = 0) -> int:
        """Sends COMMAND_LONG with seven parameters.

        Returns:
            MAV_RESULT of the acknowledgement; MAV_RESULT_FAILED where none came.
        """
        try:
            return self._commands.command(command, *params, confirmation=confirmation)[0]
        except NoAnswer:
            return FAILED

    def command_int(
        self,
        frame: int,
        command: int,
        current: int,
        autocontinue: int,
        params: Sequence[float],
        x: int,
        y: int,
        z: float,
    ) -> int:
        """Sends COMMAND_INT with four parameters and a position; returns as command_long."""
        try:
            return self._commands.command_int(
                command, params, x, y, z, frame, current, autocontinue
            )[0]
        except NoAnswer:
            return FAILED

    def send_mode(self, base_mode: int, main: int, sub: int) -> None:
        """Requests a flight mode without waiting; HEARTBEAT shows the result."""
        self._client.send(
            mavlink.MAVLink_command_long_message(
                self._client.vehicle,
                mavlink.MAV_COMP_ID_AUTOPILOT1,
                mavlink.MAV_CMD_DO_SET_MODE,
                0,
                base_mode,
                main,
                sub,
                0,
                0,
                0,
                0,
            )
        )

    def param_get(self, name: str) -> int | float | None:
        """Reads a parameter; None if the vehicle does not have it."""
        try:
            return self._client.parameter(name)
        except NoAnswer:
            return None

    def param_set(self, name: str, integer: int, real: float) -> tuple[bool, int | float | None]:
        """Writes a parameter from a mavros_msgs/ParamValue.

        As MAVROS does, an integer that is not 0 goes as an integer and a number that is not 0 as
        a float, whatever the parameter's type is; PX4 does not answer where that is wrong.

        Returns:
            Whether the vehicle has answered, and the value it had last, or None where there is
            no such parameter.
        """
        if name not in self.params and self.param_get(name) is None:
            return False, None
        kind = self.params[name][1]
        if integer:
            kind = mavlink.MAV_PARAM_TYPE_INT32
        elif real:
            kind = mavlink.MAV_PARAM_TYPE_REAL32
        value = integer if is_integer(kind) else real
        try:
            return True, self._client.set_parameter(name, value, kind)[0]
        except NoAnswer:
            return False, self.params[name][0]

    def param_pull(self) -> int:
        """Reads all parameters; returns the number of those that are known."""
        with contextlib.suppress(NoAnswer):
            self._client.parameters()
            self.params_known = True
        return len(self.params)

    def mission_push(self, items: Sequence[Mapping[str, float]], kind: int) -> tuple[bool, int]:
        """Uploads items of a MAV_MISSION_TYPE, dicts of the fields of MISSION_ITEM_INT.

        Returns:
            Whether they were accepted, and how many the vehicle has asked for; 1 where it has
            asked for none, as MAVROS counts.
        """
        asked = [0]
        try:
            self._client.upload(items, kind, asked.append)
        except ClientError:
            return False, max(asked) + 1
        return True, len(items)

    def mission_pull(self, kind: int) -> list[mavlink.MAVLink_mission_item_int_message] | None:
        """Downloads the vehicle's items as MISSION_ITEM_INT; None if it does not answer."""
        try:
            return self._client.download(kind)
        except NoAnswer:
            return None

    def mission_clear(self, kind: int) -> bool:
        """Clears the items of a kind; returns whether the vehicle accepted."""
        try:
            self._client.clear(kind)
        except ClientError:
            return False
        return True

    def mission_set_current(self, seq: int) -> bool:
        """Sets the current item; returns whether a MISSION_CURRENT came, with any item."""
        try:
            self._client.set_current(seq, any_item=True)
        except NoAnswer:
            return False
        return True


def heartbeat() -> mavlink.MAVLink_heartbeat_message:
    """Returns the bridge's heartbeat, sent once a second; it starts the streams of a link."""
    return mavlink.MAVLink_heartbeat_message(
        mavlink.MAV_TYPE_ONBOARD_CONTROLLER,
        mavlink.MAV_AUTOPILOT_INVALID,
        0,
        0,
        mavlink.MAV_STATE_ACTIVE,
        3,
    )


def _next(box: Inbox, seconds: float) -> mavlink.MAVLink_message | None:
    """Returns the next message of an inbox, or None after the time-out [s]."""
    try:
        return box.get(timeout=max(seconds, 0.0))
    except queue.Empty:
        return None
