"""Health of each vehicle of a running fleet, for `xtdrone doctor`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from xtdrone_core.modes import ROS_NAME, Mode

from ..interfaces import Estimator
from ..navigation.mission import Missions
from ..state.clock import StepClock
from ..state.estimator_flags import (
    AIRSPEED_USED,
    ALIGNED,
    BARO_USED,
    GPS_USED,
    MAG_USED,
    POSITION_VALID,
    RANGE_USED,
    SIDESLIP_USED,
    TESTS,
    VISION_USED,
)
from .battery import Battery
from .commander import Commander
from .failsafes import Failsafes

_AID_SOURCES = {
    "GPS": GPS_USED,
    "vision": VISION_USED,
    "barometer": BARO_USED,
    "magnetometer": MAG_USED,
    "range finder": RANGE_USED,
    "airspeed": AIRSPEED_USED,
    "sideslip": SIDESLIP_USED,
}


class Health:
    """Collects the health of each vehicle from the parts of a flight stack."""

    def __init__(
        self,
        status: np.ndarray,
        estimator: Estimator,
        battery: Battery,
        failsafes: Failsafes,
        commander: Commander,
        missions: Missions,
        clock: StepClock,
    ) -> None:
        """Takes status, (N,) of VEHICLE_STATUS, and the parts to report on."""
        self._status, self._estimator, self._battery = status, estimator, battery
        self._failsafes, self._commander, self._clock = failsafes, commander, clock
        self._missions = missions

    def report(self, links: Callable[[int, int], dict] | None) -> list[dict]:
        """Plain data about each vehicle.

        Args:
            links: Gives the health of the links of a vehicle at a time [us]; None = it has none.

        Returns:
            For each: mode, armed, landed, failsafe, failing (condition: text, advice), answers
            (condition: action that would follow), not_ready (why it would not arm),
            aligned, located, aid_sources (name: in use), test_ratios (name: ratio; above 1 is
            rejected), battery (0..1), voltage [V], waypoints of the mission (reached, all), stays
            (whether it does nothing new until it is ordered on), ends_early (why the mission does
            not go on by itself, "" where it does), set_points (count so far), set_point_age_s (None
            = none so far), links (name: {streams, peers, heard_s, refused}, the last being messages
            that were not signed as they must be).
        """
        return [
            {**self._vehicle(i), "links": {} if links is None else links(i, self._clock.t_us)}
            for i in range(len(self._status))
        ]

    def _vehicle(self, i: int) -> dict[str, Any]:
        status, flags = self._status[i], int(self._estimator.flags[i])
        ratios = self._estimator.test_ratios[i].tolist()
        count = int(status["offboard_count"])
        return {
            "mode": ROS_NAME[Mode(int(status["mode"]))],
            "armed": bool(status["armed"]),
            "landed": bool(status["landed"]),
            "failsafe": bool(status["failsafe"] or self._failsafes.active()[i]),
            "failing": self._failsafes.failing(i),
            "answers": self._failsafes.answers(i),
            "not_ready": "" if status["armed"] else self._commander.checks(i),
            "aligned": bool(flags & ALIGNED),
            "located": bool(flags & POSITION_VALID),
            "aid_sources": {name: bool(flags & bit) for name, bit in _AID_SOURCES.items()},
            "test_ratios": {name: round(min(ratio, 1e6), 4) for name, ratio in zip(TESTS, ratios)},
            "battery": round(float(self._battery.level[i]), 3),
            "voltage": round(float(self._battery.voltage[i]), 2),
            "waypoints": self._missions.waypoints(i),
            "stays": self._missions.stays(i),
            "ends_early": self._missions.ends_early(i),
            "set_points": count,
            "set_point_age_s": (
                (self._clock.t_us - int(status["offboard_t"])) * 1e-6 if count else None
            ),
        }
