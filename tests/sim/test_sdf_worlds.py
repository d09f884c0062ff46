import math
import re

import numpy as np
import pytest
from PIL import Image

from sensor_models.lens import Pinhole
from xtdrone_core import FleetState, Scenario, resources
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_dynamics.quaternion import to_euler
from xtdrone_sim.errors import SdfError
from xtdrone_sim.rendering.scene import RenderedScene
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.vehicles.sdf_file import parse
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
    included = re.findall("model://([^</]+)", resources.world_sdf(name).read_text())
    assert all((resources.root() / "models" / model).is_dir() for model in included)


def test_what_a_world_may_leave_out(tmp_path):
    world = load_world(write(tmp_path, ""))
    assert (world.latitude, world.gravity, world.shapes) == (0.0, 9.80665, ())


def test_own_magnetic_field_wind_and_gravity(tmp_path):
    world = load_world(
        write(
            tmp_path,
            """<magnetic_field>1e-6 2e-5 -4e-5</magnetic_field>
        <wind><linear_velocity>3 0 0</linear_velocity></wind><gravity>0 0 -1.62</gravity>
        <plugin name="w" filename="libgazebo_wind_plugin.so"><windVelocityMean>4</windVelocityMean>
        </plugin>""",
        )
    )
    assert world.magnetic_field == (1e-6, 2e-5, -4e-5)
    assert world.gravity == 1.62
    assert world.wind == {"linear_velocity": "3 0 0", "windVelocityMean": "4"}


def test_the_usual_includes_are_there(tmp_path):
    world = load_world(
        write(
            tmp_path,
            "<include><uri>model://sun</uri></include><include>"
            "<uri>model://ground_plane</uri></include>",
        )
    )
    assert [light.kind for light in world.lights] == ["directional"]
    assert {shape.kind for shape in world.shapes} == {"plane"}


def test_included_models_stand_at_the_includes_pose(tmp_path):
    crate = tmp_path / "crate"
    crate.mkdir()
    (crate / "model.sdf").write_text("""<sdf version="1.6"><model name="crate"><pose>9 9 9 0 0 0
        </pose><link name="l"><pose>0 0 0.5 0 0 0</pose><collision name="c"><geometry><box>
        <size>1 1 1</size></box></geometry></collision></link></model></sdf>""")
    world = load_world(
        write(
            tmp_path,
            """<include><uri>crate</uri><name>left</name>
        <pose>2 3 0 0 0 0</pose></include><include><uri>crate</uri></include>""",
        )
    )
    assert [(s.name, s.pose.pos) for s in world.shapes] == [
        ("left::l::c", (2.0, 3.0, 0.5)),
        ("crate::l::c", (9.0, 9.0, 9.5)),
    ]


def test_plane_normals_turn_the_plane(tmp_path):
    world = load_world(
        write(
            tmp_path,
            "".join(
                f"""<model name="m{i}"><link name="l"><collision name="c"><geometry><plane>
<normal>{n}
        </normal></plane></geometry></collision></link></model>"""
                for i, n in enumerate(("0 0 1", "0 2 0", "1 1 1", "0 0 -1"))
            ),
        )
    )
    found = [shape.pose.direction((0.0, 0.0, 1.0)) for shape in world.shapes]
    third = math.sqrt(1.0 / 3.0)
    np.testing.assert_allclose(
        found, [(0, 0, 1), (0, 1, 0), (third, third, third), (0, 0, -1)], atol=1e-12
    )


def test_colours_from_tags_scripts_and_transparency(tmp_path):
    visual = """<visual name="{}"><geometry><sphere><radius>1</radius></sphere></geometry>
        {}</visual>"""
    world = load_world(
        write(
            tmp_path,
            '<model name="m"><link name="l">'
            + visual.format(
                "a",
                "<transparency>0.5</transparency><material><diffuse>1 0 0 1</diffuse></material>",
            )
            + visual.format("b", "<material><script><name>Gazebo/Blue</name></script></material>")
            + visual.format("c", "<material><script><name>Gazebo/Bricks</name></script></material>")
            + "</link></model>",
        )
    )
    assert [s.look.colour for s in world.shapes] == [(1, 0, 0, 0.5), (0, 0, 1, 1), (1, 1, 1, 1)]
    assert [s.look.script for s in world.shapes] == ["", "", "Gazebo/Bricks"]


@pytest.mark.parametrize(
    "body, message",
    [
        ("<gravity>0 1 -9.8</gravity>", "it must point down"),
        (
            "<spherical_coordinates><latitude_deg>95</latitude_deg><longitude_deg>0</longitude_deg>"
            "</spherical_coordinates>",
            "is not on the Earth",
        ),
        (
            "<spherical_coordinates><latitude_deg>5</latitude_deg></spherical_coordinates>",
            "has no <longitude_deg>",
        ),
        (
            "<spherical_coordinates><latitude_deg>5</latitude_deg><longitude_deg>0</longitude_deg>"
            "<elevation>12000</elevation></spherical_coordinates>",
            "outside the atmosphere",
        ),
        ("<include><uri>model://nowhere</uri></include>", "'model://nowhere' does not exist"),
        ('<light name="a" type="laser"/>', "light type is 'laser'"),
        ("<magnetic_field>1 2</magnetic_field>", "give 3 numbers"),
    ],
)
def test_bad_worlds_say_what_and_where(tmp_path, body, message):
    with pytest.raises(SdfError, match=r"test\.world:1: ") as caught:
        load_world(write(tmp_path, body))
    assert message in str(caught.value)


def test_a_model_that_includes_itself(tmp_path):
    loop = tmp_path / "loop"
    loop.mkdir()
    (loop / "model.sdf").write_text(
        '<sdf version="1.6"><model name="loop"><include><uri>../loop</uri></include></model></sdf>'
    )
    with pytest.raises(SdfError, match="includes itself"):
        load_world(write(tmp_path, "<include><uri>loop</uri></include>"))


# Worlds as XTDrone's and PX4's users have them ----------------------------------------------------


def stand(world, seconds=1.5, start="0,0,0.3", **scenario):
    """Where an iris comes to rest, and the contacts there."""
    simulation = Simulation(Scenario(f"iris@{start}", world=world, **scenario), links=False)
    try:
        simulation.run(until_us=round(seconds * 1e6))
        return simulation.state.pos[0].copy(), simulation.engine.contacts().by_name()
    finally:
        simulation.close()


def distance_below(world, x, y):
    """What a lidar at a height of 20 m sees straight below."""
    scene = RenderedScene(
        load_world(world), parse_vehicles("iris@50,50,50"), [load_vehicle("iris")], (8, 8)
    )
    return scene.cast(0, (x, y, 20.0), np.array([0.0, 0.0, -1.0]), 100.0)[0]


def test_a_heightmap_is_flown_over_stood_on_and_seen_by_lidars(tmp_path):
    """Brightness from 0 in the west to 2 m in the east, over 16 m; a step in the north-east."""
    image = np.repeat(np.linspace(0, 100, 33, dtype=np.uint8)[None], 33, axis=0)
    image[:8, 24:] = 200  # the picture's first row is in the north
    Image.fromarray(image).save(tmp_path / "hill.png")
    form = (
        "<geometry><heightmap><uri>hill.png</uri><size>16 16 4</size><pos>0 0 1</pos>"
        "</heightmap></geometry>"
    )
    world = write(
        tmp_path,
        f"""<model name="hill"><static>1</static><link name="l">
        <collision name="c">{form}</collision><visual name="v">{form}</visual></link></model>""",
    )
    for x, y, height in ((-8, 0, 0), (-4, 0, 0.5), (0, 0, 1), (4, 0, 1.5), (6, 6, 4)):
        assert 20.0 - distance_below(world, x * 0.999, y) == pytest.approx(1 + height, abs=0.03)
    (x, y, z), contacts = stand(world, start="6,6,5.3")
    assert z == pytest.approx(5.0 + 0.1, abs=0.1) and contacts == [("hill", "iris_0")]
    assert stand(world, start="-4,-4,1.8")[0][2] == pytest.approx(1.5 + 0.1, abs=0.15)


ROOM = """<mesh><uri>room.obj</uri></mesh>"""


def room(folder):
    """A room of 6 x 6 x 3 m without a ceiling, as one mesh."""
    points, faces = [], []
    for box in (
        ((-3, -3, 0), (3, 3, 0.1)),
        ((-3, -3, 0), (-2.9, 3, 3)),
        ((2.9, -3, 0), (3, 3, 3)),
        ((-3, -3, 0), (3, -2.9, 3)),
        ((-3, 2.9, 0), (3, 3, 3)),
    ):
        first = len(points) + 1
        points += [[box[k >> i & 1][i] for i in range(3)] for k in range(8)]
        faces += [
            [first + k for k in face]
            for face in (
                (0, 2, 3, 1),
                (4, 5, 7, 6),
                (0, 1, 5, 4),
                (2, 6, 7, 3),
                (0, 4, 6, 2),
                (1, 3, 7, 5),
            )
        ]
    (folder / "room.obj").write_text(
        "".join("v {} {} {}\n".format(*point) for point in points)
        + "".join("f {} {} {} {}\n".format(*face) for face in faces)
    )


def test_a_mesh_of_a_room_is_hollow(tmp_path):
    room(tmp_path)
    world = write(
        tmp_path,
        f"""<model name="house"><static>1</static><pose>1 0 2 0 0 0</pose>
        <link name="l"><collision name="c"><geometry>{ROOM}</geometry></collision></link>
        </model>""",
    )
    (x, y, z), contacts = stand(world, start="2,1,2.6")
    assert (x, y) == pytest.approx((2, 1), abs=0.02) and 2.1 < z < 2.35
    assert contacts == [("house", "iris_0")]
    assert distance_below(world, 2, 1) == pytest.approx(17.9)


def test_an_outline_is_extruded(tmp_path):
    points = "".join(f"<point>{x} {y}</point>" for x, y in ((0, 0), (4, 0), (4, 4), (0, 0)))
    world = write(
        tmp_path,
        f"""<model name="stage"><link name="l"><collision name="c"><geometry>
        <polyline>{points}<height>1.5</height></polyline></geometry></collision></link></model>""",
    )
    assert distance_below(world, 3, 1) == pytest.approx(18.5)
    assert distance_below(world, 1, 3) == np.inf
    assert stand(world, start="3,1,1.8")[0][2] == pytest.approx(1.6, abs=0.1)


def test_a_saved_state_goes_before_the_models_poses(tmp_path):
    ball = "<geometry><sphere><radius>1</radius></sphere></geometry>"
    world = load_world(
        write(
            tmp_path,
            f"""<model name="a"><pose>9 9 9 0 0 0</pose><link name="l">
        <collision name="c">{ball}</collision></link></model><state world_name="test">
        <model name="a"><pose>1 2 3 0 0 0</pose></model></state>""",
        )
    )
    assert world.shapes[0].pose.pos == (1, 2, 3)


def test_a_saved_state_has_the_places_of_links_in_the_world(tmp_path):
    """As Gazebo saves a link with a <pose> of its own, and one in a nested model."""
    ball = "<geometry><sphere><radius>1</radius></sphere></geometry>"
    link = f'<link name="l"><pose>9 9 9 0 0 0</pose><collision name="c">{ball}</collision></link>'
    world = load_world(
        write(
            tmp_path,
            f"""<model name="a">{link}<model name="b">{link}</model>
        </model><state world_name="test"><model name="a"><pose>1 2 3 0 0 3.14</pose>
        <link name="l"><pose>1 2 3 0 0 3.14</pose></link><model name="b"><pose>4 5 6 0 0 0</pose>
        <link name="l"><pose>4 5 6 0 0 0</pose></link></model></model></state>""",
        )
    )
    assert [shape.pose.pos for shape in world.shapes] == [(1, 2, 3), (4, 5, 6)]


def test_two_models_of_one_name_are_both_there(tmp_path):
    ball = "<geometry><sphere><radius>1</radius></sphere></geometry>"
    each = f"""<model name="a"><link name="l"><collision name="c">{ball}</collision>
        <collision name="c">{ball}</collision></link></model>"""
    path = write(tmp_path, each + each)
    assert [shape.link for shape in load_world(path).shapes] == ["a::l", "a::l", "a_1::l", "a_1::l"]
    stand(path, 0.1, "0,0,5")


def test_a_visual_that_cannot_be_drawn_is_named(tmp_path):
    visual = '<visual name="{}"><geometry>{}</geometry></visual>'
    world = load_world(
        write(
            tmp_path,
            '<model name="m"><link name="l">'
            + visual.format("a", "<mesh><uri>model://nowhere/a.dae</uri></mesh>")
            + visual.format("b", "<box><size>1 0 1</size></box>")
            + visual.format("c", "<mesh><uri>test.world</uri></mesh>")
            + "</link></model>",
        )
    )
    assert not world.shapes
    for remark, said in zip(
        world.remarks,
        (
            "'model://nowhere/a.dae' does not exist",
            "its size is (1.0, 0.0, 1.0)",
            "'test.world' is no mesh that can be read",
        ),
        strict=True,
    ):
        assert remark.startswith("visual 'm::l::") and said in remark


def test_material_scripts_have_their_pictures(tmp_path):
    Image.new("RGB", (4, 4), (10, 200, 30)).save(tmp_path / "lawn.png")
    (tmp_path / "a.material").write_text("""// material Mine/Lawn
        material Other/One { technique { pass { diffuse 1 0 0 1 } } }
        material Mine/Lawn : Base { technique { pass { texture_unit {
            texture lawn.png
            scale 0.5 0.25 } } } }""")
    script = "<script><uri>.</uri><name>{}</name></script>"
    visual = """<visual name="{0}"><pose>0 0 {0} 0 0 0</pose><geometry><plane><size>4 4</size>
        </plane></geometry><material>{1}</material></visual>"""
    path = write(
        tmp_path,
        '<model name="m"><link name="l">'
        + visual.format(0, script.format("Mine/Lawn"))
        + visual.format(-1, script.format("Other/One"))
        + "</link></model>",
    )
    lawn, red = (shape.look for shape in load_world(path).shapes)
    assert (lawn.texture.name, lawn.repeats) == ("lawn.png", (2.0, 4.0))
    assert (red.colour, red.texture) == ((1, 0, 0, 1), None)
    scene = RenderedScene(load_world(path), (), (), (16, 16))
    down = (0.0, math.sqrt(0.5), 0.0, math.sqrt(0.5))
    red, green, blue = scene.draw(
        (0, 0, 1), down, Pinhole(-0.5, 0.5, -0.5, 0.5, 16, 16), 0.1, 10.0
    )[8, 8]
    scene.close()
    assert green > 3 * max(red, blue)


def test_lights_reach_as_far_as_the_file_says(tmp_path):
    lamp, sun = load_world(
        write(
            tmp_path,
            """<light name="a" type="spot"><pose>0 0 3 0 0 0</pose>
        <attenuation><range>7</range><constant>0.5</constant><linear>0.1</linear>
        <quadratic>0.01</quadratic></attenuation><direction>0 0 -1</direction>
        <spot><inner_angle>0.1</inner_angle><outer_angle>1.0</outer_angle><falloff>2</falloff></spot>
        </light><light name="b" type="directional"><direction>1 0 -1</direction></light>""",
        )
    ).lights
    assert (lamp.range, lamp.attenuation, lamp.cutoff, lamp.falloff) == (7, (0.5, 0.1, 0.01), 1, 2)
    assert (sun.direction, sun.attenuation) == ((1, 0, -1), (1, 0, 0))


ACTOR = """<actor name="walker"><pose>5 5 0 0 0 0</pose><skin><filename>nobody.dae</filename></skin>
    <script><loop>{loop}</loop><delay_start>1</delay_start><trajectory id="0" type="walking">
    <waypoint><time>0</time><pose>2 -1 0 0 0 0</pose></waypoint>
    <waypoint><time>2</time><pose>2 0 0 0 0 1.5</pose></waypoint>
    <waypoint><time>4</time><pose>2 1 0 0 0 3</pose></waypoint></trajectory></script></actor>"""


def test_an_actor_walks_its_trajectory_and_cameras_see_it(tmp_path):
    path = write(tmp_path, ACTOR.format(loop=1))
    world = load_world(path)
    (actor,) = world.actors
    (remark,) = world.remarks
    assert "'walker' is drawn as a cylinder" in remark and "'nobody.dae' does not exist" in remark
    for t, y, yaw in (
        (0.0, -1, 0),
        (1.0, -1, 0),
        (2.0, -0.5625, 0.75),
        (3.0, 0, 1.5),
        (5.0, 1, 3),
        (7.0, 0, 1.5),
    ):
        assert actor.pose(t).pos == pytest.approx((2, y, 0), abs=1e-9)
        assert to_euler(*actor.pose(t).quat)[2] == pytest.approx(yaw, abs=1e-9)
    (once,) = load_world(write(tmp_path, ACTOR.format(loop=0))).actors
    assert once.pose(9.0).pos == (2, 1, 0)
    scene = RenderedScene(
        load_world(path), parse_vehicles("iris@-9,0,5"), [load_vehicle("iris")], (60, 20)
    )
    state = FleetState.zeros(1, 4)
    state.pos[0] = -9.0, 0.0, 5.0
    columns = []
    for t_us in (1_000_000, 3_000_000, 5_000_000):
        state.t_us = t_us
        scene.place(state)
        image = scene.draw((-1, 0, 1), (0, 0, 0, 1), Pinhole(-1, 1, -0.3, 0.3, 60, 20), 0.1, 50.0)
        shown = np.abs(image[10].astype(int) - image[0, 0].astype(int)).sum(axis=1) > 20
        columns.append(np.flatnonzero(shown).mean())
    scene.close()
    assert columns[0] > columns[1] + 5 > columns[2] + 10  # from the right to the left
    assert columns[1] == pytest.approx(29.5, abs=1.5)
