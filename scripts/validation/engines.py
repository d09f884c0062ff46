"""Compares MuJoCo and Gazebo: open-loop commands, the same flight, and contact cases.

Writes docs/validation/engines.md and its figures. Needs scripts/setup_gazebo.sh; without Gazebo 11
it prints a message and exits with status 0.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_core import (
    ARM,
    FleetModel,
    Mode,
    Scenario,
    SetPoints,
    VehicleSpec,
    plot_style,
    resources,
)
from xtdrone_core.agent import BaseAgent
from xtdrone_core.flight_agent import minimum_jerk
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.engines.gazebo.engine import GazeboEngine
from xtdrone_sim.plant.actuators import ActuatorStage
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

ENGINES = {"embedded": EmbeddedEngine, "gazebo": GazeboEngine}
STEP_US = 4000
OPEN_S, CLOSED_S, TOUCH_S, VISIT_S = 2.0, 30.0, 3.0, 22.0
SLOPE_DEG = 10.0
WALL_X, THICK = 3.0, 0.5  # near side of the wall, and half the slope's thickness [m]
OBSTACLES = {  # pose and size of a box in the empty world
    "slope": (f"5 0 0.6 0 {np.radians(-SLOPE_DEG):.6f} 0", f"8 8 {2 * THICK}"),
    "wall": (f"{WALL_X + 0.25} 0 3 0 0 0", "0.5 20 6"),
}
OUT = resources.root() / "docs" / "validation"
BOUNDS = {
    "open loop, position [m]": 0.05,
    "open loop, attitude [deg]": 0.2,
    "closed loop, RMS position [m]": 0.1,
}
MANOEUVRES = {  # offset to the four rotors' hover command, as a function of time
    "climb": lambda t: 0.1 * np.sin(2 * t) * np.ones(4),
    "roll": lambda t: 0.02 * np.sin(6 * t) * np.array([-1, 1, 1, -1]),
    "pitch": lambda t: 0.02 * np.sin(6 * t) * np.array([-1, 1, -1, 1]),
    "yaw": lambda t: 0.05 * np.sin(3 * t) * np.array([1, 1, -1, -1]),
    "all at once": lambda t: (
        0.05 * np.sin(2 * t)
        + 0.01 * np.sin(6 * t) * np.array([-1, 1, 1, -1])
        + 0.01 * np.cos(5 * t) * np.array([-1, 1, -1, 1])
        + 0.03 * np.array([1, 1, -1, -1])
    ),
}


def trajectory(engine_class, commands, seconds, pos=(0.0, 0.0, 50.0), world="empty"):
    """Positions (T, 3) and attitudes (T, 4) of an iris under open-loop rotor commands."""
    spec, model = VehicleSpec("iris", "iris_0", pos), load_vehicle("iris")
    engine = engine_class(load_world(world), (spec,), (model,))
    rotors = ActuatorStage(FleetModel.of((model,)))
    try:
        engine.reset()
        state = engine.state
        found = []
        for k in range(round(seconds * 1e6 / STEP_US)):
            given = np.atleast_2d(commands(k * STEP_US * 1e-6))
            wrench = rotors.step(given, state, STEP_US)
            state = engine.step(wrench, rotors.joint_targets, STEP_US)
            found.append(np.concatenate([state.pos[0], state.quat[0]]))
    finally:
        engine.close()
    table = np.array(found)
    return table[:, :3], table[:, 3:]


def hover_command():
    """The iris' rotor command in hover."""
    model = load_vehicle("iris")
    rotor = model.rotors[0]
    speed = np.sqrt(model.mass * 9.80665 / len(model.rotors) / rotor.motor_constant)
    return (speed - rotor.zero_position_armed) / rotor.input_scaling


def open_loop():
    """Differences in position [m] and attitude [deg] over time, by manoeuvre."""
    hover, found = hover_command(), {}
    for name, added in MANOEUVRES.items():
        (pos, quat), (other, turned) = (
            trajectory(engine, lambda t: hover + added(t), OPEN_S) for engine in ENGINES.values()
        )
        angle = (Rotation.from_quat(quat).inv() * Rotation.from_quat(turned)).magnitude()
        found[name] = np.linalg.norm(pos - other, axis=1), np.degrees(angle)
    return found


class Timetable(BaseAgent):
    """An Agent with a fixed timetable: waiting for states would shift flights in time."""

    MEMORY = ()
    ARM_S, UP_S, HEIGHT, RADIUS, PERIOD_S = 3.0, 4.0, 3.0, 2.0, 10.0

    def __init__(self):
        """Starts on the ground, heading east."""
        self._out = SetPoints.empty(1)

    def step(self, t_us, estimates):
        """Arms at ARM_S, reaches HEIGHT after UP_S more, then flies circles of PERIOD_S each."""
        t, out = t_us * 1e-6, self._out
        out.clear()
        turn = 2 * np.pi * max(t - self.ARM_S - self.UP_S - 1.0, 0.0) / self.PERIOD_S
        height = minimum_jerk((t - self.ARM_S) / self.UP_S)[0] * self.HEIGHT
        out.pos[0] = (
            self.RADIUS * np.sin(turn),
            self.RADIUS * (1 - np.cos(turn)),
            0.1 + height + 0.3 * np.sin(turn),
        )
        out.yaw[0] = 0.5 * np.sin(turn)
        if self.ARM_S <= t < self.ARM_S + 0.02:
            out.mode[0], out.arm[0] = Mode.OFFBOARD, ARM
        return out


def closed_loop():
    """True positions (T, 3) of a flight with a fixed timetable, by engine."""
    found = {}
    for name in ENGINES:
        simulation = Simulation(
            Scenario(fleet("iris", 1), engine=name, speed=0.0, gps="rtk"),
            agent=Timetable(),
            links=False,
        )
        try:
            table = []
            while simulation.t_us < CLOSED_S * 1e6:
                simulation.step()
                table.append(simulation.state.pos[0].copy())
        finally:
            simulation.close()
        found[name] = np.array(table)
    return found


def falls():
    """Positions of an iris dropped from 0.5 m, by engine."""
    return {
        name: trajectory(engine, lambda t: np.zeros(4), TOUCH_S, (0.0, 0.0, 0.5))[0]
        for name, engine in ENGINES.items()
    }


class Visit(BaseAgent):
    """An Agent that takes off, flies 5 m east on a fixed timetable, and then may land."""

    MEMORY = ()
    ARM_S, UP_S, HEIGHT, FAR, FLY_S = 3.0, 3.0, 2.5, 5.0, 4.0

    def __init__(self, lands):
        """lands: Whether it requests a landing at the end, or keeps its position set-point."""
        self._lands, self._out = lands, SetPoints.empty(1)

    def step(self, t_us, estimates):
        """Arms at ARM_S, reaches HEIGHT after UP_S more, and FAR to the east after FLY_S more."""
        t, out = t_us * 1e-6 - self.ARM_S, self._out
        out.clear()
        ahead = self.FAR * minimum_jerk((t - self.UP_S) / self.FLY_S)[0]
        out.pos[0] = ahead, 0.0, 0.1 + self.HEIGHT * minimum_jerk(t / self.UP_S)[0]
        out.yaw[0] = 0.0
        if 0.0 <= t < 0.02:
            out.mode[0], out.arm[0] = Mode.OFFBOARD, ARM
        if self._lands and t >= self.UP_S + self.FLY_S + 1.0:
            out.clear()
            if t < self.UP_S + self.FLY_S + 1.02:
                out.mode[0] = Mode.LAND
        return out


def visits():
    """Positions (T, 3), tilts (T,) [deg] and whether the vehicle ended on the ground and disarmed,
    by obstacle and engine."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for obstacle, (pose, size) in OBSTACLES.items():
            world = Path(folder) / f"{obstacle}.world"
            shape = f"<geometry><box><size>{size}</size></box></geometry>"
            world.write_text(
                (resources.root() / "worlds/empty.world")
                .read_text()
                .replace(
                    "</world>",
                    f"""<model name="{obstacle}"><static>1</static><pose>{pose}</pose>
                <link name="link"><collision name="collision">{shape}<surface><friction><ode>
                <mu>1</mu><mu2>1</mu2></ode></friction></surface></collision>
                <visual name="visual">{shape}</visual></link></model></world>""",
                )
            )
            for name in ENGINES:
                scenario = Scenario(
                    fleet("iris", 1), engine=name, speed=0.0, gps="rtk", world=str(world)
                )
                simulation = Simulation(scenario, agent=Visit(obstacle == "slope"), links=False)
                table = []
                try:
                    while simulation.t_us < VISIT_S * 1e6:
                        simulation.step()
                        table.append(
                            np.concatenate([simulation.state.pos[0], simulation.state.quat[0]])
                        )
                    landed = simulation.summary()["landed"]
                finally:
                    simulation.close()
                table = np.array(table)
                up = Rotation.from_quat(table[:, 3:]).apply([0.0, 0.0, 1.0])[:, 2]
                tilt = np.degrees(np.arccos(np.clip(up, -1.0, 1.0)))
                touched = {other for _, *pair in simulation.collisions for other in pair}
                found[obstacle, name] = table[:, :3], tilt, landed, touched
    return found


def plot_visits(found, folder):
    """Side view, height and tilt of each contact case, both engines in one figure."""
    for obstacle in OBSTACLES:
        figure, axes = plot_style.panels(1, 3, 11, 3.2)
        for name, style in (("embedded", "-"), ("gazebo", "--")):
            pos, tilt, *_ = found[obstacle, name]
            time = np.arange(1, len(pos) + 1) * STEP_US * 1e-6
            axes[0].plot(pos[:, 0], pos[:, 2], style, label=name)
            axes[1].plot(time, pos[:, 2], style)
            axes[2].plot(time, tilt, style)
        if obstacle == "slope":
            slope = np.radians(SLOPE_DEG)
            x = 5.0 + 4.0 * np.cos(slope) * np.array([-1.0, 1.0])
            axes[0].plot(x, 0.6 + (x - 5.0) * np.tan(slope) + THICK / np.cos(slope), "k", lw=1)
        else:
            axes[0].axvline(WALL_X, color="k", lw=1)
        axes[0].set(
            xlabel="x [m]", ylabel="z [m]", title=obstacle, xlim=(-0.5, 6.0), ylim=(-0.1, 3.5)
        )
        plot_style.legend(axes[0], below=True)
        axes[1].set(xlabel="t [s]", ylabel="height [m]")
        axes[2].set(xlabel="t [s]", ylabel="tilt [deg]")
        _save(figure, folder / f"{obstacle}.png")


def main():
    """Runs all comparisons, writes the page and the figures, and checks the bounds."""
    if not (resources.root() / ".setup/gazebo11/libxtdrone_lockstep.so").is_file():
        print("Gazebo 11 is not set up (scripts/setup_gazebo.sh): engines are not compared")
        return 0
    pictures = OUT / "engines"
    pictures.mkdir(parents=True, exist_ok=True)
    differences, flights, drops, contacts = open_loop(), closed_loop(), falls(), visits()
    plot_visits(contacts, pictures)
    seconds = np.arange(1, round(OPEN_S * 1e6 / STEP_US) + 1) * STEP_US * 1e-6
    figure, axes = plot_style.panels(2, 1, 7, 5)
    for name, (distance, angle) in differences.items():
        axes[0].semilogy(seconds, np.maximum(distance, 1e-9), label=name)
        axes[1].semilogy(seconds, np.maximum(angle, 1e-7))
    axes[0].set(ylabel="position [m]", title="Gazebo against embedded, open loop")
    axes[1].set(xlabel="t [s]", ylabel="attitude [deg]")
    plot_style.legend(axes[0], below=True)
    _save(figure, pictures / "open_loop.png")
    apart = np.linalg.norm(flights["embedded"] - flights["gazebo"], axis=1)
    figure, axes = plot_style.panels(2, 1, 7, 5)
    time = np.arange(1, len(apart) + 1) * STEP_US * 1e-6
    for name, style in (("embedded", "-"), ("gazebo", "--")):
        for k, axis in enumerate("xyz"):
            axes[0].plot(
                time,
                flights[name][:, k],
                style,
                color=plot_style.series(k),
                label=f"{axis}, {name}",
            )
    axes[0].set(ylabel="position [m]", title="a flight by the clock, the same seed")
    plot_style.legend(axes[0], below=True)
    axes[1].plot(time, apart)
    axes[1].set(xlabel="t [s]", ylabel="difference [m]")
    _save(figure, pictures / "closed_loop.png")
    figure, axis = plot_style.panels(1, 1, 7, 3)
    for name, pos in drops.items():
        axis.plot(np.arange(1, len(pos) + 1) * STEP_US * 1e-6, pos[:, 2], label=name)
    axis.set(xlabel="t [s]", ylabel="height [m]", title="dropped from 0.5 m")
    plot_style.legend(axis, below=True)
    _save(figure, pictures / "drop.png")
    values = {
        "open loop, position [m]": max(d.max() for d, _ in differences.values()),
        "open loop, attitude [deg]": max(a.max() for _, a in differences.values()),
        "closed loop, RMS position [m]": float(np.sqrt(np.mean(apart**2))),
    }
    rows = [f"| {name} | {value:.2g} | {BOUNDS[name]} |" for name, value in values.items()]
    rest = {name: f"{pos[-1, 2]:.4f} m" for name, pos in drops.items()}
    cases = [
        f"| {obstacle}, {name} | {pos[-1, 0]:.3f}, {pos[-1, 1]:.3f}, {pos[-1, 2]:.3f} | "
        f"{tilt[-1]:.2f} | {tilt.max():.1f} | {'yes' if landed else 'no'} | "
        f"{'yes' if obstacle in touched else 'no'} |"
        for (obstacle, name), (pos, tilt, landed, touched) in contacts.items()
    ]
    (OUT / "engines.md").write_text(f"""# Gazebo 11 against the embedded engine

Written by `scripts/validation.sh engines`. Both engines get the same wrenches from the same rotors.
Open loop: the same rotor commands from the same state for {OPEN_S:g} s, in {len(MANOEUVRES)}
manoeuvres; the largest difference counts. Closed loop: take-off and turns with set-points by the
clock, the embedded autopilot and the same seed for {CLOSED_S:g} s. (An Agent that waits for a
state, such as `square` for readiness, may begin half a second apart: the engines bounce
differently when a vehicle is first set down.)

| | found | bound |
|---|---|---|
{chr(10).join(rows)}

![open loop](engines/open_loop.png)

![closed loop](engines/closed_loop.png)

Contacts are each engine's own, so they are only shown side by side. An iris that falls 0.5 m onto
the ground comes to rest with its centre of gravity at {rest["embedded"]} (embedded) and
{rest["gazebo"]} (gazebo).

![drop](engines/drop.png)

With the embedded autopilot, in the same world and with the same seed: an iris takes off, flies 5 m
east at 2.5 m and lands on a slope of {SLOPE_DEG:g} degrees; another is to go there through a wall
{WALL_X:g} m away, and is still to go at the end, after {VISIT_S:g} s.

| case | last place x, y, z [m] | last tilt [deg] | largest tilt [deg] | landed | touched it |
|---|---|---|---|---|---|
{chr(10).join(cases)}

![slope](engines/slope.png)

![wall](engines/wall.png)
""")
    for name, value in values.items():
        print(f"{name}: {value:.3g} (at most {BOUNDS[name]})")
    broken = [name for name, value in values.items() if not value <= BOUNDS[name]]
    return f"broken: {', '.join(broken)}" if broken else 0


def _save(figure, path: Path):
    plot_style.title_panels(figure)
    plot_style.save(figure, path)


if __name__ == "__main__":
    sys.exit(main())
