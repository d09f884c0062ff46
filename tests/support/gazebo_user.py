"""A user's script that calls gazebo_ros's services; prints what it found as JSON."""

import json
import sys
import time

import rospy
from geometry_msgs.msg import Point, Pose, Quaternion, Vector3, Wrench
from std_srvs.srv import Empty

from gazebo_msgs.msg import LinkStates, ModelState, ModelStates
from gazebo_msgs.srv import (
    ApplyBodyWrench,
    DeleteModel,
    GetLinkState,
    GetModelProperties,
    GetModelState,
    GetPhysicsProperties,
    GetWorldProperties,
    SetModelState,
    SetPhysicsProperties,
    SpawnModel,
)
from waiting import LIMIT_S, until

BOX = """<?xml version="1.0"?>
<sdf version="1.6"><model name="any"><link name="link">
<inertial><mass>2</mass><inertia><ixx>0.08</ixx><iyy>0.08</iyy><izz>0.08</izz></inertia></inertial>
<collision name="hull"><geometry><box><size>0.8 0.8 0.2</size></box></geometry></collision>
</link></model></sdf>"""


def call(name, kind, *values):
    rospy.wait_for_service(f"/gazebo/{name}", LIMIT_S)
    return rospy.ServiceProxy(f"/gazebo/{name}", kind)(*values)


def xyz(vector):
    return [round(getattr(vector, axis), 3) for axis in "xyz"]


def sim_time():
    return call("get_world_properties", GetWorldProperties).sim_time


def wait(seconds):
    """Lets simulated time pass."""
    end = sim_time() + seconds
    while sim_time() < end:
        time.sleep(0.02)


rospy.init_node("user", disable_rostime=True)
said = {}
world = call("get_world_properties", GetWorldProperties)
said["models"] = world.model_names
physics = call("get_physics_properties", GetPhysicsProperties)
said["physics"] = [physics.time_step, physics.gravity.z, physics.pause]
said["links"] = call("get_model_properties", GetModelProperties, "iris_0").body_names

pose = Pose(Point(8, 0, 2), Quaternion(0, 0, 0, 1))
spawned = call("spawn_sdf_model", SpawnModel, "box", BOX, "", pose, "world")
said["spawned"] = [spawned.success, spawned.status_message]
again = call("spawn_sdf_model", SpawnModel, "box", BOX, "", pose, "")
said["again"] = [again.success, again.status_message]
wait(1.5)
said["fallen"] = xyz(call("get_model_state", GetModelState, "box", "").pose.position)
seen = call("get_model_state", GetModelState, "box", "iris_0")
said["seen"], said["seq"] = xyz(seen.pose.position), seen.header.seq
states = rospy.wait_for_message("/gazebo/model_states", ModelStates, LIMIT_S)
said["states"] = dict(zip(states.name, [xyz(pose.position) for pose in states.pose]))
links = rospy.wait_for_message("/gazebo/link_states", LinkStates, LIMIT_S)
said["base"] = xyz(links.pose[links.name.index("iris_0::base_link")].position)

call(
    "apply_body_wrench",
    ApplyBodyWrench,
    "box::link",
    "",
    Point(),
    Wrench(Vector3(60, 0, 0), Vector3()),
    rospy.Time(0),
    rospy.Duration(0.3),
)
wait(1.0)
said["pushed"] = xyz(call("get_model_state", GetModelState, "box", "").pose.position)

state = ModelState("iris_0", Pose(Point(0, 4, 3), Quaternion(0, 0, 0, 0)), ModelState().twist, "")
moved = call("set_model_state", SetModelState, state)
said["moved"] = [
    moved.success,
    xyz(
        call(
            "get_link_state", GetLinkState, "iris_0::base_link", "ground_plane"
        ).link_state.pose.position
    )[:2],
]
publisher = rospy.Publisher("/gazebo/set_model_state", ModelState, queue_size=1)
state.model_name, state.pose.position = "box", Point(-5, -5, 0.1)


def set_by_topic():
    publisher.publish(state)
    return abs(call("get_model_state", GetModelState, "box", "").pose.position.x + 5) < 0.1


until(set_by_topic, "the topic moves the box")
said["by topic"] = xyz(call("get_model_state", GetModelState, "box", "").pose.position)

for name, kind, values in [
    ("get_model_state", GetModelState, ("nobody", "")),
    ("get_model_state", GetModelState, ("box", "nowhere")),
    ("delete_model", DeleteModel, ("iris_0",)),
    ("delete_model", DeleteModel, ("nobody",)),
    ("get_link_state", GetLinkState, ("iris_0::wing", "")),
    ("spawn_sdf_model", SpawnModel, ("bad", "<sdf", "", pose, "")),
    ("set_physics_properties", SetPhysicsProperties, ()),
]:
    refused = call(name, kind, *values)
    said[f"{name} {values[:2]}"] = [refused.success, refused.status_message]

call("pause_physics", Empty)
time.sleep(0.3)
first = sim_time()
time.sleep(0.3)
said["paused"] = [sim_time() == first, call("get_physics_properties", GetPhysicsProperties).pause]
call("unpause_physics", Empty)
call("reset_world", Empty)
state = call("get_model_state", GetModelState, "iris_0", "")
said["reset"] = xyz(state.pose.position)[:2]
said["deleted"] = call("delete_model", DeleteModel, "box").success
said["left"] = call("get_world_properties", GetWorldProperties).model_names
print(json.dumps(said))
sys.stdout.flush()
