"""Force of the ground on a tyre: the lumped LuGre model, along and across the wheel.

C. Canudas de Wit et al.: Dynamic friction models for road/tire longitudinal interaction (2003).
The tread is a bristle that the slip deflects and that rolling renews, so that the force is
proportional to a small slip, ends at the friction's limit, and holds a wheel at rest. Both
directions share the limit, an ellipse.
"""

import math

from ..compiled import Record, njit
from ..constants import GRAVITY

_DAMPING = 0.5  # damping ratio of a mass on its tyres at rest


@njit
def force(
    tyre: Record,
    load: float,
    speed: float,
    lateral: float,
    rolling: float,
    along: float,
    across: float,
    dt: float,
) -> tuple[float, float, float, float]:
    """Advances the deflection of a tyre; returns the force of the ground.

    Args:
        tyre: The tyre's record.
        load: Force of the ground along its normal [N].
        speed, lateral: Velocity of the hub over the ground, in the direction of rolling and to
            the left of it [m/s].
        rolling: Angular velocity times radius [m/s].
        along, across: Deflection of the tread [m].
        dt: Length of the step [s].

    Returns:
        (force in the direction of rolling, to the left of it [N], new deflections [m]).
    """
    if load <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    stiffness = tyre.slip_stiffness / tyre.relaxation_length  # the tread's over the load [1/m]
    damping = 2.0 * _DAMPING * math.sqrt(stiffness / GRAVITY)  # [s/m]
    slip = speed - rolling
    rate = (
        stiffness * math.hypot(slip / tyre.friction, lateral / tyre.lateral_friction)
        + abs(rolling) / tyre.relaxation_length
    )
    # Implicit, since the deflection follows fast slip within less than a step.
    x = (along + slip * dt) / (1.0 + rate * dt)
    y = (across + lateral * dt) / (1.0 + rate * dt)
    fx = -stiffness * x - damping * (x - along) / dt
    fy = -stiffness * y - damping * (y - across) / dt
    load /= max(1.0, math.hypot(fx / tyre.friction, fy / tyre.lateral_friction))
    return load * fx, load * fy, x, y
