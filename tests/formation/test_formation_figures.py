"""The table of a run's figures."""

import json
from types import SimpleNamespace

import pytest

from xtdrone_core.command import main
from xtdrone_formation import FormationError
from xtdrone_formation.evaluation import plots

SUMMARY = {
    "formations": [
        {
            "name": "cube",
            "settle_time_s": 3.44,
            "rms_slot_error_m": 0.193,
            "max_slot_error_m": 0.335,
            "rms_velocity_error_m_s": 0.06,
        },
        {
            "name": "pyramid",
            "settle_time_s": None,
            "rms_slot_error_m": None,
            "max_slot_error_m": None,
            "rms_velocity_error_m_s": None,
        },
    ],
    "min_separation_m": 1.39,
    "collisions": 0,
    "real_time_factor": 3.26,
    "landed": True,
}


def test_table_of_formations_and_of_the_flight(tmp_path, capsys):
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY))
    assert main(["formation", "table", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "formation  settled  slot error RMS  at most  velocity RMS",
        "-" * 57,
        "cube        3.44 s         0.193 m  0.335 m      0.06 m/s",
        "pyramid          -               -        -             -",
        "-" * 57,
        "least separation  1.39 m",
        "collisions        0",
        "real-time factor  3.26",
        "all landed        yes",
        f"run folder        {tmp_path}",
    ]


@pytest.mark.parametrize("text", [None, "{"])
def test_a_folder_without_a_summary_is_one_line(tmp_path, capsys, text):
    if text is not None:
        (tmp_path / "summary.json").write_text(text)
    assert main(["formation", "table", str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert "summary.json'" in err and err.count("\n") == 1
    assert "give the folder of a run that has ended" in err


def test_runs_without_a_formation_are_not_compared(tmp_path):
    with pytest.raises(FormationError, match="no formation was flown in these runs"):
        plots.comparison([SimpleNamespace(windows=())], tmp_path / "comparison.png")
