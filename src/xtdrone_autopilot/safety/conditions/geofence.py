"""The geofence."""

import math
from typing import ClassVar

import numpy as np

from xtdrone_dynamics.compiled import Record

from ...navigation.trajectory import stopping_distance
from ...state.estimator_flags import POSITION_VALID
from ..checks import Check, Component, Level
from .condition import PERIOD_US, Action, Condition, Watched


class Geofence(Condition):
    """It is outside the geofence, or would leave it before it could stop."""

    text, advice = "it is outside the geofence", "fly it back inside, or change the fence"
    name, parameter = "fence", "GF_ACTION"
    actions = {
        0: Action.NONE,
        1: Action.WARN,
        2: Action.HOLD,
        3: Action.RETURN,
        4: Action.TERMINATE,
        5: Action.LAND,
    }
    checks: ClassVar[tuple[Check, ...]] = tuple(
        Check(
            f"check_gf_violation_{name}",
            f"Geofence violation: {what}",
            Component.SYSTEM,
            Level.ERROR,
            text=f"Geofence violation: {what}",
        )
        for name, what in (
            ("max_hor_dist", "exceeding maximum distance to Home"),
            ("max_alt", "exceeding maximum altitude above Home"),
            ("custom_gf", "approaching or outside geofence"),
        )
    )
    MEMORY = ("holds", "fenced", "outside")

    def __init__(self, watched: Watched) -> None:
        super().__init__(watched)
        self.fenced = np.zeros(len(self.holds), dtype=bool)  # there is a geofence, and it acts
        self.outside = np.zeros(len(self.holds), dtype=bool)  # outside of the geofence

    def check(self, flying: np.ndarray, params: np.ndarray) -> np.ndarray:
        watched = self.watched
        pos = watched.estimator.pos
        if params["GF_PREDICT"].any():
            pos = np.where(params["GF_PREDICT"][:, None] > 0, self._stop(params), pos)
        offset = pos - watched.status["home"]
        distance = np.hypot(offset[:, 0], offset[:, 1])
        far = (params["GF_MAX_HOR_DIST"] > 0) & (distance > params["GF_MAX_HOR_DIST"])
        high = (params["GF_MAX_VER_DIST"] > 0) & (offset[:, 2] > params["GF_MAX_VER_DIST"])
        left = np.zeros(len(far), dtype=bool)
        fenced = (params["GF_MAX_HOR_DIST"] > 0) | (params["GF_MAX_VER_DIST"] > 0)
        for i, fence in enumerate(watched.missions.fences):
            if fence is not None:
                fenced[i] = True
                if watched.estimator.flags[i] & POSITION_VALID:
                    left[i] = not fence.contains(pos[i, 0], pos[i, 1])
        home, acts = watched.status["home_set"], params["GF_ACTION"] > 0
        for k, broken in enumerate((far & home, high & home, left)):
            self.failing[:, k] = broken & acts
        self.outside[:] = self.failing.any(axis=1)
        self.fenced[:] = fenced & acts
        return flying & self.outside

    def _stop(self, params: Record) -> np.ndarray:
        """(N, 3) where each vehicle can come to rest, or the trajectory that it follows [m]."""
        estimator, status = self.watched.estimator, self.watched.status
        follows = status["on_trajectory"][:, None]
        pos = np.where(follows, status["smooth_pos"], estimator.pos)
        vel = np.where(follows, status["smooth_vel"], estimator.vel)
        acc = np.where(follows, status["smooth_acc"], status["acc_filtered"])
        speed = np.maximum(np.linalg.norm(vel, axis=1), 1e-6)
        along = (acc * vel).sum(axis=1) / speed
        out = pos + vel * (2 * PERIOD_US * 1e-6)  # until the next check, and as much margin
        for i in np.flatnonzero(params["GF_PREDICT"]):
            out[i] += (
                vel[i]
                / speed[i]
                * stopping_distance(
                    speed[i], along[i], params["MPC_ACC_HOR"][i], params["MPC_JERK_AUTO"][i]
                )
            )
        return out

    def why(self, i: int) -> str:
        return f"geofence broken, {self._text(i)}"

    def why_not_arm(self, i: int) -> str:
        return "it is outside the geofence: " + self._text(i)

    def _text(self, i: int) -> str:
        offset = self.watched.estimator.pos[i] - self.watched.status["home"][i]
        for name, distance in (
            ("GF_MAX_HOR_DIST", math.hypot(offset[0], offset[1])),
            ("GF_MAX_VER_DIST", offset[2]),
        ):
            limit = self.get(i, name)
            if 0 < limit < distance:
                return f"{distance:.0f} m from home, {name} allows {limit:g} m"
        if self.get(i, "GF_PREDICT") and not self.watched.status["landed"][i]:
            return "it would leave the area before it could stop"
        return "it has left the area"
