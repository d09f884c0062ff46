"""A process beside a simulation: it is ready, or the reason why not; woken, heard, ended."""

import os
import signal
import sys
import threading

import pytest

from xtdrone_core import ControlError
from xtdrone_core.runs.companion import Companion

MODULE = """
import json, os, sys
told = json.loads(sys.stdin.readline())
if told["fails"]:
    print("a first line", file=sys.stderr)
    print("port 7 is taken", file=sys.stderr)
    sys.exit(1)
print("ready", flush=True)
count = 0
while data := os.read(0, 1):
    count += len(data)
    if count == 3:
        print("three", file=sys.stderr, flush=True)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "beside.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    return "beside"


def test_it_is_woken_heard_and_ended(module):
    said, heard = [], threading.Event()

    def log(line):
        said.append(line)
        heard.set()

    companion = Companion(module, {"fails": False}, log)
    for _ in range(3):
        companion.wake()
    assert heard.wait(10.0) and said == ["three"]
    assert companion.close() == 0
    assert companion.close() is None
    companion.wake()  # of one that has ended: nothing


def test_why_it_does_not_start_is_its_last_line(module):
    with pytest.raises(ControlError, match=r"^port 7 is taken$"):
        Companion(module, {"fails": True}, print)


def test_one_that_is_killed_is_told_and_does_not_hold_the_simulation(module):
    said, heard = [], threading.Event()

    def log(line):
        said.append(line)
        heard.set()

    companion = Companion(module, {"fails": False}, log)
    os.kill(companion.pid, signal.SIGKILL)
    assert heard.wait(10.0)
    assert said == ["its process has ended with exit status -9: nothing comes from it any more"]
    for _ in range(3):
        companion.wake()
    assert companion.close() == -9
