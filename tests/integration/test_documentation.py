"""The manual is true: its site builds, its code runs, its commands and launch files exist.

A fenced block with the language `sh` or `python` is run, those of one page one after the other in
one shell and one folder. One that cannot be run here has a comment on the line before it,
`<!-- not run: why -->`; its commands are still checked against what the programs take. A block of
a tutorial with the language `text` shows lines that its commands print.
"""

import ast
import importlib.util
import inspect
import itertools
import os
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest

import xtdrone as xd
from own_ports import LATEST
from ros_fixtures import free_port, needs_ros
from xtdrone_core import command
from xtdrone_core.scenario.scenario_options import scenario_of

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *TUTORIALS,
]
# Names of tutorials, which may be those of other pages.
IDS = {page: f"tutorials/{page.stem}" if page in TUTORIALS else page.stem for page in PAGES}
# What the blocks of a page need beside the project.
NEEDS = {
    "tutorials/ros_node": needs_ros,
    "tutorials/policy": pytest.mark.skipif(
        importlib.util.find_spec("torch") is None, reason="PyTorch is not installed here"
    ),
    "tutorials/slam": pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("cv2", "evo")),
        reason="the extra slam is not installed here",
    ),
}
TIME_OUT_S = 900
# The page whose blocks are always run, since it is the first that is read; those of the others are
# by `make test-long`. Of all pages commands are parsed, scenarios made, imports resolved.
FIRST = "README"
_SHELL = ("&", "&&", "|", "||", ">", ">>", "<", ";")  # what ends a command
_BLOCK = re.compile(
    r"(?:<!-- not run: (?P<why>[^>]+) -->\n)?^```(?P<language>sh|python)\n"
    r"(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """Code of a page."""

    language: str
    code: str
    why: str | None  # it is not run

    @property
    def runs(self):
        return self.why is None


def blocks(page):
    return [
        Block(found["language"], found["code"], found["why"])
        for found in _BLOCK.finditer(page.read_text())
    ]


def needed(page):
    """The marks that skip the blocks of a page where something that they need is missing."""
    return [NEEDS[IDS[page]]] if IDS[page] in NEEDS else []


def pages_with(language, but_first=(pytest.mark.long,)):
    """Pages of which blocks of this language are run; all but the first with a mark."""
    return [
        pytest.param(
            page, id=IDS[page], marks=() if page.stem == FIRST else [*but_first, *needed(page)]
        )
        for page in PAGES
        if any(block.runs and block.language == language for block in blocks(page))
    ]


def command_lines(pages=PAGES):
    """Every line of every shell block, as words; continued lines are one."""
    for page in pages:
        for block in blocks(page):
            if block.language == "sh":
                code = re.sub(r"<<'END'\n.*?^END$", "", block.code, flags=re.MULTILINE | re.DOTALL)
                for line in code.replace("\\\n", " ").splitlines():
                    words = shlex.split(line, comments=True)
                    words = list(itertools.takewhile(lambda word: word not in _SHELL, words))
                    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                        words = words[1:]
                    if words:
                        yield pytest.param(words, id=f"{IDS[page]}: {' '.join(words)}"[:80])


@pytest.fixture
def workspace(tmp_path):
    """A folder like the checkout, whose models, worlds and runs can be added to."""
    (tmp_path / "docs" / "images").mkdir(parents=True)
    for name in (
        "docs/missions",
        "examples",
        "launch",
        "benchmarks",
        "scripts",
        "src",
        ".venv",
        ".setup",
    ):
        if (ROOT / name).exists():
            (tmp_path / name).symlink_to(ROOT / name)
    for name in ("models", "worlds"):
        (tmp_path / name).mkdir()
        for inside in (ROOT / name).iterdir():
            (tmp_path / name / inside.name).symlink_to(inside)
    return tmp_path


def environment(folder):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {
        **os.environ,
        "PATH": path,
        "XTDRONE_ROOT": str(folder),
        "MPLBACKEND": "Agg",
        "XTDRONE_RUNS": str(folder / "runs"),
        "ROS_MASTER_URI": f"http://127.0.0.1:{free_port()}",
    }


def shown_lines(page):
    """Lines of output that a page shows, without their figures."""
    for text in re.findall(r"^```text\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        yield from map(without_figures, text.splitlines())


def without_figures(line):
    """The first column of a line of output, with every number as 0."""
    return re.sub(r"[\d.]+", "0", re.split(r" {2,}", line.strip())[0])


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("sh"))
def test_shell_blocks_run(page, workspace):
    script = "set -eo pipefail\n" + "\n".join(
        block.code for block in blocks(page) if block.runs and block.language == "sh"
    )
    script = script.replace("runs/latest", f"runs/{LATEST}")  # this worker's instance
    # Kernels are kept by the path of their source: those of a link would be compiled anew.
    script = script.replace(". scripts/env.sh", f". {ROOT}/scripts/env.sh")
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=workspace,
        env=environment(workspace),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIME_OUT_S,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    if page in TUTORIALS:
        printed = {without_figures(line) for line in done.stdout.splitlines()}
        assert [line for line in shown_lines(page) if line not in printed] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("python"))
def test_python_blocks_run(page, workspace):
    code = "\n\n".join(
        block.code for block in blocks(page) if block.runs and block.language == "python"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=workspace,
        text=True,
        env=environment(workspace),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=TIME_OUT_S,
    )
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("words", list(command_lines()))
def test_commands_exist(words):
    if words[0] == "xtdrone":
        takes(words[1:])
    elif words[0] == "roslaunch":
        if words[1] == "-p":  # port of the ROS master
            words = words[2:]
        check_launch(ROOT / words[1], words[2:])
    elif words[0] == "make":
        assert re.search(
            rf"^[a-z -]*\b{words[1]}\b[a-z -]*:", (ROOT / "Makefile").read_text(), re.MULTILINE
        ), f"no target {words[1]}"
    elif words[0] in ("python", "bash", ".") and len(words) > 1 and "/" in words[1]:
        assert (ROOT / words[1]).exists() or words[1].startswith(".setup/"), words[1]
    elif words[0].startswith("scripts/"):
        assert (ROOT / words[0]).is_file(), words[0]


def of_later_pages():
    """Commands of the pages whose blocks are long, but for those with files of the reader's."""
    for case in command_lines(page for page in PAGES if page.stem != FIRST):
        (words,) = case.values
        files = [
            word for word in words[1:] if Path(word).suffix in (".sdf", ".world", ".yaml", ".plan")
        ]
        theirs = re.search("my_|--out|~/|[$|]|--help|vehicle check hawk", " ".join(words))
        if words[0] == "xtdrone" and not theirs and all((ROOT / file).exists() for file in files):
            yield case


@pytest.mark.parametrize("words", list(of_later_pages()))
def test_values_of_pages_that_are_not_run(words, runs, monkeypatch):
    """What only shows or checks is executed; of what flies the scenario is made."""
    monkeypatch.chdir(ROOT)
    if words[1] in ("list", "vehicle") or words[1:3] == ["mission", "check"]:
        assert command.main(words[1:]) == 0
    elif words[1] in ("fly", "sim"):
        args = command.build_parser(words[1:]).parse_args(words[1:])
        scenario_of(args, speed=0.0)
        if args.mission:
            names = ("vehicle", "velocity_control", "rate_control")
            given = [(f"--{name}", getattr(args, name)) for name in names if getattr(args, name)]
            words = [word for pair in given for word in pair]
            assert command.main(["mission", "check", args.mission, *words]) == 0


@pytest.mark.parametrize("page", pages_with("python", ()))
def test_python_blocks_use_what_there_is(page):
    """Without running them: what they import, and the attributes of the modules."""
    code = "\n\n".join(block.code for block in blocks(page) if block.language == "python")
    modules = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                module = importlib.import_module(alias.name)
                modules[alias.asname or alias.name] = module
        elif isinstance(node, ast.ImportFrom):
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):  # a module of a package
                    importlib.import_module(f"{node.module}.{alias.name}")
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id)
            assert module is None or hasattr(module, node.attr), ast.unparse(node)


def takes(words):
    """The command line takes these words; what a value must be is not checked here."""
    known = [word for word in words if not word.startswith("$")]
    status = 0
    try:
        command.build_parser(known).parse_args(known)
    except SystemExit as end:
        status = end.code
    assert status == 0, f"xtdrone does not take {' '.join(words)}"


def arguments(file):
    """What a launch file takes: its own arguments, and those of files that it hands all to."""
    tree = ET.parse(file)
    names = {tag.get("name") for tag in tree.iter("arg") if "value" not in tag.attrib}
    for tag in tree.iter("include"):
        if tag.get("pass_all_args") == "true":
            names |= arguments(ROOT / "launch" / Path(tag.get("file")).name)
    return names


def check_launch(file, given):
    names = arguments(file)
    for word in given:
        name, is_argument, _ = word.partition(":=")
        assert is_argument and name in names, f"{file.name} has no argument {name}"


def test_each_public_class_has_an_example():
    assert [name for name in xd.__all__ if not has_example(getattr(xd, name))] == []


def has_example(thing):
    return not inspect.isclass(thing) or ">>> " in (thing.__doc__ or "")


@pytest.mark.long  # `.ci/run` builds the site by `make docs`
@pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None,
    reason="MkDocs is not installed here (it needs Python 3.11)",
)
def test_site_builds_without_a_warning(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        text=True,
        timeout=TIME_OUT_S,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert (tmp_path / "site" / "index.html").is_file()
    assert "read_truth" in (tmp_path / "site" / "api" / "core.html").read_text()
    assert without_example((tmp_path / "site" / "api" / "xtdrone.html").read_text()) == []


def without_example(page):
    """Public classes of xtdrone that a page of the reference lacks, or has without an example."""
    parts = re.split(r'id="xtdrone\.(\w+)" class="doc doc-heading"', page)
    shown = dict(zip(parts[1::2], parts[2::2], strict=True))
    return [
        name
        for name in xd.__all__
        if inspect.isclass(getattr(xd, name))
        and '<span class="gp">&gt;&gt;&gt; </span>' not in shown.get(name, "")
    ]
