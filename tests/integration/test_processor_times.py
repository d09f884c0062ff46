"""The plugin that measures tests against their budget, and the table of their times."""

import json
import os
import subprocess
import sys
from pathlib import Path

import processor_times

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))

import times_of_tests

import recorded_times

SUPPORT = Path(processor_times.__file__).parent
TESTS = """
import subprocess, sys, time, pytest
BUSY = "import time\\nwhile time.process_time() < 0.4: pass"

@pytest.fixture(scope="module")
def shared():
    process = subprocess.Popen([sys.executable, "-c", BUSY])
    yield
    process.wait()

def test_sleeps(shared):
    time.sleep(0.4)

@pytest.mark.slow
def test_works():
    begin = time.process_time()
    while time.process_time() < begin + 0.4: pass

@pytest.mark.long
def test_has_another_process_work():
    subprocess.run([sys.executable, "-c", BUSY], check=True)
"""


def test_a_test_is_measured_by_what_it_and_its_processes_use(tmp_path):
    (tmp_path / "test_them.py").write_text(TESTS)
    words = "-q -p processor_times -p no:cacheprovider --times times.json".split()
    subprocess.run(
        [sys.executable, "-m", "pytest", *words, "--rootdir", tmp_path, "-c", os.devnull],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SUPPORT)},
        check=True,
        capture_output=True,
    )
    found = json.loads((tmp_path / "times.json").read_text())
    seconds = {name.partition("::")[2]: row["s"] for name, row in found.items()}
    marks = [row["mark"] for _, row in sorted(found.items())]
    assert marks == ["fixtures", "long", "", "slow"]
    assert seconds[""] > 0.35
    assert seconds["test_sleeps"] < 0.2
    assert 0.35 < seconds["test_works"] < 0.8 and seconds["test_has_another_process_work"] > 0.35


def test_the_table_tells_which_files_begin_first(tmp_path):
    times = {
        "tests/a/test_a.py::quick": {"s": 1.0, "mark": ""},
        "tests/a/test_a.py::": {"s": 2.0, "mark": "fixtures"},
        "tests/b/test_b.py::slow": {"s": 4.0, "mark": "slow"},
        "tests/b/test_b.py::long": {"s": 8.0, "mark": "long"},
    }
    table = tmp_path / "TIMES.md"
    assert recorded_times.file_times(False, table) == {}
    table.write_text(times_of_tests.written(times))
    found = {"tests/a/test_a.py": 3.0, "tests/b/test_b.py": 4.0}
    assert recorded_times.file_times(False, table) == found
    assert recorded_times.file_times(True, table)["tests/b/test_b.py"] == 12.0
    assert len(recorded_times.file_times(False)) > 30  # those of this project


def test_the_mark_sets_the_budget():
    times = {
        "a.py::quick": {"s": 4.9, "mark": ""},
        "a.py::unmarked": {"s": 5.1, "mark": ""},
        "b.py::slow": {"s": 19.0, "mark": "slow"},
        "b.py::too_slow": {"s": 21.0, "mark": "slow"},
        "c.py::long": {"s": 500.0, "mark": "long"},
    }
    assert list(processor_times.over_budget(times)) == ["a.py::unmarked", "b.py::too_slow"]
    text = times_of_tests.written(times)
    assert "5 tests were measured and take 550 s; without those marked slow or long 10\ns," in text
    assert "as by `make test`, 50 s." in text
    assert text.index("|c.py|1|0.0|0.0|500.0|0.0|") < text.index("|b.py|2|0.0|40.0|0.0|0.0|")
    assert "|b.py::too_slow|slow|21.0|" in text
