"""What every engine does alike: payloads, the wrench on a body, who stays when one is deleted."""

import numpy as np

from xtdrone_core import VehicleModel
from xtdrone_core.errors import unknown_name
from xtdrone_dynamics import quaternion, rigid_body
from xtdrone_dynamics.compiled import njit

from ..errors import EngineError

_SLOW = 1e-6  # below this rate squared nothing is added, so that a vehicle can sleep [rad^2/s^2]


def packed(matrices) -> np.ndarray:
    """Symmetric matrices (N, 3, 3) as rows (N, 6) of xx, yy, zz, xy, xz, yz."""
    return np.ascontiguousarray(np.asarray(matrices)[:, (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)])


def with_payload(empty: VehicleModel, mass: float, pos) -> tuple[float, np.ndarray, np.ndarray]:
    """A vehicle with a point mass fixed to it.

    Args:
        empty: The vehicle's model.
        mass: Of the payload [kg].
        pos: (3,) of the payload, from the empty vehicle's centre of gravity, body [m].

    Returns:
        Mass [kg], centre of gravity from the empty vehicle's (3,) [m], and inertia about it (3, 3)
        [kg m^2], body.
    """
    pos = np.asarray(pos, dtype=float)
    total = empty.mass + mass
    centre = mass / total * pos
    inertia = (np.array(empty.inertia) + empty.mass * _point_inertia(centre)
               + mass * _point_inertia(pos - centre))
    return total, centre, inertia


def others(specs, name: str) -> list[int]:
    """Indices of the vehicles that stay when one of them is deleted.

    Raises:
        EngineError: No such vehicle, or it is the last one.
    """
    names = [spec.name for spec in specs]
    if name not in names:
        raise EngineError(unknown_name("vehicle", name, names))
    if len(names) == 1:
        raise EngineError(f"'{name}' is the only vehicle: a simulation needs one")
    return [i for i, known in enumerate(names) if known != name]


@njit
def apply_wrench(wrench, quat, rate, inertia, inverse, arm, dt, applied):
    """The wrench for a physics that takes the gyroscopic torque as constant through a step.

    Adds the difference to that torque's mean over the step, without which a tumbling body gains
    energy; and moves the torque to the centre of gravity.

    Args:
        wrench: (N, 6) force [N], then torque about the empty vehicle's centre of gravity [N m],
            world.
        quat: (N, 4) xyzw, body to world.
        rate: (N, 3) angular velocity, body [rad/s].
        inertia, inverse: (N, 6) about the centre of gravity, packed, body.
        arm: (N, 3) from the empty vehicle's centre of gravity to that with payload, body [m].
        dt: Length of the step [s].
        applied: (N, 6) takes force and torque about the centre of gravity, world.
    """
    for i in range(wrench.shape[0]):
        qx, qy, qz, qw = quat[i, 0], quat[i, 1], quat[i, 2], quat[i, 3]
        wx, wy, wz = rate[i, 0], rate[i, 1], rate[i, 2]
        fx, fy, fz = wrench[i, 0], wrench[i, 1], wrench[i, 2]
        px, py, pz = quaternion.rotate(qx, qy, qz, qw, arm[i, 0], arm[i, 1], arm[i, 2])
        mx = wrench[i, 3] - (py * fz - pz * fy)
        my = wrench[i, 4] - (pz * fx - px * fz)
        mz = wrench[i, 5] - (px * fy - py * fx)
        applied[i, 0], applied[i, 1], applied[i, 2] = fx, fy, fz
        applied[i, 3], applied[i, 4], applied[i, 5] = mx, my, mz
        if wx * wx + wy * wy + wz * wz < _SLOW:
            continue
        j, k = inertia[i], inverse[i]
        tx, ty, tz = quaternion.rotate_inverse(qx, qy, qz, qw, mx, my, mz)
        gx, gy, gz = rigid_body.gyroscopic_torque(j, wx, wy, wz)
        mx, my, mz = rigid_body.mean_gyroscopic_torque(j, k, wx, wy, wz, tx, ty, tz, dt)
        dx, dy, dz = quaternion.rotate(qx, qy, qz, qw, mx - gx, my - gy, mz - gz)
        applied[i, 3] += dx
        applied[i, 4] += dy
        applied[i, 5] += dz


def _point_inertia(pos) -> np.ndarray:
    """Inertia of a unit mass at pos about the origin (3, 3) [m^2]."""
    return pos @ pos * np.eye(3) - np.outer(pos, pos)
