"""What the streams say about ESCs and vibration, as PX4's simulated ones."""

import numpy as np
import pytest

from xtdrone_autopilot.mavlink.frames import layout
from xtdrone_autopilot.state.handlers import declared
from xtdrone_core import Scenario
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_sim.simulation import Simulation

BATTERY = 15.5


@pytest.fixture(scope="module")
def devices():
    """Of an iris and a typhoon_h480, armed, at half command."""
    simulation = Simulation(
        Scenario(parse_vehicles("iris*1, typhoon_h480*1"), speed=0.0), links=False
    )
    simulation.run(until_us=200_000)
    stack = simulation.autopilot
    streams = stack.streams()
    stack.status["armed"], stack.battery.voltage[:] = True, BATTERY
    stack.commands[:] = 0.5
    yield streams.devices
    simulation.close()


def filled(devices, name, *batch):
    row = np.zeros(2, dtype=layout(name).dtype)
    fill, where = next(
        (fill, stream.where) for stream, fill in declared(devices, "streams") if stream.name == name
    )
    there = where(devices, *batch) if where else np.ones(2, dtype=bool)
    if there.any():
        fill(row, 1_000_000, *batch)
    return row, there


def test_escs_come_four_in_a_message(devices):
    first, there = filled(devices, "ESC_STATUS", 0)
    assert there.tolist() == [True, True]
    np.testing.assert_array_equal(first["rpm"], 3000)
    np.testing.assert_allclose(first["current"], 8.5)
    np.testing.assert_allclose(first["voltage"], BATTERY)
    second, there = filled(devices, "ESC_STATUS", 1)
    assert there.tolist() == [False, True] and second["index"][1] == 4
    assert second["rpm"][1].tolist() == [3000, 3000, 0, 0]
    assert filled(devices, "ESC_STATUS", 2)[1].tolist() == [False, False]


def test_esc_info_counts_and_warms(devices):
    row, _ = filled(devices, "ESC_INFO", 0)
    assert row["count"].tolist() == [4, 6]
    assert row["info"].tolist() == [0b1111, 0b111111]
    np.testing.assert_array_equal(row["temperature"], 4000)


def test_vibration_is_the_smoothed_change_of_readings(devices):
    sensors = devices.readings.sensors
    gyro, accel = sensors.gyro.copy(), sensors.accel.copy()
    for k in range(2000):
        sensors.gyro[:] = gyro + 0.01 * (k % 2)
        sensors.accel[:] = accel + 0.1 * (k % 2)
        devices.watch()
    row, _ = filled(devices, "VIBRATION")
    np.testing.assert_allclose(row["vibration_y"], 0.01 * 3**0.5, rtol=1e-3)
    np.testing.assert_allclose(row["vibration_z"], 0.1 * 3**0.5, rtol=1e-3)
