"""Files of propellers: geometry, measurements, fitted models; what of them is refused."""

import json
import sys

import numpy as np
import pytest

from xtdrone_core.command import main
from xtdrone_propellers import catalogue, propeller_file
from xtdrone_propellers.errors import PropellerError
from xtdrone_propellers.fit import fit_measured, fit_propeller
from xtdrone_propellers.geometry import generic, read_geometry
from xtdrone_propellers.measured import read_measured
from xtdrone_propellers.polar import default_polar, polar_of, read_polar
from xtdrone_propellers.propeller import from_geometry

UIUC = "r/R     c/R     beta\n" + "".join(
    f"{0.15 + 0.05 * k:.2f}  {0.2 - 0.008 * k:.3f}  {35 - 1.5 * k:.2f}\n" for k in range(18)
)
APC = (
    "10x4.7  (10x47.dat)\n\n STATION  CHORD  PITCH  SWEEP  THICKNESS  TWIST\n"
    "  (IN)   (IN)  (QUOTED)  (IN)  RATIO  (DEG)\n\n"
    + "".join(
        f"{0.75 + 0.25 * k:.4f} {0.9 - 0.03 * k:.4f} 4.7 0.1 0.04 {35 - 1.5 * k:.4f}\n"
        for k in range(18)
    )
    + " RADIUS:  5.000 (INCHES)\n BLADES:  3\n"
)


def changed(k, column, value):
    """The text of UIUC with one number replaced."""
    rows = [line.split() for line in UIUC.splitlines()]
    rows[1 + k][column] = value
    return "\n".join(" ".join(row) for row in rows)


def test_geometry_of_uiuc(tmp_path):
    path = tmp_path / "mine_10x4.7_geom.txt"
    path.write_text(UIUC)
    made = read_geometry(path)
    assert made.radius == pytest.approx(0.127)
    assert made.position[0] == 0.15 and len(made.position) == 18
    assert made.pitch[0] == pytest.approx(np.radians(35.0))


def test_geometry_of_apc(tmp_path):
    path = tmp_path / "geometry.dat"
    path.write_text(APC)
    made = read_geometry(path)
    assert made.radius == pytest.approx(0.127) and made.blades == 3
    assert made.chord[0] == pytest.approx(0.18)
    assert made.pitch[0] == pytest.approx(np.radians(35.0))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (changed(4, 0, "0.2"), "the radius falls from 0.3 to 0.2"),
        (changed(17, 0, "5.0"), "give r/R above 0, up to 1"),
        (changed(3, 1, "12.0"), "give c/R"),
        (changed(3, 2, "nan"), "not finite"),
        ("\n".join(" ".join((*r.split()[:2], "0.4")) for r in UIUC.splitlines()), "give degrees"),
        ("nothing\n", "0 rows of numbers"),
    ],
)
def test_geometry_that_cannot_be_is_refused(tmp_path, text, why, capsys):
    path = tmp_path / "mine_10x4.7.txt"
    path.write_text(text)
    assert main(["propeller", "show", str(path)]) == 1
    said = capsys.readouterr().err
    assert why in said and said.count("\n") == 1


def test_geometry_without_a_size_is_refused(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(UIUC)
    with pytest.raises(PropellerError, match="--diameter"):
        read_geometry(path)
    assert read_geometry(path, 12.0, 4).blades == 4


def test_a_polar_goes_round(tmp_path):
    path = tmp_path / "foil.dat"
    path.write_text(
        "alpha CL CD\n"
        + "".join(f"{a} {0.1 * a + 0.4} {0.02 + 1e-4 * a * a}\n" for a in range(-8, 13))
    )
    made = read_polar(path)
    assert made.lift[180] == pytest.approx(0.4) and made.drag[270] == pytest.approx(1.98, rel=0.02)
    assert np.abs(np.diff(made.lift)).max() < 0.2 and min(made.drag) > 0.0
    path.write_text("".join(f"{a / 57.3} 0.1 0.02\n" for a in range(-20, 21)))
    with pytest.raises(PropellerError, match="give degrees"):
        read_polar(path)


def test_a_fit_finds_the_coefficients_again(tmp_path):
    true = catalogue.propeller("apcsf-10x4.7")
    advance = np.linspace(0.0, 0.6, 20)
    thrust, power = true.coefficients(advance)
    path = tmp_path / "mine_10x4.7_5000.txt"
    path.write_text(
        "J CT CP eta\n"
        + "".join(f"{a} {b} {c} 0\n" for a, b, c in zip(advance, thrust, power, strict=True))
    )
    measured = read_measured(path)
    assert measured.rpm[0] == 5000.0 and measured.diameter == 10.0
    found = fit_measured(measured, true)
    assert found.propeller.numbers == pytest.approx(true.numbers, abs=1e-9)


def test_a_fit_to_blade_elements_is_near():
    whole = from_geometry(generic(10.0, 4.7), default_polar())
    found = fit_propeller(whole)
    assert found.thrust < 0.06 and found.torque < 0.13
    assert found.propeller.constants()[0] == pytest.approx(whole.constants()[0], rel=0.1)


@pytest.mark.parametrize("suffix", ["json", "npz"])
@pytest.mark.parametrize("model", ["gill_dandrea_1", "gill_dandrea_2", "surrogate"])
def test_files_keep_a_propeller(tmp_path, suffix, model):
    name = "generic-10x4.7" if model == "surrogate" else "apcsf-10x4.7"
    made = catalogue.propeller(name, model)
    path = propeller_file.write(made, tmp_path / f"mine.{suffix}")
    again = catalogue.propeller(path.name, beside=tmp_path)
    assert again.model == model and again.name == made.name
    assert again.numbers == pytest.approx(made.numbers, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"form": "other"}, "'form'"),
        ({"radius": -1.0}, "radius -1"),
        ({"radius": 254.0}, "give metres"),
        ({"values": [1.0]}, "shape"),
        ({"values": "x"}, "no numbers"),
        ({"blades": None}, "blades"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path, change, why):
    path = propeller_file.write(catalogue.propeller("apcsf-10x4.7"), tmp_path / "mine.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(PropellerError, match=why):
        propeller_file.read(path)


def test_pickled_arrays_are_refused(tmp_path):
    path = tmp_path / "mine.npz"
    np.savez(path, form=np.array([{}], dtype=object))
    with pytest.raises(PropellerError, match="plain arrays"):
        propeller_file.read(path)


@pytest.mark.parametrize(
    ("name", "model", "why"),
    [
        ("apcsf-10x4", "", "did you mean 'apcsf-10x4.7'"),
        ("apcsf-10x4.7", "hbem", "no geometry"),
        ("generic-10", "", "DIAMETERxPITCH"),
        ("generic-400x4", "", "from 1 to 40"),
        ("generic-10x4.7", "gill_dandrea_1", "fit them"),
        ("apcsf-10x4.7", "cubic", "model of a propeller"),
        ("10-4.7", "", "or generic-DIAMETERxPITCH"),  # no file whose kind is .7
    ],
)
def test_names_that_are_none_are_refused(name, model, why):
    with pytest.raises(PropellerError, match=why):
        catalogue.propeller(name, model)


def test_commands(tmp_path, capsys):
    picture, file = tmp_path / "a.png", tmp_path / "a_9x5.json"
    assert main(["propeller", "list", "apcsf"]) == 0
    assert main(["propeller", "show", "apcsf-10x4.7", "--thrust", "3.9", "--json"]) == 0
    assert main(["propeller", "fit", "generic-9x5", "--out", str(file)]) == 0
    names = ["apcsf-10x4.7=gill_dandrea_1", "generic-9x5=hbem", str(file)]
    assert main(["propeller", "compare", *names, "--out", str(picture)]) == 0
    said = capsys.readouterr().out
    assert "apcsf-10x4.7 " in said and '"thrust_n": 3.9' in said and picture.stat().st_size > 1000


@pytest.mark.slow
def test_neuralfoil_makes_a_polar_of_a_name():
    pytest.importorskip("aerosandbox")
    pytest.importorskip("neuralfoil")
    made = polar_of("naca4412")
    assert made.lift[180] == pytest.approx(0.43, abs=0.08)  # at no angle of attack
    assert 0.01 < min(made.drag) < 0.03 and max(made.lift) < 1.8
    with pytest.raises(PropellerError, match="unknown"):
        polar_of("no_such_airfoil")


def test_an_airfoil_by_name_without_neuralfoil_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "aerosandbox", None)
    with pytest.raises(PropellerError, match=r"propellers\].*or give the file of a polar"):
        polar_of("naca4412")
