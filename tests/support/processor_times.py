"""Plugin of pytest that measures each test in seconds of processor time, against a budget.

A busy machine makes a test last longer, but takes no more of the processor. Processes that a test
starts and waits for count, too. What the tests of a file share has a row of its own.
"""

import json
import os
from pathlib import Path

import pytest

# What a test may take, by its mark [s of processor time]. A long one may take what it needs, and so
# may fixtures of a module or a session.
BUDGET_S = {"": 5.0, "slow": 20.0, "long": float("inf"), "fixtures": float("inf")}


def used() -> float:
    """Returns the processor time of this process and of those that it waited for [s]."""
    return sum(os.times()[:4])


def over_budget(times: dict) -> dict:
    """Selects the tests that take more than the budget of their mark."""
    return {name: row for name, row in times.items() if row["s"] > BUDGET_S[row["mark"]]}


def read(path: Path) -> dict:
    """Reads times: test -> {s, mark}; without a file there are none."""
    return json.loads(path.read_text()) if path.exists() else {}


class Stopwatch:
    """Writes into each report what its phase used; the reports of xdist's workers travel."""

    def __init__(self):
        self._begin = self._mark = used()
        self._shared = 0.0  # of the phase, by fixtures of a wider scope than the test

    def _restart(self):
        self._begin = self._mark = used()
        self._shared = 0.0

    def pytest_runtest_logstart(self):
        self._restart()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        begin = used()
        result = yield
        self._count(fixturedef, begin)
        return result

    def pytest_fixture_post_finalizer(self, fixturedef):
        self._count(fixturedef, self._mark)

    def _count(self, fixturedef, begin):
        self._mark = used()
        if fixturedef.scope != "function":
            self._shared += self._mark - begin

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item):
        report = yield
        marks = {mark.name for mark in item.iter_markers()}
        report.mark = next((mark for mark in ("long", "slow") if mark in marks), "")
        report.shared_s = self._shared
        report.processor_s = max(0.0, used() - self._begin - self._shared)
        self._restart()
        return report


class Collector:
    """Sums the reports' times in the process that was started by hand."""

    def __init__(self, path):
        self._path = path and path.resolve()  # tests change the folder
        self.times = {}

    def pytest_runtest_logreport(self, report):
        if not hasattr(report, "processor_s"):
            return  # a worker ended
        self._add(report.nodeid, report.mark, report.processor_s)
        if report.shared_s > 0.0:
            self._add(f"{report.nodeid.partition('::')[0]}::", "fixtures", report.shared_s)

    def _add(self, name, mark, seconds):
        self.times.setdefault(name, {"s": 0.0, "mark": mark})["s"] += seconds

    def pytest_terminal_summary(self, terminalreporter):
        for name, row in over_budget(self.times).items():
            budget, mark = BUDGET_S[row["mark"]], row["mark"] or "unmarked"
            terminalreporter.line(f"{name}: {row['s']:.1f} s, {budget:.0f} s if {mark}")

    def pytest_sessionfinish(self):
        if self._path:
            times = read(self._path) | self.times
            rounded = {name: row | {"s": round(row["s"], 2)} for name, row in times.items()}
            new = self._path.with_suffix(".new")  # so that none of the times before are lost
            new.write_text(json.dumps(rounded, indent=0, sort_keys=True) + "\n")
            new.replace(self._path)


def pytest_addoption(parser):
    parser.addoption(
        "--times",
        metavar="FILE",
        type=Path,
        help="add each test's processor time to this JSON file",
    )


def pytest_configure(config):
    config.pluginmanager.register(Stopwatch())
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Collector(config.getoption("--times")))
