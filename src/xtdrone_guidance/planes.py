"""Vector fields for planes: set-points that PX4 takes from OFFBOARD for fixed wings.

A position with a velocity is a path through it, and an acceleration bends that. The acceleration is
that of the vector field, equation (5) of dronesim, k_v (v_ref - v), across the path, beside that of
its bend; the airspeed is the flight stack's own, FW_AIRSPD_TRIM.
"""

from typing import NamedTuple

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.errors import XtdroneError
from xtdrone_dynamics.abilities.vehicle_type import FIXED_WING, NOT_VTOL, vehicle_types, vtol_types

from .paths import Nearest, SplinePath

MIN_WIDTH = 30.0  # smallest width of a plane's field [m]
_JOINED, _ALONG = 3.0, 0.98  # distance from its path within which a plane has come to it [m],
# and least cosine of the angle between both
_GAIN = 0.9  # k_v [1/s]
_HEIGHT_GAIN = 4.0  # of the height set-point: PX4 comes to it within FW_T_ALT_TC, 5 s
_MAX_CLIMB = 20.0  # largest part of the height set-point for an error [m]
_MIN_RADIUS = 45.0  # of a bend that a plane flies in wind [m]
_MIN_HEIGHT = 20.0  # of a path above its start [m]


class Steered(NamedTuple):
    """Set-points of a plane, and where its path is nearest."""

    pos: np.ndarray  # (3,) [m]
    vel: np.ndarray  # (3,) [m/s]
    acc: np.ndarray  # (3,) [m/s^2]
    nearest: Nearest
    joined: bool  # it has come to its path, and flies along it


def is_plane(fleet: FleetModel) -> np.ndarray:
    """Returns (N,) bool, vehicles that fly on wings alone."""
    return (vehicle_types(fleet) == FIXED_WING) & (vtol_types(fleet) == NOT_VTOL)


class Steering:
    """The field around a path, for planes."""

    def __init__(self, path: SplinePath, width: float) -> None:
        """Makes the field.

        Args:
            path: The path.
            width: Distance at which the field points half towards the path [m].
        """
        self._path, self._width = path, width

    def check(self, height: float) -> None:
        """Refuses a path that is too low for planes, or whose bends are too narrow.

        Args:
            height: That of the path's zero above the start [m].

        Raises:
            XtdroneError: It is.
        """
        lowest = height + float(self._path.points[:, 2].min())
        if lowest < _MIN_HEIGHT:
            raise XtdroneError(
                f"the path is {lowest:.1f} m above the start, a plane needs {_MIN_HEIGHT:g} m: "
                f"give a height of {height + _MIN_HEIGHT - lowest:.0f} m or more"
            )
        radius = 1.0 / max(self._path.largest_bend(), 1e-9)
        if radius < _MIN_RADIUS:
            raise XtdroneError(
                f"the path has a bend of {radius:.1f} m, a plane flies {_MIN_RADIUS:g} m or more: "
                "give a wider path"
            )

    def at(self, place: np.ndarray, vel: np.ndarray, near: float | None) -> Steered:
        """Returns the set-points of a plane at a place (3,) [m] with a velocity (3,) [m/s].

        `near` is as for path.nearest().
        """
        nearest = self._path.nearest(place, near)
        offset = nearest.pos - place
        across = offset - (offset @ nearest.tangent) * nearest.tangent
        speed = float(np.hypot(vel[0], vel[1]))
        along = speed * nearest.tangent
        wanted = along + speed * across / np.hypot(self._width, np.linalg.norm(across))
        acc = speed * speed * nearest.curvature + _GAIN * (wanted - vel)
        acc[2] = 0.0
        pos = nearest.pos.copy()
        pos[2] += np.clip(_HEIGHT_GAIN * offset[2], -_MAX_CLIMB, _MAX_CLIMB)
        follows = vel @ nearest.tangent > _ALONG * np.linalg.norm(vel)
        joined = bool(follows and np.linalg.norm(offset) < _JOINED)
        return Steered(pos, along, acc, nearest, joined)
