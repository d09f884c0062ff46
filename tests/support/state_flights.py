"""Reference flights that are saved, and go on in another process; what both leave.

    python tests/support/state_flights.py FLIGHT SECONDS SNAPSHOT RESULT ...

goes on from SNAPSHOT to SECONDS and writes what it left to RESULT, flight by flight, for save and
load tests.
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from reference_flights import FLIGHTS, ulog_data
from xtdrone_core import Scenario, registry
from xtdrone_core.contracts import Observer
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_sim.simulation import Simulation


class Tail(Observer):
    """Hashes of truth, readings and images from a time on."""

    wants_readings = True

    def __init__(self, from_us: int):
        """Everything later than from_us."""
        self.found = {}
        self._from_us, self._t_us = from_us, 0

    def on_step(self, t_us, state, sensors):
        """Truth and readings of the step."""
        self._t_us = t_us
        if t_us > self._from_us:
            for name in ("pos", "quat", "vel", "ang_vel", "acc", "actuator"):
                self._add(f"truth/{name}", getattr(state, name))
            for name in sensors.records.dtype.names:
                self._add(f"sensors/{name}", sensors.records[name])

    def on_reading(self, reading):
        """One image or scan, by its arrival."""
        if self._t_us > self._from_us:
            for name, value in reading.data.items():
                self._add(f"{reading.vehicle}/{reading.sensor}/{name}", value)

    def _add(self, name, array):
        self.found.setdefault(name, hashlib.sha256()).update(np.ascontiguousarray(array))


def fly(name: str, seconds: float, save=None, load=None) -> dict:
    """Flies one reference flight.

    Args:
        name: Of FLIGHTS.
        seconds: Its end.
        save: (seconds, file) for a snapshot on the way, or None.
        load: File to go on from, or None.

    Returns:
        `hashes` of all after the snapshot, and `logs`: for each vehicle and topic the hashes of
        all data messages.
    """
    _, agent, arguments, values = FLIGHTS[name]
    scenario = Scenario(**{**values, "vehicles": parse_vehicles(values["vehicles"])}, speed=0.0)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        run_folder.prepare(folder)
        tail = Tail(round(save[0] * 1e6) if save else 0)
        simulation = Simulation(scenario, folder, links=False, observers=[tail])
        simulation.agent = registry.AGENTS.load(agent)(
            scenario.n, on_event=simulation.event, **arguments
        )
        try:
            if load:
                simulation.load(load)
            if save:
                simulation.run(until_us=round(save[0] * 1e6))
                simulation.save(save[1])
            simulation.run(until_us=round(seconds * 1e6))
        finally:
            simulation.close()
        return {
            "hashes": {key: value.hexdigest() for key, value in tail.found.items()},
            "logs": {
                path.parent.name: data_messages(path.read_bytes())
                for path in folder.glob("ulog/*/*.ulg")
            },
        }


def data_messages(data: bytes) -> dict[str, list[str]]:
    """Hashes of the data messages of a ULog file, by topic and instance."""
    found = {}
    for topic, instance, body in ulog_data(data):
        found.setdefault(f"{topic}/{instance}", []).append(hashlib.sha256(body).hexdigest()[:16])
    return found


if __name__ == "__main__":
    for flight in range(1, len(sys.argv), 4):
        name, seconds, snapshot, result = sys.argv[flight : flight + 4]
        Path(result).write_text(json.dumps(fly(name, float(seconds), load=snapshot)))
