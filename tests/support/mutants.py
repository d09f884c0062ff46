"""Plants faults in modules, one at a time, and counts those that tests find.

    python tests/support/mutants.py MODULE[,MODULE...] TEST... [--count 20] [--seed 1]

A fault is another comparison, operator, number or condition in one function, as `a < b` for
`a <= b`. The tests are collected once; each fault is planted in a forked process, which ends with
the first test that fails. No file is changed. Of functions that Numba compiles, what depends on
the fault is compiled anew and not kept; with many kernels this takes a while. What a test runs in a
process of its own is without the fault. With --long, tests marked as long come after the others,
and what they alone find is told. Exit status 1 where the tests fail without a fault.

`scripts/planted_faults.py` runs it for the modules of tests/faults.txt, and writes their table.
"""

import argparse
import ast
import copy
import gc
import importlib.util
import json
import os
import random
import resource
import signal
import sys
import time
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from xtdrone_dynamics import compiled, sources

TESTS = Path(__file__).resolve().parents[1]
LIMIT_S = 300  # of processor time, of the tests with one fault; one that never ends is found, too
TIME_OUT_S = 1800.0  # of wall time, for a fault with which a test waits forever
STATUS = MISSED, FOUND, BY_LONG = "not found", "found", "found by long tests alone"
_COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Fault:
    """A change of one line of a function."""

    original: types.CodeType
    code: types.CodeType
    text: str
    is_compiled: bool = False

    def plant(self) -> None:
        """Has every function with the original code execute the other one."""
        if self.is_compiled:
            compile_anew(Path(self.original.co_filename).resolve())
        for thing in gc.get_objects():
            if isinstance(thing, types.FunctionType) and thing.__code__ is self.original:
                thing.__code__ = self.code


def compile_anew(file: Path) -> None:
    """Keeps the cache from the kernels of a file, and from all that depend on it."""

    def folder_of(root: Path, paths: Sequence[Path], read_ns: int) -> Path | None:
        known = file not in sources.closure(*paths)
        return sources.folder_of(root, paths, read_ns) if known else None

    compiled.folder_of = folder_of  # type: ignore[attr-defined]


def changed(node: ast.AST) -> ast.AST | None:
    """Returns a node with a fault in its place, or None where there is none to make."""
    new = copy.deepcopy(node)
    if isinstance(new, ast.Compare) and type(new.ops[0]) in _COMPARISONS:
        new.ops[0] = _COMPARISONS[type(new.ops[0])]()
    elif isinstance(new, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(new.op) in _OPERATORS:
        new.op = _OPERATORS[type(new.op)]()
    elif isinstance(new, ast.Constant) and isinstance(new.value, bool):
        new.value = not new.value
    elif isinstance(new, ast.Constant) and isinstance(new.value, int | float):
        new.value = new.value * 2 + 1
    elif isinstance(new, ast.If | ast.IfExp | ast.While):
        new.test = ast.UnaryOp(ast.Not(), new.test)
    else:
        return None
    return ast.fix_missing_locations(ast.copy_location(new, node))


class _Replace(ast.NodeTransformer):
    """Puts another node in the place of one."""

    def __init__(self, old: ast.AST, new: ast.AST):
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        """Looks for it."""
        return self._new if node is self._old else self.generic_visit(node)


def functions_of(code: types.CodeType, path: str = "") -> Iterator[tuple[str, types.CodeType]]:
    """Yields the code of each function and method of a module, by its place in it."""
    for number, inner in enumerate(code.co_consts):
        if isinstance(inner, types.CodeType):
            name = f"{path}/{number} {inner.co_name}"
            yield name, inner
            yield from functions_of(inner, name)


def executed(module: types.ModuleType) -> dict[tuple[str, int], types.CodeType]:
    """Returns the code of the module's functions as they are now, by name and first line."""
    return {
        (thing.__code__.co_name, thing.__code__.co_firstlineno): thing.__code__
        for thing in gc.get_objects()
        if isinstance(thing, types.FunctionType) and thing.__code__.co_filename == module.__file__
    }


def faults_of(module: types.ModuleType) -> list[Fault]:
    """Makes every fault that can be planted in a module."""
    assert module.__file__ is not None
    source = Path(module.__file__).read_text()
    tree, lines = ast.parse(source), source.splitlines()
    now, found = executed(module), []
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for statement in function.body:  # without defaults and annotations
            if isinstance(statement, ast.Raise) or _is_docstring(statement):
                continue
            for node in ast.walk(statement):
                new = changed(node)
                if new is not None:
                    found += _made(module, tree, (node, new), (function, now), lines)
    return found


def _is_compiled(function: ast.FunctionDef) -> bool:
    decorators = "".join(map(ast.unparse, function.decorator_list))
    return "njit" in decorators or "fleet_kernel" in decorators


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _made(module, tree, change, where, lines):  # type: ignore[no-untyped-def]
    """The fault as a list; none where the function is not there, as one that is compiled."""
    node, new = change
    function, now = where
    begin = min((d.lineno for d in function.decorator_list), default=function.lineno)
    original = now.get((function.name, begin))
    mutant = compile(
        ast.fix_missing_locations(_Replace(node, new).visit(copy_but(tree, node))),
        module.__file__,
        "exec",
    )
    for _, code in functions_of(mutant):
        same = code.co_name == function.name and code.co_firstlineno == begin
        if same and original is not None and code.co_freevars == original.co_freevars:
            line = lines[node.lineno - 1].strip()
            text = f"{Path(module.__file__).name}:{node.lineno}: {ast.unparse(new)[:60]}  # {line}"
            shown = text.replace("\n", " ")
            return [Fault(original, code, shown, _is_compiled(function))]
    return []


def copy_but(tree: ast.AST, node: ast.AST) -> ast.AST:
    """Copies a tree in which one node stays the same object."""
    return copy.deepcopy(tree, {id(node): node})


class Referee:
    """A plugin of pytest that runs the collected tests once for each fault."""

    def __init__(self, modules: list[str], count: int, seed: int, known: dict[str, list[str]]):
        self._modules, self._count, self._seed, self._known = modules, count, seed, known
        self.faults: dict[str, list[str]] = {FOUND: [], BY_LONG: [], MISSED: []}
        self.sound = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Runs them without a fault, then with each that is drawn."""
        gc.unfreeze()  # else what the collection left is not among its objects
        faults = [f for name in self._modules for f in faults_of(importlib.import_module(name))]
        drawn = random.Random(self._seed).sample(faults, min(self._count, len(faults)))
        session.items.sort(key=is_long)
        self.sound = judge(session, None) == MISSED
        for fault in drawn if self.sound else []:
            kinds = [kind for kind in (FOUND, BY_LONG) if fault.text in self._known.get(kind, ())]
            self.faults[kinds[0] if kinds else judge(session, fault)].append(fault.text)
        return True


def is_long(item: pytest.Item) -> bool:
    """Whether a test is left out by `make test`."""
    return item.get_closest_marker("long") is not None


def judge(session: pytest.Session, fault: Fault | None) -> str:
    """Runs the tests in a forked process: which of them find the fault, if any."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))
            quiet = os.open(os.devnull, os.O_WRONLY)
            for stream in (1, 2):
                os.dup2(quiet, stream)
            if fault is not None:
                fault.plant()
            for item, following in zip(session.items, [*session.items[1:], None]):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.testsfailed:
                    os._exit(STATUS.index(BY_LONG if is_long(item) else FOUND))
            os._exit(STATUS.index(MISSED))
        finally:
            os._exit(STATUS.index(FOUND))
    end = time.monotonic() + TIME_OUT_S
    while time.monotonic() < end:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return STATUS[code] if 0 <= code < len(STATUS) else FOUND
        time.sleep(0.02)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return FOUND


def main() -> int:
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", help="modules in which faults are planted, divided by commas")
    parser.add_argument("tests", nargs="+", help="files of tests, or what pytest takes for them")
    parser.add_argument("--count", type=int, default=20, help="faults, drawn at random")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--json", type=Path, help="write the faults by what became of them there")
    parser.add_argument("--known", type=Path, help="such a file: plant none that it has as found")
    args, more = parser.parse_known_args()
    modules = args.modules.split(",")
    unknown = [name for name in modules if importlib.util.find_spec(name) is None]
    if unknown:
        parser.error(f"there is no module {', '.join(unknown)}")
    known = json.loads(args.known.read_text()) if args.known else {}
    referee = Referee(modules, args.count, args.seed, known)
    words = ["-q", "-p", "no:cacheprovider", "--no-header", "--no-summary", *args.tests, *more]
    pytest.main(words, plugins=[referee])
    if not referee.sound:
        print("the tests fail without a fault", file=sys.stderr)
        return 1
    if args.json:
        args.json.write_text(json.dumps(referee.faults))
    for kind in (BY_LONG, MISSED):
        for text in referee.faults[kind]:
            print(f"{kind}: {text}")
    counts = (f"{len(texts)} {kind}" for kind, texts in referee.faults.items())
    print(f"{args.modules}: {', '.join(counts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
