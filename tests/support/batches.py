"""The same flight by the lockstep's engine and plant, and by a batch."""

import numpy as np

from xtdrone_autopilot.control.allocation import Mixer
from xtdrone_autopilot.control.attitude import AttitudeControl
from xtdrone_autopilot.control.position import PositionControl
from xtdrone_autopilot.control.rate import RateControl
from xtdrone_autopilot.control.velocity import VelocityControl
from xtdrone_autopilot.interfaces import ESTIMATE
from xtdrone_autopilot.navigation.navigator import ACC_FILTER_S
from xtdrone_autopilot.parameters.store import ParameterStore
from xtdrone_autopilot.state.clock import LOOP_US
from xtdrone_autopilot.state.vehicle_status import (
    STAGE_FLIGHT,
    TRAJECTORY,
    command_of,
    describe_bodies,
    new_status,
)
from xtdrone_batch.simulation import STEP_US, BatchSimulation
from xtdrone_core import FleetModel, Mode, SensorBatch
from xtdrone_core.resources import vehicle_names
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_core.vehicle import Rotor
from xtdrone_dynamics.abilities.vehicle_type import (
    MULTICOPTER,
    cannot_fly,
    vehicle_types,
    vtol_types,
)
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate_inverse
from xtdrone_guidance.indi.disturbance import Disturbance
from xtdrone_guidance.indi.rate_control import IndiRateControl
from xtdrone_guidance.indi.velocity_control import IndiVelocityControl
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.plant.actuators import ActuatorStage
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

WORLD = load_world("empty")
TYPES = vehicle_names()
HOVERING = [
    name
    for name in TYPES
    if vehicle_types(FleetModel.of([load_vehicle(name)]))[0] == MULTICOPTER
    and not cannot_fly(FleetModel.of([load_vehicle(name)]))[0]
]
HEIGHT = 200.0  # of the start [m]
START = (8.0, 1.0, -0.5), (0.3, -0.2, 0.5)  # velocity [m/s] and body rates [rad/s]


class Lockstep:
    """One vehicle aloft on the embedded engine, moved by actuator commands alone."""

    def __init__(self, name: str):
        self.specs = parse_vehicles(f"{name}@0,0,{HEIGHT}")
        vehicle = load_vehicle(name)
        self.model = FleetModel.of([vehicle])
        self.engine = EmbeddedEngine(WORLD, self.specs, (vehicle,))
        self.plant = ActuatorStage(
            self.model, WORLD.altitude, WORLD.water, WORLD.water_density * WORLD.gravity
        )
        self.state = self.engine.state
        self.engine.place(0, np.concatenate([self.state.pos[0], self.state.quat[0], *START]))

    def step(self, commands: np.ndarray) -> np.ndarray:
        """One step under commands (A,); the pose and rates after it (10,)."""
        wrench = self.plant.step(commands[None], self.state, STEP_US)
        self.engine.step(wrench, self.plant.joint_targets, STEP_US)
        return np.concatenate([self.state.pos[0], self.state.quat[0], self.state.ang_vel[0]])


def batch_of(name: str, environments: int = 1, **options) -> BatchSimulation:
    """The same vehicle in each environment of a batch, stepped by 4 ms."""
    batch = BatchSimulation(
        f"{name}@0,0,{HEIGHT}",
        environments,
        sub_steps=1,
        altitude=WORLD.altitude,
        gravity=WORLD.gravity,
        **options,
    )
    batch.state.vel[:], batch.state.ang_vel[:] = START
    return batch


def row(batch: BatchSimulation, environment: int = 0) -> np.ndarray:
    """Pose and rates of the first vehicle of an environment (10,)."""
    s = batch.state
    return np.concatenate(
        [s.pos[environment, 0], s.quat[environment, 0], s.ang_vel[environment, 0]]
    )


def commands_of(name: str, steps: int) -> np.ndarray:
    """(steps, A) commands near those of a hover, each with a swing of its own."""
    actuators = load_vehicle(name).actuators
    rng = np.random.default_rng(1)
    middle = np.array([0.6 * isinstance(each, Rotor) for each in actuators])
    turns = np.arange(steps)[:, None] * STEP_US * 1e-6 * rng.uniform(3.0, 20.0, len(actuators))
    return middle + 0.03 * np.sin(turns + rng.uniform(0.0, 6.0, len(actuators)))


class StackOnTruth:
    """The flight stack's control loops of one vehicle, or its INDI, fed with the true state."""

    def __init__(self, model: FleetModel, controller: str = "px4"):
        self.store = ParameterStore(1, vehicle_types(model), vtol_types(model))
        self.status = new_status(1)
        describe_bodies(self.status, model)
        p, q = self.status, self.store.values
        p["mode"], p["stage"], p["armed"], p["landed"] = Mode.OFFBOARD, STAGE_FLIGHT, True, False
        p["free_yaw"] = np.nan
        p["hover"] = command_of(p["thrust_poly"], p["mass"] * GRAVITY)
        p["tilt_limit"] = np.radians(q["MPC_TILTMAX_AIR"])
        p["climb_max"], p["sink_max"] = q["MPC_Z_VEL_MAX_UP"], q["MPC_Z_VEL_MAX_DN"]
        self.records = np.zeros(1, dtype=ESTIMATE)  # read by the loops as an estimator's
        self.sensors, self.disturbance = SensorBatch.empty(1), None
        velocity, rates = VelocityControl(model), RateControl(model)
        if controller == "indi":
            self.disturbance = Disturbance(model)
            velocity, rates = IndiVelocityControl(model), IndiRateControl(model)
            for loop in (velocity, rates):
                loop.take_feedback(self.disturbance)
        self.slow = PositionControl(model), velocity
        self.fast = AttitudeControl(model), rates
        self.mixer, self.commands = Mixer(model), np.zeros(model.actuator.shape)

    def step(self, t_us: int, state, level: str, action: np.ndarray) -> np.ndarray:
        """Commands (A,) for an action (4,) of level 'position' or 'velocity'."""
        p, q, dt = self.status, self.store.values, STEP_US * 1e-6
        for name in ("pos", "quat", "vel", "ang_vel"):
            self.records[name] = getattr(state, name)
        p["acc_filtered"] += dt / (ACC_FILTER_S + dt) * (state.acc - p["acc_filtered"])
        p["sp_kind"] = TRAJECTORY
        if self.disturbance is not None:
            force = state.acc[0] + [0.0, 0.0, WORLD.gravity]
            self.sensors.accel[0] = rotate_inverse(*state.quat[0], *force)
            self.disturbance.step(p, self, self.sensors, self.commands, dt)
        if t_us % LOOP_US == 0:
            for name in ("sp_pos", "sp_vel", "sp_acc", "sp_yaw", "sp_yaw_rate"):
                p[name] = np.nan
            place, turn = ("sp_pos", "sp_yaw") if level == "position" else ("sp_vel", "sp_yaw_rate")
            p[place], p[turn] = action[:3], action[3]
            for loop in self.slow:
                loop.step(p, q, self, LOOP_US * 1e-6)
        for loop in self.fast:
            loop.step(p, q, self, dt)
        self.mixer.step(p, q, self, dt, self.commands)
        return self.commands[0]
