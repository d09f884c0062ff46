"""Things that labels are not for: heaps of forms, trees, posts, blocks and shelves."""

import colorsys
import math
from collections.abc import Callable

import numpy as np

from xtdrone_sim.vehicles.look import Look
from xtdrone_sim.vehicles.pose import Pose
from xtdrone_sim.vehicles.shapes import Shape

from .places import Places

SCRIPTS = ("Grass", "Road", "Residential", "Bricks", "PaintedWall", "WoodFloor", "WoodPallet",
           "CeilingTiled")  # fmt: skip
_MOST = 16  # heaps of a scene
_MOST_SCENERY = 14  # larger things of a scene
_BARE = 0.3  # share of scenes without larger things
_HEAPED = 0.6  # chance that a heap is of several forms
_PARTS = 4  # most of them
_HIGHEST = 6.0  # of a heap [m]
_TEXTURED = 0.25  # chance that a form has a texture

Colour = tuple[float, float, float]
_Form = tuple[str, tuple[float, ...], float]  # kind, size and half its height [m]


def random_colour(rng: np.random.Generator) -> Colour:
    """A random colour, as often pale or dark as bright."""
    return colorsys.hsv_to_rgb(
        float(rng.random()), float(rng.random() ** 1.3), float(rng.uniform(0.06, 1.0))
    )


def clutter(places: Places, rng: np.random.Generator) -> list[Shape]:
    """Things of random forms and colours; some are as large as what is looked for."""
    shapes = []
    for k in range(int(rng.integers(0, _MOST + 1))):
        place = places.ground(rng, 0.4)
        if place is not None:
            shapes += _heap(f"clutter_{k}", place, rng)
    several = 0 if rng.random() < _BARE else int(rng.integers(1, _MOST_SCENERY + 1))
    for k in range(several):
        name = str(rng.choice(list(_SCENERY)))
        place = places.ground(rng, 2.0 if name == "block" else 0.6)
        if place is not None:
            shapes += _SCENERY[name](f"scenery_{k}", place, rng)
    return shapes


def _heap(name: str, place: np.ndarray, rng: np.random.Generator) -> list[Shape]:
    """One form, or several on each other: as furniture and stacks of goods are."""
    forms: dict[str, Callable[[], _Form]] = {
        "box": lambda: _box(rng.uniform(0.2, 2.5, 3)),
        "cylinder": lambda: _cylinder(rng.uniform(0.05, 0.6), rng.uniform(0.3, 3.0)),
        "sphere": lambda: _ball(rng.uniform(0.1, 0.8)),
    }
    parts = int(rng.integers(2, _PARTS + 1)) if rng.random() < _HEAPED else 1
    shapes, (x, y, base), top = [], place.tolist(), 0.0
    for part in range(parts):
        form = forms[str(rng.choice(list(forms)))]()
        half = form[2]
        if part and top + 2.0 * half > _HIGHEST:
            continue
        aside = rng.normal(0.0, 0.15, 2) * (part > 0)
        at = (x + aside[0], y + aside[1], base + top + half)
        shapes.append(_shape(f"{name}_{part}", form, at, _turn(rng), _look(rng)))
        top += 2.0 * half * float(rng.uniform(0.5, 1.0))
    return shapes


def _tree(name: str, place: np.ndarray, rng: np.random.Generator) -> list[Shape]:
    """A trunk with one to three crowns."""
    x, y, base = place.tolist()
    tall, radius = float(rng.uniform(1.2, 3.5)), float(rng.uniform(0.6, 1.9))
    bark, leaves = _look(rng), _look(rng)
    if rng.random() < 0.7:  # as they are, or of any colour
        leaves = _plain((float(rng.uniform(0.05, 0.4)), float(rng.uniform(0.2, 0.6)), 0.1))
        bark = _plain((0.35 * float(rng.uniform(0.5, 1.5)), 0.25, 0.15))
    trunk = _cylinder(float(rng.uniform(0.08, 0.28)), tall)
    shapes = [_shape(f"{name}_trunk", trunk, (x, y, base + 0.5 * tall), 0.0, bark)]
    top = base + tall
    for k in range(int(rng.integers(1, 4))):
        aside = 0.4 * radius * rng.normal(0.0, 1.0, 2) * (k > 0)
        at = (x + aside[0], y + aside[1], top + 0.7 * radius)
        shapes.append(_shape(f"{name}_crown_{k}", _ball(radius), at, 0.0, leaves))
        top += 0.8 * radius
        radius *= float(rng.uniform(0.5, 0.9))
    return shapes


def _post(name: str, place: np.ndarray, rng: np.random.Generator) -> list[Shape]:
    """A post, often with a lamp, a sign or a rail on it."""
    x, y, base = place.tolist()
    tall, look = float(rng.uniform(0.8, 6.0)), _look(rng)
    post = _cylinder(float(rng.uniform(0.03, 0.12)), tall)
    shapes = [_shape(f"{name}_post", post, (x, y, base + 0.5 * tall), 0.0, look)]
    head = rng.random()
    if head < 0.7:
        form = _ball(rng.uniform(0.1, 0.3)) if head < 0.35 else _box(rng.uniform(0.1, 0.9, 3))
        at = (x, y, base + tall)
        shapes.append(_shape(f"{name}_head", form, at, _turn(rng), _look(rng)))
    return shapes


def _block(name: str, place: np.ndarray, rng: np.random.Generator) -> list[Shape]:
    """A house or wall with a roof and windows."""
    x, y, base = place.tolist()
    sides = rng.uniform((0.3, 2.0, 1.5), (8.0, 12.0, 9.0))
    yaw, tall = _turn(rng), float(sides[2])
    shapes = [_shape(f"{name}_walls", _box(sides), (x, y, base + 0.5 * tall), yaw, _look(rng))]
    if rng.random() < 0.7:
        roof = _box(np.array([sides[0] + 0.5, sides[1] + 0.5, 0.3]))
        shapes.append(_shape(f"{name}_roof", roof, (x, y, base + tall), yaw, _look(rng)))
    glass, c, s = _look(rng), math.cos(yaw), math.sin(yaw)
    window = rng.uniform((0.5, 0.6), (1.6, 1.8))
    for k in range(int(rng.integers(0, 7))):
        along = float(rng.uniform(-0.42, 0.42) * sides[1])
        up = float(rng.uniform(0.2, 0.85) * tall)
        for side in (-0.5, 0.5):
            ahead = side * float(sides[0])
            at = (x + c * ahead - s * along, y + s * ahead + c * along, base + up)
            pane = _box(np.array([0.08, *window]))
            shapes.append(_shape(f"{name}_window_{k}_{side}", pane, at, yaw, glass))
    return shapes


def _shelf(name: str, place: np.ndarray, rng: np.random.Generator) -> list[Shape]:
    """Boards on legs: a bench, a table, a shelf."""
    x, y, base = place.tolist()
    length, depth = float(rng.uniform(0.5, 2.4)), float(rng.uniform(0.3, 1.2))
    boards, gap = int(rng.integers(1, 5)), float(rng.uniform(0.3, 0.8))
    look, yaw = _look(rng), _turn(rng)
    c, s = math.cos(yaw), math.sin(yaw)
    shapes = []
    for k in range(boards):
        board, at = _box(np.array([length, depth, 0.06])), (x, y, base + gap * (k + 1))
        shapes.append(_shape(f"{name}_board_{k}", board, at, yaw, look))
    tall = gap * boards
    for k, side in enumerate((-0.5, 0.5)):
        across = side * (length - 0.1)
        leg = _box(np.array([0.08, 0.9 * depth, tall]))
        at = (x + c * across, y + s * across, base + 0.5 * tall)
        shapes.append(_shape(f"{name}_leg_{k}", leg, at, yaw, look))
    return shapes


_SCENERY: dict[str, Callable[[str, np.ndarray, np.random.Generator], list[Shape]]] = {
    "tree": _tree,
    "post": _post,
    "block": _block,
    "shelf": _shelf,
}


def _shape(name: str, form: _Form, at: tuple[float, float, float], yaw: float, look: Look) -> Shape:
    kind, size, _ = form
    return Shape(name, kind, size, Pose.of(at[0], at[1], at[2], 0.0, 0.0, yaw), False, look)


def _look(rng: np.random.Generator) -> Look:
    textured = rng.random() < _TEXTURED
    script = f"Gazebo/{SCRIPTS[int(rng.integers(len(SCRIPTS)))]}" if textured else ""
    return Look(colour=(*random_colour(rng), 1.0), script=script, given=True)


def _plain(red_green_blue: Colour) -> Look:
    return Look(colour=(*red_green_blue, 1.0), script="", given=True)


def _turn(rng: np.random.Generator) -> float:
    return float(rng.uniform(-math.pi, math.pi))


def _box(sides: np.ndarray) -> _Form:
    return "box", tuple(map(float, sides)), 0.5 * float(sides[2])


def _cylinder(radius: float, length: float) -> _Form:
    return "cylinder", (float(radius), float(length)), 0.5 * float(length)


def _ball(radius: float) -> _Form:
    return "sphere", (float(radius),), float(radius)
