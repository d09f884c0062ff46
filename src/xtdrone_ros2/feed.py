"""Steps of a simulation for the process of ROS 2: a ring of records, one for each vehicle."""

from pathlib import Path

import numpy as np

from xtdrone_core import FleetState, SensorBatch
from xtdrone_core.contracts import Autopilot
from xtdrone_core.runs.frame_ring import FrameReader, FrameWriter
from xtdrone_core.state import SENSORS

_MAX_STEPS, _MIN_STEPS = 1024, 64  # steps in the ring, 4 s and 0.26 s of real time
_MEMORY = 32 << 20  # maximum size of a ring with more than the fewest steps [bytes]

VEHICLE = np.dtype(
    [
        ("pos", "f8", (3,)),  # true, world [m]
        ("quat", "f8", (4,)),  # true, xyzw
        ("vel", "f8", (3,)),  # true, world [m/s]
        ("ang_vel", "f8", (3,)),  # true, body [rad/s]
        ("acc", "f8", (3,)),  # true, world [m/s^2]
        ("est_pos", "f8", (3,)),  # estimates of the flight stack, likewise
        ("est_quat", "f8", (4,)),
        ("est_vel", "f8", (3,)),
        ("est_ang_vel", "f8", (3,)),
        ("mode", "i1"),  # a Mode
        ("armed", "?"),
        ("landed", "?"),
        ("ready", "?"),
        ("sensors", SENSORS),
    ],
    align=True,
)
_ESTIMATED = ("pos", "quat", "vel", "ang_vel")
_STATUS = ("mode", "armed", "landed", "ready")


def arrays(n: int) -> list:
    """Returns the ring's layout for n vehicles."""
    return [["vehicles", "|u1", [n * VEHICLE.itemsize]]]


class Feeder:
    """The simulation's end.

    Attributes:
        path: Path of the ring.
    """

    def __init__(self, path: Path, n: int):
        """Makes a ring for n vehicles.

        Raises:
            ControlError: It cannot be made.
        """
        slots = min(max(_MEMORY // (n * VEHICLE.itemsize), _MIN_STEPS), _MAX_STEPS)
        self._records = np.zeros(n, dtype=VEHICLE)
        self._ring = FrameWriter(path, arrays(n), slots)
        self.path = self._ring.path

    def write(
        self, t_us: int, state: FleetState, sensors: SensorBatch, autopilot: Autopilot
    ) -> None:
        """Puts a step into the ring."""
        r, estimates = self._records, autopilot.estimates()
        for name in (*_ESTIMATED, "acc"):
            r[name] = getattr(state, name)
        for name in _ESTIMATED:
            r[f"est_{name}"] = getattr(estimates, name)
        for name in _STATUS:
            r[name] = getattr(estimates, name)
        r["sensors"] = sensors.records
        self._ring.write(t_us, {"vehicles": r.view(np.uint8)})

    def close(self) -> None:
        """Removes the ring. May be called twice."""
        self._ring.close()


class Feed:
    """The other end."""

    def __init__(self, path: str, n: int):
        """Opens a ring; steps that are in it already are not read.

        Raises:
            ControlError: There is none.
        """
        self._ring = FrameReader(path, arrays(n))

    @property
    def lost(self) -> int:
        """Steps that were overwritten before they were read."""
        return self._ring.lost

    def read(self) -> list[tuple[int, np.ndarray]]:
        """Returns time [us] and records (N,) of VEHICLE of the steps since the last call."""
        return [(t_us, data["vehicles"].view(VEHICLE)) for t_us, data in self._ring.read()]
