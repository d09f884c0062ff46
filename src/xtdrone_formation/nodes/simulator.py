"""The node of the simple 3D simulator, with the topics of the full simulator."""

import argparse
import math
import time
from collections.abc import Callable, Sequence

import numpy as np
import rospy
from std_msgs.msg import String

from xtdrone_core.modes import ROS_NAME, Mode
from xtdrone_core.runs import ports, run_folder
from xtdrone_core.runs.control_link import ControlServer
from xtdrone_core.runs.log_file import LogGaps
from xtdrone_core.runs.truth_log import TruthWriter
from xtdrone_core.scenario import launch_arguments
from xtdrone_core.scenario.vehicles import grid
from xtdrone_mavros import ros_serialisation
from xtdrone_mavros.command_translator import STALL_S
from xtdrone_ros1 import node
from xtdrone_ros1.messages import Message, lazy_class
from xtdrone_ros1.topics import Output

from .. import serialisation
from ..simple.node import CommandTable, Requests, extended_state
from ..simple.simulator import PERIOD_US, SimpleSimulator
from ..topics.fleet import rotate

STATE_US = 1_000_000  # period of a vehicle's state, as in MAVROS [us]
TICK_US = 40_000  # period of its motion's messages [us]
MAX_LAG_S = 0.1  # lag behind real time; a larger one is discarded, as no node could catch up
OUTPUTS = {
    "pose": ("local_position/pose", "geometry_msgs/PoseStamped"),
    "twist": ("local_position/velocity_local", "geometry_msgs/TwistStamped"),
    "odometry": ("local_position/odom", "nav_msgs/Odometry"),
    "state": ("state", "mavros_msgs/State"),
    "extended": ("extended_state", "mavros_msgs/ExtendedState"),
}
POSE, TWIST = lazy_class("geometry_msgs/Pose"), lazy_class("geometry_msgs/Twist")


class Topics:
    """Publishers and subscribers of all vehicles."""

    def __init__(self, simulator: SimpleSimulator, names: Sequence[str], table: CommandTable):
        self._simulator = simulator
        self._outputs = {
            what: [Output(f"/{name}/mavros/{topic}", kind) for name in names]
            for what, (topic, kind) in OUTPUTS.items()
        }
        self._clock = Output("/clock", "rosgraph_msgs/Clock")
        for i, name in enumerate(names):
            self._listen(i, f"/xtdrone/{name}/", table)

    def _listen(self, i: int, top: str, table: CommandTable) -> None:
        def on_command(message: String) -> None:
            error = table.command(i, message.data.strip())
            if error:
                rospy.logerr("%s", error)

        def pose(body: bool) -> Callable[[Message], None]:
            def handle(message: Message) -> None:
                pos, quat = serialisation.pose(message.data_bytes)
                table.pose(i, np.array(pos), _yaw(*quat), body)

            return handle

        def velocity(body: bool) -> Callable[[Message], None]:
            def handle(message: Message) -> None:
                linear, angular = serialisation.twist(message.data_bytes)
                table.velocity(i, np.array(linear), angular[2], body)

            return handle

        def acceleration(body: bool) -> Callable[[Message], None]:
            def handle(message: Message) -> None:
                linear, _ = serialisation.twist(message.data_bytes)
                table.acceleration(i, np.array(linear), body)

            return handle

        rospy.Subscriber(top + "cmd", String, on_command)  # unlimited queue: no command is lost
        for body, frame in ((True, "flu"), (False, "enu")):
            for kind, what, handle in (
                (POSE, "pose", pose),
                (TWIST, "vel", velocity),
                (TWIST, "accel", acceleration),
            ):
                rospy.Subscriber(f"{top}cmd_{what}_{frame}", kind, handle(body), queue_size=5)

    def publish_motion(self) -> None:
        """Publishes the clock, and pose, velocity and odometry where there are subscribers."""
        t_us = self._simulator.t_us
        self._clock.publish(ros_serialisation.stamp(t_us))
        state = self._simulator.estimates()
        pos, quat, vel, own = (
            values.tolist()
            for values in (
                state.pos,
                state.quat,
                state.vel,
                rotate(state.quat * [-1, -1, -1, 1], state.vel),
            )
        )
        still = (0.0, 0.0, 0.0)
        for i, output in self._wanted("pose"):
            output.publish(ros_serialisation.pose_stamped(t_us, "map", pos[i], quat[i]))
        for i, output in self._wanted("twist"):
            output.publish(ros_serialisation.twist_stamped(t_us, "map", vel[i], still))
        for i, output in self._wanted("odometry"):
            output.publish(
                ros_serialisation.odometry(t_us, "map", "base_link", pos[i], quat[i], own[i], still)
            )

    def publish_states(self) -> None:
        """Publishes arming, mode and landed state of every vehicle."""
        sim = self._simulator
        for i, output in self._wanted("state"):
            armed = bool(sim.armed[i])
            output.publish(
                ros_serialisation.state(
                    sim.t_us,
                    True,
                    armed,
                    True,
                    False,
                    ROS_NAME[Mode(sim.mode[i])],
                    4 if armed else 3,
                )
            )
        for i, output in self._wanted("extended"):
            output.publish(ros_serialisation.fields(sim.t_us, "", "BB", 0, extended_state(sim, i)))

    def _wanted(self, what: str) -> list[tuple[int, Output]]:
        """Returns (index, output) of the vehicles whose topic has subscribers."""
        return [(i, output) for i, output in enumerate(self._outputs[what]) if output.wanted()]


def _yaw(x: float, y: float, z: float, w: float) -> float:
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def wait_for_set_points(table: CommandTable) -> None:
    """Holds the simulation while a node that streams set-points is stalled."""
    end = time.monotonic() + STALL_S
    while len(table.late):
        if time.monotonic() > end:
            table.end_streams()
        time.sleep(0.002)


def fly(
    args: argparse.Namespace,
    simulator: SimpleSimulator,
    topics: Topics,
    table: CommandTable,
    requests: Requests,
    server: ControlServer,
    writer: TruthWriter,
) -> None:
    """Steps, publishes and paces until the simulation is stopped."""
    due = time.monotonic()
    while not (rospy.is_shutdown() or requests.stopped):
        server.poll(requests.handle)
        if requests.paused:
            time.sleep(0.02)
            due = time.monotonic()
            continue
        wait_for_set_points(table)
        table.apply()
        simulator.step()
        if simulator.t_us % TICK_US == 0:
            topics.publish_motion()
            server.tick(simulator.t_us, simulator.state())
        if simulator.t_us % STATE_US == 0:
            topics.publish_states()
        writer.write(simulator.state())
        due = max(due + PERIOD_US * 1e-6 / args.speed, time.monotonic() - MAX_LAG_S)
        time.sleep(max(due - time.monotonic(), 0.0))


def run(args: argparse.Namespace) -> None:
    """Runs the node from start to end."""
    launch_arguments.check()
    node.require_master()
    names = [f"{args.vehicle}_{i}" for i in range(args.n)]
    simulator = SimpleSimulator(grid(args.n), noise=args.noise, seed=args.seed)
    server = ControlServer(ports.Ports(args.instance).control)
    node.start("simple_simulator", disable_rostime=True)
    folder = run_folder.create(args.name, args.instance)
    gaps = LogGaps(folder)
    writer = TruthWriter(folder / run_folder.TRUTH, args.n, gaps)
    events = run_folder.EventLog(folder, gaps)
    requests = Requests(
        simulator, names, folder, lambda t_us, event, values: events.add(t_us, event, **values)
    )
    table = CommandTable(simulator)
    topics = Topics(simulator, names, table)
    rospy.set_param("/xtdrone/vehicles", names)
    began = time.monotonic()
    try:
        fly(args, simulator, topics, table, requests, server, writer)
    finally:
        writer.close()
        factor = simulator.t_us * 1e-6 / (time.monotonic() - began)
        run_folder.update_summary(
            folder,
            n=args.n,
            engine="simple",
            autopilot="simple",
            transport="ros",
            seed=args.seed,
            noise_m=args.noise,
            sim_time_s=simulator.t_us * 1e-6,
            real_time_factor=round(factor, 3),
            landed=bool(simulator.landed.all()),
            log_gaps=gaps.table(),
        )
        server.close()
    print(f"run folder: {folder}", flush=True)
    node.end_launch()
