"""The plugins of SDF files: how they are called, and which of them are not read.

The systems of the new Gazebo (gz-sim, before that Ignition Gazebo) that mean the same as a plugin
of Gazebo 11 or sitl_gazebo go by the name of that plugin.
"""

import re
from collections.abc import Collection, Iterable, Iterator

from .sdf_file import Element
from .sdf_tree import Scope

_SYSTEM = re.compile(r"(?:gz-sim|ignition-gazebo)\d*-(.+)-system")
_CLASS = re.compile(r"(?:gz::sim|ignition::gazebo)(?:::v\d+)?::systems::(\w+)")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")  # between the words of a class's name
_SAME = {
    "multicopter-motor-model": "gazebo_motor_model",
    "lift-drag": "LiftDragPlugin",
    "advanced-lift-drag": "AdvancedLiftDragPlugin",
}  # system: plugin with the same parameters and equations
_OF_ROTORS = {  # plugins of the RotorS simulator, from which sitl_gazebo's are derived
    f"rotors_{name}": name
    for name in (
        "gazebo_motor_model",
        "gazebo_imu_plugin",
        "gazebo_mavlink_interface",
        "gazebo_multirotor_base_plugin",
    )
}
# What this workspace does itself, whatever a file says, and what only draws or publishes.
_DONE_ANYWAY = {
    "physics",
    "user-commands",
    "scene-broadcaster",
    "sensors",
    "imu",
    "magnetometer",
    "air-pressure",
    "altimeter",
    "navsat",
    "air-speed",
    "contact",
    "joint-state-publisher",
    "odometry-publisher",
    "pose-publisher",
    "gazebo_groundtruth_plugin",
    "gazebo_multirotor_base_plugin",
    "gazebo_ros_init",
    "gazebo_ros_factory",
    "gazebo_ros_state",
    "gazebo_ros_api_plugin",
    "gazebo_ros_paths_plugin",
    "ForceVisual",
}
_OF_SENSORS = "gazebo_ros_"  # their tags are read with the sensor that they stand in


def plugin_name(element: Element) -> str:
    """The file name of a plugin without folder, lib and .so, or what stands for it.

    A system of the new Gazebo, and a plugin of RotorS, is called as the plugin of sitl_gazebo that
    means the same, or else by its kind: `gz-sim-thruster-system` is "thruster".
    """
    kind = system_of(element)
    if kind:
        return _SAME.get(kind, kind)
    name = _file(element).removeprefix("lib")
    return _OF_ROTORS.get(name, name)


def system_of(element: Element) -> str:
    """The kind of a system of the new Gazebo, in lower case with hyphens; "" for other plugins."""
    found = _SYSTEM.fullmatch(_file(element).removeprefix("lib"))
    if found:
        return found[1]
    found = _CLASS.fullmatch(element.get("name", ""))
    return _WORD.sub("-", found[1]).lower() if found else ""


def unread_plugins(scope: Scope, read: Collection[str], sensors: Collection[str] = ()) -> list[str]:
    """A line that names each plugin that is not read once, in the order of the file; or none.

    Args:
        scope: A model or a world.
        read: Names of the plugins that are read there.
        sensors: Types of the sensors that are read.
    """
    unread: dict[str, None] = {}
    for plugin in _plugins(scope):
        name, parent = plugin_name(plugin), plugin.getparent()
        inside = parent.tag == "sensor" and parent.get("type") in sensors
        if not (name in read or name in _DONE_ANYWAY or (inside and name.startswith(_OF_SENSORS))):
            unread[plugin.get("filename", "").rpartition("/")[2] or plugin.get("name", "")] = None
    return [f"plugins that are not read: {', '.join(unread)}"] if unread else []


def _plugins(scope: Scope) -> Iterator[Element]:
    """Every plugin of a model or world and of the models in it, also of links and sensors."""
    for part in _scopes(scope):
        for plugin in part.element.iter("plugin"):
            if next(plugin.iterancestors("gui"), None) is None:
                yield plugin


def _scopes(scope: Scope) -> Iterable[Scope]:
    yield scope
    for _, nested in scope.models():
        yield from _scopes(nested)


def _file(element: Element) -> str:
    """The file name of a plugin without folder and .so."""
    name: str = element.get("filename", "").rpartition("/")[2]
    return name.removesuffix(".so")
