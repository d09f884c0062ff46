"""Vehicles and worlds composed in Python: as SDF, read back, flown."""

import dataclasses

import numpy as np
import pytest

import xtdrone as xd
from sensor_models.measured.gps import GpsParameters
from sensor_models.measured.imu import ImuParameters
from xtdrone_core import FleetModel
from xtdrone_sim.world import load_world

QUAD = xd.Multirotor(
    name="quad", frame=xd.Frame(mass=1.2, size=(0.3, 0.3, 0.12)), rotors=xd.rotors_in_x(0.25)
)
RICH = xd.Multirotor(
    name="rich",
    frame=xd.Frame(
        mass=2.0,
        inertia=(0.03, 0.04, 0.05),
        height=0.2,
        visuals=(xd.Sphere(radius=0.1, colour=(1.0, 0.0, 0.0)),),
    ),
    rotors=xd.rotors_in_x(
        0.35,
        n=6,
        curve=xd.PropellerThrust(
            max_speed=900.0,
            idle_speed=90.0,
            diameter=0.25,
            chord=0.02,
            static_thrust=0.1,
            static_moment=0.02,
            static_drag=0.03,
        ),
    ),
    effects=(
        xd.LinearDrag(coefficients=(0.5, 0.3, 0.1)),
        xd.QuadraticDrag(areas=(0.01,) * 3),
        xd.GroundEffect(rotor_radius=0.125),
        xd.Downwash(rotor_radius=0.125),
        xd.TranslationalLift(lift=1e-3, damping=0.05),
        xd.AirDensity(),
    ),
    sensors=(
        xd.Imu(preset="bmi088", pos=(0.02, 0.0, 0.01), mass=0.01),
        xd.Magnetometer(rate=50.0),
        xd.Barometer(rate=25.0),
        xd.Airspeed(),
        xd.Gps(preset="rtk", rate=10.0, parameters={"latency": 0.2}, pos=(0, 0, 0.1)),
        xd.RangeFinder(rpy=(0.0, np.pi / 2, 0.0)),
        xd.Camera(preset="mt9v034"),
        xd.DepthCamera(preset="r200"),
        xd.StereoCamera(preset="mt9v034", baseline=0.2),
        xd.Lidar(preset="hokuyo_utm30lx", pos=(0.0, 0.0, 0.1)),
    ),
    battery=xd.Battery(cells=6, capacity=8.0, internal_resistance=0.03, rated_voltage=21.0),
)


@pytest.mark.parametrize("made", [QUAD, RICH], ids=lambda made: made.name)
def test_the_sdf_that_is_written_reads_as_the_same_vehicle(made, tmp_path):
    path = made.to_sdf(tmp_path / made.name / "model.sdf")
    read = xd.load_vehicle(str(path))
    assert read == dataclasses.replace(made.vehicle(), sdf=path)
    assert read.type == made.name and read.remarks == ()


def test_every_part_arrives_in_the_vehicle():
    vehicle = RICH.vehicle()
    assert vehicle.mass == pytest.approx(2.0 + 6 * 0.005 + 0.01)
    assert vehicle.inertia[0][0] > 0.03 and vehicle.cog[2] == pytest.approx(0.2, abs=1e-3)
    assert [rotor.direction for rotor in vehicle.rotors] == [-1, 1, -1, 1, -1, 1]
    assert {np.hypot(*rotor.pos[:2]).round(3) for rotor in vehicle.rotors} == {0.35}
    assert vehicle.rotors[0].zero_position_armed == 90.0
    assert vehicle.rotors[0].input_scaling == 810.0 and vehicle.rotors[0].motor_constant > 1e-6
    assert vehicle.effects == {
        "linear_drag": {"coefficients": (0.5, 0.3, 0.1)},
        "quadratic_drag": {"areas": (0.01, 0.01, 0.01)},
        "ground_effect": {"rotor_radius": (0.125,)},
        "downwash": {"rotor_radius": (0.125,)},
        "translational_lift": {"lift": (1e-3,), "damping": (0.05,)},
        "air_density": {},
    }
    assert vehicle.battery.cells == 6 and vehicle.battery.capacity == 8.0
    blocks = {block.kind: block for block in vehicle.sensors if block.kind != "camera"}
    assert set(blocks) == {
        "imu",
        "magnetometer",
        "barometer",
        "airspeed",
        "gps",
        "range",
        "depth",
        "lidar",
    }
    gps = GpsParameters.from_block(blocks["gps"])
    assert (gps.rate, gps.latency, gps.fix) == (10.0, 0.2, 6)
    assert blocks["gps"].pos[2] == pytest.approx(0.1, abs=1e-2)
    assert ImuParameters.from_block(blocks["imu"]).gyroscope_range == pytest.approx(34.9, abs=0.1)
    assert blocks["imu"].pos[0] == pytest.approx(0.02, abs=1e-3)
    assert [block.name for block in vehicle.sensors if block.kind == "camera"] == [
        "camera",
        "stereo",
    ]


def test_the_iris_in_code_has_the_records_of_its_file():
    own = xd.load_vehicle("iris")
    hubs = ((0.1515, -0.245), (-0.1515, 0.1875), (0.1515, 0.245), (-0.1515, -0.1875))
    inertia = 9.75e-07, 2.73104e-4, 2.74004e-4
    rotors = tuple(
        xd.Rotor(pos=(*hub, 0.023), turning=turning, inertia=inertia)
        for hub, turning in zip(hubs, ("ccw", "ccw", "cw", "cw"))
    )
    made = xd.Multirotor(
        name="iris",
        frame=xd.Frame(mass=1.5, inertia=(0.029125, 0.029125, 0.055225), height=0.1),
        rotors=rotors,
        sensors=(
            xd.Imu(),
            xd.Magnetometer(),
            xd.Barometer(),
            xd.Gps(pos=(0.0, 0.0, 0.05), mass=0.01, preset="rtk"),
        ),
        parts=(Ballast(),),
    ).vehicle()
    one, other = FleetModel.of([own]), FleetModel.of([made])
    for name in (
        "channel",
        "direction",
        "motor_constant",
        "moment_constant",
        "input_scaling",
        "zero_position_armed",
        "rotor_drag_coefficient",
        "rolling_moment_coefficient",
        "time_constant_up",
        "time_constant_down",
        "max_rot_velocity",
    ):
        assert np.array_equal(one.actuator[name], other.actuator[name]), name
    assert np.allclose(one.actuator["pos"], other.actuator["pos"], atol=1e-6)
    assert np.allclose(one.body["mass"], other.body["mass"])
    assert np.allclose(one.body["inertia"], other.body["inertia"], rtol=1e-3, atol=1e-9)
    assert own.cog == pytest.approx(made.cog, abs=1e-6)


class Ballast(xd.Part):
    """A part of one's own: the mass of the iris' second IMU link."""

    def write(self, model):
        from xtdrone.compose.part import add, add_inertial, add_pose

        link = add(model, "link", name="ballast")
        add_pose(link, (0.0, 0.0, 0.0), relative_to="base_link")
        add_inertial(link, 0.015, (1e-5,) * 3)
        joint = add(model, "joint", name="ballast_joint", type="fixed")
        add(joint, "parent", "base_link")
        add(joint, "child", "ballast")


def test_a_composed_vehicle_stands_wherever_a_name_does(tmp_path):
    scenario = xd.Scenario(vehicles=[QUAD, "iris*2", xd.VehicleSpec(QUAD, "last", (0.0, 9.0, 0.0))])
    assert [spec.name for spec in scenario.vehicles] == ["quad_0", "iris_1", "iris_2", "last"]
    assert xd.Scenario.from_dict(scenario.to_dict()) == scenario
    assert xd.Scenario(vehicles=QUAD).vehicles[0].name == "quad_0"
    assert xd.Scenario(vehicles=f"{QUAD}*2").n == 2  # as on the command line
    assert xd.load_vehicle(QUAD) == QUAD.vehicle()


@pytest.mark.slow
def test_a_composed_vehicle_flies_in_a_composed_world():
    wall = xd.Box(name="wall", size=(0.2, 4.0, 4.0), pos=(2.0, 0.0, 2.0))
    yard = xd.Scene(
        name="yard",
        solids=(
            wall,
            xd.Sphere(radius=0.5, pos=(0, 5, 0.5)),
            xd.Cylinder(radius=0.3, length=2.0, pos=(0, -5, 1.0)),
        ),
    )
    hits = []
    with xd.Simulation(xd.Scenario(vehicles=QUAD, world=yard, gps="rtk")) as sim:
        sim.on_contact(lambda t, one, other: hits.append({one, other}))
        sim.arm()
        sim.takeoff(2.0)
        assert sim.state.pos[0, 2] == pytest.approx(2.0, abs=0.4)
        sim.velocity((2.0, 0.0, 0.0))
        sim.run(3.0)
    assert {"quad_0", "wall"} in hits and sim.state.pos[0, 0] < 2.0


def test_a_world_is_written_and_read(tmp_path):
    scene = xd.Scene(
        name="yard",
        origin=(10.0, 20.0, 30.0),
        wind=(1.0, 0.0, 0.0),
        ground=0.4,
        solids=(xd.Box(size=(1.0, 2.0, 3.0), pos=(5.0, 0.0, 1.5)),),
    )
    world = load_world(str(scene.to_world(tmp_path / "yard.world")))
    assert (world.name, world.altitude) == ("yard", 30.0)
    assert np.degrees([world.latitude, world.longitude]) == pytest.approx([10.0, 20.0])
    assert [model.name for model in world.models] == ["ground_plane", "box_0"]
    sides = [shape.size for shape in world.shapes if shape.kind == "box" and shape.collides]
    assert sides == [(1.0, 2.0, 3.0)] and world.wind["linear_velocity"].split()[0] == "1.0"
    assert min(shape.friction for shape in world.shapes) == 0.4


@pytest.mark.parametrize(
    "make, why",
    [
        (lambda: xd.Frame(mass=-1.0), "mass -1.0 of a frame"),
        (lambda: xd.Frame(mass=1.0, size=(1.0, 2.0)), r"size \(1.0, 2.0\) of a frame .* three"),
        (lambda: xd.Rotor(pos=(0, 0, 0), turning="left"), "turning 'left' of a rotor .* ccw or cw"),
        (lambda: xd.Rotor(pos=(0, 0, np.nan), turning="cw"), "pos .* of a rotor"),
        (lambda: xd.Rotor(pos=(0, 0, 0), turning="cw", axis=(0, 0, 0)), "axis 0 0 0"),
        (lambda: xd.QuadraticThrust(max_speed=0.0), "max_speed 0.0"),
        (lambda: xd.QuadraticThrust(idle_speed=2000.0), "idle_speed 2000.0"),
        (lambda: xd.rotors_in_x(0.2, n=5), "5 rotors in X"),
        (lambda: xd.Imu(pos=(0.1, 0, 0)), "sensor 'imu' .* has no mass"),
        (lambda: xd.Imu(rate=100.0), "rate 100 of 'imu'"),
        (lambda: xd.Sensor(name="x"), "Sensor is no sensor"),
        (lambda: xd.Box(size=(1.0, 0.0, 1.0)), "size .* of a box"),
        (lambda: xd.Box(size=(1.0, 1.0, 1.0), mass=-1.0), "mass -1.0 of a box"),
        (lambda: xd.Multirotor(frame=xd.Frame(mass=1.0), rotors=()), "'multirotor' has no rotors"),
        (lambda: dataclasses.replace(QUAD, name="a b"), "name of a vehicle 'a b'"),
        (lambda: dataclasses.replace(QUAD, sensors=(xd.Imu(), xd.Imu())), "two sensors .* 'imu'"),
        (lambda: dataclasses.replace(QUAD, effects=(xd.Imu(),)), "effects of 'quad' hold a Imu"),
        (
            lambda: xd.Simulation(
                [dataclasses.replace(QUAD, sensors=(*QUAD.sensors[:3], xd.Gps(preset="no")))]
            ),
            "unknown gps preset 'no'",
        ),
        (lambda: dataclasses.replace(QUAD, sensors=xd.Imu()), "sensors of 'quad' are no tuple"),
        (lambda: xd.Scene(solids=None), "solids of world 'scene' are no tuple"),
        (lambda: xd.Scene(solids=(xd.Sphere(radius=1.0, mass=1.0),)), "'sphere' .* has a mass"),
        (lambda: QUAD.to_sdf("/proc/none/model.sdf"), "cannot write '/proc/none/model.sdf'"),
        (lambda: xd.Scenario(vehicles=[3]), "vehicle 3 is not allowed"),
        (lambda: xd.Scenario(vehicles=3), "vehicles 3 are not allowed"),
    ],
)
def test_what_makes_no_vehicle_is_refused_in_one_line(make, why):
    with pytest.raises(xd.XtdroneError, match=why) as raised:
        make()
    assert "\n" not in str(raised.value)
