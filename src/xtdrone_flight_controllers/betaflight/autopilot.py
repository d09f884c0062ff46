"""Real Betaflight as the inner loops of the embedded flight stack."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, cast

import numpy as np

from xtdrone_autopilot.autopilot import EmbeddedAutopilot
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.interfaces import Estimator
from xtdrone_core.contracts import AutopilotContext
from xtdrone_core.state import SensorBatch, SetPoints

from ..common.own_state import OwnState
from . import process
from .link import STEP_S, BetaflightLink
from .options import BetaflightOptions
from .sticks import sticks

CONNECT_S = 30.0  # wall time for Betaflight to answer [s]
WARM_UP_S = 8.0  # with readings at rest: it calibrates its gyroscope, and does not arm for 5 s [s]
SILENCE_S = 1.0  # wall time without motors after which it is lost [s]
ARM_S = 3.0  # simulated time for it to arm [s]
_CRITICAL, _WARNING = 2, 4  # MAV_SEVERITY


class BetaflightMixer:
    """Takes the place of the embedded mixer: sends sticks to Betaflight, and takes its motors.

    Attributes:
        asked_s: For how long it has been asked to arm [s].
        spun: Whether its motors have turned meanwhile.
        still_s: For how long they have stood still since [s].
        t: Time of the last packet, from the first one [s].
    """

    def __init__(self, link: BetaflightLink, order: Sequence[int]):
        """Makes the mixer of one vehicle; order: the motor of each rotor."""
        self._link, self._order = link, list(order)
        self.sensors: SensorBatch
        self.asked_s = self.still_s = self.t = 0.0
        self.spun = False

    def use_rotors(self, i: int, used: np.ndarray) -> None:
        """Nothing: Betaflight does not know of a failed rotor."""

    def step(
        self,
        status: np.ndarray,
        parameters: np.ndarray,
        estimator: Estimator,
        dt: float,
        commands: np.ndarray,
    ) -> None:
        """Sends readings and sticks, and writes the newest motor outputs; see interfaces.Mixer."""
        armed = bool(status["armed"][0])
        turns = armed and bool(self._link.motors.any())
        self.asked_s = self.asked_s + dt if armed else 0.0
        self.spun = armed and (self.spun or turns)
        self.still_s = self.still_s + dt if self.spun and not turns else 0.0
        self.t += dt
        self.send(sticks(status, turns), estimator.records["quat"][0])
        commands[0, : len(self._order)] = self._link.motors[self._order]

    def send(self, channels: np.ndarray, quat: np.ndarray) -> None:
        """Sends the newest readings, and pulse widths of the channels [us]."""
        s = self.sensors
        self._link.exchange(
            self.t,
            s.gyro[0],
            s.accel[0],
            quat,
            s.gps_vel[0],
            (np.degrees(s.gps_lon[0]), np.degrees(s.gps_lat[0]), s.gps_alt[0]),
            float(s.baro_pressure[0]),
            channels,
        )


class BetaflightAutopilot(OwnState, EmbeddedAutopilot):
    """One multirotor with Betaflight.

    Implements xtdrone_core.contracts.Autopilot.

    The embedded flight stack estimates, navigates, holds positions and attitudes, and has the
    MAVLink links. Its body rates and thrust go to Betaflight as sticks in ACRO. Betaflight controls
    the rates and mixes, in real time or somewhat slower, whatever speed the scenario has.
    """

    own_state = (
        "the state of a real Betaflight cannot be reset, saved or loaded: it lies in its "
        "process; fly autopilot:=embedded for that"
    )
    _process: process.BetaflightProcess | None = None
    _betaflight: BetaflightLink
    mixer: BetaflightMixer

    @classmethod
    def for_scenario(cls, context: AutopilotContext) -> "BetaflightAutopilot":
        """Starts the scenario's `betaflight`, or waits for an externally started one."""
        scenario, fleet = context.scenario, context.fleet
        if fleet.n != 1:
            raise AutopilotError(
                f"{fleet.n} Betaflights are not allowed: the ports of its SITL "
                "are fixed, so that a machine has room for one"
            )
        order, binary = (
            process.motors(fleet.vehicles[0]),
            process.find(scenario.settings(BetaflightOptions).betaflight),
        )
        autopilot = cast("BetaflightAutopilot", super().for_scenario(context))
        try:
            autopilot._attach(
                order, binary, scenario.vehicles[0].name, context.folder, context.on_text
            )
        except BaseException:
            autopilot.close()
            raise
        return autopilot

    def _attach(
        self,
        order: Sequence[int],
        binary: Path | None,
        name: str,
        folder: Path | None,
        on_text: Callable[[int, int, str], None],
    ) -> None:
        """Opens the link, and starts Betaflight if a binary is given."""
        self._name, self._on_text = name, on_text
        self._betaflight = BetaflightLink()
        self.mixer = BetaflightMixer(self._betaflight, order)
        self._interrupted = self._begun = False
        if binary is not None:
            self._process = process.BetaflightProcess(binary, name, folder)

    @property
    def pids(self) -> list[int]:
        """Process id of the Betaflight that this simulation started."""
        return [] if self._process is None else [self._process.pid]

    def step(self, t_us: int, sensors: SensorBatch) -> np.ndarray:
        """One step in real time: readings at t_us in, actuator commands (1, A) out.

        Raises:
            AutopilotError: Betaflight has ended, does not answer, or does not arm.
        """
        self.mixer.sensors = sensors
        if not self._begun:
            self._begun = True
            self._warm_up()
        commands = super().step(t_us, sensors)
        if time.monotonic() - self._betaflight.heard_s > SILENCE_S:
            self._lost(f"has sent no motor outputs for {SILENCE_S:g} s: it hangs, or was ended")
        if self.mixer.still_s > SILENCE_S or (self.mixer.asked_s > ARM_S and not self.mixer.spun):
            why = self._process.refusal() if self._process is not None else ""
            self._lost(
                ("has disarmed itself" if self.mixer.spun else "does not arm")
                + f": {why or 'see its arming flags in its configurator'}"
            )
        return commands

    def apply(self, set_points: SetPoints) -> None:
        """Takes an Agent's set-points as OFFBOARD ones, and its requests.

        Raises:
            AutopilotError: Actuator commands are set.
        """
        if np.isfinite(set_points.actuators).any():
            raise AutopilotError(
                "Betaflight takes no actuator commands: command positions, "
                "attitudes or body rates, or fly autopilot:=embedded"
            )
        super().apply(set_points)

    def interrupt(self) -> None:
        """Stops waiting for Betaflight; safe to call in a signal handler."""
        self._interrupted = True
        super().interrupt()

    def close(self) -> None:
        """Stops Betaflight, and closes links and logs; may be repeated."""
        super().close()
        if self._process is not None:
            self._process.stop()
            self._process = None
        if "_betaflight" in vars(self):  # the constructor may have failed before
            self._betaflight.close()

    def _warm_up(self) -> None:
        """Sends the first readings, at rest, until Betaflight answers and may arm."""
        link, mixer = self._betaflight, self.mixer
        begin, first, announced = time.monotonic(), None, False
        still = sticks(self.status, False)
        while not self._interrupted:
            now = time.monotonic()
            mixer.t += STEP_S
            if first is None and now - link.heard_s < SILENCE_S:
                first = now
            if first is not None and now - first >= WARM_UP_S:
                return
            if self._process is not None and self._process.end():
                self._lost(self._process.end())
            if first is None and now - begin > CONNECT_S:
                self._lost(
                    f"did not answer within {CONNECT_S:g} s: start obj/betaflight_..._SITL "
                    "on this machine, or name it by --betaflight or BETAFLIGHT_BUILD"
                )
            if first is None and self._process is None and not announced:
                announced = True
                self._on_text(0, _WARNING, "waiting for Betaflight's SITL on this machine")
            mixer.send(still, self.estimator.quat[0])

    def _lost(self, why: str) -> NoReturn:
        if self._process is not None:
            time.sleep(0.05)  # the exit status is available only a moment later
            why = self._process.end() or why
        text = f"Betaflight of '{self._name}' {why}"
        self._on_text(0, _CRITICAL, text)
        raise AutopilotError(text)
