"""Exit status of nodes and launches for goals that were missed."""

import os
import sys
from types import SimpleNamespace

import pytest

from ros_fixtures import Processes, environment, free_port, needs_ros
from xtdrone_core.errors import CRASHED, MISSED
from xtdrone_formation.topics.fleet import run_agent

pytestmark = needs_ros

LAUNCH = """<launch>
  <node name="agent" pkg="xtdrone_formation" type="agent" required="true"
        launch-prefix="sh -c 'exit {status}'"/>
</launch>"""
LOST = """<launch>
  <node name="bridge" pkg="xtdrone_control" type="bridge" required="true"
        launch-prefix="sh -c 'read line &lt; {fifo}'"/>
  <node name="simulation" pkg="xtdrone_sim" type="simulation" required="true"
        launch-prefix="{python} {program} {fifo}"/>
</launch>"""
FAILS_ON_SIGINT = """
import pathlib, signal, sys
signal.signal(signal.SIGINT, lambda *_: sys.exit(1))
pathlib.Path(sys.argv[1]).write_text("up\\n")
signal.pause()
"""


@pytest.mark.parametrize(
    "done, reached, status", [(True, (3, 4), MISSED), (True, (4, 4), 0), (False, (3, 4), 0)]
)
def test_an_agent_that_missed_its_goals_says_so(capsys, done, reached, status):
    fleet = SimpleNamespace(periods=lambda: iter(()))
    agent = SimpleNamespace(done=done, goals_reached=lambda: {"corners": reached})
    assert run_agent(fleet, agent) == status
    assert (f"reached {reached[0]} of 4 corners" in capsys.readouterr().out) == done


@pytest.mark.parametrize(
    "status, ended",
    [pytest.param(MISSED, MISSED, marks=pytest.mark.long), (CRASHED, CRASHED), (5, 1)],
)
def test_roslaunch_ends_with_the_status_of_the_flight(tmp_path, status, ended):
    port = free_port()
    (tmp_path / "one.launch").write_text(LAUNCH.format(status=status))
    done = Processes(environment(port, tmp_path)).run(
        "roslaunch", "-p", str(port), tmp_path / "one.launch"
    )
    assert done.returncode == ended, done.stdout + done.stderr


def test_a_simulation_that_fails_after_its_bridge_has_ended_fails_the_launch(tmp_path):
    port, fifo, program = free_port(), tmp_path / "fifo", tmp_path / "program.py"
    os.mkfifo(fifo)
    program.write_text(FAILS_ON_SIGINT)
    (tmp_path / "two.launch").write_text(
        LOST.format(fifo=fifo, python=sys.executable, program=program)
    )
    done = Processes(environment(port, tmp_path)).run(
        "roslaunch", "-p", str(port), tmp_path / "two.launch"
    )
    assert done.returncode == 1, done.stdout + done.stderr
