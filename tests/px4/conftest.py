"""A stand-in for PX4's build folder, whose px4 only sleeps."""

import pytest

STAND_IN = """#!/bin/sh
echo started "$@" $PX4_SIM_MODEL
sleep 600 &
[ -p "$STARTED" ] && echo $! > "$STARTED"
wait
"""


@pytest.fixture
def build(tmp_path):
    """A build folder whose px4 is the stand-in."""
    for place in ("bin", "etc/init.d-posix/airframes"):
        (tmp_path / "build" / place).mkdir(parents=True)
    (tmp_path / "build/etc/init.d-posix/rcS").write_text("")
    (tmp_path / "build/etc/init.d-posix/airframes/10016_none_iris").write_text("")
    binary = tmp_path / "build/bin/px4"
    binary.write_text(STAND_IN)
    binary.chmod(0o755)
    return tmp_path / "build"


@pytest.fixture
def folder(tmp_path):
    """A run folder."""
    for sub in ("console", "ulog"):
        (tmp_path / "run" / sub).mkdir(parents=True)
    return tmp_path / "run"
