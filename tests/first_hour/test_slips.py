"""What a newcomer types by mistake: one line that says what to do, and the right exit status.

A row for each slip: the words after `xtdrone`, what is said, the exit status. {folder} is a folder
with the files and the flight that the fixtures below make.
"""

import json

import pytest

from xtdrone_core import resources
from xtdrone_core.command import main

pytestmark = pytest.mark.slow  # one flight for all, and many starts

HEAVY = "cannot be flown: its weight of 49.5 N exceeds the thrust of its rotors"
SLIPS = [
    # Names that nobody has.
    ("fly sqare", "did you mean 'square'?", 1),
    ("sim --vehicle irsi", "did you mean 'iris'?", 1),
    ("sim --world outdor", "did you mean 'outdoor'?", 1),
    ("sim --log non", "did you mean 'none'?", 1),
    ("list world", "did you mean 'worlds'?", 1),
    ("formation simulate --n 9 --formations pyramdi", "did you mean 'pyramid'?", 1),
    ("slam run --system kltt --dataset {folder}", "did you mean 'klt'?", 1),
    # Files that say what cannot be.
    ("sim --scenario {folder}/typo.yaml", "did you mean 'vehicles'?", 1),
    ("sim --params {folder}/typo.params", "did you mean 'MPC_XY_CRUISE'?", 1),
    ("fly square --vehicle {folder}/heavy/model.sdf", HEAVY, 1),
    ("mission check {folder}/far.plan", "WARNING: the leg to item 0 is 78.1 km long", 1),
    ("mission check {folder}/far.plan", "ERROR: item 0 is 78.1 km from the start", 1),
    ("mission check nowhere.plan", "cannot read plan 'nowhere.plan'", 1),
    ("mission check square.plan", "the plan that ships is called 'square'", 1),
    ("params load nowhere.params", "cannot read parameters 'nowhere.params'", 1),
    ("slam run --system klt --dataset nowhere", "no dataset 'nowhere'", 1),
    # Without the simulation, the run or the display that it needs.
    ("control status", "start one with 'xtdrone sim' or roslaunch", 1),
    ("params get MPC_XY_CRUISE", "no simulation runs; start one with 'xtdrone sim'", 1),
    ("formation report nowhere", "no run 'nowhere' in", 1),
    ("formation report {folder}/flight", "no formation was flown in this run", 1),
    ("view {folder}/flight", "give --mp4, --gif or --png FILE, or set DISPLAY", 1),
    ("formation view {folder}/flight", "give --png FILE", 1),
    # Options of an Agent.
    ("fly formation --n 9 --set formations=[pyramdi]", "did you mean 'pyramid'?", 1),
    ("fly square --set sidee=3", "unknown option 'sidee': choose one of height", 1),
    ("fly square --set side=wide", "side wide is not allowed: give a number", 1),
    ("fly formation --n 1", "give 2 or more vehicles", 1),
    ("fly square --help", "length of a side, 0.1 to 1000 [m]", 0),
    ("list agents", "length of a side", 0),
    ("list worlds", "outdoor", 0),
]
FLIGHT_SAYS = (
    "simulated",
    "reached           4 of 4 corners",
    "landed            1 of 1",
    "crashes           none",
    "collisions        none",
    "warnings          none",
    "run folder:",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files with a mistake in each, and the run of a flight without one."""
    folder = tmp_path_factory.mktemp("slips")
    (folder / "typo.yaml").write_text("vehicels: [{type: iris}]")
    (folder / "typo.params").write_text("1\t1\tMPC_XY_CRUIZE\t8\t9\n")
    (folder / "slow.yaml").write_text("{speed: 0, name: mine, vehicles: [{type: iris}]}")
    sdf = (resources.root() / "models/iris/model.sdf").read_text()
    (folder / "heavy").mkdir()
    (folder / "heavy/model.sdf").write_text(sdf.replace("<mass>1.5</mass>", "<mass>5</mass>"))
    plan = (resources.root() / "docs/missions/square.plan").read_text()
    (folder / "far.plan").write_text(plan.replace("47.397742", "48.1"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XTDRONE_RUNS", str(folder))
        patch.chdir(folder)
        assert main(["fly", "square", "--name", "flight"]) == 0
    return folder


def test_the_files_have_their_mistakes(folder):
    """The tests below would be of no use without."""
    assert "<mass>5</mass>" in (folder / "heavy/model.sdf").read_text()
    assert "48.1" in (folder / "far.plan").read_text()


@pytest.mark.parametrize("line, said, status", SLIPS, ids=[slip[0] for slip in SLIPS])
def test_a_slip_is_answered(folder, runs, monkeypatch, capfd, line, said, status):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    words = [word.format(folder=folder) for word in line.split()]
    if words[0] == "sim":
        words += ["--duration", "0.1"]  # where it is not refused
    try:
        ended = main(words)
    except SystemExit as end:
        ended = end.code
    printed = capfd.readouterr()
    assert said in printed.out + printed.err
    assert ended == status and "Traceback" not in printed.err
    assert printed.err.count("\n") <= 1


def test_nothing_is_written_into_the_current_folder(folder, runs):
    before = set(runs.iterdir())
    assert main(["vehicle", "show", "iris"]) == 0
    assert set(runs.iterdir()) == before


def test_a_scenario_file_is_flown_as_it_is_written(folder, runs, capfd):
    assert main(["sim", "--scenario", str(folder / "slow.yaml"), "--duration", "0.1"]) == 0
    assert str(runs / "mine") in capfd.readouterr().out
    assert "speed: 0" in (runs / "mine/scenario.yaml").read_text()


def test_a_flight_ends_with_its_result(folder, runs, capfd):
    assert main(["fly", "square"]) == 0
    said = capfd.readouterr().out
    assert [word for word in FLIGHT_SAYS if word not in said] == []
    assert json.loads((runs / "square/summary.json").read_text())["landed"]
