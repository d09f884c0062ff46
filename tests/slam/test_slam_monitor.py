"""The monitor against /proc, over loads that are known."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from xtdrone_slam.benchmark.monitor import Monitor

# A parent and a child each burn a given CPU time, then tell and wait; memory is touched.
_LOAD = """
import os, sys, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(2000))
kept = bytearray(b"x" * (64 << 20))
os.write(1, b"ready\\n")
sys.stdin.readline()
child = os.fork()
burn(0.8 if child == 0 else 1.2)
if child == 0:
    os.write(1, b"child\\n"); time.sleep(60); os._exit(0)
os.write(1, b"parent\\n")
sys.stdin.readline()
os.kill(child, 9)
"""


def proc_cpu(pid):
    """User and system time of one process by /proc [s]."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def proc_memory(pid):
    """Resident memory of one process by /proc [MiB]."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")
def test_tree_equals_proc_within_two_percent(tmp_path):
    load = subprocess.Popen(
        [sys.executable, "-c", _LOAD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert load.stdout.readline() == "ready\n"  # what it took for that is not counted
    before = proc_cpu(load.pid)
    monitor = Monitor(load.pid, tmp_path / "usage.csv")
    try:
        load.stdin.write("go\n")
        load.stdin.flush()
        assert {load.stdout.readline(), load.stdout.readline()} == {"child\n", "parent\n"}
        child = int(Path(f"/proc/{load.pid}/task/{load.pid}/children").read_text())
        spent = proc_cpu(load.pid) - before + proc_cpu(child)
        resident = proc_memory(load.pid) + proc_memory(child)
        monitor.close()
    finally:
        load.communicate("end\n")
    assert spent >= 1.9  # the load was there
    seconds = 0.01 * monitor.mean_cpu() * monitor.samples[-1].t_s
    assert seconds == pytest.approx(spent, rel=0.02)
    assert monitor.samples[-1].memory_mib == pytest.approx(resident, rel=0.02)
    assert monitor.samples[-1].processes == 2
    rows = (tmp_path / "usage.csv").read_text().splitlines()
    assert rows[0] == "t_s,cpu_percent,memory_mib,processes"
    assert len(rows) == 1 + len(monitor.samples)


def test_process_that_ends_ends_the_samples():
    load = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True)
    monitor = Monitor(load.pid, period_s=0.01)
    load.communicate("\n")
    monitor.close()
    count = len(monitor.samples)
    monitor.close()
    assert len(monitor.samples) == count


def test_process_that_is_gone_gives_no_sample():
    load = subprocess.Popen([sys.executable, "-c", ""])
    load.wait()
    monitor = Monitor(load.pid)
    monitor.close()
    assert monitor.samples == [] and monitor.mean_cpu() == 0.0
