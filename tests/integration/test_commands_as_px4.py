"""The embedded stack answers MAVLink commands as real PX4 v1.15.4 did; see command_probe.py."""

import json

import pytest

import command_probe

# Cases that are answered otherwise, and why.
EXPLAINED = {
    "NAV_VTOL_TAKEOFF": "PX4 takes it even for a vehicle that is no VTOL, and then cannot fly it",
    "DO_SET_MODE PRECLAND": "the recording is older than this mode of the embedded stack",
    "PREFLIGHT_CALIBRATION ones": "no calibration: the estimator finds the biases itself",
}


@pytest.mark.slow
def test_commands_are_answered_as_by_px4(tmp_path):
    found = command_probe.probe("embedded", tmp_path)
    lines = command_probe.differences(found, json.loads(command_probe.RECORDED.read_text()))
    assert [line for line in lines if not any(name in line for name in EXPLAINED)] == []
    assert sum(map(len, found.values())) > 1000
