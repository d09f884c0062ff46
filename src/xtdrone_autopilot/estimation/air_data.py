"""Aid sources of the air: airspeed along the pitot tube, and flight without sideslip.

Both observe velocity and wind. `h`, `dx` and `gain` are as in filter.py.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.earth.atmosphere import density
from xtdrone_dynamics.quaternion import rotate

from ..state.estimator_flags import TEST_AIRSPEED, TEST_SIDESLIP
from .filter import fuse, fuse_partially, reset_covariance
from .state import ATT, VEL, WIND, VehicleEkf

_SIDESLIP_US = 150_000  # period of sideslip fusion [us]
_MIN_FORWARD_AIRSPEED = 1e-3  # a lower airspeed along the nose has no sideslip [m/s]


@njit
def fuse_airspeed(
    ekf: VehicleEkf, slots: tuple[int, int, float], pressure: float, air_density: float, t_us: int
) -> None:
    """Fuses the true airspeed along the pitot tube; it observes velocity and wind.

    Args:
        ekf: Filter of the vehicle.
        slots: From delayed_fusion.find_slots().
        pressure: Differential pressure [Pa].
        air_density: [kg/m^3].
        t_us: Present time [us].
    """
    params, estimate, state = ekf.params, ekf.estimate, ekf.state
    speed = math.sqrt(max(2.0 * pressure / air_density, 0.0))
    if speed < params.EKF2_ARSP_THR:
        return
    older, newer, weight = slots
    quat, axis = ekf.history[newer].quat, estimate.airspeed_axis
    ax, ay, az = rotate(quat[0], quat[1], quat[2], quat[3], axis[0], axis[1], axis[2])
    dx, h, gain = ekf.work[0], ekf.work[1], ekf.work[2]
    _start_wind(ekf)
    air_vel = ekf.work[3]  # velocity relative to the air when it was measured, world [m/s]
    for k in range(3):
        past_dv = (1.0 - weight) * ekf.history[older].dv[k] + weight * ekf.history[newer].dv[k]
        air_vel[k] = state.vel[k] - state.dv[k] + past_dv
        if k < 2:
            air_vel[k] -= estimate.wind[k]
    _air_velocity_jacobian(h, ax, ay, az, air_vel)
    predicted = ax * air_vel[0] + ay * air_vel[1] + az * air_vel[2]
    sigma = params.EKF2_EAS_NOISE * math.sqrt(density(0.0) / air_density)
    ratio = fuse(ekf.cov, dx, h, gain, speed - predicted, sigma * sigma, params.EKF2_TAS_GATE)
    estimate.test_ratios[TEST_AIRSPEED] = ratio
    if ratio <= 1.0:
        state.airspeed_t = t_us


@njit
def _start_wind(ekf: VehicleEkf) -> None:
    """Starts the wind estimate at zero, if there is none yet."""
    estimate = ekf.estimate
    if math.isnan(estimate.wind[0]):
        estimate.wind[0] = 0.0
        estimate.wind[1] = 0.0
        reset_covariance(ekf.cov, WIND, 2, ekf.tuning.wind_sigma**2)


@njit
def _air_velocity_jacobian(
    h: np.ndarray, ax: float, ay: float, az: float, air_vel: np.ndarray
) -> None:
    """Writes the Jacobian h of the air velocity's component along a body-fixed vector a.

    Args:
        h: (SIZE,) output.
        ax, ay, az: The vector a, turned into the world frame.
        air_vel: (3,) velocity relative to the air, world [m/s].
    """
    h[:] = 0.0
    h[VEL], h[VEL + 1], h[VEL + 2] = ax, ay, az
    h[WIND], h[WIND + 1] = -ax, -ay
    h[ATT] = ay * air_vel[2] - az * air_vel[1]
    h[ATT + 1] = az * air_vel[0] - ax * air_vel[2]
    h[ATT + 2] = ax * air_vel[1] - ay * air_vel[0]


@njit
def sideslip_due(ekf: VehicleEkf, t_us: int) -> bool:
    """Returns whether sideslip fusion is due: in fixed-wing flight, at its period."""
    return (
        ekf.params.EKF2_FUSE_BETA != 0
        and ekf.estimate.on_wings
        and not ekf.estimate.landed
        and t_us - ekf.state.sideslip_t >= _SIDESLIP_US
    )


@njit
def fuse_sideslip(ekf: VehicleEkf, t_us: int) -> None:
    """Fuses zero sideslip: the ratio of air velocity along span and nose is 0.

    As in EKF2, it corrects only the wind while GPS or vision observe the velocity.
    """
    params, estimate, state = ekf.params, ekf.estimate, ekf.state
    dx, h, gain = ekf.work[0], ekf.work[1], ekf.work[2]
    _start_wind(ekf)
    air_vel, quat, axis = ekf.work[3], estimate.quat, estimate.airspeed_axis
    for k in range(3):
        air_vel[k] = state.vel[k] - (estimate.wind[k] if k < 2 else 0.0)
    ax, ay, az = rotate(quat[0], quat[1], quat[2], quat[3], axis[0], axis[1], axis[2])
    sx, sy, sz = rotate(quat[0], quat[1], quat[2], quat[3], 0.0, 1.0, 0.0)
    forward = ax * air_vel[0] + ay * air_vel[1] + az * air_vel[2]
    if forward < _MIN_FORWARD_AIRSPEED:
        return
    slip = (sx * air_vel[0] + sy * air_vel[1] + sz * air_vel[2]) / forward
    _air_velocity_jacobian(
        h,
        (sx - slip * ax) / forward,
        (sy - slip * ay) / forward,
        (sz - slip * az) / forward,
        air_vel,
    )
    variance = params.EKF2_BETA_NOISE * params.EKF2_BETA_NOISE
    if max(state.gps_t, state.vision_t) > t_us - ekf.tuning.aid_time:
        ratio = fuse_partially(
            ekf.cov, dx, h, gain, -slip, variance, params.EKF2_BETA_GATE, WIND, 2
        )
    else:
        ratio = fuse(ekf.cov, dx, h, gain, -slip, variance, params.EKF2_BETA_GATE)
    estimate.test_ratios[TEST_SIDESLIP] = ratio
    if ratio <= 1.0:
        state.sideslip_t = t_us
