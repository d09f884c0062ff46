"""Planes and VTOLs in Gazebo 11 with the classic plugins, from trim: for tests and validation.

The peer reads the vehicle's file itself: its links, joints and masses, not the one body that the
workspace makes of them. Its wings are those of Gazebo's own LiftDragPlugin, with the workspace's
rotors. Flights with wings and motors of PX4's sitl_gazebo are recorded.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from lxml import etree
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from physics import DT, STEP_US, state_of
from xtdrone_core import FleetModel, VehicleSpec
from xtdrone_core.vehicle import Surface
from xtdrone_dynamics.abilities.control_surfaces import surface_signs
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.forces import wing
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.engines.gazebo import engine as gazebo
from xtdrone_sim.plant.actuators import ActuatorStage
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.vehicles.sdf_file import parse
from xtdrone_sim.world import load_world

SECONDS, SPEED = 5.0, 15.0  # of a flight [s], [m/s]
HEIGHT = 500.0  # of its start [m]
PULSE, PULSE_S = 0.05, 0.5  # of surfaces [rad] [s]
AXES = {"trim": None, "ailerons": 0, "elevator": 1}  # flights, and the axis of their pulse
EVERY = 25  # steps between two points of a recorded track
_WARM_STEPS = 500  # until motors turn and surfaces are in place
_WINGS = "libLiftDragPlugin.so"
_TRACKS = Path(__file__).resolve().parents[1] / "data/sitl_gazebo.json"


class Trim:
    """Steady level flight, or hover.

    Attributes:
        model: The Vehicle.
        start: (13,) state of its centre of gravity: pos, quat, vel, ang_vel.
        commands: (A,) of its actuators.
        actuator: (A,) their speeds [rad/s] and deflections [rad].
    """

    def __init__(self, vehicle, speed=SPEED):
        """Searches it.

        Args:
            vehicle: Name of the vehicle.
            speed: Airspeed, pushed by the rotors that point forwards; 0 is the hover on the
                others [m/s].
        """
        self.model = load_vehicle(vehicle)
        fleet = FleetModel.of([self.model])
        self._stage, self._state = ActuatorStage(fleet), state_of([self.model])
        self._speed, self._signs = speed, surface_signs(fleet)[0]
        found = least_squares(
            self._unbalanced,
            [0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0],
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
        )
        self.start, self.commands, self.actuator = self._flight(found.x)
        assert abs(found.fun).max() < 1e-6 and abs(self.commands).max() < 1.0

    def pulse(self, axis):
        """A function of time [s] to the (A,) commands of surfaces about an axis, or zeros."""
        turn = np.zeros(len(self._signs)) if axis is None else PULSE * self._signs[:, axis]
        return lambda t: turn * (t < PULSE_S)

    def _flight(self, x):
        """State, commands and actuators by pitch, roll, slip [rad], thrust, and three torques."""
        pitch, roll, slip, thrust, *torques = x
        commands = self._signs @ torques if self._speed else np.zeros(len(self._signs))
        for k, rotor in enumerate(self.model.rotors):
            if self._speed and rotor.axis[0] > 0.5:
                commands[k] = thrust
            elif not self._speed and rotor.axis[2] > 0.5:
                commands[k] = thrust + np.dot(
                    torques, (-np.sign(rotor.pos[1]), np.sign(rotor.pos[0]), rotor.direction)
                )
        start = np.concatenate(
            [
                [0.0, 0.0, HEIGHT],
                Rotation.from_euler("YX", [-pitch, roll]).as_quat(),
                self._speed * np.array([np.cos(slip), np.sin(slip), 0.0]),
                np.zeros(3),
            ]
        )
        return start, commands, commands * [a.input_scaling for a in self.model.actuators]

    def _unbalanced(self, x):
        """Accelerations, and what is free: angles in hover, slip with a rudder, else yaw."""
        start, commands, actuator = self._flight(x)
        put(self._state, start, actuator)
        wrench = self._stage.step(commands[None], self._state, STEP_US)[0, 0]
        free = x[:3] if not self._speed else x[2:3] if self._signs[:, 2].any() else x[6:]
        return np.concatenate(
            [
                wrench[:3] / self.model.mass - (0.0, 0.0, GRAVITY),
                np.linalg.solve(self.model.inertia, wrench[3:]),
                free,
            ]
        )


def put(state, start, actuator):
    """Writes a vehicle's state (13,) and actuators (A,) into a FleetState."""
    for name, columns in (
        ("pos", slice(0, 3)),
        ("quat", slice(3, 7)),
        ("vel", slice(7, 10)),
        ("ang_vel", slice(10, 13)),
    ):
        getattr(state, name)[0] = getattr(state, f"body_{name}")[0, 0] = start[columns]
    state.actuator[0] = actuator


def apart(one, other):
    """Distances [m] and angles [deg] between two flights (T, 7 or more)."""
    turn = Rotation.from_quat(one[:, 3:7]).inv() * Rotation.from_quat(other[:, 3:7])
    return np.linalg.norm(one[:, :3] - other[:, :3], axis=1), np.degrees(turn.magnitude())


def thinned(flight):
    """Position and quaternion (T/EVERY, 7) of a flight (T, 13), at the times of the records."""
    return flight[EVERY - 1 :: EVERY, :7]


def sitl_gazebo():
    """Tracks in Gazebo 11 with wings and motors of sitl_gazebo, as thinned() gives them.

    They flew from Trim, by (vehicle, name in AXES), and "hover" is that of Trim at no speed.
    """
    return {
        tuple(name.split(", ")): np.array(track)
        for name, track in json.loads(_TRACKS.read_text()).items()
    }


def fly_embedded(trim, added, gazebos_wings=False):
    """States (T, 13) after each step of the embedded engine.

    Args:
        trim: Where it starts.
        added: Function of time [s] to (A,) commands beyond those of trim.
        gazebos_wings: Takes wings with the error of Gazebo's plugin, see wings_of_gazebo().
    """
    model, rows = trim.model, []
    engine = EmbeddedEngine(
        load_world("empty"), (VehicleSpec(model.type, "v", (0.0, 0.0, 0.0)),), (model,)
    )
    fleet = FleetModel.of([model])
    stage = ActuatorStage(FleetModel.of([_wingless(model)]) if gazebos_wings else fleet)
    try:
        engine.reset()
        engine.place(0, trim.start)
        engine.state.actuator[0] = trim.actuator
        for k in range(round(SECONDS / DT)):
            wrench = stage.step((trim.commands + added(k * DT))[None], engine.state, STEP_US)
            if gazebos_wings:
                wrench[0, 0] += wings_of_gazebo(fleet, engine.state)
            s = engine.step(wrench, stage.joint_targets, STEP_US)
            rows.append(np.concatenate([s.pos[0], s.quat[0], s.vel[0], s.ang_vel[0]]))
    finally:
        engine.close()
    return np.array(rows)


def wings_of_gazebo(fleet, state):
    """Wrench (6,) of the wings, world frame, as Gazebo 11's plugin computes it in sideslip.

    It takes the spanwise part s of the velocity off along the velocity, instead of along the span:
    the speed of the air is |v| - s, and drag points against v. PX4's plugin had the same error
    (PX4-SITL_gazebo-classic, issue 560).
    """
    turn, total = Rotation.from_quat(state.quat[0]), np.zeros(6)
    for record in fleet.wing[0]:
        vel = turn.inv().apply(state.vel[0]) + np.cross(state.ang_vel[0], record["pos"])
        ahead, span = vel / np.linalg.norm(vel), np.cross(record["forward"], record["upward"])
        slip = ahead @ span
        inside = (ahead - slip * span) / np.sqrt(1.0 - slip**2)
        deflection = state.actuator[0, record["control"]] if record["control"] >= 0 else 0.0
        force = np.array(wing.forces(record, deflection, 1.0, *vel)[:3])
        drag = -force @ inside
        force = ((1.0 - slip) ** 2 / (1.0 - slip**2)) * (force + drag * (inside - ahead))
        total += np.concatenate([turn.apply(force), turn.apply(np.cross(record["pos"], force))])
    return total


class ClassicGazebo(gazebo.GazeboEngine):
    """gzserver with one vehicle as its file has it, and Gazebo's wings."""

    def __init__(self, trim):
        """Starts gzserver for a Trim."""
        self._trim, model = trim, trim.model
        self._vehicle = parse(model.sdf, "model")
        self._hinges = [
            self._vehicle.findtext(f".//channel[@name='{a.name}']/joint_name")
            for a in model.actuators
            if isinstance(a, Surface)
        ]
        pose = self._vehicle.findtext("link[@name='base_link']/pose")
        self._arm = np.array(pose.split()[:3], dtype=float) - model.cog  # to the link's origin
        super().__init__(
            load_world("empty"), (VehicleSpec(model.type, "v", (0.0, 0.0, HEIGHT)),), (model,)
        )

    def fly(self, added):
        """States (T, 13) of the centre of gravity; see fly_embedded()."""
        trim, model = self._trim, self._trim.model
        surfaces = [isinstance(a, Surface) for a in model.actuators]
        for _ in range(_WARM_STEPS):
            self._moved(gazebo.Operation.STEP, [DT, *np.zeros(6), *trim.actuator[surfaces]])
        place = self._shifted(trim.start, self._arm)
        # Gazebo misplaces a turned link that lies beside the origin of its model, always alike.
        place[:3] += place[:3] - self._moved(gazebo.Operation.PLACE, [0.0, *place])[:3]
        self._moved(gazebo.Operation.PLACE, [0.0, *place])
        stage, state = ActuatorStage(FleetModel.of([_wingless(model)])), state_of([model])
        put(state, trim.start, trim.actuator)
        rows = []
        for k in range(round(SECONDS / DT)):
            wrench = stage.step((trim.commands + added(k * DT))[None], state, STEP_US)[0, 0]
            wrench[3:] -= np.cross(Rotation.from_quat(state.quat[0]).apply(self._arm), wrench[:3])
            row = self._moved(gazebo.Operation.STEP, [DT, *wrench, *state.actuator[0, surfaces]])
            rows.append(self._shifted(row, -self._arm))
            put(state, rows[-1], state.actuator[0])
        return np.array(rows)

    def _sdf(self, *arguments):
        """The engine's world with the file's model instead of its own."""
        world = etree.fromstring(super()._sdf(*arguments))
        model = self._vehicle
        model.set("name", "v")
        etree.SubElement(model, "pose").text = f"0 0 {HEIGHT} 0 0 0"
        for element in [*model.iter("collision", "visual", "sensor")]:
            element.getparent().remove(element)
        for plugin in [*model.iter("plugin")]:
            if plugin.get("filename") != _WINGS:
                plugin.getparent().remove(plugin)
        own = world.find(".//model[@name='v']")
        own.getparent().replace(own, model)
        return etree.tostring(world, encoding="unicode")

    def _name_fleet(self):
        self.channel.ask(gazebo.Operation.FLEET, "v\tbase_link\n")
        self.channel.ask(gazebo.Operation.JOINTS, "".join(f"v\t{name}\n" for name in self._hinges))

    def _moved(self, operation, numbers):
        """State (13,) of the base link after a request."""
        size = 8 * (13 + 2 * len(self._hinges))
        return np.frombuffer(
            self.channel.request(operation, np.array(numbers).tobytes(), size=size)
        )[:13]

    def _shifted(self, row, arm):
        """The state (13,) of another point of a body, at `arm` in its frame."""
        turn, row = Rotation.from_quat(row[3:7]), row.copy()
        row[:3] += turn.apply(arm)
        row[7:10] += turn.apply(np.cross(row[10:], arm))
        return row


def fly_gazebo(trim, added):
    """As fly_embedded(), in ClassicGazebo."""
    engine = ClassicGazebo(trim)
    try:
        return engine.fly(added)
    finally:
        engine.close()


def _wingless(model):
    return replace(model, wings=())
