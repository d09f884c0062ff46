"""Gates of a race track as models of a world."""

from lxml import etree

from xtdrone_core.racing.track import Gate, Track

_COLOURS = ("0.95 0.42 0.1 1", "0.93 0.93 0.95 1")  # start and finish; the others


def gate_models(track: Track) -> tuple[str, ...]:
    """The gates as SDF, static models gate_1 and so on with a solid frame; way-points have none."""
    return tuple(
        _model(f"gate_{k + 1}", gate, _COLOURS[k > 0])
        for k, gate in enumerate(track.gates)
        if gate.radius is None
    )


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
