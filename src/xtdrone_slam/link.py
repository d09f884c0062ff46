"""What passes between a run and the system under test: images in, poses out.

Standard input of the system: for each stereo pair 8 bytes t_us (little-endian, signed), then the
left and the right image, one byte per pixel, row by row. The end of the stream ends the run.
Standard output: one line per pair, `pose t_us x y z qx qy qz qw features`, body to a world of
the system's own, or `lost t_us features`; other lines are the system's log.
"""

import math
import struct
from dataclasses import dataclass

import numpy as np

_STAMP = struct.Struct("<q")


@dataclass(frozen=True)
class Answer:
    """What a system said of one pair."""

    t_us: int
    pose: tuple | None  # x, y, z [m], qx, qy, qz, qw; None: lost
    features: int

    @property
    def finite(self) -> bool:
        """Whether the pose is one: finite numbers and a unit quaternion."""
        return self.pose is None or (all(map(math.isfinite, self.pose))
                                     and abs(math.hypot(*self.pose[3:]) - 1.0) < 0.01)


def pack(t_us: int, left: np.ndarray, right: np.ndarray) -> bytes:
    """A pair, (H, W) uint8 each, as the system reads it."""
    return _STAMP.pack(t_us) + left.tobytes() + right.tobytes()


def frames(stream, shape):
    """The pairs of a stream, as they come.

    Args:
        stream: Binary file.
        shape: (H, W) of an image.

    Yields:
        t_us, left, right; a half pair at the end is left out.
    """
    size = shape[0] * shape[1]
    while True:
        data = stream.read(_STAMP.size + 2 * size)
        if data is None or len(data) < _STAMP.size + 2 * size:
            return
        images = np.frombuffer(data, dtype=np.uint8, offset=_STAMP.size).reshape(2, *shape)
        yield _STAMP.unpack_from(data)[0], images[0], images[1]


def pose_line(t_us: int, pos, quat, features: int) -> str:
    """The answer for a pair whose pose is known."""
    return f"pose {t_us} " + " ".join(f"{x:.9f}" for x in (*pos, *quat)) + f" {features}"


def lost_line(t_us: int, features: int) -> str:
    """The answer for a pair without a pose."""
    return f"lost {t_us} {features}"


def parse(line: str) -> Answer | None:
    """The answer in a line of a system's output; None for a line of its log."""
    words = line.split()
    try:
        if len(words) == 10 and words[0] == "pose":
            return Answer(int(words[1]), tuple(map(float, words[2:9])), int(words[9]))
        if len(words) == 3 and words[0] == "lost":
            return Answer(int(words[1]), None, int(words[2]))
    except ValueError:
        pass
    return None
