"""The file of the validation's landings: a line each, none lost, none flown twice."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("cv2", reason="markers need OpenCV")

PLACE = Path(__file__).resolve().parents[2] / "scripts" / "validation" / "_landings.py"
SPEC = importlib.util.spec_from_file_location("_landings", PLACE)
landings = sys.modules["_landings"] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(landings)


def landed(row, seed, error=0.01):
    return landings.Landing(row, seed, error, 30.0, 0.6, (error, 0.0), [(error, 0.1)])


def row(name, **options):
    return landings.Row(name, name, landings.on_pad, 0.1, 1.0, **options)


def test_a_torn_line_costs_one_flight_only(tmp_path):
    file = tmp_path / "sub" / "landings.jsonl"
    landings.append(file, landed("pad", 0))
    file.write_text(file.read_text() + '{"row": "pad", "se')
    landings.append(file, landed("pad", 1))
    landings.append(file, landed("pad", 1, 0.02))  # flown again: the last one counts
    found = landings.read(file)
    assert [(each.row, each.seed, each.error) for each in found] == [
        ("pad", 0, 0.01),
        ("pad", 1, 0.02),
    ]
    assert json.loads(file.read_text().splitlines()[0])["row"] == "pad"
    assert landings.read(tmp_path / "none") == []


def test_only_what_is_missing_is_flown(monkeypatch):
    monkeypatch.delenv("PX4_BUILD", raising=False)
    rows = [row("pad"), row("few", most=1), row("real", needs="PX4_BUILD")]
    wanted = landings.missing(rows, 2, [landed("pad", 0)])
    assert [(each.name, seed) for each, seed in wanted] == [("few", 0), ("pad", 1)]
    monkeypatch.setenv("PX4_BUILD", "build")
    wanted = landings.missing(rows, 1, [landed("pad", 0)])
    assert [(each.name, seed) for each, seed in wanted] == [("few", 0), ("real", 0)]


def test_the_recorded_landings_are_of_known_rows():
    known = {each.name: each for each in landings.ROWS}
    for each in landings.read(PLACE.with_name("landing.jsonl")):
        assert each.seed < known[each.row].most
