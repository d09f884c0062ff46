"""The pacer's factors, on a clock of the test's own."""

import pytest

from xtdrone_sim import pacer as pacer_module
from xtdrone_sim.pacer import Pacer


def test_the_factor_of_now_forgets_what_was_before(monkeypatch):
    """10 s at 1 x real time, then 10 s at 4 x: 2.5 x on the whole, 4 x now, pauses left out."""
    clock = [100.0]
    monkeypatch.setattr(pacer_module.time, "monotonic", lambda: clock[0])
    pacer, t_us = Pacer(0.0), 0
    for factor in (1.0, 4.0):
        for _ in range(1000):
            clock[0] += 0.01
            t_us += round(factor * 10_000)
            pacer.stepped(t_us)
        clock[0] += 5.0
        pacer.held(5.0, t_us)
    assert pacer.factor(t_us) == pytest.approx(2.5)
    assert pacer.recent_factor(t_us) == pytest.approx(4.0, abs=0.01)


def test_what_comes_after_the_flight_does_not_count(monkeypatch):
    """10 s of flight at 2 x real time, then 30 s of plotting and closing."""
    clock = [100.0]
    monkeypatch.setattr(pacer_module.time, "monotonic", lambda: clock[0])
    pacer = Pacer(0.0)
    clock[0] += 10.0
    pacer.stop()
    clock[0] += 30.0
    pacer.stop()  # a second time changes nothing
    assert pacer.factor(20_000_000) == pytest.approx(2.0)
    pacer.restart(20_000_000)
    clock[0] += 1.0
    assert pacer.factor(21_000_000) == pytest.approx(1.0)
