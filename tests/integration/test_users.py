"""Files as users bring them, those in tests/data/users: read, or refused with a reason.

A file in a folder `refused` has to be refused, each other one to be read.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rosbags")
pytest.importorskip("mcap")

ROOT = Path(__file__).parents[2]
USERS = ROOT / "tests" / "data" / "users"


def rows(folder, *words):
    run = subprocess.run(
        [sys.executable, ROOT / "scripts" / "users.py", folder, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    return run.returncode, run.stdout


@pytest.mark.slow
def test_every_file_is_read_or_refused_with_a_reason():
    status, text = rows(USERS, "--json")
    found = json.loads(text)
    assert status == 0 and len(found) > 25
    for row in found:
        wanted = "refused" if "refused/" in row["file"] else "read"
        assert row["outcome"] in (wanted, "passed over"), row
        assert (row["outcome"] == "passed over") == (not row["what"]), row
    assert {row["file"] for row in found if row["outcome"] == "passed over"} == {
        "calibrations/imu.yaml",
        "calibrations/openvins/kalibr_imu_chain.yaml",
        "refused/imu.yaml",
        "trajectories/kitti/00_times.txt",
    }


@pytest.mark.slow
def test_the_table_says_how_many_and_a_crash_ends_with_status_1(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.tum").write_text("0 0 0 1 0 0 0 1")
    (tmp_path / "b.params").write_text("")
    (tmp_path / "notes.md").write_text("hello")
    status, text = rows(tmp_path)
    lines = text.splitlines()
    assert status == 0 and lines[-1] == "1 read, 1 refused, 0 crashed, 1 passed over"
    assert lines[0].startswith("refused      b.params  ") and "has no parameter" in lines[0]
    assert lines[1] == "read         deep/a.tum  1 poses, 0.0 s"
