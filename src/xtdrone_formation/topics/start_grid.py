"""Where the vehicles of a fleet stand before the flight, as somebody measured it."""

import argparse
from collections.abc import Sequence

import numpy as np

from xtdrone_core.scenario.vehicles import FARTHEST
from xtdrone_core.tables import points_of, read_table

from ..errors import FormationError
from .fleet import EventLog


def places(args: argparse.Namespace, log: EventLog, names: Sequence[str]) -> np.ndarray | None:
    """Returns the places (N, 3) of a start grid [m]; None if nobody measured it.

    Args:
        args: Those of options.add_survey(); a file given there goes before the simulation.
        log: Asks the simulation, if there is one.
        names: The vehicles' namespaces.

    Raises:
        FormationError: The file has no row for each vehicle.
    """
    if args.survey_time <= 0.0:
        return None
    if not args.places:
        found = log.request("places").get("places", [])
        return np.array(found) if len(found) == len(names) else None
    rows = read_table(args.places, "file of the start grid", FormationError)
    points = points_of(rows, f"'{args.places}'", FARTHEST, ", for each vehicle", FormationError)
    if len(points) != len(names):
        raise FormationError(
            f"'{args.places}' has {len(points)} rows and does not fit {len(names)} vehicles: "
            "give a row x,y,z for each of them"
        )
    return points
