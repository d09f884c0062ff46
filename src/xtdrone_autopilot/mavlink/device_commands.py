"""Commands to devices: ACTUATOR_TEST, DO_SET_ACTUATOR."""

import math
from collections.abc import Sequence

import numpy as np

from xtdrone_core.mavlink.dialect import mavlink

from ..control.actuator_test import ActuatorTest
from ..navigation.offboard import Offboard
from ..parameters.store import ParameterStore
from ..state.answer import ACCEPTED, DENIED, Answer
from ..state.clock import StepClock
from ..state.handlers import handles
from .links import Link

LONGEST_TEST_S = 3.0  # longest test of an actuator
_FIRST_MOTOR, _FIRST_SERVO, _FUNCTIONS = 1, 33, 1000  # values of ACTUATOR_TEST's param5
_OUTPUT_MOTOR, _OUTPUT_SERVO = 101, 201  # PX4's output functions, which it takes above 1000


class DeviceCommands:
    """Handles commands to the devices of a fleet."""

    def __init__(
        self,
        status: np.ndarray,
        parameters: ParameterStore,
        tests: ActuatorTest,
        offboard: Offboard,
        rotor_mask: np.ndarray,
        clock: StepClock,
    ) -> None:
        """The devices of a fleet.

        Args:
            status: (N,) of VEHICLE_STATUS.
            parameters: Parameters of the fleet.
            tests: Tests of actuators.
            offboard: Holds the commands of servos that steer nothing.
            rotor_mask: (N, A) bool, the actuators that are rotors.
            clock: Time of the flight stack.
        """
        self._status, self._parameters, self._tests = status, parameters, tests
        self._offboard, self._rotor_mask, self._clock = offboard, rotor_mask, clock

    @handles(mavlink.MAV_CMD_DO_SET_ACTUATOR)
    def _set_actuator(self, link: Link, params: Sequence[float]) -> Answer:
        """Sets outputs as PX4's "Offboard Actuator Set 1" and on: the first six, or the next."""
        sets = int(params[6]) if math.isfinite(params[6]) else 0
        self._offboard.set_own(
            link.vehicle, 6 * max(sets, 0), np.clip(params[:6], -1.0, 1.0).tolist()
        )
        return Answer(ACCEPTED)

    @handles(mavlink.MAV_CMD_ACTUATOR_TEST)
    def _actuator_test(self, link: Link, params: Sequence[float]) -> Answer:
        i = link.vehicle
        if self._status["armed"][i]:
            return Answer(DENIED, "actuators are tested while the vehicle is disarmed")
        if self._parameters.get(i, "COM_MOT_TEST_EN") != 1:
            return Answer(DENIED, "tests of actuators are off: set COM_MOT_TEST_EN to 1")
        actuators = self._actuators(i, params[4])
        if actuators is None:
            return Answer(
                mavlink.MAV_RESULT_UNSUPPORTED, f"actuator function {params[4]:g} does not exist"
            )
        value, seconds = (
            (params[0], min(params[1], LONGEST_TEST_S)) if params[1] > 0 else (0.0, 0.0)
        )
        if not math.isfinite(value):
            value, seconds = 0.0, 0.0
        for actuator in actuators:
            self._tests.start(
                i,
                actuator,
                float(np.clip(value, -1.0, 1.0)),
                self._clock.t_us + round(seconds * 1e6),
            )
        return Answer(ACCEPTED)

    def _actuators(self, i: int, function: float) -> Sequence[int] | np.ndarray | None:
        """The columns that a function means, maybe none of them there; None = no such function."""
        number = int(function) if math.isfinite(function) else 0
        motors = np.flatnonzero(self._rotor_mask[i])
        servos = np.flatnonzero(~self._rotor_mask[i])
        for kind, first, output in (
            (motors, _FIRST_MOTOR, _OUTPUT_MOTOR),
            (servos, _FIRST_SERVO, _OUTPUT_SERVO),
        ):
            k = number - _FUNCTIONS - output if number >= _FUNCTIONS else number - first
            if 0 <= k < _MAX[first]:
                return kind[k : k + 1]
        return [] if number >= _FUNCTIONS else None


_MAX = {_FIRST_MOTOR: 12, _FIRST_SERVO: 8}  # motors and servos that PX4 has functions for
