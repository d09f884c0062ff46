"""Starts the simulation from ROS 2, with its topics in ROS_DOMAIN_ID.

    ros2 launch launch/ros2.launch.py n:=9
    ros2 launch launch/ros2.launch.py --show-args

Every option of a scenario is an argument, see docs/options.md. What is left out or empty has the
default; that of `ros2` is true here. Ctrl-C ends the simulation; its end ends the launch.
"""

import difflib
import json
import subprocess
import sys
from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction, Shutdown

_COMMAND = "xtdrone"
_TIED = "setpriv", "--pdeathsig", "TERM"  # it ends with the launch, even if that is killed
_FROM = "YAML file of a scenario to begin with; the other arguments change it"


def generate_launch_description():
    """The arguments, and the simulation."""
    arguments = {"scenario": _FROM, **_options()}
    return LaunchDescription(
        [
            *(
                DeclareLaunchArgument(name, default_value="", description=text)
                for name, text in arguments.items()
            ),
            OpaqueFunction(function=_simulation, args=[arguments]),
        ]
    )


def _simulation(context, arguments):
    _refuse_others(context, arguments)
    given = context.launch_configurations
    options = [word for name in arguments if given[name] for word in (f"--{name}", given[name])]
    return [
        ExecuteProcess(
            cmd=[*_TIED, _COMMAND, "sim", "--default", "ros2=true", *options],
            output="screen",
            on_exit=_ended,
        )
    ]


def _options():
    """Name and meaning of each option, as this machine's xtdrone says."""
    try:
        said = subprocess.run([_COMMAND, "schema"], stdout=subprocess.PIPE, check=True).stdout
    except FileNotFoundError as error:
        raise RuntimeError(
            f"there is no command {_COMMAND} on the PATH: activate the environment "
            "in which it is installed"
        ) from error
    return {name: option["description"] for name, option in json.loads(said)["properties"].items()}


def _refuse_others(context, arguments):
    """Ends the launch where the command line has arguments that are none of these.

    A launch file that includes this one may have others of its own.
    """
    if not any(Path(word).name == Path(__file__).name for word in sys.argv):
        return
    for name in (word.split(":=")[0] for word in context.argv if ":=" in word):
        if name not in arguments:
            close = difflib.get_close_matches(name, arguments, 1)
            raise RuntimeError(
                f"there is no argument '{name}'"
                + (f", but '{close[0]}'" if close else "")
                + ": --show-args lists them"
            )


def _ended(event, context):
    if event.returncode and not context.is_shutdown:
        raise RuntimeError(
            f"the simulation ended with status {event.returncode}: its last lines say why"
        )
    return [Shutdown(reason="the simulation has ended")]
