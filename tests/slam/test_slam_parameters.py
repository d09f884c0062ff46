"""Parameters of a SLAM system: declared in its adapter.yaml, listed and checked from there."""

import json

import pytest

from xtdrone_core.command import main
from xtdrone_slam.benchmark import adapters
from xtdrone_slam.errors import SlamError


def test_every_system_says_what_its_parameters_mean(capsys):
    assert main(["list", "systems", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert set(listed) == set(adapters.names())
    for name, system in listed.items():
        assert system["description"] and system["options"], name
        for option, row in system["options"].items():
            assert row["meaning"] and row["type"] != "YAML", (name, option)


@pytest.mark.parametrize(
    "parameters, said",
    [
        (
            {"feature": 3},
            "unknown parameter of 'klt' 'feature': choose one of features, keep, threads",
        ),
        (
            {"features": "many"},
            "parameter of 'klt': features many is not allowed: give a whole number "
            "from 10 to 10000",
        ),
        ({"keep": 1.5}, "keep 1.5 is not allowed: give a number from 0 to 1"),
    ],
)
def test_a_wrong_parameter_is_named(parameters, said):
    with pytest.raises(SlamError) as error:
        adapters.load("klt", **parameters)
    assert said in str(error.value)


def test_a_parameter_has_its_type():
    adapter = adapters.load("klt", keep=1, features="20")
    assert adapter.parameters == {"features": 20, "keep": 1.0, "threads": 1}


def test_an_adapter_of_ones_own_may_declare_less(tmp_path):
    (tmp_path / "adapter.yaml").write_text(
        "command: [cat]\nparameters: {a: 1, b: {default: 2.0, maximum: 3}}\n"
    )
    assert adapters.load(str(tmp_path), a="any").parameters == {"a": "any", "b": 2.0}
    with pytest.raises(SlamError, match="b 4 is not allowed"):
        adapters.load(str(tmp_path), b=4)
    (tmp_path / "adapter.yaml").write_text("command: [cat]\nparameters: {a: {defalt: 1}}\n")
    with pytest.raises(SlamError, match="parameter a has no 'default'"):
        adapters.load(str(tmp_path))
