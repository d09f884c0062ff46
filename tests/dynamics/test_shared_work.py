"""Work that a thread shares: all of it is done, once, whoever does it."""

import os
import time

import numpy as np
import pytest

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.shared_work import LARGE_FLEET, SharedWork, worthwhile

SHARES = 40


@njit
def add(share, arguments, scratch):
    """Adds up numbers for a while, by this share."""
    counts, sums = arguments
    scratch[0][0] = 0.0
    for k in range(20_000):
        scratch[0][0] += share * k % 7
    sums[share] = scratch[0][0]
    counts[share] += 1


def scratch():
    """A sum."""
    return (np.zeros(1),)


@pytest.mark.parametrize(("pause", "threaded"), [(0.0, True), (2e-3, True), (0.0, False)])
def test_every_share_is_done_once_each_time(pause, threaded):
    counts, sums = np.zeros(SHARES, dtype=np.int64), np.zeros(SHARES)
    work = SharedWork(add, SHARES, (counts, sums), scratch, threaded)
    expected = [float(sum(share * k % 7 for k in range(20_000))) for share in range(SHARES)]
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
    assert not work._semaphores[:SHARES, 0].any()  # nor does a share wait, for a thread to do it


def test_a_work_that_nobody_needs_ends_its_thread():
    counts = np.zeros(SHARES, dtype=np.int64)
    work = SharedWork(add, SHARES, (counts, np.zeros(SHARES)), scratch)
    end = work._end
    work.offer()
    work.complete()
    del work
    assert not end.alive


def test_small_fleets_and_single_cores_need_no_thread(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    assert worthwhile(LARGE_FLEET) and not worthwhile(LARGE_FLEET - 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    assert not worthwhile(LARGE_FLEET)
