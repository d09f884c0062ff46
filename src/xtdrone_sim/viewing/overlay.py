"""Names of vehicles, time and captions, drawn over an image."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

_SIZE = 1 / 40  # height of the letters, in heights of the image
_MIN_SIZE = 10  # letters [pixels]
_ABOVE = 0.9  # distance of a name from its vehicle, in heights of the letters
_WHITE, _DARK = (255, 255, 255), (20, 24, 30)
_LUMINANCE, _BRIGHT = (0.2126, 0.7152, 0.0722), 0.55  # weights of RGB; dark letters on brighter
_MAX_NAMES = 60  # vehicles up to which they have names


def draw(
    image: np.ndarray,
    places: np.ndarray,
    names: Sequence[str],
    colours: np.ndarray,
    corners: Sequence[str] = (),
) -> np.ndarray:
    """Draws over an image.

    Args:
        image: (h, w, 3) uint8, the first row the highest.
        places: (N, 2) positions of the vehicles [pixels]; NaN for one that is not in view.
        names: Names of the vehicles; empty for none.
        colours: (N, 3) RGB of their names, 0..1.
        corners: Texts at the upper left, upper right and lower left.

    Returns:
        A new image.
    """
    from PIL import Image, ImageDraw

    picture = Image.fromarray(np.ascontiguousarray(image))
    pen = ImageDraw.Draw(picture)
    size = max(_MIN_SIZE, round(_SIZE * picture.height))
    font = _font(size)
    boxes: list[tuple] = []
    for place, name, colour in list(zip(places, names, colours))[:_MAX_NAMES]:
        if np.isfinite(place).all() and (place >= 0).all() and (place < picture.size).all():
            x, y = float(place[0]), float(place[1]) - _ABOVE * size
            while any(_overlap(pen.textbbox((x, y), name, font, "mb"), other) for other in boxes):
                y -= 0.5 * size  # higher, until it covers no other
            boxes.append(pen.textbbox((x, y), name, font, "mb"))
            # The colour as the outline of white letters, of dark ones where it is bright.
            pen.text(
                (x, y),
                name,
                font=font,
                anchor="mb",
                fill=_DARK if np.dot(_LUMINANCE, colour) > _BRIGHT else _WHITE,
                stroke_width=max(2, size // 7),
                stroke_fill=tuple(int(255 * x) for x in colour),
            )
    gap = 0.6 * size
    for text, place, anchor in zip(
        corners,
        ((gap, gap), (picture.width - gap, gap), (gap, picture.height - gap)),
        ("la", "ra", "ld"),
    ):
        pen.text(
            place,
            text,
            font=font,
            anchor=anchor,
            fill=_WHITE,
            stroke_width=max(1, size // 9),
            stroke_fill=_DARK,
        )
    return np.asarray(picture)


def _overlap(a: Sequence[float], b: Sequence[float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@lru_cache
def _font(size: int) -> Any:  # a FreeTypeFont; Pillow is imported where something is drawn
    """Loads DejaVu Sans, which Matplotlib brings along."""
    import matplotlib
    from PIL import ImageFont

    return ImageFont.truetype(
        str(Path(matplotlib.get_data_path(), "fonts/ttf/DejaVuSans.ttf")), size
    )
