"""Models and links under Gazebo's names: states, moves, inserted models, pushes."""

import contextlib

import numpy as np
import pytest

from boxes import BOX, FREE, STATIC, state, step
from xtdrone_core import Scenario, XtdroneError
from xtdrone_core.scenario.vehicles import fleet, parse_vehicles
from xtdrone_dynamics.quaternion import from_euler
from xtdrone_sim.control.world_requests import handlers
from xtdrone_sim.errors import SdfError, WorldError
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.pose import Pose

HINGED = BOX.format(
    "",
    """<link name="lid"><inertial><mass>1</mass><inertia><ixx>0.1</ixx>
<iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></link><joint name="hinge" type="revolute">
<parent>link</parent><child>lid</child><axis><xyz>1 0 0</xyz></axis></joint>""",
)


@pytest.fixture
def simulation():
    made = Simulation(Scenario(vehicles=parse_vehicles("iris@0,0,0; iris@5,0,0,1.0")), links=False)
    yield made
    made.close()


def test_names_are_those_of_gazebo(simulation):
    entities = simulation.entities
    assert list(entities.models) == ["ground_plane", "iris_0", "iris_1"]
    assert {"iris_0::base_link", "iris_1::rotor_3", "ground_plane::link"} <= set(
        entities.direct_links
    )
    assert (
        "iris_0::gps0::link" in entities.links and "iris_0::gps0::link" not in entities.direct_links
    )


def test_a_models_pose_is_that_of_its_file_not_of_its_centre_of_gravity(simulation):
    assert state(simulation, "iris_1")[:3] == pytest.approx([5.0, 0.0, 0.0], abs=1e-12)
    assert simulation.state.pos[1, 2] > 0.1
    assert state(simulation, "iris_1")[3:7] == pytest.approx(from_euler(0.0, 0.0, 1.0))


def test_velocity_is_that_of_the_origin_along_the_axes_of_the_frame(simulation):
    """A vehicle that spins about its x axis while it moves east."""
    quat = from_euler(0.0, 0.0, 0.5 * np.pi)  # nose to the north
    simulation.entities.place(
        simulation.entities.model("iris_0"),
        np.array([1.0, 2.0, 5.0, *quat, 3.0, 0.0, 0.0, 0.0, 2.0, 0.0]),
        "",
    )
    assert simulation.state.ang_vel[0] == pytest.approx([2.0, 0.0, 0.0])
    arm = simulation.state.pos[0] - [1.0, 2.0, 5.0]  # straight up
    seen = state(simulation, "iris_0")
    assert seen[7:10] == pytest.approx([3.0 - 2.0 * arm[2], 0.0, 0.0])
    assert seen[10:] == pytest.approx([0.0, 2.0, 0.0])  # about the north
    other = state(simulation, "iris_0::rotor_0", "iris_0")
    step(simulation, 0.2)
    assert state(simulation, "iris_0::rotor_0", "iris_0")[:7] == pytest.approx(other[:7])


@pytest.mark.parametrize("frame", ["iris_1", "iris_1::base_link"])
def test_a_state_set_in_a_frame_is_read_back_in_it(simulation, frame):
    wanted = np.array([1.0, -2.0, 3.0, *from_euler(0.1, 0.2, 0.3), *[0.0] * 6])
    simulation.entities.place(simulation.entities.model("iris_0"), wanted, frame)
    assert state(simulation, "iris_0", frame) == pytest.approx(wanted)


def test_inserted_models_fall_stand_on_each_other_and_go(simulation):
    simulation.insert(STATIC, "wall", Pose((2.5, 2.0, 0.25)))
    simulation.insert(FREE, "box", Pose((2.5, 2.1, 2.0)))
    step(simulation, 1.5)
    assert state(simulation, "box")[:3] == pytest.approx([2.5, 2.1, 0.75], abs=0.005)
    assert ("box", "wall") in simulation.engine.contacts().by_name()
    simulation.remove("wall")
    assert list(simulation.entities.models)[-1] == "box"
    step(simulation, 1.0)
    assert state(simulation, "box")[2] == pytest.approx(0.25, abs=0.005)


def test_a_static_model_that_is_moved_carries_what_stands_on_it(simulation):
    simulation.insert(STATIC, "lift", Pose((0.0, 0.0, -0.3)))
    step(simulation, 2.0)
    lift = simulation.entities.model("lift")
    for k in range(100):
        simulation.entities.place(
            lift, np.array([0, 0, -0.25 + 0.004 * k, 0, 0, 0, 1] + [0] * 6), ""
        )
        step(simulation, 0.02)
    assert state(simulation, "iris_0")[2] == pytest.approx(0.396, abs=0.02)
    assert state(simulation, "iris_1")[2] == pytest.approx(0.0, abs=0.01)


def test_the_fleet_flies_on_while_models_come_and_go(simulation):
    """Where nothing touches the vehicles, their path is that without the models."""
    high = np.array([0.0, 0.0, 50.0, *from_euler(0.3, 0.0, 0.0), *[1.0] * 6])
    paths = []
    for models in (True, False):
        simulation.reset()
        simulation.entities.place(simulation.entities.model("iris_0"), high, "")
        step(simulation, 0.2)
        if models:
            simulation.insert(FREE, "box", Pose((9.0, 9.0, 1.0)))
        step(simulation, 0.2)
        if models:
            simulation.remove("box")
        step(simulation, 0.2)
        paths.append(simulation.state.pos[0].copy())
    assert paths[0] == pytest.approx(paths[1], abs=1e-9)


def test_a_push_accelerates_for_its_time(simulation):
    simulation.insert(FREE, "box", Pose((3.0, 3.0, 20.0)))
    link, begin = simulation.entities.link("box::link"), simulation.t_us + 100_000
    simulation.entities.push(link, [4.0, 0.0, 0.0], [0.0, 0.0, 0.016], begin, begin + 196_000)
    vehicle = simulation.entities.link("iris_0::base_link")
    simulation.entities.push(vehicle, [0.0, 0.0, 40.0], [0.0] * 3, simulation.t_us)
    step(simulation, 0.1)
    assert state(simulation, "box")[7] == 0.0
    step(simulation, 0.4)
    pushed = state(simulation, "box")
    assert pushed[7] == pytest.approx(4.0 / 2.0 * 0.2, rel=1e-6)
    assert pushed[12] == pytest.approx(0.016 / 0.08 * 0.2, rel=1e-6)
    mass = simulation.fleet.vehicles[0].mass
    assert state(simulation, "iris_0")[9] == pytest.approx((40.0 / mass - 9.807) * 0.5, rel=0.05)
    simulation.plant.pushes.clear("iris_0::base_link")
    rising = state(simulation, "iris_0")[9]
    step(simulation, 0.1)
    assert state(simulation, "iris_0")[9] < rising - 0.9


def test_a_flight_with_inserted_models_goes_on_from_its_snapshot(simulation, tmp_path):
    simulation.insert(FREE, "box", Pose((5.0, 0.0, 1.5)))
    simulation.insert(STATIC, "wall", Pose((5.0, 1.0, 0.25)))
    simulation.entities.push(simulation.entities.link("box::link"), [3.0, 0.0, 0.0], [0.0] * 3, 0)
    step(simulation, 0.2)
    simulation.save(tmp_path / "a.snapshot")
    step(simulation, 0.5)
    first = simulation.entities.table(simulation.entities.models.values())
    simulation.remove("wall")
    simulation.load(tmp_path / "a.snapshot")
    assert list(simulation.entities.models)[-2:] == ["box", "wall"]
    step(simulation, 0.5)
    again = simulation.entities.table(simulation.entities.models.values())
    assert (first == again).all()


def test_a_reset_of_all_puts_inserted_models_back(simulation):
    simulation.insert(FREE, "box", Pose((5.0, 5.0, 1.5)))
    step(simulation, 1.0)
    simulation.reset(["iris_0"])
    assert state(simulation, "box")[2] < 0.3
    simulation.reset()
    assert state(simulation, "box") == pytest.approx([5, 5, 1.5, 0, 0, 0, 1] + [0] * 6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "act, error, said",
    [
        (lambda s: s.insert(HINGED, "box"), SdfError, "'hinge' of model 'box' is of type revolute"),
        (lambda s: s.insert("<sdf", "box"), SdfError, "box:1: not well-formed XML"),
        (lambda s: s.insert(FREE, "iris_0"), WorldError, "there is a model 'iris_0' already"),
        (lambda s: s.insert(FREE, "a/b"), WorldError, "leave out '::' and '/'"),
        (lambda s: s.insert(FREE, "box", Pose(), "nowhere"), WorldError, "unknown frame 'nowhere'"),
        (lambda s: s.remove("iris_0"), WorldError, "'iris_0' is a vehicle"),
        (lambda s: s.remove("ground_plane"), WorldError, "part of the world's file"),
        (lambda s: s.entities.model("iris_7"), WorldError, "unknown model 'iris_7'"),
        (lambda s: s.entities.link("iris_0::wing"), WorldError, "unknown link 'iris_0::wing'"),
        (
            lambda s: s.entities.place(s.entities.model("ground_plane"), np.zeros(13), ""),
            WorldError,
            "only vehicles and inserted models can be moved",
        ),
        (
            lambda s: s.entities.place(s.entities.model("iris_0"), np.full(13, np.nan), ""),
            WorldError,
            "numbers beyond 1e",
        ),
        (
            lambda s: s.entities.push(s.entities.link("ground_plane::link"), [0] * 3, [0] * 3, 0),
            WorldError,
            "is static",
        ),
    ],
)
def test_what_cannot_be_done_is_said(simulation, act, error, said):
    with pytest.raises(error, match=said.replace("(", "\\(")):
        act(simulation)
    assert list(simulation.entities.models) == ["ground_plane", "iris_0", "iris_1"]
    step(simulation, 0.02)


GOOD = {
    "place": {"model": "iris_0", "state": [0.0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]},
    "insert": {"model": "box", "sdf": FREE, "pose": [9.0, 0, 1, 0, 0, 0, 1]},
    "push": {
        "link": "iris_0::base_link",
        "point": [0.0, 0, 0],
        "wrench": [0.0] * 6,
        "begin_us": 0,
        "duration_us": 4000,
    },
    "where": {"model": "iris_0"},
    "remove": {"model": "box"},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "op, change, said",
    [
        ("place", {"state": [1.0, 2.0]}, "13 finite numbers 'state'"),
        ("place", {"state": "here"}, "13 finite numbers 'state'"),
        ("place", {"model": 3}, "a text 'model'"),
        ("insert", {"pose": [float("nan")] * 7}, "7 finite"),
        ("insert", {"sdf": None}, "a text 'sdf'"),
        ("push", {"begin_us": "now"}, "a number 'begin_us'"),
        ("push", {"link": "nobody::link"}, "unknown link"),
        ("where", {"frame": "there"}, "frame"),
        ("where", {"frame": 7}, "a text 'frame'"),
        ("remove", {"model": "cone"}, "unknown model"),
        ("place", {"state": [1e7, *[0.0] * 12]}, "13 finite numbers 'state', up to 1e.06"),
        ("push", {"wrench": [1e308] * 6}, "6 finite numbers 'wrench'"),
        ("push", {"point": [1e3] * 3, "wrench": [1e6, *[0.0] * 5]}, "wrench .* beyond 1e.06"),
        ("insert", {"pose": [1e308, *[0.0] * 6]}, "7 finite numbers 'pose'"),
    ],
)
def test_a_bad_request_gets_one_line(simulation, op, change, said):
    answers = handlers(simulation)
    with pytest.raises(XtdroneError, match=said) as error:
        answers[op]({**GOOD[op], **change})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "wrench, speed", [([8e5] * 6, 0.0), ([1e4, 0.0, 0.0, 0.0, 9e5, 0.0], 0.0), ([0.0] * 6, 1e6)]
)
def test_no_push_is_so_strong_that_the_fleet_is_lost(simulation, wrench, speed):
    """Drag and gyroscopic torque would overshoot without bound, up to the end of the flight."""
    answers = handlers(simulation)
    answers["place"]({"model": "iris_0", "state": [0.0, 0, 9, 0, 0, 0, 1, *[speed] * 6]})
    answers["push"](
        {
            "link": "iris_0::base_link",
            "wrench": wrench,
            "point": [0.0, 0, 0.1],
            "begin_us": 0,
            "duration_us": 2_000_000,
        }
    )
    before = simulation.state.pos[1].copy()
    step(simulation, 3.0)
    assert np.isfinite(simulation.state.pos).all() and np.isfinite(simulation.state.quat).all()
    assert np.abs(simulation.state.vel).max() <= 1000.0
    np.testing.assert_allclose(simulation.state.pos[1], before, atol=0.01)


def test_good_requests_are_answered(simulation):
    answers = handlers(simulation)
    for op, request in GOOD.items():
        assert answers[op](request)["t_us"] == 0
    assert answers["where"]({"model": "iris_0"})["state"][:3] == pytest.approx([0.0, 0.0, 1.0])


def test_a_force_in_the_axes_of_a_link_is_turned_as_gazebo_ros_does(simulation):
    """In the link's own frame it stays as it is, and acts along the axes of the world."""
    answers = handlers(simulation)
    high = [5.0, 0.0, 9.0, *from_euler(0.0, 0.0, 0.5 * np.pi), *[0.0] * 6]
    answers["place"]({"model": "iris_0", "state": high})
    for frame, sign in (("iris_0::base_link", (1, 0)), ("", (1, 0)), ("ground_plane", (0, -1))):
        before = simulation.state.vel[0].copy()
        answers["push"]({**GOOD["push"], "frame": frame, "wrench": [20.0, 0, 0, 0, 0, 0]})
        step(simulation, 0.012)
        gained = simulation.state.vel[0] - before
        assert gained[:2] == pytest.approx(np.array(sign) * np.linalg.norm(gained[:2]), abs=1e-3)
        assert np.linalg.norm(gained[:2]) > 0.05


def test_what_is_missing_has_a_code_for_programs():
    with contextlib.closing(Simulation(Scenario(fleet("iris", 1)), links=False)) as s:
        for call, code in (
            (lambda: s.entities.model("nobody"), "no_model"),
            (lambda: s.entities.link("iris_0::wing"), "no_link"),
            (lambda: s.entities.frame("nowhere"), "no_frame"),
            (lambda: s.entities.joint("elbow"), "no_joint"),
            (lambda: s.insert(FREE, "iris_0"), "exists"),
            (lambda: s.remove("iris_0"), ""),
        ):
            with pytest.raises(WorldError) as error:
                call()
            assert error.value.code == code


def test_the_gimbal_of_a_typhoon_has_px4_s_names():
    with contextlib.closing(Simulation(Scenario(fleet("typhoon_h480", 1)), links=False)) as s:
        links = s.entities.describe("typhoon_h480_0")["links"]
        assert {"cgo3_vertical_arm_link", "cgo3_horizontal_arm_link", "cgo3_camera_link"} < {*links}
        camera = s.entities.link("typhoon_h480_0::cgo3_camera_link")
        above_ground = s.entities.relative(camera, "ground_plane::link")
        assert 0.0 < above_ground[2] < 0.5
        assert s.entities.joint("cgo3_camera_joint")[0] == pytest.approx(0.0, abs=1e-3)
