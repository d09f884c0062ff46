"""gazebo_ros's messages, topics and services, on the engines that are here."""

import importlib
import json
import sys

import pytest

from ros_fixtures import NODES, ROOT, needs_ros, ros  # noqa: F401
from waiting import until
from xtdrone_ros1.messages import md5sum

pytestmark = needs_ros

# Of gazebo_msgs 2.9 of ROS Noetic, by genmsg from its own definitions.
MD5 = {
    "gazebo_msgs/msg/ContactState": "48c0ffb054b8c444f870cecea1ee50d9",
    "gazebo_msgs/msg/ContactsState": "acbcb1601a8e525bf72509f18e6f668d",
    "gazebo_msgs/msg/LinkState": "0818ebbf28ce3a08d48ab1eaa7309ebe",
    "gazebo_msgs/msg/LinkStates": "48c080191eb15c41858319b4d8a609c2",
    "gazebo_msgs/msg/ModelState": "9330fd35f2fcd82d457e54bd54e10593",
    "gazebo_msgs/msg/ModelStates": "48c080191eb15c41858319b4d8a609c2",
    "gazebo_msgs/msg/ODEJointProperties": "1b744c32a920af979f53afe2f9c3511f",
    "gazebo_msgs/msg/ODEPhysics": "667d56ddbd547918c32d1934503dc335",
    "gazebo_msgs/msg/PerformanceMetrics": "884f71fd5037b886ec5e126b83c4425a",
    "gazebo_msgs/msg/SensorPerformanceMetric": "01762ded18cfe9ebc7c8222667c99547",
    "gazebo_msgs/msg/WorldState": "de1a9de3ab7ba97ac0e9ec01a4eb481e",
    "gazebo_msgs/srv/ApplyBodyWrench": "585b9f9618aa0581b207e2f2d90866bc",
    "gazebo_msgs/srv/ApplyJointEffort": "c0039811b8cc919490b3cff748cdf46b",
    "gazebo_msgs/srv/BodyRequest": "5eade9afe7f232d78005bd0cafeab755",
    "gazebo_msgs/srv/DeleteLight": "ae11ea8100d536d5b92c2b5917abf912",
    "gazebo_msgs/srv/DeleteModel": "9ce56b4e9e54616de25d796dc972a262",
    "gazebo_msgs/srv/GetJointProperties": "7b30be900f50aa21efec4a0ec92d91c9",
    "gazebo_msgs/srv/GetLightProperties": "df2cef87e13e2e6990e81e8aaa454c19",
    "gazebo_msgs/srv/GetLinkProperties": "0e06a70386d0ee3fb880c02f23fcd821",
    "gazebo_msgs/srv/GetLinkState": "09d6c98cce97b35f7ab9bd70300657ab",
    "gazebo_msgs/srv/GetModelProperties": "5717f7bd34ed990fa80e28b3015027a3",
    "gazebo_msgs/srv/GetModelState": "4c515e936d3319c9610c559c60bfc3d4",
    "gazebo_msgs/srv/GetPhysicsProperties": "575a5e74786981b7df2e3afc567693a6",
    "gazebo_msgs/srv/GetWorldProperties": "36bb0f2eccf4d8be971410c22818ba3f",
    "gazebo_msgs/srv/JointRequest": "0be1351618e1dc030eb7959d9a4902de",
    "gazebo_msgs/srv/SetJointProperties": "15a76e921b1410c698d82782ea5fa370",
    "gazebo_msgs/srv/SetLightProperties": "e6f13430c57278bb364aca53a1bf5ebf",
    "gazebo_msgs/srv/SetLinkProperties": "d534ce1b36ee99de0ffa806c3a6348f0",
    "gazebo_msgs/srv/SetLinkState": "8a5146eb66ae4d26b0860b08f3f271be",
    "gazebo_msgs/srv/SetModelConfiguration": "10e3139d3b669c40afc057d38956fff7",
    "gazebo_msgs/srv/SetModelState": "5b3ab0281d4f5445def017e3a2e4a07b",
    "gazebo_msgs/srv/SetPhysicsProperties": "97e2057080558ce4730434b5fae75c91",
    "gazebo_msgs/srv/SpawnModel": "9ed9c82c96abe1a00c3e8cdaeee24413",
}


@pytest.mark.parametrize("name", MD5)
def test_md5_sum_is_that_of_gazebo_ros(name):
    package, folder, kind = name.split("/")
    assert md5sum(getattr(importlib.import_module(f"{package}.{folder}"), kind)) == MD5[name]


@pytest.fixture
def running(ros):  # noqa: F811
    """running(*words): the user's report from a simulation with these options."""

    def run(*words):
        simulation = ros.start(
            sys.executable, "-m", "xtdrone", "sim", "--n", "2", "--no_run_folder", *words
        )
        bridge = ros.start(NODES / "bridge", "--link", "none")
        until(lambda: ros.parameter("/xtdrone/vehicles"), "the bridge is up", bridge)
        done = ros.run(sys.executable, ROOT / "tests" / "support" / "gazebo_user.py")
        assert done.returncode == 0, done.stderr[-3000:] + ros.stop(bridge)[-2000:]
        return json.loads(done.stdout.splitlines()[-1]), simulation

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    "engine",
    [
        "embedded",
        pytest.param(
            "gazebo",
            marks=[
                pytest.mark.long,
                pytest.mark.gazebo,
                pytest.mark.skipif(
                    not (ROOT / ".setup/gazebo11/libxtdrone_lockstep.so").is_file(),
                    reason="Gazebo 11 is not set up: scripts/setup_gazebo.sh",
                ),
            ],
        ),
    ],
)
def test_a_users_script_finds_gazebos_services(running, engine):
    said, _ = running("--speed", "3", "--engine", engine)
    assert said["models"] == ["ground_plane", "iris_0", "iris_1"]
    assert said["physics"] == [0.004, pytest.approx(-9.8, abs=0.01), False]
    assert said["links"][:2] == ["base_link", "imu_link"] and "rotor_3" in said["links"]
    assert said["spawned"] == [True, "SpawnModel: Successfully spawned entity"]
    assert said["again"] == [False, "SpawnModel: Failure - entity already exists."]
    assert said["fallen"] == pytest.approx([8.0, 0.0, 0.1], abs=0.01)
    x, y, z = said["states"]["iris_0"]
    assert said["seen"] == pytest.approx([8.0 - x, 0.0 - y, 0.1 - z], abs=0.01)
    assert said["seq"] == 2
    assert list(said["states"]) == ["ground_plane", "iris_0", "iris_1", "box"]
    assert said["base"] == pytest.approx([0.0, 0.0, 0.1], abs=0.01)
    # 60 N against friction of 19.6 N for 0.3 s, then friction alone.
    assert said["pushed"][0] > 8.5 and said["pushed"][2] == pytest.approx(0.1, abs=0.02)
    assert said["moved"] == [True, pytest.approx([0.0, 4.0], abs=0.02)]
    assert said["by topic"] == pytest.approx([-5.0, -5.0, 0.1], abs=0.02)
    refused = {name: words for name, words in said.items() if " (" in name}
    assert len(refused) == 7
    for success, reason in refused.values():
        assert success is False and len(reason) > 30 and "Traceback" not in reason
    for call, words in (
        ("get_model_state ('nobody', '')", "GetModelState: model does not exist"),
        ("get_model_state ('box', 'nowhere')", "GetModelState: reference relative_entity_name not"),
        ("delete_model ('iris_0',)", "DeleteModel: 'iris_0' is a vehicle"),
        ("delete_model ('nobody',)", "DeleteModel: model does not exist"),
        ("get_link_state ('iris_0::wing', '')", "GetLinkState: link does not exist"),
        ("spawn_sdf_model ('bad', '<sdf')", "SpawnModel: Failure - bad:1: not well-formed XML"),
        ("set_physics_properties ()", "SetPhysicsProperties: the step is PX4's 4 ms"),
    ):
        assert refused[call][1].startswith(words)
    assert "only inserted models" in refused["delete_model ('iris_0',)"][1]
    assert said["paused"] == [True, True]
    assert said["reset"] == pytest.approx([0.0, 0.0], abs=0.01)
    assert said["deleted"] is True and said["left"] == ["ground_plane", "iris_0", "iris_1"]
