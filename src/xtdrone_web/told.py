"""What a page is told about a world and vehicles, as plain data."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from xtdrone_sim.vehicles.pose import body_frames

from .gltf import scene

_ACTOR_STEP_S, _ACTOR_MAX = 0.25, 2000  # between samples of an actor's round, and how many


def described(world: Any, specs: Iterable[Any], models: Iterable[Any]) -> dict[str, Any]:
    """World, types and vehicles, with the glTF files, which are made if they are not there.

    Args:
        world: The World.
        specs: The scenario's VehicleSpecs.
        models: A Vehicle for each of them.
    """
    specs, models = list(specs), list(models)
    types = {model.type: model for model in models}
    return {
        "origin": [world.latitude, world.longitude, world.altitude],
        "world": {
            "name": world.name,
            "glb": str(scene.world_file(world)),
            "lights": [_light(light) for light in world.lights],
            "ambient": list(world.ambient),
            "background": list(world.background),
            "water": world.water if np.isfinite(world.water) else None,
            "actors": [_actor(actor) for actor in world.actors],
        },
        "types": {
            name: {"glb": str(scene.vehicle_file(model)), **_shape(model)}
            for name, model in types.items()
        },
        "vehicles": [
            {"name": spec.name, "type": model.type, "start": [*spec.pos, spec.yaw]}
            for spec, model in zip(specs, models, strict=True)
        ],
    }


def _light(light) -> dict[str, Any]:
    return {
        "kind": light.kind,
        "pos": list(light.pos),
        "direction": list(light.direction),
        "diffuse": list(light.diffuse),
        "range": light.range,
    }


def _actor(actor) -> dict[str, Any]:
    """Where an actor is over one round, for a page that moves it by the time of the frames."""
    last = actor.times[-1]
    step = max(_ACTOR_STEP_S, last / _ACTOR_MAX)
    times = np.append(np.arange(actor.times[0], last, step), last).tolist()
    poses = [actor.pose(actor.start + t) for t in times]
    return {
        "name": actor.name,
        "glb": str(scene.actor_file(actor)),
        "start": actor.start,
        "loop": actor.loop,
        "t": _rounded(times),
        "way": _rounded([actor.way(actor.start + t) for t in times]),
        "pos": _rounded([pose.pos for pose in poses]),
        "quat": _rounded([pose.quat for pose in poses]),
        "limbs": [
            {
                "pos": limb.pose.pos,
                "quat": limb.pose.quat,
                "axis": limb.axis,
                "turn": limb.turn,
                "swing": limb.swing,
                "stride": limb.stride,
                "phase": limb.phase,
            }
            for limb in actor.limbs
        ],
    }


def _rounded(values) -> list:
    """To a tenth of a millimetre, for a short message."""
    return np.round(np.array(values), 4).tolist()


def _shape(model) -> dict[str, Any]:
    """What is drawn of a vehicle beside its file."""
    frames = body_frames(model)
    rotors = [
        {
            "actuator": k,
            "pos": list(scene.hub(model, k, frames).pos),
            "axis": list(a.axis),
            "direction": a.direction,
            "body": a.body,
        }
        for k, a in enumerate(model.actuators)
        if a.kind in ("rotor", "propeller")
    ]
    ranges = [
        {"pos": list(block.pos), "quat": list(block.quat)}
        for block in model.sensors
        if block.kind == "range"
    ]
    cameras = [
        {"name": block.name, "pos": list(block.pos), "quat": list(block.quat)}
        for block in model.sensors
        if block.kind in ("camera", "stereo", "depth")
    ]
    return {"rotors": rotors, "ranges": ranges, "cameras": cameras, "span": _span(model, rotors)}


def _span(model, rotors: Sequence[dict]) -> float:
    """Largest distance of a shape's middle or a rotor from the base [m]."""
    points = [shape.pose.pos for shape in model.shapes] + [rotor["pos"] for rotor in rotors]
    return float(max((np.linalg.norm(point) for point in points), default=0.3))
