"""What the server tells pages of a race."""

import json

import numpy as np
import pytest

from race_run import write_run
from xtdrone_core import XtdroneError
from xtdrone_web.errors import WebError
from xtdrone_web.server.race import Race


@pytest.fixture
def race(tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path / "runs"))
    write_run(tmp_path / "runs" / "old", "eight", ((1.0, 3.0),))
    write_run(tmp_path / "elsewhere", "eight", ((1.0, 2.5),))
    return Race("eight", str(tmp_path / "elsewhere"))


def test_a_simulation_without_a_race():
    race = Race("", "")
    assert race.told is None and not race.changed(np.zeros(2, dtype=np.int64))
    for ask in (race.runs, race.ghost):
        with pytest.raises(WebError, match="--track NAME"):
            ask({"run": "old"})


def test_scene_and_changes(race):
    assert (race.told["track"], race.told["laps"], len(race.told["gates"])) == ("eight", 3, 6)
    assert len(race.told["gates"][0]["bars"]) == 4
    json.dumps(race.told)
    counts = np.zeros(2, dtype=np.int64)
    assert race.changed(counts) and not race.changed(counts)
    counts[1] += 1
    assert race.changed(counts)


def test_ghosts_by_name_and_the_one_that_was_given(race):
    assert race.runs({}) == {"runs": [{"run": "old", "best_s": 3.0}]}
    assert race.ghost({"run": "old"})["ghost"]["splits"][-1] == 3.0
    assert race.ghost({"run": race.told["ghost"]})["ghost"]["splits"][-1] == 2.5


@pytest.mark.parametrize("run", [None, "", "new", "../elsewhere", "/etc", ["old"], {"a": 1}, 3])
def test_other_paths_are_refused(race, run):
    with pytest.raises(XtdroneError, match="name of a run"):
        race.ghost({"run": run})
