"""Flights that are saved and go on in a new process, and vehicles that are reset in flight."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest
from pyulog import ULog

import reference_flights
import state_flights
import xtdrone as xd
from xtdrone_control.agents import SquareAgent
from xtdrone_core.agent import EachVehicle
from xtdrone_core.contracts import Observer
from xtdrone_core.runs import run_folder
from xtdrone_sim.simulation import Simulation

# flight: when it is saved, and its end [s]
SAVED = {
    "iris": (7.3, 11.0),
    "typhoon_h480": (8.0, 12.0),
    "formation": (14.0, 17.0),
    "mission_in_wind": (21.996, 24.0),
    "heavy_lifter": (10.5, 12.0),
    "stereo_and_lidar": (1.5, 2.1),
}
LONG = ("iris", "mission_in_wind", "typhoon_h480", "heavy_lifter", "stereo_and_lidar")


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [[name for name in SAVED if name not in LONG], pytest.param(LONG, marks=pytest.mark.long)],
    ids=", ".join,
)
def test_saved_flights_go_on_in_a_new_process_bit_for_bit(tmp_path, names):
    flights, words = {}, []
    for name in names:
        at, end = SAVED[name]
        snapshot = tmp_path / f"{name}.snapshot"
        flights[name] = state_flights.fly(name, end, save=(at, snapshot))
        words += [name, str(end), snapshot, tmp_path / f"{name}.result"]
    subprocess.run([sys.executable, state_flights.__file__, *words], check=True)
    for name, whole in flights.items():
        rest = json.loads((tmp_path / f"{name}.result").read_text())
        assert rest["hashes"] == whole["hashes"] and len(whole["hashes"]) > 20, name
        assert rest["logs"].keys() == whole["logs"].keys(), name
        for vehicle, topics in rest["logs"].items():
            assert len(topics) > 3, name
            for topic, messages in topics.items():
                assert whole["logs"][vehicle][topic][-len(messages) :] == messages, (name, topic)
                assert len(messages) < len(whole["logs"][vehicle][topic]), (name, topic)


class Paths(Observer):
    """True state and readings of each vehicle, step by step, from where it was last reset."""

    def __init__(self, n):
        self.rows = [[] for _ in range(n)]
        self.times = [[] for _ in range(n)]

    def on_step(self, t_us, state, sensors):
        names = [name for name in sensors.records.dtype.names if name != "gps_t_us"]
        for i, rows in enumerate(self.rows):
            rows.append(
                b"".join(
                    [
                        getattr(state, name)[i].tobytes()
                        for name in ("pos", "quat", "vel", "actuator")
                    ]
                    + [sensors.records[name][i].tobytes() for name in names]
                )
            )

    def on_reset(self, t_us, mask):
        for i in np.flatnonzero(mask).tolist():
            self.rows[i] = []


def _flight(folder, seconds, reset=None):
    run_folder.prepare(folder)
    scenario = xd.Scenario(vehicles="iris*3", log="full", speed=0.0, wind="dryden=3")
    paths = Paths(3)
    simulation = Simulation(
        scenario,
        folder,
        links=False,
        observers=[paths],
        agent=EachVehicle(3, lambda: SquareAgent(1, hold=0.5)),
    )
    try:
        if reset:
            simulation.run(until_us=round(reset[0] * 1e6))
            simulation.reset(reset[1])
        simulation.run(until_us=round(seconds * 1e6))
    finally:
        simulation.close()
    return paths, {path.parent.name: path.read_bytes() for path in folder.glob("ulog/*/*.ulg")}


def _topics(data, from_us, for_us):
    """Fields of all messages stamped from from_us on, for for_us, by topic; times from there."""
    found = {}
    for topic in ULog(io.BytesIO(data)).data_list:
        stamps = topic.data["timestamp"].astype(np.int64)
        chosen = (stamps >= from_us) & (stamps < from_us + for_us)
        for name, values in topic.data.items():
            values = values[chosen]
            if values.dtype == np.uint64 and "time" in name:  # 0 for none
                values = np.where(values == 0, 0, values.astype(np.int64) - from_us)
            found[f"{topic.name}.{topic.multi_id}.{name}"] = values
    return found


def _equal(some, others):
    """Names of fields that differ."""
    assert some.keys() == others.keys()
    return [
        name
        for name, values in some.items()
        if not np.array_equal(values, others[name], equal_nan=values.dtype.kind == "f")
    ]


@pytest.mark.slow
def test_a_vehicle_that_was_reset_flies_as_a_fresh_one_and_the_others_fly_on(tmp_path):
    at, more = 7.0, 8.0
    for name in ("plain", "reset"):
        (tmp_path / name).mkdir()
    plain, logs = _flight(tmp_path / "plain", at + more)
    reset, logs_after = _flight(tmp_path / "reset", at + more, (at, ["iris_1"]))
    assert reset.rows[0] == plain.rows[0] and reset.rows[2] == plain.rows[2]
    steps = round(more * 250)
    assert len(reset.rows[1]) == steps
    differs = next((k for k in range(steps) if reset.rows[1][k] != plain.rows[1][k]), None)
    assert differs is None
    for name in ("iris_0", "iris_2"):
        assert _equal(_topics(logs[name], 0, 10**9), _topics(logs_after[name], 0, 10**9)) == []
    assert (
        _equal(
            _topics(logs["iris_1"], 0, round(more * 1e6)),
            _topics(logs_after["iris_1"], round(at * 1e6), round(more * 1e6)),
        )
        == []
    )


def test_reset_of_one_vehicle_through_the_package():
    def path(reset):
        with xd.Simulation(xd.Scenario(vehicles="iris*2", gps="rtk")) as sim:
            sim.arm()
            sim.takeoff(3.0)
            if reset:
                sim.reset(vehicles=[1])
                assert sim.state.pos[1, 2] < 0.2 and not sim.estimates.armed[1]
                sim.arm([1])
                sim.takeoff(2.0, [1])
            return sim.state.pos.copy()

    before, after = path(False), path(True)
    assert after[0, 2] == pytest.approx(before[0, 2], abs=0.3)
    assert after[1, 2] == pytest.approx(2.0, abs=0.4)


def test_saving_does_not_change_a_flight(tmp_path):
    name = "heavy_lifter"
    plain = state_flights.fly(name, 6.0)
    assert state_flights.fly(name, 6.0, save=(5.0, tmp_path / "s"))["logs"] == plain["logs"]
    assert reference_flights.FLIGHTS[name][0] > 6.0
