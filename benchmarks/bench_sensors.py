"""Cost of physics, sensors, cameras and lidars, with RotorPy measured in the same run.

RotorPy is installed into an environment of its own, .setup/rotorpy, at the first
run (this needs the package index).

    python benchmarks/bench_sensors.py
    python benchmarks/bench_sensors.py --only physics rendered
"""

import argparse
import itertools
import math
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import peers
import results

from sensor_models import SensorSuite
from sensor_models.cameras import cameras_of
from sensor_models.lens import pinhole_of
from xtdrone_control.agents import HoverAgent
from xtdrone_core import FleetModel, FleetState, Scenario, SensorBlock, VehicleSpec, resources
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.plant.actuators import ActuatorStage
from xtdrone_sim.rendering.realistic.conditions import conditions_of
from xtdrone_sim.rendering.realistic.scene import RealisticScene
from xtdrone_sim.rendering.scene import RenderedScene
from xtdrone_sim.rendering.sensors import RenderedSensors
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.report import vehicle_figures
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

STEP_US = 4000
ROTORPY = "rotorpy==3.0.0"
LOOKS = 15
HOVER_S = 10.0  # simulated time


def best(repeats, work):
    """The shortest of several runs [s], as other processes share this machine."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def physics(sizes):
    """Microseconds per vehicle and step of engine, rotors and sensors, in flight."""
    rows, world, model, work = [], load_world("empty"), load_vehicle("iris"), results.Work()
    throttle = vehicle_figures(model)["hover_command"][0]
    for n in sizes:
        side = math.ceil(math.sqrt(n))
        specs = [
            VehicleSpec("iris", f"v_{i}", (3.0 * (i % side), 3.0 * (i // side), 50.0))
            for i in range(n)
        ]
        models = [model] * n
        engine, rotors = EmbeddedEngine(world, specs, models), ActuatorStage(FleetModel.of(models))
        suite = SensorSuite([model.sensors] * n, (0.8, 0.1, 400.0), (1e-6, 2e-5, -4e-5), 1)
        commands = np.full((n, 4), throttle)
        engine.reset()
        state = engine.state
        steps = max(25, 2000 // n)
        spent = dict.fromkeys(("engine", "rotors", "sensors"), math.inf)
        t_us = 0
        for _ in range(6):
            seconds = dict.fromkeys(spent, 0.0)
            for _ in range(steps):
                marks = [time.perf_counter()]
                wrench = rotors.step(commands, state, STEP_US)
                marks.append(time.perf_counter())
                state = engine.step(wrench, rotors.joint_targets, STEP_US)
                marks.append(time.perf_counter())
                t_us += STEP_US
                suite.step(state, t_us)
                marks.append(time.perf_counter())
                for part, (a, b) in zip(("rotors", "engine", "sensors"), itertools.pairwise(marks)):
                    seconds[part] += b - a
            for part in spent:
                spent[part] = min(spent[part], seconds[part] / (steps * n))
        work.count("vehicles in the air", (state.pos[:, 2] > 10.0).sum(), n)
        engine.close()
        print(
            f"n {n:4d}: "
            + ", ".join(f"{part} {1e6 * value:.2f} us" for part, value in spent.items())
            + " per vehicle-step",
            flush=True,
        )
        rows += [
            ({"n": n, "part": part, "engine": "embedded"}, round(1e6 * value, 3), "us")
            for part, value in spent.items()
        ]
    results.replace("vehicle_step", rows, work)


def rendered():
    """Milliseconds per stereo pair, depth image and scan, in the outdoor world."""
    rows, world, work = [], load_world("outdoor"), results.Work()
    for vehicle in ("iris_stereo", "iris_depth", "iris_2d_lidar", "iris_3d_lidar"):
        model = load_vehicle(vehicle)
        sensors = RenderedSensors(world, [VehicleSpec(vehicle, "v_0", (0.0, 0.0, 0.0))], [model], 1)
        engine = EmbeddedEngine(world, [VehicleSpec(vehicle, "v_0", (0.0, 0.0, 2.0))], [model])
        engine.reset()
        state, times = engine.state, itertools.count(0)
        about = sensors.describe()[0]

        counted = results.Readings()

        def look():
            begin = next(times) * 4_000_000  # 4 s apart, longer than all latencies
            sensors.step(state, begin)
            for reading in sensors.step(state, begin + 1_000_000 // STEP_US * STEP_US + STEP_US):
                counted.on_reading(reading)

        look()
        counted.count = 0
        busy = time.process_time()
        seconds = best(LOOKS, look)
        busy = (time.process_time() - busy) / LOOKS
        work.count(f"readings of kind {about['kind']}", counted.count, LOOKS)
        shape = about["arrays"][0][2]
        print(
            f"{about['kind']} {shape}: {1e3 * seconds:.1f} ms, {1e3 * busy:.1f} ms of CPU, by "
            f"{sensors.renderer}",
            flush=True,
        )
        params = {
            "kind": about["kind"],
            "rows": shape[0],
            "columns": shape[1],
            "renderer": sensors.renderer,
            "world": "outdoor",
        }
        rows += [
            ({**params, "time": "wall"}, round(1e3 * seconds, 2), "ms"),
            ({**params, "time": "cpu"}, round(1e3 * busy, 2), "ms"),
        ]
        sensors.close()
        engine.close()
    results.replace("rendered_sensor", rows, work)


def realistic():
    """Milliseconds of one image, 752 x 480, plain and with each effect."""
    world, model = load_world("outdoor"), load_vehicle("iris")
    specs = [VehicleSpec("iris", "v_0", (0.0, 0.0, 0.0))]
    clear, rain = conditions_of(world), conditions_of(world, "", "rain=10")
    hall = load_world("indoor")
    dark = replace(hall, lights=tuple(replace(light, cast_shadows=False) for light in hall.lights))
    clean = {"vignetting": 0.0, "bloom": 0.0, "exposure_time": 0.0, "flare": 0.0}
    variants = {  # what the lens has, the conditions, a yaw rate [rad/s], another world
        "light, sky, fog": (clean, replace(clear, shadows=False), 0.0),
        "and shadows": (clean, clear, 0.0),
        "and motion blur": ({**clean, "exposure_time": 0.01}, clear, 1.0),
        "light, sky, fog, rain on dry ground": (
            {**clean, "exposure_time": 0.005},
            replace(rain, rain=0.0),
            0.0,
        ),
        "light, sky, fog, rain on wet ground": ({**clean, "exposure_time": 0.005}, rain, 0.0),
        "and flare": ({**clean, "flare": 1.0}, clear, 0.0),
        "and vignetting": ({**clean, "vignetting": 1.0}, clear, 0.0),
        "and bloom": ({**clean, "bloom": 0.02}, clear, 0.0),
        "and chromatic aberration": ({**clean, "chromatic_aberration": 0.002}, clear, 0.0),
        "as by default": ({}, clear, 1.0),
        "as by default, anti_aliasing 4": ({"anti_aliasing": 4}, clear, 1.0),
        "hall at night, lamps without shadows": (clean, conditions_of(dark, "0:00"), 0.0, dark),
        "hall at night, lamps with shadows": (clean, conditions_of(hall, "0:00"), 0.0, hall),
    }
    state = FleetState.zeros(1, 4)
    state.pos[0, 2] = 2.0
    rows, work = [], results.Work()
    for name, (lens, conditions, turning, *other) in {"plain": ({}, None, 0.0), **variants}.items():
        eye = SensorBlock(
            "camera",
            "eye",
            (0.2, 0.0, 0.0),
            (0.0, 0.0, 0.0, 1.0),
            {"width": 752, "height": 480, "horizontal_fov": 1.37, **lens},
        )
        models, place = [replace(model, sensors=(eye,))], other[0] if other else world
        (camera,) = cameras_of(eye)
        pinhole = pinhole_of(camera)
        size = pinhole.width, pinhole.height
        scene = (
            RenderedScene(place, specs, models, size, camera.anti_aliasing)
            if conditions is None
            else RealisticScene(place, specs, models, conditions, 1, size, camera.anti_aliasing)
        )
        state.ang_vel[0, 2] = turning
        draw = partial(
            scene.draw,
            (0.2, 0.0, 2.0),
            (0.0, 0.0, 0.0, 1.0),
            pinhole,
            0.1,
            100.0,
            key=("v_0", "eye", ""),
        )

        drawn = []

        def look(scene=scene, draw=draw, drawn=drawn):
            scene.place(state)  # shadows of what moves are drawn anew
            drawn.append(np.ptp(draw()) > 0)

        look()
        drawn.clear()
        seconds = best(LOOKS, look)
        work.count("images drawn", sum(drawn), LOOKS)
        scene.close()
        print(f"{name}: {1e3 * seconds:.0f} ms", flush=True)
        rows.append(
            (
                {"image": name, "width": 752, "height": 480, "world": place.name},
                round(1e3 * seconds, 1),
                "ms",
            )
        )
    results.replace("realistic_image", rows, work)


def hover_factor(vehicle, seconds, work, rate=0.0) -> float:
    """Real-time factor of one vehicle that climbs 3 m and hovers, with images at a rate [Hz]."""
    simulation = Simulation(
        Scenario(fleet(vehicle, 1), speed=0.0, world="outdoor" if "stereo" in vehicle else "empty"),
        agent=HoverAgent(1),
        links=False,
    )
    readings = results.Readings()
    simulation.observers.append(readings)
    try:
        simulation.run(until_us=200_000)  # kernels are loaded, first images rendered
        readings.count = 0
        begin = time.perf_counter()
        simulation.run(until_us=200_000 + round(1e6 * seconds))
        wall = time.perf_counter() - begin
        work.count("vehicles airborne", (simulation.state.pos[:, 2] > 2.0).sum(), 1)
        if rate:
            work.count("stereo pairs drawn", readings.count, int(rate * seconds) - 1)
    finally:
        simulation.close()
    return seconds / wall


def stereo():
    """Real-time factor with a stereo pair at 12.5 and at 25 Hz."""
    rows, work = [], results.Work()
    text = resources.vehicle_sdf("iris_stereo").read_text()
    with tempfile.TemporaryDirectory() as folder:
        for rate in ("12.5", "25"):
            path = Path(folder) / f"iris_stereo_{rate}.sdf"
            path.write_text(text.replace("<update_rate>12.5<", f"<update_rate>{rate}<"))
            factor = max(hover_factor(str(path), HOVER_S, work, float(rate)) for _ in range(2))
            print(f"stereo pair at {rate} Hz: {factor:.2f} x real time", flush=True)
            rows.append(
                (
                    {"rate": float(rate), "width": 752, "height": 480, "n": 1, "world": "outdoor"},
                    round(factor, 3),
                    "s/s",
                )
            )
    results.replace("stereo_real_time_factor", rows, work)


def hover():
    """One quadrotor climbs 3 m and hovers: in this simulator, then in RotorPy."""
    python = peers.python_with(ROTORPY)
    ours, theirs, work = [], [], results.Work()
    for _ in range(2):
        ours.append(hover_factor("iris", HOVER_S, work))
        theirs.append(python and peers.answer_of(python, "rotorpy_hover.py", str(HOVER_S), "250"))
    if not all(theirs):
        return
    version, other = theirs[0]["version"], max(row["real_time_factor"] for row in theirs)
    print(
        f"rise and hover: {max(ours):.1f} x real time; RotorPy {version}: {other:.2f}", flush=True
    )
    params = {"n": 1, "step_s": 0.004}
    results.replace(
        "hover_real_time_factor",
        [
            ({**params, "simulator": "xtdrone"}, round(max(ours), 3), "s/s"),
            ({**params, "simulator": f"rotorpy {version}"}, round(other, 3), "s/s"),
        ],
        work,
    )


def main():
    """Runs the parts and updates runs/bench.json."""
    parts = {
        "physics": lambda: physics(args.n),
        "rendered": rendered,
        "realistic": realistic,
        "stereo": stereo,
        "hover": hover,
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=parts, nargs="+", default=list(parts))
    parser.add_argument("--n", type=int, nargs="+", default=[1, 100, 1000])
    args = parser.parse_args()
    for name in args.only:
        parts[name]()


if __name__ == "__main__":
    main()
