"""Faults in flight: the vehicle brakes, holds, says why, and touches nothing."""

import pytest

from xtdrone_core.command import main
from xtdrone_planning import faults
from xtdrone_planning.faults import FAULTS, Held


@pytest.mark.parametrize(
    "reasons, moved, touched, holds",
    [
        (("it is far", "no image since 3.0 s"), 0.1, (), True),
        (("it is far",), 0.1, (), False),
        (("no image since 3.0 s",), 0.6, (), False),
        (("no image since 3.0 s",), 0.1, ("iris_depth_small_0 and scene",), False),
        ((), float("nan"), (), False),
    ],
)
def test_a_fault_counts_as_held_when_it_was_said_and_nothing_moved(reasons, moved, touched, holds):
    held = Held(FAULTS[0], reasons, (1.0, 2.0, 3.0), moved, touched)
    assert held.holds == holds
    assert ("yes" in str(held)) == holds
    assert len(str(held).split("|")) == len(faults.HEAD.splitlines()[0].split("|"))


@pytest.mark.parametrize(
    "fault", [pytest.param(fault, id=fault.name, marks=pytest.mark.long) for fault in FAULTS]
)
def test_a_flight_with_a_fault_ends_in_a_hold(fault, monkeypatch, capsys):
    monkeypatch.setattr(faults, "FAULTS", (fault,))
    assert main(["planning", "faults"]) == 0
    assert fault.says in capsys.readouterr().out
