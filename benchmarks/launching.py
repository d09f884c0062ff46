"""Wall time from the start of roslaunch until the fleet is armed, at real time."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[1]
GIVE_UP_S = 90.0


def seconds_to_armed(
    n: int, work: results.Work, root: Path = ROOT, environment: Mapping[str, str] = os.environ
) -> float:
    """Launches a formation flight of a checkout and waits until every vehicle is armed."""
    with tempfile.TemporaryDirectory() as runs:
        begin = time.monotonic()
        launch = subprocess.Popen(
            [
                "roslaunch",
                root / "launch" / "formation.launch",
                f"n:={n}",
                "speed:=1",
                "name:=launch",
                "record:=false",
                "formations:=line",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**environment, "XTDRONE_RUNS": runs},
        )
        try:
            log = Path(runs) / "launch" / "console" / "autopilot.log"
            while True:
                armed = log.read_text().count("] Armed") if log.exists() else 0
                elapsed = time.monotonic() - begin
                if armed >= n:
                    work.count("vehicles armed", armed, n)
                    return elapsed
                if elapsed > GIVE_UP_S or launch.poll() is not None:
                    raise SystemExit(f"only {armed} of {n} vehicles armed after {elapsed:.0f} s")
                time.sleep(0.02)
        finally:
            if launch.poll() is None:
                os.killpg(launch.pid, signal.SIGINT)
                launch.wait(timeout=60)
