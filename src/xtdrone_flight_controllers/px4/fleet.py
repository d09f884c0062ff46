"""Base of a fleet of real PX4s, for software in the loop and hardware in the loop."""

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.state.vehicle_status import describe_bodies, new_status
from xtdrone_core import FleetModel
from xtdrone_core.contracts import Observer
from xtdrone_core.fleet_model import NO_ACTUATOR
from xtdrone_core.runs.ports import Ports, check_links
from xtdrone_core.state import Estimates, SetPoints

from ..common.own_state import OwnState
from .sensors import SensorFrames
from .telemetry import FleetTelemetry

CONTROLS = 16  # channels of HIL_ACTUATOR_CONTROLS
_CRITICAL, _INFO = 2, 6  # MAV_SEVERITY
_log = logging.getLogger(__name__)


class Link(Protocol):
    """The simulation's end of the links of real PX4s.

    Attributes:
        state: (N,) Peer.
        controls: (N, CONTROLS) latest actuator controls.
        armed: (N,) bool.
    """

    state: np.ndarray
    controls: np.ndarray
    armed: np.ndarray

    def close(self) -> None:
        """Closes the links. May be called twice."""


class Px4Fleet(OwnState, Observer):
    """Real PX4s: their actuator channels, sensor messages and telemetry. Inherit from it."""

    own_state = (
        "the state of a real PX4 cannot be saved or loaded: it lies in its process; fly "
        "autopilot:=embedded for that"
    )
    _link: Link

    def __init__(
        self,
        fleet: FleetModel,
        names: Sequence[str],
        origin: Sequence[float],
        loss: str,
        on_text: Callable[[int, int, str], None] | None,
        own: Ports | None,
    ):
        """Nothing is opened yet.

        Args:
            fleet: The vehicles.
            names: Name of each vehicle.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            loss: What happens when a PX4 is lost: "stop" ends the simulation, "continue" goes on
                with the other vehicles.
            on_text: Called with (vehicle, severity, text).
            own: Ports of the simulation; None = those of the environment's instance.

        Raises:
            AutopilotError: There are too many vehicles, or an actuator has no channel of PX4's.
        """
        check_links(fleet.n)
        self._names, self._origin = tuple(names), tuple(origin)
        self._ports = own or Ports()
        self._loss = loss
        self._on_text = on_text or (lambda vehicle, severity, text: None)
        self._mask = fleet.actuator["kind"] != NO_ACTUATOR
        self._channels = np.where(self._mask, fleet.actuator["channel"], 0)
        if self._channels.max(initial=0) >= CONTROLS or self._channels.min(initial=0) < 0:
            raise AutopilotError(
                f"PX4 drives the channels 0 to {CONTROLS - 1}: number the "
                "vehicle's rotors and control channels so"
            )
        self.commands = np.zeros(fleet.actuator.shape)
        self._frames = SensorFrames(fleet.n, origin, self._ports)
        bodies = new_status(fleet.n)
        describe_bodies(bodies, fleet)
        self._thrust_poly = bodies["thrust_poly"]
        self._interrupted = False
        self._begun = False

    def _open_telemetry(self, offsets: npt.ArrayLike, shared_origin: bool) -> None:
        """Opens the telemetry; see FleetTelemetry."""
        self._telemetry = FleetTelemetry(
            len(self._names),
            self._origin,
            offsets,
            shared_origin,
            self._on_text,
            self._ports,
            self._thrust_poly,
        )

    @property
    def states(self) -> np.ndarray:
        """(N,) Peer: state of the simulator link of each PX4."""
        return self._link.state

    @property
    def armed(self) -> np.ndarray:
        """(N,) bool, whether each PX4 is armed, as its last HIL_ACTUATOR_CONTROLS says."""
        return self._link.armed

    def health(self) -> list[dict]:
        """Mode, armed, landed and not_ready of each PX4, from its MAVLink telemetry."""
        return self._telemetry.health()

    def interrupt(self) -> None:
        """Stops waiting for PX4s to connect; safe to call in a signal handler."""
        self._interrupted = True

    def estimates(self) -> Estimates:
        """PX4's estimates, from its latest telemetry."""
        return self._telemetry.estimates()

    def apply(self, set_points: SetPoints) -> None:
        """Sends an Agent's set-points to PX4 by MAVLink."""
        self._telemetry.apply(set_points)

    def close(self) -> None:
        """Closes all links; may be repeated."""
        for part in ("_telemetry", "_link"):
            if part in vars(self):  # the constructor may have failed before
                getattr(self, part).close()

    def _commands_from(self, controls: np.ndarray) -> np.ndarray:
        """The actuator commands (N, A) of HIL_ACTUATOR_CONTROLS.controls (N, CONTROLS)."""
        self.commands[:] = np.take_along_axis(controls, self._channels, axis=1)
        self.commands *= self._mask
        return self.commands

    def _news(self, i: int, text: str) -> None:
        self._on_text(i, _INFO, f"PX4 {i} {text}")

    def _lost(self, i: int, why: str) -> None:
        """Reports a lost PX4; raises AutopilotError if `loss` is "stop"."""
        text = f"PX4 {i} of '{self._names[i]}' {why}"
        self._on_text(i, _CRITICAL, text)
        if "_telemetry" in vars(self):
            self._telemetry.forget(i)
        if self._loss == "stop":
            raise AutopilotError(f"{text}; px4_loss:=continue flies the rest of the fleet on")
        _log.warning("%s; the others fly on", text)  # nobody reads the console's file meanwhile
