"""Campaigns that are killed, the journal, workers, the table and the summary."""

import csv
import math
import os
import subprocess
import sys

import psutil
import pytest

from campaign_plans import made
from campaign_tasks import task
from waiting import until
from xtdrone_campaign import intervals, report, table
from xtdrone_campaign.batch import fly_batch
from xtdrone_campaign.errors import CampaignError
from xtdrone_campaign.flight import CRASHED, GOOD, Result, fly
from xtdrone_campaign.journal import Journal
from xtdrone_campaign.runners import Done, ProcessRunner

# Each flight ends after 0.4 s of simulated time: 50 ms of wall time.
WORDS = ["square", "--vary", "wind=0..3/3", "--seeds", "6", "--longest", "0.4"]
COMMAND = [sys.executable, "-m", "xtdrone_core.command", "campaign", *WORDS, "--workers", "1"]


@pytest.mark.long
def test_a_campaign_that_is_killed_twice_ends_in_the_table_of_an_undisturbed_one(tmp_path):
    plan = made(*WORDS)
    wanted = table.collect(plan, {k: fly(plan.flight(k)) for k in range(len(plan))})
    undisturbed = table.write(tmp_path, wanted)[0].read_bytes()
    assert undisturbed.count(b"\n") == 13
    folder = tmp_path / "out"
    journal = folder / "campaign" / "results.jsonl"
    before = 0
    for _ in range(2):
        with subprocess.Popen([*COMMAND, "--out", str(folder)], stderr=subprocess.PIPE) as process:
            until(
                lambda: journal.is_file() and journal.read_bytes().count(b"\n") > before,
                "a flight has ended",
                process,
            )
            workers = psutil.Process(process.pid).children(recursive=True)
            process.kill()
        assert workers and not psutil.wait_procs(workers, timeout=30)[1]  # none is left
        before = journal.read_bytes().count(b"\n")
        assert before < 12
    done = subprocess.run([*COMMAND, "--out", str(folder)], capture_output=True, text=True)
    assert done.returncode == 4 and "0 of 12 flights succeeded" in done.stdout
    assert (folder / "campaign" / "flights.csv").read_bytes() == undisturbed
    assert "12 flights: 12 unfinished." in (folder / "campaign" / "summary.md").read_text()
    assert (folder / "campaign" / "plots" / "success.png").stat().st_size > 5_000


def test_a_journal_keeps_whole_lines_of_one_writer(tmp_path):
    results = [Result(GOOD, "", {"path_m": 0.1 + k}, 2.0) for k in range(2)]
    with Journal(tmp_path, 3) as journal:
        journal.add(1, results[0])
        with pytest.raises(CampaignError, match="another program flies the campaign"):
            Journal(tmp_path, 3)
    with open(tmp_path / "results.jsonl", "a") as file:
        file.write('{"flight": 7, "status": "good"}\nnonsense\n{"flight": 2, "sta')
    with Journal(tmp_path, 3) as journal:
        assert journal.results == {1: results[0]}
        journal.add(2, results[1])
        journal.add(1, Result(CRASHED, "it fell", {}, 1.0))
    with Journal(tmp_path, 3) as journal:  # the last line of a flight holds
        assert journal.results == {1: Result(CRASHED, "it fell", {}, 1.0), 2: results[1]}


def children():
    """Processes of this one; other tests may have left helpers of multiprocessing."""
    return {child.pid for child in psutil.Process(os.getpid()).children()}


def test_a_worker_that_is_killed_is_replaced_once(tmp_path):
    before = children()
    tasks = [(1, None), (2, tmp_path / "once"), (-3, tmp_path / "always"), (4, None)]
    done = sorted(ProcessRunner(task, 2, 60.0).run(tasks), key=lambda each: each.index)
    assert done[:2] + done[3:] == [Done(0, 2), Done(1, 4), Done(3, 8)]
    assert done[2].value is None and "ended 2 times, the last time by SIGKILL" in done[2].error
    assert children() == before


def test_workers_end_with_what_uses_them():
    before = children()
    runner = ProcessRunner(task, 2, 60.0).run([(1, None)] * 9)
    assert next(runner).value == 2 and len(children()) > len(before)
    with pytest.raises(KeyboardInterrupt):
        runner.throw(KeyboardInterrupt())
    assert children() == before


@pytest.mark.slow
def test_the_figures_of_a_flight():
    plan = made(
        "square",
        "--vary",
        "MPC_XY_VEL_MAX=1.5,12",
        "--vary",
        "gps=rtk",
        "--set",
        "side=3",
        "--set",
        "hold=0",
        "--wind",
        "4,0,0",
    )
    slow, fast = (fly(plan.flight(k)) for k in range(2))
    assert slow.status == fast.status == GOOD and slow.reason == ""
    figures = fast.figures
    # Four sides of 3 m, climb and descent of 3 m; rounded corners shorten it, wind moves it.
    assert 13.0 < figures["path_m"] < 20.0
    assert figures["goals"] == 1 and figures["collisions"] == 0
    assert figures["track_rms_m"] < figures["track_max_m"] < 4.5
    assert figures["estimate_rms_m"] < figures["estimate_max_m"] < 0.6
    assert figures["landing_error_m"] < 0.6
    # An iris of 1.5 kg hovers with 0.6 kW of shaft power by its drag moments.
    assert 0.2 < figures["energy_kj"] / figures["simulated_s"] < 1.0
    assert slow.figures["speed_max_m_s"] < figures["speed_max_m_s"]  # the parameter counts
    crashed = fly(made("square", "--disturbances", "9: rotor iris_0 2 0").flight(0))
    assert crashed.status == CRASHED and crashed.reason.startswith("iris_0")


@pytest.mark.slow
def test_flights_in_a_batch_are_those_of_the_lockstep_without_sensors():
    words = ["square", "--vary", "wind=3", "--vary", "dryden=0,5", "--seeds", "2,3,4,6"]
    plan = made(*words, "--batch", "--set", "hold=0.5")
    assert plan.groups(range(8), 9) == [[0, 1, 2], [3], [4, 5, 6], [7]]
    assert plan.groups([1, 2, 6], 1) == [[1], [2], [6]]
    calm, gusty = (fly_batch([plan.flight(k) for k in group]) for group in ([0, 1], [4, 5, 6]))
    assert fly_batch([plan.flight(6)])[0].figures == gusty[2].figures  # alone as with others
    assert calm[0].figures == calm[1].figures and gusty[0].figures != gusty[1].figures
    flight = fly(made(*words, "--set", "hold=0.5", "--gps", "rtk").flight(0)).figures
    assert {result.status for result in calm + gusty} == {GOOD}
    assert calm[0].figures["track_max_m"] == pytest.approx(flight["track_max_m"], rel=0.1)


def test_intervals():
    # Wilson (1927): 8 of 10; Student: 2.776 of four degrees of freedom.
    found = intervals.proportion(8, 10)
    assert (found.value, found.low, found.high) == pytest.approx((0.8, 0.4902, 0.9433), abs=1e-4)
    assert intervals.proportion(0, 5).low == 0.0 and intervals.proportion(5, 5).high == 1.0
    found = intervals.mean([1.0, 2.0, 3.0, 4.0, 5.0])
    half = 2.7764 * math.sqrt(2.5 / 5)
    assert (found.value, found.low, found.high) == pytest.approx((3, 3 - half, 3 + half), abs=1e-4)
    assert math.isnan(intervals.mean([1.0]).low) and math.isnan(intervals.proportion(0, 0).value)


def test_the_summary_and_the_parquet_table(tmp_path):
    plan = made("square", "--vary", "wind=0,4", "--vary", "gps=rtk,m8n", "--seeds", "2")
    results = {
        k: Result(
            *((CRASHED, "it fell") if k == 5 else (GOOD, "")), {"path_m": 10.0 + k} if k else {}
        )
        for k in range(len(plan))
    }
    found = table.collect(plan, results)
    text = report.summary(found, "the command")
    assert "8 flights: 7 good, 1 crashed." in text
    assert "| path [m] | 14 (12 to 16) | 14 | 7 |" in text
    assert "| 4 | 4 | 0.75 (0.301 to 0.954) |" in text
    assert "| 4 | rtk | 2 | 0.5 (0.0945 to 0.905) |" in text
    assert "- flight 5, crashed: it fell" in text
    parquet = pytest.importorskip("pyarrow.parquet")
    paths = {path.suffix: path for path in table.write(tmp_path, found)}
    rows = parquet.read_table(paths[".parquet"]).to_pylist()
    with open(paths[".csv"], newline="") as file:
        for row, line in zip(rows, csv.DictReader(file), strict=True):
            assert [
                (
                    ""
                    if value is None
                    else f"{value:.12g}"
                    if isinstance(value, float)
                    else str(value)
                )
                for value in row.values()
            ] == list(line.values())
