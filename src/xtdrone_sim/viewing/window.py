"""The window of a flight: a replay with its controls, or a running simulation."""

import time
from collections import deque

import numpy as np
from PySide6 import QtCore, QtGui, QtWidgets

from xtdrone_core.windows import keys, pictures
from xtdrone_core.windows.application import application, repeat, run
from xtdrone_core.windows.keys import Key
from xtdrone_core.windows.time_bar import TimeBar, box, button

from .camera_kinds import CAMERAS
from .cameras import Camera
from .flights import Replay
from .live_flight import LiveFlight
from .stage import Stage

Flight = Replay | LiveFlight
SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
TICK_MS = 30  # between two images [ms]
STEP_S = 0.1  # one press of an arrow key [s]
LONG_STEP_S = 5.0  # step with Shift [s]
_MAX_SIZE = (1920, 1200)  # largest image; larger windows enlarge it [pixels]
_SAMPLES = 4  # per pixel, with a graphics card
_SOFTWARE = ("llvmpipe", "softpipe", "swrast")  # renderers without a graphics card
_QUALITIES = (1.0, 0.7, 0.5)  # fraction of the width and height that is drawn, from fine to quick
_SLOW_S, _QUICK_S = 0.15, 0.03  # time of an image above and below which the quality changes [s]
JUDGED = 9  # number of images whose median time is judged
_MAX_STEP_S = 0.3  # simulated at most between two images, so that a stalled window does not jump
_TURN = 0.006  # camera turn per pixel [rad]
_WHEEL = 1.15  # factor of the distance, per notch


class Window(QtWidgets.QWidget):
    """Shows a replay or a running simulation.

    Attributes:
        flight: What is shown.
        stage: What draws it.
        bar: Play button, slider and speed of a replay; without a slider for a running simulation.
        t_s: Simulated time that is shown [s].
        shadows: Whether they are drawn.
        quality: Index of the fraction of the image that is drawn, 0 for all of it.
        camera_box, vehicle_box: Choice of the camera, and of the vehicle that it follows.
        help: The keys.
    """

    def __init__(
        self,
        flight: Flight,
        camera: Camera,
        size: tuple[int, int],
        speed: float = 1.0,
        begin_s: float = 0.0,
        end_s: float = 0.0,
    ) -> None:
        """Compiles the scene; call show() and play().

        Args:
            flight: The flight.
            camera: The camera.
            size: Size of the window [pixels].
            speed: Simulated seconds per second, of a replay.
            begin_s, end_s: Simulated time to show, of a replay [s].

        Raises:
            EngineError: Nothing here can render.
        """
        super().__init__()
        self.flight = flight
        self.live = isinstance(flight, LiveFlight)
        self.begin_s, self.end_s, self.t_s = begin_s, end_s, begin_s
        self.shadows = True
        self.quality = 0
        self._times: deque[float] = deque(maxlen=JUDGED)
        self.stage = Stage(flight, camera, _MAX_SIZE, samples=0)
        if not any(word in self.stage.scene.renderer for word in _SOFTWARE):
            self.stage.scene.set_samples(_SAMPLES)
        self.setWindowTitle(f"xtdrone: {flight.name}")
        self.resize(*size)
        self.canvas = _Canvas(self)
        span = None if self.live else (begin_s, end_s)
        self.bar = TimeBar(self.play, self.pause, SPEEDS, span, self.seek)
        self.bar.set_speed(speed)
        self.cameras = [kind for kind in CAMERAS if kind != "still" or not self.live]
        rows = self._keys()
        self.help = QtWidgets.QLabel(keys.as_table(rows), self.canvas)
        self.help.setStyleSheet(
            "background: rgba(20, 24, 30, 215); color: white; padding: 8px; border-radius: 6px"
        )
        self.help.move(12, 44)
        self.help.hide()
        column = QtWidgets.QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.canvas, 1)
        column.addLayout(self._make_controls())
        keys.bind(self, rows)
        self._clock = time.monotonic()
        self._timer = repeat(self._on_timer, TICK_MS)

    # Actions of keys, buttons and scripts -----------------------------------------------------

    def play(self) -> None:
        """Starts or continues a replay; at its end it starts again."""
        if not self.bar.playing and self.t_s >= self.end_s:
            self.seek(self.begin_s)
        self.bar.show_playing(True)

    def pause(self) -> None:
        """Pauses a replay."""
        self.bar.show_playing(False)

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

    def advance(self, seconds: float) -> None:
        """Goes on by wall time [s] and draws."""
        if isinstance(self.flight, LiveFlight):
            self.flight.update()
            self.t_s = self.flight.t_s
        elif self.bar.playing:
            self.t_s = min(self.t_s + seconds * self.bar.speed, self.end_s)
            if self.t_s >= self.end_s:
                self.pause()
        elif self.stage.camera.kind != "orbit":
            return
        self.refresh(seconds)

    def hold(self) -> None:
        """Stops the timer: time goes on by advance() alone."""
        self._timer.stop()

    def set_camera(self, kind: str, vehicle: int | None = None) -> None:
        """Chooses a camera, and the vehicle that it follows."""
        self.stage.camera.choose(kind, vehicle)
        self._show_camera()
        self.refresh(0.0)

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
        quality = self.quality if self.bar.playing or self.live else 0
        self.stage.scene.shadows = self.shadows
        self.canvas.set_image(self._image(dt, _QUALITIES[quality]))
        self.adapt(time.perf_counter() - begin)
        self.bar.show_time(self.t_s)
        self._label.setText(f"{self.t_s:.1f} of {self.end_s:.1f} s")

    def adapt(self, seconds: float) -> None:
        """Draws less finely while images take too long, more finely where there is time.

        Args:
            seconds: Time that the last image took [s].
        """
        self._times.append(seconds)
        if len(self._times) < JUDGED:
            return
        median = float(np.median(self._times))
        better = self.quality + (median > _SLOW_S) - (median < _QUICK_S)
        better = min(max(better, 0), len(_QUALITIES) - 1)
        if better != self.quality:
            self.quality = better
            self._times.clear()

    def closeEvent(self, event: QtGui.QCloseEvent) -> None:
        """Ends the drawing."""
        self._timer.stop()
        self.stage.close()
        super().closeEvent(event)

    # Inside -----------------------------------------------------------------------------------

    def _keys(self) -> list[Key]:
        camera, stage, count = self.stage.camera, self.stage, len(self.flight.names)

        def turn_camera(step: int) -> keys.Action:
            return lambda: self.set_camera(
                self.cameras[(self.cameras.index(camera.kind) + step) % len(self.cameras)]
            )

        def turn_vehicle(step: int) -> keys.Action:
            return lambda: self.set_camera("follow", (camera.vehicle + step) % count)

        def switch(owner: object, name: str) -> keys.Action:
            def action() -> None:
                setattr(owner, name, not getattr(owner, name))
                self.refresh(0.0)

            return action

        return [
            Key("drag, wheel", "turn the camera, distance"),
            Key(
                "C",
                f"next camera: {', '.join(self.cameras)}",
                {"C": turn_camera(1), "Shift+C": turn_camera(-1)},
            ),
            Key(
                "V, Shift+V",
                "next vehicle, the one before, for 'follow'",
                {"V": turn_vehicle(1), "Shift+V": turn_vehicle(-1)},
            ),
            Key("R", "camera back to where it was", {"R": lambda: self.set_camera(camera.kind)}),
            Key(
                "N, T, S",
                "names, trails, shadows",
                {
                    "N": switch(stage, "names"),
                    "T": switch(stage, "trails"),
                    "S": switch(self, "shadows"),
                },
            ),
            *([] if self.live else self._replay_keys()),
            Key("P", "save a picture", {"P": self._save}),
            Key("F", "full screen", {"F": self._toggle_full_screen}),
            Key("H, Q", "these keys, close", {"H": self._toggle_help, "Q": self._close_soon}),
        ]

    def _replay_keys(self) -> list[Key]:
        def step(seconds: float) -> keys.Action:
            return lambda: self.step(seconds)

        return [
            Key("space", "play, pause", {"Space": self.bar.toggle}),
            Key(
                "← →",
                f"a step of {STEP_S:g} s; with Shift {LONG_STEP_S:g} s",
                {
                    "Left": step(-STEP_S),
                    "Right": step(STEP_S),
                    "Shift+Left": step(-LONG_STEP_S),
                    "Shift+Right": step(LONG_STEP_S),
                },
            ),
            Key(
                "↑ ↓",
                "faster, slower",
                {"Up": lambda: self.bar.change_speed(1), "Down": lambda: self.bar.change_speed(-1)},
            ),
            Key(
                "Home, End",
                "start and end of the run",
                {"Home": lambda: self.seek(self.begin_s), "End": lambda: self.seek(self.end_s)},
            ),
        ]

    def _make_controls(self) -> QtWidgets.QHBoxLayout:
        row = QtWidgets.QHBoxLayout()
        row.setContentsMargins(8, 2, 8, 6)
        self._label = QtWidgets.QLabel()
        if self.bar.slider is not None:
            row.addWidget(self.bar.button)
            row.addWidget(button("-", lambda: self.step(-STEP_S), "a step back"))
            row.addWidget(button("+", lambda: self.step(STEP_S), "a step forward"))
            row.addWidget(self.bar.slider, 1)
            row.addWidget(self._label)
            row.addWidget(self.bar.box)
        row.addWidget(QtWidgets.QLabel("camera"))
        names = self.flight.names
        self.camera_box = box(self.cameras, self.set_camera, "C")
        self.vehicle_box = box(
            names, lambda name: self.set_camera("follow", names.index(name)), "V"
        )
        row.addWidget(self.camera_box)
        row.addWidget(self.vehicle_box)
        if self.live:
            row.addStretch(1)
        row.addWidget(button("Keys", self._toggle_help, "H"))
        self._show_camera()
        return row

    def _show_camera(self) -> None:
        camera = self.stage.camera
        self.camera_box.setCurrentText(camera.kind)
        self.vehicle_box.setCurrentIndex(camera.vehicle)
        self.vehicle_box.setEnabled(camera.kind == "follow")

    def _toggle_help(self) -> None:
        self.help.setVisible(not self.help.isVisible())

    def _toggle_full_screen(self) -> None:
        self.setWindowState(self.windowState() ^ QtCore.Qt.WindowState.WindowFullScreen)

    def _close_soon(self) -> None:
        QtCore.QTimer.singleShot(0, self.close)

    def _on_timer(self) -> None:
        now = time.monotonic()
        dt, self._clock = min(now - self._clock, _MAX_STEP_S), now
        self.advance(dt)

    def _image(self, dt: float, fraction: float) -> np.ndarray:
        ratio = self.canvas.devicePixelRatioF()
        wanted = np.array([self.canvas.width(), self.canvas.height()]) * ratio * fraction
        wanted *= min(1.0, *(np.array(_MAX_SIZE) / np.maximum(wanted, 1.0)))
        width, height = (int(max(side, 32.0)) for side in wanted)
        if isinstance(self.flight, LiveFlight):
            text = self.flight.factor()
        else:
            text = f"{self.bar.speed:g} x"
        return self.stage.image(self.t_s, dt, (width, height), text)

    def _save(self) -> None:
        pictures.ask_and_save(self, f"{self.flight.name}.png", self.screenshot)


class _Canvas(QtWidgets.QWidget):
    """The image; the mouse moves the camera."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._window = window
        self._held: QtCore.QPointF | None = None  # where the mouse was pressed
        self.image: QtGui.QImage | None = None
        self.setMinimumSize(320, 200)

    def set_image(self, image: np.ndarray) -> None:
        """Shows an image (h, w, 3) uint8."""
        height, width = image.shape[:2]
        self.image = QtGui.QImage(
            image.tobytes(), width, height, 3 * width, QtGui.QImage.Format.Format_RGB888
        )
        self.update()

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        if self.image is not None:
            painter = QtGui.QPainter(self)
            painter.setRenderHint(QtGui.QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(self.rect(), self.image)
            painter.end()

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        self._window.refresh(0.0)

    def mousePressEvent(self, event: QtGui.QMouseEvent) -> None:
        self._held = event.position()

    def mouseReleaseEvent(self, event: QtGui.QMouseEvent) -> None:
        self._held = None

    def mouseMoveEvent(self, event: QtGui.QMouseEvent) -> None:
        if self._held is not None:
            moved, self._held = event.position() - self._held, event.position()
            camera = self._window.stage.camera
            camera.turned -= _TURN * moved.x()
            camera.raised = min(max(camera.raised + _TURN * moved.y(), -1.5), 1.5)
            camera.cut()
            self._window.refresh(0.0)

    def wheelEvent(self, event: QtGui.QWheelEvent) -> None:
        camera = self._window.stage.camera
        camera.zoom = min(max(camera.zoom * _WHEEL ** (-event.angleDelta().y() / 120), 0.1), 10.0)
        camera.cut()
        self._window.refresh(0.0)


def watch(
    flight: Replay,
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
    application()
    window = Window(flight, camera, size, speed, begin_s, end_s)
    window.stage.names, window.stage.trails = names, trails
    window.play()
    return run(window)
