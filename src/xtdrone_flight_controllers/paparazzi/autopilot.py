"""Paparazzi on flight controllers as the autopilot of a fleet: hardware in the loop."""

import math
import select
import time
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core import FleetModel
from xtdrone_core.contracts import AutopilotContext
from xtdrone_core.frames import enu_ned, flu_frd
from xtdrone_core.runs.ports import Ports
from xtdrone_core.state import Estimates, SensorBatch, SetPoints
from xtdrone_dynamics.quaternion import from_euler

from ..common.own_state import OwnState, check_given
from ..common.pace import RealTime
from ..common.serial import SerialGone, SerialPort, parse_devices
from . import messages
from .options import PaparazziOptions

CONNECT_S = 30.0  # wall time for the first message of each [s]
SILENCE_US = 1_000_000  # without motor commands after which it is lost [us]
STOP_US = 200_000  # without them after which the rotors stop [us]
MAX_GARBAGE = 2048  # bytes without a valid message after which it is not Paparazzi
_RHO_TO_AIRSPEED = 2.0 / 1.225  # dynamic pressure [Pa] to the square of the airspeed, sea level
_CRITICAL, _WARNING = 2, 4  # MAV_SEVERITY
_WAIT_S = 0.1


class PaparazziAutopilot(OwnState):
    """N multirotors with Paparazzi.

    Implements xtdrone_core.contracts.Autopilot.

    Readings go out as HITL_IMU, HITL_GPS and HITL_AIR_DATA, the rotors' commands come as
    MOTOR_MIXING, all over one serial device for each. Paparazzi has the clock of its hardware: the
    simulation keeps to real time, whatever speed the scenario has. It flies its own flight plan;
    its ground station has a link of its own.
    """

    own_state = (
        "the state of a flight controller cannot be reset, saved or loaded from here: "
        "restart it, and the simulation; or fly autopilot:=embedded"
    )

    def __init__(
        self,
        fleet: FleetModel,
        names: Sequence[str],
        magnetic_field: npt.ArrayLike,
        devices: Sequence[tuple[str, int]],
        on_text: Callable[[int, int, str], None] | None = None,
        own: Ports | None = None,
    ):
        """Opens the serial devices.

        Args:
            fleet: The vehicles; value k of MOTOR_MIXING drives rotor k.
            names: Name of each vehicle.
            magnetic_field: (3,) world ENU [T], whose strength is 1 in HITL_IMU.
            devices: Path and baud rate of each vehicle's device.
            on_text: Called with (vehicle, severity, text).
            own: Ports of the simulation, for the aircraft ids; None = the environment's instance.

        Raises:
            AutopilotError: A device cannot be opened, or a vehicle is no multirotor.
        """
        n = fleet.n
        for model in fleet.vehicles:
            if not model.rotors or len(model.rotors) != len(model.actuators):
                raise AutopilotError(
                    f"'{model.type}' cannot be flown by Paparazzi's MOTOR_MIXING: "
                    "give a multirotor without servos, or fly autopilot:=embedded"
                )
        self._names, self._on_text = tuple(names), on_text or (lambda vehicle, severity, text: None)
        own = own or Ports()
        self._aircraft = [own.system_id(i) for i in range(n)]
        self._strength = float(np.linalg.norm(magnetic_field))
        self.commands = np.zeros(fleet.actuator.shape)
        self._t_us = 0
        self._begun = self._interrupted = False
        self._commanded_us = np.zeros(n, dtype=np.int64)
        self._readers = [messages.Reader() for _ in range(n)]
        self._heard = np.zeros(n, dtype=np.bool_)
        self._located = np.zeros(n, dtype=np.bool_)
        self._estimates = Estimates(
            0,
            np.zeros((n, 3)),
            np.tile((0.0, 0.0, 0.0, 1.0), (n, 1)),
            np.zeros((n, 3)),
            np.zeros((n, 3)),
            np.zeros(n, dtype=np.bool_),
            np.ones(n, dtype=np.bool_),
            np.zeros(n, dtype=np.int8),
            self._located,
        )
        self._devices: list[SerialPort] = []
        self._poll = select.poll()
        self._vehicle_of: dict[int, int] = {}
        self._pace = RealTime(self._listen, self._on_text, "Paparazzi does")
        try:
            for i, (device, baud) in enumerate(devices):
                port = SerialPort(device, baud)
                self._devices.append(port)
                self._vehicle_of[port.fileno()] = i
                self._poll.register(port, select.POLLIN)
        except BaseException:
            self.close()
            raise

    @classmethod
    def for_scenario(cls, context: AutopilotContext) -> "PaparazziAutopilot":
        """Opens the devices of the scenario's `serial`."""
        scenario = context.scenario
        check_given(scenario, "Paparazzi", "; its flight plan is built into its program")
        return cls(
            context.fleet,
            [spec.name for spec in scenario.vehicles],
            context.magnetic_field,
            parse_devices(scenario.settings(PaparazziOptions).serial, context.fleet.n),
            context.on_text,
            scenario.ports,
        )

    def step(self, t_us: int, sensors: SensorBatch) -> np.ndarray:
        """One step in real time: sends the readings of t_us, returns rotor commands (N, A) 0..1.

        Raises:
            AutopilotError: A flight controller is lost.
        """
        if not self._begun:
            self._begun = True
            self._await_fleet()
            self._commanded_us[:] = t_us
            self._pace.restart()
        self._pace.wait(t_us)
        self._t_us = t_us
        for i in range(len(self._devices)):
            self._write(i, self.readings(i, sensors))
            if t_us - self._commanded_us[i] > SILENCE_US:
                self._lost(
                    i,
                    f"has sent no MOTOR_MIXING for {SILENCE_US / 1e6:g} s: it hangs, was "
                    "disconnected, or its telemetry lacks that message on this port",
                )
        self.commands[t_us - self._commanded_us > STOP_US] = 0.0
        return self.commands

    def readings(self, i: int, sensors: SensorBatch) -> bytes:
        """The messages of vehicle i in one step."""
        s, aircraft = sensors, self._aircraft[i]
        data = messages.frame(
            messages.HITL_IMU,
            *flu_frd(s.gyro[i]),
            *flu_frd(s.accel[i]),
            *flu_frd(s.mag[i]) / self._strength,
            aircraft,
        )
        if s.gps_new[i]:
            lat, lon, alt = float(s.gps_lat[i]), float(s.gps_lon[i]), float(s.gps_alt[i])
            data += messages.frame(
                messages.HITL_GPS,
                math.degrees(lat),
                math.degrees(lon),
                alt,
                alt,
                *ecef(s.gps_vel[i], lat, lon),
                float(s.gps_t_us[i]) * 1e-6,
                int(s.gps_fix[i]),
                aircraft,
            )
        new = messages.BARO * bool(s.baro_new[i]) + messages.AIRSPEED * bool(s.airspeed_new[i])
        if new:
            speed = math.sqrt(max(float(s.airspeed_pressure[i]), 0.0) * _RHO_TO_AIRSPEED)
            data += messages.frame(
                messages.HITL_AIR_DATA, float(s.baro_pressure[i]), speed, 0.0, 0.0, new, aircraft
            )
        return data

    def estimates(self) -> Estimates:
        """Paparazzi's estimates, as far as its telemetry has ROTORCRAFT_FP on this port."""
        self._estimates.t_us = self._t_us
        return self._estimates

    def apply(self, set_points: SetPoints) -> None:
        """Not possible.

        Raises:
            AutopilotError: Always.
        """
        raise AutopilotError(
            "Paparazzi takes no set-points from an Agent here: it flies its "
            "flight plan, by its ground station; use 'xtdrone sim', or fly "
            "autopilot:=embedded"
        )

    def health(self) -> list[dict]:
        """Mode (unknown here), armed, landed and not_ready of each vehicle."""
        estimates = self._estimates
        return [
            {
                "mode": "",
                "armed": bool(estimates.armed[i]),
                "landed": bool(estimates.landed[i]),
                "not_ready": ""
                if estimates.ready[i]
                else "Paparazzi has not told its place (ROTORCRAFT_FP)"
                if self._heard[i]
                else "Paparazzi has not been heard",
            }
            for i in range(len(self._names))
        ]

    def interrupt(self) -> None:
        """Stops waiting for flight controllers; safe to call in a signal handler."""
        self._interrupted = True

    def close(self) -> None:
        """Closes the devices; may be repeated."""
        for device in self._devices:
            device.close()

    def _listen(self, timeout: float) -> None:
        for number, _ in self._poll.poll(timeout * 1e3):
            self._receive(self._vehicle_of[number])

    def _receive(self, i: int) -> None:
        try:
            data = self._devices[i].read()
        except SerialGone as gone:
            self._lost(i, f"cannot be reached: {gone}")
        reader = self._readers[i]
        for sender, number, payload in reader.feed(data):
            if sender != self._aircraft[i]:
                self._lost(
                    i, f"says that it is aircraft {sender}: build it with AC_ID {self._aircraft[i]}"
                )
            self._heard[i] = True
            self._take(i, number, payload)
        if reader.garbage > MAX_GARBAGE and not reader.frames:
            device = self._devices[i]
            self._lost(
                i,
                f"sent {reader.garbage} bytes that are not pprzlink 2.0 on "
                f"'{device.device}': is {device.baud} its baud rate?",
            )

    def _take(self, i: int, number: int, payload: bytes) -> None:
        estimates = self._estimates
        if number == messages.MOTOR_MIXING:
            values = messages.motors(payload)[: self.commands.shape[1]]
            self.commands[i, : len(values)] = values
            self._commanded_us[i] = self._t_us
        elif number == messages.ROTORCRAFT_FP and (fix := messages.position(payload)):
            estimates.pos[i], estimates.vel[i] = fix.pos, fix.vel
            roll, pitch, yaw = fix.attitude
            estimates.quat[i] = from_euler(roll, -pitch, math.pi / 2 - yaw)
            self._located[i] = True
        elif number == messages.ROTORCRAFT_STATUS and (flags := messages.status(payload)):
            estimates.armed[i], estimates.landed[i] = flags[0], not flags[1]

    def _write(self, i: int, data: bytes) -> None:
        try:
            self._devices[i].write(data)
        except SerialGone as gone:
            self._lost(i, f"cannot be reached: {gone}")

    def _await_fleet(self) -> None:
        """Blocks until every flight controller has spoken, the limit is over, or interrupt()."""
        begin, announced = time.monotonic(), False
        while not self._heard.all() and not self._interrupted:
            late = time.monotonic() - begin
            for i in map(int, np.flatnonzero(~self._heard)):
                device = self._devices[i]
                where = f"on '{device.device}' at {device.baud} baud"
                if late > CONNECT_S:
                    self._lost(i, f"sent nothing {where} within {CONNECT_S:g} s")
                if late > 1.0 and not announced:
                    self._on_text(i, _WARNING, f"waiting for its Paparazzi {where}")
            announced = late > 1.0
            self._listen(_WAIT_S)

    def _lost(self, i: int, why: str) -> NoReturn:
        text = f"Paparazzi {i} of '{self._names[i]}' {why}"
        self._on_text(i, _CRITICAL, text)
        raise AutopilotError(text)


def ecef(vel: npt.ArrayLike, lat: float, lon: float) -> tuple[float, float, float]:
    """A velocity (3,) ENU [m/s] at a place [rad] in the Earth's frame."""
    north, east, down = map(float, enu_ned(np.asarray(vel)))
    out = -math.sin(lat) * north - math.cos(lat) * down  # from the axis, in the meridian's plane
    return (
        math.cos(lon) * out - math.sin(lon) * east,
        math.sin(lon) * out + math.cos(lon) * east,
        math.cos(lat) * north - math.sin(lat) * down,
    )
