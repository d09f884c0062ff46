"""Models of propellers against measurements and each other: docs/validation/propellers.md.

`python scripts/validation/propellers.py [FOLDER] [SECTION ...]` reads UIUC's data from a folder, or
from that of the environment variable XTDRONE_UIUC, and keeps what it finds in propellers.json;
without one it takes the kept figures. With sections it makes those anew: league, oblique, ccblade,
cost, batch, flight. It exits with status 1 if a bound is exceeded.
"""

import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import _uiuc
import xtdrone as xd
from _report import Page
from xtdrone_batch.simulation import BatchSimulation
from xtdrone_core import plot_style, resources
from xtdrone_dynamics.propellers import layout
from xtdrone_guidance.agents import TrajectoryAgent
from xtdrone_propellers import catalogue, propeller_file
from xtdrone_propellers.fit import fit_measured, fit_propeller, surrogate_errors
from xtdrone_propellers.geometry import generic
from xtdrone_propellers.measured import Measured
from xtdrone_propellers.polar import AIR_VISCOSITY, angles, default_polar
from xtdrone_propellers.propeller import Propeller, from_geometry, surrogate

KEPT = Path(__file__).with_suffix(".json")
PULLS = 0.03  # thrust coefficients from which on the relative error counts
SEVERAL = 6  # of the blades every so many-th has its surrogate compared, which takes time
MODELS = {
    "gill_dandrea_1": "Gill and D'Andrea 1, published",
    "gill_dandrea_2": "Gill and D'Andrea 2, published",
    "hbem": "HBEM from geometry alone",
    "surrogate": f"surrogate of that HBEM, every {SEVERAL}th blade",
    "fit": "`xtdrone propeller fit` to the rows themselves",
    "quadratic": "quadratic law from the slowest flow",
}
# Transcription of the published coefficients: median and 90 % of thrust, median of power [%].
PUBLISHED = (3.9, 12.8, 3.3)
SURROGATE, FASTER = 2.0, 100.0  # bounds: RMS [%], times
SPEED = 8.0  # largest on the eight [m/s]
TURN = np.linspace(0.0, 2.0 * np.pi, 17)
EIGHT = np.column_stack([16.0 * np.sin(TURN), 8.0 * np.sin(2.0 * TURN), 2.0 * np.sin(TURN)])
# CCBlade.jl's test of a propeller with C_l = 6.2 alpha and no losses at tip and root: thrust [N]
# and torque [N m] at 2100 rpm and 1, 6, ..., 36 m/s.
CCBLADE = (
    (1045.361, 80.3639),
    (939.960, 81.3447),
    (817.155, 80.0124),
    (676.644, 75.2779),
    (518.952, 65.9592),
    (345.248, 50.8892),
    (157.055, 29.0020),
    (-44.026, -0.6191),
)


def coefficients(made, rows):
    """C_T and C_P of a propeller at measured J and rpm."""
    turns, diameter = rows[:, 1] / 60.0, 2.0 * made.radius
    omega = 2.0 * math.pi * turns
    found = made.loads(omega, rows[:, 0] * turns * diameter, 0.0, 1.0)
    return np.stack(
        [found.thrust / (turns**2 * diameter**4), found.torque * omega / (turns**3 * diameter**5)],
        axis=1,
    )


def predictions(one, rows, tabled):
    """Model -> (K, 2) coefficients that it gives for the rows of a propeller."""
    found = {}
    for model in ("gill_dandrea_1", "gill_dandrea_2"):
        flows = catalogue.published(model).get(one.name, {})
        if "axial" in flows:
            found[model] = coefficients(flows["axial"], rows)
    if one.blade is not None:
        whole = from_geometry(one.blade, default_polar())
        found["hbem"] = coefficients(whole, rows)
        if tabled:
            found["surrogate"] = coefficients(surrogate(whole), rows)
    data = Measured(one.name, one.diameter, one.blades, *rows[:, [0, 2, 3]].T, rpm=rows[:, 1])
    found["fit"] = coefficients(fit_measured(data).propeller, rows)
    found["quadratic"] = np.tile(rows[np.argmin(rows[:, 0]), 2:], (len(rows), 1))
    return found


def league(tested):
    """Errors of all models over all rows; returns figures by model."""
    errors = {model: [] for model in MODELS}
    for k, one in enumerate(tested):
        rows = np.array(one.rows)
        for model, found in predictions(one, rows, k % SEVERAL == 0).items():
            error = np.abs(found - rows[:, 2:])
            largest = np.abs(rows[:, 2:]).max(axis=0)
            relative = np.where(rows[:, 2:3] > PULLS, error / np.abs(rows[:, 2:]), np.nan)
            errors[model].append(np.hstack([relative, error / largest]))
    figures = {}
    for model, parts in errors.items():
        whole = 100.0 * np.vstack(parts)
        quantiles = np.nanquantile(whole, [0.5, 0.9], axis=0).T.round(2).tolist()
        figures[model] = {"propellers": len(parts), "rows": len(whole), "errors": quantiles}
    return figures


def oblique(blades):
    """Differences from the second published model in oblique flow, over its own range [%]."""
    climb, mu = (
        each.ravel() for each in np.meshgrid(np.linspace(0, 0.2, 9), np.linspace(0, 0.3, 9))
    )
    found = {"gill_dandrea_1": [], "hbem": []}
    for name, flows in catalogue.published("gill_dandrea_2").items():
        if "oblique" not in flows:
            continue
        true = flows["oblique"]
        others = {"gill_dandrea_1": catalogue.published("gill_dandrea_1")[name]["oblique"]}
        if name in blades:
            others["hbem"] = from_geometry(blades[name], default_polar())
        flow = 80.0 / true.radius, 80.0 * climb, 80.0 * mu
        static, wanted = true.loads(flow[0]), true.loads(*flow)
        scales = [static.thrust, static.thrust, static.torque, *2 * [static.thrust * true.radius]]
        for model, other in others.items():
            error = [
                np.abs(a - b) / s
                for a, b, s in zip(other.loads(*flow), wanted, scales, strict=True)
            ]
            found[model].append(np.stack(error, axis=1))
    return {
        model: {
            "propellers": len(parts),
            "errors": (100.0 * np.quantile(np.vstack(parts), [0.5, 0.9], axis=0).T)
            .round(2)
            .tolist(),
        }
        for model, parts in found.items()
        if parts
    }


def measured_figures(folder):
    """All that needs UIUC's data."""
    tested = _uiuc.read(folder)
    blades = {one.name: one.blade for one in tested if one.blade is not None}
    return {
        "rows": sum(len(one.rows) for one in tested),
        "propellers": len(tested),
        "league": league(tested),
        "oblique": oblique(blades),
    }


def add_league(page, kept):
    """The league's table."""
    page.add(
        "## Against measurements",
        "",
        f"UIUC's {kept['rows']} rows of {kept['propellers']} propellers in axial flow, volumes 1 "
        "to 3. Error of the thrust and power coefficients [%], median / 90 %: relative where C_T "
        f"is above {PULLS:g}, and over the largest of each propeller at all rows. The coefficients "
        "and the fits were made from these measurements: theirs is a check of transcription and of "
        "the form of the model. HBEM knows the blade's chord and pitch alone, with one polar "
        "for all. A propeller's blade is known for about half of them.",
    )
    page.table(
        "model", "propellers", "rows", "thrust", "power", "thrust, of largest", "power, of largest"
    )
    for model, title in MODELS.items():
        found = kept["league"][model]
        cells = [f"{median:.1f} / {most:.1f}" for median, most in found["errors"]]
        page.row(title, found["propellers"], found["rows"], *cells)
    page.add("")
    (thrust, most), (power, _), *_ = kept["league"]["gill_dandrea_2"]["errors"]
    for what, value, bound in zip(
        ("median of thrust", "90 % of thrust", "median of power"),
        (thrust, most, power),
        PUBLISHED,
        strict=True,
    ):
        page.holds(f"published coefficients, {what}: {value:.1f} %", value <= bound + 0.15)


def add_oblique(page, kept):
    """Oblique flow, descent."""
    page.add(
        "## Oblique flow",
        "",
        "Difference from Gill and D'Andrea's second model, which was fitted to their "
        "measurements of "
        "20 propellers in oblique flow, over its range, λ_c from 0 to 0.2 and μ from 0 to 0.3, in "
        "still-air thrust or torque, moments in thrust times radius [%], median / 90 %.",
    )
    page.table("model", "propellers", "thrust", "H-force", "torque", "rolling", "pitching")
    for model, found in kept["oblique"].items():
        cells = [f"{median:.1f} / {most:.1f}" for median, most in found["errors"]]
        page.row(MODELS[model], found["propellers"], *cells)
    page.add(
        "",
        "## Descent and reverse",
        "",
        "Thrust and power in vertical descent over those of hover at the same speed of rotation, "
        "in speeds of descent over the velocity induced in hover. HBEM and its surrogate stay on "
        "the helicopter's branch of momentum theory. **Out**: the vortex ring (its loss of thrust "
        "and its unsteadiness, from about -0.5 to -1.5), the windmill brake beyond; Gill and "
        "D'Andrea's coefficients were fitted without descent. Rotation in reverse is the "
        "mirror image of "
        "rotation forwards: **in** for symmetric blades, out for cambered ones.",
    )
    steps = (0.0, -0.5, -1.0, -1.5, -2.0)
    page.table("model", *(f"{step:g}" for step in steps))
    for name, model in (
        ("apcsf-10x4.7", "gill_dandrea_1"),
        ("apcsf-10x4.7", "gill_dandrea_2"),
        ("generic-10x4.7", "hbem"),
        ("generic-10x4.7", "surrogate"),
    ):
        made = catalogue.propeller(name, model)
        omega = 80.0 / made.radius
        still = made.loads(omega, 0.0, 0.0, 1.0)
        induced = math.sqrt(float(still.thrust) / (2.0 * math.pi * made.radius**2))
        found = made.loads(omega, np.array(steps) * induced, 0.0, 1.0)
        page.row(
            f"{name} by {model}",
            *(
                f"{a:.2f} / {b:.2f}"
                for a, b in zip(
                    found.thrust / still.thrust, found.torque / still.torque, strict=True
                )
            ),
        )
    page.add("")


def two_blades():
    """The propeller of CCBLADE."""
    far = 100.0  # where the tip counts to be: no losses
    radii = np.linspace(0.08, 0.8, 11)
    stations = [(r / far, 0.072 / far, 0.1 / far, math.atan(0.5 / (math.pi * r))) for r in radii]
    lift = 6.2 * angles()
    drag = 0.008 - 0.003 * lift + 0.01 * lift**2
    own = [len(stations), len(lift), 1e5, 0.0, AIR_VISCOSITY]
    own += [x for row in stations for x in row]
    own += [x for pair in zip(lift, drag, strict=True) for x in pair]
    return Propeller("two", "hbem", (layout.BLADE_ELEMENT, far, 2.0, *map(float, own)))


def add_ccblade(page, _):
    """HBEM against CCBlade."""
    page.add(
        "## HBEM against CCBlade",
        "",
        "The propeller of CCBlade.jl's own test: two blades of 0.1 m chord, radius 0.8 m, pitch "
        "1 m, C_l = 6.2 α, 2100 rpm, without losses at tip and root. Its published thrust [N] and "
        "torque [N m], and ours.",
    )
    speeds = np.arange(1.0, 40.0, 5.0)
    found = two_blades().loads(2100.0 * math.pi / 30.0, speeds)
    page.table("flow [m/s]", "thrust", "ours", "torque", "ours")
    for k, (thrust, torque) in enumerate(CCBLADE):
        ours = found.thrust[k], found.torque[k]
        page.row(
            f"{speeds[k]:g}", f"{thrust:.1f}", f"{ours[0]:.1f}", f"{torque:.2f}", f"{ours[1]:.2f}"
        )
    thrust, torque = np.array(CCBLADE).T
    worst = max(
        float(np.abs(a - b).max() / np.abs(b).max())
        for a, b in ((found.thrust, thrust), (found.torque, torque))
    )
    page.add("", f"Largest difference: {100 * worst:.2f} % of the largest; bound 0.5 %.")
    page.holds(f"CCBlade: {100 * worst:.2f} % of the largest", worst <= 0.005)


def seconds_each(made, count):
    """Processor time of one evaluation in oblique flow [s]."""
    flow = np.full(count, 80.0 / made.radius), 3.0, 6.0
    made.loads(*flow)
    begin = time.process_time()
    made.loads(*flow)
    return (time.process_time() - begin) / count


def add_cost(page, _):
    """The surrogate's errors, and what each model costs, alone."""
    whole = from_geometry(generic(10.0, 4.7), default_polar())
    table = surrogate(whole)
    thrust, torque = surrogate_errors(whole, table)
    falling = surrogate_errors(whole, table, math.pi)
    costs = {
        "gill_dandrea_1": seconds_each(
            catalogue.propeller("apcsf-10x4.7", "gill_dandrea_1"), 100_000
        ),
        "gill_dandrea_2": seconds_each(catalogue.propeller("apcsf-10x4.7"), 100_000),
        "hbem": seconds_each(whole, 1000),
        "surrogate": seconds_each(table, 100_000),
    }
    faster = costs["hbem"] / costs["surrogate"]
    page.add(
        "## The surrogate, and cost",
        "",
        "`generic-10x4.7`: the table against HBEM over random flows of climb to level flight, "
        f"up to 0.3 of the tip's speed, tips at 30 to 150 m/s: thrust within {100 * thrust:.2f} %, "
        f"torque within {100 * torque:.2f} % RMS of hover's (bound {SURROGATE:g} %); with "
        f"descent, where HBEM itself jumps, {100 * falling[0]:.2f} % and {100 * falling[1]:.2f} %. "
        f"It is {faster:.0f} times as fast in oblique flow (bound {FASTER:g}).",
        "",
        "Processor time of one evaluation in oblique flow:",
    )
    page.holds(f"surrogate: thrust {100 * thrust:.2f} %", 100 * thrust <= SURROGATE)
    page.holds(f"surrogate: torque {100 * torque:.2f} %", 100 * torque <= SURROGATE)
    page.holds(f"surrogate: {faster:.0f} times as fast", faster >= FASTER)
    page.table("model", "one evaluation [µs]")
    for model, cost in costs.items():
        page.row(model, f"{1e6 * cost:.3g}")
    page.add("")


def add_batch(page, _):
    """What each model costs in a batch."""
    page.add(
        "## In a batch",
        "",
        "Vehicles of a batch that take a step of 4 ms in a second of processor time (`iris`, 64 "
        "environments, action of velocity). Vehicles without models of their own fly in lanes.",
    )
    page.table("model", "steps a second")
    with tempfile.TemporaryDirectory() as folder:
        page.row("constants, XTDrone (3)-(6)", f"{batch_rate('iris', 200):.3g}")
        for model in ("gill_dandrea_1", "gill_dandrea_2", "surrogate", "hbem"):
            name = "generic-10x4.7" if model in ("hbem", "surrogate") else "apcsf-10x4.7"
            file = propelled(Path(folder) / model, name, model)
            page.row(model, f"{batch_rate(str(file), 5 if model == 'hbem' else 100):.3g}")
    page.add("")


def batch_rate(vehicle, steps):
    """Steps of single vehicles in a second of processor time."""
    batch = BatchSimulation(f"{vehicle}@0,0,20", 64, sub_steps=1, action="velocity")
    action = np.zeros(batch.action_shape)
    action[..., 0] = 3.0
    batch.step(action)
    begin = time.process_time()
    for _ in range(steps):
        batch.step(action)
    return 64 * steps / (time.process_time() - begin)


def propelled(folder, name, model):
    """Writes an iris with such propellers; returns its file."""
    import re

    text = resources.vehicle_sdf("iris").read_text()
    for tag in (
        "motorConstant",
        "momentConstant",
        "rotorDragCoefficient",
        "rollingMomentCoefficient",
    ):
        text = re.sub(rf"\s*<{tag}>[^<]*</{tag}>", "", text)
    block = f"<name>{name}</name>" + (f"<model>{model}</model>" if model else "")
    own = f'<xtdrone:propeller xmlns:xtdrone="urn:xtdrone">{block}</xtdrone:propeller>'
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "model.sdf"
    file.write_text(text.replace("</turningDirection>", f"</turningDirection>{own}"))
    return file


class Noted(TrajectoryAgent):
    """Flies its curve and notes rotor speeds and power."""

    def attach(self, flight):
        super().attach(flight)
        self.flight, self.rows, self.over = flight, [], False

    def fly(self, t_us, estimates, out):
        self.over = super().fly(t_us, estimates, out)
        state, plant = self.flight.state, self.flight.plant.actuators
        rpm = state.actuator[0, :4].mean() * 30.0 / math.pi
        speed = np.linalg.norm(state.vel[0])
        self.rows.append((t_us * 1e-6, rpm, plant.power[0], speed))
        return self.over


def flown(vehicle, path):
    """Rows of time [s], mean rpm, shaft power [W] and speed [m/s] (T, 4) on the eight."""
    agent = Noted(1, curve=path, speed=SPEED)
    scenario = xd.Scenario(vehicles=vehicle, gps="rtk", seed=1, log="none")
    with xd.Simulation(scenario, agent=agent) as simulation:
        while not agent.over:
            simulation.step(250)
    return np.array(agent.rows)


def add_flight(page, _):
    """The published figure: speeds of the rotors on a trajectory, by model."""
    page.add(
        "## Rotor speeds on a trajectory",
        "",
        "dronesim's figure, remade: the same quadrotor (iris, 1.5 kg) on the same eight "
        "at up to 8 m/s, "
        "with 10 x 4.7 inch propellers by each model: APC's Slow Flyer by its published "
        "coefficients, a "
        "generic blade of that size by HBEM, its surrogate, and the second model fitted "
        "to that HBEM. "
        "All follow the path.",
    )
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        path = folder / "eight.csv"
        path.write_text("\n".join(",".join(f"{x:.3f}" for x in point) for point in EIGHT))
        whole = catalogue.propeller("generic-10x4.7", "hbem")
        cases = {
            "Gill and D'Andrea 1": ("apcsf-10x4.7", "gill_dandrea_1"),
            "Gill and D'Andrea 2": ("apcsf-10x4.7", "gill_dandrea_2"),
            "HBEM, generic": ("generic-10x4.7", "hbem"),
            "surrogate of it": ("generic-10x4.7", "surrogate"),
            "2, fitted to it": ("fitted.json", ""),
        }
        for k, (title, (name, model)) in enumerate(cases.items()):
            file = propelled(folder / str(k), name, model)
            if name == "fitted.json":
                propeller_file.write(fit_propeller(whole).propeller, file.parent / name)
            found[title] = flown(str(file), str(path))
    figure = plot_style.figure(9, 6, "the same flight by each model")
    rows = plot_style.time_axes(figure, ["rotors, mean [rpm]", "shaft power [W]"])
    page.table(
        "model", "rpm, mean", "rpm, most", "shaft power, mean [W]", "time on a 4S 5 Ah pack [min]"
    )
    for k, (title, flight) in enumerate(found.items()):
        t, rpm, power, speed = flight.T
        fast = speed > 1.0
        look = {"color": plot_style.series(k), "label": title}
        rows[0].plot(t, rpm, **look)
        rows[1].plot(t, power, **look)
        energy = 4 * 3.7 * 5.0 * 0.85 * 3600.0
        minutes = energy / (power[fast].mean() / 0.75 + 3.0) / 60.0
        page.row(
            title,
            f"{rpm[fast].mean():.0f}",
            f"{rpm[fast].max():.0f}",
            f"{power[fast].mean():.1f}",
            f"{minutes:.1f}",
        )
    rows[0].set_ylim(3000, 8000)
    plot_style.legend(figure, below=True)
    page.add("")
    page.picture("Rotor speeds by model", figure)
    page.add(
        "dronesim found less rpm by HBEM than by Gill and D'Andrea's models, and "
        "concluded a smaller battery. "
        "Here the sign is that of the blade: the generic blade is narrower than the Slow "
        "Flyer's, turns "
        "faster, and takes less power, as propellers with less blade area do. Of one "
        "blade, the model "
        "hardly matters for the mean: HBEM, its surrogate and the fit agree to 1 %, and the fit "
        "lacks the dip of power in the fastest part. So what sizes the battery is the "
        "propeller's data, not the theory; and an error of 10 % in power is one of 10 % "
        "in the time of "
        "flight."
    )


SECTIONS = {
    "league": add_league,
    "oblique": add_oblique,
    "ccblade": add_ccblade,
    "cost": add_cost,
    "batch": add_batch,
    "flight": add_flight,
}


def main():
    """Compares everything, or the sections that are named; returns 1 if a bound is exceeded."""
    named = [word for word in sys.argv[1:] if word in SECTIONS]
    folders = [word for word in sys.argv[1:] if word not in SECTIONS]
    folder = folders[0] if folders else os.environ.get("XTDRONE_UIUC", "")
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    kept.setdefault("sections", {})
    if folder:
        kept |= measured_figures(folder)
    page = Page("propellers")
    page.add(
        "# Propellers",
        "",
        "Made by `scripts/validation.sh propellers`. UIUC's measurements (Brandt, Deters, Ananda, "
        "Selig) are not part of the project: with `XTDRONE_UIUC=FOLDER` the figures that need "
        "them are computed anew, else they are those kept in scripts/validation/propellers.json. "
        "How to use the models: [propellers](../propellers.md).",
    )
    for name, add in SECTIONS.items():
        begin = len(page.lines)
        if named and name not in named:
            page.lines += kept["sections"].get(name, [])
        else:
            add(page, kept)
            kept["sections"][name] = page.lines[begin:]
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    return page.write()


if __name__ == "__main__":
    sys.exit(main())
