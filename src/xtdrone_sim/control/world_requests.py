"""Requests of the control socket that look at models and links, or change the world."""

import math
from collections.abc import Callable

import numpy as np

from xtdrone_core import ControlError
from xtdrone_dynamics.quaternion import normalize, rotate_array

from ..entities import MAX_NUMBER, Frame
from ..vehicles.pose import Pose
from .controlled import Answer, ControlledSimulation, Handler, Request

STATE = 13  # numbers, see Entities
_POSE, _WRENCH = 7, 6  # numbers


def handlers(simulation: ControlledSimulation) -> dict[str, Handler]:
    """Returns a handler by the name of each request; every answer has the simulated time."""

    def with_time(handle: Callable[[ControlledSimulation, Request], Answer | None]) -> Handler:
        def answer(request: Request) -> Answer:
            return {"t_us": simulation.t_us, **(handle(simulation, request) or {})}

        return answer

    return {
        name: with_time(handle)
        for name, handle in {
            "models": _models,
            "model": _model,
            "joint": _joint,
            "where": _where,
            "place": _place,
            "insert": _insert,
            "remove": _remove,
            "push": _push,
            "release": _release,
        }.items()
    }


def _models(simulation: ControlledSimulation, request: Request) -> Answer:
    return {"models": list(simulation.entities.models)}


def _model(simulation: ControlledSimulation, request: Request) -> Answer:
    return simulation.entities.describe(_word(request, "model"))


def _joint(simulation: ControlledSimulation, request: Request) -> Answer:
    pos, vel = simulation.entities.joint(_word(request, "joint"))
    return {"pos": pos, "vel": vel}


def _where(simulation: ControlledSimulation, request: Request) -> Answer:
    state = simulation.entities.relative(_model_or_link(simulation, request), _reference(request))
    return {"state": state.tolist()}


def _place(simulation: ControlledSimulation, request: Request) -> None:
    simulation.entities.place(
        _model_or_link(simulation, request),
        np.array(_numbers(request, "state", STATE)),
        _reference(request),
    )


def _insert(simulation: ControlledSimulation, request: Request) -> None:
    x, y, z, *quat = _numbers(request, "pose", _POSE)
    simulation.insert(
        _word(request, "sdf"),
        _word(request, "model"),
        Pose((x, y, z), normalize(*quat) if any(quat) else (0.0, 0.0, 0.0, 1.0)),
        _reference(request),
    )


def _remove(simulation: ControlledSimulation, request: Request) -> None:
    simulation.remove(_word(request, "model"))


def _push(simulation: ControlledSimulation, request: Request) -> None:
    """Applies a wrench to a link for a while, as gazebo_ros does.

    The force acts on the link's centre of gravity along the axes of the world. A frame turns it
    from the frame's axes to the link's, which gazebo_ros then takes for the world's.
    """
    entities = simulation.entities
    link, frame = entities.link(_word(request, "link")), entities.frame(_reference(request))
    wrench = np.array(_numbers(request, "wrench", _WRENCH))
    force, torque = wrench[:3], wrench[3:] + np.cross(_numbers(request, "point", 3), wrench[:3])
    if frame is not None:
        relative = entities.relative(frame, link.name)
        force, torque = rotate_array([relative[3:7]], [force, torque])
        torque = torque + np.cross(relative[:3], force)
    begin = max(_number(request, "begin_us"), simulation.t_us)
    duration = _number(request, "duration_us")
    entities.push(
        link,
        force.tolist(),
        torque.tolist(),
        begin,
        begin + duration if duration >= 0 else math.inf,
    )


def _release(simulation: ControlledSimulation, request: Request) -> None:
    simulation.plant.pushes.clear(_word(request, "link"))


def _model_or_link(simulation: ControlledSimulation, request: Request) -> Frame:
    entities = simulation.entities
    return (
        entities.model(_word(request, "model"))
        if "model" in request
        else entities.link(_word(request, "link"))
    )


def _reference(request: Request) -> str:
    """The name of the reference frame; empty for the world."""
    return _word(request, "frame") if request.get("frame") else ""


def _word(request: Request, key: str) -> str:
    value = request.get(key)
    if not isinstance(value, str):
        raise ControlError(f"the request needs a text '{key}'")
    return value


def _numbers(request: Request, key: str, count: int) -> list[float]:
    values = request.get(key)
    if (
        not isinstance(values, list)
        or len(values) != count
        or not all(isinstance(value, (int, float)) for value in values)
        or not all(abs(value) <= MAX_NUMBER for value in values)  # false for NaN
    ):
        raise ControlError(
            f"the request needs {count} finite numbers '{key}', up to {MAX_NUMBER:g}"
        )
    return list(map(float, values))


def _number(request: Request, key: str) -> int:
    value = request.get(key)
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ControlError(f"the request needs a number '{key}'")
    return int(value)
