import math
import re

import numpy as np
import pytest

from physics import MULTIROTORS
from xtdrone_core import ScenarioError
from xtdrone_sim.errors import SdfError
from xtdrone_sim.vehicles.sdf import load_vehicle

LINK = """
<link name="{name}"><pose>{pose}</pose><inertial><pose>{offset}</pose><mass>{mass}</mass><inertia>
<ixx>{i[0]}</ixx><iyy>{i[1]}</iyy><izz>{i[2]}</izz></inertia></inertial>{more}</link>"""
ROTOR = """
<joint name="{name}_joint" type="revolute"><parent>base</parent><child>{name}</child>
<axis><xyz>0 0 1</xyz></axis></joint>
<plugin name="m{number}" filename="libgazebo_motor_model.so"><jointName>{name}_joint</jointName>
<linkName>{name}</linkName><turningDirection>{turn}</turningDirection>
<timeConstantUp>0.01</timeConstantUp><timeConstantDown>0.02</timeConstantDown>
<maxRotVelocity>1000</maxRotVelocity><motorConstant>1e-5</motorConstant>
<momentConstant>0.05</momentConstant><motorNumber>{number}</motorNumber>
<rotorDragCoefficient>1e-4</rotorDragCoefficient>
<rollingMomentCoefficient>1e-6</rollingMomentCoefficient></plugin>"""


def link(
    name="base", pose="0 0 0 0 0 0", offset="0 0 0 0 0 0", mass="1", i=(0.01, 0.01, 0.01), more=""
):
    return LINK.format(name=name, pose=pose, offset=offset, mass=mass, i=i, more=more)


def rotor(name="r0", number=0, turn="ccw"):
    return ROTOR.format(name=name, number=number, turn=turn)


def hinge(name, parent, child):
    return (
        f'<joint name="{name}" type="revolute"><parent>{parent}</parent><child>{child}</child>'
        "<axis><xyz>0 1 0</xyz></axis></joint>"
    )


def channel(number, joint):
    return (
        '<plugin name="link" filename="libgazebo_mavlink_interface.so"><control_channels>'
        f'<channel name="{joint}"><input_index>{number}</input_index><input_scaling>1'
        "</input_scaling><joint_control_type>position</joint_control_type>"
        f"<joint_name>{joint}</joint_name></channel></control_channels></plugin>"
    )


def write(tmp_path, body):
    path = tmp_path / "vehicle.sdf"
    path.write_text(f'<sdf version="1.7"><model name="test">{body}</model></sdf>')
    return str(path)


GOOD = link() + link("r0", "0.1 0 0.05 0 0 0", mass="0.01", i=(1e-5, 1e-5, 1e-5)) + rotor()


@pytest.mark.parametrize("name", MULTIROTORS)
def test_every_vehicle_loads_and_can_fly(name):
    model = load_vehicle(name)
    assert model.type == name
    thrust = sum(
        rotor.motor_constant * rotor.max_rot_velocity**2 * rotor.axis[2] for rotor in model.rotors
    )
    assert thrust > 1.3 * model.mass * 9.80665
    turning = sum(rotor.direction * rotor.moment_constant for rotor in model.rotors)
    assert turning == pytest.approx(0.0, abs=1e-12)
    assert {"imu", "magnetometer", "barometer", "gps"} <= {s.kind for s in model.sensors}
    shapes = model.shapes
    assert any(shape.collides for shape in shapes) and not all(s.collides for s in shapes)
    for rotor in model.rotors:
        top = rotor.input_scaling + rotor.zero_position_armed
        assert top == pytest.approx(rotor.max_rot_velocity)


def test_iris_has_px4s_places_and_directions():
    """FLU from the FRD figures: y changes its sign. All sensors must come through."""
    model = load_vehicle("iris")
    assert [rotor.direction for rotor in model.rotors] == [1, 1, -1, -1]
    np.testing.assert_allclose(
        [rotor.pos[:2] for rotor in model.rotors],
        [(0.1515, -0.245), (-0.1515, 0.1875), (0.1515, 0.245), (-0.1515, -0.1875)],
        atol=1e-12,
    )
    assert 1.45 < model.mass < 1.65
    assert (model.rotors[0].input_scaling, model.rotors[0].zero_position_armed) == (1000.0, 100.0)
    gps = next(sensor for sensor in model.sensors if sensor.kind == "gps")
    assert gps.parameters["preset"] == "rtk"
    assert gps.pos[2] == pytest.approx(0.15 - model.cog[2])


def test_links_merge_by_the_parallel_axis_theorem(tmp_path):
    """Two points of 1 and 3 kg, 0.4 m apart: reduced mass 0.75 kg."""
    small = (1e-4, 1e-4, 1e-4)
    body = (
        link(mass="1", i=small) + link("r0", "0.3 0 0 0 0 0", "0.1 0 0 0 0 0", "3", small) + rotor()
    )
    model = load_vehicle(write(tmp_path, body))
    assert model.mass == pytest.approx(4.0)
    np.testing.assert_allclose(model.cog, (0.3, 0.0, 0.0), atol=1e-15)
    np.testing.assert_allclose(model.inertia, np.diag([2e-4, 0.1202, 0.1202]), atol=1e-15)
    np.testing.assert_allclose(model.rotors[0].pos, (0.0, 0.0, 0.0), atol=1e-15)


def test_inertia_turns_with_its_link(tmp_path):
    body = (
        link(pose="0 0 0 0 0 0.5", i=(0.01, 0.02, 0.025))
        + link("r0", mass="1e-9", i=(1e-12, 1e-12, 1e-12))
        + rotor()
    )
    turn = np.array(
        [[math.cos(0.5), -math.sin(0.5), 0], [math.sin(0.5), math.cos(0.5), 0], [0, 0, 1]]
    )
    np.testing.assert_allclose(
        load_vehicle(write(tmp_path, body)).inertia,
        turn @ np.diag([0.01, 0.02, 0.025]) @ turn.T,
        atol=1e-10,
    )


def test_frames_relative_to_joints_and_nested_models(tmp_path):
    body = (
        link(pose="0 0 1 0 0 1.5707963")
        + """
    <joint name="r0_joint" type="revolute"><pose relative_to="base">0.5 0 0 0 0 0</pose>
    <parent>base</parent><child>r0</child><axis><xyz>0 0 1</xyz></axis></joint>
    <model name="box"><pose relative_to="base">0 1 0 0 0 0</pose>"""
        + link(
            "inside",
            more="""
    <sensor name="eye" type="camera"><pose>0 0 0.5 0 0 0</pose><camera/></sensor>""",
        )
        + "</model>"
    )
    body += link("r0").replace(
        "<pose>0 0 0 0 0 0</pose><inertial>",
        '<pose relative_to="r0_joint">0 0 0 0 0 0</pose><inertial>',
    )
    body += rotor()[rotor().index("<plugin") :]
    model = load_vehicle(write(tmp_path, body))
    cog = np.array(model.cog)
    np.testing.assert_allclose(model.rotors[0].pos + cog, (0.0, 0.5, 1.0), atol=1e-6)
    assert [sensor.kind for sensor in model.sensors] == ["camera"]
    np.testing.assert_allclose(model.sensors[0].pos + cog, (-1.0, 0.0, 1.5), atol=1e-6)


@pytest.mark.parametrize(
    "body, message",
    [
        (link(mass="-1"), "mass of link 'base' is -1 kg: give a mass above 0"),
        (GOOD.replace("<mass>1</mass>", "<mass>heavy</mass>"), "<mass> is 'heavy': give a number"),
        (link(i=(0.01, -0.01, 0.01)) + rotor(), "inertia of link 'base' is not positive"),
        ("", "the model has no link"),
        (GOOD.replace("ccw", "left"), "turningDirection is 'left': give ccw or cw"),
        (GOOD.replace("<motorConstant>1e-5</motorConstant>", ""), "has no <motorConstant>"),
        (GOOD.replace("1e-5</motorC", "0</motorC"), "<motorConstant> of a rotor is 0"),
        (GOOD.replace("<xyz>0 0 1</xyz>", "<xyz>0 0 0</xyz>"), "is 0 0 0: give a direction"),
        (GOOD.replace("<axis><xyz>0 0 1</xyz></axis>", ""), "joint 'r0_joint' has no <axis>"),
        (link(i=(0.0, 0.0, 0.0)) + rotor(), "inertia of link 'base' is not positive"),
        (
            GOOD.replace("<motorNumber>0", "<motorNumber>16"),
            "<motorNumber> is 16: the autopilot has 16 outputs, give 0 to 15",
        ),
        (GOOD + channel(16, "r0_joint"), "<input_index> is 16: the autopilot has 16 outputs"),
        (
            GOOD + '<plugin name="w" filename="libLiftDragPlugin.so"><link_name>base</link_name>'
            "<area>0</area></plugin>",
            "<area> of wing 'w' is 0: give a number above 0",
        ),
        (
            GOOD
            + link("a")
            + link("b")
            + hinge("one", "base", "a")
            + hinge("two", "base", "b")
            + hinge("held", "a", "b")
            + channel(4, "one")
            + channel(5, "two"),
            "'b' is moved by two joints",
        ),
        (GOOD.replace("<jointName>r0_joint", "<jointName>nothing"), "there is no joint 'nothing'"),
        (
            GOOD.replace('<link name="r0"><pose>', '<link name="r0"><pose relative_to="x">'),
            "there is no frame 'x'",
        ),
        (GOOD.replace("<pose>0.1 0 0.05 0 0 0</pose>", "<pose>1 2 3</pose>"), "give 6 numbers"),
        (GOOD.replace('name="r0"', 'name="base"'), "two elements called 'base'"),
        (
            GOOD.replace('<link name="r0"><pose>', '<link name="r0"><pose relative_to="r0">'),
            "the frame 'r0' is relative to itself",
        ),
        (
            link(
                more='<collision name="c"><geometry><mesh><uri>gone.stl</uri></mesh></geometry>'
                "</collision>"
            )
            + GOOD[len(link()) :],
            "'gone.stl' does not exist",
        ),
        (
            link(more='<collision name="c"><geometry><torus/></geometry></collision>')
            + GOOD[len(link()) :],
            "geometry <torus> is not supported",
        ),
    ],
)
def test_bad_files_say_what_and_where(tmp_path, body, message):
    with pytest.raises(SdfError) as caught:
        load_vehicle(write(tmp_path, body))
    text = str(caught.value)
    assert message in text and "\n" not in text
    assert re.match(r".*vehicle\.sdf:\d+: ", text)


def test_malformed_xml_says_the_line(tmp_path):
    path = tmp_path / "vehicle.sdf"
    path.write_text('<sdf version="1.7">\n<model name="a">\n<link>\n</model></sdf>')
    with pytest.raises(SdfError, match=r"vehicle\.sdf:4: not well-formed XML"):
        load_vehicle(str(path))


def test_no_sdf_at_all(tmp_path):
    path = tmp_path / "vehicle.sdf"
    path.write_text("<robot/>")
    with pytest.raises(SdfError, match="is URDF: convert it by 'gz sdf -p vehicle.sdf"):
        load_vehicle(str(path))


def test_unknown_vehicle_names_the_nearest():
    with pytest.raises(ScenarioError, match="did you mean 'iris'"):
        load_vehicle("irs")


def test_a_changed_file_is_read_again(tmp_path):
    path = write(tmp_path, GOOD)
    first = load_vehicle(path).mass
    write(tmp_path, GOOD.replace("<mass>1</mass>", "<mass>2</mass>"))
    import os

    os.utime(path, ns=(1, 1))
    assert load_vehicle(path).mass == pytest.approx(first + 1.0)


@pytest.mark.parametrize("side, size", [("0", "(1.0, 0.0, 1.0)"), ("5e-324", "(1.0, 5e-324, 1.0)")])
def test_a_collision_without_a_size_is_left_out_and_named(tmp_path, side, size):
    flat = (
        f'<collision name="c"><geometry><box><size>1 {side} 1</size></box></geometry></collision>'
    )
    model = load_vehicle(write(tmp_path, link(more=flat) + GOOD[len(link()) :]))
    assert f"collision 'base::c' is left out: its size is {size}" in model.remarks
    assert not any(shape.collides for shape in model.shapes)
