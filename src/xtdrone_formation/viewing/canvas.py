"""The three-dimensional part of the viewer's window: it draws a scene and moves the camera."""

from typing import Any

import numpy as np
import pyqtgraph.opengl as gl

from xtdrone_core import plot_style
from xtdrone_core.plot_style import rgba
from xtdrone_core.windows import canvas, space
from xtdrone_core.windows.canvas import GRID, INK, Label

from . import geometry
from .scenes import Scene

NOSE = "#1d2530"
SLOT, LINK, DROP = "#0a7d4f", "#c2307a", "#8f8577"
LAYERS = ("slots", "links", "height lines", "trails", "names")  # layers that can be switched off
FOLLOW = ("fleet", "leader", "nobody")
_MANY = 200  # vehicles, from which they are drawn as arrowheads with thin lines
_MAX_NAMED = 40  # vehicles, up to which their names are written
_TRAIL, _TRAIL_OF_MANY = 80, 25  # points of a trail
_LINK_OPACITY, _MAX_OPAQUE_LINKS = 0.85, 20  # more links than these are drawn fainter
_TRAIL_OPACITY = 0.9  # newest piece of a trail
_VEHICLES_ORDER = 2  # drawn after the grid and the axes, before the other lines


class Canvas(canvas.Canvas):
    """Draws a scene of the fleet.

    Attributes:
        scene: What is drawn.
        shown: Whether each of LAYERS is drawn.
        follow: Target of the camera, one of FOLLOW.
        glides: Whether the camera moves smoothly to its place.
        scale: The grid and its axes, as they are drawn.
    """

    def __init__(self, scene: Scene) -> None:
        """Makes the canvas, with the camera on the whole fleet."""
        super().__init__()
        self.scene = scene
        self.shown = dict.fromkeys(LAYERS, True)
        self.follow = "fleet"
        self.glides = False
        self.scale: space.Scale
        many = scene.n > _MANY
        self._body = geometry.DART if many else geometry.MULTIROTOR
        # Size of a slot's mark, by the width of a vehicle.
        self._slot = 0.25 if many else 0.6 if scene.n <= _MAX_NAMED else 0.4
        self._trail_points = _TRAIL_OF_MANY if many else _TRAIL
        self._colours = np.array(
            [rgba(plot_style.vehicle_color(i, scene.n)) for i in range(scene.n)]
        )
        self._make_items(many)
        self.look()

    def look(self) -> None:
        """Turns the camera back to where it was at the start, on the whole fleet."""
        self.follow = "fleet"
        self.reset_camera()

    @property
    def span(self) -> float:
        """Width of a drawn vehicle [m]."""
        return geometry.width(self.opts["distance"], self.scene.n)

    def draw(self) -> None:
        """Draws the scene as it is now."""
        scene = self.scene
        pos, slots, edges = scene.pos, scene.slots, scene.edges
        around = pos if slots is None else np.concatenate([pos, slots])
        self.scale = space.scale(around, scene.ground)
        self._move_camera(pos)
        span, floor = self.span, self.scale.low[2]
        self._vehicles.setMeshData(
            vertexes=geometry.placed(self._body, pos, scene.yaw, span),
            faceColors=self._face_colours,
        )
        self._set_layer(
            "slots", None if slots is None else geometry.diamonds(slots, self._slot * span)
        )
        self._set_layer("links", pos[edges] if len(edges) else None)
        # Many links would hide the rest.
        opacity = _LINK_OPACITY * min(1.0, _MAX_OPAQUE_LINKS / max(len(edges), 1)) ** 0.35
        self.set_colours("links", (*rgba(LINK)[:3], opacity))
        self._set_layer("height lines", geometry.drops(pos, floor))
        self._set_layer("trails", self._trails())
        self.set_lines("grid", self.scale.lines())
        lines, ticks = self.scale.axes(self.opts["azimuth"])
        self.set_lines("axes", lines)
        above = np.array([0.0, 0.0, 0.45 * span])
        self.labels = [Label(point, text) for point, text in ticks]
        if self.shown["names"] and scene.n <= _MAX_NAMED:
            self.labels += [Label(at + above, name, True) for at, name in zip(pos, scene.names)]
        super().draw()

    def _make_items(self, many: bool) -> None:
        thin = 1.0 if many else 1.6
        self.add_lines("grid", GRID, order=0)
        self.add_lines("axes", INK, 1.4, order=1, on_top=True)
        self.add_lines("height lines", DROP, opacity=0.25 if many else 0.8)
        self.add_lines("trails", INK, thin)
        self.add_lines("links", LINK, thin)
        self.add_lines("slots", SLOT, thin)
        pieces = self._trail_points - 1
        faded = np.broadcast_to(self._colours[:, None, None], (self.scene.n, pieces, 2, 4)).copy()
        faded[..., 3] = np.linspace(0.0, _TRAIL_OPACITY, pieces)[None, :, None]
        self.set_colours("trails", faded.reshape(-1, 4))
        self._face_colours = self._shaded()
        self._vehicles = gl.GLMeshItem(
            vertexes=np.zeros((1, 3, 3)),
            faceColors=np.ones((1, 3, 4)),
            smooth=False,
            computeNormals=False,
            glOptions="opaque",
        )
        self._vehicles.setDepthValue(_VEHICLES_ORDER)
        self.addItem(self._vehicles)

    def _shaded(self) -> np.ndarray:
        """Returns (N * F, 3, 4) colours of the vehicles' triangles by corner, lit from a side."""
        body = self._body
        colours = np.repeat(self._colours[:, None], len(body.shade), axis=1)
        colours[:, body.dark] = rgba(NOSE)
        colours[..., :3] *= body.shade[:, None]
        return colours.reshape(-1, 1, 4).repeat(3, axis=1).astype(np.float32)

    def _set_layer(self, layer: str, lines: np.ndarray | None) -> None:
        """Draws the lines of a layer, if the user wants them."""
        self.set_lines(layer, lines if self.shown[layer] else None)

    def _trails(self) -> np.ndarray:
        """Returns (N, K - 1, 2, 3) pieces of the vehicles' last paths."""
        trail = self.scene.trail(self._trail_points)
        return np.stack([trail[:-1], trail[1:]], axis=2).swapaxes(0, 1)

    def _move_camera(self, pos: np.ndarray) -> None:
        if self.follow == "nobody":
            return
        opts: dict[str, Any] = self.opts
        middle, distance = space.frame(
            self.scale.corners,
            opts["azimuth"],
            opts["elevation"],
            opts["fov"],
            max(self.width(), 1) / max(self.height(), 1),
        )
        self.aim(pos[0] if self.follow == "leader" else middle, distance, self.glides)
