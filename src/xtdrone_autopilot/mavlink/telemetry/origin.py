"""The origins of local positions: GPS_GLOBAL_ORIGIN."""

from typing import Any

import numpy as np

from ...state.handlers import streams
from ...state.local_origin import LocalOrigins


class OriginStreams:
    """Fills GPS_GLOBAL_ORIGIN."""

    def __init__(self, reported: Any) -> None:  # a Reported, whose module imports this one
        """reported: the source of the message's values."""
        self._origins: LocalOrigins = reported.local_origins

    @streams("GPS_GLOBAL_ORIGIN")
    def _gps_global_origin(self, message: np.ndarray, t_us: int) -> None:
        lat, lon, alt = self._origins.places.T
        message["latitude"] = np.rint(np.degrees(lat) * 1e7)
        message["longitude"] = np.rint(np.degrees(lon) * 1e7)
        message["altitude"] = np.rint(alt * 1e3)
        message["time_usec"] = t_us
