"""Draws a flight: its scene by a camera, and names, time and captions over it."""

import math

import numpy as np

from xtdrone_core import plot_style

from . import overlay
from .cameras import Camera
from .flights import TRAIL_S, Replay
from .live_flight import LiveFlight
from .scene import FlightScene, Trails, pixels


class Stage:
    """Makes the images of a flight.

    Attributes:
        flight: The flight.
        camera: The camera.
        names, trails, clock: Whether they are drawn.
    """

    def __init__(
        self,
        flight: Replay | LiveFlight,
        camera: Camera,
        largest: tuple[int, int],
        samples: int = 4,
    ) -> None:
        """Compiles the scene.

        Args:
            flight: The flight.
            camera: The camera.
            largest: Width and height of the largest image [pixels].
            samples: Samples per pixel, for smooth edges.

        Raises:
            EngineError: MuJoCo refuses the scene.
        """
        self.flight, self.camera = flight, camera
        self.names = self.trails = self.clock = True
        self.scene = FlightScene(flight.world, flight.vehicles, flight.models, largest, samples)
        n = len(flight.names)
        self.colours = np.array(
            [plot_style.rgba(plot_style.vehicle_color(k, n))[:3] for k in range(n)]
        )
        self._span = (
            max(
                2.0 * math.hypot(*rotor.pos[:2])
                for model in flight.models
                for rotor in model.rotors
            )
            if any(model.rotors for model in flight.models)
            else 1.0
        )

    def image(self, t_s: float, dt: float, size: tuple[int, int], right: str = "") -> np.ndarray:
        """Draws the image (h, w, 3) uint8 at a time, the first row the highest.

        Args:
            t_s: Simulated time [s].
            dt: Time since the image before, as it is shown [s].
            size: Width and height [pixels].
            right: Text at the upper right.

        Raises:
            EngineError: Nothing here can render.
        """
        flight, state = self.flight, self.flight.state(t_s)
        trails = Trails(flight.trail(t_s, TRAIL_S), self.colours) if self.trails else None
        around = flight.everything if self.camera.kind == "still" else None
        self.scene.show(state, size[1], trails, flight.inserted(), around)
        view = self.camera.view(
            self.scene, state, flight.everything, size[0] / size[1], self._span, dt
        )
        image = self.scene.picture(view, size)
        corners = (f"{t_s:.1f} s", right, flight.caption(t_s)) if self.clock else ()
        names = flight.names if self.names else ()
        return overlay.draw(image, pixels(state.pos, view, size), names, self.colours, corners)

    def close(self) -> None:
        """Frees the scene. May be called twice."""
        self.scene.close()
