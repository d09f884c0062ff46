"""The figures that a flight of the command line ends with."""

import os
import subprocess
import sys

import pytest

from xtdrone_sim.commands import running


@pytest.fixture
def apart(monkeypatch):
    """Figures are drawn by another process, as where this one has not loaded what draws."""
    monkeypatch.delitem(sys.modules, "matplotlib", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})


def test_a_process_of_its_own_says_why_there_is_no_plot(apart, tmp_path, capfd):
    with running.ClosingPlots() as plots:
        plots.draw(tmp_path / "no_run")
    assert "warning: no plot of the flight: " in capfd.readouterr().err
    assert capfd.readouterr().err == ""


def test_a_flight_that_ends_early_is_not_drawn(apart, capfd):
    with pytest.raises(KeyboardInterrupt), running.ClosingPlots():
        raise KeyboardInterrupt
    assert capfd.readouterr().err == ""


def test_one_core_draws_in_the_same_process(apart, monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    drawn = []
    monkeypatch.setattr(running, "plot_flight", drawn.append)
    with running.ClosingPlots() as plots:
        plots.draw(tmp_path)
    assert drawn == [tmp_path]


def test_what_draws_a_flight_loads_no_compiler():
    code = (
        "import sys; from xtdrone_sim.commands import running; "
        "running.registry.entries(running.AFTER_FLIGHT)['overview'].load(); "
        "print('numba' in sys.modules or 'scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")
