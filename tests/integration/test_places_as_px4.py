"""By each command the embedded stack flies to where real PX4 v1.15.4 did; see place_probe.py."""

import json

import pytest

import place_probe

RECORDED = json.loads(place_probe.RECORDED.read_text())
GROUPS = (
    "DO_REPOSITION",
    "DO_CHANGE_ALTITUDE",
    "NAV_",
    "DO_SET_HOME",
    "m/s",
    "DO_ORBIT",
    "SET_GPS_GLOBAL_ORIGIN",
)


def test_every_case_was_recorded():
    assert set(place_probe.cases()) == set(RECORDED)
    assert all(any(part in name for part in GROUPS) for name in RECORDED)


def test_a_difference_is_told():
    found = {
        name: {**ended, "place": [9.0, 9.0, 9.0]} if "place" in ended else ended
        for name, ended in RECORDED.items()
    }
    lines = place_probe.differences(found, RECORDED)
    assert len(lines) == sum("place" in ended for ended in RECORDED.values())
    assert place_probe.differences(RECORDED, RECORDED) == []


@pytest.mark.long
@pytest.mark.parametrize("group", ["DO_REPOSITION frame", "NAV_TAKEOFF", "speed", "behaviour"])
def test_the_vehicle_flies_where_px4_flew(group, tmp_path):
    found = place_probe.probe("embedded", tmp_path, (group,))
    assert len(found) >= 4
    assert place_probe.differences(found, RECORDED) == []


@pytest.mark.long
@pytest.mark.slow
def test_all_cases_end_as_with_px4(tmp_path):
    found = place_probe.probe("embedded", tmp_path)
    assert place_probe.differences(found, RECORDED) == []
