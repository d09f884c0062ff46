"""Starts the simulation from ROS 2.

    ros2 launch launch/ros2.launch.py n:=9

Every option of `xtdrone sim` is an argument, see docs/options.md. Not run here: it needs ROS 2.
"""

import sys

from launch import LaunchDescription
from launch.actions import EmitEvent, ExecuteProcess, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown


def generate_launch_description():
    """The simulation, at whose end the launch ends."""
    given = [word.split(":=", 1) for word in sys.argv if ":=" in word]
    options = [text for name, value in given for text in (f"--{name}", value)]
    simulation = ExecuteProcess(cmd=["xtdrone", "sim", "--ros2", "true", *options],
                                output="screen")
    return LaunchDescription([
        simulation,
        RegisterEventHandler(OnProcessExit(target_action=simulation,
                                           on_exit=[EmitEvent(event=Shutdown())]))])
