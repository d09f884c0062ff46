"""Reset of some vehicles of a flight, and a flight saved and gone on with."""

import numpy as np
import pytest
from pyulog import ULog

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core import ARM, Mode, Scenario, SetPoints
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation

LATER = {"offboard_t", "stick_t", "gcs_t", "mode_t", "armed_t", "landed_t", "still_t"}  # times
TIMES = {
    "timestamp",
    "timestamp_sample",
    "armed_time",
    "nav_state_timestamp",
    "takeoff_time",
    "time_utc_usec",
    "mission_id",
}


def start(tmp_path, name, n=3, **scenario):
    folder = tmp_path / name
    folder.mkdir()
    run_folder.prepare(folder)
    return Simulation(
        Scenario(fleet("iris", n), speed=0.0, gps="m8n", log="full", **scenario),
        folder,
        links=False,
    )


def command(simulation, i, since_us):
    """What vehicle i is told in its flight: it climbs after 2.5 s, then flies east."""
    t = simulation.t_us - since_us
    points = SetPoints.empty(simulation.scenario.n)
    if t >= 2_400_000:
        points.pos[i] = (0.0 if t < 6_000_000 else 4.0), i * 2.0, 3.0
        points.yaw[i] = 0.5
    if t == 2_500_000:
        points.mode[i] = Mode.OFFBOARD
    if t == 2_600_000:
        points.arm[i] = ARM
    simulation.autopilot.apply(points)


def fly(simulation, seconds, since):
    """Steps; since[i] is when the flight of vehicle i begins [us]."""
    seen = []
    for _ in range(round(seconds * 250)):
        for i, begin in since.items():
            command(simulation, i, begin)
        simulation.step()
        e = simulation.autopilot.estimator
        seen.append(
            np.hstack(
                [
                    simulation.state.pos,
                    simulation.state.quat,
                    e.pos,
                    e.quat,
                    e.vel,
                    simulation.autopilot.commands,
                ]
            )
        )
    return np.array(seen)


@pytest.mark.long
@pytest.mark.parametrize("reset_us", [5_000_000, 5_036_000])
def test_a_vehicle_that_was_reset_flies_as_a_fresh_one(tmp_path, reset_us):
    fresh = start(tmp_path, "fresh")
    wanted = fly(fresh, 8, {0: 0, 1: 0, 2: 0})
    fresh.close()
    flown = start(tmp_path, "flown")
    before = fly(flown, reset_us * 1e-6, {0: 0, 1: 0, 2: 0})
    flown.autopilot.parameters.set(1, "MPC_XY_CRUISE", 3.0)
    flown.reset([1])
    after = fly(flown, 8, {0: 0, 1: reset_us, 2: 0})
    assert flown.autopilot.parameters.get(1, "MPC_XY_CRUISE") == 5.0
    flown.close()
    assert np.array_equal(after[:, 1], wanted[:, 1])
    untouched = start(tmp_path, "untouched")
    others = fly(untouched, reset_us * 1e-6 + 8, {0: 0, 1: 0, 2: 0})
    untouched.close()
    both = np.concatenate([before, after])
    assert np.array_equal(both[:, [0, 2]], others[:, [0, 2]])
    assert_same_logs(
        fresh.folder / "ulog/iris_1/log001.ulg", flown.folder / "ulog/iris_1/log002.ulg", reset_us
    )


def assert_same_logs(fresh, later, shift_us):
    mine, theirs = ULog(str(later)), ULog(str(fresh))
    assert 0 <= shift_us - mine.start_timestamp <= 4000 and theirs.start_timestamp == 0
    assert {d.name for d in mine.data_list} == {d.name for d in theirs.data_list}
    for topic in theirs.data_list:
        other = next(d for d in mine.data_list if d.name == topic.name)
        assert np.array_equal(other.data["timestamp"] - shift_us, topic.data["timestamp"]), topic
        for field, values in topic.data.items():
            if field.split("[")[0] not in TIMES:
                assert np.array_equal(
                    other.data[field], values, equal_nan=values.dtype.kind == "f"
                ), (topic.name, field)


@pytest.mark.slow
def test_a_saved_flight_goes_on_bit_for_bit(tmp_path):
    one = start(tmp_path, "one", wind="mean=3,1,0 dryden=5")
    fly(one, 5, {0: 0, 1: 0, 2: 0})
    one.save(tmp_path / "state.snapshot")
    wanted = fly(one, 4, {0: 0, 1: 0, 2: 0})
    one.close()
    two = start(tmp_path, "two", wind="mean=3,1,0 dryden=5")
    two.load(tmp_path / "state.snapshot")
    assert two.t_us == 5_000_000
    assert np.array_equal(fly(two, 4, {0: 0, 1: 0, 2: 0}), wanted)
    two.close()


class OwnLoop:
    """Has no memory that it tells of."""

    def __init__(self, fleet):
        self.seen = 0

    def step(self, status, parameters, estimator, dt):
        self.seen += 1


def test_a_part_without_memory_is_refused_by_its_name():
    simulation = Simulation(
        Scenario(fleet("iris", 1), speed=0.0, velocity_control=f"{__name__}:OwnLoop"), links=False
    )
    with pytest.raises(AutopilotError, match="velocity_control .*OwnLoop.*snapshot.Memory"):
        simulation.autopilot.reset()
    with pytest.raises(AutopilotError, match="OwnLoop"):
        simulation.autopilot.save()
    simulation.close()
