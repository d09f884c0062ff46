"""Dynamics against closed forms, tables and pyproj: writes docs/validation/dynamics.md.

python scripts/validation/dynamics.py
"""

import dataclasses
import json
import math
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyproj
from scipy.signal import welch
from scipy.spatial.transform import Rotation

from _report import Report

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))  # helpers shared with the tests

import physics  # noqa: E402
from physics import DT, STEP_US  # noqa: E402
from xtdrone_autopilot.parameters.store import ParameterStore  # noqa: E402
from xtdrone_autopilot.safety.battery import Battery  # noqa: E402
from xtdrone_core import FleetModel, FleetState, plot_style, resources  # noqa: E402
from xtdrone_dynamics import rigid_body  # noqa: E402
from xtdrone_dynamics.battery import open_circuit_voltage  # noqa: E402
from xtdrone_dynamics.constants import GRAVITY  # noqa: E402
from xtdrone_dynamics.earth import atmosphere, geodesy  # noqa: E402
from xtdrone_dynamics.earth.magnetic_field import earth_field  # noqa: E402
from xtdrone_sim.plant.actuators import ActuatorStage  # noqa: E402
from xtdrone_sim.plant.battery import BatteryStage  # noqa: E402
from xtdrone_sim.plant.wind import Wind, WindParameters  # noqa: E402
from xtdrone_sim.vehicles.report import vehicle_figures  # noqa: E402
from xtdrone_sim.vehicles.sdf import load_vehicle  # noqa: E402

HEAD = (
    "Made by `scripts/validation.sh dynamics`; the same checks, shorter, are in "
    "`tests/dynamics/`, `tests/sim/test_engine_*.py`, `tests/sim/test_battery.py` and "
    "`tests/sim/test_flight_disturbances.py`."
)
VEHICLES = ("iris", "typhoon_h480", "octorotor", "crazyflie", "heavy_lifter")
RATE = np.array((3.0, 2.0, 6.0))  # initial rate of tumbling bodies, body frame [rad/s]


def panels(count=2, width=9.0):
    """A figure with panels side by side."""
    return plot_style.panels(1, count, width, 3.6)


def falls(report):
    """Free fall and terminal velocity."""
    plain = load_vehicle("iris")
    quadratic = dataclasses.replace(
        plain, effects={"quadratic_drag": {"areas": (0.02, 0.02, 0.05)}}
    )
    linear = dataclasses.replace(plain, effects={"linear_drag": {"coefficients": (0.5, 0.5, 0.8)}})
    end_q = math.sqrt(2.0 * plain.mass * GRAVITY / (1.225 * 0.05))
    end_l = plain.mass * GRAVITY / 0.8
    forms = {
        "free fall": (plain, lambda t: GRAVITY * t, 1e-9),
        "quadratic drag": (quadratic, lambda t: end_q * np.tanh(GRAVITY * t / end_q), 0.02),
        "linear drag": (linear, lambda t: -end_l * np.expm1(-GRAVITY * t / end_l), 0.02),
    }
    figure, (left, right) = panels()
    t = np.arange(1, 2501) * DT
    for name, (model, form, bound) in forms.items():
        speed = physics.fall(model, 10.0)
        error = speed - form(t)
        left.plot(t, speed, label=name)
        left.plot(t, form(t), ":k", lw=1)
        right.plot(t, error, label=name)
        report.check(f"Speed of a fall over 10 s, {name}", abs(error).max(), bound, "m/s")
    left.set(xlabel="t [s]", ylabel="speed downwards [m/s]", ylim=(0, 60))
    right.set(xlabel="t [s]", ylabel="error [m/s]")
    plot_style.legend(left, below=True)
    report.section(
        "Falls",
        "The iris falls with its rotors at rest: v = g t, v = v_t tanh(g t / "
        "v_t) with v_t = sqrt(2 m g / rho A), and v = v_t (1 - exp(-g t / v_t)) with "
        f"v_t = m g / k. Terminal velocities {end_q:.2f} and {end_l:.2f} m/s. Dotted: "
        "closed form.",
        figure,
    )


def precession(report):
    """A symmetric top without torque."""
    iris, inertia = load_vehicle("iris"), ((0.02, 0, 0), (0, 0.02, 0), (0, 0, 0.035))
    base = dataclasses.replace(iris.bodies[0], inertia=inertia)
    model = dataclasses.replace(iris, inertia=inertia, bodies=(base, *iris.bodies[1:]))
    engine, _, wrench = physics.aloft(model)
    engine.state.ang_vel[0] = engine.data.qvel[3:6] = 1.0, 0.0, 6.0
    t, rates = np.arange(1, 1251) * DT, []
    for _ in t:
        rates.append(physics.push(engine, wrench, STEP_US).ang_vel[0].copy())
    phase = (0.035 - 0.02) / 0.02 * 6.0 * t
    exact = np.stack([np.cos(phase), np.sin(phase), np.full_like(t, 6.0)], axis=1)
    error = np.array(rates) - exact
    figure, (left, right) = panels()
    left.plot(t, np.array(rates)[:, :2], label=("x", "y"))
    left.plot(t, exact[:, :2], ":k", lw=1)
    left.set(xlabel="t [s]", ylabel="body rate [rad/s]", xlim=(0, 2))
    plot_style.legend(left, below=True)
    right.plot(t, error, label=("x", "y", "z"))
    right.set(xlabel="t [s]", ylabel="error [rad/s]")
    plot_style.legend(right, below=True)
    report.check("Body rates of a symmetric top over 5 s", abs(error).max(), 1e-4, "rad/s")
    report.section(
        "Torque-free precession",
        "Body rates of a symmetric top turn about its axis at "
        "(J_z - J_x) / J_x times the spin. Dotted: closed form.",
        figure,
    )


def tumble(seconds, step_us, torque=(0.0, 0.0, 0.0)):
    """A tumbling iris without gravity in the engine: rates (T, 3) and quaternions (T, 4)."""
    model = load_vehicle("iris")
    engine, _, wrench = physics.aloft(model)
    engine.model.opt.gravity[:] = 0.0
    engine.state.ang_vel[0] = engine.data.qvel[3:6] = RATE
    rates, quats = [], []
    for _ in range(round(seconds * 1e6 / step_us)):
        quat = engine.state.quat[0] if quats else np.array((0.0, 0.0, 0.0, 1.0))
        wrench[0, 3:] = Rotation.from_quat(quat).apply(torque)
        state = physics.push(engine, wrench, step_us)
        rates.append(state.ang_vel[0].copy())
        quats.append(state.quat[0].copy())
    return np.array(rates), np.array(quats)


def tumble_exactly(seconds, step_us, torque=(0.0, 0.0, 0.0)):
    """The same motion computed by rigid_body.step."""
    j = np.array(load_vehicle("iris").inertia)
    packed = (j[0, 0], j[1, 1], j[2, 2], j[0, 1], j[0, 2], j[1, 2])
    inverse = rigid_body.symmetric_inverse(packed)
    state = (0.0,) * 6 + (1.0,) + (0.0,) * 3 + tuple(RATE)
    rows = []
    for _ in range(round(seconds * 1e6 / step_us)):
        state = rigid_body.step(
            state, (0.0,) * 3, tuple(torque), 1.5, packed, inverse, 0.0, step_us * 1e-6
        )
        rows.append(state)
    rows = np.array(rows)
    return rows[:, 10:], rows[:, 3:7]


def drift(report):
    """Energy and angular momentum of a tumbling body at the default step."""
    inertia = np.array(load_vehicle("iris").inertia)
    energy, momentum = 0.5 * RATE @ inertia @ RATE, np.linalg.norm(inertia @ RATE)
    figure, (left, right) = panels()
    t = np.arange(1, 15_001) * DT
    lead = np.linalg.norm(RATE) * 0.5 * DT  # angle of half a step [rad]
    for name, motion, bounds in (
        ("engine", tumble, (1e-6, lead)),
        ("Runge-Kutta", tumble_exactly, (1e-5, 1e-5)),
    ):
        rates, quats = motion(60.0, STEP_US)
        energies = 0.5 * np.einsum("ti,ij,tj->t", rates, inertia, rates) / energy - 1.0
        momenta = Rotation.from_quat(quats).apply(rates @ inertia)
        turned = np.linalg.norm(momenta - inertia @ RATE, axis=1) / momentum
        left.plot(t, energies, "-" if name == "engine" else "--", label=name)
        right.semilogy(t, turned, label=name)
        report.check(
            f"Energy of a tumbling body over 60 s at 4 ms, {name}", abs(energies).max(), bounds[0]
        )
        report.check(f"Angular momentum over 60 s at 4 ms, {name}", turned.max(), bounds[1])
    left.set(xlabel="t [s]", ylabel="relative change of energy")
    right.set(xlabel="t [s]", ylabel="relative change of momentum")
    plot_style.legend(left, below=True)
    report.section(
        "Energy and angular momentum",
        "The iris tumbles at (3, 2, 6) rad/s without "
        "torque. The engine's attitude leads its rate by half a step, which shows as a "
        "momentum that is turned a little, by a bounded angle.",
        figure,
    )


def orders(report):
    """Order of the integrators from halving the step."""
    torque = (0.02, -0.01, 0.03)
    rate, quat = tumble_exactly(1.0, 125, torque)
    figure, axes = plot_style.panels(1, 1, 5.5, 3.6)
    steps = np.array((1000, 2000, 4000, 8000, 16000))
    for name, motion, order in (("engine", tumble, 1), ("Runge-Kutta", tumble_exactly, 4)):
        errors = []
        for step in steps:
            end = np.floor(1e6 / step)
            k = int(end * step / 125) - 1
            rates, quats = motion(end * step * 1e-6, step, torque)
            turn = Rotation.from_quat(quat[k]).inv() * Rotation.from_quat(quats[-1])
            errors.append(np.linalg.norm(turn.as_rotvec()) + np.linalg.norm(rates[-1] - rate[k]))
        slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
        axes.loglog(steps * 1e-3, errors, "o-", label=f"{name}: order {slope:.2f}")
        report.check(f"Order of the integrator, {name} ({order}): deviation", slope - order, 0.3)
    axes.axvline(4.0, color="0.7", lw=1)
    axes.set(xlabel="step [ms]", ylabel="error after 1 s [rad, rad/s]")
    plot_style.legend(axes, below=True)
    report.section(
        "Order of the integrators",
        "Attitude and rate of a tumbling body under a "
        "constant body torque, against Runge-Kutta at 0.125 ms. The engine holds the "
        "wrench in the world frame through a step, which alone makes it of first "
        "order; the grey line is its step.",
        figure,
    )


def spin_up(report):
    """Rotor lag and the impulse of its thrust."""
    model = FleetModel.of([load_vehicle("iris")])
    stage, state = ActuatorStage(model), FleetState.zeros(1, 4)
    state.pos[:, 2] = 50.0
    up, down = (float(model.actuator[f"time_constant_{way}"][0, 0]) for way in ("up", "down"))
    t, speeds, impulse, exact = np.arange(1, 76) * DT, [], [], []
    total, true = 0.0, 0.0
    low, high = 100.0 + 1000.0 * 0.1, 100.0 + 1000.0 * 0.9
    state.actuator[:] = low
    fine = 400
    for k in range(75):
        command, start, end, tau = (0.9, low, high, up) if k < 25 else (0.1, None, low, down)
        if k >= 25:
            start = high + (low - high) * math.exp(-25 * DT / up)
        since = (k if k < 25 else k - 25) * DT
        inner = since + (np.arange(fine) + 0.5) / fine * DT
        true += (
            4
            * model.actuator["motor_constant"][0, 0]
            * ((end + (start - end) * np.exp(-inner / tau)) ** 2).mean()
            * DT
        )
        wrench = stage.step(np.full((1, 4), command), state, STEP_US)[:, 0]
        total += wrench[0, 2] * DT
        speeds.append(state.actuator[0, 0])
        exact.append(end + (start - end) * math.exp(-(since + DT) / tau))
        impulse.append(total - true)
    figure, (left, right) = panels()
    left.plot(t, speeds, ".", label="kernel")
    left.plot(t, exact, "k-", lw=1, label="closed form")
    left.set(xlabel="t [s]", ylabel="rotor speed [rad/s]")
    plot_style.legend(left, below=True)
    right.plot(t, impulse)
    right.set(xlabel="t [s]", ylabel="error of thrust's impulse [N s]")
    report.check(
        "Rotor speed after a step up and down", abs(np.subtract(speeds, exact)).max(), 1e-9, "rad/s"
    )
    report.check("Impulse of the thrust, of 15 N s", abs(np.array(impulse)).max(), 1e-5, "N s")
    report.section(
        "Spin-up of a rotor",
        f"First-order lag with {up * 1e3:g} ms up and "
        f"{down * 1e3:g} ms down; the impulse of the thrust is that of the continuous "
        "motion, although the engine gets one force per step.",
        figure,
    )


def hover_throttle(report):
    """Hover command from the closed form and in flight."""
    lines = ["| vehicle | sqrt(m g / R C_T) as command | in flight |", "|---|---|---|"]
    for name in VEHICLES:
        expected = np.mean(vehicle_figures(load_vehicle(name))["hover_command"])
        _, rows = physics.hover(name, 20.0)
        found = rows.command[rows.t > 10.0].mean()
        lines.append(f"| {name} | {expected:.4f} | {found:.4f} |")
        report.check(f"Hover command of {name}, relative", found / expected - 1.0, 5e-3)
    report.section(
        "Hover throttle",
        "Mean command from 10 to 20 s of a hover that the flight "
        "stack holds by its sensors.\n\n" + "\n".join(lines),
    )


def earth(report):
    """Magnetic model, map projection, atmosphere."""
    wmm, isa = physics.WMM, np.array(physics.ISA)
    for epoch in (2020, 2025):
        errors = []
        for year, height, lat, lon, x, y, z in wmm[wmm[:, 0] // 5 * 5 == epoch]:
            field = earth_field(math.radians(lat), math.radians(lon), 1000.0 * height, year) * 1e9
            errors.append(abs(field - (y, x, -z)).max())
        report.check(f"WMM{epoch} at {len(errors)} published test values", max(errors), 0.051, "nT")

    rng = np.random.default_rng(1)
    worst = 0.0
    figure, (left, right) = panels()
    for lat0, lon0 in ((47.4, 8.5), (0.0, 0.0), (-33.9, 179.9995), (89.9999, 30.0), (-90.0, 0.0)):
        projection = pyproj.Proj(f"+proj=aeqd +lat_0={lat0} +lon_0={lon0} +R=6371000")
        distance = np.geomspace(0.1, 1e6, 2000)
        bearing = rng.uniform(0, 2 * math.pi, 2000)
        pos = np.stack([distance * np.sin(bearing), distance * np.cos(bearing), 0 * bearing], 1)
        places = geodesy.to_geodetic_array(pos, math.radians(lat0), math.radians(lon0), 0.0)
        there = np.stack(projection(*np.degrees(places[:, 1::-1].T)), axis=1)
        error = np.linalg.norm(there - pos[:, :2], axis=1)
        worst = max(worst, error.max())
        left.loglog(distance, np.maximum(error, 1e-12), ".", ms=2, label=f"{lat0}, {lon0}")
    report.check("Projection against pyproj, up to 1000 km", worst, 1e-6, "m")
    left.set(xlabel="distance [m]", ylabel="difference from pyproj [m]")
    left.set_ylim(5e-13, 1e-5)
    plot_style.legend(left, below=True)
    height = np.linspace(0, 11000, 100)
    right.plot([atmosphere.pressure(h) / 1e3 for h in height], height / 1e3, label="pressure [kPa]")
    right.plot(
        [100 * atmosphere.density(h) for h in height], height / 1e3, label="density [10 g/m³]"
    )
    right.plot(isa[:, 2] / 1e3, isa[:, 0] / 1e3, "k.", label="ISO 2533")
    right.plot(100 * isa[:, 3], isa[:, 0] / 1e3, "k.")
    right.set(ylabel="height [km]")
    plot_style.legend(right, below=True)
    for column, function, bound in (
        (1, atmosphere.temperature, 1e-9),
        (2, atmosphere.pressure, 3e-6),
        (3, atmosphere.density, 5e-6),
    ):
        found = np.array([function(float(h)) for h in isa[:, 0]])
        report.check(
            f"ISA's {function.py_func.__name__} to 11 km, relative",
            abs(found / isa[:, column] - 1.0).max(),
            bound,
        )
    report.section(
        "Earth and air",
        "Azimuthal equidistant projection against pyproj with "
        "`+proj=aeqd +R=6371000`, ISA against the table of ISO 2533. The published "
        "values of the World Magnetic Model are rounded to 0.1 nT.",
        figure,
    )


def held_in_wind(vehicle, speed):
    """Rows of a hover in wind [m/s], once the velocity integrator has removed the offset.

    The take-off, during which the wind carries the vehicle off, takes as long as PX4's.
    """
    _, rows = physics.hover(vehicle, 32.0, wind=f"{speed},0,0")
    return rows[rows.t > 26.0]


def wind(report):
    """Drift and tilt in wind, and turbulence spectra."""
    model = load_vehicle("iris")
    figures = vehicle_figures(model)
    speed = np.array(figures["hover_speed_rad_s"])
    factor = speed.sum() * model.rotors[0].rotor_drag_coefficient
    engine, stage, _ = physics.aloft(model)
    stage.wind[0] = 5.0, 0.0, 0.0
    engine.state.actuator[0] = speed
    t, drifts = np.arange(1, 2501) * DT, []
    for _ in t:
        wrench = stage.step(np.array([figures["hover_command"]]), engine.state, STEP_US)[:, 0]
        wrench[0, 3:] = 0.0  # the attitude is held level
        drifts.append(physics.push(engine, wrench, STEP_US).vel[0, 0])
    exact = -5.0 * np.expm1(-factor / model.mass * t)
    report.check(
        "Drift of a level hover in 5 m/s of wind, over 10 s", abs(drifts - exact).max(), 0.01, "m/s"
    )
    figure, axes = panels(3, 12.5)
    axes[0].plot(t, drifts, label="engine")
    axes[0].plot(t, exact, "k:", label="closed form")
    axes[0].set(xlabel="t [s]", ylabel="drift without control [m/s]")
    plot_style.legend(axes[0], below=True)
    winds, tilts, aways = np.array((0.0, 3.0, 6.0, 9.0, 12.0)), [], []
    for value in winds:
        settled = held_in_wind("iris", value)
        tilts.append(np.median(settled.tilt))
        aways.append(settled.away.max())
    expected = np.zeros_like(winds)
    for _ in range(20):  # a tilted rotor carries only m g cos(tilt) and turns slower
        expected = np.arctan(factor * np.sqrt(np.cos(expected)) * winds / (model.mass * GRAVITY))
    axes[1].plot(winds, np.degrees(tilts), "o", label="flown")
    axes[1].plot(winds, np.degrees(expected), "k:", label="closed form")
    axes[1].set(xlabel="wind [m/s]", ylabel="tilt with control [deg]")
    plot_style.legend(axes[1], below=True)
    report.check(
        "Tilt of a held hover in 3 to 12 m/s of wind",
        np.degrees(abs(tilts - expected)[1:]).max(),
        0.2,
        "deg",
    )
    report.check("Distance of that hover from its set-point after 26 s", max(aways), 0.2, "m")

    airspeed, height, steps = 10.0, 50.0, 1 << 16
    n = 8
    air, out = Wind(WindParameters((airspeed, 0.0, 0.0), dryden=8.0), n, 1), np.zeros((n, 3))
    pos, vel, series = np.tile((0.0, 0.0, height), (n, 1)), np.zeros((n, 3)), []
    for k in range(steps):
        air.step(k * STEP_US, STEP_US, pos, vel, out)
        series.append(out.copy())
    frequency, found = welch(np.array(series), 1.0 / DT, nperseg=1 << 13, axis=0)
    found = found.mean(axis=1)
    feet, sigma_up = height / 0.3048, 0.1 * 8.0  # MIL-F-8785C 3.7.3.4, computed independently
    base = 0.177 + 0.000823 * feet
    flat, upright, sigma = feet / base**1.2 * 0.3048, height, sigma_up / base**0.4
    band = (frequency > 0.05) & (frequency < 20.0)
    for k, (name, length, strength) in enumerate(
        (("along", flat, sigma), ("across", flat, sigma), ("up", upright, sigma_up))
    ):
        x = 2 * math.pi * frequency * length / airspeed
        form = strength**2 * 4 * length / airspeed / (1 + x * x)
        if k > 0:
            form *= 0.5 * (1 + 3 * x * x) / (1 + x * x)
        axes[2].loglog(frequency[band], found[band, k], lw=0.7, label=name)
        axes[2].loglog(frequency[band], form[band], ":k", lw=1)
        ratio = np.exp(np.mean(np.log(found[band, k] / form[band])))
        report.check(
            f"Spectrum of turbulence, {name}: mean ratio to MIL-F-8785C, less 1", ratio - 1.0, 0.1
        )
    axes[2].set(xlabel="frequency [Hz]", ylabel="spectrum [m²/s² / Hz]")
    plot_style.legend(axes[2], below=True)
    px4 = json.loads((Path(__file__).parent / "px4.json").read_text())
    away = ", ".join(f"{np.mean(px4[f'strong_wind_{at}_s']):.2f}" for at in (10, 15, 20))
    away += " m after 10, 15, 20 s"
    report.section(
        "Wind",
        "Left: a hover whose attitude is held level is carried off by the "
        "rotors' H-force, v = w (1 - exp(-4 C_D omega t / m)). Middle: the flight stack "
        "holds its position and tilts into the wind, tan(tilt) = 4 C_D omega w / m g "
        "with omega = sqrt(m g cos(tilt) / 4 C_T); 12 m/s carry it off during the "
        f"take-off, and it is back 20 s after arming, as real PX4 ({away}; "
        "`scripts/validation/px4.json`). "
        "Right: Dryden turbulence at 50 m and 10 m/s; dotted: MIL-F-8785C.",
        figure,
    )


def effects(report):
    """Each aerodynamic effect, enabled by its name in a copy of the iris' file."""
    figure, axes = plot_style.panels(2, 2, 10, 7)
    with tempfile.TemporaryDirectory() as folder:
        near_the_ground(report, axes[0, 0], folder)
        thin_air(report, axes[0, 1], folder)
        wakes(report, axes[1, 0], folder)
        drag_in_wind(report, axes[1, 1], folder)
    report.section(
        "Effects",
        "Above: thrust near the ground over that far from it, hubs at height "
        "z; command of a hover that the flight stack holds in worlds of other "
        "elevations. Below: the push of a hovering iris' wake on another one below it, "
        "whose drag along z is 1 N s/m; tilt of a held hover in wind, with and without "
        "a drag area of 0.05 m². Points: kernel and flights, lines: the formulas of "
        "the manual written out.",
        figure,
    )


def iris_with(folder, text):
    """Path of a copy of the iris' file with these effects."""
    return physics.with_block(folder, physics.effects(text))


def steady(models, positions):
    """Wrenches (N, 6) of hovering vehicles whose rotors have settled."""
    stage, state = ActuatorStage(FleetModel.of(models)), FleetState.zeros(len(models), 4)
    state.pos[:] = positions
    command = np.array([vehicle_figures(model)["hover_command"] for model in models])
    for _ in range(100):
        wrench = stage.step(command, state, STEP_US)[:, 0]
    return wrench


def near_the_ground(report, axes, folder):
    """Ground effect against Cheeseman and Bennett."""
    radius, plain = 0.128, load_vehicle("iris")
    model = load_vehicle(
        iris_with(folder, f"<ground_effect><rotor_radius>{radius}</rotor_radius></ground_effect>")
    )
    hubs = np.array((0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0)) * radius
    weight = plain.mass * GRAVITY
    found = [steady([model], (0, 0, hub - plain.rotors[0].pos[2]))[0, 2] / weight for hub in hubs]
    fine = np.linspace(0.5, 4.0, 100)
    axes.plot(hubs / radius, found, "o", label="kernel")
    axes.plot(fine, 1.0 / (1.0 - (1.0 / (4.0 * fine)) ** 2), "k:", label="Cheeseman and Bennett")
    axes.set(xlabel="z / R", ylabel="thrust ratio", title="ground_effect")
    plot_style.legend(axes, below=True)
    report.check(
        "Ground effect, thrust ratio from 0.5 to 4 radii",
        abs(np.array(found) - 1.0 / (1.0 - (radius / (4.0 * hubs)) ** 2)).max(),
        1e-6,
    )


def thin_air(report, axes, folder):
    """Hover command against elevation."""
    model = iris_with(folder, "<air_density/>")
    heights, found = np.array((0.0, 1000.0, 2000.0, 3000.0)), []
    text = resources.world_sdf("empty").read_text()
    for height in heights:
        world = Path(folder) / "high.world"
        world.write_text(text.replace("<elevation>488.0<", f"<elevation>{height}<"))
        _, rows = physics.hover(model, 18.0, world=str(world))
        found.append(rows.command[rows.t > 10.0].mean())
    speed = vehicle_figures(load_vehicle("iris"))["hover_speed_rad_s"][0]
    rotor = load_vehicle("iris").rotors[0]
    density = 1.225 * (1.0 - 0.0065 * (heights + 5.0) / 288.15) ** 4.2559
    exact = (speed * np.sqrt(1.225 / density) - rotor.zero_position_armed) / rotor.input_scaling
    axes.plot(heights, found, "o", label="flown")
    axes.plot(heights, exact, "k:", label="closed form")
    axes.set(xlabel="elevation of the world [m]", ylabel="hover command", title="air_density")
    plot_style.legend(axes, below=True)
    report.check("Hover command at 0 to 3000 m, relative", abs(found / exact - 1.0).max(), 5e-3)


def wakes(report, axes, folder):
    """Wake of one iris on another below it."""
    radius, drag = 0.128, 1.0
    model = load_vehicle(
        iris_with(
            folder,
            f"""<downwash><rotor_radius>{radius}</rotor_radius>
        </downwash><linear_drag><coefficients>0 0 {drag}</coefficients></linear_drag>""",
        )
    )
    weight = model.mass * GRAVITY
    span = max(math.hypot(*rotor.pos[:2]) for rotor in model.rotors) + radius
    induced = math.sqrt(weight / (2.0 * 1.225 * 4.0 * math.pi * radius**2))
    aside, fine, worst = np.linspace(0.0, 2.0, 11), np.linspace(0.0, 2.0, 200), 0.0
    for below in (1.0, 4.0, 8.0):

        def form(x):
            width = span + 0.1 * below
            return (
                drag * 2.0 * induced * min(1.0, 12.0 * span / below) * np.exp(-((x / width) ** 2))
            )

        found = [
            weight - steady([model] * 2, [(0, 0, 50.0), (x, 0, 50.0 - below)])[1, 2] for x in aside
        ]
        worst = max(worst, abs(found - form(aside)).max())
        (line,) = axes.plot(aside, found, "o", label=f"{below:g} m below")
        axes.plot(fine, form(fine), ":", color=line.get_color())
    axes.set(xlabel="distance aside [m]", ylabel="push downwards [N]", title="downwash")
    plot_style.legend(axes, below=True)
    report.check("Push of a wake on the vehicle below, of 11 N", worst, 0.01, "N")


def drag_in_wind(report, axes, folder):
    """Tilt in wind with and without body drag."""
    model, area = load_vehicle("iris"), 0.05
    factor = (
        sum(vehicle_figures(model)["hover_speed_rad_s"]) * model.rotors[0].rotor_drag_coefficient
    )
    winds, weight = np.array((0.0, 3.0, 6.0, 9.0)), model.mass * GRAVITY
    dragging = iris_with(
        folder, f"<quadratic_drag><areas>{area} {area} {area}</areas></quadratic_drag>"
    )
    for label, vehicle, drag in (("without", "iris", 0.0), ("quadratic_drag", dragging, area)):
        tilts = []
        for value in winds:
            tilts.append(np.median(held_in_wind(vehicle, value).tilt))
        expected, push = np.zeros_like(winds), 0.5 * 1.225 * drag * winds**2
        for _ in range(30):  # thrust balances weight and drag along its axis
            thrust = np.cos(expected) + push / weight * np.sin(expected)
            expected = np.arctan((factor * np.sqrt(thrust) * winds + push) / weight)
        (line,) = axes.plot(winds, np.degrees(tilts), "o", label=label)
        axes.plot(winds, np.degrees(expected), ":", color=line.get_color())
        report.check(
            f"Tilt of a held hover in 3 to 9 m/s of wind, {label}",
            np.degrees(abs(tilts - expected)[1:]).max(),
            0.2,
            "deg",
        )
    axes.set(xlabel="wind [m/s]", ylabel="tilt [deg]", title="quadratic_drag")
    plot_style.legend(axes, below=True)


def battery(report):
    """Discharge of a pack at hover power."""
    model = load_vehicle("typhoon_h480")
    vehicles = FleetModel.of([model])
    pack, shaft = model.battery, vehicle_figures(model)["hover_shaft_power_w"]
    stage, stack = BatteryStage(vehicles), Battery(vehicles, ParameterStore(1))
    share, armed, rows, joule = np.ones(1), np.ones(1, dtype=bool), [], 0.0
    throttle = np.array([np.mean(vehicle_figures(model)["hover_command"])])
    while stage.charge[0] > 0.0 and len(rows) < 20_000:
        stage.step(np.full(1, shaft), 100_000, share)
        stack.step(armed, stage.voltage, stage.current, throttle, 0.1)
        joule += 0.1 * stage.current[0] ** 2 * pack.internal_resistance
        rows.append((stage.voltage[0], stage.current[0], stage.charge[0], stack.level[0], share[0]))
    volts, amperes, charge, level, limit = np.array(rows).T
    t = 0.1 * np.arange(1, len(rows) + 1) / 60.0
    taken = 0.1 * len(rows) * (shaft / pack.efficiency + pack.avionics_power)
    source = sum(pack.cells * open_circuit_voltage(c) * i for c, i in zip(charge, amperes))
    report.check(
        "Energy from the cells over a whole discharge, to shafts, avionics and heat",
        0.1 * source / (taken + joule) - 1.0,
        1e-3,
    )
    report.check(
        "Charge of a whole discharge, relative",
        0.1 * amperes.sum() / 3600.0 / pack.capacity - 1.0,
        1e-3,
    )
    report.check("Level that the flight stack estimates", abs(level - charge).max(), 0.1)
    figure, (left, right) = panels()
    left.plot(t, volts, label="voltage [V]")
    left.plot(t, amperes, label="current [A]")
    left.plot(t, 10.0 * limit, label="10 x reachable rotor speed")
    left.set(title="pack", xlabel="t [min]")
    plot_style.legend(left, below=True)
    right.plot(t, charge, label="charge")
    right.plot(t, level, label="level of the flight stack")
    right.set(title="charge and level [0 to 1]", xlabel="t [min]")
    plot_style.legend(right, below=True)
    report.section(
        "Battery",
        f"Pack of the typhoon_h480 ({pack.cells} cells, {pack.capacity:g} "
        f"A h) at its hover power; {joule / taken:.1%} of the energy heats the pack. "
        "Near the end the voltage falls below what full rotor speed needs.",
        figure,
    )


def changes(report):
    """Flights with a change of payload, rotor or battery."""
    figure, (left, middle, right) = panels(3, 12.5)
    _, rows = physics.hover(
        "iris", 40.0, disturbances="20: payload iris_0 0.3 0.02,0,-0.1; 30: payload iris_0 0"
    )
    left.plot(rows.t, rows.height)
    left.set(xlabel="t [s]", ylabel="height of the iris [m]", xlim=(15, 40), ylim=(4.2, 5.8))
    before = rows.height[(rows.t > 18) & (rows.t < 20)].mean()
    report.check(
        "Height 9 s after 0.3 kg were hung on the iris, less that before",
        abs(rows.height[(rows.t > 29) & (rows.t < 30)] - before).max(),
        0.25,
        "m",
    )
    _, rows = physics.hover(
        "typhoon_h480",
        20.0,
        disturbances="9: rotor typhoon_h480_0 2 0",
        parameters={"CA_FAILURE_MODE": 1, "COM_ACT_FAIL_ACT": 2},
    )
    report.check(
        "Tilt of the hexarotor that loses a rotor and lands",
        np.degrees(rows.tilt[rows.t > 9].max()),
        20.0,
        "deg",
    )
    report.check("Distance from its set-point", rows.away[rows.t > 9].max(), 1.0, "m")
    report.check("Height in the end", rows.height[-1], 0.02, "m")
    middle.plot(rows.t, rows.height, label="height [m]")
    middle.plot(rows.t, np.degrees(rows.tilt), label="tilt [deg]")
    middle.plot(rows.t, rows.away, label="distance across [m]")
    middle.set(title="a hexarotor loses a rotor", xlabel="t [s]", xlim=(8, 20))
    plot_style.legend(middle, below=True)
    _, rows = physics.hover(
        "typhoon_h480",
        16.0,
        disturbances=("9: charge typhoon_h480_0 0.01; 12: payload typhoon_h480_0 1.5"),
    )
    right.plot(rows.t, rows.height, label="height [m]")
    right.plot(rows.t, np.degrees(rows.tilt), label="tilt [deg]")
    right.set(title="a load on an empty battery", xlabel="t [s]", xlim=(8, 16), ylim=(0, 8))
    plot_style.legend(right, below=True)
    report.section(
        "Changes in flight",
        "Left: 0.3 kg hang on the iris from 20 to 30 s. Middle: "
        "rotor 2 of the typhoon_h480 dies at 9 s; with CA_FAILURE_MODE 1 and "
        "COM_ACT_FAIL_ACT 2 the flight stack finds it and lands on the other five. "
        "Right: another one loses most of its charge at 9 s and gets 1.5 kg at 12 s "
        "that the weak battery cannot carry: its rotors saturate and it comes down. "
        "The flight stack is not told of any of it.",
        figure,
    )


def main() -> int:
    """Runs every check and writes the page; returns 1 if a bound was exceeded."""
    report = Report("dynamics", HEAD)
    for part in (
        falls,
        precession,
        drift,
        orders,
        spin_up,
        hover_throttle,
        earth,
        wind,
        effects,
        battery,
        changes,
    ):
        part(report)
    return report.write()


if __name__ == "__main__":
    sys.exit(main())
