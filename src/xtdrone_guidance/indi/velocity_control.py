"""Velocity control by INDI: the force for the wanted acceleration, less the disturbance.

The attitude follows its set-point with the lag of the loops below. The horizontal feed-forward of
acceleration is therefore taken that much ahead, by its rate of change.
"""

import math

import numpy as np

from xtdrone_autopilot.control.rate import IRIS_TILT_P
from xtdrone_autopilot.control.vector import clamp, limit_norm2
from xtdrone_autopilot.control.velocity import point_thrust, yaw_set_point
from xtdrone_autopilot.interfaces import Estimator
from xtdrone_autopilot.state.vehicle_status import STAGE_FLIGHT, TRAJECTORY
from xtdrone_core import FleetModel
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.constants import GRAVITY

from .disturbance import IndiLoop

# Gains where the parameters have PX4's defaults, which stand behind them [1/s]. The horizontal one
# is higher than PX4's, whose integral part and damping are not needed here.
HORIZONTAL_GAIN, VERTICAL_GAIN = 3.5, 5.0
PX4_HORIZONTAL_GAIN, PX4_VERTICAL_GAIN = 1.8, 4.0
JERK_FILTER_S = 0.03  # time constant of the feed-forward's rate of change [s]
AGENT_STEPS = 5.0  # set-points may come this many times slower than the loop steps
MAX_JERK = 40.0  # a faster change is a jump from one set-point to another [m/s^3]
MAX_SIDE, MAX_LIFT = 0.6, 1.0  # largest disturbance that is taken off, over the weight
MIN_LIFT = 0.05  # smallest vertical force that is asked for, over the weight


@njit
def _acceleration(vehicle: Record, axis: int, gain: float, vel: float) -> float:
    """Returns the acceleration set-point of an axis [m/s^2]; NaN set-points count as none."""
    wanted = vehicle.sp_acc[axis] if math.isfinite(vehicle.sp_acc[axis]) else 0.0
    if math.isfinite(vehicle.sp_vel[axis]):
        wanted += gain * (vehicle.sp_vel[axis] - vel)
    return wanted


@njit
def _lead(
    vehicle: Record, params: Record, axis: int, dt: float, last: np.ndarray, jerk: np.ndarray
) -> float:
    """Returns by how much the feed-forward changes until the attitude has followed [m/s^2].

    A fully actuated vehicle need not turn for it.

    Args:
        vehicle, params: Records of VEHICLE_STATUS and of the parameters.
        axis: 0 or 1.
        dt: Length of the step [s].
        last: (2,) feed-forward of the step before, updated [m/s^2]; NaN = none.
        jerk: (2,) its filtered rate of change, updated [m/s^3].
    """
    change = (vehicle.sp_acc[axis] - last[axis]) / dt
    last[axis] = vehicle.sp_acc[axis]
    if not abs(change) <= MAX_JERK * AGENT_STEPS:
        change = jerk[axis] if math.isfinite(last[axis]) else 0.0
    jerk[axis] += dt / (JERK_FILTER_S + dt) * (change - jerk[axis])
    lag = 1.0 / max(params.MC_ROLL_P, 1.0) + 1.0 / IRIS_TILT_P
    return 0.0 if vehicle.fully_actuated else lag * jerk[axis]


@njit
def _limited(
    vehicle: Record, params: Record, fx: float, fy: float, fz: float
) -> tuple[float, float, float]:
    """Returns a force within the limits of thrust and tilt: the vertical part goes first [N]."""
    lowest = MIN_LIFT * vehicle.mass * GRAVITY if vehicle.stage == STAGE_FLIGHT else 1e-3
    highest = params.MPC_THR_MAX * vehicle.thrust_max
    fz = clamp(fz, lowest, highest)
    maximum = max(vehicle.mass * GRAVITY, fz) if params.MPC_ACC_DECOUPLE != 0 else fz
    fx, fy = limit_norm2(fx, fy, maximum * math.tan(vehicle.tilt_limit))
    fx, fy = limit_norm2(fx, fy, math.sqrt(max(highest * highest - fz * fz, 0.0)))
    return fx, fy, fz


@fleet_kernel
def control_fleet(
    status: np.ndarray,
    parameters: np.ndarray,
    estimates: np.ndarray,
    disturbance: np.ndarray,
    dt: float,
    last: np.ndarray,
    jerk: np.ndarray,
) -> None:
    """Writes attitude and thrust set-points of a fleet.

    Args:
        status, parameters, estimates: (N,) records of VEHICLE_STATUS, parameters and ESTIMATE.
        disturbance: (N, 3) force, world [N].
        dt: Length of the step [s].
        last, jerk: (N, 2) see _lead().
    """
    for i in range(len(status)):
        vehicle, params = status[i], parameters[i]
        if vehicle.vehicle_type != MULTICOPTER or vehicle.sp_kind != TRAJECTORY:
            continue
        vel, quat = estimates[i].vel, estimates[i].quat
        horizontal = HORIZONTAL_GAIN * (params.MPC_XY_VEL_P_ACC / PX4_HORIZONTAL_GAIN)
        vertical = VERTICAL_GAIN * (params.MPC_Z_VEL_P_ACC / PX4_VERTICAL_GAIN)
        lead_x = _lead(vehicle, params, 0, dt, last[i], jerk[i])
        lead_y = _lead(vehicle, params, 1, dt, last[i], jerk[i])
        ax = _acceleration(vehicle, 0, horizontal, vel[0]) + lead_x
        ay = _acceleration(vehicle, 1, horizontal, vel[1]) + lead_y
        az = _acceleration(vehicle, 2, vertical, vel[2])
        vehicle.sp_acc[0], vehicle.sp_acc[1], vehicle.sp_acc[2] = ax, ay, az
        vehicle.vel_integral[:] = 0.0
        side, lift = MAX_SIDE * vehicle.mass * GRAVITY, MAX_LIFT * vehicle.mass * GRAVITY
        fx, fy, fz = _limited(
            vehicle,
            params,
            vehicle.mass * ax - clamp(disturbance[i, 0], -side, side),
            vehicle.mass * ay - clamp(disturbance[i, 1], -side, side),
            vehicle.mass * (az + GRAVITY) - clamp(disturbance[i, 2], -lift, lift),
        )
        newtons = math.sqrt(fx * fx + fy * fy + fz * fz)
        point_thrust(
            vehicle,
            fx / newtons,
            fy / newtons,
            fz / newtons,
            newtons,
            yaw_set_point(vehicle, quat, dt),
            quat,
        )


class IndiVelocityControl(IndiLoop):
    """INDI: velocity error to attitude and thrust, with wind and payload measured."""

    MEMORY = (*IndiLoop.MEMORY, "_last", "_jerk")

    def __init__(self, fleet: FleetModel) -> None:
        """Starts without set-points."""
        self._last, self._jerk = np.full((fleet.n, 2), np.nan), np.zeros((fleet.n, 2))

    def step(
        self, status: np.ndarray, parameters: np.ndarray, estimator: Estimator, dt: float
    ) -> None:
        """Steps the vehicles whose sp_kind is TRAJECTORY by dt [s]."""
        control_fleet(
            status,
            parameters,
            estimator.records,
            self.disturbance.force,
            dt,
            self._last,
            self._jerk,
        )
