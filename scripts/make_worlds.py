#!/usr/bin/env python3
"""Writes the worlds hall, corridor and gap from the plans of their walls and furniture.

With --check it writes nothing and exits with 1 if a file is not what its plan gives.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lxml import etree

WORLDS = Path(__file__).parents[1] / "worlds"
_HEIGHT, _THICK = 3.0, 0.2  # of walls [m]
_DOOR = 1.6, 2.4  # width and height of a doorway [m]


class Wall(NamedTuple):
    """A wall along an axis, with doorways."""

    name: str
    ends: tuple[float, float, float, float]  # x, y of its first end, x, y of its last [m]
    doors: Sequence[float] = ()  # x or y of the doorways' middles [m]
    texture: str = "PaintedWall"


class Block(NamedTuple):
    """A box that stands on the floor."""

    name: str
    pos: tuple[float, float]  # of its middle [m]
    size: tuple[float, float, float]  # [m]
    yaw: float = 0.0  # [rad]
    texture: str = "Wood"


Pieces = list[tuple[tuple[float, float, float], tuple[float, float, float]]]  # centre and size [m]


def _pieces(wall: Wall) -> Pieces:
    """Returns the boxes of a wall: between doorways to the top, above them a lintel."""
    x0, y0, x1, y1 = wall.ends
    along = 0 if y0 == y1 else 1
    begin, end = (x0, x1) if along == 0 else (y0, y1)
    width, top = _DOOR
    spans = []  # begin, end, bottom
    for door in sorted(wall.doors):
        spans += [(begin, door - width / 2, 0.0), (door - width / 2, door + width / 2, top)]
        begin = door + width / 2
    spans.append((begin, end, 0.0))
    out: Pieces = []
    for first, last, bottom in spans:
        middle, length = (first + last) / 2, last - first
        height = _HEIGHT - bottom
        z = bottom + height / 2
        out.append(
            ((middle, y0, z), (length, _THICK, height))
            if along == 0
            else ((x0, middle, z), (_THICK, length, height))
        )
    return out


_HALL = [
    Wall("wall_west", (-18, -12, -18, 12), texture="Bricks"),
    Wall("wall_east", (18, -12, 18, 12), texture="Bricks"),
    Wall("wall_south", (-18, -12, 18, -12)),
    Wall("wall_north", (-18, 12, 18, 12)),
    Wall("wall_rooms_north", (-18, 4, 18, 4), (-13.0, 1.5, 10.0)),
    Wall("wall_rooms_south", (-18, -4, 18, -4), (-7.0, 8.5, 15.0)),
    Wall("wall_between_1_2", (-6, 4, -6, 12), (9.5,)),
    Wall("wall_between_2_3", (6, 4, 6, 12), texture="Bricks"),
    Wall("wall_between_4_5", (1, -12, 1, -4), (-9.0,)),
    Block("pillar_0", (-10, 1.5), (0.5, 0.5, 3.0), texture="Bricks"),
    Block("pillar_1", (-10, -1.5), (0.5, 0.5, 3.0), texture="Bricks"),
    Block("pillar_2", (11, 0.5), (0.6, 0.6, 3.0), texture="Bricks"),
    Block("bench_0", (-16.5, -2.9), (1.8, 0.5, 0.8)),
    Block("bench_1", (5.5, 3.3), (2.2, 0.5, 0.8)),
    Block("cabinet_0", (17.4, -1.8), (0.6, 1.6, 2.0)),
    Block("shelf_1a", (-17.4, 8.0), (0.5, 4.0, 2.2)),
    Block("desk_1", (-10.5, 8.5), (1.6, 0.9, 1.2), 0.4),
    Block("shelf_1b", (-9.0, 11.6), (3.0, 0.4, 2.2)),
    Block("desk_2a", (-2.0, 10.2), (1.8, 0.9, 1.2)),
    Block("desk_2b", (3.0, 7.0), (0.9, 1.8, 1.2), -0.3),
    Block("crates_3a", (15.5, 10.0), (2.2, 2.0, 1.8), 0.2),
    Block("crates_3b", (9.0, 10.5), (1.4, 1.4, 2.4)),
    Block("shelf_3", (17.5, 6.0), (0.4, 2.6, 2.2)),
    Block("machine_4", (-12.0, -8.5), (3.0, 2.0, 2.0), 0.15),
    Block("shelf_4", (-4.0, -11.6), (5.0, 0.4, 2.2)),
    Block("crate_4", (-16.5, -10.5), (1.2, 1.2, 1.2), 0.6),
    Block("desk_5a", (6.0, -7.5), (2.0, 1.0, 1.2), 0.1),
    Block("desk_5b", (11.0, -10.0), (2.0, 1.0, 1.2)),
    Block("cabinet_5", (17.4, -9.0), (0.6, 2.4, 2.2)),
]

_CORRIDOR = [
    Wall("start_west", (-4, -4, -4, 4), texture="Bricks"),
    Wall("start_south", (-4, -4, 4, -4)),
    Wall("start_north", (-4, 4, 4, 4)),
    Wall("start_east_low", (4, -4, 4, -1.2)),
    Wall("start_east_high", (4, 1.2, 4, 4)),
    Wall("side_south", (4, -1.2, 64, -1.2)),
    Wall("side_north", (4, 1.2, 64, 1.2)),
    Wall("end_west_low", (64, -3, 64, -1.2)),
    Wall("end_west_high", (64, 1.2, 64, 5)),
    Wall("end_south", (64, -3, 72, -3)),
    Wall("end_north", (64, 5, 72, 5)),
    Wall("end_east", (72, -3, 72, 5), texture="Bricks"),
    Block("desk_start", (-2.5, 3.2), (1.6, 0.8, 1.2)),
    Block("cabinet_start", (2.8, -3.4), (1.2, 0.6, 2.0)),
    Block("pilaster_0", (17.0, 1.05), (0.3, 0.1, 3.0)),
    Block("pilaster_1", (29.5, -1.05), (0.3, 0.1, 3.0)),
    Block("pilaster_2", (48.0, 1.05), (0.3, 0.1, 3.0)),
    Block("crates_end", (70.5, 3.5), (1.4, 1.6, 1.8), 0.3),
    Block("cabinet_end", (66.0, -2.5), (1.6, 0.6, 2.0)),
]

_GAP = [  # 1.4 m wide, narrower than a bar of 2 m
    Block("wall_south", (8.0, -4.7), (0.2, 8.0, 5.0), texture="Bricks"),
    Block("wall_north", (8.0, 4.7), (0.2, 8.0, 5.0), texture="Bricks"),
]

_PLANS = {
    "hall": (" A hall of 36 x 8 m with five furnished rooms, without a roof. ", _HALL),
    "gap": (" A wall 5 m high with a gap of 1.4 m, 8 m east of the start. ", _GAP),
    "corridor": (" A bare corridor of 60 m between two lobbies, without a roof. ", _CORRIDOR),
}


def _model(part: Wall | Block) -> etree._Element:
    """Returns the SDF model of a wall or block."""
    model = etree.Element("model", name=part.name)
    etree.SubElement(model, "static").text = "1"
    if isinstance(part, Wall):
        pieces = _pieces(part)
    else:
        etree.SubElement(model, "pose").text = f"{part.pos[0]:g} {part.pos[1]:g} 0 0 0 {part.yaw:g}"
        pieces = [((0.0, 0.0, part.size[2] / 2), part.size)]
    link = etree.SubElement(model, "link", name="link")
    for index, (centre, size) in enumerate(pieces):
        for kind in ("collision", "visual"):
            shape = etree.SubElement(link, kind, name=f"{kind}_{index}")
            etree.SubElement(shape, "pose").text = " ".join(f"{x:g}" for x in centre) + " 0 0 0"
            box = etree.SubElement(etree.SubElement(shape, "geometry"), "box")
            etree.SubElement(box, "size").text = " ".join(f"{x:g}" for x in size)
        script = etree.SubElement(etree.SubElement(shape, "material"), "script")
        etree.SubElement(script, "uri").text = "file://media/materials/scripts/gazebo.material"
        etree.SubElement(script, "name").text = f"Gazebo/{part.texture}"
    return model


def world(name: str) -> bytes:
    """Returns the SDF file of a plan: the world `empty` with the plan's walls and blocks."""
    comment, parts = _PLANS[name]
    root = etree.parse(
        str(WORLDS / "empty.world"), etree.XMLParser(remove_blank_text=True)
    ).getroot()
    for old in list(root.itersiblings(preceding=True)):
        old.text = comment
    element = root.find("world")
    assert element is not None
    element.set("name", name)
    for part in parts:
        element.append(_model(part))
    etree.indent(root)
    return etree.tostring(
        root.getroottree(), xml_declaration=False, pretty_print=True, encoding="unicode"
    ).encode()


def main() -> int:
    """Writes or checks the worlds; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    status = 0
    for name in _PLANS:
        path, data = WORLDS / f"{name}.world", b'<?xml version="1.0"?>\n' + world(name)
        if not check:
            path.write_bytes(data)
        elif not path.is_file() or path.read_bytes() != data:
            print(f"{path} is not what its plan gives: run scripts/make_worlds.py", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
