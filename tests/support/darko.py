"""The tail-sitter DarkO: data of its half wings, and its trim in level flight in closed form."""

import math
from types import SimpleNamespace

from scipy.optimize import brentq

from xtdrone_dynamics.constants import GRAVITY

RHO, MASS = 1.225, 0.4
DARKO = SimpleNamespace(
    area=0.5 * 0.0743,
    chord=0.13,
    span=0.55,
    cd0=0.025,
    cy0=0.1,
    lift_slope=2.0 * math.pi,
    offset=-0.013,
    zeta_f=0.48,
    zeta_m=0.93,
    damping=(0.235, 0.27, 0.26),
    disc_area=math.pi * 0.125**2,
)
WEIGHT = MASS * GRAVITY
NORMAL = 0.5 * RHO * 2.0 * DARKO.area * (DARKO.lift_slope + DARKO.cd0)  # of both halves [kg/m]


def trim(speed, lift_slope=DARKO.lift_slope):
    """Angle of attack, thrust and deflection in level flight, from the sums written out.

    No pitching moment: δ = -W_z / (ζ_m W_x). The normal force then is NORMAL (1 - ζ_f / ζ_m) W_z,
    with W_z = v² sin α.
    """
    normal = 0.5 * RHO * 2.0 * DARKO.area * (lift_slope + DARKO.cd0)
    lift = normal * (1.0 - DARKO.zeta_f / DARKO.zeta_m) * speed**2
    alpha = math.atan2(WEIGHT, lift)

    def rest(thrust):
        wx = speed**2 * math.cos(alpha) + 0.5 * thrust / (RHO * DARKO.disc_area)
        wz = speed**2 * math.sin(alpha)
        drag = RHO * DARKO.area * DARKO.cd0 * (wx + DARKO.zeta_f / DARKO.zeta_m * wz**2 / wx)
        return thrust - WEIGHT * math.sin(alpha) - drag

    thrust = brentq(rest, 1e-3, 3.0 * WEIGHT)
    wx = speed**2 * math.cos(alpha) + 0.5 * thrust / (RHO * DARKO.disc_area)
    return alpha, thrust, -(speed**2) * math.sin(alpha) / (DARKO.zeta_m * wx)
