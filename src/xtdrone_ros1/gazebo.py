"""gazebo_ros's topics and services below /gazebo/, for scripts that call them, on every engine.

The simulation answers them on its control socket (xtdrone_sim.control.world_requests). To add a
service, write its function of the simulation and a request, and its row in SERVICES. One that no
engine can do says so in its answer; see REFUSED.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import rosgraph
import rospy

from xtdrone_core import ControlError
from xtdrone_core.runs.control_link import TABLES, ControlClient
from xtdrone_mavros import ros_serialisation as serialisation
from xtdrone_mavros.inputs.fields import duration_us

from .messages import Message, response as empty_response, ros_class
from .topics import Output

TOP = "/gazebo/"
STEP_S = 0.004  # step of the physics [s]
_EMPTY = "std_srvs/Empty"


class World:
    """The simulation's control socket, with a connection for each request."""

    def __init__(self, instance: int):
        self._instance = instance
        self._calls: dict[str, int] = {}  # calls of get_model_state by model, for header.seq

    def ask(self, op: str, **values: Any) -> dict[str, Any]:  # values of JSON
        """Returns the answer to a request.

        Raises:
            ControlError: It is refused.
        """
        client = ControlClient(self._instance)
        try:
            return client.request(op, **values)
        finally:
            client.close()

    def count(self, model: str) -> int:
        """Counts a call of get_model_state for a model; returns how many there were."""
        self._calls[model] = self._calls.get(model, 0) + 1
        return self._calls[model]


Answer: TypeAlias = Callable[[World, Message, Message], None]


def _done(response: Message, text: str) -> None:
    response.success, response.status_message = True, text


def _numbers(message: Message) -> list[float]:
    """Returns a message's numbers, nested ones too, in their order."""
    numbers: list[float] = []
    for value in (getattr(message, name) for name in message.__slots__):
        numbers += [value] if isinstance(value, float) else _numbers(value)
    return numbers


def _fill(message: Message, numbers: Sequence[float]) -> None:
    """Sets a message's numbers in the order of _numbers()."""
    left = iter(numbers)

    def fill(part: Message) -> None:
        for name in part.__slots__:
            value = getattr(part, name)
            if isinstance(value, float):
                setattr(part, name, next(left))
            else:
                fill(value)

    fill(message)


def _fill_state(target: Message, state: Sequence[float]) -> None:
    _fill(target.pose, state[:7])
    _fill(target.twist, state[7:])


def _state_of(message: Message) -> list[float]:
    return [*map(float, _numbers(message.pose)), *map(float, _numbers(message.twist))]


def get_world_properties(world: World, request: Message, response: Message) -> None:
    models = world.ask("models")
    response.sim_time, response.model_names, response.rendering_enabled = (
        models["t_us"] * 1e-6,
        models["models"],
        True,
    )
    _done(response, "GetWorldProperties: got properties")


def get_physics_properties(world: World, request: Message, response: Message) -> None:
    """Answers step, gravity and rate; ODE's own parameters stay 0."""
    status = world.ask("status")
    response.time_step, response.pause = STEP_S, status["paused"]
    response.max_update_rate, response.gravity.z = status["speed"] / STEP_S, -status["gravity"]
    _done(response, "GetPhysicsProperties: got properties")


def get_model_properties(world: World, request: Message, response: Message) -> None:
    model = world.ask("model", model=request.model_name)
    response.body_names, response.geom_names = model["links"], model["collisions"]
    response.joint_names, response.child_model_names = model["joints"], model["children"]
    response.is_static = model["static"]
    _done(response, "GetModelProperties: got properties")


def get_model_state(world: World, request: Message, response: Message) -> None:
    answer = world.ask("where", model=request.model_name, frame=request.relative_entity_name)
    response.header.seq, response.header.frame_id = (
        world.count(request.model_name),
        request.relative_entity_name,
    )
    seconds, rest = divmod(answer["t_us"], 1_000_000)
    response.header.stamp = rospy.Time(seconds, rest * 1000)
    _fill_state(response, answer["state"])
    _done(response, "GetModelState: got properties")


def get_link_state(world: World, request: Message, response: Message) -> None:
    answer = world.ask("where", link=request.link_name, frame=request.reference_frame)
    _fill_state(response.link_state, answer["state"])
    response.link_state.link_name, response.link_state.reference_frame = (
        request.link_name,
        request.reference_frame,
    )
    _done(response, "GetLinkState: got state")


def get_joint_properties(world: World, request: Message, response: Message) -> None:
    joint = world.ask("joint", joint=request.joint_name)
    response.type, response.position, response.rate = (
        response.REVOLUTE,
        [joint["pos"]],
        [joint["vel"]],
    )
    _done(response, "GetJointProperties: got properties")


def set_model_state(world: World, request: Message, response: Message) -> None:
    state = request.model_state
    world.ask("place", model=state.model_name, state=_state_of(state), frame=state.reference_frame)
    _done(response, "SetModelState: set model state done")


def set_link_state(world: World, request: Message, response: Message) -> None:
    state = request.link_state
    world.ask("place", link=state.link_name, state=_state_of(state), frame=state.reference_frame)
    _done(response, "SetLinkState: success")


def spawn_sdf_model(world: World, request: Message, response: Message) -> None:
    world.ask(
        "insert",
        model=request.model_name,
        sdf=request.model_xml,
        frame=request.reference_frame,
        pose=list(map(float, _numbers(request.initial_pose))),
    )
    _done(response, "SpawnModel: Successfully spawned entity")


def delete_model(world: World, request: Message, response: Message) -> None:
    world.ask("remove", model=request.model_name)
    _done(response, "DeleteModel: successfully deleted model")


def apply_body_wrench(world: World, request: Message, response: Message) -> None:
    duration = duration_us(request.duration)
    world.ask(
        "push",
        link=request.body_name,
        frame=request.reference_frame,
        point=list(map(float, _numbers(request.reference_point))),
        wrench=list(map(float, _numbers(request.wrench))),
        begin_us=duration_us(request.start_time),
        duration_us=duration,
    )
    _done(response, "")


def clear_body_wrenches(world: World, request: Message, response: Message) -> None:
    world.ask("release", link=request.body_name)


def clear_joint_forces(world: World, request: Message, response: Message) -> None:
    """Does nothing: there are never any."""


def reset(world: World, request: Message, response: Message) -> None:
    """Puts all where it was at the start, and the flight stacks too; time goes on."""
    world.ask("reset")


def pause_physics(world: World, request: Message, response: Message) -> None:
    world.ask("pause")


def unpause_physics(world: World, request: Message, response: Message) -> None:
    world.ask("resume")


# Name: type, and the function that fills the response.
SERVICES: dict[str, tuple[str, Answer]] = {
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

_SCOPE = "did you forget to scope the link by model name?"
# gazebo_ros's texts for what is missing or there already, by ControlError.code.
TEXTS: dict[str, dict[str, str]] = {
    "get_model_properties": {"no_model": "GetModelProperties: model does not exist"},
    "get_model_state": {
        "no_model": "GetModelState: model does not exist",
        "no_frame": "GetModelState: reference relative_entity_name not found, did you forget to "
        "scope the body by model name?",
    },
    "get_link_state": {  # gazebo_ros has what follows the second colon only
        "no_link": f"GetLinkState: link does not exist: link not found, {_SCOPE}",
        "no_frame": f"GetLinkState: reference reference_frame not found, {_SCOPE}",
    },
    "get_joint_properties": {"no_joint": "GetJointProperties: joint not found"},
    "set_model_state": {
        "no_model": "SetModelState: model does not exist",
        "no_frame": "SetModelState: specified reference frame entity does not exist",
    },
    "set_link_state": {
        "no_link": "SetLinkState: link does not exist",
        "no_frame": "SetLinkState: failed",
    },
    "spawn_sdf_model": {
        "exists": "SpawnModel: Failure - entity already exists.",
        "no_frame": f"SpawnModel: reference reference_frame not found, {_SCOPE}",
    },
    "delete_model": {"no_model": "DeleteModel: model does not exist"},
    "apply_body_wrench": {
        "no_link": "ApplyBodyWrench: body does not exist",
        "no_frame": "ApplyBodyWrench: reference_frame not found",
    },
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

    def _offer(self, name: str, kind: str, method: Answer) -> None:
        cls = ros_class(kind, "srv")

        def handle(request: Message) -> Message:
            response = empty_response(cls)
            try:
                method(self._world, request, response)
            except ControlError as error:
                if "success" not in response.__slots__:
                    raise rospy.ServiceException(f"{name}: {error}") from error
                response.success, response.status_message = False, _text(name, kind, error)
            return response

        rospy.Service(TOP + name, cls, handle)

    def _listen(self, part: str) -> None:
        def handle(message: Message) -> None:
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


def _text(name: str, kind: str, error: ControlError) -> str:
    """Why a service refuses: gazebo_ros's text where it has one, or else ours behind its name."""
    known = TEXTS.get(name, {}).get(error.code)
    service = kind.rpartition("/")[2]
    return known or f"{service}: {'Failure - ' if service == 'SpawnModel' else ''}{error}"


def _refusal(reason: str) -> Answer:
    def refuse(world: World, request: Message, response: Message) -> None:
        raise ControlError(reason)

    return refuse


def offer(instance: int) -> Gazebo | None:
    """Offers gazebo_ros's interface, unless gazebo_ros itself does so on this master."""
    with contextlib.suppress(rosgraph.MasterException):
        rosgraph.Master(rospy.get_name()).lookupService(f"{TOP}get_world_properties")
        return None
    return Gazebo(instance)
