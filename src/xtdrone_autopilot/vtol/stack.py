"""The VTOLs of a fleet: transitions between the multicopter's and the fixed wing's loops."""

from collections.abc import Sequence

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.modes import MODES, ROS_NAME, Mode
from xtdrone_core.runs.snapshot import Memory
from xtdrone_core.state import SensorBatch
from xtdrone_dynamics.abilities.vehicle_type import HALF_WINGED, NOT_VTOL

from ..fixed_wing.stack import FixedWing
from ..interfaces import Estimator
from ..parameters.store import ParameterStore
from ..state.clock import StepClock
from ..state.reasons import BY_COMMAND
from ..state.vehicle_status import EVENT_QUADCHUTE, HOVERS, ON_WINGS
from .kernel import blend_fleet, mix_fleet, step_fleet
from .state import new_state


class Vtol(Memory):
    """Hover, fixed-wing flight and transitions of the vehicles whose vtol_type is not NOT_VTOL.

    As in PX4, their vehicle_type is MULTICOPTER in hover and transitions, and FIXED_WING in
    fixed-wing flight; the loops of that type fly them.

    Attributes:
        records: (N,) of TRANSITION_STATE.
    """

    MEMORY = ("records",)

    def __init__(
        self,
        fleet: FleetModel,
        status: np.ndarray,
        parameters: ParameterStore,
        estimator: Estimator,
        fixed_wing: FixedWing,
        clock: StepClock,
        origin: Sequence[float],
    ) -> None:
        """Starts with all VTOLs in hover.

        Args:
            fleet: The vehicles.
            status: (N,) of VEHICLE_STATUS.
            parameters: Parameters of the fleet.
            estimator: Estimated state of the fleet.
            fixed_wing: Control of fixed-wing flight.
            clock: Time of the flight stack.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
        """
        self._fleet, self._status, self._parameters = fleet, status, parameters
        self._estimator, self._wings, self._clock = estimator, fixed_wing, clock
        self._origin_height = float(origin[2])
        self._any = bool((status["vtol_type"] != NOT_VTOL).any())
        rotors = np.maximum(fleet.rotor_mask.sum(axis=1), 1)
        # Fraction of the tilting rotors in the thrust of a tiltrotor.
        self._front_fractions = fixed_wing.pushes.sum(axis=1) / rotors
        self.records = new_state(fleet.n)
        self.remember_start()

    def is_vtol(self, i: int) -> bool:
        """Returns whether vehicle i is a VTOL."""
        return bool(self._status["vtol_type"][i] != NOT_VTOL)

    def refusal(self, i: int, state: int) -> str:
        """Returns why VTOL i may not change to a state (HOVERS or ON_WINGS); empty if it may."""
        if state not in (HOVERS, ON_WINGS):
            return f"state {state} is not allowed: 3 is hover, 4 fixed-wing flight"
        mode = Mode(self._status["mode"][i])
        if state == ON_WINGS and MODES[mode].hovers:
            return f"mode {ROS_NAME[mode]} hovers: change to AUTO.LOITER first"
        half_winged = self._status["vtol_type"][i] == HALF_WINGED
        if state == ON_WINGS and half_winged and not MODES[mode].by_target:
            return f"half wings fly to no target in {ROS_NAME[mode]}: change to AUTO.LOITER first"
        return ""

    def request(self, i: int, state: int, at_once: bool = False) -> None:
        """Requests a change of vehicle i to HOVERS or ON_WINGS.

        Args:
            i: Index of the vehicle.
            state: HOVERS or ON_WINGS.
            at_once: Whether to change to hover without a transition: a quad-chute.
        """
        status = self._status[i]
        self.records["requested"][i] = state
        if state == ON_WINGS:
            status["quadchute"] = 0
        elif at_once and status["vtol_state"] != HOVERS and status["armed"]:
            status["quadchute"] = BY_COMMAND
            status["events"] |= EVENT_QUADCHUTE

    def step(self, clock: StepClock, sensors: SensorBatch, dt: float) -> int:
        """Steps the transitions.

        Args:
            clock: Time of the flight stack.
            sensors: Readings of this step.
            dt: Length of the step [s].

        Returns:
            The union of the EVENT_ bits raised.
        """
        if not self._any:
            return 0
        return step_fleet(
            self._status,
            self.records,
            self._wings.records,
            self._parameters.values,
            self._estimator.records,
            self._wings.tailsitters,
            sensors.records,
            self._front_fractions,
            clock.t_us,
            clock.epoch_us,
            self._origin_height,
            dt,
        )

    def blend(self) -> None:
        """Writes the attitude set-points of transitions, and of hover with pusher assist."""
        if self._any:
            blend_fleet(
                self._status,
                self.records,
                self._wings.records,
                self._parameters.values,
                self._estimator.records,
                self._front_fractions,
            )

    def mix(self, dt: float, commands: np.ndarray) -> None:
        """Writes the commands of pushers and surfaces; those of lifting rotors are the mixer's.

        Args:
            dt: Length of the step [s].
            commands: (N, A), updated.
        """
        if self._any:
            mix_fleet(
                self._status,
                self.records,
                self._wings.records,
                self._parameters.values,
                self._wings.tailsitters,
                self._fleet.vehicle,
                self._fleet.actuator,
                self._wings.pushes,
                self._wings.signs,
                self._clock.t_us,
                dt,
                commands,
            )
