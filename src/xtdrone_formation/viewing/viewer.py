"""The window of the formation viewer: a run folder, or a live flight in the simple simulator.

Without a display, a picture is drawn by a virtual X server (Xvfb).
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import outputs, plot_style
from xtdrone_core.runs.parent import tied

from ..errors import FormationError
from . import canvas
from .canvas import FOLLOW, Canvas, pg

from pyqtgraph.Qt import QtCore, QtGui, QtWidgets  # isort: skip  # canvas says what to install

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TICK_MS = 33  # between two frames [ms]
SIZE = (1280, 800)  # of the window, on a screen that is large enough [pixels]
_MAX_FRAME_S = 0.2  # largest wall time between frames, so that a stalled window does not jump [s]
_PANEL = 270  # width of the panel at the right [pixels]
_MOUSE = (("drag", "turn"), ("wheel", "zoom"), ("middle drag", "move"))
_LEGEND = {
    "slots": (canvas.SLOT, "slots of the followers"),
    "links": (canvas.LINK, "communication"),
    "height lines": (canvas.DROP, "height above the grid"),
    "trails": (plot_style.CROWD, "path of the last seconds"),
    "names": ("", "names"),
}


class Viewer(QtWidgets.QWidget):
    """A window on a Replay or LiveFlight."""

    def __init__(self, scene: Any, speed: float = 1.0, follow: str = "fleet"):
        """Builds the window, paused; call show() and play().

        Args:
            scene: A Replay or LiveFlight.
            speed: Simulated seconds per second.
            follow: Target of the camera, one of FOLLOW.

        Raises:
            FormationError: An invalid speed or camera target.
        """
        super().__init__()
        self.scene, self.playing = scene, False
        self.setWindowTitle(f"{scene.name} - xtdrone formation")
        room = self.screen().availableSize()
        self.resize(min(SIZE[0], int(0.95 * room.width())), min(SIZE[1], int(0.9 * room.height())))
        self.view = Canvas(scene)
        self.view.panned.connect(lambda: self.set_follow("nobody"))
        self._slider = None
        columns = QtWidgets.QHBoxLayout()
        columns.addWidget(self.view, 1)
        columns.addWidget(self._make_panel())
        rows = QtWidgets.QVBoxLayout(self)
        rows.addLayout(columns, 1)
        rows.addLayout(self._make_bar())
        self._bind_keys()
        self.set_speed(speed)
        self._clock = QtCore.QElapsedTimer()
        self._timer = QtCore.QTimer(self, interval=TICK_MS, timeout=self._on_timer)
        self.set_follow(follow)

    # Actions of buttons, keys and scripts -----------------------------------------------------

    def play(self) -> None:
        """Starts or continues; a replay at its end starts again."""
        if not self.scene.live and self.scene.done:
            self.scene.seek(self.scene.start_s)
        self.playing = True
        self._play.setText("Pause")
        self._clock.start()
        self._timer.start()

    def pause(self) -> None:
        """Pauses; the camera can still be moved."""
        self.playing = False
        self._play.setText("Play")
        self._timer.stop()

    def toggle(self) -> None:
        """Plays, or pauses."""
        (self.pause if self.playing else self.play)()

    def set_speed(self, speed: float) -> None:
        """Simulated seconds per second.

        Raises:
            FormationError: Not a positive number.
        """
        if not 0 < speed < 1e3:
            raise FormationError(
                f"speed {speed} of the viewer is not allowed: give a positive "
                "factor, 1 for real time"
            )
        self.speed = speed
        if speed in SPEEDS:
            self._speed.setCurrentIndex(SPEEDS.index(speed))

    def change_speed(self, places: int) -> None:
        """Goes to the speed of SPEEDS that is some places above or below."""
        nearest = int(np.argmin([abs(np.log(speed / self.speed)) for speed in SPEEDS]))
        self.set_speed(SPEEDS[min(max(nearest + places, 0), len(SPEEDS) - 1)])

    def set_follow(self, whom: str) -> None:
        """Sets the camera target: "fleet", "leader" or "nobody".

        Raises:
            FormationError: Another target.
        """
        if whom not in FOLLOW:
            raise FormationError(
                f"the camera cannot follow '{whom}': choose one of {', '.join(FOLLOW)}"
            )
        self._follow.setCurrentText(whom)
        self.view.follow = whom
        self.refresh()

    def look_at_all(self) -> None:
        """Turns the camera back to where it was at the start, on the whole fleet."""
        self.view.look()
        self.set_follow("fleet")

    def show_layer(self, layer: str, shown: bool) -> None:
        """Shows or hides one of canvas.LAYERS."""
        self.view.shown[layer] = shown
        self._boxes[layer].setChecked(shown)
        self.refresh()

    def seek(self, t_s: float) -> None:
        """Goes to a time of a replay [s]."""
        self.scene.seek(t_s)
        self.refresh()

    def advance(self, seconds: float) -> None:
        """Advances by simulated time and draws [s]."""
        self.scene.advance(seconds)
        self.refresh()
        if self.scene.done and self.playing:
            self.pause()

    def screenshot(self, path: Path | str) -> None:
        """Writes the window as a PNG file.

        Raises:
            FormationError: The file cannot be written.
        """
        self.refresh()
        QtWidgets.QApplication.processEvents()
        image = self.grab().toImage()
        image.setText("Software", outputs.MARK)
        if not image.save(str(outputs.picture(path, FormationError))):
            raise FormationError(
                f"cannot write the screenshot '{path}': give a PNG file in a "
                "folder that can be written"
            )

    def refresh(self) -> None:
        """Draws the current scene."""
        self.view.draw(glide=self.playing)
        for name, text in self.facts().items():
            self._facts[name].setText(text)
        if self._slider is not None and not self._slider.isSliderDown():
            self._slider.setValue(round(self.scene.t_s * 100))

    def facts(self) -> dict[str, str]:
        """What the panel says about the moment, by name."""
        scene, grid = self.scene, self.view.scale
        pos, slots = scene.pos, scene.slots
        heights = pos[:, 2] - scene.ground
        end = "" if scene.live else f" of {scene.end_s:.1f}"
        found = {
            "time": f"{scene.t_s:.1f}{end} s, {self.speed:g} x",
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
            found["slot error"] = f"{np.sqrt(np.mean(error**2)):.2f} m RMS"
            found["largest"] = f"{error[worst]:.2f} m, {scene.names[1 + worst]}"
        return found

    # Parts of the window ----------------------------------------------------------------------

    def _make_panel(self):
        panel = QtWidgets.QWidget()
        panel.setFixedWidth(_PANEL)
        column = QtWidgets.QVBoxLayout(panel)
        column.setContentsMargins(8, 4, 4, 4)
        title = QtWidgets.QLabel(f"<b>{self.scene.name}</b>")
        title.setWordWrap(True)
        column.addWidget(title)
        self._facts = {
            name: QtWidgets.QLabel()
            for name in (
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
        }
        column.addLayout(_table(self._facts.items()))
        column.addWidget(_heading("Shown"))
        legend = QtWidgets.QVBoxLayout()
        n = self.scene.n
        for colour, text in (
            (plot_style.vehicle_color(0, n), "leader; the nose is dark"),
            (
                plot_style.vehicle_color(1, n),
                "followers, a colour each" if n <= plot_style.MAX_COLOURED else "followers",
            ),
        ):
            row = QtWidgets.QHBoxLayout()
            swatch = QtWidgets.QLabel()
            swatch.setPixmap(_swatch(colour, solid=True))
            row.addSpacing(20)
            row.addWidget(swatch)
            row.addWidget(QtWidgets.QLabel(text), 1)
            legend.addLayout(row)
        self._boxes = {}
        for layer, (colour, text) in _LEGEND.items():
            box = self._boxes[layer] = QtWidgets.QCheckBox(text, checked=True)
            if colour:
                box.setIcon(QtGui.QIcon(_swatch(colour)))
            box.setIconSize(QtCore.QSize(24, 12))
            box.toggled.connect(lambda shown, layer=layer: self.show_layer(layer, shown))
            legend.addWidget(box)
        column.addLayout(legend)
        column.addWidget(_heading("Mouse"))
        column.addLayout(_table((key, QtWidgets.QLabel(text)) for key, text in _MOUSE))
        column.addWidget(_heading("Keys"))
        column.addLayout(_table((key, QtWidgets.QLabel(text)) for key, text, *_ in self._keys()))
        column.addStretch(1)
        return panel

    def _make_bar(self):
        self._play = QtWidgets.QPushButton("Play")
        self._play.clicked.connect(self.toggle)
        self._speed = QtWidgets.QComboBox()
        self._speed.addItems([f"{speed:g} x" for speed in SPEEDS])
        self._speed.activated.connect(lambda index: self.set_speed(SPEEDS[index]))
        self._follow = QtWidgets.QComboBox()
        self._follow.addItems(FOLLOW)
        self._follow.activated.connect(lambda index: self.set_follow(FOLLOW[index]))
        shot = QtWidgets.QPushButton("Save picture")
        shot.clicked.connect(self._save)
        bar = QtWidgets.QHBoxLayout()
        for widget in (
            self._play,
            QtWidgets.QLabel("speed"),
            self._speed,
            QtWidgets.QLabel("camera follows"),
            self._follow,
            shot,
        ):
            bar.addWidget(widget)
        if self.scene.live:
            bar.addStretch(1)
        else:
            self._slider = QtWidgets.QSlider(QtCore.Qt.Orientation.Horizontal)
            self._slider.setRange(round(self.scene.start_s * 100), round(self.scene.end_s * 100))
            self._slider.sliderMoved.connect(lambda value: self.seek(value / 100))
            bar.addWidget(self._slider, 1)
        return bar

    def _keys(self) -> list[tuple[str, str, dict[str, Callable]]]:
        """Rows of the list of keys: how they are written, what they do, and their actions."""

        def step(seconds):
            return lambda: self.seek(self.scene.t_s + seconds)

        def switch(layer):
            return lambda: self.show_layer(layer, not self.view.shown[layer])

        seeking = [
            ("\u2190 \u2192", "1 s back, on", {"Left": step(-1.0), "Right": step(1.0)}),
            (
                "shift \u2190 \u2192",
                "10 s back, on",
                {"Shift+Left": step(-10.0), "Shift+Right": step(10.0)},
            ),
        ]
        return [
            ("space", "play, pause", {"Space": self.toggle}),
            *([] if self.scene.live else seeking),
            (
                "- +",
                "slower, faster",
                {"-": lambda: self.change_speed(-1), "+": lambda: self.change_speed(1)},
            ),
            ("F", "look at the whole fleet", {"F": self.look_at_all}),
            ("L", "follow the leader", {"L": lambda: self.set_follow("leader")}),
            (
                "S C H T N",
                "slots, communication, height, trails, names",
                {key: switch(layer) for key, layer in zip("SCHTN", canvas.LAYERS)},
            ),
            ("P", "save a picture", {"P": self._save}),
            ("Q", "close", {"Q": self.close}),
        ]

    def _bind_keys(self):
        for _, _, actions in self._keys():
            for key, action in actions.items():
                QtGui.QShortcut(QtGui.QKeySequence(key), self, activated=action)

    def _on_timer(self):
        self.advance(min(self._clock.restart() * 1e-3, _MAX_FRAME_S) * self.speed)

    def _save(self):
        path, _ = QtWidgets.QFileDialog.getSaveFileName(
            self, "Save picture", "formation.png", "PNG (*.png)"
        )
        if path:
            self.screenshot(path)


def _heading(text):
    label = QtWidgets.QLabel(f"<b>{text}</b>")
    label.setContentsMargins(0, 8, 0, 0)
    return label


def _table(rows):
    """Two columns: names, and labels that may take several lines."""
    grid = QtWidgets.QGridLayout()
    grid.setVerticalSpacing(2)
    grid.setColumnStretch(1, 1)
    for k, (name, label) in enumerate(rows):
        label.setWordWrap(True)
        top = QtCore.Qt.AlignmentFlag.AlignTop
        grid.addWidget(QtWidgets.QLabel(name), k, 0, top)
        grid.addWidget(label, k, 1, top)
    return grid


def _swatch(colour, solid=False):
    """A picture of a colour for the legend: a line, or a filled arrowhead."""
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


def application() -> Any:
    """The Qt application: light, whatever the desktop's theme; windows share their contexts."""
    QtCore.QCoreApplication.setAttribute(QtCore.Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    app = pg.mkQApp("xtdrone formation view")
    app.setStyle("Fusion")
    app.setPalette(QtGui.QPalette(QtGui.QColor("#e9ebee")))
    return app


def watch(scene: Any, speed: float = 1.0, follow: str = "fleet") -> None:
    """Opens the window, starts, and returns when it is closed.

    Raises:
        FormationError: There is no display.
    """
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise FormationError(
            "there is no display for the viewer: give --png FILE for a picture, or set DISPLAY"
        )
    application()
    viewer = Viewer(scene, speed, follow)
    viewer.show()
    viewer.play()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Qt's loop would not see Ctrl-C
    pg.exec()


def picture(scene: Any, path: Path | str, follow: str = "fleet") -> None:
    """Writes a picture of the current scene, with or without a display.

    Raises:
        FormationError: There is neither a display nor Xvfb, or the file cannot be written.
    """
    ensure_display()
    application()
    viewer = Viewer(scene, follow=follow)
    viewer.show()
    viewer.screenshot(path)
    viewer.close()


def ensure_display() -> None:
    """Starts a virtual X server if there is no display.

    The server ends by itself after this process, since Qt would not survive its end.

    Raises:
        FormationError: Xvfb is not installed, or does not start.
    """
    if os.environ.get("DISPLAY"):
        return
    if shutil.which("Xvfb") is None:
        raise FormationError(
            "there is no display, and no Xvfb to draw without one: apt-get install xvfb"
        )
    read, write = os.pipe()
    subprocess.Popen(
        [
            "Xvfb",
            "-displayfd",
            str(write),
            "-screen",
            "0",
            "1600x1200x24",
            "-nolisten",
            "tcp",
            "-terminate",
        ],
        pass_fds=[write],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=tied(),
    )
    os.close(write)
    with os.fdopen(read) as answer:
        number = answer.readline().strip()
    if not number:
        raise FormationError("Xvfb does not start: try it by hand with 'Xvfb :99'")
    os.environ["DISPLAY"] = f":{number}"
