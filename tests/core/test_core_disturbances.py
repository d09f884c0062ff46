"""Lists of disturbances in flight, as texts."""

import pytest

from xtdrone_core import Scenario, ScenarioError
from xtdrone_core.scenario.disturbances import Disturbance, parse_disturbance, parse_disturbances
from xtdrone_core.scenario.vehicles import fleet

NAMES = ["iris_0", "iris_1"]


def test_a_list_of_changes_is_read_and_sorted():
    text = "20: rotor iris_1 2 0.0; 12.5: payload iris_0 0.3 0,0,-0.1;"
    assert parse_disturbances(text, NAMES) == (
        Disturbance(12_500_000, "payload", 0, 0.3, (0.0, 0.0, -0.1)),
        Disturbance(20_000_000, "rotor", 1, 0.0, rotor=2),
    )
    assert parse_disturbances("", NAMES) == ()
    assert parse_disturbance(" drain iris_1 0.02 ", NAMES, 8).value == 0.02
    both = Scenario.from_dict(
        {"n": 2, "disturbances": ["1: charge iris_0 0.5", "2: drain iris_1 1"]}
    )
    assert both.disturbances == "1: charge iris_0 0.5; 2: drain iris_1 1"


@pytest.mark.parametrize(
    "text, message",
    [
        ("payload iris_0 0.3", "has no time"),
        ("-1: drain iris_0 1", "has no time"),
        ("x: drain iris_0 1", "'x' in disturbance"),
        ("1: paylod iris_0 0.3", "did you mean 'payload'"),
        ("1: payload iris_7 0.3", "did you mean 'iris_"),
        ("1: payload iris_0", "write payload NAME"),
        ("1: payload iris_0 heavy", "is not a number"),
        ("1: payload iris_0 -1", "a number from 0"),
        ("1: payload iris_0 1 0,0", "not X,Y,Z"),
        ("1: rotor iris_0 2 1.5", "from 0 to 1"),
        ("1: rotor iris_0 b 0", "count from 0"),
        ("1: rotor iris_0 0", "write rotor NAME INDEX"),
        ("1:", "unknown disturbance ''"),
    ],
)
def test_bad_changes_are_refused(text, message):
    with pytest.raises(ScenarioError, match=message):
        Scenario(fleet("iris", 2), disturbances=text)
