"""Services of a simulation, called as both of ROS 2's middlewares call them."""

import pytest

pytest.importorskip("cyclonedds")

import fast_dds
from processes import SimulationProcess
from service_clients import CycloneClient, FastClient
from xtdrone_core.runs.ports import Ports
from xtdrone_ros2.wire.node import Node
from xtdrone_ros2.wire.quality import DEFAULT, PARAMETER_EVENTS
from xtdrone_ros2.wire.types import Types

DOMAIN = 80 + Ports().instance
TOP = "simulation_interfaces/srv/"
OF_PARAMETERS = "rcl_interfaces/srv/"
EVENT = "rcl_interfaces/msg/ParameterEvent"
PLAYING, PAUSED = 1, 2
OK, INCORRECT_STATE, FAILED, ALREADY, NO_RESOURCE = 1, 3, 4, 101, 104
ARM, TAKEOFF, MODE, NO_COMMAND = 400, 22, 176, 31999
INTEGER, DOUBLE = 2, 3
ACCEPTED, UNSUPPORTED = 0, 3
BOX = """<sdf version="1.6"><model name="box"><link name="body">
<inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>
<collision name="c"><geometry><box><size>0.2 0.2 0.2</size></box></geometry></collision>
</link></model></sdf>"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def simulation(tmp_path_factory):
    made = SimulationProcess(
        tmp_path_factory.mktemp("services"),
        "--n",
        2,
        "--log",
        "none",
        "--gps",
        "rtk",
        "--ros2",
        "true",
        "--ros2_mavros",
        "true",
        "--ros2_domain",
        DOMAIN,
    )
    yield made
    made.stop()


@pytest.fixture(scope="module")
def cyclone(simulation):
    client = CycloneClient(Node(Types(), "/user", DOMAIN))
    yield client
    client.close()


@pytest.fixture(scope="module")
def fast(simulation, tmp_path_factory):
    if not fast_dds.installed():
        pytest.skip(fast_dds.MISSING)
    program = fast_dds.compiled(tmp_path_factory.mktemp("caller"), "fast_dds_caller")
    client = FastClient(program, DOMAIN, Types())
    yield client
    client.close()


@pytest.fixture(params=["cyclone", "fast"])
def call(request):
    return request.getfixturevalue(request.param).call


def command(call, number, space="", system=1, **fields):
    return call(
        f"{space}/fmu/vehicle_command",
        "px4_msgs/srv/VehicleCommand",
        request={"command": number, "target_system": system, "source_system": 9, **fields},
    ).reply


def run(call, name, /, **fields):
    """Result's number and text of a service of simulation_interfaces."""
    kind = "".join(word.title() for word in name.split("_"))
    result = call(f"/{name}", f"{TOP}{kind}", **fields).result
    return result.result, result.error_message


def parameters(call, name, node="/iris_1", /, **fields):
    kind = "".join(word.title() for word in name.split("_"))
    return call(f"{node}/{name}", f"{OF_PARAMETERS}{kind}", **fields)


def steps(simulation, count):
    """Lets simulated time pass."""
    simulation.wait_until(simulation.control.request("status")["t_us"] + 4000 * count)


def test_pausing_and_stepping(call, simulation):
    assert call("/get_simulation_state", f"{TOP}GetSimulationState").state.state == PLAYING
    assert run(call, "step_simulation", steps=1) == (INCORRECT_STATE, "pause the simulation first")
    pause = {"state": {"state": PAUSED}}
    assert run(call, "set_simulation_state", **pause)[0] == OK
    assert run(call, "set_simulation_state", **pause)[0] == ALREADY
    before = simulation.control.request("status")["t_us"]
    assert run(call, "step_simulation", steps=3)[0] == OK
    assert run(call, "set_simulation_state", state={"state": PLAYING})[0] == OK
    simulation.wait_until(before + 12_000)


def test_arming_mode_take_off_and_reset(call, simulation):
    """Vehicle 1 takes off by PX4's command service; a refusal has PX4's result."""
    simulation.wait_until(6_000_000)
    space, system = "/px4_1", 2
    for _ in range(50):  # after a reset, its checks take some time
        armed = command(call, ARM, space, system, param1=1.0)
        if armed.result == ACCEPTED:
            break
        steps(simulation, 100)
    assert (armed.command, armed.result, armed.target_system) == (ARM, ACCEPTED, 9)
    mode = command(call, MODE, space, system, param1=1.0, param2=4.0, param3=3.0)  # AUTO.LOITER
    assert (mode.command, mode.result) == (MODE, ACCEPTED)
    nan = float("nan")
    up = command(call, TAKEOFF, space, system, param4=nan, param5=nan, param6=nan, param7=nan)
    assert (up.command, up.result) == (TAKEOFF, ACCEPTED)
    simulation.control.request("subscribe")
    while simulation.control.next_tick()[1][1, 2] < 0.5:
        pass
    assert command(call, NO_COMMAND, space, system).result == UNSUPPORTED
    assert run(call, "reset_simulation")[0] == OK
    while simulation.control.next_tick()[1][1, 2] > 0.3:
        pass


def test_a_box_is_spawned_and_deleted(call):
    sent = {
        "name": "crate",
        "entity_resource": {"resource_string": BOX},
        "initial_pose": {"pose": {"position": {"x": 5.0, "z": 0.5}}},
    }
    made = call("/spawn_entity", f"{TOP}SpawnEntity", **sent)
    assert (made.result.result, made.entity_name) == (OK, "crate")
    number, text = run(call, "spawn_entity", **sent)
    assert number == FAILED and "crate" in text and "\n" not in text
    assert run(call, "spawn_entity", name="none") == (
        NO_RESOURCE,
        "give the SDF itself as resource_string",
    )
    number, text = run(
        call, "spawn_entity", name="torn", entity_resource={"resource_string": "<sdf><model"}
    )
    assert number == FAILED and text and "\n" not in text
    assert run(call, "delete_entity", entity="crate") == (OK, "")
    number, text = run(call, "delete_entity", entity="crate")
    assert number == FAILED and "crate" in text and "\n" not in text


def test_parameters_of_a_vehicle(call):
    names = parameters(call, "list_parameters").result.names
    assert len(names) > 300 and {"MPC_XY_VEL_MAX", "COM_RC_IN_MODE"} <= set(names)
    asked = ["MPC_XY_VEL_MAX", "COM_RC_IN_MODE", "NONE"]
    speed, mode, none = parameters(call, "get_parameters", names=asked).values
    assert (speed.type, mode.type, none.type) == (DOUBLE, INTEGER, 0)
    assert parameters(call, "get_parameter_types", names=asked).types.tolist() == [
        DOUBLE,
        INTEGER,
        0,
    ]
    assert [
        one.type for one in parameters(call, "describe_parameters", names=asked).descriptors
    ] == [DOUBLE, INTEGER, 0]
    wanted = speed.double_value - 1.0
    good = {"name": "MPC_XY_VEL_MAX", "value": {"type": DOUBLE, "double_value": wanted}}
    unknown = {"name": "NONE", "value": {"type": DOUBLE}}
    half = {"name": "COM_RC_IN_MODE", "value": {"type": DOUBLE, "double_value": 1.5}}
    results = parameters(call, "set_parameters", parameters=[good, unknown, half]).results
    assert [one.successful for one in results] == [True, False, False]
    assert results[1].reason == (
        "/iris_1 has no parameter 'NONE': ros2 param list /iris_1 shows them"
    )
    assert results[2].reason == "COM_RC_IN_MODE '1.5' is a float: give a int"
    again = {**good, "value": {"type": DOUBLE, "double_value": wanted - 1.0}}
    assert not parameters(
        call, "set_parameters_atomically", parameters=[again, half]
    ).result.successful
    (value,) = parameters(call, "get_parameters", names=asked[:1]).values
    assert value.double_value == pytest.approx(wanted)
    assert parameters(call, "set_parameters_atomically", parameters=[again]).result.successful
    every = parameters(call, "get_parameters", names=list(names)).values
    assert len(every) == len(names) and all(one.type for one in every)


def test_parameters_of_the_simulation(call, simulation):
    names = parameters(call, "list_parameters", "/xtdrone").result.names
    assert {"speed", "seed", "engine"} <= set(names)
    double = {"name": "speed", "value": {"type": DOUBLE, "double_value": 2.0}}
    seed = {"name": "seed", "value": {"type": INTEGER, "integer_value": 2}}
    below = {"name": "speed", "value": {"type": DOUBLE, "double_value": -1.0}}
    results = parameters(
        call, "set_parameters", "/xtdrone", parameters=[double, seed, below]
    ).results
    assert [one.successful for one in results] == [True, False, False]
    assert results[1].reason.startswith("seed is an option of the simulation's start")
    assert results[2].reason.startswith("speed -1.0 is not allowed")
    assert simulation.control.request("status")["speed"] == 2.0
    (speed,) = parameters(call, "get_parameters", "/xtdrone", names=["speed"]).values
    assert speed.double_value == 2.0


def test_changes_are_told(cyclone):
    """/parameter_events names what changed, whoever changed it."""
    got = []
    cyclone.node.reader(
        "/parameter_events",
        EVENT,
        lambda data: got.append(cyclone.node.types.read(data, EVENT)),
        PARAMETER_EVENTS,
    )
    cyclone.until(
        lambda: (
            parameters(
                cyclone.call,
                "set_parameters",
                "/xtdrone",
                parameters=[{"name": "speed", "value": {"type": DOUBLE, "double_value": 1.0}}],
            )
            and got
        )
    )
    assert got[-1].node == "/xtdrone"
    (old,) = parameters(cyclone.call, "get_parameters", names=["MPC_Z_VEL_MAX_UP"]).values
    parameters(
        cyclone.call,
        "set_parameters",
        parameters=[
            {
                "name": "MPC_Z_VEL_MAX_UP",
                "value": {"type": DOUBLE, "double_value": old.double_value + 0.5},
            }
        ],
    )
    cyclone.until(lambda: got[-1].node == "/iris_1")
    (change,) = got[-1].changed_parameters
    assert change.name == "MPC_Z_VEL_MAX_UP"
    assert change.value.double_value == pytest.approx(old.double_value + 0.5)


def test_mavros(call, cyclone):
    states = []
    cyclone.node.reader("/iris_0/mavros/state", "mavros_msgs/msg/State", states.append, DEFAULT)
    cyclone.until(lambda: states)
    assert cyclone.node.types.read(states[-1], "mavros_msgs/msg/State").connected
    assert call(
        "/iris_0/mavros/set_mode", "mavros_msgs/srv/SetMode", custom_mode="AUTO.LOITER"
    ).mode_sent
