import math

import numpy as np
import pytest

from xtdrone_core import resources
from xtdrone_sim.errors import SdfError
from xtdrone_sim.vehicles.sdf_tree import parse
from xtdrone_sim.world import load_world


def write(tmp_path, body):
    path = tmp_path / "test.world"
    path.write_text(f'<sdf version="1.6"><world name="test">{body}</world></sdf>')
    return str(path)


@pytest.mark.parametrize("name", resources.world_names())
def test_every_world_loads(name):
    world = load_world(name)
    assert world.name == name
    assert world.latitude == pytest.approx(math.radians(47.397742))
    assert world.longitude == pytest.approx(math.radians(8.545594))
    assert (world.altitude, world.gravity, world.wind) == (488.0, 9.80665, {})
    assert 40e-6 < np.linalg.norm(world.magnetic_field) < 55e-6
    assert any(shape.kind == "plane" and shape.collides for shape in world.shapes)
    assert world.lights


@pytest.mark.parametrize("name", resources.world_names())
def test_worlds_step_as_the_autopilot_needs(name):
    physics = parse(resources.world_sdf(name), "world").find("physics")
    assert float(physics.findtext("max_step_size")) == 0.004
    assert float(physics.findtext("real_time_update_rate")) == 250.0


@pytest.mark.parametrize("name", resources.world_names())
def test_worlds_need_no_download(name):
    assert "model://" not in resources.world_sdf(name).read_text()


def test_what_a_world_may_leave_out(tmp_path):
    world = load_world(write(tmp_path, ""))
    assert (world.latitude, world.gravity, world.shapes) == (0.0, 9.80665, ())


def test_own_magnetic_field_wind_and_gravity(tmp_path):
    world = load_world(write(tmp_path, """<magnetic_field>1e-6 2e-5 -4e-5</magnetic_field>
        <wind><linear_velocity>3 0 0</linear_velocity></wind><gravity>0 0 -1.62</gravity>
        <plugin name="w" filename="libgazebo_wind_plugin.so"><windVelocityMean>4</windVelocityMean>
        </plugin>"""))
    assert world.magnetic_field == (1e-6, 2e-5, -4e-5)
    assert world.gravity == 1.62
    assert world.wind == {"linear_velocity": "3 0 0", "windVelocityMean": "4"}


def test_the_usual_includes_are_there(tmp_path):
    world = load_world(write(tmp_path, "<include><uri>model://sun</uri></include><include>"
                                       "<uri>model://ground_plane</uri></include>"))
    assert [light.kind for light in world.lights] == ["directional"]
    assert {shape.kind for shape in world.shapes} == {"plane"}


def test_included_models_stand_at_the_includes_pose(tmp_path):
    crate = tmp_path / "crate"
    crate.mkdir()
    (crate / "model.sdf").write_text("""<sdf version="1.6"><model name="crate"><pose>9 9 9 0 0 0
        </pose><link name="l"><pose>0 0 0.5 0 0 0</pose><collision name="c"><geometry><box>
        <size>1 1 1</size></box></geometry></collision></link></model></sdf>""")
    world = load_world(write(tmp_path, """<include><uri>crate</uri><name>left</name>
        <pose>2 3 0 0 0 0</pose></include><include><uri>crate</uri></include>"""))
    assert [(s.name, s.pose.pos) for s in world.shapes] == [
        ("left::l::c", (2.0, 3.0, 0.5)), ("crate::l::c", (9.0, 9.0, 9.5))]


def test_plane_normals_turn_the_plane(tmp_path):
    world = load_world(write(tmp_path, "".join(
        f"""<model name="m{i}"><link name="l"><collision name="c"><geometry><plane><normal>{n}
        </normal></plane></geometry></collision></link></model>"""
        for i, n in enumerate(("0 0 1", "0 2 0", "1 1 1", "0 0 -1")))))
    found = [shape.pose.direction((0.0, 0.0, 1.0)) for shape in world.shapes]
    third = math.sqrt(1.0 / 3.0)
    np.testing.assert_allclose(found, [(0, 0, 1), (0, 1, 0), (third, third, third), (0, 0, -1)],
                               atol=1e-12)


def test_colours_from_tags_scripts_and_transparency(tmp_path):
    visual = """<visual name="{}"><geometry><sphere><radius>1</radius></sphere></geometry>
        {}</visual>"""
    world = load_world(write(tmp_path, '<model name="m"><link name="l">' + visual.format(
        "a", "<transparency>0.5</transparency><material><diffuse>1 0 0 1</diffuse></material>")
        + visual.format("b", "<material><script><name>Gazebo/Blue</name></script></material>")
        + visual.format("c", "<material><script><name>Gazebo/Bricks</name></script></material>")
        + "</link></model>"))
    assert [s.colour for s in world.shapes] == [(1, 0, 0, 0.5), (0, 0, 1, 1), (1, 1, 1, 1)]
    assert [s.material for s in world.shapes] == ["", "", "Gazebo/Bricks"]


@pytest.mark.parametrize("body, message", [
    ("<gravity>0 1 -9.8</gravity>", "it must point down"),
    ("<spherical_coordinates><latitude_deg>95</latitude_deg><longitude_deg>0</longitude_deg>"
     "</spherical_coordinates>", "is not on the Earth"),
    ("<spherical_coordinates><latitude_deg>5</latitude_deg></spherical_coordinates>",
     "has no <longitude_deg>"),
    ("<spherical_coordinates><latitude_deg>5</latitude_deg><longitude_deg>0</longitude_deg>"
     "<elevation>12000</elevation></spherical_coordinates>", "outside the atmosphere"),
    ("<include><uri>model://nowhere</uri></include>", "'model://nowhere' does not exist"),
    ('<light name="a" type="laser"/>', "light type is 'laser'"),
    ("<magnetic_field>1 2</magnetic_field>", "give 3 numbers"),
])
def test_bad_worlds_say_what_and_where(tmp_path, body, message):
    with pytest.raises(SdfError, match=r"test\.world:1: ") as caught:
        load_world(write(tmp_path, body))
    assert message in str(caught.value)


def test_a_model_that_includes_itself(tmp_path):
    loop = tmp_path / "loop"
    loop.mkdir()
    (loop / "model.sdf").write_text('<sdf version="1.6"><model name="loop"><include>'
                                    "<uri>../loop</uri></include></model></sdf>")
    with pytest.raises(SdfError, match="includes itself"):
        load_world(write(tmp_path, "<include><uri>loop</uri></include>"))
