"""People who walk to and fro in a random world, as actors of SDF."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from lxml import etree

_PACE = 0.8, 1.4  # [m/s]
_LEAST = 6.0  # length of a walk [m]
_ROOM = 0.55  # from what stands there to the middle of a person [m]
_KEEP_OFF = 4.0  # nobody walks so near to where the vehicle takes off and lands [m]
_TURN_S = 0.6  # a person turns round in this time
_STEP = 1.0  # between two points of a walk [m]
_TRIES = 10_000
_XTDRONE = "urn:xtdrone"


@dataclass(frozen=True)
class Walk:
    """A straight way that a person walks to and fro."""

    begin: np.ndarray  # (2,) [m]
    end: np.ndarray  # (2,) [m]
    pace: float  # [m/s]
    waited: float  # part of the round that is behind at the start, 0 to 1

    def way_points(self) -> list[tuple[float, float, float, float]]:
        """Returns time [s], x, y [m] and heading [rad] of a round, which ends where it began."""
        along = self.end - self.begin
        length = float(np.linalg.norm(along))
        heading = math.atan2(along[1], along[0])
        count = max(round(length / _STEP), 1)
        out, t = [], 0.0
        for turned in (False, True):
            for k in range(count + 1):
                part = 1.0 - k / count if turned else k / count
                x, y = self.begin + part * along
                out.append((t, float(x), float(y), heading + math.pi * turned))
                t += length / count / self.pace if k < count else _TURN_S
        out.append((t, *out[0][1:3], heading))
        return out


def walks(objects: np.ndarray, bounds: np.ndarray, count: int, seed: int) -> list[Walk]:
    """Returns random walks between what stands in a world.

    Args:
        objects: What stands there.
        bounds: (2, 3) of the world [m]; the vehicle takes off at the origin and lands at the far
            end of x, and nobody walks there.
        count: How many.
        seed: Of their random numbers.
    """
    rng = np.random.default_rng([seed, count])
    low, high = bounds[:, :2] + [[_KEEP_OFF, 1.0], [-_KEEP_OFF, -1.0]]
    ends = np.array([[0.0, 0.0], [bounds[1, 0] - 3.0, 0.0]])
    stands = [(obj["pos"][:2], float(obj["size"][0])) for obj in objects]
    out: list[Walk] = []
    for _ in range(_TRIES):
        if len(out) == count:
            break
        a, b = rng.uniform(low, high, (2, 2))
        pace, waited = rng.uniform(*_PACE), rng.uniform()
        if np.linalg.norm(b - a) < _LEAST or min(_apart(end, a, b) for end in ends) < _KEEP_OFF:
            continue
        if all(_apart(place, a, b) > radius + _ROOM for place, radius in stands):
            out.append(Walk(a, b, float(pace), float(waited)))
    return out


def add_people(world: etree._Element, people: Sequence[Walk]) -> None:
    """Adds people to the <world> of an SDF file."""
    for number, walk in enumerate(people):
        actor = etree.SubElement(world, "actor", name=f"person_{number}")
        etree.SubElement(
            actor, f"{{{_XTDRONE}}}figure", nsmap={"xtdrone": _XTDRONE}
        ).text = "person"
        script = etree.SubElement(actor, "script")
        etree.SubElement(script, "loop").text = "1"
        points = walk.way_points()
        etree.SubElement(script, "delay_start").text = f"{-walk.waited * points[-1][0]:.3f}"
        path = etree.SubElement(script, "trajectory", id="0", type="walking")
        for t, x, y, heading in points:
            point = etree.SubElement(path, "waypoint")
            etree.SubElement(point, "time").text = f"{t:.4f}"
            etree.SubElement(point, "pose").text = f"{x:.4f} {y:.4f} 0 0 0 {heading:.5f}"


def _apart(place: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    """Returns the distance of a place from a line between two [m]."""
    along = b - a
    part = np.clip((place - a) @ along / (along @ along), 0.0, 1.0)
    return float(np.linalg.norm(a + part * along - place))
