"""Interfaces of the replaceable parts of the flight stack.

A scenario names each part as `module:Class`; docs/autopilot.md has a worked
example. Every part serves the whole fleet. World ENU, body FLU, SI units,
quaternions xyzw (body to world).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from xtdrone_core import FleetModel, SensorBatch
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.quaternion import rotate, to_euler

from .errors import AutopilotError
from .options import PARTS
from .state.estimator_flags import TESTS

ESTIMATE = np.dtype(
    [
        ("pos", "f8", (3,)),
        ("vel", "f8", (3,)),
        ("quat", "f8", (4,)),
        ("ang_vel", "f8", (3,)),
        ("gyro_bias", "f8", (3,)),
        ("accel_bias", "f8", (3,)),
        ("field_bias", "f8", (3,)),
        ("terrain", "f8"),
        ("wind", "f8", (2,)),
        ("ready", "?"),
        ("flags", "i8"),
        ("test_ratios", "f8", (len(TESTS),)),
        ("pos_std", "f8", (3,)),
        ("vel_std", "f8", (3,)),
        ("att_std", "f8", (3,)),
        ("reset_count", "i8"),
        ("reset_pos", "f8", (3,)),
        ("landed", "?"),
        ("on_wings", "?"),
        ("gps_pos", "f8", (3,)),
        ("range_pos", "f8", (3,)),
        ("range_axis", "f8", (3,)),
        ("airspeed_axis", "f8", (3,)),
        ("imu_pos", "f8", (3,)),
    ],
    align=True,
)
_MOUNTS = ("gps_pos", "range_pos", "range_axis", "airspeed_axis", "imu_pos")
_MIN_ARM = 0.05  # shortest lever of an IMU that counts: others change readings less than noise [m]


class Estimator(Memory):
    """Base class of estimators; inherit and implement step().

    Positions are relative to the world's origin, which all vehicles share. The
    arrays lead with the vehicle and are overwritten in place at every step. Those
    marked INPUT are written by the flight stack. Leave attributes that
    your estimator does not provide at their initial values. To support reset, save and
    load, list "records" and the other state variables in MEMORY; without it, these raise
    an error.

    Attributes:
        records: (N,) of ESTIMATE, what compiled kernels take; the others are views of its fields.
        pos: (N, 3) centre of gravity from the world's origin, ENU [m].
        vel: (N, 3) ENU [m/s].
        quat: (N, 4) xyzw, body to world.
        ang_vel: (N, 3) gyro less its bias, body [rad/s].
        gyro_bias: (N, 3) [rad/s].
        accel_bias: (N, 3) [m/s^2].
        field_bias: (N, 3) of the magnetometer, body [T].
        terrain: (N,) height of the ground below it, world z [m]; NaN = not known.
        wind: (N, 2) of the air, east and north [m/s]; NaN = not known.
        ready: (N,) bool, good enough to arm and fly on.
        flags: (N,) int64, bits of state.estimator_flags: ALIGNED (attitude is known),
            POSITION_VALID (position is known), GPS_USED, VISION_USED, BARO_USED, MAG_USED,
            RANGE_USED, AIRSPEED_USED, SIDESLIP_USED (aid sources in use), AT_REST. Failsafes
            depend on them: no GPS_USED and no VISION_USED in flight counts as position lost, no
            ALIGNED as a failed estimator.
        test_ratios: (N, 9) innovations over their gates, squared; above 1 the reading was
            rejected. Columns as in TESTS.
        pos_std: (N, 3) standard deviation of pos [m].
        vel_std: (N, 3) [m/s].
        att_std: (N, 3) of rotations about the world's axes [rad].
        reset_count: (N,) int64, how often pos jumped after the first fix.
        reset_pos: (N, 3) by how much it jumped last [m].
        landed: (N,) bool, INPUT: the vehicle is on the ground.
        on_wings: (N,) bool, INPUT: it flies on its wings, with little sideslip.
        gps_pos: (N, 3) INPUT: GPS antenna from the centre of gravity, body [m].
        range_pos: (N, 3) INPUT: range finder from the centre of gravity, body [m].
        range_axis: (N, 3) INPUT: unit vector of its beam, body.
        airspeed_axis: (N, 3) INPUT: unit vector of the pitot tube, body.
        has_gps: (N,) bool, INPUT: it carries a GPS receiver.
        imu_pos: (N, 3) INPUT: IMU from the centre of gravity, body [m]; 0 where it is near.
    """

    # Views of the records' fields, which the constructor makes.
    records: np.ndarray
    pos: np.ndarray
    vel: np.ndarray
    quat: np.ndarray
    ang_vel: np.ndarray
    gyro_bias: np.ndarray
    accel_bias: np.ndarray
    field_bias: np.ndarray
    terrain: np.ndarray
    wind: np.ndarray
    ready: np.ndarray
    flags: np.ndarray
    test_ratios: np.ndarray
    pos_std: np.ndarray
    vel_std: np.ndarray
    att_std: np.ndarray
    reset_count: np.ndarray
    reset_pos: np.ndarray
    landed: np.ndarray
    on_wings: np.ndarray
    gps_pos: np.ndarray
    range_pos: np.ndarray
    range_axis: np.ndarray
    airspeed_axis: np.ndarray
    imu_pos: np.ndarray

    def __init__(self, n: int, origin: Sequence[float], magnetic_field_enu: npt.ArrayLike):
        """The estimator of n vehicles, not initialised yet.

        Args:
            n: Number of vehicles.
            origin: The world's latitude, longitude [rad] and height [m].
            magnetic_field_enu: (3,) the Earth's field as a model has it [T].
        """
        self.origin = tuple(float(x) for x in origin)
        self.field = np.array(magnetic_field_enu, dtype=np.float64)
        self.records = np.zeros(n, dtype=ESTIMATE)
        self._mounted = False
        self.has_gps = np.ones(n, dtype=bool)
        for name in ESTIMATE.names or ():
            setattr(self, name, self.records[name])
        self._clear(np.ones(n, dtype=bool))

    def step(self, sensors: SensorBatch, parameters: np.ndarray | None = None) -> None:
        """Takes the readings of one step of 4 ms; overwrites the attributes in place.

        Args:
            sensors: The readings; its *_new flags mark new ones.
            parameters: (N,) records of the flight stack's parameters, a field for each name of
                effects.csv; None = their defaults.
        """
        raise NotImplementedError

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Resets vehicles (mask (N,) bool, None for all); their sensor mounts are kept.

        An estimator that can be reset, saved and loaded lists its state variables in
        MEMORY: `records`, and its own ones, which its reset() clears as well.
        """
        self._clear(np.ones(self.n, dtype=bool) if mask is None else mask)

    def fuse_vision(self, i: int, t_us: int, pos: npt.ArrayLike, quat: npt.ArrayLike) -> None:
        """Takes a pose of vehicle i from outside, after the step that it follows.

        Args:
            i: The vehicle.
            t_us: Simulated time at which the pose was true [us].
            pos: (3,) centre of gravity, world [m].
            quat: (4,) xyzw, body to world.
        """

    def fuse_velocity(self, i: int, vel: np.ndarray, variance: np.ndarray) -> None:
        """Takes a velocity of vehicle i over ground, after the step that it follows.

        Args:
            i: The vehicle.
            vel: (2,) east and north [m/s].
            variance: (2,) [m^2/s^2].
        """

    def why_not_ready(self, i: int) -> str:
        """Why vehicle i is not ready, for its user; empty where it is ready."""
        return "" if self.ready[i] else "it has not settled yet"

    def mount(self, fleet: FleetModel) -> None:
        """Reads the mounting positions of sensors from the vehicles' files."""
        for i, vehicle in enumerate(fleet.vehicles):
            self.has_gps[i] = any(block.kind == "gps" for block in vehicle.sensors)
            for block in vehicle.sensors:
                if block.kind in ("gps", "range"):
                    getattr(self, f"{block.kind}_pos")[i] = block.pos
                if block.kind == "imu" and np.linalg.norm(block.pos) >= _MIN_ARM:
                    self.imu_pos[i] = block.pos
                if block.kind in ("range", "airspeed"):
                    getattr(self, f"{block.kind}_axis")[i] = rotate(*block.quat, 1.0, 0.0, 0.0)

    @property
    def n(self) -> int:
        """Number of vehicles."""
        return len(self.pos)

    def test_ratio(self, source: str) -> np.ndarray:
        """The test ratios of one aid source of TESTS for the fleet: (N,)."""
        return self.test_ratios[:, TESTS.index(source)]

    def yaw(self, i: int) -> float:
        """Heading of vehicle i, counter-clockwise from east [rad]."""
        return to_euler(*self.quat[i])[2]

    def _clear(self, mask: np.ndarray) -> None:
        """Clears the estimates of these vehicles; sensor mounts are kept."""
        mounts = (
            {name: self.records[name][mask] for name in _MOUNTS}
            if self._mounted
            else {"range_axis": (0.0, 0.0, -1.0), "airspeed_axis": (1.0, 0.0, 0.0)}
        )
        self.records[mask] = np.zeros((), dtype=ESTIMATE)
        self.quat[mask, 3] = 1.0
        self.terrain[mask], self.wind[mask] = np.nan, np.nan
        for name, value in mounts.items():
            self.records[name][mask] = value
        self._mounted = True


class ControlLoop(Protocol):
    """One loop of the cascade: it reads and writes sp_* of VEHICLE_STATUS.

    | part             | acts where sp_kind is | reads                             | writes       |
    |------------------|-----------------------|-----------------------------------|--------------|
    | position_control | TRAJECTORY            | sp_pos [m], sp_vel [m/s]          | sp_vel       |
    | velocity_control | TRAJECTORY            | sp_vel, sp_acc [m/s^2], sp_yaw    | sp_quat,     |
    |                  |                       | [rad], sp_yaw_rate [rad/s], ramp  | sp_thrust,   |
    |                  |                       |                                   | sp_side_force|
    | attitude_control | TRAJECTORY, ATTITUDE  | sp_quat, sp_yaw_rate              | sp_rates     |
    | rate_control     | any but NO_SET_POINT  | sp_rates [rad/s], body            | sp_torque    |

    sp_thrust [N] is along the body's z axis, sp_torque [N m] about the body's
    axes. NaN in sp_pos, sp_vel, sp_acc, sp_yaw and sp_yaw_rate means 'not
    controlled'. `ramp` (0..1) is the fraction of thrust allowed during take-off;
    integrators should rest while `landed`.

    The loops of position and velocity step every 8 ms, those of attitude and rates and the mixer
    every 4 ms. Where sp_kind is another, a loop leaves everything as it is: in a fleet of which
    some vehicles were reset, not all fly their trajectory at the same steps.

    A loop of velocity or rates whose class says FLIES_HALF_WINGS = True flies tail-sitters on half
    wings at all speeds: where both do, they change to fixed-wing flight as VTOLs.

    So that a flight can be reset, saved and loaded, a loop inherits from
    xtdrone_core.runs.snapshot.Memory and lists its state variables, rows (N, ...), in MEMORY.
    """

    def __init__(self, fleet: FleetModel):
        """The loop of a fleet. Mass, inertia and thrust are also in the vehicles' records."""

    def step(
        self, status: np.ndarray, parameters: np.ndarray, estimator: Estimator, dt: float
    ) -> None:
        """One step for the whole fleet.

        Args:
            status: (N,) records of vehicle_status.VEHICLE_STATUS; status["sp_pos"] is (N, 3).
            parameters: (N,) records of the flight stack's parameters.
            estimator: The fleet's estimated state.
            dt: Length of the step [s].
        """


class ActuatorFeedback(Protocol):
    """What the actuators did, as INDI needs it: measured once for all loops that use it."""

    def __init__(self, fleet: FleetModel):
        """The feedback of a fleet."""

    def step(
        self,
        status: np.ndarray,
        estimator: Estimator,
        sensors: SensorBatch,
        commands: np.ndarray,
        dt: float,
    ) -> None:
        """Called every 4 ms, before the loops.

        Args:
            status: (N,) records of vehicle_status.VEHICLE_STATUS.
            estimator: The fleet's estimated state, after this step's readings.
            sensors: The readings.
            commands: (N, A) commands that acted during the last dt.
            dt: Length of the step [s].
        """


@runtime_checkable
class UsesFeedback(Protocol):
    """A loop that uses feedback of the actuators; FEEDBACK is its class."""

    FEEDBACK: type[ActuatorFeedback]

    def take_feedback(self, feedback: Any) -> None:  # an object of FEEDBACK
        """Takes the feedback that the loops of this class share, when all loops are made."""


class Mixer(Protocol):
    """Turns sp_thrust [N] and sp_torque [N m] of the vehicles into commands.

    Of rotors and of the servos that tilt them; of fully actuated vehicles also sp_side_force [N].

    To be reset, saved and loaded it inherits from Memory, as a ControlLoop.
    """

    def __init__(self, fleet: FleetModel):
        """The mixer of a fleet, whose arrays hold geometry and coefficients of the rotors."""

    def use_rotors(self, i: int, used: np.ndarray) -> None:
        """Flies vehicle i with some of its rotors: used is (R,) bool."""

    def step(
        self,
        status: np.ndarray,
        parameters: np.ndarray,
        estimator: Estimator,
        dt: float,
        commands: np.ndarray,
    ) -> None:
        """Writes commands (N, R) in 0..1: 0 if disarmed or padding, idle without a set-point."""


def classes(**names: str) -> dict:
    """The class of each part of the flight stack.

    Args:
        **names: For parts of options.PARTS, a registered name or `module:Class`;
            parts left out are embedded.

    Raises:
        XtdroneError: No such class, or one that cannot be that part.
    """
    found = {}
    for part, group in PARTS.items():
        found[part] = group.load(names.get(part, "embedded"))
    if found["estimator"].step is Estimator.step:
        raise AutopilotError(
            f"estimator '{names['estimator']}' has no step(): see xtdrone_autopilot.interfaces"
        )
    return found


def fly_half_wings(parts: Mapping[str, type]) -> bool:
    """Whether the control loops among these parts fly half wings at all speeds, and so as VTOLs."""
    return all(
        getattr(parts[part], "FLIES_HALF_WINGS", False)
        for part in ("velocity_control", "rate_control")
    )


def build(part: str, kind: type, *args: Any) -> Any:  # as the protocol of the part says
    """Makes a part.

    Raises:
        AutopilotError: It cannot be made so.
    """
    try:
        return kind(*args)
    except TypeError as error:
        raise AutopilotError(
            f"{part} '{kind.__module__}:{kind.__qualname__}' cannot be made: "
            f"{error}; see xtdrone_autopilot.interfaces"
        ) from error


def share_feedback(parts: Iterable[object], fleet: FleetModel) -> list[ActuatorFeedback]:
    """Gives each part that uses feedback an object that all of its kind share; returns those."""
    made: dict[type[ActuatorFeedback], ActuatorFeedback] = {}
    for part in parts:
        if isinstance(part, UsesFeedback):
            if part.FEEDBACK not in made:
                made[part.FEEDBACK] = part.FEEDBACK(fleet)
            part.take_feedback(made[part.FEEDBACK])
    return list(made.values())
