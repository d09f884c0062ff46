"""A kind of hostile input, and mutators that several kinds use."""

import importlib
import math
import pkgutil
import random
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Modules of this folder that are no kind.
_NO_KINDS = re.compile(r"_.*|commands|common|runner|samples|test_.*")

EXTREMES = (
    0,
    -1,
    1,
    127,
    128,
    255,
    256,
    32767,
    65535,
    2**31 - 1,
    -(2**31),
    2**31,
    2**32 - 1,
    2**53 + 1,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
    10**20,
    -0.0,
    1e-300,
    5e-324,
    0.5,
    3e38,
    -3e38,
    3.5e38,
    1e30,
    3e9,
    1e308,
    -1e308,
    math.inf,
    -math.inf,
    math.nan,
)
TEXTS = (
    "",
    " ",
    "\n",
    "\0",
    "nan",
    "inf",
    "-inf",
    "1e308",
    "1e999",
    "-1",
    "0x10",
    "1_000",
    "true",
    "null",
    "None",
    "{}",
    "[]",
    "%s%n",
    "../../etc/passwd",
    "/dev/full",
    "/dev/zero",
    "-",
    "--",
    "os:system",
    "a:b:c",
    ":",
    "é\u202e\U0001f681",
    "\udcff",
    "a" * 300,
    "9" * 5000,
    "[" * 2000,
)


class Failure(Exception):
    """An input that was not held against; its class says how, its text what happened."""

    column = "crashes"


class Crash(Failure):
    """The thing under test ended, or failed with a traceback."""


class Hang(Failure):
    """It took more than 2 s."""

    column = "hangs"


class Nonsense(Failure):
    """An invalid input was accepted silently, or left a state that is not finite."""

    column = "silent nonsense"


class Obeyed(Failure):
    """A stranger's input changed what a stranger must not change."""

    column = "obeyed strangers"


FAILURES = (Crash, Hang, Nonsense, Obeyed)


class Kind:
    """One kind of input. A module of this folder has a subclass of it, called KIND.

    A host process calls prepare() once and is then forked: each fork calls start(), then make()
    and try_one() for one index after the other, and close(). A fork that crashes or hangs is
    replaced. try_one() returns if the input was held against; otherwise it raises a Failure. Any
    other exception is a crash, and so is a traceback on stderr, whichever thread printed it; an
    XtdroneError with a message of one line is the proper end of a bad input.

    Attributes:
        name: That of the module.
        share: Inputs that `make test` tries.
        per_fork: Inputs after which a new fork begins, so that state does not pile up.
    """

    name = ""
    share = 40
    per_fork = 5000

    def missing(self) -> str:
        """Why this kind cannot be tried on this machine; empty if it can."""
        return ""

    def prepare(self) -> None:
        """Imports and compiles what all forks use; must start no thread and open no socket."""

    def start(self, folder: Path) -> None:
        """Sets up the thing under test.

        Args:
            folder: Empty and writable, the current directory, removed afterwards. Ports are those
                of the environment's instance, as everywhere.
        """

    def make(self, rng: random.Random, index: int) -> Any:
        """The input of an index, which depends on nothing but the arguments and start().

        Args:
            rng: Seeded by kind, seed and index.
            index: From 0, for kinds that go through all cases in order first.

        Returns:
            What try_one() takes; its repr() is saved if it fails, bytes and str as a file too.
        """
        raise NotImplementedError

    def try_one(self, value: Any) -> None:
        """Tries an input; see the class."""
        raise NotImplementedError

    def close(self) -> None:
        """Ends the thing under test."""


def names() -> list[str]:
    """Every kind of this folder; nothing is imported."""
    modules = pkgutil.iter_modules([str(Path(__file__).parent)])
    return sorted(module.name for module in modules if not _NO_KINDS.fullmatch(module.name))


def load(name: str) -> Kind:
    """A kind by its name."""
    kind = importlib.import_module(f"{__package__}.{name}").KIND()
    kind.name = name
    return kind


def generator(name: str, seed: int, index: int) -> random.Random:
    """The random numbers of one input."""
    return random.Random(f"{name} {seed} {index}")


# Mutators -------------------------------------------------------------------------------------


def number(rng: random.Random) -> int | float:
    """An extreme number, or any 64 bits read as a double."""
    if rng.random() < 0.7:
        return rng.choice(EXTREMES)
    return struct.unpack("<d", rng.randbytes(8))[0]


def text(rng: random.Random) -> str:
    """An awkward text, or random characters."""
    if rng.random() < 0.7:
        return rng.choice(TEXTS)
    return "".join(
        chr(rng.choice((rng.randrange(32, 127), rng.randrange(1, 0xD800))))
        for _ in range(rng.randrange(20))
    )


def mutated_bytes(rng: random.Random, data: bytes) -> bytes:
    """Bytes after one to four changes: flipped, replaced, removed, doubled, cut, extended."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(changed) + 1)
        end = min(len(changed), at + rng.choice((1, 2, 4, 8, 64)))
        action = rng.randrange(6)
        if action == 0 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif action == 1:
            changed[at:end] = rng.choice((b"\0", b"\xff", b"\x7f")) * (end - at)
        elif action == 2:
            del changed[at:end]
        elif action == 3:
            changed[at:at] = changed[at:end]
        elif action == 4 and rng.random() < 0.3:
            del changed[at:]
        else:
            changed[at:at] = rng.randbytes(rng.choice((1, 4, 16, 300)))
    return bytes(changed)


_WORD = re.compile(r"[-+]?\d[\d.eE+-]*|\w+|[^\w\s]")


def mutated_text(rng: random.Random, source: str) -> str:
    """A text after one to three changes of its words, numbers and lines."""
    for _ in range(rng.randint(1, 3)):
        lines = source.split("\n")
        at = rng.randrange(len(lines))
        action = rng.randrange(8)
        words = list(_WORD.finditer(source))
        if action < 4 and words:
            word = rng.choice(words)
            numeric = word[0][-1].isdigit() and rng.random() < 0.7
            new = str(number(rng) if numeric else text(rng))
            source = source[: word.start()] + new + source[word.end() :]
        elif action == 4:
            del lines[at]
            source = "\n".join(lines)
        elif action == 5:
            lines[at:at] = [lines[at]] * rng.choice((1, 2, 100))
            source = "\n".join(lines)
        elif action == 6:
            source = source[: rng.randrange(len(source) + 1)]
        else:
            at = rng.randrange(len(source) + 1)
            source = source[:at] + text(rng) + source[at:]
    return source


def mutated_tree(rng: random.Random, tree: Any) -> Any:
    """Nested dicts and lists, as of JSON or YAML, with one value, key or branch changed."""
    paths = list(_paths(tree))
    if not paths or rng.random() < 0.05:
        return _value(rng)
    path = rng.choice(paths)
    return _changed(rng, tree, path)


def _paths(tree, path=()):
    items = (
        tree.items()
        if isinstance(tree, dict)
        else (enumerate(tree) if isinstance(tree, list) else ())
    )
    for key, value in items:
        yield *path, key
        yield from _paths(value, (*path, key))


def _changed(rng, tree, path):
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    key = path[0]
    if len(path) > 1:
        copy[key] = _changed(rng, tree[key], path[1:])
    elif (action := rng.randrange(8)) == 0:
        del copy[key]
    elif action == 1 and isinstance(copy, dict):
        copy[rng.choice((text(rng), rng.choice(EXTREMES), str(key) + "x"))] = copy.pop(key)
    elif action == 1:
        copy *= rng.choice((0, 2, 50))
    else:
        copy[key] = _value(rng, tree[key])
    return copy


def _value(rng, old=None):
    made: list[Callable[[], Any]] = [
        lambda: number(rng),
        lambda: number(rng),
        lambda: text(rng),
        lambda: None,
        lambda: rng.random() < 0.5,
        dict,
        list,
        lambda: [old] * 3,
        lambda: {"a": old},
        lambda: nested(rng.choice((50, 3000))),
        lambda: str(old),
    ]
    return rng.choice(made)()


def nested(depth: int) -> list:
    """A list in a list in a list ..."""
    tree: list = []
    for _ in range(depth):
        tree = [tree]
    return tree
