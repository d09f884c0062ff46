"""The iris with its stereo camera at three quarters of the resolution: fewer pixels to draw."""

from pathlib import Path

from xtdrone_core import resources


def small_stereo(folder: Path) -> Path:
    """Writes its model, and returns the path."""
    text = resources.vehicle_sdf("iris_stereo").read_text()
    for before, after in (("752</width>", "564</width>"), ("480</height>", "360</height>")):
        assert before in text
        text = text.replace(before, after)
    path = folder / "iris_small_stereo.sdf"
    path.write_text(text)
    return path
