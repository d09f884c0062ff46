"""Body-rate control: rate error to torque.

The torque is the inertia times a PI law on the rate error, plus the gyroscopic term of XTDrone (2).
"""

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.rigid_body import symmetric_product
from xtdrone_dynamics.shapes import Symmetric, Vector

from ..interfaces import Estimator
from ..state.vehicle_status import ACTUATORS, NO_SET_POINT
from .vector import clamp

# PX4's gains give a normalised torque, which accelerates each vehicle differently. The gains here
# give the angular acceleration. A parameter acts relative to PX4's default for the iris, for which
# the gains are those below [1/s], [1/s^2], and the limit of the integral is IRIS_INT_LIM [rad/s^2].
# If the largest angular acceleration of a vehicle exceeds that of the iris, IRIS_TURN_MAX
# [rad/s^2], the limit grows by the excess times PX4's parameter.
IRIS_TILT_P, IRIS_YAW_P, IRIS_TILT_I, IRIS_YAW_I = 20.0, 8.0, 20.0, 4.0
IRIS_INT_LIM, IRIS_TURN_MAX = 6.0, 101.0
PX4_TILT_P, PX4_YAW_P, PX4_TILT_I, PX4_YAW_I, PX4_INT_LIM = np.array(
    [0.15, 0.2, 0.2, 0.1, 0.3], dtype=np.float32
).tolist()


@njit
def one_rate(
    set_point: float,
    rate: float,
    integral: float,
    gain: float,
    integral_gain: float,
    limit: float,
    integrates: bool,
    dt: float,
) -> tuple[float, float]:
    """Steps the PI law of one axis.

    Args:
        set_point, rate: Body rate set-point and body rate [rad/s].
        integral: Integral part [rad/s^2].
        gain: Proportional gain [1/s].
        integral_gain: [1/s^2].
        limit: Limit of the integral part [rad/s^2].
        integrates: Whether the integral part changes.
        dt: Length of the step [s].

    Returns:
        (angular acceleration, new integral part) [rad/s^2].
    """
    error = set_point - rate
    after = clamp(integral + integral_gain * error * dt, -limit, limit)
    return gain * error + integral, after if integrates else integral


@njit
def torque_of(
    ax: float, ay: float, az: float, wx: float, wy: float, wz: float, j: Symmetric
) -> Vector:
    """Returns the torque for an angular acceleration, with the gyroscopic term [N m].

    Args:
        ax, ay, az: Angular acceleration, body [rad/s^2].
        wx, wy, wz: Body rates [rad/s].
        j: Inertia, packed, body [kg m^2].
    """
    lx, ly, lz = symmetric_product(j, wx, wy, wz)
    tx, ty, tz = symmetric_product(j, ax, ay, az)
    return tx + wy * lz - wz * ly, ty + wz * lx - wx * lz, tz + wx * ly - wy * lx


@njit
def _integral_limit(int_lim: float, turn_max: float) -> float:
    """Returns an integral limit [rad/s^2], for PX4's parameter and turn_max of VEHICLE_STATUS."""
    return IRIS_INT_LIM * (int_lim / PX4_INT_LIM) + int_lim * max(0.0, turn_max - IRIS_TURN_MAX)


@njit
def rate_gains(vehicle: Record, params: Record) -> tuple[Vector, Vector, Vector]:
    """Returns gains, integral gains and integral limits of the three axes, by the parameters."""
    return (
        (
            IRIS_TILT_P * params.MC_ROLLRATE_K * (params.MC_ROLLRATE_P / PX4_TILT_P),
            IRIS_TILT_P * params.MC_PITCHRATE_K * (params.MC_PITCHRATE_P / PX4_TILT_P),
            IRIS_YAW_P * params.MC_YAWRATE_K * (params.MC_YAWRATE_P / PX4_YAW_P),
        ),
        (
            IRIS_TILT_I * params.MC_ROLLRATE_K * (params.MC_ROLLRATE_I / PX4_TILT_I),
            IRIS_TILT_I * params.MC_PITCHRATE_K * (params.MC_PITCHRATE_I / PX4_TILT_I),
            IRIS_YAW_I * params.MC_YAWRATE_K * (params.MC_YAWRATE_I / PX4_YAW_I),
        ),
        (
            _integral_limit(params.MC_RR_INT_LIM, vehicle.turn_max[0]),
            _integral_limit(params.MC_PR_INT_LIM, vehicle.turn_max[1]),
            _integral_limit(params.MC_YR_INT_LIM, vehicle.turn_max[2]),
        ),
    )


@njit
def _control_one(vehicle: Record, params: Record, rate: np.ndarray, dt: float) -> None:
    """Writes the torque set-point sp_torque, body [N m]; rate is (3,), body [rad/s]."""
    gains, integral_gains, limits = rate_gains(vehicle, params)
    integrates = not (vehicle.landed or vehicle.maybe_landed)
    sp_rates, integral, inertia = vehicle.sp_rates, vehicle.rate_integral, vehicle.inertia
    ax, integral[0] = one_rate(
        sp_rates[0], rate[0], integral[0], gains[0], integral_gains[0], limits[0], integrates, dt
    )
    ay, integral[1] = one_rate(
        sp_rates[1], rate[1], integral[1], gains[1], integral_gains[1], limits[1], integrates, dt
    )
    az, integral[2] = one_rate(
        sp_rates[2], rate[2], integral[2], gains[2], integral_gains[2], limits[2], integrates, dt
    )
    vehicle.sp_torque[0], vehicle.sp_torque[1], vehicle.sp_torque[2] = torque_of(
        ax,
        ay,
        az,
        rate[0],
        rate[1],
        rate[2],
        (inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2]),
    )


@fleet_kernel
def control_fleet(
    status: np.ndarray, parameters: np.ndarray, estimates: np.ndarray, dt: float
) -> None:
    """Steps the loop of a fleet: (N,) records of VEHICLE_STATUS, of parameters and of ESTIMATE."""
    for i in range(status.shape[0]):
        vehicle = status[i]
        if vehicle.vehicle_type != MULTICOPTER:
            continue
        if vehicle.armed and vehicle.sp_kind != NO_SET_POINT and vehicle.sp_kind != ACTUATORS:
            _control_one(vehicle, parameters[i], estimates[i].ang_vel, dt)
            continue
        for k in range(3):
            vehicle.rate_integral[k] = 0.0
            vehicle.sp_torque[k] = 0.0
        if vehicle.sp_kind != ACTUATORS or not vehicle.armed:
            vehicle.sp_thrust = 0.0


class RateControl(Memory):
    """Rate loop of a fleet; implements interfaces.ControlLoop."""

    MEMORY = ()

    def __init__(self, fleet: FleetModel) -> None:
        """Needs nothing of the fleet; the inertia is in the status records."""

    def step(
        self, status: np.ndarray, parameters: np.ndarray, estimator: Estimator, dt: float
    ) -> None:
        """Steps all vehicles by dt [s]; without a set-point, torque and thrust are zero."""
        control_fleet(status, parameters, estimator.records, dt)
