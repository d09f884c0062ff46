"""Generates Python modules from the .msg and .srv files below src/, as catkin would.

    /usr/bin/python3 scripts/make_messages.py OUT

Packages that are already installed on the system (for example MAVROS) are skipped.
"""

import sys
from pathlib import Path

import rospkg
from genpy.generate_initpy import write_modules
from genpy.generator import MsgGenerator, SrvGenerator

SRC = Path(__file__).resolve().parents[1] / "src"
FROM_ROS = ("std_msgs", "geometry_msgs", "sensor_msgs")  # packages that the definitions depend on
GENERATORS = {"msg": MsgGenerator, "srv": SrvGenerator}


def own_packages() -> list[str]:
    """Packages below src/ with message definitions that are not installed on the system."""
    system = rospkg.RosPack(_system_paths())
    return [
        path.name
        for path in sorted(SRC.iterdir())
        if _defines(path) and path.name not in system.list()
    ]


def _defines(path: Path) -> bool:
    """Whether a folder has definitions for ROS 1; packages of ROS 2 are built by ament."""
    if not (any(path.glob("msg/*.msg")) or any(path.glob("srv/*.srv"))):
        return False
    return "ament" not in (path / "package.xml").read_text()


def _system_paths():
    return [path for path in rospkg.get_ros_paths() if Path(path).resolve() != SRC]


def _definitions(package: str, system: rospkg.RosPack) -> str:
    """The folder of a package's messages; Debian has definitions without a package.xml, too."""
    for path in _system_paths():
        if (Path(path) / package / "msg").is_dir():
            return str(Path(path) / package / "msg")
    return str(Path(system.get_path(package)) / "msg")


def generate(out: Path) -> None:
    """Writes one Python package into out for each of these packages."""
    system = rospkg.RosPack(_system_paths())
    own = own_packages()
    search = {name: [_definitions(name, system)] for name in FROM_ROS}
    for package in sorted(path.name for path in SRC.iterdir() if _defines(path)):
        root = SRC / package if package in own else Path(system.get_path(package))
        search[package] = [str(root / "msg")]
    for package in own:
        for kind, generator in GENERATORS.items():
            files = sorted(map(str, (SRC / package / kind).glob(f"*.{kind}")))
            if files:
                folder = out / package / kind
                folder.mkdir(parents=True, exist_ok=True)
                if generator().generate_messages(package, files, str(folder), search):
                    raise SystemExit(f"cannot generate the {kind} modules of {package}")
                write_modules(str(folder))
        write_modules(str(out / package))


if __name__ == "__main__":
    generate(Path(sys.argv[1]))
