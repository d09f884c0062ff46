"""Processes that end with their parent, nodes and the roslaunch that started them."""

import ctypes
import signal
import subprocess
import sys

import pytest

from xtdrone_core.runs import parent

PR_GET_PDEATHSIG = 2  # of prctl(2)
NODE = (
    "import signal, time\n"
    "from xtdrone_core.runs import parent\n"
    "{tie}\n"
    "print('up', flush=True)\n"
    "signal.sigwait([signal.SIGTERM])\n"
    "print('gone', flush=True)"
)
LAUNCH = (
    "import signal, subprocess, sys\n"
    "from xtdrone_core.runs import parent\n"
    "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
    "subprocess.run([sys.executable, '-c', {node!r}, {word!r}], preexec_fn={tie})"
)


@pytest.mark.parametrize(
    "word, by_node, by_launch",
    [
        ("__log:=x", "parent.end_with_launch()", "None"),
        ("", "", "parent.tied(signal.SIGTERM, lambda: None)"),
    ],
)
def test_a_process_ends_with_a_parent_that_is_killed(word, by_node, by_launch):
    launch = LAUNCH.format(node=NODE.format(tie=by_node), word=word, tie=by_launch)
    with subprocess.Popen(
        [sys.executable, "-c", launch], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "up\n"
        process.kill()
        assert process.stdout.read() == "gone\n"


def death_signal():
    """The signal that the kernel sends this process when its parent ends; 0 for none."""
    number = ctypes.c_int(-1)
    assert ctypes.CDLL(None).prctl(PR_GET_PDEATHSIG, ctypes.byref(number), 0, 0, 0) == 0
    return number.value


def test_a_node_that_roslaunch_did_not_start_may_outlive_its_parent():
    before = death_signal()
    parent.end_with_launch()
    assert death_signal() == before != signal.SIGTERM


def test_an_interrupt_waits_for_the_end_of_the_block():
    passed = []
    with pytest.raises(KeyboardInterrupt), parent.interrupts_wait():
        signal.raise_signal(signal.SIGINT)
        passed.append(True)
    assert passed and signal.getsignal(signal.SIGINT) is signal.default_int_handler
