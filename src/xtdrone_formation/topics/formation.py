"""Leader and followers of a fleet in one process; executes the commands of /xtdrone/leader/cmd."""

import argparse
import threading
from typing import Any

from .. import assignment, options
from ..errors import FormationError
from ..service import FormationService
from .fleet import EventLog, RosFleet
from .leader import LeaderTopics
from .ros import Ros
from .start_grid import places


def run(ros: Ros, args: argparse.Namespace, log: EventLog) -> None:
    """Runs until the node ends.

    Args:
        ros: The node.
        args: Those of options.add_formation(), and `wait`: time-out for the fleet [s, wall].
        log: Gets the events.

    Raises:
        XtdroneError: There is no fleet, or a scheme or value is not allowed.
    """
    names = ros.fleet(args.wait)
    fleet = RosFleet(ros, names, info=False)

    def on_event(t_us: int, name: str, **values: Any) -> None:  # values of JSON
        if name == "formation":
            topics.inform(
                f"formation {values['formation']}: {values['method']}, least separation "
                f"{values['min_separation']:.2f} m, {values['duration_s']:.1f} s"
            )
        log(t_us, name, **values)

    service = FormationService(
        len(names),
        args.scheme,
        options.radio_of(args),
        options.shape_of(args),
        args.transition_speed,
        args.topology,
        on_event,
        fleet.require_followers,
        args.survey_time,
    )
    service.survey.grid = places(args, log, names)
    topics = LeaderTopics(fleet, service)
    threading.Thread(target=assignment.load, daemon=True).start()  # the fleet has yet to take off
    for t_us, estimates in fleet.periods():
        try:
            set_points = service.step(t_us, estimates)
        except FormationError as error:
            topics.refuse(error)
            continue
        topics.publish(t_us, estimates)
        if set_points is not None:
            fleet.send(set_points)
