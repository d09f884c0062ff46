"""Detection of take-off and landing of a fixed wing: PX4's FixedwingLandDetector."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

from ..navigation.ground import detected, disarm_when_idle
from ..state.vehicle_status import NEVER
from .guidance import Motion
from .state import LAUNCHED, WAITING_FOR_LAUNCH

WITHOUT_AIRSPEED = 0.7  # of LNDFW_VEL_XY_MAX


@njit
def detect(v: np.void, w: np.void, q: np.void, m: Motion, accel: np.ndarray, t_us: int) -> None:
    """One step, every 20 ms.

    Args:
        v: Record of VEHICLE_STATUS.
        w: Record of FIXED_WING_STATE.
        q: Parameters.
        m: Motion.
        accel: (3,) specific force, body [m/s^2].
        t_us: Now [us].
    """
    if not v.armed:
        v.landed, v.landed_t, v.taken_off, v.idle_t = True, t_us, False, NEVER
        w.still_since = NEVER
        return
    w.speed_slow = 0.97 * w.speed_slow + 0.03 * math.hypot(m.vel[0], m.vel[1])
    w.climb_slow = 0.99 * w.climb_slow + 0.01 * abs(m.climb)
    w.acc_slow = 0.8 * w.acc_slow + 0.18 * math.hypot(accel[0], accel[1])
    known = math.isfinite(w.airspeed)
    w.airspeed_slow = 0.95 * w.airspeed_slow + 0.05 * w.airspeed * w.eas2tas if known else 0.0
    most = q.LNDFW_VEL_XY_MAX * (1.0 if known else WITHOUT_AIRSPEED)
    still = (
        w.airspeed_slow < q.LNDFW_AIRSPD_MAX
        and w.speed_slow < most
        and w.climb_slow < q.LNDFW_VEL_Z_MAX
        and w.acc_slow < q.LNDFW_XYACC_MAX
    )
    if v.landed and w.takeoff in (WAITING_FOR_LAUNCH, LAUNCHED):
        still = True
    w.still_since = min(w.still_since, t_us) if still else np.int64(NEVER)
    landed = still and (v.landed or t_us - w.still_since >= q.LNDFW_TRIG_TIME * 1e6)
    detected(v, landed, t_us)
    disarm_when_idle(v, q, t_us)
