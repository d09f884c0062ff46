"""Clearance of a fleet: vehicles so far from each other and from the world that nothing touches.

Then MuJoCo need not look for contacts. As in the neighbour lists of molecular dynamics (Verlet,
Phys. Rev. 159, 1967), distances are computed once, and hold until somebody has moved by half of the
least one: a step of a flying fleet only compares positions with those of that time.
"""

import math

import mujoco
import numpy as np

from xtdrone_dynamics.compiled import fleet_kernel, njit

_WAIT = 25  # steps from one look at all distances, which takes N^2 time, to the next


class Clearance:
    """Decides for each step whether contacts are possible."""

    def __init__(self, model: mujoco.MjModel, roots: np.ndarray, qpos: np.ndarray):
        """Measures the vehicles and finds what stands still.

        Args:
            model: The compiled scene.
            roots: (N,) bodies of the vehicles' bases.
            qpos: (N,) where the position of each begins in MuJoCo's qpos.
        """
        touch = np.flatnonzero((model.geom_contype | model.geom_conaffinity) != 0)
        body = model.geom_bodyid[touch]
        root = model.body_rootid[body]
        still = (model.body_weldid[body] == 0) & (model.body_mocapid[root] < 0)
        vehicle = {int(base): i for i, base in enumerate(roots)}
        self._radius = np.zeros(
            len(roots)
        )  # radius of a sphere about the base that contains the vehicle [m]
        for geom, base in zip(touch[~still], root[~still].tolist(), strict=True):
            if base not in vehicle:  # a model that moves can come near at any time
                self._radius[:] = math.inf
                break
            i = vehicle[base]
            self._radius[i] = max(self._radius[i], _reach(model, geom))
        self._statics = _statics(model, touch[still])
        self._at = np.ascontiguousarray(qpos, dtype=np.int64)
        self._then = np.zeros((len(roots), 3))  # positions when all distances were computed [m]
        self._state = np.zeros(2)  # how far each may go from there [m]; steps to the next look

    def holds(self, qpos: np.ndarray) -> bool:
        """Whether nothing can touch at these positions of MuJoCo's."""
        return bool(_holds(qpos, self._at, self._radius, *self._statics, self._then, self._state))


def _reach(model: mujoco.MjModel, geom: int) -> float:
    """The farthest that a point of a geom can be from its vehicle's base [m]."""
    far = np.linalg.norm(model.geom_pos[geom]) + model.geom_rbound[geom] + model.geom_margin[geom]
    body = model.geom_bodyid[geom]
    while model.body_parentid[body] != 0:
        first, count = model.body_jntadr[body], model.body_jntnum[body]
        if (model.jnt_type[first : first + count] != mujoco.mjtJoint.mjJNT_HINGE).any():
            return math.inf
        far += np.linalg.norm(model.body_pos[body])
        far += 2.0 * np.linalg.norm(model.jnt_pos[first : first + count], axis=1).sum()
        body = model.body_parentid[body]
    return float(far)


def _statics(
    model: mujoco.MjModel, geoms: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Boxes about what stands still.

    Returns:
        Origins (S, 3), axes as columns (S, 3, 3), lowest and highest coordinates (S, 3) along them.
    """
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    centre, half = model.geom_aabb[geoms, :3], model.geom_aabb[geoms, 3:]
    low, high = centre - half, centre + half
    planes = (
        model.geom_type[geoms] == mujoco.mjtGeom.mjGEOM_PLANE
    )  # whatever is below touches it, too
    low[planes], high[planes] = -math.inf, (math.inf, math.inf, 0.0)
    margin = model.geom_margin[geoms, None]
    return (
        data.geom_xpos[geoms],
        data.geom_xmat[geoms].reshape(-1, 3, 3),
        low - margin,
        high + margin,
    )


@fleet_kernel
def _holds(
    qpos: np.ndarray,
    at: np.ndarray,
    radius: np.ndarray,
    origins: np.ndarray,
    axes: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    then: np.ndarray,
    state: np.ndarray,
) -> bool:
    state[1] = max(0.0, state[1] - 1.0)
    far = state[0] * state[0]
    moved = False
    for i in range(at.shape[0]):
        total = 0.0
        for k in range(3):
            total += (qpos[at[i] + k] - then[i, k]) ** 2
        if not total < far:  # nor where it is NaN
            moved = True
            break
    if not moved:
        return True
    state[0] = 0.0
    if state[1] > 0.0:
        return False
    state[1] = _WAIT
    gap = _gap(qpos, at, radius, origins, axes, low, high)
    if not gap > 0.0:
        return False
    for i in range(at.shape[0]):
        for k in range(3):
            then[i, k] = qpos[at[i] + k]
    state[0] = 0.5 * gap
    return True


@njit
def _gap(
    qpos: np.ndarray,
    at: np.ndarray,
    radius: np.ndarray,
    origins: np.ndarray,
    axes: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> float:
    """The least distance of a vehicle from anything; the first that is not positive, if any is."""
    minimum = math.inf
    for i in range(at.shape[0]):
        x, y, z = qpos[at[i]], qpos[at[i] + 1], qpos[at[i] + 2]
        for s in range(origins.shape[0]):
            total = 0.0
            for k in range(3):
                along = (
                    (x - origins[s, 0]) * axes[s, 0, k]
                    + (y - origins[s, 1]) * axes[s, 1, k]
                    + (z - origins[s, 2]) * axes[s, 2, k]
                )
                out = max(0.0, low[s, k] - along, along - high[s, k])
                total += out * out
            gap = math.sqrt(total) - radius[i]
            if not gap > 0.0:
                return gap
            minimum = min(minimum, gap)
        for j in range(i):
            total = (x - qpos[at[j]]) ** 2 + (y - qpos[at[j] + 1]) ** 2 + (z - qpos[at[j] + 2]) ** 2
            gap = math.sqrt(total) - radius[i] - radius[j]
            if not gap > 0.0:
                return gap
            minimum = min(minimum, gap)
    return minimum
