"""What windows need of the system: set-up installs it, and what is missing is named."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import elf
from xtdrone_core import libraries
from xtdrone_core.errors import XtdroneError
from xtdrone_sim.rendering import offscreen

ROOT = Path(__file__).resolve().parents[2]
IMAGES = sorted((ROOT / "tests/data/system_packages").glob("*.txt"))
QT = libraries.qt_files()
needs_qt = pytest.mark.skipif(not QT, reason="PySide6 is not installed here")


def sections(path):
    """{"bare": packages of the image, "set-up": what set-up adds to it}."""
    found = {}
    for line in path.read_text().splitlines():
        if line.startswith("["):
            names = found.setdefault(re.match(r"\[(.*)\]", line)[1], set())
        elif not line.startswith("#"):
            names.add(line)
    return found


def declared():
    """The alternatives of each line of scripts/apt-packages.txt."""
    lines = (ROOT / "scripts/apt-packages.txt").read_text().splitlines()
    return [line.split("|") for line in lines if line and not line.startswith("#")]


def opened():
    """Every library outside PySide6 that its window opens, directly or through its own ones."""
    folder = QT[0].parents[2]
    todo, seen, outside = list(QT), set(), set()
    while todo:
        for name in elf.needed(todo.pop()):
            own = next(
                (
                    p
                    for p in (
                        folder / "lib" / name,
                        folder.parent / name,
                        folder.parents[1] / "shiboken6" / name,
                    )
                    if p.exists()
                ),
                None,
            )
            if own is None:
                outside.add(name)
            elif own not in seen:
                seen.add(own)
                todo.append(own)
    return outside


C_LIBRARY = (
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
)
OTHER_NAMES = {"libz.so.1": "zlib1g", "libgcc_s.so.1": "libgcc-s1"}


@needs_qt
@pytest.mark.parametrize("image", IMAGES, ids=lambda path: path.stem)
def test_set_up_installs_every_library_that_windows_open(image):
    packages = set.union(*sections(image).values())
    wanted = opened() - set(C_LIBRARY)
    assert len(wanted) > 20
    lacking = {
        name
        for name in wanted
        if (OTHER_NAMES.get(name) or libraries.packages([name])[0]) not in packages
    }
    assert not lacking, "add their packages to scripts/apt-packages.txt"
    assert set(offscreen.PACKAGES) <= packages
    assert {"xvfb", "rviz"} <= packages


@pytest.mark.parametrize("image", IMAGES, ids=lambda path: path.stem)
def test_the_recorded_set_up_is_that_of_today(image):
    """Record it again with tests/first_hour/first_hour.py where this fails."""
    packages = set.union(*sections(image).values())
    assert not [names for names in declared() if not packages & set(names)]


def test_a_bare_image_lacks_them_all():
    for image in IMAGES:
        assert not sections(image)["bare"] & {"libx11-6", "libgl1", "xvfb", "rviz"}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("dpkg") is None, reason="no Debian, and no Ubuntu")
def test_packages_are_named_as_the_distribution_names_them():
    """Each library that is installed here belongs to the package of that name."""
    cached = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    here = dict(re.findall(r"^\s+(\S+) .*x86-64.*=> (\S+)$", cached, re.MULTILINE))
    wanted = {
        name
        for name in (opened() if QT else ())
        if name in here and name not in C_LIBRARY and name not in OTHER_NAMES
    }
    if not wanted:
        pytest.skip("none of them is installed here")
    patterns = [f"*/{name}" for name in wanted]
    found = subprocess.run(["dpkg", "-S", *patterns], capture_output=True, text=True).stdout
    owners = {(Path(line.split()[-1]).name, line.split(":")[0]) for line in found.splitlines()}
    for name in wanted:
        (package,) = libraries.packages([name])
        assert {(name, package), (name, f"{package}t64")} & owners


def test_what_is_missing_is_one_line_with_what_installs_it(tmp_path, monkeypatch):
    ldd = tmp_path / "ldd"
    ldd.write_text(
        "#!/bin/sh\nprintf '\\tlibxcb-icccm.so.4 => not found\\n"
        "\\tlibc.so.6 => /lib/libc.so.6 (0x1)\\n\\tlibX11-xcb.so.1 => not found\\n'\n"
    )
    ldd.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(libraries, "qt_files", lambda window: [Path("libqxcb.so")])
    with pytest.raises(XtdroneError) as error:
        libraries.require_qt(XtdroneError)
    assert str(error.value) == (
        "Qt cannot open a window without libX11-xcb.so.1, libxcb-icccm.so.4: run scripts/setup.sh, "
        "or 'apt-get install libx11-xcb1 libxcb-icccm4'"
    )


def test_without_ldd_or_qt_nothing_is_said_to_be_missing(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert libraries.missing_for_qt() == []
