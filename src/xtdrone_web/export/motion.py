"""What moves in a recording, sampled at a fixed rate: the key frames of an animation."""

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from xtdrone_core import Vehicle
from xtdrone_core.vehicle import Servo
from xtdrone_dynamics.quaternion import multiply_array, rotate_array

from ..errors import WebError
from ..replay.recording import Recording

_MAX_KEYS = 20_000_000  # key frames of a file: half a gigabyte


class Motion(NamedTuple):
    """Key frames of n vehicles."""

    begin_s: float  # time of the recording at which t_s is 0 [s]
    rate: float  # [Hz]
    t_s: np.ndarray  # (K,) since begin_s [s]
    pos: np.ndarray  # (K, n, 3) of the frames of their bases, world [m]
    quat: np.ndarray  # (K, n, 4) xyzw, neighbours on the same side of the sphere
    actuator: np.ndarray  # (K, n, A) speed of rotors [rad/s], position of others [rad], [m]


def sampled(
    recording: Recording, chosen: Sequence[int], begin_s: float, end_s: float, rate: float
) -> Motion:
    """Returns the motion of some vehicles, with a progress bar.

    Args:
        recording: The flight.
        chosen: Indices of the vehicles.
        begin_s, end_s: First time, and the one at or before which the last is [s].
        rate: Key frames per second.

    Raises:
        WebError: The file would grow too large.
    """
    from tqdm import tqdm

    t_s = np.arange(int((end_s - begin_s) * rate + 1e-6) + 1) / rate
    keys = len(t_s) * len(chosen)
    if keys > _MAX_KEYS:
        raise WebError(
            f"the file would have {keys:,} key frames, at most {_MAX_KEYS:,} are "
            "allowed: give a shorter span with --from and --to, a lower --rate or some "
            "--vehicles"
        )
    rows = []
    for t in tqdm(t_s, desc="key frames", unit="frame", file=sys.stderr, disable=None, leave=False):
        records = recording.at(begin_s + t)[chosen]
        rows.append((records["pos"], records["quat"], records["actuator"]))
    pos, quat, actuator = (np.array(part, dtype=float) for part in zip(*rows))
    return Motion(begin_s, rate, t_s, pos, continuous(quat), actuator)


def continuous(quat: np.ndarray) -> np.ndarray:
    """Quaternions (K, ..., 4) whose neighbours are less than half a turn of the sphere apart."""
    turned = np.sum(quat[1:] * quat[:-1], axis=-1, keepdims=True) < 0.0
    signs = np.cumprod(np.where(turned, -1.0, 1.0), axis=0)
    return np.concatenate([quat[:1], quat[1:] * signs])


def axis_angle(axis: Sequence[float], angle: np.ndarray) -> np.ndarray:
    """Returns attitudes (K, 4) of turns by angles (K,) about a unit vector [rad]."""
    half = 0.5 * angle[:, None]
    return np.concatenate([np.sin(half) * np.array(axis), np.cos(half)], axis=1)


def joint_motion(vehicle: Vehicle, actuator: np.ndarray) -> dict[int, tuple]:
    """Returns how logged joints move bodies, each in the frame of its parent.

    Args:
        vehicle: The Vehicle.
        actuator: (K, A) positions of its actuators.

    Returns:
        By body: positions (K, 3) [m] and attitudes (K, 4).
    """
    motions: dict[int, tuple] = {}
    for k, servo in enumerate(vehicle.actuators[: actuator.shape[1]]):
        if not isinstance(servo, Servo) or not actuator[:, k].any():
            continue
        joint, at = vehicle.joints[servo.joint], actuator[:, k]
        body: Any = vehicle.bodies[joint.body]
        if joint.prismatic:
            offset, turn = (
                at[:, None] * np.array(joint.axis),
                np.tile((0.0, 0.0, 0.0, 1.0), (len(at), 1)),
            )
        else:
            turn = axis_angle(joint.axis, at)
            anchor = np.tile(np.asarray(joint.anchor, dtype=float), (len(at), 1))
            offset = anchor - rotate_array(turn, anchor)
        frame = np.tile(body.quat, (len(at), 1))
        motions[joint.body] = (
            np.array(body.pos) + rotate_array(frame, offset),
            multiply_array(frame, turn),
        )
    return motions


def angles(speed: np.ndarray, rate: float, maximum: float = np.inf) -> np.ndarray:
    """Angles (K,) of a rotor at speeds (K,) [rad/s], from key frame to key frame at most so far."""
    steps = np.clip(speed[:-1] / rate, -maximum, maximum)
    return np.concatenate([[0.0], np.cumsum(steps)])
