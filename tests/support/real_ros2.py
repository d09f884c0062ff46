"""Commands of a real ROS 2, whose setup.bash the environment names as ROS2_SETUP."""

import os
import signal
import subprocess

from waiting import LIMIT_S
from xtdrone_core.runs.parent import tied

MISSING = "needs a real ROS 2: set ROS2_SETUP to its setup.bash"
FIND = ("--no-daemon", "--spin-time", "5")  # options of `ros2 ... list`
_OF_ROS2 = {"PYTHONPATH": "", "PATH": "/usr/bin:/bin"}  # no Python environment of ours


def installed() -> bool:
    """Whether there is one."""
    return bool(os.environ.get("ROS2_SETUP"))


def started(*words, domain, own=False, **options) -> subprocess.Popen:
    """A command in ROS 2's environment; own: with our command on its PATH, as a user has it."""
    env = {**os.environ, **({} if own else _OF_ROS2), "ROS_DOMAIN_ID": str(domain)}
    if own:  # but /usr/bin's Python comes first, as ROS 2's programs want it
        env["PATH"] = f"/usr/bin:{env['PATH']}"
    return subprocess.Popen(
        ["bash", "-c", '. "$ROS2_SETUP" && exec "$@"', "bash", *map(str, words)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=env,
        start_new_session=True,
        preexec_fn=tied(signal.SIGKILL),
        **options,
    )


def said(*words, domain) -> str:
    """What a command prints, after it has ended well."""
    process = started(*words, domain=domain)
    try:
        text, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text, _ = process.communicate()
        raise AssertionError(f"{words} does not end: {text}") from None
    assert process.returncode == 0, f"{words}: {text}"
    return text
