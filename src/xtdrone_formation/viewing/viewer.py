"""OpenGL viewer of formations by pyqtgraph: a run folder, or a live flight in the simple simulator.

Vehicles are points, the leader in red; slots are green crosses. Without a display, a picture is
drawn by a virtual X server (Xvfb).
"""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import outputs
from xtdrone_core.parent import tied

from ..errors import FormationError

try:
    import pyqtgraph as pg
    import pyqtgraph.opengl as gl
    from pyqtgraph.Qt import QtCore, QtWidgets
except ImportError as error:
    raise FormationError(f"the viewer needs pyqtgraph, PySide6-Essentials and PyOpenGL ({error}): "
                         "pip install 'xtdrone[view]'") from error

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
FOLLOW = ("fleet", "leader", "nobody")
TICK_MS = 33  # between two frames [ms]
_MAX_FRAME_S = 0.2  # largest wall time between frames, so that a stalled window does not jump [s]
_TRAIL, _TRAIL_OF_MANY, _MANY = 80, 25, 200  # points of a trail, and vehicles that are many
_BACKGROUND = (18, 22, 30)
_LEADER, _FOLLOWER = (1.0, 0.32, 0.28, 1.0), (0.42, 0.72, 1.0, 1.0)
_SLOT, _EDGE = (0.45, 0.95, 0.55, 0.9), (1.0, 0.85, 0.35, 0.35)
_CROSS = 0.35 * np.stack([-np.eye(3), np.eye(3)], axis=1)  # (3, 2, 3) lines of a slot's cross [m]


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
        self._points = _TRAIL if scene.n <= _MANY else _TRAIL_OF_MANY
        self._shown_edges = None
        self.setWindowTitle(f"formation: {scene.name}")
        self.resize(1100, 760)
        self._make_view()
        self._make_controls()
        self.set_speed(speed)
        self.set_follow(follow)
        self._look_at_all()
        self._clock = QtCore.QElapsedTimer()
        self._timer = QtCore.QTimer(self, interval=TICK_MS, timeout=self._on_timer)
        self.refresh()

    # Actions of buttons and scripts -----------------------------------------------------------

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

    def set_speed(self, speed: float) -> None:
        """Simulated seconds per second.

        Raises:
            FormationError: Not a positive number.
        """
        if not 0 < speed < 1e3:
            raise FormationError(f"speed {speed} of the viewer is not allowed: give a positive "
                                 "factor, 1 for real time")
        self.speed = speed
        if speed in SPEEDS:
            self._speed.setCurrentIndex(SPEEDS.index(speed))

    def set_follow(self, whom: str) -> None:
        """Sets the camera target: "fleet", "leader" or "nobody".

        Raises:
            FormationError: Another target.
        """
        if whom not in FOLLOW:
            raise FormationError(f"the camera cannot follow '{whom}': choose one of "
                                 f"{', '.join(FOLLOW)}")
        self._follow.setCurrentText(whom)
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
            raise FormationError(f"cannot write the screenshot '{path}': give a PNG file in a "
                                 "folder that can be written")

    # Drawing ----------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Draws the current scene."""
        scene = self.scene
        pos, slots, edges = scene.pos, scene.slots, scene.edges
        self._vehicles.setData(pos=pos)
        self._slots.setVisible(slots is not None and self._show["slots"].isChecked())
        if self._slots.visible():
            self._slots.setData(pos=(slots[:, None, None] + _CROSS).reshape(-1, 3))
        self._edges.setVisible(len(edges) > 0 and self._show["edges"].isChecked())
        if self._edges.visible():
            self._edges.setData(pos=pos[edges].reshape(-1, 3))
        if self._show["trails"].isChecked():
            trail = scene.trail(self._points)
            pairs = np.stack([trail[:-1], trail[1:]], axis=2)  # (K - 1, N, 2, 3)
            self._trails.setData(pos=pairs.reshape(-1, 3))
        self._trails.setVisible(self._show["trails"].isChecked())
        self._move_camera(pos)
        self._update_label(pos, slots)

    def _make_view(self):
        n = self.scene.n
        self.view = gl.GLViewWidget()
        self.view.setBackgroundColor(_BACKGROUND)
        colours = np.array([_LEADER] + [_FOLLOWER] * (n - 1))
        size = 11.0 if n <= _MANY else 5.0
        ground = gl.GLGridItem(color=(255, 255, 255, 40))
        reach = max(20.0, 2.0 * float(np.abs(self.scene.pos[:, :2]).max()))
        ground.setSize(2 * reach, 2 * reach)
        ground.setSpacing(*[max(1.0, reach / 20)] * 2)
        self._vehicles = gl.GLScatterPlotItem(pos=self.scene.pos, size=np.where(
            np.arange(n) == 0, 1.4 * size, size), color=colours, pxMode=True)
        self._slots, self._edges = (
            gl.GLLinePlotItem(pos=np.zeros((2, 3)), mode="lines", color=colour, width=width)
            for colour, width in ((_SLOT, 2.0), (_EDGE, 1.0)))
        fade = np.linspace(0.0, 0.9, self._points - 1)[:, None, None, None]
        base = np.broadcast_to(colours[None, :, None], (self._points - 1, n, 2, 4)).copy()
        base[..., 3:] = fade
        self._trails = gl.GLLinePlotItem(pos=np.zeros((base.size // 4, 3)), mode="lines",
                                         color=base.reshape(-1, 4), width=1.5)
        for item in (ground, self._trails, self._edges, self._slots, self._vehicles):
            item.setGLOptions("translucent")
            self.view.addItem(item)

    def _make_controls(self):
        self._play = QtWidgets.QPushButton("Play")
        self._play.clicked.connect(lambda: self.pause() if self.playing else self.play())
        self._speed = QtWidgets.QComboBox()
        self._speed.addItems([f"{speed:g} x" for speed in SPEEDS])
        self._speed.activated.connect(lambda index: self.set_speed(SPEEDS[index]))
        self._follow = QtWidgets.QComboBox()
        self._follow.addItems(FOLLOW)
        self._follow.activated.connect(lambda _: self.refresh())
        shot = QtWidgets.QPushButton("Screenshot")
        shot.clicked.connect(self._save)
        self._label = QtWidgets.QLabel()
        row = QtWidgets.QHBoxLayout()
        for widget in (self._play, QtWidgets.QLabel("speed"), self._speed,
                       QtWidgets.QLabel("camera follows"), self._follow):
            row.addWidget(widget)
        self._show = {}
        for name in ("trails", "slots", "edges"):
            self._show[name] = QtWidgets.QCheckBox(name, checked=True)
            self._show[name].toggled.connect(lambda _: self.refresh())
            row.addWidget(self._show[name])
        row.addWidget(shot)
        row.addStretch(1)
        row.addWidget(self._label)
        column = QtWidgets.QVBoxLayout(self)
        column.addWidget(self.view, 1)
        column.addLayout(row)
        self._slider = None
        if not self.scene.live:
            self._slider = QtWidgets.QSlider(QtCore.Qt.Orientation.Horizontal)
            self._slider.setRange(round(self.scene.start_s * 100), round(self.scene.end_s * 100))
            self._slider.sliderMoved.connect(lambda value: self.seek(value / 100))
            column.addWidget(self._slider)

    def _look_at_all(self):
        pos = self.scene.pos
        wide = float(np.linalg.norm(pos.max(axis=0) - pos.min(axis=0)))
        self.view.setCameraPosition(distance=14.0 + 1.6 * wide, elevation=22, azimuth=-60)

    def _move_camera(self, pos):
        whom = self._follow.currentText()
        if whom != "nobody":
            middle = pos[0] if whom == "leader" else pos.mean(axis=0)
            self.view.opts["center"] = pg.Vector(*middle)
        self.view.update()

    def _update_label(self, pos, slots):
        parts = [f"{self.scene.t_s:.2f} s"]
        if slots is not None:
            error = np.linalg.norm(pos[1:] - slots, axis=1)
            parts += [self.scene.formation, f"slot error {error.max():.2f} m at most"]
        self._label.setText("   ".join(parts))
        if self._slider is not None and not self._slider.isSliderDown():
            self._slider.setValue(round(self.scene.t_s * 100))

    def _on_timer(self):
        self.advance(min(self._clock.restart() * 1e-3, _MAX_FRAME_S) * self.speed)

    def _save(self):
        path, _ = QtWidgets.QFileDialog.getSaveFileName(self, "Screenshot", "formation.png",
                                                        "PNG (*.png)")
        if path:
            self.screenshot(path)


def application() -> Any:
    """The Qt application. All windows share their OpenGL contexts."""
    QtCore.QCoreApplication.setAttribute(QtCore.Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    return pg.mkQApp("xtdrone formation view")


def watch(scene: Any, speed: float = 1.0, follow: str = "fleet") -> None:
    """Opens the window, starts, and returns when it is closed.

    Raises:
        FormationError: There is no display.
    """
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise FormationError("there is no display for the viewer: give --png FILE for a picture, "
                             "or set DISPLAY")
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
        raise FormationError("there is no display, and no Xvfb to draw without one: "
                             "apt-get install xvfb")
    read, write = os.pipe()
    subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "1600x1200x24",
                      "-nolisten", "tcp", "-terminate"], pass_fds=[write],
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=tied())
    os.close(write)
    with os.fdopen(read) as answer:
        number = answer.readline().strip()
    if not number:
        raise FormationError("Xvfb does not start: try it by hand with 'Xvfb :99'")
    os.environ["DISPLAY"] = f":{number}"
