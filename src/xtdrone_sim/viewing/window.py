"""The window of a flight: a replay with its controls, or a running simulation."""

import signal
import time
from collections import deque
from typing import Any

import numpy as np

from xtdrone_core import libraries

from ..errors import ViewError
from .cameras import CAMERAS, Camera
from .stage import Stage

libraries.require_qt(ViewError)
try:
    from PySide6 import QtCore, QtGui, QtWidgets
except ImportError as error:
    raise ViewError(
        f"the window needs the Python package PySide6-Essentials ({error}): run "
        "scripts/setup.sh, or give --mp4 FILE for a film"
    ) from error

Key = QtCore.Qt.Key
SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
TICK_MS = 30  # between two images [ms]
STEP_S = 0.1  # of a step [s]
_LARGEST = (1920, 1200)  # image; larger windows enlarge it [pixels]
_SMOOTH = 4  # samples per pixel with a graphics card
_SOFTWARE = ("llvmpipe", "softpipe", "swrast")  # renderers that are none
# Part of the window's width and height that is drawn, from fine to quick.
_QUALITIES = (1.0, 0.7, 0.5)
_SLOW_S, _QUICK_S = 0.15, 0.03  # time of an image above and below which the quality changes [s]
_JUDGED = 9  # images whose median is judged
_LONGEST_S = 0.3  # simulated at most between two images, so that a stalled window does not jump
_TURN = 0.006  # of the camera, per pixel [rad]
_WHEEL = 1.15  # factor of the distance, per notch
_HELP = """<table cellspacing="5">
<tr><td><b>drag, wheel</b></td><td>turn the camera, distance</td></tr>
<tr><td><b>C</b></td><td>next camera: {cameras}</td></tr>
<tr><td><b>V, Shift+V</b></td><td>next vehicle, the one before, for 'follow'</td></tr>
<tr><td><b>R</b></td><td>camera back to where it was</td></tr>
<tr><td><b>N, T, S</b></td><td>names, trails, shadows</td></tr>{replay}
<tr><td><b>P</b></td><td>save a picture</td></tr>
<tr><td><b>F</b></td><td>full screen</td></tr>
<tr><td><b>H, Q</b></td><td>these keys, close</td></tr></table>"""
_HELP_REPLAY = """
<tr><td><b>space</b></td><td>play, pause</td></tr>
<tr><td><b>← →</b></td><td>a step of {step:g} s; with Shift 5 s</td></tr>
<tr><td><b>↑ ↓</b></td><td>faster, slower</td></tr>
<tr><td><b>Home, End</b></td><td>start and end of the run</td></tr>"""


class Window(QtWidgets.QWidget):
    """Shows a Replay or a LiveFlight."""

    def __init__(
        self,
        flight: Any,
        camera: Camera,
        size: tuple[int, int],
        speed: float = 1.0,
        begin_s: float = 0.0,
        end_s: float = 0.0,
    ):
        """Compiles the scene; call show() and play().

        Args:
            flight: A Replay or a LiveFlight.
            camera: The Camera.
            size: Of the window [pixels].
            speed: Simulated seconds per second, of a replay.
            begin_s, end_s: Simulated time to show, of a replay [s].

        Raises:
            EngineError: Nothing here can render.
        """
        super().__init__()
        self.flight, self.speed, self.playing = flight, speed, False
        self.begin_s, self.end_s, self.t_s = begin_s, end_s, begin_s
        self.shadows = True
        self._quality = 0
        self._times: deque[float] = deque(maxlen=_JUDGED)
        self.stage = Stage(flight, camera, _LARGEST, samples=0)
        if not any(word in self.stage.scene.renderer for word in _SOFTWARE):
            self.stage.scene.smooth(_SMOOTH)
        self.setWindowTitle(f"xtdrone: {flight.name}")
        self.resize(*size)
        self._canvas = _Canvas(self)
        self._help = QtWidgets.QLabel(
            _HELP.format(
                cameras=", ".join(self._cameras()),
                replay="" if flight.live else _HELP_REPLAY.format(step=STEP_S),
            ),
            self._canvas,
        )
        self._help.setStyleSheet(
            "background: rgba(20, 24, 30, 215); color: white; padding: 8px; border-radius: 6px"
        )
        self._help.move(12, 44)
        self._help.hide()
        column = QtWidgets.QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._canvas, 1)
        self._make_controls(column)
        self._clock = time.monotonic()
        self._timer = QtCore.QTimer(self, interval=TICK_MS, timeout=self._on_timer)
        self._timer.start()

    # Actions of keys, buttons and scripts -----------------------------------------------------

    def play(self) -> None:
        """Starts or continues a replay; at its end it starts again."""
        if not self.playing and self.t_s >= self.end_s:
            self.seek(self.begin_s)
        self.playing = True
        self._show_playing()

    def pause(self) -> None:
        """Pauses a replay."""
        self.playing = False
        self._show_playing()

    def seek(self, t_s: float) -> None:
        """Goes to a time of a replay [s]."""
        self.t_s = min(max(t_s, self.begin_s), self.end_s)
        self.stage.camera.cut()
        self.refresh(0.0)

    def step(self, seconds: float) -> None:
        """Pauses, and moves by simulated time [s]."""
        self.pause()
        self.t_s = min(max(self.t_s + seconds, self.begin_s), self.end_s)
        self.refresh(abs(seconds))

    def set_speed(self, speed: float) -> None:
        """Simulated seconds per second."""
        self.speed = speed
        self._speed.setCurrentText(f"{speed:g} x")

    def set_camera(self, kind: str, vehicle: int | None = None) -> None:
        """Chooses a camera, and the vehicle that it follows."""
        self.stage.camera.choose(kind, vehicle)
        self._camera.setCurrentText(kind)
        self._vehicle.setCurrentIndex(self.stage.camera.vehicle)
        self._vehicle.setEnabled(kind == "follow")

    def screenshot(self, path: str) -> None:
        """Writes the image as it is now, in the quality of films.

        Raises:
            ViewError: The file cannot be written.
        """
        from . import film

        film.write(film.free_for(path), [self._image(0.0, 1.0)], 1.0)

    def refresh(self, dt: float) -> None:
        """Draws; dt is the time since the last image [s]."""
        begin = time.perf_counter()
        quality = self._quality if self.playing or self.flight.live else 0
        self.stage.scene.shadows = self.shadows
        self._canvas.set(self._image(dt, _QUALITIES[quality]))
        self._adapt(time.perf_counter() - begin)
        if not self.flight.live:
            self._slider.blockSignals(True)
            self._slider.setValue(round(self.t_s * 100))
            self._slider.blockSignals(False)
            self._label.setText(f"{self.t_s:.1f} of {self.end_s:.1f} s")

    def keyPressEvent(self, event: Any) -> None:
        """See _HELP."""
        action = self._keys().get(event.key())
        if action is None:
            super().keyPressEvent(event)
        else:
            action(bool(event.modifiers() & QtCore.Qt.KeyboardModifier.ShiftModifier))
            self.refresh(0.0)

    def closeEvent(self, event: Any) -> None:
        """Ends the drawing."""
        self._timer.stop()
        self.stage.close()
        super().closeEvent(event)

    # Inside -----------------------------------------------------------------------------------

    def _cameras(self):
        return [kind for kind in CAMERAS if kind != "still" or not self.flight.live]

    def _keys(self):
        camera, stage = self.stage.camera, self.stage
        cameras, count = self._cameras(), len(self.flight.names)
        keys = {
            Key.Key_C: lambda back: self.set_camera(
                cameras[(cameras.index(camera.kind) + (-1 if back else 1)) % len(cameras)]
            ),
            Key.Key_V: lambda back: self.set_camera(
                "follow", (camera.vehicle + (-1 if back else 1)) % count
            ),
            Key.Key_R: lambda _: self.set_camera(camera.kind),
            Key.Key_N: lambda _: setattr(stage, "names", not stage.names),
            Key.Key_T: lambda _: setattr(stage, "trails", not stage.trails),
            Key.Key_S: lambda _: setattr(self, "shadows", not self.shadows),
            Key.Key_H: lambda _: self._help.setVisible(not self._help.isVisible()),
            Key.Key_P: lambda _: self._save(),
            Key.Key_F: lambda _: self.setWindowState(
                self.windowState() ^ QtCore.Qt.WindowState.WindowFullScreen
            ),
            Key.Key_Q: lambda _: QtCore.QTimer.singleShot(0, self.close),
        }
        if not self.flight.live:
            keys |= {
                Key.Key_Space: lambda _: self.pause() if self.playing else self.play(),
                Key.Key_Left: lambda far: self.step(-5.0 if far else -STEP_S),
                Key.Key_Right: lambda far: self.step(5.0 if far else STEP_S),
                Key.Key_Up: lambda _: self.set_speed(_next(self.speed, 1)),
                Key.Key_Down: lambda _: self.set_speed(_next(self.speed, -1)),
                Key.Key_Home: lambda _: self.seek(self.begin_s),
                Key.Key_End: lambda _: self.seek(self.end_s),
            }
        return keys

    def _make_controls(self, column):
        row = QtWidgets.QHBoxLayout()
        row.setContentsMargins(8, 2, 8, 6)
        if not self.flight.live:
            self._play = self._button("Play", lambda: self.pause() if self.playing else self.play())
            self._label = QtWidgets.QLabel()
            self._slider = QtWidgets.QSlider(QtCore.Qt.Orientation.Horizontal)
            self._slider.setRange(round(self.begin_s * 100), round(self.end_s * 100))
            self._slider.valueChanged.connect(lambda value: self.seek(value / 100))
            row.addWidget(self._play)
            row.addWidget(self._button("-", lambda: self.step(-STEP_S), "a step back"))
            row.addWidget(self._button("+", lambda: self.step(STEP_S), "a step forward"))
            row.addWidget(self._slider, 1)
            row.addWidget(self._label)
            self._speed = self._box(
                [f"{speed:g} x" for speed in _with(self.speed)],
                lambda text: self.set_speed(float(text[:-2])),
                "speed",
            )
            self._speed.setCurrentText(f"{self.speed:g} x")
            row.addWidget(self._speed)
        row.addWidget(QtWidgets.QLabel("camera"))
        self._camera = self._box(self._cameras(), self.set_camera, "C")
        self._vehicle = self._box(
            self.flight.names,
            lambda name: self.set_camera("follow", self.flight.names.index(name)),
            "V",
        )
        row.addWidget(self._camera)
        row.addWidget(self._vehicle)
        if self.flight.live:
            row.addStretch(1)
        row.addWidget(
            self._button("Keys", lambda: self._help.setVisible(not self._help.isVisible()), "H")
        )
        column.addLayout(row)
        self._camera.setCurrentText(self.stage.camera.kind)
        self._vehicle.setCurrentIndex(self.stage.camera.vehicle)
        self._vehicle.setEnabled(self.stage.camera.kind == "follow")

    def _button(self, text, action, tip=""):
        button = QtWidgets.QPushButton(text, toolTip=tip)
        button.setFocusPolicy(QtCore.Qt.FocusPolicy.NoFocus)  # keys are the window's
        button.clicked.connect(lambda _: action())
        if len(text) == 1:
            button.setFixedWidth(32)
        return button

    def _box(self, names, action, tip):
        box = QtWidgets.QComboBox(toolTip=tip)
        box.setFocusPolicy(QtCore.Qt.FocusPolicy.NoFocus)
        box.addItems(names)
        box.textActivated.connect(action)
        return box

    def _show_playing(self):
        self._play.setText("Pause" if self.playing else "Play")

    def _on_timer(self):
        now = time.monotonic()
        dt, self._clock = min(now - self._clock, _LONGEST_S), now
        if self.flight.live:
            self.flight.update()
            self.t_s = self.flight.t_s
        elif self.playing:
            self.t_s = min(self.t_s + dt * self.speed, self.end_s)
            if self.t_s >= self.end_s:
                self.pause()
        elif self.stage.camera.kind != "orbit":
            return
        self.refresh(dt)

    def _image(self, dt, part):
        ratio = self._canvas.devicePixelRatioF()
        wanted = np.array([self._canvas.width(), self._canvas.height()]) * ratio * part
        wanted *= min(1.0, *(np.array(_LARGEST) / np.maximum(wanted, 1.0)))
        size = tuple(int(max(side, 32.0)) for side in wanted)
        text = self.flight.factor() if self.flight.live else f"{self.speed:g} x"
        return self.stage.image(self.t_s, dt, size, text)

    def _adapt(self, seconds):
        """Draws less finely while images take too long, more finely where there is time."""
        self._times.append(seconds)
        if len(self._times) < _JUDGED:
            return
        median = float(np.median(self._times))
        better = self._quality + (median > _SLOW_S) - (median < _QUICK_S)
        better = min(max(better, 0), len(_QUALITIES) - 1)
        if better != self._quality:
            self._quality = better
            self._times.clear()

    def _save(self):
        path, _ = QtWidgets.QFileDialog.getSaveFileName(
            self, "Picture", f"{self.flight.name}.png", "PNG (*.png)"
        )
        if path:
            try:
                self.screenshot(path)
            except ViewError as error:
                QtWidgets.QMessageBox.warning(self, "xtdrone", str(error))


class _Canvas(QtWidgets.QWidget):
    """The image; the mouse moves the camera."""

    def __init__(self, window):
        super().__init__(window)
        self._window, self._image, self._held = window, None, None
        self.setMinimumSize(320, 200)

    def set(self, image):
        height, width = image.shape[:2]
        self._image = QtGui.QImage(
            image.tobytes(), width, height, 3 * width, QtGui.QImage.Format.Format_RGB888
        )
        self.update()

    def paintEvent(self, event):
        if self._image is not None:
            painter = QtGui.QPainter(self)
            painter.setRenderHint(QtGui.QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(self.rect(), self._image)
            painter.end()

    def resizeEvent(self, event):
        self._window.refresh(0.0)

    def mousePressEvent(self, event):
        self._held = event.position()

    def mouseReleaseEvent(self, event):
        self._held = None

    def mouseMoveEvent(self, event):
        if self._held is not None:
            moved, self._held = event.position() - self._held, event.position()
            camera = self._window.stage.camera
            camera.turned -= _TURN * moved.x()
            camera.raised = min(max(camera.raised + _TURN * moved.y(), -1.5), 1.5)
            camera.cut()
            self._window.refresh(0.0)

    def wheelEvent(self, event):
        camera = self._window.stage.camera
        camera.zoom = min(max(camera.zoom * _WHEEL ** (-event.angleDelta().y() / 120), 0.1), 10.0)
        camera.cut()
        self._window.refresh(0.0)


def watch(
    flight: Any,
    camera: Camera,
    size: tuple[int, int],
    speed: float,
    begin_s: float,
    end_s: float,
    names: bool = True,
    trails: bool = True,
) -> int:
    """Opens the window of a replay and plays; arguments as of Window.

    Returns:
        When it is closed, an exit status: 1 if its display was lost.

    Raises:
        EngineError: Nothing here can render.
    """
    application = QtWidgets.QApplication.instance() or QtWidgets.QApplication(["xtdrone"])
    window = Window(flight, camera, size, speed, begin_s, end_s)
    window.stage.names, window.stage.trails = names, trails
    window.show()
    window.play()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Qt's loop would not see Ctrl-C
    return application.exec()


def _with(speed):
    return sorted({*SPEEDS, speed})


def _next(speed, by):
    faster = [each for each in SPEEDS if (each - speed) * by > 1e-9]
    return (min if by > 0 else max)(faster, default=speed)
