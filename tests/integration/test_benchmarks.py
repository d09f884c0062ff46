"""Benchmarks count their work, and figures.csv, runs/bench.json and the page belong together."""

import ast
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import bench_setup
import report
import results

BENCHMARKS = sorted(report.HERE.glob("bench_*.py"))


def calls(tree):
    """(name of the called method, call) of a source."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr, node


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_a_benchmark_counts_what_it_reports(path):
    if path.stem == "bench_gpu":  # counts in bench_batch.measure(), see there
        return
    found = list(calls(ast.parse(path.read_text())))
    assert [call for name, call in found if name == "count" and len(call.args) == 3]
    assert all(
        len(call.args) == 3 for name, call in found if name == "replace" and _to_results(call)
    )


def _to_results(call):
    return isinstance(call.func.value, ast.Name) and call.func.value.id == "results"


@pytest.mark.parametrize("found, expected", [(0, 0), (2, 3), (float("nan"), 1)])
def test_less_work_than_expected_reports_nothing(runs, found, expected):
    work = results.Work()
    with pytest.raises(SystemExit, match="images drawn"):
        work.count("images drawn", found, expected)
    with pytest.raises(ValueError, match="counts no work"):
        results.replace("images_per_s", [({}, 1.0, "1/s")], work)
    assert not results.path().exists()


def test_rows_are_replaced_beside_the_machine_and_the_table_has_ratios(runs, monkeypatch, capsys):
    figures = [
        report.Figure("a", "steps", "steps", '{"of": "us"}', "", "1/s", "more", "10", "4"),
        report.Figure(
            "a", "over peer", "steps", '{"of": "us"}', '{"of": "peer*"}', "times", "more", "", "2"
        ),
        report.Figure("a", "time", "time", '{"n": 1, "other": null}', "", "s", "less", "3", "2"),
        report.Figure("a", "not run", "other", "{}", "", "s", "less", "", "2"),
    ]
    monkeypatch.setattr(report, "figures", lambda: figures)
    work = results.Work()
    work.count("steps", 5, 5)
    for value in (1.0, 8.0):
        rows = [({"of": "us"}, value, "1/s"), ({"of": "peer 1.2"}, 2.0, "1/s")]
        results.replace("steps", rows, work)
    results.replace("time", [({"n": 1}, 4.0, "s"), ({"n": 1, "other": 2}, 9.0, "s")], work)
    found = results.rows_so_far()
    assert [row["name"] for row in found] == ["steps", "steps", "time", "time", "machine"]
    lines = [line.split() for line in report.printed(found).splitlines()[1:]]
    assert lines[0] == "steps [1/s] 10 4 8 2.00 times as good, goal missed".split()
    assert lines[1] == "over peer [times] – 2 4 2.00 times as good".split()
    assert lines[2] == "time [s] 3 2 4 0.50 times as good, goal missed".split() and len(lines) == 3
    assert report.table(found, "a").endswith("| not run | s | – | 2 | – |\n")


def test_set_up_is_measured_by_the_table_of_the_first_hour():
    table = """Debian GNU/Linux 12 (bookworm) in a bare root, 2 cores
bare-root       20 s   status 0
bare           300 MB
set-up         110 s   status 0
set-up        1420 MB
again            1 s   status 0
demo            15 s   status {}
"""
    rows = bench_setup.rows_of(table.format(0), results.Work())
    assert [(params["what"], value) for params, value, _ in rows] == [
        ("first", 110),
        ("second", 1),
        ("demonstration", 15),
        ("size", 1120),
    ]
    with pytest.raises(SystemExit, match="demo done"):
        bench_setup.rows_of(table.format(1), results.Work())


def test_each_figure_has_a_benchmark_and_stands_on_the_page():
    sources = "".join(path.read_text() for path in BENCHMARKS)
    page = report.PAGE.read_text()
    for figure in report.figures():
        assert f'"{figure.name}"' in sources
        assert f"| {figure.figure} | {figure.unit} | {report.text(figure.goal)} |" in page
        assert figure.better in ("more", "less")
    assert report.page([]).count("written by benchmarks/report.py") == page.count("written by")
