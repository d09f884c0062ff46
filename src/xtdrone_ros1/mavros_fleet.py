"""Real MAVROS nodes: one for each vehicle, in its namespace, on the offboard links."""

import argparse
import os
import signal
import subprocess
import time
from typing import Any

import roslib.packages
import rospkg
import rospy
import yaml

from xtdrone_core.runs import ports
from xtdrone_core.runs.parent import tied

from . import discovery, node
from .errors import Ros1Error


def find_mavros() -> str:
    """Returns the path of mavros_node.

    Raises:
        Ros1Error: MAVROS is not installed.
    """
    try:
        return roslib.packages.find_node("mavros", "mavros_node")[0]
    except (rospkg.ResourceNotFound, IndexError) as error:
        raise Ros1Error(
            "MAVROS is not installed: install ros-noetic-mavros, or use bridge:=embedded"
        ) from error


def configuration() -> dict[str, Any]:
    """Returns the parameters that MAVROS's own px4.launch gives it, without the link."""
    folder = os.path.join(rospkg.RosPack().get_path("mavros"), "launch")
    parameters: dict[str, Any] = {}
    for file in ("px4_pluginlists.yaml", "px4_config.yaml"):
        with open(os.path.join(folder, file)) as stream:
            parameters.update(yaml.safe_load(stream) or {})
    return parameters


def await_clock(wait: float) -> None:
    """Waits for /clock: a MAVROS that connects before it never finds the vehicle's time.

    Raises:
        Ros1Error: There was none within the time-out [s, wall].
    """
    patience = node.Patience(wait)
    while rospy.get_time() == 0.0:
        if patience.left() <= 0:
            raise Ros1Error("nobody publishes /clock: start the bridge with --link none")
        patience.wait(0.02)


def link(i: int, own: ports.Ports) -> dict[str, str | int]:
    """Returns the parameters of the link to vehicle i.

    Without a gcs_url each MAVROS would open the same port for a ground station.
    """
    return {
        "fcu_url": f"udp://127.0.0.1:{own.mavros(i)}@127.0.0.1:{own.offboard_local(i)}",
        "fcu_protocol": "v2.0",
        "gcs_url": "",
        "target_system_id": ports.system_id(i),
        "target_component_id": 1,
    }


def run(args: argparse.Namespace) -> None:
    """Runs the nodes from start to end."""
    node.require_master()
    executable = find_mavros()
    node.start("mavros_fleet")
    client = discovery.connect(args.instance, args.wait)
    namespaces = client.request("status")["namespaces"]
    client.close()
    await_clock(args.wait)
    parameters, own = configuration(), ports.Ports(args.instance)
    children = []
    try:
        for i, namespace in enumerate(namespaces):
            rospy.set_param(f"{namespace}/mavros", {**parameters, **link(i, own)})
            children.append(
                subprocess.Popen(
                    [executable, f"__ns:={namespace or '/'}", "__name:=mavros"], preexec_fn=tied()
                )
            )
        while all(child.poll() is None for child in children):
            if rospy.is_shutdown():
                return
            time.sleep(0.2)
        raise Ros1Error("a MAVROS node has ended: see its log above")
    finally:
        for child in children:
            child.send_signal(signal.SIGINT)
        for child in children:
            child.wait()
