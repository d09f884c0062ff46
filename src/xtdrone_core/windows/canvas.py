"""A canvas in 3D: lines, meshes and labels, and a camera that frames what it shows."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyqtgraph as pg
import pyqtgraph.opengl as gl
from OpenGL import GL
from PySide6 import QtCore, QtGui, QtWidgets

from ..plot_style import rgba

BACKGROUND = "#f6f7f9"
INK = "#1d2530"  # colour of text and axes
GRID = "#c9ced6"
_Region = tuple[int, int, int, int]  # left, lower, width and height [pixels]
_AZIMUTH, _ELEVATION = -65.0, 24.0  # direction of the camera at the start [deg]
_DEPTH = 0.02, 50.0  # nearest and farthest that is drawn, by the distance of the camera
_TEXT_HEIGHT = 12  # height of labels [pixels]
_SAMPLES = 4  # samples per pixel, for smooth edges
_GLIDE = 0.2  # fraction of its path that the camera covers in a frame while it glides
_LABEL_WIDTH = 200  # [pixels]
# Colours mix, and the picture stays opaque.
_BLENDED = {
    GL.GL_DEPTH_TEST: True,
    GL.GL_BLEND: True,
    "glBlendFuncSeparate": (
        GL.GL_SRC_ALPHA,
        GL.GL_ONE_MINUS_SRC_ALPHA,
        GL.GL_ONE,
        GL.GL_ONE_MINUS_SRC_ALPHA,
    ),
}


class Label(NamedTuple):
    """Text at a point."""

    point: np.ndarray  # (3,) world [m]
    text: str
    above: bool = False  # above the point, not around it


class Canvas(gl.GLViewWidget):  # type: ignore[misc]  # pyqtgraph has no annotations
    """Draws lines, meshes and labels; a subclass says by draw() what it shows.

    Attributes:
        labels: What is written over the picture.
    """

    panned = QtCore.Signal()  # the user moved the camera sideways

    def __init__(self) -> None:
        """Makes an empty canvas."""
        super().__init__()
        self.labels: list[Label] = []
        self._overlay = _Overlay(self)
        surface = self.format()
        surface.setSamples(_SAMPLES)
        self.setFormat(surface)
        self._lines: dict[str, Any] = {}
        self._framed_distance = 1.0  # distance of the camera that frames what is shown [m]
        self._framed_middle = np.zeros(3)
        self.setBackgroundColor(BACKGROUND)

    @property
    def zoom(self) -> float:
        """Factor by which the user has changed the distance of the camera."""
        return float(self.opts["distance"] / self._framed_distance)

    def reset_camera(self) -> None:
        """Turns the camera back to where it was at the start; aim() gives it its distance."""
        self._framed_distance = 1.0
        self.setCameraPosition(distance=1.0, azimuth=_AZIMUTH, elevation=_ELEVATION)

    def aim(self, middle: np.ndarray, distance: float, glide: bool = False) -> None:
        """Lets the camera look at a point; the user's turns and zoom stay.

        Args:
            middle: The point (3,) [m].
            distance: Of the camera from it [m].
            glide: Whether the camera moves there smoothly.
        """
        if glide:
            distance = self._framed_distance + _GLIDE * (distance - self._framed_distance)
            middle = self._framed_middle + _GLIDE * (middle - self._framed_middle)
        self.opts["distance"] *= distance / self._framed_distance
        self._framed_distance, self._framed_middle = distance, middle
        self.opts["center"] = pg.Vector(*middle)

    def draw(self) -> None:
        """Draws what is there now; called where the camera or the size has changed."""
        self.update()
        self._overlay.update()

    def add_lines(
        self,
        name: str,
        colour: str,
        width: float = 1.0,
        opacity: float = 1.0,
        order: int = 3,
        on_top: bool = False,
    ) -> None:
        """Adds a layer of lines, which set_lines() draws.

        Args:
            name: Of the layer.
            colour: #rrggbb.
            width: Of the lines [pixels].
            opacity: 0 to 1.
            order: Layers are drawn in ascending order.
            on_top: Whether nothing hides it that was drawn before.
        """
        item = gl.GLLinePlotItem(
            pos=np.zeros((2, 3)),
            mode="lines",
            color=(*rgba(colour)[:3], opacity),
            width=width,
            antialias=True,
        )
        item.setGLOptions({**_BLENDED, GL.GL_DEPTH_TEST: not on_top})
        item.setDepthValue(order)
        self._lines[name] = item
        self.addItem(item)

    def set_lines(self, name: str, lines: np.ndarray | None) -> None:
        """Draws lines (K, 2, 3) [m] of a layer; None hides it."""
        item = self._lines[name]
        item.setVisible(lines is not None)
        if lines is not None:
            item.setData(pos=lines.reshape(-1, 3))

    def set_colours(self, name: str, colours: np.ndarray | Sequence[float]) -> None:
        """Sets the colour of a layer, RGBA 0 to 1: (4,), or (2 K, 4) of the ends of its lines."""
        self._lines[name].setData(color=colours)

    def line_count(self, name: str) -> int:
        """Returns the number of lines of a layer that are drawn."""
        item = self._lines[name]
        return len(item.pos) // 2 if item.visible() else 0

    def label_positions(self) -> np.ndarray:
        """Returns the middles (K, 2) of the labels [pixels]."""
        return self.on_screen(np.array([label.point for label in self.labels]).reshape(-1, 3))

    def on_screen(self, points: np.ndarray) -> np.ndarray:
        """Projects points (K, 3).

        Returns:
            (K, 2) pixels from the upper left corner; NaN behind the camera.
        """
        region = (0, 0, self.width(), self.height())
        projection = self.projectionMatrix(region, region) * self.viewMatrix()
        matrix = np.array(projection.data()).reshape(4, 4).T
        x, y, _, w = matrix @ np.column_stack([points, np.ones(len(points))]).T
        w = np.where(w > 0.0, w, np.nan)
        return 0.5 * np.column_stack([(1.0 + x / w) * self.width(), (1.0 - y / w) * self.height()])

    def projectionMatrix(self, region: _Region, viewport: _Region) -> QtGui.QMatrix4x4:
        """As pyqtgraph's, with a range of depths in which near surfaces do not mix."""
        _, _, wide, high = viewport
        near, far = (factor * self.opts["distance"] for factor in _DEPTH)
        matrix = QtGui.QMatrix4x4()
        right = near * math.tan(math.radians(0.5 * self.opts["fov"]))
        matrix.frustum(-right, right, -right * high / wide, right * high / wide, near, far)
        return matrix

    def mouseMoveEvent(self, event: QtGui.QMouseEvent) -> None:
        """Turns or moves the camera."""
        super().mouseMoveEvent(event)
        if (
            event.buttons() == QtCore.Qt.MouseButton.MiddleButton
            or event.modifiers() & QtCore.Qt.KeyboardModifier.ControlModifier
        ):
            self.panned.emit()
        self.draw()

    def wheelEvent(self, event: QtGui.QWheelEvent) -> None:
        """Zooms."""
        super().wheelEvent(event)
        self.draw()

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        """Draws in the new size."""
        super().resizeEvent(event)
        self._overlay.resize(self.size())
        self.draw()


class _Overlay(QtWidgets.QWidget):
    """The labels on top of a Canvas; OpenGL itself has no text."""

    def __init__(self, canvas: Canvas) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self.setAttribute(QtCore.Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def paintEvent(self, _event: QtGui.QPaintEvent) -> None:
        """Writes the labels around their points."""
        painter = QtGui.QPainter(self)
        font = painter.font()
        font.setPixelSize(_TEXT_HEIGHT)
        painter.setFont(font)
        painter.setPen(QtGui.QColor(INK))
        for (x, y), label in zip(self._canvas.label_positions(), self._canvas.labels):
            if np.isfinite(x):
                down = -2 * _TEXT_HEIGHT if label.above else -_TEXT_HEIGHT
                painter.drawText(
                    QtCore.QRectF(x - _LABEL_WIDTH / 2, y + down, _LABEL_WIDTH, 2 * _TEXT_HEIGHT),
                    QtCore.Qt.AlignmentFlag.AlignCenter,
                    label.text,
                )
        painter.end()
