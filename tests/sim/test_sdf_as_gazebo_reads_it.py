"""What sdformat 9 and Gazebo 11 take in an SDF file, though XML or the schema would not."""

import math

import pytest

import jointed
from sensor_models.noise import NoiseParameters
from xtdrone_core.command import main
from xtdrone_core.sdf_numbers import leading_numbers
from xtdrone_sim.errors import SdfError
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

BASE = jointed.link("base") + jointed.SENSORS


def model(folder, body, name="model.sdf"):
    """The path of a model's file."""
    path = folder / name
    path.write_text(f'<sdf version="1.6"><model name="m">{body}</model></sdf>')
    return path


# Numbers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, count, values, rest",
    [
        ("0.1", 1, (0.1,), ""),
        ("0.1 0.1 0.1", 1, (0.1,), "0.1 0.1"),
        ("  2. m", 1, (2.0,), "m"),
        ("0.0.", 1, (0.0,), "."),
        ("1,5", 1, (1.0,), ",5"),
        ("-.5e1x", 1, (-5.0,), "x"),
        ("0x10", 1, (16.0,), ""),
        ("inf", 1, (math.inf,), ""),
        ("1 2 3 4", 3, (1.0, 2.0, 3.0), "4"),
        ("1 2", 3, (), ""),
        ("1m 2 3", 3, (), ""),
        ("heavy", 1, (), ""),
        ("", 1, (), ""),
    ],
)
def test_the_numbers_that_a_text_begins_with(text, count, values, rest):
    assert leading_numbers(text, count) == (values, rest)


SPHERE = '<collision name="c"><geometry><sphere><radius>{}</radius></sphere></geometry></collision>'


@pytest.mark.parametrize(
    "body, said",
    [
        (jointed.link("base", more=SPHERE.format("0.1 0.1 0.1")), "<radius> is '0.1 0.1 0.1': 0.1"),
        (jointed.link("base", mass="2 kg"), "<mass> is '2 kg': 2 is taken"),
        (jointed.link("base", pose="0 0 1 0 0 0 7"), "<pose> is '0 0 1 0 0 0 7': 0 0 1 0 0 0 is"),
    ],
)
def test_more_words_than_numbers_are_left_out_with_a_remark(tmp_path, body, said):
    (remark,) = load_vehicle(model(tmp_path, body)).remarks
    assert remark.startswith(f"model.sdf:1: {said}")


def test_a_sensor_s_numbers_are_read_alike(tmp_path, capfd):
    gps = (
        '<plugin name="g" filename="libgazebo_gps_plugin.so"><linkName>base</linkName>'
        "<updateRate>10 Hz</updateRate><gpsXYNoiseDensity>1e-4 x</gpsXYNoiseDensity></plugin>"
    )
    path = model(tmp_path, jointed.link("base") + gps)
    assert main(["vehicle", "show", str(path)]) == 0
    assert "rate 10," in capfd.readouterr().out


@pytest.mark.parametrize("word", ["True", "TRUE", "1", " true "])
def test_truth_values_are_read_in_any_case(tmp_path, word):
    reversible = jointed.rotor(0, "base", "0 0 0.1").replace(
        "<motorNumber>", f"<reversible>{word}</reversible><motorNumber>"
    )
    (rotor,) = load_vehicle(model(tmp_path, BASE + reversible)).rotors
    assert rotor.lower == -1.0


def test_an_end_of_a_joint_may_be_infinite(tmp_path):
    arm = jointed.link("arm", "0.2 0 0 0 0 0")
    limits = "<limit><lower>-inf</lower><upper>inf</upper></limit>"
    hinge = jointed.joint("hinge", "base", "arm", "0 1 0").replace("</axis>", f"{limits}</axis>")
    body = BASE + arm + hinge + jointed.channels(jointed.channel(0, "hinge"))
    (joint,) = load_vehicle(model(tmp_path, body)).joints
    assert (joint.lower, joint.upper) == (-1e16, 1e16)


# Defaults ---------------------------------------------------------------------------------------

INERTIAL = "<inertial>{}</inertial>"


@pytest.mark.parametrize(
    "inertial, mass, moment, said",
    [
        ("", 1.0, 1.0, "has no <inertial>"),
        (INERTIAL.format("<mass>2</mass>"), 2.0, 1.0, "lacks one of ixx, iyy, izz"),
        (
            INERTIAL.format("<inertia><ixx>3</ixx><iyy>3</iyy><izz>3</izz></inertia>"),
            1.0,
            3.0,
            "has no <mass>: SDF's default, 1 kg",
        ),
        (INERTIAL.format("<mass></mass><inertia/>"), 1.0, 1.0, "lacks one of"),
    ],
)
def test_mass_and_inertia_have_sdf_s_defaults(tmp_path, inertial, mass, moment, said):
    vehicle = load_vehicle(model(tmp_path, f'<link name="base">{inertial}</link>'))
    assert vehicle.mass == mass
    assert [vehicle.inertia[k][k] for k in range(3)] == [moment] * 3
    assert any(said in remark for remark in vehicle.remarks)


def test_a_vehicle_of_default_links_stands_in_both_of_its_frames(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    box = '<collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision>'
    path = model(tmp_path, f'<link name="base">{box}</link>' + jointed.SENSORS)
    words = ["--speed", "0", "--duration", "0.1", "--no_run_folder"]
    assert main(["sim", "--vehicle", str(path), *words]) == 0


@pytest.mark.parametrize("mesh", ["<mesh/>", "<mesh><uri/></mesh>", "<uri>__default__</uri>"])
@pytest.mark.parametrize("part", ["collision", "visual"])
def test_a_mesh_without_a_file_is_a_remark(tmp_path, mesh, part):
    form = mesh if mesh.startswith("<mesh") else f"<mesh>{mesh}</mesh>"
    shape = f'<{part} name="c"><geometry>{form}</geometry></{part}>'
    vehicle = load_vehicle(model(tmp_path, jointed.link("base", more=shape)))
    assert vehicle.remarks == (
        f"model.sdf:1: <mesh> of {part} 'base::c' names no file: it has no shape",
    )


# Wings and sensors ------------------------------------------------------------------------------

WING = (
    '<plugin name="wing" filename="libLiftDragPlugin.so"><link_name>base</link_name>'
    "<area>0.1</area><cla>4.7</cla></plugin>"
)


@pytest.mark.parametrize("more", ["", jointed.rotor(0, "base", "0 0 0.1")])
def test_a_wing_needs_no_control_surface(tmp_path, capfd, more):
    path = model(tmp_path, BASE + WING + more)
    assert main(["vehicle", "check", str(path)]) == 0
    assert capfd.readouterr().out.startswith("stands" if more else "loads")


@pytest.mark.parametrize("sensor, tag", [("imu", "gyroscopeB"), ("magnetometer", "b")])
def test_a_correlation_time_of_zero_is_no_walk_of_the_bias(tmp_path, capfd, sensor, tag):
    plugin = (
        f'<plugin name="s" filename="libgazebo_{sensor}_plugin.so"><linkName>base</linkName>'
        f"<{tag}iasCorrelationTime>0</{tag}iasCorrelationTime></plugin>"
    )
    path = model(tmp_path, jointed.link("base") + plugin)
    assert main(["vehicle", "show", str(path)]) == 0
    assert "bias_correlation_time 0," in capfd.readouterr().out


@pytest.mark.parametrize("kind, part", [("camera", "camera"), ("ray", "ray"), ("depth", "camera")])
@pytest.mark.parametrize("body", ["<{0}/>", "<{0}></{0}>", "<{0}><image/></{0}>", ""])
def test_a_sensor_without_its_own_elements_has_defaults(tmp_path, capfd, kind, part, body):
    sensor = f'<sensor name="s" type="{kind}">{body.format(part)}</sensor>'
    path = model(tmp_path, jointed.link("base", more=sensor))
    assert main(["vehicle", "show", str(path)]) == 0
    assert "'s' at" in capfd.readouterr().out


def test_noise_of_no_correlation_time_is_white():
    assert NoiseParameters(0.1, 0.2, 0.0, 0.0).bias_step(0.004) == (0.0, 0.0)


# XML --------------------------------------------------------------------------------------------

COMMENTS = ["<!-- ---- roads ---- -->", "<!-- a --- b\n -- c --->", "<!---->", "<!-- </model> -->"]


@pytest.mark.parametrize("comment", COMMENTS)
def test_comments_may_hold_hyphens(tmp_path, comment):
    path = tmp_path / "road.world"
    path.write_text(
        f'{comment}<sdf version="1.6"><world name="w">{comment}<model name="box">{comment}'
        "<static>true</static><pose>5 5 0.5 0 0 0</pose><link name='l'><collision name='c'>"
        "<geometry><box><size>1 1 1</size></box></geometry></collision></link></model></world>"
        f"</sdf>{comment}"
    )
    (box,) = load_world(path).shapes
    assert box.pose.pos == (5.0, 5.0, 0.5)


def test_lines_behind_a_comment_keep_their_numbers(tmp_path):
    path = tmp_path / "m.sdf"
    path.write_text(
        '<sdf version="1.6"><model name="m">\n<!-- -- \n -- \u00e9 -->\n<link name="base">'
        "<inertial><mass>-1</mass></inertial></link></model></sdf>",
        encoding="utf-8",
    )
    with pytest.raises(SdfError, match=r"m\.sdf:4: mass of link 'base' is -1"):
        load_vehicle(path)
