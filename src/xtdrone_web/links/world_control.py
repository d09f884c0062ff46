"""Requests to a simulation over its control socket: pause, steps, speed, reset and others."""

import threading
from typing import Any

from xtdrone_core import ControlError
from xtdrone_core.runs.control_link import ControlClient

from ..errors import WebError
from .order import Answer, Order

_ANSWER_S = 10.0  # a reset of a large fleet takes a while [s]


class WorldControl:
    """A client of the control socket; may be used from several threads, and blocks."""

    def __init__(self, instance: int, there: bool):
        """Connects at the first request.

        Args:
            instance: Instance of the simulation.
            there: Whether it has a control socket.
        """
        self._instance, self._there = instance, there
        self._client: ControlClient | None = None
        self._lock = threading.Lock()

    def orders(self) -> dict[str, Order]:
        """Returns the orders that every page has, by their ops."""
        return {
            "pause": self.order("pause"),
            "resume": self.order("resume"),
            "step": self.order("step", "n"),
            "speed": self.order("speed", "speed"),
            "reset": self.order("reset", "vehicles"),
            "stop": self.order("stop"),
        }

    def order(self, op: str, *names: str) -> Order:
        """Makes an order of a request of the control socket, with the values of these names."""
        return Order(lambda request: self.ask(op, **{k: request[k] for k in names if k in request}))

    def ask(self, op: str, **values: Any) -> Answer:  # values of JSON
        """Sends a request; returns its answer.

        Raises:
            WebError: The simulation refuses it, or there is none.
        """
        if not self._there:
            raise WebError("this simulation has no control socket")
        with self._lock:
            try:
                if self._client is None:
                    self._client = ControlClient(self._instance, _ANSWER_S)
                return self._client.request(op, **values)
            except (ControlError, OSError) as error:
                self.close()  # an answer that is late would be taken for the next one's
                raise WebError(str(error)) from error

    def close(self) -> None:
        """Closes the connection; the next request opens another."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
