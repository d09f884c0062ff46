"""What passes between a run and the system under test: images and IMU in, poses out.

Standard input of the system: messages, each with a head of 16 bytes (little-endian): the kind, one
letter; three unused bytes; the size of the payload, uint32; the time, int64 [us]. A system passes
over kinds that it does not know. The end of the stream ends the run.

    P  stereo pair: the left and the right image, one byte per pixel, row by row
    I  IMU reading: gyroscope x, y, z [rad/s], accelerometer x, y, z [m/s^2], body, float64 each
    D  depth image of the left camera [m], float32, row by row; precedes the pair of its time

Pairs always come; what else comes is said by `inputs` in the adapter.yaml. Messages come in the
order of their times: before a pair stand all IMU readings up to its time.

Standard output: one line per pair, `pose t_us x y z qx qy qz qw features`, body to a world of
the system's own, or `lost t_us features`; other lines are the system's log. The lines may come
late: a system may answer a pair after it has read the next ones.

This file imports nothing of the workspace, so that a system in an environment of its own can
import it alone, from the end of its sys.path.
"""

import math
import os
import struct
from dataclasses import dataclass

import numpy as np

_HEAD = struct.Struct("<c3xIq")
PAIR, IMU, DEPTH = b"P", b"I", b"D"
INPUTS = {"stereo": PAIR, "imu": IMU, "depth": DEPTH}  # names in adapter.yaml


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
    return message(PAIR, t_us, left.tobytes() + right.tobytes())


def pack_imu(t_us: int, gyro, accel) -> bytes:
    """An IMU reading: (3,) [rad/s] and (3,) [m/s^2], body."""
    return message(IMU, t_us, np.array([*gyro, *accel], dtype="<f8").tobytes())


def pack_depth(t_us: int, depth: np.ndarray) -> bytes:
    """A depth image (H, W) of the left camera [m]; it comes before the pair of the same time."""
    return message(DEPTH, t_us, np.asarray(depth, dtype="<f4").tobytes())


def message(kind: bytes, t_us: int, payload: bytes) -> bytes:
    """Any message: its head and its payload."""
    return _HEAD.pack(kind, len(payload), t_us) + payload


def messages(stream):
    """All messages of a stream, as they come.

    Args:
        stream: Binary file.

    Yields:
        kind, t_us, payload as bytes; half a message at the end is left out.
    """
    while True:
        head = stream.read(_HEAD.size)
        if head is None or len(head) < _HEAD.size:
            return
        kind, size, t_us = _HEAD.unpack(head)
        payload = stream.read(size)
        if payload is None or len(payload) < size:
            return
        yield kind, t_us, payload


def frames(stream, shape):
    """The pairs of a stream, as they come; other messages are passed over.

    Args:
        stream: Binary file.
        shape: (H, W) of an image.

    Yields:
        t_us, left, right; a half pair at the end is left out.
    """
    for kind, t_us, payload in messages(stream):
        if kind == PAIR:
            yield t_us, *images(payload, shape)


def images(payload: bytes, shape):
    """(2, H, W) uint8, left and right image in the payload of a PAIR."""
    return np.frombuffer(payload, dtype=np.uint8).reshape(2, *shape)


def reading(payload: bytes):
    """Gyroscope (3,) [rad/s] and accelerometer (3,) [m/s^2] in the payload of an IMU."""
    return np.frombuffer(payload, dtype="<f8").reshape(2, 3)


def depth(payload: bytes, shape):
    """(H, W) float32 [m] in the payload of a DEPTH."""
    return np.frombuffer(payload, dtype="<f4").reshape(shape)


def quaternion(turn: np.ndarray) -> np.ndarray:
    """xyzw of a rotation matrix (3, 3), for systems without SciPy; by its largest component."""
    trace = turn.trace()
    k = int(np.argmax([*turn.diagonal(), trace]))
    quat = np.zeros(4)
    if k == 3:
        quat[3] = 1.0 + trace
        quat[:3] = turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]
    else:
        i, j = (k + 1) % 3, (k + 2) % 3
        quat[k] = 1.0 + turn[k, k] - turn[i, i] - turn[j, j]
        quat[[i, j]] = turn[i, k] + turn[k, i], turn[j, k] + turn[k, j]
        quat[3] = turn[j, i] - turn[i, j]
    return quat / np.linalg.norm(quat)


def answers():
    """A file for the answers, on standard output; what else the process prints goes to its log."""
    file = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return file


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
