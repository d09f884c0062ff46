"""What the tests of the dynamics and `make validation` share: tables, vehicle files, flights."""

import math
from pathlib import Path

import numpy as np

from xtdrone_core import FleetModel, FleetState, Scenario, VehicleSpec
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.resources import vehicle_names
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_dynamics.abilities.effectiveness import effectiveness, rank
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER, cannot_fly, vehicle_types
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.plant.actuators import ActuatorStage
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

MULTIROTORS = [
    name
    for name in vehicle_names()
    if not load_vehicle(name).wings
    and not load_vehicle(name).half_wings
    and vehicle_types(FleetModel.of([load_vehicle(name)]))[0] == MULTICOPTER
    and not cannot_fly(FleetModel.of([load_vehicle(name)]))[0]
]
# Those whose rotors are on the base, and of these the ones that cannot push sideways.
RIGID = [name for name in MULTIROTORS if not any(r.body for r in load_vehicle(name).rotors)]
CONVENTIONAL = [
    name for name in RIGID if rank(effectiveness(FleetModel.of([load_vehicle(name)]))[0]) < 6
]
STEP_US, DT = 4000, 0.004
HEIGHT = 5.0  # of a hover [m]
TICK_US = 20_000  # between two rows of a flight [us]
# ISO 2533: geopotential height [m], temperature [K], pressure [Pa], density [kg/m^3].
ISA = (
    (0, 288.15, 101325.0, 1.2250),
    (1000, 281.65, 89874.6, 1.11164),
    (2000, 275.15, 79495.2, 1.00649),
    (5000, 255.65, 54019.9, 0.736116),
    (8000, 236.15, 35599.8, 0.525168),
    (11000, 216.65, 22632.1, 0.363918),
)
# Published test values of the World Magnetic Model; the file's head names its sources.
WMM = np.loadtxt(Path(__file__).parents[1] / "data" / "wmm_test_values.csv", delimiter=",")


def with_block(folder, block: str, vehicle: str = "iris") -> str:
    """A copy of a vehicle's file with one more block in its <model>; gives its path."""
    path = Path(folder) / "model.sdf"
    path.write_text(
        load_vehicle(vehicle)
        .sdf.read_text()
        .replace("<sdf ", '<sdf xmlns:xtdrone="urn:xtdrone" ')
        .replace("  </model>\n</sdf>", f"{block}</model></sdf>")
    )
    return str(path)


def effects(text: str) -> str:
    """The block that switches effects on."""
    return f"<xtdrone:effects>{text}</xtdrone:effects>"


def push(engine, wrench, dt_us: int = STEP_US):
    """One step with wrenches (N, 6) on the bases and all joints at zero; gives the state."""
    wrenches = np.zeros((*engine.state.body_pos.shape[:2], 6))
    wrenches[:, 0] = wrench
    return engine.step(wrenches, np.zeros_like(engine.state.joint_pos), dt_us)


def state_of(models) -> FleetState:
    """The state of vehicles at the origin, with all their actuators, joints and bodies."""
    sizes = [(len(m.actuators), len(m.joints), len(m.bodies)) for m in models]
    return FleetState.zeros(len(models), *np.max(sizes, axis=0))


def aloft(model, height: float = 5000.0) -> tuple:
    """An engine with one vehicle far above the ground, its rotors, and an array for wrenches."""
    engine = EmbeddedEngine(
        load_world("empty"), (VehicleSpec("iris", "v", (0, 0, height)),), (model,)
    )
    return engine, ActuatorStage(FleetModel.of([model])), np.zeros((1, 6))


def fall(model, seconds: float) -> np.ndarray:
    """Speed downwards [m/s] at each step of a level fall with rotors at rest."""
    engine, stage, wrench = aloft(model)
    speeds = []
    for _ in range(round(seconds / DT)):
        wrench = stage.step(np.zeros((1, len(model.rotors))), engine.state, STEP_US)[:, 0]
        speeds.append(-push(engine, wrench, STEP_US).vel[0, 2])
    return np.array(speeds)


class Hover(FlightAgent):
    """Up to 5 m, and down again after some seconds."""

    def __init__(self, seconds: float):
        super().__init__(1, HEIGHT, land_from=HEIGHT)
        self._end = seconds

    def fly(self, t_us, estimates, out):
        """The place above the start."""
        out.pos[:] = self.home + (0.0, 0.0, HEIGHT)
        return t_us * 1e-6 >= self._end


def hover(vehicle, until_s, end_s=math.inf, folder=None, parameters=None, **options):
    """A hover flown by the flight stack by its sensors, with the truth of each 20 ms.

    Args:
        vehicle: Name or file.
        until_s: Simulated time at which nobody looks any more [s].
        end_s: Simulated time at which it begins to come down [s].
        folder: Run folder, or None.
        parameters: Of the flight stack, value by name.
        options: Of the scenario.

    Returns:
        The simulation, closed, and a record array: t [s], height above the start, distance from it
        across (away) [m], tilt [rad], speed [m/s], share of the rotors' speed that the battery
        allows, mean command of the rotors.
    """
    simulation = Simulation(
        Scenario(fleet(str(vehicle), 1), speed=0.0, gps="rtk", **options),
        folder,
        agent=Hover(end_s),
        links=False,
    )
    start, rows = simulation.state.pos[0].copy(), []
    rotors = len(simulation.fleet.vehicles[0].rotors)
    for name, value in (parameters or {}).items():
        simulation.autopilot.parameters.set(0, name, value)
    try:
        while simulation.t_us < until_s * 1e6 and not simulation.agent.done:
            simulation.run(until_us=simulation.t_us + TICK_US)
            state = simulation.state
            away, quat = state.pos[0] - start, state.quat[0]
            rows.append(
                (
                    simulation.t_us * 1e-6,
                    away[2],
                    math.hypot(*away[:2]),
                    math.acos(1.0 - 2.0 * (quat[0] ** 2 + quat[1] ** 2)),
                    np.linalg.norm(state.vel[0]),
                    simulation.plant.actuators.speed_limit[0],
                    simulation.autopilot.commands[0, :rotors].mean(),
                )
            )
    finally:
        simulation.close()
    return simulation, np.rec.fromrecords(rows, names="t,height,away,tilt,speed,share,command")
