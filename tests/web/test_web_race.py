"""The server's side of the race panel."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import axe
import browser
from race_run import write_run
from web_simulation import serving
from xtdrone_core import XtdroneError
from xtdrone_web.errors import WebError
from xtdrone_web.panels.panel import Services
from xtdrone_web.panels.race import Race


def race_of(track, ghost=""):
    """The panel of a simulation that answers with `asked`, the number of its requests."""

    class World:
        asked = 0

        def ask(self, op):
            self.asked += 1
            return {"vehicles": [], "asked": self.asked}

    return Race(Services(SimpleNamespace(track=track, ghost=ghost), None, World()))


def frame(*passages):
    return {"passages": np.array(passages, dtype=np.int64)}


@pytest.fixture
def race(tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path / "runs"))
    write_run(tmp_path / "runs" / "old", "eight", ((1.0, 3.0),))
    write_run(tmp_path / "elsewhere", "eight", ((1.0, 2.5),))
    return race_of("eight", str(tmp_path / "elsewhere"))


def test_a_simulation_without_a_race():
    race = race_of("")
    assert race.scene()["race"] is None and race.on_frame(frame(0, 0)) is None
    for ask in (race.runs, race.ghost):
        with pytest.raises(WebError, match="--track NAME"):
            ask({"run": "old"})


def test_scene_and_changes(race):
    described = race.scene()["race"]
    assert (described["track"], described["laps"], len(described["gates"])) == ("eight", 3, 6)
    assert len(described["gates"][0]["bars"]) == 4
    json.dumps(described)
    assert race.on_frame(frame(0, 0))() == {"op": "laps", "vehicles": [], "asked": 1}
    assert race.on_frame(frame(0, 0)) is None
    assert race.on_frame(frame(0, 1))()["asked"] == 2
    assert race.scene()["laps"]["asked"] == 2


def test_ghosts_by_name_and_the_one_that_was_given(race):
    assert race.runs({}) == {"runs": [{"run": "old", "best_s": 3.0}]}
    assert race.ghost({"run": "old"})["ghost"]["splits"][-1] == 3.0
    assert race.ghost({"run": race.scene()["race"]["ghost"]})["ghost"]["splits"][-1] == 2.5


@pytest.mark.parametrize("run", [None, "", "new", "../elsewhere", "/etc", ["old"], {"a": 1}, 3])
def test_other_paths_are_refused(race, run):
    with pytest.raises(XtdroneError, match="name of a run"):
        race.ghost({"run": run})


@pytest.mark.long
@pytest.mark.skipif(bool(axe.missing()), reason=axe.missing())
@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_axe_finds_nothing_on_a_race(context, tmp_path, size):
    with serving(tmp_path, "--track", "eight", "--vehicle", "racer") as running:
        page, errors = browser.opened(context, running.url, most=8)
        page.set_viewport_size({"width": size[0], "height": size[1]})
        for theme in ("light", "dark"):
            page.evaluate(f"station.setTheme('{theme}')")
            page.evaluate("station.panels.show('race')")
            page.wait_for_timeout(150)
            assert page.is_visible("#p-race")
            assert axe.violations(page) == [], theme
        page.close()
    assert errors == []


@pytest.mark.long
def test_laps_are_known_before_the_first_gate(context, tmp_path):
    """Also to a page that was told of them while it still loaded its panels."""
    with serving(tmp_path, "--track", "eight") as running:
        page, errors = browser.opened(context, running.url, most=8)
        browser.until(page, "station.panel.race.state?.vehicles.length === 1")
        assert page.evaluate("station.early.length") == 0
        page.close()
    assert errors == []
