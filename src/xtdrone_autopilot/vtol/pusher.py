"""The pusher in hover: it accelerates forwards in the place of a nose-down pitch (VT_FWD_THRUST_*).

As PX4's VtolType::pusher_assist.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.quaternion import rotate

from ..control.vector import clamp, quat_from_axes
from ..fixed_wing.guidance import Motion
from ..state.vehicle_status import TARGET_LAND

MAX = 0.9  # of the throttle
NOT_IN_LANDINGS = (1, 4, 5)  # of VT_FWD_THRUST_EN
ABOVE_ALT1, ABOVE_ALT2 = (2, 4), (3, 5)


@njit
def _is_allowed(v, q, m):
    kind = q.VT_FWD_THRUST_EN
    if kind == 0 or q.VT_FWD_THRUST_SC <= 0.0 or v.quadchute:
        return False
    if kind in NOT_IN_LANDINGS and (v.target_type == TARGET_LAND or v.descend):
        return False
    above = m.height - (m.terrain if math.isfinite(m.terrain) else v.home[2])
    if kind in ABOVE_ALT1:
        return above >= q.MPC_LAND_ALT1
    return kind not in ABOVE_ALT2 or above >= q.MPC_LAND_ALT2


@njit
def assist(v: np.void, q: np.void, m: Motion) -> float:
    """Throttle of the pusher in hover, 0..1; the attitude set-point is levelled by as much.

    Args:
        v: Record of VEHICLE_STATUS, with the attitude set-point of the velocity loop.
        q: Parameters.
        m: Motion.
    """
    if not _is_allowed(v, q, m):
        return 0.0
    x, y, z, w = v.sp_quat
    east, north, up = rotate(x, y, z, w, 0.0, 0.0, 1.0)  # the direction of thrust
    forward = north * math.cos(m.heading) + east * math.sin(m.heading)
    right = east * math.cos(m.heading) - north * math.sin(m.heading)
    pitch = -math.atan2(forward, up)
    least = math.radians(q.VT_LND_PITCH_MIN if v.target_type == TARGET_LAND else q.VT_PITCH_MIN)
    if pitch >= least:
        return 0.0
    # It leans to the side as much as before.
    level = max(least, 0.0)
    aside = math.sqrt(max(1.0 - right * right, 0.0))
    forward, up = -aside * math.sin(level), aside * math.cos(level)
    east = forward * math.sin(m.heading) + right * math.cos(m.heading)
    north = forward * math.cos(m.heading) - right * math.sin(m.heading)
    ax, ay, _ = rotate(x, y, z, w, 1.0, 0.0, 0.0)
    quat = quat_from_axes(east, north, up, math.atan2(ay, ax))
    for k in range(4):
        v.sp_quat[k] = quat[k]
    return clamp((math.sin(least) - math.sin(pitch)) * q.VT_FWD_THRUST_SC, 0.0, MAX)
