"""A sensor that is one module: found by its SDF type, sampled, logged, told by MAVLink."""

import numpy as np
import pytest
from pyulog import ULog

import thermometer
from sensor_models import sensors
from xtdrone_core import Scenario, resources
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.scenario import parse_vehicles
from xtdrone_sim.simulation import Simulation


@pytest.fixture
def vehicle(tmp_path, monkeypatch):
    monkeypatch.setitem(sensors(), "thermometer", thermometer.SENSOR)
    text = resources.vehicle_sdf("iris").read_text()
    path = tmp_path / "iris_with_nose.sdf"
    path.write_text(text.replace("</link>", '<sensor name="nose" type="thermometer"/></link>', 1))
    return path


def test_readings_log_and_message_follow_from_the_declaration(runs, vehicle):
    scenario = Scenario(parse_vehicles(f"{vehicle}; iris@3,0"), log="full", speed=0.0)
    folder = run_folder.create("nose")
    simulation = Simulation(scenario, folder, links=False)
    simulation.run(until_us=2_000_000)
    extra = simulation.sensors.extra["thermometer"]
    streams = simulation.autopilot.streams()
    simulation.close()
    assert extra.fitted.tolist() == [True, False]
    assert extra.records["temperature"][0] == pytest.approx(285.0, abs=0.2)  # 488 m up

    first, other = (
        ULog(str(next((folder / "ulog" / spec.name).glob("*.ulg")))) for spec in scenario.vehicles
    )
    logged = first.get_dataset("air_temperature").data
    assert np.diff(logged["timestamp"]).tolist() == [100_000] * (len(logged["timestamp"]) - 1)
    assert logged["temperature"][-1] == pytest.approx(extra.records["temperature"][0], abs=0.1)
    assert not any(data.name == "air_temperature" for data in other.data_list)

    out, length = np.zeros((2, 4096), dtype=np.uint8), np.zeros(2, dtype=np.int64)
    streams.append(
        streams.index["HYGROMETER_SENSOR"],
        2_000_000,
        np.ones(2, dtype=bool),
        np.zeros(2, dtype=np.uint8),
        out,
        length,
    )
    assert length[1] == 0
    message = mavlink.MAVLink(None).decode(bytearray(out[0, : length[0]]))
    assert message.temperature == pytest.approx(
        100 * (extra.records["temperature"][0] - 273.15), abs=1
    )
