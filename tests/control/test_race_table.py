"""The table of pilots on a track."""

import pytest

from race_run import write_run
from xtdrone_control.race_table import MAX_RUNS, draw, lines, read_entries
from xtdrone_core import XtdroneError
from xtdrone_core.racing.track import read_track

TRACK = """gates:
- {pos: [3, 0, 2]}
- {pos: [6, 0, 2]}
"""


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Three runs on a track: the second is quickest, the third has no whole lap."""
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path / "runs"))
    track = tmp_path / "straight.yaml"
    track.write_text(TRACK)
    write_run(tmp_path / "runs" / "slow", track, [(1.0, 4.0)])
    write_run(tmp_path / "runs" / "quick", track, [(0.5, 5.0), (5.5, 3.0)])
    write_run(tmp_path / "runs" / "none", track, [])
    return track


def test_pilots_stand_in_the_order_of_their_best_laps(runs):
    entries, track = read_entries(["human=slow", "quick"])
    assert track == read_track(runs)
    head, first, second = lines(entries)
    assert head.split() == ["pilot", "vehicle", "gate", "2", "gate", "1"]
    assert first.split() == ["quick", "iris", "1.50", "(+0.00)", "3.00", "(+0.00)"]
    assert second.split() == ["human", "iris", "2.00", "(+0.50)", "4.00", "(+1.00)"]


def test_laps_are_drawn_side_by_side(runs):
    figure = draw(*read_entries(["human=slow", "quick"]))
    above, gaps = figure.axes
    assert len(gaps.lines) == 2 and gaps.lines[1].get_ydata().tolist() == [0.5, 1.0]
    assert above.get_legend_handles_labels()[1] == ["quick", "human"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["slow"] * (MAX_RUNS + 1), "9 runs are not allowed"),
        (["slow", "slow"], "given twice"),
        (["=slow"], "give PILOT=RUN"),
        (["none"], "no whole lap"),
        (["missing"], "missing"),
    ],
)
def test_what_is_no_table_is_refused(runs, given, message):
    with pytest.raises(XtdroneError, match=message) as refused:
        read_entries(given)
    assert "\n" not in str(refused.value)
