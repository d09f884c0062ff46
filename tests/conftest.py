"""Fixtures: a simulation in a process of its own, and a folder for its runs."""

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from processes import SimulationProcess
from recorded_times import file_times
from xtdrone_core.runs.ports import INSTANCES, VARIABLE, Ports, gazebo_master
from xtdrone_sim.commands import running

pytest_plugins = ["processor_times"]

# Of what the collection imports nothing is garbage: it is not searched, then or later.
gc.disable()

# Each worker of pytest-xdist has an instance of its own, and with it ports that nobody else uses.
# The last instance is left to the test of two fleets.
_worker = os.environ.get("PYTEST_XDIST_WORKER", "")
if _worker:
    if int(_worker.removeprefix("gw")) >= INSTANCES - 1:
        pytest.exit(f"there are ports for {INSTANCES - 1} workers: give pytest a smaller -n", 2)
    os.environ[VARIABLE] = _worker.removeprefix("gw")
# Likewise for Gazebo, of which a test may ask any instance: gzserver and the gz tools read it.
os.environ["GAZEBO_MASTER_URI"] = gazebo_master(INSTANCES * Ports().instance)

# No limits of wall time: a first call may compile, a busy machine may stall. The examples are
# the same in every run; --hypothesis-profile=random draws new ones.
settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("xtdrone", settings.get_profile("random"), derandomize=True)
settings.load_profile("xtdrone")

# It begins first: it compiles kernels that many files need.
FIRST = "tests/batch/test_batch_lanes.py"
NEW_S = 5.0  # of a file that the table of times does not have


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="also the tests marked as long")


def pytest_collection_modifyitems(config, items):
    """Leaves the tests marked as long out; files that take longest begin first.

    So none of those is left for a single worker at the end.
    """
    with_long = config.getoption("--long")
    if not with_long:
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in set(long)]
    seconds = file_times(with_long)

    def rank(item):
        name = item.nodeid.partition("::")[0]
        return name != FIRST, -seconds.get(name, NEW_S)

    items.sort(key=rank)


def pytest_collection_finish():
    """Leaves all that was imported out of later searches for garbage."""
    gc.freeze()
    gc.enable()


# A shell has what it starts in the background ignore SIGINT, and so would every process of a test.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _display():
    """A display that a test opens is not left to the next, whose windows would stay open."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    before = {name: os.environ[name] for name in names if name in os.environ}
    yield
    for name in names:
        os.environ.pop(name, None)
    os.environ.update(before)


@pytest.fixture
def simulate(tmp_path):
    """simulate(*options, instance=None) starts `xtdrone sim`; it ends with the test."""
    running = []

    def start(*options, instance=None):
        running.append(SimulationProcess(tmp_path, *options, instance=instance))
        return running[-1]

    yield start
    for simulation in running:
        simulation.stop()


class Undrawn:
    """In place of what draws a flight after its end."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Nothing was started."""

    def draw(self, folder):
        """Hands the run folder on, in this process."""
        running.plot_flight(folder)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A folder of its own for run folders, the current one too; no flight is drawn after its end.

    tests/plots looks at what is drawn then.
    """
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "ClosingPlots", Undrawn)
    monkeypatch.setattr(running, "plot_flight", lambda folder: None)
    return tmp_path
