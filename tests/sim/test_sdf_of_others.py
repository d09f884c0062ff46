"""Models as PX4's and XTDrone's users have them: folders, includes, templates, meshes."""

import dataclasses
import os

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import jointed
from xtdrone_autopilot.control.output import at_rest
from xtdrone_core import FleetModel, Scenario, ScenarioError, resources
from xtdrone_core.command import main
from xtdrone_core.scenario.vehicles import fleet, parse_vehicles
from xtdrone_dynamics.abilities.vehicle_type import cannot_fly
from xtdrone_sim.errors import SdfError
from xtdrone_sim.model_check import check
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.mesh import Extrusion, MeshFile, convex_pieces
from xtdrone_sim.vehicles.sdf import load_vehicle

BASE = jointed.link("base")
EYE = '<sensor name="eye" type="camera"><update_rate>25</update_rate><camera/></sensor>'


def sensors(*names, link="base", more=""):
    return "".join(
        f'<plugin name="{name}" filename="libgazebo_{name}_plugin.so">'
        f"<linkName>{link}</linkName>{more}</plugin>"
        for name in names
    )


def model(folder, body, file="model.sdf", config=None, name="test"):
    """A model's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(f'<sdf version="1.6"><model name="{name}">{body}</model></sdf>')
    if config is not None:
        named = "".join(f"<sdf{version}>{text}</sdf>" for version, text in config)
        (folder / "model.config").write_text(f"<model><name>x</name>{named}</model>")
    return folder


# Files -----------------------------------------------------------------------------------------


def test_model_config_names_the_file_of_the_newest_version(tmp_path):
    folder = model(
        tmp_path / "kite",
        jointed.link("old"),
        "model-1_4.sdf",
        [
            (' version="1.4"', "model-1_4.sdf"),
            (" version='1.6'", " kite.sdf "),
            ("", "nothing.sdf"),
        ],
    )
    model(
        folder,
        jointed.link("new"),
        "kite.sdf",
        [(' version="1.4"', "model-1_4.sdf"), (" version='1.6'", " kite.sdf ")],
    )
    assert load_vehicle(str(folder)).bodies[0].name == "new"
    assert load_vehicle(str(folder / "model-1_4.sdf")).bodies[0].name == "old"


def test_a_config_that_names_a_missing_file_leaves_the_only_one(tmp_path):
    folder = model(tmp_path / "iris_2d", BASE, "iris_2d.sdf", [(' version="1.5"', "iris.sdf")])
    assert load_vehicle(str(folder)).sdf == folder / "iris_2d.sdf"
    model(folder, BASE, "second.sdf")
    with pytest.raises(ScenarioError, match=r"has 2 SDF files.*model.config names 'iris.sdf'"):
        load_vehicle(str(folder))


def test_a_template_says_what_renders_it(tmp_path):
    folder = model(tmp_path / "jet", BASE, "jet.sdf.jinja", [("", "jet.sdf")])
    with pytest.raises(ScenarioError, match="jet.sdf.jinja: render it first .*jinja_gen"):
        load_vehicle(str(folder))


SOURCES = {  # a file of a model's folder, and what is said of it
    "uuv.sdf.jinja": "has a template only, uuv.sdf.jinja: render it first (PX4's scripts/jinja_gen",
    "uuv.sdf.j2": "has a template only",
    "model.sdf.erb": "has a template only, model.sdf.erb: render it first (erb",
    "model.rsdf": "has a template only",
    "arm.sdf.em": "has a template only",
    "arm.urdf.xacro": "has a template only, arm.urdf.xacro: render it first (xacro",
    "arm.urdf": "has URDF only, arm.urdf: convert it first (gz sdf -p arm.urdf > arm.sdf)",
    "readme.txt": "has no SDF file",
    "": "has no SDF file",
}


@pytest.mark.parametrize("config", [True, False])
@pytest.mark.parametrize("name, said", SOURCES.items(), ids=[*SOURCES][:-1] + ["nothing"])
@pytest.mark.parametrize(
    "command",
    [
        ("vehicle", "check"),
        ("vehicle", "show"),
        ("sim", "--vehicle"),
        ("fly", "square", "--vehicle"),
    ],
)
@pytest.mark.slow
def test_a_folder_without_sdf_is_refused_with_a_reason(
    tmp_path, capfd, command, name, said, config
):
    folder = tmp_path / "uuv"
    folder.mkdir()
    if name:
        (folder / name).write_text("<sdf/>")
    if config:
        (folder / "model.config").write_text("<model><sdf>uuv.sdf</sdf></model>")
    assert main([*command, str(folder)]) == 1
    out, err = capfd.readouterr()
    (line,) = (text for text in (out + err).splitlines() if "uuv" in text)
    assert said in line and "Traceback" not in err


def test_a_folder_of_models_has_a_line_on_each(tmp_path, capfd):
    model(tmp_path / "kite", BASE)
    model(tmp_path / "jet", BASE, "jet.sdf.erb")
    (tmp_path / "meshes").mkdir()
    assert main(["vehicle", "check", str(tmp_path)]) == 1
    jet, kite = capfd.readouterr().out.splitlines()
    assert jet.startswith("refused  jet ") and kite.startswith("loads    kite ")


ROBOT = '<robot name="m"{}><link name="base_link"/></robot>'
XACRO = ' xmlns:xacro="http://ros.org/wiki/xacro"'


@pytest.mark.parametrize("name", ["mav.gazebo", "mav.urdf", "mav.xacro", "mav.sdf", "mav"])
@pytest.mark.parametrize("xacro", [True, False])
def test_urdf_and_xacro_are_told_by_their_root_element(tmp_path, monkeypatch, name, xacro):
    monkeypatch.setenv("PATH", str(tmp_path))
    path = tmp_path / name
    path.write_text(f"<!-- {XACRO} -->" + ROBOT.format(XACRO if xacro else ""))
    convert = f"'gz sdf -p {'mav.urdf' if xacro else name} > mav.sdf'"
    expand = f"run 'xacro {name} > mav.urdf' and "
    with pytest.raises(SdfError) as error:
        load_vehicle(path)
    assert str(error.value).removesuffix(" elsewhere").endswith((expand if xacro else "") + convert)


def test_what_xacro_expands_to_urdf_needs_both_steps(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    program = tmp_path / "xacro"
    program.write_text(f"#!/bin/sh\necho '{ROBOT.format('')}'\n")
    program.chmod(0o755)
    (tmp_path / "mav.gazebo").write_text(ROBOT.format(XACRO))
    with pytest.raises(SdfError, match="is URDF.* 'xacro mav.gazebo > mav.urdf' and 'gz sdf -p"):
        load_vehicle(tmp_path / "mav.gazebo")


def test_sdf_called_xacro_needs_no_xacro(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    folder = model(tmp_path / "kite", BASE, "kite.xacro")
    assert load_vehicle(folder / "kite.xacro").bodies[0].name == "base"
    text = (folder / "kite.xacro").read_text()
    for k, more in enumerate(("", "<xacro:arg name='a' default='b'/><!-- ${a} -->")):
        made = text.replace("<sdf ", f"<sdf {XACRO} ").replace("<model", f"{more}<model")
        (folder / f"made_{k}.sdf").write_text(made)
        assert load_vehicle(folder / f"made_{k}.sdf").bodies[0].name == "base"
    (folder / "turned.xacro").write_text(text.replace('name="test"', 'name="${name}"'))
    with pytest.raises(SdfError, match="is a xacro file, and there is no program xacro"):
        load_vehicle(folder / "turned.xacro")


def test_a_xacro_file_is_expanded_by_xacro(tmp_path, monkeypatch):
    source = tmp_path / "jet.sdf.xacro"
    source.write_text('<sdf xmlns:xacro="http://ros.org/wiki/xacro"><xacro:jet/></sdf>')
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SdfError, match="no program xacro"):
        load_vehicle(str(source))
    (tmp_path / "out.sdf").write_text(f'<sdf version="1.6"><model name="m">{BASE}</model></sdf>')
    program = tmp_path / "xacro"
    program.write_text(f"#!/bin/sh\n/bin/cat {tmp_path}/out.sdf\n")
    program.chmod(0o755)
    assert load_vehicle(str(source)).bodies[0].name == "base"
    program.write_text("#!/bin/sh\necho 'no such macro: wing' >&2\nexit 2\n")
    os.utime(source, (1, 1))
    with pytest.raises(SdfError, match="xacro cannot expand it: no such macro: wing"):
        load_vehicle(str(source))


def test_an_xml_declaration_may_stand_behind_a_templates_comment(tmp_path):
    path = tmp_path / "late.sdf"
    path.write_text(
        f'<!-- made -->\n<?xml version="1.0"?>\n<sdf version="1.6"><model name="m">'
        f"{BASE}</model></sdf>"
    )
    assert load_vehicle(str(path)).bodies[0].name == "base"


def test_included_models_are_looked_for_beside_the_file_then_on_gazebos_path(tmp_path, monkeypatch):
    include = "<include><uri>model://{}</uri></include>"
    near, far = tmp_path / "near", tmp_path / "far"
    model(far / "wing", jointed.link("far"), "wing.sdf", [(' version="1.6"', "wing.sdf")])
    vehicle = model(near / "kite", BASE + include.format("wing"))
    with pytest.raises(
        SdfError, match=r"'model://wing' does not exist: looked in .*near.*GAZEBO_MODEL_PATH"
    ):
        load_vehicle(str(vehicle))
    monkeypatch.setenv("GAZEBO_MODEL_PATH", str(far))
    assert "test::far" in load_vehicle(str(vehicle)).bodies[0].links
    model(near / "wing", jointed.link("near"))
    os.utime(vehicle / "model.sdf", (2, 2))
    assert "test::near" in load_vehicle(str(vehicle)).bodies[0].links


# Frames ----------------------------------------------------------------------------------------

WING = (
    jointed.link("tip", "0 1 0 0 0 0")
    + jointed.link("root")
    + jointed.joint("spar", "root", "tip", "1 0 0", kind="fixed")
)


def test_a_merged_include_becomes_part_of_the_model(tmp_path):
    model(tmp_path / "wing", WING)
    vehicle = load_vehicle(
        str(
            model(
                tmp_path / "kite",
                BASE
                + """
        <frame name="mount"><pose>0 0 1 0 0 1.5707963267948966</pose></frame>
        <include merge="true"><uri>model://wing</uri><pose relative_to="mount">0 0 0.5 0 0 0</pose>
        </include>"""
                + jointed.joint("glue", "base", "tip", "1 0 0", kind="fixed"),
            )
        )
    )
    assert set(vehicle.bodies[0].links) == {"base", "tip", "root"}
    places = {
        shape.link: np.add(shape.pose.pos, vehicle.cog)
        for shape in vehicle.shapes
        if shape.collides
    }
    np.testing.assert_allclose(places["root"], (0.0, 0.0, 1.5), atol=1e-12)
    np.testing.assert_allclose(places["tip"], (-1.0, 0.0, 1.5), atol=1e-12)


def test_a_placement_frame_is_what_the_includes_pose_places(tmp_path):
    model(tmp_path / "wing", WING)
    vehicle = load_vehicle(
        str(
            model(
                tmp_path / "kite",
                BASE
                + """
        <include><uri>model://wing</uri><name>left</name><pose>0 0 2 0 0 0</pose>
        <placement_frame>tip</placement_frame></include>"""
                + jointed.joint("glue", "base", "left::root", "1 0 0", kind="fixed"),
            )
        )
    )
    places = {
        shape.link: np.add(shape.pose.pos, vehicle.cog)
        for shape in vehicle.shapes
        if shape.collides
    }
    np.testing.assert_allclose(places["left::tip"], (0.0, 0.0, 2.0), atol=1e-12)
    np.testing.assert_allclose(places["left::root"], (0.0, -1.0, 2.0), atol=1e-12)


# What PX4's plugins tolerate --------------------------------------------------------------------


def quadrotor(base=BASE, numbers=(0, 1, 2, 3), more=""):
    body = base
    for k, (x, y) in enumerate(((0.2, -0.2), (-0.2, 0.2), (0.2, 0.2), (-0.2, -0.2))):
        arm = jointed.rotor(k, "base", f"{x} {y} 0.05")
        turning = "ccw" if k < 2 else "cw"
        body += arm.replace(">ccw<", f">{turning}<").replace(
            f"<motorNumber>{k}<", f"<motorNumber>{numbers[k]}<"
        )
    return body + sensors("imu", "magnetometer", "barometer", "gps") + more


def test_motor_numbers_may_have_gaps_and_twins(tmp_path):
    vehicle = load_vehicle(str(model(tmp_path / "quad", quadrotor(numbers=(4, 0, 4, 7)))))
    assert [rotor.channel for rotor in vehicle.rotors] == [0, 4, 4, 7]
    assert [rotor.name for rotor in vehicle.rotors][1:3] == ["rotor_0_joint", "rotor_2_joint"]
    assert cannot_fly(FleetModel.of([vehicle])) == [""]


def test_a_channel_may_name_its_joint_behind_the_models_own_name(tmp_path):
    body = jointed.GIMBAL.replace("<joint_name>yaw<", "<joint_name>test::yaw<")
    vehicle = load_vehicle(str(model(tmp_path / "kite", body.replace("xtdrone:servo", "servo_"))))
    assert [joint.name for joint in vehicle.joints] == ["yaw", "pitch"]


def test_gimbal_channels_move_the_joints_of_the_gimbals_plugin(tmp_path):
    body = (
        jointed.GIMBAL.replace("xtdrone:servo", "servo_")
        .replace(">position<", ">position_gztopic<")
        .replace("<joint_name>yaw<", "<gztopic>/gimbal_yaw_cmd</gztopic><joint_name>pitch<")
        + '<plugin name="g" filename="libgazebo_gimbal_controller_plugin.so">'
        "<joint_yaw>test::yaw</joint_yaw></plugin>"
    )
    vehicle = load_vehicle(str(model(tmp_path / "kite", body)))
    assert [joint.name for joint in vehicle.joints] == ["yaw", "pitch"] and not vehicle.remarks


def test_an_inertia_that_no_body_has_is_named_and_reduced(tmp_path):
    body = quadrotor(jointed.link("base", inertia=(0.01, 0.01, 0.05)))
    vehicle = load_vehicle(str(model(tmp_path / "quad", body)))
    assert "no rigid body has the principal moments of inertia" in vehicle.remarks[0]
    moments = np.linalg.eigvalsh(vehicle.inertia)
    assert moments[2] == pytest.approx(moments[0] + moments[1], rel=1e-5)
    Simulation(Scenario(fleet(str(vehicle.sdf), 1)), links=False).close()


def test_rates_between_two_steps_are_rounded_with_one_remark(tmp_path):
    cameras = "".join(
        EYE.replace("eye", f"eye{rate}").replace(">25<", f">{rate}<") for rate in (20, 25, 30)
    )
    body = (
        jointed.link("base", more=cameras)
        + sensors("magnetometer", more="<pubRate>100</pubRate>")
        + sensors("barometer", more="<pubRate>50</pubRate>")
    )
    vehicle = load_vehicle(str(model(tmp_path / "kite", body)))
    assert vehicle.remarks == (
        "rates become whole steps of 4 ms: magnetometer 'magnetometer' 100 to 83.33 Hz, "
        "camera 'eye20' 20 to 19.23 Hz, camera 'eye30' 30 to 27.78 Hz",
    )


def test_further_sensors_of_a_kind_are_left_out_and_names_are_kept_apart(tmp_path):
    model(tmp_path / "head", jointed.link("link", more=EYE))
    include = "<include><uri>model://head</uri><name>{}</name></include>"
    vehicle = load_vehicle(
        str(
            model(
                tmp_path / "kite",
                quadrotor(more=sensors("gps").replace('name="gps"', 'name="second"'))
                + include.format("one")
                + include.format("two"),
            )
        )
    )
    assert [block.name for block in vehicle.sensors if block.kind == "camera"] == ["eye", "two_eye"]
    assert vehicle.remarks == ("left out, since a vehicle has one of a kind: gps 'second'",)


def test_rotors_that_lift_backwards_only_are_named(tmp_path):
    body = (
        quadrotor()
        .replace("<axis><xyz>0 0 1<", "<axis><xyz>0 0 -1<")
        .replace("<motorNumber>", "<reversible>true</reversible><motorNumber>")
    )
    (why,) = cannot_fly(FleetModel.of([load_vehicle(str(model(tmp_path / "quad", body)))]))
    assert "turn backwards" in why


def test_a_tilting_motor_rests_where_the_model_is_drawn(tmp_path):
    body = jointed.TILT.replace("<zero_position_armed>0.0<", "<zero_position_armed>0.785<").replace(
        "xtdrone:servo", "servo_"
    )
    vehicle = load_vehicle(str(model(tmp_path / "tilt", body)))
    assert at_rest(FleetModel.of([vehicle]))[0] == pytest.approx((0.0, 0.0, -0.5))


# Flights ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_distant_imu_does_not_disturb_the_flight(tmp_path):
    """As of PX4's tail-sitters, whose IMU sits at the tail."""
    tail = jointed.link("tail", "0 0 -0.45 0 0 0", 0.01, (1e-5, 1e-5, 1e-5)) + jointed.joint(
        "boom", "base", "tail", "1 0 0", kind="fixed"
    )
    body = quadrotor() + tail
    body = body.replace(
        'libgazebo_imu_plugin.so"><linkName>base<', 'libgazebo_imu_plugin.so"><linkName>tail<'
    )
    found = check(model(tmp_path / "sitter", body), 6.0)
    assert found.verdict == "flies", found
    assert float(found.reason.split()[2]) < 0.15


@pytest.mark.slow
def test_check_prints_a_line_on_each_model(tmp_path, capsys):
    model(tmp_path / "all" / "quad", quadrotor())
    model(tmp_path / "all" / "blind", quadrotor().replace(sensors("gps"), ""))
    model(tmp_path / "all" / "torn", BASE.replace("</link>", ""))
    assert main(["vehicle", "check", str(tmp_path / "all"), "--hover", "1"]) == 1
    blind, quad, torn = capsys.readouterr().out.splitlines()
    assert quad.startswith("flies    quad") and "hovers within 0." in quad
    assert (
        blind.startswith("fails    blind") and "it has no GPS, and no vision pose has come" in blind
    )
    assert torn.startswith("refused  torn") and "not well-formed XML" in torn
    assert main(["vehicle", "check", str(tmp_path / "all" / "quad")]) == 0
    assert main(["vehicle", "check", str(tmp_path / "nowhere")]) == 1


def test_remarks_are_said_at_the_start(tmp_path, caplog):
    folder = model(tmp_path / "quad", quadrotor().replace(sensors("gps"), ""))
    Simulation(Scenario(fleet(str(folder), 2)), links=False).close()
    assert caplog.messages == [
        "warning: quad: no GPS: it is armed only with a position from "
        "outside, such as pose_source:=truth"
    ]


# Names -----------------------------------------------------------------------------------------


def test_vehicles_of_a_variant_may_have_the_plain_types_names():
    specs = parse_vehicles("iris=iris_stereo*2; typhoon_h480; iris_3=iris_depth@9,9")
    assert [(spec.name, spec.type) for spec in specs] == [
        ("iris_0", "iris_stereo"),
        ("iris_1", "iris_stereo"),
        ("typhoon_h480_2", "typhoon_h480"),
        ("iris_3", "iris_depth"),
    ]
    assert [spec.name for spec in fleet("iris=iris_2d_lidar", 2)] == ["iris_0", "iris_1"]
    assert Scenario.from_dict({"vehicle": "uav=iris", "n": 1}).vehicles[0].name == "uav_0"
    assert Scenario.from_dict({"vehicle": "iris=iris_stereo", "n": 1}).vehicles[0].name == "iris_0"
    path = resources.root() / "models" / "iris"
    for given in (path, path / "model.sdf"):
        assert parse_vehicles(str(given))[0].name == "iris_0"


# Meshes ----------------------------------------------------------------------------------------

DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.5"/><up_axis>Y_UP</up_axis></asset>
<library_images><image id="i"><init_from>a &amp; b.png</init_from></image></library_images>
<library_effects><effect id="e"><profile_COMMON><technique sid="t"><phong><diffuse>
<color>1 0 0 0.5</color></diffuse></phong></technique></profile_COMMON></effect>
<effect id="f"><profile_COMMON><newparam sid="s"><surface><init_from>i</init_from></surface>
</newparam><newparam sid="p"><sampler2D><source>s</source></sampler2D></newparam>
<technique sid="t"><phong><diffuse><texture texture="p"/></diffuse></phong></technique>
</profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material>
<material id="n"><instance_effect url="#f"/></material></library_materials>
<library_geometries><geometry id="g" name="sheet"><mesh>
<source id="p"><float_array id="a">0 0 0 2 0 0 2 2 0 0 2 0</float_array>
<technique_common><accessor source="#a" stride="3"/></technique_common></source>
<source id="t"><float_array id="b">0 0 1 0 1 1 0 1</float_array>
<technique_common><accessor source="#b" stride="2"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<polylist material="M"><input semantic="VERTEX" source="#v" offset="0"/><vcount>4</vcount>
<p>0 1 2 3</p></polylist>
<triangles material="N"><input semantic="VERTEX" source="#v" offset="0"/>
<input semantic="TEXCOORD" source="#t" offset="1"/><p>0 0 1 1 2 2</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><translate>0 0 4</translate>
<rotate>0 0 1 90</rotate><node><scale>1 1 2</scale><instance_geometry url="#g"><bind_material>
<technique_common><instance_material symbol="M" target="#m"/>
<instance_material symbol="N" target="#n"/></technique_common></bind_material>
</instance_geometry></node></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def test_collada_scenes_with_units_nodes_colours_and_textures(tmp_path):
    path = tmp_path / "sheet.dae"
    path.write_text(DAE)
    (tmp_path / "a & b.png").write_bytes(b"")
    plain, textured = MeshFile(path).parts()
    np.testing.assert_allclose(
        plain.points, [(0, 0, 2), (0, 1, 2), (-1, 1, 2), (-1, 0, 2)], atol=1e-12
    )
    assert plain.faces.tolist() == [[0, 1, 2], [0, 2, 3]] and plain.colour == (1, 0, 0, 0.5)
    assert textured.texture == tmp_path / "a & b.png" and textured.uv_faces.tolist() == [[0, 1, 2]]
    assert len(MeshFile(path, "sheet").parts()) == 2
    with pytest.raises(SdfError, match="has no submesh 'roof'"):
        MeshFile(path, "roof").parts()
    centred = MeshFile(path, centred=True).parts()[0].points
    np.testing.assert_allclose(centred.min(axis=0) + centred.max(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("a.dae", "", "not well-formed XML"),
        ("a.dae", "<COLLADA/>", "damaged COLLADA"),
        ("a.stl", "solid", "without triangles"),
        ("a.obj", "v 0 0 0\nf 1 2 3", "without triangles"),
        ("a.obj", "v a b c", "damaged OBJ"),
    ],
)
def test_damaged_meshes_say_so(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(SdfError, match=said):
        MeshFile(tmp_path / name).parts()


def test_stl_and_obj_give_the_same_tetrahedron(tmp_path):
    points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=float)
    faces = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]
    (tmp_path / "a.obj").write_text(
        "".join(f"v {x} {y} {z}\n" for x, y, z in points)
        + "".join(f"f {a + 1}//1 {b + 1}//1 {c + 1}//1\n" for a, b, c in faces)
    )
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join("vertex {} {} {}\n".format(*points[k]) for k in face)
        + "endloop\nendfacet\n"
        for face in faces
    )
    (tmp_path / "b.stl").write_text(f"solid a\n{facets}endsolid a\n")
    record = np.zeros(4, dtype=[("n", "<f4", 3), ("p", "<f4", (3, 3)), ("m", "<u2")])
    record["p"] = points[np.array(faces)]
    (tmp_path / "c.stl").write_bytes(bytes(80) + np.uint32(4).tobytes() + record.tobytes())
    for name in ("a.obj", "b.stl", "c.stl"):
        (mesh,) = MeshFile(tmp_path / name).parts()
        np.testing.assert_allclose(mesh.points[mesh.faces], points[np.array(faces)])
        (piece,) = convex_pieces(mesh)
        assert len(piece) == 4


def test_a_body_with_a_notch_is_cut_into_plates():
    corners = ((0, 0), (4, 0), (4, 4), (2, 1), (0, 4))
    (mesh,) = Extrusion(corners, 3.0).parts()
    assert len(mesh.faces) == 2 * 3 + 2 * 5
    sides = mesh.points[mesh.faces]
    area = np.linalg.norm(np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0]), axis=1)
    assert area[:6].sum() / 2 == pytest.approx(2 * 10.0)  # both caps
    volume = np.einsum("ij,ij->i", sides[:, 0], np.cross(sides[:, 1], sides[:, 2])).sum() / 6
    assert volume == pytest.approx(30.0)  # every triangle shows outwards
    plates = convex_pieces(mesh)
    # The sides are quadrilaterals, the caps have three triangles; none is lost or there twice.
    assert len(plates) == 5 + 2 * 3
    volumes = [ConvexHull(plate).volume for plate in plates]
    assert sum(volumes) == pytest.approx(0.05 * area.sum() / 2)
    (square,) = Extrusion(((0, 0), (1, 0), (1, 1), (0, 1)), 1.0).parts()
    assert len(convex_pieces(square)) == 1


# PX4's own VTOLs ---------------------------------------------------------------------------------


def px4s(name):
    """PX4's file of a model in a folder of GAZEBO_MODEL_PATH, or None."""
    files = (folder / name / f"{name}.sdf" for folder in resources.folders_of("GAZEBO_MODEL_PATH"))
    return next((file for file in files if file.is_file()), None)


@pytest.mark.parametrize("name", ["plane", "standard_vtol", "tiltrotor", "tailsitter"])
def test_ours_has_the_rotors_wings_and_outputs_of_px4s(name):
    """Skipped where GAZEBO_MODEL_PATH does not name sitl_gazebo's models."""
    if px4s(name) is None:
        pytest.skip("needs PX4's models: set GAZEBO_MODEL_PATH to sitl_gazebo-classic/models")
    ours, theirs = load_vehicle(name), load_vehicle(str(px4s(name)))
    assert ours.mass == pytest.approx(theirs.mass, rel=0.02)
    assert [
        (a.kind, a.channel, a.input_scaling, a.zero_position_armed) for a in ours.actuators
    ] == [(a.kind, a.channel, a.input_scaling, a.zero_position_armed) for a in theirs.actuators]
    for a, b in zip(ours.rotors, theirs.rotors, strict=True):
        np.testing.assert_allclose(a.axis, b.axis, atol=2e-3)
        assert (a.direction, a.motor_constant, a.moment_constant, a.max_rot_velocity) == (
            b.direction,
            b.motor_constant,
            b.moment_constant,
            b.max_rot_velocity,
        )
    for a, b in zip(ours.wings, theirs.wings, strict=True):
        np.testing.assert_allclose(a.pos, b.pos, atol=0.02)
        changed = dataclasses.replace(b, name=a.name, pos=a.pos, forward=a.forward, upward=a.upward)
        assert a == changed
