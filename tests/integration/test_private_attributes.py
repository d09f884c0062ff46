"""No part of the workspace, tests included, touches another's private names.

A name is private to the file that defines it, as an attribute of self, in a class or at its top. It
is found by reading the sources, so what is reached by getattr() with a computed name is not seen.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
READERS = ("src", "tests", "benchmarks", "scripts", "examples")
SHARED = {"_fields", "_replace", "_asdict", "_make"}  # public names of every named tuple
OF_OTHERS = {  # private to another library, whose public interface does not suffice
    ("src/xtdrone_dynamics/compiled.py", "_cache"): "Numba's cache of a kernel",
    ("src/xtdrone_dynamics/quick_numba.py", "_values"): "the flags of a compilation that were set",
    ("src/xtdrone_ros2/wire/node.py", "_delete"): "Cyclone DDS deletes an entity by it",
}


def is_private(name):
    """Whether a name begins with one underscore, as _name."""
    return name.startswith("_") and not name.startswith("__") and len(name) > 1


def sources(*folders, root=ROOT):
    """Every Python file below these folders, executables of ROS included."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix == ".py" or (path.parent.name == "nodes" and is_program(path)):
                yield path


def is_program(path):
    """Whether a file without a suffix is a Python program."""
    if not path.is_file() or path.suffix:
        return False
    with path.open("rb") as file:
        return file.readline().startswith(b"#!") and b"python" in path.read_bytes()[:40]


def is_own(node):
    """Whether an expression is self or cls."""
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def defined(tree):
    """The private names that the code of a syntax tree defines, as attributes or at its top."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if is_private(node.attr) and is_own(node.value):
                yield node.attr
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if is_private(node.name):
                yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if is_private(node.id):
                yield node.id


class Accesses(ast.NodeVisitor):
    """Collects the lines of a file that touch what is private to another file."""

    def __init__(self, ours):
        self.ours = ours  # private names that other files of the workspace define
        self.lines = []  # (line, name)

    def visit_Attribute(self, node):
        self.generic_visit(node)
        name = node.attr
        if not is_private(name) or name in SHARED or name not in self.ours:
            return
        own = is_own(node.value)
        of_super = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "super"
        if not (own or of_super):
            self.lines.append((node.lineno, name))

    def visit_ImportFrom(self, node):
        self.lines += [
            (node.lineno, alias.name)
            for alias in node.names
            if is_private(alias.name) and alias.name in self.ours
        ]

    def visit_Call(self, node):
        """setattr() of pytest's monkeypatch, and of Python, by a name that is written out."""
        self.generic_visit(node)
        by_name = ("setattr", "getattr", "delattr", "hasattr")
        function = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
        if function not in by_name or (node.args and is_own(node.args[0])):
            return
        for argument in node.args[:2]:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                name = argument.value.rpartition(".")[2]
                if is_private(name) and name in self.ours - SHARED:
                    self.lines.append((node.lineno, name))


def accesses(root=ROOT, readers=READERS):
    """(file, line, name) of each access to what is private to another part."""
    trees = {path: ast.parse(path.read_text()) for path in sources(*readers, root=root)}
    names = {path: set(defined(tree)) for path, tree in trees.items()}
    ours = set().union(*(names[path] for path in trees if path.is_relative_to(root / "src")))
    for path, tree in trees.items():
        visitor = Accesses(ours - names[path])
        visitor.visit(tree)
        for line, name in visitor.lines:
            if (str(path.relative_to(root)), name) not in OF_OTHERS:
                yield path.relative_to(root), line, name


@pytest.mark.long  # `make check` has it
def test_no_part_touches_what_is_private_to_another():
    found = [f"{path}:{line}: {name}" for path, line, name in accesses()]
    assert not found, "\n".join(found) + "\ngive it a public name, or test what it does"


@pytest.mark.parametrize(
    "code, names",
    [
        ("class A:\n def f(self, other):\n  self._x = other._x", []),
        ("class A:\n def _x(self):\n  pass\nTABLE = {1: A._x}", []),
        ("def f(a):\n a._x = 3", ["_x"]),
        ("def f(a):\n return a._x", ["_x"]),
        ("from m import _x", ["_x"]),
        ("import m\nm._x = 3", ["_x"]),
        ("def test(monkeypatch, m):\n monkeypatch.setattr(m, '_x', 3)", ["_x"]),
        ("def test(monkeypatch):\n monkeypatch.setattr('m._x', 3)", ["_x"]),
        ("def f(row):\n return row._asdict(), row._of_another_library", []),
        ("class B(A):\n def f(self):\n  return super()._x, self._x", []),
    ],
)
def test_the_accesses_of_a_file_are_found(tmp_path, code, names):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "m.py").write_text("_x = 1\n")
    (tmp_path / "src" / "reader.py").write_text(code)
    assert [name for _, _, name in accesses(tmp_path, ["src"])] == names
