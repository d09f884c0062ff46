"""The one style of figures: who draws without it, colours of the colour-blind, legends, axes."""

import ast
import itertools
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from xtdrone_core import plot_style

ROOT = Path(__file__).resolve().parents[2]
STYLE = ROOT / "src" / "xtdrone_core" / "plot_style.py"
FIGURES = ("matplotlib.pyplot", "matplotlib.figure", "matplotlib.backends")
# Machado, Oliveira, Fernandes 2009, full severity, for linear RGB.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def imports(path):
    """Names of the modules that a file imports, anywhere in it, but for types alone."""
    tree = ast.parse(path.read_text())
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.long
def test_every_figure_is_made_in_the_style():
    files = [
        path
        for folder in ("src", "scripts", "examples", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]
    assert len(files) > 200
    others = [
        (path.name, name)
        for path in files
        if path != STYLE
        for name in imports(path)
        if name.startswith(FIGURES)
    ]
    assert others == []


def lab(color, sight):
    """CIE L*a*b* of a colour #rrggbb as somebody sees it."""
    rgb = np.array([int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(np.array(SIGHT[sight]) @ linear, 0, 1) / (0.9505, 1.0, 1.089)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", SIGHT)
def test_ten_vehicles_can_be_told_apart(sight):
    colours = [plot_style.vehicle_color(i, 10) for i in range(10)]
    distances = {
        (a, b): np.linalg.norm(lab(a, sight) - lab(b, sight))
        for a, b in itertools.combinations(colours, 2)
    }
    assert min(distances.values()) > 25, min(distances, key=distances.get)


def test_vehicles_beyond_the_colours_differ_by_their_lines():
    maximum = plot_style.MAX_COLOURED
    styles = [plot_style.vehicle(i, maximum) for i in range(maximum)]
    assert len({(style["color"], style["ls"]) for style in styles}) == maximum > 30
    crowd = [plot_style.vehicle_color(i, maximum + 1) for i in range(maximum + 1)]
    assert crowd[0] == plot_style.LEADER and set(crowd[1:]) == {plot_style.CROWD}


def test_a_vehicle_keeps_its_colour_in_fleets_of_any_size():
    for i in range(4):
        assert len({plot_style.vehicle_color(i, n) for n in (4, 9, 30)}) == 1


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_a_legend_covers_no_panel(below, whole):
    figure = plot_style.figure(7, 5, "heading")
    rows = plot_style.time_axes(figure, ["height [m]", "speed [m/s]"])
    for row, i in itertools.product(rows, range(5)):
        row.plot([0, 1], [0, i], label=f"iris_{i}", **plot_style.vehicle(i, 5))
    plot_style.legend(figure if whole else rows[1], below)
    figure.draw_without_rendering()
    legend = figure.legends[0] if whole else rows[1].get_legend()
    assert len(legend.get_texts()) == 5
    box = legend.get_window_extent()
    assert not any(box.overlaps(row.get_window_extent()) for row in rows)
    assert box.x1 <= figure.bbox.x1 and box.y0 >= figure.bbox.y0


def test_maps_have_equal_axes():
    figure = plot_style.figure(9, 4)
    grid = figure.add_gridspec(1, 2)
    plan = plot_style.map_axes(figure, grid[0, 0])
    plan.plot([0, 100], [0, 5])
    view = plot_style.space_axes(figure, [[0, 0, 0], [100, 5, 1]], grid[0, 1])
    figure.draw_without_rendering()
    x, y = plan.transData.transform([[0, 0], [1, 0]]), plan.transData.transform([[0, 0], [0, 1]])
    assert np.ptp(x[:, 0]) == pytest.approx(np.ptp(y[:, 1]), rel=1e-3)
    reach = [np.ptp(limits) for limits in (view.get_xlim(), view.get_ylim(), view.get_zlim())]
    assert view.get_box_aspect() is not None
    assert np.allclose(np.array(view._box_aspect) / reach, view._box_aspect[0] / reach[0])


def test_panels_share_their_time_axis_and_the_settings_of_the_process_stay():
    before = dict(mpl.rcParams)
    figure = plot_style.figure()
    rows = plot_style.time_axes(figure, ["a [m]", "b [m]"], ["first", "second"])
    rows[0].plot([0, 10], [0, 1])
    assert rows[1].get_xlim() == rows[0].get_xlim()
    assert [row.get_title(loc="left") for row in rows] == ["first", "second"]
    assert [row.get_xlabel() for row in rows] == ["", "simulated time [s]"]
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_the_same_figure_is_the_same_file(tmp_path, suffix):
    saved = []
    for name in "ab":
        figure = plot_style.figure(3, 2)
        plot_style.map_axes(figure).plot([0, 1], [0, 1])
        saved.append(plot_style.save(figure, tmp_path / f"{name}.{suffix}").read_bytes())
    assert saved[0] == saved[1]


def test_text_of_events_and_headings_is_drawn_as_it_stands(tmp_path):
    figure = plot_style.figure(12, 8, r"$\frac$")
    rows = plot_style.time_axes(figure, ["[m]"])
    rows[0].set_xlim(0, 3)
    plot_style.mark_events(rows, [(1.0, r"$\frac$"), (2.0, "a" * 1_000_000)])
    plot_style.save(figure, tmp_path / "a.png")
    assert [text.get_text()[:9] for text in rows[0].texts] == [r"$\frac$", "a" * 9]
    assert len(rows[0].texts[1].get_text()) < 200
