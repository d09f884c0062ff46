"""Environments of their own for systems whose packages shall not meet the workspace's."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from .errors import SlamError

_DONE = "installed"  # file in an environment that is whole


def root() -> Path:
    """Folder with an environment for each system; XTDRONE_SYSTEMS moves it."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("XTDRONE_SYSTEMS") or Path(cache) / "xtdrone" / "systems")


def home(name: str) -> Path:
    """Folder of a system's environment.

    Raises:
        SlamError: It is not installed, or not to its end.
    """
    folder = root() / name
    if not (folder / _DONE).is_file():
        raise SlamError(f"the system '{name}' is not installed: xtdrone slam install {name}")
    return folder


def variables() -> dict:
    """Environment variables under which `{python} -m xtdrone_slam...` finds this package."""
    source = str(Path(__file__).parents[1])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def install(name: str, requirements, command=(), progress=None) -> Path:
    """Makes a system's environment anew.

    Args:
        name: Of the system.
        requirements: As pip takes them.
        command: Completes the environment, after pip; `{python}` is this interpreter and `{home}`
            the environment's folder.
        progress: Called with a word before each step.

    Returns:
        Its folder.

    Raises:
        SlamError: It cannot be made; what was there before is gone then.
    """
    folder = root() / name
    shutil.rmtree(folder, ignore_errors=True)
    words = {"python": sys.executable, "home": str(folder)}
    steps = {"environment": [sys.executable, "-m", "venv", str(folder)],
             "packages": [str(folder / "bin" / "python"), "-m", "pip", "install",
                          "--disable-pip-version-check", "--no-input", *requirements],
             "completion": [word.format(**words) for word in command]}
    for step, words in steps.items():
        if not words:
            continue
        if progress is not None:
            progress(step)
        own = {**os.environ, "PYTHONPATH": ""} if step == "packages" else variables()
        done = subprocess.run(words, capture_output=True, text=True, env=own)
        if done.returncode:
            lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
            errors = [line for line in lines if line.startswith("ERROR")] or lines
            raise SlamError(f"cannot install '{name}' into '{folder}', step {step}: "
                            f"{errors[-1] if errors else 'no message'}")
    (folder / _DONE).write_text("\n".join(requirements) + "\n")
    return folder


def add_install(actions) -> None:
    """Adds `install` to the actions of `xtdrone slam`."""
    parser = actions.add_parser("install", help="make the environment of a system that needs one",
                                description="Installs a system under test into an environment of "
                                "its own, below ~/.cache/xtdrone/systems (XTDRONE_SYSTEMS).",
                                epilog="example: xtdrone slam install orbslam3")
    parser.add_argument("system", help="orbslam3, basalt, or a folder with an adapter.yaml")
    parser.set_defaults(run=_install)


def _install(args):
    from tqdm import tqdm

    from . import runner

    adapter = runner.load_adapter(args.system)
    if not adapter.requirements:
        print(f"'{adapter.name}' needs no environment of its own")
        return
    with tqdm(total=2 + bool(adapter.install), bar_format="{l_bar}{bar}| {elapsed}",
              file=sys.stderr) as bar:
        def progress(step):
            bar.set_description(f"{adapter.name}: {step}")
            bar.update()

        folder = install(adapter.name, adapter.requirements, adapter.install, progress)
    print(f"installed: {folder}")
