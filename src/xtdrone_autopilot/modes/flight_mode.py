"""Declaration of a flight mode, and the list of those in this folder and other packages."""

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata

import numpy as np

from xtdrone_core.modes import Mode

from ..errors import AutopilotError
from ..interfaces import Estimator
from ..navigation.mission import Missions
from ..navigation.navigator import Navigator
from ..navigation.orbit import Orbits
from ..navigation.precision_landing import PrecisionLandings
from ..parameters.store import ParameterStore
from ..state.clock import StepClock
from ..state.flight_state import FlightState, ModeTask
from ..state.outbox import Outbox

GROUP = "xtdrone.modes"  # entry points of other packages: NAME = "module:MODE"
Law = Callable[..., None]  # compiled by xtdrone_dynamics.compiled.njit


@dataclass(frozen=True)
class ModeParts:
    """The parts of a flight stack that the tasks of its modes use."""

    status: np.ndarray  # (N,) of VEHICLE_STATUS
    parameters: ParameterStore
    estimator: Estimator
    navigator: Navigator
    orbits: Orbits
    landings: PrecisionLandings
    missions: Missions
    flight: FlightState
    clock: StepClock
    origin: Sequence[float]  # latitude, longitude [rad] and height [m] of the world's origin
    outbox: Outbox
    request_transition: Callable[[int, int], None]  # vehicle, HOVERS or ON_WINGS


@dataclass(frozen=True)
class FlightMode:
    """A flight mode, beside its row of MODES in xtdrone_core/modes.py.

    A vehicle without a control law in it flies to v.target by the laws of the AUTO modes; the task
    sets that target by Navigator.fly_to(). A VTOL flies by the law of multicopters in hover and by
    that of fixed wings on its wings.

    Attributes:
        mode: Its number.
        task: Its class, made with ModeParts; None = it does nothing beside its laws.
        multicopter: law(vehicle, params, estimate, t_us, dt), called every 8 ms. It writes sp_pos,
            sp_vel, sp_acc [m, m/s, m/s^2], sp_yaw and sp_yaw_rate, NaN = not controlled; or it sets
            sp_kind to ATTITUDE or RATES and writes sp_quat or sp_rates, and sp_thrust [N].
        fixed_wing: law(vehicle, wing, params, motion, t_us, dt), called every 20 ms. It writes
            roll, pitch [rad] and throttle of wing.
        rover: law(vehicle, params, estimate, t_us, dt), called every 4 ms. It writes throttle and
            steering of vehicle, -1..1.

    The arguments of laws are the records of VEHICLE_STATUS (vehicle), FIXED_WING_STATE (wing),
    parameters (params) and ESTIMATE (estimate), the Motion of fixed_wing.guidance, the time [us]
    and the length of the step [s].
    """

    mode: Mode
    task: Callable[[ModeParts], ModeTask] | None = None
    multicopter: Law | None = None
    fixed_wing: Law | None = None
    rover: Law | None = None


def flight_modes() -> list[FlightMode]:
    """The modes of this folder's modules, then those of other packages.

    Raises:
        AutopilotError: A mode cannot be loaded, or is declared twice.
    """
    package = importlib.import_module(__package__ or "")
    modes: dict[Mode, FlightMode] = {}
    for module in pkgutil.iter_modules(package.__path__):
        declared = getattr(importlib.import_module(f"{__package__}.{module.name}"), "MODE", None)
        if declared is not None:
            _add(modes, module.name, declared)
    for entry in metadata.entry_points(group=GROUP):
        try:
            _add(modes, entry.value, entry.load())
        except (ImportError, AttributeError) as error:
            raise AutopilotError(
                f"cannot load flight mode '{entry.name}' ({entry.value}): {error}"
            ) from error
    return list(modes.values())


def laws(modes: Sequence[FlightMode], vehicle: str) -> tuple[tuple[int, Law], ...]:
    """(number of the mode, law) of the modes that have a law for a type of vehicle.

    Args:
        modes: As of flight_modes().
        vehicle: "multicopter", "fixed_wing" or "rover".
    """
    declared = ((mode.mode, getattr(mode, vehicle)) for mode in modes)
    return tuple((int(mode), law) for mode, law in declared if law is not None)


def _add(modes: dict[Mode, FlightMode], name: str, mode: object) -> None:
    if not isinstance(mode, FlightMode):
        raise AutopilotError(f"flight mode '{name}' is a {type(mode).__name__}: give a FlightMode")
    if mode.mode in modes:
        raise AutopilotError(
            f"flight mode {mode.mode.name} is declared twice: give '{name}' another number of Mode"
        )
    modes[mode.mode] = mode
