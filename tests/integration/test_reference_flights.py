"""Flights that no change of the code's structure may change; see reference_flights.py."""

import json

import pytest

import reference_flights

RECORDED = json.loads(reference_flights.RECORDED.read_text())


LONG = ("typhoon_h480", "stereo_and_lidar")  # they draw images for seconds


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name in LONG else ())
        for name in reference_flights.FLIGHTS
    ],
)
def test_flight_is_as_recorded(runs, name):
    exact = RECORDED["machine"] == reference_flights.machine()
    flown = reference_flights.fly(name)
    assert reference_flights.differences(name, flown, RECORDED["flights"][name], exact) == []
