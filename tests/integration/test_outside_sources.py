"""Benchmarks, scripts and examples use what exists: no attribute or argument of before."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("benchmarks", "scripts", "scripts/validation", "examples")
WRONG = ("attr-defined", "call-arg", "name-defined", "import-not-found")
# What mypy cannot know: dictionaries of anything, and functions that are looked up.
NOT_KNOWN = '"object" has no attribute'


@pytest.mark.long
def test_names_and_arguments_exist(tmp_path):
    pytest.importorskip("mypy")
    files = [str(path) for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.py"))]
    options = "--ignore-missing-imports --check-untyped-defs --follow-imports silent"
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options.split(), "--cache-dir", tmp_path, "--config-file"]
        + [os.devnull, *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert "checked" in done.stdout, done.stdout + done.stderr
    wrong = [
        line
        for line in done.stdout.splitlines()
        if line.endswith(tuple(f"[{code}]" for code in WRONG)) and NOT_KNOWN not in line
    ]
    assert wrong == []
