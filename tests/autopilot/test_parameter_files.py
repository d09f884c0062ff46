"""Parameter files of QGroundControl, MAVProxy and Mission Planner, and what is none."""

import pytest

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.parameters import file as parameter_file
from xtdrone_core import Scenario

VALUES = {"MPC_XY_CRUISE": 4.5, "COM_RC_IN_MODE": 1.0, "MC_ROLL_P": -0.25}
HEAD = "# Onboard parameters for Vehicle 1\n#\n# Vehicle-Id Component-Id Name Value Type\n"
FORMS = {
    "QGroundControl": HEAD
    + "".join(f"1\t1\t{name}\t{value:.18f}\t9\n" for name, value in VALUES.items()),
    "QGroundControl without types": "".join(f"1 1 {k} {v}\n" for k, v in VALUES.items()),
    "MAVProxy": "#NOTE: 11/26/26\n" + "".join(f"{k:16s} {v:f}\n" for k, v in VALUES.items()),
    "MAVProxy with tabs": "".join(f"{k}\t{v}  # why\n" for k, v in VALUES.items()),
    "ArduPilot's defaults": "".join(f"{k} = {v} @READONLY\n" for k, v in VALUES.items()),
    "with those of a gimbal": HEAD
    + "".join(f"1\t1\t{k}\t{v}\t9\n1\t154\t{k}\t77\t9\n" for k, v in VALUES.items()),
    "Mission Planner": "#NOTE: mine\n" + "".join(f"{k},{v}\n" for k, v in VALUES.items()),
}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read_with_any_line_ends(tmp_path, form, end):
    path = tmp_path / "a.params"
    path.write_bytes(FORMS[form].replace("\n", end).encode())
    assert parameter_file.read(path) == VALUES
    path.write_bytes(FORMS[form].rstrip("\n").encode())
    assert parameter_file.read(path) == VALUES


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "has no parameter: write vehicle, component, name, value and type, or name and value"),
        ("#!/bin/sh\n#param set-default MPC_XY_CRUISE 4\n", "has no parameter"),
        ("MPC_XY_CRUISE 4\nMPC_XY_CRUISE\n", "line 2 .* is no parameter, 'MPC_XY_CRUISE'"),
        ("MPC_XY_CRUISE fast\n", "line 1 .* is no parameter"),
        ("1 1 MPC_XY_CRUISE\n", "line 1 .* is no parameter"),
        ("param set MPC_XY_CRUISE 4 5 6\n", "line 1 .* is no parameter"),
    ],
)
def test_what_is_no_parameter_file_is_one_line(tmp_path, text, said):
    (tmp_path / "a.params").write_text(text)
    with pytest.raises(AutopilotError, match=said) as caught:
        parameter_file.read(tmp_path / "a.params")
    assert "a.params" in str(caught.value) and "\n" not in str(caught.value)


def test_how_many_parameters_are_unknown_is_said(tmp_path):
    path = tmp_path / "a.params"
    path.write_text(FORMS["MAVProxy"] + "ARMING_CHECK 1\nWPNAV_SPEED 500\n")
    with pytest.raises(AutopilotError, match="'ARMING_CHECK'.*2 of 5 parameters unknown to PX4"):
        parameter_file.of_scenario(Scenario("iris", params=str(path)), "iris_0")
    skipping = Scenario("iris", params=str(path), unknown_params="skip")
    assert parameter_file.of_scenario(skipping, "iris_0")[1] == ["ARMING_CHECK", "WPNAV_SPEED"]
