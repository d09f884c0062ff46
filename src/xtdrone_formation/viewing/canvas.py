"""The three-dimensional part of the viewer's window: it draws a scene and moves the camera."""

import math
from typing import Any

import numpy as np

from xtdrone_core import libraries, plot_style

from ..errors import FormationError
from . import geometry

libraries.require_qt(FormationError)
try:
    import pyqtgraph as pg
    import pyqtgraph.opengl as gl
    from OpenGL import GL
    from pyqtgraph.Qt import QtCore, QtGui, QtWidgets
except ImportError as error:
    raise FormationError(
        f"the viewer needs pyqtgraph, PySide6-Essentials and PyOpenGL ({error}): "
        "pip install 'xtdrone[view]'"
    ) from error

BACKGROUND = "#f6f7f9"
INK = "#1d2530"  # of text and axes
NOSE = "#1d2530"
SLOT, LINK, DROP, GRID = "#0a7d4f", "#c2307a", "#8f8577", "#c9ced6"
LAYERS = ("slots", "links", "height lines", "trails", "names")  # that can be switched off
FOLLOW = ("fleet", "leader", "nobody")
AZIMUTH, ELEVATION = -65.0, 24.0  # of the camera at the start [deg]
_MANY = 200  # vehicles, from which they are drawn as arrowheads with thin lines
_NAMED = 40  # vehicles, up to which their names are written
_TRAIL, _TRAIL_OF_MANY = 80, 25  # points of a trail
_CLEAR, _FEW = 0.85, 20  # opacity of links, and up to how many of them it is not less
_FADE = 0.9  # opacity of a trail's newest piece
_DEPTH = 0.02, 50.0  # nearest and farthest that is drawn, by the distance of the camera
_TEXT = 12  # height of labels [pixels]
_SAMPLES = 4  # of a pixel, for smooth edges
_GLIDE = 0.2  # of its way, that the camera goes in a frame while the scene is played
_ORDER = {"grid": 0, "axes": 1}  # of drawing; vehicles are 2, then come the other lines
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


class Canvas(gl.GLViewWidget):
    """Draws a Replay or LiveFlight."""

    panned = QtCore.Signal()  # the user moved the camera sideways

    def __init__(self, scene: Any):
        """With the camera on the whole fleet."""
        super().__init__()
        self.scene = scene
        self.shown = dict.fromkeys(LAYERS, True)
        self.follow = "fleet"
        self.labels: list[tuple[np.ndarray, str, bool]] = []  # place, text, whether a vehicle's
        self._labels = _Labels(self)
        surface = self.format()
        surface.setSamples(_SAMPLES)
        self.setFormat(surface)
        many = scene.n > _MANY
        self._body = geometry.DART if many else geometry.MULTIROTOR
        # Size of a slot's mark, by the width of a vehicle.
        self._slot = 0.25 if many else 0.6 if scene.n <= _NAMED else 0.4
        self._points = _TRAIL_OF_MANY if many else _TRAIL
        self._framed = 1.0  # distance of the camera that frames the fleet [m]
        self._middle = np.zeros(3)  # of what it frames
        self.setBackgroundColor(BACKGROUND)
        self._colours = np.array(
            [rgba(plot_style.vehicle_color(i, scene.n)) for i in range(scene.n)]
        )
        self._make_items(many)
        self.look()

    def look(self) -> None:
        """Turns the camera back to where it was at the start, on the whole fleet."""
        self.follow = "fleet"
        self._framed = 1.0
        self.setCameraPosition(distance=1.0, azimuth=AZIMUTH, elevation=ELEVATION)

    @property
    def span(self) -> float:
        """Width of a drawn vehicle [m]."""
        return geometry.width(self.opts["distance"], self.scene.n)

    def draw(self, glide: bool = False) -> None:
        """Draws the scene as it is now.

        Args:
            glide: Whether the camera moves smoothly to its place.
        """
        scene = self.scene
        pos, slots, edges = scene.pos, scene.slots, scene.edges
        around = pos if slots is None else np.concatenate([pos, slots])
        self.scale = geometry.scale(around, scene.ground)
        self._move_camera(pos, glide)
        span, floor = self.span, self.scale.low[2]
        self._vehicles.setMeshData(
            vertexes=geometry.placed(self._body, pos, scene.yaw, span),
            faceColors=self._face_colours,
        )
        self._set("slots", slots is not None, lambda: geometry.diamonds(slots, self._slot * span))
        self._set("links", len(edges) > 0, lambda: pos[edges])
        faint = _CLEAR * min(1.0, _FEW / max(len(edges), 1)) ** 0.35  # many would hide the rest
        self._items["links"].setData(color=(*rgba(LINK)[:3], faint))
        self._set("height lines", True, lambda: geometry.drops(pos, floor))
        self._set("trails", True, self._trail)
        self._items["grid"].setData(pos=self.scale.lines().reshape(-1, 3))
        lines, ticks = self.scale.axes(self.opts["azimuth"])
        self._items["axes"].setData(pos=lines.reshape(-1, 3))
        named = self.shown["names"] and scene.n <= _NAMED
        above = np.array([0.0, 0.0, 0.45 * span])
        self.labels = [(place, text, False) for place, text in ticks] + [
            (at + above, name, True) for at, name in zip(pos, scene.names) if named
        ]
        self.update()
        self._labels.update()

    def drawn(self, layer: str) -> int:
        """Number of lines that are drawn of a layer."""
        item = self._items[layer]
        return len(item.pos) // 2 if item.visible() else 0

    def label_positions(self) -> np.ndarray:
        """(K, 2) pixels of the middles of the labels."""
        return self.on_screen(np.array([place for place, _, _ in self.labels]).reshape(-1, 3))

    def on_screen(self, places: np.ndarray) -> np.ndarray:
        """(K, 2) pixels from the upper left corner of places (K, 3); NaN behind the camera."""
        region = (0, 0, self.width(), self.height())
        matrix = self.projectionMatrix(region, region) * self.viewMatrix()
        matrix = np.array(matrix.data()).reshape(4, 4).T
        x, y, _, w = matrix @ np.column_stack([places, np.ones(len(places))]).T
        w = np.where(w > 0.0, w, np.nan)
        return 0.5 * np.column_stack([(1.0 + x / w) * self.width(), (1.0 - y / w) * self.height()])

    def projectionMatrix(self, region: Any, viewport: Any) -> Any:
        """As pyqtgraph's, with a range of depths in which near surfaces do not mix."""
        _, _, wide, high = viewport
        near, far = (share * self.opts["distance"] for share in _DEPTH)
        matrix = QtGui.QMatrix4x4()
        right = near * math.tan(math.radians(0.5 * self.opts["fov"]))
        matrix.frustum(-right, right, -right * high / wide, right * high / wide, near, far)
        return matrix

    def mouseMoveEvent(self, event: Any) -> None:
        """Turns or moves the camera; it then follows nobody any more if it was moved."""
        super().mouseMoveEvent(event)
        if (
            event.buttons() == QtCore.Qt.MouseButton.MiddleButton
            or event.modifiers() & QtCore.Qt.KeyboardModifier.ControlModifier
        ):
            self.panned.emit()
        self.draw()

    def wheelEvent(self, event: Any) -> None:
        """Zooms."""
        super().wheelEvent(event)
        self.draw()

    def resizeEvent(self, event: Any) -> None:
        """Frames the fleet in the new size."""
        super().resizeEvent(event)
        self._labels.resize(self.size())
        self.draw()

    def _make_items(self, many):
        self._face_colours = self._shaded()
        self._vehicles = gl.GLMeshItem(
            vertexes=np.zeros((1, 3, 3)),
            faceColors=np.ones((1, 3, 4)),
            smooth=False,
            computeNormals=False,
            glOptions="opaque",
        )
        thin = 1.0 if many else 1.6
        looks = {
            "grid": (GRID, 1.0, 1.0),
            "axes": (INK, 1.4, 1.0),
            "height lines": (DROP, 1.0, 0.25 if many else 0.8),
            "trails": (INK, thin, 1.0),
            "links": (LINK, thin, 1.0),
            "slots": (SLOT, thin, 1.0),
        }
        self._items = {}
        for name, (colour, width, alpha) in looks.items():
            self._items[name] = gl.GLLinePlotItem(
                pos=np.zeros((2, 3)),
                mode="lines",
                color=(*rgba(colour)[:3], alpha),
                width=width,
                antialias=True,
            )
        pieces = self._points - 1
        base = np.broadcast_to(self._colours[:, None, None], (self.scene.n, pieces, 2, 4)).copy()
        base[..., 3] = np.linspace(0.0, _FADE, pieces)[None, :, None]
        self._items["trails"].setData(color=base.reshape(-1, 4))
        for name, item in self._items.items():
            item.setGLOptions(_BLENDED)
            item.setDepthValue(_ORDER.get(name, 3))
            self.addItem(item)
        self._items["axes"].setGLOptions({**_BLENDED, GL.GL_DEPTH_TEST: False})  # over the grid
        self._vehicles.setDepthValue(2)
        self.addItem(self._vehicles)

    def _shaded(self):
        """(N * F, 3, 4) colours of the corners of the vehicles' triangles, lit from one side."""
        body = self._body
        colours = np.repeat(self._colours[:, None], len(body.shade), axis=1)
        colours[:, body.dark] = rgba(NOSE)
        colours[..., :3] *= body.shade[:, None]
        return colours.reshape(-1, 1, 4).repeat(3, axis=1).astype(np.float32)

    def _set(self, layer, there, lines):
        """Shows the lines of a layer, if there are any and the user wants them."""
        item = self._items[layer]
        item.setVisible(bool(there and self.shown[layer]))
        if item.visible():
            item.setData(pos=lines().reshape(-1, 3))

    def _trail(self):
        trail = self.scene.trail(self._points)
        return np.stack([trail[:-1], trail[1:]], axis=2).swapaxes(0, 1)  # (N, K - 1, 2, 3)

    def _move_camera(self, pos, glide):
        if self.follow == "nobody":
            return
        opts = self.opts
        middle, distance = geometry.frame(
            self.scale.corners,
            opts["azimuth"],
            opts["elevation"],
            opts["fov"],
            max(self.width(), 1) / max(self.height(), 1),
        )
        middle = pos[0] if self.follow == "leader" else middle
        if glide:
            distance = self._framed + _GLIDE * (distance - self._framed)
            middle = self._middle + _GLIDE * (middle - self._middle)
        opts["distance"] *= distance / self._framed  # the mouse wheel may have changed it
        self._framed, self._middle = distance, middle
        opts["center"] = pg.Vector(*middle)


class _Labels(QtWidgets.QWidget):
    """The text on top of a Canvas; OpenGL itself has none."""

    def __init__(self, canvas: Canvas):
        super().__init__(canvas)
        self.setAttribute(QtCore.Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def paintEvent(self, _event: Any) -> None:
        """Writes the labels of the canvas around their places."""
        canvas = self.parent()
        painter = QtGui.QPainter(self)
        font = painter.font()
        font.setPixelSize(_TEXT)
        painter.setFont(font)
        painter.setPen(QtGui.QColor(INK))
        for (x, y), (_, text, of_vehicle) in zip(canvas.label_positions(), canvas.labels):
            if np.isfinite(x):
                down = -2 * _TEXT if of_vehicle else -_TEXT
                painter.drawText(
                    QtCore.QRectF(x - 100, y + down, 200, 2 * _TEXT),
                    QtCore.Qt.AlignmentFlag.AlignCenter,
                    text,
                )
        painter.end()


def rgba(colour: str) -> tuple[float, float, float, float]:
    """Red, green, blue and opacity, 0 to 1, of a colour #rrggbb."""
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red, green, blue, 1.0
