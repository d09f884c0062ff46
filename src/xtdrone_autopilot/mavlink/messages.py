"""What the flight stack does with each MAVLink message that comes in.

A message is obeyed only if it is for this vehicle and its numbers are finite
where they must be. Units and frames become ours here.
"""

import math
from functools import partial

import numpy as np

from xtdrone_core.frames import enu_ned, flu_frd, quat_enu_ned, yaw_enu_ned
from xtdrone_core.modes import Mode, from_custom_mode
from xtdrone_dynamics.geodesy import to_local_array
from xtdrone_dynamics.quaternion import from_euler

from ..errors import AutopilotError
from ..navigation.mission_items import PAYLOAD, command_name
from ..parameters import file as parameter_file, store as parameters
from ..safety import failures
from ..safety.commander import ACCEPTED, DENIED, REJECTED, Answer
from ..vehicle_status import ATTITUDE, RATES
from .dialect import mavlink
from .ftp import FileServer
from .log_download import LogDownload
from .mission_protocol import MissionProtocol

UNSUPPORTED = mavlink.MAV_RESULT_UNSUPPORTED
FORCE = 21196  # param2 of arm and disarm commands: no checks
_FARTHEST = 1e6  # no set-point is larger than this [m, m/s, m/s^2]
_FASTEST_TURN = 100.0  # no yaw or body rate is larger than this [rad, rad/s]
_FORCE = 512  # bit of the type mask of position targets
_THRUST_BODY, _THRUST_IGNORE, _ATTITUDE_IGNORE = 32, 64, 128  # and of attitude targets
_NOTHING = "its type mask leaves nothing to follow"
_ABSOLUTE = (mavlink.MAV_FRAME_GLOBAL, mavlink.MAV_FRAME_GLOBAL_INT)
_RELATIVE = (mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT, mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT)
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
_HOVER = 0.5  # middle of the throttle stick of MANUAL_CONTROL


class Messages:
    """Handles the messages of a fleet; `handle` is called for each."""

    def __init__(self, autopilot, links):
        self._a = autopilot
        self._links = links
        self._handlers = {
            "COMMAND_LONG": self._command_long, "COMMAND_INT": self._command_int,
            "SET_MODE": self._set_mode,
            "SET_POSITION_TARGET_LOCAL_NED": partial(self._set_point, self._local_target),
            "SET_POSITION_TARGET_GLOBAL_INT": partial(self._set_point, self._global_target),
            "SET_ATTITUDE_TARGET": partial(self._set_point, self._attitude_target),
            "MANUAL_CONTROL": self._manual_control,
            "VISION_POSITION_ESTIMATE": self._vision, "ODOMETRY": self._odometry,
            "PARAM_REQUEST_LIST": self._param_list, "PARAM_REQUEST_READ": self._param_read,
            "PARAM_SET": self._param_set,
            "MISSION_SET_CURRENT": self._mission_set_current,
            "HEARTBEAT": self._heartbeat, "FOLLOW_TARGET": self._follow_target,
            "TIMESYNC": self._timesync, "PING": self._ping,
            "FILE_TRANSFER_PROTOCOL": self._ftp,
        }
        self._missions = MissionProtocol(autopilot.missions, links.reply, autopilot.say,
                                         autopilot.missions.current)
        for name in self._missions.handlers:
            self._handlers[name] = self._mission
        self._files = FileServer(autopilot, links)
        self.downloads = LogDownload(autopilot, links)
        self._handlers.update(self.downloads.handlers)
        self._commands = {
            mavlink.MAV_CMD_COMPONENT_ARM_DISARM: self._arm_disarm,
            mavlink.MAV_CMD_DO_SET_MODE: self._do_set_mode,
            mavlink.MAV_CMD_NAV_TAKEOFF: self._nav_takeoff,
            mavlink.MAV_CMD_NAV_LAND: lambda link, p: self._mode(link, Mode.LAND),
            mavlink.MAV_CMD_NAV_RETURN_TO_LAUNCH: lambda link, p: self._mode(link, Mode.RTL),
            mavlink.MAV_CMD_NAV_LOITER_UNLIM: lambda link, p: self._mode(link, Mode.LOITER),
            mavlink.MAV_CMD_DO_REPOSITION: self._do_reposition,
            mavlink.MAV_CMD_DO_CHANGE_ALTITUDE: self._do_change_altitude,
            mavlink.MAV_CMD_DO_CHANGE_SPEED: self._do_change_speed,
            mavlink.MAV_CMD_RUN_PREARM_CHECKS: self._run_checks,
            mavlink.MAV_CMD_DO_SET_HOME: self._do_set_home,
            mavlink.MAV_CMD_MISSION_START: self._mission_start,
            mavlink.MAV_CMD_DO_SET_MISSION_CURRENT: self._do_set_mission_current,
            mavlink.MAV_CMD_DO_ORBIT: self._do_orbit,
            mavlink.MAV_CMD_PREFLIGHT_STORAGE: self._storage,
            mavlink.MAV_CMD_INJECT_FAILURE: self._inject_failure,
            mavlink.MAV_CMD_DO_FLIGHTTERMINATION: self._do_terminate,
            mavlink.MAV_CMD_SET_MESSAGE_INTERVAL: self._set_message_interval,
            mavlink.MAV_CMD_GET_MESSAGE_INTERVAL: self._get_message_interval,
            mavlink.MAV_CMD_REQUEST_MESSAGE: self._request_message,
            mavlink.MAV_CMD_REQUEST_AUTOPILOT_CAPABILITIES:
                lambda link, p: self._request(link, "AUTOPILOT_VERSION"),
            mavlink.MAV_CMD_GET_HOME_POSITION: lambda link, p: self._request(link, "HOME_POSITION"),
        }

    def handle(self, link, message) -> None:
        """Obeys one message that came in on a link, if it is meant for its vehicle."""
        if getattr(message, "target_system", 0) not in (0, link.vehicle + 1):
            return
        if getattr(message, "target_component", 0) not in (0, 1):
            return
        handler = self._handlers.get(message.get_type())
        if handler is not None:
            handler(link, message)

    def step(self, t_us: int) -> None:
        """Repeats what was lost of uploads; call it now and then."""
        self._missions.step(t_us)

    # Commands -------------------------------------------------------------------------------

    def _command_long(self, link, message):
        p = [getattr(message, f"param{k}") for k in range(1, 8)]
        self._run_command(link, message, p)

    def _command_int(self, link, message):
        p = [message.param1, message.param2, message.param3, message.param4,
             message.x, message.y, message.z]
        if message.frame in _ABSOLUTE + _RELATIVE:
            p[4], p[5] = message.x * 1e-7, message.y * 1e-7
            if message.x == 0x7FFFFFFF:
                p[4] = math.nan
            if message.y == 0x7FFFFFFF:
                p[5] = math.nan
            if message.frame in _RELATIVE:
                p[6] += self._a.origin[2] + self._a.status["home"][link.vehicle, 2]
        self._run_command(link, message, p)

    def _run_command(self, link, message, p):
        handler = self._commands.get(message.command)
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
            self._a.say(link.vehicle, mavlink.MAV_SEVERITY_WARNING, answer.reason)
        self._links.reply(link, mavlink.MAVLink_command_ack_message(
            message.command, answer.result, 255, 0, message.get_srcSystem(),
            message.get_srcComponent()))

    def _arm_disarm(self, link, p):
        if p[0] not in (0.0, 1.0):
            return Answer(DENIED, f"arm value {p[0]:g} is not allowed: 1 arms, 0 disarms")
        force = p[1] == FORCE
        if p[0] == 1.0:
            return self._a.commander.arm(link.vehicle, self._a.t_us, force)
        return self._a.commander.disarm(link.vehicle, force, "by command")

    def _do_set_mode(self, link, p):
        if not all(map(math.isfinite, p[:3])) or not int(p[0]) & 1:
            return Answer(DENIED, "DO_SET_MODE needs PX4's custom mode: param1 = 1, param2 = main "
                                  "mode, param3 = sub mode")
        return self._custom_mode(link, int(p[1]), int(p[2]))

    def _set_mode(self, link, message):
        number = message.custom_mode
        answer = self._do_set_mode(link, (message.base_mode, number >> 16 & 0xFF,
                                          number >> 24 & 0xFF))
        if answer.result == DENIED:
            self._a.say(link.vehicle, mavlink.MAV_SEVERITY_WARNING, answer.reason)

    def _custom_mode(self, link, main, sub):
        if not (0 <= main <= 255 and 0 <= sub <= 255):
            return Answer(DENIED, f"there is no mode {main}, {sub}")
        mode = from_custom_mode(main << 16 | sub << 24)
        if mode is None:
            return Answer(DENIED, f"there is no mode {main}, {sub}")
        return self._mode(link, mode)

    def _mode(self, link, mode):
        return self._a.commander.set_mode(link.vehicle, mode, self._a.t_us)

    def _nav_takeoff(self, link, p):
        if abs(p[6]) > _FARTHEST:
            return Answer(DENIED, f"height {p[6]:g} m is not allowed: give one above sea level")
        return self._a.commander.take_off(link.vehicle, p[6], self._a.t_us)

    def _do_reposition(self, link, p):
        target = self._place(p)
        if target is None:
            return _no_place(p)
        yaw = yaw_enu_ned(p[3]) if math.isfinite(p[3]) else math.nan
        return self._a.commander.reposition(link.vehicle, target, yaw, p[0], self._a.t_us)

    def _do_change_altitude(self, link, p):
        height = p[0]
        if p[1] in _RELATIVE:
            height += self._a.origin[2] + self._a.status["home"][link.vehicle, 2]
        if not (p[1] in _ABSOLUTE + _RELATIVE and abs(height) <= _FARTHEST):
            return Answer(DENIED, f"height {p[0]:g} m in frame {p[1]:g} is not allowed: use frame "
                                  "0 or 5 (above sea), 3 or 6 (above home)")
        return self._do_reposition(link, [-1.0, 0.0, 0.0, *[math.nan] * 3, height])

    def _run_checks(self, link, p):
        reason = self._a.commander.checks(link.vehicle)
        self._a.say(link.vehicle, mavlink.MAV_SEVERITY_INFO,
                    f"Not ready to arm: {reason}" if reason else "Ready to arm")
        return Answer(ACCEPTED)

    def _place(self, p):
        """(3,) world [m] of param5 to param7, NaN where they leave it open; None off the Earth."""
        place = np.full(3, math.nan)
        if abs(p[6]) > _FARTHEST:
            return None
        if math.isfinite(p[4]) and math.isfinite(p[5]):
            if not (abs(p[4]) <= 90.0 and abs(p[5]) <= 180.0):
                return None
            geo = [[math.radians(p[4]), math.radians(p[5]), 0.0]]
            place[:2] = to_local_array(geo, *self._a.origin)[0, :2]
        if math.isfinite(p[6]):
            place[2] = p[6] - self._a.origin[2]
        return place

    def _do_change_speed(self, link, p):
        if not (math.isfinite(p[1]) and p[1] > 0.0):
            return Answer(DENIED, f"speed {p[1]:g} m/s is not allowed: give more than 0")
        self._a.status[link.vehicle]["target_speed"] = p[1]
        return Answer(ACCEPTED)

    def _do_set_home(self, link, p):
        v = self._a.status[link.vehicle]
        if p[0] == 1.0:
            v["home"] = self._a.estimator.pos[link.vehicle]
        else:
            place = self._place(p)
            if place is None or not np.isfinite(place).all():
                return Answer(DENIED, "home needs latitude, longitude and height, or param1 = 1 "
                                      "for the present place")
            v["home"] = place
        v["home_set"] = True
        return Answer(ACCEPTED)

    def _stream_of(self, number):
        return self._links.message_name(number), Answer(
            UNSUPPORTED, f"message {number:g} is not one of the streams")

    def _set_message_interval(self, link, p):
        name, unknown = self._stream_of(p[0])
        if name is None:
            return unknown
        if not math.isfinite(p[1]) or p[1] < -1:
            return Answer(DENIED, f"interval {p[1]:g} us is not allowed: -1 stops, 0 is the "
                                  "default, more is a period")
        self._links.set_interval(link, name, int(p[1]))
        return Answer(ACCEPTED)

    def _get_message_interval(self, link, p):
        name, unknown = self._stream_of(p[0])
        if name is None:
            return unknown
        interval = self._links.get_interval(link, name)
        self._links.reply(link, mavlink.MAVLink_message_interval_message(
            int(p[0]), interval or -1))
        return Answer(ACCEPTED)

    def _request_message(self, link, p):
        name, unknown = self._stream_of(p[0])
        return self._request(link, name) if name else unknown

    def _request(self, link, name):
        self._links.request(link, name, self._a.t_us)
        return Answer(ACCEPTED)

    # Set-points -----------------------------------------------------------------------------

    def _set_point(self, obey, link, message):
        """Obeys one of the SET_ messages of OFFBOARD, or says once why not."""
        try:
            obey(link.vehicle, message)
        except AutopilotError as error:
            self._a.say_once(link.vehicle, f"Set-point ignored: {error}")

    def _local_target(self, i, m):
        pos = _asked(m, ("x", "y", "z"), 0)
        vel, acc, yaw, yaw_rate = _motion(m)
        if not np.isfinite((pos, vel, acc)).any():
            raise AutopilotError(_NOTHING)
        here, heading = self._a.estimator.pos[i], self._a.estimator.yaw(i)
        if m.coordinate_frame in (mavlink.MAV_FRAME_LOCAL_NED, mavlink.MAV_FRAME_LOCAL_OFFSET_NED):
            pos, vel, acc = enu_ned(pos), enu_ned(vel), enu_ned(acc)
            if m.coordinate_frame == mavlink.MAV_FRAME_LOCAL_OFFSET_NED:
                pos = here + pos
            yaw = yaw_enu_ned(yaw)
        elif m.coordinate_frame in (mavlink.MAV_FRAME_BODY_NED, mavlink.MAV_FRAME_BODY_OFFSET_NED):
            pos, vel, acc = (_turn(flu_frd(x), heading) for x in (pos, vel, acc))
            pos = here + pos
            yaw = heading - yaw
        else:
            raise AutopilotError(f"coordinate frame {m.coordinate_frame} is not supported, use 1 "
                                 "(local), 7 (local offset), 8 or 9 (body)")
        self._a.set_trajectory(i, pos, vel, acc, yaw, -yaw_rate)

    def _global_target(self, i, m):
        if m.coordinate_frame not in _ABSOLUTE + _RELATIVE:
            raise AutopilotError(f"coordinate frame {m.coordinate_frame} is not supported, use 0 "
                                 "or 5 (height above sea), 3 or 6 (above home)")
        lat, lon, alt = _asked(m, ("lat_int", "lon_int", "alt"), 0, (90e7, 180e7, _FARTHEST))
        vel, acc, yaw, yaw_rate = _motion(m)
        pos = np.full(3, math.nan)
        if math.isfinite(lat) and math.isfinite(lon):
            geo = [[math.radians(lat * 1e-7), math.radians(lon * 1e-7), 0.0]]
            pos[:2] = to_local_array(geo, *self._a.origin)[0, :2]
        relative = m.coordinate_frame in _RELATIVE
        pos[2] = alt + (self._a.status["home"][i, 2] if relative else -self._a.origin[2])
        if not np.isfinite((pos, vel, acc)).any():
            raise AutopilotError(_NOTHING)
        self._a.set_trajectory(i, pos, enu_ned(vel), enu_ned(acc), yaw_enu_ned(yaw), -yaw_rate)

    def _attitude_target(self, i, m):
        v, mask = self._a.status[i], m.type_mask
        if mask & _THRUST_IGNORE or not abs(m.thrust) <= 1.0:
            raise AutopilotError("an attitude or body rates need a thrust from 0 to 1, not ignored "
                                 "by the type mask")
        if mask & _THRUST_BODY:
            raise AutopilotError("a thrust on three axes (type mask 32) is not supported: use "
                                 "thrust")
        rates = flu_frd(_asked(m, ("body_roll_rate", "body_pitch_rate", "body_yaw_rate"), 0,
                               _FASTEST_TURN))
        if mask & _ATTITUDE_IGNORE:
            if not np.isfinite(rates).any():
                raise AutopilotError(_NOTHING)
            v["offboard_rates"] = np.nan_to_num(rates)
            v["offboard_kind"] = RATES
        else:
            quat = np.array([m.q[1], m.q[2], m.q[3], m.q[0]])
            norm = np.linalg.norm(quat)
            if not abs(norm - 1.0) < 0.1:
                raise AutopilotError("its quaternion does not have the length 1")
            v["offboard_quat"] = quat_enu_ned(quat / norm)
            v["offboard_yaw_rate"] = rates[2]
            v["offboard_kind"] = ATTITUDE
        v["offboard_thrust"] = max(m.thrust, 0.0)
        v["offboard_t"] = self._a.t_us
        v["offboard_count"] += 1

    def _manual_control(self, link, m):
        if m.target != link.vehicle + 1 or self._a.failures.failed(link.vehicle, failures.STICKS):
            return
        v = self._a.status[link.vehicle]
        sticks = (m.x, m.y, m.r)
        if any(abs(s) > 1000 for s in sticks) or not 0 <= m.z <= 1000:
            return
        v["stick_forward"], v["stick_right"], v["stick_clockwise"] = (s / 1000 for s in sticks)
        v["stick_up"] = (m.z / 1000 - _HOVER) / _HOVER
        v["stick_t"] = self._a.t_us

    def _vision(self, link, m):
        quat = from_euler(m.roll, m.pitch, m.yaw)
        self._take_vision(link, m.usec, (m.x, m.y, m.z), quat)

    def _odometry(self, link, m):
        if m.frame_id == mavlink.MAV_FRAME_LOCAL_NED:
            self._take_vision(link, m.time_usec, (m.x, m.y, m.z),
                              (m.q[1], m.q[2], m.q[3], m.q[0]))

    def _take_vision(self, link, t_us, pos, quat):
        pose = np.array([*pos, *quat])
        if (np.abs(pose) <= _FARTHEST).all() and abs(np.linalg.norm(pose[3:]) - 1.0) < 0.1:
            self._a.take_pose(link.vehicle, t_us, enu_ned(pose[:3]), quat_enu_ned(pose[3:]))

    # Parameters -----------------------------------------------------------------------------

    def _param_list(self, link, message):
        self._a.send_parameters(link)

    def _param_read(self, link, message):
        names = list(parameters.table())
        index = message.param_index
        name = message.param_id if index < 0 else (names[index] if index < len(names) else "")
        if name in parameters.table():
            self.send_parameter(link, name)

    def _param_set(self, link, message):
        p = parameters.table().get(message.param_id)
        if p is None:
            self._a.say(link.vehicle, mavlink.MAV_SEVERITY_WARNING,
                        f"there is no parameter {message.param_id}")
            return
        value = message.param_value
        if p.type is int and message.param_type == mavlink.MAV_PARAM_TYPE_INT32:
            value = np.float32(value).view(np.int32).item()  # PX4 sends integers bytewise
        try:
            self._a.parameters.set(link.vehicle, p.name, value)
        except AutopilotError as error:
            self._a.say(link.vehicle, mavlink.MAV_SEVERITY_WARNING, str(error))
        self.send_parameter(link, p.name)

    def _storage(self, link, p):
        i, store, files = link.vehicle, self._a.parameters, self._a.parameter_files
        if p[0] == 2.0:
            store.reset(i)
            return Answer(ACCEPTED)
        if p[0] not in (0.0, 1.0):
            return Answer(DENIED, f"storage action {p[0]:g} is not supported: 0 loads, 1 saves, 2 "
                                  "goes back to the defaults")
        if files is None:
            return Answer(DENIED, "this run has no folder to save parameters in")
        try:
            if p[0] == 1.0:
                values = {name: store.get(i, name) for name in parameters.table()}
                parameter_file.write(files[i], i + 1, values)
            else:
                parameter_file.load_into(store, i, parameter_file.read(files[i]))
        except AutopilotError as error:
            return Answer(DENIED, str(error))
        return Answer(ACCEPTED)

    def send_parameter(self, link, name: str) -> None:
        """PARAM_VALUE of one parameter, integers bytewise as PX4 does."""
        p = parameters.table()[name]
        value = self._a.parameters.get(link.vehicle, name)
        kind = mavlink.MAV_PARAM_TYPE_REAL32
        if p.type is int:
            value = np.int32(value).view(np.float32).item()
            kind = mavlink.MAV_PARAM_TYPE_INT32
        names = list(parameters.table())
        self._links.reply(link, mavlink.MAVLink_param_value_message(
            name.encode(), value, kind, len(names), names.index(name)))

    # The rest -------------------------------------------------------------------------------

    def _mission(self, link, message):
        self._missions.handle(link, message, self._a.t_us)

    def _mission_set_current(self, link, message):
        self._set_mission_item(link, message.seq)

    def _do_set_mission_current(self, link, p):
        if not (math.isfinite(p[0]) and p[0] == int(p[0])):
            return Answer(DENIED, f"mission item {p[0]:g} does not exist")
        return self._set_mission_item(link, int(p[0]))

    def _set_mission_item(self, link, seq):
        reason = self._a.missions.set_current(link.vehicle, seq)
        if reason:
            self._a.say(link.vehicle, mavlink.MAV_SEVERITY_WARNING, reason)
            return Answer(REJECTED)
        self._a.broadcast_stream(link.vehicle, "MISSION_CURRENT")
        return Answer(ACCEPTED)

    def _mission_start(self, link, p):
        if math.isfinite(p[0]) and p[0] > 0:
            answer = self._do_set_mission_current(link, p)
            if not answer.accepted:
                return answer
        answer = self._mode(link, Mode.MISSION)
        if answer.accepted:
            answer = self._a.commander.arm(link.vehicle, self._a.t_us)
        return answer

    def _do_orbit(self, link, p):
        place = self._place(p)
        if place is None:
            return _no_place(p)
        if math.isfinite(p[0]) and not 0.5 <= abs(p[0]) <= 1000:
            return Answer(DENIED, f"radius {p[0]:g} m is not allowed: give 0.5 to 1000")
        return self._a.commander.orbit(link.vehicle, place, p[0], p[1], self._a.t_us)

    def _inject_failure(self, link, p):
        i = link.vehicle
        if self._a.parameters.get(i, "SYS_FAILURE_EN") == 0:
            return Answer(DENIED, "failures are not allowed: set SYS_FAILURE_EN to 1")
        reason = self._a.failures.inject(i, *p[:3])
        return Answer(UNSUPPORTED, reason) if reason else Answer(ACCEPTED)

    def _do_terminate(self, link, p):
        if p[0] < 0.5:
            return Answer(ACCEPTED)
        return self._a.commander.disarm(link.vehicle, True, "by termination")

    def _heartbeat(self, link, message):
        silenced = self._a.failures.failed(link.vehicle, failures.DATA_LINK)
        if message.type == mavlink.MAV_TYPE_GCS and not silenced:
            self._a.status[link.vehicle]["gcs_t"] = self._a.t_us

    def _follow_target(self, link, m):
        if not (abs(m.lat) <= 90e7 and abs(m.lon) <= 180e7 and abs(m.alt) <= _FARTHEST):
            return
        geo = [[math.radians(m.lat * 1e-7), math.radians(m.lon * 1e-7), m.alt]]
        told = m.est_capabilities & 2 and (np.abs(m.vel) <= _FARTHEST).all()
        vel = enu_ned(m.vel) if told else None
        self._a.follow.heard(link.vehicle, to_local_array(geo, *self._a.origin)[0], vel)

    def _ftp(self, link, message):
        if message.target_system == link.vehicle + 1:
            self._files.handle(link, message)

    def _timesync(self, link, message):
        if message.tc1 == 0:
            self._links.reply(link, mavlink.MAVLink_timesync_message(
                self._a.t_us * 1000, message.ts1))

    def _ping(self, link, message):
        if message.target_system == 0:
            self._links.reply(link, mavlink.MAVLink_ping_message(
                self._a.t_us, message.seq, message.get_srcSystem(), message.get_srcComponent()))


def _asked(m, names, first_bit, most=_FARTHEST):
    """Fields of a set-point, (n,), NaN where its type mask says ignore, from first_bit on.

    Raises:
        AutopilotError: One that counts is not finite, or beyond `most` (a number, or one each).
    """
    out = np.full(len(names), math.nan)
    for k, (name, limit) in enumerate(zip(names, np.broadcast_to(most, len(names)))):
        if m.type_mask >> first_bit + k & 1:
            continue
        out[k] = getattr(m, name)
        if not abs(out[k]) <= limit:  # so that a NaN is refused too
            raise AutopilotError(f"{name} has to be a number up to {limit:g}, or be ignored by the "
                                 "type mask")
    return out


def _motion(m):
    """Velocity (3,), acceleration (3,), yaw and yaw rate of a position target, as of _asked()."""
    vel, acc = _asked(m, ("vx", "vy", "vz"), 3), _asked(m, ("afx", "afy", "afz"), 6)
    if m.type_mask & _FORCE and np.isfinite(acc).any():
        raise AutopilotError("forces (type mask 512) are not supported: give accelerations")
    yaw, yaw_rate = _asked(m, ("yaw", "yaw_rate"), 10, _FASTEST_TURN)
    return vel, acc, yaw, yaw_rate


def _no_place(p):
    return Answer(DENIED, f"no place at latitude {p[4]:g}, longitude {p[5]:g}, height {p[6]:g}")


def _turn(vec, yaw):
    """A vector (3,) of the heading frame in the world."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([c * vec[0] - s * vec[1], s * vec[0] + c * vec[1], vec[2]])
