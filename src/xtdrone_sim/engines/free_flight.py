"""Vehicles that touch nothing: steps of one rigid body each, without MuJoCo.

The step is MuJoCo's semi-implicit one. A vehicle that is one body and touches nothing is always
stepped so, whatever else is near: how it flies does not depend on what the others do. Where that
holds for all of them, and for the whole world, MuJoCo has nothing to do.
"""

import mujoco
import numpy as np

from xtdrone_core import FleetState
from xtdrone_dynamics import quaternion, rigid_body
from xtdrone_dynamics.compiled import fleet_kernel

from .body import Masses, limit_speed


class FreeFlight:
    """Steps the vehicles of a scene that are one body and touch nothing."""

    def __init__(self, model: mujoco.MjModel, masses: Masses, base: np.ndarray):
        """Finds the vehicles that are one body without constraints.

        Args:
            model: The compiled scene.
            masses: Mass properties of the vehicles, kept.
            base: (N, 2) where each begins in MuJoCo's qpos and qvel.
        """
        self._model, self._masses, self._base = model, masses, base
        n = len(base)
        self._alone = masses.records["alone"][:, 0].copy()
        joints = model.eq_type == mujoco.mjtEq.mjEQ_JOINT
        if model.ntendon or not joints.all():
            self._alone[:] = False
        self._all = bool(self._alone.all()) and model.nv == 6 * n and not model.nmocap
        roots = masses.records["row"][:, 0]  # the bodies' numbers
        self._tree = model.body_treeid[roots]
        vehicle_of_body = np.full(model.nbody, -1)
        vehicle_of_body[roots] = np.arange(n)
        self._vehicle_of = vehicle_of_body[model.body_rootid[model.geom_bodyid]]
        self._free = self._alone.copy()  # which of them touch nothing
        self._next = np.zeros((n, 13))  # position, quaternion wxyz, velocities after the step

    def step(self, wrench: np.ndarray, state: FleetState, dt: float) -> None:
        """Computes a step of all vehicles of one body, as if they touched nothing.

        Args:
            wrench: (N, B, 6) as Engine.step() takes it.
            state: The fleet at the start of the step.
            dt: Length of the step [s].
        """
        _step(
            self._alone,
            self._masses.records,
            wrench,
            state.pos,
            state.quat,
            state.vel,
            state.ang_vel,
            -self._model.opt.gravity[2],
            dt,
            self._next,
        )

    def finish(self, data: mujoco.MjData) -> None:
        """Writes the result for those of them that MuJoCo found awake and without a contact."""
        free = self._free
        free[:] = self._alone
        if data.ntree_awake < self._model.ntree:
            free &= data.tree_asleep[self._tree] < 0
        if data.ncon:
            contact = data.contact
            touching = self._vehicle_of[contact.geom[contact.efc_address >= 0]]
            free[touching[touching >= 0]] = False
        _write(free, self._base, self._next, data.qpos, data.qvel)

    def is_all(self, data: mujoco.MjData) -> bool:
        """Whether nothing moves in the scene but such vehicles, and none of them sleeps."""
        return self._all and data.ntree_awake == self._model.ntree

    def finish_all(self, data: mujoco.MjData, dt: float) -> None:
        """Writes the result for all vehicles, instead of a step of MuJoCo's."""
        _write(self._alone, self._base, self._next, data.qpos, data.qvel)
        data.time += dt


@fleet_kernel
def _step(
    alone: np.ndarray,
    masses: np.ndarray,
    wrench: np.ndarray,
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    gravity: float,
    dt: float,
    after: np.ndarray,
) -> None:
    for i in range(alone.shape[0]):
        if not alone[i]:
            continue
        body, force = masses[i, 0], wrench[i, 0]
        qx, qy, qz, qw = quat[i, 0], quat[i, 1], quat[i, 2], quat[i, 3]
        wx, wy, wz = ang_vel[i, 0], ang_vel[i, 1], ang_vel[i, 2]
        fx, fy, fz = force[0], force[1], force[2]
        # The centre of gravity is beside the origin of the base where there is a payload.
        cx, cy, cz = body.arm[0], body.arm[1], body.arm[2]
        rx, ry, rz = quaternion.rotate(qx, qy, qz, qw, cx, cy, cz)
        tx, ty, tz = quaternion.rotate_inverse(
            qx,
            qy,
            qz,
            qw,
            force[3] - (ry * fz - rz * fy),
            force[4] - (rz * fx - rx * fz),
            force[5] - (rx * fy - ry * fx),
        )
        s, t = body.inertia, body.inverse
        inertia, inverse = (
            (s[0], s[1], s[2], s[3], s[4], s[5]),
            (t[0], t[1], t[2], t[3], t[4], t[5]),
        )
        vx, vy, vz, ax, ay, az = rigid_body.accelerate(
            vel[i, 0],
            vel[i, 1],
            vel[i, 2],
            wx,
            wy,
            wz,
            (fx, fy, fz),
            (tx, ty, tz),
            body.mass,
            inertia,
            inverse,
            gravity,
            dt,
        )
        if cx != 0.0 or cy != 0.0 or cz != 0.0:
            # The origin's acceleration: less alpha x r and omega x (omega x r).
            ex, ey, ez = wy * cz - wz * cy, wz * cx - wx * cz, wx * cy - wy * cx
            ux, uy, uz = quaternion.rotate(
                qx,
                qy,
                qz,
                qw,
                (ay - wy) * cz - (az - wz) * cy + dt * (wy * ez - wz * ey),
                (az - wz) * cx - (ax - wx) * cz + dt * (wz * ex - wx * ez),
                (ax - wx) * cy - (ay - wy) * cx + dt * (wx * ey - wy * ex),
            )
            vx, vy, vz = vx - ux, vy - uy, vz - uz
        row = after[i]
        row[7], row[8], row[9] = vx, vy, vz
        row[10], row[11], row[12] = ax, ay, az
        limit_speed(row, 7)
        moved = rigid_body.displace(
            pos[i, 0],
            pos[i, 1],
            pos[i, 2],
            qx,
            qy,
            qz,
            qw,
            row[7],
            row[8],
            row[9],
            row[10],
            row[11],
            row[12],
            dt,
        )
        row[0], row[1], row[2] = moved[0], moved[1], moved[2]
        row[3], row[4], row[5], row[6] = moved[6], moved[3], moved[4], moved[5]


@fleet_kernel
def _write(
    free: np.ndarray, base: np.ndarray, after: np.ndarray, qpos: np.ndarray, qvel: np.ndarray
) -> None:
    for i in range(free.shape[0]):
        if free[i]:
            for k in range(7):
                qpos[base[i, 0] + k] = after[i, k]
            for k in range(6):
                qvel[base[i, 1] + k] = after[i, 7 + k]
