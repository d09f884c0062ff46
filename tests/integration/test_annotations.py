"""Public functions have types: mypy checks the strict rooms, this the signatures of all others."""

import ast
from pathlib import Path

SRC = Path(__file__).parents[2] / "src"


def public_functions(tree):
    """(function, is a method) for what a user of the module may call."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node, False
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from (
                (method, True)
                for method in node.body
                if isinstance(method, ast.FunctionDef)
                and (not method.name.startswith("_") or method.name == "__init__")
            )


def missing(function, is_method):
    """Names of what has no annotation."""
    a = function.args
    bound = is_method and not any(
        getattr(d, "id", "") == "staticmethod" for d in function.decorator_list
    )
    named = [*a.posonlyargs, *a.args][bound:] + a.kwonlyargs
    named += [star for star in (a.vararg, a.kwarg) if star]
    found = [x.arg for x in named if x.annotation is None]
    if function.returns is None and function.name != "__init__":
        found.append("->")
    return found


def test_every_public_function_is_annotated():
    wrong = []
    for path in sorted(SRC.glob("*/**/*.py")):
        if "nodes" in path.parts:  # executables; their functions are called by ROS
            continue
        for function, is_method in public_functions(ast.parse(path.read_text())):
            if names := missing(function, is_method):
                wrong.append(
                    f"{path.relative_to(SRC)}:{function.lineno} {function.name}: "
                    + ", ".join(names)
                )
    assert not wrong, "\n" + "\n".join(wrong)
