"""Plugins of SDF files: systems of the new Gazebo, and those that are not read."""

import contextlib

import pytest

import jointed
from xtdrone_core import Scenario
from xtdrone_core.command import main
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.pose import Pose
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

BASE = jointed.link("base")


def model(folder, body, name="model.sdf"):
    """The path of a model's file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f'<sdf version="1.9"><model name="m">{body}</model></sdf>')
    return folder / name


def plugin(filename, body="", name="p"):
    return f'<plugin filename="{filename}" name="{name}">{body}</plugin>'


# Systems of the new Gazebo ----------------------------------------------------------------------

MOTOR = (
    "<jointName>r{k}_joint</jointName><linkName>r{k}</linkName>"
    "<turningDirection>ccw</turningDirection><{tag}>{k}</{tag}>{more}"
)
SYSTEMS = {
    "gz-sim-multicopter-motor-model-system": "gz::sim::systems::MulticopterMotorModel",
    "libgz-sim8-multicopter-motor-model-system.so": "gz::sim::v8::systems::MulticopterMotorModel",
    "ignition-gazebo-multicopter-motor-model-system": "any",
    "/opt/libignition-gazebo6-multicopter-motor-model-system.so": "ignition::gazebo::systems::X",
    "libwhatever.so": "ignition::gazebo::systems::MulticopterMotorModel",
}


def motor(k, filename, name, tag="motorNumber", more=""):
    return (
        jointed.link(f"r{k}", f"{k} 0 0.1 0 0 0", 0.01, (1e-5, 1e-5, 1e-5))
        + jointed.joint(f"r{k}_joint", "base", f"r{k}", "0 0 1")
        + plugin(filename, MOTOR.format(k=k, tag=tag, more=more), name)
    )


@pytest.mark.parametrize("filename, name", SYSTEMS.items())
@pytest.mark.parametrize("tag", ["motorNumber", "actuator_number"])
def test_a_motor_model_of_the_new_gazebo_is_a_rotor(tmp_path, filename, name, tag):
    more = "<motorConstant>8.5e-06</motorConstant><maxRotVelocity>1000</maxRotVelocity>"
    more += "<motorType>velocity</motorType>"
    body = BASE + motor(0, filename, name, tag, more) + motor(1, filename, name, tag)
    vehicle = load_vehicle(model(tmp_path, body))
    one, other = vehicle.rotors
    assert (one.motor_constant, one.max_rot_velocity, one.input_scaling) == (8.5e-06, 1000, 1000)
    # What the file leaves out is that system's.
    assert (other.motor_constant, other.moment_constant) == (8.54858e-06, 0.016)
    assert (other.max_rot_velocity, other.time_constant_up) == (838.0, 0.0125)
    assert not [remark for remark in vehicle.remarks if "GPS" not in remark]


def test_plugins_of_rotors_are_those_of_sitl_gazebo(tmp_path):
    more = "<motorConstant>8.5e-06</motorConstant><maxRotVelocity>1100</maxRotVelocity>"
    more += "<momentConstant>0.06</momentConstant>"
    more += "<timeConstantUp>0.01</timeConstantUp><timeConstantDown>0.02</timeConstantDown>"
    more += "<rotorDragCoefficient>8e-4</rotorDragCoefficient>"
    more += "<rollingMomentCoefficient>1e-6</rollingMomentCoefficient>"
    more += "<rotorVelocitySlowdownSim>10</rotorVelocitySlowdownSim>"
    noise = "<linkName>base</linkName><gyroscopeNoiseDensity>0.01</gyroscopeNoiseDensity>"

    def read(prefix):
        body = (
            BASE
            + motor(0, f"lib{prefix}gazebo_motor_model.so", "p", more=more)
            + plugin(f"lib{prefix}gazebo_imu_plugin.so", noise)
            + plugin(f"lib{prefix}gazebo_multirotor_base_plugin.so")
        )
        return load_vehicle(model(tmp_path, body))

    theirs, ours = read("rotors_"), read("")
    assert theirs.rotors == ours.rotors and len(theirs.rotors) == 1
    assert theirs.sensors == ours.sensors and theirs.remarks == ours.remarks


def test_a_motor_that_is_not_commanded_by_its_speed_does_nothing_and_says_so(tmp_path):
    filename, name = next(iter(SYSTEMS.items()))
    body = BASE + motor(0, filename, name, more="<motorType>force</motorType>")
    vehicle = load_vehicle(model(tmp_path, body))
    assert not vehicle.rotors and "of motorType force: it does nothing" in vehicle.remarks[0]


def test_lift_and_drag_of_the_new_gazebo_are_a_wing(tmp_path):
    wing = "<link_name>base</link_name><area>0.5</area><cla>4</cla><a0>0.1</a0>"
    (wing,) = load_vehicle(model(tmp_path, BASE + plugin("gz-sim-lift-drag-system", wing))).wings
    assert (wing.area, wing.cla, wing.alpha0) == (0.5, 4.0, 0.1)
    path = model(tmp_path / "advanced", BASE + plugin("gz-sim-advanced-lift-drag-system"))
    assert "give a LiftDragPlugin for each" in load_vehicle(path).remarks[0]


@pytest.mark.parametrize(
    "type_, kind",
    [
        ("imu", "imu"),
        ("magnetometer", "magnetometer"),
        ("air_pressure", "barometer"),
        ("altimeter", "barometer"),
        ("navsat", "gps"),
        ("air_speed", "airspeed"),
        ("gpu_lidar", "lidar"),
        ("depth_camera", "depth"),
        ("rgbd_camera", "depth"),
    ],
)
@pytest.mark.parametrize("rate", [0, 25])
def test_sensors_of_newer_sdf_are_read(tmp_path, capfd, type_, kind, rate):
    camera = "<camera><image><format>R_FLOAT32</format></image></camera>"
    body = {"depth": camera, "lidar": "<lidar><range><max>7</max></range></lidar>"}.get(kind, "")
    sensor = f'<sensor name="s" type="{type_}"><update_rate>{rate}</update_rate>{body}</sensor>'
    path = model(tmp_path, jointed.link("base", more=sensor))
    assert main(["vehicle", "show", str(path)]) == 0
    said = capfd.readouterr().out
    assert f"{kind} 's'" in said and (kind != "lidar" or " 7" in said)
    if rate and kind in ("magnetometer", "barometer", "gps", "airspeed"):
        assert "rate 25" in said


def test_noise_of_sdf_s_own_is_not_dropped_in_silence(tmp_path):
    noise = "<noise type='gaussian'><stddev>0.01</stddev></noise>"
    imu = f"<sensor name='i' type='imu'><imu><angular_velocity><x>{noise}</x></angular_velocity>"
    path = model(tmp_path, jointed.link("base", more=f"{imu}</imu></sensor>"))
    (remark,) = load_vehicle(path).remarks
    assert "<noise> of imu 'i' is not read: that of its preset is taken" in remark


def test_models_are_included_by_their_bare_names_and_merged_in_turn(tmp_path, monkeypatch):
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(tmp_path / "models"))
    merge = '<include merge="true"><uri>{}</uri><pose>0 0 1 0 0 0</pose></include>'
    model(tmp_path / "models" / "frame", jointed.link("base"))
    model(tmp_path / "models" / "flown", merge.format("frame") + plugin("libThing.so"))
    vehicle = load_vehicle(model(tmp_path / "seen", merge.format("flown")))
    assert vehicle.bodies[0].name == "base" and vehicle.cog[2] == pytest.approx(2.0)
    assert vehicle.remarks == ("plugins that are not read: libThing.so",)


@pytest.mark.parametrize(
    "body",
    [
        '<sensor name="f" type="custom" gz:type="optical_flow"/>',
        "<gz:odd>1</gz:odd>",
        "<ignition:odd.x a:b='1'/>",
    ],
)
def test_prefixes_need_not_be_declared(tmp_path, body):
    path = model(tmp_path, jointed.link("base", more=body))
    assert load_vehicle(path).bodies[0].name == "base"


def test_a_plane_of_a_vehicle_is_a_sheet(tmp_path):
    plane = "<geometry><plane><size>0.2 0.3</size></plane></geometry>"
    more = f'<visual name="logo">{plane}</visual>'
    shapes = load_vehicle(model(tmp_path, jointed.link("base", more=more))).shapes
    (sheet,) = (shape for shape in shapes if shape.name.endswith("logo"))
    assert (sheet.kind, sheet.size[:2]) == ("box", (0.2, 0.3))


# Plugins that are not read ----------------------------------------------------------------------

UNREAD = {
    "libArduPilotPlugin.so": "libArduPilotPlugin.so",
    "ArduPilotPlugin": "ArduPilotPlugin",
    "/opt/lib/libgazebo_ros_skid_steer_drive.so": "libgazebo_ros_skid_steer_drive.so",
    "gz-sim-thruster-system": "gz-sim-thruster-system",
    "libignition-gazebo-diff-drive-system.so": "libignition-gazebo-diff-drive-system.so",
}


@pytest.mark.parametrize("filename, said", UNREAD.items())
def test_a_vehicle_s_plugins_that_are_not_read_are_named_once(tmp_path, capfd, filename, said):
    sensor = f'<sensor name="c" type="contact">{plugin("libgazebo_ros_bumper.so")}</sensor>'
    eye = f'<sensor name="e" type="camera"><camera/>{plugin("libgazebo_ros_camera.so")}</sensor>'
    body = jointed.link("base", more=sensor + eye) + 2 * plugin(filename)
    assert main(["vehicle", "check", str(model(tmp_path, body))]) == 0
    said_of_all = capfd.readouterr().out
    assert said_of_all.count(said) == 1
    assert f"plugins that are not read: libgazebo_ros_bumper.so, {said}" in said_of_all
    assert "ros_camera" not in said_of_all
    assert main(["vehicle", "show", str(tmp_path / "model.sdf")]) == 0
    shown = capfd.readouterr().out
    assert (
        f"left out or changed: plugins that are not read: libgazebo_ros_bumper.so, {said}" in shown
    )


@pytest.mark.parametrize("filename, said", UNREAD.items())
def test_a_world_s_plugins_and_those_of_its_vehicles_are_named_once(tmp_path, filename, said):
    model(tmp_path / "rover", BASE + 2 * plugin(filename))
    (tmp_path / "w").mkdir()
    world = tmp_path / "w" / "w.world"
    world.write_text(
        f'<sdf version="1.6"><world name="w">{plugin("libgazebo_wind_plugin.so")}'
        f"{plugin('gz-sim-physics-system')}{plugin('libWeather.so')}"
        f"<gui>{plugin('MinimalScene')}</gui>"
        "<include><uri>model://rover</uri></include>"
        f'<model name="inline"><link name="l"/>{plugin(filename)}</model>'
        "</world></sdf>"
    )
    (remark,) = load_world(world).remarks
    assert remark.startswith("plugins that are not read: ")
    assert sorted(remark.partition(": ")[2].split(", ")) == sorted(["libWeather.so", said])


@pytest.mark.parametrize("name", ["iris", "typhoon_h480", "plane", "rover", "boat", "iris_stereo"])
def test_our_own_models_have_none(name):
    assert not [line for line in load_vehicle(name).remarks if "plugin" in line]


@pytest.mark.slow
def test_the_closing_lines_do_not_say_none_of_what_is_not_read(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    world = tmp_path / "w.world"
    drive = plugin("libgazebo_ros_diff_drive.so")
    world.write_text(
        '<sdf version="1.6"><world name="w"><include><uri>model://ground_plane</uri></include>'
        f'<model name="rover"><pose>5 5 0 0 0 0</pose>{BASE}{drive}</model></world></sdf>'
    )
    words = ["--world", str(world), "--speed", "0", "--duration", "0.1", "--no_run_folder"]
    assert main(["sim", *words]) == 0
    (line,) = (text for text in capfd.readouterr().out.splitlines() if text.startswith("warnings"))
    assert "none in flight; 1 about files: world w: plugins that are not read: libgaz" in line


def test_an_inserted_model_says_what_of_it_is_not_read():
    simulation = Simulation(Scenario(fleet("iris", 1)), links=False)
    with contextlib.closing(simulation):
        sdf = f'<sdf version="1.6"><model name="box">{BASE}{plugin("libThing.so")}</model></sdf>'
        simulation.insert(sdf, "box", Pose((9.0, 0.0, 1.0)))
        assert simulation.console.remarks == ["box: plugins that are not read: libThing.so"]


def test_a_wing_without_its_link_exerts_no_force_and_says_so(tmp_path):
    for link in ("<link_name>tail</link_name>", ""):
        path = model(
            tmp_path / (link[11:15] or "none"), BASE + plugin("libLiftDragPlugin.so", link)
        )
        vehicle = load_vehicle(path)
        assert not vehicle.wings and "exerts no force: there is no link" in vehicle.remarks[0]
