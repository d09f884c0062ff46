"""Films and pictures of a flight: MP4, GIF, PNG. They are drawn off screen."""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xtdrone_core import extras, outputs

from ..errors import ViewError
from .stage import Stage

SUFFIXES = (".mp4", ".gif", ".png")
_MAX_IMAGES = 100_000  # 55 minutes at 30 per second
_MAX_PIXELS = 1_000_000_000  # all images of a GIF are in memory together: 3 GB
_QUALITY = "21"  # constant rate factor of H.264: 18 is visually lossless, 28 is small
_CODEC = "libx264"
_COLOURS = 112  # a GIF's palette, chosen from its images
_MAX_VEHICLE_COLOURS = 16  # further ones, which few pixels have
_SAMPLES = 6  # images from which the colours are chosen
_MARK = outputs.MARK.encode()


def free_for(path: Path | str) -> Path:
    """Returns a path that a film may be written to.

    Raises:
        ViewError: Its name ends in none of SUFFIXES, something else is there, or its folder is not.
    """
    path = Path(path).expanduser()
    if path.suffix.lower() not in SUFFIXES:
        raise ViewError(f"cannot write '{path}': give a name that ends in {', '.join(SUFFIXES)}")
    return outputs.free_for(path, "film", lambda ends: _MARK in ends, ViewError)


def images(
    stage: Stage, begin_s: float, end_s: float, speed: float, fps: float, size: tuple[int, int]
) -> Iterator[np.ndarray]:
    """Yields the images of a film, (h, w, 3) uint8, with a progress bar.

    Args:
        stage: The flight.
        begin_s, end_s: Simulated time of the first image, and at or before which the last is [s].
        speed: Simulated seconds per second of the film.
        fps: Images per second.
        size: Width and height [pixels].

    Raises:
        EngineError: Nothing here can render.
    """
    from tqdm import tqdm

    count = image_count(begin_s, end_s, speed, fps)
    label = "" if speed == 1.0 else f"{speed:g} x"
    for k in tqdm(range(count), desc="film", unit="image", file=sys.stderr, disable=None):
        yield stage.image(begin_s + k * speed / fps, 1.0 / fps, size, label)


def image_count(begin_s: float, end_s: float, speed: float, fps: float) -> int:
    """Returns the number of images(), at least one."""
    return int((end_s - begin_s) / speed * fps + 1e-6) + 1


def check_length(path: Path, count: int, size: tuple[int, int]) -> None:
    """Checks that a film has no more images than can be drawn and kept.

    Args:
        path: Path of the film.
        count: Number of its images.
        size: Width and height [pixels].

    Raises:
        ViewError: They are too many.
    """
    limit = _MAX_IMAGES
    if path.suffix.lower() == ".gif":
        limit = min(limit, _MAX_PIXELS // (size[0] * size[1]))
    if count > limit:
        raise ViewError(
            f"the film would have {count} images, at most {limit} of {size[0]}x{size[1]}"
            f" are allowed in a {path.suffix.lower()}: give a shorter span with --from "
            "and --to, a higher --speed, a lower --fps or a smaller --size"
        )


def write(
    path: Path, pictures: Iterable[np.ndarray], fps: float, colours: npt.ArrayLike = ()
) -> None:
    """Writes images as a film, or the first one as a picture.

    Args:
        path: Path of the file, its name ends in one of SUFFIXES.
        pictures: (h, w, 3) uint8.
        fps: Frames per second.
        colours: (K, 3) RGB that a GIF has to have, 0..1.

    Raises:
        ViewError: A package is missing, or the file cannot be written.
    """
    try:
        _WRITERS[path.suffix.lower()](path, pictures, fps, colours)
    except BaseException as error:
        if path.suffix.lower() != ".png":
            path.unlink(missing_ok=True)  # half a film is none
        if isinstance(error, OSError):
            raise ViewError(
                f"cannot write '{path}': {error.strerror or error}; give a file in a "
                "folder that can be written, with space"
            ) from error
        raise


def _mp4(path: Path, pictures: Iterable[np.ndarray], fps: float, _: npt.ArrayLike) -> None:
    from fractions import Fraction

    av = extras.require("av", "MP4", "view", ViewError, "give a .gif")
    with av.open(str(path), "w", options={"movflags": "faststart"}) as film:
        film.metadata["comment"] = outputs.MARK
        stream: Any = None
        for picture in pictures:
            if stream is None:
                stream = film.add_stream(_CODEC, rate=Fraction(fps).limit_denominator(1000))
                stream.height, stream.width = picture.shape[:2]
                stream.pix_fmt, stream.options = "yuv420p", {"crf": _QUALITY}
            for packet in stream.encode(
                av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
            ):
                film.mux(packet)
        for packet in stream.encode():
            film.mux(packet)


def _gif(path: Path, pictures: Iterable[np.ndarray], fps: float, colours: npt.ArrayLike) -> None:
    from PIL import Image

    frames = [Image.fromarray(picture) for picture in pictures]
    # One palette for all, without dither: what does not move does not change, and takes no space.
    some = frames[:: max(1, len(frames) // _SAMPLES)]
    sheet = Image.new("RGB", (some[0].width, some[0].height * len(some)))
    for k, frame in enumerate(some):
        sheet.paste(frame, (0, k * frame.height))
    own = np.rint(255 * np.reshape(colours, (-1, 3))[:_MAX_VEHICLE_COLOURS]).astype(int)
    common = sheet.quantize(_COLOURS, method=Image.Quantize.MEDIANCUT)
    palette = Image.new("P", (1, 1))
    palette.putpalette([*(common.getpalette() or [])[: 3 * _COLOURS], *own.ravel().tolist()])
    first, *rest = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    first.save(
        path,
        save_all=True,
        append_images=rest,
        duration=round(1000 / fps),
        loop=0,
        optimize=False,
        comment=_MARK,
    )


def _png(path: Path, pictures: Iterable[np.ndarray], fps: float, _: npt.ArrayLike) -> None:
    from PIL import Image, PngImagePlugin

    mark = PngImagePlugin.PngInfo()
    mark.add_text("Software", outputs.MARK)
    Image.fromarray(next(iter(pictures))).save(path, pnginfo=mark)


_WRITERS: dict[str, Callable[..., None]] = {".mp4": _mp4, ".gif": _gif, ".png": _png}
