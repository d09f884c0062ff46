"""The observer that feeds Foxglove: to a server, to a file, or to both.

Messages are handed to the SDK, whose own threads send them; a client that is slow loses some.
"""

import json
import threading
import time
from collections.abc import Mapping
from typing import Any

from xtdrone_core import FleetState, Reading, SensorBatch
from xtdrone_core.contracts import Observer
from xtdrone_core.runs.control_link import TICK_US
from xtdrone_core.runs.ports import Ports, advice, in_use
from xtdrone_sim.simulation import Simulation

from ..errors import WebError
from ..events import page_event
from .channels import Channels
from .mcap_file import McapFile
from .sdk import SdkObject, sdk

FILE = "run.mcap"
METADATA = "xtdrone"  # name of the record that holds the scenario
_STATE_US, _FIX_US, _FLUSH_US = 40_000, 200_000, 1_000_000
_CHUNK = 8 << 20  # size of a chunk unless the flush of each second ends it before [bytes]
_LIVE_S = 0.015  # wall time between two messages of a server without a recording, at least [s]


class Telemetry(Observer):
    """Live server and recording of a simulation.

    Attributes:
        url: Address of the server; "" without one.
    """

    period_us = TICK_US

    def __init__(self, simulation: Simulation):
        """Opens what the scenario asks for, `foxglove` and `mcap`; append it to the observers.

        Raises:
            WebError: The SDK is missing, the port is taken, or there is no run folder.
        """
        scenario = simulation.scenario
        self._foxglove = foxglove = sdk("foxglove" if scenario.foxglove else "mcap")
        self._plant, self._autopilot = simulation.plant, simulation.autopilot
        self._world, self._models = simulation.world, simulation.fleet.vehicles
        self._names = [spec.name for spec in scenario.vehicles]
        self._context = foxglove.Context()
        self._server: SdkObject = None
        self._writer: SdkObject = None
        self._file: McapFile | None = None
        self._show = threading.Event()  # somebody needs the shapes
        self._due, self._t_us = 0.0, simulation.t_us
        self.url = ""
        if scenario.mcap:
            self._record(simulation)
        if scenario.foxglove:
            self._listen(Ports(scenario.instance).foxglove)
        self._channels = Channels(
            foxglove, self._context, self._names, simulation.rendered_sensors()
        )
        self._show.set()

    def _record(self, simulation: Simulation) -> None:
        if simulation.folder is None:
            raise WebError("mcap needs a run folder: leave out --no_run_folder, or mcap")
        mcap = self._foxglove.mcap
        self._file = McapFile(simulation.folder / FILE, simulation.log_gaps)
        options = mcap.MCAPWriteOptions(
            profile="", chunk_size=_CHUNK, disable_seeking=True, compression_threads=0
        )
        self._writer = self._foxglove.open_mcap(
            self._file, context=self._context, writer_options=options
        )
        self._writer.write_metadata(
            METADATA, {"scenario": json.dumps(simulation.scenario.to_dict())}
        )
        self._save(simulation.t_us)

    def _listen(self, port: int) -> None:
        websocket = self._foxglove.websocket
        if in_use(port, tcp=True):
            raise WebError(f"port {port} (TCP) of foxglove is in use; {advice()}")
        show = self._show

        class Listener(websocket.ServerListener):  # type: ignore[misc, name-defined]
            def on_subscribe(self, client: SdkObject, channel: SdkObject) -> None:
                if channel.topic == "/scene":
                    show.set()

        self._server = self._foxglove.start_server(
            name="XTDrone",
            host="127.0.0.1",
            port=port,
            context=self._context,
            capabilities=[websocket.Capability.Time],
            server_listener=Listener(),
        )
        self.url = f"ws://127.0.0.1:{port}"

    @property
    def wants_readings(self) -> bool:  # type: ignore[override]
        """Tells whether somebody listens to cameras or lidars; they work only then."""
        return self._channels.watched

    def on_start(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Sends the start."""
        self._send(t_us, state, sensors)

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Sends the state of a tick."""
        self._t_us = t_us
        now = time.monotonic()
        if self._writer is not None or now >= self._due:
            self._due = now + _LIVE_S
            self._send(t_us, state, sensors)
        if self._writer is not None and t_us % _FLUSH_US == 0:
            self._save(t_us)

    def _save(self, t_us: int) -> None:
        """Ends the chunk and appends it to the file."""
        assert self._file is not None
        self._writer.flush()
        self._file.t_us = t_us
        self._file.save()

    def _send(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        if self._show.is_set():
            self._show.clear()
            self._channels.models(t_us, self._world, self._models)
        self._channels.transforms(t_us, state)
        if t_us % _STATE_US == 0:
            self._channels.states(
                t_us, state, self._autopilot.estimates(), sensors, self._plant.actuators.wind
            )
        if t_us % _FIX_US == 0:
            self._channels.fixes(t_us, sensors)
        if self._server is not None:
            self._server.broadcast_time(t_us * 1000)

    def on_reading(self, reading: Reading) -> None:
        """Sends an image or a scan."""
        self._channels.reading(reading)

    def on_text(self, t_us: int, vehicle: int | None, severity: int, text: str) -> None:
        """Sends a message of a flight stack."""
        self._channels.text(t_us, severity, "" if vehicle is None else self._names[vehicle], text)

    def on_event(self, t_us: int, name: str, values: Mapping[str, Any]) -> None:
        """Sends an event of the flight."""
        event = page_event({"event": name, "t_us": t_us, **values})
        self._channels.text(t_us, event["level"], event["who"], event["text"])

    def close(self) -> None:
        """Ends server and file. May be called twice."""
        server, writer = self._server, self._writer
        self._server = self._writer = None
        if server is not None:
            server.stop()
        if writer is not None and self._file is not None:
            writer.close()
            self._file.t_us = self._t_us
            self._file.save()
