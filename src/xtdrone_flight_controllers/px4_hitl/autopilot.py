"""Real PX4 on flight controllers as the autopilot of a fleet: hardware in the loop."""

import logging
import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core import FleetModel
from xtdrone_core.contracts import AutopilotContext
from xtdrone_core.runs.ports import Ports
from xtdrone_core.state import SensorBatch

from ..common.own_state import check_given
from ..common.pace import RealTime
from ..common.serial import parse_devices
from ..px4.autopilot import CONNECT_S, NAME_S, TELEMETRY_US
from ..px4.fleet import Px4Fleet
from ..px4.link import Peer
from .link import HitlLink
from .options import Px4HitlOptions

_WAIT_S = 0.1
_WARNING = 4  # MAV_SEVERITY
_log = logging.getLogger(__name__)


class Px4HitlAutopilot(Px4Fleet):
    """N flight controllers with PX4 in HITL mode.

    Implements xtdrone_core.contracts.Autopilot.

    PX4 has the clock of its hardware, and does not wait: the simulation keeps to real time,
    whatever speed the scenario has.
    """

    _link: HitlLink

    def __init__(
        self,
        fleet: FleetModel,
        names: Sequence[str],
        origin: Sequence[float],
        offsets: npt.ArrayLike,
        devices: Sequence[tuple[str, int]],
        loss: str = "stop",
        shared_origin: bool = True,
        on_text: Callable[[int, int, str], None] | None = None,
        own: Ports | None = None,
    ):
        """Opens the serial devices and the UDP ports of the links.

        Args:
            fleet: The vehicles.
            names: Name of each vehicle.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            offsets: (N, 3) start position of each vehicle in the world [m]: the origin of its local
                frame, unless shared_origin.
            devices: Path and baud rate of each vehicle's serial device.
            loss: What happens when a flight controller is lost: "stop" or "continue".
            shared_origin: Whether the origin of every local frame is the world's origin.
            on_text: Called with (vehicle, severity, text).
            own: Ports of the simulation; None = those of the environment's instance.

        Raises:
            AutopilotError: A device cannot be opened, or a port is in use.
        """
        super().__init__(fleet, names, origin, loss, on_text, own)
        self._devices = tuple(devices)
        self._link = HitlLink(devices, self._lost, self._ports)
        self._pace = RealTime(self._link.listen, self._on_text, "flight controllers do")
        try:
            self._open_telemetry(offsets, shared_origin)
        except BaseException:
            self.close()
            raise

    @classmethod
    def for_scenario(cls, context: AutopilotContext) -> "Px4HitlAutopilot":
        """Opens the devices of the scenario's `serial`."""
        scenario, options = context.scenario, context.scenario.settings(Px4HitlOptions)
        check_given(scenario, "a flight controller", ", and upload it by a ground station")
        return cls(
            context.fleet,
            [spec.name for spec in scenario.vehicles],
            context.origin,
            [spec.pos for spec in scenario.vehicles],
            parse_devices(options.serial, context.fleet.n),
            options.px4_loss,
            scenario.origin == "shared",
            context.on_text,
            scenario.ports,
        )

    @property
    def garbage(self) -> np.ndarray:
        """(N,) int64, bytes of each flight controller so far that are not MAVLink."""
        return self._link.garbage

    def step(self, t_us: int, sensors: SensorBatch) -> np.ndarray:
        """One step in real time: sends the readings of t_us, returns actuator commands (N, A) 0..1.

        Raises:
            AutopilotError: A flight controller is lost, and `loss` is "stop".
        """
        link = self._link
        if not self._begun:
            self._begun = True
            self._await_fleet()
            self._pace.restart()
        self._pace.wait(t_us)
        connected = link.state == Peer.CONNECTED
        link.send(t_us, self._frames.encode(t_us, sensors, None, connected))
        if t_us % TELEMETRY_US == 0:
            self._telemetry.step(t_us)
        return self._commands_from(link.controls)

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Not possible.

        Raises:
            AutopilotError: Always.
        """
        raise AutopilotError(
            "a flight controller cannot be reset from here: restart it, and the "
            "simulation; or fly autopilot:=px4"
        )

    def _await_fleet(self) -> None:
        """Blocks until every flight controller has spoken, the limit is over, or interrupt()."""
        link, begin, announced = self._link, time.monotonic(), False
        while (missing := np.flatnonzero(link.state == Peer.AWAITED)).size:
            if self._interrupted:
                return
            late = time.monotonic() - begin
            for i in map(int, missing if late > NAME_S and not announced else ()):
                device, baud = self._devices[i]
                text = f"waiting for a heartbeat of its PX4 on '{device}' at {baud} baud"
                self._on_text(i, _WARNING, text)
                _log.warning("%s: %s", self._names[i], text)  # the simulation waits
            announced = announced or late > NAME_S
            if late > CONNECT_S:
                for i in map(int, missing):
                    device, baud = self._devices[i]
                    link.lose(
                        i,
                        f"sent no heartbeat on '{device}' within {CONNECT_S:g} s: is PX4 "
                        f"running there, in HITL mode, at {baud} baud?",
                    )
            link.greet()
            link.listen(_WAIT_S)
