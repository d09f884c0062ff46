"""Propellers that an SDF file names: what the vehicle is, and what is refused."""

import numpy as np
import pytest

from propelled import MODELS, iris_by, iris_with
from xtdrone_core import FleetModel
from xtdrone_propellers import catalogue, propeller_file
from xtdrone_sim.errors import SdfError
from xtdrone_sim.vehicles.sdf import load_vehicle


@pytest.mark.parametrize("model", MODELS)
def test_a_rotor_has_the_propeller_that_its_file_names(tmp_path, model):
    vehicle = load_vehicle(iris_by(tmp_path, model))
    made = catalogue.propeller(MODELS[model], model)
    assert {rotor.propeller for rotor in vehicle.rotors} == {f"{made.name} ({model})"}
    assert vehicle.rotors[0].motor_constant == pytest.approx(made.constants()[0])
    fleet = FleetModel.of([vehicle, load_vehicle("iris"), vehicle])
    assert fleet.propellers == pytest.approx(made.numbers)  # once
    assert (fleet.actuator["propeller_at"][:, 0] == (0, -1, 0)).all()


def test_a_file_beside_the_model_is_read(tmp_path):
    path = iris_with(tmp_path, "<name>mine.npz</name>")
    made = catalogue.propeller("apcsf-10x4.7")
    propeller_file.write(made, path.parent / "mine.npz")
    assert load_vehicle(path).propellers["apcsf-10x4.7 (gill_dandrea_2)"] == made.numbers


def test_the_constants_of_a_file_stay(tmp_path):
    path = iris_by(tmp_path, "gill_dandrea_2")
    path.write_text(
        path.read_text().replace(
            "</turningDirection>", "</turningDirection><motorConstant>2e-5</motorConstant>"
        )
    )
    assert np.all([rotor.motor_constant == 2e-5 for rotor in load_vehicle(path).rotors])


@pytest.mark.parametrize(
    ("block", "why"),
    [
        ("<name>apcsf-10x4</name>", "did you mean 'apcsf-10x4.7'"),
        ("<name>apcsf-10x4.7</name><model>cubic</model>", "gill_dandrea_2"),
        ("<name>apcsf-10x4.7</name><chord>0.02</chord>", "chord"),
        ("<name>nothing.json</name>", "nothing.json"),
        ("<model>hbem</model>", "diameter"),
    ],
)
def test_a_propeller_that_is_none_is_refused_with_its_line(tmp_path, block, why):
    path = iris_with(tmp_path, block)
    with pytest.raises(SdfError, match=why) as error:
        load_vehicle(path)
    assert f"{path}:" in str(error.value)
