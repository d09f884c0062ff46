"""A flight as glTF 2.0 with an animation, cameras, lights and lines; y is up, in metres."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_dynamics.quaternion import multiply_array
from xtdrone_sim.vehicles.pose import Pose
from xtdrone_sim.world import Light

from ..gltf.writer import ROOT, Glb
from .motion import Motion, angles, axis_angle
from .stage import Lens, facing

_LINE_STRIP = 3
_LINEAR_TURN = 2.0  # largest turn of a rotor in a key frame; from pi on it is ambiguous [rad]
_BRIGHT = {"directional": 3.0, "point": 60.0, "spot": 60.0}
_LIGHTS, _UNLIT = "KHR_lights_punctual", "KHR_materials_unlit"


class FlightGlb(Glb):
    """Implements Stage."""

    def __init__(self, name: str, motion: Motion) -> None:
        """Begins the file of a flight of this name.

        Rotors turn with their logged speed, but at most 2 rad from one key frame to the next.
        """
        super().__init__()
        self._rate = motion.rate
        self._times = self._floats(motion.t_s[:, None], bounds=True)
        self._samplers: list[dict[str, Any]] = []
        self._channels: list[dict[str, Any]] = []
        self._lights: list[dict[str, Any]] = []
        self._used: set[str] = set()
        self._json["asset"]["extras"] = {"flight": name, "begin_s": motion.begin_s}

    def move(self, node: int, pos: np.ndarray, quat: np.ndarray) -> None:
        """Adds key frames of a node; see Stage."""
        self._channel(node, "translation", pos)
        self._channel(node, "rotation", quat)

    def spin(self, node: int, axis: Sequence[float], speed: np.ndarray) -> None:
        """Turns a node about an axis; see Stage."""
        angle = angles(speed, self._rate, _LINEAR_TURN)
        still = np.tile(self._json["nodes"][node]["rotation"], (len(angle), 1))
        self._channel(node, "rotation", multiply_array(still, axis_angle(axis, angle)))

    def line(self, name: str, points: np.ndarray, colour: np.ndarray, parent: int) -> None:
        """Adds a line; see Stage."""
        material = self.material(1.0, 0.0, colour=colour)
        self._json["materials"][material]["extensions"] = {_UNLIT: {}}
        self._used.add(_UNLIT)
        self._json["meshes"].append(
            {
                "primitives": [
                    {
                        "attributes": {"POSITION": self._floats(points, bounds=True)},
                        "material": material,
                        "mode": _LINE_STRIP,
                    }
                ]
            }
        )
        self.node(name, len(self._json["meshes"]) - 1, parent=parent)

    def camera(self, name: str, lens: Lens, pose: Pose, parent: int = ROOT) -> None:
        """Adds a camera; see Stage."""
        cameras = self._json.setdefault("cameras", [])
        cameras.append(
            {
                "type": "perspective",
                "name": name,
                "perspective": {
                    "yfov": lens.vertical,
                    "aspectRatio": lens.aspect,
                    "znear": lens.near,
                    "zfar": lens.far,
                },
            }
        )
        self.node(name, None, pose.pos, pose.quat, parent, camera=len(cameras) - 1)

    def light(self, name: str, light: Light) -> None:
        """Adds a light; see Stage."""
        described: dict[str, Any] = {
            "type": light.kind,
            "name": name,
            "color": list(light.diffuse),
            "intensity": _BRIGHT[light.kind],
        }
        if light.kind != "directional":
            described["range"] = light.range
        if light.kind == "spot":
            described["spot"] = {
                "outerConeAngle": min(light.cutoff or math.pi / 4.0, math.pi / 2.0)
            }
        self._lights.append(described)
        self._used.add(_LIGHTS)
        self.node(
            name,
            None,
            light.pos,
            facing(light.direction),
            extensions={_LIGHTS: {"light": len(self._lights) - 1}},
        )

    def write(self, path: Path) -> None:
        """Writes the file; see Stage."""
        if self._channels:
            self._json["animations"] = [
                {"name": "flight", "samplers": self._samplers, "channels": self._channels}
            ]
        if self._lights:
            self._json["extensions"] = {_LIGHTS: {"lights": self._lights}}
        if self._used:
            self._json["extensionsUsed"] = sorted(self._used)
        path.write_bytes(self.encoded())

    def _channel(self, node: int, target: str, values: np.ndarray) -> None:
        self._samplers.append(
            {"input": self._times, "output": self._floats(values), "interpolation": "LINEAR"}
        )
        self._channels.append(
            {"sampler": len(self._samplers) - 1, "target": {"node": node, "path": target}}
        )
