"""Velocity control by INDI: the force for the wanted acceleration, less the disturbance.

The attitude follows its set-point with the lag of the loops below. The horizontal feed-forward of
acceleration is therefore taken that much ahead, by its rate of change.
"""

import numpy as np

from xtdrone_autopilot.control.rate import IRIS_TILT_P
from xtdrone_autopilot.control.vector import clamp
from xtdrone_autopilot.interfaces import Estimator
from xtdrone_autopilot.state.vehicle_status import TRAJECTORY
from xtdrone_core import FleetModel
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.constants import GRAVITY

from ..force import follow_jerk, point_force, velocity_gains, wanted_acceleration, within_limits
from .disturbance import IndiLoop
from .half_wings import fly_fleet, follow_fleet

MAX_SIDE, MAX_LIFT = 0.6, 1.0  # largest disturbance that is taken off, over the weight


@njit
def _lead(
    vehicle: Record,
    params: Record,
    axis: int,
    hangs: float,
    dt: float,
    last: np.ndarray,
    jerk: np.ndarray,
) -> float:
    """Returns by how much the feed-forward changes until the attitude has followed [m/s^2].

    A fully actuated vehicle need not turn for it, and wings turn with their path, see turn_rates().

    Args:
        vehicle, params: Records of VEHICLE_STATUS and of the parameters.
        axis: 0 or 1.
        hangs: Share of its flight in which it hangs on its rotors, 0..1.
        dt: Length of the step [s].
        last: (2,) feed-forward of the step before, updated [m/s^2]; NaN = none.
        jerk: (2,) its filtered rate of change, updated [m/s^3].
    """
    jerk[axis] = follow_jerk(vehicle.sp_acc[axis], last[axis], jerk[axis], dt)
    last[axis] = vehicle.sp_acc[axis]
    lag = 1.0 / max(params.MC_ROLL_P, 1.0) + 1.0 / IRIS_TILT_P
    return 0.0 if vehicle.fully_actuated else hangs * lag * jerk[axis]


@njit
def force_for(
    mass: float, ax: float, ay: float, az: float, dx: float, dy: float, dz: float
) -> tuple[float, float, float]:
    """Returns the force for an acceleration [m/s^2], less a disturbance [N]; world [N]."""
    side, lift = MAX_SIDE * mass * GRAVITY, MAX_LIFT * mass * GRAVITY
    return (
        mass * ax - clamp(dx, -side, side),
        mass * ay - clamp(dy, -side, side),
        mass * (az + GRAVITY) - clamp(dz, -lift, lift),
    )


@njit
def control_one(
    vehicle: Record,
    params: Record,
    vel: np.ndarray,
    quat: np.ndarray,
    disturbance: np.ndarray,
    hangs: float,
    dt: float,
    last: np.ndarray,
    jerk: np.ndarray,
) -> None:
    """Writes attitude and thrust set-points of one vehicle.

    Args:
        vehicle, params: Records of VEHICLE_STATUS and of the parameters.
        vel: (3,) world [m/s].
        quat: (4,) xyzw, body to world.
        disturbance: (3,) force, world [N].
        hangs: See _lead().
        dt: Length of the step [s].
        last, jerk: (2,) see _lead().
    """
    horizontal, vertical = velocity_gains(params)
    lead_x = _lead(vehicle, params, 0, hangs, dt, last, jerk)
    lead_y = _lead(vehicle, params, 1, hangs, dt, last, jerk)
    ax = wanted_acceleration(vehicle, 0, horizontal, vel[0]) + lead_x
    ay = wanted_acceleration(vehicle, 1, horizontal, vel[1]) + lead_y
    az = wanted_acceleration(vehicle, 2, vertical, vel[2])
    vehicle.sp_acc[0], vehicle.sp_acc[1], vehicle.sp_acc[2] = ax, ay, az
    for axis in range(3):
        vehicle.vel_integral[axis] = 0.0
    fx, fy, fz = force_for(vehicle.mass, ax, ay, az, disturbance[0], disturbance[1], disturbance[2])
    fx, fy, fz = within_limits(vehicle, params, fx, fy, fz)
    point_force(vehicle, fx, fy, fz, quat, dt)


@fleet_kernel
def control_fleet(
    status: np.ndarray,
    parameters: np.ndarray,
    estimates: np.ndarray,
    disturbance: np.ndarray,
    flies: np.ndarray,
    dt: float,
    last: np.ndarray,
    jerk: np.ndarray,
) -> None:
    """Writes attitude and thrust set-points of a fleet.

    Args:
        status, parameters, estimates: (N,) records of VEHICLE_STATUS, parameters and ESTIMATE.
        disturbance: (N, 3) force, world [N].
        flies: (N,) share of the flight on half wings, 0..1.
        dt: Length of the step [s].
        last, jerk: (N, 2) see _lead().
    """
    for i in range(len(status)):
        if status[i].vehicle_type == MULTICOPTER and status[i].sp_kind == TRAJECTORY:
            control_one(
                status[i],
                parameters[i],
                estimates[i].vel,
                estimates[i].quat,
                disturbance[i],
                1.0 - flies[i],
                dt,
                last[i],
                jerk[i],
            )


class IndiVelocityControl(IndiLoop):
    """INDI: velocity error to attitude and thrust, with wind and payload measured."""

    MEMORY = (*IndiLoop.MEMORY, "_last", "_jerk", "_pose", "_path")

    def __init__(self, fleet: FleetModel) -> None:
        """Starts without set-points."""
        self._last, self._jerk = np.full((fleet.n, 2), np.nan), np.zeros((fleet.n, 2))
        self._pose = np.tile([np.nan, 0.0, 1.0], (fleet.n, 1))
        self._path = np.zeros((fleet.n, 12))

    def step(
        self, status: np.ndarray, parameters: np.ndarray, estimator: Estimator, dt: float
    ) -> None:
        """Steps the vehicles whose sp_kind is TRAJECTORY by dt [s]."""
        wings = self.disturbance.wings
        if wings.any:
            follow_fleet(status, wings.sums, dt, self._path)
        control_fleet(
            status,
            parameters,
            estimator.records,
            self.disturbance.force,
            self._pose[:, 1],
            dt,
            self._last,
            self._jerk,
        )
        if wings.any:
            fly_fleet(
                status,
                parameters,
                estimator.records,
                wings.sums,
                wings.force,
                wings.stands,
                dt,
                self._pose,
                self._path,
                wings.turn,
            )
