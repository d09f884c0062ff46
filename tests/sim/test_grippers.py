"""Grippers: what their files say, what they hold, and how they are commanded."""

import contextlib
import math

import numpy as np
import pytest

from stack_flights import Flight, MissionFlight
from xtdrone_core import Scenario, VehicleSpec, XtdroneError, resources
from xtdrone_core.command import main
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs.control_link import ControlServer
from xtdrone_core.runs.ports import Ports
from xtdrone_core.runs.snapshot import Rows
from xtdrone_core.scenario.models import PlacedModel, parse_models
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.simulation import STEP_US, Simulation
from xtdrone_sim.vehicles.pose import Pose
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world
from xtdrone_sim.world.models import read_model

VEHICLE = "quadrotor_gripper"
DOWN = (0.97, -2.54)  # joints of the arm with the cup below the vehicle [rad]
BELOW = 0.452  # of the cup's face from the vehicle's position then [m]
PARCEL_MASS, TOP, G = 0.2, 0.1, 9.8


class Rig:
    """A vehicle with its arm down that is moved from outside, above a parcel of some mass."""

    def __init__(self, mass=PARCEL_MASS, specs=("v",)):
        vehicle = load_vehicle(VEHICLE)
        self.engine = EmbeddedEngine(
            load_world("empty"),
            tuple(VehicleSpec(VEHICLE, name, (9.0 * k, 0.0, 1.0)) for k, name in enumerate(specs)),
            (vehicle,) * len(specs),
        )
        text = resources.world_model_sdf("parcel").read_text()
        text = text.replace("<mass>0.2</mass>", f"<mass>{mass}</mass>")
        self.engine.insert(read_model(text, "parcel", Pose()))
        bodies, joints = (len(each) for each in (vehicle.bodies, vehicle.joints))
        self._wrench = np.zeros((len(specs), bodies, 6))
        self._targets = np.tile(DOWN[:joints], (len(specs), 1))
        self.height = 1.0
        self.move(1.0)

    def move(self, height, speed=0.0):
        """Moves the vehicle to a height at a speed; 0: fast, without a jolt to what it holds."""
        speed = speed or (0.1 if self.engine.held(0, 0) else 0.5)
        rate = math.copysign(speed, height - self.height)
        for _ in range(max(1, round(abs(height - self.height) / speed / (STEP_US * 1e-6)))):
            self.height += rate * STEP_US * 1e-6
            state = np.zeros(13)
            state[2], state[6], state[9] = self.height, 1.0, rate
            self.engine.place(0, state)
            self.engine.step(self._wrench, self._targets, STEP_US)

    def take(self):
        """Touches the parcel with a closed gripper."""
        self.engine.grip(0, 0, True)
        self.move(BELOW + TOP - 0.003)
        return self.engine.held(0, 0)

    @property
    def parcel(self):
        return self.engine.inserted_states()[0]


def test_a_gripper_holds_what_it_touches_until_it_opens():
    rig = Rig()
    rig.engine.grip(0, 0, True)
    rig.move(BELOW + TOP + 0.01)
    assert rig.engine.held(0, 0) == ""  # a gap of a centimetre
    assert rig.take() == "parcel"
    rig.move(1.0)
    assert rig.parcel[2] == pytest.approx(0.5 * TOP + 1.0 - BELOW - TOP, abs=0.01)
    rig.engine.grip(0, 0, False)
    rig.move(1.1)
    assert rig.engine.held(0, 0) == ""
    assert rig.parcel[2] < 0.4  # it falls


def test_an_open_gripper_holds_nothing():
    rig = Rig()
    rig.move(BELOW + TOP - 0.003)
    rig.move(1.0)
    assert rig.engine.held(0, 0) == ""
    assert rig.parcel[2] == pytest.approx(0.5 * TOP, abs=0.01)


@pytest.mark.parametrize(("mass", "held"), [(1.7, "parcel"), (2.4, "")])
def test_a_gripper_loses_what_pulls_with_more_than_its_force(mass, held):
    """20 N are the weight of 2.04 kg."""
    rig = Rig(mass)
    assert rig.take() == "parcel"
    rig.move(1.0, speed=0.02)
    assert rig.engine.held(0, 0) == held
    rig.move(BELOW + TOP - 0.003)
    assert rig.engine.held(0, 0) == held  # what was lost is not taken while it stays closed
    rig.engine.grip(0, 0, False)
    assert rig.take() == "parcel"


def test_pressing_is_no_pull():
    rig = Rig()
    rig.take()
    rig.move(BELOW + TOP - 0.006, speed=0.01)
    assert rig.engine.held(0, 0) == "parcel"


def test_a_held_model_is_saved_with_its_gripper_and_let_go_by_a_reset():
    first, second = Rig(), Rig()
    first.take()
    first.move(0.8)
    second.engine.load(first.engine.save())
    second.height = first.height
    for rig in (first, second):
        rig.move(1.0)
        assert rig.engine.held(0, 0) == "parcel"
    assert np.array_equal(first.parcel, second.parcel)
    first.engine.insert(
        read_model(
            "<sdf version='1.7'><include><uri>model://parcel</uri></include></sdf>",
            "other",
            Pose((3.0, 0.0, 0.0)),
        )
    )
    first.move(1.1)
    assert first.engine.held(0, 0) == "parcel"  # the scene was compiled anew
    first.engine.remove(0)
    assert first.engine.held(0, 0) == ""
    second.engine.reset(np.array([True]))
    assert second.engine.held(0, 0) == ""


def test_a_held_model_stays_held_when_another_vehicle_comes():
    rig, larger = Rig(), Rig(specs=("other", "v"))
    rig.take()
    rig.move(0.8)
    larger.engine.regroup(rig.engine, Rows.of(["v"], ["other", "v"]))
    assert (larger.engine.held(1, 0), larger.engine.held(0, 0)) == ("parcel", "")
    assert np.allclose(larger.parcel, rig.parcel, atol=1e-6)


def with_plugin(tmp_path, plugin):
    path = tmp_path / "gripper.sdf"
    text = resources.vehicle_sdf(VEHICLE).read_text()
    start = text.index('<plugin name="gripper"')
    end = text.index("</plugin>", start) + len("</plugin>")
    path.write_text(text[:start] + plugin + text[end:])
    return path


def test_a_gripper_is_what_gazebos_plugin_says(tmp_path):
    (own,) = load_vehicle(VEHICLE).grippers
    assert (own.channel, own.max_force, own.link) == (6, 20.0, "gripper")
    assert load_vehicle(VEHICLE).bodies[own.body].name == "quadrotor_arm::forearm"
    file = "filename='libgazebo_ros_vacuum_gripper.so'"
    path = with_plugin(
        tmp_path,
        f"<plugin name='cup' {file}><link_name>gripper</link_name><maxForce>7</maxForce>"
        "<xtdrone:gripper_channel xmlns:xtdrone='urn:xtdrone'>9</xtdrone:gripper_channel></plugin>",
    )
    (other,) = load_vehicle(path).grippers
    assert (other.name, other.channel, other.max_force) == ("cup", 9, 7.0)
    assert not any("vacuum" in remark for remark in load_vehicle(path).remarks)


@pytest.mark.parametrize(
    ("tags", "line"),
    [
        ("<bodyName>hand</bodyName>", "there is no link 'hand' for a gripper"),
        ("", "<link_name>"),
        ("<bodyName>gripper</bodyName><maxForce>0</maxForce>", "give newtons above 0"),
        (
            "<bodyName>gripper</bodyName><xtdrone:gripper_channel xmlns:xtdrone='urn:xtdrone'>4"
            "</xtdrone:gripper_channel>",
            "a gripper needs a channel of its own",
        ),
    ],
)
def test_grippers_that_cannot_be_are_refused(tmp_path, tags, line):
    path = with_plugin(
        tmp_path, f"<plugin name='cup' filename='libgazebo_ros_vacuum_gripper.so'>{tags}</plugin>"
    )
    with pytest.raises(XtdroneError, match=line):
        load_vehicle(path)


def test_a_list_of_models_is_read():
    sdf = resources.world_model_sdf("parcel")
    assert parse_models("parcel@3,0; goal=parcel@1,2,0.5,1.57;") == (
        PlacedModel("parcel", sdf, (3.0, 0.0, 0.0)),
        PlacedModel("goal", sdf, (1.0, 2.0, 0.5), 1.57),
    )
    assert parse_models("") == ()


@pytest.mark.parametrize(
    ("models", "line"),
    [
        ("parcel", "write MODEL@X,Y,Z,YAW or"),
        ("parcel@3", "write MODEL@X,Y,Z,YAW or"),
        ("parcel@3,0,0,0,0", "write MODEL@X,Y,Z,YAW or"),
        ("parcel@3,east", "y of model 'parcel@3,east' east is not allowed"),
        ("parcel@3,0; parcel@4,0", "there are two models 'parcel': give one another name"),
        ("parsel@3,0", "'parsel'.*parcel"),
        ("parcel@nan,0", "is not allowed"),
    ],
)
def test_models_that_cannot_be_are_refused(models, line):
    with pytest.raises(XtdroneError, match=line):
        Scenario("iris", models=models)


@pytest.fixture
def simulated():
    """simulated(**options): a Simulation of the vehicle."""
    with contextlib.ExitStack() as stack:

        def make(control=None, **options):
            scenario = Scenario(VEHICLE, speed=0.0, **options)
            simulation = Simulation(scenario, links=False, control=control)
            return stack.enter_context(contextlib.closing(simulation))

        yield make


def closed(simulation):
    simulation.autopilot.status["armed"] = True
    simulation.step()
    return bool(simulation.state.actuator[0, 6] > 0.5)


def test_models_of_a_scenario_stand_in_its_world(simulated):
    simulation = simulated(models="parcel@3,1,0,0.5; iris_0=parcel@0,5")
    table = simulation.entities.table(
        [simulation.entities.models[name] for name in ("parcel", "iris_0")]
    )
    assert np.allclose(table[:, :2], [(3.0, 1.0), (0.0, 5.0)])
    with pytest.raises(XtdroneError, match=f"there is a model '{VEHICLE}_0' already"):
        simulated(models=f"{VEHICLE}_0=parcel@5,5")


def test_grippers_are_commanded_in_python(simulated):
    simulation = simulated()
    assert not closed(simulation)
    simulation.autopilot.command_gripper(0, 0, True)
    assert closed(simulation)
    simulation.autopilot.command_gripper(0, 0, False)
    assert not closed(simulation)
    with pytest.raises(XtdroneError, match="vehicle 0 has no gripper 1: it has 1"):
        simulation.autopilot.command_gripper(0, 1, True)


def test_grippers_are_commanded_by_the_control_socket(simulated):
    simulation = simulated(control=ControlServer(Ports().control))
    handle = simulation.requests.handle
    handle("grip", {"vehicle": f"{VEHICLE}_0", "grab": True})
    assert closed(simulation)
    handle("grip", {"vehicle": f"{VEHICLE}_0", "grab": False, "gripper": 0})
    assert not closed(simulation)
    for request, line in (
        ({"vehicle": "iris_7", "grab": True}, "unknown vehicle 'iris_7'"),
        ({"vehicle": f"{VEHICLE}_0", "grab": "yes"}, "a gripper is commanded by"),
        ({"vehicle": f"{VEHICLE}_0", "grab": True, "gripper": 3}, "has no gripper 3: it has 1"),
    ):
        with pytest.raises(XtdroneError, match=line):
            handle("grip", request)


@pytest.mark.parametrize("words", [["iris_0"], ["iris_0", "open"], ["iris_0", "grab", "now"]])
def test_orders_to_grippers_that_mean_nothing_are_refused(words, capsys):
    assert main(["control", "grip", *words]) == 1
    assert "give a vehicle's name, and grab or release" in capsys.readouterr().err


class WithoutGrippers(EmbeddedEngine):
    """An engine like Gazebo's in that it has no grippers."""

    grip = None


def test_an_engine_without_grippers_is_told_of(simulated, caplog):
    simulated(engine=f"{__name__}:WithoutGrippers")
    assert "the gripper of quadrotor_gripper does nothing: engine" in caplog.text


def test_grippers_are_commanded_by_mavlink():
    f = Flight(VEHICLE)
    try:
        f.run(1.0)

        def order(*params):
            f.autopilot.status["armed"] = True
            parameters = [*params, *[0.0] * (7 - len(params))]
            f.send(
                mavlink.MAVLink_command_long_message(
                    1, 1, mavlink.MAV_CMD_DO_GRIPPER, 0, *parameters
                )
            )
            f.simulation.step()
            return f.autopilot.commands[0, 6]

        assert order(1, mavlink.GRIPPER_ACTION_GRAB) == 1.0
        assert order(1, mavlink.GRIPPER_ACTION_RELEASE) == 0.0
        assert order(0, mavlink.GRIPPER_ACTION_GRAB) == 1.0  # all of them
        assert order(2, mavlink.GRIPPER_ACTION_RELEASE) == 1.0  # there is none
        assert order(1, 7) == 1.0
        f.autopilot.status["armed"] = False
        f.run(0.02)
        assert f.autopilot.commands[0, 6] == 0.0
    finally:
        f.simulation.close()


@pytest.mark.slow
def test_a_mission_closes_a_gripper():
    f = MissionFlight(VEHICLE, gps="")
    items = [
        f.item(mavlink.MAV_CMD_NAV_TAKEOFF, 0.0, 0.0, 3.0),
        f.item(mavlink.MAV_CMD_DO_GRIPPER, p=(1.0, mavlink.GRIPPER_ACTION_GRAB, 0.0, 0.0)),
        f.item(mavlink.MAV_CMD_NAV_WAYPOINT, 9.0, 0.0, 3.0, p=(0.0, 2.0, 0.0, math.nan)),
    ]
    try:
        f.ready()
        assert f.upload(items) == mavlink.MAV_MISSION_ACCEPTED
        f.start()
        f.wait(lambda: f.autopilot.commands[0, 6] == 1.0, 30)
        assert f.seq() == 2
    finally:
        f.simulation.close()
