"""What tests of cameras and lidars share."""

import json

import pytest

from xtdrone_core import VehicleSpec
from xtdrone_sim.errors import EngineError
from xtdrone_sim.rendering import offscreen
from xtdrone_sim.rendering.sensors import RenderedSensors
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

LASER_VEHICLE = """<sdf version="1.7"><model name="iris_laser">
<include><uri>model://iris</uri></include>
<link name="laser"><pose>0 0 0.05 0 1.5707963 0</pose>
  <inertial><mass>0.02</mass><inertia><ixx>1e-5</ixx><iyy>1e-5</iyy><izz>1e-5</izz></inertia>
  </inertial>
  <sensor name="laser" type="ray"><update_rate>20</update_rate>
    <ray><range><min>0.02</min><max>35</max></range></ray>
    <plugin name="laser" filename="libgazebo_lidar_plugin.so">
      <min_distance>0.02</min_distance><max_distance>35.0</max_distance></plugin></sensor></link>
<joint name="laser_joint" type="fixed"><parent>iris::base_link</parent><child>laser</child></joint>
</model></sdf>"""


def can_draw() -> bool:
    try:
        offscreen.backend()
    except EngineError:
        return False
    return True


def described(vehicle: str) -> list[dict]:
    """The cameras and lidars of a vehicle v_0, as the control socket describes them."""
    sensors = RenderedSensors(
        load_world("empty"),
        [VehicleSpec(vehicle, "v_0", (0.0, 0.0, 0.0))],
        [load_vehicle(vehicle)],
        1,
    )
    found: list[dict] = json.loads(json.dumps(sensors.describe()))
    sensors.close()
    return found


draws = pytest.mark.skipif(not can_draw(), reason="neither EGL nor OSMesa works here")
