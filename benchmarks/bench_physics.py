"""CPU time of engine and rotors per vehicle and step, compared with rotorpy.

Fleets of irises far above the ground fly open-loop rotor speed commands (a pitch
and a roll, each back and forth). Both simulators use the same equations: thrust,
drag moment, rotor drag, lag. The final states are compared to make sure that both
times belong to the same motion. rotorpy is installed into a virtual environment of
its own, .setup/rotorpy; without network and without that folder its rows are skipped.

    python benchmarks/bench_physics.py
"""

import argparse
import dataclasses
import time

import numpy as np
import peers
import results

from xtdrone_core import FleetModel, VehicleSpec
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.plant.actuators import ActuatorStage
from xtdrone_sim.vehicles.report import vehicle_figures
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

ROTORPY = "rotorpy==3.0.0"
STEP_US, STEPS = 4000, 250
SIZES = (1, 100, 1000)
HEIGHT = 200.0
MOVES = 0.01  # at the end [m/s]
LAG = 0.02  # rotor lag up and down, as rotorpy has one time constant [s]
VEHICLE_STEPS = 1500  # maximum for rotorpy, per fleet size above one


def iris():
    """An iris with equal lag up and down and without the moment of XTDrone (5)."""
    model = load_vehicle("iris")
    return dataclasses.replace(
        model,
        actuators=tuple(
            dataclasses.replace(
                r, time_constant_up=LAG, time_constant_down=LAG, rolling_moment_coefficient=0.0
            )
            for r in model.rotors
        ),
    )


def commands_of(model) -> np.ndarray:
    """(STEPS, 4) commands: a pitch, then a roll, each back and forth."""
    hover = np.array(vehicle_figures(model)["hover_command"])
    t = np.arange(STEPS) / STEPS
    hubs = np.array([r.pos for r in model.rotors])
    sway = np.sin(4.0 * np.pi * t)[:, None]
    axis = np.where(t[:, None] < 0.5, np.sign(hubs[:, 0]), np.sign(hubs[:, 1]))
    return hover * (1.0 + 0.03 * sway * axis)


def ours(model, commands, n, repeats=3):
    """Seconds per vehicle-step, position and attitude of vehicle 0, and how many moved."""
    side = int(np.ceil(np.sqrt(n)))
    specs = tuple(
        VehicleSpec("iris", f"v_{i}", (3.0 * (i % side), 3.0 * (i // side), HEIGHT))
        for i in range(n)
    )
    engine = EmbeddedEngine(load_world("empty"), specs, (model,) * n)
    stage = ActuatorStage(FleetModel.of([model] * n))
    scaled = np.repeat(commands[:, None, :], n, axis=1)
    speed = model.rotors[0].input_scaling * commands[0] + model.rotors[0].zero_position_armed
    best = np.inf
    for _ in range(repeats):
        engine.reset()
        state = engine.state
        state.actuator[:] = speed
        begin = time.perf_counter()
        for k in range(STEPS):
            wrench = stage.step(scaled[k], state, STEP_US)
            state = engine.step(wrench, stage.joint_targets, STEP_US)
        best = min(best, time.perf_counter() - begin)
    moved = (np.linalg.norm(state.vel, axis=1) > MOVES).sum()
    return best / (n * STEPS), state.pos[0].copy(), state.quat[0].copy(), moved


def theirs(model, commands):
    """The result of rotorpy_manoeuvre.py, or None if rotorpy is not available."""
    python = peers.python_with(ROTORPY)
    if python is None:
        return None
    r, inertia = model.rotors[0], np.array(model.inertia)
    vehicle = {
        "mass": model.mass,
        "num_rotors": 4,
        "rotor_pos": [list(x.pos) for x in model.rotors],
        "rotor_directions": [-x.direction for x in model.rotors],
        **{
            f"I{a}{b}": inertia[i, j]
            for i, a in enumerate("xyz")
            for j, b in enumerate("xyz")
            if j >= i
        },
        "rotor_speed_min": 0.0,
        "rotor_speed_max": r.max_rot_velocity,
        "k_eta": r.motor_constant,
        "k_m": r.moment_constant * r.motor_constant,
        "k_d": r.rotor_drag_coefficient,
        "tau_m": LAG,
    }
    sizes = [(n, STEPS if n == 1 else max(2, VEHICLE_STEPS // n)) for n in SIZES]
    task = {
        "vehicle": vehicle,
        "gravity": GRAVITY,
        "dt": STEP_US * 1e-6,
        "sizes": sizes,
        "speeds": (r.input_scaling * commands + r.zero_position_armed).tolist(),
        "start": [0.0, 0.0, HEIGHT + model.cog[2]],
    }
    return peers.answer_of(python, "rotorpy_manoeuvre.py", task=task)


def main():
    """Prints both costs and updates runs/bench.json."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    model = iris()
    commands = commands_of(model)
    rows, work = [], results.Work()
    for n in SIZES:
        cost, end, attitude, moved = ours(model, commands, n)
        work.count("vehicles that flew the manoeuvre", moved, n)
        print(f"n {n:4d}  xtdrone         {cost * 1e6:8.2f} us per vehicle-step", flush=True)
        rows.append(({"n": n, "simulator": "xtdrone"}, round(cost * 1e6, 3), "us"))
    other = theirs(model, commands)
    if other is not None:
        for n, cost in other["cost"].items():
            print(
                f"n {int(n):4d}  rotorpy {other['version']}   {cost * 1e6:8.2f} us per "
                "vehicle-step",
                flush=True,
            )
            rows.append(
                (
                    {"n": int(n), "simulator": f"rotorpy {other['version']}"},
                    round(cost * 1e6, 3),
                    "us",
                )
            )
        apart = float(np.linalg.norm(end - other["end"]))
        turn = 2.0 * np.arccos(min(1.0, abs(float(attitude @ other["attitude"]))))
        print(
            f"after {STEPS} steps both are {apart * 1e3:.2f} mm and {np.degrees(turn):.3f} deg "
            f"apart; the vehicle has moved {np.linalg.norm(end - [0, 0, HEIGHT]):.2f} m"
        )
        results.replace(
            "manoeuvre_distance",
            [({"simulator": f"rotorpy {other['version']}"}, round(apart * 1e3, 3), "mm")],
            work,
        )
    results.replace("manoeuvre_vehicle_step", rows, work)


if __name__ == "__main__":
    main()
