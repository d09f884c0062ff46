"""The page of a data set: a mosaic of its images with their labels, and statistics."""

import html
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xtdrone_core import plot_style

from .options import SPLITS, Options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TILES = 20  # images in the mosaic
_ACROSS = 4
_TILE = 320  # width of one [pixels]
_COLOURS = ("#ff3b30", "#ffd60a", "#32d7ff", "#7cff4f", "#ff7bff")  # of classes
_STYLE = (
    "body{font:15px/1.45 sans-serif;color:#222;max-width:84em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse}th,td{border-bottom:1px solid #ccc;padding:.25em .7em;"
    "text-align:right}th:first-child,td:first-child{text-align:left}img{max-width:100%}"
)


def write(folder: Path, options: Options, records: Sequence[dict[str, Any]]) -> None:
    """Writes index.html with mosaic.jpg and statistics.png."""
    mosaic(folder, options, records).save(folder / "mosaic.jpg", quality=88)
    plot_style.save(_statistics(options, records), folder / "statistics.png")
    rows = "".join(_row(split, options, records) for split in SPLITS)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in options.classes)
    settings = ", ".join(f"{key} {value}" for key, value in options.plain().items())
    legend = ", ".join(
        f'<span style="background:#222;color:{_COLOURS[k]}">&nbsp;{html.escape(name)}&nbsp;</span>'
        for k, name in enumerate(options.classes)
    )
    (folder / "index.html").write_text(
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Data set</title>'
        f"<style>{_STYLE}</style></head><body>\n<h1>Data set</h1>\n"
        f"<p>{html.escape(settings)}</p>\n<table><tr><th>split</th><th>scenes</th><th>images</th>"
        f"{head}</tr>{rows}</table>\n"
        f'<p>{legend}</p>\n<p><img src="mosaic.jpg" alt="images with their boxes and masks"></p>\n'
        f'<p><img src="statistics.png" alt="sizes, visibility and distances"></p>\n</body></html>\n'
    )


def _row(split: str, options: Options, records: Sequence[dict[str, Any]]) -> str:
    own = [record for record in records if record["split"] == split]
    images = sum(len(record["frames"]) for record in own)
    counts = Counter(label["class"] for record in own for frame in record["frames"]
                     for label in frame["labels"])  # fmt: skip
    cells = "".join(f"<td>{counts[name]}</td>" for name in options.classes)
    return f"<tr><td>{split}</td><td>{len(own)}</td><td>{images}</td>{cells}</tr>"


def mosaic(
    folder: Path, options: Options, records: Sequence[dict[str, Any]]
) -> Any:  # an image of Pillow, which has no types here
    """Images of different scenes, with boxes and tinted masks."""
    from PIL import Image

    frames = [(record, max(record["frames"], key=lambda frame: len(frame["labels"])))
              for record in records]  # fmt: skip
    picked = [
        frames[k] for k in np.linspace(0, len(frames) - 1, min(_TILES, len(frames)), dtype=int)
    ]
    height = round(_TILE * options.height / options.width)
    rows = -(-len(picked) // _ACROSS)
    sheet = Image.new("RGB", (_ACROSS * _TILE, rows * height))
    for k, (record, frame) in enumerate(picked):
        tile = _drawn(folder / "images" / record["split"] / f"{frame['image']}.jpg", frame, options)
        sheet.paste(tile.resize((_TILE, height)), (k % _ACROSS * _TILE, k // _ACROSS * height))
    return sheet


def _drawn(path: Path, frame: dict[str, Any], options: Options) -> Any:  # an image of Pillow
    from PIL import Image, ImageColor, ImageDraw

    pixels = np.asarray(Image.open(path).convert("RGB")).astype(np.float32)
    for label in frame["labels"]:
        mask = mask_of(label["runs"], options.height, options.width)
        colour = ImageColor.getrgb(_COLOURS[options.classes.index(label["class"])])
        pixels[mask] = 0.65 * pixels[mask] + 0.35 * np.array(colour)
    image = Image.fromarray(pixels.astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for label in frame["labels"]:
        left, top, width, height = label["box"]
        colour_name = _COLOURS[options.classes.index(label["class"])]
        draw.rectangle((left, top, left + width - 1, top + height - 1), outline=colour_name)
    return image


def mask_of(runs: Sequence[int], height: int, width: int) -> np.ndarray:
    """The mask (H, W) bool of COCO's run lengths."""
    values = np.arange(len(runs)) % 2 == 1
    flat: np.ndarray = np.repeat(values, runs)
    return flat.reshape(width, height).T


def _statistics(options: Options, records: Sequence[dict[str, Any]]) -> "Figure":
    labels = [
        label for record in records for frame in record["frames"] for label in frame["labels"]
    ]
    per_image = [len(frame["labels"]) for record in records for frame in record["frames"]]
    figure, axes = plot_style.panels(1, 4, 13.0, 3.2)
    for k, name in enumerate(options.classes):
        own = [label for label in labels if label["class"] == name]
        if not own:
            continue
        curves = (
            [label["box"][3] for label in own],
            [float(np.linalg.norm(label["location"])) for label in own],
            [label["visible"] for label in own],
        )
        scales = (
            np.geomspace(2.0, options.height, 24),
            np.linspace(0.0, 80.0, 24),
            np.linspace(0.0, 1.0, 21),
        )
        for panel, values, bins in zip(axes, curves, scales, strict=False):
            panel.hist(values, bins=bins, histtype="step", color=plot_style.series(k), label=name)
    axes[0].set_xscale("log")
    axes[3].hist(per_image, bins=np.arange(max(per_image) + 2) - 0.5, color=plot_style.series(0))
    titles = ("height of boxes", "distance", "share that shows", "labels of an image")
    units = ("[pixels]", "[m]", "[1]", "")
    for panel, title, unit in zip(axes, titles, units, strict=True):
        plot_style.title(panel, title)
        panel.set(xlabel=unit, ylabel="labels" if panel is not axes[3] else "images")
    axes[0].legend()
    return figure
