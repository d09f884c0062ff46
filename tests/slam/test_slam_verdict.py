"""Verdicts: limits, reasons, and that table, report, summary.json and exit status agree."""

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("cv2")
pytest.importorskip("evo")

from slam_truth import plan, write_adapter, write_hall
from xtdrone_core import command
from xtdrone_core.errors import MISSED
from xtdrone_core.runs import run_folder
from xtdrone_slam import SlamError
from xtdrone_slam.benchmark import campaign, plan as plans
from xtdrone_slam.evaluation import results, tables, verdict
from xtdrone_slam.evaluation.verdict import DEFAULTS, Limits

_COMPLETE = {"reason": "", "frames": 625, "answers": 625, "dropped": 0, "lost": 0}


def accuracy(metres, degrees, path_m=24.0):
    """An Evaluation, as far as a verdict needs it."""
    statistics = {"ape_translation": {"rmse": metres}, "ape_rotation": {"rmse": degrees}}
    return SimpleNamespace(statistics=statistics, path_m=path_m)


@pytest.mark.parametrize(
    "metres, degrees, path_m, word, says",
    [
        (0.08, 1.5, 24.0, "good", ""),
        (
            2.29,
            45.0,
            24.0,
            "poor",
            "APE 2.29 m on a path of 24.0 m, more than 0.24 m; APE 45 degrees",
        ),
        (0.25, 1.0, 24.0, "poor", "APE 0.25 m"),
        (0.25, 1.0, 30.0, "good", ""),
        (0.04, 1.0, 0.0, "good", ""),
        (0.06, 1.0, 1.0, "poor", "path of 1.0 m, more than 0.05 m"),
        (0.1, 5.1, 24.0, "poor", "5.1 degrees, more than 5"),
    ],
)
def test_accuracy_is_judged_by_the_length_of_the_path(metres, degrees, path_m, word, says):
    found = verdict.judge(_COMPLETE, accuracy(metres, degrees, path_m), DEFAULTS)
    assert found.word == word and says in found.reason and bool(found.reason) == (word != "good")


@pytest.mark.parametrize(
    "change, word, says",
    [
        ({"dropped": 6}, "good", ""),
        ({"dropped": 7}, "poor", "7 of 625 pairs dropped, more than 1 %"),
        ({"lost": 31}, "good", ""),
        ({"lost": 32}, "poor", "poses for 593 of 625 pairs, less than 95"),
        ({"frames": 1250, "not_arrived": 625}, "good", ""),  # lost by the channel
        ({"reason": "jumped 30.0 m"}, "failed", "jumped 30.0 m"),
    ],
)
def test_completeness_is_judged_by_the_pairs_that_arrived(change, word, says):
    found = verdict.judge({**_COMPLETE, **change}, accuracy(0.08, 1.0), DEFAULTS)
    assert found.word == word and says in found.reason


def test_a_run_without_a_trajectory_failed():
    assert verdict.judge(_COMPLETE, None, DEFAULTS).word == "failed"


def test_a_user_sets_the_limits():
    limits = verdict.parse_limits(["ape_percent=10", "ape_deg=60"])
    assert limits == Limits(ape_percent=10.0, ape_deg=60.0)
    assert verdict.judge(_COMPLETE, accuracy(2.29, 45.0), limits).word == "good"
    assert "10 % of the path" in limits.text() and "60 degrees" in limits.text()
    one = plans.parse({"systems": ["klt"], "limits": {"dropped_percent": 5}})
    assert one.limits == Limits(dropped_percent=5.0)


@pytest.mark.parametrize(
    "given, says",
    [
        ("ape_percent", "NAME=VALUE"),
        ("ape=1", "unknown limit 'ape'.*ape_percent"),
        ("ape_deg=-1", "ape_deg -1 is not allowed.*from 0 to 180 deg"),
        ("ape_deg=a", "ape_deg a is"),
        ("complete_percent=101", "to 100"),
        ("ape_percent=nan", "not allowed"),
    ],
)
def test_limits_that_make_no_sense(given, says):
    with pytest.raises(SlamError, match=says):
        verdict.parse_limits([given])


@pytest.fixture(scope="module")
def hall(tmp_path_factory):
    """A recording, the adapter of a system that is off by 10 cm on demand, and its runs."""
    folder = tmp_path_factory.mktemp("verdict")
    long, fake = write_hall(folder / "hall"), write_adapter(folder / "fake")
    benchmark = folder / "benchmark"
    assert campaign.execute(plan(fake, long), benchmark, serial=True) == []
    return SimpleNamespace(fake=fake, long=long, benchmark=benchmark)


@pytest.mark.long
@pytest.mark.parametrize(
    "words, status, word, good",
    [
        (["error=0.1"], MISSED, "poor", "0 of 2"),
        (["error=0.1", "--limit", "ape_least_m=0.2"], 0, "good", "2 of 2"),
        (["end=3"], MISSED, "failed", "0 of 2"),
    ],
)
def test_table_report_summary_and_exit_status_agree(
    hall, tmp_path, monkeypatch, capsys, words, status, word, good
):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path / "runs"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert (
        command.main(
            [
                "slam",
                "run",
                "--system",
                str(hall.fake),
                "--dataset",
                str(hall.long),
                "--runs",
                "2",
                "--speed",
                "0",
                "--name",
                "one",
                "--set",
                *words,
            ]
        )
        == status
    )
    said = capsys.readouterr().out
    (flight,) = results.load(
        tmp_path / "runs" / "one", limits=Limits(ape_least_m=0.2 if "--limit" in words else 0.05)
    )
    assert {run.verdict.word for _, run in flight.runs} == {word}
    summary = run_folder.read_summary(tmp_path / "runs" / "one")["slam"]
    assert summary["verdict"] == word and len(summary["runs"]) == 2
    assert {run["verdict"] for run in summary["runs"]} == {word}
    reasons = [run["reason"] for run in summary["runs"]]
    assert all(reason in said for reason in reasons) and bool(reasons[0]) == (word != "good")
    assert good in said and f"| {word} |" in tables.runs(flight).markdown()
    report = (tmp_path / "runs" / "one" / "report.md").read_text()
    assert f"| good runs | {good} |" in report and flight.limits.text() in report
    assert not list((tmp_path / "here").iterdir())


def test_means_are_of_the_good_runs_and_say_so_if_there_is_none(hall, tmp_path):
    shutil.copytree(hall.benchmark, tmp_path / "b")
    path = tmp_path / "b" / "hall" / "fake_error0.0" / "run_1"
    moved = (tmp_path / "b" / "hall" / "fake_error0.1" / "run_1" / "estimate.tum").read_text()
    (path / "estimate.tum").write_text(moved)
    (flight,) = results.load(tmp_path / "b")
    mixed, wrong = flight.systems
    assert [run.number for run in mixed.counted] == [2] and mixed.title == "fake_error0.0"
    assert np.abs(mixed.statistics("ape_translation", "rmse")).max() < 1e-6
    assert len(wrong.counted) == 2 and wrong.title == "fake_error0.1 (poor)"
    text = tables.closing([flight])
    assert "1 of 2" in text and "0 of 2" in text and "fake_error0.0 on hall, run 1: poor" in text
    failed = json.loads((path / "outcome.json").read_text())
    (path / "outcome.json").write_text(json.dumps({**failed, "reason": "crashed"}))
    assert results.worst(results.load(tmp_path / "b")) == "failed"
