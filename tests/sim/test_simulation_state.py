"""Reset of some vehicles, save and load: what the parts beside the flight stack do."""

import gc
import json
import weakref

import numpy as np
import pytest

from xtdrone_core import Estimates, Scenario, ScenarioError
from xtdrone_core.contracts import Observer
from xtdrone_core.runs.snapshot import Memory, SnapshotError
from xtdrone_core.scenario.vehicles import fleet, parse_vehicles
from xtdrone_sim.simulation import Simulation


class OpenLoop(Memory):
    """Flies by the clock of each vehicle: up, a wobble, and down to the ground."""

    MEMORY = ("epoch_us", "t_us")

    def __init__(self, model):
        self.epoch_us = np.zeros(model.n, dtype=np.int64)
        self.t_us = 0
        self._hover = np.array([_hover_command(vehicle) for vehicle in model.vehicles])
        self._commands = np.zeros(model.actuator.shape)

    @classmethod
    def for_scenario(cls, context):
        return cls(context.fleet)

    def step(self, t_us, sensors):
        self.t_us = t_us
        t = (t_us - self.epoch_us) * 1e-6
        throttle = np.where(t < 0.4, 0.0, np.where(t < 1.6, 1.02, 0.0)) * self._hover
        self._commands[:] = throttle[:, None]
        self._commands[:, 0] += 1e-3 * np.sin(9.0 * t) * (throttle > 0)
        return self._commands

    def reset(self, mask=None):
        self.epoch_us[slice(None) if mask is None else mask] = self.t_us + 4_000

    def estimates(self):
        n = len(self.epoch_us)
        flags = np.zeros(n, dtype=bool)
        return Estimates(
            self.t_us,
            np.zeros((n, 3)),
            np.zeros((n, 4)),
            np.zeros((n, 3)),
            np.zeros((n, 3)),
            flags,
            ~flags,
            np.zeros(n, dtype=np.int8),
            flags,
        )

    def apply(self, set_points):
        pass

    def health(self):
        return []

    def interrupt(self):
        pass

    def close(self):
        pass


def _hover_command(vehicle):
    rotors = [a for a in vehicle.actuators if a.kind == "rotor"]
    speed = np.sqrt(vehicle.mass * 9.81 / sum(r.motor_constant for r in rotors))
    return (speed - rotors[0].zero_position_armed) / rotors[0].input_scaling


class Streams(Observer):
    """All that can be seen of each vehicle, step by step, from where it was last reset."""

    wants_readings = True
    NOT_LOCAL = "gps_t_us"  # a time of the simulation

    def __init__(self, scenario):
        self._names = [spec.name for spec in scenario.vehicles]
        self.rows = [[] for _ in self._names]
        self.readings = [[] for _ in self._names]
        self.epochs = [0] * len(self._names)

    def on_step(self, t_us, state, sensors):
        for i, rows in enumerate(self.rows):
            seen = [
                getattr(state, name)[i].tobytes()
                for name in ("pos", "quat", "vel", "ang_vel", "acc", "actuator")
            ]
            seen += [
                sensors.records[name][i].tobytes()
                for name in sensors.records.dtype.names
                if name != self.NOT_LOCAL
            ]
            seen.append(int(sensors.gps_t_us[i]) - self.epochs[i] if sensors.gps_lat[i] else 0)
            rows.append(seen)

    def on_reading(self, reading):
        i = self._names.index(reading.vehicle)
        self.readings[i].append(
            (
                reading.t_us - self.epochs[i],
                reading.sensor,
                *(data.tobytes() for data in reading.data.values()),
            )
        )

    def on_reset(self, t_us, mask):
        for i in np.flatnonzero(mask).tolist():
            self.rows[i], self.readings[i], self.epochs[i] = [], [], t_us


def fly(scenario, until_us, resets=(), save=(), load=None, epochs=None):
    """Streams of a flight.

    Args:
        scenario: What flies.
        until_us: Its end.
        resets: (t_us, vehicles).
        save: (t_us, file) of each snapshot.
        load: File to go on from.
        epochs: When each vehicle had been reset, in the flight that goes on.
    """
    streams = Streams(scenario)
    streams.epochs = list(epochs or streams.epochs)
    simulation = Simulation(scenario, links=False, observers=[streams])
    try:
        if load:
            simulation.load(load)
        for t_us, vehicles in resets:
            simulation.run(until_us=t_us)
            simulation.reset(vehicles)
        for t_us, file in save:
            simulation.run(until_us=t_us)
            simulation.save(file)
        simulation.run(until_us=until_us)
    finally:
        simulation.close()
    return streams


def scenario(vehicles="iris*3", **values):
    return Scenario(parse_vehicles(vehicles), autopilot=f"{__name__}:OpenLoop", speed=0.0, **values)


SCENARIOS = {
    "plain": {},
    "two types in wind": {
        "vehicles": "iris*2, typhoon_h480*1",
        "wind": "mean=1,0,0 gust=0.8:0.7:0,2,0 dryden=3",
    },
    "disturbed": {
        "disturbances": "0.6: payload iris_0 0.2 0,0.02,-0.1; 0.7: drain iris_0 0.3; "
        "0.8: rotor iris_1 1 0.9; 0.6: payload iris_1 0.1"
    },
    "with a battery": {
        "vehicles": "heavy_lifter*2",
        "disturbances": "1: charge heavy_lifter_0 0.4",
    },
    "cameras and a lidar": {"vehicles": "iris_stereo*1, iris_3d_lidar*1", "world": "indoor"},
    "a sweep": {"vehicles": "iris_2d_lidar*2", "sensors": "lidar.sweep=0.04"},
}


@pytest.mark.long
@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("at_us", [pytest.param(1_000_000, marks=pytest.mark.long), 2_300_000])
def test_a_vehicle_that_was_reset_flies_as_a_fresh_one(name, at_us):
    s = scenario(**SCENARIOS[name])
    more_us = 1_900_000
    if "cameras" in name:  # drawing takes long
        at_us, more_us = at_us // 3, 800_000
    plain = fly(s, at_us + more_us)
    chosen = [0, 1] if s.world == "indoor" else [1]  # those two see each other
    reset = fly(s, at_us + more_us, resets=[(at_us, chosen)])
    for i in chosen:
        assert reset.rows[i] == plain.rows[i][: more_us // 4_000]
        assert reset.readings[i] == plain.readings[i][: len(reset.readings[i])]
        assert bool(reset.readings[i]) == bool(plain.readings[i])
    if name != "disturbed":  # mass properties of a fleet enter its contact solver
        for i in set(range(s.n)) - set(chosen):
            assert reset.rows[i] == plain.rows[i]


def test_all_vehicles_can_be_reset_at_once_and_again():
    s = scenario("iris*2")
    plain = fly(s, 1_500_000)
    again = fly(s, 700_000 + 500_000 + 1_500_000, resets=[(700_000, None), (1_200_000, None)])
    assert again.rows == plain.rows


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if "cameras" in name else ()) for name in SCENARIOS],
)
def test_a_flight_goes_on_from_a_file_bit_for_bit(tmp_path, name):
    s = scenario(**SCENARIOS[name])
    end_us = 2_400_000
    plain = fly(s, end_us)
    times_us = (300_000, 1_100_000, 2_200_000) if name == "plain" else (1_100_000,)
    files = {at_us: tmp_path / f"{at_us}" for at_us in times_us}
    saving = fly(s, end_us, save=files.items())
    assert saving.rows == plain.rows and saving.readings == plain.readings
    for at_us, file in files.items():
        loaded = fly(s, end_us, load=file)
        count = (end_us - at_us) // 4_000
        assert len(loaded.rows[0]) == count
        assert loaded.rows == [rows[-count:] for rows in plain.rows]
        for one, other in zip(loaded.readings, plain.readings, strict=True):
            assert not one or one == other[-len(one) :]
        assert any(loaded.readings) == any(plain.readings)


def test_reset_save_and_load_are_combined(tmp_path):
    s = scenario("iris*2", wind="dryden=4 gust=1:1:2,0,0")
    plain = fly(s, 3_000_000, resets=[(800_000, "iris_0")])
    fly(s, 1_500_000, resets=[(800_000, [True, False])], save=[(1_500_000, tmp_path / "s")])
    loaded = fly(s, 3_000_000, load=tmp_path / "s", epochs=[800_000, 0])
    assert loaded.rows == [rows[-len(loaded.rows[0]) :] for rows in plain.rows]


def test_what_cannot_be_reset_or_loaded_is_refused(tmp_path):
    s = scenario("iris*2")
    simulation = Simulation(s, links=False)
    try:
        for vehicle, message in (
            ("iris_7", "unknown vehicle 'iris_7'"),
            (2, "give 0 to 1"),
            ([0, -1], "vehicle -1 is not there"),
        ):
            with pytest.raises(ScenarioError, match=message):
                simulation.reset(vehicle)
        simulation.save(tmp_path / "two")
    finally:
        simulation.close()
    other = Simulation(scenario("iris*2", seed=7), links=False)
    try:
        with pytest.raises(SnapshotError, match="saved with seed 1, this scenario has 7"):
            other.load(tmp_path / "two")
    finally:
        other.close()


def test_resets_are_events_of_the_run(tmp_path):
    for sub in ("console", "ulog"):
        (tmp_path / sub).mkdir()
    simulation = Simulation(
        Scenario(fleet("iris", 2), autopilot=f"{__name__}:OpenLoop", speed=0.0),
        tmp_path,
        links=False,
    )
    simulation.run(until_us=40_000)
    simulation.reset(["iris_1"])
    simulation.close()
    (event,) = map(json.loads, (tmp_path / "events.jsonl").read_text().splitlines())
    assert event == {"t_us": 40_000, "event": "reset", "vehicles": ["iris_1"]}


class Asked:
    """Requests of a control socket that resume a paused simulation the third time they are due."""

    def __init__(self, simulation):
        self.simulation, self.idled, self.ticks = simulation, [], []

    def idle(self):
        self.idled.append(self.simulation.t_us)
        if len(self.idled) == 3:
            self.simulation.pacer.resume()

    def tick(self):
        self.ticks.append(self.simulation.t_us)

    def close(self):
        pass


def test_a_paused_run_waits_for_requests_where_there_can_be_any():
    simulation = Simulation(Scenario(fleet("iris", 1), speed=0.0), links=False)
    try:
        simulation.pacer.pause()
        simulation.run(until_us=20_000)  # nobody could resume it
        simulation.requests = asked = Asked(simulation)
        simulation.pacer.pause(2)
        simulation.run(until_us=60_000)
        assert asked.idled == [28_000] * 3 and asked.ticks == [40_000, 60_000]
    finally:
        simulation.close()


def test_simulations_that_are_over_are_freed_after_some_others():
    scenario = Scenario(parse_vehicles("iris"), speed=0.0, log="none")
    gc.disable()  # as if Python counted too few objects to look for cycles
    try:
        first = Simulation(scenario, links=False)
        left = weakref.ref(first)
        first.close()
        del first
        for _ in range(9):
            Simulation(scenario, links=False).close()
        assert left() is None
    finally:
        gc.enable()
