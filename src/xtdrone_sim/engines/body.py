"""What every engine does alike: payloads, the wrench on each body, bodies that hang on others."""

import numpy as np

from xtdrone_core import Body, FleetModel, FleetState
from xtdrone_dynamics import joint, quaternion, rigid_body
from xtdrone_dynamics.compiled import njit

_SLOW = 1e-6  # below this rate squared nothing is added, so that a vehicle can sleep [rad^2/s^2]


def packed(matrices) -> np.ndarray:
    """Symmetric matrices (N, 3, 3) as rows (N, 6) of xx, yy, zz, xy, xz, yz."""
    return np.ascontiguousarray(np.asarray(matrices)[:, (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)])


def with_payload(empty: Body, mass: float, pos) -> tuple[float, np.ndarray, np.ndarray]:
    """A body with a point mass fixed to it.

    Args:
        empty: The body.
        mass: Of the payload [kg].
        pos: (3,) of the payload, frame of the body [m].

    Returns:
        Mass [kg], centre of gravity (3,) [m], and inertia about it (3, 3) [kg m^2], all in the
        frame of the body.
    """
    pos, own = np.asarray(pos, dtype=float), np.asarray(empty.cog, dtype=float)
    total = empty.mass + mass
    centre = own + mass / total * (pos - own)
    inertia = (np.array(empty.inertia) + empty.mass * _point_inertia(centre - own)
               + mass * _point_inertia(pos - centre))
    return total, centre, inertia


class Masses:
    """Masses of all bodies of a fleet, with what the vehicles carry.

    Attributes:
        arm: (N, B, 3) centre of gravity in the frame of the body [m].
        inertia, inverse: (N, B, 6) about it, packed, frame of the body.
    """

    def __init__(self, fleet: FleetModel):
        """Without payloads."""
        self._fleet = fleet
        self.arm = fleet.body["cog"].copy()
        self.inertia = fleet.body["inertia"].copy()
        self.inverse = np.zeros_like(self.inertia)
        for i, vehicle in enumerate(fleet.vehicles):
            inertia = np.array([body.inertia for body in vehicle.bodies])
            self.inverse[i, :len(inertia)] = packed(np.linalg.inv(inertia))

    def load(self, i: int, mass: float, pos) -> tuple[float, np.ndarray, np.ndarray]:
        """Fixes a payload to the base of vehicle i; gives what with_payload() gives."""
        total, centre, inertia = with_payload(self._fleet.vehicles[i].bodies[0], mass, pos)
        self.arm[i, 0] = centre
        self.inertia[i, 0] = packed(inertia[None])[0]
        self.inverse[i, 0] = packed(np.linalg.inv(inertia)[None])[0]
        return total, centre, inertia


@njit
def apply_wrench(vehicle, wrench, quat, rate, inertia, inverse, arm, dt, rows, applied):
    """The wrench for a physics that takes the gyroscopic torque as constant through a step.

    Moves the torque to the centre of gravity. To a vehicle of one body it adds the difference to
    the gyroscopic torque's mean over the step, without which a tumbling body gains energy.

    Args:
        vehicle: (N,) records.
        wrench: (N, B, 6) force [N], then torque about the body's origin [N m], world.
        quat: (N, B, 4) xyzw, body to world.
        rate: (N, B, 3) angular velocity, body [rad/s].
        inertia, inverse: (N, B, 6) about the centre of gravity, packed, body.
        arm: (N, B, 3) centre of gravity, body [m].
        dt: Length of the step [s].
        rows: (N, B) row of `applied` that belongs to each body.
        applied: (M, 6) takes force and torque about the centre of gravity, world.
    """
    for i in range(vehicle.shape[0]):
        for b in range(vehicle[i].bodies):
            qx, qy, qz, qw = quat[i, b, 0], quat[i, b, 1], quat[i, b, 2], quat[i, b, 3]
            wx, wy, wz = rate[i, b, 0], rate[i, b, 1], rate[i, b, 2]
            w, out = wrench[i, b], applied[rows[i, b]]
            fx, fy, fz = w[0], w[1], w[2]
            px, py, pz = quaternion.rotate(qx, qy, qz, qw, arm[i, b, 0], arm[i, b, 1],
                                           arm[i, b, 2])
            mx = w[3] - (py * fz - pz * fy)
            my = w[4] - (pz * fx - px * fz)
            mz = w[5] - (px * fy - py * fx)
            out[0], out[1], out[2], out[3], out[4], out[5] = fx, fy, fz, mx, my, mz
            if vehicle[i].bodies > 1 or wx * wx + wy * wy + wz * wz < _SLOW:
                continue
            j, k = inertia[i, b], inverse[i, b]
            tx, ty, tz = quaternion.rotate_inverse(qx, qy, qz, qw, mx, my, mz)
            gx, gy, gz = rigid_body.gyroscopic_torque(j, wx, wy, wz)
            mx, my, mz = rigid_body.mean_gyroscopic_torque(j, k, wx, wy, wz, tx, ty, tz, dt)
            dx, dy, dz = quaternion.rotate(qx, qy, qz, qw, mx - gx, my - gy, mz - gz)
            out[3] += dx
            out[4] += dy
            out[5] += dz


def place_bodies(fleet: FleetModel, state: FleetState) -> None:
    """Writes the poses and velocities of all bodies from those of the bases and joints."""
    if fleet.body.shape[1] > 1:
        _place_bodies(fleet.vehicle, fleet.body, fleet.joint, state.pos, state.quat, state.vel,
                      state.ang_vel, state.joint_pos, state.joint_vel, state.body_pos,
                      state.body_quat, state.body_vel, state.body_ang_vel)


@njit
def _place_bodies(vehicle, body, joints, pos, quat, vel, ang_vel, joint_pos, joint_vel, body_pos,
                  body_quat, body_vel, body_ang_vel):
    for i in range(vehicle.shape[0]):
        body_pos[i, 0], body_quat[i, 0] = pos[i], quat[i]
        body_vel[i, 0], body_ang_vel[i, 0] = vel[i], ang_vel[i]
        for b in range(1, vehicle[i].bodies):
            one = body[i, b]
            p, j = one.parent, one.joint
            x, q, v, w = body_pos[i, p], body_quat[i, p], body_vel[i, p], body_ang_vel[i, p]
            found = joint.moved(one, joints[i, j], joint_pos[i, j], joint_vel[i, j], x[0], x[1],
                                x[2], q[0], q[1], q[2], q[3], v[0], v[1], v[2], w[0], w[1], w[2])
            for k in range(3):
                body_pos[i, b, k] = found[k]
                body_vel[i, b, k] = found[7 + k]
                body_ang_vel[i, b, k] = found[10 + k]
            for k in range(4):
                body_quat[i, b, k] = found[3 + k]


def _point_inertia(pos) -> np.ndarray:
    """Inertia of a unit mass at pos about the origin (3, 3) [m^2]."""
    return pos @ pos * np.eye(3) - np.outer(pos, pos)
