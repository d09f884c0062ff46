"""The reader that a source needs."""

from pathlib import Path

from xtdrone_core import Scenario, files
from xtdrone_core.errors import shown
from xtdrone_core.runs import bags, run_folder
from xtdrone_core.scenario.vehicles import parse_vehicles

from ..errors import WebError
from .recording import Recording

FILES = (".ulg", *bags.SUFFIXES)
KINDS = f"a run folder, its name, or a file {', '.join(FILES)}, or the folder of a ROS 2 bag"


def read(source: str, vehicle: str = "iris", world: str = "empty") -> Recording:
    """Returns the recording of a source.

    Args:
        source: The name or path of a run, or a file.
        vehicle: Type of vehicle of a file that does not name it.
        world: World of a file that does not name it.

    Raises:
        XtdroneError: It is none of KINDS, or damaged.
    """
    path = Path(source).expanduser()
    if path.suffix.lower() in FILES:
        return _file(path, vehicle, world)
    if bags.is_bag(path):
        from . import bag

        return bag.read(path, vehicle, world)
    if path.is_file():
        raise WebError(f"'{shown(source)}' is no recording that can be played: give {KINDS}")
    from . import run

    return run.read(run_folder.find(source))


def _file(path: Path, vehicle: str, world: str) -> Recording:
    files.check(path, "recording", WebError)
    suffix = path.suffix.lower()
    if suffix == ".mcap":
        from . import mcap_file

        return mcap_file.read(path, vehicle, world)
    if suffix in bags.SUFFIXES:
        from . import bag

        return bag.read(path, vehicle, world)
    from xtdrone_sim.vehicles.sdf import load_vehicle
    from xtdrone_sim.world import load_world

    from . import flight_log

    spec = Scenario(vehicles=parse_vehicles(f"{vehicle}*1"), world=world).vehicles[0]
    return flight_log.read(path, load_world(world), spec, load_vehicle(vehicle))
