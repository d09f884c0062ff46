"""Gates of a race track as models of a world; those that move are actors."""

import numpy as np
from lxml import etree

from xtdrone_core.racing.track import Gate, Track

from ..vehicles.actors import Actor, Limb, on_path
from ..vehicles.look import Look
from ..vehicles.pose import Pose
from ..vehicles.shapes import Shape

_PER_PERIOD = 32  # way-points of a gate that moves: a millimetre from its sine
_COLOURS = ("0.95 0.42 0.1 1", "0.93 0.93 0.95 1")  # start and finish; the others


def gate_models(track: Track) -> tuple[str, ...]:
    """The gates as SDF, static models gate_1 and so on with a solid frame; way-points have none."""
    return tuple(
        _model(f"gate_{k + 1}", gate, _COLOURS[k > 0])
        for k, gate in enumerate(track.gates)
        if gate.radius is None and not gate.moves
    )


def gate_actors(track: Track) -> tuple[Actor, ...]:
    """The gates that move, as actors gate_2 and so on with a solid frame."""
    return tuple(
        _actor(f"gate_{k + 1}", track.gates[k], _COLOURS[k > 0])
        for k in track.moving
        if track.gates[k].radius is None
    )


def _actor(name: str, gate: Gate, colour: str) -> Actor:
    red, green, blue, alpha = map(float, colour.split())
    look = Look((red, green, blue, alpha))
    shapes = tuple(
        Shape(f"{name}::{kind}_{k}", "box", size, Pose(pos), kind == "bar", look, link=name)
        for k, (pos, size) in enumerate(gate.bars())
        for kind in ("bar", "paint")
    )
    times = np.linspace(0.0, gate.period, _PER_PERIOD + 1)
    attitude = Pose.of(0.0, 0.0, 0.0, 0.0, -gate.pitch, gate.yaw).quat
    poses = [Pose(tuple(pos), attitude) for pos in (gate.pos + gate.displacement(times)).tolist()]
    poses[-1] = poses[0]
    return on_path(name, (Limb("frame", shapes=shapes),), tuple(times.tolist()), tuple(poses))


def _model(name: str, gate: Gate, colour: str) -> str:
    model = etree.Element("model", name=name)
    etree.SubElement(model, "static").text = "1"
    # SDF pitches downwards.
    pose = *gate.pos, 0.0, -gate.pitch, gate.yaw
    etree.SubElement(model, "pose").text = " ".join(map(str, pose))
    link = etree.SubElement(model, "link", name="link")
    for k, (pos, size) in enumerate(gate.bars()):
        for tag in ("collision", "visual"):
            part = etree.SubElement(link, tag, name=f"bar_{k}")
            etree.SubElement(part, "pose").text = " ".join(map(str, (*pos, 0, 0, 0)))
            box = etree.SubElement(etree.SubElement(part, "geometry"), "box")
            etree.SubElement(box, "size").text = " ".join(map(str, size))
        material = etree.SubElement(part, "material")
        for which in ("ambient", "diffuse"):
            etree.SubElement(material, which).text = colour
    sdf = etree.Element("sdf", version="1.6")
    sdf.append(model)
    return etree.tostring(sdf, encoding="unicode")
