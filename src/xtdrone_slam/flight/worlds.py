"""Variants of worlds with changed light and less texture, as SDF files for any engine."""

import zlib
from pathlib import Path

from lxml import etree

from xtdrone_core import files, resources

from ..errors import SlamError
from .options import FlightOptions

_COLOURS = ("ambient", "diffuse", "specular")
_PLAIN = "0.7 0.7 0.68 1"  # colour of a surface without texture


def vary(world: str, light: float, texture: float, path: Path) -> Path:
    """Writes a variant of a world.

    Args:
        world: A name from worlds/, or an SDF file.
        light: Factor on every lamp and on the ambient light.
        texture: Fraction of the surfaces that keep their texture or colour, 0 to 1; the others
            become plain. The choice depends on their names, so that the surfaces kept at a lower
            fraction are a subset of those kept at a higher one.
        path: File to write.

    Returns:
        The path; if both factors are 1, nothing is written and the world's own file is returned.

    Raises:
        SlamError: A value is out of range, or the file cannot be written.
    """
    FlightOptions(light=light, texture=texture)  # refuses what is out of range
    source = resources.world_sdf(world)
    if light == texture == 1:
        return source
    tree = files.read_xml(source, "world", error=SlamError).getroottree()
    for element in [*tree.iter("light"), *tree.iter("scene")]:
        for name in _COLOURS:
            for colour in element.findall(name):
                *shades, alpha = (colour.text or "").split()
                colour.text = " ".join([*(f"{light * float(x):.4g}" for x in shades), alpha])
    for visual in tree.iter("visual"):
        if _hash(visual) >= texture:
            _make_plain(visual)
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        tree.write(str(path), xml_declaration=True, encoding="utf-8")
    except OSError as error:
        raise SlamError(f"cannot write '{path}': {error.strerror}") from error
    return Path(path)


def _hash(visual: etree._Element) -> float:
    """Returns a number from 0 to 1 that depends on the names of the visual and its parents only."""
    names = [element.get("name", "") for element in (visual, *visual.iterancestors())]
    return zlib.crc32("/".join(names).encode()) / 2**32


def _make_plain(visual: etree._Element) -> None:
    for old in visual.findall("material"):
        visual.remove(old)
    material = etree.SubElement(visual, "material")
    for name in ("ambient", "diffuse"):
        etree.SubElement(material, name).text = _PLAIN
