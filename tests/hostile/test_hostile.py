"""A few hostile inputs of each kind; `make hostile` tries many."""

import os
import subprocess
import sys

import pytest

from forked import in_a_process
from waiting import LIMIT_S

from . import runner
from .common import Crash, Kind, Nonsense, Obeyed, load, names
from .runner import run

SEED = 20
HANG_S = 10.0  # for one input: a thread that draws waits for the other tests


def _host(name):
    """Tries the share of one kind in this process."""
    runner.LIMITS_S["input"] = HANG_S
    kind = load(name)
    return kind.share, run(kind, SEED, LIMIT_S, last=kind.share - 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_nothing_does_harm(name):
    share, result = in_a_process(_host, name)
    if result.missing:
        pytest.skip(result.missing)
    assert {cause: found[0].text for cause, found in result.causes.items()} == {}
    assert result.tried == share


class Harmful(Kind):
    """Every way in which an input can do harm."""

    name = "harmful"

    def make(self, rng, index):
        return index

    def try_one(self, value):
        import threading

        match value:
            case 1:
                raise ValueError("one")
            case 3:
                while True:
                    pass
            case 4:
                os._exit(3)
            case 5:
                raise Nonsense("five")
            case 6:
                raise Obeyed("six")
            case 7:
                thread = threading.Thread(target=lambda: 1 / 0)
                thread.start()
                thread.join()
            case 8:
                os.abort()
            case 9:
                sys.exit(0)


@pytest.mark.slow
def test_each_harm_is_found_and_the_inputs_behind_it_are_tried():
    result = run(Harmful(), SEED, LIMIT_S, last=11)
    assert result.tried == 12
    assert dict(result.counts) == {
        "crashes": 5,
        "hangs": 1,
        "silent nonsense": 1,
        "obeyed strangers": 1,
    }
    found = {one.index: one for several in result.causes.values() for one in several}
    assert sorted(found) == [1, 3, 4, 5, 6, 7, 8, 9]
    assert "ValueError: one" in found[1].text and "test_hostile.py" in found[1].text
    assert found[5].first == 5  # the fork that followed the one that ended at 4
    assert "status 3" in found[4].text and "SIGABRT" in found[8].text


def test_the_command_prints_a_table(tmp_path):
    said = subprocess.run(
        [
            sys.executable,
            "-m",
            "hostile",
            "--kinds",
            "bag",
            "--only",
            "3-5",
            "--jobs",
            "1",
            "--out",
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    if "not tried" not in said.stdout:
        assert "| all | 3 | 0 | 0 | 0 | 0 |" in said.stdout
    assert (said.returncode, said.stderr, list(tmp_path.iterdir())) == (0, "", [])


def test_inputs_depend_on_kind_seed_and_index_alone():
    from .common import generator, mutated_bytes, mutated_text, mutated_tree

    def inputs():
        rng = generator("any", 3, 7)
        return (
            mutated_bytes(rng, bytes(50)),
            mutated_text(rng, "a: 1\nb: [2, 3]"),
            mutated_tree(rng, {"a": [1, {"b": 2}]}),
        )

    assert repr(inputs()) == repr(inputs())


def test_a_kind_that_cannot_start_is_given_up():
    class Broken(Kind):
        name = "broken"

        def start(self, folder):
            raise OSError("no")

    result = run(Broken(), SEED, LIMIT_S, last=11)
    assert (result.tried, result.counts["crashes"]) == (0, 3)
    assert Crash.column == "crashes"
