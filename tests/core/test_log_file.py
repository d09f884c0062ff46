"""Logs on a disk that takes no more, and summaries."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from small_disk import files_end_at
from xtdrone_core import FleetState
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.log_file import MAX, LogFile, LogGaps
from xtdrone_core.runs.truth_log import TruthWriter, read_truth


def test_a_log_keeps_whole_records_and_goes_on_once_there_is_space(tmp_path):
    said = []
    gaps = LogGaps(tmp_path, said.append)
    log = LogFile(tmp_path / "log", gaps)
    assert log.append(b"one\n", 1_000_000)
    with files_end_at(6):
        assert not log.append(b"two\n", 2_000_000) and not log.append(b"three\n", 3_000_000)
    assert log.broken and log.path.read_bytes() == b"one\n"
    assert gaps.table() == [{"log": "log", "reason": "File too large", "missing_s": [[1.0, None]]}]
    assert log.append(b"four\n", 4_000_000)
    assert not log.broken and log.path.read_bytes() == b"one\nfour\n"
    assert gaps.table()[0]["missing_s"] == [[1.0, 3.0]]
    assert len(said) == 1 and said[0].startswith("log cannot be written from 1.00 s on: File too")


@pytest.mark.parametrize(
    "path, reason",
    [("/dev/full", "No space left on device"), ("/nowhere/log", "No such file or directory")],
)
def test_one_warning_for_all_logs(tmp_path, path, reason):
    said = []
    gaps = LogGaps(tmp_path, said.append)
    for _ in range(3):
        assert not LogFile(path, gaps).append(b"x", 5)
    assert [gap["reason"] for gap in gaps.table()] == [reason] and len(said) == 1


def test_a_disk_that_is_nearly_full_leaves_a_list_of_limited_length():
    gaps = LogGaps(None, list)
    for second in range(20):
        gaps.begin(Path("log"), second * 1_000_000, "full")
        gaps.end(Path("log"), second * 1_000_000 + 500_000)
    missing = gaps.table()[0]["missing_s"]
    assert len(missing) == MAX and missing[-1] == [MAX - 1.0, 19.5]


def test_a_truth_log_has_a_gap_while_the_disk_is_full(tmp_path):
    gaps = LogGaps(tmp_path, list)
    writer = TruthWriter(tmp_path / "truth.bin", 1, gaps)
    state = FleetState.zeros(1, 4)
    state.quat[:, 3] = 1.0

    def write(begin_us, end_us):
        for state.t_us in range(begin_us, end_us, 20_000):
            writer.write(state)

    write(20_000, 2_500_000)
    with files_end_at(12_000):
        write(2_500_000, 3_500_000)
    write(3_500_000, 5_000_001)
    writer.close()
    t_us, _ = read_truth(tmp_path / "truth.bin", 1)
    missing = np.flatnonzero(np.diff(t_us) != 20_000)
    ((begin, end),) = gaps.table()[0]["missing_s"]
    assert len(missing) == 1 and t_us[-1] == 5_000_000
    assert begin == t_us[missing[0]] / 1e6
    assert end == pytest.approx(t_us[missing[0] + 1] / 1e6 - 0.02)


def test_events_with_the_disk_full_do_not_end_the_flight(tmp_path):
    gaps = LogGaps(tmp_path, list)
    events = run_folder.EventLog(tmp_path, gaps)
    events.add(1, "takeoff")
    with files_end_at(40):
        events.add(2, "landed", place="x" * 40)
    assert json.loads((tmp_path / "events.jsonl").read_text())["event"] == "takeoff"
    assert gaps.table()[0]["log"] == "events.jsonl"


def test_a_summary_is_replaced_as_a_whole_and_merged(tmp_path):
    run_folder.update_summary(tmp_path, reserve=5000, n=1, ended="unfinished")
    first = (tmp_path / run_folder.SUMMARY).stat()
    assert [path.stat().st_size for path in tmp_path.iterdir()] == [8192, 8192]  # and the spare
    run_folder.update_summary(tmp_path, reserve=5000, metric=2.5)
    assert json.loads((tmp_path / run_folder.SUMMARY).read_text()) == {
        "n": 1,
        "ended": "unfinished",
        "metric": 2.5,
    }
    assert (tmp_path / run_folder.SUMMARY).stat().st_ino != first.st_ino
    run_folder.update_summary(tmp_path, ended="finished")
    assert os.listdir(tmp_path) == [run_folder.SUMMARY]
    assert (tmp_path / run_folder.SUMMARY).stat().st_size < 200


def test_a_damaged_summary_is_replaced(tmp_path):
    for text in ("", "{", "[1]", "\x00"):
        (tmp_path / run_folder.SUMMARY).write_text(text)
        assert run_folder.update_summary(tmp_path, n=2) == {"n": 2}
