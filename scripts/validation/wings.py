"""Wings of the embedded engine against Gazebo's classic plugins: writes docs/validation/wings.md.

    python scripts/validation/wings.py

Needs scripts/setup_gazebo.sh; without Gazebo 11 it prints a message and exits with status 0. The
tracks of PX4's sitl_gazebo are recorded in tests/data/sitl_gazebo.json.
"""

import sys
from pathlib import Path

import numpy as np

from _report import Report

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "support"))  # shared with the tests

import classic  # noqa: E402
from physics import DT  # noqa: E402
from xtdrone_core import plot_style, resources  # noqa: E402

BOUND_M, BOUND_DEG = 0.5, 2.0
VEHICLES = "plane", "standard_vtol"
OWN, CORRECTED, SITL = "Gazebo's wings", "Gazebo's wings, with their error", "sitl_gazebo"
HEAD = f"""Made by `scripts/validation.sh wings`; tests/gazebo/test_gazebo_wings.py flies the same.

Without any controller, {classic.SECONDS:g} s from level flight at {classic.SPEED:g} m/s (or the
hover) in still air: the largest distance and angle between the embedded engine and a Gazebo 11 that
reads the same file, with all its links and joints, and gets the forces from the classic plugins.
Ailerons and elevator are deflected by {classic.PULSE:g} rad for the first {classic.PULSE_S:g} s,
alike on both sides.

- *Gazebo's wings* is the LiftDragPlugin that comes with Gazebo 11, with the thrust of the
  workspace's rotors. In sideslip it takes the spanwise velocity off along the velocity instead of
  along the span, which PX4's plugin did until 2020 (PX4-SITL_gazebo-classic, issue 560). *With
  their error*: the embedded engine's wings were given the same error.
- *sitl_gazebo* has wings and motors of PX4-SITL_gazebo-classic (commit 807b67b, July 2026), which
  is no part of this project: its tracks stand in `tests/data/sitl_gazebo.json`."""
FIGURE = """Against Gazebo's wings the ailerons differ by {0} (plane) and {1} (standard_vtol), with
the plugin's error in both engines by {2} and {3}: the vehicles slip by up to 1.9 degrees. Of the
rest most comes from the joints of the surfaces, which the plugins see a step (4 ms) later: with its
deflections a step later as well, the embedded standard_vtol is within 0.011 m. Nothing restores the
attitude of a hover.

The plugins differ in ways that these flights hardly show: they multiply the coefficients by the
cosine of the slip, although they have already taken off the spanwise velocity (issue 684 there);
beyond the stall lift and drag have no flat plate as bounds; wings that fly backwards exert no
force. The sitl_gazebo of PX4 v1.15.4 takes 25 m/s for every motor's maxRelativeAirspeed."""


def curves(one, other):
    """Differences in position [m] and attitude [deg] every classic.EVERY steps."""
    return classic.apart(classic.thinned(one), classic.thinned(other))


def flights():
    """Curves of all flights, by (vehicle, flight, peer)."""
    found = {}
    for vehicle in VEHICLES:
        trim = classic.Trim(vehicle)
        for flight, axis in classic.AXES.items():
            added = trim.pulse(axis)
            embedded, own = classic.fly_embedded(trim, added), classic.fly_gazebo(trim, added)
            found[vehicle, flight, OWN] = curves(embedded, own)
            found[vehicle, flight, CORRECTED] = curves(
                classic.fly_embedded(trim, added, gazebos_wings=True), own
            )
    for (vehicle, flight), track in classic.sitl_gazebo().items():
        trim = classic.Trim(vehicle, 0.0 if flight == "hover" else classic.SPEED)
        embedded = classic.fly_embedded(trim, trim.pulse(classic.AXES.get(flight)))
        found[vehicle, flight, SITL] = classic.apart(classic.thinned(embedded), track)
    return found


def figure(found):
    """Distances and angles over time, both vehicles side by side."""
    panels, axes = plot_style.panels(2, 2, 10, 6)
    time = DT * classic.EVERY * np.arange(1, round(classic.SECONDS / DT) // classic.EVERY + 1)
    styles = {OWN: ":", CORRECTED: "--", SITL: "-"}
    for (vehicle, flight, peer), rows in found.items():
        colour = plot_style.series([*classic.AXES, "hover"].index(flight))
        for row, (values, what) in enumerate(
            zip(rows, ("position [m]", "attitude [deg]"), strict=True)
        ):
            axis = axes[row, VEHICLES.index(vehicle)]
            axis.semilogy(
                time,
                np.maximum(values, 1e-5),
                styles[peer],
                color=colour,
                label=f"{flight}, {peer}",
            )
            axis.set(xlabel="t [s]", ylabel=f"{vehicle}: {what}", ylim=(1e-4, 3.0))
    plot_style.legend(axes[1, 1], below=True)
    return panels


def main():
    """Flies everything and writes the page."""
    if not (resources.root() / ".setup/gazebo11/libxtdrone_lockstep.so").is_file():
        print("Gazebo 11 is not set up (scripts/setup_gazebo.sh): wings are not compared")
        return 0
    page, found = Report("wings", HEAD), flights()
    for (vehicle, flight, peer), (distance, angle) in found.items():
        if (flight, peer) == ("ailerons", OWN):
            continue  # the next row has the plugin's error
        page.check(f"{vehicle}, {flight}, {peer}: position", max(distance), BOUND_M, "m")
        page.check(f"{vehicle}, {flight}, {peer}: attitude", max(angle), BOUND_DEG, "deg")
    ailerons = [
        f"{max(distance):.3f} m and {max(angle):.2f} degrees"
        for distance, angle in (
            found[vehicle, "ailerons", peer] for peer in (OWN, CORRECTED) for vehicle in VEHICLES
        )
    ]
    page.section("Differences over time", FIGURE.format(*ailerons), figure(found))
    return page.write()


if __name__ == "__main__":
    sys.exit(main())
