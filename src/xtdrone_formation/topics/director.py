"""The demo: takes off, commands formations to the leader, lands, and writes the report."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from xtdrone_core.runs.control_link import ControlClient
from xtdrone_mavros import ros_serialisation

from .. import options, serialisation
from ..commands import print_report, progress
from ..director import Director
from ..settling import accuracy_warning
from .fleet import EventLog, RosFleet, end_simulation, run_agent
from .ros import Ros
from .start_grid import places

_DIAGONAL_KNOWN = 2  # COVARIANCE_TYPE of a NavSatFix


def run(ros: Ros, args: argparse.Namespace, log: EventLog) -> tuple[int, bool]:
    """Flies until all are landed, or the node ends.

    Args:
        ros: The node.
        args: Those of options.add_director(), and `wait`: time-out for the fleet [s, wall].
        log: Gets the events.

    Returns:
        The exit status, and whether the flight was flown to its end.

    Raises:
        XtdroneError: There is no fleet, or a formation is not allowed.
    """
    names = ros.fleet(args.wait)
    fleet = RosFleet(ros, names)
    leader = ros.output("/xtdrone/leader/cmd", "std_msgs/String")
    patterns: list[np.ndarray] = []
    now = 0

    def send_command(command: str) -> None:
        progress(now, "command", {"formation": command})
        leader.publish(ros_serialisation.text(command))

    def take_pattern(t_us: int) -> None:
        nonlocal now
        now = t_us
        if patterns:
            director.on_pattern(t_us, patterns[-1].reshape(3, -1).T)
            patterns.clear()

    director = Director(
        len(names),
        args.formations,
        send_command,
        hold=args.hold,
        survey_time=args.survey_time,
        on_event=log,
        **asdict(options.shape_of(args)),
    )
    director.survey.grid = places(args, log, names)
    _check_accuracy(ros, names[0], director.slots)
    ros.listen(
        "/xtdrone/formation_pattern",
        "std_msgs/Float32MultiArray",
        lambda data: patterns.append(serialisation.multi_array(data, "f4")),
    )
    status = run_agent(fleet, director, before_step=take_pattern)
    return status, director.done


def _check_accuracy(ros: Ros, name: str, slots: Sequence[np.ndarray]) -> None:
    """Warns once the leader's GNSS receiver reports its accuracy, if that is insufficient."""
    warned = False

    def on_fix(data: bytes) -> None:
        nonlocal warned
        covariance, kind = serialisation.fix_covariance(data)
        if warned or kind != _DIAGONAL_KNOWN:
            return
        warned = True
        horizontal, _, vertical = np.sqrt(np.diag(covariance))
        warning = accuracy_warning(slots, horizontal, vertical)
        if warning:
            print(f"director: {warning}", file=sys.stderr, flush=True)

    ros.listen(f"{ros.mavros(name)}/global_position/raw/fix", "sensor_msgs/NavSatFix", on_fix)


def finish(client: ControlClient) -> None:
    """Ends the simulation, and writes metrics and plots of its run."""
    folder = end_simulation(client)
    if folder is None:
        return
    from ..evaluation import report

    print_report(report.report(Path(folder)))
    print(f"run folder: {folder}", flush=True)
