"""Flies a time-optimal plan by body rates and thrust.

The wanted acceleration is the plan's and what brings position and velocity back; the wanted
attitude is the plan's, tilted until its thrust points there. Body rates are the plan's and what
turns the vehicle to that attitude. Only rates and thrust are taken ahead of time: an attitude ahead
would count the turn of the plan twice. It flies upside down as well, which set-points of position
do not allow.
"""

import numpy as np

from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import multiply, rotate

from .dynamics import Multirotor
from .planner import TimeOptimal

_POSITION_GAIN, _VELOCITY_GAIN = 36.0, 9.0  # [1/s^2], [1/s]
_ATTITUDE_GAIN = 20.0  # [1/s]
_MAX_CORRECTION = 12.0  # of the acceleration [m/s^2]
# By which rates and thrust are taken ahead: the lag of rate loop and rotors, and of rotors [s].
_LEAD_S, _THRUST_LEAD_S = 0.045, 0.02

Quaternion = tuple[float, float, float, float]


class Tracker:
    """Follows a plan from a heading."""

    def __init__(self, plan: TimeOptimal, multirotor: Multirotor) -> None:
        """Follows a plan with a vehicle."""
        self._plan, self._multirotor = plan, multirotor
        self._full = float(multirotor.effectiveness[2] @ multirotor.max_thrust)

    def command(
        self, t: float, pos: np.ndarray, quat: np.ndarray, vel: np.ndarray, heading: float
    ) -> tuple[np.ndarray, float]:
        """Returns body rates (3,) [rad/s] and thrust [N] at a time of the plan.

        Args:
            t: Since the plan began [s].
            pos, quat, vel: (3,), (4,) xyzw, (3,) of the vehicle.
            heading: At which it began, counter-clockwise from east [rad].
        """
        here, ahead = self._plan.reference(t), self._plan.reference(t + _LEAD_S)
        soon = self._plan.reference(t + _THRUST_LEAD_S)
        correction = _POSITION_GAIN * (here.pos - pos) + _VELOCITY_GAIN * (here.vel - vel)
        size = float(np.linalg.norm(correction))
        correction *= min(1.0, _MAX_CORRECTION / max(size, 1e-9))
        correction += [0.0, 0.0, GRAVITY]
        force, push = here.acc + correction, soon.acc + correction
        now, planned_quat = _quaternion(quat), _quaternion(here.quat)
        up = np.array(rotate(*now, 0.0, 0.0, 1.0))
        turned = multiply(*planned_quat, 0.0, 0.0, np.sin(0.5 * heading), np.cos(0.5 * heading))
        wanted = multiply(*_tilt(np.array(rotate(*turned, 0.0, 0.0, 1.0)), force), *turned)
        x, y, z, w = multiply(-now[0], -now[1], -now[2], now[3], *wanted)
        sign = 1.0 if w >= 0.0 else -1.0
        half = np.arccos(min(abs(w), 1.0))
        turn = 2.0 * sign * half / max(float(np.sin(half)), 1e-9) * np.array([x, y, z])
        c, s = np.cos(heading), np.sin(heading)
        planned = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) @ ahead.rates
        thrust = self._multirotor.mass * float(push @ up)
        return planned + _ATTITUDE_GAIN * turn, min(max(thrust, 0.0), self._full)


def _quaternion(quat: np.ndarray) -> Quaternion:
    x, y, z, w = quat.tolist()
    return x, y, z, w


def _tilt(axis: np.ndarray, force: np.ndarray) -> Quaternion:
    """Returns the shortest rotation of a unit vector (3,) onto the direction of a force (3,)."""
    size = float(np.linalg.norm(force))
    if size < 1.0:  # free fall has no direction to keep
        return 0.0, 0.0, 0.0, 1.0
    towards = force / size
    x, y, z = np.cross(axis, towards)
    w = 1.0 + float(axis @ towards)
    norm = float(np.sqrt(x * x + y * y + z * z + w * w))
    return (x / norm, y / norm, z / norm, w / norm) if norm > 1e-6 else (1.0, 0.0, 0.0, 0.0)
