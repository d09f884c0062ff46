"""Services that steer the simulation, with simulation_interfaces' names, by the control socket."""

from collections.abc import Callable
from typing import TypeAlias

from xtdrone_core import ControlError
from xtdrone_core.runs.control_link import ControlClient

from .wire.node import Node
from .wire.types import Fields, Message

_PACKAGE = "simulation_interfaces/srv/"
_UNSUPPORTED, _OK, _INCORRECT_STATE, _FAILED = 0, 1, 3, 4  # constants of Result
_ALREADY, _NO_RESOURCE = 101, 104  # results of SetSimulationState, and of SpawnEntity
_STOPPED, _PLAYING, _PAUSED, _QUITTING = range(4)  # constants of SimulationState
_TIME = 1  # scope of ResetSimulation
_ORDERS = {_PLAYING: "resume", _PAUSED: "pause", _QUITTING: "stop"}


Answer: TypeAlias = Callable[[ControlClient, Message], Fields]


class SimulationServices:
    """The services, each call over a connection of its own."""

    def __init__(self, node: Node, instance: int):
        """Offers the services.

        Args:
            node: Node of the services.
            instance: Instance of the simulation.
        """
        self._node, self._instance = node, instance
        for name, kind, answer in (
            ("reset_simulation", "ResetSimulation", self._reset),
            ("get_simulation_state", "GetSimulationState", self._state),
            ("set_simulation_state", "SetSimulationState", self._set_state),
            ("step_simulation", "StepSimulation", self._step),
            ("spawn_entity", "SpawnEntity", self._spawn),
            ("delete_entity", "DeleteEntity", self._delete),
        ):
            node.service(f"/{name}", _PACKAGE + kind, self._answering(kind, answer))

    def _answering(self, kind: str, answer: Answer) -> Callable[[Message], Message]:
        """Returns a handler; answer() gives the response's fields, a refusal becomes a Result."""

        def respond(request: Message) -> Message:
            fields: Fields
            try:
                client = ControlClient(self._instance)
                try:
                    fields = answer(client, request)
                finally:
                    client.close()
            except ControlError as error:
                fields = _result(_FAILED, str(error))
            return self._node.types.message(f"{_PACKAGE}{kind}_Response", **fields)

        return respond

    @staticmethod
    def _reset(client: ControlClient, request: Message) -> Fields:
        if request.scope == _TIME:
            return _result(_UNSUPPORTED, "simulated time only goes on: reset the state")
        client.request("reset")
        return _result(_OK, "all vehicles are at their start; simulated time goes on")

    @staticmethod
    def _state(client: ControlClient, request: Message) -> Fields:
        paused = client.request("status")["paused"]
        return {"state": {"state": _PAUSED if paused else _PLAYING}, **_result(_OK)}

    @staticmethod
    def _set_state(client: ControlClient, request: Message) -> Fields:
        wanted = request.state.state
        if wanted not in _ORDERS:
            return _result(_UNSUPPORTED, "give playing (1), paused (2) or quitting (3)")
        paused = client.request("status")["paused"]
        if wanted == (_PAUSED if paused else _PLAYING):
            return _result(_ALREADY, "it is in that state")
        client.request(_ORDERS[wanted])
        return _result(_OK)

    @staticmethod
    def _step(client: ControlClient, request: Message) -> Fields:
        if not client.request("status")["paused"]:
            return _result(_INCORRECT_STATE, "pause the simulation first")
        client.request("step", n=max(int(request.steps), 1))
        return _result(_OK)

    @staticmethod
    def _spawn(client: ControlClient, request: Message) -> Fields:
        text = request.entity_resource.resource_string
        if not text:
            return _result(_NO_RESOURCE, "give the SDF itself as resource_string")
        pose = request.initial_pose.pose
        position, quat = pose.position, pose.orientation
        client.request(
            "insert",
            sdf=text,
            model=request.name,
            pose=[position.x, position.y, position.z, quat.x, quat.y, quat.z, quat.w],
            frame=request.initial_pose.header.frame_id.removeprefix("map"),
        )
        return {**_result(_OK), "entity_name": request.name}

    @staticmethod
    def _delete(client: ControlClient, request: Message) -> Fields:
        client.request("remove", model=request.entity)
        return _result(_OK)


def _result(number: int, text: str = "") -> Fields:
    return {"result": {"result": number, "error_message": text}}
