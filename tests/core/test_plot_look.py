"""Figures for a paper: size, letters, lines that differ in grey, data beside them."""

import csv

import pytest

from xtdrone_core import plot_look, plot_style


def drawn(n):
    """A figure of n vehicles over time, in two panels."""
    figure = plot_style.figure(12, 6, "a heading")
    rows = plot_style.time_axes(figure, ["[m]", "[m/s]"], ["east", "speed"])
    for row in rows:
        for i in range(n):
            row.plot([0.0, 1.0], [i, i + 1.0], label=f"iris_{i}", **plot_style.vehicle(i, n))
    plot_style.mark_events(rows, [(0.5, "take-off")])
    plot_style.legend(figure)
    return figure, rows


def test_a_figure_for_a_paper_is_a_column_wide_in_letters_of_eight_points():
    with plot_look.using("paper"):
        figure, rows = drawn(3)
    assert figure.get_figwidth() == 3.5 and figure.get_suptitle() == ""
    assert [row.get_ylabel() for row in rows] == ["east [m]", "speed [m/s]"]
    assert {row.yaxis.label.get_size() for row in rows} == {8.0}
    assert {text.get_size() for text in figure.legends[0].get_texts()} == {8.0}
    assert all(row.get_title(loc="left") == "" and not row.texts for row in rows)


@pytest.mark.parametrize("n, kinds", [(1, 1), (3, 3), (5, 4), (9, 2)])
def test_lines_on_paper_differ_without_colour(n, kinds):
    """By their dashes; of more than five vehicles the followers are alike."""
    with plot_look.using("paper"):
        styles = [plot_style.vehicle(i, n) for i in range(n)]
    assert styles[0]["color"] == "#000000"
    lines = {(style["ls"], style["color"] == plot_style.CROWD) for style in styles}
    assert len(lines) == kinds


def test_the_screen_is_as_before_after_a_figure_for_a_paper():
    with pytest.raises(RuntimeError), plot_look.using("paper"):
        raise RuntimeError
    figure, rows = drawn(2)
    assert figure.get_figwidth() == 12.0 and figure.get_suptitle() == "a heading"
    assert [row.get_ylabel() for row in rows] == ["[m]", "[m/s]"] and len(rows[0].texts) == 1


def test_a_paper_gets_a_pdf_with_its_fonts_and_the_data(tmp_path):
    with plot_look.using("paper"):
        figure, _ = drawn(2)
        path = plot_style.save(figure, tmp_path / "speed.png")
    assert path == tmp_path / "speed.pdf"
    pdf = path.read_bytes()
    assert b"/FontFile2" in pdf and b"/Type3" not in pdf
    with path.with_suffix(".csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 2 * 2  # panels, vehicles, points
    assert rows[-1]["curve"] == "iris_1" and rows[-1]["vertical axis"] == "speed [m/s]"
    assert {row["horizontal axis"] for row in rows} == {"simulated time [s]"}
    assert (float(rows[-1]["x"]), float(rows[-1]["y"])) == (1.0, 2.0)


def test_the_data_of_a_map_in_space_have_three_columns(tmp_path):
    with plot_look.using("paper"):
        figure = plot_style.figure(11, 8)
        axes = plot_style.space_axes(figure, [[0, 0, 0], [1, 2, 3]])
        axes.plot([0, 1], [0, 2], [0, 3], label="path")
        axes.scatter([1], [2], [3], label="slot")
        path = plot_style.save(figure, tmp_path / "map.pdf")
    rows = list(csv.reader(path.with_suffix(".csv").open(newline="")))
    assert [row[1] for row in rows[1:]] == ["path", "path", "slot"]
    assert rows[-1][3:] == ["1", "north [m]", "2", "3"]


def test_a_map_keeps_its_name():
    figure = plot_style.figure(6, 4)
    plot_style.map_axes(figure, name="from the south")
    plot_style.title_panels(figure)
    assert figure.axes[0].get_title(loc="left") == "from the south"


def test_events_whose_names_find_no_room_are_left_out():
    figure = plot_style.figure(10, 4)
    rows = plot_style.time_axes(figure, ["height [m]"])
    rows[0].set_xlim(0.0, 100.0)
    height = plot_style.mark_events(rows, [(10.0, "take-off"), (10.5, "airborne"), (60.0, "land")])
    assert [text.get_text() for text in rows[0].texts] == ["take-off", "land"]
    assert len(rows[0].lines) == 2 and height > 10.0
