"""Nodes and the roslaunch that started them."""

import subprocess
import sys
import threading

from xtdrone_core import parent


def test_a_node_ends_with_a_roslaunch_that_is_killed():
    node = ("import os, time; from xtdrone_core import parent; parent.PERIOD_S = 0.02\n"
            "parent.watch(lambda: (print('gone', flush=True), os._exit(0)))\n"
            "print('up', flush=True); time.sleep(600)")
    launch = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {node!r}, '__log:=x'])"
    with subprocess.Popen([sys.executable, "-c", launch], stdout=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout.readline() == "up\n"
        process.kill()
        assert process.stdout.read() == "gone\n"


def test_a_node_that_roslaunch_did_not_start_may_outlive_its_parent():
    threads = threading.active_count()
    parent.watch(None)
    assert threading.active_count() == threads
