"""`xtdrone plot --live`: what it takes in, and that it holds nobody up."""

import threading
import time

import numpy as np
import pytest

from own_ports import PORTS
from waiting import LIMIT_S
from xtdrone_core import ControlError, FleetState, command
from xtdrone_core.runs.control_link import TICK_US, ControlServer
from xtdrone_plots.feed import Feed


class Simulation:
    """A control server with two vehicles that climb by 1 m/s, as fast as it can."""

    def __init__(self, ticks):
        self.server, self.ticks = ControlServer(PORTS.control), ticks
        self.barrier = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        state = FleetState.zeros(2, 4)
        state.quat[:, 3] = 1.0
        while not self.server.has_subscriber:
            self.server.poll(self._answer, 0.05)
        self.server.poll(self._answer, 0.05)
        for k in range(self.ticks):
            state.pos[:, 2] = k * TICK_US * 1e-6
            self.server.tick(k * TICK_US, state)
            self.barrier = self.barrier or self.server.has_barrier
        self.server.close()

    @staticmethod
    def _answer(op, request):
        return {"vehicles": ["iris_0", "iris_1"]}


def ended(feed):
    until = time.monotonic() + LIMIT_S
    while not feed.ended:
        assert time.monotonic() < until
        time.sleep(0.1)


def test_the_last_states_are_kept_and_the_simulation_waits_for_nobody():
    simulation = Simulation(1000)
    feed = Feed(5.0, PORTS.instance)
    ended(feed)
    t_s, table = feed.states()
    assert feed.names == ["iris_0", "iris_1"] and not simulation.barrier
    assert t_s[-1] == pytest.approx(19.98) and t_s[0] == pytest.approx(14.98)
    np.testing.assert_allclose(table[:, 1, 2], t_s)
    feed.close()


def test_a_long_window_is_thinned():
    Simulation(1000)
    feed = Feed(600.0, PORTS.instance)
    ended(feed)
    assert np.diff(feed.states()[0]) == pytest.approx(np.full(99, 0.2))
    feed.close()


def test_without_a_simulation_it_says_so():
    with pytest.raises(ControlError, match="no simulation answers"):
        Feed(5.0, PORTS.instance)


def test_without_a_display_it_says_so(monkeypatch, capsys):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert command.main(["plot", "--live"]) == 1
    assert "there is no display for a window: give --png FILE" in capsys.readouterr().err
