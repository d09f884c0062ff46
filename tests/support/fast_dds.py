"""A program on Fast DDS, which shares no code with Cyclone DDS, as a user of ROS 2's topics."""

import shutil
import subprocess
from pathlib import Path

from rosbags.interfaces import Nodetype

from xtdrone_core.runs.parent import tied
from xtdrone_ros2.wire.types import Types, ros2_name

SOURCES = Path(__file__).parents[1] / "ros2"
MISSING = "Fast DDS is not installed (apt-get install g++ libfastrtps-dev)"
_CODES = {
    "float64": "d",
    "float32": "f",
    "uint64": "Q",
    "int32": "i",
    "uint32": "I",
    "uint16": "H",
    "uint8": "B",
    "bool": "B",
    "int8": "b",
}


def installed() -> bool:
    """Whether it can be compiled here."""
    headers = Path("/usr/include/fastdds/dds/domain/DomainParticipant.hpp")
    return headers.is_file() and shutil.which("g++") is not None


def compiled(folder: Path, name: str = "fast_dds_user") -> Path:
    """A program of SOURCES, compiled into a folder."""
    program = folder / name
    subprocess.run(
        [
            "g++",
            "-std=c++14",
            "-Wall",
            str(SOURCES / f"{name}.cpp"),
            "-o",
            str(program),
            "-lfastrtps",
            "-lfastcdr",
        ],
        check=True,
    )
    return program


def layout(types: Types, kind: str) -> str:
    """The numbers of a type as the program reads them; h is a header."""
    if kind == "std_msgs/msg/Header":
        return "h"
    code = ""
    for _, (form, described) in types.store.fielddefs[kind][1]:
        if form == Nodetype.NAME:
            code += layout(types, described)
        elif form == Nodetype.BASE:
            code += _CODES[described[0]]
        else:
            (_, (base, _)), length = described
            assert form == Nodetype.ARRAY
            code += f"{length}{_CODES[base]}"
    return code


class Heard:
    """What it says of one topic: messages, some that did not fit, times between stamps [ns]."""

    def __init__(self, line: str):
        self.topic, *numbers = line.split()
        self.count, self.bad, self.minimum, self.maximum = map(int, numbers[:4])
        self.last = [float(x) for x in numbers[4:]]


class FastDdsUser:
    """The program, running."""

    def __init__(
        self,
        program: Path,
        folder: Path,
        domain: int,
        seconds: float,
        topics: list[tuple[str, str]],
        flight: tuple[str, float] | None = None,
    ):
        """Starts it, and waits until it listens.

        Args:
            program: From compiled().
            folder: For its list.
            domain: ROS_DOMAIN_ID.
            seconds: How long it listens at most [s].
            topics: Names and types (pkg/Name) of what it receives.
            flight: Namespace of a vehicle and the height [m] to which it is flown.
        """
        types = Types()
        listed = folder / "topics.txt"
        listed.write_text(
            "".join(f"{name} {kind} {layout(types, ros2_name(kind))}\n" for name, kind in topics)
        )
        more = [] if flight is None else [flight[0] or "-", str(flight[1])]
        self._process = subprocess.Popen(
            [str(program), str(domain), str(seconds), str(listed), *more],
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=tied(),
        )
        assert self._process.stdout.readline() == "listening\n"

    def results(self) -> tuple[dict[str, Heard], str]:
        """What it heard by topic, and its last word, once it has ended."""
        *lines, word = self._process.communicate()[0].splitlines()
        assert self._process.returncode == 0
        return {heard.topic: heard for heard in map(Heard, lines)}, word

    def close(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.wait()
