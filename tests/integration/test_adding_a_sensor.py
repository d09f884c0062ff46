"""Sensors that are one module: found by their SDF type, sampled, logged, sent by MAVLink or ROS."""

import numpy as np
import pytest
from pyulog import ULog

import thermal_camera
import thermometer
from sensor_models import ros_messages, sensors
from sensor_models.rendered_sensor import rendered_sensors
from xtdrone_core import Scenario, resources
from xtdrone_core.contracts import Observer
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.report import vehicle_sensors
from xtdrone_sim.vehicles.sdf import load_vehicle


class Collector(Observer):
    """Keeps the readings of rendered sensors."""

    def __init__(self, readings):
        self._readings, self.wants_readings = readings, True

    def on_reading(self, reading):
        self._readings.append(reading)


def iris_with(folder, sensor):
    """The iris with one sensor more."""
    text = resources.vehicle_sdf("iris").read_text()
    path = folder / "iris_with_one_more.sdf"
    path.write_text(text.replace("</link>", f"{sensor}</link>", 1))
    return path


def test_readings_log_and_message_follow_from_the_declaration(runs, tmp_path, monkeypatch):
    monkeypatch.setitem(sensors(), "thermometer", thermometer.SENSOR)
    vehicle = iris_with(tmp_path, '<sensor name="nose" type="thermometer"/>')
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


def test_images_and_topics_follow_from_the_declaration(tmp_path, monkeypatch):
    monkeypatch.setitem(rendered_sensors(), "thermal", thermal_camera.SENSOR)
    block = """<sensor name="boson" type="thermal"><update_rate>50</update_rate><camera>
        <horizontal_fov>0.8</horizontal_fov><image><width>64</width><height>48</height></image>
        </camera></sensor>"""
    vehicle = iris_with(tmp_path, block)
    simulation = Simulation(Scenario(parse_vehicles(f"{vehicle}@0,0,5"), speed=0.0), links=False)
    readings = []
    simulation.observers.append(Collector(readings))
    (sensor,) = simulation.rendered_sensors()
    simulation.run(until_us=100_000)
    name = simulation.scenario.vehicles[0].name
    simulation.close()

    reported = {each["name"]: each for each in vehicle_sensors(load_vehicle(str(vehicle)))}
    assert reported["boson"]["parameters"]["width"] == 64
    assert [reading.t_us for reading in readings] == [20_000 * k for k in range(1, 6)]
    image = readings[-1].data["temperature"]
    assert image.shape == (48, 64) and image.dtype == np.float32
    assert 280.0 <= image.min() < image.max() <= 320.0
    assert ros_messages.topics(sensor) == [
        (f"/{name}/boson/temperature", "sensor_msgs/Image"),
        (f"/{name}/boson/camera_info", "sensor_msgs/CameraInfo"),
    ]
    fields = ros_messages.messages(sensor, 80_000, readings[-1].data)[0][2]
    assert fields["encoding"] == "32FC1" and fields["data"] == image.tobytes()
    assert ros_messages.transforms([sensor])[0]["child_frame_id"] == f"{name}/boson"
    alone = {**sensor, "namespace": ""}
    assert ros_messages.topics(alone)[0][0] == "/boson/temperature"
    assert ros_messages.transforms([alone])[0]["header"]["frame_id"] == "base_link"
