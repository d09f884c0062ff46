"""The window of the formation viewer: a run folder, or a live flight in the simple simulator."""

from pathlib import Path

import numpy as np
from PySide6 import QtCore, QtGui, QtWidgets

from xtdrone_core import plot_style
from xtdrone_core.windows import keys, pictures
from xtdrone_core.windows.application import application, run
from xtdrone_core.windows.keys import Key
from xtdrone_core.windows.time_bar import TimeBar, box, button

from ..errors import FormationError
from . import canvas
from .canvas import FOLLOW, Canvas
from .scenes import Replay, Scene

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TICK_MS = 33  # time between two frames [ms]
SIZE = (1280, 800)  # window size, on a screen that is large enough [pixels]
_MAX_FRAME_S = 0.2  # largest wall time between frames, so that a stalled window does not jump [s]
_BACKGROUND = "#e9ebee"  # light, whatever the desktop's theme
_PANEL = 270  # width of the panel at the right [pixels]
_FACTS = (
    "time",
    "formation",
    "slot error",
    "largest",
    "vehicles",
    "links",
    "height",
    "grid",
    "drawn",
)
_MOUSE = (("drag", "turn"), ("wheel", "zoom"), ("middle drag", "move"))
_LEGEND = {
    "slots": (canvas.SLOT, "slots of the followers"),
    "links": (canvas.LINK, "communication"),
    "height lines": (canvas.DROP, "height above the grid"),
    "trails": (plot_style.CROWD, "path of the last seconds"),
    "names": ("", "names"),
}


class Viewer(QtWidgets.QWidget):
    """A window on a scene of the fleet."""

    def __init__(self, scene: Scene, speed: float = 1.0, follow: str = "fleet") -> None:
        """Builds the window, paused; call show() and play().

        Args:
            scene: A Replay or LiveFlight.
            speed: Simulated seconds per second.
            follow: Target of the camera, one of FOLLOW.

        Raises:
            FormationError: An invalid speed or camera target.
        """
        super().__init__()
        self.scene = scene
        self.setWindowTitle(f"{scene.name} - xtdrone formation")
        room = self.screen().availableSize()
        self.resize(min(SIZE[0], int(0.95 * room.width())), min(SIZE[1], int(0.9 * room.height())))
        self.view = Canvas(scene)
        self.view.panned.connect(lambda: self.set_follow("nobody"))
        span = (scene.start_s, scene.end_s) if isinstance(scene, Replay) else None
        self.bar = TimeBar(self.play, self.pause, SPEEDS, span, self.seek)
        self.keys = self._make_keys()
        columns = QtWidgets.QHBoxLayout()
        columns.addWidget(self.view, 1)
        columns.addWidget(self._make_panel())
        rows = QtWidgets.QVBoxLayout(self)
        rows.addLayout(columns, 1)
        rows.addLayout(self._make_bar())
        keys.bind(self, self.keys)
        self.set_speed(speed)
        self._clock = QtCore.QElapsedTimer()
        self._timer = QtCore.QTimer(self)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._on_timer)
        self.set_follow(follow)

    # Actions of buttons, keys and scripts -----------------------------------------------------

    def play(self) -> None:
        """Starts or continues; a replay at its end starts again."""
        if isinstance(self.scene, Replay) and self.scene.done:
            self.scene.seek(self.scene.start_s)
        self.bar.show_playing(True)
        self._clock.start()
        self._timer.start()

    def pause(self) -> None:
        """Pauses the flight; the camera can still be moved."""
        self.bar.show_playing(False)
        self._timer.stop()

    def set_speed(self, speed: float) -> None:
        """Sets the simulated seconds per second.

        Raises:
            FormationError: Not a positive number.
        """
        if not 0 < speed < 1e3:
            raise FormationError(
                f"speed {speed} of the viewer is not allowed: give a positive "
                "factor, 1 for real time"
            )
        self.bar.set_speed(speed)

    def set_follow(self, target: str) -> None:
        """Sets the camera target: "fleet", "leader" or "nobody".

        Raises:
            FormationError: Another target.
        """
        if target not in FOLLOW:
            raise FormationError(
                f"the camera cannot follow '{target}': choose one of {', '.join(FOLLOW)}"
            )
        self.follow.setCurrentText(target)
        self.view.follow = target
        self.refresh()

    def look_at_all(self) -> None:
        """Turns the camera back to where it was at the start, on the whole fleet."""
        self.view.look()
        self.set_follow("fleet")

    def show_layer(self, layer: str, shown: bool) -> None:
        """Shows or hides one of canvas.LAYERS."""
        self.view.shown[layer] = shown
        self.boxes[layer].setChecked(shown)
        self.refresh()

    def seek(self, t_s: float) -> None:
        """Goes to a time of a replay [s]."""
        if isinstance(self.scene, Replay):
            self.scene.seek(t_s)
            self.refresh()

    def advance(self, seconds: float) -> None:
        """Advances by simulated time and draws [s]."""
        self.scene.advance(seconds)
        self.refresh()
        if self.scene.done and self.bar.playing:
            self.pause()

    def screenshot(self, path: Path | str) -> None:
        """Writes the window as a PNG file.

        Raises:
            FormationError: The file cannot be written.
        """
        self.refresh()
        QtWidgets.QApplication.processEvents()
        pictures.save(self, path, FormationError)

    def refresh(self) -> None:
        """Draws the current scene."""
        self.view.glides = self.bar.playing
        self.view.draw()
        for name, text in self.facts().items():
            self._facts[name].setText(text)
        self.bar.show_time(self.scene.t_s)

    def facts(self) -> dict[str, str]:
        """Returns what the panel says about the moment, by name."""
        scene, grid = self.scene, self.view.scale
        pos, slots = scene.pos, scene.slots
        heights = pos[:, 2] - scene.ground
        end = f" of {scene.end_s:.1f}" if isinstance(scene, Replay) else ""
        facts = {
            "time": f"{scene.t_s:.1f}{end} s, {self.bar.speed:g} x",
            "formation": scene.formation or "none commanded",
            "slot error": "-",
            "largest": "-",
            "vehicles": str(scene.n),
            "links": str(len(scene.edges)),
            "height": f"{heights.min():.1f} to {heights.max():.1f} m",
            "grid": f"{grid.step:g} m, "
            + ("on the ground" if grid.on_ground else f"at z = {grid.low[2]:.1f} m"),
            "drawn": f"{self.view.span:.1f} m wide",
        }
        if slots is not None and len(slots):
            error = np.linalg.norm(pos[1:] - slots, axis=1)
            worst = int(error.argmax())
            facts["slot error"] = f"{np.sqrt(np.mean(error**2)):.2f} m RMS"
            facts["largest"] = f"{error[worst]:.2f} m, {scene.names[1 + worst]}"
        return facts

    # Parts of the window ----------------------------------------------------------------------

    def _make_panel(self) -> QtWidgets.QWidget:
        panel = QtWidgets.QWidget()
        panel.setFixedWidth(_PANEL)
        column = QtWidgets.QVBoxLayout(panel)
        column.setContentsMargins(8, 4, 4, 4)
        title = QtWidgets.QLabel(f"<b>{self.scene.name}</b>")
        title.setWordWrap(True)
        column.addWidget(title)
        self._facts = {name: QtWidgets.QLabel() for name in _FACTS}
        column.addLayout(_table(self._facts))
        column.addWidget(_heading("Shown"))
        column.addLayout(self._make_legend())
        column.addWidget(_heading("Mouse"))
        column.addLayout(_table({key: QtWidgets.QLabel(text) for key, text in _MOUSE}))
        column.addWidget(_heading("Keys"))
        column.addLayout(_table({key.name: QtWidgets.QLabel(key.what) for key in self.keys}))
        column.addStretch(1)
        return panel

    def _make_legend(self) -> QtWidgets.QVBoxLayout:
        legend = QtWidgets.QVBoxLayout()
        n = self.scene.n
        followers = "followers, a colour each" if n <= plot_style.MAX_COLOURED else "followers"
        for colour, text in (
            (plot_style.vehicle_color(0, n), "leader; the nose is dark"),
            (plot_style.vehicle_color(1, n), followers),
        ):
            row = QtWidgets.QHBoxLayout()
            swatch = QtWidgets.QLabel()
            swatch.setPixmap(_swatch(colour, solid=True))
            row.addSpacing(20)
            row.addWidget(swatch)
            row.addWidget(QtWidgets.QLabel(text), 1)
            legend.addLayout(row)
        self.boxes = {layer: QtWidgets.QCheckBox(text) for layer, (_, text) in _LEGEND.items()}
        for layer, check in self.boxes.items():
            colour = _LEGEND[layer][0]
            check.setChecked(True)
            if colour:
                check.setIcon(QtGui.QIcon(_swatch(colour)))
            check.setIconSize(QtCore.QSize(24, 12))
            check.toggled.connect(lambda shown, layer=layer: self.show_layer(layer, shown))
            legend.addWidget(check)
        return legend

    def _make_bar(self) -> QtWidgets.QHBoxLayout:
        self.follow = box(FOLLOW, self.set_follow)
        row = QtWidgets.QHBoxLayout()
        for widget in (
            self.bar.button,
            QtWidgets.QLabel("speed"),
            self.bar.box,
            QtWidgets.QLabel("camera follows"),
            self.follow,
            button("Save picture", self._save),
        ):
            row.addWidget(widget)
        if self.bar.slider is None:
            row.addStretch(1)
        else:
            row.addWidget(self.bar.slider, 1)
        return row

    def _make_keys(self) -> list[Key]:
        def step(seconds: float) -> keys.Action:
            return lambda: self.seek(self.scene.t_s + seconds)

        def switch(layer: str) -> keys.Action:
            return lambda: self.show_layer(layer, not self.view.shown[layer])

        seeking = [
            Key("\u2190 \u2192", "1 s back, on", {"Left": step(-1.0), "Right": step(1.0)}),
            Key(
                "shift \u2190 \u2192",
                "10 s back, on",
                {"Shift+Left": step(-10.0), "Shift+Right": step(10.0)},
            ),
        ]
        slower, faster = (lambda: self.bar.change_speed(-1)), (lambda: self.bar.change_speed(1))
        return [
            Key("space", "play, pause", {"Space": self.bar.toggle}),
            *(seeking if isinstance(self.scene, Replay) else []),
            Key("- +", "slower, faster", {"-": slower, "+": faster}),
            Key("F", "look at the whole fleet", {"F": self.look_at_all}),
            Key("L", "follow the leader", {"L": lambda: self.set_follow("leader")}),
            Key(
                "S C H T N",
                "slots, communication, height, trails, names",
                {key: switch(layer) for key, layer in zip("SCHTN", canvas.LAYERS)},
            ),
            Key("P", "save a picture", {"P": self._save}),
            Key("Q", "close", {"Q": self.close}),
        ]

    def _on_timer(self) -> None:
        self.advance(min(self._clock.restart() * 1e-3, _MAX_FRAME_S) * self.bar.speed)

    def _save(self) -> None:
        pictures.ask_and_save(self, "formation.png", self.screenshot)


def _heading(text: str) -> QtWidgets.QLabel:
    label = QtWidgets.QLabel(f"<b>{text}</b>")
    label.setContentsMargins(0, 8, 0, 0)
    return label


def _table(rows: dict[str, QtWidgets.QLabel]) -> QtWidgets.QGridLayout:
    """Lays out two columns: names, and labels that may take several lines."""
    grid = QtWidgets.QGridLayout()
    grid.setVerticalSpacing(2)
    grid.setColumnStretch(1, 1)
    for k, (name, label) in enumerate(rows.items()):
        label.setWordWrap(True)
        top = QtCore.Qt.AlignmentFlag.AlignTop
        grid.addWidget(QtWidgets.QLabel(name), k, 0, top)
        grid.addWidget(label, k, 1, top)
    return grid


def _swatch(colour: str, solid: bool = False) -> QtGui.QPixmap:
    """Draws a colour for the legend: a line, or a filled arrowhead."""
    image = QtGui.QPixmap(24, 12)
    image.fill(QtCore.Qt.GlobalColor.transparent)
    painter = QtGui.QPainter(image)
    painter.setRenderHint(QtGui.QPainter.RenderHint.Antialiasing)
    painter.setPen(QtGui.QPen(QtGui.QColor(colour), 0 if solid else 2.5))
    if solid:
        painter.setBrush(QtGui.QColor(colour))
        painter.drawPolygon(
            [QtCore.QPoint(4, 1), QtCore.QPoint(21, 6), QtCore.QPoint(4, 11), QtCore.QPoint(8, 6)]
        )
    else:
        painter.drawLine(1, 6, 23, 6)
    painter.end()
    return image


def watch(scene: Scene, speed: float = 1.0, follow: str = "fleet") -> None:
    """Opens the window, starts, and returns when it is closed.

    Raises:
        FormationError: An invalid speed or camera target.
    """
    application(_BACKGROUND)
    viewer = Viewer(scene, speed, follow)
    viewer.play()
    run(viewer)


def picture(scene: Scene, path: Path | str, follow: str = "fleet") -> None:
    """Writes a picture of the current scene; needs a display, which may be virtual.

    Raises:
        FormationError: The file cannot be written.
    """
    application(_BACKGROUND)
    viewer = Viewer(scene, follow=follow)
    viewer.show()
    viewer.screenshot(path)
    viewer.close()
