"""The arrays of a batch: E environments of V vehicles, everything contiguous and leading with both.

World frame of each environment ENU, body frame FLU, SI units, radians, quaternions xyzw.
"""

from typing import NamedTuple

import numpy as np

from xtdrone_core import FleetModel

STEP_US = 4_000  # length of a sub-step, as in the lockstep fleet [us]


class BatchState(NamedTuple):
    """True state of a batch; names as in xtdrone_core.FleetState. Read it without a copy."""

    pos: np.ndarray  # (E, V, 3) the base's origin, the centre of gravity with joints at zero [m]
    quat: np.ndarray  # (E, V, 4) xyzw, base to world
    vel: np.ndarray  # (E, V, 3) of that point, world [m/s]
    ang_vel: np.ndarray  # (E, V, 3) body frame [rad/s]
    acc: np.ndarray  # (E, V, 3) mean acceleration over the last sub-step, world [m/s^2]
    actuator: np.ndarray  # (E, V, A) speed of rotors and wheels [rad/s], position of others
    joint_pos: np.ndarray  # (E, V, J) [rad] or [m]
    joint_vel: np.ndarray  # (E, V, J) [rad/s] or [m/s]
    contact: np.ndarray  # (E, V, 3) mean force of contacts over the last step, world [N]
    tyre_load: np.ndarray  # (E, V, T, 3) force of the ground on each tyre, world [N]
    tread: np.ndarray  # (E, V, T, 2) deflection of the tyres [m]
    wind: np.ndarray  # (E, V, 3) velocity of the air, world [m/s]


class Variation(NamedTuple):
    """How each vehicle differs from its model; all 1 where nothing is randomised."""

    mass: np.ndarray  # (E, V) factor on mass and inertia
    effectiveness: np.ndarray  # (E, V, A) factor on the forces of each rotor


class Records(NamedTuple):
    """Records of vehicles, see xtdrone_core.fleet_model, and meshes that they may touch.

    Those of the V vehicles of an environment, or of the M vehicles of several.
    """

    vehicle: np.ndarray  # (V,)
    body: np.ndarray  # (V, B)
    joint: np.ndarray  # (V, J)
    actuator: np.ndarray  # (V, A)
    wing: np.ndarray  # (V, W)
    half_wing: np.ndarray  # (V, H)
    tyre: np.ndarray  # (V, T)
    hull: np.ndarray  # (V, H)
    effects: np.ndarray  # (V,)
    propellers: np.ndarray  # (P,) numbers of all propellers
    base: np.ndarray  # (V,) BASE
    point: np.ndarray  # (V, P) of contacts.POINT
    mesh_first: np.ndarray  # see meshes.MeshTables
    mesh_reach: np.ndarray
    mesh_triangle: np.ndarray
    mesh_node: np.ndarray
    mesh_info: np.ndarray
    mesh_item: np.ndarray


BASE = np.dtype(
    [
        ("inertia", "f8", (6,)),  # with joints at zero, packed, about the origin [kg m^2]
        ("inverse", "f8", (6,)),
        ("radius", "f8"),  # radius of the sphere about the origin that holds its collisions [m]
        ("points", "i8"),  # number of its contact points
        ("moves", "?"),  # it has joints
        ("wakes", "?"),  # some vehicle of the environment has a downwash
    ],
    align=True,
)


class Air(NamedTuple):
    """Surroundings that all environments share."""

    gravity: float  # downwards [m/s^2]
    altitude: float  # altitude of the world's origin above mean sea level [m]
    water: float  # height of the water's surface [m]; -inf without water
    water_weight: float  # specific weight of the water [N/m^3]


def new_state(model: FleetModel, environments: int, real: type) -> BatchState:
    """Returns a state at rest at the origin."""
    v, actuators = model.actuator.shape
    joints, tyres = model.joint.shape[1], model.tyre.shape[1]
    lead = environments, v
    state = BatchState(
        *(
            np.zeros((*lead, *shape), dtype=real)
            for shape in (
                (3,),
                (4,),
                (3,),
                (3,),
                (3,),
                (actuators,),
                (joints,),
                (joints,),
                (3,),
                (tyres, 3),
                (tyres, 2),
                (3,),
            )
        )
    )
    state.quat[..., 3] = 1.0
    return state
