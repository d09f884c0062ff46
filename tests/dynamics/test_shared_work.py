"""Work that is split with a thread: all of it is done, once, whoever does it."""

import os
import threading
import time

import numpy as np
import pytest

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.shared_work import LARGE_FLEET, SharedWork, worthwhile

PARTS = 40


@njit
def add(part, arguments, scratch):
    """Adds up numbers for a while, for this part."""
    counts, sums = arguments
    scratch[0][0] = 0.0
    for k in range(20_000):
        scratch[0][0] += part * k % 7
    sums[part] = scratch[0][0]
    counts[part] += 1


def scratch():
    """A sum."""
    return (np.zeros(1),)


@pytest.mark.parametrize(("pause", "threaded"), [(0.0, True), (2e-3, True), (0.0, False)])
def test_every_part_is_done_once_each_time(pause, threaded):
    counts, sums = np.zeros(PARTS, dtype=np.int64), np.zeros(PARTS)
    work = SharedWork(add, PARTS, (counts, sums), scratch, threaded)
    expected = [float(sum(part * k % 7 for k in range(20_000))) for part in range(PARTS)]
    for times in range(1, 31):
        work.offer()
        time.sleep(pause)  # the thread does some of it, or all
        work.complete()
        assert (counts == times).all()
        assert sums.tolist() == expected
    work.complete()  # of nothing
    work.close()
    work.close()
    assert (counts == 30).all()


def test_a_work_that_nobody_needs_ends_its_thread():
    counts = np.zeros(PARTS, dtype=np.int64)
    before = set(threading.enumerate())
    work = SharedWork(add, PARTS, (counts, np.zeros(PARTS)), scratch)
    (thread,) = set(threading.enumerate()) - before
    work.offer()
    work.complete()
    del work
    assert not thread.is_alive()


def test_small_fleets_and_single_cores_need_no_thread(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    assert worthwhile(LARGE_FLEET) and not worthwhile(LARGE_FLEET - 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    assert not worthwhile(LARGE_FLEET)
