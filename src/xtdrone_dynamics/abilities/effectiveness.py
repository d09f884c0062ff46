"""The actuator effectiveness matrix, from which control allocation is derived.

It is the linearisation, at an operating point, of the same actuator functions that the
simulation uses. The term is that of Johansen and Fossen, "Control allocation - A survey" (2013).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import ROTOR, SERVO, SURFACE

from ..compiled import Record, njit
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
Result = TypeVar("Result")
_Wrench = tuple[float, float, float, float, float, float]
_HOVER = slice(2, 6)  # rows that a conventional multirotor commands: vertical force, torques
_SMALL = 1e-6  # singular values below this fraction of the largest count as zero


def effectiveness(
    fleet: FleetModel,
    airspeed: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
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
    positions = np.zeros(fleet.joint.shape) if joint_pos is None else np.asarray(joint_pos, float)
    thrusts = np.zeros(fleet.actuator.shape) if thrust is None else np.asarray(thrust, float)
    poses = np.zeros((*fleet.body.shape, 7))
    poses[..., 6] = 1.0
    ux, uy, uz = map(float, airspeed)
    place(fleet.vehicle, fleet.body, fleet.joint, positions, poses)
    fill(
        fleet.vehicle,
        fleet.body,
        fleet.joint,
        fleet.actuator,
        fleet.half_wing,
        poses,
        thrusts,
        ux,
        uy,
        uz,
        out,
    )
    return out


def hover_thrust(fleet: FleetModel) -> np.ndarray:
    """Thrust of each rotor in a level hover with all joints at zero.

    Elevons of half wings in the slipstream may hold torques of the rotors.

    Returns:
        (N, A) [N]; zeros for a vehicle that cannot hover so.
    """
    thrusts = np.zeros(fleet.actuator.shape)
    largest, weights = largest_thrust(fleet), fleet.vehicle["mass"] * GRAVITY
    matrices, rotors = effectiveness(fleet), fleet.rotor_mask
    for i, hover in enumerate(of_each(_hover, matrices, largest, rotors, weights)):
        if hover is None and fleet.vehicles[i].half_wings:
            columns, thrusts_of = matrices[i][:, rotors[i]], largest[i, rotors[i]]
            hover = _hover_by_elevons(fleet, i, columns, thrusts_of, weights[i])
        if hover is not None:
            thrusts[i, rotors[i]] = hover
    return thrusts


def of_each(function: Callable[..., Result], *rows: np.ndarray) -> Iterator[Result]:
    """Yields function(*row) of each vehicle; equal rows are computed once.

    Args:
        function: Of one row of each array.
        rows: (N, ...) each.
    """
    known: dict[tuple[bytes, ...], Result] = {}
    for row in zip(*rows, strict=True):
        key = tuple(part.tobytes() for part in row)
        if key not in known:
            known[key] = function(*row)
        yield known[key]


def _hover_by_elevons(
    fleet: FleetModel, i: int, matrix: np.ndarray, largest: np.ndarray, weight: float
) -> np.ndarray | None:
    """Thrust of each rotor (R,) [N] of vehicle i where elevons hold what torque is left, or None.

    Args:
        fleet: The vehicles.
        i: Index of the vehicle.
        matrix: (6, R) of its rotors.
        largest: (R,) [N].
        weight: [N].
    """
    one = FleetModel.of([fleet.vehicles[i]])
    rotors, elevons = one.rotor_mask[0], one.actuator["kind"][0] == SURFACE
    thrust = np.where(one.rotor_mask, weight / max(rotors.sum(), 1), 0.0)
    columns = effectiveness(one, thrust=thrust)[0][2:, elevons]
    held = abs(columns).max(axis=1, initial=0.0) > 0.0
    held[0] = False  # the weight is for the rotors
    hover: np.ndarray = np.linalg.pinv(matrix[2:][~held]) @ np.array([weight, 0, 0, 0])[~held]
    if not ((hover > 0.0) & (hover <= largest)).all():
        return None
    rest = matrix[2:] @ hover - (weight, 0.0, 0.0, 0.0)
    deflection = np.linalg.pinv(columns) @ rest
    fits = (abs(deflection) <= deflections(one.actuator[0, elevons])).all()
    return hover if fits and abs(rest - columns @ deflection).max() <= 1e-6 * weight else None


def deflections(surfaces: np.ndarray) -> np.ndarray:
    """Largest deflection of surfaces, records of actuators [rad]."""
    return np.minimum(surfaces["input_scaling"] * surfaces["upper"], surfaces["joint_upper"])


def in_hover(fleet: FleetModel) -> np.ndarray:
    """The effectiveness in a level hover, (N, 6, A): servos that tilt rotors have theirs, too."""
    return effectiveness(fleet, thrust=hover_thrust(fleet))


def _hover(
    matrix: np.ndarray, largest: np.ndarray, rotors: np.ndarray, weight: float
) -> np.ndarray | None:
    """Thrust of each of R rotors (R,) [N] that carries a weight at rest, or None.

    Args:
        matrix: (6, A) effectiveness.
        largest: (A,) thrust [N].
        rotors: (A,) bool, which actuators are rotors.
        weight: [N].
    """
    matrix, largest = matrix[:, rotors], largest[rotors]
    if not matrix.size:
        return None
    hover_wrench = np.array((weight, 0.0, 0.0, 0.0))
    hover: np.ndarray = np.linalg.pinv(matrix[2:]) @ hover_wrench
    if rank(matrix) == 6:
        hover = np.linalg.pinv(matrix) @ (0.0, 0.0, *hover_wrench)
    fits = (hover > 0.0).all() and (hover <= largest).all()
    return hover if fits and abs(matrix[2:] @ hover - hover_wrench).max() <= 1e-6 * weight else None


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
    rows = np.ones(6, dtype=np.bool_)
    if rank(matrix) < 6:
        rows[:2] = False
        scaled = _scaled(matrix)[_HOVER]
        reached: np.ndarray = np.zeros((4, 4))
        if matrix.size:
            reached = scaled @ np.linalg.pinv(scaled, rcond=_SMALL)
        rows[_HOVER] = abs(np.diag(reached) - 1.0) < 1e-3
    return rows


def largest_thrust(fleet: FleetModel) -> np.ndarray:
    """Maximum thrust of each rotor, (N, A) [N]; zero for other actuators."""
    actuator = fleet.actuator
    max_speed = np.minimum(
        actuator["zero_position_armed"] + actuator["input_scaling"], actuator["max_rot_velocity"]
    )
    return np.where(fleet.rotor_mask, actuator["motor_constant"] * max_speed**2, 0.0)


def largest_torque(fleet: FleetModel) -> np.ndarray:
    """Torque about each axis that a vehicle exerts either way, in a level hover, (N, 3) [N m].

    All that gives one is used: rotors from standstill to full thrust, servos from end to end.
    """
    actuator, torques = fleet.actuator, in_hover(fleet)[:, 3:]
    max_thrust = largest_thrust(fleet)
    high = np.where(fleet.rotor_mask, max_thrust, actuator["upper"])[:, None]
    low = np.where(
        fleet.rotor_mask, np.where(actuator["bidirectional"], -max_thrust, 0.0), actuator["lower"]
    )[:, None]
    reached = np.stack([torques * high, torques * low])
    reached = np.where(torques == 0.0, 0.0, reached)  # servos without end stops that turn nothing
    return np.minimum(reached.max(axis=0).sum(axis=-1), -reached.min(axis=0).sum(axis=-1))


def cannot_hover(fleet: FleetModel) -> list[str]:
    """Reason why each vehicle cannot fly as a multicopter; empty where it can."""
    matrices, largest = in_hover(fleet), largest_thrust(fleet)
    both = fleet.actuator["bidirectional"]
    return list(of_each(_obstacle, matrices, largest, both, fleet.vehicle["mass"] * GRAVITY))


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
    vehicle: np.ndarray,
    body: np.ndarray,
    joints: np.ndarray,
    joint_pos: np.ndarray,
    poses: np.ndarray,
) -> None:
    """Computes the poses of all bodies in the base frame.

    Args:
        vehicle, body, joints: Records of N vehicles.
        joint_pos: (N, J) joint positions [rad] or [m].
        poses: (N, B, 7), output: position [m] and quaternion xyzw; the base's own is already set.
    """
    for i in range(vehicle.shape[0]):
        for b in range(1, vehicle[i].bodies):
            record = body[i, b]
            p = poses[i, record.parent]
            state = joint.moved(
                record,
                joints[i, record.joint],
                joint_pos[i, record.joint],
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
                poses[i, b, k] = state[k]


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
    """Computes the effectiveness; see place() and effectiveness().

    Args:
        vehicle, body, joints, actuator, half_wings: Records of N vehicles.
        poses: (N, B, 7) of place().
        thrust: (N, A) [N].
        ux, uy, uz: Velocity relative to the air, frame of the base [m/s].
        out: (N, 6, A), output; zeros before.
    """
    for i in range(vehicle.shape[0]):
        for j in range(vehicle[i].actuators):
            record = actuator[i, j]
            if record.kind == ROTOR:
                _set_column(
                    out,
                    i,
                    j,
                    _thrust_wrench(record, poses[i, record.body], 1.0, thrust[i, j], ux, uy, uz),
                )
            elif record.kind == SERVO:
                _add_servo(
                    vehicle[i].rotors,
                    body[i],
                    joints[i, record.joint],
                    actuator[i],
                    poses[i],
                    thrust[i],
                    record.body,
                    ux,
                    uy,
                    uz,
                    i,
                    j,
                    out,
                )
            elif record.kind == SURFACE:
                for k in range(vehicle[i].half_wings):
                    wing = half_wings[i, k]
                    if wing.control == j and wing.body == 0:
                        _add_elevon(wing, thrust[i, wing.rotor], ux, uy, uz, i, j, out)


@njit
def _add_elevon(
    wing: Record, thrust: float, ux: float, uy: float, uz: float, i: int, j: int, out: np.ndarray
) -> None:
    """Derivative of the wrench of a half wing of the base with respect to its elevon: linear."""
    deflected = half_wing.wrench(wing, 1.0, thrust, SEA_LEVEL_DENSITY, ux, uy, uz, 0.0, 0.0, 0.0)
    neutral = half_wing.wrench(wing, 0.0, thrust, SEA_LEVEL_DENSITY, ux, uy, uz, 0.0, 0.0, 0.0)
    for k in range(6):
        out[i, k, j] += deflected[k] - neutral[k]


@njit
def _thrust_wrench(
    rotor_record: Record,
    pose: np.ndarray,
    mean_square: float,
    thrust: float,
    ux: float,
    uy: float,
    uz: float,
) -> _Wrench:
    """Derivative of a rotor's force and torque with respect to its thrust, base frame."""
    qx, qy, qz, qw = pose[3], pose[4], pose[5], pose[6]
    vx, vy, vz = rotate_inverse(qx, qy, qz, qw, ux, uy, uz)
    # d speed / d thrust at this thrust, from thrust = C_T speed^2.
    speed = 0.0
    if thrust > 0.0:
        speed = 0.5 / np.sqrt(rotor_record.motor_constant * thrust)
    fx, fy, fz, mx, my, mz = rotor.wrench(
        speed * mean_square,
        mean_square,
        rotor_record.direction,
        rotor_record.axis[0],
        rotor_record.axis[1],
        rotor_record.axis[2],
        1.0,
        rotor_record.moment_constant,
        rotor_record.rotor_drag_coefficient,
        rotor_record.rolling_moment_coefficient,
        vx,
        vy,
        vz,
    )
    rx, ry, rz = rotate(
        qx, qy, qz, qw, rotor_record.pos[0], rotor_record.pos[1], rotor_record.pos[2]
    )
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
def _add_servo(
    rotors: int,
    body: np.ndarray,
    joint_record: Record,
    actuator: np.ndarray,
    poses: np.ndarray,
    thrust: np.ndarray,
    moved: int,
    ux: float,
    uy: float,
    uz: float,
    i: int,
    j: int,
    out: np.ndarray,
) -> None:
    """Derivative, with respect to a joint position, of the wrench of the rotors it carries.

    A force F at p, turned about an axis n through c, changes by n x F. Its torque p x F + M changes
    by (n x (p - c)) x F + p x (n x F) + n x M, which is n x (p x F + M) - (n x c) x F.
    """
    pose = poses[moved]
    qx, qy, qz, qw = pose[3], pose[4], pose[5], pose[6]
    nx, ny, nz = rotate(
        qx, qy, qz, qw, joint_record.axis[0], joint_record.axis[1], joint_record.axis[2]
    )
    cx, cy, cz = rotate(
        qx, qy, qz, qw, joint_record.anchor[0], joint_record.anchor[1], joint_record.anchor[2]
    )
    cx, cy, cz = pose[0] + cx, pose[1] + cy, pose[2] + cz
    sx, sy, sz = ny * cz - nz * cy, nz * cx - nx * cz, nx * cy - ny * cx
    for r in range(rotors):
        b = actuator[r].body
        while b != moved and b > 0:
            b = body[b].parent
        if b != moved or thrust[r] == 0.0:
            continue
        fx, fy, fz, mx, my, mz = _thrust_wrench(
            actuator[r], poses[actuator[r].body], thrust[r], thrust[r], ux, uy, uz
        )
        if joint_record.prismatic:
            _add_column(
                out, i, j, (0.0, 0.0, 0.0, ny * fz - nz * fy, nz * fx - nx * fz, nx * fy - ny * fx)
            )
        else:
            _add_column(
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
def _set_column(out: np.ndarray, i: int, j: int, values: _Wrench) -> None:
    for k in range(6):
        out[i, k, j] = values[k]


@njit
def _add_column(out: np.ndarray, i: int, j: int, values: _Wrench) -> None:
    for k in range(6):
        out[i, k, j] += values[k]
