"""Land detector of a fixed wing, as PX4's FixedwingLandDetector."""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, njit

from ..navigation.ground import detected, disarm_when_idle
from ..state.vehicle_status import NEVER
from .guidance import Motion
from .state import LAUNCHED, WAITING_FOR_LAUNCH

NO_AIRSPEED_FACTOR = 0.7  # factor of LNDFW_VEL_XY_MAX without an airspeed


@njit
def detect(
    vehicle: Record, wing: Record, params: Record, motion: Motion, accel: np.ndarray, t_us: int
) -> None:
    """Steps the land detector; to be called every 20 ms.

    Args:
        vehicle: Record of VEHICLE_STATUS.
        wing: Record of FIXED_WING_STATE.
        params: Record of the parameters.
        motion: Motion of the vehicle.
        accel: (3,) specific force, body [m/s^2].
        t_us: Present time [us].
    """
    if not vehicle.armed:
        vehicle.landed, vehicle.landed_t, vehicle.taken_off, vehicle.idle_t = (
            True,
            t_us,
            False,
            NEVER,
        )
        wing.still_t = NEVER
        return
    wing.speed_filtered = 0.97 * wing.speed_filtered + 0.03 * math.hypot(
        motion.vel[0], motion.vel[1]
    )
    wing.climb_filtered = 0.99 * wing.climb_filtered + 0.01 * abs(motion.climb)
    wing.acc_filtered = 0.8 * wing.acc_filtered + 0.18 * math.hypot(accel[0], accel[1])
    has_airspeed = math.isfinite(wing.airspeed)
    wing.airspeed_filtered = (
        0.95 * wing.airspeed_filtered + 0.05 * wing.airspeed * wing.eas2tas if has_airspeed else 0.0
    )
    max_speed = params.LNDFW_VEL_XY_MAX * (1.0 if has_airspeed else NO_AIRSPEED_FACTOR)
    is_still = (
        wing.airspeed_filtered < params.LNDFW_AIRSPD_MAX
        and wing.speed_filtered < max_speed
        and wing.climb_filtered < params.LNDFW_VEL_Z_MAX
        and wing.acc_filtered < params.LNDFW_XYACC_MAX
    )
    if vehicle.landed and wing.takeoff in (WAITING_FOR_LAUNCH, LAUNCHED):
        is_still = True
    wing.still_t = min(wing.still_t, t_us) if is_still else np.int64(NEVER)
    landed = is_still and (vehicle.landed or t_us - wing.still_t >= params.LNDFW_TRIG_TIME * 1e6)
    detected(vehicle, landed, t_us)
    disarm_when_idle(vehicle, params, t_us)
