"""gazebo_ros's topics and services below /gazebo/, for scripts that call them, on every engine.

The simulation answers them on its control socket (xtdrone_sim.control.world_requests). To add a
service, write its function of the simulation and a request, and its row in SERVICES. One that no
engine can do says so in its answer; see REFUSED.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import rosgraph
import rospy

from xtdrone_core import ControlError
from xtdrone_core.runs.control_link import TABLES, ControlClient
from xtdrone_mavros import ros_serialisation as serialisation
from xtdrone_ros1.ros_tools import Output, ros_class

TOP = "/gazebo/"
STEP_S = 0.004  # of the physics [s]
_EMPTY = "std_srvs/Empty"


class World:
    """What the services ask: the simulation's control socket, a connection for each request."""

    def __init__(self, instance: int):
        """instance: Of the simulation."""
        self._instance = instance
        self._calls: dict[str, int] = {}  # of get_model_state by model, for header.seq

    def ask(self, op: str, **values: Any) -> dict:
        """The answer to a request.

        Raises:
            ControlError: It is refused.
        """
        client = ControlClient(self._instance)
        try:
            return client.request(op, **values)
        finally:
            client.close()

    def count(self, model: str) -> int:
        """How often get_model_state was called for a model."""
        self._calls[model] = self._calls.get(model, 0) + 1
        return self._calls[model]


def _done(response, text):
    response.success, response.status_message = True, text


def _numbers(message) -> list[float]:
    """A message's numbers, nested ones too, in their order."""
    found = []
    for value in (getattr(message, name) for name in message.__slots__):
        found += [value] if isinstance(value, float) else _numbers(value)
    return found


def _fill(message, numbers) -> None:
    """The reverse of _numbers()."""
    left = iter(numbers)

    def fill(part):
        for name in part.__slots__:
            value = getattr(part, name)
            if isinstance(value, float):
                setattr(part, name, next(left))
            else:
                fill(value)

    fill(message)


def _fill_state(target, state) -> None:
    _fill(target.pose, state[:7])
    _fill(target.twist, state[7:])


def _state_of(message) -> list[float]:
    return [*map(float, _numbers(message.pose)), *map(float, _numbers(message.twist))]


def _time_us(stamp) -> int:
    return stamp.secs * 1_000_000 + stamp.nsecs // 1000


def get_world_properties(world: World, q: Any, r: Any) -> None:
    found = world.ask("models")
    r.sim_time, r.model_names, r.rendering_enabled = found["t_us"] * 1e-6, found["models"], True
    _done(r, "GetWorldProperties: got properties")


def get_physics_properties(world: World, q: Any, r: Any) -> None:
    """Step, gravity and rate; ODE's own parameters stay 0."""
    found = world.ask("status")
    r.time_step, r.pause = STEP_S, found["paused"]
    r.max_update_rate, r.gravity.z = found["speed"] / STEP_S, -found["gravity"]
    _done(r, "GetPhysicsProperties: got properties")


def get_model_properties(world: World, q: Any, r: Any) -> None:
    found = world.ask("model", model=q.model_name)
    r.body_names, r.geom_names = found["links"], found["collisions"]
    r.joint_names, r.child_model_names = found["joints"], found["children"]
    r.is_static = found["static"]
    _done(r, "GetModelProperties: got properties")


def get_model_state(world: World, q: Any, r: Any) -> None:
    found = world.ask("where", model=q.model_name, frame=q.relative_entity_name)
    r.header.seq, r.header.frame_id = world.count(q.model_name), q.relative_entity_name
    seconds, rest = divmod(found["t_us"], 1_000_000)
    r.header.stamp = rospy.Time(seconds, rest * 1000)
    _fill_state(r, found["state"])
    _done(r, "GetModelState: got properties")


def get_link_state(world: World, q: Any, r: Any) -> None:
    found = world.ask("where", link=q.link_name, frame=q.reference_frame)
    _fill_state(r.link_state, found["state"])
    r.link_state.link_name, r.link_state.reference_frame = q.link_name, q.reference_frame
    _done(r, "GetLinkState: got state")


def get_joint_properties(world: World, q: Any, r: Any) -> None:
    found = world.ask("joint", joint=q.joint_name)
    r.type, r.position, r.rate = r.REVOLUTE, [found["pos"]], [found["vel"]]
    _done(r, "GetJointProperties: got properties")


def set_model_state(world: World, q: Any, r: Any) -> None:
    state = q.model_state
    world.ask("place", model=state.model_name, state=_state_of(state), frame=state.reference_frame)
    _done(r, "SetModelState: set model state done")


def set_link_state(world: World, q: Any, r: Any) -> None:
    state = q.link_state
    world.ask("place", link=state.link_name, state=_state_of(state), frame=state.reference_frame)
    _done(r, "SetLinkState: success")


def spawn_sdf_model(world: World, q: Any, r: Any) -> None:
    world.ask(
        "insert",
        model=q.model_name,
        sdf=q.model_xml,
        frame=q.reference_frame,
        pose=list(map(float, _numbers(q.initial_pose))),
    )
    _done(r, "SpawnModel: Successfully spawned entity")


def delete_model(world: World, q: Any, r: Any) -> None:
    world.ask("remove", model=q.model_name)
    _done(r, "DeleteModel: successfully deleted model")


def apply_body_wrench(world: World, q: Any, r: Any) -> None:
    duration = q.duration.secs * 1_000_000 + q.duration.nsecs // 1000
    world.ask(
        "push",
        link=q.body_name,
        frame=q.reference_frame,
        point=list(map(float, _numbers(q.reference_point))),
        wrench=list(map(float, _numbers(q.wrench))),
        begin_us=_time_us(q.start_time),
        duration_us=duration,
    )
    _done(r, "")


def clear_body_wrenches(world: World, q: Any, r: Any) -> None:
    world.ask("release", link=q.body_name)


def clear_joint_forces(world: World, q: Any, r: Any) -> None:
    """There are never any."""


def reset(world: World, q: Any, r: Any) -> None:
    """Everything is where it was at the start, and the flight stacks too; time goes on."""
    world.ask("reset")


def pause_physics(world: World, q: Any, r: Any) -> None:
    world.ask("pause")


def unpause_physics(world: World, q: Any, r: Any) -> None:
    world.ask("resume")


# Name: type, and the function that fills the response.
SERVICES: dict[str, tuple[str, Callable]] = {
    "get_world_properties": ("gazebo_msgs/GetWorldProperties", get_world_properties),
    "get_physics_properties": ("gazebo_msgs/GetPhysicsProperties", get_physics_properties),
    "get_model_properties": ("gazebo_msgs/GetModelProperties", get_model_properties),
    "get_model_state": ("gazebo_msgs/GetModelState", get_model_state),
    "get_link_state": ("gazebo_msgs/GetLinkState", get_link_state),
    "get_joint_properties": ("gazebo_msgs/GetJointProperties", get_joint_properties),
    "set_model_state": ("gazebo_msgs/SetModelState", set_model_state),
    "set_link_state": ("gazebo_msgs/SetLinkState", set_link_state),
    "spawn_sdf_model": ("gazebo_msgs/SpawnModel", spawn_sdf_model),
    "delete_model": ("gazebo_msgs/DeleteModel", delete_model),
    "apply_body_wrench": ("gazebo_msgs/ApplyBodyWrench", apply_body_wrench),
    "clear_body_wrenches": ("gazebo_msgs/BodyRequest", clear_body_wrenches),
    "clear_joint_forces": ("gazebo_msgs/JointRequest", clear_joint_forces),
    "reset_world": (_EMPTY, reset),
    "reset_simulation": (_EMPTY, reset),
    "pause_physics": (_EMPTY, pause_physics),
    "unpause_physics": (_EMPTY, unpause_physics),
}

_LIGHT = "lights are those of the world's file and do not change"
_LINK = "masses are those of the model's file: a payload is given by `xtdrone control disturb`"
_JOINT = "joints are moved by the actuators of their vehicle alone"
# Name: type, and why no engine does it.
REFUSED: dict[str, tuple[str, str]] = {
    "spawn_urdf_model": (
        "gazebo_msgs/SpawnModel",
        "URDF is not read: convert it with `gz sdf -p` and call spawn_sdf_model",
    ),
    "get_light_properties": ("gazebo_msgs/GetLightProperties", _LIGHT),
    "set_light_properties": ("gazebo_msgs/SetLightProperties", _LIGHT),
    "delete_light": ("gazebo_msgs/DeleteLight", _LIGHT),
    "get_link_properties": ("gazebo_msgs/GetLinkProperties", _LINK),
    "set_link_properties": ("gazebo_msgs/SetLinkProperties", _LINK),
    "set_physics_properties": (
        "gazebo_msgs/SetPhysicsProperties",
        "the step is PX4's 4 ms and gravity that of the world's file; the "
        "speed is set by /xtdrone/simulation/speed",
    ),
    "set_model_configuration": ("gazebo_msgs/SetModelConfiguration", _JOINT),
    "set_joint_properties": ("gazebo_msgs/SetJointProperties", _JOINT),
    "apply_joint_effort": ("gazebo_msgs/ApplyJointEffort", _JOINT),
}


class Gazebo:
    """The publishers, subscribers and services below /gazebo/."""

    def __init__(self, instance: int):
        """Offers all of them."""
        self._world = World(instance)
        self._outputs = {
            name: Output(f"{TOP}{name[:-1]}_states", f"gazebo_msgs/{name[:-1].title()}States")
            for name in TABLES
        }
        self._asked: list[str] = []
        for name, (kind, method) in SERVICES.items():
            self._offer(name, kind, method)
        for name, (kind, reason) in REFUSED.items():
            self._offer(name, kind, _refusal(reason))
        for part in ("model", "link"):
            self._listen(part)

    def publish(self, client: ControlClient) -> None:
        """Publishes the tables of the last tick, and asks for those that are wanted."""
        for name, (names, states) in client.tables.items():
            self._outputs[name].publish(serialisation.states(names, states))
        wanted = [name for name, output in self._outputs.items() if output.wanted()]
        if wanted != self._asked:
            self._asked = wanted
            client.request("subscribe", barrier=True, tables=wanted)

    def _offer(self, name, kind, method):
        cls = ros_class(kind, "srv")

        def handle(request):
            response = cls._response_class()
            try:
                method(self._world, request, response)
            except ControlError as error:
                if "success" not in response.__slots__:
                    raise rospy.ServiceException(f"{name}: {error}") from error
                response.success, response.status_message = False, f"{name}: {error}"
            return response

        rospy.Service(TOP + name, cls, handle)

    def _listen(self, part):
        def handle(message):
            try:
                self._world.ask(
                    "place",
                    state=_state_of(message),
                    frame=message.reference_frame,
                    **{part: getattr(message, f"{part}_name")},
                )
            except ControlError as error:
                rospy.logwarn("%sset_%s_state: %s", TOP, part, error)

        rospy.Subscriber(
            f"{TOP}set_{part}_state",
            ros_class(f"gazebo_msgs/{part.title()}State"),
            handle,
            queue_size=10,
        )


def _refusal(reason):
    def refuse(world, request, response):
        raise ControlError(reason)

    return refuse


def offer(instance: int) -> Gazebo | None:
    """Offers gazebo_ros's interface, unless gazebo_ros itself does so on this master."""
    with contextlib.suppress(rosgraph.MasterException):
        rosgraph.Master(rospy.get_name()).lookupService(f"{TOP}get_world_properties")
        return None
    return Gazebo(instance)
