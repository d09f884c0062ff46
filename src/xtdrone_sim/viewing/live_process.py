"""The process of a live window: it reads scenes from its standard input until that ends."""

import os
import signal
import sys
import threading

from xtdrone_core import XtdroneError
from xtdrone_core.windows import display

from ..errors import ViewError
from .cameras import Camera
from .commands import WINDOW
from .live import READY
from .live_flight import LiveFlight, SceneDescription

_NICE = 5  # without a graphics card the window would take the flight's processor
_POLL_MS = 100  # between two looks at whether the simulation has ended [ms]


def main() -> int:
    """Opens the window; returns its exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the flight, and that the window
    os.nice(_NICE)
    try:
        display.require_qt(ViewError)
        from xtdrone_core.windows.application import application, repeat

        from .window import Window

        flight = LiveFlight(SceneDescription.from_json(sys.stdin.readline()))
        app = application()
        window = Window(flight, Camera(), WINDOW)
    except XtdroneError as error:
        print(error, file=sys.stderr)
        return 1
    ended = threading.Event()

    def listen() -> None:
        for line in sys.stdin:
            flight.scenes.put(SceneDescription.from_json(line))
        ended.set()

    threading.Thread(target=listen, daemon=True).start()
    timer = repeat(lambda: window.close() if ended.is_set() else None, _POLL_MS)
    window.show()
    app.processEvents()
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
    status = app.exec()
    timer.stop()
    return status


if __name__ == "__main__":
    sys.exit(main())
