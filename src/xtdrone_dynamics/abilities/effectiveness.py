"""The actuator effectiveness matrix, from which control allocation is derived.

It is the linearisation, at an operating point, of the same actuator functions that the
simulation uses. The term is that of Johansen and Fossen, "Control allocation - A survey" (2013).
"""

from typing import Any

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import ROTOR, SERVO, SURFACE

from ..compiled import njit
from ..constants import GRAVITY, SEA_LEVEL_DENSITY
from ..forces import half_wing, joint, rotor
from ..quaternion import rotate, rotate_inverse

ROWS = (
    "force along x",
    "force along y",
    "vertical force",
    "roll torque",
    "pitch torque",
    "yaw torque",
)
_HOVER = slice(2, 6)  # rows commanded on a conventional multirotor: vertical force and torques
_SMALL = 1e-6  # singular values below this share of the largest count as zero


def effectiveness(
    fleet: FleetModel,
    airspeed: Any = (0.0, 0.0, 0.0),
    joint_pos: np.ndarray | None = None,
    thrust: np.ndarray | None = None,
) -> np.ndarray:
    """Force and torque on each vehicle per unit of actuator output.

    The unit of a rotor is 1 N of thrust; that of a servo is 1 rad or 1 m of its joint, that of
    the elevon of a half wing 1 rad, in air of sea level. The columns of other kinds are zero.

    Args:
        fleet: The vehicles.
        airspeed: (3,) velocity relative to the air, frame of the base [m/s].
        joint_pos: (N, J) joint positions [rad] or [m]; None for all at zero.
        thrust: (N, A) rotor thrusts at the operating point [N], for the effect of servos that tilt
            rotors and for the H-force in moving air; None for zero.

    Returns:
        (N, 6, A): force [N] along the base's axes, then torque [N m] about the base's origin.
    """
    out = np.zeros((fleet.n, 6, fleet.actuator.shape[1]))
    places = np.zeros(fleet.joint.shape) if joint_pos is None else np.asarray(joint_pos, float)
    given = np.zeros(fleet.actuator.shape) if thrust is None else np.asarray(thrust, float)
    poses = np.zeros((*fleet.body.shape, 7))
    poses[..., 6] = 1.0
    ux, uy, uz = map(float, airspeed)
    place(fleet.vehicle, fleet.body, fleet.joint, places, poses)
    fill(
        fleet.vehicle,
        fleet.body,
        fleet.joint,
        fleet.actuator,
        fleet.half_wing,
        poses,
        given,
        ux,
        uy,
        uz,
        out,
    )
    return out


def hover_thrust(fleet: FleetModel) -> np.ndarray:
    """Thrust of each rotor in a level hover with all joints at zero.

    Returns:
        (N, A) [N]; zeros for a vehicle that cannot hover so.
    """
    found = np.zeros(fleet.actuator.shape)
    largest = largest_thrust(fleet)
    for i, matrix in enumerate(effectiveness(fleet)):
        rotors = fleet.rotor_mask[i]
        hover = _hover(matrix[:, rotors], largest[i, rotors], fleet.vehicle["mass"][i] * GRAVITY)
        if hover is not None:
            found[i, rotors] = hover
    return found


def in_hover(fleet: FleetModel) -> np.ndarray:
    """The effectiveness in a level hover, (N, 6, A): servos that tilt rotors have theirs, too."""
    return effectiveness(fleet, thrust=hover_thrust(fleet))


def _hover(matrix: np.ndarray, largest: np.ndarray, weight: float) -> np.ndarray | None:
    """Thrust of each rotor (R,) [N] of a matrix (6, R) that carries a weight at rest, or None."""
    if not matrix.size:
        return None
    wanted = np.array((weight, 0.0, 0.0, 0.0))
    hover: np.ndarray = np.linalg.pinv(matrix[2:]) @ wanted
    if rank(matrix) == 6:
        hover = np.linalg.pinv(matrix) @ (0.0, 0.0, *wanted)
    fits = (hover > 0.0).all() and (hover <= largest).all()
    return hover if fits and abs(matrix[2:] @ hover - wanted).max() <= 1e-6 * weight else None


def rank(matrix: np.ndarray) -> int:
    """Rank of a vehicle's matrix (6, A): its number of independent force and torque axes."""
    return int(np.linalg.matrix_rank(_scaled(matrix), tol=_tolerance(matrix)))


def commanded(matrix: np.ndarray) -> np.ndarray:
    """The rows of a vehicle's matrix (6, A) that can be commanded independently.

    All six if the rank is six. Otherwise the vehicle is controlled as a conventional multirotor,
    by vertical force and torques, and the forces along x and y are not controlled.

    Returns:
        (6,) bool.
    """
    found = np.ones(6, dtype=np.bool_)
    if rank(matrix) < 6:
        found[:2] = False
        scaled = _scaled(matrix)[_HOVER]
        reached: np.ndarray = np.zeros((4, 4))
        if matrix.size:
            reached = scaled @ np.linalg.pinv(scaled, rcond=_SMALL)
        found[_HOVER] = abs(np.diag(reached) - 1.0) < 1e-3
    return found


def largest_thrust(fleet: FleetModel) -> np.ndarray:
    """Maximum thrust of each rotor, (N, A) [N]; zero for other actuators."""
    a = fleet.actuator
    top = np.minimum(a["zero_position_armed"] + a["input_scaling"], a["max_rot_velocity"])
    return np.where(fleet.rotor_mask, a["motor_constant"] * top**2, 0.0)


def largest_torque(fleet: FleetModel) -> np.ndarray:
    """Torque about each axis that a vehicle exerts either way, in a level hover, (N, 3) [N m].

    All that gives one is used: rotors from standstill to full thrust, servos from end to end.
    """
    a, torques = fleet.actuator, in_hover(fleet)[:, 3:]
    top = largest_thrust(fleet)
    high = np.where(fleet.rotor_mask, top, a["upper"])[:, None]
    low = np.where(fleet.rotor_mask, np.where(a["bidirectional"], -top, 0.0), a["lower"])[:, None]
    reached = np.stack([torques * high, torques * low])
    reached = np.where(torques == 0.0, 0.0, reached)  # servos without end stops that turn nothing
    return np.minimum(reached.max(axis=0).sum(axis=-1), -reached.min(axis=0).sum(axis=-1))


def cannot_hover(fleet: FleetModel) -> list[str]:
    """Reason why each vehicle cannot fly as a multicopter; empty where it can."""
    matrices, largest = in_hover(fleet), largest_thrust(fleet)
    both = fleet.actuator["bidirectional"]
    return [
        _obstacle(*found)
        for found in zip(matrices, largest, both, fleet.vehicle["mass"] * GRAVITY, strict=True)
    ]


def _obstacle(matrix: np.ndarray, largest: np.ndarray, both: np.ndarray, weight: float) -> str:
    can = commanded(matrix)
    missing = [ROWS[k] for k in (2, 3, 4) if not can[k]]
    if missing:
        return f"no {', '.join(missing)}: rank {rank(matrix)} of 6"
    lift = float(np.maximum(matrix[2], 0.0) @ largest)
    if lift <= weight < float(np.maximum(matrix[2], np.where(both, -matrix[2], 0.0)) @ largest):
        return "it lifts only with rotors that turn backwards, which the flight stack does not do"
    if lift <= weight:
        return f"its weight of {weight:.3g} N exceeds the thrust of its rotors, {lift:.3g} N"
    return ""


def _scaled(matrix: np.ndarray) -> np.ndarray:
    """Scales torques by the longest arm, so that they are comparable with forces."""
    arm = abs(matrix[3:]).max() if matrix.size else 0.0
    scaled = matrix.copy()
    scaled[3:] /= arm or 1.0
    return scaled


def _tolerance(matrix: np.ndarray) -> float:
    return _SMALL * float(np.linalg.norm(_scaled(matrix))) if matrix.size else 0.0


@njit
def place(
    vehicle: np.ndarray, body: np.ndarray, joints: np.ndarray, places: np.ndarray, poses: np.ndarray
) -> None:
    """Computes the poses of all bodies in the base frame.

    Args:
        vehicle, body, joints: Records of N vehicles.
        places: (N, J) joint positions [rad] or [m].
        poses: (N, B, 7), output: position [m] and quaternion xyzw; the base's own is already set.
    """
    for i in range(vehicle.shape[0]):
        for b in range(1, vehicle[i].bodies):
            one = body[i, b]
            p = poses[i, one.parent]
            found = joint.moved(
                one,
                joints[i, one.joint],
                places[i, one.joint],
                0.0,
                p[0],
                p[1],
                p[2],
                p[3],
                p[4],
                p[5],
                p[6],
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
            )
            for k in range(7):
                poses[i, b, k] = found[k]


@njit
def fill(
    vehicle: np.ndarray,
    body: np.ndarray,
    joints: np.ndarray,
    actuator: np.ndarray,
    half_wings: np.ndarray,
    poses: np.ndarray,
    thrust: np.ndarray,
    ux: float,
    uy: float,
    uz: float,
    out: np.ndarray,
) -> None:
    """Computes the effectiveness; the arguments as of place() and effectiveness().

    Args:
        vehicle, body, joints, actuator, half_wings: Records of N vehicles.
        poses: (N, B, 7) of place().
        thrust: (N, A) [N].
        ux, uy, uz: Velocity relative to the air, frame of the base [m/s].
        out: (N, 6, A), output; zeros before.
    """
    for i in range(vehicle.shape[0]):
        for j in range(vehicle[i].actuators):
            a = actuator[i, j]
            if a.kind == ROTOR:
                _put(out, i, j, _push(a, poses[i, a.body], 1.0, thrust[i, j], ux, uy, uz))
            elif a.kind == SERVO:
                _turn(
                    vehicle[i].rotors,
                    body[i],
                    joints[i, a.joint],
                    actuator[i],
                    poses[i],
                    thrust[i],
                    a.body,
                    ux,
                    uy,
                    uz,
                    i,
                    j,
                    out,
                )
            elif a.kind == SURFACE:
                for k in range(vehicle[i].half_wings):
                    w = half_wings[i, k]
                    if w.control == j and w.body == 0:
                        _deflect(w, thrust[i, w.rotor], ux, uy, uz, i, j, out)


@njit
def _deflect(w, thrust, ux, uy, uz, i, j, out):  # type: ignore[no-untyped-def]
    """Derivative of the wrench of a half wing of the base with respect to its elevon: linear."""
    one = half_wing.wrench(w, 1.0, thrust, SEA_LEVEL_DENSITY, ux, uy, uz, 0.0, 0.0, 0.0)
    none = half_wing.wrench(w, 0.0, thrust, SEA_LEVEL_DENSITY, ux, uy, uz, 0.0, 0.0, 0.0)
    for k in range(6):
        out[i, k, j] += one[k] - none[k]


@njit
def _push(a, pose, share, thrust, ux, uy, uz):  # type: ignore[no-untyped-def]
    """Derivative of a rotor's force and torque with respect to its thrust, base frame."""
    qx, qy, qz, qw = pose[3], pose[4], pose[5], pose[6]
    vx, vy, vz = rotate_inverse(qx, qy, qz, qw, ux, uy, uz)
    # d speed / d thrust at this thrust, from thrust = C_T speed^2.
    speed = 0.0
    if thrust > 0.0:
        speed = 0.5 / np.sqrt(a.motor_constant * thrust)
    fx, fy, fz, mx, my, mz = rotor.wrench(
        speed * share,
        share,
        a.direction,
        a.axis[0],
        a.axis[1],
        a.axis[2],
        1.0,
        a.moment_constant,
        a.rotor_drag_coefficient,
        a.rolling_moment_coefficient,
        vx,
        vy,
        vz,
    )
    rx, ry, rz = rotate(qx, qy, qz, qw, a.pos[0], a.pos[1], a.pos[2])
    rx, ry, rz = pose[0] + rx, pose[1] + ry, pose[2] + rz
    fx, fy, fz = rotate(qx, qy, qz, qw, fx, fy, fz)
    mx, my, mz = rotate(qx, qy, qz, qw, mx, my, mz)
    return (
        fx,
        fy,
        fz,
        (ry * fz - rz * fy) + mx,
        (rz * fx - rx * fz) + my,
        (rx * fy - ry * fx) + mz,
    )


@njit
def _turn(rotors, body, one, actuator, poses, thrust, moved, ux, uy, uz, i, j, out):  # type: ignore[no-untyped-def]
    """Derivative, with respect to a joint position, of the wrench of the rotors it carries.

    A force F at p, turned about an axis n through c, changes by n x F. Its torque p x F + M changes
    by (n x (p - c)) x F + p x (n x F) + n x M, which is n x (p x F + M) - (n x c) x F.
    """
    pose = poses[moved]
    qx, qy, qz, qw = pose[3], pose[4], pose[5], pose[6]
    nx, ny, nz = rotate(qx, qy, qz, qw, one.axis[0], one.axis[1], one.axis[2])
    cx, cy, cz = rotate(qx, qy, qz, qw, one.anchor[0], one.anchor[1], one.anchor[2])
    cx, cy, cz = pose[0] + cx, pose[1] + cy, pose[2] + cz
    sx, sy, sz = ny * cz - nz * cy, nz * cx - nx * cz, nx * cy - ny * cx
    for r in range(rotors):
        b = actuator[r].body
        while b != moved and b > 0:
            b = body[b].parent
        if b != moved or thrust[r] == 0.0:
            continue
        fx, fy, fz, mx, my, mz = _push(
            actuator[r], poses[actuator[r].body], thrust[r], thrust[r], ux, uy, uz
        )
        if one.prismatic:
            _add(
                out, i, j, (0.0, 0.0, 0.0, ny * fz - nz * fy, nz * fx - nx * fz, nx * fy - ny * fx)
            )
        else:
            _add(
                out,
                i,
                j,
                (
                    ny * fz - nz * fy,
                    nz * fx - nx * fz,
                    nx * fy - ny * fx,
                    ny * mz - nz * my - (sy * fz - sz * fy),
                    nz * mx - nx * mz - (sz * fx - sx * fz),
                    nx * my - ny * mx - (sx * fy - sy * fx),
                ),
            )


@njit
def _put(out, i, j, values):  # type: ignore[no-untyped-def]
    for k in range(6):
        out[i, k, j] = values[k]


@njit
def _add(out, i, j, values):  # type: ignore[no-untyped-def]
    for k in range(6):
        out[i, k, j] += values[k]
