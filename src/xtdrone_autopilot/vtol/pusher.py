"""Pusher assist in hover: the pusher accelerates forwards in place of a nose-down pitch.

As PX4's VtolType::pusher_assist, with VT_FWD_THRUST_*.
"""

import math

from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.quaternion import rotate

from ..control.vector import clamp, quat_from_axes
from ..fixed_wing.guidance import Motion
from ..state.vehicle_status import TARGET_LAND

MAX_THROTTLE = 0.9  # largest throttle of the pusher
# Values of VT_FWD_THRUST_EN: off in landings; only above MPC_LAND_ALT1; only above MPC_LAND_ALT2.
NOT_IN_LANDINGS, ABOVE_ALT1, ABOVE_ALT2 = (1, 4, 5), (2, 4), (3, 5)


@njit
def _is_allowed(vehicle: Record, params: Record, motion: Motion) -> bool:
    """Returns whether VT_FWD_THRUST_EN allows the assist now."""
    mode = params.VT_FWD_THRUST_EN
    if mode == 0 or params.VT_FWD_THRUST_SC <= 0.0 or vehicle.quadchute:
        return False
    if mode in NOT_IN_LANDINGS and (vehicle.target_type == TARGET_LAND or vehicle.descend):
        return False
    height_above_ground = motion.height - (
        motion.terrain if math.isfinite(motion.terrain) else vehicle.home[2]
    )
    if mode in ABOVE_ALT1:
        return height_above_ground >= params.MPC_LAND_ALT1
    return mode not in ABOVE_ALT2 or height_above_ground >= params.MPC_LAND_ALT2


@njit
def assist(vehicle: Record, params: Record, motion: Motion) -> float:
    """Limits the nose-down pitch of the set-point; returns the throttle that replaces it, 0..1.

    Args:
        vehicle: Record of VEHICLE_STATUS, with the attitude set-point of the velocity loop.
        params: Record of the parameters.
        motion: Motion of the vehicle.
    """
    if not _is_allowed(vehicle, params, motion):
        return 0.0
    x, y, z, w = vehicle.sp_quat
    east, north, up = rotate(x, y, z, w, 0.0, 0.0, 1.0)  # direction of the thrust
    forward = north * math.cos(motion.heading) + east * math.sin(motion.heading)
    right = east * math.cos(motion.heading) - north * math.sin(motion.heading)
    pitch = -math.atan2(forward, up)
    min_pitch = math.radians(
        params.VT_LND_PITCH_MIN if vehicle.target_type == TARGET_LAND else params.VT_PITCH_MIN
    )
    if pitch >= min_pitch:
        return 0.0
    # Keep the lean to the side.
    max_pitch_down = max(min_pitch, 0.0)
    level_norm = math.sqrt(max(1.0 - right * right, 0.0))
    forward, up = -level_norm * math.sin(max_pitch_down), level_norm * math.cos(max_pitch_down)
    east = forward * math.sin(motion.heading) + right * math.cos(motion.heading)
    north = forward * math.cos(motion.heading) - right * math.sin(motion.heading)
    ax, ay, _ = rotate(x, y, z, w, 1.0, 0.0, 0.0)
    quat = quat_from_axes(east, north, up, math.atan2(ay, ax))
    for k in range(4):
        vehicle.sp_quat[k] = quat[k]
    return clamp(
        (math.sin(min_pitch) - math.sin(pitch)) * params.VT_FWD_THRUST_SC, 0.0, MAX_THROTTLE
    )
