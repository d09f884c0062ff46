"""Camera mounts: the servos whose control channels are gimbal_roll, gimbal_pitch and gimbal_yaw.

They hold the camera level, as gimbals that stabilise it do: roll and pitch count from the horizon,
yaw from the vehicle's heading or, locked, from north. A region of interest is looked at wherever
the vehicle flies. They turn while the vehicle is disarmed, too. The autopilot does not measure
where they are; what it reports is the target, as PX4's mounts without encoders do.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from xtdrone_core import FleetModel, Servo
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.camera_mount import AXES, mount_servos, sense
from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.quaternion import from_euler, multiply, to_matrix

from ..control.vector import clamp, wrap_pi, yaw_of
from ..interfaces import Estimator
from ..state.answer import ACCEPTED, DENIED, NO_ANSWER, Answer
from ..state.clock import StepClock
from ..state.handlers import MessageSource, handles, streams

ROLL, PITCH, YAW = range(3)
NORTH = 0.5 * math.pi  # about up from east [rad]
_AIMED = mavlink.MAV_MOUNT_MODE_MAVLINK_TARGETING
_STRAIGHT = (mavlink.MAV_MOUNT_MODE_RETRACT, mavlink.MAV_MOUNT_MODE_NEUTRAL)

MOUNT = np.dtype(
    [
        ("angles", "f8", (3,)),  # roll and pitch from the horizon, yaw from the heading [rad]
        ("rates", "f8", (3,)),  # rates at which the angles go on [rad/s]
        ("bearing", "f8"),  # bearing of a locked yaw, from north [rad]; NaN = it turns along
        ("roi", "f8", (3,)),  # what it looks at, world [m], NaN = nothing
    ],
    align=True,
)
_SERVOS = np.dtype(
    [  # servos of the three axes
        ("index", "i8", (3,)),  # among the vehicle's actuators, -1 = it has no such axis
        ("sense", "f8", (3,)),  # as of sense()
        ("scaling", "f8", (3,)),
        ("zero", "f8", (3,)),
        ("lower", "f8", (3,)),
        ("upper", "f8", (3,)),
        ("range", "f8", (3, 2)),  # least and largest angle [rad]
    ],
    align=True,
)


def _has_mount(mount: "Mount") -> np.ndarray:
    return mount.fitted


@njit
def _update(mount: Record, servo: Record, pos: np.ndarray, heading: float, dt: float) -> None:
    """Angles of a moment: those at rest, those that go on, or towards the region of interest."""
    if math.isfinite(mount.roi[0]):
        dx, dy, dz = mount.roi[0] - pos[0], mount.roi[1] - pos[1], mount.roi[2] - pos[2]
        far = math.hypot(dx, dy)
        mount.angles[ROLL] = 0.0
        mount.angles[PITCH] = math.atan2(dz, far)
        mount.angles[YAW] = wrap_pi(heading - math.atan2(dy, dx)) if far > 0.0 else 0.0
        return
    for axis in range(3):
        if mount.rates[axis] != 0.0:
            mount.angles[axis] = clamp(
                mount.angles[axis] + mount.rates[axis] * dt,
                servo.range[axis, 0],
                servo.range[axis, 1],
            )
    if math.isfinite(mount.bearing):
        mount.bearing = wrap_pi(mount.bearing + mount.rates[YAW] * dt)
        mount.angles[YAW] = wrap_pi(mount.bearing - (NORTH - heading))


@njit
def _joint_angles(
    mount: Record, quat: np.ndarray, heading: float, rolls: bool, turns: bool
) -> tuple[float, float, float]:
    """Roll, pitch and yaw of the camera in the vehicle: by yaw, then roll, then pitch [rad].

    Without a servo for the roll only the optical axis is where it should be.
    """
    yaw = heading - mount.angles[YAW] if turns else heading
    wanted = from_euler(mount.angles[ROLL], -mount.angles[PITCH], yaw)
    qx, qy, qz, qw = multiply(
        -quat[0], -quat[1], -quat[2], quat[3], wanted[0], wanted[1], wanted[2], wanted[3]
    )
    r00, r01, _, r10, r11, _, r20, r21, r22 = to_matrix(qx, qy, qz, qw)
    if rolls:
        return (math.asin(clamp(r21, -1.0, 1.0)), -math.atan2(-r20, r22), -math.atan2(-r01, r11))
    return 0.0, math.atan2(r20, math.hypot(r00, r10)), -math.atan2(r10, r00)


@njit
def _apply(
    mounts: np.ndarray,
    servos: np.ndarray,
    fitted: np.ndarray,
    estimates: np.ndarray,
    dt: float,
    commands: np.ndarray,
) -> None:
    for i in fitted:
        mount, servo = mounts[i], servos[i]
        quat = estimates[i].quat
        heading = yaw_of(quat)
        _update(mount, servo, estimates[i].pos, heading, dt)
        angles = _joint_angles(mount, quat, heading, servo.index[ROLL] >= 0, servo.index[YAW] >= 0)
        for axis in range(3):
            k = servo.index[axis]
            if k >= 0:
                commands[i, k] = clamp(
                    (servo.sense[axis] * angles[axis] - servo.zero[axis]) / servo.scaling[axis],
                    servo.lower[axis],
                    servo.upper[axis],
                )


class Mount(Memory):
    """The camera mounts of a fleet.

    Attributes:
        fitted: (N,) bool, which vehicles have one.
        records: (N,) of MOUNT.
        angles: (N, 3) targets of roll, pitch and yaw [rad]; pitch is negative downwards, yaw
            positive to the right.
    """

    MEMORY = ("records",)

    def __init__(self, fleet: FleetModel, estimator: Estimator, clock: StepClock) -> None:
        """All mounts look straight ahead; the estimator gives positions and attitudes."""
        self._estimator, self._clock = estimator, clock
        self.records = np.zeros(fleet.n, dtype=MOUNT)
        self.angles = self.records["angles"]
        self._servos = np.zeros(fleet.n, dtype=_SERVOS)
        self._servos["index"] = -1
        for i, vehicle in enumerate(fleet.vehicles):
            for k, servo in mount_servos(vehicle).items():
                self._add(i, k, AXES.index(servo.name), servo, sense(vehicle, servo))
        self.fitted = (self._servos["index"] >= 0).any(axis=1)
        self._numbers = np.flatnonzero(self.fitted)
        self.look_ahead(slice(None))
        self.remember_start()

    def _add(self, i: int, k: int, axis: int, servo: Servo, turns: float) -> None:
        row = self._servos[i]
        row["index"][axis], row["sense"][axis] = k, turns
        row["scaling"][axis], row["zero"][axis] = servo.input_scaling, servo.zero_position_armed
        row["lower"][axis], row["upper"][axis] = servo.lower, servo.upper
        row["range"][axis] = sorted((turns * servo.joint_lower, turns * servo.joint_upper))

    def apply(self, commands: np.ndarray, dt: float) -> None:
        """Writes the servos' commands into those of all actuators (N, A).

        Args:
            commands: Commands of this step.
            dt: Its length [s].
        """
        if len(self._numbers):
            _apply(self.records, self._servos, self._numbers, self._estimator.records, dt, commands)

    def turns(self, i: int) -> bool:
        """Whether the mount of vehicle i turns about the vertical."""
        return bool(self._servos["index"][i, YAW] >= 0)

    def heading(self, i: int) -> float:
        """Returns the heading of vehicle i, clockwise from north [rad]."""
        return NORTH - self._estimator.yaw(i)

    def ranges(self, i: int) -> np.ndarray:
        """(3, 2) least and largest roll, pitch and yaw of vehicle i's mount [rad]."""
        return self._servos["range"][i]

    def look_ahead(self, i: int | slice) -> None:
        """Looks straight ahead, level."""
        rows = self.records[i : i + 1] if isinstance(i, int) else self.records[i]
        rows["angles"], rows["rates"], rows["bearing"], rows["roi"] = 0.0, 0.0, np.nan, np.nan

    def turn(
        self, i: int, angles: npt.ArrayLike, rates: npt.ArrayLike = 0.0, from_north: bool = False
    ) -> None:
        """Turns to angles, (3,) roll, pitch and yaw [rad].

        Args:
            i: The vehicle.
            angles: NaN = goes on from where it is, at its rate.
            rates: Rates of these angles [rad/s].
            from_north: Whether yaw counts from north and is held there, or from the heading.
        """
        mount, angles = self.records[i], np.asarray(angles, dtype=float)
        known = np.isfinite(angles)
        mount["angles"][known] = angles[known]
        mount["rates"] = np.where(known | ~np.isfinite(rates), 0.0, rates)
        mount["bearing"], mount["roi"] = np.nan, np.nan
        if from_north:
            heading = self.heading(i)
            mount["bearing"] = mount["angles"][YAW] + (0.0 if known[YAW] else heading)
            mount["angles"][YAW] = wrap_pi(mount["bearing"] - heading)

    def look_at(self, i: int, position: Sequence[float] | np.ndarray | None) -> None:
        """Looks at a place from now on.

        Args:
            i: The vehicle.
            position: (3,) world [m]; None, or a place that is not known, = straight ahead. A height
                that is not known is the vehicle's.
        """
        self.look_ahead(i)
        if position is not None and np.isfinite(position[:2]).all():
            here = self._estimator.pos[i]
            self.records["roi"][i] = np.where(np.isfinite(position), position, here)

    @handles(mavlink.MAV_CMD_DO_MOUNT_CONFIGURE)
    def _configure(self, link: MessageSource, params: Sequence[float]) -> Answer:
        return self._answer(link, params[0], None)

    @handles(mavlink.MAV_CMD_DO_MOUNT_CONTROL)
    def _control(self, link: MessageSource, params: Sequence[float]) -> Answer:
        return self._answer(link, params[6], (params[1], params[0], params[2]))

    def _answer(self, link: MessageSource, mode: float, degrees: Sequence[float] | None) -> Answer:
        """Changes to a MAV_MOUNT_MODE, and to roll, pitch and yaw [deg] where they are given."""
        i = link.vehicle
        if not self.fitted[i]:
            return Answer(NO_ANSWER, "this vehicle has no camera mount")
        if mode in _STRAIGHT:
            self.look_ahead(i)
        elif mode != _AIMED:
            return Answer(
                DENIED,
                f"mount mode {mode:g} is not supported: 2 takes angles, 0 and 1 "
                "look straight ahead",
            )
        elif degrees is not None:
            if not all(map(math.isfinite, degrees)):
                return Answer(DENIED, "the angles of a mount have to be numbers")
            self.turn(i, np.radians(degrees))
        return Answer(ACCEPTED)

    @streams("MOUNT_ORIENTATION", offboard=10, where=_has_mount)
    def _orientation(self, message: np.ndarray, t_us: int) -> None:
        message["time_boot_ms"] = t_us // 1000
        message["roll"], message["pitch"], message["yaw"] = np.degrees(self.angles).T
        heading = np.degrees([self.heading(i) for i in range(len(self.angles))])
        message["yaw_absolute"] = (message["yaw"] + heading) % 360.0
