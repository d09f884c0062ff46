"""The faults of tests/faults.txt: what they are planted in is there, and their table adds up."""

import importlib.util
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAULTS = runpy.run_path(str(ROOT / "scripts" / "planted_faults.py"))


def test_modules_and_tests_are_there():
    plans = FAULTS["plans"]()
    assert sum(int(plan.faults) for plan in plans) >= 200
    for plan in plans:
        assert [name for name in plan.modules.split() if not importlib.util.find_spec(name)] == []
        assert [name for name in plan.tests.split() if not (ROOT / name).exists()] == []
    modules = [plan.modules for plan in plans]
    assert len(set(modules)) == len(modules)  # by which the outcomes are kept


def test_the_table_adds_rooms_up():
    first, second = (plan.modules for plan in FAULTS["plans"]()[:2])
    kinds = [FAULTS[name] for name in ("FOUND", "BY_LONG", "MISSED")]
    now = {
        first: dict(zip(kinds, (["a", "b"], [], []))),
        second: dict(zip(kinds, (["c"], ["d"], ["x.py:1: a < b"]))),
    }
    before = {first: dict(zip(kinds, (["a"], [], ["b"])))}
    text = FAULTS["table"](now, {})
    assert "|dynamics|5|3|1|1|not planted|\n" in text and "- `x.py:1: a < b`" in text
    assert "5 faults: 3 found by `make test`, 1 by tests marked long alone," in text
    assert "|dynamics|5|3|1|1|1 of 2|\n" in FAULTS["table"](now, before)
