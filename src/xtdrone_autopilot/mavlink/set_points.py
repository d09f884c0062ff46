"""Set-points, sticks, poses and targets that come in by MAVLink.

What a type mask does not ignore is within the limits of fields.py. Units and frames become ours
here.
"""

import math
import struct
from collections.abc import Callable, Sequence

import numpy as np

from xtdrone_core.frames import enu_ned, flu_frd, quat_enu_ned, yaw_enu_ned
from xtdrone_core.mavlink.dialect import MavlinkMessage, mavlink
from xtdrone_core.state import SetPoints
from xtdrone_dynamics.compiled import Record
from xtdrone_dynamics.earth.geodesy import to_local_array
from xtdrone_dynamics.quaternion import from_euler

from ..control.vector import thrust_newtons
from ..errors import AutopilotError
from ..interfaces import Estimator
from ..modes.follow_target import FollowTarget
from ..navigation.landing_target import LandingTargets
from ..navigation.offboard import Offboard
from ..safety.failures import STICKS, Failures
from ..state.clock import StepClock
from ..state.handlers import receives, refuses
from ..state.local_origin import LocalOrigins
from ..state.outbox import Outbox
from .commands import ABSOLUTE, RELATIVE
from .fields import ATTITUDE_IGNORE, THRUST_BODY, THRUST_IGNORE, given
from .links import Link

_SAME_CLOCK_US = 50_000  # offset within which the other end has simulated time itself [us]
_LONGEST_DELAY_US = 1_000_000  # of a landing target; older ones are of another clock [us]
_FORCE = 512  # bit of the type mask of position targets
_HEADER = 10  # bytes of a MAVLink 2 frame before its payload
_NOTHING = "its type mask leaves nothing to follow"
_HOVER = 0.5  # middle of the throttle stick of MANUAL_CONTROL
_STICKS = ("stick_forward", "stick_right", "stick_clockwise", "stick_up")
_STICK_FILTER_S = 0.1  # time constant of PX4's filter of their rates [s]
_STICKS_AWAY_S = 0.5  # the rates begin anew after this gap; default of COM_RC_LOSS_T [s]


class SetPointMessages:
    """Takes what guides the vehicles of a fleet."""

    def __init__(
        self,
        status: np.ndarray,
        estimator: Estimator,
        offboard: Offboard,
        follow: FollowTarget,
        landing_targets: LandingTargets,
        failures: Failures,
        take_pose: Callable,
        clock: StepClock,
        local_origins: LocalOrigins,
        outbox: Outbox,
    ) -> None:
        """The set-points of a fleet.

        Args:
            status: (N,) of VEHICLE_STATUS.
            estimator: Its state.
            offboard: Takes set-points.
            follow: Takes targets to follow.
            landing_targets: Takes targets to land on.
            failures: Failures that a user injects.
            take_pose: Called as take_pose(i, t_us, pos, quat) with each pose from outside.
            clock: Time of the flight stack.
            local_origins: Origins of local positions, and of the world.
            outbox: Sends STATUSTEXTs.
        """
        self._status, self._estimator, self._offboard = status, estimator, offboard
        self._follow, self._failures, self._take_pose = follow, failures, take_pose
        self._clock, self._outbox, self._landing_targets = clock, outbox, landing_targets
        self._local_origins, self._origin = local_origins, local_origins.world
        self._nothing = SetPoints.empty(1).records[0]

    def _take(
        self, take: Callable[[int, MavlinkMessage], None], link: Link, message: MavlinkMessage
    ) -> None:
        """Handles one of the SET_ messages of OFFBOARD, or rejects it with one warning."""
        try:
            take(link.vehicle, message)
        except AutopilotError as error:
            self._outbox.say_once(link.vehicle, f"Set-point ignored: {error}")

    @refuses(
        "SET_POSITION_TARGET_LOCAL_NED",
        "SET_POSITION_TARGET_GLOBAL_INT",
        "SET_ATTITUDE_TARGET",
        "SET_ACTUATOR_CONTROL_TARGET",
    )
    def _refuse(self, link: Link, message: MavlinkMessage, why: str) -> None:
        self._outbox.say_once(link.vehicle, f"Set-point ignored: {why}")

    def _point(self) -> np.void:
        """A set-point that controls nothing."""
        return self._nothing.copy()

    def _trajectory(
        self, i: int, pos: np.ndarray, vel: np.ndarray, acc: np.ndarray, yaw: float, yaw_rate: float
    ) -> None:
        """World ENU, NaN = not controlled."""
        point = self._point()
        point["pos"], point["vel"], point["acc"] = pos, vel, acc
        point["yaw"], point["yaw_rate"] = yaw, yaw_rate
        self._offboard.take(i, point)

    @receives("SET_POSITION_TARGET_LOCAL_NED")
    def _set_local(self, link: Link, message: MavlinkMessage) -> None:
        self._take(self._local_target, link, message)

    def _local_target(self, i: int, message: MavlinkMessage) -> None:
        pos = np.array(given(message, "x", "y", "z"))
        vel, acc, yaw, yaw_rate = _motion(message)
        if not np.isfinite((pos, vel, acc)).any():
            raise AutopilotError(_NOTHING)
        here, heading = self._estimator.pos[i], self._estimator.yaw(i)
        if message.coordinate_frame in (
            mavlink.MAV_FRAME_LOCAL_NED,
            mavlink.MAV_FRAME_LOCAL_OFFSET_NED,
        ):
            pos, vel, acc = enu_ned(pos), enu_ned(vel), enu_ned(acc)
            if message.coordinate_frame == mavlink.MAV_FRAME_LOCAL_OFFSET_NED:
                pos = here + pos
            else:
                pos = self._local_origins.to_world(i, pos)
            yaw = yaw_enu_ned(yaw)
        elif message.coordinate_frame in (
            mavlink.MAV_FRAME_BODY_NED,
            mavlink.MAV_FRAME_BODY_OFFSET_NED,
        ):
            pos, vel, acc = (_turn(flu_frd(x), heading) for x in (pos, vel, acc))
            pos = here + pos
            yaw = heading - yaw
        else:
            raise AutopilotError(
                f"coordinate frame {message.coordinate_frame} is not supported, use 1 "
                "(local), 7 (local offset), 8 or 9 (body)"
            )
        self._trajectory(i, pos, vel, acc, yaw, -yaw_rate)

    @receives("SET_POSITION_TARGET_GLOBAL_INT")
    def _set_global(self, link: Link, message: MavlinkMessage) -> None:
        self._take(self._global_target, link, message)

    def _global_target(self, i: int, message: MavlinkMessage) -> None:
        if message.coordinate_frame not in ABSOLUTE + RELATIVE:
            raise AutopilotError(
                f"coordinate frame {message.coordinate_frame} is not supported, use 0 "
                "or 5 (height above sea), 3 or 6 (above home)"
            )
        lat, lon, alt = given(message, "lat_int", "lon_int", "alt")
        vel, acc, yaw, yaw_rate = _motion(message)
        pos = np.full(3, math.nan)
        if math.isfinite(lat) and math.isfinite(lon):
            geo = [[math.radians(lat * 1e-7), math.radians(lon * 1e-7), 0.0]]
            pos[:2] = to_local_array(geo, *self._origin)[0, :2]
        relative = message.coordinate_frame in RELATIVE
        pos[2] = alt + (self._status["home"][i, 2] if relative else -self._origin[2])
        if not np.isfinite((pos, vel, acc)).any():
            raise AutopilotError(_NOTHING)
        self._trajectory(i, pos, enu_ned(vel), enu_ned(acc), yaw_enu_ned(yaw), -yaw_rate)

    @receives("SET_ATTITUDE_TARGET")
    def _set_attitude(self, link: Link, message: MavlinkMessage) -> None:
        self._take(self._attitude_target, link, message)

    def _attitude_target(self, i: int, message: MavlinkMessage) -> None:
        mask = message.type_mask
        force = self._force(i, message)
        point = self._point()
        rates = flu_frd(given(message, "body_roll_rate", "body_pitch_rate", "body_yaw_rate"))
        if mask & ATTITUDE_IGNORE:
            if not np.isfinite(rates).any():
                raise AutopilotError(_NOTHING)
        else:
            quat = np.array([message.q[1], message.q[2], message.q[3], message.q[0]])
            norm = np.linalg.norm(quat)
            if not abs(norm - 1.0) < 0.1:
                raise AutopilotError("its quaternion does not have the length 1")
            point["quat"] = quat_enu_ned(quat / norm)
            point["yaw_rate"] = rates[2]
        point["rates"] = rates
        point["force"] = force
        self._offboard.take(i, point)

    def _force(self, i: int, message: MavlinkMessage) -> np.ndarray:
        """Body force (3,) of an attitude target [N]: what all rotors give at one command."""
        if message.type_mask & THRUST_BODY:
            thrust = flu_frd(_thrust_body(message))
            size = float(np.linalg.norm(thrust))
            if not size <= 1.0:
                raise AutopilotError("thrust_body has to be three numbers, together from 0 to 1")
            return thrust / size * thrust_newtons(self._status[i], size) if size else np.zeros(3)
        if message.type_mask & THRUST_IGNORE:
            raise AutopilotError(
                "an attitude or body rates need a thrust from 0 to 1, not ignored by the type mask"
            )
        up = thrust_newtons(self._status[i], message.thrust) if message.thrust > 0.0 else 0.0
        return np.array([math.nan, math.nan, up])

    @receives("SET_ACTUATOR_CONTROL_TARGET")
    def _set_actuators(self, link: Link, message: MavlinkMessage) -> None:
        self._take(self._actuator_target, link, message)

    def _actuator_target(self, i: int, message: MavlinkMessage) -> None:
        if message.group_mlx not in (0, 1):
            raise AutopilotError(
                f"actuator group {message.group_mlx} does not exist: 0 is the first "
                "eight actuators, 1 the next eight"
            )
        commands = np.full(16, math.nan)
        before = self._offboard.actuators[i]
        commands[: min(len(before), 16)] = before[:16]
        commands[8 * message.group_mlx : 8 * message.group_mlx + 8] = message.controls
        self._offboard.take(i, self._point(), commands)

    @receives("MANUAL_CONTROL")
    def _manual_control(self, link: Link, message: MavlinkMessage) -> None:
        if message.target != link.system or self._failures.failed(link.vehicle, STICKS):
            return
        status = self._status[link.vehicle]
        sticks = (
            message.x / 1000,
            message.y / 1000,
            message.r / 1000,
            (message.z / 1000 - _HOVER) / _HOVER,
        )
        _note_rates(status, sticks, (self._clock.t_us - status["stick_t"]) * 1e-6)
        for name, value in zip(_STICKS, sticks):
            status[name] = value
        status["stick_buttons"], status["stick_link"] = message.buttons, link.kind
        status["stick_t"] = self._clock.t_us

    @receives("VISION_POSITION_ESTIMATE")
    def _vision(self, link: Link, message: MavlinkMessage) -> None:
        quat = from_euler(message.roll, message.pitch, message.yaw)
        self._take_vision(link, message.usec, (message.x, message.y, message.z), quat)

    @receives("ODOMETRY")
    def _odometry(self, link: Link, message: MavlinkMessage) -> None:
        if message.frame_id in (mavlink.MAV_FRAME_LOCAL_NED, mavlink.MAV_FRAME_LOCAL_FRD):
            self._take_vision(
                link,
                message.time_usec,
                (message.x, message.y, message.z),
                (message.q[1], message.q[2], message.q[3], message.q[0]),
            )

    def _take_vision(
        self, link: Link, t_us: int, pos: Sequence[float], quat: Sequence[float]
    ) -> None:
        if link.clock_us is not None and abs(link.clock_us) > _SAME_CLOCK_US:
            t_us = round(t_us + link.clock_us)
        pose = np.array([*pos, *quat])
        if abs(np.linalg.norm(pose[3:]) - 1.0) < 0.1:
            place = self._local_origins.to_world(link.vehicle, enu_ned(pose[:3]))
            self._take_pose(link.vehicle, t_us, place, quat_enu_ned(pose[3:]))

    @receives("FOLLOW_TARGET")
    def _follow_target(self, link: Link, message: MavlinkMessage) -> None:
        geo = [[math.radians(message.lat * 1e-7), math.radians(message.lon * 1e-7), message.alt]]
        known = message.est_capabilities & 2 and np.isfinite(message.vel).all()
        vel = enu_ned(message.vel) if known else None
        self._follow.heard(link.vehicle, to_local_array(geo, *self._origin)[0], vel)

    @receives("LANDING_TARGET")
    def _landing_target(self, link: Link, message: MavlinkMessage) -> None:
        """Takes a position in the frame LOCAL_NED, or the angles to a target, as PX4."""
        i = link.vehicle
        if not message.position_valid:
            if not self._landing_targets.take_angles(i, message.angle_x, message.angle_y):
                self._outbox.say_once(
                    i,
                    "LANDING_TARGET ignored: its angles need the distance to the ground of a range "
                    "finder: mount one, or send a position (position_valid, frame LOCAL_NED)",
                )
        elif message.frame != mavlink.MAV_FRAME_LOCAL_NED:
            self._outbox.say_once(
                i, f"Landing target: coordinate frame {message.frame} unsupported\t"
            )
        elif np.isfinite((message.x, message.y, message.z)).all():
            place = self._local_origins.to_world(
                i, enu_ned(np.array([message.x, message.y, message.z]))
            )
            self._landing_targets.take_position(i, self._measured_us(link, message), place)

    def _measured_us(self, link: Link, message: MavlinkMessage) -> int:
        """Simulated time of a measurement; now where its clock is another."""
        t_us, now = int(message.time_usec), self._clock.t_us
        if link.clock_us is not None and abs(link.clock_us) > _SAME_CLOCK_US:
            t_us = round(t_us + link.clock_us)
        return t_us if 0 <= now - t_us <= _LONGEST_DELAY_US else now


def _note_rates(status: Record, sticks: Sequence[float], seconds: float) -> None:
    """Filters how fast the sticks move, as PX4 does for manual_control_setpoint.sticks_moving."""
    if seconds > _STICKS_AWAY_S:
        status["stick_rates"] = 0.0
    elif seconds > 0.0:
        rates = (np.array(sticks) - [status[name] for name in _STICKS]) / seconds
        status["stick_rates"] += (
            seconds / (seconds + _STICK_FILTER_S) * (rates - status["stick_rates"])
        )


def _thrust_body(message: MavlinkMessage) -> np.ndarray:
    """SET_ATTITUDE_TARGET's extension thrust_body, FRD, -1 to 1: the dialect does not know it."""
    frame = bytes(message.get_msgbuf())
    payload = frame[_HEADER : _HEADER + frame[1]] if frame[:1] == b"\xfd" else b""
    return np.array(struct.unpack("<3f", payload[message.unpacker.size :][:12].ljust(12, b"\0")))


def _motion(message: MavlinkMessage) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Velocity (3,), acceleration (3,), yaw and yaw rate of a position target, as of given()."""
    vel, acc = (
        np.array(given(message, "vx", "vy", "vz")),
        np.array(given(message, "afx", "afy", "afz")),
    )
    if message.type_mask & _FORCE and np.isfinite(acc).any():
        raise AutopilotError("forces (type mask 512) are not supported: give accelerations")
    yaw, yaw_rate = given(message, "yaw", "yaw_rate")
    return vel, acc, yaw, yaw_rate


def _turn(vec: Sequence[float] | np.ndarray, yaw: float) -> np.ndarray:
    """A vector (3,) of the heading frame in the world."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([c * vec[0] - s * vec[1], s * vec[0] + c * vec[1], vec[2]])
