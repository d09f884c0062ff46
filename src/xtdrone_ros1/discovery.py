"""The running simulation and its fleet: control socket, names and kinds of the vehicles."""

import contextlib
import os

import rospy

from mavros_msgs.srv import VehicleInfoGet
from xtdrone_core import ControlError
from xtdrone_core.runs import parent, ports
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_mavros.vehicle_kind import Kind, kind_of

from .errors import Ros1Error
from .node import Patience, running

OWN_SIMULATION = "XTDRONE_OWN_SIMULATION"  # environment variable that simulation.launch sets
BRIDGE = "/xtdrone_bridge"  # name of the node


def connect(instance: int, wait: float) -> ControlClient:
    """Connects to the control socket of the simulation and waits until it has started.

    Only the socket has a time-out: a simulation opens it before it compiles its kernels, which
    takes minutes on a slow machine, and answers after that.

    Raises:
        ControlError: There was no socket within the time-out [s, wall], the simulation ended, or
            it is not that of this launch.
    """
    patience = Patience(wait)
    while True:
        try:
            client = ControlClient(instance, wait)
            break
        except ControlError:
            if patience.left() <= 0:
                raise
        patience.wait(0.05)
    client.ask("status")
    while not client.ready(0.0):
        patience.wait(0.05)
    status = client.answer()
    if os.environ.get(OWN_SIMULATION) and status.get("launch") != parent.launch():
        client.close()
        raise ControlError(
            f"the simulation that answers was not started by this launch: {ports.advice()}"
        )
    return client


def fleet(wait: float) -> list[str]:
    """Returns the names of the vehicles, once the bridge has published them.

    As long as a bridge is running, which then waits for the simulation, there is no time-out.

    Raises:
        Ros1Error: It did not within the time-out [s, wall].
    """
    patience = Patience(wait)
    while True:
        patience.wait(0.05)
        with contextlib.suppress(OSError):  # the master has just gone
            names = rospy.get_param("/xtdrone/vehicles", None)
            if names:
                return names
        if patience.left() <= 0 and not running(BRIDGE):
            raise Ros1Error(
                "/xtdrone/vehicles is not set: start the simulation and the "
                "bridge first, for example with roslaunch "
                "launch/formation.launch"
            )


def mavros(name: str) -> str:
    """What MAVROS's names of a vehicle begin with: /NAME/mavros, or /mavros without a namespace."""
    namespaces = rospy.get_param("/xtdrone/namespaces", {})
    return f"{namespaces.get(name, f'/{name}')}/mavros"


def vehicle_kind(name: str) -> Kind | None:
    """Returns the kind of a connected vehicle by its HEARTBEAT; None if MAVROS is silent."""
    try:
        answer = rospy.ServiceProxy(f"{mavros(name)}/vehicle_info_get", VehicleInfoGet)()
    except rospy.ServiceException:
        return None
    return kind_of(answer.vehicles[0].type)
