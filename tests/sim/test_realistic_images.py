"""Realistic images as cameras get them: shadows, fog, weather, and what they leave alone."""

import math
from functools import partial

import numpy as np
import pytest
from test_sensors_rendered import camera_block

from drawing import draws
from sensor_models import SensorError
from sensor_models.cameras import cameras_of
from sensor_models.lens import Pinhole
from xtdrone_core import FleetState, Scenario, ScenarioError, VehicleSpec
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.errors import SdfError
from xtdrone_sim.rendering.realistic.conditions import conditions_of
from xtdrone_sim.rendering.realistic.scene import RealisticScene
from xtdrone_sim.rendering.sensors import RenderedSensors
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

WORLD = """<sdf version="1.7"><world name="yard">
<scene><ambient>0.4 0.4 0.4 1</ambient>{scene}</scene>
<light name="sun" type="directional"><cast_shadows>{shadows}</cast_shadows>
  <direction>{x} 0 {z}</direction></light>
<model name="yard"><static>true</static><link name="link">
  <visual name="ground"><geometry><plane><normal>0 0 1</normal><size>300 300</size></plane>
    </geometry><material><diffuse>0.5 0.5 0.5 1</diffuse></material></visual>
  <visual name="box"><pose>0 0 1 0 0 0</pose><geometry><box><size>1 4 2</size></box></geometry>
    <material><diffuse>1 1 1 1</diffuse>{material}</material></visual>
</link></model></world></sdf>"""
DOWN = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # axes; up is along x
AHEAD = np.eye(3)
SQUARE = partial(Pinhole, -0.5, 0.5, -0.5, 0.5)


def yard(tmp_path, elevation=30.0, shadows=1, scene="", material=""):
    path = tmp_path / "yard.world"
    turn = math.radians(elevation)
    path.write_text(
        WORLD.format(
            x=math.cos(turn), z=-math.sin(turn), shadows=shadows, scene=scene, material=material
        )
    )
    return load_world(path)


def scene_of(world, time_of_day="", weather="", specs=(), models=()):
    return RealisticScene(
        world, specs, models, conditions_of(world, time_of_day, weather), 1, (200, 200)
    )


@pytest.mark.slow
@draws
@pytest.mark.parametrize("elevation", [25.0, 40.0])
def test_a_shadow_ends_at_height_over_tangent_of_the_suns_elevation(tmp_path, elevation):
    """Of a box 2 m high whose edge is at x = 0.5, seen from 10 m above."""
    scene = scene_of(yard(tmp_path, elevation))
    end = 0.5 + 2.0 / math.tan(math.radians(elevation))
    light = scene.luminance(np.array([end, 0.0, 10.0]), DOWN, SQUARE(200, 200), 0.1)[0]
    line = light[:, 100, 1]  # along x, from end - 5 to end + 5
    half = 0.5 * (line[80] + line[120])
    assert line[80] < 0.5 * line[120]
    assert 0.05 * (int(np.argmax(line[80:] > half)) - 20) == pytest.approx(0.0, abs=0.1)
    scene.close()


@draws
def test_a_light_that_casts_no_shadows_casts_none(tmp_path):
    scene = scene_of(yard(tmp_path, shadows=0))
    line = scene.luminance(np.array([3.0, 0.0, 10.0]), DOWN, SQUARE(200, 200), 0.1)[0][:, 100, 1]
    assert line[100] == pytest.approx(line[150], rel=0.1)
    scene.close()


@pytest.mark.slow
@draws
@pytest.mark.parametrize(
    "scene_text,weather,density",
    [
        ("<fog><type>constant</type><density>0.04</density></fog>", "", 0.04),
        ("<fog><type>constant</type><density>0.3</density></fog>", "fog=100", 3.912 / 100.0),
    ],
)
def test_fog_takes_light_by_the_distance(tmp_path, scene_text, weather, density):
    """What arrives of the box's light, at two distances, in the same fog."""
    scene = scene_of(yard(tmp_path, scene=scene_text), weather=weather)
    bright, veil = [], scene.conditions.veil[1]
    for away in (10.0, 30.0):
        light = scene.luminance(np.array([-0.5 - away, 0.0, 1.0]), AHEAD, SQUARE(33, 33), 0.1)[0]
        bright.append(light[16, 16, 1] - veil)
    assert bright[1] / bright[0] == pytest.approx(math.exp(-density * 20.0), rel=0.02)
    scene.close()


@draws
def test_the_ground_goes_on_to_the_horizon(tmp_path):
    """Seen from 100 m, far beyond the plane that is 300 m wide."""
    scene = scene_of(yard(tmp_path))
    distance = scene.luminance(np.array([0.0, 0.0, 100.0]), AHEAD, SQUARE(200, 200), 0.1)[1][:, 100]
    down = 0.5 - (np.arange(200) + 0.5) / 200  # at unit distance
    seen = np.isfinite(distance)
    np.testing.assert_allclose(distance[seen], 100.0 / down[seen], rtol=1e-3)
    assert seen[:97].all() and not seen[100:].any()
    scene.close()


@draws
@pytest.mark.slow
def test_emissive_things_shine_at_night(tmp_path):
    dark, glowing = (
        scene_of(yard(tmp_path, material=words), "0:00")
        for words in ("", "<emissive>1 0.5 0 1</emissive>")
    )
    eye = np.array([-5.0, 0.0, 1.0]), AHEAD, SQUARE(9, 9), 0.1
    one, two = (scene.luminance(*eye)[0][4, 4] for scene in (dark, glowing))
    assert two[0] > 1000.0 * one[0]
    dark.close()
    glowing.close()


@pytest.mark.parametrize(
    "words,message",
    [
        ("<sky><time>25</time></sky>", "give 0 to 24 hours"),
        ("<fog><type>thick</type></fog>", "give none, linear"),
        ("<fog><type>linear</type><start>9</start><end>3</end></fog>", "0 <= start < end"),
        ("<fog><type>exp</type><density>-1</density></fog>", "a density from 0"),
    ],
)
def test_bad_skies_and_fogs_are_refused_in_one_line(tmp_path, words, message):
    with pytest.raises(SdfError, match=message) as caught:
        yard(tmp_path, scene=words)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "words,message",
    [
        ("<pbr><metal><roughness>2</roughness></metal></pbr>", "give 0 to 1"),
        ("<shininess>-1</shininess>", "a number from 0"),
        ("<emissive>1 0</emissive>", "give 4 numbers"),
    ],
)
def test_bad_materials_are_refused_in_one_line(tmp_path, words, message):
    with pytest.raises(SdfError, match=message) as caught:
        yard(tmp_path, material=words)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "tags,words",
    [
        ({"exposure_time": "-1"}, "seconds from 0"),
        ({"exposure_value": "99"}, "EV"),
        ({"vignetting": "2"}, "0 to 1"),
        ({"chromatic_aberration": "1"}, "chromatic"),
        ({"bloom": "0.9"}, "0 to 0.5"),
        ({"vigneting": "1"}, "did you mean <vignetting>"),
    ],
)
def test_bad_lenses_are_refused_in_one_line(tags, words):
    with pytest.raises(SensorError, match=words) as caught:
        cameras_of(camera_block(**tags))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "options,words",
    [
        ({"weather": "snow"}, "give clear, fog=200"),
        ({"weather": "fog=-3"}, "from 5 to 20000 m"),
        ({"weather": "rain=many"}, "from 0.1 to 200 mm/h"),
        ({"weather": "clear=1"}, "give clear"),
        ({"time_of_day": "25:00"}, "0:00 to 24:00"),
        ({"time_of_day": "noon"}, "0:00 to 24:00"),
        ({"rendering": "real"}, "realistic"),
        ({"engine": "gazebo"}, "draws the images itself"),
        ({"rendering": "plain", "weather": "rain"}, "needs realistic images"),
    ],
)
def test_bad_options_are_refused_in_one_line(options, words):
    with pytest.raises(ScenarioError, match=words) as caught:
        Scenario(fleet("iris", 1), **{"rendering": "realistic", **options})
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_the_scenario_goes_before_the_worlds_file(tmp_path):
    world = yard(tmp_path, scene="<sky><time>18.5</time></sky><fog><type>exp2</type></fog>")
    assert world.sky_hour == 18.5 and world.fog.kind == "exp2"
    assert conditions_of(world).sky.towards[0] < conditions_of(world, "6:00").sky.towards[0]
    assert conditions_of(world).air[3] != conditions_of(world, "", "fog=50").air[3]
    assert conditions_of(yard(tmp_path)).sky.towards[2] == pytest.approx(0.5)


def depth_frames(vehicle, realistic, rate="", seed=1, t_us=0):
    world, model = load_world("empty"), load_vehicle(vehicle)
    specs = [VehicleSpec(vehicle, "v_0", (0.0, 0.0, 0.0))]
    make = (
        partial(RealisticScene, world, specs, [model], conditions_of(world, "18:00", rate), seed)
        if realistic
        else None
    )
    sensors = RenderedSensors(world, specs, [model], seed, make)
    state = FleetState.zeros(1, 4)
    state.pos[0] = 0.0, 0.0, 0.6
    state.vel[0], state.t_us = (4.0, 1.0, 0.0), t_us
    sensors.step(state, t_us)
    (reading,) = sensors.step(state, t_us + 40_000)[:1]
    sensors.close()
    return reading.data


@pytest.mark.long
@draws
def test_depth_has_the_same_bytes_and_images_repeat_with_the_seed():
    plain = depth_frames("iris_depth", False)
    one, two = (depth_frames("iris_depth", True, "rain=50") for _ in range(2))
    assert np.isfinite(plain["depth"]).mean() > 0.1
    assert plain["depth"].tobytes() == one["depth"].tobytes() == two["depth"].tobytes()
    assert one["image"].tobytes() == two["image"].tobytes()
    assert one["image"].tobytes() != plain["image"].tobytes()
    other = depth_frames("iris_depth", True, "rain=50", seed=2)
    assert other["image"].tobytes() != one["image"].tobytes()  # other drops, and other noise
