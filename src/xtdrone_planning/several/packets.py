"""A vehicle's announcement as a row of numbers, as the simulated links carry it.

A trajectory goes as position and velocity each 0.1 s, which are the ends of cubic pieces.
"""

from typing import NamedTuple

import numpy as np

from ..planners.planner import STEP_S, Trajectory

PIECE_S = 0.1  # length of a piece [s]
PIECES = 60  # the longest trajectory has so many
_EACH = round(PIECE_S / STEP_S)  # samples of a piece
_SIZE = 3 + 6 * (PIECES + 1)  # number, begin, count, ends of the pieces


class Announced(NamedTuple):
    """A numbered trajectory; a vehicle's numbers grow, 0 is that of none."""

    number: int
    trajectory: Trajectory | None


NOTHING = Announced(0, None)


class Announcement(NamedTuple):
    """What a vehicle tells all others."""

    pos: np.ndarray  # (3,) where it is by its own estimate [m]
    flown: Announced  # what it flies, with the stop that it ends with
    planned: Announced  # what it wants to fly once the others have confirmed it
    heard: np.ndarray  # (N,) int64 newest number that it has heard of each vehicle


def size(n: int) -> int:
    """Returns the length of a row of n vehicles."""
    return 3 + 2 * _SIZE + n


def pack(announcement: Announcement) -> np.ndarray:
    """Returns the row (P,) of an announcement."""
    parts = (_packed(announcement.flown), _packed(announcement.planned))
    return np.concatenate([announcement.pos, *parts, announcement.heard.astype(float)])


def renew(row: np.ndarray, pos: np.ndarray, heard: np.ndarray) -> None:
    """Writes another place (3,) [m] and what was heard (N,) into a row."""
    row[:3], row[3 + 2 * _SIZE :] = pos, heard


def unpack(row: np.ndarray, before: Announcement | None = None) -> Announcement:
    """Returns what pack() was given.

    Args:
        row: (P,).
        before: The same vehicle's announcement before, whose trajectories need not be made again.
    """
    middle, end = 3 + _SIZE, 3 + 2 * _SIZE
    known = {} if before is None else {each.number: each for each in before[1:3]}
    flown, planned = (
        known.get(int(part[0])) or _unpacked(part) for part in (row[3:middle], row[middle:end])
    )
    return Announcement(row[:3].copy(), flown, planned, row[end:].astype(np.int64))


def as_heard(announced: Announced) -> Announced:
    """Returns a trajectory as those know it who have heard it."""
    return _unpacked(_packed(announced))


def fits(trajectory: Trajectory) -> bool:
    """Whether a trajectory is short enough to be announced."""
    return trajectory.duration <= PIECES * PIECE_S


def _packed(announced: Announced) -> np.ndarray:
    out = np.zeros(_SIZE)
    trajectory = announced.trajectory
    if trajectory is None:
        return out
    count = int(np.ceil(trajectory.duration / PIECE_S - 1e-9)) + 1
    ends = np.minimum(np.arange(count) * _EACH, len(trajectory.pos) - 1)
    out[:3] = announced.number, trajectory.begun_us, count
    out[3 : 3 + 6 * count] = np.hstack([trajectory.pos[ends], trajectory.vel[ends]]).ravel()
    return out


def _unpacked(row: np.ndarray) -> Announced:
    count = int(row[2])
    if count == 0:
        return NOTHING
    ends = row[3 : 3 + 6 * count].reshape(count, 6)
    pos, vel = ends[:, :3], ends[:, 3:]
    if count == 1:
        return Announced(int(row[0]), Trajectory(int(row[1]), pos.copy(), vel.copy(), 0.0 * pos))
    u = (np.arange(_EACH) / _EACH)[:, None]
    weights = [  # of a cubic piece's ends, and their first and second derivatives by its time
        (2 * u**3 - 3 * u**2 + 1, u**3 - 2 * u**2 + u, 3 * u**2 - 2 * u**3, u**3 - u**2),
        (6 * u**2 - 6 * u, 3 * u**2 - 4 * u + 1, 6 * u - 6 * u**2, 3 * u**2 - 2 * u),
        (12 * u - 6, 6 * u - 4, 6 - 12 * u, 6 * u - 2),
    ]
    before, after = (part[:, None] for part in (pos[:-1], pos[1:]))
    leaves, comes = (PIECE_S * part[:, None] for part in (vel[:-1], vel[1:]))
    rows = []
    for order, (a, b, c, d) in enumerate(weights):
        piece = (a * before + b * leaves + c * after + d * comes) / PIECE_S**order
        rows.append(piece.reshape(-1, 3))
    last = (pos[-1:], vel[-1:], np.zeros((1, 3)))
    return Announced(
        int(row[0]), Trajectory(int(row[1]), *(np.concatenate(pair) for pair in zip(rows, last)))
    )
