"""Force and moment of a half wing in the slipstream of its propeller: Φ-theory, dronesim (6)-(11).

Valid at all angles of attack and at rest (L. R. Lustosa, F. Defaÿ, J.-M. Moschetta: Global
Singularity-Free Aerodynamic Model for Algorithmic Flight Control of Tail Sitters, 2019): forces are
linear in the product of speed and velocity. The axes are those of the wing: x along the thrust, y
along the span, z normal to both.
"""

import math

from ..compiled import Record, njit


@njit
def slipstream(
    speed: float, vx: float, vy: float, vz: float, thrust: float, density: float, disc_area: float
) -> tuple[float, float, float]:
    """Product of speed and velocity of the air at the wing, |v| v + T / (ρ S_p) e_x.

    Args:
        speed: Speed of the half wing relative to the air, |v| [m/s].
        vx, vy, vz: The same velocity, axes of the wing [m/s].
        thrust: Thrust of the propeller, T [N].
        density: Density of the air, ρ [kg/m^3].
        disc_area: Disc area of the propeller, S_p [m^2].

    Returns:
        (x, y, z) [m^2/s^2].
    """
    return speed * vx + thrust / (density * disc_area), speed * vy, speed * vz


@njit
def forces(
    wing: Record,
    deflection: float,
    thrust: float,
    density: float,
    vx: float,
    vy: float,
    vz: float,
    wx: float,
    wy: float,
    wz: float,
) -> tuple[float, float, float, float, float, float]:
    """Force and moment of a half wing at its point; Φ_mv has the offset of the aerodynamic centre.

    F = -½ ρ S Φ_fv (W - δ ζ_f × W), M = -½ ρ S B (Φ_mv (W - δ ζ_m × W) + |v| Φ_mω B ω), with S
    the area of the half wing, B = diag(b, c, b), and ζ_f, ζ_m along the span. The published sums
    lack B ahead of ω, and the moments of the two halves about the centre of gravity; those of
    this force and of the propeller are added by the caller.

    Args:
        wing: Record with area S, chord c, span b (of the whole wing), cd0, cy0, lift_slope, offset
            (of the aerodynamic centre ahead of w's point, Δr), zeta_f, zeta_m, damping (3)
            (diagonal of Φ_mω) and disc_area.
        deflection: Deflection of the elevon about the span [rad].
        thrust: Thrust of the propeller ahead of it [N].
        density: Density of the air [kg/m^3].
        vx, vy, vz: Velocity relative to the air, axes of the wing [m/s].
        wx, wy, wz: Angular velocity, axes of the wing [rad/s].

    Returns:
        (force xyz [N], moment xyz [N m]), axes of the wing.
    """
    speed = math.sqrt(vx * vx + vy * vy + vz * vz)
    sx, sy, sz = slipstream(speed, vx, vy, vz, thrust, density, wing.disc_area)
    scale = -0.5 * density * wing.area
    normal = wing.lift_slope + wing.cd0
    turn = deflection * wing.zeta_f
    fx, fy, fz = wing.cd0 * (sx - turn * sz), wing.cy0 * sy, normal * (sz + turn * sx)
    turn = deflection * wing.zeta_m
    mx = wing.span * speed * wing.damping[0] * wing.span * wx
    my = (
        -wing.offset * normal * (sz + turn * sx)
        + wing.chord * speed * wing.damping[1] * wing.chord * wy
    )
    mz = wing.offset * wing.cy0 * sy + wing.span * speed * wing.damping[2] * wing.span * wz
    return scale * fx, scale * fy, scale * fz, scale * mx, scale * my, scale * mz


@njit
def wrench(
    wing: Record,
    deflection: float,
    thrust: float,
    density: float,
    vx: float,
    vy: float,
    vz: float,
    wx: float,
    wy: float,
    wz: float,
) -> tuple[float, float, float, float, float, float]:
    """Force and moment of a half wing about the origin of its body, in the body's frame.

    Args:
        wing: Record of forces(), with pos [m], forward and left (unit vectors), frame of the body.
        deflection, thrust, density: As of forces().
        vx, vy, vz: Velocity of the origin relative to the air, frame of the body [m/s].
        wx, wy, wz: Angular velocity, frame of the body [rad/s].

    Returns:
        (force xyz [N], moment xyz [N m]).
    """
    px, py, pz = wing.pos[0], wing.pos[1], wing.pos[2]
    ux, uy, uz = vx + wy * pz - wz * py, vy + wz * px - wx * pz, vz + wx * py - wy * px
    ax, ay, az = wing.forward[0], wing.forward[1], wing.forward[2]
    bx, by, bz = wing.left[0], wing.left[1], wing.left[2]
    cx, cy, cz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    fx, fy, fz, mx, my, mz = forces(
        wing,
        deflection,
        thrust,
        density,
        ux * ax + uy * ay + uz * az,
        ux * bx + uy * by + uz * bz,
        ux * cx + uy * cy + uz * cz,
        wx * ax + wy * ay + wz * az,
        wx * bx + wy * by + wz * bz,
        wx * cx + wy * cy + wz * cz,
    )
    fx, fy, fz = (
        fx * ax + fy * bx + fz * cx,
        fx * ay + fy * by + fz * cy,
        fx * az + fy * bz + fz * cz,
    )
    mx, my, mz = (
        mx * ax + my * bx + mz * cx,
        mx * ay + my * by + mz * cy,
        mx * az + my * bz + mz * cz,
    )
    return fx, fy, fz, mx + py * fz - pz * fy, my + pz * fx - px * fz, mz + px * fy - py * fx
