"""A stand-in for PX4's build folder, whose px4 only sleeps."""

import pytest

STAND_IN = """#!/bin/sh
echo started "$@" $PX4_SIM_MODEL
sleep 600 &
[ -p "$STARTED" ] && echo $! > "$STARTED"
wait
"""


# Of PX4's start-up script, as far as another instance changes it.
LINKS = """udp_offboard_port_remote=$((14540+px4_instance))
[ "$px4_instance" -gt 9 ] && udp_offboard_port_remote=14549 # shared past ten
udp_gcs_port_local=$((18570+px4_instance))
mavlink start -x -u $udp_gcs_port_local -r 4000000 -f
mavlink stream -r 50 -s ATTITUDE -u $udp_gcs_port_local
mavlink start -x -u $udp_offboard_port_local -r 4000000 -o $udp_offboard_port_remote
"""


@pytest.fixture
def build(tmp_path):
    """A build folder whose px4 is the stand-in."""
    for place in ("bin", "etc/init.d-posix/airframes"):
        (tmp_path / "build" / place).mkdir(parents=True)
    scripts = tmp_path / "build/etc/init.d-posix"
    (scripts / "rcS").write_text("")
    (scripts / "px4-rc.mavlink").write_text(LINKS)
    (scripts / "px4-rc.params").write_text("")
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
