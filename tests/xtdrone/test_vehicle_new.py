"""`xtdrone vehicle new`: figures that agree with its model, and parts that cannot be."""

import numpy as np
import pytest

from xtdrone.design.multirotor import design, write
from xtdrone.design.parts_list import PartsList, from_data
from xtdrone_core import ScenarioError, XtdroneError
from xtdrone_core.command import main
from xtdrone_sim.model_check import check
from xtdrone_sim.vehicles.report import vehicle_figures
from xtdrone_sim.vehicles.sdf import load_vehicle

HAWK = {
    "name": "hawk",
    "frame": 450,
    "kv": 920,
    "propeller": "apcsf-10x4.7",
    "cells": 4,
    "capacity": 5,
    "mass": 1.6,
}
OTHERS = {
    "hexarotor": {"rotors": 6, "frame": 700, "mass": 2.6, "kv": 700},
    "five inch": {
        "frame": 220,
        "kv": 1900,
        "propeller": "mi-5x3.5",
        "cells": 6,
        "capacity": 1.3,
        "mass": 0.65,
    },
}


@pytest.mark.parametrize("other", [{}, *OTHERS.values()])
def test_the_model_has_the_figures_that_are_printed(tmp_path, other):
    made = design(from_data(HAWK | other))
    vehicle = load_vehicle(write(made, tmp_path / "hawk"))
    figures = vehicle_figures(vehicle)
    assert figures["mass_kg"] == pytest.approx((HAWK | other)["mass"], rel=1e-6)
    assert figures["thrust_to_weight"] == pytest.approx(made.figures["thrust_to_weight"], rel=0.05)
    assert figures["hover_command"][0] == pytest.approx(made.figures["hover_throttle"], rel=0.03)
    assert figures["hover_time_min"] == pytest.approx(made.figures["hover_time_min"], rel=0.15)
    assert np.all(np.diag(vehicle.inertia) > 0.0)


@pytest.mark.slow
def test_a_new_vehicle_hovers(tmp_path):
    write(design(from_data(HAWK)), tmp_path / "hawk")
    result = check(tmp_path / "hawk", 3.0)
    assert result.verdict == "flies", result.reason


def test_a_command_with_a_file_and_options(tmp_path, capsys):
    parts = tmp_path / "hawk.yaml"
    parts.write_text("".join(f"{name}: {value}\n" for name, value in HAWK.items()))
    folder = tmp_path / "made"
    assert main(["vehicle", "new", "kite", "--parts", str(parts), "--out", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "thrust_to_weight" in said and f"vehicle check {folder} --hover" in said
    assert load_vehicle(str(folder / "model.sdf")).propellers
    assert main(["vehicle", "new", "kite", "--parts", str(parts), "--out", str(folder)]) == 1
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"frame": 0.45}, "from 50 to 4000 .mm."),
        ({"frame": 260}, "touch each other"),
        ({"mass": 1600}, "from 0.01 to 200"),
        ({"mass": 16}, "thrust to weight"),
        ({"motor_mass": 500}, "motor_mass in grams"),
        ({"rotors": 5}, "even"),
        ({"cells": 3.5}, "whole number"),
        ({"kv": "920 rpm"}, "without its unit"),
        ({"kv": None}, "kv"),
        ({"weight": 1.0}, "unknown part"),
        ({"propeller": "nothing"}, "unknown propeller"),
        ({"name": "9 lives"}, "name of a vehicle"),
    ],
)
def test_parts_that_cannot_be_are_refused(change, why):
    with pytest.raises(XtdroneError, match=why):
        design(from_data(HAWK | change))


def test_missing_parts_are_named():
    with pytest.raises(ScenarioError, match="lacks kv, propeller"):
        from_data({"name": "a", "frame": 450, "cells": 4, "capacity": 5, "mass": 1.6})
    assert PartsList(**HAWK).rotors == 4
