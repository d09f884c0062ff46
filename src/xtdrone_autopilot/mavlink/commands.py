"""Commands: COMMAND_LONG, COMMAND_INT, SET_MODE and MISSION_SET_CURRENT.

A new command is one method here, marked with its number.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xtdrone_core.frames import yaw_enu_ned
from xtdrone_core.modes import Mode, from_custom_mode
from xtdrone_dynamics.geodesy import to_local_array

from ..interfaces import Estimator
from ..navigation.mission import Missions
from ..navigation.mission_items import PAYLOAD, command_name
from ..now import Now
from ..outbox import INFO, WARNING, Outbox
from ..parameters.store import ParameterStore
from ..safety.commander import ACCEPTED, DENIED, REJECTED, Answer, Commander
from ..safety.failures import Failures
from .dialect import mavlink
from .handlers import declared, obeys, receives

UNSUPPORTED = mavlink.MAV_RESULT_UNSUPPORTED
FORCE = 21196  # param2 of arm and disarm commands: no checks
FARTHEST = 1e6  # no position or set-point is larger than this [m, m/s, m/s^2]
ABSOLUTE = (mavlink.MAV_FRAME_GLOBAL, mavlink.MAV_FRAME_GLOBAL_INT)
RELATIVE = (mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT, mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT)
# What to do instead of a command that is not supported.
_INSTEAD = {
    mavlink.MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN: ": stop the simulation and start it again",
    mavlink.MAV_CMD_PREFLIGHT_CALIBRATION: ": the estimator finds the sensors' biases itself",
    mavlink.MAV_CMD_DO_FENCE_ENABLE: ": GF_ACTION says what the geofence does, 0 is nothing",
    mavlink.MAV_CMD_DO_PAUSE_CONTINUE: ": change to AUTO.LOITER, and back to go on",
    mavlink.MAV_CMD_OVERRIDE_GOTO: ": change to AUTO.LOITER, or use DO_REPOSITION",
    mavlink.MAV_CMD_CONDITION_YAW: ": use DO_REPOSITION with a yaw",
    mavlink.MAV_CMD_DO_VTOL_TRANSITION: ": it is a multirotor",
}


class Commands:
    """Executes MAVLink commands to a fleet, or rejects them with a reason."""

    def __init__(self, status: np.ndarray, parameters: ParameterStore, estimator: Estimator,
                 commander: Commander, missions: Missions, failures: Failures, now: Now,
                 origin: Sequence[float], outbox: Outbox, links: Any, others: Any = ()):
        """The commands of a fleet.

        Args:
            status: (N,) of VEHICLE_STATUS.
            parameters: Of the fleet.
            estimator: Its state.
            commander: Arms, and changes modes.
            missions: Of the fleet.
            failures: That a user injects.
            now: Time.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            outbox: Sends STATUSTEXTs.
            links: Replies go out on them; they know the streams.
            others: Objects whose methods obey further commands.
        """
        self._status, self._parameters, self._estimator = status, parameters, estimator
        self._commander, self._missions, self._failures = commander, missions, failures
        self._now, self._origin, self._outbox, self._links = now, origin, outbox, links
        self._obey = {number: method for part in (self, *others)
                      for number, method in declared(part, "obeys")}

    @receives("COMMAND_LONG")
    def _command_long(self, link, message):
        p = [getattr(message, f"param{k}") for k in range(1, 8)]
        self._run_command(link, message, p)

    @receives("COMMAND_INT")
    def _command_int(self, link, message):
        p = [message.param1, message.param2, message.param3, message.param4,
             message.x, message.y, message.z]
        if message.frame in ABSOLUTE + RELATIVE:
            p[4], p[5] = message.x * 1e-7, message.y * 1e-7
            if message.x == 0x7FFFFFFF:
                p[4] = math.nan
            if message.y == 0x7FFFFFFF:
                p[5] = math.nan
            if message.frame in RELATIVE:
                p[6] += self._origin[2] + self._status["home"][link.vehicle, 2]
        self._run_command(link, message, p)

    def _run_command(self, link, message, p):
        handler = self._obey.get(message.command)
        if handler is None:
            name = command_name(message.command)
            why = _INSTEAD.get(message.command, "")
            if message.command in PAYLOAD:
                why = ": this vehicle has no such device"
            answer = Answer(UNSUPPORTED, f"command {name} is not supported{why}")
        elif any(map(math.isinf, p)):
            answer = Answer(DENIED, f"command {command_name(message.command)} has an infinite "
                                    "parameter")
        else:
            answer = handler(link, p)
        if answer.reason and answer.result in (UNSUPPORTED, DENIED):
            self._outbox.say(link.vehicle, WARNING, answer.reason)
        self._links.reply(link, mavlink.MAVLink_command_ack_message(
            message.command, answer.result, 255, 0, message.get_srcSystem(),
            message.get_srcComponent()))

    @obeys(mavlink.MAV_CMD_COMPONENT_ARM_DISARM)
    def _arm_disarm(self, link, p):
        if p[0] not in (0.0, 1.0):
            return Answer(DENIED, f"arm value {p[0]:g} is not allowed: 1 arms, 0 disarms")
        force = p[1] == FORCE
        if p[0] == 1.0:
            return self._commander.arm(link.vehicle, self._now.t_us, force)
        return self._commander.disarm(link.vehicle, force, "by command")

    @obeys(mavlink.MAV_CMD_DO_SET_MODE)
    def _do_set_mode(self, link, p):
        if not all(map(math.isfinite, p[:3])) or not int(p[0]) & 1:
            return Answer(DENIED, "DO_SET_MODE needs PX4's custom mode: param1 = 1, param2 = main "
                                  "mode, param3 = sub mode")
        return self._custom_mode(link, int(p[1]), int(p[2]))

    @receives("SET_MODE")
    def _set_mode(self, link, message):
        number = message.custom_mode
        answer = self._do_set_mode(link, (message.base_mode, number >> 16 & 0xFF,
                                          number >> 24 & 0xFF))
        if answer.result == DENIED:
            self._outbox.say(link.vehicle, WARNING, answer.reason)

    def _custom_mode(self, link, main, sub):
        if not (0 <= main <= 255 and 0 <= sub <= 255):
            return Answer(DENIED, f"there is no mode {main}, {sub}")
        mode = from_custom_mode(main << 16 | sub << 24)
        if mode is None:
            return Answer(DENIED, f"there is no mode {main}, {sub}")
        return self._mode(link, mode)

    def _mode(self, link, mode):
        return self._commander.set_mode(link.vehicle, mode, self._now.t_us)

    @obeys(mavlink.MAV_CMD_NAV_TAKEOFF)
    def _nav_takeoff(self, link, p):
        if abs(p[6]) > FARTHEST:
            return Answer(DENIED, f"height {p[6]:g} m is not allowed: give one above sea level")
        return self._commander.take_off(link.vehicle, p[6], self._now.t_us)

    @obeys(mavlink.MAV_CMD_DO_REPOSITION)
    def _do_reposition(self, link, p):
        target = self._position(p)
        if target is None:
            return _no_place(p)
        yaw = yaw_enu_ned(p[3]) if math.isfinite(p[3]) else math.nan
        return self._commander.reposition(link.vehicle, target, yaw, p[0], self._now.t_us)

    @obeys(mavlink.MAV_CMD_DO_CHANGE_ALTITUDE)
    def _do_change_altitude(self, link, p):
        height = p[0]
        if p[1] in RELATIVE:
            height += self._origin[2] + self._status["home"][link.vehicle, 2]
        if not (p[1] in ABSOLUTE + RELATIVE and abs(height) <= FARTHEST):
            return Answer(DENIED, f"height {p[0]:g} m in frame {p[1]:g} is not allowed: use frame "
                                  "0 or 5 (above sea), 3 or 6 (above home)")
        return self._do_reposition(link, [-1.0, 0.0, 0.0, *[math.nan] * 3, height])

    @obeys(mavlink.MAV_CMD_RUN_PREARM_CHECKS)
    def _run_checks(self, link, p):
        reason = self._commander.checks(link.vehicle)
        self._outbox.say(link.vehicle, INFO,
                    f"Not ready to arm: {reason}" if reason else "Ready to arm")
        return Answer(ACCEPTED)

    def _position(self, p):
        """(3,) world [m] of param5 to param7, NaN where they leave it open; None off the Earth."""
        position = np.full(3, math.nan)
        if abs(p[6]) > FARTHEST:
            return None
        if math.isfinite(p[4]) and math.isfinite(p[5]):
            if not (abs(p[4]) <= 90.0 and abs(p[5]) <= 180.0):
                return None
            geo = [[math.radians(p[4]), math.radians(p[5]), 0.0]]
            position[:2] = to_local_array(geo, *self._origin)[0, :2]
        if math.isfinite(p[6]):
            position[2] = p[6] - self._origin[2]
        return position

    @obeys(mavlink.MAV_CMD_DO_CHANGE_SPEED)
    def _do_change_speed(self, link, p):
        if not (math.isfinite(p[1]) and p[1] > 0.0):
            return Answer(DENIED, f"speed {p[1]:g} m/s is not allowed: give more than 0")
        self._status[link.vehicle]["target_speed"] = p[1]
        return Answer(ACCEPTED)

    @obeys(mavlink.MAV_CMD_DO_SET_HOME)
    def _do_set_home(self, link, p):
        v = self._status[link.vehicle]
        if p[0] == 1.0:
            v["home"] = self._estimator.pos[link.vehicle]
        else:
            position = self._position(p)
            if position is None or not np.isfinite(position).all():
                return Answer(DENIED, "home needs latitude, longitude and height, or param1 = 1 "
                                      "for the present position")
            v["home"] = position
        v["home_set"] = True
        return Answer(ACCEPTED)

    def _stream_of(self, number):
        return self._links.message_name(number), Answer(
            UNSUPPORTED, f"message {number:g} is not one of the streams")

    @obeys(mavlink.MAV_CMD_SET_MESSAGE_INTERVAL)
    def _set_message_interval(self, link, p):
        name, unknown = self._stream_of(p[0])
        if name is None:
            return unknown
        if not math.isfinite(p[1]) or p[1] < -1:
            return Answer(DENIED, f"interval {p[1]:g} us is not allowed: -1 stops, 0 is the "
                                  "default, more is a period")
        self._links.set_interval(link, name, int(p[1]))
        return Answer(ACCEPTED)

    @obeys(mavlink.MAV_CMD_GET_MESSAGE_INTERVAL)
    def _get_message_interval(self, link, p):
        name, unknown = self._stream_of(p[0])
        if name is None:
            return unknown
        interval = self._links.get_interval(link, name)
        self._links.reply(link, mavlink.MAVLink_message_interval_message(
            int(p[0]), interval or -1))
        return Answer(ACCEPTED)

    @obeys(mavlink.MAV_CMD_REQUEST_MESSAGE)
    def _request_message(self, link, p):
        name, unknown = self._stream_of(p[0])
        return self._request(link, name) if name else unknown

    def _request(self, link, name):
        self._links.request(link, name, self._now.t_us)
        return Answer(ACCEPTED)

    @obeys(mavlink.MAV_CMD_NAV_LAND)
    def _nav_land(self, link, p):
        return self._mode(link, Mode.LAND)

    @obeys(mavlink.MAV_CMD_NAV_RETURN_TO_LAUNCH)
    def _nav_return(self, link, p):
        return self._mode(link, Mode.RTL)

    @obeys(mavlink.MAV_CMD_NAV_LOITER_UNLIM)
    def _nav_loiter(self, link, p):
        return self._mode(link, Mode.LOITER)

    @obeys(mavlink.MAV_CMD_REQUEST_AUTOPILOT_CAPABILITIES)
    def _capabilities(self, link, p):
        return self._request(link, "AUTOPILOT_VERSION")

    @obeys(mavlink.MAV_CMD_GET_HOME_POSITION)
    def _get_home(self, link, p):
        return self._request(link, "HOME_POSITION")

    @receives("MISSION_SET_CURRENT")
    def _mission_set_current(self, link, message):
        self._set_mission_item(link, message.seq)

    @obeys(mavlink.MAV_CMD_DO_SET_MISSION_CURRENT)
    def _do_set_mission_current(self, link, p):
        if not (math.isfinite(p[0]) and p[0] == int(p[0])):
            return Answer(DENIED, f"mission item {p[0]:g} does not exist")
        return self._set_mission_item(link, int(p[0]))

    def _set_mission_item(self, link, seq):
        reason = self._missions.set_current(link.vehicle, seq)
        if reason:
            self._outbox.say(link.vehicle, WARNING, reason)
            return Answer(REJECTED)
        self._outbox.stream_now(link.vehicle, "MISSION_CURRENT")
        return Answer(ACCEPTED)

    @obeys(mavlink.MAV_CMD_MISSION_START)
    def _mission_start(self, link, p):
        if math.isfinite(p[0]) and p[0] > 0:
            answer = self._do_set_mission_current(link, p)
            if not answer.accepted:
                return answer
        answer = self._mode(link, Mode.MISSION)
        if answer.accepted:
            answer = self._commander.arm(link.vehicle, self._now.t_us)
        return answer

    @obeys(mavlink.MAV_CMD_DO_ORBIT)
    def _do_orbit(self, link, p):
        position = self._position(p)
        if position is None:
            return _no_place(p)
        if math.isfinite(p[0]) and not 0.5 <= abs(p[0]) <= 1000:
            return Answer(DENIED, f"radius {p[0]:g} m is not allowed: give 0.5 to 1000")
        return self._commander.orbit(link.vehicle, position, p[0], p[1], self._now.t_us)

    @obeys(mavlink.MAV_CMD_INJECT_FAILURE)
    def _inject_failure(self, link, p):
        i = link.vehicle
        if self._parameters.get(i, "SYS_FAILURE_EN") == 0:
            return Answer(DENIED, "failures are not allowed: set SYS_FAILURE_EN to 1")
        reason = self._failures.inject(i, *p[:3])
        return Answer(UNSUPPORTED, reason) if reason else Answer(ACCEPTED)

    @obeys(mavlink.MAV_CMD_DO_FLIGHTTERMINATION)
    def _do_terminate(self, link, p):
        if p[0] < 0.5:
            return Answer(ACCEPTED)
        return self._commander.disarm(link.vehicle, True, "by termination")


def _no_place(p):
    return Answer(DENIED, f"no position at latitude {p[4]:g}, longitude {p[5]:g}, height {p[6]:g}")
