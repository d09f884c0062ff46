"""Body mechanics shared by all engines: payloads, wrenches, poses of jointed bodies."""

import math

import numpy as np
import numpy.typing as npt

from xtdrone_core import Body, FleetModel, FleetState
from xtdrone_dynamics import quaternion, rigid_body
from xtdrone_dynamics.compiled import fleet_kernel, njit
from xtdrone_dynamics.forces import joint

# No vehicle or model is faster on one axis: beyond, drag and gyroscopic torque, which are constant
# during a step, would overshoot without bound.
_MAX_SPEED, _MAX_RATE = 1000.0, 500.0  # [m/s], [rad/s]
_SLOW = 1e-6  # no correction below this squared rate, so vehicles can sleep [rad^2/s^2]


def packed(matrices: np.ndarray) -> np.ndarray:
    """Packs symmetric matrices (N, 3, 3) into rows (N, 6) of xx, yy, zz, xy, xz, yz."""
    return np.ascontiguousarray(np.asarray(matrices)[:, (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)])


def with_payload(
    empty: Body, mass: float, pos: npt.ArrayLike
) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass properties of a body with a point mass fixed to it.

    Args:
        empty: The body without the payload.
        mass: Payload mass [kg].
        pos: (3,) payload position, body frame [m].

    Returns:
        Mass [kg], centre of gravity (3,) [m], and inertia about it (3, 3) [kg m^2], all in the
        body frame.
    """
    pos, own = np.asarray(pos, dtype=float), np.asarray(empty.cog, dtype=float)
    total = empty.mass + mass
    centre = own + mass / total * (pos - own)
    inertia = (
        np.array(empty.inertia)
        + empty.mass * _point_inertia(centre - own)
        + mass * _point_inertia(pos - centre)
    )
    return total, centre, inertia


MASS = np.dtype(
    [
        ("row", "i8"),  # row of the body's wrench in `applied`; -1 for none
        ("alone", "?"),  # its vehicle has no other body
        ("mass", "f8"),  # [kg]
        ("arm", "f8", (3,)),  # centre of gravity, body frame [m]
        ("inertia", "f8", (6,)),  # about the centre of gravity, packed, body frame [kg m^2]
        ("inverse", "f8", (6,)),
    ],
    align=True,
)


class Masses:
    """Mass properties of all bodies of a fleet, payloads included.

    Attributes:
        records: (N, B) MASS.
    """

    def __init__(self, fleet: FleetModel):
        """Starts without payloads; rows number the bodies of all vehicles consecutively."""
        self._fleet = fleet
        self.records = np.zeros(fleet.body.shape, dtype=MASS)
        self.records["row"] = -1
        self.records["mass"] = fleet.body["mass"]
        self.records["arm"] = fleet.body["cog"]
        self.records["inertia"] = fleet.body["inertia"]
        count = 0
        for records, vehicle in zip(self.records, fleet.vehicles, strict=True):
            inertia = np.array([body.inertia for body in vehicle.bodies])
            used = len(inertia)
            records["inverse"][:used] = packed(np.linalg.inv(inertia))
            records["alone"] = used == 1
            records["row"][:used] = np.arange(count, count + used)
            count += used

    def load(self, i: int, mass: float, pos: npt.ArrayLike) -> tuple[float, np.ndarray, np.ndarray]:
        """Fixes a payload to the base of vehicle i; returns the result of with_payload()."""
        total, centre, inertia = with_payload(self._fleet.vehicles[i].bodies[0], mass, pos)
        base = self.records[i, 0]
        base["mass"], base["arm"] = total, centre
        base["inertia"] = packed(inertia[None])[0]
        base["inverse"] = packed(np.linalg.inv(inertia)[None])[0]
        return total, centre, inertia


@fleet_kernel
def apply_wrench(
    masses: np.ndarray,
    wrench: np.ndarray,
    quat: np.ndarray,
    rate: np.ndarray,
    dt: float,
    applied: np.ndarray,
) -> None:
    """Computes the wrench for an engine that holds the gyroscopic torque constant over a step.

    Moves the torque to the centre of gravity. For a single-body vehicle it also adds the
    difference between the mean gyroscopic torque over the step and the torque at its start;
    without that correction a tumbling body gains energy.

    Args:
        masses: (N, B) MASS.
        wrench: (N, B, 6) force [N], then torque about the body's origin [N m], world.
        quat: (N, B, 4) attitudes xyzw, body to world.
        rate: (N, B, 3) angular velocity, body frame [rad/s].
        dt: Length of the step [s].
        applied: (M, 6) output: force and torque about the centre of gravity, world frame.
    """
    for i in range(masses.shape[0]):
        for b in range(masses.shape[1]):
            mass = masses[i, b]
            if mass.row < 0:
                continue
            qx, qy, qz, qw = quat[i, b, 0], quat[i, b, 1], quat[i, b, 2], quat[i, b, 3]
            wx, wy, wz = rate[i, b, 0], rate[i, b, 1], rate[i, b, 2]
            fx, fy, fz = wrench[i, b, 0], wrench[i, b, 1], wrench[i, b, 2]
            px, py, pz = quaternion.rotate(qx, qy, qz, qw, mass.arm[0], mass.arm[1], mass.arm[2])
            mx = wrench[i, b, 3] - (py * fz - pz * fy)
            my = wrench[i, b, 4] - (pz * fx - px * fz)
            mz = wrench[i, b, 5] - (px * fy - py * fx)
            row = mass.row
            applied[row, 0], applied[row, 1], applied[row, 2] = fx, fy, fz
            applied[row, 3], applied[row, 4], applied[row, 5] = mx, my, mz
            if not mass.alone or wx * wx + wy * wy + wz * wz < _SLOW:
                continue
            tx, ty, tz = quaternion.rotate_inverse(qx, qy, qz, qw, mx, my, mz)
            gx, gy, gz = rigid_body.gyroscopic_torque(mass.inertia, wx, wy, wz)
            mx, my, mz = rigid_body.mean_gyroscopic_torque(
                mass.inertia, mass.inverse, wx, wy, wz, tx, ty, tz, dt
            )
            dx, dy, dz = quaternion.rotate(qx, qy, qz, qw, mx - gx, my - gy, mz - gz)
            applied[row, 3] += dx
            applied[row, 4] += dy
            applied[row, 5] += dz


def place_bodies(fleet: FleetModel, state: FleetState) -> None:
    """Computes the poses and velocities of all bodies from those of the bases and joints."""
    place_fleet(
        fleet.vehicle,
        fleet.body,
        fleet.joint,
        state.pos,
        state.quat,
        state.vel,
        state.ang_vel,
        state.joint_pos,
        state.joint_vel,
        state.body_pos,
        state.body_quat,
        state.body_vel,
        state.body_ang_vel,
    )


@njit
def place_fleet(
    vehicle: np.ndarray,
    body: np.ndarray,
    joints: np.ndarray,
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    joint_pos: np.ndarray,
    joint_vel: np.ndarray,
    body_pos: np.ndarray,
    body_quat: np.ndarray,
    body_vel: np.ndarray,
    body_ang_vel: np.ndarray,
) -> None:
    """place_bodies() on the arrays of a FleetModel and a FleetState."""
    for i in range(vehicle.shape[0]):
        for k in range(3):
            body_pos[i, 0, k] = pos[i, k]
            body_vel[i, 0, k], body_ang_vel[i, 0, k] = vel[i, k], ang_vel[i, k]
        for k in range(4):
            body_quat[i, 0, k] = quat[i, k]
        for b in range(1, vehicle[i].bodies):
            child = body[i, b]
            p, j = child.parent, child.joint
            x, q, v, w = body_pos[i, p], body_quat[i, p], body_vel[i, p], body_ang_vel[i, p]
            moved = joint.moved(
                child,
                joints[i, j],
                joint_pos[i, j],
                joint_vel[i, j],
                x[0],
                x[1],
                x[2],
                q[0],
                q[1],
                q[2],
                q[3],
                v[0],
                v[1],
                v[2],
                w[0],
                w[1],
                w[2],
            )
            for k in range(3):
                body_pos[i, b, k] = moved[k]
                body_vel[i, b, k] = moved[7 + k]
                body_ang_vel[i, b, k] = moved[10 + k]
            for k in range(4):
                body_quat[i, b, k] = moved[3 + k]


@njit
def limit_speed(qvel: np.ndarray, at: int) -> None:
    """Limits the speeds of the free body whose six numbers begin there, if it has them."""
    for k in range(at, min(at + 6, len(qvel))):
        limit = _MAX_SPEED if k < at + 3 else _MAX_RATE
        if abs(qvel[k]) > limit:  # not where it is NaN, which has to be noticed
            qvel[k] = math.copysign(limit, qvel[k])


def _point_inertia(pos: np.ndarray) -> np.ndarray:
    """Inertia (3, 3) about the origin of a unit mass at pos [m^2]."""
    return pos @ pos * np.eye(3) - np.outer(pos, pos)
