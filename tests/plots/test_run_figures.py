"""`xtdrone plot` of a run: figures, signals, what it refuses, completion."""

import argparse
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from xtdrone_autopilot.ulog import plots as ulog_plots
from xtdrone_autopilot.ulog.reader import FlightLog
from xtdrone_core import command, plot_style
from xtdrone_core.runs import run_folder
from xtdrone_plots import commands, figures, signals
from xtdrone_plots.run import Run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XTDRONE_RUNS", str(tmp_path_factory.mktemp("runs")))
        assert (
            command.main(
                [
                    "fly",
                    "formation",
                    "--n",
                    "3",
                    "--set",
                    "formations=[triangle]",
                    "--name",
                    "three",
                ]
            )
            == 0
        )
        assert command.main(["fly", "mission", "--mission", "square", "--name", "mission"]) == 0
        yield run_folder.runs_root()


pytestmark = pytest.mark.slow


def lines(axes):
    """Label to line of a panel."""
    return {line.get_label(): line for line in axes.lines}


@pytest.mark.long
def test_every_figure_is_written_and_printed(runs, capsys):
    assert command.main(["plot", "three"]) == 0
    printed = capsys.readouterr().out.split()
    assert printed == [str(runs / "three" / "plots" / f"{name}.png") for name in figures.FIGURES]
    assert all(Path(path).stat().st_size > 15_000 for path in printed)


def test_a_flight_ends_with_its_overview(runs):
    assert (runs / "three" / "plots" / "flight.png").stat().st_size > 15_000


@pytest.mark.long
def test_one_vehicle_has_no_separation_and_no_formation(runs, capsys):
    assert command.main(["plot", "mission", "--svg", "--out", str(runs / "out")]) == 0
    names = {Path(path).stem for path in capsys.readouterr().out.split()}
    assert names == set(figures.FIGURES) - {"separation", "formation"}
    assert command.main(["plot", "mission", "--figures", "separation"]) == 1
    assert "has nothing for the figure 'separation'" in capsys.readouterr().err


def test_the_map_shows_what_was_flown_before_what_was_planned(runs):
    (axes,) = figures.flown_map(Run(runs / "mission")).axes
    drawn = lines(axes)
    _, table = Run(runs / "mission").truth
    flown, planned = drawn["iris_0"], drawn["planned path"]
    assert np.allclose(flown.get_xydata()[0], table[0, 0, :2])
    assert planned.get_zorder() < flown.get_zorder() and "waypoint" in drawn
    for corner in planned.get_xydata():  # the mission was flown where the map draws it
        assert np.hypot(*(table[:, 0, :2] - corner).T).min() < 2.5
    assert axes.get_aspect() == 1.0


def test_slots_are_drawn_where_the_followers_settled(runs):
    run = Run(runs / "three")
    (axes,) = figures.flown_map(run).axes
    marks = axes.collections[0]
    assert marks.get_zorder() < plot_style.FLOWN
    t_s, table = run.truth
    settled = next(t for t, name in run.events if name.startswith("settled"))
    followers = table[np.searchsorted(t_s, settled), 1:, :2]
    assert (
        np.linalg.norm(
            np.sort(marks.get_offsets(), axis=0) - np.sort(followers, axis=0), axis=1
        ).max()
        < 0.6
    )


def test_set_points_estimate_and_truth_agree(runs):
    run = Run(runs / "mission")
    error = lines(figures.estimate_error(run).axes[0])["iris_0"].get_ydata()
    assert 0.0 < np.nanmax(error) < 0.6
    drawn = lines(figures.position(run).axes[2])
    target, height = (drawn[name].get_xydata() for name in ("set-point", "iris_0"))
    assert abs(np.nanmax(target[:, 1]) - height[:, 1].max()) < 0.5


def test_separation_is_that_of_the_summary(runs):
    drawn = lines(figures.separation(Run(runs / "three")).axes[0])
    minimum = run_folder.read_summary(runs / "three")["min_separation_m"]
    assert drawn["smallest of all"].get_ydata().min() == pytest.approx(minimum, abs=0.05)


def test_events_are_marked_on_every_panel(runs):
    run = Run(runs / "three")
    figure = figures.velocity(run)
    for row in figure.axes:
        at = {line.get_xdata()[0] for line in row.lines if line.get_ls() == ":"}
        assert at == {t for t, _ in run.events}
    assert any("formation triangle" in text.get_text() for text in figure.axes[0].texts)


def test_a_vehicle_has_one_colour_in_all_figures(runs):
    run = Run(runs / "three")
    for name in ("map", "map3d", "velocity", "battery", "separation"):
        drawn = lines(figures.FIGURES[name](run).axes[0])
        assert [drawn[run.name(i)].get_color() for i in range(3)] == [
            plot_style.vehicle_color(i) for i in range(3)
        ], name


def test_signals_have_a_panel_for_each_argument(runs):
    run = Run(runs / "three", ["iris_1"])
    figure = signals.draw(run, [["truth.z", "estimate.z"], ["battery_status.voltage_v"]])
    assert [row.get_title(loc="left") for row in figure.axes] == [
        "truth.z, estimate.z",
        "battery_status.voltage_v",
    ]
    drawn = lines(figure.axes[0])
    assert np.allclose(drawn["truth.z"].get_ydata(), run.truth[1][:, 1, 2])
    assert figure.axes[0].get_ylabel() == "[m]"


def test_signals_of_the_truth_have_their_units():
    state = np.zeros((1, 2, 13))
    state[..., 6] = 1.0
    state[0, 1, 3:7] = 0.0, 0.0, np.sin(np.pi / 4), np.cos(np.pi / 4)  # a quarter to the left
    state[0, 1, 7:10] = 3.0, 4.0, 0.0
    found = signals.of_state(state)
    assert list(found) == list(signals.TRUTH)
    assert found["yaw"][0] == pytest.approx([0.0, 90.0]) and found["speed"][0, 1] == 5.0


@pytest.mark.parametrize(
    "words, error",
    [
        (["three", "--signals", "truth.zz"], "unknown signal 'truth.zz'"),
        (
            ["three", "--signals", *["truth.z"] * 21],
            "21 panels or signals in a panel: give 1 to 20",
        ),
        (["three", "--signals", "truth.z", ","], "a panel without signals: give 1 to 20"),
        (["--live", "--signals", ""], "a panel without signals: give 1 to 20"),
        (["three", "--figures", "mab"], "unknown figure 'mab'.*did you mean 'map'"),
        (["three", "--vehicles", "iris_9"], "unknown vehicle 'iris_9'.*iris_0, iris_1, iris_2"),
        (["thre"], "no run 'thre' in .*did you mean 'three'"),
        (["--live", "--signals", "estimate.z", "--png", "x.png"], "unknown signal 'estimate.z'"),
    ],
)
def test_bad_input_is_one_line(runs, capsys, words, error):
    import re

    assert command.main(["plot", *words]) == 1
    told = capsys.readouterr().err.strip()
    assert "\n" not in told and re.search(error, told), told


def test_a_folder_that_is_no_run_is_told(tmp_path, capsys):
    assert command.main(["plot", str(tmp_path)]) == 1
    assert "has no scenario.yaml" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.parametrize("n, seconds", [(1, 0.02), (3, 0.1)])
def test_a_short_run_is_drawn_without_a_warning(tmp_path, monkeypatch, n, seconds):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    words = ["--vehicles", f"iris*{n}", "--duration", str(seconds), "--speed", "0"]
    assert command.main(["sim", *words, "--name", "short"]) == 0
    folder = tmp_path / "short"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = Run(folder)
        assert figures.draw(run, list(figures.FIGURES), tmp_path, ".png")
        plot_style.save(signals.draw(run, [["truth.z", "estimate.vx"]]), tmp_path / "signals.png")
        log = FlightLog(next(folder.glob("ulog/*/*.ulg")))
        assert ulog_plots.draw(log, tmp_path)


def test_names_are_completed(runs):
    args = argparse.Namespace(of_run="three", live=False)
    found = commands.complete_signals(args, prefix="truth.z,est")
    assert "truth.z,estimate.vx" in found and "truth.z,actuator_motors.control[0]" in found
    assert commands.complete_vehicles(args, prefix="") == ["iris_0", "iris_1", "iris_2"]
    assert commands.complete_signals(argparse.Namespace(of_run="none", live=False)) == []
    assert "speed" in commands.complete_signals(argparse.Namespace(of_run="none", live=True))


def test_the_layout_of_plotjuggler_has_the_colours_of_the_figures():
    root = ET.parse(ROOT / "launch" / "plotjuggler.xml").getroot()
    panels = root.findall(".//plot")
    assert len(panels) == 9
    for panel in panels:
        curves = [(curve.get("name"), curve.get("color")) for curve in panel.findall("curve")]
        for i, (name, color) in enumerate(curves):
            assert name.startswith(f"/iris_{i}/mavros/") and color == plot_style.vehicle_color(i, 9)
        topic = curves[0][0].removeprefix("/iris_0/mavros/")
        assert topic.startswith(
            (
                "local_position/pose/pose/position/",
                "battery/",
                "local_position/velocity_local/twist/linear/",
            )
        )
