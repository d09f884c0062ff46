"""scripts/setup.sh and scripts/env.sh, in a copy of the checkout that has nothing installed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from waiting import LIMIT_S

ROOT = Path(__file__).resolve().parents[2]
NEEDED = (
    "bash sh env cat cp find mv rm mkdir dirname basename grep sed cut head tail sha256sum flock "
    "id date sort"
).split()

PIP = """#!/bin/sh
echo "$*" >>"{calls}"
"""
DPKG_QUERY = """#!/bin/sh
shift 3
for name; do
    case "$name" in {installed}) echo "$name installed" ;; esac
done
"""


class Checkout:
    """A copy of what setup.sh reads, with recorded stand-ins for pip, apt and dpkg."""

    def __init__(self, folder: Path):
        self.root = folder / "a path with spaces"
        self.calls = folder / "calls.txt"
        self.bin = folder / "bin"
        self.calls.touch()
        self.bin.mkdir()
        for name in NEEDED:
            (self.bin / name).symlink_to(shutil.which(name))
        for name in (
            "scripts",
            "requirements.txt",
            "requirements-slam.txt",
            "requirements-dev.txt",
            "pyproject.toml",
            "setup.py",
            "src/xtdrone_dynamics",
            "src/xtdrone_msgs",
        ):
            source, target = ROOT / name, self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
        self.script("python", PIP.format(calls=self.calls), self.root / ".venv" / "bin")
        self.script("xtdrone", PIP.format(calls=self.calls), self.root / ".venv" / "bin")
        self.script("pip", f"#!{self.root}/.venv/bin/python\n", self.root / ".venv" / "bin")
        self.installed("*")

    def script(self, name, text, folder=None):
        path = (folder or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def installed(self, pattern):
        """Which packages dpkg has, as a pattern of the shell."""
        self.script("dpkg-query", DPKG_QUERY.format(installed=pattern))

    def setup(self, *options):
        """Runs setup.sh; returns (status, its lines, what it called)."""
        self.calls.write_text("")
        done = subprocess.run(
            ["bash", self.root / "scripts" / "setup.sh", *options],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_S,
            env={"PATH": str(self.bin), "HOME": str(self.root)},
            stdin=subprocess.DEVNULL,
        )
        return done.returncode, done.stdout.splitlines(), self.calls.read_text().splitlines()


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


def test_first_call_does_everything_and_the_second_nothing(checkout):
    status, lines, calls = checkout.setup("--no-ros")
    assert status == 0, lines
    assert any("-r requirements.txt" in call for call in calls)
    assert any("-e ." in call for call in calls)
    assert "warmup" in calls
    status, lines, calls = checkout.setup("--no-ros")
    assert status == 0
    assert calls == []
    assert len(lines) == 1 and "ready" in lines[0]


def test_the_demonstration_gets_what_it_needs_and_the_rest_comes_later(checkout):
    checkout.script("apt-get", PIP.format(calls=checkout.calls))
    checkout.script("apt-cache", "#!/bin/sh\nexit 0\n")
    (checkout.bin / "id").unlink()
    checkout.script("id", "#!/bin/sh\necho 0\n")
    checkout.installed("nothing")
    status, lines, calls = checkout.setup("--demo")
    assert status == 0, lines
    assert not any("-r requirements" in call for call in calls)
    assert any("-c requirements.txt -e ." in call for call in calls)
    (install,) = (call.split() for call in calls if "--no-install-recommends" in call)
    assert (
        "warmup" in calls
        and "python3-roslaunch" in install
        and not {"rviz", "catkin", "libegl1"} & set(install)
    )
    checkout.installed("python3-*|ros-*|rospack-tools|rosbash")
    assert not any("requirements" in call for call in checkout.setup("--demo")[2])
    _, _, calls = checkout.setup()
    assert any("requirements-dev.txt" in call for call in calls) and "warmup" in calls
    (install,) = (call.split() for call in calls if "--no-install-recommends" in call)
    assert {"rviz", "catkin", "libegl1"} < set(install)
    checkout.installed("*")
    assert checkout.setup("--demo")[2] == checkout.setup()[2] == []


def test_pip_does_not_look_at_packages_that_apt_may_be_changing(checkout):
    config = checkout.root / ".venv/pyvenv.cfg"
    config.write_text("home = /usr/bin\ninclude-system-site-packages = true\n")
    pip = f'#!/bin/sh\ngrep include "{config}" >>"{checkout.calls}"\n'
    checkout.script("python", pip, checkout.root / ".venv/bin")
    _, _, calls = checkout.setup("--no-ros")
    assert calls[0] == "include-system-site-packages = false"
    assert config.read_text().endswith("include-system-site-packages = true\n")


@pytest.mark.parametrize(
    "changed, again",
    [
        ("requirements.txt", "-r requirements.txt"),
        ("pyproject.toml", "-e ."),
        ("src/xtdrone_dynamics/forces/rotor.py", "warmup"),
    ],
)
def test_a_change_repeats_its_step_only(checkout, changed, again):
    checkout.setup("--no-ros")
    with open(checkout.root / changed, "a") as file:
        file.write("\n# changed\n")
    _, _, calls = checkout.setup("--no-ros")
    assert any(again in call for call in calls)
    if again == "warmup":
        assert calls == ["warmup", "scripts/make_bytecode.py"]


def test_without_apt_one_line_says_so_and_the_rest_goes_on(checkout):
    checkout.installed("nothing")
    status, lines, calls = checkout.setup()
    assert status == 0
    assert sum("no apt-get" in line and "roslaunch does not" in line for line in lines) == 1
    assert any("-r requirements.txt" in call for call in calls)
    assert not (checkout.root / ".setup" / "ros").exists()


def test_without_root_and_sudo_one_line_says_so(checkout):
    checkout.installed("nothing")
    checkout.script("apt-get", "#!/bin/sh\nexit 1\n")
    (checkout.bin / "id").unlink()
    checkout.script("id", "#!/bin/sh\necho 1000\n")
    status, lines, _ = checkout.setup()
    assert status == 0
    assert sum("no root and no sudo" in line for line in lines) == 1


def test_apt_that_fails_is_said_with_its_reason(checkout):
    checkout.installed("nothing")
    (checkout.bin / "id").unlink()
    checkout.script("id", "#!/bin/sh\necho 0\n")
    checkout.script("apt-get", "#!/bin/sh\necho 'E: no network' >&2\nexit 100\n")
    checkout.script("apt-cache", "#!/bin/sh\nexit 0\n")
    status, lines, _ = checkout.setup()
    assert status == 0
    assert any("E: no network" in line for line in lines)


def test_only_missing_packages_are_installed(checkout):
    checkout.installed("python3-*|ros-*")
    (checkout.bin / "id").unlink()
    checkout.script("id", "#!/bin/sh\necho 0\n")
    checkout.script("apt-get", PIP.format(calls=checkout.calls))
    checkout.script("apt-cache", "#!/bin/sh\nexit 0\n")
    _, _, calls = checkout.setup()
    (install,) = (call for call in calls if "--no-install-recommends" in call)
    assert "rospack-tools" in install and "python3-rospy" not in install


def test_of_alternatives_the_one_that_the_distribution_has_is_installed(checkout):
    (checkout.bin / "id").unlink()
    checkout.script("id", "#!/bin/sh\necho 0\n")
    checkout.script("apt-get", PIP.format(calls=checkout.calls))
    checkout.script("apt-cache", '#!/bin/sh\n[ "$2" != libglib2.0-0t64 ]\n')
    checkout.installed("nothing")
    (install,) = (call for call in checkout.setup()[2] if "--no-install-recommends" in call)
    assert "libglib2.0-0" in install.split() and "libglib2.0-0t64" not in install
    assert "#" not in install
    checkout.installed("libglib2.0-0t64|[!l]*|libx*|lib[!gx]*|libgl1*")
    assert not any("--no-install-recommends" in call for call in checkout.setup()[2])


def test_ros_that_is_there_is_used_where_other_packages_cannot_be_installed(checkout):
    checkout.installed("nothing")
    checkout.script("roslaunch", "#!/bin/sh\n")
    (checkout.root / "scripts/make_messages.py").write_text("print('generated')")
    status, lines, _ = checkout.setup()
    assert status == 0 and (checkout.root / ".setup/ros").exists()
    (line,) = (line for line in lines if "no apt-get" in line)
    assert "roslaunch does not" not in line and "xtdrone doctor" in line


def test_pip_that_fails_ends_it(checkout):
    checkout.script(
        "python",
        "#!/bin/sh\necho 'ERROR: No matching distribution'\nexit 1\n",
        checkout.root / ".venv" / "bin",
    )
    status, lines, _ = checkout.setup("--no-ros")
    assert status != 0
    assert "ERROR: No matching distribution" in lines[-1]


def test_kernels_that_do_not_compile_are_tried_again(checkout):
    checkout.script("xtdrone", "#!/bin/sh\necho broken\nexit 1\n", checkout.root / ".venv/bin")
    status, lines, _ = checkout.setup("--no-ros")
    assert status == 0 and any("broken" in line for line in lines)
    checkout.script("xtdrone", PIP.format(calls=checkout.calls), checkout.root / ".venv/bin")
    assert checkout.setup("--no-ros")[2] == ["warmup"]


def test_unknown_option(checkout):
    status, lines, calls = checkout.setup("--nonsense")
    assert (status, len(lines), calls) == (1, 1, [])
    assert "--no-ros" in lines[0]


def test_help_says_what_it_does(checkout):
    status, lines, _ = checkout.setup("--help")
    assert status == 0 and any("--no-ros" in line for line in lines)


def test_a_linked_environment_is_not_cleared(checkout, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    shutil.move(checkout.root / ".venv", elsewhere)
    (checkout.root / ".venv").symlink_to(elsewhere)
    (elsewhere / "bin" / "pip").write_text("#!/somewhere/.venv/bin/python\n")
    status, lines, _ = checkout.setup("--no-ros")
    assert status == 1 and "remove the link" in lines[-1]
    assert (elsewhere / "bin" / "python").exists()


def sourced(checkout, shell, before="", where="/", path=None):
    """The environment after sourcing env.sh twice in a shell."""
    script = path or f"'{checkout.root}/scripts/env.sh'"
    done = subprocess.run(
        [shell, "-c", f"{before} . {script} && . {script} && env"],
        text=True,
        capture_output=True,
        cwd=where,
        timeout=LIMIT_S,
        env={"PATH": os.environ["PATH"], "HOME": "/tmp"},
    )
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line), done.stderr


def test_environment_of_bash_from_anywhere(checkout):
    env, _ = sourced(checkout, "bash")
    root = str(checkout.root)
    assert env["PATH"].split(":")[0] == f"{root}/.venv/bin"
    assert env["PATH"].count(f"{root}/.venv/bin") == 1
    assert env["PATH"].count(f"{root}/scripts/ros") == (shutil.which("roslaunch") is not None)
    assert env["PYTHONPATH"] == f"{root}/src:{root}/.setup/ros"
    assert env["ROS_PACKAGE_PATH"] == f"{root}/src"
    assert env["ROS_MASTER_URI"] == "http://127.0.0.1:11311"
    assert env["ROS_IP"] == "127.0.0.1"


def test_environment_of_a_plain_shell_from_the_checkout(checkout):
    env, _ = sourced(checkout, "sh", where=checkout.root, path="scripts/env.sh")
    assert env["ROS_PACKAGE_PATH"] == f"{checkout.root}/src"


def test_what_is_set_already_is_kept(checkout):
    env, _ = sourced(
        checkout,
        "bash",
        before="export ROS_MASTER_URI=http://robot:11311 "
        "ROS_HOSTNAME=robot ROS_PACKAGE_PATH=/opt/ros/share PYTHONPATH=/mine;",
    )
    assert env["ROS_MASTER_URI"] == "http://robot:11311"
    assert "ROS_IP" not in env
    assert env["ROS_PACKAGE_PATH"] == f"/opt/ros/share:{checkout.root}/src", "a real MAVROS wins"
    assert env["PYTHONPATH"].split(":")[1] == "/mine"


@pytest.mark.parametrize(
    "name", ["demo", "demos", "bench", "validation", "soak", "slam-report", "mavproxy"]
)
def test_a_script_without_set_up_is_one_line(checkout, name):
    shutil.rmtree(checkout.root / ".venv")
    done = subprocess.run(
        [checkout.root / "scripts" / f"{name}.sh"],
        text=True,
        timeout=LIMIT_S,
        capture_output=True,
        env={"PATH": str(checkout.bin)},
    )
    assert done.returncode == 1 and done.stdout == ""
    assert "run scripts/setup.sh" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "name", ["demo", "demos", "bench", "validation", "slam-report", "mavproxy"]
)
def test_help_of_a_script_is_its_head(checkout, name):
    done = subprocess.run(
        [checkout.root / "scripts" / f"{name}.sh", "--help"],
        text=True,
        timeout=LIMIT_S,
        capture_output=True,
        env={"PATH": str(checkout.bin)},
    )
    assert done.returncode == 0 and f"  scripts/{name}.sh" in done.stdout
    assert "#" not in done.stdout and "set -" not in done.stdout


def test_environment_without_set_up_is_one_line(checkout):
    shutil.rmtree(checkout.root / ".venv")
    env, errors = sourced(checkout, "bash")
    assert "ROS_PACKAGE_PATH" not in env
    assert "run scripts/setup.sh" in errors


def test_without_a_network_everything_comes_from_a_folder(checkout, tmp_path):
    cache = tmp_path / "the cache"
    for name in ("wheels", "debs", "kernels/filter-1"):
        (cache / name).mkdir(parents=True)
    (cache / "debs" / "Packages").touch()
    (cache / "kernels" / "filter-1" / "step.nbc").write_text("compiled")
    checkout.script("apt-get", PIP.format(calls=checkout.calls))
    checkout.script("apt-cache", PIP.format(calls=checkout.calls))
    (checkout.bin / "id").unlink()
    checkout.script("id", "#!/bin/sh\necho 0\n")
    checkout.installed("nothing")
    status, lines, calls = checkout.setup("--demo", "--cache", cache)
    assert status == 0, lines
    pip = [call for call in calls if "pip install" in call]
    assert pip and all(f"--no-index --find-links {cache}/wheels" in call for call in pip)
    apt = [call for call in calls if "update" in call or " install -y" in call or "show" in call]
    assert len(apt) > 2 and all("Dir::Etc::sourceparts=-" in call for call in apt)
    listed = (checkout.root / ".setup" / "apt-sources.list").read_text()
    assert listed == f"deb [trusted=yes] file:{str(cache).replace(' ', '%20')}/debs ./\n"
    kept = checkout.root / ".cache" / "xtdrone" / "kernels" / "filter-1" / "step.nbc"
    assert kept.read_text() == "compiled"


@pytest.mark.parametrize("given", [[], ["nowhere"], ["."]])
def test_a_folder_that_is_no_cache_is_refused(checkout, given):
    status, lines, calls = checkout.setup("--cache", *given)
    assert status == 1 and calls == []
    assert lines == [
        f"[setup] --cache needs a folder that 'make cache' filled, given '{''.join(given)}'"
    ]
