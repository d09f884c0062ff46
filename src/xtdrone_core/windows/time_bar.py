"""Controls of a replay: play and pause, speed, and a slider of its time."""

from collections.abc import Callable, Sequence

import numpy as np
from PySide6 import QtCore, QtWidgets

_TICKS = 100  # ticks of the slider per second


class TimeBar(QtCore.QObject):
    """Play button, speed box and time slider; a window lays them out and moves the time.

    Attributes:
        playing: Whether the time runs.
        speed: Simulated seconds per second.
        button, box, slider: The widgets; slider is None without a span.
    """

    def __init__(
        self,
        play: Callable[[], None],
        pause: Callable[[], None],
        speeds: Sequence[float],
        span_s: tuple[float, float] | None,
        seek: Callable[[float], None],
    ):
        """Makes the widgets, paused, at real time.

        Args:
            play, pause: Called by the button.
            speeds: What the box offers, ascending.
            span_s: First and last time of a replay [s]; None for what runs live.
            seek: Called with the time of the slider [s].
        """
        super().__init__()
        self.playing = False
        self.speed = 1.0
        self._speeds = list(speeds)
        self._play, self._pause = play, pause
        self.button = button("Play", self.toggle)
        self.box = box([f"{speed:g} x" for speed in speeds], tip="speed")
        self.box.activated.connect(lambda index: self.set_speed(self._speeds[index]))
        self.slider: QtWidgets.QSlider | None = None
        if span_s is not None:
            self.slider = QtWidgets.QSlider(QtCore.Qt.Orientation.Horizontal)
            self.slider.setRange(*(round(t_s * _TICKS) for t_s in span_s))
            self.slider.setFocusPolicy(QtCore.Qt.FocusPolicy.NoFocus)
            self.slider.valueChanged.connect(lambda value: seek(value / _TICKS))

    def toggle(self) -> None:
        """Plays, or pauses."""
        (self._pause if self.playing else self._play)()

    def show_playing(self, playing: bool) -> None:
        """Sets whether the time runs, and the text of the button."""
        self.playing = playing
        self.button.setText("Pause" if playing else "Play")

    def show_time(self, t_s: float) -> None:
        """Moves the slider, unless the user holds it."""
        if self.slider is not None and not self.slider.isSliderDown():
            blocked = QtCore.QSignalBlocker(self.slider)
            self.slider.setValue(round(t_s * _TICKS))
            blocked.unblock()

    def set_speed(self, speed: float) -> None:
        """Sets the simulated seconds per second; one that the box lacks is added to it."""
        self.speed = speed
        if speed not in self._speeds:
            at = int(np.searchsorted(self._speeds, speed))
            self._speeds.insert(at, speed)
            self.box.insertItem(at, f"{speed:g} x")
        self.box.setCurrentIndex(self._speeds.index(speed))

    def change_speed(self, places: int) -> None:
        """Goes to a speed of the box that is some places above or below."""
        at = self._speeds.index(self.speed) + places
        self.set_speed(self._speeds[min(max(at, 0), len(self._speeds) - 1)])


def button(text: str, action: Callable[[], object], tip: str = "") -> QtWidgets.QPushButton:
    """Returns a button that leaves the keys to the window."""
    made = QtWidgets.QPushButton(text)
    made.setToolTip(tip)
    made.setFocusPolicy(QtCore.Qt.FocusPolicy.NoFocus)
    made.clicked.connect(lambda _: action())
    if len(text) == 1:
        made.setFixedWidth(32)
    return made


def box(
    names: Sequence[str], action: Callable[[str], object] | None = None, tip: str = ""
) -> QtWidgets.QComboBox:
    """Returns a box with a choice of names that leaves the keys to the window."""
    made = QtWidgets.QComboBox()
    made.setToolTip(tip)
    made.setFocusPolicy(QtCore.Qt.FocusPolicy.NoFocus)
    made.addItems(list(names))
    if action is not None:
        made.textActivated.connect(action)
    return made
