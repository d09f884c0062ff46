"""Run folders by their names, and what is said where there is none."""

import os
from pathlib import Path

import pytest

from xtdrone_core import XtdroneError, command
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.truth_log import read_truth


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Two runs, the second one newer."""
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    for age, name in enumerate(["square", "formation"]):
        folder = run_folder.create(name)
        os.utime(folder, (age, age))
    return tmp_path


def test_a_run_is_found_by_its_name_its_path_and_as_the_latest(runs):
    assert run_folder.names() == ["formation", "square"]
    assert run_folder.find("square") == runs / "square"
    assert run_folder.find(str(runs / "square")) == runs / "square"
    assert run_folder.find("latest").resolve() == runs / "formation"


def test_an_unknown_run_names_the_nearest_and_the_newest(runs):
    with pytest.raises(
        XtdroneError,
        match=r"no run 'formatoin'.*the newest are formation, square; "
        r"did you mean 'formation'\?",
    ):
        run_folder.find("formatoin")


@pytest.mark.parametrize("run", ["latest", "a\0b", "x" * 5000])
def test_without_runs_there_is_one_line(tmp_path, monkeypatch, run):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path / "none"))
    with pytest.raises(XtdroneError, match="no run '") as caught:
        run_folder.find(run)
    assert "\n" not in str(caught.value)
    assert run_folder.names() == []


def test_a_run_that_ended_before_its_first_record_says_so(tmp_path):
    (tmp_path / "truth.bin").write_bytes(b"")
    with pytest.raises(XtdroneError, match="has no record: the run ended before its first one"):
        read_truth(tmp_path / "truth.bin", 2)


def test_a_flight_of_the_simple_simulator_is_told_from_what_is_no_run(tmp_path):
    with pytest.raises(XtdroneError, match="give the name of a run"):
        run_folder.scenario_file(tmp_path)
    (tmp_path / run_folder.TRUTH).touch()
    with pytest.raises(XtdroneError, match="simple simulator: 'xtdrone formation report' draws it"):
        run_folder.scenario_file(tmp_path)
    (tmp_path / run_folder.SCENARIO).touch()
    assert run_folder.scenario_file(tmp_path) == tmp_path / run_folder.SCENARIO


def test_a_folder_in_which_nothing_can_be_written_is_refused(tmp_path):
    run_folder.require_writable(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []  # what was made to try is removed
    with pytest.raises(XtdroneError, match=r"cannot write into '/proc/runs' \(.*\): start it in"):
        run_folder.require_writable(Path("/proc/runs"))


def test_the_start_page_says_so_in_a_folder_that_cannot_be_written(monkeypatch, capsys):
    monkeypatch.setenv("XTDRONE_RUNS", "/proc/runs")
    assert command.main(["web"]) == XtdroneError.status
    error = capsys.readouterr().err
    assert "cannot write into '/proc/runs'" in error and error.count("\n") == 1
