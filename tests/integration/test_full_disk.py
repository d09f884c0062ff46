"""A disk that is full or read-only, in flight: a small one, in a mount namespace of its own."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from waiting import LIMIT_S

UNSHARE = ["unshare", "--user", "--map-root-user", "--mount"]
needs_mounts = pytest.mark.skipif(
    shutil.which("unshare") is None
    or subprocess.run(
        [*UNSHARE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True
    ).returncode
    != 0,
    reason="mount namespaces are not permitted here",
)


@needs_mounts
def test_a_flight_goes_on_while_its_disk_is_full_or_read_only(tmp_path):
    flown = subprocess.run(
        [
            *UNSHARE,
            sys.executable,
            Path(__file__).parents[1] / "support" / "full_disk.py",
            tmp_path,
        ],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert flown.returncode == 0, flown.stderr
    assert (
        flown.stderr.count(
            "warning: events.jsonl cannot be written from 0.00 s on: No space "
            "left on device; the flight goes on"
        )
        == 1
    )
    assert flown.stderr.count("cannot be written") == 1
    report = json.loads(flown.stdout)
    t_s = np.array(report["truth"]) * 1e-6
    before = np.flatnonzero(np.diff(t_s) > 0.021)
    np.testing.assert_allclose(t_s[before], [2.0, 8.0])
    np.testing.assert_allclose(t_s[before + 1], [5.02, 10.02])
    for i, log in enumerate(report["ulog"]):
        assert not log["damaged"] and log["end"] == 11.0 + 0.5 * i
        assert log["dropouts"] == [[1.0 + 0.5 * i, 3000], [7.0 + 0.5 * i, 2000]]
    gaps = {gap["log"]: gap["missing_s"] for gap in report["summary"]["log_gaps"]}
    assert gaps == {
        "truth.bin": [[2.0, 5.0], [8.0, 10.0], [12.0, None]],
        "ulog/iris_0/log001.ulg": [[1.0, 4.0], [7.0, 9.0], [11.0, None]],
        "ulog/iris_1/log001.ulg": [[1.5, 4.5], [7.5, 9.5], [11.5, None]],
        "events.jsonl": [[0.0, None]],
        "console/autopilot.log": [[0.0, None]],
        "summary.json": [[8.0, 10.0]],
    }
    assert report["summary"]["ended"] == "finished" and report["summary"]["sim_time_s"] == 14.0
    # Also on the full disk a summary was written, but not on the one that is read-only.
    assert [summary["sim_time_s"] for summary in report["summaries"]] == [2, 5, 8, 8, 12, 14]
    assert {summary["ended"] for summary in report["summaries"]} == {"unfinished"}
