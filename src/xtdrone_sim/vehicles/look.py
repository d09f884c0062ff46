"""How a visual looks: its colour, and the texture of its material script."""

import math
import re
from dataclasses import dataclass
from pathlib import Path

from xtdrone_core import files

from ..errors import SdfError
from .sdf_file import Element, fail, resolve_uri
from .sdf_tree import number, numbers

_PLAIN = {  # Gazebo's own material scripts that are one plain colour
    "Grey": (0.7, 0.7, 0.7),
    "DarkGrey": (0.175, 0.175, 0.175),
    "White": (1.0, 1.0, 1.0),
    "FlatBlack": (0.1, 0.1, 0.1),
    "Black": (0.05, 0.05, 0.05),
    "Red": (1.0, 0.0, 0.0),
    "Green": (0.0, 1.0, 0.0),
    "Blue": (0.0, 0.0, 1.0),
    "Yellow": (1.0, 1.0, 0.0),
    "Orange": (1.0, 0.5, 0.1),
    "SkyBlue": (0.13, 0.44, 0.7),
    "Indigo": (0.33, 0.0, 0.5),
}
_PLAIN_COLOUR = (0.7, 0.7, 0.7, 1.0)
_WHITE = (1.0, 1.0, 1.0, 1.0)


_DIELECTRIC = 0.04  # reflectance of plastics and paint, seen straight on


@dataclass(frozen=True)
class Surface:
    """How a surface shines: SDF's <specular> and <shininess>, or its <pbr><metal>."""

    specular: float = _DIELECTRIC  # reflectance seen straight on, 0..1
    roughness: float = 1.0  # 0 = a mirror, 1 = matt
    metalness: float = 0.0  # 0..1
    emission: float = 0.0  # light of its own in its colour, 0..1


@dataclass(frozen=True)
class Look:
    """Colour and texture of a surface."""

    colour: tuple = _PLAIN_COLOUR  # RGBA
    script: str = ""  # name of one of Gazebo's own textured materials, for example Gazebo/Bricks
    texture: Path | None = None  # picture
    repeats: tuple[float, float] = (1.0, 1.0)  # repeats of the picture over a side
    given: bool = False  # the SDF has a colour or a script, which goes before a mesh's own
    surface: Surface | None = None  # where the SDF says how it shines


def look_of(element: Element) -> Look:
    """The look that a visual's <material> and <transparency> describe."""
    material = element.find("material")
    if material is None:
        return Look()
    name = material.findtext("script/name", "").strip()
    plain = _PLAIN.get(name.rpartition("/")[2]) if name.startswith("Gazebo/") else None
    colour, texture, repeats = _WHITE if name else _PLAIN_COLOUR, None, (1.0, 1.0)
    if plain:
        colour = (*plain, 1.0)
    elif name:
        colour, texture, repeats = _of_script(material, name)
    for tag in ("diffuse", "ambient"):
        child = material.find(tag)
        if child is not None:
            count = len((child.text or "").split())
            values = numbers(child, count if count in (3, 4) else 4)
            red, green, blue, alpha = (*values, 1.0)[:4]
            colour = red, green, blue, alpha
            break
    surface, emissive, albedo = _shine(material)
    if emissive:
        colour = (*map(max, colour[:3], emissive), colour[3])
    if albedo:
        colour, texture = _WHITE, albedo
    colour = (*colour[:3], colour[3] * (1.0 - number(element, "transparency", 0.0)))
    return Look(
        colour,
        "" if plain or texture else name,
        texture,
        repeats,
        bool(name or albedo or emissive) or material.find("diffuse") is not None,
        surface,
    )


def _shine(material: Element) -> tuple[Surface | None, tuple, Path | None]:
    """Surface, emissive colour and picture of <specular>, <emissive> and <pbr><metal>."""
    metal, glow = material.find("pbr/metal"), _rgb(material, "emissive")
    emissive = glow if glow and max(glow) > 0.0 else ()
    if metal is not None:
        surface = Surface(
            _DIELECTRIC,
            _fraction(metal, "roughness", 0.5),
            _fraction(metal, "metalness", 0.5),
            max(emissive, default=0.0),
        )
        return surface, emissive, _albedo(metal.find("albedo_map"))
    specular, shininess = _rgb(material, "specular"), number(material, "shininess", 0.0)
    if shininess < 0.0:
        fail(material.find("shininess"), f"<shininess> is {shininess:g}: give a number from 0")
    if not emissive and not (specular and max(specular) > 0.0 and shininess > 0.0):
        return None, (), None
    # Blinn's exponent as the roughness that gives the same width of a highlight.
    return (
        Surface(
            min(1.0, 2.0 * _DIELECTRIC * max(specular, default=0.0)),
            math.sqrt(2.0 / (shininess + 2.0)),
            0.0,
            max(emissive, default=0.0),
        ),
        emissive,
        None,
    )


def _albedo(element: Element) -> Path | None:
    """The picture that an <albedo_map> names; None where it is not here."""
    uri = "" if element is None else (element.text or "").strip()
    try:
        return resolve_uri(element, uri) if uri else None
    except SdfError:
        return None


def _fraction(element: Element, tag: str, default: float) -> float:
    value = number(element, tag, default)
    if not 0.0 <= value <= 1.0:
        fail(element.find(tag), f"<{tag}> is {value:g}: give 0 to 1")
    return value


def _rgb(material: Element, tag: str) -> tuple:
    """A colour (3,) of a material; () where it has none."""
    child = material.find(tag)
    if child is None:
        return ()
    count = len((child.text or "").split())
    return numbers(child, count if count in (3, 4) else 4)[:3]


def _of_script(material: Element, name: str) -> tuple:
    """Colour, picture and repeats of an OGRE material script in the folders that SDF names."""
    folders = []
    for uri in material.iterfind("script/uri"):
        try:
            folders.append(resolve_uri(uri, (uri.text or "").strip()))
        except SdfError:
            continue  # as Gazebo's own file://media, which is not here
    for script in [
        path
        for folder in folders
        for path in ([folder] if folder.is_file() else sorted(folder.glob("*.material")))
    ]:
        data = files.read_bytes(script, "material script", error=SdfError)
        block = _block(files.decode_text(data, errors="replace"), name)
        if block:
            colour = re.search(r"\bdiffuse((?:\s+[\d.eE+-]+){3,4})", block)
            rgba = tuple(map(float, colour[1].split()))[:4] if colour else _WHITE
            picture = re.search(r"\btexture\s+([^\s{}]+\.\w+)", block)
            texture = _picture(picture[1], [script.parent, *folders]) if picture else None
            scale = re.search(r"\bscale\s+([\d.eE+-]+)\s+([\d.eE+-]+)", block)
            repeats = (
                (1.0 / float(scale[1]), 1.0 / float(scale[2]))
                if scale and float(scale[1]) * float(scale[2])
                else (1.0, 1.0)
            )
            return _WHITE if texture else (*rgba, 1.0)[:4], texture, repeats
    return _WHITE, None, (1.0, 1.0)


def _block(text: str, name: str) -> str:
    """The text between the braces of a script's material; "" where it is not there."""
    text = re.sub(r"//[^\n]*", "", text)
    start = re.search(rf"\bmaterial\s+{re.escape(name)}\s*(?::[^{{]*)?{{", text)
    if not start:
        return ""
    depth, at = 1, start.end()
    while depth and at < len(text):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[start.end() : at]


def _picture(name: str, folders: list[Path]) -> Path | None:
    for folder in folders:
        for path in (folder / name, folder.parent / "textures" / name):
            if path.is_file():
                return path
    return None
