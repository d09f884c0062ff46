"""Checks whether models load, and whether they fly."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sensor_models.errors import SensorError
from xtdrone_core import Scenario, XtdroneError, files, resources
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.scenario.vehicles import VehicleSpec
from xtdrone_core.state import Estimates, SetPoints
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER, cannot_fly, vehicle_types

from .vehicles.sdf import load_vehicle

HEIGHT = 3.0  # height of the hover [m]
_SETTLING = 4.0  # time after the climb before the hover counts [s]
_START = 0.3  # height at which a vehicle begins, whatever its landing gear [m]


@dataclass(frozen=True)
class CheckResult:
    """The result of a check."""

    path: Path
    verdict: str  # flies, loads (no rotors), stands (not by these rotors), fails, refused
    reason: str  # why, or how well it flies; "" where there is nothing to say
    remarks: tuple[str, ...] = ()  # a line for each thing in its file that is left out or changed


def models_in(path: Path) -> list[Path]:
    """The models that a path means: an SDF file, a model's folder, or each in a folder of models.

    Raises:
        ScenarioError: No such path, or a folder without any model.
    """
    if not path.is_dir():
        return [path if path.exists() else resources.vehicle_sdf(str(path)).parent]
    if resources.is_model_folder(path):
        return [path]
    models = sorted(
        folder
        for folder in path.iterdir()
        if files.is_folder(folder) and resources.is_model_folder(folder)
    )
    return models or [resources.model_sdf(path)]


def check(path: Path, seconds: float) -> CheckResult:
    """Loads a model, and flies it for some seconds of hover if it has rotors; 0: does not fly it.

    It is loaded completely, with its sensors and in the embedded engine.
    """
    from .simulation import Simulation

    try:
        vehicle = load_vehicle(str(path.resolve()))
        spec = VehicleSpec(str(path.resolve()), "checked", (0.0, 0.0, _START))
        if not any(block.kind == "imu" for block in vehicle.sensors):
            return CheckResult(
                path, "loads", "no imu: part of a vehicle or of a world", vehicle.remarks
            )
        agent = _Hover(seconds)
        simulation = Simulation(Scenario((spec,), speed=0.0), agent=agent, links=False)
    except (XtdroneError, SensorError) as error:
        return CheckResult(path, "refused", str(error))
    try:
        why = cannot_fly(simulation.fleet)[0]
        if not vehicle.rotors or why:
            return CheckResult(
                path,
                "stands" if vehicle.rotors else "loads",
                why if vehicle.rotors else "no rotors",
                vehicle.remarks,
            )
        if seconds > 0.0 and vehicle_types(simulation.fleet)[0] == MULTICOPTER:
            simulation.run()
            drift = np.ptp(agent.positions, axis=0).max()
            return CheckResult(path, "flies", f"hovers within {drift:.2f} m", vehicle.remarks)
        return CheckResult(path, "loads", "", vehicle.remarks)
    except XtdroneError as error:
        reason = simulation.autopilot.health()[0]["not_ready"]
        return CheckResult(path, "fails", f"{error}{reason and f' ({reason})'}", vehicle.remarks)
    finally:
        simulation.close()


class _Hover(FlightAgent):
    """Takes off, hovers, lands."""

    def __init__(self, seconds: float):
        super().__init__(1, HEIGHT, time_out=30.0)
        self.positions: list[np.ndarray] = []  # during the hover
        self._steps = round(seconds / 0.02)
        self._seen = 0

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Holds the position above home."""
        out.pos[:] = self.home + (0.0, 0.0, HEIGHT)
        self._seen += 1
        if self._seen * 0.02 > min(_SETTLING, 0.5 * self._steps * 0.02):
            self.positions.append(estimates.pos[0].copy())
        return self._seen >= self._steps
