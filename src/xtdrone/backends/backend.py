"""The base class of what flies one vehicle."""

from typing import NamedTuple

import numpy as np

from xtdrone_core.runs.snapshot import Memory
from xtdrone_core.state import SetPoints
from xtdrone_core.vehicle import Vehicle


class VehicleState(NamedTuple):
    """State of one vehicle; overwritten by the next step.

    Examples:
        >>> import numpy as np
        >>> still = np.zeros(3)
        >>> state = VehicleState(still, np.array([0.0, 0.0, 0.0, 1.0]), still, still)
        >>> state.pos.shape
        (3,)
    """

    pos: np.ndarray  # (3,) of its centre of gravity, world [m]
    quat: np.ndarray  # (4,) xyzw, body to world
    vel: np.ndarray  # (3,) world [m/s]
    ang_vel: np.ndarray  # (3,) body [rad/s]


Command = np.ndarray | SetPoints | None


class Backend(Memory):
    """Flies one vehicle from the lockstep. Inherit and implement step().

    The vehicle waits on the ground until the flight stack is ready, is armed in OFFBOARD, and is
    the backend's from then on. If the flight stack leaves OFFBOARD, for a failsafe or since a
    client asks for another mode, it keeps the vehicle. Others of the same simulation may have
    other backends, or none. List what changes during a flight in MEMORY, for save() and load().

    Attributes:
        period_us: Between two calls of step(), whole steps of 4 ms [us].
        truth: Whether step() gets the true state; otherwise the flight stack's estimate.
        done: Set by you: the flight is complete, the vehicle is landed.

    Examples:
        >>> import numpy as np
        >>> class Idle(Backend):
        ...     MEMORY = ()
        ...
        ...     def step(self, t, state, sensors):
        ...         self.done = t > 2.0
        ...         return np.zeros(len(self.vehicle.actuators))
    """

    period_us = 4_000
    truth = False
    done = False
    vehicle: Vehicle

    def prepare(self) -> None:
        """Prepares for the flight; called once, when self.vehicle is set."""

    def begin(self, state: VehicleState) -> None:
        """Begins a flight; called before the first step(), also after a reset."""

    def step(self, t: float, state: VehicleState, sensors: np.void) -> Command:
        """Returns what the vehicle is to do.

        Args:
            t: Time since begin() [s].
            state: Its state.
            sensors: Its readings, a record of xtdrone_core.state.SENSORS: sensors["gyro"] and so
                on; a flag such as sensors["gps_new"] marks new ones.

        Returns:
            Commands (A,) of its actuators, 0..1 or -1..1; or xd.SetPoints.empty(1) with some
            filled in; or None, to go on as before.
        """
        raise NotImplementedError
