"""The cache of compiled kernels: damaged files and a full disk."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba import types
from numba.core.registry import cpu_target

from waiting import LIMIT_S
from xtdrone_dynamics import compiled, kernel_cache, sources

PROGRAM = """from xtdrone_dynamics.compiled import njit

@njit
def double(x):
    return 2 * x

print(double(21))
"""


@pytest.fixture
def call(tmp_path):
    """call(LARGEST) runs a kernel in a process of its own; no file may grow beyond LARGEST."""
    program = tmp_path / "kernel.py"
    program.write_text(PROGRAM)

    def run(largest=-1):
        import resource

        return subprocess.run(
            [sys.executable, program],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest, -1)),
        )

    return run


@pytest.mark.long
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_truncated_file_is_thrown_away_and_made_anew(call, tmp_path, ending):
    assert call().stderr == ""
    (file,) = (tmp_path / "cache").rglob(f"*.{ending}")
    whole = file.stat().st_size
    os.truncate(file, whole // 2)
    second = call()
    assert second.stdout == "42\n"
    assert second.stderr.count("\n") == 1 and "is damaged" in second.stderr
    assert call().stderr == "" and file.stat().st_size > whole // 2


@pytest.mark.slow
def test_a_kernel_from_the_cache_loads_nothing_that_compiles(call, tmp_path):
    program = tmp_path / "kernel.py"
    program.write_text(PROGRAM + "import sys\nprint('numba.np.arraymath' in sys.modules)\n")
    assert call().stdout == "42\nTrue\n"
    assert call().stdout == "42\nFalse\n"


TRIPLE = """from xtdrone_dynamics.compiled import njit

@njit
def triple(x):
    return x + x + x
"""
IN_LANES = """import numpy as np
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.lane_numbers import lane_array
from triple import triple

@njit
def fill(x):
    values = lane_array(x)
    values[0] = triple(values[1])

@njit
def call(x):
    return triple(x)

fill(np.ones((2, 8))), call(2.0)
"""
AFTER_ANOTHER = """import math
import numpy as np
from xtdrone_dynamics.compiled import njit
from triple import triple

@njit
def length(x):
    return math.hypot(triple(1.0), 4.0) + -x

print(length(np.float32(1.0)))
"""


@pytest.mark.slow
def test_a_kernel_is_compiled_that_calls_one_which_was_kept_for_lanes(call, tmp_path):
    """Its negation of a float32 comes after a function for which Numba compiles another kernel."""
    (tmp_path / "triple.py").write_text(TRIPLE)
    program = tmp_path / "kernel.py"
    program.write_text(IN_LANES)
    assert call().stderr == ""
    program.write_text(AFTER_ANOTHER)
    assert call().stdout == "4.0\n"


@pytest.mark.long
def test_a_kernel_from_the_cache_hashes_with_the_salt_of_its_process(call, tmp_path):
    program = tmp_path / "kernel.py"
    program.write_text(
        PROGRAM.replace("2 * x", "hash(x)").replace("double(21)", "double('it') == hash('it')")
    )
    assert [call().stdout for _ in range(3)] == ["True\n"] * 3


def test_a_full_disk_keeps_no_kernels_but_runs_them(call):
    first = call(largest=100)
    assert first.stdout == "42\n"
    assert first.stderr.count("\n") == 1 and "cannot be kept in" in first.stderr


@pytest.mark.slow
def test_a_copy_of_the_sources_elsewhere_compiles_nothing(call, tmp_path):
    assert call().stdout == "42\n"
    (kernel,) = (tmp_path / "cache").rglob("*.nbc")
    written = kernel.stat().st_mtime_ns
    copy = tmp_path / "copy" / "kernel.py"
    copy.parent.mkdir()
    (tmp_path / "kernel.py").rename(copy)
    (tmp_path / "kernel.py").symlink_to(copy)  # a link is resolved: the copy's own place counts
    assert call().stdout == "42\n"
    assert [path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.nbc")] == [written]


def test_a_cache_that_cannot_be_made_is_reported_once(call, tmp_path):
    (tmp_path / "cache").write_text("in the way")
    done = call()
    assert done.stdout == "42\n"
    assert done.stderr.count("\n") == 1 and "cannot be kept in" in done.stderr


def test_packages_beside_ours_do_not_count(tmp_path, monkeypatch):
    source = tmp_path / "xtdrone_own" / "kernel.py"
    source.parent.mkdir()
    source.write_text("from xtdrone_dynamics.compiled import njit\nfrom other import number\n")
    (tmp_path / "other.py").write_text("number = 1\n")
    monkeypatch.setattr(sources, "SRC", tmp_path)
    before = sources.state_of_sources(), sources.stamp_of_sources()
    (tmp_path / "other.py").write_text("number = 22\n")
    assert (sources.state_of_sources(), sources.stamp_of_sources()) == before
    source.write_text("from xtdrone_dynamics.compiled import njit\n")
    assert sources.state_of_sources() != before[0] and sources.stamp_of_sources() != before[1]


@pytest.mark.long
def test_shared_work_is_compiled_again_when_its_kernel_changes(tmp_path):
    program = tmp_path / "share.py"
    printed = []
    for factor in (2, 3, 2):
        program.write_text(f"""import numpy as np
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.shared_work import SharedWork

@njit
def multiply(share, arguments, scratch):
    arguments[0][share] = {factor} * share

if __name__ == "__main__":
    import share
    found = np.zeros(4)
    SharedWork(share.multiply, 4, (found,), threaded=False).do()
    print(found[3])
""")
        printed.append(
            subprocess.run(
                # Without bytecode, which Python takes for a new source of equal size and second.
                [sys.executable, "-B", program],
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=True,
                env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
            ).stdout
        )
    assert printed == ["6.0\n", "9.0\n", "6.0\n"]


@pytest.mark.slow
def test_what_only_kernels_call_is_not_compiled_for_python():
    @compiled.njit
    def inner(x):
        return x + 1

    @compiled.njit
    def outer(x):
        return 2 * inner(x)

    assert outer(20) == 42
    assert inner.signatures == [] and len(inner.inner.signatures) == 1
    assert inner(41) == 42


SHARED = """import sys
import numpy as np
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.kernel_cache import passing_over_taken

@njit
def fill(found: np.ndarray) -> None:
    found[:] = 42.0

@njit
def double(x: float) -> float:
    return 2.0 * x

found = np.zeros(1)
with passing_over_taken():
    fill(found)
    print(found[0], flush=True)
    print(double(21.0), flush=True)
"""


@pytest.mark.long
def test_a_kernel_that_another_process_compiles_is_passed_over_or_awaited(tmp_path):
    program = tmp_path / "kernel.py"
    program.write_text(SHARED)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == ["42.0", "42.0"]
    names = {path.stem.split(".")[1].split("-")[0]: path for path in tmp_path.rglob("*.nbi")}
    for path in tmp_path.rglob("*.nb[ci]"):
        path.unlink()
    # As of another process, which compiles both.
    claims = {name: path.with_suffix(".lock").open("wb") for name, path in names.items()}
    for claim in claims.values():
        fcntl.flock(claim, fcntl.LOCK_EX)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout.readline() == "0.0\n"  # fill() is passed over
        claims["double"].close()
        assert process.communicate(timeout=LIMIT_S)[0] == "42.0\n"
    claims["fill"].close()
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == ["42.0", "42.0"]
    assert not list(tmp_path.rglob("*.lock"))


def double(x: float) -> float:
    return 2.0 * x


def test_two_threads_may_release_a_kernel_at_once(tmp_path, monkeypatch):
    """The second comes while the first removes the lock."""
    cache = kernel_cache.ClaimedCache(double, tmp_path)
    assert cache.load_overload((types.float64,), cpu_target.target_context) is None
    released = []
    monkeypatch.setattr(Path, "unlink", lambda path: released.append(cache.release()))
    cache.release()
    assert released == [None]


CALLED = """import sys
from xtdrone_dynamics.compiled import njit

@njit
def double(x):
    return 2 * x

@njit
def quadruple(x):
    return double(double(x))

print(*[globals()[name](21) for name in sys.argv[1:]])
"""


@pytest.mark.slow
def test_a_kernel_that_python_called_first_is_inlined_later(tmp_path):
    """What is kept of it for Python has nothing to inline."""
    program = tmp_path / "kernel.py"
    program.write_text(CALLED)
    for names in (["double"], ["double", "quadruple"], ["quadruple", "double"]):
        done = subprocess.run(
            [sys.executable, program, *names],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=True,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
        )
        assert done.stdout.split() == [{"double": "42", "quadruple": "84"}[name] for name in names]


CHANGED = """import time
from pathlib import Path

began, source = time.time_ns(), Path(__file__)
while source.stat().st_ctime_ns <= began:  # the clock of files has a period of milliseconds
    source.touch()
"""


def test_a_kernel_whose_source_has_changed_since_is_not_kept(call, tmp_path):
    (tmp_path / "kernel.py").write_text(PROGRAM.replace("print", CHANGED + "\nprint"))
    assert call().stdout == "42\n"
    assert not list((tmp_path / "cache").rglob("*.nbc"))


PART = """from xtdrone_dynamics.compiled import njit

@njit
def checked(x):
    if x < 0:
        raise ValueError("negative: " + str(x))
    print("checked", x)
    return x + 1
"""
TAKES_IN = """from part import checked
from xtdrone_dynamics.compiled import njit

@njit
def whole(x):
    return checked({}(x))

print(whole(1))
try:
    whole(-7)
except ValueError as error:
    print(error)
"""


@pytest.mark.slow
def test_what_a_kernel_takes_in_prints_and_raises_compiled_or_kept(call, tmp_path):
    program = tmp_path / "kernel.py"
    (tmp_path / "part.py").write_text(PART)
    program.write_text(TAKES_IN.format("checked"))
    for _ in range(2):
        assert call().stdout.splitlines() == ["checked 1", "checked 2", "3", "negative: -7"]
    assert list((tmp_path / "cache").rglob("part.checked-*i.*.nbc"))
    program.write_text(TAKES_IN.format("abs"))
    assert call().stdout.splitlines() == ["checked 1", "2", "checked 7"]  # taken from the cache
