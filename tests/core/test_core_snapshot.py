"""Snapshots of parts, and their files."""

import math
import zipfile
from collections import deque
from dataclasses import dataclass

import numpy as np
import pytest

from xtdrone_core.runs import snapshot
from xtdrone_core.runs.snapshot import Memory, Rows, SnapshotError

_RECORD = np.dtype([("mode", "i1"), ("place", "f8", (3,))])


@dataclass
class Pair:
    """A data class with an array in it."""

    count: int
    table: np.ndarray


class Part(Memory):
    """One attribute of each kind."""

    MEMORY = ("number", "text", "rows", "records", "table", "queue", "random", "pair", "maybe")

    def __init__(self):
        self.number, self.text, self.maybe = math.nan, "climb", None
        self.rows = np.arange(12.0).reshape(4, 3)
        self.records = np.zeros(4, dtype=_RECORD)
        self.table = {(0, "gps"): [1, 2.5], 3: {"a", "b"}}
        self.queue = deque([(1, "x")], maxlen=8)
        self.random = np.random.default_rng(7)
        self.pair = Pair(1, np.ones(2))
        self.remember_start()


class Whole(Memory):
    """A part in a part."""

    MEMORY = ("part", "steps")

    def __init__(self):
        self.part, self.steps = Part(), np.int64(3)


def _moved():
    whole = Whole()
    whole.steps += 1
    part = whole.part
    part.number, part.text, part.maybe = 1e-320, "land", b"\x00\xff"
    part.rows += math.pi
    part.records["place"][2] = -1.0
    part.table[4] = np.arange(3, dtype=np.uint8)
    part.queue.append((2, "y"))
    part.random.random(5)
    part.pair.count, part.pair.table[0] = 2, -0.0
    return whole


def test_a_part_goes_on_from_a_file_as_from_itself(tmp_path):
    before = _moved()
    snapshot.write(tmp_path / "a.npz", before.save(), {"vehicles": "iris*4"})
    saved, scenario = snapshot.read(tmp_path / "a.npz")
    assert scenario == {"vehicles": "iris*4"}
    after = Whole()
    rows, queue = after.part.rows, after.part.queue
    after.load(saved)
    assert after.part.rows is rows and after.part.queue is queue
    assert queue.maxlen == 8 and list(queue) == [(1, "x"), (2, "y")]
    assert after.steps == 4 and isinstance(after.steps, np.int64)
    assert (after.part.number, after.part.text, after.part.maybe) == (1e-320, "land", b"\x00\xff")
    assert rows.tobytes() == before.part.rows.tobytes()
    assert after.part.records.tobytes() == before.part.records.tobytes()
    assert after.part.table[(0, "gps")] == [1, 2.5] and after.part.table[3] == {"a", "b"}
    assert after.part.table[4].dtype == np.uint8
    assert after.part.pair.count == 2
    assert after.part.pair.table.tobytes() == before.part.pair.table.tobytes()
    assert after.part.random.random() == before.part.random.random()


def test_a_snapshot_is_a_copy():
    whole = _moved()
    saved = whole.save()
    whole.part.rows[:] = 0.0
    whole.part.table[3].add("c")
    assert saved["part"]["rows"].any() and saved["part"]["table"][3] == {"a", "b"}


def test_reset_gives_these_rows_back_and_no_others():
    whole, fresh = _moved(), Part()
    moved = whole.part.rows.copy()
    whole.reset(np.array([False, True, True, False]))
    assert (whole.part.rows[1:3] == fresh.rows[1:3]).all()
    assert (whole.part.rows[[0, 3]] == moved[[0, 3]]).all()
    assert (whole.part.records["place"][2] == 0.0).all()
    whole.reset()
    assert (whole.part.rows == fresh.rows).all()


def test_a_snapshot_of_another_fleet_is_refused():
    saved = Whole().save()
    saved["part"]["rows"] = np.zeros((5, 3))
    with pytest.raises(SnapshotError, match=r"'rows' of the snapshot is float64 \(5, 3\), here"):
        Whole().load(saved)
    del saved["part"]["rows"]
    with pytest.raises(SnapshotError, match="lacks 'rows' of Part"):
        Whole().load(saved)


def test_what_cannot_be_stored_is_named():
    whole = Whole()
    whole.part.maybe = object()
    with pytest.raises(SnapshotError, match="'maybe' is a object"):
        whole.save()


def test_files_that_are_no_snapshots(tmp_path):
    with pytest.raises(SnapshotError, match="No such file"):
        snapshot.read(tmp_path / "none.npz")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(SnapshotError, match="not a zip file"):
        snapshot.read(tmp_path / "text")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(SnapshotError, match="cannot read snapshot"):
        snapshot.read(tmp_path / "other.npz")
    with zipfile.ZipFile(tmp_path / "new", "w") as file:
        file.writestr("snapshot.json", '{"format": "xtdrone snapshot", "version": 99}')
    with pytest.raises(SnapshotError, match="version 99"):
        snapshot.read(tmp_path / "new")
    with pytest.raises(SnapshotError, match="cannot write snapshot"):
        snapshot.write(tmp_path / "no" / "folder", {}, {})


def test_a_snapshot_goes_on_with_more_or_fewer_vehicles():
    def part(n, value, history=()):
        return {
            "pos": np.full((n, 3), value),
            "names": [f"{value}{i}" for i in range(n)],
            "fixed": np.full(4, value),
            "history": list(history),
            "wide": np.full((n, n), value),
            "inner": [value, {"rows": [value] * n}],
            "of": dict.fromkeys(range(n), value),
        }

    grown = snapshot.regrouped(part(2, 1.0, "abc"), part(3, 2.0), Rows.of("ab", "abc"))
    assert grown["pos"][:, 0].tolist() == [1.0, 1.0, 2.0] and grown["fixed"].tolist() == [1.0] * 4
    assert grown["names"] == ["1.00", "1.01", "2.02"] and grown["history"] == ["a", "b", "c"]
    assert grown["inner"] == [1.0, {"rows": [1.0, 1.0, 2.0]}]
    assert grown["of"] == {0: 1.0, 1: 1.0, 2: 2.0} and grown["wide"][1].tolist() == [1.0, 1.0, 2.0]
    without = Rows.of("abc", "ac")  # the one in the middle
    shrunk = snapshot.regrouped(part(3, 1.0), part(2, 2.0), without)
    assert shrunk["pos"].tolist() == [[1.0] * 3] * 2 and shrunk["of"] == {0: 1.0, 1: 1.0}
    assert shrunk["names"] == ["1.00", "1.02"] and shrunk["wide"].shape == (2, 2)
    told = {(0, "up"), (1, "up"), (2, "down")}
    assert snapshot.regrouped(told, set(), without) == {(0, "up"), (1, "down")}
    between = snapshot.regrouped(np.array([1, 3]), np.array([7, 8, 9]), Rows.of("ac", "abc"))
    assert between.tolist() == [1, 8, 3]
