"""Makes the pictures of the manual by the commands in scripts/pictures.txt; see pictures.sh.

docs/images/manifest.json has a line on each picture: a hash of the sources that draw it and of its
command, and one of the picture. A picture whose sources have changed since is outdated. Hashes,
not times, since a checkout sets all times anew. Layout, comments and docstrings do not count.
"""

import argparse
import ast
import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE, MANIFEST = Path("scripts/pictures.txt"), Path("docs/images/manifest.json")
SUFFIXES = (".png", ".jpg", ".gif", ".svg")
TIME_OUT_S = 1800
SCREEN = "1280x800x24"


@dataclass(frozen=True)
class Entry:
    """A line of the table: pictures that one command makes."""

    pictures: str  # a path, or a pattern of paths
    sources: tuple[str, ...]  # patterns of files and folders
    command: str


@dataclass(frozen=True)
class Table:
    """The whole table."""

    entries: list[Entry]
    runs: dict[str, str] = field(default_factory=dict)  # name of a run to the command that flies it


def read(root: Path = ROOT) -> Table:
    """The table of a checkout.

    Raises:
        ValueError: A line has not three parts.
    """
    table = Table([])
    for number, line in enumerate((root / TABLE).read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        count = 1 if line.startswith("@") else 2  # a command may have a | of its own
        parts = [part.strip() for part in line.split("|", count)]
        if len(parts) == 2 and count == 1:
            table.runs[parts[0][1:]] = parts[1]
        elif len(parts) == 3:
            table.entries.append(Entry(parts[0], tuple(parts[1].split()), parts[2]))
        else:
            raise ValueError(
                f"{TABLE}, line {number}: give PICTURES | SOURCES | COMMAND, or @RUN | COMMAND"
            )
    return table


def source_hash(entry: Entry, root: Path = ROOT) -> str:
    """Hash of the command and of the sources.

    Of a Python source it is that of its syntax tree without docstrings; of any other that of its
    lines without blank ones and those of a comment.

    Raises:
        ValueError: A pattern finds no file.
    """
    total = hashlib.sha256(entry.command.encode())
    for pattern in entry.sources:
        found = [
            path
            for top in sorted(root.glob(pattern))
            for path in (sorted(top.rglob("*")) if top.is_dir() else [top])
            if path.is_file() and "__pycache__" not in path.parts
        ]
        if not found:
            raise ValueError(f"{TABLE}: {pattern}, which draws {entry.pictures}, is not there")
        for path in found:
            total.update(str(path.relative_to(root)).encode())
            total.update(_meaning(path))
    return total.hexdigest()[:16]


def _meaning(path: Path) -> bytes:
    """What counts of a source."""
    content = path.read_bytes()
    if path.suffix == ".py":
        with contextlib.suppress(SyntaxError):
            return repr(_canonical(ast.parse(content))).encode()
    lines = (line.rstrip() for line in content.splitlines())
    return b"".join(line + b"\n" for line in lines if line and not line.strip().startswith(b"#"))


def _canonical(value: object) -> object:
    """A syntax tree as tuples, without docstrings and empty fields: alike in all versions."""
    if isinstance(value, list):
        return tuple(map(_canonical, value))
    if not isinstance(value, ast.AST):
        return value
    fields = dict(ast.iter_fields(value))
    documented = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    if isinstance(value, documented) and ast.get_docstring(value, clean=False) is not None:
        fields["body"] = value.body[1:]
    return (
        type(value).__name__,
        *((name, _canonical(field)) for name, field in fields.items() if field not in (None, [])),
    )


def pictures_of(entry: Entry, root: Path = ROOT) -> list[Path]:
    """The pictures that are there, relative to the root."""
    return sorted(path.relative_to(root) for path in root.glob(entry.pictures))


def picture_hash(path: Path) -> str:
    """Hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def manifest(root: Path = ROOT) -> dict[str, list[str]]:
    """Picture to the hashes of its sources and of itself."""
    path = root / MANIFEST
    return json.loads(path.read_text()) if path.exists() else {}


def outdated(table: Table, root: Path = ROOT) -> dict[str, str]:
    """Why pictures are not what the sources draw: the picture, or the pattern of them, and why."""
    noted, why = manifest(root), {}
    for entry in table.entries:
        sources = source_hash(entry, root)
        found = pictures_of(entry, root)
        if not found:
            why[entry.pictures] = "is not there"
        for picture in map(str, found):
            if picture not in noted:
                why[picture] = "was not made by this script"
            elif noted[picture][0] != sources:
                why[picture] = f"is older than {', '.join(entry.sources)}"
            elif noted[picture][1] != picture_hash(root / picture):
                why[picture] = "was changed since it was made"
    return why


def unclaimed(table: Table, root: Path = ROOT) -> list[str]:
    """Pictures below docs/ that no line makes."""
    claimed = {path for entry in table.entries for path in pictures_of(entry, root)}
    return sorted(
        str(path.relative_to(root))
        for path in (root / "docs").rglob("*")
        if path.suffix in SUFFIXES and path.relative_to(root) not in claimed
    )


def note(entry: Entry, root: Path = ROOT) -> None:
    """Writes the pictures of a line into the manifest."""
    sources = source_hash(entry, root)
    noted = {path: hashes for path, hashes in manifest(root).items() if (root / path).exists()}
    noted |= {str(path): [sources, picture_hash(root / path)] for path in pictures_of(entry, root)}
    lines = [f"{json.dumps(path)}: {json.dumps(noted[path])}" for path in sorted(noted)]
    (root / MANIFEST).write_text("{\n" + ",\n".join(lines) + "\n}\n")


class Maker:
    """Runs commands, after the flights that they show."""

    def __init__(self, table: Table, folder: Path, root: Path = ROOT):
        """Of a table; folder gets the runs."""
        self._runs, self._folder, self._root = table.runs, folder, root
        self._environment = {
            **os.environ,
            "XTDRONE_RUNS": str(folder),
            "MPLBACKEND": "Agg",
            "PYTHONHASHSEED": "0",
        }

    def make(self, entry: Entry) -> str:
        """Makes the pictures of a line; returns what went wrong, or nothing."""
        before = {
            path: (self._root / path).stat().st_mtime_ns for path in pictures_of(entry, self._root)
        }
        kept = {path: (self._root / path).read_bytes() for path in before}
        for path in before:  # programs leave files alone that others have written
            (self._root / path).unlink()
        error = self._run(self._with_runs(entry.command), entry.pictures)
        if error or not pictures_of(entry, self._root):
            for path, content in kept.items():
                (self._root / path).write_bytes(content)
            return error or "its command made no picture"
        note(entry, self._root)
        return ""

    def _with_runs(self, command: str) -> str:
        for name in re.findall(r"@([a-z]\w*)", command):
            folder = self._folder / name
            if not folder.exists():
                error = self._run(self._with_runs(self._runs[name]), name)
                if error:
                    return f"echo {shlex.quote(f'the flight {name}: {error}')} >&2; false"
            command = command.replace(f"@{name}", shlex.quote(str(folder)))
        return command

    def _run(self, command: str, picture: str) -> str:
        if command.startswith("window "):
            _, seconds, command = command.split(maxsplit=2)
            return self._grab(command, float(seconds), self._root / picture)
        try:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=self._root,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=TIME_OUT_S,
            )
        except subprocess.TimeoutExpired:
            return f"takes more than {TIME_OUT_S} s"
        return "" if done.returncode == 0 else done.stdout.strip()[-400:] or "failed"

    def _grab(self, command: str, seconds: float, picture: Path) -> str:
        """A picture of the whole screen, some seconds after a program was started."""
        from PIL import ImageGrab

        program = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self._root,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            program.wait(seconds)
            return (program.stderr.read().strip()[-400:] if program.stderr else "") or "ended early"
        except subprocess.TimeoutExpired:
            screen = ImageGrab.grab(xdisplay=os.environ["DISPLAY"])
            windows = screen.getbbox()  # what is not black
            if windows is None:
                return f"no window after {seconds:g} s"
            screen.crop(windows).save(picture)
            return ""
        finally:
            for number in (signal.SIGINT, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(program.pid, number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    program.wait(20)


@contextlib.contextmanager
def display():
    """A display of its own, without a screen."""
    if shutil.which("Xvfb") is None:
        print(
            "Xvfb is not installed here: windows cannot be shown (apt-get install xvfb)",
            file=sys.stderr,
        )
        yield
        return
    reader, writer = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writer), "-screen", "0", SCREEN, "-nolisten", "tcp"],
        pass_fds=[writer],
        stderr=subprocess.DEVNULL,
    )
    os.close(writer)
    with os.fdopen(reader) as answer:
        number = answer.readline().strip()
    os.environ["DISPLAY"] = f":{number}"
    try:
        yield
    finally:
        server.terminate()
        server.wait()


def main() -> int:
    """Runs the command line; returns its exit status."""
    parser = argparse.ArgumentParser(description="make the pictures of the manual")
    parser.add_argument("word", nargs="*", help="only pictures whose name contains one of these")
    parser.add_argument("--outdated", action="store_true", help="only those that are outdated")
    parser.add_argument("--check", action="store_true", help="name the outdated, make none")
    parser.add_argument(
        "--record",
        action="store_true",
        help="make none: note that the named ones were made elsewhere",
    )
    parser.add_argument(
        "--accept",
        action="store_true",
        help="make none: note that the named ones are still what their sources draw; right only "
        "after a change of names, types or places of code, which cannot change a pixel",
    )
    args = parser.parse_args()
    table = read()
    if args.check:
        why = outdated(table) | dict.fromkeys(unclaimed(table), f"has no line in {TABLE}")
        for picture, reason in why.items():
            print(f"{picture} {reason}")
        return int(bool(why))
    for option in ("record", "accept"):
        if getattr(args, option) and not args.word:
            parser.error(f"--{option} needs the names of the pictures, or words of them")
    old = outdated(table) if args.outdated else None
    wanted = [
        entry
        for entry in table.entries
        if (not args.word or any(word in entry.pictures for word in args.word))
        and (
            old is None
            or entry.pictures in old
            or any(str(path) in old for path in pictures_of(entry))
        )
    ]
    if args.word and not wanted:
        parser.error(f"no picture of {TABLE} has a name with {' or '.join(args.word)}")
    if args.record:
        return record(wanted)
    return accept(wanted) if args.accept else make(table, wanted)


def record(wanted: list[Entry]) -> int:
    """Notes pictures as they are."""
    for entry in wanted:
        note(entry)
        print(f"noted {entry.pictures}")
    return 0


def accept(wanted: list[Entry], root: Path = ROOT) -> int:
    """Notes the sources of pictures as they are; returns 1 if one is not as it was made."""
    noted, failed = manifest(root), 0
    for entry in wanted:
        found = pictures_of(entry, root)
        hashes = {str(path): noted.get(str(path), ["", ""])[1] for path in found}
        changed = [path for path in found if hashes[str(path)] != picture_hash(root / path)]
        if changed or not found:
            failed = 1
            print(f"left {entry.pictures}: not as it was made, make it again")
            continue
        note(entry, root)
        print(f"accepted {entry.pictures}")
    return failed


def make(table: Table, wanted: list[Entry]) -> int:
    """Makes pictures; returns 1 if one of them could not be made."""
    folder = ROOT / "runs" / "pictures"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    failed = 0
    with display():
        maker = Maker(table, folder)
        for entry in wanted:
            begun = time.monotonic()
            error = maker.make(entry)
            failed += bool(error)
            print(
                f"{'FAILED' if error else 'made  '} {entry.pictures} "
                f"({time.monotonic() - begun:.0f} s){': ' + error if error else ''}",
                flush=True,
            )
    print(f"{len(wanted) - failed} of {len(wanted)} made")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
