"""The last states of a running simulation, for a window that follows it.

A thread reads the ticks of the control socket as they come and takes no part in the barrier, so
that neither a slow display nor a window that is dragged holds the simulation up.
"""

import threading
from collections import deque

import numpy as np

from xtdrone_core.errors import ControlError
from xtdrone_core.runs.control_link import TICK_US, ControlClient

_MAX_POINTS = 3000  # points of a curve


class Feed:
    """The last states of a running simulation.

    Attributes:
        names: Names of its vehicles.
        ended: Why no more states come; empty while they do.
    """

    def __init__(self, window_s: float, instance: int | None = None) -> None:
        """Subscribes to a simulation.

        Args:
            window_s: Simulated time that is kept [s].
            instance: Instance of the simulation; None: the environment's.

        Raises:
            ControlError: None is running.
        """
        self._client = ControlClient(instance, timeout=3600.0)
        self.names: list[str] = self._client.request("status")["vehicles"]
        self._client.request("subscribe")
        ticks = window_s * 1e6 / TICK_US
        self._every = max(1, int(ticks / _MAX_POINTS))
        self._rows: deque[tuple[int, np.ndarray]] = deque(maxlen=int(ticks / self._every) + 1)
        self.ended = ""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        count = 0
        try:
            while True:
                t_us, table = self._client.next_tick()
                if self._rows and t_us < self._rows[-1][0]:  # an earlier state was loaded
                    self._rows.clear()
                if count % self._every == 0:
                    self._rows.append((t_us, table))
                count += 1
        except (ControlError, OSError, ValueError) as error:
            self.ended = str(error) or "the simulation has ended"

    def states(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns times (K,) [s] and states (K, N, 13) so far."""
        rows = list(self._rows)
        if not rows:
            return np.zeros(0), np.zeros((0, len(self.names), 13))
        return np.array([t_us for t_us, _ in rows]) * 1e-6, np.stack([table for _, table in rows])

    def close(self) -> None:
        """Ends the connection."""
        self._client.close()
