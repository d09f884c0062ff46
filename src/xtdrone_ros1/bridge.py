"""The fleet's MAVROS topics and services, /clock, ground truth and the simulation's services.

One process for all vehicles, which has gazebo_ros's topics and services as well. It follows the
simulation's control socket: at each 20 ms of simulated time it publishes what the vehicles sent,
then the clock.
"""

import argparse
import functools
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import rosgraph
import rospy
from std_srvs.srv import Trigger, TriggerResponse

import xtdrone_mavros
from sensor_models.frame_names import frame_name
from xtdrone_core import ControlError
from xtdrone_core.files import read_yaml
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs import ports
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_mavros import ros_serialisation as serialisation
from xtdrone_mavros.bridge import Bridge
from xtdrone_mavros.command_translator import STALL_S
from xtdrone_mavros.convert.geometry import rotate_inverse
from xtdrone_mavros.inputs import SUBSCRIPTIONS
from xtdrone_mavros.mavlink_link import FleetLink
from xtdrone_mavros.rows import Fields, Parameters, Service as ServiceRow
from xtdrone_mavros.services import SERVICES, ServiceFailed
from xtdrone_mavros.vehicle import Vehicle
from xtdrone_msgs.srv import SetSpeed, SetSpeedResponse, Step, StepResponse

from . import discovery, gazebo, node, recorder
from .messages import (
    Message,
    MessageClass,
    field_types,
    fill,
    response as empty_response,
    ros_class,
)
from .registration import Service, registered_together
from .topics import Input, Output

_PARAMETERS = Path(xtdrone_mavros.__file__).with_name("mavros_parameters.yaml")
# MAVROS 1 subtracts its clock and a vehicle's as unsigned integers: if the vehicle's is ahead, even
# by a part of a tick, its stamps are wrong from 50 s on. In Gazebo ROS's clock is ahead, since the
# world runs before PX4 starts, and so it is here for a real MAVROS [us].
MAVROS_LEAD_US = 1_000_000
GREET_S = 1.0  # time between heartbeats while no simulated time passes [s, wall]
# By MAV_SEVERITY.
_LOG = (
    rospy.logfatal,
    rospy.logfatal,
    rospy.logerr,
    rospy.logerr,
    rospy.logwarn,
    rospy.loginfo,
    rospy.loginfo,
    rospy.logdebug,
)


class RosHost:
    """ROS 1 as the bridge's host; see xtdrone_mavros.host.Host."""

    def __init__(self, tops: Mapping[str, str]) -> None:
        """tops: Name of each vehicle -> what MAVROS's names begin with, /NAME/mavros."""
        self._tops = tops
        self._later: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()

    def output(self, name: str, topic: str, kind: str, latched: bool) -> Output:
        """Returns a publisher."""
        whole = topic if topic.startswith("/") else f"{self._tops[name]}/{topic}"
        return Output(whole, kind, latched)

    @staticmethod
    def log(name: str, severity: int, text: str) -> None:
        """Logs to rosout."""
        _LOG[min(severity, 7)]("%s: %s", name, text)

    def store_params(self, name: str, values: dict[str, int | float]) -> None:
        """Puts a vehicle's parameters on the parameter server."""
        rospy.set_param(f"{self._tops[name]}/param", values)

    def load_params(self, name: str) -> Mapping[str, int | float]:
        """Returns a vehicle's parameters on the parameter server."""
        return rospy.get_param(f"{self._tops[name]}/param", {})

    def set_parameter(self, name: str, key: str, value: str) -> None:
        """Sets one of MAVROS's own parameters."""
        rospy.set_param(f"{self._tops[name]}/{key}", value)

    def later(self, function: Callable[[], object]) -> None:
        """Calls a function in the thread of work()."""
        self._later.put(function)

    def work(self) -> None:
        """Calls what was put off until later, one function after the other."""
        while True:
            self._later.get()()


def offer(vehicle: Vehicle, top: str, defaults: Parameters) -> None:
    """Sets the parameters of one vehicle and creates its subscribers and services.

    Args:
        vehicle: The vehicle.
        top: What their names begin with, /NAME/mavros/.
        defaults: MAVROS's parameters.
    """
    url, system = vehicle.link.url(vehicle.index), vehicle.index + 1
    parameters = merged(
        {**defaults, "fcu_url": url, "target_system_id": system}, rospy.get_param(top, {})
    )
    rospy.set_param(top, parameters)
    vehicle.use_parameters(parameters)
    for row in SUBSCRIPTIONS:
        if not row.where(parameters):
            continue
        handle = functools.partial(vehicle.take_input, row)
        if row.raw:
            Input(top + row.name, row.type, handle)
        else:
            rospy.Subscriber(top + row.name, ros_class(row.type), handle, queue_size=10)
    for service in SERVICES:
        cls = ros_class(service.type, "srv")
        Service(top + service.name, cls, answer(vehicle, cls, service))


def merged(defaults: Parameters, given: Parameters) -> Fields:
    """Returns nested parameters: the given ones, and defaults for the others."""
    values = {
        key: merged(defaults[key], value)
        if isinstance(value, Mapping) and isinstance(defaults.get(key), Mapping)
        else value
        for key, value in given.items()
    }
    return {**defaults, **values}


def answer(
    vehicle: Vehicle, cls: MessageClass, row: ServiceRow[Vehicle]
) -> Callable[[Message], Message]:
    """Returns the handler of a service."""

    def handle(request: Message) -> Message:
        message = empty_response(cls)
        try:
            values = vehicle.answer(row, request)
        except ServiceFailed as error:  # MAVROS answers with an error without words
            vehicle.log(mavlink.MAV_SEVERITY_ERROR, str(error))
            raise rospy.ServiceException("") from error
        return fill(message, dict(zip(field_types(message), values)))

    return handle


class Truth:
    """True poses: /xtdrone/V/ground_truth/odom, and /tf if wanted."""

    def __init__(self, names: Sequence[str], namespaces: Sequence[str], tf: bool):
        self._frames = [frame_name(namespace, "base_link") for namespace in namespaces]
        self._outputs = [
            Output(f"/xtdrone/{name}/ground_truth/odom", "nav_msgs/Odometry") for name in names
        ]
        self._tf = Output("/tf", "tf2_msgs/TFMessage") if tf else None

    def publish(self, t_us: int, table: np.ndarray) -> None:
        """Publishes the true states (N, 13) where there are subscribers."""
        wanted = [i for i, output in enumerate(self._outputs) if output.wanted()]
        for i in wanted:
            row = table[i].tolist()
            quat = row[3:7]
            self._outputs[i].publish(
                serialisation.odometry(
                    t_us,
                    "map",
                    self._frames[i],
                    row[:3],
                    quat,
                    rotate_inverse(quat, row[7:10]),
                    row[10:13],
                )
            )
        if self._tf is not None and self._tf.wanted():
            self._tf.publish(
                serialisation.transforms(
                    t_us,
                    [
                        ("map", frame, row[:3], row[3:7])
                        for frame, row in zip(self._frames, table.tolist())
                    ],
                )
            )


def offer_simulation(instance: int) -> None:
    """Offers services that control the simulation, each call over a connection of its own."""

    def ask(response: MessageClass, op: str, **values: float) -> Message:
        try:
            client = ControlClient(instance)
            try:
                client.request(op, **values)
            finally:
                client.close()
            return response(True, "")
        except ControlError as error:
            return response(False, str(error))

    top = "/xtdrone/simulation/"
    rospy.Service(top + "pause", Trigger, lambda q: ask(TriggerResponse, "pause"))
    rospy.Service(top + "resume", Trigger, lambda q: ask(TriggerResponse, "resume"))
    rospy.Service(top + "step", Step, lambda q: ask(StepResponse, "step", n=max(q.steps, 1)))
    rospy.Service(top + "speed", SetSpeed, lambda q: ask(SetSpeedResponse, "speed", speed=q.speed))


def follow(
    client: ControlClient,
    bridge: Bridge | None,
    truth: Truth | None,
    world: gazebo.Gazebo | None,
    bag: recorder.Recorder | None,
) -> None:
    """Keeps up with the simulation until it ends.

    While the messages of one tick are published, an unpaced simulation computes the next one.
    Without a bridge, so for a real MAVROS, ROS's clock is MAVROS_LEAD_US ahead.

    Raises:
        ControlError: The simulation has ended.
    """
    lead_us = MAVROS_LEAD_US if bridge is None else 0
    clock = Output("/clock", "rosgraph_msgs/Clock")
    client.request("subscribe", barrier=True)
    while not rospy.is_shutdown():
        if not client.ready(GREET_S):
            if not rosgraph.is_master_online():
                return
            if bridge is not None:
                bridge.greet()
                bridge.poll()
            continue
        t_us, table = client.next_tick()
        now_us = t_us + lead_us
        if bag is not None:
            bag.now_us = now_us
        if bridge is not None:
            bridge.tick(t_us)
            bridge.collect()
            wait_for_set_points(bridge, client)
        client.done(t_us)
        clock.publish(serialisation.stamp(now_us))
        if bridge is not None:
            bridge.publish()
        if truth is not None:
            truth.publish(now_us, table)
        if world is not None:
            world.publish(client)


def wait_for_set_points(bridge: Bridge, client: ControlClient) -> None:
    """Holds an unpaced simulation back while a node that streams set-points is stalled.

    Otherwise a pause of the machine, short by the wall clock, would be long in simulated time, and
    end OFFBOARD. A stream that does not go on in time has ended. A paced simulation does not wait.
    """
    end = time.monotonic() + STALL_S
    while bridge.late and not client.ready(0.001):
        if time.monotonic() > end:
            for vehicle in bridge.late:
                vehicle.end_stream()


def run(args: argparse.Namespace) -> None:
    """Runs the node from start to end."""
    node.require_master()
    node.start("xtdrone_bridge", disable_rostime=True)
    client = discovery.connect(args.instance, args.wait)
    status = client.request("status")
    names, namespaces, bridge = status["vehicles"], status["namespaces"], None
    tops = {name: f"{namespace}/mavros" for name, namespace in zip(names, namespaces)}
    bag = recorder.begin(status["folder"], args.topics) if args.record else None
    if args.link != "none":
        link = FleetLink(len(names), args.link, ports.Ports(args.instance))
        defaults = read_yaml(_PARAMETERS, "parameters")
        host = RosHost(tops)
        with registered_together():
            bridge = Bridge(names, link, host)
            for vehicle in bridge.vehicles:
                offer(vehicle, f"{tops[vehicle.name]}/", defaults)
        bridge.greet()
        threading.Thread(target=host.work, daemon=True).start()
    truth, world = None, None
    if not args.blind:
        offer_simulation(args.instance)
        truth = Truth(names, namespaces, args.tf)
        world = gazebo.offer(args.instance)
    rospy.set_param("/xtdrone/namespaces", dict(zip(names, namespaces)))
    rospy.set_param("/xtdrone/vehicles", names)
    try:
        follow(client, bridge, truth, world, bag)
    except ControlError as error:  # it may end at any moment of a tick
        print(error)
    finally:
        if bag is not None:
            bag.close()
    node.end_launch()
