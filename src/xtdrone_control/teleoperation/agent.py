"""An Agent that flies recorded or scripted sticks by the teleoperation of Mora-Soto and others."""

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np

from xtdrone_core import Estimates, SetPoints
from xtdrone_core.contracts import Flight
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.scenario.options import Option
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.euler_zxy import Body, body_rates, from_quaternion

from . import gains as gain_files, record
from .control import HEIGHT, STEP_S, YAW, control, reference
from .simulator import TABLE_1

_PERIOD_US = 4000  # period of the algorithm, the lockstep's [us]
_STEPS = round(_PERIOD_US * 1e-6 / STEP_S)  # steps of the references in one period
_SCRIPT_S = 16.0
TURN = 2.0 * math.pi


def script() -> np.ndarray:
    """Returns sticks (K, 4) at 1 ms: up, a turn, forward, right, each held for a second or two."""
    sticks = np.zeros((round(_SCRIPT_S / STEP_S), 4))
    for axis, begin, end, value in (
        (0, 1, 1.5, 0.5),
        (1, 3, 4, 0.3),
        (2, 6, 8, 0.2),
        (3, 11, 13, 0.5),
    ):
        sticks[round(begin / STEP_S) : round(end / STEP_S), axis] = value
    return sticks


class TeleoperationAgent(FlightAgent):
    """Take-off, then sticks through the teleoperation algorithm, landing.

    The published torques act against a friction of 0.5 N m s/rad, beside which the inertia of
    Table 1 is small: a torque is a rate of its angle after 10 ms. So torque over friction goes to
    the flight stack as a set-point of body rates, and its rate loop takes the place of the
    friction, which no rotor could overcome. Thrust is scaled by the mass. Events: those of
    FlightAgent.
    """

    MEMORY = (
        *FlightAgent.MEMORY,
        "_begun_us",
        "_held",
        "_errors",
        "_integrals",
        "_turns",
        "_fresh_pid",
    )
    period_us = _PERIOD_US

    def __init__(
        self,
        n: int = 1,
        sticks: Annotated[
            str,
            Option(
                "flight record or CSV with t and stick_up, stick_yaw, stick_forward, stick_right",
                metavar="FILE",
                unset="a script of steps",
            ),
        ] = "",
        gains: Annotated[
            str, Option("YAML of xtdrone tune", metavar="FILE", unset="Table 2 of the paper")
        ] = "",
        height: Annotated[
            float,
            Option(
                "above the start, at which the sticks take over",
                unit="m",
                minimum=0.5,
                maximum=1000.0,
            ),
        ] = 2.0,
        quickest: Annotated[
            float,
            Option(
                "shortest time constant of an angle: quicker gains "
                "than the rate loop's are held to it",
                unit="s",
                minimum=0.02,
                maximum=2.0,
            ),
        ] = 0.15,
        on_event: Callable[..., None] | None = None,
    ):
        """Prepares a flight of n vehicles, all by the same sticks.

        Raises:
            TeleoperationError: The file of sticks or of gains cannot be used.
        """
        super().__init__(n, height, on_event=on_event)
        flown = record.read(sticks, motion=False).each_step().sticks if sticks else script()
        self._gains, delay = gain_files.TABLE_2.copy(), 0.0
        if gains:
            self._gains, delay = gain_files.read(gains)
        late = np.repeat(flown[:1], round(delay / STEP_S), axis=0)
        self._sticks = np.ascontiguousarray(np.concatenate([late, flown]))
        self._gains[YAW:] = _slowed(self._gains[YAW:], np.array(TABLE_1)[[9, 8, 7]] / quickest)
        self._mass = np.full(n, TABLE_1[0])
        self._begun_us = 0
        self._held, self._errors, self._integrals = (np.zeros((n, 4)) for _ in range(3))
        self._turns = np.zeros(n)  # heading without jumps [rad]
        self._fresh_pid = True

    def attach(self, flight: Flight) -> None:
        """Takes the masses of the vehicles."""
        self._mass[:] = flight.fleet.vehicle["mass"]

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Takes height and heading of this moment as the first references."""
        self._begun_us, self._fresh_pid = t_us, True
        self._held[:], self._integrals[:] = 0.0, 0.0
        for i, quat in enumerate(estimates.quat):
            self._turns[i] = from_quaternion(*quat)[2]
        self._held[:, HEIGHT] = estimates.pos[:, 2] - self.home[:, 2]
        self._held[:, YAW] = self._turns

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Writes body rates and thrust by this moment's sticks; returns True after the last."""
        first = round((t_us - self._begun_us) * 1e-6 / STEP_S)
        if first + _STEPS > len(self._sticks):
            return True
        out.yaw[:] = math.nan
        _fly(
            self._sticks[first : first + _STEPS],
            self._gains,
            TABLE_1,
            self._mass,
            np.ascontiguousarray(estimates.pos[:, 2] - self.home[:, 2]),
            estimates.quat,
            self._held,
            self._errors,
            self._integrals,
            self._turns,
            self._fresh_pid,
            out.rates,
            out.force,
        )
        self._fresh_pid = False
        return False

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Returns no goals: a pilot's sticks have none."""
        return {}


def _slowed(gains: np.ndarray, maximum: np.ndarray) -> np.ndarray:
    """Scales gains (3, 4) so that their proportional part is at most (3,)."""
    factor = np.minimum(1.0, maximum / np.maximum(gains[:, 1], 1e-9))
    return np.column_stack([gains[:, 0], gains[:, 1:] * factor[:, None]])


@njit
def _fly(
    sticks: np.ndarray,
    gains: np.ndarray,
    body: Body,
    mass: np.ndarray,
    height: np.ndarray,
    quat: np.ndarray,
    held: np.ndarray,
    errors: np.ndarray,
    integrals: np.ndarray,
    turns: np.ndarray,
    first: bool,
    rates: np.ndarray,
    force: np.ndarray,
) -> None:
    """Computes rates (N, 3) and force (N, 3) of a fleet."""
    for i in range(height.shape[0]):
        roll, pitch, yaw = from_quaternion(quat[i, 0], quat[i, 1], quat[i, 2], quat[i, 3])
        turn = (yaw - turns[i]) / TURN
        turns[i] += TURN * (turn - math.floor(turn + 0.5))
        for k in range(sticks.shape[0]):
            for axis in range(4):
                held[i, axis] = reference(axis, held[i, axis], sticks[k, axis], gains[axis, 0])
        thrust, t_yaw, t_pitch, t_roll = control(
            (height[i], turns[i], pitch, roll),
            held[i],
            errors[i],
            integrals[i],
            gains,
            0.0,
            STEP_S * sticks.shape[0],
            first,
        )
        rates[i, 0], rates[i, 1], rates[i, 2] = body_rates(
            roll, pitch, t_roll / body[7], t_pitch / body[8], t_yaw / body[9]
        )
        force[i, 2] = max(0.0, mass[i] * (thrust / body[0] + body[10]))
