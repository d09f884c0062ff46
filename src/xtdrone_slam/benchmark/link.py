"""The protocol between the benchmark and a system under test: images or scans, and IMU in; poses
out.

Standard input of the system is a stream of messages. Each has a 16-byte header (little-endian):
the type, one letter; three padding bytes; the payload size, uint32; the time, int64 [us]. A system
ignores types that it does not know. The end of the stream ends the run.

    P  stereo pair: left and right image, one byte per pixel, row by row
    I  IMU reading: gyroscope x, y, z [rad/s], accelerometer x, y, z [m/s^2], body, float64 each
    D  depth image of the left camera [m], float32, row by row; precedes the pair of its time
    L  scan of a lidar: x, y, z in the frame of the IMU [m], time from the scan's on (0 or less)
       [s], row of the scanner from 0 at the bottom; five float32 for each point, by time

Scans are sent in place of pairs if the adapter.yaml lists `lidar` in its `inputs`, IMU readings and
depth images if it lists them. Messages are in the order of time: all IMU readings up to the time of
a pair or scan precede it.

Standard output of the system has one line per pair or scan, either
`pose t_us x y z qx qy qz qw features` (body to the system's own world frame) or
`lost t_us features`; other lines go to the log. The lines may be delayed: a system may answer a
pair after it has read the next ones.

This module imports nothing of the workspace, so that a system in an environment of its own can
import it.
"""

import math
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, TextIO

import numpy as np

_HEAD = struct.Struct("<c3xIq")
PAIR, IMU, DEPTH, SCAN = b"P", b"I", b"D", b"L"
INPUTS = {"stereo": PAIR, "imu": IMU, "depth": DEPTH, "lidar": SCAN}  # names in adapter.yaml


@dataclass(frozen=True)
class Answer:
    """The answer of a system to one pair."""

    t_us: int
    pose: tuple[float, ...] | None  # x, y, z [m], qx, qy, qz, qw; None: tracking lost
    features: int

    @property
    def finite(self) -> bool:
        """Whether the pose is valid: finite numbers and a unit quaternion."""
        return self.pose is None or (
            all(map(math.isfinite, self.pose)) and abs(math.hypot(*self.pose[3:]) - 1.0) < 0.01
        )


def pack(t_us: int, left: np.ndarray, right: np.ndarray) -> bytes:
    """Packs the message of a stereo pair, (H, W) uint8 each."""
    return message(PAIR, t_us, left.tobytes() + right.tobytes())


def pack_imu(t_us: int, gyro: Iterable[float], accel: Iterable[float]) -> bytes:
    """Packs the message of an IMU reading: (3,) [rad/s] and (3,) [m/s^2], body."""
    return message(IMU, t_us, np.array([*gyro, *accel], dtype="<f8").tobytes())


def pack_depth(t_us: int, depth: np.ndarray) -> bytes:
    """Packs a depth image (H, W) of the left camera [m]; it precedes the pair of its time."""
    return message(DEPTH, t_us, np.asarray(depth, dtype="<f4").tobytes())


def pack_scan(t_us: int, points: np.ndarray) -> bytes:
    """Packs the message of a scan: (M, 5) x, y, z [m], time [s], row; see above."""
    return message(SCAN, t_us, np.asarray(points, dtype="<f4").tobytes())


def message(kind: bytes, t_us: int, payload: bytes) -> bytes:
    """Packs a message: header and payload."""
    return _HEAD.pack(kind, len(payload), t_us) + payload


def messages(stream: BinaryIO) -> Iterator[tuple[bytes, int, bytes]]:
    """Reads all messages of a stream.

    Args:
        stream: Binary file.

    Yields:
        kind, t_us, payload as bytes; an incomplete message at the end is ignored.
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


def frames(
    stream: BinaryIO, shape: tuple[int, int]
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Reads the stereo pairs of a stream and ignores other messages.

    Args:
        stream: Binary file.
        shape: (H, W) of an image.

    Yields:
        t_us, left, right; an incomplete pair at the end is ignored.
    """
    for kind, t_us, payload in messages(stream):
        if kind == PAIR:
            left, right = images(payload, shape)
            yield t_us, left, right


def images(payload: bytes, shape: tuple[int, int]) -> np.ndarray:
    """Unpacks (2, H, W) uint8, left and right image, from the payload of a PAIR."""
    return np.frombuffer(payload, dtype=np.uint8).reshape(2, *shape)


def points(payload: bytes) -> np.ndarray:
    """Unpacks (M, 5) float32 from the payload of a SCAN."""
    return np.frombuffer(payload, dtype="<f4").reshape(-1, 5)


def reading(payload: bytes) -> np.ndarray:
    """Unpacks gyroscope (3,) [rad/s] and accelerometer (3,) [m/s^2], from the payload of an IMU."""
    return np.frombuffer(payload, dtype="<f8").reshape(2, 3)


def depth(payload: bytes, shape: tuple[int, int]) -> np.ndarray:
    """Unpacks (H, W) float32 [m] from the payload of a DEPTH."""
    return np.frombuffer(payload, dtype="<f4").reshape(shape)


def quaternion(matrix: np.ndarray) -> np.ndarray:
    """Returns xyzw of a rotation matrix (3, 3), for systems without SciPy."""
    trace = matrix.trace()
    k = int(np.argmax([*matrix.diagonal(), trace]))  # start from the largest component
    quat = np.zeros(4)
    if k == 3:
        quat[3] = 1.0 + trace
        quat[:3] = (
            matrix[2, 1] - matrix[1, 2],
            matrix[0, 2] - matrix[2, 0],
            matrix[1, 0] - matrix[0, 1],
        )
    else:
        i, j = (k + 1) % 3, (k + 2) % 3
        quat[k] = 1.0 + matrix[k, k] - matrix[i, i] - matrix[j, j]
        quat[[i, j]] = matrix[i, k] + matrix[k, i], matrix[j, k] + matrix[k, j]
        quat[3] = matrix[j, i] - matrix[i, j]
    return quat / np.linalg.norm(quat)


def answers() -> TextIO:
    """Opens a file for answers on standard output; other output of the process goes to the log."""
    file = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return file


def pose_line(t_us: int, pos: Iterable[float], quat: Iterable[float], features: int) -> str:
    """Writes the answer to a pair with a pose."""
    return f"pose {t_us} " + " ".join(f"{x:.9f}" for x in (*pos, *quat)) + f" {features}"


def lost_line(t_us: int, features: int) -> str:
    """Writes the answer to a pair without a pose."""
    return f"lost {t_us} {features}"


def parse(line: str) -> Answer | None:
    """Reads the answer in a line of a system's output; None for other lines."""
    words = line.split()
    try:
        if len(words) == 10 and words[0] == "pose":
            return Answer(int(words[1]), tuple(map(float, words[2:9])), int(words[9]))
        if len(words) == 3 and words[0] == "lost":
            return Answer(int(words[1]), None, int(words[2]))
    except ValueError:
        pass
    return None
