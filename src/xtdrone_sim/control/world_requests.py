"""Requests of the control socket that look at models and links, or change the world."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from xtdrone_core import ControlError
from xtdrone_dynamics.quaternion import normalize, rotate_array

from ..entities import LARGEST
from ..vehicles.pose import Pose

if TYPE_CHECKING:
    from ..simulation import Simulation

Request = dict[str, Any]
STATE = 13  # numbers, see Entities
_POSE, _WRENCH = 7, 6


def handlers(simulation: "Simulation") -> dict[str, Callable[[Request], Request]]:
    """A handler by the name of each request."""

    def timed(handle):
        def answer(request):
            return {"t_us": simulation.t_us, **(handle(simulation, request) or {})}

        return answer

    return {
        name: timed(handle)
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


def _models(simulation, request):
    return {"models": list(simulation.entities.models)}


def _model(simulation, request):
    return simulation.entities.describe(_word(request, "model"))


def _joint(simulation, request):
    pos, vel = simulation.entities.joint(_word(request, "joint"))
    return {"pos": pos, "vel": vel}


def _where(simulation, request):
    state = simulation.entities.relative(_part(simulation, request), _frame(request))
    return {"state": state.tolist()}


def _place(simulation, request):
    simulation.entities.place(
        _part(simulation, request), _numbers(request, "state", STATE), _frame(request)
    )


def _insert(simulation, request):
    pose = _numbers(request, "pose", _POSE)
    quat = normalize(*pose[3:]) if any(pose[3:]) else (0.0, 0.0, 0.0, 1.0)
    simulation.insert(
        _word(request, "sdf"), _word(request, "model"), Pose(tuple(pose[:3]), quat), _frame(request)
    )


def _remove(simulation, request):
    simulation.remove(_word(request, "model"))


def _push(simulation, request):
    """A wrench on a link for a while, as gazebo_ros applies it.

    The force acts on the link's centre of gravity along the axes of the world. A frame turns it
    from the frame's axes to the link's, which gazebo_ros then takes for the world's.
    """
    entities = simulation.entities
    link, frame = entities.link(_word(request, "link")), entities.frame(_frame(request))
    wrench = np.array(_numbers(request, "wrench", _WRENCH))
    force, torque = wrench[:3], wrench[3:] + np.cross(_numbers(request, "point", 3), wrench[:3])
    if frame is not None:
        seen = entities.relative(frame, link.name)
        force, torque = rotate_array([seen[3:7]], [force, torque])
        torque = torque + np.cross(seen[:3], force)
    begin = max(_number(request, "begin_us"), simulation.t_us)
    duration = _number(request, "duration_us")
    entities.push(
        link,
        force.tolist(),
        torque.tolist(),
        begin,
        begin + duration if duration >= 0 else math.inf,
    )


def _release(simulation, request):
    simulation.plant.pushes.clear(_word(request, "link"))


def _part(simulation, request):
    entities = simulation.entities
    return (
        entities.model(_word(request, "model"))
        if "model" in request
        else entities.link(_word(request, "link"))
    )


def _frame(request) -> str:
    return _word(request, "frame") if request.get("frame") else ""


def _word(request, key) -> str:
    value = request.get(key)
    if not isinstance(value, str):
        raise ControlError(f"the request needs a text '{key}'")
    return value


def _numbers(request, key, count) -> list[float]:
    values = request.get(key)
    if (
        not isinstance(values, list)
        or len(values) != count
        or not all(_finite(value) and abs(value) <= LARGEST for value in values)
    ):
        raise ControlError(f"the request needs {count} finite numbers '{key}', up to {LARGEST:g}")
    return list(map(float, values))


def _number(request, key) -> int:
    if not _finite(request.get(key)):
        raise ControlError(f"the request needs a number '{key}'")
    return int(request[key])


def _finite(value) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)
