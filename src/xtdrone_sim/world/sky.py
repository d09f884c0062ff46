"""Sky and fog of a world's <scene>."""

from dataclasses import dataclass

from ..vehicles.sdf_file import Element, fail
from ..vehicles.sdf_tree import number, numbers, text

# SDF's names and, where they differ, Gazebo's own.
_KINDS = {"linear": "linear", "constant": "exp", "exp": "exp", "quadratic": "exp2", "exp2": "exp2"}


@dataclass(frozen=True)
class Fog:
    """SDF's <fog>."""

    kind: str  # linear, exp: exp(-density d), or exp2: exp(-(density d)^2)
    colour: tuple[float, float, float]  # RGB, 0..1
    density: float  # [1/m]
    start: float  # distance at which linear fog begins [m]
    end: float  # distance beyond which linear fog hides everything [m]


def sky_and_fog(scene: Element | None) -> tuple[float | None, Fog | None]:
    """Hour of <sky><time>, None without; and <fog>, None without.

    Args:
        scene: The element <scene>, or None.

    Raises:
        SdfError: A value is not allowed.
    """
    if scene is None:
        return None, None
    hour = scene.find("sky/time")
    if hour is not None and not 0.0 <= numbers(hour, 1)[0] <= 24.0:
        fail(hour, f"<time> of the sky is {numbers(hour, 1)[0]:g}: give 0 to 24 hours")
    return None if hour is None else numbers(hour, 1)[0], _fog(scene.find("fog"))


def _fog(element: Element | None) -> Fog | None:
    kind = "none" if element is None else text(element, "type", "none").strip()
    if element is None or kind == "none":
        return None
    if kind not in _KINDS:
        fail(element, f"<type> of fog is '{kind}': give none, linear, constant or quadratic")
    density, start, end = (
        number(element, tag, value)
        for tag, value in (("density", 1.0), ("start", 1.0), ("end", 100.0))
    )
    if density < 0.0 or not 0.0 <= start < end:
        fail(
            element,
            f"<fog> has density {density:g}, start {start:g} and end {end:g}: give a "
            "density from 0, and 0 <= start < end",
        )
    colour = element.find("color")
    count = 3 if colour is None else len((colour.text or "").split())
    rgb = (1.0, 1.0, 1.0) if colour is None else numbers(colour, count if count in (3, 4) else 4)
    return Fog(_KINDS[kind], (rgb[0], rgb[1], rgb[2]), density, start, end)
