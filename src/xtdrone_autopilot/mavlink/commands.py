"""Commands: COMMAND_LONG, COMMAND_INT, SET_MODE and MISSION_SET_CURRENT.

A new command is one method here, marked with its number.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from xtdrone_core.frames import yaw_enu_ned
from xtdrone_core.mavlink.dialect import MavlinkMessage, mavlink
from xtdrone_core.modes import (
    MODES,
    NAV_STATES,
    ORBIT,
    POSITION_SLOW,
    VARIANTS,
    VTOL_TAKEOFF,
    Mode,
    nav_state,
)
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER, NOT_VTOL
from xtdrone_dynamics.earth.geodesy import to_local_array

from ..interfaces import Estimator
from ..navigation.mission import Missions
from ..navigation.mission_items import PAYLOAD, command_name
from ..parameters.store import ParameterStore
from ..safety.commander import Commander
from ..safety.failures import Failures
from ..state.answer import ACCEPTED, DENIED, NO_ANSWER, REJECTED, Answer
from ..state.clock import StepClock
from ..state.handlers import declared, handles, receives, refuses
from ..state.outbox import CRITICAL, INFO, WARNING, Outbox
from .fields import FARTHEST
from .links import Link, Links

UNSUPPORTED, FAILED = mavlink.MAV_RESULT_UNSUPPORTED, mavlink.MAV_RESULT_FAILED
CANCELLED = 6  # MAV_RESULT_CANCELLED, which pymavlink's dialect lacks
FORCE = 21196  # param2 of arm and disarm commands: no checks
ABSOLUTE = (mavlink.MAV_FRAME_GLOBAL, mavlink.MAV_FRAME_GLOBAL_INT)
RELATIVE = (mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT, mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT)
_UNSET = 0x7FFFFFFF  # x and y of a COMMAND_INT without a place
_NAN_AS_INTEGER = 0x7FF80000  # x and y that were a NaN before they became integers
# What to do instead of a command that is not supported.
_INSTEAD = {
    mavlink.MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN: ": stop the simulation and start it again",
    mavlink.MAV_CMD_DO_FENCE_ENABLE: ": GF_ACTION says what the geofence does, 0 is nothing",
    mavlink.MAV_CMD_DO_PAUSE_CONTINUE: ": change to AUTO.LOITER, and back to go on",
    mavlink.MAV_CMD_OVERRIDE_GOTO: ": change to AUTO.LOITER, or use DO_REPOSITION",
    mavlink.MAV_CMD_CONDITION_YAW: ": use DO_REPOSITION with a yaw",
}
# PX4's commander leaves these to other modules, so that nobody answers where none runs.
_UNANSWERED = {
    getattr(mavlink, f"MAV_CMD_{name}")
    for name in (
        "DO_FIGURE_EIGHT",
        "NAV_DELAY",
        "DO_DIGICAM_CONTROL",
        "DO_MOUNT_CONFIGURE",
        "DO_MOUNT_CONTROL",
        "DO_MOUNT_CONTROL_QUAT",
        "DO_SET_CAM_TRIGG_DIST",
        "DO_SET_CAM_TRIGG_INTERVAL",
        "DO_AUTOTUNE_ENABLE",
        "PREFLIGHT_SET_SENSOR_OFFSETS",
        "PREFLIGHT_UAVCAN",
        "OBLIQUE_SURVEY",
        "CONFIGURE_ACTUATOR",
        "START_RX_PAIR",
        "REQUEST_CAMERA_INFORMATION",
        "SET_CAMERA_MODE",
        "SET_CAMERA_ZOOM",
        "SET_CAMERA_FOCUS",
        "DO_GIMBAL_MANAGER_PITCHYAW",
        "DO_GIMBAL_MANAGER_CONFIGURE",
        "DO_TRIGGER_CONTROL",
        "CONTROL_HIGH_LATENCY",
        "PAYLOAD_PREPARE_DEPLOY",
        "PAYLOAD_CONTROL_DEPLOY",
        "DO_WINCH",
        "EXTERNAL_POSITION_ESTIMATE",
    )
}
_AUTO = 4  # PX4's main mode
# Those that a user may choose; an orbit and a VTOL's take-off have commands that say where.
_BY_NAV_STATE = {
    **{spec.nav_state: mode for mode, spec in MODES.items()},
    **{state: mode for state, mode in VARIANTS.items() if state not in (ORBIT, VTOL_TAKEOFF)},
}
# Modes by MAV_STANDARD_MODE; the others PX4 does not take.
_STANDARD_MODES: dict[float, Mode] = {
    NAV_STATES[spec.nav_state].standard: mode
    for mode, spec in MODES.items()
    if NAV_STATES[spec.nav_state].standard
}


class Commands:
    """Executes MAVLink commands to a fleet, or rejects them with a reason.

    Attributes:
        handlers: Number of a command -> the method that executes it.
    """

    def __init__(
        self,
        status: np.ndarray,
        parameters: ParameterStore,
        estimator: Estimator,
        commander: Commander,
        missions: Missions,
        failures: Failures,
        clock: StepClock,
        origin: Sequence[float],
        outbox: Outbox,
        links: Links,
        others: Iterable[object] = (),
        answers: Iterable[object] = (),
    ) -> None:
        """The commands of a fleet.

        Args:
            status: (N,) of VEHICLE_STATUS.
            parameters: Parameters of the fleet.
            estimator: Its state.
            commander: Arms, and changes modes.
            missions: Missions of the fleet.
            failures: Failures that a user injects.
            clock: Time of the flight stack.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            outbox: Sends STATUSTEXTs.
            links: Replies go out on them; they know the streams.
            others: Objects whose methods obey further commands.
            answers: Objects whose methods answer requests for messages that are no streams.
        """
        self._status, self._parameters, self._estimator = status, parameters, estimator
        self._commander, self._missions, self._failures = commander, missions, failures
        self._clock, self._origin, self._outbox, self._links = clock, origin, outbox, links
        self.handlers = {
            number: method
            for part in (self, *others)
            for number, method in declared(part, "handles")
        }
        self._on_request = {
            getattr(mavlink, f"MAVLINK_MSG_ID_{name}"): method
            for part in answers
            for name, method in declared(part, "on_request")
        }

    @receives("COMMAND_LONG")
    def _command_long(self, link: Link, message: MavlinkMessage) -> None:
        p = [getattr(message, f"param{k}") for k in range(1, 8)]
        self._run_command(link, message, p)

    @receives("COMMAND_INT")
    def _command_int(self, link: Link, message: MavlinkMessage) -> None:
        """Runs it whatever its frame is: PX4 takes z for what the seventh parameter is."""
        x, y = message.x, message.y
        if x == y == _NAN_AS_INTEGER:
            self._refuse(link, message, f"x and y are a NaN sent as an integer, {_UNSET} is unset")
            return
        place = (math.nan, math.nan) if x == y == _UNSET else (x / 1e7, y / 1e7)
        first = message.param1, message.param2, message.param3, message.param4
        self._run_command(link, message, [*first, *place, message.z])

    def _run_command(self, link: Link, message: MavlinkMessage, params: Sequence[float]) -> None:
        handler = self.handlers.get(message.command)
        if handler is None:
            name = command_name(message.command)
            why = _INSTEAD.get(message.command, "")
            if message.command in PAYLOAD:
                why = ": this vehicle has no such device"
            silent = message.command in _UNANSWERED
            answer = Answer(
                NO_ANSWER if silent else UNSUPPORTED, f"command {name} is not supported{why}"
            )
        else:
            answer = handler(link, params)
        self._answer(link, message, answer)

    @refuses("COMMAND_LONG", "COMMAND_INT")
    def _refuse(self, link: Link, message: MavlinkMessage, why: str) -> None:
        self._answer(
            link, message, Answer(DENIED, f"command {command_name(message.command)} denied: {why}")
        )

    def _answer(self, link: Link, message: MavlinkMessage, answer: Answer) -> None:
        if answer.reason and answer.result in (UNSUPPORTED, DENIED, FAILED, NO_ANSWER):
            self._outbox.say(link.vehicle, WARNING, answer.reason)
        if answer.result == NO_ANSWER:
            return
        self._links.reply(
            link,
            mavlink.MAVLink_command_ack_message(
                message.command,
                answer.result,
                255,
                0,
                message.get_srcSystem(),
                message.get_srcComponent(),
            ),
        )

    @handles(mavlink.MAV_CMD_COMPONENT_ARM_DISARM)
    def _arm_disarm(self, link: Link, params: Sequence[float]) -> Answer:
        action = round(params[0]) if math.isfinite(params[0]) else 0
        if action not in (0, 1):
            return Answer(
                NO_ANSWER, f"Unsupported ARM_DISARM param: {params[0]:.3f}: 1 arms, 0 disarms"
            )
        force = params[1] == FORCE
        if action:
            return self._commander.arm(link.vehicle, self._clock.t_us, force)
        return self._commander.disarm(link.vehicle, force)

    @handles(mavlink.MAV_CMD_DO_SET_MODE)
    def _do_set_mode(self, link: Link, params: Sequence[float]) -> Answer:
        base, main, sub = (int(x) & 0xFF if math.isfinite(x) else 0 for x in params[:3])
        if base & mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED:
            return self._set_custom_mode(link, main, sub)
        mode = _base_mode(base)
        if mode is not None:
            return self._mode(link, mode)
        self._outbox.say(
            link.vehicle,
            WARNING,
            "DO_SET_MODE needs PX4's custom mode: param1 = 1, param2 = main mode, "
            "param3 = sub mode",
        )
        return Answer(ACCEPTED)

    def _set_custom_mode(self, link: Link, main: int, sub: int) -> Answer:
        """A mode by PX4's numbers; of AUTO, sub mode 0 is MISSION."""
        if main == _AUTO:
            state = nav_state(main, sub) if sub else MODES[Mode.MISSION].nav_state
        else:
            state = nav_state(main, sub if NAV_STATES[POSITION_SLOW].px4 == (main, sub) else 0)
        mode = None if state is None else _BY_NAV_STATE.get(state)
        if mode is not None:
            return self._mode(link, mode, shown=state)
        if main == _AUTO:
            return self._refuse_auto_mode(link.vehicle, state)
        self._outbox.say(link.vehicle, WARNING, f"there is no mode {main}, {sub}")
        return Answer(ACCEPTED)

    def _refuse_auto_mode(self, i: int, state: int | None) -> Answer:
        """Answers as PX4 in the air; on the ground that lets users choose an external mode."""
        if state is not None and NAV_STATES[state].external:
            self._commander.say_unavailable(i, state)
        else:
            self._outbox.say(i, CRITICAL, "Unsupported auto mode\t")
        return Answer(REJECTED)

    @receives("SET_MODE")
    def _set_mode(self, link: Link, message: MavlinkMessage) -> None:
        number = message.custom_mode
        self._do_set_mode(link, (message.base_mode, number >> 16 & 0xFF, number >> 24 & 0xFF))

    @handles(mavlink.MAV_CMD_DO_SET_STANDARD_MODE)
    def _do_set_standard_mode(self, link: Link, params: Sequence[float]) -> Answer:
        mode = _STANDARD_MODES.get(params[0])
        return Answer(FAILED) if mode is None else self._mode(link, mode)

    def _mode(self, link: Link, mode: Mode, text: str = "", shown: int | None = None) -> Answer:
        return self._commander.set_mode(link.vehicle, mode, self._clock.t_us, text, shown)

    @handles(mavlink.MAV_CMD_NAV_TAKEOFF)
    def _nav_takeoff(self, link: Link, params: Sequence[float]) -> Answer:
        if abs(params[6]) > FARTHEST:
            return Answer(
                DENIED, f"height {params[6]:g} m is not allowed: give one above sea level"
            )
        place = self._position(params)
        if place is None:
            return _no_place(params)
        return self._commander.take_off(link.vehicle, params[6], self._clock.t_us, place)

    @handles(mavlink.MAV_CMD_NAV_VTOL_TAKEOFF)
    def _nav_vtol_takeoff(self, link: Link, params: Sequence[float]) -> Answer:
        if self._status["vtol_type"][link.vehicle] == NOT_VTOL:
            return Answer(
                UNSUPPORTED, "NAV_VTOL_TAKEOFF is for VTOLs, and it is none: use NAV_TAKEOFF"
            )
        place = self._position(params)
        if place is None:
            return _no_place(params)
        return self._commander.vtol_take_off(link.vehicle, place, self._clock.t_us)

    @handles(mavlink.MAV_CMD_DO_REPOSITION)
    def _do_reposition(self, link: Link, params: Sequence[float]) -> Answer:
        flags = int(params[1]) if math.isfinite(params[1]) else 0
        if flags == mavlink.MAV_DO_REPOSITION_FLAGS_CHANGE_MODE:
            return self._reposition(link, params)
        status = self._status[link.vehicle]
        if (
            status["armed"] and status["mode"] == Mode.LOITER
        ):  # there it flies to it all the same, as PX4
            self._reposition(link, params)
        return Answer(
            UNSUPPORTED,
            "DO_REPOSITION without MAV_DO_REPOSITION_FLAGS_CHANGE_MODE "
            "(param2 = 1) does not change the mode",
        )

    def _reposition(self, link: Link, params: Sequence[float]) -> Answer:
        target = self._position(params)
        if target is None:
            return _no_place(params)
        yaw = yaw_enu_ned(params[3]) if math.isfinite(params[3]) else math.nan
        return self._commander.reposition(link.vehicle, target, yaw, params[0], self._clock.t_us)

    @handles(mavlink.MAV_CMD_DO_CHANGE_ALTITUDE)
    def _do_change_altitude(self, link: Link, params: Sequence[float]) -> Answer:
        height = params[0]  # above sea level in every frame, as in PX4
        if abs(height) > FARTHEST:
            return Answer(DENIED, f"height {height:g} m is not allowed: give one above sea level")
        return self._reposition(link, [-1.0, 0.0, 0.0, *[math.nan] * 3, height])

    @handles(mavlink.MAV_CMD_RUN_PREARM_CHECKS)
    def _run_checks(self, link: Link, params: Sequence[float]) -> Answer:
        self._commander.report_checks(link.vehicle)
        reason = self._commander.checks(link.vehicle)
        self._outbox.say(
            link.vehicle, INFO, f"Not ready to arm: {reason}" if reason else "Ready to arm"
        )
        return Answer(ACCEPTED)

    def _position(self, params: Sequence[float]) -> np.ndarray | None:
        """(3,) world [m] of param5 to param7, NaN where they leave it open; None off the Earth."""
        position = np.full(3, math.nan)
        if abs(params[6]) > FARTHEST:
            return None
        if math.isfinite(params[4]) and math.isfinite(params[5]):
            if not (abs(params[4]) <= 90.0 and abs(params[5]) <= 180.0):
                return None
            geo = [[math.radians(params[4]), math.radians(params[5]), 0.0]]
            position[:2] = to_local_array(geo, *self._origin)[0, :2]
        if math.isfinite(params[6]):
            position[2] = params[6] - self._origin[2]
        return position

    @handles(mavlink.MAV_CMD_DO_CHANGE_SPEED)
    def _do_change_speed(self, link: Link, params: Sequence[float]) -> Answer:
        hovers = self._status["vehicle_type"][link.vehicle] == MULTICOPTER
        of_ground = math.isfinite(params[0]) and round(params[0]) == mavlink.SPEED_TYPE_GROUNDSPEED
        self._missions.change_speed(link.vehicle, params[1], at_once=of_ground or not hovers)
        return Answer(ACCEPTED)

    @handles(mavlink.MAV_CMD_DO_SET_HOME)
    def _do_set_home(self, link: Link, params: Sequence[float]) -> Answer:
        status = self._status[link.vehicle]
        if params[0] > 0.5:
            status["home"] = self._estimator.pos[link.vehicle]
        else:
            position = self._position(params)
            if position is None or not np.isfinite(position).all():
                return Answer(
                    DENIED,
                    "home needs latitude, longitude and height, or param1 = 1 "
                    "for the present position",
                )
            status["home"] = position
        status["home_set"] = True
        return Answer(ACCEPTED)

    def _stream_of(self, number: float) -> str | None:
        """Name of the message of a number, or None; as PX4, NaN is 0, HEARTBEAT."""
        return self._links.message_name(number if math.isfinite(number) else 0.0)

    @handles(mavlink.MAV_CMD_SET_MESSAGE_INTERVAL)
    def _set_message_interval(self, link: Link, params: Sequence[float]) -> Answer:
        name = self._stream_of(params[0])
        if not math.isfinite(params[0]):
            return Answer(ACCEPTED)  # as PX4, without effect
        if name in (None, "HEARTBEAT"):
            return Answer(FAILED, f"message {params[0]:g} is not a stream whose rate can be set")
        interval = int(params[1]) if math.isfinite(params[1]) else 0
        self._links.set_interval(link, name, max(interval, -1))
        return Answer(ACCEPTED)

    @handles(mavlink.MAV_CMD_GET_MESSAGE_INTERVAL)
    def _get_message_interval(self, link: Link, params: Sequence[float]) -> Answer:
        name = self._stream_of(params[0])
        interval = (self._links.get_interval(link, name) or 0) if name else 0
        number = int(params[0]) if math.isfinite(params[0]) else 0
        self._links.reply(link, mavlink.MAVLink_message_interval_message(number & 0xFFFF, interval))
        return Answer(ACCEPTED)

    @handles(mavlink.MAV_CMD_REQUEST_MESSAGE)
    def _request_message(self, link: Link, params: Sequence[float]) -> Answer:
        answer = self._on_request.get(params[0])
        if answer is None:
            name = self._stream_of(params[0])
            return (
                self._request(link, name)
                if name
                else Answer(DENIED, f"message {params[0]:g} is not one of the streams")
            )
        messages = answer(link.vehicle, params[1:])
        for message in messages:
            self._links.reply(link, message)
        return Answer(ACCEPTED) if messages else Answer(DENIED, "there is nothing to tell")

    def _request(self, link: Link, name: str) -> Answer:
        self._links.request(link, name, self._clock.t_us)
        return Answer(ACCEPTED)

    @handles(mavlink.MAV_CMD_NAV_LAND)
    def _nav_land(self, link: Link, params: Sequence[float]) -> Answer:
        return self._mode(link, Mode.LAND, "Landing at current position\t")

    @handles(mavlink.MAV_CMD_NAV_RETURN_TO_LAUNCH)
    def _nav_return(self, link: Link, params: Sequence[float]) -> Answer:
        return self._mode(link, Mode.RTL, "Returning to launch\t")

    @handles(mavlink.MAV_CMD_DO_SET_ROI_LOCATION)
    def _set_roi_location(self, link: Link, params: Sequence[float]) -> Answer:
        return self._set_roi(link, self._position(params))

    @handles(mavlink.MAV_CMD_DO_SET_ROI, mavlink.MAV_CMD_NAV_ROI)
    def _set_roi_by_mode(self, link: Link, params: Sequence[float]) -> Answer:
        return self._set_roi(
            link, self._position(params) if params[0] == mavlink.MAV_ROI_LOCATION else None
        )

    @handles(mavlink.MAV_CMD_DO_SET_ROI_NONE, mavlink.MAV_CMD_DO_SET_ROI_WPNEXT_OFFSET)
    def _clear_roi(self, link: Link, params: Sequence[float]) -> Answer:
        return self._set_roi(link, None)

    def _set_roi(self, link: Link, position: np.ndarray | None) -> Answer:
        self._missions.set_roi(link.vehicle, position)
        return Answer(ACCEPTED)

    @handles(mavlink.MAV_CMD_NAV_LAND_LOCAL)  # NAV_PRECLAND of PX4
    def _precision_land(self, link: Link, params: Sequence[float]) -> Answer:
        return self._mode(link, Mode.PRECLAND)

    @handles(mavlink.MAV_CMD_DO_GO_AROUND)
    def _go_around(self, link: Link, params: Sequence[float]) -> Answer:
        """Accepted by every vehicle, as by PX4."""
        self._commander.go_around(link.vehicle)
        return Answer(ACCEPTED)

    @handles(mavlink.MAV_CMD_DO_LAND_START)
    def _do_land_start(self, link: Link, params: Sequence[float]) -> Answer:
        return Answer(CANCELLED)

    @handles(mavlink.MAV_CMD_PREFLIGHT_CALIBRATION)
    def _calibrate(self, link: Link, params: Sequence[float]) -> Answer:
        if self._status["armed"][link.vehicle]:
            return Answer(REJECTED)
        if not all(map(math.isfinite, params)):
            return Answer(DENIED)
        return (
            Answer(ACCEPTED)
            if not any(params)
            else Answer(
                UNSUPPORTED, "no calibration: the estimator finds the sensors' biases itself"
            )
        )

    @handles(mavlink.MAV_CMD_FIXED_MAG_CAL_YAW)
    def _calibrate_magnetometer(self, link: Link, params: Sequence[float]) -> Answer:
        return Answer(REJECTED if self._status["armed"][link.vehicle] else ACCEPTED)

    @handles(mavlink.MAV_CMD_LOGGING_START)
    def _logging_start(self, link: Link, params: Sequence[float]) -> Answer:
        return Answer(
            DENIED, "logs are not streamed: they are in the run folder, and can be downloaded"
        )

    @handles(mavlink.MAV_CMD_LOGGING_STOP)
    def _logging_stop(self, link: Link, params: Sequence[float]) -> Answer:
        return Answer(ACCEPTED)

    @handles(mavlink.MAV_CMD_REQUEST_AUTOPILOT_CAPABILITIES)
    def _capabilities(self, link: Link, params: Sequence[float]) -> Answer:
        return self._request(link, "AUTOPILOT_VERSION")

    @handles(mavlink.MAV_CMD_REQUEST_PROTOCOL_VERSION)
    def _protocol_version(self, link: Link, params: Sequence[float]) -> Answer:
        return self._request_message(link, [mavlink.MAVLINK_MSG_ID_PROTOCOL_VERSION, *params[1:]])

    @handles(mavlink.MAV_CMD_REQUEST_FLIGHT_INFORMATION)
    def _flight_information(self, link: Link, params: Sequence[float]) -> Answer:
        return self._request_message(link, [mavlink.MAVLINK_MSG_ID_FLIGHT_INFORMATION, *params[1:]])

    @handles(mavlink.MAV_CMD_REQUEST_STORAGE_INFORMATION)
    def _storage_information(self, link: Link, params: Sequence[float]) -> Answer:
        return self._request_message(link, [mavlink.MAVLINK_MSG_ID_STORAGE_INFORMATION, 0.0])

    @handles(mavlink.MAV_CMD_GET_HOME_POSITION)
    def _get_home(self, link: Link, params: Sequence[float]) -> Answer:
        return self._request(link, "HOME_POSITION")

    @receives("MISSION_SET_CURRENT")
    def _mission_set_current(self, link: Link, message: MavlinkMessage) -> None:
        self._set_mission_item(link, message.seq)

    def _set_mission_item(self, link: Link, seq: int) -> None:
        reason = self._missions.set_current(link.vehicle, seq)
        if reason:
            self._outbox.say(link.vehicle, WARNING, reason)
        else:
            self._outbox.stream_now(link.vehicle, "MISSION_CURRENT")

    @handles(mavlink.MAV_CMD_MISSION_START)
    def _mission_start(self, link: Link, params: Sequence[float]) -> Answer:
        i = link.vehicle
        reason = self._missions.why_not(i)
        if reason:
            return Answer(DENIED, f"Mission start denied: {reason}")
        if not (math.isfinite(params[0]) and -1 <= params[0] < self._missions.total[i]):
            return Answer(DENIED, f"Mission start denied: there is no item {params[0]:g}")
        if params[0] > 0:
            self._set_mission_item(link, int(params[0]))
        answer = self._mode(link, Mode.MISSION)
        if answer.accepted:
            answer = self._commander.arm(i, self._clock.t_us)
        return answer

    @handles(mavlink.MAV_CMD_DO_ORBIT)
    def _do_orbit(self, link: Link, params: Sequence[float]) -> Answer:
        position = self._position(params)
        if position is None:
            return _no_place(params)
        return self._commander.orbit(
            link.vehicle, position, params[0], params[1], params[2], self._clock.t_us
        )

    @handles(mavlink.MAV_CMD_INJECT_FAILURE)
    def _inject_failure(self, link: Link, params: Sequence[float]) -> Answer:
        i = link.vehicle
        if self._parameters.get(i, "SYS_FAILURE_EN") == 0:
            return Answer(DENIED, "failures are not allowed: set SYS_FAILURE_EN to 1")
        reason = self._failures.inject(i, *params[:3])
        return Answer(UNSUPPORTED, reason) if reason else Answer(ACCEPTED)

    @handles(mavlink.MAV_CMD_DO_FLIGHTTERMINATION)
    def _do_terminate(self, link: Link, params: Sequence[float]) -> Answer:
        if params[0] < 0.5:
            return Answer(ACCEPTED)
        return self._commander.disarm(link.vehicle, True, "failsafe")


def _base_mode(base: int) -> Mode | None:
    """The Mode of MAVLink's base_mode flags, or None where they name none."""
    if base & mavlink.MAV_MODE_FLAG_AUTO_ENABLED:
        return Mode.MISSION
    if not base & mavlink.MAV_MODE_FLAG_MANUAL_INPUT_ENABLED:
        return None
    if base & mavlink.MAV_MODE_FLAG_GUIDED_ENABLED:
        return Mode.POSCTL
    return Mode.STABILIZED if base & mavlink.MAV_MODE_FLAG_STABILIZE_ENABLED else Mode.MANUAL


def _no_place(params: Sequence[float]) -> Answer:
    return Answer(
        DENIED,
        f"no position at latitude {params[4]:g}, longitude {params[5]:g}, height {params[6]:g}",
    )
